"""The one chapter list: what each notebook says of itself, its part, needs and gives."""

import contextlib
import io
import re
from pathlib import Path
from typing import NamedTuple

import nbformat
import yaml

ROOT = Path(__file__).resolve().parent.parent
NBS = ROOT / "nbs"
LABORATORY = "Laboratory"
PARTS = {  # name of the part → numbers of its chapters, in reading order
    "Start here": "quickstart howto 00 00a 00b 35",
    "One wrong answer": "01 02 03 04 06 06a 07",
    "Believe with doubt": "10 10b 10a 12",
    "Other kinds of help": "11 13 14 18",
    "Ask well": "15 15a 16 17 24 30 30b 30c 30d 30e",
    "What everybody else does": "20 21 22 23",
    "Beyond the papers": "40 41 41a 42 42a 43",
    LABORATORY: "29 31 34",
    "Reference": "01a 01b 01c 01d 01e 01f 01g 05 05a 07a 08 09 30a 30f 32 33 33a 33b 34a",
}
NEW = {  # a number that stands in no list belongs here
    "0": "Reference",
    "1": "Other kinds of help",
    "2": "What everybody else does",
    "3": "Reference",
    "4": "Beyond the papers",
}
PAPERS = (  # paper, what it is, chapters, why more than one page
    (
        "004",
        "Khashabi et al.: Clustering With Side Information (2015)",
        "10 10b 10a",
        "the model, its two kinds of inference, and the limit in which it becomes k-means",
    ),
    ("000", "Chang et al.: Clustering from Multiple Uncertain Experts (2017)", "12", ""),
    ("001", "Chang et al.: Clustering with Domain-Specific Usefulness Scores", "14", ""),
    (
        "002",
        "Soenen et al.: Tackling Noise in Active Semi-Supervised Clustering",
        "16 17 24",
        "COBRAS, on which it builds, and the strategies it is compared with",
    ),
    (
        "003",
        "Pei: Learning with Partial Supervision for Clustering and Classification (2017)",
        "13 11 15 15a 18",
        "chapters 2, 3, 4 and 5 of the thesis are four papers",
    ),
)
PLACE = "<!-- chapters -->"
PAPERS_PLACE = "<!-- papers -->"
WORDS_A_MINUTE, LINES_A_MINUTE = 180, 12  # how fast prose and code are read


class Chapter(NamedTuple):
    path: Path  # below nbs/
    title: str  # with its number
    subtitle: str
    part: str
    draft: bool
    module: str  # what it exports, or ""

    @property
    def doc(self):
        return str(self.path.with_suffix(""))

    @property
    def number(self):
        return number(self.path)


def number(path):
    """The number of a notebook: `10a` of `10a_rdpmeans.ipynb`; the whole name when it
    has none."""
    found = re.match(r"(\d+[a-z]?)_", path.stem)
    return found[1] if found else path.stem


def sidebar():
    "Write nbs/sidebar.yml anew and return its notebooks."
    from nbdev.quarto import nbdev_sidebar

    with contextlib.redirect_stdout(io.StringIO()):
        nbdev_sidebar.__wrapped__(path=str(NBS), force=True)

    def flat(items):
        for x in items:
            if isinstance(x, dict):
                yield from flat(x.get("contents", []))
            elif str(x).endswith(".ipynb"):
                yield Path(x)

    listed = yaml.safe_load((NBS / "sidebar.yml").read_text())
    return list(flat(listed["website"]["sidebar"]["contents"]))


def title_source(nb):
    "The cell with title and subtitle."
    heads = (c.source for c in nb.cells if c.cell_type == "markdown")
    return next((s for s in heads if s.startswith("# ")), "")


def numbered(title, path):
    "A title with the number of its file in front, once."
    if number(path) == path.stem:
        return title
    lab = "Lab " if len(path.parts) > 1 else ""
    return f"{lab}{number(path)}. {re.sub(r'^(Lab )?[0-9]+[a-z]?[.:]? +', '', title)}"


def part_of(path):
    if len(path.parts) > 1:
        return LABORATORY
    for part, numbers in PARTS.items():
        if number(path) in numbers.split():
            return part
    return NEW.get(path.stem[:1], "Reference")


def describe(path):
    "Title, subtitle and status, read from the notebook's own cells."
    nb = nbformat.read(NBS / path, 4)
    head = title_source(nb).splitlines()
    title = next((l[2:].strip() for l in head if l.startswith("# ")), path.stem)
    subtitle = next((l[1:].strip() for l in head if l.startswith(">")), "")
    code = "\n".join(c.source for c in nb.cells if c.cell_type == "code")
    exp = re.search(r"^#\|\s*default_exp\s+(\S+)", code, re.M)
    return Chapter(
        path,
        numbered(title, path),
        subtitle,
        part_of(path),
        any("**Draft**" in c.source for c in nb.cells[:5]),
        f"csc_nb.{exp[1]}" if exp else "",
    )


def place(chapter):
    "Where a chapter stands in the order of reading."
    parts = list(PARTS)
    listed = PARTS[chapter.part].split()
    known = chapter.number in listed and len(chapter.path.parts) == 1
    within = listed.index(chapter.number) if known else len(listed)
    return parts.index(chapter.part), within, len(chapter.path.parts), chapter.doc


def chapters():
    "Every notebook but the landing page, in reading order."
    found = (describe(p) for p in sidebar() if p.stem != "index")
    return sorted(found, key=place)


def visible_lines(nb):
    "Lines of code that a reader meets without unfolding anything."
    lines = 0
    for c in nb.cells:
        hidden = re.search(r"^#\|\s*(hide|echo:\s*false|code-fold:\s*true)", c.source, re.M)
        if c.cell_type == "code" and not hidden:
            lines += sum(
                bool(l.strip()) and not l.startswith("#|") for l in c.source.split("\n")
            )
    return lines


def minutes(nb):
    "Reading time, to five minutes."
    words = sum(len(c.source.split()) for c in nb.cells if c.cell_type == "markdown")
    time = words / WORDS_A_MINUTE + visible_lines(nb) / LINES_A_MINUTE
    return max(5, 5 * round(time / 5))


def facts(chapter, book):
    "The line under the title: what the page needs, what it gives, how long it takes."
    import csc_nb

    nb = nbformat.read(NBS / chapter.path, 4)
    cells = [c.source for c in nb.cells if c.cell_type == "code"]
    exported = [s for s in cells if re.match(r"#\|\s*exports?\b", s)]
    code = "\n".join(exported or cells)
    used = set(re.findall(r"^\s*from (csc_nb\.[\w.]+) import", code, re.M)) - {
        chapter.module
    }
    lessons = [c for c in book if c.part != "Reference" and len(c.path.parts) == 1]
    needs = [f"[{c.number}]({up(chapter)}{c.path})" for c in lessons if c.module in used]
    short = chapter.module.removeprefix("csc_nb.")
    gives = [f"`{n}`" for n in csc_nb.__all__ if csc_nb._HOME[n] == short]
    line = [f"needs: {', '.join(needs)}"] if needs else []
    line += [f"gives: {', '.join(gives)}"] if gives else []
    return " · ".join([*line, f"{minutes(nb)} minutes"])


def up(chapter):
    return "../" * (len(chapter.path.parts) - 1)


def table(link=lambda c: str(c.path)):
    "The chapter table of README and landing page, as markdown."
    rows, part = ["| chapter | what it is about | module |", "|---|---|---|"], None
    for c in chapters():
        if c.part != part:
            part = c.part
            rows.append(f"| **{part}** | | |")
        title = f"[{c.title}]({link(c)})" + (" *(draft)*" if c.draft else "")
        rows.append(f"| {title} | {c.subtitle} | {f'`{c.module}`' if c.module else ''} |")
    return "\n".join(rows)


def papers(link=lambda c: str(c.path)):
    "Which pages make up each paper, as a markdown table."
    rows = ["| paper | pages | why several |", "|---|---|---|"]
    book = {c.number: c for c in chapters() if len(c.path.parts) == 1}
    for name, title, numbers, why in PAPERS:
        pages = [
            f"[{book[n].title}]({link(book[n])})" for n in numbers.split() if n in book
        ]
        rows.append(f"| {name}. {title} | {', '.join(pages)} | {why} |")
    return "\n".join(rows)
