"""RDP-means and DP-means: invariants, limits, kernels against formulas, the estimators."""

import numpy as np
import pytest
from numba import njit
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score as ari
from sklearn.utils.estimator_checks import check_estimator

from csc_nb.constraints import Constraints
from csc_nb.graph import make_links
from csc_nb.rdpmeans import (
    DIVERGENCES,
    DPMeans,
    RDPMeans,
    RDPState,
    choose_xi,
    cluster_means,
    exact_prices,
    farthest_first,
    link_score,
    links_subset,
    merge_clusters,
    flip_costs,
    wrong_odds,
    prepare,
    prices,
    rdp_init,
    rdp_means,
    rdp_objective,
    rdp_path,
    rdp_problem,
    rdp_seed,
    rdp_step,
    rdp_sweep,
    size_normalised,
    spectral_relaxation,
    visit_order,
    xi_ladder,
    _exact_sweep,
    _fast_exact_sweep,
    _fast_sweep,
    _hartigan_sweep,
    _rdp_sweep,
)


def problem(rng, n=10, m=14, divergence="euclidean", lam=None, weights=True):
    a, b = np.triu_indices(n, 1)
    pick = rng.choice(len(a), m, replace=False)
    w = rng.uniform(0.5, 2, m) if weights else None
    return rdp_problem(
        rng.uniform(0.2, 3, (n, 2)),
        make_links(n, a[pick], b[pick], rng.choice([-1, 1], m), w),
        rng.uniform(0.2, 3) if lam is None else lam,
        divergence,
    )


def J(z, pr, xi):
    "The objective at the means of a partition, written out."
    total = 0.0
    for k in np.unique(z):
        A = pr.X[z == k]
        total += (
            pr.B.phi(A)
            - pr.B.phi(A.mean(0))
            - ((A - A.mean(0)) * pr.B.grad(A.mean(0))).sum(1)
        ).sum() + pr.lam
    for i, j, f, s in zip(pr.links.a, pr.links.b, pr.links.f, pr.links.s):
        total += (z[i] == z[j]) * (xi[1] * s - xi[0] * f)
    return total


def same_partition(a, b):
    return ari(a, b) == 1.0


@njit
def _J(X, z, theta, psi, K, a, b, f, s, lam, xi1, xi2):
    "The objective with K centres 2μ = theta, some of which may be empty."
    total = lam * K
    for i in range(len(z)):
        for j in range(X.shape[1]):
            total += (X[i, j] - theta[j, z[i]] / 2) ** 2
    for e in range(len(a)):
        if z[a[e]] == z[b[e]]:
            total += xi2 * s[e] - xi1 * f[e]
    return total


@njit
def _means(X, z, K):
    "Means of the clusters that have members; renumbers `z` in place."
    kept = 0
    mu = np.zeros((K, X.shape[1]))
    for k in range(K):
        count = 0
        for i in range(len(z)):
            if z[i] == k:
                mu[kept] += X[i]
                z[i] = kept
                count += 1
        if count:
            mu[kept] /= count
            kept += 1
    return mu[:kept]


@njit
def _worst_rise(X, phi, orders, a, b, f, s, indptr, nbr, gain, lam, xi1, xi2):
    "Largest rise of J over single steps of Algorithm 1: a visit, or means and pruning."
    n, d = X.shape
    z = np.zeros(n, np.int64)
    worst = -np.inf
    steps = 0
    mu = _means(X, z, 1)
    theta = np.zeros((d, 20 * n))
    psi = np.zeros(20 * n)
    theta[:, 0] = 2 * mu[0]
    psi[0] = (mu[0] ** 2).sum()
    K = 1
    now = _J(X, z, theta, psi, K, a, b, f, s, lam, xi1, xi2)
    for order in orders:
        for t in range(n):
            _, K, _ = _rdp_sweep(
                X, phi, order[t : t + 1], 0, z, theta, psi, K, indptr, nbr, gain, lam, 0
            )
            new = _J(X, z, theta, psi, K, a, b, f, s, lam, xi1, xi2)
            worst = max(worst, new - now)
            now = new
            steps += 1
        mu = _means(X, z, K)
        K = len(mu)
        for k in range(K):
            theta[:, k] = 2 * mu[k]
            psi[k] = (mu[k] ** 2).sum()
        new = _J(X, z, theta, psi, K, a, b, f, s, lam, xi1, xi2)
        worst = max(worst, new - now)
        now = new
        steps += 1
    return worst, steps


def test_J_never_rises_in_1e5_single_steps_of_algorithm_1():
    rng = np.random.default_rng(0)
    steps = 0
    worst = -np.inf
    while steps < 100_000:
        pr, (xi1, xi2) = problem(rng), rng.uniform(0, 3, 2)
        L = pr.links
        orders = np.array([rng.permutation(10) for _ in range(6)])
        w, k = _worst_rise(
            pr.X,
            pr.phi,
            orders,
            L.a,
            L.b,
            L.f,
            L.s,
            L.indptr,
            L.nbr,
            (xi1 * L.f - xi2 * L.s)[L.edge],
            pr.lam,
            xi1,
            xi2,
        )
        worst = max(worst, w)
        steps = steps + k
    assert worst < 1e-9


@pytest.mark.parametrize("divergence", ["euclidean", "kl", "itakura-saito"])
def test_J_never_rises_in_single_exact_steps_and_merges(divergence):
    rng = np.random.default_rng(1)
    for _ in range(20):
        pr = problem(rng, divergence=divergence)
        xi = rng.uniform(0, 2, 2)
        z = np.zeros(10, np.int64)
        mu = pr.X.mean(0, keepdims=True)
        now = J(z, pr, xi)
        for i in np.concatenate([rng.permutation(10) for _ in range(5)]):
            z, K, _ = _fast_exact_sweep(z, mu, pr, *xi, np.array([i]))
            z, mu, size = cluster_means(pr.X, z)
            new = J(z, pr, xi)
            assert new <= now + 1e-9
            now = new
        z, mu, size, _ = merge_clusters(z, mu, size, pr, *xi)
        assert J(z, pr, xi) <= now + 1e-9


@pytest.mark.parametrize("algorithm", ["paper", "exact"])
def test_history_of_J_at_fixed_xi_falls_and_equals_the_written_out_objective(algorithm):
    rng = np.random.default_rng(2)
    for _ in range(30):
        pr = problem(rng, n=30, m=60)
        s = rdp_init(pr, 1.3, 0.7)
        old = np.inf
        for _ in range(8):
            s = rdp_step(s, pr, rng, algorithm=algorithm)
            assert s.J <= old + 1e-9
            old = s.J
            np.testing.assert_allclose(s.J, J(s.z, pr, (1.3, 0.7)), atol=1e-8)


def test_printed_objective_20_does_rise():
    "The corrected theorem is not vacuous: (20) counts each pair twice, and rises."
    rng = np.random.default_rng(0)
    rises = 0
    for _ in range(200):
        pr = problem(rng, weights=False)
        s = rdp_init(pr, 1.0)
        twice = lambda s: (
            2 * (s.J - pr.lam * len(s.mu))
            - ((pr.X - s.mu[s.z]) ** 2).sum()
            + pr.lam * len(s.mu)
        )
        s = rdp_step(s, pr, rng, algorithm="paper")
        old = twice(s)
        for _ in range(5):
            s = rdp_step(s, pr, rng, algorithm="paper")
            rises += twice(s) > old + 1e-9
            old = twice(s)
    assert rises > 0


def test_asymmetric_links_can_raise_J():
    "Why both ends see each answer: a link known to one end only breaks the theorem."
    rng = np.random.default_rng(0)
    rises = 0
    for _ in range(300):
        pr = problem(rng, weights=False)
        L = pr.links
        ends = np.repeat(np.arange(10), np.diff(L.indptr))
        keep = ends == L.a[L.edge]  # only the first end knows
        one = L._replace(
            indptr=np.r_[0, np.cumsum(np.bincount(ends[keep], minlength=10))],
            nbr=L.nbr[keep],
            edge=L.edge[keep],
        )
        z = np.zeros(10, np.int64)
        mu = pr.X.mean(0, keepdims=True)
        old = np.inf
        for _ in range(5):
            z, K, _ = _fast_sweep(
                z, mu, pr._replace(links=one), 2.0, 2.0, rng.permutation(10)
            )
            z, mu, _ = cluster_means(pr.X, z)
            new = rdp_objective(z, mu, pr, 2.0, 2.0)
            rises += new > old + 1e-9
            old = new
    assert rises > 0


@pytest.mark.parametrize("algorithm", ["paper", "exact"])
def test_no_price_or_no_links_is_dp_means(algorithm):
    rng = np.random.default_rng(3)
    pr = problem(rng, n=60, m=200, lam=0.5)
    run = lambda pr, xi0: (
        rdp_means(pr, np.random.default_rng(0), xi0=xi0, algorithm=algorithm)[-1].z
    )
    bare = pr._replace(links=make_links(60))
    np.testing.assert_array_equal(run(pr, 0.0), run(bare, 0.0))
    np.testing.assert_array_equal(run(bare, 5.0), run(bare, 0.0))


@pytest.mark.parametrize("algorithm", ["paper", "exact"])
def test_infinite_lambda_gives_one_cluster(algorithm):
    pr = problem(np.random.default_rng(0), n=40, lam=np.inf)
    assert (
        len(
            rdp_means(
                pr._replace(links=make_links(40)),
                np.random.default_rng(0),
                algorithm=algorithm,
            )[-1].mu
        )
        == 1
    )


def test_tiny_lambda_gives_one_cluster_per_point():
    X = np.random.default_rng(0).normal(size=(30, 2))
    assert DPMeans(lam=1e-12).fit(X).n_clusters_ == 30


@pytest.mark.parametrize("kernel", ["paper", "exact"])
def test_joint_relabelling_of_rows_and_links(kernel):
    rng = np.random.default_rng(5)
    for _ in range(20):
        pr = problem(rng, n=20, m=40)
        perm = rng.permutation(20)
        inv = np.argsort(perm)
        L = pr.links
        moved = rdp_problem(
            pr.X[perm],
            make_links(20, inv[L.a], inv[L.b], np.sign(L.f - L.s), L.f + L.s),
            pr.lam,
        )
        order = rng.permutation(20)
        z = np.zeros(20, np.int64)
        mu = pr.X.mean(0, keepdims=True)
        for _ in range(3):
            if kernel == "paper":
                z1, K, _ = _fast_sweep(z, mu, pr, 1.0, 0.5, order)
                z2, _, _ = _fast_sweep(z[perm], mu, moved, 1.0, 0.5, inv[order])
            else:
                z1, K, _ = _fast_exact_sweep(z, mu, pr, 1.0, 0.5, order)
                z2, _, _ = _fast_exact_sweep(z[perm], mu, moved, 1.0, 0.5, inv[order])
            np.testing.assert_array_equal(z1[perm], z2)
            z = z1.copy()
            z, mu, _ = cluster_means(pr.X, z)


@pytest.mark.parametrize("divergence", list(DIVERGENCES))
def test_kernel_equals_formula(divergence):
    rng = np.random.default_rng(6)
    for _ in range(10):
        pr = problem(rng, n=25, m=60, divergence=divergence)
        z = np.zeros(25, np.int64)
        mu = pr.X.mean(0, keepdims=True)
        for xi in (0.0, 0.3, 2.0):
            order = rng.permutation(25)
            slow, centres = rdp_sweep(z, mu, pr, xi, 2 * xi, order)
            fast, K, moved = _fast_sweep(z, mu, pr, xi, 2 * xi, order)
            np.testing.assert_array_equal(slow, fast)
            assert K == len(centres) and moved == (slow != z).sum()
            z = slow
            z, mu, _ = cluster_means(pr.X, z)


@pytest.mark.parametrize(
    "divergence", ["euclidean", "mahalanobis", "kl", "poisson", "itakura-saito"]
)
def test_exact_kernel_takes_the_best_move(divergence):
    rng = np.random.default_rng(7)
    for _ in range(15):
        pr = problem(rng, n=15, m=30, divergence=divergence)
        z = np.zeros(15, np.int64)
        mu = pr.X.mean(0, keepdims=True)
        for i in rng.permutation(15):
            want = min(
                J(np.where(np.arange(15) == i, k, z), pr, (0.5, 0.8))
                for k in range(z.max() + 2)
            )
            z, K, _ = _fast_exact_sweep(z, mu, pr, 0.5, 0.8, np.array([i]))
            z, mu, _ = cluster_means(pr.X, z)
            np.testing.assert_allclose(J(z, pr, (0.5, 0.8)), want, atol=1e-9)


@pytest.mark.parametrize("divergence", ["euclidean", "kl", "itakura-saito"])
def test_exact_kernel_keeps_its_sums_during_a_sweep(divergence):
    "A whole sweep against one that recomputes every price from the members."
    rng = np.random.default_rng(11)
    moved = 0
    for _ in range(10):
        pr = problem(rng, n=20, m=30, divergence=divergence)
        order = rng.permutation(20)
        z, mu, _ = cluster_means(pr.X, rng.integers(0, 4, 20))
        fast, _, _ = _fast_exact_sweep(z, mu, pr, 0.3, 0.4, order)
        slow = z.copy()
        for i in order:
            price = exact_prices(i, slow, slow.max() + 2, pr, 0.3, 0.4)
            if price.min() < price[slow[i]] - 1e-12:
                slow[i] = price.argmin()
        assert same_partition(fast, slow)
        moved += (slow != z).sum()
    assert moved > 50


def test_compiled_kernels_equal_their_python_twins():
    rng = np.random.default_rng(8)
    pr = problem(rng, n=12, m=20, divergence="kl")
    L = pr.links
    room = np.zeros(20)
    gain = (L.f - L.s)[L.edge]
    S = pr.X.sum(0)
    sq = (pr.X**2).sum(1)
    mu = pr.X.mean(0)
    start = lambda: (
        np.arange(12),
        0,
        np.zeros(12, np.int64),
        np.r_[12, np.zeros(20, np.int64)],
    )
    euclid = lambda: (
        pr.X,
        sq,
        *start(),
        np.c_[2 * mu, np.zeros((2, 20))],
        np.r_[mu @ mu, room],
        np.r_[12 / 13, room],
        np.full(12, -1, np.float32),
        np.zeros(2),
        1,
        L.indptr,
        L.nbr,
        gain,
        pr.lam,
        np.inf,
    )
    counts = lambda: (
        pr.X,
        pr.phi,
        *start(),
        np.c_[S, np.zeros((2, 20))],
        np.r_[(S * np.log(S)).sum(), room],
        np.r_[S.sum(), room],
        1,
        L.indptr,
        L.nbr,
        gain,
        pr.lam,
        np.inf,
        1,
    )
    for kernel, args in ((_hartigan_sweep, euclid), (_exact_sweep, counts)):
        a = args()
        b = args()
        assert kernel(*a) == kernel.py_func(*b)
        np.testing.assert_array_equal(a[4], b[4])
        assert a[4].max() > 0


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_rows_left_out_of_a_sweep_would_not_have_moved(seed, free):
    """Every step once with what the last one knows, once seeing every row."""
    rng = np.random.default_rng(seed)
    X = rng.normal(0, 1.5, (6, 3))[rng.integers(0, 6, 4000)] + rng.normal(size=(4000, 3))
    X[:5] *= 20  # clusters of one row come and go
    pairs = rng.choice(4000, (300, 2), replace=False)
    links = make_links(4000, *pairs.T, rng.choice([-1, 1], 300))
    prob = rdp_problem(X, links, 60.0)._replace(max_clusters=np.inf if free else 6)
    z, mu, size = cluster_means(X, rng.integers(0, 6, 4000))
    s = RDPState(z, mu, 0.1, 0.1, np.inf, -1, 0)
    left_out = 0
    for step in range(30):
        s = s._replace(xi1=0.1 * 1.3**step, xi2=0.1 * 1.3**step)
        lazy = rdp_step(s, prob, np.random.default_rng(step))
        whole = rdp_step(s._replace(rest=None), prob, np.random.default_rng(step))
        np.testing.assert_array_equal(lazy.z, whole.z)
        np.testing.assert_array_equal(lazy.mu, whole.mu)
        assert (lazy.J, lazy.moved) == (whole.J, whole.moved)
        s = lazy
        if s.rest is not None:
            left_out += int((s.rest.until > s.rest.way[0]).sum())
    assert left_out > 10 * len(X)


def test_a_state_that_was_changed_by_hand_sees_every_row():
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(size=(300, 2)), rng.normal(6, 1, (300, 2))]
    prob = rdp_problem(X, None, 1e4)
    z, mu, _ = cluster_means(X, np.repeat([0, 1], 300))
    s = RDPState(z, mu, 0.0, 0.0, np.inf, -1, 0)
    for _ in range(3):
        s = rdp_step(s, prob, rng)
    wrong = np.where(np.arange(600) < 100, 1 - s.z, s.z)
    z, mu, _ = cluster_means(X, wrong)
    for other in (s._replace(z=z, mu=mu), s):
        after = rdp_step(other, prob, np.random.default_rng(1))
        np.testing.assert_array_equal(after.z, s.z)
    far = prob._replace(X=X[::-1].copy(), phi=prob.phi[::-1].copy())
    after = rdp_step(s, far, np.random.default_rng(1))
    assert after.moved == 600


@pytest.mark.parametrize("n", [1, 100, 4097, 10_000])
def test_every_point_is_visited_once(n):
    for seed in range(5):
        np.testing.assert_array_equal(
            np.sort(visit_order(n, np.random.default_rng(seed))), np.arange(n)
        )


def test_spectral_bound_and_size_normalised_objective():
    rng = np.random.default_rng(9)
    for n in (8, 250):
        a, b = rng.integers(0, n, (2, 60))
        ok = a != b
        pr = rdp_problem(
            rng.normal(size=(n, 3)),
            make_links(n, a[ok], b[ok], rng.choice([-1, 1], ok.sum())),
            1.5,
        )
        w, Y = spectral_relaxation(pr, 0.6, 0.6, k_max=min(n, 60))
        bound = (pr.X**2).sum() - (w - pr.lam).sum()
        np.testing.assert_allclose(Y.T @ Y, np.eye(len(w)), atol=1e-8)
        for _ in range(20):
            assert (
                bound
                <= size_normalised(
                    np.unique(rng.integers(0, 3, n), return_inverse=True)[1], pr, 0.6, 0.6
                )
                + 1e-6
            )


# ---- estimators

X, Y = make_blobs(120, centers=[[0, 0], [5, 0], [0, 5]], random_state=0)


def answers(n=200, noise=0.1, seed=0):
    return Constraints.from_labels(Y, n=n, noise=noise, random_state=seed)


@pytest.mark.parametrize(
    "est",
    [
        RDPMeans(n_clusters=3, random_state=0),
        DPMeans(n_clusters=3, random_state=0),
        RDPMeans(n_clusters=2, divergence="mahalanobis", random_state=0),
    ],
    ids=["rdp", "dp", "mahalanobis"],
)
def test_sklearn(est):
    failed = [
        f"{r['check_name']}: {r['exception']}"
        for r in check_estimator(est, on_fail=None, on_skip=None)
        if r["status"] == "failed"
    ]
    assert not failed, "\n".join(failed)


def test_finds_the_blobs_and_the_liars():
    c = answers()
    est = RDPMeans(n_clusters=3, random_state=0).fit(X, constraints=c)
    assert ari(Y, est.labels_) == 1.0
    wrong = (Y[c.a] == Y[c.b]) != (c.value > 0)
    assert set(est.suspects_) == set(np.flatnonzero(wrong))
    assert est.suspicion_.shape == c.a.shape
    assert (est.suspicion_ >= 0).all() and (est.suspicion_ <= 1).all()
    assert (np.diff(est.suspicion_[est.suspects_]) <= 0).all()
    assert ((est.suspicion_ > 0.5) == wrong).all()
    np.testing.assert_array_equal(est.predict(X), est.labels_)
    assert (
        np.diff(est.objective_history_) <= 1e-9
    ).all() and est.labels_.max() + 1 == est.n_clusters_ == len(est.cluster_centers_)
    np.testing.assert_allclose(
        est.cluster_centers_, [X[est.labels_ == k].mean(0) for k in range(3)]
    )


@pytest.mark.parametrize("divergence", ["euclidean", "kl"])
def test_a_limit_on_the_number_of_clusters_is_kept(divergence):
    rng = np.random.default_rng(0)
    for limit in (1, 2, 4):
        pr = problem(rng, n=60, m=300, divergence=divergence, lam=0.05)._replace(
            max_clusters=limit
        )
        for s in rdp_path(pr, [0.01, 0.1, 1.0, 10.0], rng):
            assert len(s.mu) <= limit
    free = list(rdp_path(pr._replace(max_clusters=np.inf), [0.01, 0.1, 1.0, 10.0], rng))
    assert len(free[-1].mu) > 4
    est = RDPMeans(n_clusters=3, max_clusters=3, random_state=0).fit(
        X, constraints=answers(noise=0.4)
    )
    assert est.n_clusters_ <= 3


def test_units_do_not_matter():
    c = answers(noise=0.2)
    a, b = (
        RDPMeans(n_clusters=3, random_state=0).fit(s * X + 7.0, constraints=c)
        for s in (1.0, 1024.0)
    )
    np.testing.assert_array_equal(a.labels_, b.labels_)
    np.testing.assert_allclose(b.lam_, 1024.0**2 * a.lam_)


def test_far_from_the_origin():
    c = answers()
    np.testing.assert_array_equal(
        RDPMeans(n_clusters=3, random_state=0).fit(X, constraints=c).labels_,
        RDPMeans(n_clusters=3, random_state=0).fit(X + 1e6, constraints=c).labels_,
    )


def test_dont_know_answers_say_nothing_and_order_of_ends_does_not_matter():
    c = answers()
    extra = Constraints(
        np.r_[c.a, [0, 1]], np.r_[c.b, [50, 60]], np.r_[c.value, [0, 0]], n_samples=len(X)
    )
    turned = Constraints(c.b, c.a, c.value, n_samples=len(X))
    want = RDPMeans(n_clusters=3, random_state=0).fit(X, constraints=c).labels_
    for other in (extra, turned):
        np.testing.assert_array_equal(
            RDPMeans(n_clusters=3, random_state=0).fit(X, constraints=other).labels_, want
        )


def test_weights_count_as_repeats():
    rng = np.random.default_rng(0)
    pr = problem(rng, n=20, m=30, weights=False)
    L = pr.links
    v = np.sign(L.f - L.s)
    thrice = pr._replace(
        links=make_links(20, np.tile(L.a, 3), np.tile(L.b, 3), np.tile(v, 3))
    )
    heavy = pr._replace(links=make_links(20, L.a, L.b, v, np.full(30, 3.0)))
    a, b = (rdp_means(p, np.random.default_rng(1))[-1].z for p in (thrice, heavy))
    np.testing.assert_array_equal(a, b)


def test_xi_ratio_zero_makes_may_not_links_free():
    apart = [(i, j) for i in range(20) for j in range(i)][:60]
    c = Constraints.from_pairs(must=[(0, 1)], cannot=apart, n_samples=len(X))
    free = RDPMeans(n_clusters=3, xi_ratio=0.0, xi_max=1e3, random_state=0).fit(
        X, constraints=c
    )
    paid = RDPMeans(n_clusters=3, xi_ratio=1.0, xi_max=1e3, random_state=0).fit(
        X, constraints=c
    )

    def broken(est):
        return (est.labels_[c.a] == est.labels_[c.b])[c.value < 0].sum()

    assert ari(Y, free.labels_) == 1.0
    assert broken(paid) < broken(free)


def ladder_problem():
    c = answers()
    links = make_links(len(X), c.a, c.b, c.value)
    return rdp_problem(X - X.mean(0), links, 20.0)


def test_beyond_the_top_of_the_ladder_nothing_changes():
    pr = ladder_problem()
    top = xi_ladder(pr)[-1]

    def climb(*more):
        rungs = [top, *more]
        return list(rdp_path(pr, rungs, np.random.default_rng(0), sweeps=30))[-1].z

    assert same_partition(climb(), climb(10 * top, 1000 * top))


def test_the_top_of_the_ladder_is_where_a_link_outweighs_every_distance():
    pr = ladder_problem()
    apart = ((pr.X[:, None] - pr.X) ** 2).sum(-1).max()
    top = xi_ladder(pr)[-1]
    assert apart <= top <= 4 * (pr.X**2).sum(1).max() + 1e-9
    two = rdp_problem(np.array([[-1.0], [1.0]]), make_links(2, [0], [1], [1]), 1.0)
    assert xi_ladder(two)[-1] == 4.0  # the squared distance of the two, and not less


def test_rungs_of_the_ladder():
    pr = ladder_problem()
    unit = (pr.X**2).sum(1).max()
    rungs = xi_ladder(pr, 0.01, 3.0)
    np.testing.assert_allclose(rungs[0], 0.01 * unit)
    np.testing.assert_allclose(rungs[1:-1] / rungs[:-2], 3.0)
    assert rungs[-2] < rungs[-1] <= 3.0 * rungs[-2]
    assert xi_ladder(pr, xi_max=2.5)[-1] == 2.5
    assert xi_ladder(pr, xi_max=0.0).tolist() == [0.0]


def test_link_score_prefers_the_truth_and_folds_partition_the_links():
    c = answers(noise=0.2)
    L = make_links(len(X), c.a, c.b, c.value)
    assert link_score(Y, L) > link_score(np.random.default_rng(0).permutation(Y), L)
    keep = np.arange(len(L.a)) % 3 == 0
    assert len(links_subset(L, keep).a) + len(links_subset(L, ~keep).a) == len(L.a)


def flip_cost_brute(k, s, pr):
    "The cheaper of two moves that turn together into apart, or apart into together."
    L = pr.links
    z = s.z
    costs = []
    for i, j in ((L.a[k], L.b[k]), (L.b[k], L.a[k])):
        p = prices(i, z, s.mu, pr, s.xi1, s.xi2)
        goal = p[z[j]]
        if z[i] == z[j]:
            goal = min(np.delete(p, z[i]).min(initial=np.inf), pr.lam)
        costs.append(goal - p[z[i]])
    return min(costs)


@pytest.mark.parametrize("divergence", ["euclidean", "unsquared", "kl"])
def test_flip_costs_agree_with_price_lists(divergence):
    rng = np.random.default_rng(3)
    pr = problem(rng, n=30, m=90, lam=2.0, divergence=divergence)
    s = list(rdp_path(pr, [0.4], rng))[-1]
    want = [flip_cost_brute(k, s, pr) for k in range(90)]
    np.testing.assert_allclose(flip_costs(s, pr), want, atol=1e-9)
    np.testing.assert_allclose(flip_costs(s, pr, chunk=7), want, atol=1e-9)


def test_odds_are_those_of_the_model_at_a_finite_temperature():
    "(19) gives the chance of each cluster for one end, before the limit is taken."
    rng = np.random.default_rng(0)
    far = np.array([[0.0, 0.0], [4.0, 0.0]])[np.repeat([0, 1], 40)]
    pr = rdp_problem(rng.normal(size=(80, 2)) + far, make_links(80, [0], [79], [1]), 1e6)
    z, mu, _ = cluster_means(pr.X, np.repeat([0, 1], 40))
    s = rdp_init(pr, 1.5)._replace(z=z, mu=mu)
    variance = ((pr.X - mu[z]) ** 2).mean()
    chances = []
    for i in (0, 79):
        log_p = -(prices(i, z, mu, pr, 1.5, 1.5)) / (2 * variance)
        chances.append(np.exp(log_p[z[i]] - np.logaddexp(*log_p)))
    apart = np.log(min(chances) / (1 - min(chances)))
    np.testing.assert_allclose(wrong_odds(s, pr), [apart], rtol=1e-9)


def test_counts_need_the_count_model():
    from csc_nb.datasets import toy_counts

    t = toy_counts(100, 5, r=0.03, random_state=1)
    c = Constraints(t.pairs[:, 0], t.pairs[:, 1], t.value, n_samples=100)
    score = {
        d: ari(
            t.target,
            RDPMeans(n_clusters=5, divergence=d, random_state=0)
            .fit(t.data, constraints=c)
            .labels_,
        )
        for d in ("euclidean", "kl")
    }
    assert score["kl"] > score["euclidean"] + 0.2


BAD = [
    (dict(lam=0.0), "'lam' .*price λ of a cluster"),
    (dict(lam=np.inf), "'lam' .*price λ of a cluster"),
    (dict(lam=np.nan), "'lam' .*price λ of a cluster"),
    (dict(xi0=-1.0), "'xi0' .*above 0"),
    (dict(xi0=np.inf), "'xi0' .*above 0"),
    (dict(xi_rate=1.0), "'xi_rate' .*above 1"),
    (dict(xi_max=-2), "'xi_max' .*last ξ"),
    (dict(xi_max="big"), "'xi_max' .*'cv'"),
    (dict(xi_ratio=-1.0), "'xi_ratio'"),
    (dict(smoothing=0.0), "'smoothing'"),
    (dict(divergence="cosine"), "'divergence' .*euclidean"),
    (dict(algorithm="all"), "'algorithm' .*Algorithm 1"),
    (dict(max_clusters=0), "'max_clusters'"),
    (dict(n_clusters=121), "n_samples=120 should be >= n_clusters=121"),
    (dict(n_clusters=0), "'n_clusters'"),
    (dict(n_clusters=2.5), "'n_clusters'"),
    (dict(n_init=0), "'n_init' .*lowest J"),
    (dict(max_iter=0), "'max_iter' .*sweeps"),
    (dict(random_state="x"), "'random_state'"),
    (dict(divergence="kl"), "non-negative numbers, but"),
    (dict(divergence="itakura-saito"), "positive numbers, but"),
]


@pytest.mark.parametrize("bad, says", BAD, ids=[str(b) for b, _ in BAD])
def test_messages(bad, says):
    with pytest.raises(ValueError, match=says):
        RDPMeans(**bad).fit(X)


def test_degenerate_data():
    for Z in (np.zeros((20, 3)), np.ones((20, 1)), X[:1], np.repeat(X[:2], 10, axis=0)):
        est = RDPMeans(n_clusters=1, random_state=0).fit(Z)
        assert est.n_clusters_ >= 1
    assert (
        RDPMeans(n_clusters=2, random_state=0).fit(np.repeat(X[:2], 10, axis=0)).n_clusters_
        <= 2
    )
    assert (
        RDPMeans(n_clusters=2, divergence="mahalanobis", random_state=0)
        .fit(np.c_[X, np.ones(120)])
        .n_clusters_
        >= 1
    )


@pytest.mark.parametrize("est", [RDPMeans, DPMeans])
def test_n_clusters_without_answers_is_exact(est):
    for seed in range(5):
        Z = np.random.default_rng(seed).normal(size=(30, 2))
        for k in (1, 2, 5):
            assert est(n_clusters=k, random_state=seed).fit(Z).n_clusters_ == k
    counts = np.random.default_rng(0).poisson(3, (40, 6))
    for divergence in ("kl", "poisson"):
        assert (
            est(n_clusters=3, divergence=divergence, random_state=0).fit(counts).n_clusters_
            == 3
        )
    assert (
        est(n_clusters=3, random_state=0).fit(np.repeat(np.eye(2), 5, axis=0)).n_clusters_
        == 2
    )  # only two rows differ


def test_few_answers_do_not_lift_the_limit():
    c = Constraints.from_pairs(cannot=[(0, i) for i in range(1, 6)], n_samples=len(X))
    assert RDPMeans(n_clusters=2, random_state=0).fit(X, constraints=c).n_clusters_ <= 2


def test_many_answers_lift_a_limit_that_is_too_low():
    est = RDPMeans(n_clusters=2, random_state=0).fit(
        X, constraints=answers(600, noise=0.05)
    )
    assert est.n_clusters_ >= 3 and ari(Y, est.labels_) > 0.9


def test_seed_is_a_local_optimum_with_exactly_k_clusters():
    rng = np.random.default_rng(0)
    pr = rdp_problem(rng.normal(size=(80, 3)))
    z, mu, ceiling = rdp_seed(pr, 6, rng)
    assert len(mu) == 6 == z.max() + 1
    np.testing.assert_allclose(mu, [pr.X[z == k].mean(0) for k in range(6)])
    free = pr._replace(lam=0.0)
    base = J(z, pr._replace(lam=0.0), (0.0, 0.0))
    for i in range(80):
        assert all(
            J(np.where(np.arange(80) == i, k, z), free, (0.0, 0.0)) >= base - 1e-9
            for k in range(6)
            if (z == z[i]).sum() > 1
        )
    merges = [
        J(np.where(z == b, a, z), free, (0.0, 0.0)) - base
        for a in range(6)
        for b in range(a)
    ]
    np.testing.assert_allclose(ceiling, min(merges))
    big = rdp_seed(pr, 4, np.random.default_rng(1), sample=40)
    assert len(big[1]) == 4 and len(big[0]) == 80


def test_means_renumber_and_drop_empty_clusters():
    points = np.array([[0.0], [1.0], [3.0], [6.0]])
    z, mu, size = cluster_means(points, np.array([0, 3, 3, 0]))
    assert z.tolist() == [0, 1, 1, 0]
    assert mu.ravel().tolist() == [3.0, 2.0]
    assert size.tolist() == [2, 2]


def test_whitening_is_the_mahalanobis_distance():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(50, 3)) @ rng.normal(size=(3, 3))
    W = prepare(A, "mahalanobis")(A)
    np.testing.assert_allclose(
        ((W[0] - W[1]) ** 2).sum(),
        (A[0] - A[1]) @ np.linalg.inv(np.cov(A.T)) @ (A[0] - A[1]),
    )
    with pytest.raises(ValueError, match="non-negative"):
        prepare(A, "kl")(A)


# ---- the paper's own algorithm


def printed_algorithm(X, pairs, value, lam, rng, xi=0.001, rate=2.0, patience=20):
    "Algorithm 1 with dictionaries of points instead of arrays; nothing of the package."
    where = dict.fromkeys(range(len(X)), 0)
    centre = {0: X.mean(0)}
    fresh = 1
    quiet = 0
    sweeps = 0
    friends = {i: [] for i in where}
    for (i, j), v in zip(pairs, value):
        friends[i].append((j, v))
        friends[j].append((i, v))
    while quiet < patience:
        old = dict(where)
        for i in rng.permutation(len(X)):
            price = {k: ((X[i] - m) ** 2).sum() for k, m in centre.items()}
            for j, v in friends[i]:
                price[where[j]] -= xi * v
            cheapest = min(price.values())
            if cheapest >= lam:
                centre[fresh] = X[i]
                where[i], fresh = fresh, fresh + 1
            elif price[where[i]] > cheapest:
                where[i] = next(k for k in price if price[k] == cheapest)
        quiet = quiet + 1 if where == old else 0
        members = {k: [i for i in where if where[i] == k] for k in centre}
        centre = {k: X[rows].mean(0) for k, rows in members.items() if rows}
        xi = xi * rate
        sweeps = sweeps + 1
    return np.array([where[i] for i in range(len(X))]), xi / rate, sweeps


def orders(seed):
    return np.random.default_rng(np.random.RandomState(seed).randint(2**31))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_as_published_is_algorithm_1(seed, noise):
    c = answers(120, noise, seed)
    est = RDPMeans.as_published(n_clusters=3, random_state=seed).fit(X, constraints=c)
    lam = farthest_first(X - X.mean(0), 3)[0]
    pairs = np.c_[c.a, c.b].tolist()
    z, xi, sweeps = printed_algorithm(X, pairs, c.value, lam, orders(seed))
    assert same_partition(z, est.labels_)
    assert est.n_iter_ == sweeps
    np.testing.assert_allclose(est.xi_, xi)
    np.testing.assert_allclose(est.lam_, lam)


def test_published_xi_starts_at_a_thousandth_and_doubles_without_end():
    small = X / 100  # the largest divergence is far below what ξ reaches
    est = RDPMeans.as_published(n_clusters=3, random_state=0)
    est.fit(small, constraints=answers(300, 0.3))
    xi = [step["xi"] for step in est.path_]
    np.testing.assert_allclose(xi, 1e-3 * 2.0 ** np.arange(len(xi)))
    assert xi[-1] > 100 * 4 * ((small - small.mean(0)) ** 2).sum(1).max()
    assert len(xi) > 20


@pytest.mark.parametrize("seed", range(3))
def test_dp_means_as_published(seed):
    est = DPMeans.as_published(n_clusters=3, random_state=seed).fit(X)
    lam = farthest_first(X - X.mean(0), 3)[0]
    z, _, _ = printed_algorithm(X, [], [], lam, orders(seed))
    assert same_partition(z, est.labels_)
    given = DPMeans.as_published(lam=4.0, random_state=seed).fit(X)
    z, _, _ = printed_algorithm(X, [], [], 4.0, orders(seed))
    assert same_partition(z, given.labels_) and given.n_clusters_ > est.n_clusters_


def test_published_settings_can_be_overridden_and_stay_parameters():
    est = RDPMeans.as_published(n_clusters=4, xi_rate=1.5)
    assert est.get_params()["xi_rate"] == 1.5 and est.n_clusters == 4
    assert RDPMeans().get_params() != RDPMeans.as_published().get_params()


def test_a_run_without_end_says_so():
    from sklearn.exceptions import ConvergenceWarning

    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        est = RDPMeans.as_published(n_clusters=3, max_iter=2, random_state=0)
        est.fit(X, constraints=answers())


def test_an_infinite_end_of_xi_is_not_capped_with_exact_moves_either():
    est = RDPMeans(3, xi_max=np.inf, max_iter=500, random_state=0)
    est.fit(X, constraints=answers())
    assert est.xi_ > 4 * ((X - X.mean(0)) ** 2).sum(1).max()
    assert ari(Y, est.labels_) > 0.7


# ---- each step of Algorithm 1, so that a step left out is noticed


def test_a_point_opens_a_cluster_when_every_price_is_at_least_lambda():
    far = rdp_problem(np.array([[0.0], [0.0], [9.0]]), lam=30.0)
    z, K, _ = _fast_sweep(np.zeros(3, int), np.array([[3.0]]), far, 0, 0, np.arange(3))
    assert z.tolist() == [0, 0, 1] and K == 2
    z, K, _ = _fast_sweep(
        np.zeros(3, int), np.array([[3.0]]), far._replace(lam=36.1), 0, 0, np.arange(3)
    )
    assert z.tolist() == [0, 0, 0] and K == 1
    tie = far._replace(lam=36.0)  # "d < λ" keeps, equality opens
    assert _fast_sweep(np.zeros(3, int), np.array([[3.0]]), tie, 0, 0, np.arange(3))[1] == 2


def test_links_are_counted_at_the_present_place_of_the_other_end():
    "Point 1 follows point 0, which moved earlier in the same sweep."
    pr = rdp_problem(
        np.array([[0.0], [5.1], [10.0]]), make_links(3, [0], [1], [1]), lam=1e3
    )
    mu = np.array([[2.0], [8.2]])
    z, _, _ = _fast_sweep(np.array([1, 1, 1]), mu, pr, 1.0, 1.0, np.arange(3))
    assert z.tolist() == [0, 0, 1]
    z, _, _ = _fast_sweep(np.array([1, 1, 1]), mu, pr, 1.0, 1.0, np.array([1, 0, 2]))
    assert z.tolist() == [0, 1, 1]


def test_xi_grows_after_every_sweep_and_the_run_ends_after_the_quiet_ones():
    pr = problem(np.random.default_rng(0), n=20, m=30)
    states = rdp_means(pr, np.random.default_rng(0), xi0=0.01, rate=3.0, patience=5)
    xi = np.array([s.xi1 for s in states])
    np.testing.assert_allclose(xi, 0.01 * 3.0 ** np.arange(len(xi)))
    moved = [s.moved for s in states[1:]]
    assert moved[-5:] == [0] * 5 and moved[-6] > 0
    assert [s.xi2 for s in rdp_means(pr, np.random.default_rng(0), ratio=2.0)][0] == 0.002


# ---- names and the place of answers


def test_n_clusters_comes_first():
    assert RDPMeans(3).n_clusters == DPMeans(3).n_clusters == 3
    assert RDPMeans(3, random_state=0).fit(X).n_clusters_ == 3


@pytest.mark.parametrize("est", [RDPMeans, DPMeans])
def test_old_name_of_the_algorithm(est):
    with pytest.warns(FutureWarning, match="algorithm"):
        assert est(moves="paper").algorithm == "paper"
    with pytest.raises(TypeError, match="same parameter"):
        est(moves="paper", algorithm="exact")


def test_answers_in_the_place_of_y_are_used_or_named():
    c = answers()
    here = RDPMeans(3, random_state=0).fit(X, c)
    there = RDPMeans(3, random_state=0).fit(X, constraints=c)
    np.testing.assert_array_equal(here.labels_, there.labels_)
    assert len(here.suspicion_) == c.n_constraints
    with pytest.warns(UserWarning, match="RDPMeans does"):
        DPMeans(3, random_state=0).fit(X, c)


def test_suspicion_has_one_number_for_each_answer_in_their_order():
    c = answers()
    some = Constraints(
        np.r_[0, c.a], np.r_[50, c.b], np.r_[0, c.value], n_samples=len(X)
    )  # a don't-know comes first
    est = RDPMeans(3, random_state=0).fit(X, constraints=some)
    plain = RDPMeans(3, random_state=0).fit(X, constraints=c)
    assert est.suspicion_[0] == 0.0
    np.testing.assert_array_equal(est.suspicion_[1:], plain.suspicion_)
    np.testing.assert_array_equal(est.suspects_, plain.suspects_ + 1)


def test_chapters_do_not_import_each_other():
    import subprocess
    import sys

    code = "import csc_nb.rdpmeans, sys; sys.exit('csc_nb.tvclust' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=120).returncode == 0


# ---- parts that only the estimator used to exercise


def test_farthest_first_is_the_kth_distance():
    points = np.array([[0.0], [1.0], [5.0], [20.0]])  # mean 6.5
    lam, taken = farthest_first(points, 1)
    assert taken == [3] and lam == pytest.approx(13.5**2)
    lam, taken = farthest_first(points, 2)
    assert taken == [3, 0] and lam == pytest.approx(6.5**2)
    lam, taken = farthest_first(points, 3)
    assert taken == [3, 0, 2] and lam == pytest.approx(1.5**2)


@pytest.mark.parametrize("divergence", ["euclidean", "kl"])
def test_merges_pay_and_save_what_the_objective_says(divergence):
    "After merging, no pair is left whose merge would lower J; and J is what is left."
    rng = np.random.default_rng(5)
    merged_somewhere = 0
    for _ in range(10):
        pr = problem(rng, n=24, m=40, divergence=divergence)
        xi = (0.4, 0.3)
        z, mu, size = cluster_means(pr.X, rng.integers(0, 8, 24))
        before = J(z, pr, xi)
        z, mu, size, merges = merge_clusters(z, mu, size, pr, *xi)
        after = J(z, pr, xi)
        assert after < before or merges == 0
        merged_somewhere += merges
        for a in range(len(mu)):
            for b in range(a):
                assert J(np.where(z == a, b, z), pr, xi) >= after - 1e-9
        for k in range(len(mu)):
            np.testing.assert_allclose(mu[k], pr.X[z == k].mean(0))
    assert merged_somewhere > 5


def test_held_out_answers_are_not_seen(monkeypatch):
    from csc_nb import rdpmeans

    c = answers(90)
    pr = rdp_problem(X - X.mean(0), make_links(len(X), c.a, c.b, c.value), 20.0)
    trained = []
    tested = []
    path = rdpmeans.rdp_path
    score = rdpmeans.link_score

    def watch_path(prob, *args, **kw):
        trained.append(set(zip(prob.links.a, prob.links.b)))
        return path(prob, *args, **kw)

    def watch_score(z, links):
        tested.append(set(zip(links.a, links.b)))
        return score(z, links)

    monkeypatch.setattr(rdpmeans, "rdp_path", watch_path)
    monkeypatch.setattr(rdpmeans, "link_score", watch_score)
    rdpmeans.choose_xi(pr, np.array([0.1, 1.0]), np.random.default_rng(0))
    everything = set(zip(pr.links.a, pr.links.b))
    assert len(trained) == 3
    for seen, hidden in zip(trained, tested[::2]):
        assert not seen & hidden and seen | hidden == everything
    assert set.union(*tested) == everything
