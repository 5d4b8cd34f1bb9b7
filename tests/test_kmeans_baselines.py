"""k-means with links: brute force, monotone objectives, errors, seeds, agreement with
the usual package when it is there."""

import importlib.util, os, subprocess, sys, warnings
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, load_wine, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score as ari
from sklearn.mixture import GaussianMixture
from sklearn.preprocessing import StandardScaler

from csc_nb import baselines
from csc_nb.baselines import kmeans as km
from csc_nb.constraints import Constraints
from csc_nb.metrics import constraint_accuracy

IRIS, Y = StandardScaler().fit_transform(load_iris().data), load_iris().target
FAMILY = [
    "COPKMeans",
    "PCKMeans",
    "MPCKMeans",
    "CVQE",
    "LCVQE",
    "SeededKMeans",
    "ConstrainedKMeans",
    "ConstrainedEM",
]
CLEAN = Constraints.from_labels(Y, n=100, random_state=0)
NOISY = Constraints.from_labels(Y, n=100, noise=0.15, random_state=0)


def make(name, K=3, **kw):
    if name in ("COPKMeans", "ConstrainedEM"):
        kw = {"on_conflict": "relax", **kw}
    return getattr(baselines, name)(K, n_init=2, random_state=0, **kw)


def test_names_are_found_lazily():
    assert {"COPKMeans", "MPCKMeans", "ITML"} <= set(dir(baselines))
    with pytest.raises(AttributeError, match="NoSuchThing"):
        baselines.NoSuchThing


def test_import_has_no_side_effects():
    code = (
        "import numpy as np, warnings; s, f, r = np.geterr(), list(warnings.filters), "
        "np.random.get_state()[1].tolist(); "
        "import csc_nb.baselines.kmeans, csc_nb.baselines.metric; "
        "assert np.geterr() == s and np.random.get_state()[1].tolist() == r; "
        "mine = [w for w in warnings.filters if w not in f and 'csc_nb' in str(w)]; "
        "assert not mine, mine"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_fitting_leaves_global_state_alone():
    before, state = np.geterr(), np.random.get_state()[1].copy()
    for name in FAMILY:
        make(name).fit(IRIS, constraints=NOISY)
    assert np.geterr() == before and (np.random.get_state()[1] == state).all()


@pytest.mark.parametrize("name", FAMILY)
@pytest.mark.parametrize("c", [None, CLEAN, NOISY], ids=["none", "clean", "noisy"])
def test_objective_never_rises(name, c):
    h = np.array(make(name).fit(IRIS, constraints=c).objective_history_)
    assert (np.diff(h) <= 1e-9 * abs(h[0])).all()


@pytest.mark.parametrize(
    "kw",
    [
        dict(metric="full"),
        dict(metric="diagonal"),
        dict(shared=True),
        dict(metric="diagonal", shared=True),
        dict(reg=0.05),
        dict(w=5.0),
        dict(greedy=True),
    ],
    ids=str,
)
def test_mpck_variants_fall_and_have_their_shape(kw):
    m = make("MPCKMeans", **kw).fit(IRIS, constraints=NOISY)
    h = np.array(m.objective_history_)
    assert (np.diff(h) <= 1e-9 * abs(h[0])).all()
    A = m.metrics_
    assert np.linalg.eigvalsh(A).min() > 0
    if kw.get("metric") == "diagonal":
        assert np.abs(A - A * np.eye(4)).max() == 0
    if kw.get("shared"):
        np.testing.assert_allclose(A, A[:1].repeat(len(A), 0))


@pytest.mark.parametrize("name", ["CVQE", "LCVQE"])
def test_polishing_lowers_the_objective(name):
    C = km.start_centres(IRIS, CLEAN.must, 3, "neighbourhoods", 0, np.random.RandomState(0))
    plain, fine = (
        make(name, init=C, polish=p).fit(IRIS, constraints=NOISY).objective_history_[-1]
        for p in (False, True)
    )
    assert fine <= plain + 1e-9


def test_broken_answers_are_listed():
    for name in FAMILY:
        m = make(name).fit(IRIS, constraints=NOISY)
        broken = (m.labels_[NOISY.a] == m.labels_[NOISY.b]) != (NOISY.value > 0)
        np.testing.assert_array_equal(
            m.broken_answers_, np.c_[NOISY.a, NOISY.b, NOISY.value][broken]
        )


def test_dont_know_changes_nothing():
    both = CLEAN.merge(
        Constraints([0, 5], [60, 110], [0, 0], n_samples=150, value_kind="pm1")
    )
    for name in FAMILY:
        np.testing.assert_array_equal(
            make(name).fit(IRIS, constraints=both).labels_,
            make(name).fit(IRIS, constraints=CLEAN).labels_,
        )


@pytest.mark.parametrize("name", ["COPKMeans", "PCKMeans", "CVQE", "LCVQE", "SeededKMeans"])
def test_without_links_it_is_kmeans(name):
    X, y = make_blobs(200, centers=4, random_state=0)
    m = make(name, 4).set_params(n_init=10).fit(X)
    want = KMeans(4, n_init=20, random_state=0).fit(X)
    assert ari(m.labels_, want.labels_) == 1
    assert (m.predict(X) == m.labels_).all()


def test_em_without_links_is_a_gaussian_mixture():
    X, _ = make_blobs(400, centers=3, cluster_std=1.5, random_state=2)
    m = baselines.ConstrainedEM(3, reg=1e-6, tol=1e-10, max_iter=3000, random_state=0).fit(
        X
    )
    gm = GaussianMixture(
        3,
        means_init=m.cluster_centers_,
        precisions_init=np.linalg.inv(m.covariances_),
        weights_init=m.weights_,
        tol=1e-10,
        max_iter=500,
        random_state=0,
    ).fit(X)  # the same hill
    assert m.objective_history_[-1] == pytest.approx(-gm.score(X) * len(X), rel=1e-4)
    np.testing.assert_allclose(np.sort(m.weights_), np.sort(gm.weights_), atol=1e-3)


# COP-KMeans -------------------------------------------------------------------------


def brute_cop(X, c, K):
    best = np.inf
    for z in product(range(K), repeat=len(X)):
        z = np.array(z)
        if ((z[c.a] == z[c.b]) != (c.value > 0)).any():
            continue
        best = min(
            best,
            sum(
                ((X[z == k] - X[z == k].mean(0)) ** 2).sum()
                for k in range(K)
                if (z == k).any()
            ),
        )
    return best


@pytest.mark.parametrize("seed", range(8))
def test_cop_solves_every_satisfiable_small_case(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(8, 2)), rng.integers(0, 3, 8)
    c = Constraints.from_labels(y, n=14, random_state=seed)
    m = baselines.COPKMeans(3, n_init=20, random_state=0).fit(X, constraints=c)
    assert constraint_accuracy(m.labels_, c) == 1
    assert m.objective_history_[-1] == pytest.approx(
        brute_cop(X, c, 3), rel=0.15
    )  # a local minimum, never below the global one
    assert m.objective_history_[-1] >= brute_cop(X, c, 3) - 1e-9


def test_cop_refuses_exactly_the_unsatisfiable(seed=0):
    rng, seen = np.random.default_rng(seed), set()
    for _ in range(60):
        pairs = [(i, j) for i in range(6) for j in range(i) if rng.random() < 0.55]
        if not pairs:
            continue
        c = Constraints.from_pairs(cannot=pairs, n_samples=6)
        possible = any(
            all(z[i] != z[j] for i, j in pairs) for z in product(range(3), repeat=6)
        )
        seen.add(possible)
        X = rng.normal(size=(6, 2))
        if possible:
            assert (
                constraint_accuracy(
                    baselines.COPKMeans(3, n_init=1, random_state=0)
                    .fit(X, constraints=c)
                    .labels_,
                    c,
                )
                == 1
            )
        else:
            with pytest.raises(ValueError, match="n_clusters=3"):
                baselines.COPKMeans(3, n_init=1, random_state=0).fit(X, constraints=c)
    assert seen == {True, False}


def test_cop_names_the_conflict():
    c = Constraints.from_pairs(
        must=[(0, 1), (1, 2), (2, 3)], cannot=[(0, 3)], n_samples=150
    )
    with pytest.raises(ValueError, match=r"cannot-link \(0, 3\).*0 – 1 – 2 – 3"):
        baselines.COPKMeans(3).fit(IRIS, constraints=c)
    with pytest.raises(ValueError, match=r"cannot-link \(0, 3\)"):
        baselines.ConstrainedEM(3).fit(IRIS, constraints=c)
    four = Constraints.from_pairs(
        cannot=[(i, j) for i in range(4) for j in range(i)], n_samples=150
    )
    with pytest.raises(
        ValueError,
        match="4 groups of rows are pairwise cannot-linked.*Raise n_clusters to 4",
    ):
        baselines.COPKMeans(3).fit(IRIS, constraints=four)


def test_cop_relaxed_keeps_must_links_and_breaks_few():
    four = Constraints.from_pairs(
        must=[(0, 1), (1, 2), (50, 51)],
        cannot=[(0, 2)]
        + [(i, j) for i in (0, 60, 70, 80) for j in (0, 60, 70, 80) if i < j],
        n_samples=150,
    )
    m = baselines.COPKMeans(3, on_conflict="relax", random_state=0).fit(
        IRIS, constraints=four
    )
    z = m.labels_
    assert (
        z[0] == z[1] == z[2] and z[50] == z[51] and len(m.broken_answers_) == 2
    )  # (0, 2) and one edge of the clique of four


def test_cop_uses_ids_in_its_error():
    ids = [f"row{i}" for i in range(150)]
    c = Constraints(["row0", "row1", "row0"], ["row1", "row2", "row2"], [1, 1, -1], ids=ids)
    with pytest.raises(ValueError, match="row0.*row2"):
        baselines.COPKMeans(3).fit(IRIS, constraints=c, sample_id=ids)


# kernels against formulas -----------------------------------------------------------


def toy(seed=0, n=14, K=3):
    rng = np.random.default_rng(seed)
    X, z, C = rng.normal(size=(n, 2)), rng.integers(0, K, n), rng.normal(size=(K, 2))
    c = Constraints.from_labels(rng.integers(0, K, n), n=30, random_state=seed)
    return X, z, C, km.links_of(n, c, 1.3), c


def all_stale(n):
    return np.full(n, 3, np.uint8)


def loops(X, z, C, c, w, must, cannot):
    J = 0.0
    for i, j, v in zip(c.a, c.b, c.value):
        if v > 0 and z[i] != z[j]:
            J += w * must(i, j)
        if v < 0 and z[i] == z[j]:
            J += w * cannot(i, j)
    return J


@pytest.mark.parametrize("seed", range(5))
def test_objectives_against_loops(seed):
    X, z, C, L, c = toy(seed)
    d = lambda i, k: ((X[i] - C[k]) ** 2).sum()
    base = 0.5 * sum(d(i, z[i]) for i in range(len(X)))
    g = lambda k, l: ((C[k] - C[l]) ** 2).sum()
    cvqe = base + loops(
        X,
        z,
        C,
        c,
        1.3,
        lambda i, j: 0.5 * g(z[i], z[j]),
        lambda i, j: 0.5 * min(g(z[i], l) for l in range(3) if l != z[i]),
    )
    assert km.cvqe_objective(X, z, C, L) == pytest.approx(cvqe)

    def far(i, j):
        f = i if d(i, z[i]) >= d(j, z[i]) else j
        return 0.5 * min(d(f, l) for l in range(3) if l != z[i])

    lcvqe = base + loops(
        X, z, C, c, 1.3, lambda i, j: 0.25 * (d(j, z[i]) + d(i, z[j])), far
    )
    assert km.lcvqe_objective(X, z, C, L) == pytest.approx(lcvqe)
    A = [np.diag([1.0, k + 0.5]) for k in range(3)]
    M = km.make_metric(X, L, np.array([np.linalg.inv(a) for a in A]))
    q = lambda u, v, k: (X[u] - X[v]) @ A[k] @ (X[u] - X[v])
    diam = [max(q(u, v, k) for u in range(len(X)) for v in range(len(X))) for k in range(3)]
    mpck = sum(
        (X[i] - C[z[i]]) @ A[z[i]] @ (X[i] - C[z[i]]) - np.log(np.linalg.det(A[z[i]]))
        for i in range(len(X))
    ) + 0.7 * sum(map(np.trace, A))
    mpck += loops(
        X,
        z,
        C,
        c,
        1.3,
        lambda i, j: 0.5 * (q(i, j, z[i]) + q(i, j, z[j])),
        lambda i, j: diam[z[i]] - q(i, j, z[i]),
    )
    problem = km.MPCKProblem(X, L, 0.7)
    assert km.mpck_objective(problem, z, C, M) == pytest.approx(mpck)


@pytest.mark.parametrize("seed", range(3))
def test_cvqe_moves_are_priced_right(seed):
    X, z, C, L, c = toy(seed)
    before = km.cvqe_objective(X, z, C, L)
    G, H = km.centre_gaps(C)
    v = z.copy()
    km._cvqe_icm(
        0.5 * km.sq_dist(X, C),
        L.indptr,
        L.nbr,
        L.w,
        G,
        H,
        v,
        np.arange(len(X)),
        all_stale(len(X)),
    )
    assert km.cvqe_objective(X, v, C, L) <= before + 1e-9
    stale = all_stale(len(X))
    while km._cvqe_icm(
        0.5 * km.sq_dist(X, C), L.indptr, L.nbr, L.w, G, H, v, np.arange(len(X)), stale
    ):
        pass
    for i in range(len(X)):  # no single move lowers it any more
        for k in range(3):
            assert (
                km.cvqe_objective(X, np.where(np.arange(len(X)) == i, k, v), C, L)
                >= km.cvqe_objective(X, v, C, L) - 1e-9
            )


def test_sweeps_over_stale_prices_end_where_full_sweeps_end():
    for seed in range(5):
        X, z, C, L, _ = toy(seed)
        W, a, b = (
            km.walk(L, np.random.default_rng(seed).permutation(len(X))),
            z.copy(),
            z.copy(),
        )
        cost, stale = 0.5 * km.sq_dist(X, C)[W.point], all_stale(len(X))
        while km._icm(cost, W.ptr, W.nbr, W.w, a, W.point, stale):
            pass
        while km._icm(cost, W.ptr, W.nbr, W.w, b, W.point, all_stale(len(X))):
            pass
        np.testing.assert_array_equal(a, b)


def test_a_walk_holds_the_links_of_every_point_in_its_order():
    X, z, C, L, c = toy(1)
    order = np.random.default_rng(0).permutation(len(X))
    W = km.walk(L, order)
    for p, i in enumerate(order):
        got = sorted(
            zip(
                W.nbr[W.ptr[p] : W.ptr[p + 1]].tolist(),
                W.w[W.ptr[p] : W.ptr[p + 1]].tolist(),
            )
        )
        assert got == sorted(
            [(int(j), 1.3 * v) for k, j, v in zip(c.a, c.b, c.value) if k == i]
            + [(int(k), 1.3 * v) for k, j, v in zip(c.a, c.b, c.value) if j == i]
        )
    np.testing.assert_array_equal(L.s[W.edge], W.w)


def plain_assign(J, z, order, groups, K):
    """Moves of points and groups, priced by the whole objective: nothing is remembered
    and nothing skipped."""
    z = z.copy()

    def cheapest(rows):
        prices = []
        for k in range(K):
            v = z.copy()
            v[rows] = k
            prices.append(J(v))
        return int(np.argmin(prices)), min(prices)

    for _ in range(20):
        for _ in range(20):
            before = z.copy()
            for i in order:
                z[i] = cheapest([i])[0]
            if (z == before).all():
                break
        moved = 0
        for g in groups:
            k, price = cheapest(g)
            if price < J(z) - 1e-9:
                z[g] = k
                moved += 1
        if not moved:
            break
    return z


@pytest.mark.parametrize("fresh", [True, False])
def test_moves_against_the_whole_objective(fresh):
    rng = np.random.default_rng(0)
    for seed in range(8):
        X, C, y = (
            2 * rng.normal(size=(24, 2)),
            2 * rng.normal(size=(3, 2)),
            rng.integers(0, 3, 24),
        )
        c = Constraints.from_labels(
            y, n=40, noise=0.25, random_state=seed
        )  # contradictions: cannot-links inside groups
        c = Constraints(c.a, c.b, c.value, weight=rng.random(len(c.a)), n_samples=24)
        L, z, order = (
            km.links_of(24, c, 3.0),
            np.full(24, -1) if fresh else rng.integers(0, 3, 24),
            rng.permutation(24),
        )
        groups = [L.mates.point[s:t] for s, t in zip(L.start, L.start[1:])]
        cost = 0.5 * km.sq_dist(X, C)

        def pck(v):
            on = v >= 0
            both = on[c.a] & on[c.b]
            return (
                cost[on, v[on]].sum()
                + 3 * c.weight[both & ((v[c.a] == v[c.b]) != (c.value > 0))].sum()
            )

        np.testing.assert_array_equal(
            km.pck_assign(cost, L, order, [z]), plain_assign(pck, z, order, groups, 3)
        )
        if fresh or seed > 3:
            continue  # (5) needs every label
        M = km.make_metric(X, L, np.array([np.diag([1.0, k + 0.5]) for k in range(3)]))
        P = km.MPCKProblem(X, L, 0.7)
        mpck = lambda v: km.mpck_objective(P, v, C, M)
        found = km.mpck_assign(km.MPCKState(z, C, None, M), P, order)
        assert mpck(found) <= mpck(plain_assign(mpck, z, order, groups, 3)) + 1e-9


def test_remembered_prices_change_nothing(monkeypatch):
    """Each sweep looks only at stale prices. Looking at all of them, every time, must
    end at the same labels."""

    def all_of_them(sweep, group_sweep, z):
        z = z.copy()
        for _ in range(20):
            for _ in range(20):
                if not sweep(z, all_stale(len(z))):
                    break
            if not group_sweep(z, all_stale(len(z))):
                break
        return z

    remember, again = km.settle_points, 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X, C, y = (
            rng.normal(size=(500, 2)),
            rng.normal(size=(4, 2)),
            rng.integers(0, 4, 500),
        )
        L, z, order = (
            km.links_of(
                500, Constraints.from_labels(y, n=900, noise=0.1, random_state=seed), 1.0
            ),
            rng.integers(0, 4, 500),
            rng.permutation(500),
        )
        M, rounds = (
            km.make_metric(X, L, np.array([np.diag([1.0, k + 0.5]) for k in range(4)])),
            [],
        )
        state, problem = km.MPCKState(z, C, None, M), km.MPCKProblem(X, L, 0.7)
        for assign in (
            lambda: km.pck_assign(0.5 * km.sq_dist(X, C), L, order, [z]),
            lambda: km.mpck_assign(state, problem, order),
        ):
            monkeypatch.setattr(km, "settle_points", all_of_them)
            want = assign()

            def count(sweep, group_sweep, v):
                rounds.append(0)

                def counted(*a):
                    rounds[-1] += 1
                    return group_sweep(*a)

                return remember(sweep, counted, v)

            monkeypatch.setattr(km, "settle_points", count)
            np.testing.assert_array_equal(assign(), want)
        again += max(rounds) > 2
    assert again > 3  # groups moved, then points, then groups


def test_groups_are_priced_again_after_points_moved():
    moves = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, C, y = (
            2 * rng.normal(size=(300, 2)),
            rng.normal(size=(3, 2)),
            rng.integers(0, 3, 300),
        )
        L, z = (
            km.links_of(
                300, Constraints.from_labels(y, n=400, noise=0.2, random_state=seed), 2.0
            ),
            rng.integers(0, 3, 300),
        )
        W, G, cost, one, two = (
            km.walk(L, rng.permutation(300)),
            L.mates,
            0.5 * km.sq_dist(X, C),
            np.ones((len(L.mates.nbr), 3)),
            np.full(3, 2.0),
        )

        def groups(z, stale):
            return km._group_moves(
                cost[G.point],
                G.ptr,
                G.nbr,
                G.w,
                L.inside,
                one,
                two,
                z,
                G.point,
                L.start,
                stale,
            )

        stale = all_stale(300)
        while groups(z, stale):
            pass
        km._icm(cost[W.point], W.ptr, W.nbr, W.w, z, W.point, stale)
        v = z.copy()
        moves += groups(z, stale)
        groups(v, all_stale(300))
        np.testing.assert_array_equal(z, v)
    assert moves


def test_mpck_warmup_keeps_its_best_state():
    X = StandardScaler().fit_transform(load_wine().data)
    y = load_wine().target
    L = km.links_of(len(X), Constraints.from_labels(y, n=89, random_state=0), 1.0)
    P = km.MPCKProblem(X, L)
    start, before = km.mpck_init(P, X[[0, 70, 150]]), np.inf
    for rounds in (1, 5, 40):
        best = km.mpck_warmup(start, P, rounds, np.random.RandomState(0))
        value = km.mpck_objective(P, best.z, best.C, best.M)
        assert value == pytest.approx(best.J)
        # same seed: more rounds can only find something lower
        assert value <= before + 1e-9
        before = value
        run = km.mpck_descend(best, P, np.random.RandomState(1), 20, 3, 1e-6)
        assert run.history[0] <= value + 1e-9


def test_given_centres_are_tried_in_several_orders():
    X, y = StandardScaler().fit_transform(load_wine().data), load_wine().target
    c = Constraints.from_labels(y, n=89, random_state=0)
    one, ten = (
        baselines.MPCKMeans(3, init=X[[0, 70, 150]], n_init=n, random_state=0)
        .fit(X, constraints=c)
        .objective_history_[-1]
        for n in (1, 10)
    )
    assert ten < one  # the first of the ten is the one


@pytest.mark.parametrize("n,d", [(30, 2), (300, 3), (500, 12)])
def test_farthest_pair_is_exact_within_its_budget(n, d):
    Y = np.random.default_rng(n).normal(size=(n, d))
    D = km.sq_dist(Y, Y)
    i, j, best, _ = km.farthest_pair(Y, budget=n * n)
    assert best == pytest.approx(D.max()) and D[i, j] == pytest.approx(best)


def test_farthest_pair_on_a_sphere_stops_at_its_budget():
    Y = np.random.default_rng(0).normal(size=(3000, 3))
    Y /= np.sqrt((Y**2).sum(1, keepdims=True))
    i, j, best, count = km.farthest_pair(Y)
    assert (
        best == pytest.approx(((Y[i] - Y[j]) ** 2).sum())
        and 3.9 < best <= 4
        and count <= 100_000 + 10 * 3000
    )


def test_farthest_pair_of_equal_rows():
    assert km.farthest_pair(np.ones((5, 2)))[2] == 0


# seeds ------------------------------------------------------------------------------


def test_seeds_fix_the_labels_and_their_number():
    seeds = np.full(150, -1)
    seeds[[0, 1, 50, 51, 100, 149]] = [7, 7, 3, 3, 5, 5]
    m = baselines.ConstrainedKMeans(3, random_state=0).fit(IRIS, seeds=seeds)
    assert (
        m.labels_[0] == m.labels_[1]
        and m.labels_[100] == m.labels_[149]
        and len(set(m.labels_[[0, 50, 100]])) == 3
    )
    s = baselines.SeededKMeans(3, random_state=0).fit(IRIS, seeds=seeds)
    assert (
        s.objective_history_[-1] <= m.objective_history_[-1] + 1e-9
    )  # free labels can only be cheaper here
    with pytest.raises(ValueError, match="name 3 clusters but n_clusters=2"):
        baselines.SeededKMeans(2).fit(IRIS, seeds=seeds)
    with pytest.raises(ValueError, match="one entry per row"):
        baselines.SeededKMeans(3).fit(IRIS, seeds=seeds[:10])


def test_true_seeds_help_on_wine():
    X, y = StandardScaler().fit_transform(load_wine().data), load_wine().target
    seeds = np.where(np.arange(len(y)) % 3 == 0, y, -1)
    m = baselines.ConstrainedKMeans(3, random_state=0).fit(X, seeds=seeds)
    assert ari(y, m.labels_) > ari(y, KMeans(3, n_init=10, random_state=0).fit(X).labels_)


# bad input, weights -----------------------------------------------------------------


@pytest.mark.parametrize(
    "name,kw,match",
    [
        ("PCKMeans", dict(w=-1.0), "'w' parameter.*Got -1.0.*price of breaking a link"),
        ("PCKMeans", dict(init="best"), "'init' parameter.*Got 'best'"),
        ("PCKMeans", dict(n_clusters=0), "at least 1"),
        ("PCKMeans", dict(n_clusters=151), "n_samples=150 should be >= n_clusters=151"),
        ("MPCKMeans", dict(metric="round"), "'metric' parameter.*diagonal.*Got 'round'"),
        ("MPCKMeans", dict(reg=0), "no minimum"),
        (
            "COPKMeans",
            dict(on_conflict="pray"),
            "'on_conflict' parameter.*relax.*Got 'pray'",
        ),
        ("ConstrainedEM", dict(eps=0.0), "between 0 and 1"),
        (
            "ConstrainedEM",
            dict(covariance_type="round"),
            "covariance_type.*tied.*Got 'round'",
        ),
        ("ConstrainedEM", dict(reg=0.0), "'reg' parameter.*Got 0.0.*no covariance"),
        ("PCKMeans", dict(w=None), "'w' parameter.*Got None"),
        ("PCKMeans", dict(max_iter=0), "'max_iter' parameter.*Got 0"),
        ("MPCKMeans", dict(patience=0), "'patience' parameter.*Got 0"),
        ("LCVQE", dict(n_init=0), "'n_init' parameter.*Got 0"),
        ("ConstrainedEM", dict(exact_limit=0), "'exact_limit' parameter.*Got 0"),
        ("PCKMeans", dict(init=np.full((3, 4), np.nan)), "12 entries that are not finite"),
    ],
)
def test_bad_parameters(name, kw, match):
    with pytest.raises(ValueError, match=match):
        getattr(baselines, name)(3).set_params(**kw).fit(IRIS)


def test_clique_warns():
    four = Constraints.from_pairs(
        cannot=[(i, j) for i in range(4) for j in range(i)], n_samples=150
    )
    with pytest.warns(UserWarning, match="4 rows are pairwise cannot-linked"):
        baselines.PCKMeans(3, random_state=0).fit(IRIS, constraints=four)


def test_heavy_links_win():
    light = Constraints([0], [100], [1], weight=[1e-6], n_samples=150)
    heavy = Constraints([0], [100], [1], weight=[1e6], n_samples=150)
    z = [
        baselines.PCKMeans(3, random_state=0).fit(IRIS, constraints=c).labels_
        for c in (light, heavy)
    ]
    assert z[0][0] != z[0][100] and z[1][0] == z[1][100]


@pytest.mark.parametrize("name", FAMILY)
def test_units_do_not_matter(name):
    kw = (
        {}
        if name in ("SeededKMeans", "ConstrainedKMeans")
        else dict(init=IRIS[[0, 70, 140]])
    )
    labels = [
        make(name)
        .set_params(**{k: v * unit for k, v in kw.items()})
        .fit(IRIS * unit, constraints=CLEAN)
        .labels_
        for unit in (1.0, 1e-9, 1e6)
    ]
    assert min(ari(labels[0], z) for z in labels) == 1


def test_clique_search_returns_a_clique():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        pairs = np.array(
            [(i, j) for i in range(40) for j in range(i) if rng.random() < 0.1]
            + [(i, j) for i in (3, 9, 17, 20, 31) for j in (3, 9, 17, 20, 31) if i < j]
            + [(3, 9)]
        )
        found, linked = (
            km.cannot_clique(40, pairs[rng.permutation(len(pairs))]),
            {frozenset(p) for p in pairs.tolist()},
        )
        assert (
            all(frozenset((i, j)) in linked for i in found for j in found if i < j)
            and len(found) >= 5
        )
    assert km.cannot_clique(3, np.empty((0, 2), int)) == []


def test_max_iter_is_reported():
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        baselines.MPCKMeans(3, max_iter=1, random_state=0).fit(IRIS, constraints=CLEAN)


def test_same_row_many_times():
    X = np.repeat(np.arange(4.0)[:, None], 10, 0)
    for name in FAMILY:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert np.isfinite(make(name, 3).fit(X).objective_history_).all(), name


# quality and the peer ---------------------------------------------------------------


@pytest.mark.slow
def test_quality_with_clean_answers():
    c = [Constraints.from_labels(Y, n=150, random_state=s) for s in range(3)]
    assert (
        np.mean(
            [
                ari(
                    Y,
                    baselines.MPCKMeans(3, random_state=0).fit(IRIS, constraints=v).labels_,
                )
                for v in c
            ]
        )
        > 0.96
    )
    X, y = StandardScaler().fit_transform(load_wine().data), load_wine().target
    assert (
        np.mean(
            [
                ari(
                    y,
                    baselines.LCVQE(3, random_state=0)
                    .fit(X, constraints=Constraints.from_labels(y, n=178, random_state=s))
                    .labels_,
                )
                for s in range(3)
            ]
        )
        > 0.93
    )


@pytest.mark.slow
@pytest.mark.skipif(
    not os.environ.get("CSC_NB_PEER_PYTHON"),
    reason="CSC_NB_PEER_PYTHON does not name an interpreter with "
    "active-semi-supervised-clustering",
)
def test_objective_against_the_usual_package():
    path = Path(__file__).parent.parent / "benchmarks" / "bench_baselines.py"
    spec = importlib.util.spec_from_file_location("bench_baselines", path)
    bench = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bench)
    _, rows = bench.agreement(repeats=2, sets=("iris", "wine"))
    for r in rows:
        if r[-1] or r[1] == "cop" and r[9]:
            continue  # the peer failed, or won by breaking links
        assert r[7] <= r[5] + 1e-6 * abs(r[5]), r
    assert sum(not r[-1] for r in rows) >= 12


# the order of things, contradictions, few rows --------------------------------------


def reordered(X, c, seed=0):
    rng = np.random.default_rng(seed)
    rows, by = rng.permutation(len(X)), rng.permutation(c.n_constraints)
    place = np.argsort(rows)
    a, b, value = place[c.b][by], place[c.a][by], c.value[by]
    return rows, X[rows], Constraints(a, b, value, n_samples=len(X))


@pytest.mark.parametrize("name", FAMILY)
def test_the_order_of_rows_and_answers_does_not_matter(name):
    X = IRIS + 1e-6 * np.random.default_rng(0).normal(size=IRIS.shape)  # no equal rows
    rows, there, c = reordered(X, NOISY)
    z = make(name).fit(X, constraints=NOISY)
    again = make(name).fit(there, constraints=c)
    np.testing.assert_array_equal(z.labels_[rows], again.labels_)
    assert z.objective_history_ == again.objective_history_
    assert len(z.broken_answers_) == len(again.broken_answers_)


def test_in_order_sorts_rows_and_carries_answers_along():
    X = np.array([[3.0, 0], [1.0, 5], [1.0, 2]])
    c = Constraints([2, 0], [0, 1], [1, -1], weight=[2.0, 3.0], n_samples=3)
    order, d = km.in_order(X, c)
    assert order.tolist() == [2, 1, 0]
    kept = {
        (*sorted((order[a], order[b])), v, w)
        for a, b, v, w in zip(d.a, d.b, d.value, d.weight)
    }
    assert kept == {(0, 2, 1, 2.0), (0, 1, -1, 3.0)}


def test_wrong_answers_do_not_make_one_cluster():
    "3 000 answers, 5 % wrong: one chain of must-links joins all rows and is no seed."
    X, y = make_blobs(300, centers=3, cluster_std=0.6, random_state=1)
    c = Constraints.from_labels(y, n=3000, noise=0.05, random_state=0)
    with pytest.warns(UserWarning, match="contain a cannot-link"):
        m = baselines.ConstrainedKMeans(3, random_state=0).fit(X, constraints=c)
    assert m.n_clusters_ == 3 and ari(y, m.labels_) > 0.9


def test_torn_groups_are_no_seeds():
    must = np.array([[0, 1], [1, 2], [3, 4]])
    cannot = np.array([[0, 2], [0, 4]])
    with pytest.warns(UserWarning, match="1 of 2 groups.*1 contradictions"):
        g = km.seed_groups(6, must, cannot)
    assert g[3] == g[4] >= 0 and (g[[0, 1, 2, 5]] == -1).all()


@pytest.mark.parametrize("name", FAMILY)
def test_fewer_different_rows_than_clusters_warns(name):
    X = np.repeat([[0.0, 0], [1, 1]], 10, axis=0)
    with pytest.warns(ConvergenceWarning, match="2 clusters were found but n_clusters=4"):
        assert make(name, 4).fit(X).n_clusters_ == 2


def test_answers_that_join_everything_warn():
    chain = Constraints(np.arange(149), np.arange(1, 150), np.ones(149), n_samples=150)
    with pytest.warns(ConvergenceWarning, match="1 clusters were found"):
        baselines.COPKMeans(3, n_init=1, random_state=0).fit(IRIS, constraints=chain)


def test_errors_name_the_rows_of_the_user():
    "Rows are sorted inside; messages are not about those."
    X = np.arange(8.0)[::-1, None]
    far = Constraints.from_pairs(cannot=[(0, 1), (0, 2), (1, 2)], n_samples=8)
    with pytest.raises(ValueError, match=r"one row of each: \[0, 1, 2\]"):
        baselines.COPKMeans(2, random_state=0).fit(X, constraints=far)


@pytest.mark.parametrize("diagonal, shared", [(False, False), (True, False), (False, True)])
@pytest.mark.parametrize("seed", range(3))
def test_mpck_metric_is_a_stationary_point_of_the_printed_objective(seed, diagonal, shared):
    """Derivatives of (5), summed point by point and link by link; the farthest pair is
    fixed."""
    X, z, C, _, c = toy(seed)
    w, rho, d = 0.05, 0.7, 2
    P = km.MPCKProblem(X, km.links_of(len(X), c, w), rho, diagonal, shared)
    M = km.make_metric(X, P.links, np.array([np.eye(d)] * 3))
    S, n = km.mpck_scatter(P, z, C, M)
    A = n[:, None, None] * np.linalg.inv(S)

    def J(A):
        q = lambda u, k: u @ A[k] @ u
        total = sum(q(X[i] - C[z[i]], z[i]) for i in range(len(X)))
        total += sum(rho * np.trace(A[k]) for k in range(3))
        total -= sum(np.linalg.slogdet(A[z[i]])[1] for i in range(len(X)))
        far = [X[i] - X[j] for i, j in M.pair]
        return total + loops(
            X,
            z,
            C,
            c,
            w,
            lambda i, j: (q(X[i] - X[j], z[i]) + q(X[i] - X[j], z[j])) / 2,
            lambda i, j: q(far[z[i]], z[i]) - q(X[i] - X[j], z[i]),
        )

    h = 1e-5
    for k in range(1 if shared else 3):
        for r in range(d):
            for t in range(r, r + 1 if diagonal else d):
                E = np.zeros_like(A)
                E[:, r, t] = E[:, t, r] = 1.0
                if not shared:
                    E[np.arange(3) != k] = 0
                slope = (J(A + h * E) - J(A - h * E)) / (2 * h)
                assert abs(slope) < 1e-5 * max(1.0, np.abs(S).max())


def test_em_step_never_raises_the_cost_and_leaves_the_state_alone():
    P = km.em_pieces(IRIS, CLEAN.must, CLEAN.cannot, 7.0, 3, 1000)
    s = km.em_init(P, IRIS[[0, 60, 120]])
    q = s.q.copy()
    costs = []
    for _ in range(8):
        new = km.em_step(s, IRIS, P, 1.0, "full")
        costs.append(new.cost)
        if len(costs) == 1:
            np.testing.assert_array_equal(s.q, q)
        s = new
    assert (np.diff(costs) <= 1e-9).all()


@pytest.mark.parametrize(
    "est, name",
    [
        (baselines.PCKMeans(3, w=np.inf), "w"),
        (baselines.PCKMeans(3, tol=np.nan), "tol"),
        (baselines.MPCKMeans(3, reg=np.inf), "reg"),
        (baselines.MPCKMeans(3, shared="yes"), "shared"),
        (baselines.CVQE(3, n_init=1.5), "n_init"),
        (baselines.LCVQE(3, random_state="x"), "random_state"),
        (baselines.ConstrainedEM(3, eps=1.0), "eps"),
        (baselines.COPKMeans(3, max_backtrack="many"), "max_backtrack"),
        (baselines.SeededKMeans(3, max_iter=0), "max_iter"),
    ],
    ids=str,
)
def test_parameters_are_refused_by_name(est, name):
    with pytest.raises(ValueError, match=f"'{name}' parameter of {type(est).__name__}"):
        est.fit(IRIS)


def test_the_old_name_of_broken_answers_works_with_a_warning():
    m = make("PCKMeans").fit(IRIS, constraints=NOISY)
    with pytest.warns(FutureWarning, match="broken_answers_"):
        np.testing.assert_array_equal(m.suspects_, m.broken_answers_)


def test_em_cost_is_the_penalised_log_likelihood_without_links():
    none = np.empty((0, 2), np.int64)
    P = km.em_pieces(IRIS, none, none, 7.0, 3, 1000)
    s = km.em_step(km.em_init(P, IRIS[[0, 60, 120]]), IRIS, P, 0.5, "full")
    density = sum(
        a * multivariate_normal(m, v).pdf(IRIS) for a, m, v in zip(s.alpha, s.mu, s.cov)
    )
    prior = 0.25 * sum(np.trace(np.linalg.inv(v)) for v in s.cov)
    assert s.cost == pytest.approx(prior - np.log(density).sum())


# one step left out is noticed -------------------------------------------------------


def test_each_step_of_a_round_of_mpck_is_taken():
    "Labels that no single move improves, means of these labels, another metric."
    X, z, C, _, c = toy(3, n=40)
    P = km.MPCKProblem(X, km.links_of(len(X), c, 0.1), 0.5, False, False)
    s = km.mpck_init(P, C)
    t = km.mpck_step(s, P, np.random.RandomState(0))
    means = np.array([X[t.z == k].mean(0) for k in range(3)])
    np.testing.assert_allclose(t.C, means)
    assert np.abs(t.V - s.V).max() > 1e-3
    assert t.J < km.mpck_objective(P, t.z, t.C, s.M)  # the new metric pays
    assigned = s._replace(z=t.z)
    J = km.mpck_objective(P, t.z, s.C, assigned.M)
    for i in range(len(X)):
        for k in range(3):
            other = t.z.copy()
            other[i] = k
            assert km.mpck_objective(P, other, s.C, assigned.M) >= J - 1e-9


def test_the_e_step_of_constrained_em_is_the_enumerated_posterior():
    "Three points that must not meet two and two, summed over all 27 labelings by hand."
    rng, beta = np.random.default_rng(0), 1.7
    X, cannot = rng.normal(size=(3, 2)), np.array([[0, 1], [1, 2]])
    P = km.em_pieces(X, np.empty((0, 2), int), cannot, beta, 3, 1000)
    ell, q = rng.normal(size=(3, 3)), np.full((3, 3), 1 / 3)
    value = km.em_expect(ell, P, q)
    want, total = np.zeros((3, 3)), 0.0
    for z in product(range(3), repeat=3):
        met = (z[0] == z[1]) + (z[1] == z[2])
        weight = np.exp(sum(ell[i, k] for i, k in enumerate(z)) - beta * met)
        total += weight
        for i, k in enumerate(z):
            want[i, k] += weight
    order = P.bl.block  # the blocks are the rows, in the order of the blocks
    np.testing.assert_allclose(q[order], (want / total)[order])
    assert value == pytest.approx(np.log(total))


def test_the_centres_of_a_run_of_pck_are_the_means_of_its_clusters():
    X, _, C, links, _ = toy(2, n=40)
    rng = np.random.RandomState(0)  # its first number starts a run without a warm-up
    assert np.random.RandomState(0).rand() >= 0.5
    run = baselines.PCKMeans(3)._run(X, links, C, rng)
    z, centres, history = run[:3]
    np.testing.assert_allclose(centres, [X[z == k].mean(0) for k in range(3)])
    assert (np.diff(history) <= 1e-9).all() and np.abs(centres - C).max() > 0.1


def is_flat(J, C, h=1e-6):
    "Is every slope of `J` zero at the centres `C`?"
    for k, j in np.ndindex(C.shape):
        E = np.zeros_like(C)
        E[k, j] = h
        if abs(J(C + E) - J(C - E)) / (2 * h) > 1e-6:
            return False
    return True


@pytest.mark.parametrize("seed", range(3))
def test_centres_of_cvqe_and_lcvqe_are_where_their_objectives_are_flat(seed):
    "Labels, broken links and where their ends are sent are fixed; sums are written out."
    X, z, C, links, c = toy(seed)
    d = lambda i, C, k: ((X[i] - C[k]) ** 2).sum()
    gap = lambda C, k, l: ((C[k] - C[l]) ** 2).sum()
    near = lambda k: min((l for l in range(3) if l != k), key=lambda l: gap(C, k, l))

    def sent(i, j):
        "The farther end of a broken cannot-link, and its next cluster."
        f = i if d(i, C, z[i]) >= d(j, C, z[j]) else j
        return f, min((l for l in range(3) if l != z[f]), key=lambda l: d(f, C, l))

    members = lambda new: 0.5 * sum(d(i, new, z[i]) for i in range(len(X)))

    def cvqe(new):
        return members(new) + loops(
            X, z, C, c, 1.3,
            lambda i, j: 0.5 * gap(new, z[i], z[j]),
            lambda i, j: 0.5 * gap(new, z[i], near(z[i])),
        )  # fmt: skip

    def lcvqe(new):
        return members(new) + loops(
            X, z, C, c, 1.3,
            lambda i, j: 0.25 * (d(i, new, z[j]) + d(j, new, z[i])),
            lambda i, j: 0.5 * d(sent(i, j)[0], new, sent(i, j)[1]),
        )  # fmt: skip

    assert is_flat(cvqe, km.cvqe_centres(X, z, C, links))
    assert is_flat(lcvqe, km.lcvqe_centres(X, z, C, links))
    assert not is_flat(cvqe, C) and not is_flat(lcvqe, C)


def test_answers_that_tie_are_left_out_by_counting():
    rng = np.random.default_rng(0)
    for _ in range(100):
        m = int(rng.integers(1, 30))
        a, b = rng.integers(4, size=(2, m))
        b = np.where(a == b, (b + 1) % 4, b)
        v, w = rng.integers(-1, 2, m), rng.integers(1, 4, m) * 0.1
        c = Constraints(a, b, v, weight=w, n_samples=4, value_kind="pm1")
        sums = {}
        for i, j, said, weight in zip(a, b, v, w):
            key = min(i, j), max(i, j)
            sums[key] = sums.get(key, 0) + said * weight
        there = km.sort_answers(c.a, c.b, c, 4)
        found = {tuple(p) for p in np.c_[there.a, there.b].tolist()}
        want = {(int(i), int(j)) for (i, j), total in sums.items() if abs(total) > 1e-6}
        assert found == want
        assert not (there.value == 0).any()


@pytest.mark.parametrize("diagonal", [False, True])
@pytest.mark.parametrize("shared", [False, True])
def test_metrics_against_quadratic_forms(diagonal, shared):
    "Lengths, diameters, traces and determinants from A itself, pair by pair."
    rng = np.random.default_rng(5)
    X = rng.normal(size=(40, 4)) * [1, 2, 3, 4]
    c = Constraints.from_labels(rng.integers(3, size=40), n=25, random_state=0)
    L = km.links_of(40, c)
    V = np.array([np.diag(rng.uniform(0.2, 3, 4)) for _ in range(3)])
    if not diagonal:
        R = rng.normal(size=(3, 4, 4))
        V = V + R @ np.swapaxes(R, 1, 2)
    if shared:
        V[:] = V[0]
    M = km.make_metric(X, L, V, shared)
    for k in range(3):
        A = np.linalg.inv(V[k])
        long = lambda v, A=A: v @ A @ v
        assert M.trace[k] == pytest.approx(np.trace(A))
        assert M.logdet[k] == pytest.approx(np.linalg.slogdet(A)[1])
        assert M.link[:, k] == pytest.approx([long(X[i] - X[j]) for i, j in zip(L.a, L.b)])
        assert M.far[k] == pytest.approx(max(long(x - y) for x in X for y in X))
        i, j = M.pair[k]
        assert M.far[k] == pytest.approx(long(X[i] - X[j]))
