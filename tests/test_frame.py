"""The frame of the book as a reader of the site meets it.
Parts, numbers, facts, tables, tracks, captions."""

import importlib.util
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "_docs"
pytestmark = pytest.mark.skipif(not (ROOT / "nbs").exists(), reason="needs the repository")
sys.path.insert(0, str(ROOT / "tools"))
if (ROOT / "nbs").exists():
    import book

    BOOK = book.chapters()
else:
    BOOK = []
PAGES = [c for c in BOOK if len(c.path.parts) == 1]
ASKED = (  # the parts that the table of contents must name, in this order
    "One wrong answer",
    "Believe with doubt",
    "Other kinds of help",
    "Ask well",
    "What everybody else does",
    "Beyond the papers",
    "Laboratory",
    "Reference",
)
THESIS = "Learning with Partial Supervision for Clustering and Classification"


WANTED = {"h1", "table", "bd-links", "page-facts", "highlight", "output"}
EMPTY = {"meta", "link", "br", "input", "hr", "source", "col", "img", "path", "wbr"}


class Page(HTMLParser):
    "What stands in headings, facts, sidebar, tables and code of one page; its pictures."

    def __init__(self, text):
        super().__init__()
        self.stack, self.images = [], []
        self.pieces = {k: [] for k in WANTED}
        self.feed(text)
        self.text = {k: "".join(v) for k, v in self.pieces.items()}

    def handle_starttag(self, tag, attrs):
        a = dict(attrs)
        if tag == "img":
            self.images.append(a)
        if tag not in EMPTY:
            self.stack.append((tag, WANTED & {tag, *(a.get("class") or "").split()}))

    def handle_endtag(self, tag):
        if tag in EMPTY:
            return
        while self.stack and self.stack.pop()[0] != tag:
            pass

    def handle_data(self, data):
        for mark in set().union(*(kinds for _, kinds in self.stack)):
            self.pieces[mark].append(data)


@pytest.fixture(scope="module")
def docs():
    if not (DOCS / "index.html").exists():
        subprocess.run([sys.executable, "tools/site.py"], cwd=ROOT, check=True)
    return DOCS


_read = {}


def page(docs, name):
    if name not in _read:
        _read[name] = Page((docs / f"{name}.html").read_text(encoding="utf-8"))
    return _read[name]


def test_the_sidebar_names_the_parts_in_order(docs):
    "Each part is a caption of the sidebar, once, and in the order of the book."
    side = (docs / "index.html").read_text(encoding="utf-8")
    captions = re.findall(r'class="caption-text">([^<]+)<', side)
    assert [c for c in captions if c in ASKED] == list(ASKED)


@pytest.mark.parametrize("chapter", PAGES, ids=lambda c: c.doc)
def test_a_page_has_number_facts_and_no_stub(docs, chapter):
    "Number in the title and the sidebar; needs, gives and minutes below; real sources."
    shown = page(docs, chapter.doc)
    if chapter.number != chapter.path.stem:
        assert shown.text["h1"].startswith(f"{chapter.number}. ")
        assert f"{chapter.number}. " in shown.text["bd-links"]
    assert re.search(r"\d+ minutes", shown.text["page-facts"])
    code = shown.text.get("highlight", "")
    assert not re.search(r"def \w+\(\*args, \*\*kwargs\):\s*$", code, re.M)
    assert "np.float64(" not in shown.text.get("output", "")


@pytest.mark.parametrize("chapter", BOOK, ids=lambda c: c.doc)
def test_a_picture_says_what_it_shows(docs, chapter):
    "No alternative text is missing or the name of a file."
    for image in page(docs, chapter.doc).images:
        alt = image.get("alt")
        assert alt is not None and not re.search(r"\.(png|svg|jpe?g)$|^_images", alt), image


def test_sharp_pictures_are_shown_at_half_their_pixels(docs):
    "A picture stored with twice the pixels keeps the size that the page was laid out for."
    seen = 0
    for chapter in PAGES:
        nb = nbformat.read(book.NBS / chapter.path, 4)
        outputs = [o for c in nb.cells for o in c.get("outputs", [])]
        wide = [o.get("metadata", {}).get("image/png", {}).get("width") for o in outputs]
        sizes = [
            i.get("style", "") + i.get("width", "") for i in page(docs, chapter.doc).images
        ]
        for width in filter(None, wide):
            assert any(f"{width}px" in s or s == str(width) for s in sizes), chapter.doc
            seen += 1
    assert seen > 20


@pytest.mark.parametrize("where", ["site", "README.md"])
def test_every_paper_says_which_pages_it_is(docs, where):
    "The table of papers, on the landing page and in the README, with every page it names."
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    text = text if where == "README.md" else page(docs, "index").text["table"]
    for name, title, numbers, why in book.PAPERS:
        assert f"{name}. {title}" in text
        assert all(f"{n}. " in text for n in numbers.split())
        assert why in text and (why or len(numbers.split()) == 1)


def test_three_tracks_have_ten_stops_each(docs):
    text = (docs / "00a_tracks.html").read_text(encoding="utf-8")
    lists = re.findall(r"<ol[^>]*>(.*?)</ol>", text, re.S)
    assert [len(re.findall(r"<li>", x)) for x in lists] == [10, 10, 10]
    assert all(len(re.findall(r"<li>\s*<p><a ", x)) == 10 for x in lists)


def test_the_thesis_has_one_title():
    for path in book.NBS.rglob("*.ipynb"):
        for cell in nbformat.read(path, 4).cells:
            for title in re.findall(r"Learning with [Pp]artial[^.,*(\n]*", cell.source):
                assert title.strip() == THESIS, path.name


def test_no_sentence_ends_in_a_colon_before_another_paragraph():
    "A colon announces a list, a formula, code or a table, never the next paragraph."
    bad = []
    for path in book.NBS.glob("*.ipynb"):
        for cell in nbformat.read(path, 4).cells:
            if cell.cell_type != "markdown":
                continue
            parts = [p for p in re.split(r"\n\s*\n", cell.source) if p.strip()]
            for one, two in zip(parts, parts[1:]):
                plain = not re.match(r"\s*([-*>|$`<!#{:]|\d+\.)", two)
                if one.rstrip().endswith(":") and plain:
                    bad.append(f"{path.stem}: {one[-60:]}")
    assert bad == []


def test_lessons_keep_no_diary():
    "What was tried when belongs to the laboratory."
    diary = r"\b(earlier version of this page|our first version|this session|yesterday)\b"
    for path in book.NBS.glob("*.ipynb"):
        for cell in nbformat.read(path, 4).cells:
            if cell.cell_type == "markdown":
                assert not re.search(diary, cell.source, re.I), (
                    path.stem,
                    cell.source[:80],
                )


def builder():
    spec = importlib.util.spec_from_file_location("builder", ROOT / "tools" / "site.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_one_caption_stands_below_the_picture_alone():
    new = nbformat.v4
    drawn = new.new_output("display_data", {"image/png": "iVBORw0KGgo="})
    row = new.new_output("execute_result", {"text/html": "<table></table>"})
    title = new.new_output("execute_result", {"text/plain": "Text(0.0, 1.0, 'a title')"})
    named = new.new_output("execute_result", {"text/plain": "Text about axes"})
    found = {}
    for name, outs in {
        "both": [row, drawn],
        "object": [title, drawn],
        "word": [named],
    }.items():
        code = f'#| fig-cap: "{name}"\n#| code-fold: true\n#| code-summary: "what"\nx = 1'
        cell = new.new_code_cell(code, outputs=outs)
        said = {cell.id: [name, "in words"]}
        found[name] = builder().readable([nbformat.from_dict(cell)], said)
    text, picture = found["both"]
    assert text.outputs == [row] and picture.outputs == [drawn]
    assert "figure" not in text.metadata["mystnb"]
    assert text.metadata["mystnb"]["code_prompt_show"] == "what"
    assert picture.metadata["mystnb"]["figure"] == {"caption": "both"}
    assert picture.metadata["mystnb"]["image"]["alt"] == "in words"
    (only,) = found["object"]
    assert only.outputs == [drawn], "matplotlib's own name of a title is nothing to read"
    assert found["word"][0].outputs == [named]


@pytest.mark.skipif(not DOCS.exists(), reason="the site is not built")
def test_no_caption_stands_twice_on_a_page():
    for chapter in BOOK:
        text = (DOCS / chapter.path.with_suffix(".html")).read_text(encoding="utf-8")
        said = re.findall(r'class="caption-text">(.*?)</span>', text, re.S)
        assert len(said) == len(set(said)), chapter.path
