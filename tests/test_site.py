"""The built site in Chromium: sliders move by keyboard, maths is set, nothing is
fetched."""

import functools, http.server, os, subprocess, sys, threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from conftest import serve_voila

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "_docs"
CHAPTERS = sorted(  # those that have pre-rendered frames; explorables: test_live.py
    p.stem
    for p in (ROOT / "nbs").glob("1[0-8]*.ipynb")
    if "Frames(" in p.read_text(encoding="utf-8")
)
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


BAD = """<!doctype html><meta name="viewport" content="width=device-width">
<style>body{margin:0;background:#fff}
@media(prefers-color-scheme:dark){body{background:#111}}
.ink{color:#222}@media(prefers-color-scheme:dark){.good{color:#eee}}</style>
<article class="bd-article good"><p class="good">plain words</p>%s</article>"""
FAULTS = {
    "a table as text": "<p class='good'>| a | b |\n|---|---|\n| 1 | 2 |</p>",
    "cut off": "<div style='overflow:hidden;width:300px'>"
    "<p class=good style='width:2000px'>x y</p></div>",
    "scrolls sideways": "<p class='good' style='width:2000px'>a long line</p>",
    "hidden by its box": "<table><td style='max-width:80px;overflow:hidden;"
    "white-space:nowrap;display:block' class='good'>much more than fits in it</td></table>",
    "code: a long line": "<div class=highlight style='width:300px'>"
    "<pre class=good style='overflow:auto'>a long line of code, as wide as a page is wide"
    "</pre></div>",
    "equation: sum": "<div class=good id=sum style='width:99px'><mjx-container "
    "display=true style='display:inline-block;width:400px'>x</mjx-container></div>",
    "picture: wide": "<div style='overflow:auto;width:1300px;margin-left:200px'>"
    "<img alt=wide width=1300 height=9 src='data:image/gif;base64,R0lGODlhAQABAAAAACw='>"
    "</div>",
    "no picture": "<img src='nothing.png' alt='gone' width=40 height=40>",
    "dark: pale": "<p class='ink'>ink on a dark ground</p>",
}


def look_apart(pages, folder):
    "`pictures.look` in a thread of its own: this one may already drive a Chromium."
    sys.path.insert(0, str(ROOT / "tools"))
    from pictures import look

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(look, pages, folder).result()


def test_the_look_at_pages_notices_each_fault(tmp_path):
    "A page with one fault is reported for it; a scrolling table and a plain page are not."
    fine = "<td><p style='width:2000px'>wide</p></table></div>"
    fine = "<div style='overflow-x:auto'><table class=good>" + fine
    pages = {f"p{k}.html": html for k, html in enumerate(FAULTS.values())}
    for name, inside in {**pages, "fine.html": fine}.items():
        (tmp_path / name).write_text(BAD % inside)
    bad = look_apart(sorted(tmp_path.glob("*.html")), tmp_path)
    for (name, _), says in zip(pages.items(), FAULTS):
        assert any(b.startswith(name) and says in b for b in bad), (says, bad)
    assert not [b for b in bad if b.startswith("fine")]


def test_tables_are_tables_and_nothing_is_cut(site):
    "Every page of the site at 1 280 and 390 px, light and dark, and at 1 366 px."
    sys.path.insert(0, str(ROOT / "tools"))
    from pictures import pages_of

    bad = look_apart(pages_of(DOCS), DOCS)
    source = "08_plotting.html"  # shows what a table is as Markdown, on purpose
    assert [b for b in bad if not (b.startswith(source) and "a table as text" in b)] == []
