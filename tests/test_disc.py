"""DiSC: gradients, geometry, monotone descent, reductions, kernels of scores, landmarks,
and what the estimator promises."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import pdist
from sklearn import config_context
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import normalized_mutual_info_score as nmi
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from csc_nb.datasets import toy_disc
from csc_nb.disc import (
    DRHSIC,
    DRSC,
    DiSC,
    Exact,
    Landmarks,
    _krylov,
    principal_basis,
    _psi_products,
    alternate,
    block_kernel,
    cayley,
    censored_weights,
    cluster_usefulness,
    descend,
    descent_init,
    descent_step,
    disc_demo,
    disc_directions,
    disc_path,
    draw_starts,
    evaluate,
    gradient,
    gradient_formula,
    hsic,
    kaplan_meier,
    random_orthonormal,
    rbf,
    score_blocks,
    score_factor,
    score_matrix,
    subspace_sigma,
    top_eigs,
    usefulness_matrix,
)
from csc_nb.spectral import round_kmeans, spectral_embedding
from csc_nb.sweeps import for_study


def problem(seed=0, n=40, d=5, k=3, **kw):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X[:, 0] += 3 * (np.arange(n) % k)
    s = X[:, 1] + X[:, 0] + rng.normal(size=n)
    return Exact(X - X.mean(0), score_matrix(rbf(s[:, None], 2.0)), 1.8, k, **kw)


def numerical(f, W, h=1e-5):
    E = np.eye(W.size).reshape(-1, *W.shape) * h
    return np.array([(f(W + e) - f(W - e)) / (2 * h) for e in E]).reshape(W.shape)


def start(p, q=2, seed=0):
    return random_orthonormal(p.X.shape[1], q, np.random.default_rng(seed))


def rel(a, b):
    return np.abs(a - b).max() / np.abs(b).max()


@pytest.fixture(scope="module")
def toy():
    return toy_disc(120, random_state=3)


# ---------- formulas


@pytest.mark.parametrize("q", [1, 2, 4])
@pytest.mark.parametrize(
    "change",
    [dict(), dict(a=0.0), dict(S=None), dict(mu=5.0), dict(k=1), dict(k=2, a=0.3)],
    ids=str,
)
def test_gradient_is_that_of_the_reduced_objective(q, change):
    p = problem()._replace(**change)
    W = start(p, q)
    G = gradient(evaluate(W, p), p)
    num = numerical(lambda V: evaluate(V, p).F, W)
    assert np.abs(G - num).max() < 1e-6 * max(np.abs(num).max(), 1e-3)
    np.testing.assert_allclose(G, gradient_formula(evaluate(W, p), p), atol=1e-12)


def test_gradient_without_degree_terms_is_wrong():
    p = problem(mu=0.0)
    W = start(p)
    pt = evaluate(W, p)
    V = pt.U / np.sqrt(pt.deg)[:, None]
    Y = p.X @ W
    Psi = -(V @ V.T) * pt.K
    short = -2 / p.sigma**2 * p.X.T @ (Psi.sum(1)[:, None] * Y - Psi @ Y)
    assert (
        rel(gradient(pt, p), numerical(lambda V: evaluate(V, p).F, W))
        < 1e-6
        < 0.1
        < rel(short, gradient(pt, p))
    )


def test_gradient_of_the_frozen_objective_and_the_envelope():
    p = problem()
    W = start(p)
    pt = evaluate(W, p)
    U = np.linalg.qr(np.random.default_rng(1).normal(size=pt.U.shape))[0]
    for held in (U, pt.U):
        f = p._replace(fixed=held)
        assert (
            rel(gradient(evaluate(W, f), f), numerical(lambda V: evaluate(V, f).F, W))
            < 1e-6
        )
        for seed in range(5):
            assert (
                evaluate(start(p, seed=seed), f).F
                >= evaluate(start(p, seed=seed), p).F - 1e-10
            )
    f = p._replace(fixed=pt.U)
    np.testing.assert_allclose(gradient(evaluate(W, f), f), gradient(pt, p), atol=1e-10)
    assert evaluate(W, f).F == pytest.approx(pt.F, abs=1e-10)


def test_kernel_twin_agrees_with_its_python():
    p = problem(n=12)
    pt = evaluate(start(p), p)
    rng = np.random.default_rng(0)
    args = (
        pt.K,
        p.S,
        rng.normal(size=(3, 12)),
        rng.normal(size=(3, 12)),
        rng.random(12),
        0.7,
        1.3,
    )
    np.testing.assert_allclose(
        _psi_products(*args), _psi_products.py_func(*args), atol=1e-12
    )


def test_krylov_from_cold_and_warm_starts_agrees_with_dense():
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(500, 3))
    K = rbf(Y, 0.9)
    deg = K.sum(1)
    w, U, block = top_eigs(K, deg, 4, tol=1e-7)
    wd, Ud, none = top_eigs(K, deg, 4, dense=10_000)
    assert none is None and block.shape == (500, 8)
    np.testing.assert_allclose(w, wd, atol=1e-11)
    np.testing.assert_allclose(U @ U.T, Ud @ Ud.T, atol=1e-5)
    K2 = rbf(Y + 0.02 * rng.normal(size=Y.shape), 0.9)
    deg2 = K2.sum(1)
    np.testing.assert_allclose(
        top_eigs(K2, deg2, 4, block, 1e-7)[0],
        top_eigs(K2, deg2, 4, dense=10_000)[0],
        atol=1e-11,
    )


def test_krylov_survives_a_start_block_that_is_already_exact():
    K = rbf(np.random.default_rng(0).normal(size=(400, 2)), 1.0)
    deg = K.sum(1)
    _, U, _ = top_eigs(K, deg, 8, dense=10_000)
    w, _, _ = _krylov(K, deg**-0.5, 4, U, 1e-8)
    np.testing.assert_allclose(w, top_eigs(K, deg, 4, dense=10_000)[0], atol=1e-12)


def test_quality_lies_between_zero_and_k_minus_one():
    for seed in range(20):
        p = problem(seed, k=4)
        J1 = evaluate(start(p, seed=seed), p).J1
        assert -1e-12 <= J1 <= 3 + 1e-12


def test_hsic_unbiased_against_its_trace_form_and_its_mean():
    rng = np.random.default_rng(0)
    vals = []
    for _ in range(300):
        K, L = rbf(rng.normal(size=(12, 1)), 1.0), rbf(rng.normal(size=(12, 1)), 1.0)
        K0, L0 = K - np.eye(12), L - np.eye(12)
        want = (
            (K0 * L0).sum() + K0.sum() * L0.sum() / (11 * 10) - 2 / 10 * (K0 @ L0).sum()
        ) / (12 * 9)
        assert hsic(K, L, True) == pytest.approx(want, abs=1e-12)
        vals.append((hsic(K, L), hsic(K, L, True)))
    m, se = np.mean(vals, 0), np.std(vals, 0) / 300**0.5
    assert abs(m[1]) < 4 * se[1] and m[0] > 20 * se[0]


def test_usefulness_has_no_unit_and_no_n():
    rng = np.random.default_rng(0)
    got = []
    for n in (100, 400):
        X = rng.normal(size=(n, 2))
        s = X[:, 0] + 0.3 * rng.normal(size=n)
        J = [
            (rbf(X, 1.0) * usefulness_matrix(score_blocks(c, n), n)).sum()
            for c in (s, 1000 * s - 7)
        ]
        assert J[0] == pytest.approx(J[1], rel=1e-9)
        got.append(J[0])
    assert got[0] == pytest.approx(got[1], rel=0.25)


# ---------- geometry


def test_orthonormal_after_a_thousand_steps_of_a_descent():
    p = problem(n=25)
    W = start(p)
    s = descent_init(p, W)
    rng = np.random.default_rng(0)
    for _ in range(1000):
        W = cayley(
            W, gradient(evaluate(W, p), p) + rng.normal(size=W.shape), rng.uniform(0, 3)
        )
    assert np.abs(W.T @ W - np.eye(2)).max() < 1e-12
    for _ in range(50):
        s = descent_step(s, p, tol=1e-12)
    assert np.abs(s.at.W.T @ s.at.W - np.eye(2)).max() < 1e-12


def test_cayley_equals_the_dense_form_and_its_derivative_is_the_canonical_gradient():
    rng = np.random.default_rng(0)
    W, G = random_orthonormal(7, 3, rng), rng.normal(size=(7, 3))
    A, I = G @ W.T - W @ G.T, np.eye(7)
    for tau in (0.1, 1.0, 10.0):
        np.testing.assert_allclose(
            cayley(W, G, tau),
            np.linalg.solve(I + tau / 2 * A, (I - tau / 2 * A) @ W),
            atol=1e-12,
        )
    np.testing.assert_allclose(
        (cayley(W, G, 1e-5) - cayley(W, G, -1e-5)) / 2e-5, -(G - W @ G.T @ W), atol=1e-8
    )


def test_rotation_within_the_subspace_changes_nothing():
    p = problem()
    rng = np.random.default_rng(0)
    W, R = random_orthonormal(5, 3, rng), random_orthonormal(3, 3, rng)
    a, b = evaluate(W, p), evaluate(W @ R, p)
    assert a.F == pytest.approx(b.F, abs=1e-12)
    G = gradient(a, p)
    np.testing.assert_allclose(gradient(b, p), G @ R, atol=1e-10)
    np.testing.assert_allclose(W.T @ G, (W.T @ G).T, atol=1e-12)
    np.testing.assert_allclose(
        np.abs(principal_basis(W, p.X)), np.abs(principal_basis(W @ R, p.X)), atol=1e-8
    )


def test_objective_never_rises():
    for seed in range(12):
        p = problem(seed, mu=float(seed % 4))._replace(a=float(seed % 3 != 2))
        for solve in (descend, alternate) if p.a else (descend,):
            r = solve(start(p, seed=seed), p, 60)
            assert np.diff(r.history).max(initial=-1) <= 1e-12, (seed, solve)
            assert r.at.K is None


def test_a_long_fixed_step_does_raise_it():
    """The search is needed: the paper's claim that a step decreases the objective fails
    for long ones."""
    p = problem()
    W = start(p)
    at = evaluate(W, p)
    assert max(evaluate(cayley(W, gradient(at, p), t), p).F for t in (5, 20, 50)) > at.F


def test_both_solvers_end_at_stationary_points_of_the_same_objective():
    p = problem(4, mu=2.0)
    for solve in (descend, alternate):
        r = solve(start(p), p, 500, 1e-5)
        assert r.converged
        G = gradient(evaluate(r.at.W, p), p)
        assert np.linalg.norm(G - r.at.W @ G.T @ r.at.W) < 5e-3


# ---------- scores


def test_kaplan_meier_by_hand():
    t, mass = kaplan_meier(np.array([1.0, 2, 2, 3, 5]), np.array([1, 1, 0, 0, 1], bool))
    np.testing.assert_allclose(t, [1, 2, 5])
    np.testing.assert_allclose(mass, [0.2, 0.2, 0.6])
    t, mass = kaplan_meier(np.array([1.0, 2]), np.array([True, False]))
    np.testing.assert_allclose(mass, [1.0])
    assert kaplan_meier(np.array([1.0, 2]), np.zeros(2, bool))[0].tolist() == [2.0]


@pytest.mark.parametrize("n", [30, 700])
def test_censored_kernel_is_a_kernel_and_reduces_to_ranks(n):
    rng = np.random.default_rng(0)
    time, event = rng.exponential(size=n), rng.random(n) < 0.6
    P, grid = censored_weights(time, event)
    np.testing.assert_allclose(P.sum(1), 1)
    assert P.min() >= 0 and P.shape[1] <= 200 and (np.diff(grid) > 0).all()
    K = block_kernel(score_blocks(np.c_[time, event], n, "censored")[0])
    assert np.linalg.eigvalsh(K).min() > -1e-10
    P, grid = censored_weights(time, np.ones(n, bool))
    u = (np.argsort(np.argsort(time)) + 0.5) / n
    np.testing.assert_allclose(
        P @ rbf(grid[:, None], 0.25) @ P.T,
        rbf(u[:, None], 0.25),
        atol=1e-9 if n <= 200 else 2e-2,
    )


def test_a_censored_row_is_late():
    "Seen alive at time 5 of 10: closer to the late rows than to the early ones."
    time, event = np.arange(1.0, 11), np.ones(10, bool)
    event[4] = False
    K = block_kernel(score_blocks(np.c_[time, event], 10, "censored")[0])
    assert K[4, 5:].mean() > K[4, :4].mean() + 0.1


def test_kinds_are_found_and_columns_can_be_named():
    s, c = np.random.default_rng(0).normal(size=20), np.array(["x", "y"] * 10)
    names = lambda *a: [b.name for b in score_blocks(*a)]
    assert names(s, 20) == names(np.c_[s, s**2], 20) == ["gaussian"]
    assert names(c, 20) == ["categorical"] and names(pd.DataFrame(dict(a=s, b=c)), 20) == [
        "gaussian",
        "categorical",
    ]
    rec = np.array(list(zip(s > 0, np.abs(s))), dtype=[("event", bool), ("time", float)])
    assert names(rec, 20) == ["censored"]
    np.testing.assert_allclose(
        block_kernel(score_blocks(rec, 20)[0]),
        block_kernel(score_blocks(np.c_[np.abs(s), s > 0], 20, "censored")[0]),
    )
    assert names(
        np.c_[s, np.abs(s), s > 0], 20, [("gaussian", [0]), ("censored", [1, 2])]
    ) == ["gaussian", "censored"]
    np.testing.assert_array_equal(block_kernel(score_blocks(c, 20)[0]), c[:, None] == c)


def test_rows_without_a_score_take_no_part():
    s = np.random.default_rng(0).normal(size=30)
    s[:10] = np.nan
    S = usefulness_matrix(score_blocks(s, 30), 30)
    assert not S[:10].any() and not S[:, :10].any()
    np.testing.assert_allclose(S[10:, 10:], usefulness_matrix(score_blocks(s[10:], 20), 20))
    c = np.array(["u", None, "v"] * 10, dtype=object)
    assert len(score_blocks(c, 30)[0].rows) == 20


@pytest.mark.parametrize(
    "scores, kw, words",
    [
        (np.arange(50.0), {}, ["120 rows", "50"]),
        (np.ones(120), {}, ["same for all rows"]),
        (np.full(120, np.nan), {}, ["only 0 rows"]),
        (np.r_[np.inf, np.arange(119.0)], {}, ["infinite", "row 0"]),
        (np.array(["a"] * 120), {}, ["same for all rows"]),
        (np.zeros((120, 3)), dict(score_kernel="censored"), ["two columns"]),
        (
            np.c_[np.arange(120.0), np.arange(120.0)],
            dict(score_kernel="censored"),
            ["118 events", "row 2"],
        ),
        (np.arange(120.0), dict(score_kernel="poisson"), ["poisson", "gaussian"]),
        (np.arange(120.0), dict(score_kernel=[("gaussian", [1])]), ["column 1", "has 1"]),
        (
            np.array(["a", "b"] * 60),
            dict(score_kernel="gaussian"),
            ["column 0 is not numbers"],
        ),
        (np.zeros((2, 2, 2)), {}, ["shape (2, 2, 2)"]),
        (None, dict(mu=-1), ["'mu' parameter", "-1"]),
        (None, dict(mu="large"), ["balance", "'large'"]),
        (None, dict(sigma=0), ["'sigma' parameter", "0"]),
        (None, dict(sigma="x"), ["subspace"]),
        (None, dict(n_components=7), ["between 1 and", "6"]),
        (None, dict(n_components=0), ["'n_components' parameter", "0"]),
        (None, dict(solver="newton"), ["alternate"]),
        (None, dict(n_init=0), ["'n_init' parameter", "0"]),
        (None, dict(max_iter=2.5), ["'max_iter' parameter", "2.5"]),
        (None, dict(tol=0), ["'tol' parameter", "0"]),
        (None, dict(n_landmarks=1), ["'n_landmarks' parameter", "1"]),
        (np.arange(120.0), dict(n_landmarks=20, unbiased=True), ["n_landmarks=None"]),
        (np.arange(120.0), dict(n_landmarks=20, solver="alternate"), ["exact kernels"]),
        (None, dict(n_clusters=500), ["n_samples=120"]),
    ],
    ids=lambda v: str(v)[:30],
)
def test_errors_say_what_to_repair(toy, scores, kw, words):
    with pytest.raises(ValueError) as e:
        DiSC(**{"n_clusters": 2, "n_init": 1, **kw}).fit(toy.data, scores=scores)
    for w in words:
        assert w in str(e.value)


def test_usefulness_of_clusters_tells_what_the_subspace_hides():
    s = np.random.default_rng(0).normal(size=200)
    blocks = score_blocks(s, 200)
    S = usefulness_matrix(blocks, 200)
    related, other = (s > 0).astype(int), np.random.default_rng(1).integers(2, size=200)
    assert (
        cluster_usefulness(related, S) > 0.5
        and abs(cluster_usefulness(other, S)) < 0.05
        and cluster_usefulness(np.zeros(200, int), S) == 0
    )
    assert cluster_usefulness(1 - related, S) == pytest.approx(
        cluster_usefulness(related, S)
    )
    assert cluster_usefulness(
        related, score_factor(blocks, 200, np.random.default_rng(0))
    ) == pytest.approx(cluster_usefulness(related, S), rel=1e-6)
    L = np.eye(2)[related]
    assert cluster_usefulness(related, score_matrix(L @ L.T)) == pytest.approx(1)


# ---------- landmarks


def test_landmarks_agree_with_exact_when_every_row_is_one():
    t = toy_disc(60, random_state=0)
    X = t.data - t.data.mean(0)
    blocks = score_blocks(t.scores, 60)
    e = Exact(X, usefulness_matrix(blocks, 60), 1.5, 2, 1.0, 3.0)
    l = Landmarks(
        X,
        score_factor(blocks, 60, np.random.default_rng(0)),
        1.5,
        2,
        1.0,
        3.0,
        np.arange(60),
        1e-12,
    )
    np.testing.assert_allclose(l.S @ l.S.T, e.S, atol=1e-10)
    W = random_orthonormal(6, 2, np.random.default_rng(0))
    a, b = evaluate(W, l), evaluate(W, e)
    np.testing.assert_allclose([a.J1, a.J2], [b.J1, b.J2], atol=1e-6)
    np.testing.assert_allclose(gradient(a, l), gradient(b, e), atol=1e-4)


@pytest.mark.parametrize(
    "change", [dict(), dict(a=0.0), dict(S=None), dict(sigma=0.25)], ids=str
)
def test_landmark_gradient_is_exact_for_the_approximate_objective(change):
    "Also where some degrees are held at 1 (the narrow width)."
    t = toy_disc(80, random_state=1)
    X = t.data - t.data.mean(0)
    F = score_factor(score_blocks(t.scores, 80), 80, np.random.default_rng(0))
    p = Landmarks(X, F, 1.5, 3, 1.0, 2.0, np.arange(0, 80, 4))._replace(**change)
    W = random_orthonormal(6, 2, np.random.default_rng(5))
    pt = evaluate(W, p)
    if p.sigma < 1:
        assert not pt.extra[3].all() and pt.extra[3].any()
    assert rel(gradient(pt, p), numerical(lambda V: evaluate(V, p).F, W, 1e-6)) < 1e-5
    r = descend(W, p, 30)
    assert np.diff(r.history).max() <= 1e-12


def test_landmark_fit_finds_the_same_clusters():
    t = toy_disc(600, random_state=4)
    kw = dict(mu=3.0, n_init=3, max_iter=60, random_state=0)
    a, b = (
        DiSC(2, **kw).fit(t.data, scores=t.scores),
        DiSC(2, n_landmarks=60, **kw).fit(t.data, scores=t.scores),
    )
    assert nmi(a.labels_, b.labels_) > 0.95 and a.usefulness_ == pytest.approx(
        b.usefulness_, abs=1e-3
    )


# ---------- estimator


def test_reductions(toy):
    X, s, kw = toy.data, toy.scores, dict(n_init=3, random_state=0)
    drsc = DRSC(2, **kw).fit(X)
    for other in (
        DRSC(2, **kw).fit(X, scores=s),
        DiSC(2, **kw).fit(X),
        DiSC(2, mu=0, **kw).fit(X, scores=s),
        DRHSIC(2, **kw).fit(X),
    ):
        np.testing.assert_array_equal(drsc.labels_, other.labels_)
        assert other.quality_ == pytest.approx(drsc.quality_, abs=1e-9)
    assert drsc.usefulness_ == 0 and drsc.mu_ == 0
    u = DRHSIC(2, **kw).fit(X, scores=s)
    d = DiSC(2, mu=1e6, **kw).fit(X, scores=s)
    assert (
        u.usefulness_ == pytest.approx(d.usefulness_, rel=1e-3)
        and u.usefulness_ >= DiSC(2, mu=1.0, **kw).fit(X, scores=s).usefulness_ - 1e-9
    )


def test_all_dimensions_is_spectral_clustering(toy):
    e = DiSC(2, n_components=6, random_state=0).fit(toy.data, scores=toy.scores)
    emb = spectral_embedding(rbf(toy.data, e.sigma_), 2)
    assert e.quality_ == pytest.approx(2 - emb.values.sum(), abs=1e-6)
    assert nmi(e.labels_, round_kmeans(emb.vectors)) == 1 and len(e.objectives_) <= 3


def test_the_score_decides_which_clustering_is_found():
    found = []
    for seed in (100, 101, 102):
        t = toy_disc(100, random_state=seed)
        kw = dict(n_init=8, random_state=0)
        found.append(
            [
                nmi(t.target, e.labels_)
                for e in (
                    DRSC(2, **kw).fit(t.data),
                    DiSC(2, **kw).fit(t.data, scores=t.scores),
                )
            ]
        )
    found = np.array(found)
    assert np.sort(found[:, 1])[1] > 0.9 and np.median(found[:, 0]) < 0.1


def test_balance_makes_both_ends_equal_and_has_no_unit(toy):
    kw = dict(n_init=4, random_state=0)
    e = DiSC(2, **kw).fit(toy.data, scores=toy.scores)
    b = e.balance_
    assert b.quality.J1 - e.mu_ * b.quality.J2 == pytest.approx(
        b.usefulness.J1 - e.mu_ * b.usefulness.J2, abs=1e-9
    )
    assert e.objective_ <= b.quality.J1 - e.mu_ * b.quality.J2 + 1e-9
    f = DiSC(2, **kw).fit(100 * toy.data + 5, scores=-3 * toy.scores + 1)
    assert f.mu_ == pytest.approx(e.mu_, rel=1e-3) and f.sigma_ == pytest.approx(
        100 * e.sigma_
    )
    assert nmi(e.labels_, f.labels_) == 1


def test_path_is_monotone_in_both_terms(toy):
    p = disc_path(toy.data, toy.scores, 2, mus=(0, 0.3, 1, 3, 30), n_init=3, random_state=0)
    assert (
        (np.diff(p.quality) >= -1e-12).all()
        and (np.diff(p.usefulness) >= -1e-12).all()
        and p.usefulness[-1] > p.usefulness[0]
    )
    assert (
        p.labels.shape == (5, 120)
        and p.components.shape == (5, 2, 6)
        and p.mu[2] == pytest.approx(p.balance)
    )
    assert p.plot().get_xlabel().startswith("usefulness")


def test_transform_predict_and_importances(toy):
    e = DiSC(2, n_init=3, random_state=0).fit(toy.data, scores=toy.scores)
    np.testing.assert_array_equal(e.predict(toy.data), e.labels_)
    Y = e.transform(toy.data)
    np.testing.assert_allclose(Y, toy.data @ e.components_.T)
    new = toy.data[::7] + 1e-6
    near = ((e.transform(new)[:, None] - Y) ** 2).sum(-1).argmin(1)
    np.testing.assert_array_equal(e.predict(new), e.labels_[near])
    assert (e.feature_importances_**2).sum() == pytest.approx(2) and list(
        e.get_feature_names_out()
    ) == ["disc0", "disc1"]
    np.testing.assert_allclose(e.components_ @ e.components_.T, np.eye(2), atol=1e-12)
    assert Y.var(0)[0] >= Y.var(0)[1]


def test_same_seed_any_number_of_workers(toy):
    kw = dict(n_init=3, max_iter=30, random_state=7)
    a, b = (DiSC(2, n_jobs=j, **kw).fit(toy.data, scores=toy.scores) for j in (1, 2))
    np.testing.assert_array_equal(a.labels_, b.labels_)
    np.testing.assert_allclose(a.components_, b.components_, atol=1e-10)
    np.testing.assert_allclose(a.objectives_, b.objectives_)
    seeds = draw_starts(4, 2, 3, np.random.SeedSequence(0))
    assert not np.allclose(seeds[0], seeds[1])


def test_stops_early_with_labels_and_a_warning(toy):
    with pytest.warns(ConvergenceWarning, match="max_iter=1 "):
        e = DiSC(2, max_iter=1, n_init=1, tol=1e-9, random_state=0).fit(
            toy.data, scores=toy.scores
        )
    assert e.labels_.shape == (120,) and not e.converged_
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        assert DiSC(2, n_init=3, random_state=0).fit(toy.data, scores=toy.scores).converged_


@pytest.mark.parametrize(
    "kw",
    [
        dict(solver="alternate"),
        dict(unbiased=True),
        dict(sigma="original"),
        dict(sigma=2.0),
        dict(n_components=1),
        dict(n_clusters=1),
        dict(n_clusters=5),
    ],
    ids=str,
)
def test_every_option_runs_and_descends(toy, kw):
    e = DiSC(**{"n_clusters": 2, "n_init": 2, "max_iter": 60, "random_state": 0, **kw}).fit(
        toy.data, scores=toy.scores
    )
    assert (
        np.diff(e.objective_history_).max(initial=-1) <= 1e-12
        and e.n_clusters_ == len(np.unique(e.labels_)) <= e.n_clusters
    )
    assert np.isfinite([e.quality_, e.usefulness_, e.mu_]).all()


def test_scores_are_routed_and_sliced_with_the_rows(toy):
    X, s = toy.data, toy.scores
    make = lambda: DiSC(2, n_init=2, max_iter=20, tol=1e-2, random_state=0)
    want = make().fit(StandardScaler().fit_transform(X), scores=s)
    with config_context(enable_metadata_routing=True):
        assert make().get_metadata_routing().fit.requests == {"scores": True}
        got = make_pipeline(StandardScaler(), make()).fit(X, scores=s)
        np.testing.assert_array_equal(got[-1].labels_, want.labels_)
        seen = []

        class Spy(DiSC):
            method_name = None

            def fit(self, X, y=None, *, scores=None):
                seen.append(
                    (
                        len(X),
                        len(scores),
                        np.abs(
                            X[:, 0] + X[:, 1] + 3 * X[:, 4] + 3 * X[:, 5] - scores
                        ).max(),
                    )
                )
                return super().fit(X, scores=scores)

        GridSearchCV(
            Spy(2, n_init=1, max_iter=3, tol=1e-1, mu=1.0, random_state=0),
            {"mu": [1.0, 2.0]},
            scoring=lambda e, X, y=None: -e.quality_,
            cv=KFold(2, shuffle=True, random_state=0),
        ).fit(X, scores=s)
    assert (
        seen
        and all(n == m and gap < 3 for n, m, gap in seen)
        and {n for n, _, _ in seen} == {60, 120}
    )


def test_subspace_width_does_not_depend_on_the_scale_or_the_order_of_features():
    X = np.random.default_rng(0).normal(size=(80, 10))
    a = subspace_sigma(X, 2, np.random.default_rng(0))
    b = subspace_sigma(10 * X, 2, np.random.default_rng(0))
    assert b == pytest.approx(10 * a) and a < subspace_sigma(X, 8, np.random.default_rng(0))


def test_demo_arrow_turns_with_the_price():
    def angle(mu, noise):
        ax = disc_demo(mu, noise).axes[1]
        return int(
            (ax.get_title(loc="left") or ax.get_title()).split("found at ")[1].rstrip("°")
        )

    assert (
        abs(angle(0.0, 0.0)) <= 2
        and 60 < angle(1.0, 0.0) < 100
        and abs(angle(0.5, 50.0)) < 5
    )
    p = problem(d=2, k=2)
    J1, J2 = disc_directions(p, np.array([0.0, 180.0]))
    assert J1[0] == pytest.approx(J1[1]) and J2[0] == pytest.approx(J2[1])


# ---------- Algorithm 1 of the paper, word for word


class Listing:
    """Algorithm 1 with full tensors, errors of print repaired; shares no code with the
    package."""

    def __init__(self, X, s, k):
        n = len(X)
        H = np.eye(n) - 1 / n
        width = np.median(pdist(s[:, None]))
        Ks = np.exp(-((s[:, None] - s) ** 2) / (2 * width**2))
        self.S, self.sigma, self.k = H @ Ks @ H / (n - 1) ** 2, np.median(pdist(X)), k
        self.gap = X[:, None] - X

    def kernel(self, W):
        return np.exp(-((self.gap @ W) ** 2).sum(2) / (2 * self.sigma**2))

    def normalised(self, W):
        K = self.kernel(W)
        return K / np.sqrt(np.outer(K.sum(1), K.sum(1)))

    def best_U(self, W):
        return np.linalg.eigh(self.normalised(W))[1][:, -self.k :]

    def J1(self, W, U):
        return self.k - np.trace(U.T @ self.normalised(W) @ U)

    def J2(self, W):
        return np.trace(self.kernel(W) @ self.S)

    def slope(self, W, U, mu):
        K = self.kernel(W)
        deg = K.sum(1)
        dK = -np.einsum("jl,jla,jlb->jlab", K, self.gap, self.gap @ W) / self.sigma**2
        dd = dK.sum(1)
        r = np.outer(deg, deg) ** -0.5
        dKt = r[..., None, None] * dK
        dKt = dKt - 0.5 * (K * r / deg[:, None])[..., None, None] * dd[:, None]
        dKt = dKt - 0.5 * (K * r / deg)[..., None, None] * dd[None]
        J1 = -np.einsum("jl,jlab->ab", U @ U.T, dKt)
        return J1 - mu * np.einsum("jl,jlab->ab", self.S, dK)

    def optimise_W(self, W, U, mu, eps):
        F = lambda V: self.J1(V, U) - mu * self.J2(V)
        d, n = len(W), len(self.S)
        tau, G = 1.0, self.slope(W, U, mu)
        scale = max(self.k - 1, 1) + mu * np.linalg.norm(self.S) * (n - 1)
        for step in range(200):
            A = G @ W.T - W @ G.T
            if np.linalg.norm(A @ W) <= eps * scale:
                break
            for _ in range(30):
                Q = np.linalg.solve(np.eye(d) + tau / 2 * A, np.eye(d) - tau / 2 * A)
                if F(Q @ W) <= F(W) - 1e-4 * tau * (G * (A @ W)).sum():
                    break
                tau *= 0.3
            new = Q @ W
            G2 = self.slope(new, U, mu)
            dW, dD = new - W, G2 - new @ (G2.T @ new) - A @ W
            sy = abs((dW * dD).sum()) + 1e-300
            tau = (dW**2).sum() / sy if step % 2 else sy / ((dD**2).sum() + 1e-300)
            W, G = new, G2
        return W

    def labels(self, starts, seed, T=200, eps=1e-4):
        mu = np.median([self.J1(W, self.best_U(W)) / self.J2(W) for W in starts])
        ends = []
        for W in starts:
            for _ in range(T):
                U = self.best_U(W)
                F = self.J1(W, U) - mu * self.J2(W)
                new = self.optimise_W(W, U, mu, eps)
                quality = self.J1(new, self.best_U(new))
                F2 = quality - mu * self.J2(new)
                moved = np.linalg.norm(new @ new.T - W @ W.T)
                change = abs(F2 - F) / (quality + mu * self.J2(new))
                W = new
                if moved < eps and change < eps:
                    break
            ends.append((F2, W))
        W = min(ends, key=lambda e: e[0])[1]
        U = self.best_U(W)
        U = U / np.sqrt((U**2).sum(1, keepdims=True))
        return KMeans(self.k, n_init=10, random_state=seed).fit(U).labels_, min(ends)[0], mu


@pytest.mark.parametrize("seed", range(4))
def test_as_published_is_algorithm_1_label_for_label(seed):
    t = toy_disc(40, random_state=seed)
    est = DiSC.as_published(n_clusters=2, n_init=3, random_state=seed)
    starts = est._problem(t.data, t.scores).starts
    rounding = np.random.RandomState(seed).randint(2**31)
    z, F, mu = Listing(t.data, t.scores, 2).labels(starts, rounding)
    est.fit(t.data, scores=t.scores)
    np.testing.assert_array_equal(est.labels_, z)
    assert est.converged_ and est.objective_ == pytest.approx(F, abs=1e-3)


def test_published_settings():
    p = DiSC.as_published(n_clusters=3)
    assert (p.solver, p.sigma, p.mu, p.n_init) == ("published", "original", "scale", 20)
    assert p.n_clusters == 3 and p.n_components is None and p.score_kernel == "gaussian"
    with pytest.raises(TypeError, match="stands for no paper"):
        DRSC.as_published()


def test_the_comparison_runs_the_defaults():
    "Weaker settings than those of the constructor were compared once."
    assert for_study(DiSC, n_clusters=2).get_params() == DiSC(2).get_params()


def test_same_scale_makes_both_terms_equal_at_the_starts(toy):
    est = DiSC(2, mu="scale", n_init=5, random_state=0)
    task = est._problem(toy.data, toy.scores)
    p, _ = est._optimise(task)
    points = [evaluate(W, p, quality=True) for W in task.starts]
    ratio = np.median([t.J1 / (p.mu * t.J2) for t in points])
    assert ratio == pytest.approx(1)


def test_fewer_different_rows_than_clusters():
    X = np.repeat([[0.0, 0, 1], [1, 1, 0]], 10, axis=0)
    with pytest.warns(ConvergenceWarning, match="2 different rows for n_clusters=4"):
        assert DiSC(4, 1, n_init=1, random_state=0).fit(X).n_clusters_ == 2


@pytest.mark.parametrize(
    "kw",
    [{"mu": np.inf}, {"sigma": np.inf}, {"sigma": np.nan}, {"tol": "x"}, {"n_jobs": "all"}],
    ids=str,
)
def test_parameters_are_refused_by_name(toy, kw):
    with pytest.raises(ValueError, match=f"'{next(iter(kw))}' parameter of DiSC"):
        DiSC(2, **kw).fit(toy.data, scores=toy.scores)
