"""Advice follows the evidence, and everything that the package shows first follows the
advice."""

import csv
import subprocess
import sys
from pathlib import Path

import pytest

from csc_nb.advice import evidence, method_class, recommend

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "nbs" / "experiments" / "results"


def test_the_evidence_is_what_the_result_files_say():
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "evidence.py", "--check"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_a_mean_computed_by_hand():
    "k-means was run everywhere; its mean over the cells that `answers` has, from the file."
    with open(RESULTS / "items_comparison.csv", newline="") as f:
        cells = {(r["dataset"], float(r["noise"]), r["seed"]) for r in csv.DictReader(f)}
    with open(RESULTS / "comparison.csv", newline="") as f:
        rows = [r for r in csv.DictReader(f) if r["method"] == "k-means"]
    for wrong in (0.0, 0.3):
        own = [
            float(r["ari"])
            for r in rows
            if float(r["noise"]) == wrong and (r["dataset"], wrong, r["seed"]) in cells
        ]
        e = next(e for e in evidence() if e.method == "k-means" and e.wrong == wrong)
        assert e.fits == len(own) and e.ari == pytest.approx(sum(own) / len(own), abs=1e-4)


@pytest.mark.parametrize("wrong", [None, 0.0, 0.05, 0.1, 0.2, 0.3])
def test_no_method_that_could_be_used_did_better(wrong):
    advice = recommend(100, 50, n_clusters=3, wrong=wrong)
    levels = {e.wrong for e in evidence()} if wrong is None else {wrong}
    score = {}
    for e in evidence():
        if e.wrong in levels and e.method not in ("cobras", "ncobras"):
            score[e.method] = score.get(e.method, 0) + e.ari
    assert advice.method == max(score, key=score.get)
    assert f"{advice.rivals[0].ari:.2f}" in advice.reason


def test_the_reason_says_what_was_not_measured():
    assert "has to find it" in recommend(100, 50).reason
    assert "are few" in recommend(1000, 5, n_clusters=2).reason
    assert "k-means" in recommend(1000, 0, n_clusters=2).reason
    assert "annotators" in recommend(100, 50, n_clusters=2, n_annotators=3).reason
    assert "no more than k-means" in recommend(100, 50, n_clusters=2, wrong=0.45).reason


def test_other_kinds_of_help():
    kinds = dict(
        triplets="answers", scores="disc", bags="bag-spectral", labels="label-hierarchy"
    )
    for kind, method in kinds.items():
        assert recommend(kind=kind).method == method
    assert recommend(can_ask=True).method == "ncobras"
    assert recommend(10, 5, features=False).estimator == "CorrelationClustering"
    for name in (*kinds.values(), "ncobras", "correlation", "rdp-means"):
        assert callable(method_class(name))


@pytest.mark.parametrize(
    "bad, says",
    [
        (dict(kind="songs"), "pairs, triplets"),
        (dict(wrong=3), "between 0 and 1"),
        (dict(n_rows=-1), "n_rows=-1"),
    ],
)
def test_nonsense_is_refused(bad, says):
    with pytest.raises(ValueError, match=says):
        recommend(**bad)
    with pytest.raises(ValueError, match="No method 'magic'"):
        method_class("magic")


def test_readme_demo_and_command_line_follow_the_advice():
    from csc_nb.cli import parser
    from csc_nb.demo import NEXT, demo_methods

    best = recommend(n_clusters=3)
    assert parser().parse_args(["cluster", "t.csv"]).method == "auto"
    assert demo_methods()[0] == best.method
    assert any(n.startswith("csc-nb cluster") and "--method" not in n for n in NEXT)
    if not (ROOT / "README.md").exists():
        pytest.skip("needs the repository")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    first = readme.split("## Learn and teach")[0]
    assert best.estimator in first and "--method" not in first
    own = [e for e in evidence() if e.method == best.method]
    assert " | ".join(f"{e.ari:.2f}" for e in sorted(own, key=lambda e: e.wrong)) in first
    assert f"{sum(e.fits for e in evidence()):,} fits" in first
    assert "![" in readme[:400] and (ROOT / "nbs" / "images" / "first.png").exists()
    assert len(readme.split("<details>")[0].splitlines()) < 120  # the long table is folded


def test_the_map_and_the_landing_page_follow_the_advice():
    "The first row for each kind of help names what `recommend` says."
    import nbformat

    if not (ROOT / "nbs").exists():
        pytest.skip("needs the repository")

    def row(page, begins):
        cells = nbformat.read(ROOT / "nbs" / page, 4).cells
        lines = [
            l for c in cells if c.cell_type == "markdown" for l in c.source.split("\n")
        ]
        return next(l for l in lines if l.startswith("| ") and begins in l.split("|")[1])

    kinds = dict(pairs="**pairs**", triplets="**tri", scores="**score", bags="**bags**")
    for kind, begins in kinds.items():
        best = recommend(kind=kind).estimator
        assert f"`{best}`" in row("00_notation.ipynb", begins), kind
        told = row("index.ipynb", begins)
        assert f"`{best}`" in told or "csc-nb cluster" in told, kind
    assert f"`{recommend(n_annotators=4).estimator}`" in row("00_notation.ipynb", "several")
    assert f"`{recommend(can_ask=True).estimator}`" in row("index.ipynb", "time")


def test_slides_are_made_offline(tmp_path):
    if not (ROOT / "tools").exists():
        pytest.skip("needs the repository")
    tool = [sys.executable, ROOT / "tools" / "slides.py", tmp_path]
    subprocess.run(
        [*tool, ROOT / "nbs" / "02_graph.ipynb"], check=True, capture_output=True
    )
    page = (tmp_path / "02_graph.html").read_text(encoding="utf-8")
    assert page.count("<section>") > 10 and page.count("data:image/png") > 2
    assert "http" not in "".join(part.split('"')[0] for part in page.split('src="')[1:])
