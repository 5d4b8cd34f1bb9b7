"""Every numbered equation of the papers has a check that exists, or an entry that says
why not."""

import sys
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parent.parent
pytestmark = pytest.mark.skipif(not (ROOT / "nbs").exists(), reason="needs the repository")
sys.path.insert(0, str(ROOT / "tools"))
if (ROOT / "nbs").exists():
    import ledger


def test_nothing_is_missing():
    assert ledger.faults(ledger.rows()) == []


def test_most_equations_are_checked_by_a_cell():
    "Reasons may not replace checks wholesale."
    eq = [r for r in ledger.rows() if r["kind"] not in ("result", "figure")]
    done = [r for r in eq if ledger.find(r) is not None]
    assert len(eq) > 120 and len(done) > 0.75 * len(eq)


def test_errors_found_in_papers_are_checked_or_explained():
    wrong = [r for r in ledger.rows() if r["verdict"] == "ERROR"]
    assert len(wrong) >= 20 and all(r["holds"] for r in wrong)


@pytest.fixture
def book(tmp_path):
    "A small book with one notebook, one checked equation."
    (tmp_path / "nbs").mkdir()
    md, code = nbformat.v4.new_markdown_cell, nbformat.v4.new_code_cell
    nbformat.write(
        nbformat.v4.new_notebook(
            cells=[md("# A"), md("## Where it is"), code("assert f(2) == 4"), code("g(3)")]
        ),
        tmp_path / "nbs" / "90_a.ipynb",
    )
    return tmp_path


def entry(**change):
    return {
        **dict(
            paper="x",
            item="(1)",
            kind="equation",
            statement="",
            verdict="OK",
            holds="",
            notebook="90_a",
            check="f(2) == 4",
            why_not="",
            run="",
        ),
        **change,
    }


@pytest.mark.parametrize(
    "change, fault",
    [
        (dict(), None),
        (dict(check="f(2) == 5"), "no cell with an assertion"),
        (dict(check="g(3)"), "no cell with an assertion"),
        (dict(check="g(3)", kind="result", run="smaller"), None),
        (dict(check="g(3)", kind="result"), "says how it was run"),
        (dict(run="as printed"), "only a result"),
        (dict(check=""), "says why not"),
        (dict(check="", why_not="an illustration"), None),
        (dict(notebook="91_b"), "no cell with an assertion"),
        (dict(check="old || f(2) == 4"), None),
        (dict(verdict=""), "no verdict"),
    ],
)
def test_a_lost_check_is_a_fault(book, change, fault):
    own = [f for f in ledger.faults([entry(**change)], book) if f.startswith("paper x")]
    assert (own == []) if fault is None else (fault in own[0])


def test_a_lost_entry_is_a_fault():
    less = [r for r in ledger.rows() if (r["paper"], r["item"]) != ("004", "(8)")]
    assert ledger.faults(less) == ["paper 004: (8) has no entry"]


def test_the_heading_is_found(book):
    assert ledger.find(entry(), book) == "Where it is"


def test_anchors_are_those_of_the_site():
    nodes = pytest.importorskip("docutils.nodes")
    headings = {ledger.find(r) for r in ledger.rows()} - {None, ""} | {
        "How large is λ?",
        "3.4.1 One point's price",
        "Why $\\alpha$ is small",
    }
    assert len(headings) > 40 and {h: ledger.slug(h) for h in headings} == {
        h: nodes.make_id(h) for h in headings
    }
