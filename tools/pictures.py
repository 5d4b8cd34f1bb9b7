"""Look at the pages of the built site as a reader does.

`python tools/pictures.py [_docs] [--shots FOLDER] [NAME …]`: Chromium opens every page
once and sees it at 1 280 and 390 px, light and dark, and at 1 366 px. A fault is a table
that is shown as text with pipes, something that is cut off (beyond the edge of the
window and in no box that scrolls, or hidden by its box), a page that scrolls sideways, a
picture that is not there, and writing that cannot be told from its ground; at 1 366 px
also code and equations wider than their column, which would scroll.
"""

import itertools
import shutil
import sys
from pathlib import Path

CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"
ARGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
]
WIDTHS = (1280, 390)
SCHEMES = ("light", "dark")
COLUMN = 1366  # here code and equations must fit into their column

LOOK = r"""() => {
  const found = [], page = document.querySelector('.bd-article') || document.body;
  const words = e => (e.alt || e.innerText || e.tagName).trim()
    .replace(/\s+/g, ' ').slice(0, 50);
  const seen = e => e.checkVisibility({checkOpacity: true, checkVisibilityCSS: true});
  const scrolls = e => ['auto', 'scroll'].includes(getComputedStyle(e).overflowX);
  const inBox = e => {
    for (let b = e.parentElement; b && b !== document.body; b = b.parentElement)
      if (scrolls(b) && b.getBoundingClientRect().right <= innerWidth + 2) return true;
    return false;
  };
  if (document.documentElement.scrollWidth > innerWidth + 2)
    found.push('the page scrolls sideways');
  const parts = 'p, li, pre, td, th, img, svg, figure, h1, h2, h3, button, input';
  for (const e of page.querySelectorAll(parts)) {
    if (!seen(e)) continue;
    const r = e.getBoundingClientRect();
    if (!r.width) continue;
    if ((r.right > innerWidth + 2 || r.left < -2) && !inBox(e))
      found.push(`cut off: ${words(e)}`);
    const s = getComputedStyle(e);
    const clips = ['hidden', 'clip'].includes(s.overflowX)
      && !['svg', 'IMG'].includes(e.tagName);
    if (clips && e.scrollWidth > e.clientWidth + 2)
      found.push(`hidden by its box: ${words(e)}`);
  }
  for (const e of page.querySelectorAll('img'))
    if (seen(e) && e.complete && !e.naturalWidth) found.push(`no picture: ${words(e)}`);
  for (const e of page.querySelectorAll('mjx-container:not([display="true"])')) {
    const column = e.closest('p, li'), inside = e.firstElementChild;
    if (seen(e) && column && inside
        && inside.getBoundingClientRect().width > column.clientWidth + 2)
      found.push(`cut off: an equation in ${words(column)}`);
  }
  for (const e of page.querySelectorAll('p, .output, pre')) {
    if (!seen(e) || e.closest('div.highlight')) continue;
    if (/^\s*\|.*\|\s*$[\s\S]*^\s*\|?\s*:?-{2,}/m.test(e.innerText)
        || /\|\s*:?-{3,}:?\s*\|/.test(e.innerText))
      found.push(`a table as text: ${words(e)}`);
  }
  const rgba = c => {
    const v = (c.match(/[\d.]+/g) || []).map(Number);
    return [v[0], v[1], v[2], v[3] ?? 1];
  };
  const light = c => {
    const [r, g, b] = c.slice(0, 3).map(x => x / 255)
      .map(x => x <= .03928 ? x / 12.92 : ((x + .055) / 1.055) ** 2.4);
    return .2126 * r + .7152 * g + .0722 * b;
  };
  const over = (top, below) =>
    [0, 1, 2].map(k => top[k] * top[3] + below[k] * (1 - top[3]));
  for (const e of page.querySelectorAll('p, li, td, th, figcaption, h1, h2, h3, pre')) {
    if (!seen(e) || !words(e) || e.closest('svg')) continue;
    const layers = [];
    let solid = false, picture = false;
    for (let b = e; b && !solid && !picture; b = b.parentElement) {
      const s = getComputedStyle(b), c = rgba(s.backgroundColor);
      picture = s.backgroundImage !== 'none';
      layers.push(c);
      solid = c[3] === 1;
    }
    if (picture) continue;
    const colour = rgba(getComputedStyle(e).color);
    if (colour[3] < .1) continue;
    const white = [255, 255, 255];
    const ground = layers.reverse().reduce((below, top) => over(top, below), white);
    const ink = light(over(colour, ground)), under = light(ground);
    const ratio = (Math.max(ink, under) + .05) / (Math.min(ink, under) + .05);
    if (ratio < 3) found.push(`pale (${ratio.toFixed(1)}:1): ${words(e)}`);
  }
  return [...new Set(found)].slice(0, 12);
}"""

CUT_OFF = r"""() => {
  const found = [], page = document.querySelector('.bd-article') || document.body;
  const wide = e => e.offsetParent && e.scrollWidth > e.clientWidth + 2;
  for (const e of page.querySelectorAll('div.highlight pre'))
    if (wide(e)) found.push('code: ' + e.textContent.split('\n')
      .sort((a, b) => b.length - a.length)[0].trim().slice(0, 60));
  for (const e of page.querySelectorAll('mjx-container[display="true"]')) {
    const column = e.closest('div.math') || e.parentElement;
    if (column.offsetParent && e.getBoundingClientRect().width > column.clientWidth + 2)
      found.push('equation: ' + (column.id || column.textContent.slice(0, 40)));
  }
  for (const e of page.querySelectorAll('mjx-merror'))
    found.push('equation: ' + e.textContent);
  const size = e => parseFloat(getComputedStyle(e).fontSize);
  const beside = page.querySelector('mjx-container:not([display])');
  for (const e of page.querySelectorAll('mjx-container[display="true"]')) {
    const column = e.closest('div.math') || e.parentElement;
    const inside = e.querySelector('mjx-math');
    if (!beside || !column.offsetParent || !inside) continue;
    if (size(e) > .98 * size(beside)) continue;
    if (inside.scrollWidth < .8 * size(e) / size(beside) * column.clientWidth)
      found.push('small equation: ' + (column.id || column.textContent.slice(0, 40)));
  }
  for (const e of page.querySelectorAll('img'))
    if (e.offsetParent && e.getBoundingClientRect().right > window.innerWidth + 2)
      found.push('picture: ' + e.alt);
  return found;
}"""


def settled(page):
    "Wait for pictures and, where there is maths, for it to be set."
    page.evaluate(
        "() => Promise.all([...document.images].filter(i => i.loading !== 'lazy')"
        ".map(i => i.decode().catch(() => 0)))"
    )
    if page.locator(".math").count():
        page.wait_for_function(
            "() => window.MathJax && MathJax.startup && MathJax.startup.promise",
            timeout=90_000,
        )
        page.evaluate(
            "() => MathJax.startup.promise"
            ".then(() => window.fitEquations && fitEquations())"
        )


def look(
    files,  # HTML files
    base,  # folder that names are relative to
    shots=None,  # folder for pictures of the tops of the pages
    widths=WIDTHS,
    schemes=SCHEMES,
) -> list:  # of sentences
    "What a reader would trip over, page by page."
    from playwright.sync_api import sync_playwright

    bad = []
    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=CHROMIUM, args=ARGS)
        page = browser.new_page(viewport=dict(width=1280, height=900))
        for file in files:
            name = Path(file).relative_to(base)
            page.emulate_media(color_scheme=schemes[0])
            page.set_viewport_size(dict(width=widths[0], height=900))
            page.goto(Path(file).absolute().as_uri(), timeout=90_000)
            settled(page)
            page.set_viewport_size(dict(width=COLUMN, height=900))
            page.wait_for_timeout(50)  # equations are fitted again
            bad += [f"{name} at {COLUMN} px, {f}" for f in page.evaluate(CUT_OFF)]
            for width, scheme in itertools.product(widths, schemes):
                page.set_viewport_size(dict(width=width, height=900))
                page.emulate_media(color_scheme=scheme)
                page.wait_for_timeout(50)
                page.evaluate("() => window.fitEquations && fitEquations()")
                bad += [f"{name} at {width} px, {scheme}: {f}" for f in page.evaluate(LOOK)]
                if shots:
                    Path(shots).mkdir(parents=True, exist_ok=True)
                    flat = str(name.with_suffix("")).replace("/", "_")
                    page.set_viewport_size(dict(width=width, height=2400))
                    page.screenshot(
                        path=Path(shots) / f"{flat}_{width}_{scheme}.png",
                        timeout=180_000,
                    )
        browser.close()
    return bad


def pages_of(out):
    "The pages that were made from notebooks, and the reference's index."
    found = [*Path(out).glob("*.html"), *Path(out).glob("experiments/*.html")]
    return sorted(f for f in found if f.stem not in ("genindex", "search"))


def main(argv):
    shots = argv[argv.index("--shots") + 1] if "--shots" in argv else None
    rest = [a for a in argv if a not in ("--shots", shots)]
    out = Path(rest[0] if rest else "_docs")
    names = rest[1:]
    files = [f for f in pages_of(out) if not names or f.stem in names]
    bad = look(files, out, shots)
    print("\n".join(bad))
    print(f"{len(files)} pages looked at: {len(bad)} faults")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
