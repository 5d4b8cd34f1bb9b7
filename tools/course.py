"""Notebooks for a class: `python tools/course.py [FOLDER] [NOTEBOOK ...]`.

For every lesson that sets exercises, `student/` gets a copy without solutions and without
outputs, with an empty cell where an answer belongs, and `teacher/` the page as it stands.
Directives of nbdev are taken out, so that the copies run anywhere csc_nb is installed.
"""

import re
import sys
from pathlib import Path

import nbformat
from book import NBS, ROOT
from typography import exercises, pages

DIRECTIVE = re.compile(r"^#\|.*\n?", re.M)
SOLVED = re.compile(r'^#\|\s*code-summary:\s*"?Solution', re.M)
TOLD = re.compile(r"^(\*\*Solution|#+\s*Solutions|<details><summary>Solution)")
POINTER = re.compile(r"\s*\*Solution:?\*:?[^\n]*?folded[^\n]*")
TURN = "# your turn"


def is_solution(cell):
    "Does this cell give an answer away?"
    if cell.cell_type == "code":
        return bool(SOLVED.search(cell.source))
    return bool(TOLD.match(cell.source.lstrip()))


def bare(cell):
    "A copy of a cell without directives of nbdev; those that are not run stay quiet."
    copy = nbformat.from_dict(dict(cell))
    if copy.cell_type == "code":
        copy.source = DIRECTIVE.sub("", copy.source).strip("\n")
    return copy


def teacher(nb):
    "The page with its outputs and solutions."
    copy = nbformat.v4.new_notebook(metadata={"kernelspec": nb.metadata["kernelspec"]})
    copy.cells = [bare(c) for c in nb.cells]
    return copy


def student(nb):
    "The page without outputs and solutions; an empty cell stands where an answer belongs."
    copy = nbformat.v4.new_notebook(metadata={"kernelspec": nb.metadata["kernelspec"]})
    for cell in nb.cells:
        if not is_solution(cell):
            mine = bare(cell)
            if mine.cell_type == "code":
                mine.outputs, mine.execution_count = [], None
            else:
                mine.source = POINTER.sub("", mine.source)
            copy.cells.append(mine)
        elif cell.cell_type == "code" and TURN.lstrip("# ") not in copy.cells[-1].source:
            copy.cells.append(nbformat.v4.new_code_cell(TURN, id=cell.id))
    return copy


def has_exercises(nb):
    prose = "\n\n".join(c.source for c in nb.cells if c.cell_type == "markdown")
    return exercises(prose)[0] > 0


def write(folder, chosen=()):
    "Both copies of each page; returns the pages that were written."
    done = []
    for path in [Path(p).resolve() for p in chosen] or pages():
        nb = nbformat.read(path, 4)
        if path.parent != NBS or not has_exercises(nb):
            continue
        for kind, copy in (("student", student(nb)), ("teacher", teacher(nb))):
            to = folder / kind / path.name
            to.parent.mkdir(parents=True, exist_ok=True)
            nbformat.write(copy, to)
        done.append(path)
    return done


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "_course"
    done = write(folder, sys.argv[2:])
    print(f"{len(done)} lessons in {folder.name}/student and {folder.name}/teacher")


if __name__ == "__main__":
    main()
