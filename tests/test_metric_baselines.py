"""Learned metrics: gradients, KKT conditions, what each must do on data where the answer
is known, the clusterers."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score as ari
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from csc_nb.baselines import metric as me
from csc_nb.constraints import Constraints, Triplets

IRIS, Y = StandardScaler().fit_transform(load_iris().data), load_iris().target
CLEAN = Constraints.from_labels(Y, n=120, random_state=0)
NOISY = Constraints.from_labels(Y, n=120, noise=0.15, random_state=0)
LEARNERS = {
    "itml": me.ITML(),
    "mmc": me.MMC(),
    "mmc-diagonal": me.MMC(diagonal=True),
    "mmc-reg": me.MMC(reg=1.0),
    "lsml": me.LSML(),
    "rca": me.RCA(),
    "sparse-lp": me.SparseLP(max_comparisons=300),
}
CLUSTERERS = [me.ITMLKMeans, me.MMCKMeans, me.LSMLKMeans, me.RCAKMeans, me.SparseLPKMeans]


def spd(rng, d):
    B = rng.normal(size=(d, d))
    return B @ B.T + 0.2 * np.eye(d)


def sym(G):
    return (G + G.T) / 2


@pytest.fixture(params=LEARNERS, ids=str)
def learner(request):
    return clone(LEARNERS[request.param])


@pytest.mark.parametrize("seed", range(3))
def test_gradients(seed):
    rng = np.random.default_rng(seed)
    U, V, w, d = rng.normal(size=(30, 4)), rng.normal(size=(30, 4)), rng.random(30), 4
    A = spd(rng, d)
    for f in (
        me.mmc_objective(U, w, V, w),
        me.mmc_objective(U, w, V, w, 0.3),
        me.lsml_objective(U, V, w / w.sum(), 20.0, spd(rng, d)),
    ):
        num = approx_fprime(A.ravel(), lambda a: f(a.reshape(d, d))[0], 1e-7).reshape(d, d)
        np.testing.assert_allclose(sym(f(A)[1]), sym(num), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("c", [CLEAN, NOISY], ids=["clean", "noisy"])
@pytest.mark.parametrize("diagonal", [False, True])
def test_mmc_meets_kkt(c, diagonal):
    V, s, w = me.differences(IRIS, c)
    f = me.mmc_objective(V[s > 0], w[s > 0], V[s < 0], w[s < 0])
    A, history, _ = me.minimise_psd(f, np.eye(4), diagonal, max_iter=3000, tol=1e-14)
    low, gap = me.kkt(f, A, diagonal)
    assert low > -1e-3 and gap < 1e-3
    assert (me.weighted_outer(V[s > 0], w[s > 0]) * A).sum() == pytest.approx(
        0.5, rel=1e-3
    )  # follows from homogeneity
    assert (np.diff(history) <= 1e-9).all()


def test_mmc_does_not_depend_on_units():
    a, b = (
        me.MMC(diagonal=True).fit(X, constraints=CLEAN).metric_ for X in (IRIS, 1000 * IRIS)
    )
    np.testing.assert_allclose(a / a.max(), b / b.max(), atol=1e-3)


@pytest.mark.parametrize("seed", range(3))
def test_itml_meets_kkt_and_has_no_duality_gap(seed):
    rng = np.random.default_rng(seed)
    V, delta, gamma = (
        rng.normal(size=(60, 3)),
        np.where(rng.random(60) < 0.5, 1, -1),
        rng.uniform(0.5, 3, 60),
    )
    A0 = spd(rng, 3)
    A, lam, xi, history = me.itml(V, delta, gamma, 1.0, 6.0, A0, max_iter=50_000, tol=1e-12)
    xi0, p = np.where(delta > 0, 1.0, 6.0), ((V @ A) * V).sum(1)
    np.testing.assert_allclose(
        np.linalg.inv(A), np.linalg.inv(A0) + me.weighted_outer(V, lam * delta), atol=1e-6
    )
    assert (
        lam.min() >= 0
        and (delta * (p - xi)).max() < 1e-6
        and np.abs(lam * (p - xi)).max() < 1e-6
    )
    primal = me.logdet_div(A, A0) + (gamma * (xi / xi0 - np.log(xi / xi0) - 1)).sum()
    assert (
        primal == pytest.approx(-history[-1], abs=1e-6) and (np.diff(history) <= 1e-9).all()
    )


def test_itml_kernel_is_the_formula():
    rng = np.random.default_rng(0)
    V, delta, gamma = (
        rng.normal(size=(10, 3)),
        np.where(rng.random(10) < 0.5, 1, -1),
        np.ones(10),
    )
    A, lam, xi = np.eye(3), np.zeros(10), np.where(delta > 0, 1.0, 6.0)
    B, mu, eta = A.copy(), lam.copy(), xi.copy()
    me._itml_pass(A, V, delta, gamma, lam, xi)
    for i in range(10):
        p = V[i] @ B @ V[i]
        alpha = min(mu[i], delta[i] * 0.5 * (1 / p - 1 / eta[i]))
        mu[i] -= alpha
        eta[i] = 1 / (1 / eta[i] + delta[i] * alpha)
        B = np.linalg.inv(np.linalg.inv(B) - delta[i] * alpha * np.outer(V[i], V[i]))
    np.testing.assert_allclose(A, B, rtol=1e-9)
    np.testing.assert_allclose(lam, mu)


@pytest.mark.parametrize("c", [CLEAN, NOISY], ids=["clean", "noisy"])
def test_lsml_gradient_is_zero_at_the_minimum(c):
    near, far, w = me.comparisons(IRIS, c, rng=np.random.RandomState(0))
    f = me.lsml_objective(near, far, w, 10.0, np.eye(4))
    A, history, _ = me.minimise_psd(f, np.eye(4), max_iter=3000, tol=1e-14)
    assert np.abs(sym(f(A)[1])).max() < 1e-3 and (np.diff(history) <= 1e-9).all()


def test_comparisons_from_triplets_by_hand():
    X = np.array([[0.0], [1.0], [10.0], [3.0]])
    t = Triplets([0, 0], [1, 2], [2, 3], ["ab", "none"], n_samples=4)
    near, far, w = me.comparisons(X, None, t)
    np.testing.assert_array_equal(np.abs(near).ravel(), [1, 1])
    np.testing.assert_array_equal(np.abs(far).ravel(), [10, 9])
    assert w.sum() == pytest.approx(1)


def test_comparisons_are_capped():
    near, far, w = me.comparisons(IRIS, CLEAN, limit=50, rng=np.random.RandomState(0))
    assert len(near) == len(far) == 50 and w.sum() == pytest.approx(1)


def test_rca_whitens_the_inside_of_groups():
    m = me.RCA(reg=1e-9).fit(IRIS, constraints=CLEAN)
    C, n = me.chunklet_scatter(m.transform(IRIS), CLEAN.must)
    assert n > 0
    np.testing.assert_allclose(C, np.eye(4), atol=1e-5)


def test_sparse_lp_is_proved_optimal_and_dominant():
    rng = np.random.default_rng(0)
    near, far = rng.normal(size=(40, 5)) * [0.1, 1, 1, 1, 3], rng.normal(size=(40, 5))
    A, primal, dual = me.sparse_lp(near, far, np.full(40, 1 / 40), 0.02)
    assert primal == pytest.approx(dual, abs=1e-8)
    off = np.abs(A).sum(1) - np.diag(A)
    assert (np.diag(A) >= off - 1e-9).all() and np.linalg.eigvalsh(A).min() >= -1e-9


def test_the_useless_column_is_dropped(learner):
    rng = np.random.default_rng(0)
    y = np.arange(120) % 2
    X = np.c_[3 * y + rng.normal(0, 0.5, 120), rng.normal(0, 3, 120)]
    c = Constraints.from_labels(y, n=120, random_state=0)
    before, after = ari(y, KMeans(2, n_init=10, random_state=0).fit(X).labels_), None
    Z = learner.fit(X, constraints=c).transform(X)
    after = ari(y, KMeans(2, n_init=10, random_state=0).fit(Z).labels_)
    assert before < 0.5 and after > 0.9


def test_no_answers_mean_euclid(learner):
    Z = learner.fit(IRIS).transform(IRIS)
    np.testing.assert_allclose(Z, IRIS, atol=1e-9)


def test_only_one_kind_of_answer(learner):
    for c in (
        Constraints.from_pairs(must=CLEAN.must.tolist(), n_samples=150),
        Constraints.from_pairs(cannot=CLEAN.cannot.tolist(), n_samples=150),
    ):
        assert np.isfinite(clone(learner).fit(IRIS, constraints=c).transform(IRIS)).all()


def test_metric_is_positive_and_matches_the_map(learner):
    m = learner.fit(IRIS, constraints=NOISY)
    np.testing.assert_allclose(
        m.components_ @ m.components_.T,
        m.metric_,
        atol=1e-8 * max(1, np.abs(m.metric_).max()),
    )
    assert np.linalg.eigvalsh(m.metric_).min() > -1e-9
    h = np.array(m.objective_history_)
    assert (np.diff(h) <= 1e-9 * max(abs(h[0]), 1)).all()


@pytest.mark.parametrize("name", ["itml", "mmc", "rca", "lsml"])
def test_transformers_pass_sklearns_checks(name):
    failed = [
        f"{r['check_name']}: {r['exception']}"
        for r in check_estimator(clone(LEARNERS[name]), on_fail=None, on_skip=None)
        if r["status"] == "failed"
    ]
    assert not failed, "\n".join(failed)


def test_transformer_in_a_pipeline():
    pipe = make_pipeline(
        StandardScaler(), me.ITML(), KMeans(3, n_init=10, random_state=0)
    ).fit(load_iris().data, itml__constraints=CLEAN)
    assert ari(Y, pipe[-1].labels_) > 0.85


@pytest.mark.parametrize("cls", CLUSTERERS, ids=lambda c: c.__name__)
def test_clusterers_predict_what_they_fitted(cls):
    m = cls(3, n_init=5, random_state=0, tune=False).fit(IRIS, constraints=CLEAN)
    np.testing.assert_array_equal(m.predict(IRIS), m.labels_)
    broken = (m.labels_[CLEAN.a] == m.labels_[CLEAN.b]) != (CLEAN.value > 0)
    np.testing.assert_array_equal(
        m.broken_answers_, np.c_[CLEAN.a, CLEAN.b, CLEAN.value][broken]
    )


def test_tuning_counts_held_out_answers_only():
    values = (1.0, 0.1)
    best, kept = me.tune_learner(
        me.ITML(), ("gamma", values), IRIS, NOISY, 3, 3, np.random.RandomState(0)
    )
    assert best == values[int(np.argmax(kept))] and ((0 <= kept) & (kept <= 1)).all()


def test_triplets_help_on_wine():
    X, y = StandardScaler().fit_transform(load_wine().data), load_wine().target
    t = Triplets.from_labels(y, n=178, random_state=0)
    m = me.LSMLKMeans(3, n_init=10, random_state=0).fit(X, triplets=t)
    assert ari(y, m.labels_) >= ari(y, KMeans(3, n_init=10, random_state=0).fit(X).labels_)


@pytest.mark.parametrize(
    "bad,match",
    [
        (me.ITML(gamma=0.0), "price of slack"),
        (me.RCA(reg=0.0), "'reg' parameter of RCA.*Got 0.0"),
        (me.ITML(bounds=(95, 5)), "lower one first"),
        (me.ITML(bounds=5), "'bounds' parameter of ITML.*Got 5"),
        (me.MMC(reg=-1), "at least 0"),
        (me.LSML(eta=0), "'eta' parameter of LSML.*Got 0"),
        (me.SparseLP(gamma=0), "price of the entries"),
        (me.ITMLKMeans(3, folds=1), "'folds' parameter.*Got 1"),
    ],
)
def test_bad_parameters(bad, match):
    with pytest.raises(ValueError, match=match):
        bad.fit(IRIS, constraints=CLEAN)


def test_a_clusterer_tunes_the_learner_it_is_given():
    m = me.MMCKMeans(3, learner=me.RCA(), n_init=2, random_state=0).fit(
        IRIS, constraints=CLEAN
    )
    assert m.learner_.reg in me.RCA._grid[1] and len(m.tuning_) == 3
    with pytest.raises(ValueError, match="'learner' parameter.*transform.*metric learner"):
        me.ITMLKMeans(3, learner="itml").fit(IRIS, constraints=CLEAN)


# defaults, the order of answers, parameters -----------------------------------------


def test_the_plain_default_passes_the_checks_of_scikit_learn():
    "`MetricKMeans()` had no learner to fall back on."
    results = check_estimator(me.MetricKMeans(), on_fail=None, on_skip=None)
    failed = [r["check_name"] for r in results if r["status"] == "failed"]
    assert not failed


@pytest.mark.parametrize("cls", CLUSTERERS[:-1])
def test_the_order_of_the_answers_does_not_matter(cls):
    by = np.random.default_rng(0).permutation(NOISY.n_constraints)
    other = Constraints(NOISY.b[by], NOISY.a[by], NOISY.value[by], n_samples=150)
    a, b = (
        cls(3, n_init=3, random_state=0).fit(IRIS, constraints=c) for c in (NOISY, other)
    )
    np.testing.assert_array_equal(a.labels_, b.labels_)
    np.testing.assert_array_equal(a.metric_, b.metric_)


def test_learners_do_not_depend_on_the_order_of_the_answers(learner):
    by = np.random.default_rng(1).permutation(NOISY.n_constraints)
    other = Constraints(NOISY.b[by], NOISY.a[by], NOISY.value[by], n_samples=150)
    if "random_state" in learner.get_params():
        learner.set_params(random_state=0)
    a, b = (clone(learner).fit(IRIS, constraints=c).metric_ for c in (NOISY, other))
    np.testing.assert_array_equal(a, b)


def test_fewer_different_rows_than_clusters_warns():
    X = np.repeat([[0.0, 0], [1, 1]], 10, axis=0)
    with pytest.warns(ConvergenceWarning, match="2 clusters were found but n_clusters=4"):
        assert me.RCAKMeans(4, random_state=0).fit(X).n_clusters_ == 2


@pytest.mark.parametrize(
    "est, name",
    [
        (me.MMC(reg=np.inf), "reg"),
        (me.RCA(reg=np.nan), "reg"),
        (me.ITML(gamma="high"), "gamma"),
        (me.ITML(max_iter=0), "max_iter"),
        (me.LSML(max_comparisons=0), "max_comparisons"),
        (me.SparseLP(gamma=np.inf), "gamma"),
        (me.MetricKMeans(3, n_init=0), "n_init"),
        (me.MetricKMeans(3, tune="no"), "tune"),
        (me.MetricKMeans(3, learner=3), "learner"),
    ],
    ids=str,
)
def test_parameters_are_refused_by_name(est, name):
    with pytest.raises(ValueError, match=f"'{name}' parameter of {type(est).__name__}"):
        est.fit(IRIS, constraints=CLEAN)


def test_rows_outside_of_every_group_do_not_count_in_the_scatter():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(9, 3))
    C, n = me.chunklet_scatter(X, np.array([[0, 1], [1, 2], [5, 6]]))
    inside = np.r_[X[:3] - X[:3].mean(0), X[5:7] - X[5:7].mean(0)]
    assert n == 5
    np.testing.assert_allclose(C, inside.T @ inside / 5)


def test_how_far_must_links_are_set_off_by_counting():
    z, must = np.array([0, 0, 1, 1, 1]), np.array([(0, 1), (1, 2), (3, 4)])
    chance = (2**2 + 3**2) / 5**2  # two random rows, drawn with replacement
    assert me.set_off(z, must, 200_000) == pytest.approx(2 / 3 - chance, abs=0.01)
    assert me.set_off(np.zeros(5, int), must) == 0, "a lump"
