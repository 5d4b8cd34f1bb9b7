"""Make saved pages lighter without running them: `python tools/shrink.py [NOTEBOOK ...]`.

A picture that is wider than two pixels for each pixel of a page's column is scaled to that
and keeps the size at which it is shown; one that still has all its shades gets few
(`plotting.enough_shades`). Explorables keep settings and pictures (`tools/live.py`).
What is already so stays as it is, byte for byte.
"""

import base64
import io
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))


def small(png):
    "The same picture, no wider than a page needs, with few shades."
    from PIL import Image

    from csc_nb.plotting import _WIDEST, enough_shades

    picture = Image.open(io.BytesIO(png))
    if picture.mode == "P" and picture.width <= _WIDEST + 40:  # a margin: labels stick out
        return png
    flat = Image.new("RGBA", picture.size, "white")
    flat.alpha_composite(picture.convert("RGBA"))
    flat = flat.convert("RGB")
    if flat.width > _WIDEST:
        high = round(flat.height * _WIDEST / flat.width)
        flat = flat.resize((_WIDEST, high), Image.Resampling.LANCZOS)
    out = io.BytesIO()
    flat.save(out, "PNG", optimize=True)
    return min(png, enough_shades(out.getvalue()), key=len)


def shrink(nb):
    "Make the pictures of a notebook smaller, in place; bytes saved."
    saved = 0
    for cell in nb["cells"]:
        for out in cell.get("outputs", []):
            text = out.get("data", {}).get("image/png")
            if not text:
                continue
            text = text if isinstance(text, str) else "".join(text)
            png = base64.b64decode(text)
            new = small(png)
            if len(new) < len(png):
                if new[16:24] != png[16:24]:  # other pixels, shown at the same size
                    size = int.from_bytes(png[16:20]), int.from_bytes(png[20:24])
                    told = out.setdefault("metadata", {})
                    told.setdefault("image/png", dict(zip(("width", "height"), size)))
                out["data"]["image/png"] = base64.b64encode(new).decode()
                saved += len(png) - len(new)
    return saved


def main(argv):
    import live
    from execute import notebooks

    paths = [Path(p) for p in argv] or notebooks()
    total = 0
    for path in paths:
        nb = json.loads(path.read_text(encoding="utf-8"))
        saved = shrink(nb)
        if saved:
            text = json.dumps(nb, indent=1, ensure_ascii=False) + "\n"
            path.write_text(text, encoding="utf-8")
            print(f"{path.name:34} {saved / 1000:5.0f} kB of pictures")
        total += saved
    changed = live.refresh([p for p in paths if "csc-live" in p.read_text("utf-8")])
    print(
        f"{total / 1e6:.2f} MB of pictures saved; explorables anew in {len(changed)} pages"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
