"""The command line, as a user with messy files meets it."""

import os, subprocess, sys
import numpy as np
import pytest
from csc_nb.cli import main

ROWS = "id,x,y\n" + "".join(
    f"r{i},{5 * (i % 2) + 0.01 * i},{i * 0.01}\n" for i in range(20)
)
PAIRS = "a,b,answer\nr0,r2,same\nr0,r1,different\n"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_text(ROWS)
    (tmp_path / "pairs.csv").write_text(PAIRS)
    return tmp_path


def test_cluster_writes_labels_and_a_summary(here, capsys):
    assert (
        main(
            [
                "cluster",
                "rows.csv",
                "--pairs",
                "pairs.csv",
                "--n-clusters",
                "2",
                "--out",
                "out.csv",
            ]
        )
        == 0
    )
    lines = (here / "out.csv").read_text().splitlines()
    assert len(lines) == 21 and lines[1].startswith("r0,")
    label = dict(l.split(",") for l in lines[1:])
    assert label["r0"] == label["r2"] != label["r1"]
    out = capsys.readouterr().out
    assert (
        "must-links: 1 kept, 0 broken" in out
        and "cannot-links: 1 kept, 0 broken" in out
        and "suspected wrong answers: 0" in out
    )


def test_row_numbers_work_without_ids(here):
    (here / "plain.csv").write_text(
        "".join(f"{5 * (i % 2)},{i * 0.01}\n" for i in range(20))
    )
    (here / "p.csv").write_text("a,b,answer\n0,2,must\n0,1,cannot\n")
    assert main(["cluster", "plain.csv", "--pairs", "p.csv", "--n-clusters", "2"]) == 0
    assert (here / "labels.csv").exists()


MESS = [
    ("no such file", dict(data="none.csv"), "none.csv"),
    ("empty table", dict(rows=""), "empty"),
    (
        "ragged table",
        dict(rows="id,x,y\na,1,2\nb,3\n"),
        "do not have 3 fields: first is line 3",
    ),
    (
        "words in a column",
        dict(rows="who,x\nann,1\nbob,2\n"),
        "columns of rows.csv are not numbers: who",
    ),
    ("a gap", dict(rows="id,x,y\na,1,2\nb,,3\nc,1,1\n"), "missing or infinite cells: x"),
    ("an id twice", dict(rows="id,x\na,1\na,2\n"), "occur twice: first is 'a'"),
    ("unknown id column", dict(args=["--id", "who"]), "No column 'who'"),
    ("unknown method", dict(args=["--method", "magic"]), "No method 'magic'"),
    ("unknown parameter", dict(args=["--set", "magic=1"]), "knows"),
    ("unknown id in pairs", dict(pairs="a,b,answer\nr0,r99,same\n"), "r99"),
    ("unknown word", dict(pairs="a,b,answer\nr0,r1,perhaps\n"), "perhaps"),
    ("cannot-link with itself", dict(pairs="a,b,answer\nr0,r0,different\n"), "r0"),
    ("no answer column", dict(pairs="a,b\nr0,r1\n"), "pairs.csv"),
    (
        "more clusters than rows",
        dict(args=["--n-clusters", "50"]),
        "n_samples=20 should be >= n_clusters=50",
    ),
]


@pytest.mark.parametrize(
    "mess, want", [(m[1], m[2]) for m in MESS], ids=[m[0] for m in MESS]
)
def test_a_mess_gives_one_line_and_no_file(here, capsys, mess, want):
    if "rows" in mess:
        (here / "rows.csv").write_text(mess["rows"])
    if "pairs" in mess:
        (here / "pairs.csv").write_text(mess["pairs"])
    pairs = [] if "rows" in mess else ["--pairs", "pairs.csv"]
    before = sorted(p.name for p in here.iterdir())
    assert (
        main(["cluster", mess.get("data", "rows.csv"), *pairs, *mess.get("args", [])]) == 2
    )
    err = capsys.readouterr().err
    assert want in err and err.startswith("csc-nb: ") and "Traceback" not in err
    assert sorted(p.name for p in here.iterdir()) == before


def test_a_failed_run_keeps_the_old_file(here):
    (here / "labels.csv").write_text("mine")
    assert main(["cluster", "rows.csv", "--method", "magic"]) == 2
    assert (here / "labels.csv").read_text() == "mine"


def test_methods_are_listed(capsys):
    assert main(["methods"]) == 0
    out = capsys.readouterr().out
    assert "rdp-means" in out and "pairs" in out


def test_the_program_is_installed(here):
    done = subprocess.run(
        [os.path.join(os.path.dirname(sys.executable), "csc-nb"), "cluster", "none.csv"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2 and "none.csv" in done.stderr


def test_import_is_light():
    "`import csc_nb` adds no heavy module to scikit-learn and numba, and neither plotting nor widgets."
    code = "import sklearn, numba, sys; a = set(sys.modules); import csc_nb; new = {m.split('.')[0] for m in set(sys.modules) - a}; print(sorted(new))"
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert not {"matplotlib", "ipywidgets", "IPython", "pandas", "nbdev", "fastcore"} & set(
        eval(out)
    )
