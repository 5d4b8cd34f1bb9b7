"""Build the documentation site from the notebooks, offline: `python tools/site.py [OUT]`
(default `_docs`).

nbdev prepares the notebooks (signatures, links, hidden cells), Sphinx with MyST-NB renders
their saved outputs.
The build fails on a Sphinx warning about a missing target, on a broken local link, and on
anything that a page would fetch from another host.
"""

import html, os, re, shutil, subprocess, sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import live
import nbformat
from book import (
    NBS,
    PAPERS_PLACE,
    PARTS,
    PLACE,
    ROOT,
    chapters,
    facts,
    papers,
    table,
    title_source,
)
from reference import write_reference

SETTINGS = dict(
    l.split(" = ", 1)
    for l in (ROOT / "settings.ini").read_text().splitlines()
    if " = " in l
)
HOST = SETTINGS["doc_host"] + SETTINGS["doc_baseurl"]
SOURCE_LINK = re.compile(r"<a\b[^>]*>\s*source\s*</a>|\[source\]\([^)]*\)")

CONF = """
project = html_title = "csc_nb"
copyright = author = "csc_nb authors"
extensions = ["myst_nb", "sphinx_copybutton", "sphinx_design", "sphinx-mathjax-offline"]
nb_execution_mode = "off"
nb_render_markdown_format = "gfm"
nb_ipywidgets_js = {}
nb_merge_streams = True
myst_enable_extensions = ["dollarmath", "amsmath", "deflist", "colon_fence", "attrs_block"]
myst_dmath_double_inline = True; myst_dmath_allow_space = True; myst_heading_anchors = 3
html_theme = "sphinx_book_theme"
html_static_path = ["_static"]
html_css_files = ["csc.css"]
html_js_files = ["csc.js"]
html_show_sphinx = False
html_theme_options = {"use_download_button": False, "show_navbar_depth": 1,
"home_page_in_toc": True, "use_fullscreen_button": False}
html_copy_source = False; html_show_sourcelink = False
suppress_warnings = ["mystnb.unknown_mime_type", "myst.header", "misc.highlighting_failure",
"misc.copy_overwrite"]
exclude_patterns = ["_build"]
mathjax3_config = {"tex": {"tags": "none"}}
"""
CSS = """
.bd-header { display: none !important; }
.bd-main .bd-content .bd-article-container { max-width: 62rem; }
div.cell_output img { max-width: 100%; height: auto; }
div.cell_output figure { margin: 0 0 .5rem; text-align: left; }
.bd-article figure.align-default, div.cell_output figure { text-align: left; margin-left: 0;
}
div.cell_output figure img { margin-left: 0; }
.bd-article figure figcaption, .bd-article figure figcaption p { display: block;
text-align: left; font-size: .88rem; font-weight: 400; margin: .2rem 0;
color: var(--pst-color-text-muted); }
figcaption .headerlink { display: none; }
div.math, span.math.notranslate.nohighlight:has(mjx-container[display="true"]) {
  display: block; overflow-x: auto; overflow-y: hidden; max-width: 100%; padding: .15rem 0;
  }
div.cell_output > div.output { overflow-x: auto; }
p.page-facts { font-size: .9rem; color: var(--pst-color-text-muted); }
div.highlight pre { font-size: .76em; line-height: 1.45; white-space: pre-wrap;
overflow-wrap: anywhere; }
div.cell_output { overflow-x: auto; }
.bd-article table { display: block; overflow-x: auto; max-width: 100%; }
.bd-article code, .bd-article code .pre { white-space: pre-wrap; overflow-wrap: anywhere; }
div.cell_output pre { font-size: .8em; line-height: 1.4; white-space: pre-wrap;
overflow-wrap: anywhere; }
div.cell_output table, table.table { font-size: .88em; }
.bd-article td code, .bd-article th code, .bd-article td code .pre {
  white-space: normal; overflow-wrap: normal; }
html[data-theme="dark"] .bd-content div.cell_output
  .text_html:has(table.csc-table, .csc-run, .csc-frames) {
  background: transparent; color: var(--pst-color-text-base); }
@media (max-width: 600px) {
  section#all-pages tr > :nth-child(3) { display: none; }
  section#csc-nb > div.cell.tag_remove-input > div.cell_output > img {
    max-width: none; width: 44rem; } }
table.csc-table th, table.csc-table td { padding: .1rem .7rem .1rem 0; }
table.csc-table:has(th:nth-child(9)) { font-size: .78em; }
table.csc-table:has(th:nth-child(9)) th, table.csc-table:has(th:nth-child(9)) td {
  padding-right: .45rem; }
table.dataframe th, table.dataframe td { padding: .1rem .55rem; }
.bd-article table.table tr:not(:has(> :nth-child(3))) >
  td:first-child:has(+ td code + code) { min-width: clamp(9rem, 20vw, 16rem); }
.bd-article table.table tr:not(:has(> :nth-child(3))) > td + td code,
.bd-article table.table tr:not(:has(> :nth-child(3))) > td + td code .pre {
  overflow-wrap: anywhere; }
html[data-theme="dark"] div.cell_output .text_html:has(.csc-live) {
  background: transparent !important; padding: 0; }
h1 { font-size: 2rem; } h2 { font-size: 1.5rem; } h3 { font-size: 1.2rem; }
"""
JS = """
// A display equation wider than its column is set smaller, down to two thirds of the
// text; beyond that it scrolls. One inside a line cannot break, so it is set smaller too.
function fitEquations() {
  for (const box of document.querySelectorAll('mjx-container[display="true"]')) {
    const column = box.closest("div.math") || box.parentElement;
    box.dataset.size = box.dataset.size ?? box.style.fontSize;  // MathJax' own
    box.style.fontSize = box.dataset.size;
    const wide = box.scrollWidth / Math.max(1, column.clientWidth);
    if (wide > 1 && column.clientWidth) {
      const now = parseFloat(getComputedStyle(box).fontSize);
      const text = parseFloat(getComputedStyle(column).fontSize);
      box.style.fontSize = Math.max(now / wide * .99, text * .66) + "px";
    }
  }
  for (const box of document.querySelectorAll('mjx-container:not([display="true"])')) {
    const column = box.closest("p, li"), inside = box.firstElementChild;
    box.dataset.size = box.dataset.size ?? box.style.fontSize;
    box.style.fontSize = box.dataset.size;
    if (!column || !column.clientWidth || !inside) continue;
    const wide = inside.getBoundingClientRect().width / column.clientWidth;
    const now = parseFloat(getComputedStyle(box).fontSize);
    if (wide > 1) box.style.fontSize = Math.max(now / wide * .99, now * .5) + "px";
  }
}
function watchEquations() {
  if (!window.MathJax || !MathJax.startup || !MathJax.startup.promise)
    return setTimeout(watchEquations, 200);
  MathJax.startup.promise.then(fitEquations);
  window.addEventListener("resize", fitEquations);
  document.addEventListener("toggle", fitEquations, true);
}
if (document.querySelector(".math")) watchEquations();
"""


def title_cell(chapter, line):
    """nbdev turns the first cell into YAML and drops the rest; a page wants number,
    heading, subtitle and text."""
    path, title = (Path("index.ipynb"), None) if chapter is None else chapter[:2]
    head = title_source(nbformat.read(NBS / path, 4))
    head = re.sub(r"^>\s*(.+)$", r"*\1*", head, count=1, flags=re.M)
    if title:
        head = re.sub(r"\A# .+", f"# {title}", head)
        if not re.search(r"^needs: ", head, re.M):
            head = re.sub(r"\A(# .+\n)", rf"\1\n{line}\n\n", head + "\n")
        head = re.sub(
            r"^(needs: .+|.*\b\d+ minutes)$",
            r"{.page-facts}\n\1",
            head,
            count=1,
            flags=re.M,
        )
    return nbformat.v4.new_markdown_cell(head)


def option(source, name):
    """The text of a `#| name: text` line of a cell; `name: >` takes the indented lines
    after it."""
    found = re.search(rf"^#\|\s*{name}:\s*(.+?)\s*$((?:\n#\|\s{{2,}}.*)*)", source, re.M)
    if not found:
        return ""
    more = [l.removeprefix("#|").strip() for l in found[2].split("\n") if l]
    first = [] if found[1] in (">", "|", ">-") else [found[1]]
    return " ".join(first + more).strip().strip("\"'")


EXPORTED = '#| code-fold: show\n#| code-summary: "Exported source"\n'  # nbdev's


def words(path):
    "Caption and alternative text of each cell by its id; nbdev drops their later lines."
    cells = nbformat.read(path, 4).cells
    return {
        c.id: [option(c.source, name) for name in ("fig-cap", "fig-alt")]
        for c in cells
        if c.cell_type == "code"
    }


OBJECT = re.compile(r"\s*(\[|\()?<?(matplotlib\.|Text\(|Axes|Figure size|AxesImage)")


def told(output):
    "What a result says in plain text, when it says nothing else."
    data = output.get("data", {})
    return "".join(data["text/plain"]) if set(data) == {"text/plain"} else ""


def divided(cell):
    """A cell; and a second one for its captioned pictures when it shows something else,
    since a caption would stand below each of them."""
    drawn = [o for o in cell.outputs if "image/png" in o.get("data", {})]
    rest = [o for o in cell.outputs if o not in drawn]
    shown = cell.metadata.get("mystnb", {})
    if not drawn or not rest or "figure" not in shown:
        return [cell]
    hidden = "# a cell without a line would be left out, and its pictures with it"
    pictures = nbformat.v4.new_code_cell(hidden, id=f"{cell.id}-picture", outputs=drawn)
    pictures.metadata["tags"] = ["remove-input"]
    own = {k: shown.pop(k) for k in ("figure", "image") if k in shown}
    pictures.metadata["mystnb"] = nbformat.from_dict(own)
    cell.outputs = rest
    return [cell, pictures]


def readable(cells, said):
    """Cells as a reader wants them: no directives, and no signature where the source
    itself follows; `said` has captions and alternative texts. A picture whose caption is
    the paragraph *Figure n.* below it has no second one."""
    out, below = [], [c.source.lstrip() for c in cells[1:]] + [""]
    for c, after in zip(cells, below):
        if c.cell_type == "code":
            if re.search(r"^show_doc\(", c.source, re.M):
                continue  # the source stands beside it, and the reference has a page for it
            if re.search(r"^#\|\s*code-fold:\s*true", c.source, re.M):
                c.source = c.source.removeprefix(EXPORTED)  # the cell's own words instead
            hidden = re.search(r"^#\|\s*echo:\s*false", c.source, re.M)
            folded = re.search(r"^#\|\s*code-fold:\s*true", c.source, re.M)
            inside = option(c.source, "code-summary")
            caption, alt = said.get(c.get("id"), ("", ""))
            c.source = re.sub(r"^#\|.*\n?", "", c.source, flags=re.M).strip("\n")
            if hidden:
                c.metadata["tags"] = ["remove-input"]
            elif folded:
                c.metadata["tags"] = ["hide-input"]
                if inside:
                    c.metadata.setdefault("mystnb", {})["code_prompt_show"] = inside
            if caption and not after.startswith("*Figure"):
                c.metadata.setdefault("mystnb", {})["figure"] = {"caption": caption}
            c.outputs = [o for o in c.get("outputs", []) if not OBJECT.match(told(o))]
            image = {"alt": alt} if alt else {}
            for o in c.outputs:  # a sharp picture is shown at its size in ink
                shown = o.get("metadata", {}).get("image/png", {}).get("width")
                image |= {"width": f"{shown}px"} if shown else {}
            if image:
                c.metadata.setdefault("mystnb", {})["image"] = image
            out += divided(c)
        else:
            out.append(c)
    return out


def numbered_cases(text):
    """Sphinx sets an equation with `\\\\` inside `split`, where a number is an error. Rows
    of an inner environment end with `\\cr` instead, which is the same."""
    inner = lambda m: m[0].replace("\\\\", "\\cr ") if "\\tag" in m[0] else m[0]
    return re.sub(r"\$\$.*?\$\$", inner, text, flags=re.S)


def toctree(part, docs):
    return f"```{{toctree}}\n:caption: {part}\n:hidden:\n\n" + "\n".join(docs) + "\n```\n"


def local_links(text, here, pages):
    """Links to chapters that do not exist yet become plain text; nbdev's links to
    symbols point to pages of this site."""
    up = "../" * (len(here.parts) - 1)
    there = lambda m: m[0] if (NBS / here.parent / m[2]).exists() else f"{m[1]} (planned)"
    text = re.sub(r"\[([^\]]*)\]\(([\w./-]+\.ipynb)\)", there, text)
    symbol = lambda m: f"]({up}{pages[m[1]]}.ipynb)" if m[1] in pages else "]"
    text = re.sub(rf"\]\({re.escape(HOST)}/([\w/-]+)\.html(?:#[^)\s]*)?\)", symbol, text)
    return re.sub(r"\A\s*---\s*\n", "", SOURCE_LINK.sub("", text))


def prepare(proc, src):
    """Copy nbdev's processed notebooks to Sphinx' source folder, with headings, page
    links and the chapter list."""
    shutil.rmtree(src, ignore_errors=True)
    (src / "_static").mkdir(parents=True)
    (src / "conf.py").write_text(CONF)
    (src / "_static" / "csc.css").write_text(CSS)
    (src / "_static" / "csc.js").write_text(JS)
    book, listing, by_paper = chapters(), table(), papers()
    reference, names = write_reference(src, book)
    pages = {
        re.sub(r"^\d+[a-z]?_", "", c.path.stem): c.doc
        for c in sorted(book, key=lambda c: -len(c.path.parts))
    }  # a chapter wins over its experiments
    for chapter in [None, *book]:
        path = chapter.path if chapter else Path("index.ipynb")
        nb = nbformat.read(proc / path, 4)
        nb.cells = [
            title_cell(chapter, facts(chapter, book) if chapter else ""),
            *(
                c
                for c in nb.cells
                if c.cell_type != "raw"
                and not (c.cell_type == "markdown" and c.source.startswith("# "))
            ),
        ]
        nb.cells = readable(nb.cells, words(NBS / path))
        live.complete(nb)
        if str(path) in names:
            links = ", ".join(f"[{n}](api/{n}.md)" for n in names[str(path)])
            nb.cells.insert(1, nbformat.v4.new_markdown_cell(f"Reference: {links}"))
        for c in nb.cells:
            for o in c.get("outputs", []):
                if "csc-table" in o.get("data", {}).get("text/html", ""):
                    html_of = o.data["text/html"]  # a number and its spread stay together
                    o.data["text/html"] = html_of.replace(" ± ", "&nbsp;±&nbsp;")
                if "text/markdown" in o.get("data", {}):
                    text = local_links("".join(o.data["text/markdown"]), path, pages)
                    o.data["text/markdown"] = re.sub(
                        r"\]\(([\w./-]+)\.ipynb(#[\w-]+)?\)", r"](\1.html\2)", text
                    )  # a place on another page
            if c.cell_type == "markdown":
                c.source = local_links(c.source, path, pages).replace(PLACE, listing)
                c.source = numbered_cases(c.source.replace(PAPERS_PLACE, by_paper))
        if path.stem == "index":
            for part in PARTS:
                docs = [c.doc for c in book if c.part == part]
                docs += reference if part == "Reference" else []
                if docs:
                    nb.cells.append(nbformat.v4.new_markdown_cell(toctree(part, docs)))
        nb.metadata["language_info"] = {"name": "python", "pygments_lexer": "ipython3"}
        (src / path).parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(nb, src / path)


class Links(HTMLParser):
    "Collects where a page points and what it loads."

    def __init__(self):
        super().__init__()
        self.hrefs, self.loads, self.ids = [], [], set()

    def handle_starttag(self, tag, attrs):
        a = dict(attrs)
        if "id" in a:
            self.ids.add(a["id"])
        if tag == "a" and a.get("href"):
            self.hrefs.append(a["href"])
        if tag == "link" and "canonical" not in (a.get("rel") or "") and a.get("href"):
            self.loads.append(a["href"])
        if tag in ("img", "script", "iframe", "source", "video") and a.get("src"):
            self.loads.append(a["src"])


def check(out):
    """Broken local links, missing anchors, and requests to other hosts, as a list of
    sentences."""
    pages = {}
    for p in out.rglob("*.html"):
        if "_static" in p.relative_to(out).parts:
            continue
        pages[p] = Links()
        pages[p].feed(p.read_text())
    bad = []
    for p, links in pages.items():
        name = p.relative_to(out)
        for u in links.loads + links.hrefs:
            s = urlsplit(html.unescape(u))
            if s.scheme in ("http", "https") or u.startswith("//"):
                if u in links.loads:
                    bad.append(f"{name} would fetch {u[:80]}")
            elif s.scheme in ("data", "mailto", "javascript") or not (s.path or s.fragment):
                continue
            else:
                target = (p.parent / unquote(s.path)).resolve() if s.path else p
                if not target.exists():
                    bad.append(f"{name} points to {u[:80]}, which does not exist")
                elif (
                    s.fragment
                    and target in pages
                    and unquote(s.fragment) not in pages[target].ids
                    and u in links.hrefs
                ):
                    bad.append(f"{name} points to {u[:80]}: no such place on that page")
    return sorted(set(bad))


def build(out=ROOT / "_docs"):
    import nbdev.serve
    from nbdev.processors import exec_show_docs

    # pages show sources and saved outputs, so no cell is run; and then one process is quick
    exec_show_docs.__call__ = lambda self, cell: None
    nbdev.serve.parallel = lambda f, items, **how: [f(x) for x in items]
    proc = nbdev.serve.proc_nbs(path=str(NBS), force=True, n_workers=2)
    src = ROOT / "_site"
    prepare(Path(proc), src)
    shutil.rmtree(out, ignore_errors=True)
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-b", "html", str(src), str(out)],
        capture_output=True,
        text=True,
    )
    log = "\n".join(
        l
        for l in done.stderr.splitlines()
        if ("WARNING" in l or "rror" in l) and "parallel" not in l
    )
    for d in (proc, src, Path(out).parent / "jupyter_execute"):
        shutil.rmtree(d, ignore_errors=True)
    bad = [log] * bool(log) + check(Path(out)) if done.returncode == 0 else [done.stderr]
    for b in bad:
        print(b, file=sys.stderr)
    print(
        f"{len(list(Path(out).rglob('*.html')))} pages in "
        f"{os.path.relpath(out, os.getcwd())}: "
        f"{'no broken link' if not bad else f'{len(bad)} faults'}"
    )
    return not bad


if __name__ == "__main__":
    sys.exit(
        not build(Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT / "_docs")
    )
