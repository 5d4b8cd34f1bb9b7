"""Dropping a notebook into nbs/ is all that a new chapter needs."""

import os, shutil, subprocess, sys
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parent.parent
pytestmark = pytest.mark.skipif(not (ROOT / "nbs").exists(), reason="needs the repository")


def notebook():
    md, code = nbformat.v4.new_markdown_cell, nbformat.v4.new_code_cell
    return nbformat.v4.new_notebook(
        cells=[
            md("# A trial chapter\n> Says hello to the reader."),
            code("#| default_exp trial"),
            code(
                "#| exports\ndef hello_trial(name):\n    'Greet.'\n    return f'hello {name}'"
            ),
            code("assert hello_trial('x') == 'hello x'"),
        ]
    )


def test_a_dropped_notebook_appears_everywhere(tmp_path):
    for d in ("nbs", "csc_nb", "tools"):
        shutil.copytree(
            ROOT / d,
            tmp_path / d,
            symlinks=True,
            ignore=shutil.ignore_patterns("__pycache__"),
        )
    for f in ("settings.ini", "_quarto.yml"):
        shutil.copy(ROOT / f, tmp_path)
    nbformat.write(notebook(), tmp_path / "nbs" / "19_trial.ipynb")
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    run = lambda *c: (
        subprocess.run(
            [sys.executable, *c],
            cwd=tmp_path,
            env=env,
            check=True,
            capture_output=True,
            text=True,
        ).stdout
    )
    subprocess.run(
        [Path(sys.executable).parent / "nbdev_export"],
        cwd=tmp_path,
        env=env,
        check=True,
        capture_output=True,
    )
    assert (
        run("-c", "from csc_nb.trial import hello_trial; print(hello_trial('you'))").strip()
        == "hello you"
    )
    run("tools/readme.py")
    row = next(
        l
        for l in (tmp_path / "README.md").read_text().splitlines()
        if "A trial chapter" in l
    )
    assert "Says hello" in row and "csc_nb.trial" in row
    assert "19_trial" in run(
        "-c",
        "import sys; sys.path.insert(0, 'tools'); from book import chapters; print([c.doc for c in chapters()])",
    )
    assert "19_trial" in run(
        "-c",
        "import sys; sys.path.insert(0, 'tools'); from execute import notebooks; print([p.stem for p in notebooks()])",
    )
