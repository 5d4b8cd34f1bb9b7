"""nCOBRAS: every sum against brute force, the rules, the verifier, the learner."""

import math
from dataclasses import fields
from itertools import combinations, product

import numpy as np
import pytest

from csc_nb import ncobras as nc
from csc_nb.cobras import COBRAS
from csc_nb.constraints import Constraints
from csc_nb.datasets import toy_graph
from csc_nb.graph import blocks
from csc_nb.ncobras import (
    NCOBRAS,
    Block,
    ConstraintVerifier,
    NcobrasForm,
    VerifiedLearner,
    verdict,
)
from csc_nb.oracles import NoisyOracle, RandomPairLearner


def labels_of(n, a, b, w):
    lab = list(range(n))
    for i, j, v in zip(a, b, w):
        if v > 0:
            lab = [lab[i] if x == lab[j] else x for x in lab]
    return lab


def brute(n, P):
    "All consistent sets, without any code of the package."
    a, b = np.asarray(P).T.tolist()
    out = []
    for w in product((1, -1), repeat=len(a)):
        lab = labels_of(n, a, b, w)
        if all(v > 0 or lab[i] != lab[j] for i, j, v in zip(a, b, w)):
            out.append(w)
    return np.array(out, np.int8)


def random_graph(rng, nmax=7, mmax=9, n=None, m=None):
    n = n or int(rng.integers(3, nmax))
    P = np.array(list(combinations(range(n), 2)))
    m = m or int(rng.integers(1, min(len(P), mmax) + 1))
    P = P[rng.choice(len(P), m, replace=False)]
    return np.unique(P, return_inverse=True)[1].reshape(-1, 2), rng.choice(
        [1, -1], m
    ).astype(np.int8)


SETS = {}


def sets(P):
    key = P.tobytes()
    if key not in SETS:
        SETS[key] = brute(int(P.max()) + 1, P)
    return SETS[key]


def test_diagram_equals_brute_force_on_two_thousand_graphs():
    rng, graphs = np.random.default_rng(0), []
    for _ in range(100):
        P, _ = random_graph(rng, mmax=8)
        W = sets(P)
        for _ in range(20):
            v = rng.choice([1, -1], len(P)).astype(np.int8)
            d = (W != v).sum(1)
            rho = rng.uniform(0.01, 0.9)
            p = rho**d
            p = p / p.sum()
            b = Block(P[:, 0], P[:, 1], v, order=None)
            assert b.fewest == d.min() and math.isclose(
                b.total(rho), (rho**d).sum(), rel_tol=1e-9
            )
            np.testing.assert_array_equal(b.counts(), np.bincount(d, minlength=len(v) + 1))
            np.testing.assert_allclose(b.p_wrong(rho), p @ (W != v), atol=1e-12)
            k = int(rng.integers(0, 3))
            V, f = Block(P[:, 0], P[:, 1], v, order=k).worlds(5000)
            assert len(V) == (d <= d.min() + k).sum() and {w.tobytes() for w in V} == {
                w.tobytes() for w in W[d <= d.min() + k]
            }
            np.testing.assert_array_equal((V != v).sum(1), f)


def test_algorithm_2_is_complete_and_without_repeats():
    rng = np.random.default_rng(1)
    for _ in range(60):
        P, v = random_graph(rng, mmax=7)
        k = int(rng.integers(0, 4))
        W = sets(P)
        W = W[(W != v).sum(1) <= k]
        found = nc.enumerate_consistent(P, v, k)
        assert len(found) == len(set(found)) == len(W) and set(found) == {
            tuple(np.flatnonzero(w != v)) for w in W
        }


def test_bad_cycle_has_exactly_one_cannot_link():
    rng = np.random.default_rng(2)
    seen = 0
    for _ in range(200):
        P, v = random_graph(rng)
        n = int(P.max()) + 1
        c = nc.bad_cycle(P, v, n)
        consistent = (sets(P) == v).all(1).any() if len(P) <= 9 else None
        assert (c is None) == consistent
        if c is not None:
            seen += 1
            assert list(v[c]).count(-1) == 1 and (np.bincount(P[c].ravel()) % 2 == 0).all()
    assert seen > 20


def test_confidence_of_verdict_is_the_posterior_of_the_best_set():
    rng = np.random.default_rng(3)
    for _ in range(300):
        P, v = random_graph(rng)
        W = sets(P)
        nu = rng.uniform(0.01, 0.4)
        p = (nu / (1 - nu)) ** (W != v).sum(1)
        p = p / p.sum()
        out = verdict(P, v, nu, None, max_states=5000)
        chosen = (W == out.value).all(1)
        assert (
            chosen.sum() == 1
            and math.isclose(out.confidence, p[chosen][0], rel_tol=1e-9)
            and math.isclose(p.max(), p[chosen][0], rel_tol=1e-9)
        )
        assert out.n_best == np.isclose(p, p.max(), rtol=1e-9).sum()
        np.testing.assert_allclose(out.p_wrong(), p @ (W != v), atol=1e-12)


def test_confidence_never_rises_with_the_order():
    rng = np.random.default_rng(4)
    for _ in range(100):
        P, v = random_graph(rng)
        c = [verdict(P, v, 0.1, k).confidence for k in (0, 1, 2, 3, None)]
        assert all(x >= y - 1e-12 for x, y in zip(c, c[1:]))


def test_irrelevant_answers_are_summed_out():
    rng = np.random.default_rng(5)
    for _ in range(200):
        P, v = random_graph(rng)
        rel = rng.random(len(v)) < 0.6
        W = sets(P)
        p = (0.1 / 0.9) ** (W != v).sum(1)
        p = p / p.sum()
        out = verdict(P, v, 0.1, None, relevant=rel, max_states=5000)
        mine = p[(W[:, rel] == out.value[rel]).all(1)].sum()
        assert math.isclose(out.confidence, mine, rel_tol=1e-9)
        assert math.isclose(
            mine, max(p[(W[:, rel] == w[rel]).all(1)].sum() for w in W), rel_tol=1e-9
        )


def implied_brute(n, P, w):
    lab = labels_of(n, P[:, 0], P[:, 1], w)
    apart = {frozenset((lab[i], lab[j])) for (i, j), v in zip(P, w) if v < 0}
    return np.array(
        [
            [
                1 if lab[i] == lab[j] else -1 if frozenset((lab[i], lab[j])) in apart else 0
                for j in range(n)
            ]
            for i in range(n)
        ]
    )


def test_implied_tables_across_blocks():
    rng = np.random.default_rng(6)
    for _ in range(100):
        P, v = random_graph(rng, nmax=8, mmax=8)
        n = int(P.max()) + 1
        W = sets(P)
        p = (0.1 / 0.9) ** (W != v).sum(1)
        p = p / p.sum()
        I = np.array([implied_brute(n, P, w) for w in W])
        M, C = verdict(P, v, 0.1, None, max_states=5000).tables()
        off = ~np.eye(n, dtype=bool)
        np.testing.assert_allclose(M[off], np.tensordot(p, I == 1, 1)[off], atol=1e-12)
        np.testing.assert_allclose(C[off], np.tensordot(p, I == -1, 1)[off], atol=1e-12)


def test_rule_1_and_rule_2_against_brute_force():
    rng = np.random.default_rng(7)
    ones = twos = 0
    for _ in range(200):
        P, v = random_graph(rng, mmax=7)
        n = int(P.max()) + 1
        asked = {tuple(sorted(q)) for q in P.tolist()}
        W = sets(P)
        d = (W != v).sum(1)
        p = (0.1 / 0.9) ** d
        p = p / p.sum()
        I = np.array([implied_brute(n, P, w) for w in W])
        free = [q for q in combinations(range(n), 2) if q not in asked]
        out = verdict(P, v, 0.1, None, max_states=5000)
        why = nc.choose_pair(out, asked, "printed")
        best = d == d.min()
        c = np.flatnonzero((W == out.value).all(1))[0]
        split = {
            q: (np.mean(I[best][:, q[0], q[1]] == 1), np.mean(I[best][:, q[0], q[1]] == -1))
            for q in free
        }
        split = {q: s for q, s in split.items() if min(s) > 0}
        B = {q: p[I[:, q[0], q[1]] == -I[c][q]].sum() for q in free if I[c][q] != 0}
        if best.sum() > 1 and split:
            twos += 1
            assert why.rule[0] == "2" and math.isclose(
                abs(np.subtract(*split[why.a, why.b])),
                min(abs(a - b) for a, b in split.values()),
                abs_tol=1e-9,
            )
        elif best.sum() == 1 and B and max(B.values()) > 1e-5:
            ones += 1
            assert (
                why.rule[0] == "1"
                and math.isclose(why.against, max(B.values()), rel_tol=1e-6)
                and why.expected == I[c][why.a, why.b]
            )
    assert ones > 20 and twos > 8


def test_closed_form_of_cycles():
    for m in range(3, 8):
        P = np.array([(i, (i + 1) % m) for i in range(m)])
        for c in (0, 2, 3):
            v = np.r_[-np.ones(c), np.ones(m - c)].astype(np.int8)
            assert math.isclose(
                nc.cycle_confidence(m, c, 0.07),
                verdict(P, v, 0.07, None).confidence,
                rel_tol=1e-9,
            )
    with pytest.raises(ValueError, match="inconsistent"):
        nc.cycle_confidence(3, 1, 0.1)


def test_bridge_and_tree():
    P = np.array([(0, 1), (1, 2), (1, 3)])
    assert (
        math.isclose(verdict(P, [1, -1, 1], 0.05).confidence, 0.95**3)
        and len(set(blocks(4, P))) == 3
    )


def test_pair_asked_twice_is_a_cycle_of_two():
    nu = 0.1
    out = verdict([(0, 1), (0, 1)], [1, 1], nu, None)
    assert math.isclose(out.confidence, (1 - nu) ** 2 / ((1 - nu) ** 2 + nu**2))
    assert verdict([(0, 1)] * 3, [1, 1, -1], nu).value.tolist() == [1, 1, 1]


def test_cap_never_fails_and_never_lowers_the_confidence():
    for seed in range(5):
        g = toy_graph(40, 4, 150, n_lies=15, random_state=seed)
        for cap in (5, 40):
            out = verdict(g.pairs, g.value, 0.1, 2, max_states=cap)
            assert 0 < out.confidence <= 1 + 1e-9 and not out.exact
            lab = labels_of(40, *g.pairs.T.tolist(), out.value)
            assert all(v > 0 or lab[i] != lab[j] for (i, j), v in zip(g.pairs, out.value))


def test_wide_frontier_of_more_than_64_nodes():
    n = 140
    star = [(0, i) for i in range(1, n)] + [(1, i) for i in range(2, n)]
    out = verdict(star, np.ones(len(star)), 0.05, 1, max_states=50)
    assert (out.value == 1).all()
    P = np.array(list(combinations(range(80), 2)))
    y = np.arange(80) % 2
    v = np.where(y[P[:, 0]] == y[P[:, 1]], 1, -1)
    v[7] *= -1
    assert np.flatnonzero(verdict(P, v, 0.05, 1, max_states=60).value != v).tolist() == [7]


def test_zero_noise_returns_the_answers():
    g = toy_graph(15, 3, 40, n_lies=0, random_state=0)
    c = Constraints(*g.pairs.T, g.value, n_samples=15)
    out = ConstraintVerifier(noise=0.0).verify(
        c, oracle=NoisyOracle(g.target, random_state=0)
    )
    np.testing.assert_array_equal(out.constraints.value, g.value)
    assert out.redundant == [] and len(out.suspects) == 0 and out.confidence > 1 - 1e-6


def test_verifier_finds_lies_in_a_dense_set():
    hit = 0
    for seed in range(10):
        g = toy_graph(12, 3, 66, n_lies=3, random_state=seed)
        out = ConstraintVerifier(noise=0.07).verify(
            Constraints(*g.pairs.T, g.value, n_samples=12)
        )
        lies = {tuple(r) for r in np.c_[np.sort(g.pairs, 1), g.value][g.wrong].tolist()}
        hit += lies == {tuple(r) for r in out.suspects.tolist()}
    assert hit >= 9


def test_verifier_asks_until_sure_and_keeps_unsure_answers():
    g = toy_graph(8, 2, 8, n_lies=0, random_state=2)
    value = g.value.copy()
    value[0] = 0
    out = ConstraintVerifier(noise=0.05).verify(
        Constraints(*g.pairs.T, value, n_samples=8),
        oracle=NoisyOracle(g.target, random_state=0),
    )
    assert (
        out.redundant
        and (out.confidence >= 0.95 or len(out.redundant) > 5)
        and out.constraints.value[0] == 0
        and out.p_wrong[0] == 0
    )
    keys = [(w.a, w.b) for w in out.redundant]
    assert len(set(keys)) == len(keys)
    assert "confidence" in str(out.redundant[0])


def test_estimated_noise_follows_the_lies():
    est = [
        np.mean(
            [
                verdict(g.pairs, g.value, "estimate", 2, max_states=200).noise
                for g in (toy_graph(12, 3, 45, n_lies=k, random_state=s) for s in range(4))
            ]
        )
        for k in (0, 4, 9)
    ]
    assert est[0] < 0.03 < est[1] < est[2]


def blobs(n=90, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    return np.array([[0, 0], [5, 0], [0, 5.0]])[y] + rng.normal(size=(n, 2)), y


@pytest.mark.parametrize(
    "rules",
    [
        dict(split_by="largest", representative="central"),
        dict(split_by="doubt", representative="kept"),
    ],
)
def test_learner_without_doubt_is_cobras(rules):
    X, y = blobs()
    form = NcobrasForm(**rules, neighbours=None)
    plain = dict(noise=0.01, confidence=1e-9, form=form)
    a = NCOBRAS(random_state=1, **plain).fit(
        X, oracle=NoisyOracle(y, random_state=0), budget=40
    )
    b = COBRAS(random_state=1, **rules).fit(
        X, oracle=NoisyOracle(y, random_state=0), budget=40
    )
    assert [q for q, _ in a.answers_] == [q for q, _ in b.answers_]
    np.testing.assert_array_equal(a.labels_, b.labels_)


def test_learner_undo_suspects_and_reasons():
    X, y = blobs()
    a = NCOBRAS(0.1, 0.9, random_state=1).fit(
        X, oracle=NoisyOracle(y, 0.1, random_state=3), budget=60
    )
    assert (
        a.suspicion_.shape == (60,) and 0 <= a.suspicion_.min() <= a.suspicion_.max() <= 1
    )
    assert set(a.suspects_) == set(np.flatnonzero(a.suspicion_ > 0.5))
    assert (np.diff(a.suspicion_[a.suspects_]) <= 1e-12).all() and len(a.suspects_)
    said = {(*q.key, v) for q, v in a.answers_}
    assert {tuple(r) for r in a.overruled_.tolist()} <= said
    assert a.redundant_ and all(
        a.answers_[w.number][0].key == (w.a, w.b) for w in a.redundant_
    )
    b = NCOBRAS(0.1, 0.9, random_state=1).fit(
        X, oracle=NoisyOracle(y, 0.1, random_state=3), budget=45
    )
    np.testing.assert_array_equal(a.undo(15).labels_, b.labels_)
    assert a.ask() == b.ask()


def test_learner_beats_cobras_under_noise():
    from sklearn.metrics import adjusted_rand_score as ari

    X, y = blobs()
    score = {
        c: np.mean(
            [
                ari(
                    y,
                    c(random_state=r, **kw)
                    .fit(X, oracle=NoisyOracle(y, 0.1, random_state=r), budget=60)
                    .labels_,
                )
                for r in range(6)
            ]
        )
        for c, kw in ((COBRAS, {}), (NCOBRAS, dict(noise=0.1)))
    }
    assert score[NCOBRAS] > score[COBRAS] + 0.05


def test_persistent_lies_unsure_and_training_rows():
    X, y = blobs()
    train = np.arange(50)
    a = NCOBRAS(noise=0.1, train_indices=train, random_state=0).fit(
        X, oracle=NoisyOracle(y, 0.15, 0.1, persistent=True, random_state=0), budget=60
    )
    assert (
        max(max(q.items) for q, _ in a.answers_) < 50
        and len({q.key for q, _ in a.answers_}) == a.n_queries_
    )


@pytest.mark.parametrize(
    "kw, text",
    [
        (dict(noise=0.5), "below 0.5"),
        (dict(noise=np.nan), "below 0.5"),
        (dict(noise="much"), "estimate"),
        (dict(confidence=2), "between 0 and 1"),
        (dict(order=-1), "at least 0"),
        (dict(check_by="x"), "refutable"),
        (dict(max_states=0), "max_states"),
        (dict(repeat=0), "repeat"),
        (dict(order_over="x"), "block"),
        (dict(after_correction="x"), "merge_again"),
    ],
)
def test_errors(kw, text):
    with pytest.raises(ValueError, match=text):
        form = {k: v for k, v in kw.items() if k in NcobrasForm().get_params()}
        kw = {k: v for k, v in kw.items() if k not in form}
        NCOBRAS(**kw, form=NcobrasForm(**form)).start(blobs()[0])


def test_wrapped_learner_replays_corrected_answers():
    X, y = blobs()
    a = VerifiedLearner(RandomPairLearner(3), 0.1, order=1, batch=12, random_state=0).fit(
        X, oracle=NoisyOracle(y, 0.1, random_state=0), budget=50
    )
    b = VerifiedLearner(RandomPairLearner(3), 0.1, order=1, batch=12, random_state=0).fit(
        X, oracle=NoisyOracle(y, 0.1, random_state=0), budget=30
    )
    np.testing.assert_array_equal(a.undo(20).labels_, b.labels_)
    assert b.n_queries_ == 30 and a.ask() == b.ask()


def test_weighted_answers_equal_brute_force():
    rng = np.random.default_rng(8)
    for _ in range(150):
        P, v = random_graph(rng, mmax=8)
        W = sets(P)
        rho = 0.1 / 0.9
        odds = np.exp(rng.normal(size=len(v))) * (rng.random(len(v)) < 0.7)
        odds[odds == 0] = 1.0
        price = np.where(odds == 1, rho, np.minimum(rho * odds, 0.9))
        w = np.prod(np.where(W != v, price, 1.0), 1)
        p = w / w.sum()
        b = Block(P[:, 0], P[:, 1], v, order=None, odds=odds, noise=0.1)
        assert math.isclose(b.total(rho), w.sum(), rel_tol=1e-9)
        np.testing.assert_allclose(b.p_wrong(rho), p @ (W != v), atol=1e-12)
        V, _ = b.worlds(5000)
        assert {x.tobytes() for x in V} == {x.tobytes() for x in W}
        np.testing.assert_allclose(np.sort(b.weight(V, rho)), np.sort(w), rtol=1e-9)
        d = (W != v).sum(1)
        prior = np.prod(np.where(W != v, odds, 1.0), 1)
        np.testing.assert_allclose(
            b.counts()[: d.max() + 1], np.bincount(d, prior), rtol=1e-9
        )


def test_verdict_with_prior_odds_is_the_posterior():
    rng = np.random.default_rng(9)
    for _ in range(150):
        P, v = random_graph(rng)
        W = sets(P)
        odds = np.exp(0.8 * rng.normal(size=len(v)))
        price = np.minimum(odds / 9, 0.9)
        p = np.prod(np.where(W != v, price, 1.0), 1)
        p = p / p.sum()
        rel = rng.random(len(v)) < 0.7
        out = verdict(P, v, 0.1, None, odds=odds, relevant=rel, max_states=5000)
        assert math.isclose(
            out.confidence,
            max(p[(W[:, rel] == w[rel]).all(1)].sum() for w in W),
            rel_tol=1e-9,
        )
        np.testing.assert_allclose(out.p_wrong(), p @ (W != v), atol=1e-12)


def test_refutable_rivals_against_brute_force():
    rng = np.random.default_rng(10)
    cases = 0
    for _ in range(300):
        P, v = random_graph(rng, mmax=8)
        n = int(P.max()) + 1
        if len(set(blocks(n, P))) > 1:
            continue
        rel = rng.random(len(v)) < 0.7
        if not rel.any():
            continue
        W = sets(P)
        p = (0.1 / 0.9) ** (W != v).sum(1)
        p = p / p.sum()
        out = verdict(P, v, 0.1, None, relevant=rel, max_states=5000)
        ok = nc.open_to_ask(out, {tuple(sorted(q)) for q in P.tolist()})
        x = nc.refutable_rivals(out, ok, 5000)
        cases += 1
        I = np.array([implied_brute(n, P, w) for w in W])
        base = implied_brute(n, P, out.value)
        rival = (W[:, rel] != out.value[rel]).any(1)
        B = np.array(
            [
                [
                    p[rival & (I[:, i, j] == -base[i, j])].sum()
                    if ok[i, j] and base[i, j]
                    else 0
                    for j in range(n)
                ]
                for i in range(n)
            ]
        )
        np.testing.assert_allclose(x.against, B, atol=1e-12)
        np.testing.assert_array_equal(x.expected[ok], base[ok])
        seen = np.array([((Iw == -base) & (base != 0) & ok).any() for Iw in I]) & rival
        assert math.isclose(x.confidence, 1 - p[seen].sum(), abs_tol=1e-9)
    assert cases > 60


def test_questions_stop_when_nothing_can_be_refuted():
    c = Constraints([0], [1], [-1], n_samples=2)
    out = ConstraintVerifier(0.1).verify(c, oracle=lambda q: pytest.fail("asked"))
    assert math.isclose(out.confidence, 0.9) and out.redundant == []
    c = Constraints([0, 0], [1, 2], [1, -1], n_samples=3)
    y = [0, 0, 1]
    out = ConstraintVerifier(0.1).verify(c, oracle=lambda q: 1 if y[q.a] == y[q.b] else -1)
    assert [(w.a, w.b, w.expected) for w in out.redundant] == [(1, 2, -1)]


def test_prior_learns_from_answers_with_the_noise_taken_off():
    for nu in (0.0, 0.1):
        for same in (30, 50, 65):
            w = nc.fit_same(
                np.ones((100, 1)), np.repeat([1, -1], [same, 100 - same]), nu, 1e-9
            )
            assert math.isclose(
                1 / (1 + math.exp(-w[0])), (same / 100 - nu) / (1 - 2 * nu), abs_tol=1e-6
            )
    rng = np.random.default_rng(0)
    F = np.c_[np.ones(4000), rng.normal(size=4000)]
    true = rng.random(4000) < 1 / (1 + np.exp(-(0.5 - 1.5 * F[:, 1])))
    said = np.where(true ^ (rng.random(4000) < 0.1), 1, -1)
    w = nc.fit_same(F, said, 0.1)
    assert (
        np.abs(w - [0.5, -1.5]).max() < 0.2
        and np.abs(nc.fit_same(F, said, 0.0) - [0.5, -1.5]).max() > 0.4
    )
    p = 0.1 + 0.8 / (1 + np.exp(-F @ w))
    z = (p - 0.1) / 0.8
    g = F.T @ (0.8 * z * (1 - z) * np.where(said > 0, 1 / p, -1 / (1 - p))) - w
    assert np.abs(g).max() < 1e-3
    assert (
        nc.fit_same(np.eye(2), np.array([1, -1]), 0.1)
        == -nc.fit_same(np.eye(2), np.array([-1, 1]), 0.1)
    ).all()
    assert np.isfinite(nc.fit_same(np.full((50, 1), 30.0), np.ones(50), 0.0)).all()


def test_distance_counts_as_prior():
    "Near rows said to differ are doubted more; scale and metric do not matter."
    from sklearn.metrics import pairwise_distances

    X, y = blobs()
    fit = lambda Z, **kw: NCOBRAS(noise=0.1, random_state=0, **kw).fit(
        Z, oracle=NoisyOracle(y, 0.1, random_state=1), budget=60
    )
    a, b = fit(X), fit(1000 * X)
    odds_a, odds_b = a.state_.odds, b.state_.odds
    assert odds_a.keys() == odds_b.keys()
    assert np.allclose([odds_a[k] for k in odds_a], [odds_b[k] for k in odds_a])
    D = pairwise_distances(X)
    c = fit(D, metric="precomputed")
    same, other = a.state_, c.state_
    other.part, other.group = same.part, same.group
    assert np.allclose(a._features(same, 0, 1), c._features(other, 0, 1))
    assert a._features(same, 0, 3)[3] < a._features(same, 0, 1)[3]
    fit(np.zeros((90, 2)) + (np.arange(90) == 0)[:, None])  # repeated rows


def test_prior_doubts_what_is_surprising():
    X, y = blobs()
    a = NCOBRAS(noise=0.1, random_state=0).fit(
        X, oracle=NoisyOracle(y, 0.1, random_state=1), budget=60
    )
    b = NCOBRAS(noise=0.1, form=NcobrasForm(prior="uniform"), random_state=0).fit(
        X, oracle=NoisyOracle(y, 0.1, random_state=1), budget=60
    )
    odds = a.state_.odds
    assert odds and not b.state_.odds and len({o > 1 for o in odds.values()}) == 2
    with pytest.raises(ValueError, match="learned"):
        NCOBRAS(form=NcobrasForm(prior="x")).start(X)


@pytest.mark.parametrize("strategy", ["npu", "min-max", "explore-consolidate"])
def test_verifier_wraps_query_strategies(strategy):
    from csc_nb.queries import ActiveClusterer

    X, y = blobs(45)
    inner = ActiveClusterer(strategy, n_clusters=3)
    a = VerifiedLearner(inner, 0.1, batch=8, random_state=0).fit(
        X, oracle=NoisyOracle(y, 0.1, random_state=2), budget=30
    )
    assert a.n_queries_ == 30 and a.redundant_ and a.labels_.shape == (45,)
    kept = {(*q.key, v) for q, v in a.answers_}
    assert {tuple(r) for r in a.overruled_.tolist()} <= kept


def test_precomputed_distances():
    from sklearn.metrics import adjusted_rand_score as ari, pairwise_distances

    X, y = blobs()
    a = NCOBRAS(noise=0.05, metric="precomputed", random_state=0).fit(
        pairwise_distances(X), oracle=NoisyOracle(y, 0.05, random_state=0), budget=80
    )
    assert ari(y, a.labels_) > 0.7


def test_much_noise_never_stops_a_run():
    X, _ = blobs(40)
    y = np.arange(40) % 5
    for noise in (0.2, 0.35):
        a = NCOBRAS(noise=noise, random_state=0).fit(
            X, oracle=NoisyOracle(y, noise, random_state=0), budget=120
        )
        assert a.n_queries_ == 120 and 0 < a.confidence_ <= 1 + 1e-9


@pytest.mark.parametrize("method", ["NCOBRAS", "NPU-MPCK", "NPU-COSC"])
def test_driver_of_the_paper_tasks(method, monkeypatch):
    "One short run of benchmarks/run_ncobras.py; NPU sees training rows of the pool only."
    from pathlib import Path

    folder = Path(__file__).resolve().parent.parent / "benchmarks"
    if not folder.exists():
        pytest.skip("needs the repository")
    monkeypatch.syspath_prepend(str(folder))
    import run_ncobras as driver

    monkeypatch.setattr(driver, "AT", [10, 20])
    monkeypatch.setattr(driver, "POOL", 40)
    X, y = blobs()
    r = driver.one("blobs", X, y, method, 0.0, 0, 0)
    curve = [float(v) for v in r["curve"].split()]
    assert (
        set(r) == set(driver.FIELDS)
        and r["answers"] == 20
        and len(curve) == 2
        and max(curve) > 0.5
    )
    if method == "NCOBRAS":
        assert r == {
            **driver.one("blobs", X, y, method, 0.0, 0, 0),
            "seconds": r["seconds"],
        }


def lying_learner(seed=0, **rules):
    "A run on three clear blobs, one answer in ten wrong."
    X, y = blobs(90, seed)
    person = NoisyOracle(y, 0.1, random_state=seed)
    form = NcobrasForm(**rules)
    return X, y, NCOBRAS(noise=0.1, form=form, random_state=seed), person


def listed(P, v, order, rho):
    "Consistent sets with few flips over all answers, and their weights."
    W = sets(P)
    d = (W != v).sum(1)
    keep = d <= d.min() + order
    return W[keep], rho ** d[keep]


@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_order_over_all_answers_against_brute_force(order):
    "Confidence, best set, ties and implied masses when flips are counted over all blocks."
    rng = np.random.default_rng(order)
    coupled = 0
    for _ in range(60):
        P, v = random_graph(rng, nmax=8, mmax=9)
        n = int(P.max()) + 1
        rel = rng.random(len(v)) < 0.7
        W, w = listed(P, v, order, 1 / 9)
        out = verdict(P, v, 0.1, order, order_over="all", relevant=rel, max_states=5000)
        groups = {}
        for x, weight in zip(W[:, rel], w):
            groups[tuple(x)] = groups.get(tuple(x), 0) + weight
        mine = groups[tuple(out.value[rel])]
        assert math.isclose(mine, max(groups.values()), rel_tol=1e-9)
        assert math.isclose(out.confidence, mine / w.sum(), rel_tol=1e-9)
        ties = sum(math.isclose(g, mine, rel_tol=1e-9) for g in groups.values())
        assert out.n_best == ties
        coupled += len(set(blocks(n, P))) > 1
        M, C = out.tables()
        I = np.array([implied_brute(n, P[rel], x[rel]) for x in W])
        off = ~np.eye(n, dtype=bool)
        p = w / w.sum()
        np.testing.assert_allclose(M[off], np.tensordot(p, I == 1, 1)[off], atol=1e-9)
        np.testing.assert_allclose(C[off], np.tensordot(p, I == -1, 1)[off], atol=1e-9)
    assert coupled > 15


def test_the_two_orders_differ_where_there_are_bridges():
    P, v = [(0, 1), (2, 3), (4, 5)], [1, 1, -1]
    rho = 1 / 9
    over_all = verdict(P, v, 0.1, 1, order_over="all").confidence
    assert math.isclose(over_all, 1 / (1 + 3 * rho))
    assert math.isclose(verdict(P, v, 0.1, 1).confidence, 0.9**3)
    assert math.isclose(verdict(P, v, 0.1, None, order_over="all").confidence, 0.9**3)


def test_a_correction_repeats_the_merge():
    "With `_verify` always False the merge is never repeated: lies stay in the clustering."
    from sklearn.metrics import adjusted_rand_score as ari

    class Deaf(NCOBRAS):
        def _verify(self, state):
            yield from super()._verify(state)
            return False

    score = {NCOBRAS: [], Deaf: []}
    for seed in range(5):
        X, y = blobs(90, seed)
        for c, got in score.items():
            person = NoisyOracle(y, 0.1, random_state=seed)
            got.append(
                ari(y, c(0.1, random_state=seed).fit(X, oracle=person, budget=60).labels_)
            )
    assert np.mean(score[NCOBRAS]) > np.mean(score[Deaf]) + 0.03


def test_after_a_finished_round_the_clusters_follow_the_belief():
    "Every answer in use is kept by the clustering, whatever was said first."
    repeated = 0
    for seed in range(3):
        X, y, est, person = lying_learner(seed)
        est.start(X)
        last = 0
        for _ in range(70):
            est.tell(est.ask(), person(est.ask()))
            if est.n_iter_ > last:
                last = est.n_iter_
                conf, belief = est.verified_[-1]
                z = est.labels_
                reps = {s.rep for s in est.super_instances_}
                for (i, j), v in belief.items():
                    if v and i in reps and j in reps and est.state_.known[i, j] == v:
                        assert (z[i] == z[j]) == (v > 0), (seed, i, j, v)
        repeated += len(est.verified_) > est.n_iter_
    assert repeated >= 1


@pytest.mark.parametrize("after", ["join_known", "merge_again"])
def test_the_repeated_merge_uses_the_corrected_answers(after):
    "A lie that is found out does not decide: it alone is overruled, and reversed."
    from sklearn.metrics import adjusted_rand_score as ari

    X, y = blobs(60)
    found, score = 0, []
    for lie in range(2, 8):
        told = []

        def person(q):
            right = 1 if y[q.a] == y[q.b] else -1
            told.append(q)
            return -right if len(told) == lie + 1 else right

        form = NcobrasForm(after_correction=after)
        est = NCOBRAS(0.05, form=form, random_state=0)
        est.fit(X, oracle=person, budget=35)
        wrong = told[lie]
        score.append(ari(y, est.labels_))
        if [tuple(r[:2]) for r in est.overruled_.tolist()] == [wrong.key]:
            found += 1
            assert est.suspects_.tolist() == [lie]
            truth = 1 if y[wrong.a] == y[wrong.b] else -1
            assert est.state_.known[wrong.key] == truth
    assert found >= 3 and np.mean(score) > 0.8


def test_merge_again_asks_what_join_known_does_not():
    n = {"join_known": 0, "merge_again": 0}
    for seed in range(4):
        for after in n:
            X, y, est, person = lying_learner(seed, after_correction=after)
            est.fit(X, oracle=person, budget=60)
            n[after] += len(est.super_instances_)
    assert n["join_known"] != n["merge_again"]


def test_published_shows_only_what_is_merged_and_verified():
    X, y = blobs(60)
    est = NCOBRAS.as_published(noise=0.1, random_state=0).start(X)
    person = NoisyOracle(y, 0.1, random_state=1)
    before, checks = est.labels_.copy(), 0
    rounds = 0
    for _ in range(50):
        est.tell(est.ask(), person(est.ask()))
        if est.n_iter_ == rounds:
            np.testing.assert_array_equal(est.labels_, before)
        rounds, before = est.n_iter_, est.labels_.copy()
        checks = len(est.redundant_)
    assert rounds > 1 and checks > 5


def test_published_is_none_of_ours():
    est = NCOBRAS.as_published(noise=0.1)
    assert (est.noise, est.confidence, est.repeat) == (0.1, 0.95, 1)
    ours, paper = NcobrasForm().get_params(), est.form.get_params()
    assert paper == dict(
        order=3,
        order_over="all",
        check_by="printed",
        prior="uniform",
        after_correction="merge_again",
        max_states=200_000,
        beyond_cap="drop",
        neighbours=None,
        finish="super_instances",
        plain_beyond=None,
        show="verified",
        n_start=None,
        split_by="largest",
        representative="central",
    )
    assert all(ours[k] != paper[k] for k in ours)
    assert NCOBRAS.as_published().noise == 0.05 and NCOBRAS().noise == "estimate"


def test_answers_of_a_coin_end_in_a_clustering_without_them():
    "Where answers carry nothing they choose among plain clusterings, and only that."
    from sklearn.metrics import adjusted_rand_score as ari

    X, y = blobs(n=120)

    def after(est, seed):
        coin = np.random.default_rng(seed)
        return est.fit(X, oracle=lambda q: bool(coin.random() < 0.5), budget=120)

    shown, torn = [], []
    for seed in (3, 4, 5):
        est = after(NCOBRAS(random_state=0), seed)
        assert est.plain_ and est.noise_ > 1 / 6
        plain = nc.plain_clusterings(est.state_.space, est.state_.neighbours, 120)
        assert any((est.labels_ == z).all() for z in plain)
        shown.append(ari(y, est.labels_))
        trusting = after(NCOBRAS(0.05, random_state=0), seed)
        assert not trusting.plain_
        torn.append(ari(y, trusting.labels_))
    assert np.mean(shown) > np.mean(torn)
    form = NcobrasForm(plain_beyond=None)
    never = after(NCOBRAS(random_state=0, form=form), 3)
    assert not never.plain_ and never.noise_ > 1 / 6


def test_right_answers_teach_that_nobody_errs():
    from sklearn.metrics import adjusted_rand_score as ari

    X, y = blobs(n=120)
    est = NCOBRAS(random_state=0).fit(X, oracle=NoisyOracle(y), budget=60)
    assert not est.plain_ and est.noise_ <= 0.05 and ari(y, est.labels_) > 0.95


def test_the_plain_clustering_is_the_one_that_fewest_answers_contradict():
    from sklearn.metrics import adjusted_rand_score as ari
    from csc_nb.cobras import DistanceSpace, VectorSpace

    X, y = blobs(n=60)
    D = np.sqrt(((X[:, None] - X) ** 2).sum(-1))
    rng = np.random.default_rng(0)
    log = [((i, j), 1 if y[i] == y[j] else -1) for i, j in rng.integers(60, size=(30, 2))]
    log += [((0, 1), 0)]
    for space in (VectorSpace(X), DistanceSpace(D)):
        near = nc.Neighbours(space, 60)
        for graph, views in ((near, 2), (None, 1)):
            found = nc.plain_clusterings(space, graph, 60)
            assert len(found) == 7 * views and found[0].max() == 1
            wrong = [
                sum(a != 0 and (z[i] == z[j]) != (a > 0) for (i, j), a in log)
                for z in found
            ]
            best = nc.least_contradicted(found, log)
            assert (best == found[wrong.index(min(wrong))]).all()
            assert ari(y, best) > 0.9
    many = nc.plain_clusterings(VectorSpace(np.tile(X, (3, 1))), None, 180, sample=50)
    assert all(len(z) == 180 for z in many)
    assert max(ari(np.tile(y, 3), z) for z in many) > 0.9


def test_verification_stops_when_sure_and_asks_when_not():
    "Algorithm 1: while confidence < α, ask; the questions are redundant."
    log = [((0, 1), 1), ((1, 2), 1)]
    for alpha, asks in ((0.8, 0), (0.95, 1)):
        ver = ConstraintVerifier(0.1, alpha, check_by="printed")
        belief, reasons = {}, []
        gen = ver.questions(list(log), belief, reasons=reasons)
        asked = []
        try:
            q = next(gen)
            while True:
                asked.append(q.key)
                q = gen.send(1)
        except StopIteration as end:
            v = end.value
        assert len(asked) == asks and asked == [(0, 2)][:asks]
        assert len(reasons) == asks
        assert v.confidence >= alpha or asks


def last_verdict(gen, answer=1):
    "Run a generator of questions with one answer to all; its verdict and the questions."
    asked = []
    try:
        q = next(gen)
        while True:
            asked.append(q.key)
            q = gen.send(answer)
    except StopIteration as end:
        return end.value, asked


def test_only_relevant_answers_are_verified():
    "Section 4: an answer about an old representative is summed out, not checked."
    log = [((0, 1), 1), ((5, 6), 1), ((6, 7), 1)]
    ver = ConstraintVerifier(0.05, 0.9, check_by="printed")
    v, asked = last_verdict(ver.questions(list(log), {}, nodes=[0, 1]))
    assert asked == [] and math.isclose(v.confidence, 0.95)
    v, asked = last_verdict(ver.questions(list(log), {}, nodes=[5, 6, 7]))
    assert asked == [] and math.isclose(v.confidence, 0.95**2)
    ver = ConstraintVerifier(0.05, 0.99, check_by="printed")
    v, asked = last_verdict(ver.questions(list(log), {}, nodes=[5, 6, 7]))
    assert asked == [(5, 7)] and v.confidence > 0.99


def test_prior_is_learned_before_each_check():
    X, y, est, person = lying_learner(1)
    est.fit(X, oracle=person, budget=40)
    state = est.state_
    at = list(state.odds)
    F = np.array([state.seen[t] for t in at])
    said = np.array([state.log[t][1] for t in at])
    assert at and np.all(np.isfinite([state.odds[t] for t in at]))
    far = [
        state.odds[t] for t, f, s in zip(at, F, said) if s > 0 and f[3] > np.median(F[:, 3])
    ]
    near = [
        state.odds[t] for t, f, s in zip(at, F, said) if s > 0 and f[3] < np.median(F[:, 3])
    ]
    assert np.mean(far) > np.mean(near)


def test_undo_goes_back_to_a_snapshot():
    X, y, est, person = lying_learner(2)
    est.start(X)
    seen = []
    for _ in range(50):
        seen.append((est.ask(), est.labels_.copy(), est.confidence_))
        est.tell(est.ask(), person(est.ask()))
    for k in (49, 40, 27, 8):
        est.undo(est.n_queries_ - k)
        q, z, c = seen[k]
        assert est.ask() == q and est.confidence_ == c
        np.testing.assert_array_equal(est.labels_, z)


def test_a_copy_of_the_state_shares_nothing_that_grows():
    X, y, est, person = lying_learner(2)
    est.fit(X, oracle=person, budget=25)
    state = est.state_
    twin = state.copy()
    grows = [f.name for f in fields(state)]
    grows = [n for n in grows if isinstance(getattr(state, n), (list, dict, set))]
    assert {"log", "odds", "seen", "redundant", "verified", "known"} <= set(grows)
    shared = [n for n in grows if getattr(twin, n) is getattr(state, n)]
    assert shared == [] and twin.log == state.log and len(twin.log) >= 25


def test_suspicion_counts_answers_nobody_asked_for():
    from csc_nb.oracles import Pair

    X, y, est, person = lying_learner(0)
    est.fit(X, oracle=person, budget=20)
    known = {q.key for q, _ in est.answers_}
    i, j = next(p for p in combinations(range(90), 2) if p not in known)
    est.hear(Pair(i, j), "unsure")
    assert len(est.suspicion_) == 21 and est.suspicion_[-1] == 0
    assert (est.suspicion_ >= 0).all() and (est.suspicion_ <= 1).all()


def test_names_of_the_last_release_still_count():
    X, y = blobs(45)
    with pytest.warns(FutureWarning, match="check_by"):
        a = NCOBRAS(choice="improved", random_state=0)
    b = NCOBRAS(form=NcobrasForm(check_by="gain"), random_state=0)
    for est in (a, b):
        est.fit(X, oracle=NoisyOracle(y, 0.1, random_state=0), budget=30)
    assert [q for q, _ in a.answers_] == [q for q, _ in b.answers_]


@pytest.mark.parametrize("batch", [4, 9])
def test_wrapper_verifies_after_each_batch(batch):
    "The first redundant question comes after whole batches; corrections are replayed."
    X, y = blobs(12)
    replayed = 0
    for seed in range(3):
        person = NoisyOracle(y, 0.15, random_state=seed)
        est = VerifiedLearner(RandomPairLearner(3), 0.1, batch=batch, random_state=seed)
        est.start(X)
        for _ in range(40):
            if est.ask() is None:
                break
            est.tell(est.ask(), person(est.ask()))
            state = est.state_
            if 0 < state.new < batch:  # between two checks
                told = {q.key: a for q, a in state.talk.record}
                assert all(state.known[k] == a for k, a in told.items())
                said = dict(state.log)
                replayed += any(said[k] != a for k, a in told.items())
        assert est.redundant_ and est.redundant_[0].number % batch == 0
    assert replayed


def test_wrapper_keeps_the_learner_clean():
    inner = RandomPairLearner(3)
    X, y = blobs()
    est = VerifiedLearner(inner, random_state=0)
    est.fit(X, oracle=NoisyOracle(y, random_state=0), budget=12)
    assert not hasattr(inner, "_X") and not hasattr(inner, "_talk")


@pytest.mark.parametrize(
    "kw, text",
    [
        (dict(noise=0.5), "below 0.5"),
        (dict(confidence=1.0), "between 0 and 1"),
        (dict(order=1.5), "at least"),
        (dict(max_states=0), "max_states"),
        (dict(repeat=0), "repeat"),
        (dict(check_by="x"), "refutable"),
        (dict(order_over="x"), "block"),
    ],
)
def test_verifier_refuses_bad_numbers(kw, text):
    with pytest.raises(ValueError, match=text):
        ConstraintVerifier(**kw)


def test_the_cheapest_sets_are_listed_when_there_is_no_room_for_all():
    "A full list once kept the sets that were found first, and lost the best."
    rng = np.random.default_rng(3)
    lost = 0
    for _ in range(20):
        n = 7
        P = np.array([(i, j) for i in range(n) for j in range(i)])
        v = rng.choice([-1, 1], len(P))
        every, price = Block(P[:, 0], P[:, 1], v, order=2).worlds(5000)
        few = max(2, len(price) // 3)
        V, d = Block(P[:, 0], P[:, 1], v, order=2).worlds(few)
        assert len(d) == few and sorted(d) == sorted(price)[:few]
        assert len({w.tobytes() for w in V}) == few
        lost += len(price) > few
    assert lost == 20


@pytest.mark.parametrize("make", [NCOBRAS, VerifiedLearner])
def test_nothing_is_stated_before_an_answer(make):
    X, y = blobs()
    est = make(noise=0.1, random_state=0).start(X)
    assert np.isnan(est.confidence_) and not est.exact_
    est.tell(est.ask(), "different")
    assert est.confidence_ == pytest.approx(0.9) and est.exact_  # one answer: 1 − ν
    silent = make(noise=0.1, random_state=0)
    silent.fit(X, oracle=lambda q: 0, budget=25)
    assert np.isnan(silent.confidence_) and not silent.exact_
    assert not getattr(silent, "verified_", [])
    nobody = ConstraintVerifier(0.1).verify(Constraints([0], [1], ["unsure"]), 3)
    assert np.isnan(nobody.confidence) and not nobody.exact


def test_the_confidence_is_that_of_the_answers_in_use_now():
    "Between two checks too: answers that came since are counted, by another sum."
    X, y, est, person = lying_learner(4, prior="uniform", neighbours=None, max_states=5000)
    est.start(X)
    stale = fresh = 0
    for _ in range(26):
        est.tell(est.ask(), person(est.ask()))
        s = est.state_
        reps = {x.rep for x in est.super_instances_}
        if s.looked == (len(s.log), tuple(s.reps)):
            fresh += 1
            assert est.confidence_ == s.confidence
        every = [(k, a) for k, a in s.log if a]
        if s.looked and len(every) <= 14:
            P, v = np.array([k for k, _ in every]), np.array([a for _, a in every])
            P = np.unique(P, return_inverse=True)[1].reshape(-1, 2)
            rel = np.array([set(k) <= reps for k, _ in every])
            if not rel.any():
                assert np.isnan(est.confidence_)
                continue
            W = brute(int(P.max()) + 1, P)
            p = (1 / 9) ** (W != v).sum(1)
            _, group = np.unique(W[:, rel], axis=0, return_inverse=True)
            best = np.bincount(group.ravel(), p).max() / p.sum()
            assert est.confidence_ == pytest.approx(best)
            stale += len(s.log) > s.looked[0]
    assert stale >= 2 and fresh >= 1


def test_rules_were_parameters_and_still_count():
    "Twenty parameters became eight; single rules work for one release."
    from sklearn.base import clone

    assert len(NCOBRAS().get_params(deep=False)) == 8
    with pytest.warns(FutureWarning, match=r"form=NcobrasForm\(beyond_cap='drop'"):
        a = NCOBRAS(0.1, 0.9, beyond_cap="drop", order=3)
    with pytest.warns(FutureWarning, match="order=3"):
        b = NCOBRAS(0.1, 0.9, 3)
    with pytest.warns(FutureWarning, match="order=2"):
        b.set_params(order=2, noise=0.2)
    with pytest.warns(FutureWarning, match="form.order"):
        assert a.order == 3
    assert a.form.get_params() == NcobrasForm(beyond_cap="drop", order=3).get_params()
    assert (b.noise, b.form.order, b.form.beyond_cap) == (0.2, 2, "sample")
    c = NCOBRAS().set_params(form__split_by="largest")
    assert c.form.split_by == clone(c).form.split_by == "largest"
    paper = NCOBRAS.as_published(max_states=7, noise=0.2)
    assert (paper.form.max_states, paper.noise) == (7, 0.2)
    with pytest.raises(TypeError, match="cut_by"):
        NCOBRAS(cut_by="doubt")
    with pytest.raises(ValueError, match="form"):
        NCOBRAS(form="published").start(blobs()[0])


def test_the_program_differs_from_the_print_in_one_rule():
    a, b = (
        f(noise=0.1).get_params() for f in (NCOBRAS.as_published, NCOBRAS.as_programmed)
    )
    assert {k for k in a if a[k] != b[k]} == {"form", "form__check_by"}


def test_the_program_refutes_the_rivals_of_fewest_flips_first():
    "By enumeration: no open pair speaks against more mass of the nearest rivals."
    from csc_nb.ncobras import choose_pair, open_to_ask

    rng = np.random.default_rng(1)
    asked = 0
    for _ in range(30):
        n, nu = 6, 0.15
        P = np.array([(i, j) for i in range(n) for j in range(i)])
        P = P[rng.permutation(len(P))[:9]]
        v = verdict(
            P, rng.choice([-1, 1], len(P)), nu, None, order_over="all", max_states=5000
        )
        said = {tuple(sorted(map(int, p))) for p in P}
        why = choose_pair(v, said, "lowest_order", confidence=0.999)
        if why is None or len(v.parts) > 1:
            continue
        b, best = v.parts[0].block, v.value
        V, d = b.worlds()
        rho = nu / (1 - nu)

        def says(w):
            comp = list(range(n))
            for e in np.flatnonzero(w == 1):
                i, j = comp[b.a[e]], comp[b.b[e]]
                comp = [i if c == j else c for c in comp]
            apart = {
                frozenset((comp[b.a[e]], comp[b.b[e]])) for e in np.flatnonzero(w == -1)
            }
            same = lambda i, j: comp[i] == comp[j]
            far = lambda i, j: frozenset((comp[i], comp[j])) in apart
            return {(i, j): 1 if same(i, j) else -1 if far(i, j) else 0
                    for i in range(n) for j in range(i + 1, n)}  # fmt: skip

        mine = says(v.parts[0].judged.best)
        ok = open_to_ask(v, said)
        against = {}
        for w, price in zip(V, d):
            other = says(w)
            for k in mine:
                if ok[k] and mine[k] * other[k] == -1:
                    against.setdefault(int(price), {}).setdefault(k, 0)
                    against[int(price)][k] += rho**price
        least = against[min(against)]
        place = {r: i for i, r in enumerate(v.nodes.tolist())}
        chosen = tuple(sorted((place[why.a], place[why.b])))
        assert least[chosen] >= max(least.values()) * (1 - 1e-6)
        asked += 1
    assert asked > 5


def test_drawn_sets_follow_the_listed_distribution():
    rng = np.random.default_rng(0)
    for _ in range(14):
        P, v = random_graph(rng, nmax=7, mmax=9)
        W, rho = sets(P), rng.uniform(0.1, 0.6)
        p = np.where(W != v, rho, 1).prod(1)
        p = p / p.sum()
        S = nc.sample_sets(*P.T, -v * np.log(rho), W[0], burn=100, keep=30000, seed=1)
        number = {w.tobytes(): i for i, w in enumerate(W)}
        share = np.bincount([number[s.tobytes()] for s in S], minlength=len(W)) / len(S)
        assert np.abs(share - p).sum() / 2 < 0.035


def test_drawn_verdict_is_near_the_exact_one():
    rng = np.random.default_rng(11)
    off, drawn = [], 0
    for _ in range(60):
        P, v = random_graph(rng, nmax=8, mmax=12)
        odds = np.exp(0.5 * rng.normal(size=len(v)))
        rel = rng.random(len(v)) < 0.7
        how = dict(odds=odds, relevant=rel)
        a = verdict(P, v, 0.2, None, max_states=5000, **how)
        b = verdict(P, v, 0.2, None, max_states=1, beyond_cap="sample", **how)
        assert a.exact
        drawn += not b.exact
        np.testing.assert_allclose(b.p_wrong(), a.p_wrong(), atol=0.2)
        same = (a.value == b.value)[rel].all()
        off.append(a.confidence - b.confidence if same else a.confidence - 0.5)
        assert same or a.confidence < 0.5
    off = np.array(off)
    assert np.abs(off).mean() < 0.02 and abs(off.mean()) < 0.01 and drawn > 15


def test_only_a_verdict_that_counts_all_sets_is_exact():
    g = toy_graph(8, 3, 14, n_lies=2, random_state=0)
    how = dict(noise=0.1, max_states=5000)
    assert verdict(g.pairs, g.value, order=None, **how).exact
    assert not verdict(g.pairs, g.value, order=2, **how).exact
    assert not verdict(g.pairs, g.value, order=None, noise=0.1, max_states=5).exact


def test_noise_is_estimated_from_drawn_sets_as_from_listed_ones():
    for lies in (0, 4, 9):
        g = toy_graph(12, 3, 45, n_lies=lies, random_state=1)
        exact = verdict(g.pairs, g.value, "estimate", None, max_states=20000)
        drawn = verdict(
            g.pairs, g.value, "estimate", None, max_states=2, beyond_cap="sample"
        )
        assert abs(exact.noise - drawn.noise) < 0.03


def test_nearness_along_the_data_is_the_truncated_series():
    from csc_nb.cobras import VectorSpace

    X = np.random.default_rng(0).normal(size=(40, 3))
    near = nc.Neighbours(VectorSpace(X), 40, 6, stay=0.8, steps=50)
    S = near.S.toarray()
    np.testing.assert_allclose(S, S.T)
    K = np.linalg.inv(np.eye(40) - 0.8 * S)
    rows = [3, 17, 21]
    np.testing.assert_allclose(near.flow(rows), K[:, rows], atol=1e-4)
    own = np.sqrt(np.diag(K)[rows])
    want = K[np.ix_(rows, rows)] / own[:, None] / own
    np.testing.assert_allclose(near.nearness(rows), want, atol=1e-4)
    from csc_nb.cobras import DistanceSpace

    D = np.sqrt(((X[:, None] - X) ** 2).sum(2))
    flat = nc.Neighbours(DistanceSpace(D), 40, 6, stay=0.8, steps=50)
    np.testing.assert_allclose(flat.S.toarray(), S, atol=1e-9)


def test_the_finish_trusts_who_finds_the_representatives():
    rng = np.random.default_rng(0)
    lab = np.arange(12) % 2
    reps, home = np.arange(12) * 5, np.arange(60) // 5
    truth = rng.integers(2, size=60)
    truth[reps] = lab
    good = 0.9 * (truth[:, None] == lab) + 0.1
    blind = np.ones((60, 12))
    far_right = 1.0 * (lab[:, None] != lab)
    far_wrong = 1.0 * (lab[:, None] == lab)
    np.testing.assert_array_equal(nc.blended(good, reps, far_wrong, home, lab), truth)
    out = nc.blended(blind, reps, far_right, home, lab)
    np.testing.assert_array_equal(out, lab[home])
    np.testing.assert_array_equal(nc.blended(good, reps, far_right, home, lab)[reps], lab)


def test_an_answer_is_judged_by_a_fit_to_the_others():
    rng = np.random.default_rng(0)
    F = np.c_[np.ones(40), rng.normal(size=40)]
    said = np.where(rng.random(40) < 0.5, 1, -1)
    est = NCOBRAS()
    before = est._same(F, said, 0.1)
    for t in (0, 13, 39):
        other = said.copy()
        other[t] *= -1
        after = est._same(F, other, 0.1)
        assert np.isclose(after[t], before[t], atol=1e-5)
        assert not np.allclose(after, before, atol=1e-3)


def test_learner_with_neighbours_finds_rings():
    from sklearn.metrics import adjusted_rand_score as ari

    rng = np.random.default_rng(0)
    y = np.arange(160) % 2
    angle = rng.uniform(0, 2 * np.pi, 160)
    r = np.where(y, 3, 1) + 0.15 * rng.normal(size=160)
    X = np.c_[r * np.cos(angle), r * np.sin(angle)]
    score = {}
    for k in (10, None):
        found = [
            NCOBRAS(0.1, form=NcobrasForm(neighbours=k), random_state=s)
            .fit(X, oracle=NoisyOracle(y, 0.1, random_state=s), budget=40)
            .labels_
            for s in range(4)
        ]
        score[k] = np.mean([ari(y, z) for z in found])
    assert score[10] > score[None] + 0.05


def test_neighbours_know_precomputed_distances_and_few_rows():
    X, y = blobs(30)
    D = np.sqrt(((X[:, None] - X) ** 2).sum(2))
    est = NCOBRAS(0.1, metric="precomputed", random_state=0)
    assert est.fit(D, oracle=NoisyOracle(y), budget=20).n_clusters_ >= 3
    for n in (1, 2, 3):
        few = NCOBRAS(0.1, random_state=0).fit(X[:n], oracle=NoisyOracle(y[:n]), budget=5)
        assert len(few.labels_) == n
    same = np.zeros((12, 2))
    est = NCOBRAS(0.1, random_state=0).fit(same, oracle=NoisyOracle(y[:12]), budget=8)
    assert len(est.labels_) == 12


def test_published_form_does_not_know_the_departures():
    form = NCOBRAS.as_published().form
    got = form.order, form.beyond_cap, form.neighbours, form.finish
    assert got == (3, "drop", None, "super_instances")
    assert NCOBRAS.as_programmed().form.beyond_cap == "drop"
    with pytest.raises(ValueError, match="order_over='all'"):
        NCOBRAS(form=NcobrasForm(order_over="all")).fit(
            blobs()[0], oracle=NoisyOracle(blobs()[1])
        )
