"""The explorable of chapter 17 in a browser: "lie now" under Voilà, and as a plain file."""

import os
from pathlib import Path

import nbformat
import pytest
from conftest import serve_voila

pytestmark = pytest.mark.browser
PAGE = nbformat.read(Path(__file__).parent.parent / "nbs" / "17_ncobras.ipynb", 4)
SETUP = "import numpy as np\nfrom csc_nb.widgets import Live"
STATE = "document.querySelector('.csc-live').cscState"


def cell(start):
    return next(c for c in PAGE.cells if c.cell_type == "code" and start in c.source)


@pytest.fixture(scope="module")
def voila(tmp_path_factory):
    "The cell of the page that makes the explorable."
    path = tmp_path_factory.mktemp("voila") / "lie.ipynb"
    sources = (SETUP, cell('"answers",').source)
    kernel = {"display_name": "python3", "language": "python", "name": "python3"}
    nbformat.write(
        nbformat.v4.new_notebook(
            cells=[nbformat.v4.new_code_cell(s) for s in sources],
            metadata={"kernelspec": kernel},
        ),
        path,
    )
    with serve_voila(path) as address:
        yield address


@pytest.fixture
def plain_file(tmp_path, monkeypatch):
    "The saved output of the cell as a page of its own, with what the site adds."
    monkeypatch.syspath_prepend(str(Path(__file__).parent.parent / "tools"))
    import live

    outputs = cell('"answers",').outputs
    kept = next(o.data["text/html"] for o in outputs if "text/html" in o.get("data", {}))
    (html,) = live.whole([kept])
    path = tmp_path / "lie.html"
    path.write_text(f"<!doctype html><meta charset=utf-8><body>{html}", encoding="utf-8")
    return path.as_uri()


def lie_and_ask(page, shots):
    "One lie lowers the confidence; questions bring it back and find the lie."
    page.wait_for_selector(".csc-live canvas", timeout=120_000)
    page.wait_for_function(f"() => {STATE} && {STATE}.result")
    chance = lambda: page.evaluate(f"{STATE}.result.chance")
    seen = [chance()]
    for press, name in enumerate(["Lie now"] + 4 * ["Ask the next question"]):
        if os.environ.get("CSC_NB_SHOTS"):
            page.screenshot(path=f"{os.environ['CSC_NB_SHOTS']}_{shots}_{press}.png")
        button = page.get_by_role("button", name=name)
        button.focus()
        page.keyboard.press("Enter")
        seen.append(chance())
    assert seen[1] < seen[0] and seen[-1] > seen[1]
    said = page.locator(".csc-live-said").inner_text()
    lies = said.split("Lies: ")[1].split(";")[0]
    assert lies != "none" and lies in said.split("suspected: ")[1]


def test_lie_now_under_voila(page, voila):
    page.goto(voila, timeout=120_000)
    lie_and_ask(page, "voila")


def test_lie_now_without_a_kernel(page, plain_file):
    asked = []
    page.on("request", lambda r: asked.append(r.url))
    page.goto(plain_file)
    lie_and_ask(page, "file")
    assert all(u.startswith(("file:", "data:")) for u in asked)
