"""Dropping a notebook into nbs/ is all that a new chapter needs."""

import os
import shutil
import subprocess
import sys
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
                "#| exports\ndef hello_trial(name):\n    'Greet.'\n"
                "    return f'hello {name}'"
            ),
            code("assert hello_trial('x') == 'hello x'"),
            code("#| exports\nclass NCOBRAS:\n    'Has the name of a public class.'"),
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

    def run(*command):
        done = subprocess.run(
            [sys.executable, *command],
            cwd=tmp_path,
            env=env,
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout

    names = "import csc_nb; print(*csc_nb.__all__, csc_nb.NCOBRAS.__module__)"
    before = run("-c", names)
    run("tools/export.py", ".")
    greet = "from csc_nb.trial import hello_trial; print(hello_trial('you'))"
    assert run("-c", greet).strip() == "hello you"
    assert run("-c", names) == before  # a name that is used again is not lost
    assert before.split()[-1] == "csc_nb.ncobras"
    run("tools/readme.py")
    table = (tmp_path / "README.md").read_text().splitlines()
    row = next(line for line in table if "A trial chapter" in line)
    assert "Says hello" in row and "csc_nb.trial" in row
    tools = "import sys; sys.path.insert(0, 'tools'); "
    listed = "from book import chapters; print([c.doc for c in chapters()])"
    assert "19_trial" in run("-c", tools + listed)
    executed = "from execute import notebooks; print([p.stem for p in notebooks()])"
    assert "19_trial" in run("-c", tools + executed)
