"""Every slider of a page draws at both ends and in the middle, and moves the figure."""

import ast
import importlib
import re
from pathlib import Path

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import nbformat
import numpy as np
import pytest

NBS = Path(__file__).resolve().parent.parent / "nbs"
NOT_RUN = {"10a_rdpmeans", "12_experts", "13_bags", "14_disc", "22_spectral_baselines"}


def explored(page):
    "(figure function, its sliders) of a page, as they stand in calls of `explore`."
    cells = [c.source for c in nbformat.read(page, 4).cells if c.cell_type == "code"]
    for source in cells:
        if not re.search(r"^explore\(", source, re.M):
            continue
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "explore":
                yield node.args[0].id, node.keywords


def module_of(page):
    home = re.search(r"#\| default_exp (\S+?)[\\\"]", page.read_text(encoding="utf-8"))
    return importlib.import_module(f"csc_nb.{home[1]}") if home else None


def stops(slider):
    "Both ends and the middle."
    if isinstance(slider, list):
        return slider[0], slider[len(slider) // 2], slider[-1]
    low, high, *step = slider
    step = step[0] if step else 1
    middle = low + step * round((high - low) / step / 2)
    return low, type(low)(middle), high


def exported_sliders():
    "(page, function, slider, its stops) where the function is exported with the page."
    for page in sorted(NBS.glob("*.ipynb")):
        if "explore(" not in page.read_text(encoding="utf-8"):
            continue
        module = module_of(page)
        for name, sliders in explored(page):
            if not hasattr(module, name):
                continue  # defined on the page: the page's own run calls it
            for s in sliders:
                where = stops(ast.literal_eval(s.value))
                yield pytest.param(
                    getattr(module, name), s.arg, where, id=f"{page.stem}-{s.arg}"
                )


SLIDERS = list(exported_sliders())


def picture(figure):
    figure.set_dpi(40)
    figure.canvas.draw()
    pixels = np.asarray(figure.canvas.buffer_rgba()).copy()
    plt.close(figure)
    return pixels


def test_the_sliders_that_no_page_runs_are_all_here():
    assert NOT_RUN <= {p.id.rsplit("-", 1)[0] for p in SLIDERS}


@pytest.mark.parametrize("draw, slider, where", SLIDERS)
def test_both_ends_and_the_middle_draw_different_figures(draw, slider, where):
    low, middle, high = (picture(draw(**{slider: value})) for value in where)
    assert not np.array_equal(low, high) or not np.array_equal(low, middle)
    assert low.std() > 0 and high.std() > 0  # something is drawn
