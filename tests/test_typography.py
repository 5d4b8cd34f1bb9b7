"""The typography gate: no page gets worse. What Chromium shows: test_site.py."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
pytestmark = pytest.mark.skipif(not (ROOT / "nbs").exists(), reason="needs the repository")
sys.path.insert(0, str(ROOT / "tools"))
if (ROOT / "nbs").exists():
    import typography

    PAGES = typography.pages()
else:
    PAGES = []


@pytest.mark.parametrize("path", PAGES, ids=typography.name if PAGES else None)
def test_no_page_exceeds_the_shape_or_its_allowance(path):
    assert typography.excess(path, typography.allowances()) == {}


def test_the_gate_notices(tmp_path, monkeypatch):
    "A page with every fault is reported for every fault."
    import nbformat
    from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

    shown = {"image/png": "", "text/plain": "<Figure>"}
    bad = [
        new_markdown_cell("# Trial\n\n## Exercises\n1. Do it."),
        new_code_cell("x = 1  # " + "long " * 20),
        new_code_cell(
            "y", outputs=[new_output("execute_result", {"text/plain": "np.float64(1.0)"})]
        ),
        new_code_cell(
            "z", outputs=[new_output("execute_result", {"text/plain": "{'a': 1}"})]
        ),
        new_code_cell("def Wishart(*args, **kwargs):\n    ..."),
        new_code_cell("plot()", outputs=[new_output("display_data", shown)]),
        *(new_markdown_cell("word") for _ in range(20)),
        new_code_cell("\n".join(f"a{i} = {i}" for i in range(500))),
    ]
    path = tmp_path / "10_trial.ipynb"
    nbformat.write(new_notebook(cells=bad), path)
    monkeypatch.setattr(typography, "NBS", tmp_path)
    assert set(typography.excess(path, {})) == set(typography.GOALS)


def test_every_piece_of_an_exercise_is_missed():
    "Mark, hint, starter and solution are each asked for; with all four nothing is wanting."
    from nbformat.v4 import new_code_cell, new_markdown_cell

    task = new_markdown_cell("## Exercises\n\n1. ● Do it.\n\n   *Hint.* Think.")
    starter = new_code_cell("def f():\n    return ...  # your turn")
    fold = '#| code-fold: true\n#| code-summary: "Solution 1"\n'
    solution = new_code_cell(fold + "f = 1")
    whole = [task, starter, solution]
    assert typography.exercise_faults(whole) == []
    assert typography.exercise_faults(whole[:2]) == ["1: no solution"]
    assert typography.exercise_faults(whole[::2]) == ["1: no starter"]
    bare = new_markdown_cell("## Exercises\n\n1. Do it.")
    assert typography.exercise_faults([bare, starter, solution]) == [
        "1: no mark",
        "1: no hint",
    ]
