"""The softmax model: longer checks than the page carries."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import log_softmax as scipy_log_softmax
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

import csc_nb.softmax as sm


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("shape", [(1, 1), (5, 2), (7, 13), (3, 4, 5), (0, 3)])
def test_matches_scipy(shape):
    Z = rng().normal(0, 50, shape)
    np.testing.assert_allclose(sm.log_softmax(Z), scipy_log_softmax(Z, axis=-1), atol=1e-12)
    np.testing.assert_allclose(sm.proba(Z).sum(-1), 1, atol=1e-14)


def test_kernel_equals_its_python_twin():
    Z = rng().normal(size=(20, 4))
    for a, b in zip(sm._softmax(Z), sm._softmax.py_func(Z)):
        np.testing.assert_allclose(a, b, atol=1e-15)


@pytest.mark.parametrize("big", [1e3, 1e8, 1e300])
def test_large_logits_are_safe(big):
    Z = np.array([[big, 0, -big], [0, 0, 0], [-big, -big, -big]])
    logP, P = sm.probs(Z)
    assert np.isfinite(P).all() and not np.isnan(logP).any()
    np.testing.assert_allclose(P[0], [1, 0, 0])
    np.testing.assert_allclose(P[1:], 1 / 3)
    T, A = np.full((3, 3), 1 / 3), sm.pair_matrix([0], [1], [1.0], 3)
    for v, G in (
        sm.mutual_information(logP, P),
        sm.mean_entropy(logP, P),
        sm.marginal_entropy(logP, P),
        sm.log_likelihood(logP, P, T),
        sm.agreement(logP, P, A),
    ):
        assert np.isfinite(v) and np.isfinite(G).all()


def test_a_forbidden_cluster_gives_no_nan():
    logP, P = sm.probs(np.array([[0.0, 1, -np.inf], [2.0, 0, -np.inf]]))
    v, G = sm.mutual_information(logP, P)
    assert np.isfinite(v) and np.isfinite(G).all() and (G[:, 2] == 0).all()


def test_input_types_and_memory_layout():
    Z = rng().normal(size=(6, 3))
    for other in (np.asfortranarray(Z), Z[::-1][::-1], Z.astype(np.float32), Z.tolist()):
        out = sm.proba(other)
        assert out.dtype == np.float64
        np.testing.assert_allclose(out, sm.proba(Z), atol=1e-6)
    Z.setflags(write=False)
    sm.proba(Z)


TERMS = {
    "mean entropy": lambda l, p: sm.mean_entropy(l, p),
    "mean entropy, some rows": lambda l, p: sm.mean_entropy(l, p, [0, 3]),
    "mean entropy, mask": lambda l, p: sm.mean_entropy(l, p, np.arange(len(p)) % 2 == 0),
    "mean entropy, none": lambda l, p: sm.mean_entropy(l, p, []),
    "marginal": lambda l, p: sm.marginal_entropy(l, p),
    "information": lambda l, p: sm.mutual_information(l, p),
    "information, some rows": lambda l, p: sm.mutual_information(l, p, [1, 2]),
    "agreement": lambda l, p: sm.agreement(
        l, p, sm.pair_matrix([0, 1, 4], [2, 3, 0], [1.0, -2, 0.3], len(p))
    ),
    "likelihood": lambda l, p: sm.log_likelihood(
        l, p, rng(1).uniform(size=p.shape), rng(2).uniform(size=len(p))
    ),
}


@pytest.mark.parametrize("name", TERMS)
@pytest.mark.parametrize("K", [2, 5])
@pytest.mark.parametrize("spread", [0.1, 3])
def test_gradients(name, K, spread):
    term, Z = TERMS[name], rng(3).normal(0, spread, (6, K))
    _, G = term(*sm.probs(Z))
    np.testing.assert_allclose(
        G, sm.num_grad(lambda Z: term(*sm.probs(Z))[0], Z), atol=1e-7
    )
    np.testing.assert_allclose(G.sum(1), 0, atol=1e-12)  # a common shift is never rewarded


def test_information_bounds_and_permutations():
    for seed in range(30):
        r = rng(seed)
        K = int(r.integers(2, 6))
        Z = r.normal(0, r.uniform(0.1, 20), (9, K))
        perm = r.permutation(K)
        v, G = sm.mutual_information(*sm.probs(Z))
        assert -1e-12 <= v <= np.log(K) + 1e-12
        vp, Gp = sm.mutual_information(*sm.probs(Z[:, perm]))
        np.testing.assert_allclose(vp, v, atol=1e-12)
        np.testing.assert_allclose(Gp, G[:, perm], atol=1e-12)


def test_agreement_adds_repeats_and_refuses_self_pairs():
    P = rng().dirichlet(np.ones(3), 5)
    once, twice = (
        sm.pair_matrix([0], [1], [3.0], 5),
        sm.pair_matrix([0, 1], [1, 0], [1.0, 2.0], 5),
    )
    assert (once != twice).nnz == 0
    np.testing.assert_allclose(sm.agreement(np.log(P), P, once)[0], 3 * P[0] @ P[1])
    with pytest.raises(
        ValueError, match=r"2 pairs join a row with itself: first is pair 1: \(2, 2\)"
    ):
        sm.pair_matrix([0, 2, 3], [1, 2, 3], [1, 1, 1], 5)


def test_pack_round_trip():
    W, b = rng().normal(size=(3, 4)), rng(1).normal(size=3)
    W2, b2 = sm.unpack(sm.pack(W, b), 3, 4)
    np.testing.assert_array_equal(W, W2)
    np.testing.assert_array_equal(b, b2)


def problem(n=150, d=4, K=3, seed=0):
    r = rng(seed)
    X, y = r.normal(size=(n, d)), r.integers(0, K, n)
    X[:, :K] += 1.5 * np.eye(K)[y]
    return X, y, np.eye(K)[y]


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("lam", [1e-3, 1.0])
def test_fit_softmax_is_sklearn(K, lam):
    X, y, T = problem(K=K)
    fit = sm.fit_softmax(X, T, lam=lam, tol=1e-9, max_iter=1000)
    P = sm.proba(sm.logits(X, fit.coef, fit.intercept))
    if K == 2:  # sklearn has one row: w1-w0, so its ridge is half of ours
        sk = LogisticRegression(C=1 / (len(y) * lam), tol=1e-10, max_iter=5000).fit(X, y)
    else:
        sk = LogisticRegression(C=1 / (2 * len(y) * lam), tol=1e-10, max_iter=5000).fit(
            X, y
        )
    np.testing.assert_allclose(P, sk.predict_proba(X), atol=2e-4)
    assert fit.converged and fit.coef.shape == (K, 4)


def test_weights_count_rows_and_sparse_rows_agree():
    X, y, T = problem()
    c = rng(1).integers(0, 3, len(X))
    a = sm.fit_softmax(X, T, c / c.sum(), lam=0.01, tol=1e-9)
    b = sm.fit_softmax(np.repeat(X, c, 0), np.repeat(T, c, 0), lam=0.01, tol=1e-9)
    s = sm.fit_softmax(sp.csr_matrix(X), T, c / c.sum(), lam=0.01, tol=1e-9)
    np.testing.assert_allclose(a.coef, b.coef, atol=1e-5)
    np.testing.assert_allclose(a.coef, s.coef, atol=1e-5)


def test_bias_is_not_penalised():
    X, y, T = problem()
    fit = sm.fit_softmax(X, T, lam=1e6, tol=1e-10)
    P = sm.proba(sm.logits(X, fit.coef, fit.intercept))
    assert np.abs(fit.coef).max() < 1e-5
    np.testing.assert_allclose(P, np.tile(T.mean(0), (len(X), 1)), atol=1e-4)


def test_without_intercept():
    X, y, T = problem()
    fit = sm.fit_softmax(X + 3, T, lam=0.01, fit_intercept=False)
    assert (fit.intercept == 0).all()
    g = (
        sm.to_params(sm.log_likelihood(*sm.probs(sm.logits(X + 3, fit.coef)), T)[1], X + 3)[
            0
        ]
        - 0.02 * fit.coef
    )
    assert np.abs(g).max() < 1e-5


def test_history_rises_and_the_start_is_used():
    X, y, T = problem()
    fit = sm.maximise(
        sm.mutual_information, X, *sm.kmeans_start(X, 3, random_state=0), lam=0.01
    )
    assert (np.diff(fit.history) >= -1e-12).all() and fit.n_iter == len(fit.history)
    again = sm.maximise(sm.mutual_information, X, fit.coef, fit.intercept, lam=0.01)
    assert again.n_iter <= 3 and again.value >= fit.value - 1e-9
    stopped = sm.maximise(
        sm.mutual_information, X, 0.1 * rng().normal(size=(3, 4)), lam=0.01, max_iter=2
    )
    assert not stopped.converged and stopped.n_iter == 2


@pytest.mark.parametrize(
    "T, weight, words",
    [
        (np.ones((3, 2)), None, "150 rows of X but soft labels of shape"),
        (np.ones(150), None, "one row of K probabilities"),
        (
            np.r_[[[-1.0, 2]], np.ones((149, 2))],
            None,
            "1 rows of soft labels are negative or not finite: first is row 0",
        ),
        (np.r_[np.ones((149, 2)), [[np.nan, 1]]], None, "first is row 149"),
        (np.ones((150, 2)), np.ones(3), "weights of shape"),
    ],
)
def test_bad_soft_labels(T, weight, words):
    with pytest.raises(ValueError, match=words):
        sm.fit_softmax(problem()[0], T, weight)


def test_kmeans_start():
    X, y, T = problem(seed=5)
    a, b = (sm.kmeans_start(X, 3, random_state=1) for _ in range(2))
    np.testing.assert_array_equal(a[0], b[0])
    np.testing.assert_allclose(a[0].sum(0), 0, atol=1e-10)
    with pytest.raises(ValueError, match="n_samples=2 should be >= n_clusters=3"):
        sm.kmeans_start(X[:2], 3)


@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
def test_kmeans_start_with_empty_clusters_is_finite():
    coef, intercept = sm.kmeans_start(np.zeros((10, 2)), 3, random_state=0)
    P = sm.proba(sm.logits(np.zeros((1, 2)), coef, intercept))
    assert np.isfinite(coef).all() and (P > 1e-4).all()


def sk_logistic(X, u, v, lam):
    XX, yy = np.r_[X, X], np.r_[np.ones(len(X)), np.zeros(len(X))]
    return LogisticRegression(C=1 / (2 * lam), tol=1e-11, max_iter=10_000).fit(
        XX, yy, np.r_[u, v]
    )


def test_column_scale_leaves_constant_columns_alone():
    X = np.c_[np.arange(6.0), np.full(6, 3.0), 100 * np.arange(6.0) + 7]
    mean, sd = sm.column_scale(X)
    np.testing.assert_allclose(mean, X.mean(0))
    np.testing.assert_allclose(sd, [X[:, 0].std(), 1.0, X[:, 2].std()])
    mean, sd = sm.column_scale(X, scale=False)
    assert not mean.any() and (sd == 1).all()


@pytest.mark.parametrize("solver", ["newton", "lbfgs"])
@pytest.mark.parametrize("shift", [0, 1e4])
def test_fit_logistic_is_sklearn(solver, shift, monkeypatch):
    monkeypatch.setattr(sm, "BLOCK", 4)  # six targets, two blocks
    r = rng(2)
    X, u, v = (
        r.normal(size=(80, 3)),
        r.uniform(size=(80, 6)),
        r.uniform(size=(80, 6)) * (r.uniform(size=(80, 6)) < 0.5),
    )
    fit = sm.fit_logistic(X + shift, u, v, lam=0.2, solver=solver)
    assert fit.converged
    for t in range(6):
        sk = sk_logistic(X, u[:, t], v[:, t], 0.2)
        np.testing.assert_allclose(fit.coef[t], sk.coef_[0], atol=1e-4)
        np.testing.assert_allclose(
            fit.intercept[t] + fit.coef[t].sum() * shift, sk.intercept_[0], atol=2e-4
        )


@pytest.mark.parametrize("solver", ["newton", "lbfgs"])
def test_fit_logistic_corner_targets(solver):
    X = rng().normal(size=(40, 2))
    z, o, split = np.zeros(40), np.ones(40), (X[:, 0] > 0).astype(float)
    on, off = (
        np.c_[z, o, z, split],
        np.c_[z, z, o, 1 - split],
    )  # nothing said, all on, all off, separable
    fit = sm.fit_logistic(X, on, off, lam=1e-3, solver=solver)
    assert (
        np.isfinite(fit.coef).all() and np.isfinite(fit.intercept).all() and fit.converged
    )
    assert (fit.coef[0] == 0).all() and fit.intercept[0] == 0
    assert fit.intercept[1] > 5 and fit.intercept[2] < -5
    assert ((X @ fit.coef[3] + fit.intercept[3] > 0) == (split == 1)).all()


def test_fit_logistic_gradient_is_zero_and_start_saves_steps():
    r = rng(4)
    X, u, v = r.normal(size=(60, 3)), r.uniform(size=(60, 5)), r.uniform(size=(60, 5))
    fit = sm.fit_logistic(X, u, v, lam=0.1)
    X1, W = np.c_[X, np.ones(60)], np.c_[fit.coef, fit.intercept]
    f, g, _ = sm.logistic_values(X1, W, u, v, np.array([0.1, 0.1, 0.1, 0]))
    assert np.abs(g).max() < 1e-5
    np.testing.assert_allclose(f, fit.value, atol=1e-9)
    again = sm.fit_logistic(X, u, v, lam=0.1, start=(fit.coef, fit.intercept), max_iter=1)
    assert again.converged
    np.testing.assert_allclose(again.coef, fit.coef, atol=1e-8)
    assert not sm.fit_logistic(X + 2, u * 9, v, lam=0.1, max_iter=1).converged


@pytest.mark.parametrize(
    "kwargs, words",
    [
        (dict(on=np.ones((5, 2)), off=np.ones((5, 3))), "differ in shape"),
        (dict(on=-np.ones((5, 2)), off=np.ones((5, 2))), "not negative"),
        (dict(on=np.full((5, 2), np.nan), off=np.ones((5, 2))), "not negative"),
        (dict(on=np.ones((5, 2)), off=np.ones((5, 2)), solver="sgd"), "solver='sgd'"),
    ],
)
def test_bad_logistic_input(kwargs, words):
    with pytest.raises(ValueError, match=words):
        sm.fit_logistic(np.ones((5, 2)), **kwargs)


def test_predictor():
    class Model(sm.SoftmaxPredictor, BaseEstimator):
        def fit(self, X, y=None):
            self.n_features_in_, self.coef_, self.intercept_ = (
                X.shape[1],
                np.eye(3)[:, :2],
                np.zeros(3),
            )
            return self

    X = rng().normal(size=(6, 2))
    with pytest.raises(NotFittedError):
        Model().predict(X)
    m = Model().fit(X)
    np.testing.assert_allclose(np.exp(m.predict_log_proba(X)), m.predict_proba(X))
    np.testing.assert_array_equal(m.predict(X), m.predict_proba(X).argmax(1))
    with pytest.raises(ValueError, match="features"):
        m.predict(X[:, :1])


def test_lbfgs_direction_satisfies_the_secant_equation():
    r = rng(7)
    H = [
        (lambda B: B @ B.T + np.eye(4))(r.normal(size=(4, 4))) for _ in range(3)
    ]  # one quadratic per target
    S = [r.normal(size=(3, 4)) for _ in range(3)]
    Y = [np.stack([H[t] @ s[t] for t in range(3)]) for s in S]
    np.testing.assert_allclose(sm._lbfgs_direction(Y[-1], S, Y), S[-1], atol=1e-10)
