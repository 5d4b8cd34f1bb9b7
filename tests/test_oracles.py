"Questions, simulated people, the journal and the active-learner loop (notebook 03)."

import copy, inspect, json, math, os, pickle, signal, subprocess, sys, time, warnings
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from csc_nb.constraints import Constraints, Triplets
from csc_nb.oracles import (
    BIRDSONG_PAIRS,
    BIRDSONG_TRIPLES,
    FLOWER_PAIRS,
    FLOWER_TRIPLES,
    TRIPLE_ORDER,
    ActiveLearner,
    ConfusionOracle,
    Dialogue,
    ExpertPanel,
    SAVE,
    Journal,
    LearnerState,
    LogInUse,
    NoisyOracle,
    Pair,
    RandomPairLearner,
    ReplayOracle,
    Runner,
    Triple,
    drive,
    n_flips,
    pair_answer,
    read_journal,
    standing_answers,
    triple_answer,
    true_answer,
)

X, y = make_blobs(40, centers=3, cluster_std=2.5, random_state=3)


@dataclass(kw_only=True)
class ChooserState(LearnerState):
    reps: list
    order: list
    late: int = 0


class Chooser(ActiveLearner):
    """Cheap learner whose questions depend on the answers and on rng: pairs and
    triples, k groups by first representative."""

    def __init__(self, triples=True, fail_at=None, save=True, random_state=None):
        self.triples, self.fail_at, self.save = triples, fail_at, save
        self.random_state = random_state

    def _begin(self, X, rng):
        reps, order = [int(rng.integers(len(X)))], rng.permutation(len(X)).tolist()
        return ChooserState(rng=rng, labels=np.zeros(len(X), int), reps=reps, order=order)

    def _queries(self, X, state):
        n, rng, labels, reps = len(X), state.rng, state.labels, state.reps
        while state.order:
            if self.save:
                yield SAVE
            i = state.order.pop(0)
            if i in reps:
                continue
            for k, r in enumerate(reps):
                if self.fail_at == (i, r):
                    raise RuntimeError("boom")
                if (yield Pair(i, r)) == 1:
                    labels[i] = k
                    break
            else:
                labels[i] = len(reps)
                reps.append(i)
            if self.triples and len(reps) > 2:
                a, b, c = rng.choice(n, 3, replace=False)
                said = yield Triple(a, b, c)
                if said == "ab":
                    labels[b] = labels[a]
                if len(reps) > 4:
                    state.late = len(reps)
            state.labels = labels = labels.copy()


def state(learner):
    "All that can be seen of a learner."
    q = learner.ask()
    late = getattr(learner.state_, "late", None)
    return learner.labels_.tolist(), learner.answers_, q, q and q.id, learner.seed_, late


# ---------------------------------------------------------------- questions
def test_queries_are_values():
    assert (
        Pair(1, 2) == Pair(2, 1)
        and hash(Pair(1, 2)) == hash(Pair(2, 1))
        and Pair(1, 2) != Pair(1, 3)
    )
    assert (
        Pair(1, 2) != Triple(1, 2, 3)
        and Triple(1, 2, 3) != Triple(2, 1, 3)
        and Pair(1, 2) != (1, 2)
    )
    assert (
        Pair(2, 1).items == (2, 1)
        and Pair(2, 1, number=4).id == "2-1#4"
        and Pair(2, 1).id == "2-1"
    )
    assert type(Pair(np.int64(1), np.int32(2)).a) is int
    q = Triple(1, 2, 3, number=5)
    assert pickle.loads(pickle.dumps(q)) == q and pickle.loads(pickle.dumps(q)).number == 5
    with pytest.raises(AttributeError):
        q.a = 3


@pytest.mark.parametrize(
    "make, error, message",
    [
        (lambda: Pair(3, 3), ValueError, "same row twice"),
        (lambda: Pair(-1, 3), ValueError, "start at 0"),
        (lambda: Pair("a", 1), TypeError, "row numbers"),
        (lambda: Pair(1.5, 2), TypeError, "row numbers"),
        (lambda: Triple(1, 2, 1), ValueError, "same row twice"),
        (lambda: pair_answer("perhaps"), ValueError, "'perhaps'"),
        (lambda: pair_answer(2), ValueError, "2"),
        (lambda: pair_answer(None), ValueError, "empty"),
        (lambda: pair_answer(float("nan")), ValueError, "empty"),
        (lambda: triple_answer("abc"), ValueError, "'abc'"),
        (lambda: triple_answer(1), ValueError, "1"),
        (lambda: NoisyOracle(y, noise=0.5), ValueError, "chance of a wrong answer"),
        (lambda: NoisyOracle(y, noise=-0.1), ValueError, "chance of a wrong answer"),
        (lambda: NoisyOracle(y, abstain=1), ValueError, "chance of no answer"),
        (lambda: NoisyOracle(np.c_[y, y]), ValueError, "one label for each row"),
        (lambda: NoisyOracle(y)(Pair(0, 40)), ValueError, "outside y"),
        (
            lambda: ExpertPanel(y, [0.9, 0.8], [0.9]),
            ValueError,
            "2 sensitivities but 1 specificities",
        ),
        (lambda: ExpertPanel(y, [1.2]), ValueError, "expert 0 is 1.2"),
        (lambda: ExpertPanel(y).sample(7), ValueError, "even"),
        (lambda: ExpertPanel(y).sample(2000), ValueError, "asked for"),
        (lambda: ConfusionOracle(y, np.eye(3)), ValueError, "2×2"),
        (lambda: ConfusionOracle(y, "flowers"), ValueError, "known studies"),
        (lambda: ConfusionOracle(y, [[1, 0], [0, 0]]), ValueError, "every row"),
        (
            lambda: ConfusionOracle(y, np.eye(2), None)(Triple(0, 1, 2)),
            ValueError,
            "no confusion matrix",
        ),
        (lambda: ReplayOracle([], missing="guess"), ValueError, "guess"),
    ],
)
def test_messages(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_words():
    assert [
        pair_answer(w) for w in ("same", "Must-Link", "ML", " yes ", 1, np.int8(1), "+1")
    ] == [1] * 7
    assert [pair_answer(w) for w in ("different", "cannot", "CL", "no", -1, -1.0)] == [
        -1
    ] * 6
    assert [pair_answer(w) for w in ("unsure", "don't know", "don’t know", 0, "0")] == [
        0
    ] * 5
    assert [
        triple_answer(w) for w in ("ab", "ba|c", "AC|b", "bc", "none", "ow", "unsure")
    ] == ["ab", "ab", "ac", "bc", "none", "none", "unsure"]


# ---------------------------------------------------------------- people
def test_truth_of_triples_brute():
    lab = [0, 0, 1, 1, 2]
    for a in range(5):
        for b in range(5):
            for c in range(5):
                if len({a, b, c}) < 3:
                    continue
                la, lb, lc = lab[a], lab[b], lab[c]
                want = (
                    "ab"
                    if la == lb != lc
                    else "ac"
                    if la == lc != lb
                    else "bc"
                    if lb == lc != la
                    else "none"
                )
                assert true_answer(Triple(a, b, c), lab) == want


def test_noisy_triples_err_uniformly():
    rng, person = (
        np.random.default_rng(0),
        NoisyOracle(y, noise=0.3, abstain=0.1, random_state=0),
    )
    qs = [Triple(*rng.choice(40, 3, replace=False)) for _ in range(6000)]
    said, right = (
        np.array([person(q) for q in qs]),
        np.array([true_answer(q, y) for q in qs]),
    )
    assert abs(np.mean(said == "unsure") - 0.1) < 0.02
    spoke = said != "unsure"
    assert abs(np.mean((said != right)[spoke]) - 0.3) < 0.03
    for t in TRIPLE_ORDER:
        wrong = said[spoke & (right == t) & (said != t)]
        for w in set(TRIPLE_ORDER) - {t}:
            assert abs(np.mean(wrong == w) - 1 / 3) < 5 * np.sqrt(0.23 / len(wrong))


@pytest.mark.parametrize(
    "make",
    [
        lambda p: NoisyOracle(y, 0.4, persistent=p, random_state=1),
        lambda p: ConfusionOracle(
            y, np.ones((2, 2)), np.ones((4, 4)), persistent=p, random_state=1
        ),
    ],
)
def test_persistence(make):
    "Asked twice lies twice, in any order shown; a person who slips does not."
    rows = lambda q, a: (
        frozenset(q.items["abc".index(ch)] for ch in a)
        if a not in ("none", "unsure")
        else a
    )
    steady, slips = make(True), make(False)
    qs, ts = (
        [(i, j) for i in range(12) for j in range(i)],
        [(i, j, k) for i in range(8) for j in range(i) for k in range(j)],
    )
    assert all(steady(Pair(*q)) == steady(Pair(*q[::-1], number=9)) for q in qs)
    for t in ts:
        forms = [Triple(*t), Triple(t[1], t[2], t[0]), Triple(t[2], t[1], t[0], number=3)]
        assert len({rows(q, steady(q)) for q in forms}) == 1
    assert any(slips(Pair(*q)) != slips(Pair(*q)) for q in qs)
    assert any(slips(Triple(*t)) != slips(Triple(*t)) for t in ts)


def test_answers_are_a_function_of_seed_and_question():
    qs = [Pair(i, i + 1, number=k) for k, i in enumerate(range(30))]
    a, b = NoisyOracle(y, 0.4, random_state=3), NoisyOracle(y, 0.4, random_state=3)
    assert [a(q) for q in qs] == [b(q) for q in qs[::-1]][::-1] == [a(q) for q in qs]
    assert [NoisyOracle(y, 0.4, random_state=4)(q) for q in qs] != [a(q) for q in qs]
    for rs in (np.random.RandomState(0), np.random.default_rng(0), None):
        assert NoisyOracle(y, random_state=rs)(qs[0]) in (1, -1)


@given(st.integers(0, 3000), st.integers(0, 1000))
def test_flips_are_exact(q, thousandths):
    assert n_flips(q, thousandths / 1000) == math.floor(
        q * (1 - Fraction(thousandths, 1000))
    )


def test_flips_where_floating_point_errs():
    assert (
        math.floor(50 * (1 - 0.9)) == 4
        and n_flips(50, 0.9) == 5
        and n_flips(100, 0.55) == 45
    )
    grid = [(q, h) for q in range(1, 1001) for h in range(50, 101, 5)]
    exact = [math.floor(q * (1 - Fraction(h, 100))) for q, h in grid]
    assert [n_flips(q, h / 100) for q, h in grid] == exact
    assert (
        sum(math.floor(q * (1 - h / 100)) != e for (q, h), e in zip(grid, exact)) > 29
    )  # the plain floor errs often


@pytest.mark.parametrize("common", [True, False])
def test_expert_panel_counts(common):
    big = np.repeat(np.arange(4), 300)
    alpha, beta = [0.95, 0.85, 0.55, 1.0, 0.9], [0.9, 0.6, 0.75, 0.5, 1.0]
    c = ExpertPanel(big, alpha, beta, random_state=0).sample(200, common=common)
    assert c.n_constraints == 1000 and c.n_experts == 5 and c.n_samples == 1200
    same = big[c.a] == big[c.b]
    sets = []
    for m in range(5):
        mine = c.expert == m
        assert (mine & same).sum() == (mine & ~same).sum() == 100
        assert (mine & same & (c.value == -1)).sum() == n_flips(100, alpha[m])
        assert (mine & ~same & (c.value == 1)).sum() == n_flips(100, beta[m])
        sets.append(set(zip(c.a[mine].tolist(), c.b[mine].tolist())))
        assert len(sets[-1]) == 200
    assert all(s == sets[0] for s in sets) == common
    again = ExpertPanel(big, alpha, beta, random_state=0).sample(200, common=common)
    assert (again.a == c.a).all() and (again.value == c.value).all()


def test_expert_pairs_are_uniform():
    """Must-link pairs: each of the 10+1 pairs inside groups of 5 and 2 equally often,
    also on the rejection path."""
    small = np.repeat([0, 1], [5, 2])
    n = 1500
    hits = np.zeros((7, 7))
    for s in range(n):
        c = ExpertPanel(small, [1.0], random_state=s).sample(2)
        m = c.value == 1
        hits[c.a[m], c.b[m]] += 1
    freq = hits[hits > 0] / n
    assert len(freq) == 11 and np.abs(freq - 1 / 11).max() < 0.035
    big = np.repeat([0, 1], [900, 300])
    c = ExpertPanel(big, [1.0], random_state=0).sample(8000)
    must = c.value == 1
    share = np.mean(big[c.a[must]] == 0)  # expected 900·899/(900·899+300·299)
    assert must.sum() == 4000 and abs(share - 0.900) < 0.02


@pytest.mark.parametrize(
    "pairs, triples, accuracy",
    [
        (BIRDSONG_PAIRS, BIRDSONG_TRIPLES, (0.9209, 0.8268)),
        (FLOWER_PAIRS, FLOWER_TRIPLES, (0.9665, 0.9287)),
    ],
)
def test_confusion_oracle(pairs, triples, accuracy):
    assert np.allclose(
        [np.trace(T) / T.sum() for T in (pairs, triples)], accuracy, atol=1e-4
    )
    person, rng = (
        ConfusionOracle(y, pairs, triples, random_state=0),
        np.random.default_rng(1),
    )
    got = {}
    for _ in range(5000):
        q = Pair(*rng.choice(40, 2, replace=False))
        got.setdefault(true_answer(q, y), []).append(person(q))
    for t, row in zip((-1, 1), pairs / pairs.sum(1, keepdims=True)):
        assert abs(np.mean(np.array(got[t]) == t) - row.max()) < 5 * np.sqrt(
            row.min() * row.max() / len(got[t])
        )
    with pytest.raises(ValueError):
        pairs[0, 0] = 1  # constants are read-only


def test_confusion_unsure_column():
    person = ConfusionOracle(y, [[0, 0, 1], [0, 0, 1]], np.c_[np.zeros((4, 4)), np.ones(4)])
    assert person(Pair(0, 1)) == 0 and person(Triple(0, 1, 2)) == "unsure"


# ---------------------------------------------------------------- journal
def answers(journal, n, start=0):
    for k in range(start, start + n):
        journal.append(
            "answer", n=k, query=str(k), kind="pair", items=[k, k + 1], answer="same"
        )


def test_journal_cut_at_every_byte(tmp_path):
    """Whatever part of the last line reached the disk, the lines before it are kept and
    the log goes on."""
    path = tmp_path / "log.jsonl"
    with Journal(path, "Ann Ünïcode") as j:
        answers(j, 3)
    raw = path.read_bytes()
    last = raw.rindex(b"\n", 0, -1) + 1
    for cut in range(last, len(raw) + 1):
        path.write_bytes(raw[:cut])
        with warnings.catch_warnings(record=True) as w:
            warnings.simplefilter("always")
            with Journal(path) as j:
                assert j.n == (3 if cut >= len(raw) - 1 else 2)
                answers(j, 1, start=j.n)
        assert bool(w) == (last < cut < len(raw) - 1)
        assert len(read_journal(path)[0]) == (4 if cut >= len(raw) - 1 else 3)


@pytest.mark.parametrize(
    "edit, line, message",
    [
        (lambda L: [L[0], "hello\n", *L[1:]], 2, "not JSON"),
        (lambda L: [L[0], L[2]], 2, "a line is missing"),
        (lambda L: [*L, L[2]], 4, "doubled"),
        (lambda L: [L[0], '{"event": "bless"}\n'], 2, "not an event"),
        (lambda L: ["[1, 2]\n", *L], 1, "not an event"),
        (lambda L: ['"x"\n'], 1, "not an event"),
        (
            lambda L: [*L, '{"event": "undo", "n": 4}\n'],
            4,
            "undo of 4 answers, but 3 stand",
        ),
        (lambda L: [*L, '{"event": "undo"}\n'], 4, "undo of None"),
        (lambda L: [L[0].replace("same", "sane"), *L[1:]], 1, "'sane'"),
        (lambda L: [L[0].replace("[0, 1]", "[0, 0]"), *L[1:]], 1, "different ids"),
        (lambda L: [L[0].replace("[0, 1]", "[0, [1]]")], 1, "different ids"),
        (lambda L: [L[0].replace("[0, 1]", "[0]")], 1, "2 items"),
        (lambda L: [L[0], L[1].replace("pair", "pear")], 2, "kind"),
        (lambda L: ['{"event": "start", "seed": "x"}\n', *L], 1, "seed"),
        (lambda L: [*L, "\x00\x00\x00\n"], 4, "not JSON"),
        (lambda L: [L[0], "[" * 100_000 + "\n"], 2, "not JSON"),
    ],
)
def test_journal_nonsense_names_its_line(tmp_path, edit, line, message):
    path = tmp_path / "log.jsonl"
    with Journal(path) as j:
        answers(j, 3)
    path.write_text("".join(edit(path.read_text().splitlines(keepends=True))))
    before = path.read_bytes()
    for reader in (
        read_journal,
        Journal,
        ReplayOracle,
        lambda p: Runner(RandomPairLearner(3), X, journal=p),
    ):
        with pytest.raises(ValueError, match=rf"log\.jsonl, line {line}: .*{message}"):
            reader(path)
    assert path.read_bytes() == before  # nothing was "repaired"


def test_journal_forgives_editors(tmp_path):
    "Blank lines, CRLF, a byte-order mark and a lost final line end do no harm."
    path = tmp_path / "log.jsonl"
    with Journal(path) as j:
        answers(j, 3)
    text = path.read_bytes()
    path.write_bytes(b"\xef\xbb\xbf" + text.replace(b"\n", b"\r\n\r\n").rstrip())
    with Journal(path) as j:
        assert j.n == 3
        answers(j, 1, start=3)
    assert [e["line"] for e in read_journal(path)[0]] == [1, 3, 5, 6]


def test_journal_refuses_to_write_nonsense(tmp_path):
    with Journal(tmp_path / "log.jsonl") as j:
        answers(j, 1)
        for fields in (
            dict(n=0, kind="pair", items=[1, 2], answer="same"),
            dict(n=1, kind="pair", items=[1, 2], answer="sane"),
            dict(n=1, kind="pair", items=[1, 2], answer="same", x=float("nan")),
        ):
            with pytest.raises(ValueError):
                j.append("answer", **fields)
        with pytest.raises(ValueError):
            j.append("undo", n=2)
        j.append("note", text="lone surrogate \ud800 and \u2028")
        assert j.n == 1
    assert [e["event"] for e in read_journal(tmp_path / "log.jsonl")[0]] == [
        "answer",
        "note",
    ]


def test_failed_write_leaves_the_log_as_it_was(tmp_path, monkeypatch):
    learner = Runner(
        RandomPairLearner(3, random_state=0), X, journal=tmp_path / "log.jsonl"
    )
    learner.tell(learner.ask(), "same")
    before, q = (tmp_path / "log.jsonl").read_bytes(), learner.ask()

    def full(fd):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as m:
        m.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space"):
            learner.tell(q, "same")
    assert (
        (tmp_path / "log.jsonl").read_bytes() == before
        and learner.n_queries_ == 1
        and learner.ask() == q
    )
    learner.tell(q, "different")
    assert learner.journal.n == 2


def test_acknowledged_means_synced(tmp_path, monkeypatch):
    "When `tell` wakes the algorithm, the line is in the file and fsync has returned."
    synced, real = [], os.fsync
    monkeypatch.setattr(os, "fsync", lambda fd: (real(fd), synced.append(fd)))
    seen = []

    class Looks(RandomPairLearner):
        def _queries(self, X, state):
            for i in range(1, len(X)):
                yield Pair(0, i)
                seen.append(
                    (len((tmp_path / "log.jsonl").read_text().splitlines()), len(synced))
                )

    learner = Runner(Looks(3, random_state=0), X, journal=tmp_path / "log.jsonl")
    n = len(synced)
    for k in range(4):
        learner.tell(learner.ask(), "same")
    assert seen == [(2 + k, n + 1 + k) for k in range(4)]


def test_second_process_is_refused(tmp_path):
    path = tmp_path / "log.jsonl"
    code = (
        "import sys\nfrom csc_nb.oracles import Journal\ntry: Journal(sys.argv[1])\n"
        "except RuntimeError as e: print(e)\nelse: print('opened')"
    )
    other = lambda: subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, timeout=120
    ).stdout.strip()
    with Journal(path) as j:
        answers(j, 1)
        assert "in use by another process" in other()
    assert other() == "opened"


def test_rerunning_the_cell_takes_over(tmp_path):
    "In one process the newer journal wins and the older one refuses to write."
    make = lambda: Runner(
        RandomPairLearner(3, random_state=0), X, journal=tmp_path / "log.jsonl"
    )
    old = make()
    old.tell(old.ask(), "same")
    new = make()
    assert state(new) == state(old)
    with pytest.raises(ValueError, match="opened again"):
        old.tell(old.ask(), "same")
    with pytest.raises(ValueError, match="opened again"):
        old.undo()
    assert old.n_queries_ == 1
    new.tell(new.ask(), "different").undo().tell(new.ask(), "same")
    assert state(make()) == state(new)


def test_forked_child_cannot_write(tmp_path):
    j = Journal(tmp_path / "log.jsonl")
    answers(j, 1)
    j._pid = -1
    with pytest.raises(RuntimeError, match="forked"):
        answers(j, 1, start=1)


# ---------------------------------------------------------------- replay
def test_replay_oracle(tmp_path):
    ids = [f"row{i}" for i in range(40)]
    first = Chooser(random_state=0).fit(
        X,
        oracle=NoisyOracle(y, 0.2, 0.1, random_state=0),
        budget=60,
        sample_id=ids,
        journal=tmp_path / "log.jsonl",
    )
    assert any(q.kind == "triple" for q, _ in first.answers_)
    for log, sid in ((tmp_path / "log.jsonl", ids), (first.answers_, None)):
        again = Chooser(random_state=0).fit(
            X, oracle=ReplayOracle(log, sample_id=sid), budget=None
        )
        assert again.answers_ == first.answers_ and (again.labels_ == first.labels_).all()
    with pytest.raises(ValueError, match="give sample_id"):
        ReplayOracle(tmp_path / "log.jsonl")
    with pytest.raises(ValueError, match="not in sample_id"):
        ReplayOracle(tmp_path / "log.jsonl", sample_id=ids[:3])


def test_replay_other_order_and_unknown():
    r = ReplayOracle(
        [(Triple(1, 2, 3), "ab"), (Pair(1, 2), "same"), (Pair(2, 1), "different")]
    )
    assert r(Triple(3, 1, 2)) == "bc" and r(Triple(2, 3, 1)) == "ac"
    assert [r(Pair(2, 1)) for _ in range(3)] == [1, -1, -1] and r(Pair(1, 2, number=1)) == 1
    assert r(Pair(5, 6)) is None
    assert ReplayOracle([], missing="unsure")(Pair(5, 6)) == 0
    with pytest.raises(LookupError, match="not in the log"):
        ReplayOracle([], missing="raise")(Pair(5, 6))
    with pytest.warns(UserWarning, match="1 of its 1 questions"):
        ReplayOracle([(Pair(1, 2), 1)])(Pair(5, 6))


# ---------------------------------------------------------------- the loop
def test_stale_questions_are_refused():
    l = Chooser(random_state=0).start(X)
    q = l.ask()
    assert l.ask() is q and q.number == 0
    l.tell(q, "different")
    for stale in (
        q,
        Pair(0, 1) if l.ask() != Pair(0, 1) else Pair(0, 2),
        Pair(*l.ask().items, number=0),
        "nonsense",
        None,
    ):
        with pytest.raises((ValueError, TypeError), match="Stale question|A question is"):
            l.tell(stale, "same")
    with pytest.raises((ValueError, TypeError), match="not understood"):
        l.tell(l.ask(), "perhaps")
    assert l.n_queries_ == 1
    l.tell(
        Pair(*l.ask().items[::-1]), "same"
    )  # written by hand, without a number: accepted
    drive(l, NoisyOracle(y))
    assert l.ask() is None
    with pytest.raises((ValueError, TypeError), match="no question left"):
        l.tell(q, "same")


def test_undo_limits_and_history():
    l = Runner(Chooser(random_state=0), X, callback=lambda l: l.labels_.tolist())
    drive(l, NoisyOracle(y, 0.2, random_state=0), budget=30)
    assert len(l.history_) == 31
    old = list(l.history_)
    l.undo(0).undo(12)
    assert l.history_ == old[:19] and l.labels_.tolist() == old[18]
    with pytest.raises(ValueError, match="Cannot undo 19 answers; there are 18"):
        l.undo(19)
    with pytest.raises(ValueError, match="Cannot undo -1"):
        l.undo(-1)
    assert drive(l, NoisyOracle(y, 0.2, random_state=0), budget=30).history_ == old


def test_undo_clears_later_attributes():
    l = Chooser(random_state=0).start(X)
    drive(l, lambda q: q.answer("different") if q.kind == "pair" else "none", budget=80)
    assert l.state_.late and not l.undo(78).state_.late


moves = st.lists(
    st.one_of(
        st.sampled_from([1, -1, -1, 0]),
        st.integers(1, 6).map(lambda n: ("undo", n)),
        st.tuples(st.just("relabel"), st.integers(0, 30), st.sampled_from([1, -1, 0])),
        st.tuples(st.just("hear"), st.integers(0, 39), st.integers(0, 39)),
    ),
    max_size=30,
)


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(moves, st.integers(0, 5))
def test_any_walk_equals_a_fresh_replay(tmp_path, walk, seed):
    """State after any tells, undos and relabels = a fresh learner told the surviving
    answers = a resume from the journal."""
    path = tmp_path / "walk.jsonl"
    path.unlink(missing_ok=True)
    word = lambda q, v: v if q.kind == "pair" else {1: "ab", -1: "none", 0: "unsure"}[v]
    l, model = Runner(Chooser(random_state=seed), X, journal=path), []
    for m in walk:
        if isinstance(m, int):
            q = l.ask()
            if q is not None:
                l.tell(q, word(q, m))
                model.append((q, word(q, m)))
        elif m[0] == "undo":
            n = min(m[1], len(model))
            l.undo(n)
            model = model[: len(model) - n]
        elif m[0] == "hear":
            if m[1] != m[2]:
                l.hear(Pair(m[1], m[2]), "different")
                model.append((Pair(m[1], m[2]), -1))
        elif m[1] < len(model):
            l.relabel(m[1], word(model[m[1]][0], m[2]))
            model[m[1]] = (model[m[1]][0], word(model[m[1]][0], m[2]))
        assert l.answers_ == model
    fresh = Chooser(save=False, random_state=seed).start(X)  # no snapshots: replay from 0
    for q, a in model:
        fresh.hear(q, a)
    assert state(fresh) == state(l)
    l.close()
    resumed = Runner(Chooser(random_state=seed), X, journal=path)
    assert state(resumed) == state(l)
    resumed.close()
    assert [(e["items"], e["answer"]) for e in standing_answers(read_journal(path)[0])] == [
        (list(q.items), q.word(a)) for q, a in model
    ]


def test_failing_or_interrupted_algorithm_can_be_undone(tmp_path):
    "The answer is in the log though the algorithm broke on it; undo leads back."
    plain = Chooser(random_state=0).fit(X, oracle=NoisyOracle(y), budget=12)
    (i, r) = plain.ask().items
    l = Runner(Chooser(fail_at=(i, r), random_state=0), X, journal=tmp_path / "log.jsonl")
    with pytest.raises(RuntimeError, match="boom"):
        drive(l, NoisyOracle(y), budget=20)
    assert l.n_queries_ == 12 and l.journal.n == 12
    with pytest.raises(RuntimeError, match="boom"):
        l.ask()
    assert l.undo().ask() == plain.answers_[11][0]
    l.learner.fail_at = None  # the reason went away: replay leads on
    assert state(l.tell(l.ask(), plain.answers_[11][1]))[:3] == state(plain)[:3]


def test_a_learner_that_cheats_is_noticed():
    fresh = iter(range(100))
    d = Dialogue(LearnerState, lambda state: iter_pairs(next(fresh)))

    def iter_pairs(shift):
        for i in range(5):
            yield Pair(i, i + 1 + shift)

    d.tell(d.ask(), 1)
    d.tell(d.ask(), 1)
    d.undo()
    with pytest.raises(RuntimeError, match="Replay went another way: answer 1"):
        d.tell(d.ask(), 1)
    with pytest.raises(TypeError, match="yields Pair or Triple"):
        Dialogue(LearnerState, lambda state: (x for x in [(1, 2)])).ask()


def test_published_labels_are_checked():
    class Short(ActiveLearner):
        def _queries(self, X, state):
            state.labels = [0, 1]
            yield Pair(0, 1)

    with pytest.raises(ValueError, match="shape"):
        Short().start(X)


def test_constraints_and_triplets(tmp_path):
    ids = np.array([f"row{i}" for i in range(40)])
    l = Chooser(random_state=0).fit(
        X,
        oracle=NoisyOracle(y, 0.1, 0.2, random_state=0),
        budget=60,
        sample_id=ids,
        journal=tmp_path / "log.jsonl",
    )
    pairs = [(q, a) for q, a in l.answers_ if q.kind == "pair"]
    c, t = l.constraints_, l.triplets_
    assert c.n_constraints == len(set(pairs)) and t.n_constraints == len(
        {(q, a) for q, a in l.answers_ if q.kind == "triple" and a != "unsure"}
    )
    assert {(a, b, v) for a, b, v in zip(c.a.tolist(), c.b.tolist(), c.value.tolist())} == {
        (*q.key, a) for q, a in pairs
    }
    assert list(c.ids) == list(ids)
    logged = Constraints.from_log(tmp_path / "log.jsonl", ids=ids.tolist())
    assert sorted(
        zip(logged.a.tolist(), logged.b.tolist(), logged.value.tolist())
    ) == sorted(zip(c.a.tolist(), c.b.tolist(), c.value.tolist()))
    none = Chooser(random_state=0).start(X)
    assert (
        none.constraints_.empty
        and none.triplets_.empty
        and none.constraints_.n_samples == 40
    )


def test_all_unsure_is_not_ambiguous():
    l = RandomPairLearner(3, random_state=0).fit(
        X, oracle=lambda q: "unsure" if q.number else "same", budget=5
    )
    assert sorted(l.constraints_.value.tolist()) == [0, 0, 0, 0, 1]


def test_data_frames_bring_their_ids(tmp_path):
    df = pd.DataFrame(X, index=[f"p{i}" for i in range(40)], columns=["u", "v"])
    l = RandomPairLearner(3, random_state=0).fit(
        df, oracle=NoisyOracle(y), budget=5, journal=tmp_path / "log.jsonl"
    )
    events = read_journal(tmp_path / "log.jsonl")[0]
    assert events[1]["items"] == [f"p{i}" for i in l.answers_[0][0].items] and list(
        l.feature_names_in_
    ) == ["u", "v"]
    with pytest.raises(ValueError, match="other data"):
        Runner(
            RandomPairLearner(3, random_state=0),
            df.iloc[::-1],
            journal=tmp_path / "log.jsonl",
        )
    with pytest.raises(ValueError, match="'p1' occurs twice"):
        RandomPairLearner(3).start(X, sample_id=["p1"] * 40)
    with pytest.raises(ValueError, match="3 sample ids but X has 40 rows"):
        RandomPairLearner(3).start(X, sample_id=[1, 2, 3])


def test_journal_event_fields(tmp_path):
    with Journal(tmp_path / "log.jsonl", annotator="Ann") as j:
        l = Runner(Chooser(random_state=7), X, journal=j)
        q = l.ask()
        l.tell(q, "same", seconds=1.5, shown=q.items[::-1]).undo()
        with pytest.raises(ValueError, match="not the rows"):
            l.tell(l.ask(), "same", shown=(0, 0))
    start, e, undo = map(json.loads, (tmp_path / "log.jsonl").read_text().splitlines())
    assert (
        e["query"] == q.id
        and e["items"] == list(q.items)
        and e["shown"] == list(q.items[::-1])
        and e["answer"] == "same"
        and e["seconds"] == 1.5
    )
    assert (
        e["annotator"] == "Ann"
        and e["seed"] == start["seed"] == 7
        and e["version"]
        and e["time"].endswith("+00:00")
    )
    assert undo["event"] == "undo" and undo["n"] == 1


def test_unseeded_learner_resumes_with_the_seed_of_its_log(tmp_path):
    l = Runner(Chooser(), X, journal=tmp_path / "log.jsonl")
    drive(l, NoisyOracle(y), budget=10)
    l.close()
    assert state(Runner(Chooser(), X, journal=tmp_path / "log.jsonl")) == state(l)
    with pytest.raises(ValueError, match="another seed"):
        Runner(Chooser(random_state=l.seed_ + 1), X, journal=tmp_path / "log.jsonl")


def test_resume_keeps_answers_to_other_questions(tmp_path):
    path = tmp_path / "log.jsonl"
    Chooser(random_state=0).fit(X, oracle=NoisyOracle(y), budget=3, journal=path)
    lines = path.read_text().splitlines(keepends=True)
    e = json.loads(lines[2])
    e["items"] = [i + 1 if i < 39 else 0 for i in e["items"]]
    lines[2] = json.dumps(e) + "\n"
    path.write_text("".join(lines))
    with pytest.warns(UserWarning, match=r"line 3: 2 of 3 answers are to questions"):
        run = Runner(Chooser(random_state=0), X, journal=path)
    assert run.n_queries_ == 3 and tuple(e["items"]) in [q.items for q, _ in run.answers_]
    run.close()
    Journal(path).close()  # and the lock was released


def test_pickle_and_copy_wake_up_by_replay(tmp_path):
    run = Runner(
        Chooser(random_state=0),
        X,
        journal=tmp_path / "log.jsonl",
        callback=lambda l: 1,
    )
    l = run.run(NoisyOracle(y, 0.1, random_state=0), budget=15).learner
    for twin in (pickle.loads(pickle.dumps(l)), copy.deepcopy(l)):
        assert state(twin) == state(l)
        twin.tell(twin.ask(), "unsure").undo(9)  # goes its own way, and writes nothing
        assert twin.n_queries_ == 7
    assert l.n_queries_ == 15 and run.journal.n == 15
    assert not hasattr(clone(l), "seed_")


def test_fit_budget_and_leaving_oracles():
    fit = lambda **k: RandomPairLearner(3, random_state=0).fit(X, **k)
    assert (
        fit().n_queries_ == 0
        and fit(oracle=NoisyOracle(y), budget=0).n_queries_ == 0
        and fit(oracle=NoisyOracle(y)).n_queries_ == 100
    )
    assert fit(oracle=lambda q: "same" if q.number < 4 else None).n_queries_ == 4
    assert (fit().labels_ == fit(oracle=lambda q: None).labels_).all()
    with pytest.raises(ValueError, match="budget=-1"):
        fit(budget=-1)
    with pytest.raises(ValueError, match="The oracle knows 30 rows but X has 40"):
        fit(oracle=NoisyOracle(y[:30]))
    done = fit(oracle=NoisyOracle(y), budget=None)
    assert done.ask() is None and adjusted_rand_score(y, done.labels_) == 1


def test_after_fit_nothing_goes_unlogged(tmp_path):
    l = RandomPairLearner(3, random_state=0).fit(
        X, oracle=NoisyOracle(y), budget=3, journal=tmp_path / "log.jsonl"
    )
    moves = (
        lambda: l.tell(l.ask(), "same"),
        lambda: l.hear(Pair(0, 1), "same"),
        lambda: l.undo(),
        lambda: l.relabel(0, "same"),
    )
    for move in moves:
        with pytest.raises(ValueError, match="through its Runner.*log.jsonl"):
            move()
    assert l.n_queries_ == 3
    with Journal(tmp_path / "log.jsonl") as j:
        run = Runner(l, X, journal=j).run(NoisyOracle(y), budget=5)
        run.close()  # a journal of the caller stays open
        run.tell(run.ask(), "same")
        assert j.n == 6


def test_before_start():
    l = RandomPairLearner(3)
    for look in (
        lambda: l.labels_,
        lambda: l.ask(),
        lambda: l.undo(),
        lambda: l.constraints_,
        lambda: l.n_queries_,
    ):
        with pytest.raises(ValueError, match="not fitted"):
            look()
    assert not hasattr(l, "labels_")


def test_check_estimator():
    results = check_estimator(
        RandomPairLearner(n_clusters=3, random_state=0), on_skip=None, on_fail=None
    )
    assert [
        (r["check_name"], r["exception"]) for r in results if r["status"] == "failed"
    ] == []
    assert sum(r["status"] == "passed" for r in results) > 30


def test_pipeline_and_routing():
    oracle = NoisyOracle(y, 0.05, random_state=0)
    with config_context(enable_metadata_routing=True):
        p = make_pipeline(StandardScaler(), RandomPairLearner(3, random_state=0)).fit(
            X, oracle=oracle, budget=25
        )
        assert "constraints" not in RandomPairLearner(3).get_metadata_routing().fit.requests
    q = make_pipeline(StandardScaler(), RandomPairLearner(3, random_state=0)).fit(
        X, randompairlearner__oracle=oracle, randompairlearner__budget=25
    )
    assert (
        p[-1].n_queries_ == q[-1].n_queries_ == 25
        and (p[-1].labels_ == q[-1].labels_).all()
    )


# ---------------------------------------------------------------- a killed process
WORKER = """
import sys, time, numpy as np
from sklearn.datasets import make_blobs
from dataclasses import dataclass
from csc_nb.oracles import SAVE, ActiveLearner, LearnerState, NoisyOracle, Pair, Triple
STATE
CHOOSER
X, y = make_blobs(40, centers=3, cluster_std=2.5, random_state=3)
person = NoisyOracle(y, .1, .1, random_state=5)
def slow(q):
    time.sleep(.01)
    print(q.number, flush=True) # answers before this one were acknowledged
    return person(q)
Chooser(random_state=3).fit(X, oracle=slow, budget=80, journal=sys.argv[1])
""".replace("CHOOSER", inspect.getsource(Chooser)).replace(
    "STATE", inspect.getsource(ChooserState)
)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL here")
def test_sigkill_loses_no_acknowledged_answer(tmp_path):
    """Kill the process twice, at whatever it is doing; resume; end where an
    uninterrupted run ends."""
    path, kept = tmp_path / "log.jsonl", 0
    for goal in (9, 40):
        p = subprocess.Popen(
            [sys.executable, "-c", WORKER, str(path)], stdout=subprocess.PIPE, text=True
        )
        for line in p.stdout:
            acknowledged = int(line)
            if acknowledged >= goal:
                break
        p.send_signal(signal.SIGKILL)
        rest = p.stdout.read().split()
        p.wait()
        assert p.returncode == -signal.SIGKILL
        acknowledged = max([acknowledged, *map(int, rest)])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a line may have been cut off
            with Journal(path) as j:
                assert (
                    j.n >= acknowledged >= goal > kept
                )  # all that was acknowledged is there
        kept = goal
    person = NoisyOracle(y, 0.1, 0.1, random_state=5)
    resumed = Chooser(random_state=3).fit(X, oracle=person, budget=80, journal=path)
    straight = Chooser(random_state=3).fit(X, oracle=person, budget=80)
    assert state(resumed) == state(straight) and resumed.n_queries_ == 80
    assert len(standing_answers(read_journal(path)[0])) == 80


# ---------------------------------------------------------------- files of other people
@pytest.mark.parametrize(
    "raw",
    [
        b"my only copy",
        b"id,x\n1,2\n3,4",
        b'{"name": "half a',
        b"[1, 2",
        b"\x89PNG\r\n\x1a\n\x00",
        '{"csc_nb": 1}\n{"a": 1'.encode("utf-16"),
        b"{",
    ],
)
def test_foreign_files_are_never_touched(tmp_path, raw):
    path = tmp_path / "n.txt"
    path.write_bytes(raw)
    if raw == b"{":  # may be our own first line, cut off: repaired
        with pytest.warns(UserWarning, match="cut off"):
            Journal(path).close()
        return
    for use in (Journal, lambda p: Runner(RandomPairLearner(3), X, journal=p)):
        with pytest.raises(ValueError, match="n.txt(, line 1| is not a log)"):
            use(path)
    assert path.read_bytes() == raw and os.listdir(tmp_path) == ["n.txt"]


def test_what_is_not_a_file_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/null"):
        with pytest.raises((ValueError, OSError)):
            Journal(path)


def test_a_log_that_was_deleted_or_changed_while_open_is_noticed(tmp_path):
    path = tmp_path / "log.jsonl"
    run = Runner(RandomPairLearner(3, random_state=0), X, journal=path)
    run.tell(run.ask(), "same")
    raw, q = path.read_bytes(), run.ask()
    path.unlink()
    with pytest.raises(RuntimeError, match="deleted or replaced"):
        run.tell(q, "same")
    assert run.n_queries_ == 1 and run.ask() == q
    saved = run.journal.save_as(tmp_path / "rescued.jsonl")
    assert saved.read_bytes() == raw
    with pytest.raises(FileExistsError):
        run.journal.save_as(saved)
    path.write_bytes(raw)  # another file of the same name
    with pytest.raises(RuntimeError, match="deleted or replaced"):
        run.tell(q, "same")
    run = Runner(RandomPairLearner(3, random_state=0), X, journal=path)
    with open(path, "ab") as f:
        f.write(b'{"event": "note"}\n')
    with pytest.raises(RuntimeError, match="changed by another program"):
        run.tell(run.ask(), "same")


@pytest.mark.parametrize("n", [1.5, "1", None, [1], float("nan")])
def test_undo_of_nonsense_writes_nothing(tmp_path, n):
    path = tmp_path / "log.jsonl"
    run = Runner(RandomPairLearner(3, random_state=0), X, journal=path)
    for _ in range(3):
        run.tell(run.ask(), "same")
    raw = path.read_bytes()
    learner = RandomPairLearner(3, random_state=0).start(X)
    for use in (run, learner):
        with pytest.raises(ValueError, match="whole number"):
            use.undo(n)
    with pytest.raises(ValueError, match="whole number"):
        run.relabel(n, "same")
    assert path.read_bytes() == raw
    run.tell(run.ask(), "same").undo(2)
    assert run.n_queries_ == 2


def test_the_holder_of_a_log_is_named_and_can_be_replaced(tmp_path):
    path = tmp_path / "log.jsonl"
    code = (
        "import sys\nfrom csc_nb.oracles import Journal\n"
        "j = Journal(sys.argv[1], 'Ann'); print('x', flush=True); sys.stdin.readline()"
    )
    p = subprocess.Popen(
        [sys.executable, "-c", code, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        p.stdout.readline()
        with pytest.raises(LogInUse, match=rf"Ann, since 20.*process {p.pid}") as refused:
            Journal(path)
        assert refused.value.holder["annotator"] == "Ann"
        p.kill()
        p.wait()
        Journal(path).close()  # a dead program does not hold a log
        assert os.listdir(tmp_path) == ["log.jsonl"]
    finally:
        p.kill()
        p.wait()
        p.stdin.close()
        p.stdout.close()


def test_half_a_batch_is_no_batch(tmp_path):
    path = tmp_path / "log.jsonl"
    with Journal(path) as j:
        answers(j, 2)
        whole = path.read_bytes()
        j.extend([("undo", dict(n=1)), ("note", dict(text="x")), ("note", dict(text="y"))])
    raw = path.read_bytes()
    for end in range(len(whole) + 1, len(raw) - 1, 11):
        path.write_bytes(raw[:end])
        with pytest.warns(UserWarning, match="cut off"), Journal(path) as j:
            assert j.n == 2
        assert path.read_bytes() == whole
    path.write_bytes(raw)
    with Journal(path) as j:
        assert j.n == 1


# ---------------------------------------------------------------- undo from snapshots
@pytest.mark.parametrize("save", [True, False])
def test_undo_does_not_run_the_algorithm(save):
    "What is seen after an undo was kept; the algorithm sleeps until the next answer."
    steps = []

    class Counts(Chooser):
        def _queries(self, X, state):
            for q in (gen := super()._queries(X, state)):
                while q is SAVE:
                    yield q
                    q = next(gen)
                while q is not None:
                    steps.append(q)
                    try:
                        q = gen.send((yield q))
                        while q is SAVE:
                            yield q
                            q = next(gen)
                    except StopIteration:
                        return

    l = Counts(save=save, random_state=0).start(X)
    seen = [state(l)]
    person = NoisyOracle(y, 0.2, random_state=0)
    for _ in range(60):
        l.tell(l.ask(), person(l.ask()))
        seen.append(state(l))
    steps.clear()
    for k in (1, 1, 5, 20):
        l.undo(k)
        assert state(l) == seen[l.n_queries_]
    assert not steps
    l.tell(l.ask(), person(l.ask()))
    assert state(l) == seen[l.n_queries_] and bool(steps)
    assert len(steps) < 12 if save else len(steps) > 30


def test_snapshots_are_thinned_out_and_still_lead_back():
    a = RandomPairLearner(3, random_state=0).start(X)
    person = lambda q: 1 if q.number % 9 == 8 else -1
    seen = [state(a)]
    for _ in range(150):
        a.tell(a.ask(), person(a.ask()))
        seen.append(state(a))
    assert len(a._talk._saved) <= 48 and len(a._talk._glances) <= 100
    a.undo(149)
    assert state(a) == seen[1]
    while a.n_queries_ < 40:
        a.tell(a.ask(), person(a.ask()))
    assert state(a) == seen[40]
