"""The script that says where data are: every set is named, and other values are not
written."""

import gzip
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parent.parent
pytestmark = pytest.mark.skipif(not (ROOT / "nbs").exists(), reason="needs the repository")
sys.path.insert(0, str(ROOT / "tools"))
if (ROOT / "nbs").exists():
    import get_data

from csc_nb.datasets import data_folder, dataset_index, load


def test_every_set_has_a_place_and_a_checksum(capsys, monkeypatch):
    monkeypatch.setenv("CSC_NB_DATA", "")
    get_data.main([])
    lines = capsys.readouterr().out.splitlines()
    assert [x.split()[0] for x in lines] == list(dataset_index())
    assert all(len(x.split()) > 2 for x in lines)
    assert set(get_data.known()) == set(dataset_index())


def test_shipped_sets_have_the_checksum_in_any_order():
    b = load("wine")
    p = np.random.default_rng(0).permutation(len(b.target))
    assert get_data.digest(b.data[p], b.target[p]) == get_data.known()["wine"]


def test_other_values_are_not_written(tmp_path):
    b = load("wine")
    good = get_data.fetch("wine", tmp_path, lambda n: b)
    assert "written" in good
    text = gzip.decompress((tmp_path / "wine.csv.gz").read_bytes()).decode()
    assert text.splitlines()[0].endswith(",label") and len(text.splitlines()) == 179
    (tmp_path / "wine.csv.gz").unlink()
    b.data = b.data + 1e-3
    assert "other values" in get_data.fetch("wine", tmp_path, lambda n: b)
    assert not list(tmp_path.iterdir())
    broken = get_data.fetch("wine", tmp_path, lambda n: 1 / 0)
    assert "not fetched (ZeroDivisionError" in broken


def test_only_the_variable_names_the_folder(tmp_path, monkeypatch):
    "A folder beside the repository, or above the working folder, is not looked for."
    (tmp_path / "shared" / "data").mkdir(parents=True)
    (tmp_path / "shared" / "data" / "MANIFEST.csv").write_text("name\n")
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.delenv("CSC_NB_DATA", raising=False)
    assert data_folder() is None
    monkeypatch.setenv("CSC_NB_DATA", str(tmp_path / "shared" / "data"))
    assert data_folder() == tmp_path / "shared" / "data"
