"""From a messy table to labels, a page, a model and new rows."""

import csv
import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from messy_exports import messy_exports
from messy_tables import messy_tables, more_messy_tables

from csc_nb import ari, load, report
from csc_nb.cli import main
from csc_nb.report import (
    Run,
    Said,
    check_model,
    cluster_table,
    estimator_html,
    learn_rule,
    load_run,
    predict_rows,
    result_frame,
    rule_proba,
)
from csc_nb.tables import read_table

TABLES = messy_tables() | {k: v[:3] for k, v in more_messy_tables().items()}
TABLES |= {k: v[:3] for k, v in messy_exports().items()}
VOID = {"meta", "br", "circle", "path", "rect", "img"}


class Page(HTMLParser):
    "Does every tag close, and what does the page ask for?"

    def __init__(self, text):
        super().__init__()
        self.open, self.asked, self.tags, self.words = [], [], [], []
        self.feed(text)
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.asked += [v for k, v in attrs if k in ("src", "href", "xlink:href")]
        if tag not in VOID and not (tag == "li" and False):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag, tag

    def handle_data(self, data):
        self.words.append(data)


@pytest.fixture(scope="module")
def fruit(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fruit")
    rng = np.random.default_rng(1)
    y = np.arange(60) % 3
    lines = [
        f"f{i},{4 * k + rng.normal():.3f},{rng.normal():.3f},{'abc'[k]}"
        for i, k in enumerate(y)
    ]
    (folder / "t.csv").write_text("id,x,y,colour\n" + "\n".join(lines) + "\n")
    pairs = [(a, b) for a, b in rng.integers(60, size=(80, 2)) if a != b]
    lies = rng.random(len(pairs)) < 0.1
    words = [
        "same" if (y[a] == y[b]) != lie else "different" for (a, b), lie in zip(pairs, lies)
    ]
    (folder / "p.csv").write_text(
        "".join(f"f{a},f{b},{w}\n" for (a, b), w in zip(pairs, words))
    )
    return folder, y, lies, cluster_table(folder / "t.csv", folder / "p.csv", n_clusters=3)


def test_clusters_lies_and_probabilities(fruit):
    _, y, lies, run = fruit
    assert ari(y, run.labels) > 0.95
    chance = np.array([a["wrong"] for a in run.answers])
    assert set(np.flatnonzero(chance > 0.5)) == set(np.flatnonzero(lies))
    assert run.proba.shape == (60, 3) and np.allclose(run.proba.sum(1), 1, atol=1e-4)
    assert [a["kept"] for a in run.answers] == [not lie for lie in lies]
    accused = [tuple(a["rows"]) for a in run.suspects]
    lied = [tuple(a["rows"]) for a, lie in zip(run.answers, lies) if lie]
    assert sorted(accused) == sorted(lied) and lied
    doubt = [a["wrong"] for a in run.suspects]
    assert doubt == sorted(doubt, reverse=True) and min(doubt) > 0.5


def test_what_the_command_prints_and_writes_names_the_lies_and_nothing_else(fruit):
    _, _, lies, run = fruit
    told = zip(run.answers, lies)
    lied = {tuple(run.ids[r] for r in a["rows"]) for a, lie in told if lie}
    n, lines = int(lies.sum()), run.summary().splitlines()
    at = lines.index(f"suspected wrong answers: {n}")
    names = [tuple(x.strip().split(":")[0].split(" – ")) for x in lines[at + 1 : at + 11]]
    assert len(names) == min(n, 10) and set(names) <= lied
    assert [p["suspects"] for p in run.data["people"]] == [n]
    written = csv.DictReader(run.answers_csv().splitlines())
    assert [float(row["wrong"]) > 0.5 for row in written] == lies.tolist()


def test_the_page_is_whole_fetches_nothing_and_names_the_suspects(fruit):
    run = fruit[-1]
    page = Page(run.html())
    assert page.asked == [] and "script" not in page.tags
    text = " ".join(page.words)
    worst = run.suspects[0]
    assert all(run.ids[r] in text for r in worst["rows"])
    for part in (
        "Map",
        "Clusters",
        "Answers that look wrong",
        "How sure",
        "What to ask next",
        "What was read",
    ):
        assert part in page.words
    assert page.tags.count("circle") == 60
    assert "prefers-color-scheme:dark" in run.html() and "width=device-width" in run.html()


def test_text_of_the_table_is_inert(tmp_path):
    evil = "<script>alert(1)</script><img src=x onerror=alert(2)>\" 'onclick='x"
    rows = [f"r{i}{evil if i == 3 else ''}" for i in range(12)]
    with open(tmp_path / "t.csv", "w", newline="") as f:
        w = csv.writer(f)
        w.writerow(["id", f"x{evil}", "word"])
        w.writerows([r, i % 2 * 5 + i / 100, f"{evil}{i % 2}"] for i, r in enumerate(rows))
    with open(tmp_path / "p.csv", "w", newline="") as f:
        w = csv.writer(f)
        w.writerow(["a", "b", "answer", "annotator"])
        w.writerows([[rows[3], rows[4], "same", evil], [rows[3], rows[5], "same", evil]])
        w.writerows([[rows[3], rows[4], "different", evil]])
    run = cluster_table(tmp_path / "t.csv", tmp_path / "p.csv", n_clusters=2)
    page = Page(run.html())
    assert page.asked == [] and not {"script", "img"} & set(page.tags)
    assert "<script" not in run._repr_html_() and run.data["contradictions"]


def test_a_run_goes_through_json(fruit, tmp_path):
    run = fruit[-1]
    run.save(tmp_path / "r.json")
    again = load_run(tmp_path / "r.json")
    assert again.html() == run.html() and again.labels_csv() == run.labels_csv()
    run.save_model(tmp_path / "m.json")
    model = json.loads((tmp_path / "m.json").read_text())
    assert "cells" not in model and "row_names" not in model
    with pytest.raises(ValueError, match="holds a model, not a run"):
        load_run(tmp_path / "m.json")


def test_new_rows(fruit, tmp_path):
    folder, y, _, run = fruit
    done = predict_rows(run.model(), folder / "t.csv")
    assert (done.labels == run.labels).mean() >= run.data["agreement"] - 0.05
    (tmp_path / "n.csv").write_text("colour,x\na,0\n")
    with pytest.raises(ValueError, match="lacks 1 column that the model uses: 'y'"):
        predict_rows(run.model(), tmp_path / "n.csv")


def changed(d, path, value):
    d = json.loads(json.dumps(d))
    at = d
    for k in path[:-1]:
        at = at[k]
    at[path[-1]] = value
    return d


@pytest.mark.parametrize(
    "path, value",
    [
        (["format"], "other"),
        (["version"], 3),
        (["n_clusters"], True),
        (["n_clusters"], -1),
        (["labels", 0], 99),
        (["labels"], [0]),
        (["proba", 0], [1.0]),
        (["plane", 0], ["a", "b"]),
        (["rule", "kind"], "pickle"),
        (["rule"], {"kind": "softmax", "clusters": [0], "coef": [[1]], "intercept": [0]}),
        (["answers", 0, "rows"], [0, 999]),
        (["answers", 0, "wrong"], 7),
        (["answers", 0, "kept"], "yes"),
        (["questions", 0, "rows"], [-1, 2]),
        (["cells"], {"x": [1]}),
        (["recipe"], {}),
        (["columns"], "x"),
        (["reason"], 5),
        (["people"], [1]),
    ],
)
def test_a_changed_run_is_refused(fruit, path, value):
    with pytest.raises(ValueError, match="not a (model|recipe) of csc_nb"):
        Run(changed(fruit[-1].data, path, value))


def test_no_json_is_a_sentence(tmp_path, capsys):
    for text in ("nothing", "[1, 2]", '{"format": 1}', "[" * 100_000, ""):
        (tmp_path / "r.json").write_text(text)
        for command in (["report"], ["predict"]):
            args = [*command, str(tmp_path / "r.json")]
            args += [str(tmp_path / "none.csv")] if command == ["predict"] else []
            assert main(args) == 2
            err = capsys.readouterr().err
            assert "csc_nb" in err or "csc-nb" in err
            assert "Traceback" not in err and len(err) < 400


def test_the_rule_is_what_scikit_learn_gives():
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(0)
    z = np.arange(90) % 3
    X = rng.normal(size=(90, 4)) + 3 * np.eye(3, 4)[z]
    rule, agreement = learn_rule(X, z)
    assert agreement > 0.9
    if rule["kind"] == "softmax":
        best = [LogisticRegression(C=C, max_iter=2000).fit(X, z) for C in (0.1, 1.0, 10.0)]
        P = rule_proba(rule, X, 3)
        assert min(np.abs(P - b.predict_proba(X)).max() for b in best) < 1e-4
    ring = np.linalg.norm(X := rng.normal(size=(300, 2)), axis=1) > 1.1
    rule, agreement = learn_rule(X, ring.astype(int))
    assert rule["kind"] == "neighbours" and agreement > 0.85
    assert learn_rule(X, np.zeros(300, int))[0] == dict(kind="constant", cluster=0)


def ask_a_few(name, y, n=6):
    "What `csc-nb ask` does behind its page: the same ids and features as `cluster`."
    from csc_nb.cli import ask_settings, parser
    from csc_nb.labelling_view import make_session

    t = read_table(name)
    args = parser().parse_args(["ask", name, "--learner", "cobras"])
    s = make_session(**ask_settings(args))
    assert [str(i) for i in s.items.ids] == t.row_names
    assert s.items.X.shape == t.X.shape
    for _ in range(n):
        a, b = s.turn.query.items
        s.answer(s.turn.id, "same" if y[a] == y[b] else "different")
    s.close()


@pytest.mark.parametrize("name", list(TABLES))
def test_forty_messy_tables_from_end_to_end(name, tmp_path, monkeypatch, capsys):
    "read, ask, cluster, report, predict, at the command line."
    monkeypatch.chdir(tmp_path)
    data, kinds, y = TABLES[name]
    Path(name).write_bytes(data)
    names = read_table(name).row_names
    rng = np.random.default_rng(0)
    pairs = [(a, b) for a, b in rng.integers(60, size=(60, 2)) if a != b]
    word = lambda a, b: "same" if y[a] == y[b] else "different"
    with open("said.csv", "w", newline="", encoding="utf-8") as f:
        csv.writer(f).writerows([names[a], names[b], word(a, b)] for a, b in pairs)
    ask_a_few(name, y)
    files = ["said.csv", Path(name).stem + ".jsonl"]
    args = ["cluster", name, "--pairs", *files, "--n-clusters", "3", "--quiet"]
    assert main(args) == 0, capsys.readouterr().err
    labels = [r["cluster"] for r in csv.DictReader(open("labels.csv", encoding="utf-8"))]
    assert ari(y, labels) > 0.9
    Page(Path("labels.html").read_text())
    first = Path("labels.html").read_text()
    assert main(["report", "labels.json"]) == 0
    assert Path("labels.html").read_text() == first
    assert main(["predict", "labels.json", name]) == 0, capsys.readouterr().err
    new = [r["cluster"] for r in csv.DictReader(open("predicted.csv", encoding="utf-8"))]
    assert np.mean(np.array(new) == labels) > 0.9


def test_fitted_estimators_show_what_they_found():
    pd = pytest.importorskip("pandas")
    from csc_nb import Constraints, RDPMeans

    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = rng.normal(size=(40, 2)) + 6 * y[:, None]
    c = Constraints.from_labels(y, 30, random_state=0)
    est = RDPMeans(2, random_state=0)
    plain = est._repr_html_() if hasattr(est, "_repr_html_") else ""
    est.fit(X, constraints=c)
    page = est._repr_mimebundle_()["text/html"]
    assert page != plain and "30" in page and "answers kept" in page
    assert re.search(r"<b>0</b>broken", page)
    frame = est.result_frame()
    assert (
        isinstance(frame, pd.DataFrame)
        and frame["cluster"].tolist() == est.labels_.tolist()
    )
    pl = pytest.importorskip("polars")
    assert isinstance(est.result_frame("polars"), pl.DataFrame)
    ax = est.plot(X)
    assert len(ax.collections) > 0
    with pytest.raises(ValueError, match="40 rows, X has 3"):
        est.plot(X[:3])
    assert estimator_html(est) == page and len(result_frame(est)) == 40


def test_a_model_needs_its_recipe():
    with pytest.raises(ValueError, match="not a recipe"):
        check_model(dict(format="csc_nb model", version=1, recipe=None))


@pytest.mark.parametrize(
    "answer, rows, kept",
    [
        ("none", [0, 2, 4], True),
        ("none", [0, 1, 4], False),
        ("ab", [0, 1, 4], True),
        ("bc", [0, 1, 4], False),
        ("same", [0, 1], True),
        ("different", [0, 1], False),
        ("unsure", [0, 1, 2], None),
    ],
)
def test_an_answer_is_kept_when_the_clusters_say_so(answer, rows, kept):
    assert report._kept(np.array([0, 0, 1, 1, 2]), rows, answer) is kept


# the default method: the table's own weights; how many clusters ------------------------


def said_of(y, rng, m, wrong):
    a, b = rng.integers(0, len(y), (2, 4 * m))
    pairs = np.unique(np.sort(np.c_[a, b][a != b], 1), axis=0)
    pairs = pairs[rng.permutation(len(pairs))[:m]]
    same = (y[pairs[:, 0]] == y[pairs[:, 1]]) != (rng.random(m) < wrong)
    words = ["same" if s else "different" for s in same]
    rows = [(int(i), int(j)) for i, j in pairs]
    return Said(rows, words, [""] * m, [("said.csv", k) for k in range(m)])


def test_a_category_of_many_words_does_not_drown_the_numbers():
    "Four words are four columns: at unit variance they outvoted two numbers."
    rng = np.random.default_rng(3)
    y = np.arange(48) % 3
    table = dict(
        year=(2015 + y).tolist(),
        x=(10 + 15 * y + rng.normal(0, 1.5, 48)).round(1).tolist(),
        quarter=[f"Q{q + 1}" for q in rng.integers(0, 4, 48)],
    )
    run = cluster_table(table, said_of(y, rng, 40, 0.1), n_clusters=3)
    assert ari(y, run.labels) > 0.9


def test_the_number_of_clusters_that_foretells_more_hidden_answers_is_taken():
    "Wine: two clusters might do for the answers; with three they are foretold better."
    d = load("wine")
    rng = np.random.default_rng(7100801)
    keep = rng.choice(len(d.data), 100, replace=False)
    X, y = np.asarray(d.data)[keep], np.asarray(d.target)[keep]
    said = said_of(y, rng, 80, 0.15)
    table = {f"c{j}": X[:, j].tolist() for j in range(X.shape[1])}
    gain = {}
    for K in (None, 2, 3):
        lines = []
        run = cluster_table(table, said, n_clusters=K, say=lines.append)
        gain[K] = ari(y, run.labels)
        if K is None:
            found = run.n_clusters
    assert found in (2, 3) and gain[None] == gain[found] >= gain[2] - 0.02


def test_a_file_of_answers_given_twice_is_refused(tmp_path):
    (tmp_path / "t.csv").write_text("id,x\na,1\nb,2\nc,9\n")
    (tmp_path / "p.csv").write_text("a,b,same\n")
    again = tmp_path / "sub" / ".." / "p.csv"
    (tmp_path / "sub").mkdir()
    with pytest.raises(ValueError, match="given twice"):
        cluster_table(tmp_path / "t.csv", [tmp_path / "p.csv", again])


def test_a_cluster_is_not_called_low_where_it_is_level(tmp_path):
    rows = "".join(f"r{i},{(0, 10, 5)[i % 3] + i / 100}\n" for i in range(30))
    (tmp_path / "t.csv").write_text("id,x\n" + rows)
    run = cluster_table(tmp_path / "t.csv", n_clusters=3, random_state=0)
    told = [report._profile(run, k) for k in range(3)]
    middle = run.labels[2]
    assert not any("</bdi> low" in t or "high" in t for t in told[middle]), told
    assert any("<bdi>x</bdi> low" in t for t in told[run.labels[0]]), told
