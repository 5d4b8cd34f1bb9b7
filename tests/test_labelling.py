"""The session behind the labelling screen: turns, undo, change, resume, contradictions, crashes, hostile content, several people."""

import json, os, signal, subprocess, sys, time

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_moons

from csc_nb.bayes_active import BayesianActiveClustering
from csc_nb.cobras import COBRAS
from csc_nb.labelling import (
    AskPairs,
    AskTriplets,
    FixedQuestions,
    Items,
    answers_of,
    column_kind,
    csv_text,
    merge_annotators,
    pair_facts,
    random_questions,
    safe_cell,
)
from csc_nb.labelling_view import (
    AskView,
    card_html,
    image_html,
    question_html,
    steady,
    text_html,
)
from csc_nb.ncobras import NCOBRAS
from csc_nb.oracles import (
    NoisyOracle,
    Pair,
    RandomPairLearner,
    ReplayOracle,
    Triple,
    read_journal,
    standing_answers,
)
from csc_nb.queries import ActiveClusterer

X, y = make_moons(80, noise=0.07, random_state=0)
DF = pd.DataFrame(
    {"id": [f"P{i:02}" for i in range(80)], "u": X[:, 0].round(3), "v": X[:, 1].round(3)}
)


def new(tmp_path, name="a.jsonl", learner=None, **kw):
    return AskPairs(
        DF,
        **{
            **dict(
                id="id",
                learner=learner or NCOBRAS(random_state=0),
                log=tmp_path / name,
                annotator="A",
            ),
            **kw,
        },
    )


def state(s):
    return [(x.query.items, x.answer) for x in s.said], s.learner.labels_.tolist()


def simulated(s, learner=None):
    "The run of a fresh learner that is given the same answers."
    fresh = learner or NCOBRAS(random_state=0)
    fresh.fit(s.items.X, oracle=ReplayOracle(s.learner.answers_), budget=None)
    return fresh.labels_.tolist()


LEARNERS = {
    "cobras": COBRAS(random_state=0),
    "ncobras": NCOBRAS(random_state=0),
    "active": ActiveClusterer("min-max", n_clusters=2, random_state=0),
    "bayes": BayesianActiveClustering(2, n_particles=50, random_state=0),
    "random": RandomPairLearner(2, random_state=0),
    "list": random_questions(80, 30),
}


@pytest.mark.parametrize("name", LEARNERS)
def test_a_messy_person_ends_where_the_simulated_run_with_the_same_answers_ends(
    tmp_path, name
):
    learner = LEARNERS[name]
    if name == "list":
        learner = [(DF.id[i], DF.id[j]) for i, j in learner]
    s, rng, o = (
        new(tmp_path, learner=learner),
        np.random.default_rng(0),
        NoisyOracle(y, 0.1, random_state=0),
    )
    for k in range(24):
        t = s.turn
        if t is None:
            break
        act = rng.random()
        if act < 0.1:
            assert s.skip(t.id)
        elif act < 0.2 and k:
            s.undo()
        elif act < 0.3 and s.said:
            s.change(int(rng.integers(len(s.said))), int(rng.integers(-1, 2)))
        else:
            assert s.answer(t.id, o(t.query)) and not s.answer(
                t.id, "same"
            )  # the second click is not taken
        if k == 12:
            s = new(tmp_path, learner=learner)  # the cell is run again
    again = new(tmp_path, learner=learner)
    assert (
        state(again) == state(s)
        and again.how == s.how
        and again.memory.said.keys() == s.memory.said.keys()
    )
    fresh = FixedQuestions(random_questions(80, 30)) if name == "list" else LEARNERS[name]
    if name != "list":
        assert simulated(s, fresh) == s.learner.labels_.tolist()


def test_undo_goes_back_to_the_first_question_and_forgets_what_was_said(tmp_path):
    s, o = new(tmp_path), NoisyOracle(y, 0.1, random_state=0)
    first, seen = s.turn.query, []
    for _ in range(15):
        seen.append(s.turn.query)
        s.answer(s.turn.id, o(s.turn.query))
    for q in reversed(seen):
        assert s.undo() and s.turn.query == q
    assert (
        not s.undo()
        and s.turn.query == first
        and not s.memory.said
        and state(new(tmp_path)) == state(s)
    )


def test_a_stale_undo_is_not_taken(tmp_path):
    s = new(tmp_path)
    for _ in range(3):
        s.answer(s.turn.id, "same")
    old = s.turn.id
    assert s.undo(old) and not s.undo(old) and len(s.said) == 2


def test_change_keeps_what_was_said_although_the_learner_goes_another_way(tmp_path):
    s, o = new(tmp_path), NoisyOracle(y, 0.0, random_state=0)
    for _ in range(30):
        s.answer(s.turn.id, o(s.turn.query))
    told = {tuple(sorted(x.query.items)): x.answer for x in s.said}
    s.change(0, -s.said[0].answer)
    asked = {tuple(sorted(x.query.items)) for x in s.said}
    for _ in range(10):  # nothing that was said is asked again
        assert tuple(sorted(s.turn.query.items)) not in told
        s.answer(s.turn.id, o(s.turn.query))
    assert asked and all(
        told[k] == x.answer
        for x in s.said[1:]
        if (k := tuple(sorted(x.query.items))) in told
    )
    s.undo()
    s = new(tmp_path)
    while s.said and s.said[-1].k > 0:
        s.undo()
    assert s.answer(s.turn.id, o(s.turn.query)) if not s.said else True
    assert simulated(s) == s.learner.labels_.tolist()


def test_skipped_questions_come_again_at_the_end_and_on_demand(tmp_path):
    pairs = [(0, 1), (2, 3), (4, 5)]
    s = AskPairs({"x": np.arange(6.0)}, learner=pairs, log=tmp_path / "s.jsonl")
    s.answer(s.turn.id, "same")
    s.skip(s.turn.id)
    s.ask_skipped()
    assert s.turn.back_to == 1 and s.turn.query.items == (2, 3)
    s.skip(s.turn.id)
    assert s.turn.query.items == (4, 5)
    s.answer(s.turn.id, "different")
    assert s.turn.back_to == 1 and s.turn.query.items == (2, 3)
    s.answer(s.turn.id, "same")
    assert s.turn is None and [(x.answer, x.how) for x in s.said] == [
        (1, ""),
        (1, ""),
        (-1, "kept"),
    ]
    assert state(
        AskPairs({"x": np.arange(6.0)}, learner=pairs, log=tmp_path / "s.jsonl")
    ) == state(s)


def test_contradictions_carry_their_chain_and_can_be_kept(tmp_path):
    make = lambda: AskPairs(
        {"x": np.arange(6.0)},
        learner=[(0, 1), (3, 4), (1, 2), (0, 2)],
        log=tmp_path / "c.jsonl",
        check_implied=True,
    )
    s = make()
    for a in ("same", "same", "same", "different"):
        s.answer(s.turn.id, a)
    (c,) = s.conflicts()
    assert (
        c.odd.k == 3
        and [x.k for x in c.chain] == [0, 2]
        and c.text == "0 ≠ 2, but 0 = 1, 1 = 2"
        and s.status().conflicts == 1
    )
    s.keep(c)
    assert (
        s.conflicts()[0].kept
        and s.status().conflicts == 0
        and make().status().conflicts == 0
    )


def test_implied_pairs_are_filled_in_unless_the_learner_checks():
    s = AskPairs(
        {"x": np.arange(5.0)},
        learner=[(0, 1), (1, 2), (0, 2), (2, 3), (0, 3), (3, 4)],
        log=None,
    )
    for a in ("same", "same", "different"):
        s.answer(s.turn.id, a)
    assert s.turn.query.items == (3, 4) and [x.how for x in s.said] == [
        "",
        "",
        "implied",
        "",
        "implied",
    ]
    assert (
        s.constraints.n_constraints == 3
        and s.status().given == 3
        and s.status().implied == 1
    )  # only 1 – 3 is neither said nor filled in
    assert (
        AskPairs(DF, id="id", log=None, learner=NCOBRAS()).check_implied
        and not AskPairs(DF, id="id", log=None, learner=COBRAS()).check_implied
    )


def test_status_counts_what_follows():
    s = AskPairs({"x": np.arange(8.0)}, learner=[(0, 1), (1, 2), (2, 3), (3, 4)], log=None)
    for a in ("same", "same", "same", "different"):
        s.answer(s.turn.id, a)
    st = s.status()  # groups {0,1,2,3} and {4}: 6 + 4 pairs known, 4 said
    assert (st.given, st.same, st.different, st.implied) == (4, 3, 1, 6)


@pytest.mark.parametrize(
    "answer,facts",
    [
        ("ab", [(5, 6, 1), (5, 7, -1), (6, 7, -1)]),
        ("ac", [(5, 7, 1), (5, 6, -1), (7, 6, -1)]),
        ("none", []),
        ("unsure", []),
    ],
)
def test_what_a_triple_settles(answer, facts):
    assert pair_facts(Triple(5, 6, 7), answer) == facts


def test_triples_are_logged_by_question_order_whatever_the_place_on_the_screen(tmp_path):
    s = AskTriplets(
        DF,
        id="id",
        learner=[tuple(DF.id[list(t)]) for t in random_questions(80, 40, 3)],
        log=tmp_path / "t.jsonl",
    )
    v = AskView(s, pause=0.0)
    o, orders = NoisyOracle(y), set()
    while s.turn:
        t = s.turn
        orders.add(tuple(np.argsort(t.shown)))
        said = o(Triple(*t.shown))  # by place on the screen
        v.do(said, t.id)
    assert len(orders) > 3 and all(x.answer == o(x.query) for x in s.said if x.how == "")
    assert all(
        e["answer"] in ("ab", "ac", "bc", "none")
        for e in standing_answers(read_journal(tmp_path / "t.jsonl")[0])
    )


def test_bayesian_triples_work(tmp_path):
    s = AskTriplets(
        DF,
        id="id",
        learner=BayesianActiveClustering(
            2, questions="triplets", n_particles=50, random_state=0
        ),
        log=tmp_path / "t.jsonl",
    )
    o = NoisyOracle(y)
    for _ in range(5):
        s.answer(s.turn.id, o(s.turn.query))
    assert (
        len(s.said) == 5 and s.said[0].query.kind == "triple" and "bits" in s.advice().text
    )
    assert set(s.result().columns) >= {"cluster", "probability", "supported"}


def test_result_says_what_answers_support(tmp_path):
    s = AskPairs(
        {"name": list("abcdef"), "x": [0.0, 0.1, 0.2, 9.0, 9.1, 9.2]},
        id="name",
        learner=[("a", "b"), ("d", "e"), ("a", "d")],
        log=tmp_path / "r.jsonl",
    )
    for a in ("same", "same", "different"):
        s.answer(s.turn.id, a)
    r = s.result().set_index("name")
    assert r.cluster.tolist() == [1, 1, 1, 2, 2, 2] and r.supported.tolist() == [
        True,
        True,
        False,
        True,
        True,
        False,
    ]
    assert (
        r.answers.tolist() == [2, 1, 0, 2, 1, 0]
        and not r.broken.any()
        and r.probability.between(0, 1).all()
    )
    assert (
        s.to_csv().read_text().splitlines()[0]
        == "name,cluster,probability,answers,broken,supported,x"
    )


def test_another_persons_log_other_data_and_another_learner_are_refused(tmp_path):
    s = new(tmp_path)
    s.answer(s.turn.id, "same")
    s.close()
    with pytest.raises(ValueError, match="answers of annotator 'A'"):
        new(tmp_path, annotator="B")
    with pytest.raises(ValueError, match="another learner"):
        new(tmp_path, learner=COBRAS(random_state=0))
    with pytest.raises(ValueError, match="other data"):
        AskPairs(
            DF.assign(u=0.0),
            id="id",
            learner=NCOBRAS(random_state=0),
            log=tmp_path / "a.jsonl",
            annotator="A",
        )
    assert len(new(tmp_path).said) == 1


def test_a_log_of_nonsense_is_reported_with_its_line(tmp_path):
    s = new(tmp_path)
    for _ in range(5):
        s.answer(s.turn.id, "same")
    s.close()
    lines = (tmp_path / "a.jsonl").read_text().splitlines()
    for bad in (
        '{"event": "answ',
        "[]",
        lines[3],
        '{"event":"undo","n":99}',
        lines[2].replace('"same"', '"perhaps"'),
    ):
        (tmp_path / "a.jsonl").write_text("\n".join([*lines[:3], bad, *lines[3:]]) + "\n")
        with pytest.raises(ValueError, match=r"line [45]: "):
            new(tmp_path)
    other = json.loads(lines[2])
    other["items"] = ["P00", "nobody"]
    (tmp_path / "a.jsonl").write_text(
        "\n".join([*lines[:2], json.dumps(other), *lines[3:]]) + "\n"
    )
    with pytest.raises(ValueError, match="nobody|Line 3|line 3"):
        new(tmp_path)


CHILD = """
import sys, time
import pandas as pd
from sklearn.datasets import make_moons
from csc_nb.labelling import AskPairs
from csc_nb.ncobras import NCOBRAS
X, y = make_moons(80, noise=.07, random_state=0)
DF = pd.DataFrame({"id": [f"P{i:02}" for i in range(80)], "u": X[:, 0].round(3), "v": X[:, 1].round(3)})
s = AskPairs(DF, id="id", learner=NCOBRAS(random_state=0), log=sys.argv[1], annotator="A")
print("ready", len(s.memory.said), flush=True)
k = 0
while True:
    s.answer(s.turn.id, 1 if y[s.turn.query.a] == y[s.turn.query.b] else -1); k += 1
    print("ok", len(s.memory.said), flush=True)
    if k % 5 == 0: s.change(len(s.said)//2, -(s.said[len(s.said)//2].answer or 1)); print("ok", len(s.memory.said), flush=True)
"""


def test_a_killed_kernel_loses_no_answer_and_a_second_kernel_is_refused(tmp_path):
    log, last = tmp_path / "k.jsonl", 0
    for round_ in range(3):
        p = subprocess.Popen(
            [sys.executable, "-c", CHILD, str(log)], stdout=subprocess.PIPE, text=True
        )
        try:
            word, n = p.stdout.readline().split()
            assert (
                word == "ready" and int(n) >= last
            )  # everything acknowledged before the kill is there: what a change set aside is remembered too
            if round_ == 0:
                with pytest.raises(RuntimeError, match="in use by another process"):
                    new(tmp_path, "k.jsonl")
            for _ in range(7 + 4 * round_):
                last = int(p.stdout.readline().split()[1])
        finally:
            p.send_signal(signal.SIGKILL)
            p.wait()
            p.stdout.close()
    s = new(tmp_path, "k.jsonl", learner=NCOBRAS(random_state=0))
    assert len(s.memory.said) >= last and simulated(s) == s.learner.labels_.tolist()


def test_a_change_cut_off_after_any_line_loses_nothing(tmp_path):
    s, o = new(tmp_path), NoisyOracle(y, 0.1, random_state=0)
    for _ in range(12):
        s.answer(s.turn.id, o(s.turn.query))
    n0 = len((tmp_path / "a.jsonl").read_bytes().splitlines())
    s.change(4, -s.said[4].answer)
    s.close()
    lines, memory = (
        (tmp_path / "a.jsonl").read_bytes().splitlines(keepends=True),
        s.memory.said,
    )
    for n in range(n0 + 1, len(lines) + 1):
        for cut in (
            b"",
            lines[n][:20] if n < len(lines) else b"",
        ):  # also in the middle of a line
            (tmp_path / "cut.jsonl").write_bytes(b"".join(lines[:n]) + cut)
            with (
                pytest.warns(UserWarning, match="cut off")
                if cut
                else __import__("contextlib").nullcontext()
            ):
                t = new(tmp_path, "cut.jsonl")
            assert state(t) == state(s) and {k: v[1] for k, v in t.memory.said.items()} == {
                k: v[1] for k, v in memory.items()
            }


EVIL = [
    "<script>alert(1)</script>",
    "\"'><img src=x onerror=alert(1)>",
    '=HYPERLINK("http://x")',
    "שלום \u202e gnp.exe",
    "x" * 10_000_000,
    "a\x00\x1b[31m\ud800b",
    "+1+1|cmd",
    "</style><b>",
]


def test_hostile_cells_are_inert(tmp_path):
    df = pd.DataFrame(
        {
            "id": [f"<b>{k}</b>\"'" for k in range(8)],
            "note": EVIL,
            "pic": [
                "no.png",
                "https://example.org/x.png",
                "../../etc/passwd.png",
                "a\nb.png",
            ]
            * 2,
            "<i>n": np.arange(8.0),
        }
    )
    s = AskPairs(df, id="id", learner=COBRAS(random_state=0), log=tmp_path / "e.jsonl")
    for i in range(8):
        page = question_html(s.items, (i, (i + 1) % 8))
        assert len(page) < 30_000
        for bad in (
            "<script",
            "<img",
            "onerror=alert(1)>",
            "<b>",
            "</style",
            "<i>",
            "\x00",
            "\x1b",
        ):
            assert bad not in page, bad
    v = AskView(s)
    v.do("same", v.shown_id)
    v._draw_panel(s.turn)
    for part in (v.head, v.cards, v.members, v.facts, v.alert):
        assert (
            "<script" not in part.value
            and "<b>0</b>&quot;" not in part.value
            and '<b>0</b>"' not in part.value
            and "onerror=alert(1)>" not in part.value
        )
    text = s.to_csv(tmp_path / "e.csv").read_text(encoding="utf-8")
    back = pd.read_csv(tmp_path / "e.csv")
    assert (
        back.note.tolist()[2] == "'" + EVIL[2]
        and back.note[6] == "'" + EVIL[6]
        and len(text) > 10_000_000
    )
    assert (
        AskPairs(df, id="id", learner=COBRAS(random_state=0), log=tmp_path / "e.jsonl").said
        == s.said
    )


def test_a_show_function_may_return_anything_and_may_fail():
    class Page:
        def _repr_html_(self):
            return "<script>alert(1)</script>"

    for out, want in (
        (lambda r: "<b>", "&lt;b&gt;"),
        (lambda r: np.eye(8), "data:image/png"),
        (lambda r: Page(), 'sandbox="" class="csc-frame" srcdoc="&lt;script'),
        (lambda r: 1 / 0, "show failed: ZeroDivisionError"),
    ):
        items = Items({"x": [1.0, 2.0], "t": ["<b>", "c"]}, show=out)
        page = card_html(items, 0, (0, 1))
        assert want in page and "<script" not in page


@pytest.mark.parametrize(
    "values,kind",
    [
        ([1, None, 3.5], "number"),
        (["1", "2", ""], "number"),
        (["a", "b"] * 5, "category"),
        ([f"name {i}" for i in range(30)], "label"),
        (["this is a longer text here"] * 3, "text"),
        (["x.PNG", "y.jpg"], "image"),
        ([b"..", b"."], "image"),
        ([np.zeros((4, 4))], "image"),
        (["1 2 3", "4 5 6"], "series"),
        ([[1, 2], [3, 4]], "series"),
        ([None, None], "label"),
    ],
)
def test_kind_of_a_column(values, kind):
    assert column_kind(values) == kind


def test_items_from_any_table_and_clear_errors():
    import polars as pl

    rows = [
        dict(id=f"r{i}", x=float(i), t="some words about a thing " + "ab"[i % 2])
        for i in range(6)
    ]
    made = [
        Items(d, id="id")
        for d in (
            rows,
            pd.DataFrame(rows),
            pl.DataFrame(rows),
            {k: [r[k] for r in rows] for k in rows[0]},
        )
    ]
    assert all((m.X == made[0].X).all() and m.ids == made[0].ids for m in made)
    assert Items(pd.DataFrame(rows).set_index("id")).ids == made[0].ids
    for bad, say in (
        (dict(id="nope"), "No column 'nope'"),
        (dict(show=["zz"]), "No column 'zz' for show"),
        (dict(features=np.zeros((3, 2))), "shape"),
        (dict(show={"x": "colour"}), "use number, category"),
    ):
        with pytest.raises(ValueError, match=say):
            Items(rows, **bad)
    with pytest.raises(ValueError, match="1 ids occur more than once: first is 'a'"):
        Items({"id": ["a", "a"], "x": [1, 2]}, id="id")
    with pytest.raises(ValueError, match="nothing to compare"):
        Items({"x": [1.0]})
    with pytest.raises(ValueError, match="hold only names"):
        Items({"n": [f"n{i}" for i in range(50)]})
    with pytest.raises(ValueError, match="Question 0 names 'q'"):
        AskPairs(rows, id="id", learner=[("q", "r1")], log=None)


@pytest.mark.parametrize("v", ["=1", "+a", "-a", "@x", "\t=1", "\r=1", " =1", "|x", "%x"])
def test_formulas_are_made_harmless(v):
    assert safe_cell(v) == "'" + v


def test_csv_round_trip():
    import csv, io

    cols = {"id": ["a", "b,c", 'q"q', "l\nl"], "n": [-1, 2.5, None, True]}
    rows = list(csv.reader(io.StringIO(csv_text(cols))))
    assert [r[0] for r in rows[1:]] == cols["id"] and [r[1] for r in rows[1:]] == [
        "-1",
        "2.5",
        "",
        "True",
    ]


def test_several_people_are_merged_and_judged(tmp_path):
    pairs = [(DF.id[i], DF.id[j]) for i, j in random_questions(80, 200, random_state=1)]
    for who, noise in (("good", 0.03), ("bad", 0.35)):
        s, o = (
            AskPairs(
                DF,
                id="id",
                learner=pairs,
                log=tmp_path / f"{who}.jsonl",
                annotator=who,
                check_implied=True,
            ),
            NoisyOracle(y, noise, random_state=3),
        )
        while s.turn:
            s.answer(s.turn.id, o(s.turn.query))
        s.close()
    team = merge_annotators(
        [tmp_path / "good.jsonl", tmp_path / "bad.jsonl"], s, 4, random_state=0
    )
    acc = {
        r["annotator"]: r["right_on_same"] + r["right_on_different"] for r in team.accuracy
    }
    assert (
        acc["good"] > acc["bad"] + 0.1
        and team.constraints.n_constraints == 400
        and team.agreement.n[0, 1] == 200
    )
    a, b = (answers_of(tmp_path / f"{w}.jsonl", DF.id) for w in ("good", "bad"))
    po = np.mean(a.value == b.value)
    ma, mb = np.mean(a.value > 0), np.mean(b.value > 0)
    pe = ma * mb + (1 - ma) * (1 - mb)
    assert np.isclose(team.agreement.kappa[0, 1], (po - pe) / (1 - pe))


def test_view_without_keys_binds_buttons_to_their_turn(tmp_path):
    s = new(tmp_path)
    v = AskView(s, keys=False, pause=0.0)
    old = v.answers.children[0]
    assert (
        v.catcher is None
        and old.description == "Same"
        and "anywidget"
        in "".join(
            getattr(c, "value", "")
            for c in v.widget.children
            if isinstance(getattr(c, "value", ""), str)
        )
    )
    old.click()
    old.click()
    assert len(s.said) == 1 and v.ignored == 1
    v.answers.children[1].click()
    assert [x.answer for x in s.said] == [1, -1]
    v.more.children[1].click()
    assert len(s.said) == 1
    slow = AskView(s, keys=False, pause=30.0)
    slow.answers.children[0].click()
    assert len(s.said) == 1 and "quick" in slow.message.value


def test_view_shows_keys_on_buttons_and_ignores_stale_messages(tmp_path):
    pytest.importorskip("anywidget")
    s = new(tmp_path)
    v = AskView(s)
    assert [b.description for b in v.answers.children] == [
        "Same  [S]",
        "Different  [D]",
        "Don’t know  [U]",
    ] and [b.description for b in v.more.children[:2]] == ["Ask later  [K]", "Undo  [Z]"]
    assert v.catcher.bindings == {
        "s": "same",
        "d": "different",
        "u": "unsure",
        "k": "skip",
        "z": "undo",
    }
    press = lambda action, turn, **kw: v.catcher._handle_custom_msg(
        dict(action=action, turn=turn, **kw), []
    )
    t = v.catcher.turn
    press("same", t, seconds=1.25)
    press("same", t)
    press("format disk", v.catcher.turn)
    press(None, None)
    assert len(s.said) == 1 and s.seconds == [1.25] and v.catcher.turn != t
    press("stop", v.catcher.turn)
    assert v.catcher.turn == "stopped" and not v.answers.children
    press("same", v.catcher.turn)
    press("resume", v.catcher.turn)
    press("different", v.catcher.turn)
    press("save", v.catcher.turn)
    press("unsure", v.catcher.turn)
    assert [x.answer for x in s.said] == [1, -1, 0] and (
        tmp_path / "a.clusters.csv"
    ).exists()


def test_view_offers_to_change_or_keep_a_contradiction(tmp_path):
    s = AskPairs(
        {"x": np.arange(6.0)},
        learner=[(0, 1), (1, 2), (0, 2)],
        log=tmp_path / "c.jsonl",
        check_implied=True,
    )
    v = AskView(s)
    for a in ("same", "same", "different"):
        v.do(a, v.shown_id)
    assert "0 ≠ 2, but 0 = 1, 1 = 2" in v.alert.value and [
        b.description for b in v.alert_row.children
    ] == [
        "3: 0 – 2 was different → same",
        "1: 0 – 1 was same → different",
        "2: 1 – 2 was same → different",
        "Keep all",
    ]
    v.alert_row.children[2].click()
    assert not v.alert.value and [x.answer for x in s.said] == [1, -1, -1]
    v.change(1, "same")
    v.alert_row.children[-1].click()
    assert not v.alert.value and s.conflicts()[0].kept
    v.old.value = 0
    next(
        b for b in v.old_row.children if getattr(b, "description", "") == "don’t know"
    ).click()
    assert s.said[0].answer == 0


def test_an_error_in_a_learner_is_shown_and_nothing_is_lost(tmp_path):
    class Broken(RandomPairLearner):
        def _queries(self, X, rng):
            for k, q in enumerate(super()._queries(X, rng)):
                if k == 2:
                    raise RuntimeError("out of <b>luck</b>")
                yield q

    s = new(tmp_path, learner=Broken(2, random_state=0))
    v = AskView(s, keys=False, pause=0.0)
    v.do("different", v.shown_id)
    v.do("different", v.shown_id)
    assert (
        "out of &lt;b&gt;luck" in v.message.value
        and len(standing_answers(read_journal(tmp_path / "a.jsonl")[0])) == 2
    )


def test_colours_stay_with_their_clusters():
    before = np.array([0, 0, 1, 1, 2, 2])
    assert steady(np.array([5, 5, 3, 3, 9, 9]), before).tolist() == before.tolist()
    assert steady(np.array([0, 0, 0, 0, 1, 2]), before).tolist()[:5] == [0, 0, 0, 0, 2]
    assert steady(np.array([1, 0, 0, 0]), None).tolist() == [1, 0, 0, 0]


def test_csc_nb_ask_reports_mistakes_before_a_page_opens(tmp_path, monkeypatch, capsys):
    import csc_nb.labelling_view as view
    from csc_nb.cli import ask_settings, main, parser

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(view, "Site", lambda *a: pytest.fail("a page opened"))
    DF.to_csv("t.csv", index=False)
    s = ask_settings(
        parser().parse_args(["ask", "t.csv", "--annotator", "B", "--show", "u,v"])
    )
    assert (
        s["log"] == str(tmp_path / "t.B.jsonl")
        and s["out"] == str(tmp_path / "t.B.clusters.csv")
        and s["show"] == ["u", "v"]
    )
    held = view.make_session(
        **ask_settings(parser().parse_args(["ask", "t.csv", "--id", "id"]))
    )
    code = f"from csc_nb.oracles import Journal; import time; j = Journal({str(tmp_path / 'held.jsonl')!r}); print('x', flush=True); time.sleep(60)"
    p = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    p.stdout.readline()
    for args, say in (
        (["--id", "zz"], "No column 'zz' for id"),
        (["--id", "id", "--show", "w"], "No column 'w' for show"),
        (["--learner", "magic"], "No learner 'magic'"),
        (["--n-clusters", "3"], "finds the number of clusters itself"),
        (["--annotator", "../x"], "without slashes"),
        (["--id", "id", "--log", "held.jsonl"], "in use by another process"),
    ):
        assert main(["ask", "t.csv", *args]) == 2 and say in capsys.readouterr().err
    p.kill()
    p.wait()
    p.stdout.close()
    held.close()


def test_csv_files_of_many_makes(tmp_path):
    from csc_nb.labelling_view import read_csv

    f = tmp_path / "t.csv"
    for text in (
        "a,b\n1,x\n2,y\n",
        "a;b\n1;x\n2;y\n",
        "a\tb\n1\tx\n2\ty\n",
        "\ufeffa,b\r\n1,x\r\n\r\n2,y\r\n",
    ):
        f.write_bytes(text.encode())
        assert read_csv(f) == {"a": ["1", "2"], "b": ["x", "y"]}
    f.write_text("a,b\n1,x\n2\n")
    pytest.raises(ValueError, read_csv, f).match("row 3 with 1")
    f.write_text("a,b\n")
    pytest.raises(ValueError, read_csv, f).match("at least two rows")
    f.write_text("a,a\n1,2\n3,4\n")
    pytest.raises(ValueError, read_csv, f).match("same name")
    f.write_text("a,b\n1," + "x" * 10_000_000 + "\n2,y\n")
    assert len(read_csv(f)["b"][0]) == 10_000_000
