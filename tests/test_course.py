"""Notebooks for a class: nothing given away to students, nothing taken from teachers."""

import ast
import sys
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
course = pytest.importorskip("course")


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("course")
    return folder, course.write(folder)


def solutions(path):
    cells = nbformat.read(path, 4).cells
    return [c for c in cells if c.cell_type == "code" and course.is_solution(c)]


def code(nb):
    return [c.source for c in nb.cells if c.cell_type == "code"]


def test_every_lesson_with_exercises_is_written(written):
    folder, pages = written
    assert len(pages) >= 20
    for kind in ("student", "teacher"):
        assert {p.name for p in (folder / kind).iterdir()} == {p.name for p in pages}


def test_students_see_no_solution_and_teachers_see_all(written):
    folder, pages = written
    seen = 0
    for page in pages:
        mine = "\n\n".join(code(nbformat.read(folder / "student" / page.name, 4)))
        full = code(nbformat.read(folder / "teacher" / page.name, 4))
        for cell in solutions(page):
            answer = course.bare(cell).source
            assert answer not in mine, f"{page.name} gives a solution away"
            assert answer in full, f"{page.name}: the teacher lacks a solution"
            seen += 1
    assert seen > 60  # the loop above looked at something


def test_students_have_a_place_for_every_answer(written):
    folder, pages = written
    for page in pages:
        nb = nbformat.read(folder / "student" / page.name, 4)
        assert not any(c.get("outputs") for c in nb.cells)
        told = [c.source for c in nb.cells if c.cell_type == "markdown"]
        assert not any(t.lstrip().startswith("**Solution") for t in told)
        assert not any("<summary>Solution" in t for t in told)
        places = sum("your turn" in source for source in code(nb))
        assert places >= bool(solutions(page))


def test_copies_are_plain_python(written):
    folder, pages = written
    for page in pages:
        for source in code(nbformat.read(folder / "student" / page.name, 4)):
            assert "#|" not in source.split("\n")[0]
            ast.parse(source if not source.startswith("%") else "pass")
