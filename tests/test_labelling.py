"""The session behind the screen: turns, undo, change, resume, crashes, hostile content."""

import csv, json, os, re, signal, subprocess, sys, tempfile, time, warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score

from csc_nb import labelling
from csc_nb.bayes_active import BayesForm, BayesianActiveClustering
from csc_nb.cobras import COBRAS
from csc_nb.constraints import Constraints
from csc_nb.labelling import (
    AskPairs,
    AskTriplets,
    FixedQuestions,
    Items,
    answers_of,
    column_kind,
    csv_text,
    fewest_groups,
    is_better,
    links_of,
    most_agreeing,
    merge_annotators,
    pair_facts,
    random_questions,
    safe_cell,
    settle,
)
from csc_nb.labelling_view import (
    WORDS,
    AskView,
    OpenView,
    StartView,
    card_html,
    example_text,
    first_screen,
    image_html,
    make_session,
    question_html,
    settings_in,
    steady,
    table_of,
    text_html,
)
from csc_nb.ncobras import NCOBRAS
from csc_nb.oracles import (
    _OPEN,
    NoisyOracle,
    Pair,
    RandomPairLearner,
    ReplayOracle,
    Triple,
    read_journal,
    standing_answers,
)
from csc_nb.queries import ActiveClusterer
from csc_nb.team import Team

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
    "All that can be seen of a session: answers, learner, question, clusters, export."
    turn = s.turn
    return (
        [(x.query.items, x.answer, x.how) for x in s.said],
        s.learner.labels_.tolist(),
        turn and (turn.query, turn.shown, turn.back_to),
        s.labels.tolist(),
        s.table(),
    )


def simulated(s, learner=None):
    "A fresh learner that hears the same answers."
    fresh = (learner or NCOBRAS(random_state=0)).start(s.items.X)
    fresh._talk.fill = None if s.check_implied else s.follows
    for x in s.said:
        fresh.hear(x.query, x.answer)
    return fresh.labels_.tolist()


def facts(s):
    "Who said what about which pair, as a multiset."
    return Counter((*sorted(x.query.items), x.answer) for x in s.said if x.how != "skip")


def everywhere(s, path):
    "Every answer is once in the log, in the constraints, in the export; nothing else is."
    c = s.constraints
    want = facts(s)
    rows = {str(i): r for r, i in enumerate(s.items.ids)}
    logged = [e for e in standing_answers(read_journal(path)[0]) if e.get("how") != "skip"]
    value = {"same": 1, "different": -1, "unsure": 0}
    said = Counter(
        (*sorted(rows[str(i)] for i in e["items"]), value[e["answer"]]) for e in logged
    )
    assert said == want
    got = Constraints.from_log(path, ids=s.items.ids)
    for found in (c, got):
        pairs = zip(found.a.tolist(), found.b.tolist(), found.value.tolist())
        assert {(*sorted(p[:2]), p[2]) for p in pairs} == set(want)
        assert found.weight.sum() == sum(want.values())
    named = Counter()
    for a, b, v in want.elements():
        if v:
            named.update((a, b))
    assert s.table()["answers"] == [named[i] for i in range(s.items.n)]
    assert len(s.labels) == s.items.n


LEARNERS = {
    "cobras": COBRAS(random_state=0),
    "ncobras": NCOBRAS(random_state=0),
    "active": ActiveClusterer("min-max", n_clusters=2, random_state=0),
    "bayes": BayesianActiveClustering(2, form=BayesForm(n_particles=50), random_state=0),
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
    everywhere(s, tmp_path / "a.jsonl")
    again = new(tmp_path, learner=learner)
    assert state(again) == state(s)
    fresh = FixedQuestions(random_questions(80, 30)) if name == "list" else LEARNERS[name]
    assert simulated(s, fresh) == s.learner.labels_.tolist()


def test_undo_goes_back_to_the_first_question_and_forgets_what_was_said(tmp_path):
    s, o = new(tmp_path), NoisyOracle(y, 0.1, random_state=0)
    first, seen = s.turn.query, []
    for _ in range(15):
        seen.append(s.turn.query)
        s.answer(s.turn.id, o(s.turn.query))
    for q in reversed(seen):
        assert s.undo() and s.turn.query == q
    assert not s.undo() and s.turn.query == first and not s.said
    assert state(new(tmp_path)) == state(s)


def test_a_stale_undo_is_not_taken(tmp_path):
    s = new(tmp_path)
    for _ in range(3):
        s.answer(s.turn.id, "same")
    old = s.turn.id
    assert s.undo(old) and not s.undo(old) and len(s.said) == 2


@pytest.mark.parametrize("lies", [(0, 15), (3, 4), (12, 29), (28, 29)])
def test_thirty_answers_and_two_lies_corrected_stay_thirty(tmp_path, lies):
    "Whatever is corrected, at any position and in any order, all 30 answers remain."
    s, o = new(tmp_path), NoisyOracle(y)
    for k in range(30):
        q = s.turn.query
        s.answer(s.turn.id, -o(q) if k in lies else o(q))
    asked = [x.query for x in s.said]
    for k in reversed(lies):
        s.change(k, o(asked[k]))
        assert [x.query for x in s.said] == asked
        everywhere(s, tmp_path / "a.jsonl")
    assert all(x.answer == o(x.query) for x in s.said) and not s.conflicts()
    assert s.constraints.weight.sum() == 30 and not s._support(s.labels)[1].any()
    told = {tuple(sorted(q.items)) for q in asked}
    for _ in range(10):  # nothing that was said is asked again
        assert tuple(sorted(s.turn.query.items)) not in told
        s.answer(s.turn.id, o(s.turn.query))
    s.close()
    again = new(tmp_path)
    assert state(again) == state(s) and simulated(again) == s.learner.labels_.tolist()


def test_the_case_of_the_issue(tmp_path):
    """45 rows in three groups, 30 answers, two of them lies, the first corrected: 5
    were left."""
    X, y = make_blobs(45, centers=3, cluster_std=1.0, random_state=0)
    s = AskPairs({"u": X[:, 0], "v": X[:, 1]}, log=tmp_path / "b.jsonl")
    o, k = NoisyOracle(y), 0
    while s.turn and k < 30:
        q = s.turn.query
        s.answer(s.turn.id, -o(q) if k in (2, 11) else o(q))
        k += 1
    s.change(2, o(s.said[2].query))
    assert k == 30 and s.constraints.weight.sum() == 30
    everywhere(s, tmp_path / "b.jsonl")


@pytest.mark.parametrize("K", [2, 3, 5])
def test_a_known_number_of_groups_is_kept(K):
    "Also when the answers so far join everything that they name."
    s = AskPairs(DF, id="id", n_clusters=K, log=None)
    assert len(np.unique(s.labels)) == K
    for _ in range(6):
        s.answer(s.turn.id, "same")
        assert len(np.unique(s.labels)) == K
    with pytest.raises(ValueError, match="between 1 and 80"):
        AskPairs(DF, id="id", n_clusters=81, log=None)


def test_settling_outvotes_a_lie_and_keeps_what_is_right():
    "One lie among many right answers is broken; without geometry's word all would be kept."
    X, y = make_blobs(60, centers=3, cluster_std=0.6, random_state=1)
    said = [(Pair(i, j), 1 if y[i] == y[j] else -1) for i, j in random_questions(60, 80)]
    lie = next(k for k, (q, a) in enumerate(said) if a < 0)
    said[lie] = (said[lie][0], 1)
    z = settle(X, said, np.zeros(60, int), 3)
    assert adjusted_rand_score(y, z) == 1
    must, cannot = links_of(said)
    assert fewest_groups(60, must, cannot) <= 3


def test_of_several_stories_the_central_one_is_kept_and_of_equals_the_obedient_one():
    z = np.repeat([0, 1, 2], 10)
    near, far = z.copy(), np.arange(30) % 3
    near[:2] = 1
    facts = np.array([[0, 1, 1], [0, 25, -1], [0, 10, -1]])
    for stories in ([far, near, z], [near, far, z], [z, near, far]):
        assert most_agreeing(stories, facts) is not far  # the others agree
    assert most_agreeing([near, z], facts) is z and most_agreeing([far], facts) is far
    other = 2 - z  # the same groups by other names are the same story
    assert any(most_agreeing([far, 2 - far, z, other, z], facts) is s for s in (other, z))


def test_clusters_that_answers_do_not_prefer_to_k_means_give_way_to_it():
    "One answer of a hundred rows is no evidence for a story of its own; twenty are."
    X, y = make_blobs(100, centers=2, cluster_std=1.0, random_state=3)
    other = np.arange(100) % 2
    few = [(Pair(0, 2), 1), (Pair(1, 3), 1)]  # kept by both
    assert adjusted_rand_score(y, settle(X, few, other, 2)) > 0.9
    kept = np.array([[0, 2, 1], [1, 3, 1], [0, 1, -1], [2, 3, -1], [0, 3, -1]])
    z, worse = np.array([0, 1, 0, 1]), np.zeros(4, int)
    assert not is_better(z, z, kept) and not is_better(z, worse, kept)  # 3 of 3: .125
    more = np.r_[kept, [[1, 2, -1]]]  # four of four: .0625
    assert is_better(z, worse, more) and not is_better(worse, z, more)
    moons, kind = make_moons(100, noise=0.03, random_state=0)
    rows = random_questions(100, 40, random_state=1)
    many = [(Pair(i, j), 1 if kind[i] == kind[j] else -1) for i, j in rows]
    z = settle(moons, many, kind, 2)  # a learner that k-means cannot follow is kept
    assert adjusted_rand_score(kind, z) > 0.9


def test_answers_nobody_asked_for_are_ordinary_answers(tmp_path):
    s, o = new(tmp_path), NoisyOracle(y)
    for _ in range(5):
        s.answer(s.turn.id, o(s.turn.query))
    s.hear("P00", "P01", "same" if y[0] == y[1] else "different", seconds=1.0)
    assert len(s.said) == 6 and s.said[-1].query == Pair(0, 1)
    everywhere(s, tmp_path / "a.jsonl")
    s.close()
    assert state(new(tmp_path)) == state(s)
    s = new(tmp_path)
    assert s.undo() and len(s.said) == 5
    with pytest.raises(ValueError, match="'nobody', which is not an id"):
        s.hear("P00", "nobody", "same")


def test_logs_of_the_first_version_are_read_and_nothing_in_them_is_lost(tmp_path):
    "Version 0.1 wrote change, undo, what was asked again, changed; the rest fell out."
    s, o = new(tmp_path), NoisyOracle(y)
    for _ in range(8):
        s.answer(s.turn.id, o(s.turn.query))
    s.close()
    path = tmp_path / "a.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    answers = [e for e in lines if e["event"] == "answer"]
    note = dict(event="note", annotator="A", version="0.1.0")
    flipped = {"same": "different", "different": "same"}
    new_answer = flipped[answers[3]["answer"]]
    old = [
        *lines,
        {**note, "kind": "change", "n": 3, "items": answers[3]["items"]}
        | {"question": "pair", "answer": new_answer},
        dict(event="undo", n=5, annotator="A"),
        {**answers[3], "answer": new_answer},
        {**answers[5], "n": 4, "how": "kept"},
        dict(event="answer", n=5, kind="pair", items=["P00", "P01"])
        | {"answer": "same", "how": "implied", "annotator": "A"},
        {**note, "kind": "changed"},
    ]
    want = Counter((*sorted(e["items"]), e["answer"]) for e in answers)
    want[*sorted(answers[3]["items"]), answers[3]["answer"]] -= 1
    want[*sorted(answers[3]["items"]), new_answer] += 1
    for end in range(len(lines) + 1, len(old) + 1):  # also cut off anywhere
        path.write_text("".join(json.dumps(e) + "\n" for e in old[:end]))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the learner goes another way now
            s = new(tmp_path)
        word = {1: "same", -1: "different"}
        names = s.items.ids
        got = Counter(
            (*sorted(names[i] for i in x.query.items), word[x.answer]) for x in s.said
        )
        assert got == +want, end
        s.close()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            again = new(tmp_path)
        assert state(again) == state(s)
        again.close()


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
    assert s.turn is None
    assert [(x.answer, x.how) for x in s.said] == [(1, ""), (1, ""), (-1, "")]
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
    assert s.turn.query.items == (3, 4)
    assert [x.query.items for x in s.said] == [(0, 1), (1, 2), (2, 3)]
    # 0 – 2 and 0 – 3 were not asked, 1 – 3 is not in the list: three pairs follow
    assert s.constraints.n_constraints == 3 and s.status().implied == 3
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


def test_nothing_follows_from_answers_that_contradict_each_other():
    "0 = 1 = 2 says that 0 and 2 are one; a later 0 ≠ 2 takes that back, and all the rest."
    asked = [(0, 1), (1, 2), (3, 4), (0, 2), (5, 6)]
    s = AskPairs({"x": np.arange(8.0)}, learner=asked, log=None, check_implied=True)
    for a in ("same", "same", "same"):
        s.answer(s.turn.id, a)
    assert s.follows(Pair(0, 2)) == 1 and s.follows(Pair(0, 3)) is None
    s.answer(s.turn.id, "different")
    assert s.follows(Pair(0, 2)) is None and s.follows(Pair(3, 4)) is None


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
            2, questions="triplets", form=BayesForm(n_particles=50), random_state=0
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
        == "\ufeffname,cluster,probability,answers,broken,supported,x"
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
from hypothesis import HealthCheck, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score
from csc_nb.labelling import AskPairs
from csc_nb.ncobras import NCOBRAS
X, y = make_moons(80, noise=.07, random_state=0)
DF = pd.DataFrame({"id": [f"P{i:02}" for i in range(80)], "u": X[:, 0].round(3)})
DF["v"] = X[:, 1].round(3)
s = AskPairs(DF, id="id", learner=NCOBRAS(random_state=0), log=sys.argv[1], annotator="A")
print("ready", len(s.said), flush=True)
k = 0
while True:
    s.answer(s.turn.id, 1 if y[s.turn.query.a] == y[s.turn.query.b] else -1); k += 1
    print("ok", len(s.said), flush=True)
    if k % 5 == 0:
        s.change(len(s.said)//2, -(s.said[len(s.said)//2].answer or 1))
        print("ok", len(s.said), flush=True)
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
            )  # everything acknowledged before the kill is there
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
    assert len(s.said) >= last and simulated(s) == s.learner.labels_.tolist()
    everywhere(s, log)


def test_a_change_cut_off_after_any_line_loses_nothing(tmp_path):
    "A correction is one batch: cut anywhere, the log is as before it; whole, as after it."
    s, o = new(tmp_path), NoisyOracle(y, 0.1, random_state=0)
    for _ in range(12):
        s.answer(s.turn.id, o(s.turn.query))
    path = tmp_path / "a.jsonl"
    before, whole = state(s), path.read_bytes()
    s.change(4, -s.said[4].answer)
    s.close()
    after, raw = state(s), path.read_bytes()
    ends = [k + 1 for k in range(len(whole), len(raw)) if raw[k : k + 1] == b"\n"]
    for end in [*ends, *(e + 20 for e in ends[:-1])]:  # also in the middle of a line
        (tmp_path / "cut.jsonl").write_bytes(raw[:end])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            t = new(tmp_path, "cut.jsonl")
        assert state(t) == (after if end == len(raw) else before)
        assert len(t.said) == 12
        t.close()


# ---------------------------------------------------------------- any sequence of moves
SMALL = pd.DataFrame({"id": [f"r{i}" for i in range(14)], "u": X[:14, 0], "v": X[:14, 1]})


WHO = st.sampled_from(["Ann", "Ben"])


def dies(session):
    "What SIGKILL leaves: the lock is gone, the note of a dead process stays, half a line."
    journal = session.journal
    journal._close.detach()
    os.close(journal._fd)
    del _OPEN[os.path.realpath(journal.path)]
    note = journal._claim.path
    note.write_text(json.dumps({**json.loads(note.read_text()), "pid": 2**22 + 7}))
    with open(journal.path, "ab") as f:
        f.write(b'{"event": "answer", "n": 3, "ite')


ROOM = "/dev/shm" if os.path.isdir("/dev/shm") else None  # syncing there costs nothing


def any_clusters(X, must, cannot, K):
    "Quick and wrong: what is kept must not depend on how good the clusters are."
    return np.arange(len(X)) % K


class SessionMachine(RuleBasedStateMachine):
    """Two people, a log each; answer, skip, hear, undo, correct, keep, close, kill.

    Beside each session runs a model of it, a list that only Python's lists touch.
    """

    learners = {
        "random": lambda: RandomPairLearner(2, random_state=0),
        "cobras": lambda: COBRAS(random_state=0),
        "list": lambda: [(f"r{i}", f"r{j}") for i, j in random_questions(14, 20)],
        "shared": lambda: RandomPairLearner(3, random_state=1),
    }

    @initialize(name=st.sampled_from(sorted(learners)), real=st.integers(0, 24))
    def begin(self, name, real):
        self.folder, self.name = tempfile.TemporaryDirectory(dir=ROOM), name
        self.fits = labelling.round_groups, labelling.plain_groups
        if real:  # one walk in 25 fits the real clusters
            labelling.round_groups = any_clusters
            labelling.plain_groups = lambda X, K: any_clusters(X, (), (), K)
        self.people, self.models = {}, {}  # who → session, who → [rows, answer, how]
        for who in ("Ann", "Ben"):
            self.models[who] = []
            self.open(who)

    def path(self, who):
        return Path(self.folder.name) / f"{who}.jsonl"

    def open(self, who, **kw):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a line that was cut off
            self.people[who] = AskPairs(
                SMALL,
                id="id",
                learner=self.learners[self.name](),
                log=self.path(who),
                annotator=who,
                shared=4 if self.name == "shared" else 0,
                **kw,
            )

    @rule(who=WHO, value=st.sampled_from([1, 1, -1, 0]))
    def answer(self, who, value):
        session, model = self.people[who], self.models[who]
        turn = session.turn
        if turn is None:
            return
        assert session.answer(turn.id, value)
        assert not session.answer(turn.id, value)
        if turn.back_to is None:
            model.append([turn.query.key, value, ""])
        else:
            model[turn.back_to] = [turn.query.key, value, ""]

    @rule(who=WHO)
    def skip(self, who):
        session = self.people[who]
        turn = session.turn
        if turn is not None and session.skip(turn.id) and turn.back_to is None:
            self.models[who].append([turn.query.key, 0, "skip"])

    @rule(who=WHO)
    def ask_skipped(self, who):
        self.people[who].ask_skipped()

    @rule(
        who=WHO,
        pair=st.lists(st.integers(0, 13), min_size=2, max_size=2, unique=True),
        value=st.sampled_from([1, -1, 0]),
    )
    def hear(self, who, pair, value):
        a, b = pair
        self.people[who].hear(f"r{a}", f"r{b}", value)
        self.models[who].append([tuple(sorted(pair)), value, ""])

    @rule(who=WHO)
    def undo(self, who):
        assert self.people[who].undo() == bool(self.models[who])
        del self.models[who][-1:]

    @rule(who=WHO, data=st.data(), value=st.sampled_from([1, -1, 0]))
    def correct(self, who, data, value):
        model = self.models[who]
        if model:
            k = data.draw(st.integers(0, len(model) - 1))
            self.people[who].change(k, value)
            model[k][1:] = [value, ""]

    @rule(who=WHO)
    def keep(self, who):
        session = self.people[who]
        found = [c for c in session.conflicts() if not c.kept]
        if found:
            session.keep(found[0])
            assert any(c.kept for c in session.conflicts())

    @rule(who=WHO, data=st.data())
    def correct_clusters(self, who, data):
        "What is done on the results page touches no answer."
        session = self.people[who]
        row = data.draw(st.integers(0, 13))
        into = data.draw(st.sampled_from([None, *range(14)]))
        session.regroup([row], None if into == row else into)
        session.name_cluster(int(session.labels[row]), "group")
        if data.draw(st.booleans()):
            session.undo_regroup()

    @rule(who=WHO, how=st.sampled_from(["close", "kill", "take over"]))
    def reopen(self, who, how):
        old = self.people[who]
        before, revisit = state(old), old._revisit
        if how == "kill":
            dies(old)
        elif how == "close":
            old.close()
        self.open(who, take_over=how == "take over")
        new = self.people[who]
        new._revisit = revisit  # where the eye was is not in the log
        assert state(new) == before
        if how == "take over" and old.turn is not None:  # the old tab writes no more
            with pytest.raises((ValueError, RuntimeError)):
                old.answer(old.turn.id, 1)

    def teardown(self):
        if not getattr(self, "people", None):
            return
        try:
            for who, session in self.people.items():
                said = [[x.query.key, x.answer, x.how] for x in session.said]
                assert said == self.models[who]
                everywhere(session, self.path(who))
            self.check_team()
        finally:
            labelling.round_groups, labelling.plain_groups = self.fits
            for session in self.people.values():
                session.close()
            self.folder.cleanup()

    def check_team(self):
        "Merged by annotator: the newest answer of each to each question, once."
        logs = {who: self.path(who) for who in self.people}
        team = Team(self.people["Ann"].items, logs)
        want = {
            (who, *key[-2:]): value
            for who, model in self.models.items()
            for key, value, how in model
            if how != "skip"
        }
        got = {(w, *k[-2:]): a for w in logs for k, (a, _) in team.said(w).items()}
        assert got == want


SessionMachine.TestCase.settings = settings(
    max_examples=int(os.environ.get("CSC_NB_WALKS", 100)),
    stateful_step_count=20,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
TestAnySequence = SessionMachine.TestCase


@pytest.mark.slow
class TestThousandsOfSequences(SessionMachine.TestCase):
    settings = settings(SessionMachine.TestCase.settings, max_examples=3000)


def clinic(folder, n=30):
    "A table as a German spreadsheet saves it, with columns that say nothing."
    rows = [f"F-{100 + k};{k};;ja;{k % 3},5;{'Öst' if k % 2 else 'Süd'}" for k in range(n)]
    head = "Fall-Nr.;Nr;leer;Einwilligung;CRP mg/l;Station"
    path = folder / "klinik.csv"
    path.write_text("\n".join([head, *rows]) + "\n", encoding="cp1252")
    return path


def test_a_table_with_semicolons_and_decimal_commas_comes_back_as_such(tmp_path):
    "Else a German spreadsheet puts a whole row into one cell, and reads .833 as 833."
    s = AskPairs(table_of(clinic(tmp_path)), log=tmp_path / "k.jsonl")
    s.answer(s.turn.id, "same")
    raw = s.to_csv().read_bytes()
    assert raw.startswith(b"\xef\xbb\xbfFall-Nr.;cluster;probability")
    found = list(csv.DictReader(raw.decode("utf-8-sig").splitlines(), delimiter=";"))
    sure = [float(r["probability"].replace(",", ".")) for r in found]
    assert len(found) == 30 and not any("." in r["probability"] for r in found)
    assert all(0 < p <= 1 for p in sure) and {r["Station"] for r in found} == {"Öst", "Süd"}
    again = pd.read_csv(s.out or s.log.with_suffix(".clusters.csv"), sep=";", decimal=",")
    assert again.cluster.tolist() == (s.labels + 1).tolist()
    assert np.allclose(again["CRP mg/l"], [k % 3 + 0.5 for k in range(30)])
    s.close()


def test_columns_that_say_nothing_are_left_out_until_somebody_wants_them(tmp_path):
    items = Items(table_of(clinic(tmp_path)))
    ignored = {c for c, role in items.roles().items() if role == "ignored"}
    assert ignored == {"Nr", "leer", "Einwilligung"}
    assert items.show == ["CRP mg/l", "Station"] and items.id_name == "Fall-Nr."
    wanted = Items(table_of(clinic(tmp_path)), show=["Einwilligung", "CRP mg/l"])
    assert wanted.roles()["Einwilligung"] == "used" or "Einwilligung" in wanted.show


def test_a_table_of_names_only_can_be_left_as_it_is(tmp_path):
    "The first screen promises it; before, Begin answered that no column was left."
    (tmp_path / "n.csv").write_text("name\n" + "\n".join("Ann Bob Cid Dee Eve".split()))
    begun = []
    begin = lambda chosen, take_over: (
        begun.append(chosen)
        or AskPairs(
            table_of(tmp_path / "n.csv", id=False),
            **{k: v for k, v in chosen.items() if k != "id"},
            log=None,
        )
    )
    v = StartView(table_of(tmp_path / "n.csv"), begin)
    form = v.widget.screen["form"]["columns"]["rows"]
    v.do(dict(action="begin", form={f"role:{r['name']}": r["role"] for r in form}))
    assert not v.widget.message and begun[0]["features"] == ["name"]
    assert v.session.turn is not None and "Ann" in str(v.session.items.columns["name"])


def test_examples_are_short_and_end_at_a_word():
    assert example_text(144.0) == "144" and example_text("Süd") == "Süd"
    long = "Patient klagt seit drei Tagen über trockenen Husten"
    assert example_text(long) == "Patient klagt seit drei Tagen über…"
    assert example_text("x" * 99) == "x" * 40 + "…" and example_text("a\n b") == "a b"


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
            "note": pd.Series(EVIL, dtype=object),
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
    v.do("results", v.shown_id)
    shown = [v.screen["note"], v.screen["cards"], v.panel.get("groups", "")]
    shown += [c["typical"] + c["doubtful"] for c in v.screen["results"]["clusters"]]
    for part in (*shown, v.message):
        assert "<script" not in part and "onerror=alert(1)>" not in part
        assert "<b>0</b>&quot;" not in part and '<b>0</b>"' not in part
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
        (["0 1 20", "100 0 5"], "series"),
        ([f"061 555 01 {k:02}" for k in range(30)], "text"),
        ([f"4000 1234 5678 {1000 + k}" for k in range(30)], "text"),
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
    names = Items(
        {"n": ["acme lamp", "acme lamp 2", "bolt", "bolt m4", "chair", "red chair"]}
    )
    far = ((names.X[:, None] - names.X) ** 2).sum(2)
    assert far[0, 1] < far[0, 2] and far[4, 5] < far[4, 2]  # people compare names, too
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


def press(v, action, turn=None, **more):
    "What the component sends."
    turn = v.shown_id if turn is None else turn
    v.widget._handle_custom_msg(dict(action=action, turn=turn, **more), [])


def test_view_shows_keys_on_buttons_and_ignores_stale_messages(tmp_path):
    s = new(tmp_path)
    v = AskView(s)
    screen = v.screen
    assert [(b["label"], b["key"]) for b in screen["answers"]] == [
        ("Same", "s"),
        ("Different", "d"),
        ("Don’t know", "u"),
    ]
    assert [(b["label"], b["key"]) for b in screen["more"][:2]] == [
        ("Ask later", "k"),
        ("Undo", "z"),
    ]
    assert screen["keys"] == {
        "s": "same",
        "d": "different",
        "u": "unsure",
        "k": "skip",
        "z": "undo",
    }
    t = screen["turn"]
    press(v, "same", t, seconds=1.25)
    press(v, "same", t)
    press(v, "format disk")
    press(v, None, "")
    v.widget._handle_custom_msg("nonsense", [])
    assert len(s.said) == 1 and s.said[0].seconds == 1.25 and v.screen["turn"] != t
    assert v.ignored == 2
    press(v, "stop")
    assert v.screen["turn"] == "stopped" and not v.screen["answers"]
    press(v, "same")
    press(v, "resume")
    press(v, "different")
    press(v, "save")
    press(v, "unsure")
    assert [x.answer for x in s.said] == [1, -1, 0]
    assert (tmp_path / "a.clusters.csv").read_bytes().startswith(b"\xef\xbb\xbfid,cluster")
    press(v, "undo")
    assert len(s.said) == 2 and v.message == "Taken back."


def test_view_shows_a_contradiction_row_by_row_and_the_likeliest_mistake_first(tmp_path):
    s = AskPairs(
        {"x": [0.0, 0.1, 9.5, 0.2, 9.0, 9.1]},
        learner=[(0, 1), (1, 2), (0, 2)],
        log=tmp_path / "c.jsonl",
        check_implied=True,
    )
    v = AskView(s)
    for a in ("same", "same", "different"):
        v.do(a, v.shown_id)
    found = v.panel["conflict"]
    assert found["title"].startswith("Contradictions: 1")
    assert [x["k"] for x in found["suspects"]] == [1, 2, 0]  # 0.1 and 9.5 are far apart
    assert found["suspects"][0]["fix"] == "It should be “different”"
    assert found["suspects"][0]["cards"].count("csc-card") == 3  # the box and two cards
    press(v, "change", k=1, value=-1)
    assert v.panel["conflict"] is None and [x.answer for x in s.said] == [1, -1, -1]
    assert v.message == "Answer 2 is now “different”. All other answers stay."
    v.change(1, "same")
    press(v, "keep")
    assert v.panel["conflict"] is None and s.conflicts()[0].kept
    (old,) = [a for a in v.panel["old"] if a["k"] == 0]
    unsure = next(o["value"] for o in old["options"] if o["label"] == "don’t know")
    press(v, "change", k=0, value=unsure)
    assert s.said[0].answer == 0


def test_a_question_of_the_table_puts_its_words_on_the_buttons(tmp_path):
    from csc_nb.labelling_view import answer_buttons, suggested_questions, topic_of

    for words in WORDS.values():
        for asked in suggested_questions(words):
            topic = topic_of(f"  {asked.upper()} ")
            same, different, unsure = answer_buttons("pair", words, asked)
            assert same["label"] == words[f"same {topic}"] != words["same"]
            assert different["label"] == words[f"different {topic}"] != same["label"]
            assert unsure["label"] == words["unsure"] and same["action"] == "same"
    plain = [b["label"] for b in answer_buttons("pair", WORDS["en"], "Treat them alike?")]
    assert plain == ["Same", "Different", "Don’t know"]
    assert len(answer_buttons("triple", WORDS["de"], "Derselbe Patient?")) == 5
    s = AskPairs(SMALL, id="id", log=None, learner=COBRAS(random_state=0), language="de")
    s.question = "Same style?"  # asked in English, answered in German
    view = AskView(s)
    assert view.screen["answers"][0]["label"] == "Gleicher Stil"
    view.do("same", view.shown_id, 1.0)
    assert [x.answer for x in s.said] == [1]


def test_advice_follows_a_correction_also_where_fits_are_slow(tmp_path):
    s = AskPairs(SMALL, id="id", log=None, learner=COBRAS(random_state=0))
    for a, b, v in (("r0", "r1", 1), ("r1", "r2", 1), ("r0", "r2", -1)):
        s.hear(a, b, v)
    view = AskView(s, pause=0.0)
    assert "settle first" in view.panel["advice"]["text"]
    view._cost = 9.0  # a slow fit: clusters and advice are not made anew each time
    view.change(2, 1)
    assert view.panel["conflict"] is None and s.advice().code == "go on early"
    assert view.panel["advice"]["text"] == s.advice().text


@pytest.mark.parametrize("language", sorted(WORDS))
def test_every_screen_in_every_language(tmp_path, language):
    s = new(tmp_path, language=language, question="Même <patient> ?")
    v = AskView(s)
    assert v.screen["title"] == "Même <patient> ?"
    for word in ("same", "different", "skip", "later", "skip", "stop", "results", "back"):
        press(v, word)
    labels = [b["label"] for b in (*v.screen["answers"], *v.screen["more"])]
    assert len(labels) == len(set(labels)) >= 7 and v.panel["advice"]["text"]
    assert v.screen["lang"] == language and len(s.said) == 3
    with pytest.raises(ValueError, match="language='xx' is not known"):
        AskView(new(tmp_path, "b.jsonl", language="xx"))


def test_clusters_are_opened_named_merged_and_split(tmp_path):
    s = AskPairs(
        {"n": list("abcdef"), "x": [0.0, 0.1, 0.2, 9.0, 9.1, 9.2]},
        id="n",
        learner=[("a", "b"), ("d", "e"), ("a", "d")],
        log=tmp_path / "r.jsonl",
    )
    v = AskView(s)
    for word in ("same", "same", "different"):
        press(v, word)
    press(v, "results")
    shown = v.screen["results"]["clusters"]
    assert [c["size"] for c in shown] == ["(3)", "(3)"]
    assert [r["id"] for r in shown[0]["rows"]] == ["a", "b", "c"]
    press(v, "name", cluster=1, name="<b>late</b>")
    press(v, "split", rows=[0])
    assert s.labels.tolist() == [2, 1, 1, 0, 0, 0] and s.cluster_names == {0: "<b>late</b>"}
    press(v, "merge", clusters=[1, 2])
    assert s.labels.tolist() == [0, 0, 0, 1, 1, 1]
    press(v, "merge", clusters=[1])
    assert "two clusters" in v.message
    table = s.table()
    assert table["name"] if "name" in table else table["name_found"]
    before = s.labels.tolist(), s.cluster_names
    s.close()
    again = AskPairs(
        {"n": list("abcdef"), "x": [0.0, 0.1, 0.2, 9.0, 9.1, 9.2]},
        id="n",
        learner=[("a", "b"), ("d", "e"), ("a", "d")],
        log=tmp_path / "r.jsonl",
    )
    assert (again.labels.tolist(), again.cluster_names) == before
    assert again.undo_regroup() and again.undo_regroup() and not again.undo_regroup()
    assert again.labels.tolist() == [0, 0, 0, 1, 1, 1] and len(again.said) == 3


def test_the_first_screen_says_what_is_used_and_asks_for_question_and_number(tmp_path):
    DF.assign(note=[f"n {i}" for i in range(80)]).to_csv(tmp_path / "t.csv", index=False)
    log = str(tmp_path / "t.jsonl")
    plain = dict(table=str(tmp_path / "t.csv"), id="id", log=log, annotator="A")
    v = first_screen(plain)
    columns = v.widget.screen["form"]["columns"]["rows"]
    roles = {c["name"]: c["role"] for c in columns}
    assert roles == {"id": "id", "u": "used", "v": "used", "note": "shown"}
    form = {f"role:{c}": r for c, r in roles.items()}
    v.do(dict(action="begin", form={**form, "role:u": "id"}))
    assert "Two columns name the rows" in v.widget.message and not Path(log).exists()
    v.do(dict(action="begin", form=dict.fromkeys(form, "shown")))
    assert "No column is left to compare by" in v.widget.message
    chosen = {**form, "role:note": "ignored", "question": "Same moon?", "n_clusters": "2"}
    v.do(dict(action="begin", form=chosen))
    s = v.session
    assert (s.question, s.n_clusters, s.items.show) == ("Same moon?", 2, ["u", "v"])
    assert v.box.children == (v.view.widget,) and v.view.screen["title"] == "Same moon?"
    s.answer(s.turn.id, "same")
    s.close()
    again = make_session(**{**plain, **settings_in(log)})
    assert (again.question, again.n_clusters, len(again.said)) == ("Same moon?", 2, 1)


def test_a_log_that_is_open_elsewhere_is_taken_over_on_demand(tmp_path):
    log = tmp_path / "held.jsonl"
    code = (
        "import sys, time\nfrom csc_nb.oracles import *\n"
        "j = Journal(sys.argv[1], 'A'); print('x', flush=True); sys.stdin.readline()\n"
        "try: j.append('note', kind='late')\nexcept RuntimeError as e: print(e, flush=True)"
    )
    p = subprocess.Popen(
        [sys.executable, "-c", code, str(log)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        p.stdout.readline()
        v = OpenView(lambda take_over: new(tmp_path, "held.jsonl", take_over=take_over))
        assert v.session is None and v.widget.screen["turn"] == "in use"
        assert re.match(
            r"A has it open since (\d{4}-\d\d-\d\d )?\d\d:\d\d\.", v.widget.screen["note"]
        )
        v.widget._handle_custom_msg(dict(action="take-over"), [])
        s = v.session
        s.answer(s.turn.id, "same")
        p.stdin.write("go on\n")
        p.stdin.flush()
        assert "in use by another process" in p.stdout.readline()
        s.answer(s.turn.id, "same")
        assert len(s.said) == 2 and b"late" not in log.read_bytes()
    finally:
        p.kill()
        p.wait()
        p.stdout.close()
        p.stdin.close()


def test_an_error_in_a_learner_is_shown_and_nothing_is_lost(tmp_path):
    class Broken(RandomPairLearner):
        def _queries(self, X, state):
            yield Pair(0, 1)
            yield Pair(0, 2)
            raise RuntimeError("out of <b>luck</b>")

    s = new(tmp_path, learner=Broken(2, random_state=0))
    v = AskView(s, pause=0.0)
    v.do("different", v.shown_id)
    v.do("different", v.shown_id)
    assert (
        "out of &lt;b&gt;luck" in v.message
        and len(standing_answers(read_journal(tmp_path / "a.jsonl")[0])) == 2
    )


def test_colours_stay_with_their_clusters():
    before = np.array([0, 0, 1, 1, 2, 2])
    assert steady(np.array([5, 5, 3, 3, 9, 9]), before).tolist() == before.tolist()
    assert steady(np.array([0, 0, 0, 0, 1, 2]), before).tolist()[:5] == [0, 0, 0, 0, 2]
    assert steady(np.array([1, 0, 0, 0]), None).tolist() == [1, 0, 0, 0]


def test_csc_nb_ask_reports_mistakes_before_a_page_opens(tmp_path, monkeypatch, capsys):
    import csc_nb.labelling_view as view
    import csc_nb.page
    from csc_nb.cli import ask_settings, main, parser

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(csc_nb.page, "Site", lambda *a: pytest.fail("a page opened"))
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
    code = (
        "from csc_nb.oracles import Journal; j = "
        f"Journal({str(tmp_path / 'held.jsonl')!r})\n"
        "import time; print('x', flush=True); time.sleep(60)"
    )
    p = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    p.stdout.readline()
    for args, say in (
        (["--id", "zz"], "No column 'zz' in t.csv"),
        (["--id", "id", "--show", "w"], "No column 'w' for show"),
        (["--learner", "magic"], "No learner 'magic'"),
        (["--annotator", "../x"], "without slashes"),
        (["--id", "id", "--log", "held.jsonl"], "in use by another process"),
    ):
        assert main(["ask", "t.csv", *args]) == 2 and say in capsys.readouterr().err
    p.kill()
    p.wait()
    p.stdout.close()
    held.close()


def test_tables_of_many_makes(tmp_path):
    from csc_nb.labelling import Items
    from csc_nb.labelling_view import table_of

    f = tmp_path / "t.csv"
    for text in (
        "a,b\n1,x\n2,y\n3,x\n",
        "a;b\n1;x\n2;y\n3;x\n",
        "a\tb\n1\tx\n2\ty\n3\tx\n",
        "\ufeffa,b\r\n1,x\r\n\r\n2,y\r\n3,x\r\n",
    ):
        f.write_bytes(text.encode())
        items = Items(table_of(f))
        assert items.columns == {"a": ["1", "2", "3"], "b": ["x", "y", "x"]}
        assert items.ids == [0, 1, 2] and items.X.shape == (3, 3)
    f.write_text("a,b\n1,x\n2\n3,x\n")
    pytest.raises(ValueError, table_of, f).match("line 3 with 1")
    f.write_text("a,b\n")
    pytest.raises(ValueError, table_of, f).match("two are needed")
    f.write_text("a,a\n1,2\n3,4\n")
    assert list(Items(table_of(f)).columns) == ["a", "a (2)"]
    f.write_text("a,b\n1," + "x" * 10_000_000 + "\n2,y\n")
    assert len(Items(table_of(f)).columns["b"][0]) == 10_000_000


def test_numbers_are_shown_as_they_came_and_used_as_numbers(tmp_path):
    "Decimal commas, n/a, <5 and percent signs: the learner sees numbers, people the cells."
    from csc_nb.labelling_view import make_session

    lines = [f"p{i};{i % 2 * 9 + i / 50:.2f};{i} %;{'n/a' if i == 3 else '<5'}"
        .replace(".", ",")
             for i in range(12)]  # fmt: skip
    f = tmp_path / "t.csv"
    f.write_bytes("\n".join(["Prüfling;Größe;Anteil;CRP", *lines]).encode("cp1252"))
    s = make_session(f, log=tmp_path / "log.jsonl")
    assert s.items.ids[:2] == ["p0", "p1"] and s.items.id_name == "Prüfling"
    assert s.items.columns["Größe"][1] == "9,02" and s.items.values("Größe")[1] == 9.02
    assert s.items.roles() == {
        "Prüfling": "id",
        "Größe": "used",
        "Anteil": "used",
        "CRP": "shown",
    }
    assert s.items.X.shape == (12, 2) and s.items.differing([0, 1]) == ["Größe"]
    s.close()
    other = make_session(f, log=None, id=False, features=["Prüfling"], show=["Prüfling"])
    assert other.items.ids == list(range(12)) and other.items.X.shape[1] > 1
