"""Offline slides from the lesson of a chapter: `python tools/slides.py [OUT] [NOTEBOOK
...]` (default `_slides`, all chapters).

One HTML file a chapter, nothing fetched: arrow keys, space or a swipe turn the page. A
slide begins at each heading;
folded and hidden code is left out, pictures and short code stay. Formulas stand as they are
written.
"""

import html
import re
import sys
from pathlib import Path

import nbformat
from book import NBS, chapters

ROOT = Path(__file__).resolve().parent.parent
LONG = 14  # lines of code that a slide can hold
PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width,initial-scale=1"><style>
:root{{color-scheme:light dark;--ink:#1d2127;--paper:#fff;--card:#f3f4f6}}
@media(prefers-color-scheme:dark){{:root{{--ink:#e7e9ed;--paper:#14171c;--card:#222831}}}}
body{{margin:0;background:var(--paper);color:var(--ink);font:1.35rem/1.5 system-ui,
sans-serif}}
section{{display:none;box-sizing:border-box;min-height:100vh;max-width:62rem;margin:0 auto;
padding:5vh 5vw 9vh;overflow-wrap:anywhere}}
section.on{{display:block}}h1{{font-size:2.4rem}}h2{{font-size:1.9rem}}img{{max-width:100%;
max-height:60vh;background:#fff}}
pre{{background:var(--card);padding:.8rem 1rem;font-size:1rem;overflow-x:auto;
white-space:pre-wrap}}
table{{border-collapse:collapse;font-size:1rem}}td,th{{padding:.2rem .7rem;
border-bottom:1px solid #8886;text-align:left}}
nav{{position:fixed;right:1rem;bottom:.6rem;font-size:1rem}}nav button{{font:inherit;
padding:.3rem .8rem}}
@media print{{section{{display:block;break-after:page;min-height:0}}nav{{display:none}}}}
</style></head><body>{slides}<nav><button id="b" aria-label="back">←</button> <span id="n">
</span>
<button id="f" aria-label="forward">→</button></nav><script>
const s=[...document.querySelectorAll("section")];let k=Math.min(s.length-1,Math.max(0,
(+location.hash.slice(1)||1)-1));
function go(j){{k=Math.min(s.length-1,Math.max(0,j));s.forEach((x,
i)=>x.classList.toggle("on",i==k));
document.getElementById("n").textContent=(k+1)+" / "+s.length;history.replaceState(null,"",
"#"+(k+1));scrollTo(0,0)}}
addEventListener("keydown",e=>{{if(["ArrowRight","PageDown"," "].includes(e.key)){{
e.preventDefault();go(k+1)}}
if(["ArrowLeft","PageUp"].includes(e.key)){{e.preventDefault();go(k-1)}}
if(e.key=="Home")go(0);if(e.key=="End")go(s.length-1)}});
let x0;addEventListener("touchstart",e=>x0=e.touches[0].clientX);
addEventListener("touchend",e=>{{const d=e.changedTouches[0].clientX-x0;
if(Math.abs(d)>60)go(k+(d<0?1:-1))}});
document.getElementById("b").onclick=()=>go(k-1);
document.getElementById("f").onclick=()=>go(k+1);go(k);
</script></body></html>
"""


def prose(text):
    "Markdown as HTML, without anything that would run."
    from markdown_it import MarkdownIt

    text = re.sub(r"<!--.*?-->", "", text, flags=re.S)
    return MarkdownIt("commonmark", {"html": False}).enable("table").render(text)


def pictures(cell):
    "Figures and short printed results of a cell."
    out = []
    for o in cell.get("outputs", []):
        data = o.get("data", {})
        if "image/png" in data:
            alt = html.escape("".join(data.get("text/plain", "figure"))[:80])
            out.append(
                f'<img alt="{alt}" src="data:image/png;base64,{data["image/png"].strip()}">'
            )
        elif o.output_type == "stream" and o.text.count("\n") <= LONG:
            out.append(f"<pre>{html.escape(o.text)}</pre>")
        elif "text/plain" in data and "text/html" not in data:
            text = "".join(data["text/plain"])
            if text.count("\n") <= LONG and not text.startswith("<"):
                out.append(f"<pre>{html.escape(text)}</pre>")
    return out


def slides(nb):
    "One list of HTML pieces for each slide."
    out = [[]]
    for c in nb.cells:
        if c.cell_type == "markdown":
            for part in re.split(r"^(?=#{1,3} )", c.source, flags=re.M):
                if re.match(r"#{1,3} ", part) and out[-1]:
                    out.append([])
                if part.strip():
                    out[-1].append(prose(part))
        elif c.cell_type == "code":
            hidden = re.search(
                r"^#\|\s*(hide|echo:\s*false|code-fold:\s*true)", c.source, re.M
            )
            code = re.sub(r"^#\|.*\n?", "", c.source, flags=re.M).strip()
            plain = code and not re.match(r"(import|from) .*\Z", code, re.S | re.M)
            if plain and not hidden and code.count("\n") < LONG:
                out[-1].append(f"<pre>{html.escape(code)}</pre>")
            if not re.search(r"^#\|\s*hide", c.source, re.M):
                out[-1] += pictures(c)
    return [s for s in out if s]


def deck(path):
    "The slides of a notebook as one page."
    nb = nbformat.read(path, 4)
    title = re.search(r"^# (.+)$", "\n".join(c.source for c in nb.cells), re.M)
    made = "".join(f"<section>{''.join(s)}</section>\n" for s in slides(nb))
    return PAGE.format(title=html.escape(title[1] if title else path.stem), slides=made)


def main(argv):
    out = Path(argv[0]) if argv else ROOT / "_slides"
    out.mkdir(parents=True, exist_ok=True)
    chosen = [Path(p).resolve() for p in argv[1:]]
    chosen = chosen or [NBS / c.path for c in chapters() if len(c.path.parts) == 1]
    for path in chosen:
        (out / f"{path.stem}.html").write_text(deck(path), encoding="utf-8")
    print(f"{len(chosen)} files in {out}: open one in a browser, turn with the arrow keys")


if __name__ == "__main__":
    main(sys.argv[1:])
