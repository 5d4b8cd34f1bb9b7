"""The tools that judge everything else: each must notice what it is there for."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import attributes
import cells
import longlines
import modules
import mutants
import release


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
        (printed("7 rows"), printed("8 rows"), False),
        (printed("a is wrong"), printed("b is wrong"), False),
        (printed("x"), [], False),
        (printed("10%\r20%"), [], True),  # a progress bar
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
    error, found, _ = ours.recv()
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


def test_every_mutant_still_has_its_place():
    "A mutant whose text is gone checks nothing."
    lost = []
    for _, m in mutants.mutants():
        count = (ROOT / m["module"]).read_text(encoding="utf-8").count(m["old"])
        if count != 1:
            lost.append((m["name"], count))
    assert not lost
