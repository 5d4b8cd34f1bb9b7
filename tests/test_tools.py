"""The tools that judge everything else: each must notice what it is there for."""

import ast
import importlib.util
import os
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import attributes
import cells
import export
import longlines
import machine
import modules
import mutants
import release

found = importlib.util.spec_from_file_location("steps", ROOT / "tools" / "test.py")
steps = importlib.util.module_from_spec(found)  # `test` is a package of Python itself
found.loader.exec_module(steps)


def printed(text):
    return [{"output_type": "stream", "name": "stdout", "text": text}]


def shown(**data):
    data = {f"text/{kind}": text for kind, text in data.items()}
    return [{"output_type": "execute_result", "data": data}]


@pytest.mark.parametrize(
    "saved, now, same",
    [
        (printed("ARI 0.51\n"), printed("ARI 0.51\n"), True),
        (printed("ARI 0.51\n"), printed("ARI 0.52\n"), True),  # one unit of the last place
        (printed("ARI 0.51\n"), printed("ARI 0.53\n"), False),
        (printed("gap 1e-16\n"), printed("gap 2e-15\n"), True),  # nothing but rounding
        (printed("gap 1e-16\n"), printed("gap 2e-10\n"), False),
        (printed("gap 1e-3\n"), printed("gap 2e-3\n"), False),
        (printed("7 rows"), printed("8 rows"), False),
        (printed("a is wrong"), printed("b is wrong"), False),
        (printed("x"), [], False),
        (printed("10%\r20%"), [], True),  # a progress bar
        (printed("{'b', 'a'}"), printed("{'a', 'b'}"), True),  # a set has no order
        (printed("{'b', 'a'}"), printed("{'a', 'c'}"), False),
        (printed("http://127.0.0.1:1/x"), printed("http://127.0.0.1:2/x"), True),
        (
            printed("at 2026-01-02T03:04:05.6+00:00"),
            printed("at 2027-11-12T13:14:15+00:00"),
            True,
        ),
        (shown(plain="<f at 0x7f>"), shown(plain="<f at 0x8a>"), True),
        (shown(plain="1"), shown(plain="1") + shown(plain="2"), False),
        (
            shown(plain="T()", html="<td>3</td>"),
            shown(plain="T()", html="<td>4</td>"),
            False,
        ),
    ],
)
def test_saved_text_is_compared_with_what_a_cell_prints(saved, now, same):
    assert cells.same_outputs(saved, now) == same


@pytest.mark.parametrize("wide", [False, True])
def test_pages_are_computed_with_the_same_vectors_everywhere(monkeypatch, wide):
    set_here = {"OPENBLAS_CORETYPE": "Zen"}
    monkeypatch.setattr(machine.os, "environ", set_here)
    monkeypatch.setattr(machine.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(machine, "has", lambda flag: wide or flag == "avx2")
    machine.plain_arithmetic()
    assert set_here["OPENBLAS_CORETYPE"] == "Zen"  # the user's word counts
    assert set_here["NUMBA_CPU_NAME"] == "haswell"
    assert ("NPY_DISABLE_CPU_FEATURES" in set_here) == wide


def test_another_processor_keeps_its_own_arithmetic(monkeypatch):
    set_here = {}
    monkeypatch.setattr(machine.os, "environ", set_here)
    monkeypatch.setattr(machine.platform, "machine", lambda: "arm64")
    machine.plain_arithmetic()
    assert set(set_here) == set(machine.ONE_THREAD)


def test_pictures_are_not_compared():
    picture = [{"output_type": "display_data", "data": {"image/png": "x"}}]
    assert cells.same_outputs(picture, [])


@pytest.mark.parametrize("page, stale", [("print(1 + 1)", ["b"]), ("print(1)", [])])
def test_a_page_whose_module_changed_is_stale(tmp_path, page, stale):
    "In a process of its own: the saved output says 1."
    import multiprocessing

    import nbformat

    cell = nbformat.v4.new_code_cell(page, outputs=[])
    cell["id"] = "b"
    cell.outputs = [nbformat.v4.new_output("stream", name="stdout", text="1\n")]
    broken = nbformat.v4.new_code_cell("#| eval: false\n1/0")
    path = tmp_path / "page.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[cell, broken]), path)
    ours, theirs = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(
        target=cells.child, args=(path, False, theirs)
    )
    process.start()
    error, found, took, _ = ours.recv()
    process.join()
    assert error is None and [f[0] for f in found] == stale
    assert [cell for _, cell in took] == ["b"]


FIGURE = "import matplotlib.pyplot as plt\nfig, ax = plt.subplots()\nax.set_title({!r});"


@pytest.mark.parametrize("title, stale", [("fine", []), ("$\\broken{$", ["c"])])
def test_a_figure_that_cannot_be_drawn_is_noticed(tmp_path, title, stale):
    "Figures are drawn once, and small: pictures are not compared."
    import multiprocessing

    import nbformat

    style = "from csc_nb.plotting import use_style\nuse_style();"
    codes = {"b": style, "c": FIGURE.format(title)}
    made = [nbformat.v4.new_code_cell(code, id=i) for i, code in codes.items()]
    path = tmp_path / "page.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=made), path)
    ours, theirs = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(
        target=cells.child, args=(path, False, theirs)
    )
    process.start()
    error, found, _, _ = ours.recv()
    process.join()
    assert error is None and [f[0] for f in found] == stale


def test_sliders_are_run_although_they_are_not_evaluated():
    import nbformat

    code = nbformat.v4.new_code_cell
    assert cells.to_run(code("#| eval: false\nexplore(demo, lam=(1, 3))"), False)
    assert not cells.to_run(code("#| eval: false\ndownload()"), False)
    assert not cells.to_run(code("#| slow\nfit()"), False)


def test_long_lines_are_found_and_marked_ones_are_not():
    long = "x = '" + "a" * 95 + "'"
    assert longlines.too_long(f"{long}\ny = 1") == [long]
    assert longlines.too_long(f"{long}  # fmt: skip") == []


def test_a_type_checkers_complaints_about_our_own_classes_are_found():
    unknown = 'Cannot access attribute "{}" for class "{}"'
    rule = "reportAttributeAccessIssue"

    def complaint(attribute, cls, rule=rule):
        file = str(ROOT / "csc_nb" / "disc.py")
        return {"message": unknown.format(attribute, cls), "rule": rule, "file": file}

    report = [
        complaint("lam", "DiSC*"),
        complaint("table", "type[Sweep]"),
        complaint("shape", "str"),
        complaint("x", "DiSC", rule="reportOptionalMemberAccess"),
    ]
    found = attributes.about_our_own({"generalDiagnostics": report}, {"DiSC", "Sweep"})
    assert found == {"csc_nb/disc.py DiSC.lam", "csc_nb/disc.py Sweep.table"}
    assert {"DiSC", "Constraints", "ActiveLearner"} <= attributes.own_classes()


def test_no_modules_import_each_other():
    graph = modules.imports()
    height = modules.layers(graph)
    assert "graph" in graph["constraints"] and "constraints" in graph["estimators"]
    assert all(height[m] < height[n] for n in graph for m in graph[n])


def test_a_circle_of_modules_is_named(tmp_path):
    for name, other in (("a", "b"), ("b", "c"), ("c", "a")):
        (tmp_path / f"{name}.py").write_text(f"from .{other} import x\n")
    with pytest.raises(ValueError, match="a → b → c → a"):
        modules.layers(modules.imports(tmp_path))


def test_the_page_for_contributors_has_the_picture(tmp_path):
    page = modules.contributors_page(tmp_path)
    picture = (tmp_path / "modules.svg").read_text()
    assert "modules.svg" in page and page.startswith("# Contributing")
    assert picture.count("<!-- ") >= len(modules.imports())


def test_lowest_versions_come_from_the_lower_bounds():
    assert release.lowest("numpy>=2.0 anywidget>=0.9.18 dask[distributed]>=2025.1") == [
        "numpy==2.0.*",
        "anywidget==0.9.18",
        "dask==2025.1.*",
    ]
    with pytest.raises(ValueError, match="no lower bound"):
        release.lowest("numpy")
    release.lowest(release.settings()["requirements"])


def test_a_sample_of_mutants_is_random_and_repeatable():
    everything = list(mutants.mutants())
    some = mutants.chosen(set(), 10, seed=1)
    names = [m["name"] for _, m in some]
    assert len(set(names)) == 10
    assert names == [m["name"] for _, m in mutants.chosen(set(), 10, seed=1)]
    assert names != [m["name"] for _, m in mutants.chosen(set(), 10, seed=2)]
    assert len(mutants.chosen(set(), 0, seed=1)) == len(everything) >= 100


def test_every_mutant_still_has_its_place_and_is_python():
    "One whose text is gone checks nothing; any test notices one that cannot be read."
    lost = []
    for _, m in mutants.mutants():
        text = (ROOT / m["module"]).read_text(encoding="utf-8")
        if text.count(m["old"]) != 1:
            lost.append((m["name"], text.count(m["old"])))
            continue
        broken = mutants.mutated(text, m)
        compile(broken, m["name"], "exec")
        assert broken != text and broken.count("\n") >= text.count("\n")
    assert not lost


def test_the_table_of_steps_names_mutants_and_their_tests():
    known = {m["name"]: m["tests"] for _, m in mutants.mutants()}
    lines = (ROOT / "tests" / "STEPS.md").read_text(encoding="utf-8").splitlines()
    rows = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")]
    rows = [row for row in rows if row[1] != "mutant"]
    assert len(rows) > 70
    for _, name, tests in rows:
        assert tests.replace("`", "").split(", ") == [
            t.removeprefix("tests/") for t in known[name]
        ]


def test_mutants_have_names_of_their_own_and_tests_that_exist():
    named = [m for _, m in mutants.mutants()]
    assert len({m["name"] for m in named}) == len(named)
    lost = []
    for test in {t for m in named for t in m["tests"]}:
        file, _, name = mutants.without_case(test).partition("::")
        text = (ROOT / file).read_text(encoding="utf-8")
        if name and not re.search(rf"^(def |class )?{name}\b", text, re.M):
            lost.append(test)
    assert not lost


@pytest.mark.parametrize(
    "old, new, kernel",
    [
        ("return x + 1", "return x - 1", True),  # in a compiled function
        ("return 2 * fast(x)", "return fast(x)", False),  # in a plain one
        ("return self.a", "return 0", False),  # in a method
        ("SCALE = 3", "SCALE = 4", True),  # may be compiled into any kernel
    ],
)
def test_a_broken_kernel_is_told_from_broken_python(old, new, kernel):
    text = (
        "from numba import njit\nSCALE = 3\n\n\n@njit(cache=True)\ndef fast(x):\n"
        "    return x + 1\n\n\ndef slow(x):\n    return 2 * fast(x)\n\n\n"
        "class A:\n    def f(self):\n        return self.a\n"
    )
    assert mutants.breaks_a_kernel(text, {"old": old, "new": new}) == kernel


def test_a_kernel_is_compiled_again_with_every_module_that_may_hold_it(tmp_path):
    (tmp_path / "csc_nb" / "baselines").mkdir(parents=True)
    for name, text in {
        "a.py": "",
        "b.py": "from .a import f",
        "baselines/c.py": "from ..b import g",
        "d.py": "from csc_nb.a import f",
        "e.py": "import numpy as np",
    }.items():
        (tmp_path / "csc_nb" / name).write_text(text)
    found = mutants.touched("csc_nb/a.py", tmp_path)
    assert found == {f"csc_nb/{n}.py" for n in ("a", "b", "baselines/c", "d")}


def exported(source, **more):
    import nbformat

    return nbformat.v4.new_code_cell(source, **more)


def test_what_a_cell_exports_is_taken_from_its_module():
    cell = exported("#| exports\ndef closure(n):\n    return n")
    assert cells.from_module(cell, "graph") == "from csc_nb.graph import closure"
    other = exported("#| export graph\nfrom numba import njit\n\nX = 1")
    assert cells.from_module(other, "softmax") == other.source  # there is no X in graph
    plain = exported("def closure(n):\n    return n")
    assert cells.from_module(plain, "graph") == plain.source
    does = exported("#| exports\ndef closure(n):\n    return n\n\nprint(closure(1))")
    assert cells.from_module(does, "graph") == does.source  # it does more than define


def test_a_semicolon_does_not_swallow_what_was_printed():
    assert (
        cells.without_semicolon("print(1)\nax.legend();\n") == "print(1)\nax.legend()\nNone"
    )
    assert cells.without_semicolon("x = 1") == "x = 1"


def test_pages_that_may_be_stale_are_few_and_exist():
    "The list may only shrink: the number goes down with it."
    allowed = cells.allowed()
    assert len(allowed) <= 10
    assert all((ROOT / "nbs" / page).exists() for page in allowed)


def test_every_module_has_quick_tests_that_exist():
    from conftest import quick_tests

    quick, package = quick_tests(), ROOT / "csc_nb"
    files = [p.relative_to(package) for p in package.rglob("*.py") if p.stem[0] != "_"]
    assert set(quick) == {".".join(p.with_suffix("").parts) for p in files}
    for test in {t for tests in quick.values() for t in tests}:
        file, _, name = test.partition("::")
        text = (ROOT / "tests" / file).read_text(encoding="utf-8")
        assert not name or f"def {name}(" in text, test


def test_no_module_defines_a_name_twice():
    "A second function of the same name replaces the first one for everybody, in silence."
    for path in sorted((ROOT / "csc_nb").rglob("*.py")):
        body = ast.parse(path.read_text(encoding="utf-8")).body
        names = [n.name for n in body if isinstance(n, (ast.FunctionDef, ast.ClassDef))]
        twice = {n for n in names if names.count(n) > 1}
        assert not twice, f"{path.name} defines {', '.join(sorted(twice))} twice"


# One laboratory: rows of experiments are written by csc_nb.sweeps.experiment

SUMMARIES = {  # tables that are no rows of a grid: how many, and what they are
    "benchmarks/bench_answer_items.py": 1,  # bins of each run, beside its row
    "benchmarks/bench_baselines.py": 1,  # times, made anew
    "benchmarks/bench_in_memory.py": 2,  # some rows of one run, made anew
    "benchmarks/bench_outgrow.py": 1,  # nine rows of one run, made anew
    "benchmarks/bench_outgrow_answers.py": 1,  # some rows of one run, made anew
    "benchmarks/summary_ncobras.py": 3,  # means over folds, made anew
    "nbs/experiments/43_answers_only.ipynb": 2,  # two tables of one run each
}


def written_by_hand(source):
    "How often a source writes tables itself."
    calls = [n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Call)]
    names = [ast.unparse(c.func).split(".")[-1] for c in calls]
    return sum(name in ("writerows", "writerow", "to_csv", "RowFile") for name in names)


def test_no_experiment_keeps_a_file_of_rows_by_itself():
    assert written_by_hand("w = csv.writer(f)\nw.writerow(row)") == 1
    counts = {}
    for name, text in longlines.sources():
        if name.startswith(("benchmarks/", "nbs/experiments/")):
            code = re.sub(r"^[%!].*$", "", text, flags=re.M)
            counts[name] = written_by_hand(code)
    assert {k: v for k, v in counts.items() if v} == SUMMARIES


def test_a_docstring_has_every_section_once():
    twice = []
    for path in (ROOT / "csc_nb").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
                found = re.findall(r"^(\w+)\n-{3,}$", ast.get_docstring(node) or "", re.M)
                if len(found) > len(set(found)):
                    twice.append(f"{path.stem}.{node.name}: {found}")
    assert not twice


def test_a_module_that_says_what_it_said_keeps_its_kernels(tmp_path):
    "Times of change: numba compiles again when a file is newer."
    texts = {
        "plain": "a = 1\n",
        "one": "@njit\n",
        "two": "@njit  # 2\n",
        "other": "b = 1\n",
    }
    room = tmp_path / "csc_nb"
    room.mkdir()
    old = 10**18
    for change, newer in {"plain": {"plain"}, "one": {"one", "two"}}.items():
        for name, text in texts.items():
            (room / f"{name}.py").write_text(text)
            os.utime(room / f"{name}.py", ns=(old, old))
        before = export.modules(tmp_path)
        for name, text in texts.items():
            (room / f"{name}.py").write_text(text + "# new\n" * (name == change))
        export.keep_times(before)
        kept = {p.stem for p in room.glob("*.py") if p.stat().st_mtime_ns == old}
        assert kept == set(texts) - newer


def test_steps_side_by_side_tell_who_failed(tmp_path, monkeypatch, capsys):
    program = tmp_path / "steps.py"
    program.write_text(
        "import sys\n"
        "for name in sys.argv[1:]:\n"
        '    print(f\'{name:15} {"FAILED" if name == "b" else "ok":7}     1 s\')\n'
        "    if name == 'd': sys.exit('killed')\n"
    )
    monkeypatch.setattr(steps, "__file__", str(program))
    assert steps.side_by_side([["a", "b"], ["c", "d", "e"]], slow=False) == ["b", "e"]
    assert "killed" in capsys.readouterr().out


def test_long_files_come_first():
    from conftest import long_files_first

    def item(file, browser=False):
        mark = lambda name: browser and name == "browser"
        return SimpleNamespace(path=Path(file), get_closest_marker=mark)

    items = [item("a"), item("b"), item("b"), item("c"), item("c", browser=True)]
    long_files_first(items)
    assert [str(i.path) for i in items] == ["c", "c", "b", "b", "a"]
