"""Put today's component and fallback pictures into saved explorables: `python
tools/live.py [NOTEBOOK ...]`.

A saved `Live` holds its own settings, so its output can be made anew without running the
page. Pictures for browsers without WebAssembly are taken in Chromium: one for some
positions of the first slider, or after some presses of a button. They are kept while the
settings, the page part and the module stay the same. `--check` only tells what is old.

A notebook keeps settings and pictures alone: Jupyter runs no script of a notebook that
somebody else executed, so the page part and the modules would only weigh there. A page of
the site carries each of them once (`whole`).
"""

import argparse
import base64
import hashlib
import html
import io
import json
import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STATIC = ROOT / "csc_nb" / "static"
sys.path.insert(0, str(ROOT))
SAVED = re.compile(
    r'<div class="csc-live-still-picture">(.*?)</div>'
    r'<script type="application/json">(.*?)</script></div>',
    re.S,
)
PRESSED = {  # scene → what is counted, the button, how often
    "cobras": ("questions asked", "Ask the next question", (0, 3, 6, 9)),
    "answers": ("lies", "Lie now", (0, 1, 2)),
    "particles": ("answers given", "Answer truly", (0, 2, 5, 8)),
}
WIDTH = 640


def joined(text):
    return text if isinstance(text, str) else "".join(text)


def outputs(nb):
    "Saved explorables of a notebook: the output and its settings."
    for cell in nb["cells"]:
        for out in cell.get("outputs", []):
            text = joined(out.get("data", {}).get("text/html", ""))
            if 'class="csc-live"' in text:
                yield out, text


def settings(text):
    "What stands in a saved explorable: the fallback, the settings, the kernel's mark."
    fallback, told = SAVED.search(text).groups()
    config = json.loads(told)
    module = config.get("kernel") or home(set(config["entries"]))
    about = json.loads((STATIC / "live" / f"{module}.json").read_text())
    config = {"kernel": module} | config | {"entries": about["entries"]}
    config.pop("wasm", None)
    return fallback, config, about["fingerprint"]


def home(entries):
    "The module that has these entries."
    for path in sorted((STATIC / "live").glob("*.json")):
        if entries <= set(json.loads(path.read_text())["entries"]):
            return path.stem
    raise SystemExit(f"no module has {', '.join(sorted(entries))}: run `make live`")


def lean(config, fallback):
    "What a notebook keeps of an explorable."
    told = json.dumps(config).replace("</", "<\\/")
    return (
        f'<div class="csc-live"><div class="csc-live-still-picture">{fallback}</div>'
        f'<script type="application/json">{told}</script></div>'
        "<p><small>A picture of it: run this cell, or open this page on the site, and it "
        "computes.</small></p>"
    )


def whole(texts):
    "The explorables of one page with the page part and each module once, where first used."
    from csc_nb.widgets import _packed, _static, live_html

    made, seen = [], set()
    for text in texts:
        fallback, config, _ = settings(text)
        kernel = config["kernel"]
        if kernel not in seen:
            config["wasm"] = _packed(_static(f"live/{kernel}.wasm", True))
        made.append(live_html(config, fallback, not seen))
        seen.add(kernel)
    return made


def complete(nb):
    "Make the explorables of a notebook, as `nbformat` reads it, compute."
    found = list(outputs(nb))
    for (out, _), text in zip(found, whole([text for _, text in found])):
        out["data"]["text/html"] = text


def key_of(config, fingerprint):
    "Changes when the pictures would."
    own = {k: v for k, v in config.items() if k != "entries"}
    parts = [json.dumps(own, sort_keys=True), fingerprint]
    parts.append((STATIC / "live.js").read_text())
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def positions(c):
    "The start of a slider, and places along it: four in all."
    count = round((c["max"] - c["min"]) / c["step"])
    some = [c["min"] + c["step"] * round(count * t / 3) for t in range(4)]
    rest = [round(v, 6) for v in some if abs(v - c["value"]) > 1e-9]
    return [c["value"], *rest[-3:]]


def take(page, folder, config):
    "Pictures and sentences of one explorable in several states."
    from csc_nb.widgets import _packed, _static, live_html

    full = config | {"wasm": _packed(_static(f"live/{config['kernel']}.wasm", True))}
    path = Path(folder) / "one.html"
    size = f"<style>.csc-live {{ width: {WIDTH}px }}</style>"
    path.write_text(f"<!doctype html>{size}{live_html(full, '')}", encoding="utf-8")
    page.goto(path.as_uri())
    page.wait_for_selector("canvas")
    draw, sliders = config["draw"], config["sliders"]
    shots = []

    def shot(at):
        page.wait_for_timeout(600 if draw == "race" else 60)
        url = page.locator("canvas").evaluate("c => c.toDataURL('image/png')")
        said = page.locator(".csc-live-said").inner_text()
        shots.append({"at": str(at), "said": said, "img": small(url)})

    if draw in PRESSED:
        label, button, counts = PRESSED[draw]
        done = 0
        for n in counts:
            for _ in range(n - done):
                page.get_by_role("button", name=button).click()
            done = n
            shot(n)
    elif sliders:
        label = sliders[0]["label"]
        for v in positions(sliders[0]):
            page.locator("input[type=range]").first.fill(str(v))
            shot(f"{v:g}")
    else:
        label = "answers flipped"
        shot(0)
        flip = {"chain": 19}.get(draw, 3)
        state = "document.querySelector('.csc-live')"
        change = "s.links[e][2] = -s.links[e][2]; s.links[e][3] = -1"
        page.evaluate(f"e => {{ const s = {state}.cscState; {change}; s.update(); }}", flip)
        shot(1)
    return {"label": label, "shots": shots[:3]}  # a page's explorables stay small


def small(url):
    "A data address as a small WebP on white."
    from PIL import Image

    from csc_nb.widgets import shrink

    picture = Image.open(io.BytesIO(base64.b64decode(url.split(",", 1)[1])))
    flat = Image.new("RGBA", picture.size, "white")
    flat.alpha_composite(picture.convert("RGBA"))
    png = io.BytesIO()
    flat.convert("RGB").save(png, "PNG")
    small = shrink(png.getvalue(), 20)
    for share in (0.75, 0.6, 0.5):  # many fine lines: smaller, with some loss
        if len(small) < 9000:
            break
        less = tuple(int(share * v) for v in flat.size)
        lossy = io.BytesIO()
        flat.convert("RGB").resize(less).save(lossy, "WEBP", quality=24, method=6)
        small = min(small, lossy.getvalue(), key=len)
    return base64.b64encode(small).decode()


def fallback_html(taken, key):
    "The first picture, and the others for the page part."
    first, *rest = taken["shots"]
    told = {
        "key": key,
        "label": taken["label"],
        "shots": [{**first, "img": None}, *rest],
    }
    data = json.dumps(told).replace("</", "<\\/")
    return (
        f'<img alt="{html.escape(first["said"])}" '
        f'src="data:image/webp;base64,{first["img"]}">'
        f'<script type="application/json">{data}</script>'
    )


class Camera:
    "One Chromium, started when the first picture is wanted."

    def __enter__(self):
        self.page = None
        return self

    def __call__(self, config):
        import tempfile

        if self.page is None:
            from playwright.sync_api import sync_playwright

            self.play = sync_playwright().start()
            where = shutil.which("chromium") or "/usr/bin/chromium"
            args = ["--no-sandbox", "--disable-gpu"]
            self.browser = self.play.chromium.launch(executable_path=where, args=args)
            self.page = self.browser.new_page(viewport={"width": 700, "height": 900})
        with tempfile.TemporaryDirectory() as folder:
            return take(self.page, folder, config)

    def __exit__(self, *_):
        if self.page is not None:
            self.browser.close()
            self.play.stop()


def refresh(paths, check=False):
    "Make the saved explorables of these notebooks anew; names of those that changed."
    changed = []
    with Camera() as camera:
        for path in paths:
            nb = json.loads(path.read_text(encoding="utf-8"))
            before = json.dumps(nb)
            for out, text in outputs(nb):
                fallback, config, fingerprint = settings(text)
                key = key_of(config, fingerprint)
                if f'"key": "{key}"' not in fallback:
                    if check:
                        changed.append(path.name)
                        continue
                    fallback = fallback_html(camera(config), key)
                new = lean(config, fallback)
                name = f"Live: {config['draw']} with {len(config['sliders'])} sliders"
                out["data"] = {
                    "text/html": new.splitlines(True),
                    "text/plain": [name],
                }
            if json.dumps(nb) != before:
                changed.append(path.name)
                if not check:
                    text = json.dumps(nb, indent=1, ensure_ascii=False) + "\n"
                    path.write_text(text, encoding="utf-8")
    return sorted(set(changed))


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("notebooks", nargs="*", type=Path)
    ap.add_argument("--check", action="store_true")
    args = ap.parse_args()
    paths = args.notebooks or sorted((ROOT / "nbs").glob("*.ipynb"))
    paths = [p for p in paths if "csc-live" in p.read_text(encoding="utf-8")]
    changed = refresh(paths, args.check)
    if args.check and changed:
        sys.exit(f"older than the page part: {', '.join(changed)}: run tools/live.py")
    print(f"{len(paths)} pages have explorables, {len(changed)} changed")


if __name__ == "__main__":
    main()
