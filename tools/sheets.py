"""Contact sheets of the saved explorables: `python tools/sheets.py FOLDER [NOTEBOOK ...]`.

One PNG for each: three states side by side, on a wide light page and on a narrow dark one.
The states are how it opens and the ends of its first slider, or presses of its button.
"""

import argparse
import io
import json
import shutil
import tempfile
from pathlib import Path

from live import PRESSED, ROOT, outputs, settings
from PIL import Image
from playwright.sync_api import sync_playwright

from csc_nb.widgets import _packed, _static, live_html

WIDE, NARROW = (900, False), (390, True)
PAGE = (
    "<!doctype html><meta charset=utf-8><html{theme}>"
    "<style>body {{ background: {paper}; margin: 12px }}</style>{body}"
)


def states(page, config):
    "Bring the explorable into each of its three states."
    draw, sliders = config["draw"], config["sliders"]
    yield
    if draw in PRESSED:
        _, button, counts = PRESSED[draw]
        for a, b in zip(counts, counts[1:3]):
            for _ in range(b - a):
                page.get_by_role("button", name=button).click()
            yield
    elif sliders:
        for end in ("min", "max"):
            page.locator("input[type=range]").first.fill(str(sliders[0][end]))
            yield
    else:
        for e in (1, 3):
            change = "s.links[e][2] = -s.links[e][2]; s.links[e][3] = -1; s.update()"
            there = "const s = document.querySelector('.csc-live').cscState"
            page.evaluate(f"e => {{ {there}; {change}; }}", e)
            yield


def sheet(browser, folder, config, size, dark):
    "Three screenshots side by side."
    full = config | {"wasm": _packed(_static(f"live/{config['kernel']}.wasm", True))}
    path = Path(folder) / "one.html"
    theme, paper = (' data-theme="dark"', "#1f1f1f") if dark else ("", "#fff")
    body = live_html(full, "")
    path.write_text(PAGE.format(theme=theme, paper=paper, body=body), encoding="utf-8")
    page = browser.new_page(viewport={"width": size, "height": 900})
    page.goto(path.as_uri())
    page.wait_for_selector("canvas")
    shots = []
    for _ in states(page, config):
        page.wait_for_timeout(700)
        shots.append(Image.open(io.BytesIO(page.screenshot(full_page=True))))
    page.close()
    out = Image.new("RGB", (sum(s.width for s in shots), max(s.height for s in shots)))
    x = 0
    for s in shots:
        out.paste(s, (x, 0))
        x += s.width
    return out


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("folder", type=Path)
    ap.add_argument("notebooks", nargs="*", type=Path)
    args = ap.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    where = shutil.which("chromium") or "/usr/bin/chromium"
    with sync_playwright() as play, tempfile.TemporaryDirectory() as folder:
        browser = play.chromium.launch(executable_path=where, args=["--no-sandbox"])
        for path in args.notebooks or sorted((ROOT / "nbs").glob("*.ipynb")):
            nb = json.loads(path.read_text(encoding="utf-8"))
            for i, (_, text) in enumerate(outputs(nb)):
                config = settings(text)[1]
                for size, dark in (WIDE, NARROW):
                    name = f"{path.stem}-{i}-{config['draw']}-{size}.png"
                    sheet(browser, folder, config, size, dark).save(args.folder / name)
                    print(name, flush=True)
        browser.close()


if __name__ == "__main__":
    main()
