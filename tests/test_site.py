"""The built site in Chromium: sliders move by keyboard, maths is set, nothing is fetched."""

import functools, http.server, os, subprocess, sys, threading
from pathlib import Path

import pytest
from conftest import serve_voila

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "_docs"
CHAPTERS = sorted(p.stem for p in (ROOT / "nbs").glob("1[0-8]*.ipynb"))
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not (ROOT / "nbs").exists(), reason="needs the repository"),
]


@pytest.fixture(scope="module")
def site():
    "The site that `make test` has just built, served on loopback; built when missing."
    if not (DOCS / "09_widgets.html").exists():
        subprocess.run([sys.executable, "tools/site.py"], cwd=ROOT, check=True)
    quiet = type(
        "Quiet", (http.server.SimpleHTTPRequestHandler,), dict(log_message=lambda *a: None)
    )
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(quiet, directory=str(DOCS))
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.mark.parametrize("name", ["index", "09_widgets", *CHAPTERS])
def test_a_slider_moves_and_nothing_is_fetched(page, site, name):
    page.goto(f"{site}/{name}.html")
    box = page.locator(".csc-frames").first
    slider, shown = (
        box.locator("input[type=range]").first,
        lambda: box.locator("img").first.get_attribute("src"),
    )
    slider.scroll_into_view_if_needed()
    slider.focus()
    page.keyboard.press("Home")
    page.wait_for_timeout(100)
    before = shown()
    page.keyboard.press("End")
    page.wait_for_timeout(100)
    assert before and shown() != before
    assert [u for u in page.asked if not u.startswith((site, "data:", "blob:"))] == []


def test_maths_is_set_without_a_network(page, site):
    page.goto(f"{site}/10_tvclust.html")
    page.wait_for_selector("mjx-container", timeout=60_000)
    assert page.locator("mjx-container").count() > 20
    assert [u for u in page.asked if not u.startswith((site, "data:", "blob:"))] == []


def test_every_page_is_reachable_from_the_index(page, site):
    page.goto(f"{site}/index.html")
    links = page.eval_on_selector_all("nav a", "xs => xs.map(x => x.getAttribute('href'))")
    pages = {p.stem for p in (ROOT / "nbs").glob("[0-9]*.ipynb")}
    assert pages <= {Path(l.split("#")[0]).stem for l in links}


@pytest.mark.parametrize(
    "name", ["09_widgets", *(pytest.param(c, marks=pytest.mark.slow) for c in CHAPTERS)]
)
def test_the_same_notebook_answers_under_voila(page, name):
    "The page whose frames moved above, alive: a slider of `explore` changes the picture."
    with serve_voila(ROOT / "nbs" / f"{name}.ipynb") as address:
        page.route(
            lambda u: not u.startswith((address, "data:", "blob:")), lambda r: r.abort()
        )
        page.goto(address, timeout=600_000)
        page.wait_for_selector(".csc-explore", timeout=600_000)
        img = page.locator(".csc-explore").first
        img.scroll_into_view_if_needed()
        before = img.get_attribute("src")
        value = page.locator(".noUi-handle").first
        value.focus()
        page.keyboard.press(
            "Home"
            if value.get_attribute("aria-valuenow") == value.get_attribute("aria-valuemax")
            else "End"
        )
        page.wait_for_function(
            "old => document.querySelector('.csc-explore').src != old",
            arg=before,
            timeout=120_000,
        )
        if os.environ.get("CSC_NB_SHOTS"):
            img.evaluate("x => x.decode()")
            page.screenshot(path=os.environ["CSC_NB_SHOTS"].replace(".png", f"_{name}.png"))
