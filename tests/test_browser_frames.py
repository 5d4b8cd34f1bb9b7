"""Sliders in a real browser: frames from a file, `explore` and `Stepper` under Voilà."""

import os

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import nbformat
import pytest
from conftest import serve_voila

pytestmark = pytest.mark.browser
SHOWN = "img => img.complete && img.naturalWidth > 0"


def bars(a=1, b=1):
    fig, ax = plt.subplots(figsize=(3, 2))
    ax.bar([0, 1], [a, b])
    ax.set_ylim(0, 5)
    return fig


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    "A plain file with two boxes of frames."
    from csc_nb.widgets import Frames

    one, two = (
        Frames(bars, a=(1, 4), b=[1, 3]),
        Frames(bars, {"b": [5, 2]}, alt="second <box>"),
    )
    path = tmp_path_factory.mktemp("site") / "index.html"
    path.write_text(
        f"<!doctype html><meta charset=utf-8><body>{one._repr_html_()}{two._repr_html_()}",
        encoding="utf-8",
    )
    return path.as_uri()


def test_keyboard_moves_only_its_own_box_and_nothing_is_fetched(page, site):
    errors = []
    page.on("pageerror", lambda e: errors.append(str(e)))
    page.goto(site)
    one, two = page.locator(".csc-frames").all()
    src = lambda box: box.locator("img").get_attribute("src")
    first, other = src(one), src(two)
    slider = one.locator("input").nth(0)
    slider.focus()
    page.keyboard.press("ArrowRight")
    second = src(one)
    assert second != first and one.locator("output").nth(0).inner_text() == "2"
    assert one.locator("img").get_attribute("alt") == "bars: a = 2, b = 1"
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowUp")
    assert src(one) not in (first, second) and slider.get_attribute("aria-valuetext") == "2"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("ArrowLeft")
    assert src(one) == first and src(two) == other
    two.locator("input").focus()
    page.keyboard.press("End")
    assert src(two) != other and src(one) == first
    assert all(b.locator("img").evaluate(SHOWN) for b in (one, two)) and not errors
    assert [u for u in page.asked if not u.startswith("data:")] == [site]


def test_every_picture_of_the_box_can_be_seen(page, site):
    page.goto(site)
    box = page.locator(".csc-frames").nth(0)
    seen = set()
    for a in range(4):
        for b in range(2):
            for k, v in enumerate((a, b)):
                box.locator("input").nth(k).fill(str(v))
            box.locator("img").evaluate("img => img.decode()")
            seen.add(box.locator("img").screenshot())
    assert len(seen) == 8


def test_mouse_moves_the_slider(page, site):
    page.goto(site)
    box = page.locator(".csc-frames").nth(0)
    first = box.locator("img").get_attribute("src")
    r = box.locator("input").nth(0).bounding_box()
    page.mouse.click(r["x"] + r["width"] - 4, r["y"] + r["height"] / 2)
    assert (
        box.locator("output").nth(0).inner_text() == "4"
        and box.locator("img").get_attribute("src") != first
    )


def test_without_javascript_the_first_picture_stays(page, site):
    still = page.context.browser.new_context(java_script_enabled=False).new_page()
    still.goto(site)
    box = still.locator(".csc-frames").nth(0)
    assert (
        box.locator("img").is_visible()
        and box.locator("img").get_attribute("alt") == "bars: a = 1, b = 1"
    )
    assert not box.locator("input").nth(0).is_visible()


NOTEBOOK = (
    """
import matplotlib.pyplot as plt
from csc_nb.widgets import explore, Frames, Stepper
def bars(a=1, b=1):
    fig, ax = plt.subplots(figsize=(3, 2))
    ax.bar([0, 1], [a, b]); ax.set_ylim(0, 5)
    return fig
""",
    "explore(bars, a=(1, 4), b=[1, 3])",
    "Stepper(1, lambda k: min(k+1, 3), bars)",
    "Frames(bars, a=[1, 4])",
)


@pytest.fixture(scope="module")
def voila(tmp_path_factory):
    "Voilà with a notebook that uses all three."
    path = tmp_path_factory.mktemp("voila") / "demo.ipynb"
    spec = {"display_name": "python3", "language": "python", "name": "python3"}
    nbformat.write(
        nbformat.v4.new_notebook(
            cells=[nbformat.v4.new_code_cell(c) for c in NOTEBOOK],
            metadata={"kernelspec": spec},
        ),
        path,
    )
    with serve_voila(path) as address:
        yield address


def changed(page, selector, old):
    page.wait_for_function(
        "([s, old]) => document.querySelector(s).src != old",
        arg=[selector, old],
        timeout=30_000,
    )
    img = page.locator(selector)
    img.evaluate("img => img.decode()")
    return img.get_attribute("src"), img.screenshot()


def test_voila_answers_a_slider_a_button_and_frames(page, voila):
    page.route(
        lambda u: not u.startswith((voila, "data:", "blob:")), lambda r: r.abort()
    )  # as on a machine without a network
    page.goto(voila, timeout=90_000)
    live = ".csc-explore"
    page.wait_for_selector(live, timeout=60_000)
    img = page.locator(live)
    img.evaluate("img => img.decode()")
    src, picture = img.get_attribute("src"), img.screenshot()
    page.locator(".noUi-handle").first.focus()
    page.keyboard.press("ArrowRight")
    src2, picture2 = changed(page, live, src)
    assert picture2 != picture
    page.keyboard.press("ArrowLeft")
    assert changed(page, live, src2)[1] == picture

    src = page.locator(".csc-stepper").get_attribute("src")
    page.get_by_role("button", name="run").click()
    changed(page, ".csc-stepper", src)
    page.get_by_text("step 2, finished").wait_for(timeout=10_000)
    assert page.get_by_role("button", name="run").is_disabled()

    box = page.locator(".csc-frames")
    old = box.locator("img").get_attribute("src")
    box.locator("input").focus()
    page.keyboard.press("ArrowRight")
    assert box.locator("img").get_attribute("src") != old
    if os.environ.get("CSC_NB_SHOTS"):
        page.screenshot(path=os.environ["CSC_NB_SHOTS"], full_page=True)
    foreign = [
        u for u in page.asked if u.startswith(("http", "ws")) and not u.startswith(voila)
    ]
    assert all("font" in u and u.endswith(".css") for u in foreign), (
        foreign
    )  # icons named by Voilà's own template; blocked here, nothing of ours
