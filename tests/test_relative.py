"""Chapter 11: tables, bound, gradient, noise, estimator, information, search."""

import json
import warnings
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp
from sklearn import config_context
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from csc_nb.constraints import Constraints, Triplets
from csc_nb.datasets import load, toy_links
from csc_nb.metrics import ari, constraint_scorer
from csc_nb.oracles import BIRDSONG_PAIRS, BIRDSONG_TRIPLES
from csc_nb.relative import (
    OTHERS,
    SEEN,
    DiscriminativeClustering,
    OnAnswers,
    Rows,
    _m_value,
    answer_rows,
    answers_kept,
    best_eps,
    best_table,
    bound,
    case_probs,
    compatibility,
    count_table,
    dc_init,
    dc_step,
    elbo,
    fast_mean_field,
    incidence,
    information,
    m_value,
    make_asked,
    make_noise,
    make_problem,
    mean_field,
    pair_table,
    question_odds,
    search_answers,
    starts,
    triplet_cases,
    triplet_table,
    update,
    worths,
)
from csc_nb.softmax import logits, num_grad, probs

X, Y = make_blobs(90, centers=[[0, 0], [3, 0], [0, 3]], random_state=0)


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def truth(y):
    "Answer codes of all rows of an (m, 2) or (m, 3) array of labels."
    if y.shape[1] == 2:
        return (y[:, 0] == y[:, 1]).astype(int)
    a, b, c = y.T
    return np.select(
        [(a == b) & (a != c), (a == c) & (a != b), (b == c) & (a != b)], [1, 2, 3], 0
    )


def random_problem(rng, r=5, K=3, mp=5, mt=4, weights=True):
    pairs, triples = (
        [rng.choice(r, k, replace=False) for _ in range(m)] for k, m in ((2, mp), (3, mt))
    )
    w = (rng.uniform(0.5, 2, mp), rng.uniform(0.5, 2, mt)) if weights else (None, None)
    ans = make_asked(pairs, rng.integers(0, 2, mp), triples, rng.integers(0, 4, mt), *w)
    q, logp = (
        probs(2 * rng.normal(size=(len(ans.rows), K)))[1],
        probs(2 * rng.normal(size=(len(ans.rows), K)))[0],
    )
    return ans, q, logp


def joint(logp, ans, RP, RT):
    "All labellings of the rows in I and log P(Y, L) of each."
    r, K = logp.shape
    Ys = np.array(list(product(range(K), repeat=r)))
    L = logp[np.arange(r), Ys].sum(1)
    for rows, l, w in zip(ans.pairs, ans.pair_answer, ans.pair_weight):
        L = L + w * np.log(RP[truth(Ys[:, rows]), l])
    for rows, l, w in zip(ans.triples, ans.triple_answer, ans.triple_weight):
        L = L + w * np.log(RT[truth(Ys[:, rows]), l])
    return Ys, L


def beliefs(q, Ys):
    return np.prod(q[np.arange(len(q)), Ys], 1)


@pytest.mark.parametrize("K", [2, 3, 4])
def test_every_entry_of_tables_3_3_and_3_4(K):
    Q = probs(np.random.default_rng(K).normal(size=(3, K)))[1]
    for i, k in product(range(3), range(K)):
        want = np.zeros(4)
        for ku, kv in product(range(K), repeat=2):
            y = np.zeros((1, 3), int)
            y[0, [i, *OTHERS[i]]] = k, ku, kv
            want[truth(y)[0]] += Q[OTHERS[i][0], ku] * Q[OTHERS[i][1], kv]
        got = np.zeros(4)
        got[SEEN[i]] = triplet_cases(*Q[OTHERS[i]])[k]
        np.testing.assert_allclose(got, want, atol=1e-13)


@pytest.mark.parametrize(
    "tables",
    [
        (pair_table(0.1), triplet_table(0.2)),
        (
            BIRDSONG_PAIRS / BIRDSONG_PAIRS.sum(1, keepdims=True),
            BIRDSONG_TRIPLES / BIRDSONG_TRIPLES.sum(1, keepdims=True),
        ),
    ],
)
def test_bound_and_update_equal_enumeration(tables):
    for seed in range(5):
        ans, q, logp = random_problem(np.random.default_rng(seed))
        Ys, L = joint(logp, ans, *tables)
        Q = beliefs(q, Ys)
        assert elbo(q, logp, ans, *tables) == pytest.approx(Q @ (L - np.log(Q)), abs=1e-9)
        sp, st = worths(tables[0])[0], worths(tables[1])[0]
        got = update(logp, compatibility(q, ans, sp, st), np.zeros_like(q))
        for i in range(len(q)):
            others = Q / q[i, Ys[:, i]]
            want = probs(
                np.array(
                    [others[Ys[:, i] == k] @ L[Ys[:, i] == k] for k in range(q.shape[1])]
                )
            )[1]
            np.testing.assert_allclose(got[i], want, atol=1e-10)


def test_bound_never_falls_in_1000_problems_and_stays_below_the_likelihood():
    rng, together = np.random.default_rng(0), 0
    for _ in range(1000):
        ans, q, logp = random_problem(rng, r=4, mp=3, mt=3)
        R = pair_table(rng.uniform(0.01, 0.5)), triplet_table(rng.uniform(0.01, 0.75))
        exact, inc, p = logsumexp(joint(logp, ans, *R)[1]), incidence(ans), q.copy()
        values, at_once = [elbo(q, logp, ans, *R)], [elbo(q, logp, ans, *R)]
        for _ in range(4):
            fast_mean_field(q, logp, inc, *R)
            values.append(elbo(q, logp, ans, *R))
            p = update(
                logp,
                compatibility(p, ans, worths(R[0])[0], worths(R[1])[0]),
                np.zeros_like(p),
            )
            at_once.append(elbo(p, logp, ans, *R))
        assert np.diff(values).min() > -1e-10 and values[-1] <= exact + 1e-10
        together += np.diff(at_once).min() < -1e-10
    assert together > 20  # updating all rows at once does break it


def test_kernel_equals_formula():
    for seed in range(20):
        ans, q, logp = random_problem(np.random.default_rng(seed), r=9, mp=8, mt=8)
        for RP, RT in (
            (pair_table(0.1), triplet_table(0.3)),
            (pair_table(0.0), triplet_table(0.1)),
            (pair_table(0.0), triplet_table(0.0)),
        ):
            fast = q.copy()
            fast_mean_field(fast, logp, incidence(ans), RP, RT, 2)
            np.testing.assert_allclose(fast, mean_field(q, logp, ans, RP, RT, 2), atol=1e-9)


def test_no_two_rows_of_a_colour_share_an_answer():
    ans, _, _ = random_problem(np.random.default_rng(3), r=30, mp=40, mt=30)
    for rows in list(ans.pairs) + list(ans.triples):
        assert len(set(ans.colour[rows])) == len(rows)


def test_uninformative_noise_makes_answers_irrelevant():
    ans, q, logp = random_problem(np.random.default_rng(0))
    fast_mean_field(q, logp, incidence(ans), pair_table(0.5), triplet_table(0.75))
    np.testing.assert_allclose(q, np.exp(logp), atol=1e-14)
    c, t = (
        Constraints.from_labels(Y, n=40, random_state=0),
        Triplets.from_labels(Y, n=30, random_state=0),
    )
    swap = {"ab": "bc", "bc": "none", "ac": "ab", "none": "ac"}
    other = Triplets(t.a, t.b, t.c, [swap[a] for a in t.answer], n_samples=90)
    fit = lambda **kw: (
        DiscriminativeClustering(3, eps=0.5, eps_triplets=0.75, n_init=1, random_state=0)
        .fit(X, **kw)
        .coef_
    )
    np.testing.assert_allclose(
        fit(constraints=c, triplets=t),
        fit(constraints=c.flip(1.0), triplets=other),
        rtol=1e-6,
        atol=1e-8,
    )


def test_hard_updates():
    "ΔF below the tolerance is a tie, above it decides; hard narrows, soft weighs."
    logp = np.log([[0.2, 0.5, 0.3]])
    q = update(logp, np.zeros((1, 3)), np.array([[1.0, 1 - 1e-12, 0.9]]))
    np.testing.assert_allclose(q, [[2 / 7, 5 / 7, 0]], atol=1e-12)
    q = update(logp, np.array([[1.0, 0, 5.0]]), np.array([[1.0, 1, 0.9]]))
    np.testing.assert_allclose(q[0, :2], np.array([0.2 * np.e, 0.5]) / (0.2 * np.e + 0.5))
    assert q[0, 2] == 0
    rng = np.random.default_rng(0)
    for _ in range(200):
        ans, q, logp = random_problem(rng, r=7, mp=6, mt=6)
        kept = lambda: sum(
            w @ c[np.arange(len(l)), l]
            for c, l, w in zip(
                case_probs(q, ans),
                (ans.pair_answer, ans.triple_answer),
                (ans.pair_weight, ans.triple_weight),
            )
        )
        old = kept()
        for _ in range(3):
            fast_mean_field(q, logp, incidence(ans), pair_table(0.0), triplet_table(0.0))
            assert kept() > old - 1e-8
            old = kept()


def test_hard_answers_are_kept_when_they_can_be():
    rng = np.random.default_rng(0)
    z = np.arange(90) % 3
    Z = np.c_[
        z + rng.uniform(0.2, 0.8, 90), rng.uniform(0, 3, 90)
    ]  # strips with gaps: k-means breaks many of these answers
    c = Constraints.from_labels(z, n=100, random_state=0)
    assert (
        len(
            DiscriminativeClustering(3, eps=0.0, random_state=0)
            .fit(Z, constraints=c)
            .suspects_
        )
        <= 3
    )


@pytest.mark.parametrize("free", ["some", "all", "none"])
def test_gradient(free):
    rng = np.random.default_rng(0)
    Z, W, b = rng.normal(size=(12, 3)), rng.normal(size=(4, 3)), rng.normal(size=4)
    T = np.zeros((12, 4))
    T[:7] = rng.dirichlet(np.ones(4), 7)
    mask = {
        "some": np.arange(12) >= 7,
        "all": np.ones(12, bool),
        "none": np.zeros(12, bool),
    }[free]
    v, G = _m_value(*probs(logits(Z, W, b)), T, mask, 5.0, 0.7)
    w, H = m_value(*probs(logits(Z, W, b)), T, mask, 5.0, 0.7)
    assert v == pytest.approx(w, abs=1e-12)
    np.testing.assert_allclose(G, H, atol=1e-13)
    num = num_grad(lambda W: m_value(*probs(logits(Z, W, b)), T, mask, 5.0, 0.7)[0], W)
    assert np.abs(num - G.T @ Z).max() < 1e-6


def test_noise_in_closed_form():
    rng = np.random.default_rng(0)
    for T, table in ((2, pair_table), (4, triplet_table)):
        C, A = rng.gamma(1, 5, (T, T)) + 20 * np.eye(T), 10 * table(0.1) / T
        grid = np.linspace(1e-3, 0.95 * (1 - 1 / T), 4001)
        assert best_eps(C, A) == pytest.approx(
            grid[np.argmax([((C + A) * np.log(table(e))).sum() for e in grid])], abs=1e-3
        )
        R = best_table(C, A)
        assert all(
            ((C + A) * np.log(R)).sum()
            >= (
                (C + A) * np.log(probs(np.log(R) + 0.1 * rng.normal(size=R.shape))[1])
            ).sum()
            for _ in range(50)
        )
    cases, answer = rng.dirichlet(np.ones(4), 30), rng.integers(0, 4, 30)
    want = np.array([[cases[answer == l, t].sum() for l in range(4)] for t in range(4)])
    np.testing.assert_allclose(count_table(cases, answer, np.ones(30)), want)


@pytest.mark.parametrize("eps", [0.1, "learn", "table"])
@pytest.mark.parametrize("entropy", ["all", "free"])
def test_em_bound_never_falls(eps, entropy):
    c, t = (
        Constraints.from_labels(Y, n=60, noise=0.2, random_state=0),
        Triplets.from_labels(Y, n=50, noise=0.2, random_state=0),
    )
    ans = make_asked(
        np.c_[c.a, c.b], c.value > 0, np.c_[t.a, t.b, t.c], (t.code.astype(int) + 1) % 4
    )
    prob = make_problem(X, ans, 1.0, 2**-8, entropy)
    for w in starts(X, 3, 3, 0):
        s, values = (
            dc_init(prob, *w, make_noise(eps, pair_table), make_noise(eps, triplet_table)),
            [],
        )
        for _ in range(10):
            s = dc_step(s, prob)
            values.append(s.value)
        assert np.diff(values).min() > -1e-9
        assert s.value == pytest.approx(bound(s, prob))


def test_each_kind_learns_its_own_error_rate():
    Z, z = make_blobs(300, centers=[[0, 0], [5, 0], [0, 5]], random_state=1)
    m = DiscriminativeClustering(3, random_state=0).fit(
        Z,
        constraints=Constraints.from_labels(z, n=400, noise=0.3, random_state=0),
        triplets=Triplets.from_labels(z, n=400, noise=0.1, random_state=0),
    )
    assert (
        abs(m.eps_ - 0.3) < 0.06
        and abs(m.eps_triplets_ - 0.1) < 0.05
        and ari(z, m.labels_) > 0.9
    )
    assert len(m.suspects_) == pytest.approx(120, abs=30)
    assert len(m.suspect_triplets_) == pytest.approx(40, abs=15)
    assert m.suspicion_.shape == m.suspicion_triplets_.shape == (400,)
    assert (np.diff(m.suspicion_[m.suspects_]) <= 0).all()


def test_both_kinds_help():
    "Three strips that k-means cuts across: more answers of either kind, better clusters."
    rng = np.random.default_rng(0)
    z = np.arange(150) % 3
    Z = np.c_[z + rng.uniform(0.1, 0.9, 150), rng.uniform(0, 3, 150)]
    c, t = (
        Constraints.from_labels(z, n=120, noise=0.1, random_state=0),
        Triplets.from_labels(z, n=80, noise=0.1, random_state=0),
    )
    score = {
        k: ari(z, DiscriminativeClustering(3, random_state=0).fit(Z, **kw).labels_)
        for k, kw in dict(
            none={},
            pairs=dict(constraints=c),
            triplets=dict(triplets=t),
            both=dict(constraints=c, triplets=t),
        ).items()
    }
    assert (
        min(score["pairs"], score["triplets"], score["both"]) > 0.85 > 0.7 > score["none"]
    )


def test_predict_is_the_fit_and_units_do_not_matter():
    c = Constraints.from_labels(Y, n=60, random_state=0)
    a = DiscriminativeClustering(3, random_state=0).fit(X, constraints=c)
    b = DiscriminativeClustering(3, random_state=0).fit(
        X * [1000, 0.01] + [5, -3], constraints=c
    )
    np.testing.assert_array_equal(a.labels_, b.labels_)
    np.testing.assert_array_equal(b.predict(X * [1000, 0.01] + [5, -3]), b.labels_)
    np.testing.assert_allclose(a.predict_proba(X).sum(1), 1)


def test_triplets_travel_with_ids_pipelines_and_routing():
    ids = np.array([f"r{i}" for i in range(90)])
    t = Triplets.from_labels(Y, n=60, random_state=0, ids=ids)
    want = DiscriminativeClustering(3, n_init=1, random_state=0).fit(
        X, triplets=t, sample_id=ids
    )
    order = np.random.default_rng(0).permutation(90)
    frame = pd.DataFrame(X, index=ids).iloc[order]
    got = DiscriminativeClustering(3, n_init=1, random_state=0).fit(frame, triplets=t)
    assert ari(got.labels_, want.labels_[order]) > 0.85
    assert (
        want.eps_triplets_ < 0.1 and got.eps_triplets_ < 0.1
    )  # on the wrong rows the answers would look like noise
    with config_context(enable_metadata_routing=True):
        pipe = make_pipeline(
            StandardScaler(), DiscriminativeClustering(3, n_init=1, random_state=0)
        ).fit(X, triplets=t, sample_id=ids)
    assert ari(pipe[-1].labels_, want.labels_) > 0.95 and pipe[-1].eps_triplets_ < 0.1
    frame_form = pd.DataFrame(dict(a=t.a, b=t.b, c=t.c, answer=t.answer))
    DiscriminativeClustering(3, n_init=1, random_state=0).fit(X, triplets=frame_form)


def test_dont_know_and_weights():
    c = Constraints.from_labels(Y, n=40, random_state=0)
    more = Constraints(
        np.r_[c.a, 0, 1],
        np.r_[c.b, 5, 7],
        np.r_[c.value, 0, 0],
        n_samples=90,
        value_kind="pm1",
    )
    fit = lambda c: DiscriminativeClustering(3, n_init=1, random_state=0).fit(
        X, constraints=c
    )
    np.testing.assert_allclose(fit(c).coef_, fit(more).coef_)
    heavy = Constraints(
        c.a, c.b, c.value, weight=np.full(40, 2.0), n_samples=90, value_kind="pm1"
    )
    assert not np.allclose(fit(c).coef_, fit(heavy).coef_)


@pytest.mark.parametrize(
    "kw, words",
    [
        (dict(eps=0.6), "0.5"),
        (dict(eps=-0.1), "wrong answer"),
        (dict(eps_triplets=0.8), "0.75"),
        (dict(eps="auto"), "learn"),
        (dict(eps=np.eye(2)), "eps_triplets"),
        (dict(eps=np.eye(3), eps_triplets=0.1), "2×2"),
        (dict(tau=-1), "tau"),
        (dict(lam=-1), "lam"),
        (dict(entropy="both"), "entropy"),
        (dict(n_init=0), "n_init"),
    ],
)
def test_bad_parameters(kw, words):
    with pytest.raises(ValueError, match=words):
        DiscriminativeClustering(3, **kw).fit(X)


def test_bad_triplets():
    with pytest.raises(TypeError, match="constraints="):
        DiscriminativeClustering(3).fit(X, triplets=Constraints.from_labels(Y, n=5))
    with pytest.raises(ValueError, match="90|91"):
        DiscriminativeClustering(3).fit(X, triplets=([[0, 1, 90]], ["ab"]))


def test_search_over_answers():
    c, t = (
        Constraints.from_labels(Y, n=90, noise=0.1, random_state=0),
        Triplets.from_labels(Y, n=30, noise=0.1, random_state=0),
    )  # as many pairs as rows: the trap
    A = answer_rows(c, t, 90)
    assert (
        A.shape == (120, 5)
        and answers_kept(
            Y,
            answer_rows(
                Constraints.from_labels(Y, n=50, random_state=1),
                Triplets.from_labels(Y, n=50, random_state=1),
                90,
            ),
        ).all()
    )
    model = OnAnswers(DiscriminativeClustering(3, n_init=1, random_state=0)).fit(
        A, data=Rows(X)
    )
    np.testing.assert_array_equal(
        model.estimator_.labels_,
        DiscriminativeClustering(3, n_init=1, random_state=0)
        .fit(X, constraints=c, triplets=t)
        .labels_,
    )
    for routing in (False, True):
        with config_context(enable_metadata_routing=routing):
            gs = search_answers(
                DiscriminativeClustering(3, n_init=1, random_state=0),
                dict(lam=[2.0**-10, 10.0]),
                X,
                c,
                t,
                cv=2,
            )
        assert (
            gs.best_params_ == {"estimator__lam": 2.0**-10}
            and len(gs.best_estimator_.estimator_.labels_) == 90
        )


def test_search_over_rows_with_the_constraint_scorer():
    ids = np.array([f"r{i}" for i in range(90)])
    c = Constraints.from_labels(Y, n=200, noise=0.05, random_state=0, ids=ids)
    gs = GridSearchCV(
        DiscriminativeClustering(3, n_init=1, random_state=0),
        dict(lam=[2.0**-10, 10.0]),
        scoring=constraint_scorer(c),
        cv=KFold(2, shuffle=True, random_state=0),
        error_score="raise",
    )
    gs.fit(pd.DataFrame(X, index=ids), constraints=c)
    assert gs.best_params_ == {"lam": 2.0**-10} and gs.best_score_ > 0.8


@pytest.mark.parametrize(
    "K, pair, triplet",
    [
        (2, 1, 2),
        (3, 0.918, 1.975),
        (4, 0.811, 1.880),
        (5, 0.722, 1.760),
        (10, 0.469, 1.269),
        (20, 0.286, 0.817),
        (50, 0.141, 0.416),
    ],
)
def test_figure_3_6(K, pair, triplet):
    assert information(np.ones(K)) == pytest.approx(pair, abs=6e-4) and information(
        np.ones(K), "triplets"
    ) == pytest.approx(triplet, abs=6e-4)
    lg = np.log2
    assert information(np.ones(K)) == pytest.approx(lg(K) - (1 - 1 / K) * lg(K - 1))
    s = 3 * (K - 1) / K**2
    assert information(np.ones(K), "triplets") == pytest.approx(
        2 * lg(K) - s * lg(K - 1) - (1 - s) * lg(K * K - 3 * (K - 1))
    )


def test_information_by_enumeration_and_its_ends():
    rng = np.random.default_rng(0)
    for size, kind, table in (
        (2, "pairs", BIRDSONG_PAIRS),
        (3, "triplets", BIRDSONG_TRIPLES),
    ):
        p, R = rng.dirichlet(np.ones(4)), table / table.sum(1, keepdims=True)
        Ys = np.array(list(product(range(4), repeat=size)))
        J = np.prod(p[Ys], 1)[:, None] * R[truth(Ys)]
        want = (J * np.log2(J / (J.sum(1, keepdims=True) * J.sum(0)))).sum()
        assert information(p, kind, table) == pytest.approx(want, abs=1e-12)
        assert question_odds(p, kind).sum() == pytest.approx(1)
    assert (
        information([0.3, 0.7], "pairs", 0.5) == 0
        and information([0.3, 0.7], "triplets", 0.75) == pytest.approx(0, abs=1e-12)
        and information([1.0]) == 0
    )


def test_triplets_carry_three_halves_of_a_pair():
    rng = np.random.default_rng(1)
    for _ in range(3000):
        p = rng.dirichlet(np.full(rng.integers(2, 40), 10 ** rng.uniform(-2, 1)))
        if 1 - (p**2).sum() > 1e-12:
            assert information(p, "triplets") > 1.5 * information(p)
    m = np.linspace(0.01, 0.95, 5001)
    h = lambda x: -(x * np.log2(x) + (1 - x) * np.log2(1 - x))
    G = lambda m: h(3 * (m - m**1.5)) + 3 * (m - m**1.5) * np.log2(3)
    a, b = m[:-1], m[1:]
    assert (
        np.minimum(G(a), G(b))
        > 1.5 * np.where((a <= 0.5) & (b >= 0.5), 1, np.maximum(h(a), h(b)))
    ).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    "name, best",
    [("iris", (0.86, 0.84)), ("wine", (0.93, 0.90)), ("breast_cancer_wdbc", (0.82, 0.71))],
)
def test_quality_under_noise(name, best):
    b = load(name)
    for noise, want in zip((0.1, 0.2), best):
        got = [
            ari(
                b.target,
                DiscriminativeClustering(b.k, random_state=s)
                .fit(
                    b.data,
                    constraints=Constraints.from_labels(
                        b.target, n=b.n, noise=noise, random_state=s
                    ),
                )
                .labels_,
            )
            for s in range(8)
        ]
        assert np.mean(got) > want - 0.03


PAGE = Path(__file__).resolve().parent.parent / "nbs" / "11_relative.ipynb"


def listing(*cells):
    "The names that cells of the chapter define: the literal algorithm stands there."
    source = {c["id"]: "".join(c["source"]) for c in json.loads(PAGE.read_text())["cells"]}
    names = {"np": np, "minimize": minimize, "product": product, "KMeans": KMeans}
    for cell in cells:
        exec(source[cell], names)
    return names


@pytest.mark.parametrize("seed", [0, 4])
def test_as_published_is_the_listing_of_the_page(seed):
    literal = listing("pub-11-parts", "pub-11-list")["printed_dc"]
    small = toy_links(60, 10, stretch=1.5, random_state=seed)
    c = Constraints.from_labels(small.target, n=20, noise=0.1, random_state=seed)
    t = Triplets.from_labels(small.target, n=12, noise=0.1, random_state=seed)
    pairs = list(zip(c.a.tolist(), c.b.tolist(), (c.value > 0).tolist()))
    triples = list(zip(t.a.tolist(), t.b.tolist(), t.c.tolist(), t.answer))
    start = np.random.RandomState(seed).randint(2**31 - 1)
    want = literal(small.data, 3, pairs, triples, start)
    est = DiscriminativeClustering.as_published(n_clusters=3, random_state=seed)
    got = est.fit(small.data, constraints=c, triplets=t).labels_
    np.testing.assert_array_equal(got, np.unique(want, return_inverse=True)[1])


def noisy_problem(entropy="all"):
    c = Constraints.from_labels(Y, n=60, noise=0.2, random_state=0)
    t = Triplets.from_labels(Y, n=50, noise=0.2, random_state=0)
    codes = (t.code.astype(int) + 1) % 4
    asked = make_asked(np.c_[c.a, c.b], c.value > 0, np.c_[t.a, t.b, t.c], codes)
    return make_problem(X, asked, 1.0, 2**-8, entropy)


def test_each_step_of_a_round_is_taken():
    prob = noisy_problem()
    noise = make_noise("learn", pair_table), make_noise("learn", triplet_table)
    s = dc_init(prob, *next(starts(X, 3, 1, 0)), *noise)
    np.testing.assert_allclose(s.q, probs(logits(X[prob.ans.rows], s.coef, s.intercept))[1])
    new = dc_step(s, prob)
    assert np.abs(new.q - s.q).max() > 0.1  # beliefs
    logp = probs(logits(X[prob.ans.rows], s.coef, s.intercept))[0]
    settled = mean_field(new.q, logp, prob.ans, s.pairs.R, s.triples.R)
    np.testing.assert_allclose(settled, new.q, atol=1e-3)  # to convergence
    cases = case_probs(new.q, prob.ans)
    for kind, said, answer in zip(
        (new.pairs, new.triples), cases, (prob.ans.pair_answer, prob.ans.triple_answer)
    ):
        T = said.shape[1]
        wrong = 1 - said[np.arange(len(said)), answer]
        want = (wrong.sum() + 1.0) / (len(said) + 10.0)  # ten pseudo-answers, one wrong
        assert 1 - kind.R[0, 0] == pytest.approx(want)
        assert kind.R.shape == (T, T)
    assert np.abs(new.coef - s.coef).max() > 0.1  # weights


def test_only_free_rows_are_rewarded_when_asked():
    prob = noisy_problem("free")
    assert not prob.free[prob.ans.rows].any()
    assert prob.free.sum() == len(X) - len(prob.ans.rows)
    assert noisy_problem().free.all()


def test_a_learned_rate_stops_short_of_saying_nothing():
    for T in (2, 4):
        wrong = 100.0 * (1 - np.eye(T))
        assert best_eps(wrong) == pytest.approx(0.95 * (1 - 1 / T))
        assert best_eps(np.eye(T)) == 0.0


def test_the_prior_of_the_noise_is_ten_answers_of_which_one_is_wrong():
    for table, T in ((pair_table, 2), (triplet_table, 4)):
        one, whole = make_noise("learn", table), make_noise("table", table)
        assert one.prior.sum() == pytest.approx(10)
        assert np.trace(one.prior) == pytest.approx(9)
        np.testing.assert_allclose(whole.prior.sum(1), np.full(T, 10.0))
        np.testing.assert_allclose(np.diag(whole.prior), np.full(T, 9.0))
        assert make_noise(0.2, table).prior.sum() == 0


def test_the_bound_holds_the_priors_of_learned_tables():
    prob = noisy_problem()
    start = next(starts(X, 3, 1, 0))
    fixed, learned = (
        dc_init(prob, *start, make_noise(e, pair_table), make_noise(e, triplet_table))
        for e in (0.1, "table")
    )
    extra = 10 * np.sum(
        [(R * np.log(R)).sum() for R in (pair_table(0.1), triplet_table(0.1))]
    )
    gap = bound(learned, prob) - bound(fixed, prob)
    assert gap == pytest.approx(extra / prob.ans.total)


def test_starts_are_kmeans_then_softened_then_random():
    first, second, third = starts(X, 3, 3, 0)
    labels = KMeans(3, n_init=10, random_state=0).fit(X).labels_
    assert ari(logits(X, *first).argmax(1), labels) > 0.95
    sharp, soft = (probs(logits(X, *w))[1].max(1).mean() for w in (first, second))
    assert sharp > soft > 0.5
    assert np.abs(third[0]).max() < 0.5 and not third[1].any()


def test_suspicion_is_one_minus_the_belief_in_the_answer():
    c = Constraints([0, 1, 2], [30, 1 + 3, 50], [1, 0, -1], n_samples=90, value_kind="pm1")
    m = DiscriminativeClustering(3, n_init=1, random_state=0).fit(X, constraints=c)
    assert m.suspicion_.shape == (3,) and m.suspicion_[c.value == 0] == 0
    assert ((m.suspicion_ >= 0) & (m.suspicion_ <= 1)).all()
    lie = Constraints.from_labels(Y, n=200, noise=0.1, random_state=3)
    m = DiscriminativeClustering(3, random_state=0).fit(X, constraints=lie)
    wrong = (Y[lie.a] == Y[lie.b]) != (lie.value > 0)
    assert m.suspicion_[wrong].mean() > 0.6 > 0.2 > m.suspicion_[~wrong].mean()
    assert (np.diff(m.objective_history_) < 1e-9).all()
    assert m.bound_ == pytest.approx(-m.objective_history_[-1])


def test_hidden_index_of_triplets_names_every_slot():
    ans, *_ = random_problem(np.random.default_rng(3), r=6, mt=7)
    inc = incidence(ans)
    seen = []
    for i in range(len(ans.rows)):
        for e in range(inc.tptr[i], inc.tptr[i + 1]):
            seen.append((i, inc.tu[e], inc.tv[e], inc.tslot[e], inc.tans[e], inc.tw[e]))
    want = []
    for abc, answer, weight in zip(ans.triples, ans.triple_answer, ans.triple_weight):
        for slot in range(3):
            u, v = abc[OTHERS[slot]]
            want.append((abc[slot], u, v, slot, answer, weight))
    assert sorted(map(tuple, np.array(seen).tolist())) == sorted(
        map(tuple, np.array(want).tolist())
    )


def test_search_examines_only_its_winner(monkeypatch):
    "And scores as a plain loop over folds and values does."
    from csc_nb import estimators

    seen = []
    monkeypatch.setattr(estimators, "misled", lambda est, X, c: seen.append(est.lam))
    c = Constraints.from_labels(Y, n=80, noise=0.1, random_state=3)
    lams = [2.0**-10, 2.0**-2]
    how = dict(n_init=1, random_state=0)
    gs = search_answers(DiscriminativeClustering(3, **how), dict(lam=lams), X, c, cv=2)
    assert seen == [gs.best_params_["estimator__lam"]]
    for lam, score in zip(lams, gs.cv_results_["mean_test_score"]):
        kept = []
        for fit, hold in KFold(2, shuffle=True, random_state=0).split(np.zeros(80)):
            model = DiscriminativeClustering(3, lam=lam, **how)
            z = model.fit(X, constraints=c.select(np.isin(np.arange(80), fit))).labels_
            same = z[c.a[hold]] == z[c.b[hold]]
            kept.append((same == (c.value[hold] > 0)).mean())
        assert score == pytest.approx(np.mean(kept))
