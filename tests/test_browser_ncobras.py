"""The widget of chapter 17 in a real browser: "lie now" under Voilà, and the saved frames as a plain file."""

import os
from pathlib import Path

import nbformat
import pytest
from conftest import serve_voila

pytestmark = pytest.mark.browser
PAGE = nbformat.read(Path(__file__).parent.parent / "nbs" / "17_ncobras.ipynb", 4)
SETUP = """
import numpy as np, matplotlib.pyplot as plt, ipywidgets as widgets
from IPython.display import display
from fastcore.test import test_eq
from csc_nb.datasets import toy_graph
from csc_nb.graph import blocks
from csc_nb.ncobras import ConstraintVerifier
from csc_nb.plotting import use_style, plot_links, cluster_style
from csc_nb.widgets import explore
"""


def cell(start):
    return next(c for c in PAGE.cells if c.cell_type == "code" and start in c.source)


@pytest.fixture(scope="module")
def voila(tmp_path_factory):
    "The cells of the page that make the widget; the two presses of its check are taken out."
    path = tmp_path_factory.mktemp("voila") / "lie.ipynb"
    demo = cell("class LieNow").source.split("demo = LieNow()")[0] + "LieNow()"
    cells = [
        nbformat.v4.new_code_cell(s)
        for s in (
            SETUP,
            cell("ring = toy_graph").source,
            cell("def figure(alpha").source.replace("figure(lies=1, asked=4);", ""),
            demo,
        )
    ]
    nbformat.write(
        nbformat.v4.new_notebook(
            cells=cells,
            metadata={
                "kernelspec": {
                    "display_name": "python3",
                    "language": "python",
                    "name": "python3",
                }
            },
        ),
        path,
    )
    with serve_voila(path) as address:
        yield address


def test_lie_now_changes_the_picture(page, voila):
    page.goto(voila, timeout=120_000)
    page.wait_for_selector(".csc-explore", timeout=120_000)
    img, seen = page.locator(".csc-explore"), []
    for press in range(3):
        img.evaluate("img => img.decode()")
        seen.append(img.get_attribute("src"))
        if os.environ.get("CSC_NB_SHOTS"):
            page.screenshot(
                path=f"{os.environ['CSC_NB_SHOTS']}_{press}.png", full_page=True
            )
        page.get_by_role("button", name="lie now").click()
        page.wait_for_function(
            "([s, old]) => document.querySelector(s).src != old",
            arg=[".csc-explore", seen[-1]],
            timeout=60_000,
        )
    assert len(set(seen)) == 3


def test_saved_frames_move_without_a_kernel(page, tmp_path):
    html = next(
        o.data["text/html"]
        for o in cell("Frames(").outputs
        if "text/html" in o.get("data", {})
    )
    path = tmp_path / "frames.html"
    path.write_text(f"<!doctype html><meta charset=utf-8><body>{html}", encoding="utf-8")
    page.goto(path.as_uri())
    box, seen = page.locator(".csc-frames"), set()
    for lies in range(3):
        box.locator("input").nth(0).fill(str(lies))
        seen.add(box.locator("img").get_attribute("src"))
        assert box.locator("img").evaluate("img => img.complete && img.naturalWidth > 0")
    if os.environ.get("CSC_NB_SHOTS"):
        page.screenshot(path=f"{os.environ['CSC_NB_SHOTS']}_frames.png")
    assert len(seen) == 3
