"""Whom to ask, what, and when to stop: against enumeration, by limits, replays and undo."""

import json
import math
import pickle
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import combinations, product
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs

from csc_nb.answer_model import AnswerClustering
from csc_nb.ask_well import (
    Annotator,
    AskWell,
    PairFor,
    PanelOracle,
    PanelRunner,
    Refit,
    TripleFor,
    Voice,
    WorldBelief,
    all_partitions,
    as_panel,
    ask_panel_session,
    control_interval,
    error_interval,
    information,
    joint_chances,
    misled_together,
    near_pairs,
    panel_report,
    price_of,
    run_ask,
    simple_voice,
    teaching_bits,
    truth_codes,
)
from csc_nb.cli import main
from csc_nb.cli import parser as cli_parser
from csc_nb.cobras import COBRAS
from csc_nb.oracles import NoisyOracle, Pair, Runner, Triple, read_journal, true_answer


def entropy(p):
    return -sum(x * math.log2(x) for x in p if x > 0)


def brute_information(worlds, prior, items, table):
    "H(partition) minus its mean after the answer, by listing partitions and responses."
    after = 0.0
    for r in range(len(table[0])):
        joint = []
        for z, w in zip(worlds, prior):
            z = [z[i] for i in items]
            if len(items) == 2:
                t = int(z[0] == z[1])
            else:
                pairs = [z[0] == z[1], z[0] == z[2], z[1] == z[2]]
                t = pairs.index(True) if sum(pairs) == 1 else 3
            joint.append(w * table[t][r])
        total = sum(joint)
        after += total * entropy([x / total for x in joint]) if total else 0.0
    return entropy(prior) - after


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("items", [(0, 1), (2, 3), (0, 1, 2), (1, 3, 4)])
def test_information_about_the_truth_is_information_about_the_partition(seed, items):
    rng = np.random.default_rng(seed)
    worlds = all_partitions(5)
    prior = rng.dirichlet(np.full(len(worlds), 0.5))
    kind, T = ("pair", 2) if len(items) == 2 else ("triple", 4)
    table = rng.dirichlet(np.ones(T + 1), size=T)
    codes = truth_codes(worlds, kind, np.array([items]))[:, 0]
    post = np.bincount(codes, prior, minlength=T)[None]
    joint = joint_chances(post, post, Voice(table, np.eye(T)))
    assert joint.sum() == pytest.approx(1)
    slow = brute_information(worlds.tolist(), prior.tolist(), items, table)
    assert information(joint)[0] == pytest.approx(slow, abs=1e-10)


def all_stories(sigma, table, opinion, eps, said):
    "Joint chance of truth and of two responses of one group, story by story."
    out = np.zeros((2, 3, 3))
    for truth, misled, seen, thought, r, s in product(
        (0, 1), (0, 1), (0, 1), (0, 1), range(3), range(3)
    ):
        w = sigma[truth] * (eps * sigma[seen] if misled else (1 - eps) * (seen == truth))
        out[truth, r, s] += (
            w * opinion[seen][thought] * table[thought][r] * table[thought][s]
        )
    return out


def test_a_second_opinion_of_the_same_group_by_all_stories():
    sigma, eps = np.array([0.7, 0.3]), 0.2
    table = np.array([[0.85, 0.1, 0.05], [0.2, 0.7, 0.1]])
    opinion = np.array([[0.95, 0.05], [0.15, 0.85]])
    every = all_stories(sigma, table, opinion, eps, None)
    first = 1  # the first member said "same"
    given = every[:, first] / every[:, first].sum()
    post = given.sum(1)[None]
    voice = Voice(table, opinion, eps)
    joint = joint_chances(post, sigma[None], voice, like=table[None, :, first])
    np.testing.assert_allclose(joint[0], given, atol=1e-12)


def test_limits_of_information():
    even = np.full((1, 2), 0.5)
    bits = lambda v: information(joint_chances(even, even, v))[0]
    assert bits(simple_voice(1.0)) == pytest.approx(1.0)
    assert bits(simple_voice(0.5)) == pytest.approx(0.0, abs=1e-12)
    assert bits(simple_voice(0.0)) == pytest.approx(1.0)  # a liar tells as much
    assert bits(simple_voice(0.9)) == pytest.approx(1 - entropy([0.9, 0.1]))
    assert bits(simple_voice(0.9, unsure=0.5)) == pytest.approx(bits(simple_voice(0.9)) / 2)
    fooled = misled_together(joint_chances(even, even, simple_voice(1.0)), even, 1.0)
    assert information(fooled)[0] == pytest.approx(0.0, abs=1e-12)
    shared = simple_voice(0.95, shared=0.3)
    once = information(joint_chances(even, even, shared))[0]
    assert once < bits(simple_voice(0.95))


def test_an_answer_teaches_its_givers_rate_as_far_as_the_truth_is_known():
    "Beside the information on a rate, summed over a fine grid of rates."
    grid = (np.arange(2000) + 0.5) / 2000
    for met in (20, 100, 400):
        prior = grid ** (0.8 * (met + 5) - 1) * (1 - grid) ** (0.2 * (met + 5) - 1)
        prior /= prior.sum()
        told = [prior * grid, prior * (1 - grid)]
        bits = entropy(prior.tolist())
        for joint in told:
            bits -= joint.sum() * entropy((joint / joint.sum()).tolist())
        sure = teaching_bits(np.array([[0.0, 1.0]]), np.array([7.0, met]))[0]
        assert sure == pytest.approx(bits, rel=0.05)
    even = teaching_bits(np.array([[0.5, 0.5]]), np.array([30.0, 30.0]))
    known = teaching_bits(np.eye(2), np.array([30.0, 3.0]))
    assert even < known[0] < known[1]  # the rare truth teaches more


def test_all_partitions_are_counted_by_bell():
    assert [len(all_partitions(n)) for n in range(8)] == [1, 1, 2, 5, 15, 52, 203, 877]
    z = all_partitions(5)
    assert len({tuple(r) for r in z.tolist()}) == 52


def toy(panel, **how):
    return AskWell(AnswerClustering(), panel, random_state=0, **how)


def brute_weights(told, voices, n):
    "Weights of all partitions after some answers, one factor after the other."
    worlds = all_partitions(n)
    w, looks = np.full(len(worlds), 1 / len(worlds)), {}
    for kind, items, who, said in told:
        truth = np.array([int(z[items[0]] == z[items[1]]) for z in worlds])
        if items not in looks:
            looks[items] = np.array([w[truth == 0].sum(), w[truth == 1].sum()])
        voice = voices[who, kind]
        seen = voice.opinion @ voice.report[:, said]
        factor = (1 - voice.eps) * seen + voice.eps * looks[items] @ seen
        w = w * factor[truth]
        w = w / w.sum()
    return w


def test_few_items_are_believed_exactly():
    panel = [Annotator("a", group="x"), Annotator("b", group="y", price=3)]
    learner = toy(panel).start(list("uvwxy"))
    for _ in range(8):
        q = learner.ask()
        learner.tell(q, "same" if sum(q.items) % 2 else "different")
    belief = learner.state_.belief
    w = brute_weights(learner.state_.told, belief.voices, 5)
    np.testing.assert_allclose(belief.w, w, atol=1e-9)


def test_answers_that_nobody_asked_for_count_at_once():
    panel = [Annotator("a", group="x"), Annotator("b", group="y", price=3)]
    learner = toy(panel).start(list("uvwxy"))
    before = learner.state_.belief.chances("pair", [[3, 4]])[0, 1]
    learner.hear(PairFor(3, 4, annotator="b", price=3.0), "same")
    assert learner.state_.belief.chances("pair", [[3, 4]])[0, 1] > before + 0.3
    assert learner.n_queries_ == 1 and learner.spent_ == 3.0
    pending = learner.ask()
    other = "b" if pending.annotator == "a" else "a"
    learner.hear(PairFor(*pending.items, annotator=other), "different")
    told = learner.state_.told[-1]  # not taken for the answer of the one who was asked
    assert panel[told[2]].name == other and told[1] == pending.items
    learner.undo(2)
    assert learner.spent_ == 0


def simulated(n=80, seed=0, K=3):
    X, y = make_blobs(n, 3, centers=K, cluster_std=2.5, random_state=seed)
    cheap = Annotator("model", NoisyOracle(y, 0.2, random_state=1, persistent=True))
    ann = Annotator("ann", NoisyOracle(y, 0.02, random_state=2), price=10, group="people")
    return X, y, [cheap, ann]


def test_ask_tell_undo_and_replay_give_the_same_questions():
    X, y, panel = simulated()
    one = AskWell(AnswerClustering(3), panel, budget=60, random_state=0).start(X)
    asked = []
    for _ in range(25):
        q = one.ask()
        assert one.ask() == q and q.annotator in ("model", "ann")
        asked.append(q)
        one.tell(q, one.ask_panel(q))
    one.undo(10)
    again = []
    for _ in range(10):
        q = one.ask()
        again.append(q)
        one.tell(q, one.ask_panel(q))
    assert again == asked[15:]
    with pytest.raises(ValueError, match="Stale"):
        one.tell(asked[0], "same")


def test_the_bill_is_paid_and_never_passed():
    X, y, panel = simulated()
    learner = AskWell(AnswerClustering(3), panel, budget=37.5, random_state=0).fit(X)
    table = learner.annotators_
    assert learner.spent_ <= 37.5 and table.cost.sum() == pytest.approx(learner.spent_)
    assert learner.why_stopped_ == "nothing is left to ask for this money"
    assert learner.ask() is None and len(learner.labels_) == len(X)
    assert learner.answer_table_.n_answers == learner.n_queries_ == table.n_answers.sum()


def test_nothing_is_worth_asking_and_goals_stop():
    X, y, panel = simulated()
    none = AskWell(AnswerClustering(3), panel, min_rate=1e6, random_state=0).start(X)
    assert none.ask() is None and none.why_stopped_ == "no question is worth its price"
    goal = AskWell(AnswerClustering(3), panel, goal=0.5, random_state=0).fit(X)
    assert goal.why_stopped_ == "the goal is reached" and goal.n_queries_ == 30
    said = goal.statement_
    assert said.low <= said.share <= said.high
    assert str(said).startswith("about ") and "30 answers" in str(said)


def test_a_log_says_who_and_how_much_and_resumes(tmp_path):
    X, y, panel = simulated()
    log = tmp_path / "log.jsonl"
    ids = [f"r{k}" for k in range(len(X))]
    make = lambda: AskWell(AnswerClustering(3), panel, random_state=0)
    with PanelRunner(make(), X, ids, journal=log) as run:
        run.run(run.learner.ask_panel, 14)
        told, pending = list(run.learner.state_.told), run.ask()
    events = [e for e in read_journal(log)[0] if e["event"] == "answer"]
    assert [e["annotator"] for e in events] == [panel[t[2]].name for t in told]
    assert [e["price"] for e in events] == [panel[t[2]].price for t in told]
    with PanelRunner(make(), X, ids, journal=log) as run:
        assert run.learner.state_.told == told and run.ask() == pending
        run.undo(3)
        assert run.learner.n_queries_ == 11
    report = panel_report([log])
    assert report.n_answers.sum() == 11
    assert report.cost.sum() == sum(panel[t[2]].price for t in told[:11])
    assert ((report.low <= report.accuracy) & (report.accuracy <= report.high)).all()


def test_questions_with_features_and_without_items_features():
    rng = np.random.default_rng(0)
    n = 120
    truth = rng.random(n) < 0.4
    F = np.where(truth, 1.0, -1.0)[:, None] + rng.normal(size=(n, 1))
    items = [f"i{k}" for k in range(2 * n)]
    pairs = [(items[2 * k], items[2 * k + 1]) for k in range(n)]

    class Says:
        def __init__(self, noise, seed):
            lie = np.random.default_rng(seed).random(n) < noise
            self.said = np.where(truth ^ lie, "same", "different")

        def __call__(self, q):
            return self.said[min(q.items) // 2]

    panel = [
        Annotator("m1", Says(0.15, 1), group="m"),
        Annotator("m2", Says(0.15, 2), group="m"),
        Annotator("ann", Says(0.02, 3), group="people", price=20),
    ]
    how = dict(questions=pairs, question_features=F, batch_size=5, random_state=0)
    learner = AskWell(AnswerClustering(), panel, budget=800, **how).fit(items)
    p = learner.question_proba_[:, 1]
    assert p.shape == (n,) and ((p > 0.5) == truth).mean() > 0.9
    z = learner.labels_
    joined = np.array([z[2 * k] == z[2 * k + 1] for k in range(n)])
    assert (joined == (learner.state_.belief.chance[:, 1] > 0.5)).all()
    table = learner.annotators_
    assert table.n_answers[:2].min() > 60  # the cheap ones answer most
    assert learner.statement_.of == "questions"
    keys = [(t[1], t[2]) for t in learner.state_.told]
    assert len(set(keys)) == len(keys)  # nobody is asked the same twice


def test_someone_who_is_only_unsure_breaks_nothing():
    X, y, _ = simulated()
    panel = [Annotator("shy", lambda q: "unsure"), Annotator("bob", NoisyOracle(y, 0.1))]
    learner = AskWell(AnswerClustering(3), panel, budget=40, random_state=0).fit(X)
    assert np.isfinite(learner.state_.belief.agreement()[0])
    assert learner.annotators_.n_answers.tolist()[1] >= 10


def test_a_batch_is_chosen_without_its_answers_and_spread_out():
    X, y, panel = simulated()
    learner = AskWell(AnswerClustering(3), panel, batch_size=6, random_state=0).start(X)
    first = [q for q, _, _ in learner.offers_[:6]]
    asked = []
    for _ in range(6):
        q = learner.ask()
        asked.append(q)
        learner.tell(q, "unsure")
    assert asked == first
    rows = [r for q in asked for r in q.items]
    assert len(set(rows)) == len(rows)


def test_large_tables_use_a_pool():
    X, y = make_blobs(5000, 4, centers=4, random_state=0)
    panel = [Annotator("m", NoisyOracle(y, 0.1, random_state=0))]
    learner = AskWell(AnswerClustering(4), panel, pool_size=200, random_state=0).start(X)
    learner.consult(12)
    rows = {r for _, items, _, _ in learner.state_.told for r in items}
    assert rows <= set(learner._once["pool"].tolist()) and len(learner._once["pool"]) == 200


def test_questions_do_not_depend_on_how_quick_a_fit_is(monkeypatch):
    "A fit in the background is taken over after three answers, however long it takes."
    X, y = make_blobs(60, 2, centers=3, random_state=1)

    def questions():
        panel = [Annotator(f"m{k}", NoisyOracle(y, 0.1, random_state=k)) for k in (0, 1)]
        learner = AskWell(AnswerClustering(3), panel, random_state=0).start(X)
        out = []
        for _ in range(16):
            q = learner.ask()
            out.append((q.key, q.annotator))
            learner.tell(q, learner.ask_panel(q))
        return out

    quick, run = questions(), Refit._run
    slow = lambda self: (time.sleep(0.3), run(self))
    monkeypatch.setattr(Refit, "_run", slow)
    assert questions() == quick


def test_a_fit_in_the_background_raises_where_it_is_needed_and_can_be_pickled():
    def fails():
        raise RuntimeError("no luck")

    with pytest.raises(RuntimeError, match="no luck"):
        Refit(3, fails).result()
    back = pickle.loads(pickle.dumps(Refit(3, lambda: "belief")))
    assert (back.n, back.result()) == (3, "belief")


def test_panels_are_checked():
    for bad, words in [
        ([], "panel is empty"),
        ("Ann", r"panel='Ann': give a list"),
        ({"Ann": 1}, "give a list of annotators"),
        (Annotator("a"), "give a list of annotators"),
        (3, "panel=3"),
        ([""], "has no name"),
        ([Annotator("  ")], "has no name"),
        ([None], "None cannot sit on a panel"),
        ([NoisyOracle([0, 1])], "has no name"),
        ([Annotator("a", price=-1)], "price=-1"),
        ([Annotator("a", price=float("nan"))], "price=nan"),
        ([Annotator("a", price=float("inf"))], "price=inf"),
        ([Annotator("a", price={"triple": 1})], "one for each of pair"),
        ([Annotator("a", price="x")], "price='x'"),
        ([Annotator("a", kinds=("quad",))], "kinds"),
        ([Annotator("a", kinds=None)], "kinds"),
        ([Annotator("a", max_calls=-1)], "max_calls=-1"),
        ([Annotator("a", max_calls=2.5)], "max_calls=2.5"),
        ([Annotator("a", max_calls="3")], "max_calls='3'"),
        ([Annotator("a"), Annotator("a")], "Two annotators"),
    ]:
        with pytest.raises(ValueError, match=words):
            as_panel(bad)
    assert as_panel([Annotator("a", kinds="pair")])[0].kinds == ("pair",)
    assert as_panel(["Ann"])[0].is_person
    with pytest.raises(TypeError, match="is a person"):
        Annotator("Ann")(Pair(0, 1))
    learner = AskWell(panel=["Ann"], random_state=0).start(np.random.rand(20, 2))
    with pytest.raises(ValueError, match="Whose answer"):
        learner.hear(Pair(0, 1), "same")
    with pytest.raises(ValueError, match="Ann takes pair, not triple"):
        learner.hear(TripleFor(0, 1, 2, annotator="Ann"), "ab")
    with pytest.raises(ValueError, match="names a row outside X"):
        learner.hear(PairFor(0, 99, annotator="Ann"), "same")
    assert learner.n_queries_ == 0 and learner.ask() is not None


def test_questions_are_checked():
    for bad, words in [
        ([["a", "zz"]], "'zz'"),
        ([["a"]], "shape"),
        ([], "shape"),
        ("x", "shape"),
        ([["a", "a"]], "1 question between an item and itself"),
        ([["a", "b"], ["b", "a"]], "1 question asked twice: the first is question 1"),
        ([["a", "b"], ["a", "b", "c"]], "not all of one length"),
    ]:
        with pytest.raises(ValueError, match=words):
            AskWell(panel=["p"], questions=bad).start(["a", "b", "c"])
    with pytest.raises(ValueError, match="2 questions but 1 features"):
        AskWell(
            panel=["p"], questions=[["a", "b"], ["b", "c"]], question_features=[[1]]
        ).start(["a", "b", "c"])
    with pytest.raises(ValueError, match="300 items are the limit"):
        AskWell(panel=["p"]).start([str(k) for k in range(400)])


@pytest.mark.parametrize("rows", [[(0, 1.5)], [(0, None)], [("0", "1")], [(0, np.nan)]])
def test_row_numbers_are_whole_numbers(rows):
    with pytest.raises(ValueError, match="questions must be row numbers"):
        AskWell(panel=["p"], questions=rows).start(np.random.rand(5, 2))


@pytest.mark.parametrize("bad", [[[np.nan], [1]], [["x"], ["y"]], [[1], [np.inf]]])
def test_looks_that_are_no_numbers_are_refused(bad):
    how = dict(questions=[["a", "b"], ["b", "c"]], question_features=bad)
    with pytest.raises(ValueError, match="question_features|question with features"):
        AskWell(panel=["p"], **how).start(["a", "b", "c"])


@pytest.mark.parametrize(
    "items, how, words",
    [
        (["a"], {}, "1 item: there is nothing to ask about"),
        ([], {}, "0 items"),
        (["a", None], {}, "Item 1 has no name"),
        ([1.0, np.nan], {}, "Item 1 has no name"),
        (np.zeros((1, 2)), {}, "X has one row"),
        (np.zeros((0, 2)), {}, "0 sample"),
        (np.zeros((4, 2)), dict(model=AnswerClustering(5)), "X has 4 rows"),
        (np.eye(4), dict(model=COBRAS()), "model is a COBRAS"),
        (np.eye(4), dict(question_features=[[1.0]]), "needs questions"),
        (np.eye(4), dict(questions=[(0, 1)], question_features=[[1.0]]), "of their own"),
        (np.eye(4), dict(budget=-1), "budget"),
        (np.eye(4), dict(budget=float("nan")), "budget"),
        (np.eye(4), dict(budget="10"), "budget"),
        (np.eye(4), dict(goal=1.5), "goal"),
        (np.eye(4), dict(min_rate=float("nan")), "min_rate"),
        (np.eye(4), dict(batch_size=0), "batch_size"),
    ],
)
def test_what_cannot_be_asked_about_is_said(items, how, words):
    with pytest.raises(ValueError, match=words):
        AskWell(panel=["p"], **how).start(items)


def test_no_money_and_free_answers():
    X, y, _ = simulated()
    free = Annotator("m", NoisyOracle(y, 0.1, random_state=0), price=0, max_calls=5)
    learner = AskWell(AnswerClustering(3), [free], budget=0, random_state=0).fit(X)
    assert learner.n_queries_ == 5 and learner.spent_ == 0
    assert learner.why_stopped_ == "nothing is left to ask"  # it is not for want of money
    dear = Annotator("m", NoisyOracle(y, 0.1, random_state=0), price=2)
    learner = AskWell(AnswerClustering(3), [dear], budget=0, random_state=0).fit(X)
    assert learner.why_stopped_ == "nothing is left to ask for this money"
    assert learner.n_queries_ == 0 and len(learner.labels_) == len(X)


def test_odd_names_and_ids_survive_the_log(tmp_path):
    X, y, _ = simulated()
    X, y = X[:20], y[:20]
    ids = [f'"é\n,{k}<b>😀' for k in range(20)]
    who = Annotator('<b>"Zoë"\n', NoisyOracle(y, 0.1, random_state=0))
    log = tmp_path / "odd.jsonl"
    make = lambda: AskWell(AnswerClustering(2), [who], random_state=0)
    with PanelRunner(make(), X, ids, journal=log) as run:
        run.run(run.learner.ask_panel, 12)
        told = list(run.learner.state_.told)
    with PanelRunner(make(), X, ids, journal=log) as run:
        assert run.learner.state_.told == told
    report = panel_report(str(log))  # one path is as good as a list of one
    assert report.annotator.tolist() == [who.name] and report.n_answers.tolist() == [12]


@pytest.mark.parametrize("word", ["same", "different", "unsure"])
def test_one_word_for_everything(word):
    "Whatever it says, the share of right pairs stays a share."
    X, _, _ = simulated()
    learner = AskWell(AnswerClustering(3), [Annotator("m", lambda q: word)], random_state=0)
    st = learner.start(X).consult(25).statement_
    assert 0 <= st.low <= st.share <= st.high <= 1 and len(learner.labels_) == len(X)


@pytest.mark.parametrize("said", [None, "", 2, "perhaps so", float("nan")])
def test_an_answer_that_is_none_is_refused_and_not_paid(said):
    X, _, _ = simulated()
    learner = AskWell(AnswerClustering(3), ["Ann"], random_state=0).start(X)
    with pytest.raises(ValueError, match="is empty|not understood"):
        learner.tell(learner.ask(), said)
    assert learner.spent_ == 0 and learner.n_queries_ == 0


def test_triples_have_prices_of_their_own_and_whole_learners_are_cloned():
    X, y, _ = simulated()
    oracle = NoisyOracle(y, 0.05, random_state=0)
    kinds = ("pair", "triple")
    dear = Annotator("t", oracle, price={"pair": 1, "triple": 100}, kinds=kinds)
    learner = AskWell(AnswerClustering(3), [dear], random_state=0).start(X).consult(15)
    assert {t[0] for t in learner.state_.told} == {"pair"}
    cheap = Annotator("t", oracle, price={"pair": 100, "triple": 1}, kinds=kinds)
    learner = AskWell(AnswerClustering(3), [cheap], random_state=0).start(X).consult(15)
    assert {t[0] for t in learner.state_.told} == {"triple"}
    assert learner.state_.spent == 15 and isinstance(learner.ask(), TripleFor)
    assert clone(learner).get_params()["panel"][0].name == "t"


def test_intervals_widen_with_doubt_and_level():
    low, high = error_interval(0.1, 0.01, 0.3)
    assert 0 < low < 0.1 < high < 1
    wide = error_interval(0.1, 0.01, 0.6)
    assert wide[0] < low and wide[1] > high
    assert error_interval(0.1, 0.01, 0.3, 0.99)[1] > high
    assert error_interval(0.9, 0.2, 2.0)[1] == 1.0


def test_near_pairs_are_neighbours_and_not_all_pairs():
    X = np.random.default_rng(0).normal(size=(300, 2))
    pairs = near_pairs(X, 5, np.random.default_rng(1))
    assert len(pairs) <= 300 * 7 and (pairs[:, 0] < pairs[:, 1]).all()
    D = ((X[:, None] - X) ** 2).sum(2) + np.diag(np.full(300, np.inf))
    have = set(map(tuple, pairs.tolist()))
    for i in range(300):
        for j in np.argsort(D[i])[:5]:
            assert (min(i, j), max(i, j)) in have


def test_worlds_follow_the_exact_posterior_of_two_rows():
    rows = np.full((4, 2), 0.5)
    panel = [Annotator("a")]
    voices = {(0, "pair"): simple_voice(0.9)}
    rng = np.random.default_rng(0)
    z = rng.integers(2, size=(4000, 4))
    watch = np.array([[0, 1]])
    b = WorldBelief(
        z, np.ones(len(z)), panel, [0], voices, rows=rows, pairs=watch, watch=watch
    )
    b = b.tell(("pair", (0, 1)), 0, 1, rng).tell(("pair", (1, 2)), 0, 1, rng)
    # chances of same under independent fair rows and two answers "same" at 90 %
    assert b.chances("pair", [[0, 1]])[0, 1] == pytest.approx(0.9, abs=0.02)
    assert b.chances("pair", [[0, 2]])[0, 1] == pytest.approx(0.9**2 + 0.1**2, abs=0.02)
    assert b.chances("pair", [[0, 3]])[0, 1] == pytest.approx(0.5, abs=0.02)


@pytest.fixture
def chat_server():
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            raw = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self.server.bodies.append(raw)
            text = raw["messages"][-1]["content"]
            word = "same" if text.count("cat") in (0, 2) else "different"
            out = json.dumps({"choices": [{"message": {"content": word}}]}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(out)))
            self.end_headers()
            self.wfile.write(out)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.bodies = []
    serve = lambda: server.serve_forever(poll_interval=0.01)
    threading.Thread(target=serve, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def pets(tmp_path):
    names = [f"{'cat' if k % 2 else 'dog'} {k}" for k in range(24)]
    sound = ["meow" if k % 2 else "woof" for k in range(24)]
    frame = pd.DataFrame(dict(id=[f"p{k}" for k in range(24)], name=names, sound=sound))
    frame["chip"] = "secret"
    path = tmp_path / "pets.csv"
    frame.to_csv(path, index=False)
    return path, frame


def test_the_command_asks_the_model_first_and_a_person_where_it_pays(
    tmp_path, chat_server, capsys
):
    path, _ = pets(tmp_path)
    url = f"http://127.0.0.1:{chat_server.server_address[1]}/v1"
    parser = cli_parser()
    line = (
        f"ask {path} --id id --show name,sound --model-url {url} --model tiny "
        "--n-clusters 2"
    )
    line += " --budget 60 --person-price 10 --terminal"
    typed, said = iter(["s", "z", "u", "d"] + ["q"] * 50), []
    run_ask(parser.parse_args(line.split()), lambda _: next(typed), said.append)
    assert "the columns name, sound" in said[0] and "not sent: id, chip" in said[0]
    assert "secret" not in json.dumps(chat_server.bodies) and chat_server.bodies
    out = pd.read_csv(tmp_path / "pets.clusters.csv")
    assert list(out.columns) == ["id", "cluster"] and len(out) == 24
    paid = len(chat_server.bodies)
    run_ask(parser.parse_args(line.split()), lambda _: "q", said.append)
    assert len(chat_server.bodies) == paid  # a second start pays nothing again
    text = (tmp_path / "pets.panel.jsonl").read_text()
    assert '"annotator": "tiny"' in text
    assert main(["panel", str(tmp_path / "pets.panel.jsonl")]) == 0
    shown = capsys.readouterr().out
    assert "tiny" in shown and "accuracy" in shown and "cost" in shown


def test_a_model_behind_the_command_needs_a_name_and_a_near_address(tmp_path, capsys):
    path, _ = pets(tmp_path)
    assert main(["ask", str(path), "--model-url", "http://127.0.0.1:1/v1"]) == 2
    assert "--model-url needs --model" in capsys.readouterr().err
    far = ["--model-url", "https://api.example.com/v1", "--model", "big"]
    assert main(["ask", str(path), *far]) == 2
    assert "allow_remote=True" in capsys.readouterr().err


def test_a_person_at_the_view_sees_only_her_own_questions(tmp_path):
    _, frame = pets(tmp_path)
    y = np.arange(24) % 2
    model = Annotator("model", NoisyOracle(y, 0.3, random_state=0), price=1, max_calls=12)
    learner = AskWell(
        AnswerClustering(2), [model, Annotator("Ann", price=5)], random_state=0
    )
    log = tmp_path / "answers.jsonl"
    s = ask_panel_session(frame, learner, id="id", show=["name", "sound"], log=log)
    for _ in range(6):
        t = s.turn
        assert t.query.annotator == "Ann"
        assert s.answer(t.id, "same" if y[t.query.a] == y[t.query.b] else "different")
    assert s.undo() and s.turn.query.annotator == "Ann"
    s.close()
    events = [e for e in read_journal(log)[0] if e["event"] == "answer"]
    assert {e["annotator"] for e in events} == {"model", "Ann"}
    assert {e["price"] for e in events} == {1, 5}
    assert sum(e["annotator"] == "model" for e in events) >= 1


def test_what_a_model_said_is_not_told_to_a_person_as_her_own(tmp_path):
    "Her answers, her contradictions, her undo; the model's answers are counted beside."
    _, frame = pets(tmp_path)
    calls = []

    def says(q):
        calls.append(q.key)
        return "same"  # always: nearly every answer of hers is against it

    panel = [Annotator("tiny", says, max_calls=40), Annotator("Ann", price=5)]
    learner = AskWell(AnswerClustering(2), panel, random_state=0)
    log = tmp_path / "answers.jsonl"
    s = ask_panel_session(frame, learner, id="id", show=["name", "sound"], log=log)
    given = []
    for k in range(5):
        t = s.turn
        given.append((t.query.key, (1, -1)[k % 2]))
        assert s.answer(t.id, given[-1][1])
    assert s.turn is not None
    assert [(x.query.key, x.answer) for x in s.own] == given and len(s.said) > 5
    assert sum(s.counts().values()) == s.status().given == 5
    others = len(s.said) - 5
    money = f"{others + 25:g}"
    assert s.beside == [("others answered", ("tiny", others)), ("money spent", (money,))]
    hers = {x.k for x in s.own}
    assert all({c.odd.k, *(x.k for x in c.chain)} <= hers for c in s.conflicts())
    assert s.undo() and s.turn.query.annotator == "Ann"
    assert [(x.query.key, x.answer) for x in s.own] == given[:4]
    assert s.turn.query.key == given[4][0]  # she is asked this once more
    s.close()
    again = ask_panel_session(frame, learner, id="id", show=["name", "sound"], log=log)
    assert [(x.query.key, x.answer) for x in again.own] == given[:4]
    again.close()


def test_answers_that_come_at_once_do_not_make_a_person_wait_for_a_fit():
    "Three answers of people, or twenty-four of the others; without people three of all."
    X, y, _ = simulated()
    quick = Annotator("m", NoisyOracle(y, 0.1, random_state=0, persistent=True))
    slow = Annotator("n", NoisyOracle(y, 0.1, random_state=1, persistent=True), price=2)
    ann = Annotator("Ann", price=1e9)  # there, and never asked
    for panel, lag in (([quick, ann], 24), ([quick, slow], 3)):
        learner = AskWell(AnswerClustering(3), panel, random_state=0).start(X)
        first = None
        while first is None or learner.state_.fitting is first:
            q = learner.ask()
            learner.tell(q, learner.ask_panel(q))
            if first is None and learner.state_.fitting is not None:
                first = learner.state_.fitting
        assert (first.n, len(learner.state_.told) - first.n) == (10, lag)


def test_doubtful_rows_stand_beside_the_surest_rows_of_their_two_clusters():
    M = np.random.default_rng(3).dirichlet([0.6, 0.6, 0.6], size=12)
    belief = SimpleNamespace(rows=M, pairs=np.array([[0, 1]]), _membership=lambda: M)
    want = {(0, 1)}
    for i, chances in enumerate(M.tolist()):
        by_chance = sorted(range(3), key=lambda k: -chances[k])
        for k in by_chance[:2]:
            surest = max(range(12), key=lambda r: M[r, k])
            if surest != i:
                want.add((min(i, surest), max(i, surest)))
    got = WorldBelief._more_pairs(belief, None)
    assert {tuple(p) for p in got.tolist()} == want


def test_an_answer_surprises_when_another_was_likelier():
    "What was expected and what came, counted by hand from the chances before each answer."
    X, y, panel = simulated(40)
    learner = AskWell(AnswerClustering(3), panel, budget=40, random_state=0).start(X)
    expected = seen = 0.0
    for turn in range(12):
        q = learner.ask()
        said = ("same", "different")[turn % 2]
        who = [a.name for a in panel].index(q.annotator)
        chance = learner._foresee(learner.state_, q.kind, tuple(sorted(q.items)), who)
        different, same = chance[:2]
        expected += 1 - max(different, same) / (different + same)
        seen += (same < different) if said == "same" else (different < same)
        learner.tell(q, said)
    assert learner.state_.foreseen == pytest.approx((expected, seen))
    assert 0 < seen < 12


# Toys on which the best purchase is known by listing everything


def listed_weights(told, voices, groups, n):
    "Weights of all partitions; looks and responses of every question that was asked."
    worlds = all_partitions(n)
    w, looks, said = np.full(len(worlds), 1 / len(worlds)), {}, {}
    for k, its, e, code in told:
        t = truth_codes(worlds, k, np.array([its]))[:, 0]
        if (k, its) not in looks:
            looks[k, its] = np.bincount(t, w, minlength=2 if k == "pair" else 4)
        before = group_chance(
            said.get((k, its), []), voices, groups[e], groups, looks[k, its]
        )
        said.setdefault((k, its), []).append((e, code))
        after = group_chance(said[k, its], voices, groups[e], groups, looks[k, its])
        w = w * (after / before)[t]
        w = w / w.sum()
    return worlds, w, looks, said


def listed_truth(worlds, w, items):
    "Chance of each truth of a question."
    kind, T = ("pair", 2) if len(items) == 2 else ("triple", 4)
    truth = truth_codes(worlds, kind, np.array([items]))[:, 0]
    return kind, np.bincount(truth, w, minlength=T)


def listed_bits(told, voices, groups, e0, items, who, n):
    "What an answer tells of the partition, by listing partitions, perceptions, opinions."
    worlds, w, looks, said = listed_weights(told, voices, groups, n)
    kind, now = listed_truth(worlds, w, items)
    T = len(now)
    at_a_glance = looks.get((kind, items), now)
    old = said.get((kind, items), [])
    M = voices[who, kind].report.shape[1]
    joint = np.zeros((T, M))
    base = group_chance(old, voices, groups[who], groups, at_a_glance, (who, kind))
    for r in range(M):
        after = group_chance([*old, (who, r)], voices, groups[who], groups, at_a_glance)
        joint[:, r] = now * after / base
    joint = (1 - e0) * joint + e0 * at_a_glance[:, None] * joint.sum(0)
    bits = entropy(joint.sum(1).tolist()) + entropy(joint.sum(0).tolist())
    return bits - entropy(joint.ravel().tolist())


def listed_lesson(told, voices, groups, items, who, n):
    "What an answer teaches about its giver: counts of its earlier truths, one by one."
    worlds, w, _, _ = listed_weights(told, voices, groups, n)
    kind, now = listed_truth(worlds, w, items)
    met = [0.0] * len(now)
    for k, its, e, _ in told:
        if (k, e) == (kind, who):
            for t, chance in enumerate(listed_truth(worlds, w, its)[1]):
                met[t] += chance
    return sum(p**2 * math.log2((m + 6) / (m + 5)) / 2 for p, m in zip(now, met))


def group_chance(said, voices, group, groups, looks, voice=None):
    "Chance of what one group said under each truth, story by story."
    mine = [(e, r) for e, r in said if groups[e] == group]
    T = len(looks)
    kind = "pair" if T == 2 else "triple"
    e = mine[0][0] if mine else voice[0] if voice else None
    if e is None:
        return np.ones(T)
    v, out = voices[e, kind], np.zeros(T)
    for truth, misled, seen, thought in product(range(T), (0, 1), range(T), range(T)):
        chance = v.eps * looks[seen] if misled else (1 - v.eps) * (seen == truth)
        for member, r in mine:
            chance = chance * voices[member, kind].report[thought, r]
        out[truth] += chance * v.opinion[seen, thought]
    return out


def best_by_listing(learner, n):
    "Every purchase that can be made on a toy: (rate, items, name), the best first."
    state, members, groups = learner.state_, learner._members, learner._groups
    belief, found, out = state.belief, [], []
    for e, m in enumerate(members):
        for kind in m.kinds:
            for items in combinations(range(n), 2 if kind == "pair" else 3):
                if (kind, items, e) in state.seen:
                    continue
                bits = listed_bits(
                    state.told, belief.voices, groups, belief.together, items, e, n
                )
                found.append((m, e, kind, items, bits))
    for m, e, kind, items, bits in found:
        still = sum(f[4] for f in found if f[1] == e) - bits
        lesson = listed_lesson(state.told, belief.voices, groups, items, e, n)
        teaches = min(lesson, still)
        out.append(((bits + teaches) / price_of(m, kind), items, m.name))
    return sorted(out, key=lambda o: -o[0])


def test_the_best_purchase_is_that_of_listing_everything():
    kinds = ("pair", "triple")
    panel = [
        Annotator("a", group="x", kinds=kinds, price={"pair": 1, "triple": 1.7}),
        Annotator("b", group="x", price=1.1),
        Annotator("c", group="y", price=2.5),
    ]
    learner = toy(panel).start(list("uvwx"))
    books = np.array([0, 0, 1, 1])
    for step in range(8):
        listed = best_by_listing(learner, 4)
        q = learner.ask()
        _, bits, rate = learner.offers_[0]
        assert rate == pytest.approx(listed[0][0], rel=1e-9)
        ties = {(i, who) for r, i, who in listed if r > listed[0][0] - 1e-9}
        assert (tuple(sorted(q.items)), q.annotator) in ties
        learner.tell(q, true_answer(q, books))


def test_a_triple_is_preferred_where_a_pair_tells_less_for_the_money():
    kinds = ("pair", "triple")
    start = lambda prices: toy([Annotator("a", kinds=kinds, price=prices)]).start(
        list("uvwxy")
    )
    dear, cheap = start({"pair": 1, "triple": 9}), start({"pair": 1, "triple": 1.2})
    assert dear.ask().kind == "pair" and cheap.ask().kind == "triple"
    for learner in (dear, cheap):
        assert learner.offers_[0][2] == pytest.approx(best_by_listing(learner, 5)[0][0])


def test_one_cluster_does_not_foresee_its_own_rightness():
    "A model of one cluster calls everything the same; the answers say otherwise."
    y, X = np.tile([0, 1, 2], 10), np.random.default_rng(0).normal(size=(30, 2))
    ann = Annotator("ann", NoisyOracle(y, 0.05, random_state=1))
    learner = AskWell(AnswerClustering(1), [ann], random_state=0).start(X).consult(14)
    right = (y[:, None] == y)[np.triu_indices(30, 1)].mean()
    statement = learner.statement_
    assert statement.low <= right <= statement.high and statement.share < 0.7


def test_where_the_number_of_clusters_is_learned_random_pairs_bound_the_statement():
    "Features that show nothing: the model settles on too few clusters and foresees all."
    y, X = np.tile([0, 1, 2], 10), np.random.default_rng(0).normal(size=(30, 2))
    ann = Annotator("ann", NoisyOracle(y, 0.05, random_state=1))
    learner = AskWell(AnswerClustering(), [ann], random_state=0).start(X)
    assert "is not known yet" in str(learner.statement_)
    learner.consult(30)
    controls, said, z = learner.state_.controls, learner.statement_, learner.labels_
    assert len(controls) == 6
    told = {(t[1], t[3] == 1) for t in learner.state_.told}
    assert all((c.items, c.same) in told for c in controls)
    right = (y[:, None] == y) == (z[:, None] == z)
    right = right[np.triu_indices(30, 1)].mean()
    assert said.low <= right <= said.high
    then = sum(c.foretold for c in controls)
    assert said.share <= (then + 1) / 8 and said.low <= control_interval(then, 6)[0]
    learner.undo(10)
    assert learner.state_.controls == controls[:4]


def test_fourteen_of_fifteen_controls():
    from scipy.stats import binomtest

    for right in (0, 3, 14, 15):
        ci = binomtest(right, 15).proportion_ci(0.9)
        assert control_interval(right, 15) == pytest.approx((ci.low, ci.high))
    assert control_interval(0, 0) == (0.0, 1.0)


@pytest.mark.parametrize("K", [3, None])
def test_fit_and_ask_and_tell_and_consult_are_one_run(K):
    def make():
        X, _, panel = simulated()
        return X, AskWell(AnswerClustering(K), panel, budget=40, random_state=0)

    X, fitted = make()
    fitted.fit(X)
    _, consulted = make()
    consulted.start(X).consult()
    _, by_hand = make()
    by_hand.start(X)
    while (q := by_hand.ask()) is not None:
        by_hand.labels_, by_hand.statement_  # who looks does not change what comes
        by_hand.tell(q, by_hand.ask_panel(q))
    for other in (consulted, by_hand):
        assert other.state_.told == fitted.state_.told
        assert other.statement_ == fitted.statement_
        assert np.array_equal(other.labels_, fitted.labels_)


def test_a_person_is_preferred_when_the_models_have_spoken():
    panel = [
        *(Annotator(f"m{k}", group="model", price=1) for k in range(4)),
        Annotator("Ann", group="people", price=6),
    ]
    learner, asked = toy(panel).start(list("uv")), []
    while (q := learner.ask()) is not None:
        asked.append(q.annotator)
        assert learner.offers_[0][2] == pytest.approx(best_by_listing(learner, 2)[0][0])
        learner.tell(q, "same")
    assert asked[0].startswith("m") and sorted(asked) == ["Ann", "m0", "m1", "m2", "m3"]
    assert asked.index("Ann") < 3  # before the third echo, at six times the price


def test_a_second_opinion_is_preferred_to_a_new_question_where_models_part():
    panel = [
        Annotator("a", group="x", price=1),
        Annotator("b", group="y", price=1),
        Annotator("c", group="z", price=1),
    ]
    learner = toy(panel).start(list("uvw"))
    for who, said in (("a", "same"), ("b", "different")):
        learner.hear(PairFor(0, 1, annotator=who, price=1.0), said)
    for pair in ((0, 2), (1, 2)):
        for who in "abc":
            learner.hear(PairFor(*pair, annotator=who, price=1.0), "different")
    q = learner.ask()
    assert (q.items, q.annotator) == ((0, 1), "c")
    learner = toy(panel).start(list("uvwx"))
    for who, said in (("a", "same"), ("b", "different")):
        learner.hear(PairFor(0, 1, annotator=who, price=1.0), said)
    listed = best_by_listing(learner, 4)
    assert learner.ask() is not None
    assert learner.offers_[0][2] == pytest.approx(listed[0][0])


# A panel in the place of one oracle


def test_a_panel_answers_for_any_learner_and_the_log_says_the_price(tmp_path):
    X, y, _ = simulated()
    cheap = Annotator("m", NoisyOracle(y, 0.2, random_state=0), price=1)
    ann = Annotator("Ann", NoisyOracle(y, random_state=1), group="people", price=5)
    panel = PanelOracle([cheap, ann], budget=90)
    with Runner(COBRAS(random_state=0), X, journal=tmp_path / "log.jsonl") as run:
        run.run(panel)
        assert run.spent == panel.spent <= 90 and run.learner.n_queries_ > 5
        n, spent = run.learner.n_queries_, run.spent
        run.undo(3)
        assert run.spent < spent
    table = panel.answers.to_frame()
    assert table.price.sum() == panel.spent and set(table.annotator) == {"m", "Ann"}
    assert table.drop_duplicates(["a", "b"]).shape[0] == n
    events, *_ = read_journal(tmp_path / "log.jsonl")
    assert {e["annotator"] for e in events if e["event"] == "answer"} == {"panel"}
    with Runner(COBRAS(random_state=0), X, journal=tmp_path / "log.jsonl") as run:
        assert run.learner.n_queries_ == n - 3 and 0 < run.spent < spent


def test_a_panel_is_as_sure_as_it_was_asked_to_be():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=400)
    members = [
        Annotator(f"p{k}", NoisyOracle(y, 0.2, persistent=True, random_state=k))
        for k in range(7)
    ]
    wrong = {}
    for sure in (0.7, 0.98):
        panel = PanelOracle(members, sure=sure, same=1 / 3)
        pairs = [Pair(2 * k, 2 * k + 1) for k in range(200)]
        wrong[sure] = np.mean([panel(q) != true_answer(q, y) for q in pairs])
        assert panel(pairs[0]) == panel(Pair(1, 0))  # known, and not paid again
        wrong[sure, "money"] = panel.spent
    assert wrong[0.98] < 0.06 < wrong[0.7] and wrong[0.98, "money"] > wrong[0.7, "money"]


def test_a_panel_reads_triples_in_any_order():
    y = np.array([0, 0, 1])
    kinds = ("pair", "triple")
    panel = PanelOracle([Annotator("t", NoisyOracle(y, random_state=0), kinds=kinds)])
    for order in ((0, 1, 2), (2, 0, 1), (1, 2, 0), (2, 1, 0)):
        q = Triple(*order)
        assert panel(q) == true_answer(q, y)
    assert panel.spent == 1


def test_a_panel_without_money_members_or_hands():
    y = np.array([0, 1, 0])
    oracle = NoisyOracle(y, random_state=0)
    assert PanelOracle([Annotator("a", oracle, price=2)], budget=1)(Pair(0, 1)) is None
    with pytest.raises(ValueError, match="person at a screen"):
        PanelOracle(["Ann"])
    with pytest.raises(ValueError, match="takes questions of kind triple"):
        PanelOracle([Annotator("a", oracle)])(Triple(0, 1, 2))
    nan = float("nan")
    for name, values in dict(
        sure=(0.4, 1, nan, "x", None), same=(0, 1, nan), budget=(-1, nan, "5")
    ).items():
        for value in values:
            with pytest.raises(ValueError, match=f"{name}={value!r}"):
                PanelOracle([Annotator("a", oracle)], **{name: value})
    with pytest.raises(TypeError, match="A question is a Pair or a Triple"):
        PanelOracle([Annotator("a", oracle)])((0, 1))
    assert PanelOracle([Annotator("a", oracle)], budget=0)(Pair(0, 1)) is None
    assert PanelOracle([Annotator("a", oracle, price=0)], budget=0)(Pair(0, 1)) == -1
    shy = PanelOracle([Annotator("a", lambda q: "unsure"), Annotator("b", oracle)])
    assert shy(Pair(0, 2)) == 1
    only = PanelOracle([Annotator("a", lambda q: "unsure")])
    assert only(Pair(0, 2)) == 0


def test_errors_may_be_fewer_than_assumed_but_not_many_more():
    low, high = error_interval(0.03, 0.007, 0.5)
    assert low < 0.03 / 5 and 0.06 < high < 0.09
