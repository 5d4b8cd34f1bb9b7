"""Signatures and attributes of the public names are pinned: a change is a decision."""

import inspect
import re
import sys
from pathlib import Path

import nbformat
import pytest

import csc_nb

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import contract
from reference import glossary, glossary_page

PUBLIC = sorted(csc_nb.__all__)
CLASSES = [n for n in PUBLIC if inspect.isclass(getattr(csc_nb, n))]
HOW = "Meant so? `python tools/contract.py --write`, and a line in CHANGELOG.md."


def test_nothing_changed_without_a_decision():
    gone, new = contract.changes()
    shown = "\n".join([*(f"- {g}" for g in gone), *(f"+ {n}" for n in new)])
    assert not gone and not new, f"{shown}\n{HOW}"


@pytest.mark.parametrize(
    "change, fact",
    [
        ("def f(a, b=2): pass", "f(a, b=2)"),
        ("def f(a, *, b=2): pass", "f(a, *, b=2)"),
        ("def f(a: int = 1) -> str: pass", "f(a=1)"),
    ],
)
def test_a_signature_is_pinned_with_its_kinds_and_defaults(change, fact):
    room = {}
    exec(change, room)
    assert list(contract.facts("f", room["f"])) == [fact]


def test_a_new_parameter_a_lost_attribute_and_a_lost_method_are_noticed(
    tmp_path, monkeypatch
):
    facts = contract.contract()
    assert "RDPMeans.lam_" in facts
    assert any(f.startswith("RDPMeans.fit(self, X, y=None, *, ") for f in facts)
    other = [f for f in facts if not f.startswith("RDPMeans.lam_")]
    other = [f.replace("COBRAS(*", "COBRAS(*, more=1") for f in other]
    (tmp_path / "contract.txt").write_text("\n".join(facts) + "\n")
    monkeypatch.setattr(contract, "FILE", tmp_path / "contract.txt")
    monkeypatch.setattr(contract, "contract", lambda: other)
    gone, new = contract.changes()
    assert "RDPMeans.lam_" in gone
    assert new and all("more=1" in n for n in new) and len(new) == len(gone) - 1


def words_of_the_notation_page():
    "Names that the table *Names in the code* of page 00 explains."
    nb = nbformat.read(ROOT / "nbs" / "00_notation.ipynb", 4)
    cells = [c.source for c in nb.cells if c.source.startswith("## Names in the code")]
    rows = [line for line in cells[0].splitlines() if line.startswith("| `")]
    return {word for row in rows for word in re.findall(r"`(\w+)`", row)}


def test_the_glossary_has_every_parameter_of_every_public_constructor():
    known, page = glossary(PUBLIC), glossary_page(PUBLIC)
    homes = {}
    for name in CLASSES:
        own = vars(getattr(csc_nb, name)).get("__init__")
        for p in inspect.signature(own).parameters.values() if own else ():
            if p.name != "self" and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
                homes.setdefault(p.name, []).append(name)
    missing = set(homes) - set(known["Parameters"]) - set(known["Attributes"])
    assert not missing, f"not in the glossary: {missing}"
    assert all(f"| `{name}` |" in page for name in homes)
    shared = {n for n, classes in homes.items() if len(classes) > 1}
    shared -= {"classes", "args", "kwargs"}
    unexplained = sorted(shared - words_of_the_notation_page())
    assert not unexplained, f"page 00, *Names in the code*, does not explain {unexplained}"


def test_the_notation_page_explains_no_name_that_is_gone():
    known = glossary(PUBLIC)
    words = {*known["Parameters"], *known["Attributes"]}
    words |= {p for n in CLASSES for p in inspect.signature(getattr(csc_nb, n)).parameters}
    words |= {w for n in CLASSES for w in dir(getattr(csc_nb, n))}
    gone = words_of_the_notation_page() - words - {"as_published"}
    gone = {w for w in gone if w not in PUBLIC}
    assert not gone
