"""The one chapter list: nbdev's `sidebar.yml`, made from the folder of notebooks, and what each notebook says of itself."""

import contextlib, io, re
from pathlib import Path
from typing import NamedTuple

import nbformat, yaml

ROOT = Path(__file__).resolve().parent.parent
NBS = ROOT / "nbs"
PARTS = {"0": "Foundations", "1": "Chapters", "2": "Baselines", "3": "Tools", "4": "Beyond the papers"}


class Chapter(NamedTuple):
    path: Path  # below nbs/
    title: str
    subtitle: str
    part: str
    draft: bool
    module: str  # what it exports, or ""

    @property
    def doc(self):
        return str(self.path.with_suffix(""))


def sidebar():
    "Write nbs/sidebar.yml anew and return its notebooks in order."
    from nbdev.quarto import nbdev_sidebar

    with contextlib.redirect_stdout(io.StringIO()):
        nbdev_sidebar.__wrapped__(path=str(NBS), force=True)

    def flat(items):
        for x in items:
            if isinstance(x, dict):
                yield from flat(x.get("contents", []))
            elif str(x).endswith(".ipynb"):
                yield Path(x)

    return list(
        flat(
            yaml.safe_load((NBS / "sidebar.yml").read_text())["website"]["sidebar"][
                "contents"
            ]
        )
    )


def title_source(nb):
    "The cell with title and subtitle."
    return next(
        (
            c.source
            for c in nb.cells
            if c.cell_type == "markdown" and c.source.startswith("# ")
        ),
        "",
    )


def describe(path):
    "Title, subtitle and status, read from the notebook's own cells."
    nb = nbformat.read(NBS / path, 4)
    head = title_source(nb).splitlines()
    title = next((l[2:].strip() for l in head if l.startswith("# ")), path.stem)
    subtitle = next((l[1:].strip() for l in head if l.startswith(">")), "")
    exp = re.search(
        r"^#\|\s*default_exp\s+(\S+)",
        "\n".join(c.source for c in nb.cells if c.cell_type == "code"),
        re.M,
    )
    part = "Experiments" if len(path.parts) > 1 else PARTS.get(path.stem[:1], "")
    return Chapter(
        path,
        title,
        subtitle,
        part,
        any("**Draft**" in c.source for c in nb.cells[:5]),
        f"csc_nb.{exp[1]}" if exp else "",
    )


def chapters():
    "Every notebook but the landing page, in reading order."
    return [describe(p) for p in sidebar() if p.stem != "index"]


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


PLACE = "<!-- chapters -->"
