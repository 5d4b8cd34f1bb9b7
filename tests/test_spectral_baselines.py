"""Spectral baselines: formulas by brute force, invariants of the cuts, and what the
estimators promise."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from sklearn.datasets import make_blobs, make_moons
from sklearn.exceptions import ConvergenceWarning

from csc_nb.baselines.spectral import (
    COSC,
    FlexibleSpectral,
    PlainSpectral,
    SpectralLearning,
    SpectralRegularization,
    _tv_prox,
    additive_operator,
    balance_gradient,
    best_level_set,
    broken_weight,
    cannot_gradient,
    cosc_init,
    cosc_run,
    cosc_step,
    csp_vectors,
    cut_problem,
    cut_value,
    join_parts,
    kway_value,
    laplacian,
    link_matrices,
    linked_graph,
    recursive_split,
    repair,
    rewrite_links,
    two_colouring,
    two_way,
)
from csc_nb.constraints import Constraints
from csc_nb.graph import connected
from csc_nb.metrics import ari, constraint_accuracy
from csc_nb.spectral import degrees, local_affinity, ncut, normalised_operator

ALL = (PlainSpectral, SpectralLearning, SpectralRegularization, FlexibleSpectral, COSC)
X, Y = make_blobs(90, centers=[[0, 0], [4, 0], [0, 4]], cluster_std=1.0, random_state=0)


def graph(rng, n=10, k=4):
    W = sp.csr_matrix(local_affinity(rng.normal(size=(n, 2)), k))
    return W, degrees(W)


def links(rng, n, must, cannot):
    e = np.array([rng.choice(n, 2, replace=False) for _ in range(must + cannot)])
    return link_matrices(Constraints(*e.T, [1] * must + [-1] * cannot, n_samples=n), n)


def sets(n):
    return (
        np.array([(b >> k) & 1 for k in range(n)], bool) for b in range(1, 2 ** (n - 1))
    )


def test_links_add_and_cancel():
    c = Constraints(
        [0, 1, 0, 2, 3],
        [1, 0, 2, 3, 2],
        [1, 1, -1, 1, -1],
        weight=[1.0, 2.0, 1.0, 1.0, 1.0],
        n_samples=4,
    )
    must, cannot = link_matrices(c, 4)
    assert (
        must[0, 1] == must[1, 0] == 3
        and cannot[0, 2] == 1
        and must[2, 3] == cannot[2, 3] == 0
    )
    assert link_matrices(None, 3)[0].nnz == 0


def test_unsure_answers_say_nothing():
    must, cannot = link_matrices(
        Constraints([0, 1], [1, 2], ["unsure", "same"], n_samples=3), 3
    )
    assert must.nnz == 2 and cannot.nnz == 0


@pytest.mark.parametrize("seed", range(5))
def test_rewriting_is_the_same_for_sparse_and_dense(seed):
    rng = np.random.default_rng(seed)
    W, _ = graph(rng)
    must, cannot = links(rng, 10, 3, 3)
    A = W.toarray()
    for M, v in ((must, 1.0), (cannot, 0.0)):
        for i, j in zip(*M.nonzero()):
            A[i, j] = v
    np.testing.assert_allclose(rewrite_links(W, must, cannot).toarray(), A)
    np.testing.assert_allclose(rewrite_links(W.toarray(), must, cannot), A)
    N = additive_operator(A) @ np.eye(10)
    np.testing.assert_allclose(N.sum(1), 1)
    np.testing.assert_allclose(N, N.T)


@pytest.mark.parametrize("seed", range(5))
def test_spreg_trace_is_cut_plus_fines(seed):
    rng = np.random.default_rng(seed)
    W, d = graph(rng)
    must, _ = links(rng, 10, 4, 0)
    z = np.r_[0, 1, 2, rng.integers(0, 3, 7)]
    A = np.eye(3)[z]
    Z = np.sqrt(d)[:, None] * A / np.sqrt(A.T @ d)
    h = Z / np.sqrt(d)[:, None]
    fines = (
        sum(must[i, j] * ((h[i] - h[j]) ** 2).sum() for i, j in zip(*must.nonzero())) / 2
    )
    op = normalised_operator(W, [(-7.0, sp.identity(10), laplacian(must))])
    assert 3 - np.trace(Z.T @ (op @ Z)) == pytest.approx(ncut(W, z) + 7 * fines)


@pytest.mark.parametrize("n", [40, 700])
def test_csp_vectors_are_feasible_eigenvectors(n):
    P, y = make_blobs(n, centers=3, random_state=0)
    W = join_parts(local_affinity(P, 12), P)
    d = degrees(W)
    s = sp.diags(d**-0.5)
    must, cannot = link_matrices(Constraints.from_labels(y, n=n, random_state=0), n)
    V, cost, agree = csp_vectors(W, must - cannot, 3)
    assert V.shape[1] >= 2 and (agree > 0).all() and (np.diff(cost) >= -1e-9).all()
    lam = cost / agree
    L, Q = sp.identity(n) - s @ W @ s, s @ (must - cannot) @ s
    assert np.abs(L @ V - lam * (Q @ V)).max() < 1e-3 * np.abs(V).max()


def test_csp_small_and_large_solvers_agree():
    P, y = make_blobs(650, centers=3, random_state=0)
    W = join_parts(local_affinity(P, 12), P)
    must, cannot = link_matrices(Constraints.from_labels(y, n=650, random_state=0), 650)
    a, b = (csp_vectors(G, must - cannot, 3, seed=0) for G in (W, W.toarray()))
    np.testing.assert_allclose(a[1][:2], b[1][:2], rtol=1e-3)


def test_csp_without_a_factor_finds_the_same_vectors(monkeypatch):
    P, y = make_blobs(900, centers=3, random_state=0)
    W = join_parts(local_affinity(P, 12), P)
    must, cannot = link_matrices(Constraints.from_labels(y, n=900, random_state=0), 900)
    factored = csp_vectors(W, must - cannot, 3, seed=0)
    monkeypatch.setattr("csc_nb.baselines.spectral.FACTORED", 0)
    monkeypatch.setattr("csc_nb.baselines.spectral.splu", None)
    solved = csp_vectors(W, must - cannot, 3, seed=0)
    np.testing.assert_allclose(factored[1][:2], solved[1][:2], rtol=1e-3)
    both = np.abs((factored[0][:, :2] * solved[0][:, :2]).sum(0)) / degrees(W).sum()
    assert both.min() > 0.999


@pytest.mark.parametrize("seed", range(10))
def test_cosc_never_beats_the_best_cut_and_never_goes_up(seed):
    rng = np.random.default_rng(seed)
    W, d = graph(rng)
    must, cannot = links(rng, 10, 2, 3)
    P = cut_problem(W, d, must, cannot, 0.3 * d.mean())
    exact = min(cut_value(C, P) for C in sets(10))
    for f in rng.normal(size=(5, 10)):
        path = cosc_run(f, P)
        v = [s.F for s in path]
        assert (
            all(b <= a for a, b in zip(v, v[1:]))
            and v[-1] >= exact - 1e-9
            and v[-1] == pytest.approx(cut_value(path[-1].C, P))
        )
    G = linked_graph(W, must, cannot)
    assert two_way(G, 0.3 * d.mean(), 8, seed).F <= exact * 1.5 + 1e-9


def test_cosc_often_finds_the_best_cut():
    rng, hit = np.random.default_rng(5), 0
    for r in range(40):
        W, d = graph(rng)
        _, cannot = links(rng, 10, 0, 3)
        P = cut_problem(W, d, None, cannot, 0.3 * d.mean())
        found = two_way(linked_graph(W, None, cannot), 0.3 * d.mean(), 4, r).F
        hit += found <= min(cut_value(C, P) for C in sets(10)) + 1e-9
    assert hit >= 34


@pytest.mark.parametrize("seed", range(5))
def test_best_level_set_and_inner_solver(seed):
    rng = np.random.default_rng(seed)
    W, d = graph(rng)
    must, cannot = links(rng, 10, 2, 2)
    P = cut_problem(W, d, must, cannot, 0.5)
    f = rng.normal(size=10)
    C, v = best_level_set(f, P)
    assert v == pytest.approx(
        min(cut_value(f > t, P) for t in np.sort(f)[:-1])
    ) and v == pytest.approx(cut_value(C, P))
    g = rng.normal(size=10)
    u, _ = _tv_prox(g, *P.edges, np.zeros(len(P.edges[0])), 20000, 1e-13)
    A = P.A.toarray()
    primal = lambda u: 0.5 * ((u - g) ** 2).sum() + (A * np.abs(u[:, None] - u)).sum() / 2
    assert all(primal(u) <= primal(u + 0.05 * rng.normal(size=10)) for _ in range(200))


@pytest.mark.parametrize("seed", range(5))
def test_merging_keeps_the_values_of_cuts(seed):
    rng = np.random.default_rng(seed)
    W, d = graph(rng)
    must, cannot = links(rng, 10, 3, 0)
    cannot = links(rng, 10, 0, 2)[1]
    block = connected(10, *must.nonzero())
    i, j = cannot.nonzero()
    if (block[i] == block[j]).any():
        pytest.skip("contradiction")
    small = linked_graph(W, must, cannot).merged(block).problem(0.7)
    large = cut_problem(W, d, must, cannot, 0.7)
    for C in sets(block.max() + 1):
        assert cut_value(C, small) == pytest.approx(cut_value(C[block], large))


def test_two_colouring():
    path = link_matrices(Constraints([0, 1, 2], [1, 2, 3], [-1] * 3, n_samples=6), 6)[1]
    s = two_colouring(path, np.array([1, 1, 1, 1, 5.0, -5]))
    assert (s[[0, 1, 2]] == -s[[1, 2, 3]]).all() and s[4] == 1 and s[5] == -1
    assert (
        two_colouring(
            link_matrices(Constraints([0, 1, 2], [1, 2, 0], [-1] * 3, n_samples=3), 3)[1],
            np.zeros(3),
        )
        is None
    )


@pytest.mark.parametrize("seed", range(6))
def test_hard_cosc_with_two_clusters_keeps_every_link(seed):
    "Even when the answers have nothing to do with the points."
    P, _ = make_moons(70, noise=0.1, random_state=seed)
    side = np.random.default_rng(seed).integers(0, 2, 70)
    c = Constraints.from_labels(side, n=50, random_state=seed)
    m = COSC(2, random_state=0).fit(P, constraints=c)
    assert m.broken_ == 0 and constraint_accuracy(m.labels_, c) == 1 and m.n_clusters_ == 2


@pytest.mark.parametrize("seed", range(3))
def test_hard_cosc_with_three_clusters_keeps_clean_answers_and_is_right(seed):
    c = Constraints.from_labels(Y, n=90, random_state=seed)
    m = COSC(3, random_state=0).fit(X, constraints=c)
    assert m.broken_ == 0 and ari(Y, m.labels_) > 0.9


def test_repair_and_split_objectives():
    W = join_parts(local_affinity(X, 10), X)
    d = degrees(W)
    must, cannot = link_matrices(Constraints.from_labels(Y, n=60, random_state=0), 90)
    G = linked_graph(W, must, cannot)
    z = recursive_split(G, 3, 0.05 * d.mean())
    r = repair(z, G, 4 * d.mean())
    assert broken_weight(r, must, cannot) <= broken_weight(z, must, cannot)
    assert len(np.unique(r)) == 3
    assert kway_value(z, linked_graph(W), 0.0) == pytest.approx(ncut(W, z))
    i, j = must.nonzero()
    p, q = cannot.nonzero()
    assert (
        broken_weight(z, must, cannot)
        == (must.data[z[i] != z[j]].sum() + cannot.data[z[p] == z[q]].sum()) / 2
    )


def test_soft_cosc_overrules_a_lie_and_hard_cosc_obeys():
    P, y = make_blobs(60, centers=[[0, 0], [8, 0]], random_state=0)
    a, b = np.flatnonzero(y == 0)[:2]
    r = np.flatnonzero(y == 1)[0]
    lie = Constraints.from_pairs(must=[(a, r)], cannot=[(a, b)], n_samples=60)
    assert ari(y, COSC(2, gamma=0.1, random_state=0).fit(P, constraints=lie).labels_) == 1
    assert COSC(2, random_state=0).fit(P, constraints=lie).broken_ == 0


def test_contradictions_are_counted_and_too_few_blocks_are_fined():
    c = Constraints([0, 1, 0], [1, 2, 2], [1, 1, -1], n_samples=90)
    with pytest.warns(UserWarning, match=r"1 cannot-links lie inside .* rows \(0, 2\)"):
        COSC(3, random_state=0).fit(X, constraints=c)
    chain = Constraints(np.arange(89), np.arange(1, 90), np.ones(89), n_samples=90)
    with pytest.warns(UserWarning, match="leaves 1 blocks for n_clusters=3"):
        m = COSC(3, random_state=0).fit(X, constraints=chain)
    assert m.n_clusters_ == 3


def test_join_parts_connects_copies():
    P = np.r_[np.repeat([[0.0, 0.0], [5, 5], [5, -5]], 12, axis=0), X]
    W = local_affinity(P, 6)
    J = join_parts(W, P)
    assert (
        connected_components(W)[0] > 1
        and connected_components(J)[0] == 1
        and abs(J - J.T).max() == 0
    )
    assert (J - W).min() >= 0


def test_all_pairs_answered_give_the_classes_whatever_the_points():
    rng = np.random.default_rng(0)
    P, y = rng.normal(size=(30, 2)), np.arange(30) % 3
    i, j = np.triu_indices(30, 1)
    c = Constraints(i, j, np.where(y[i] == y[j], 1, -1), n_samples=30)
    for m in (SpectralLearning, COSC):
        assert ari(y, m(3, random_state=0).fit(P, constraints=c).labels_) == 1


def test_plain_spectral_ignores_links_and_spreg_ignores_cannot_links():
    c = Constraints.from_labels(Y, n=60, random_state=0)
    np.testing.assert_array_equal(
        *(PlainSpectral(3, random_state=0).fit(X, constraints=k).labels_ for k in (c, None))
    )
    only = Constraints.from_pairs(must=[], cannot=c.cannot, n_samples=90)
    np.testing.assert_array_equal(
        *(
            SpectralRegularization(3, random_state=0).fit(X, constraints=k).labels_
            for k in (only, None)
        )
    )


@pytest.mark.parametrize("cls", ALL)
def test_precomputed_sparse_and_dense_affinity(cls):
    W = join_parts(local_affinity(X, 20 if cls is not COSC else 15), X)
    c = Constraints.from_labels(Y, n=60, random_state=0)
    a, b = (
        cls(3, affinity="precomputed", random_state=0).fit(G, constraints=c).labels_
        for G in (W, W.toarray())
    )
    assert ari(a, b) == 1


@pytest.mark.parametrize("cls", ALL)
def test_edge_sizes(cls):
    assert cls(1, random_state=0).fit(X).n_clusters_ == 1
    with pytest.raises(ValueError, match="n_samples=4 should be >= n_clusters=5"):
        cls(5).fit(X[:4])
    with pytest.raises(ValueError, match="'affinity' parameter.*Got 'cosine'"):
        cls(2, affinity="cosine").fit(X)
    with pytest.raises(ValueError, match="'n_neighbors' parameter.*Got 0"):
        cls(2, n_neighbors=0).fit(X)


def test_bad_prices():
    with pytest.raises(ValueError, match="price of a broken"):
        COSC(2, gamma=-1.0).fit(X)
    with pytest.raises(ValueError, match="price of a broken"):
        SpectralRegularization(2, beta=-1.0).fit(X)
    with pytest.raises(ValueError, match="negative entries"):
        PlainSpectral(2, affinity="precomputed").fit(-np.ones((5, 5)))
    with pytest.raises(ValueError, match="square"):
        PlainSpectral(2, affinity="precomputed").fit(np.ones((5, 4)))


def test_names_are_public():
    from csc_nb.baselines import COSC as found
    from csc_nb.estimators import methods

    assert found is COSC and {
        "spectral",
        "spectral-learning",
        "spectral-regularization",
        "flexible-spectral",
        "cosc",
    } <= set(methods())


# what must not matter, what is refused ----------------------------------------------


def same_partition(a, b):
    return ari(a, b) == 1


@pytest.mark.parametrize("n", [10, 30, 100, 300, 1000])
def test_right_answers_do_no_harm_to_csp_on_separated_points(n):
    "Vectors without cost are the best there are; they were taken for the trivial one."
    P, y = make_blobs(300, centers=3, cluster_std=0.6, random_state=1)
    c = Constraints.from_labels(y, n=n, random_state=0)
    plain = ari(y, FlexibleSpectral(3, random_state=0).fit(P).labels_)
    with_answers = ari(y, FlexibleSpectral(3, random_state=0).fit(P, constraints=c).labels_)
    assert plain > 0.95 and with_answers >= plain - 0.02


def test_csp_leaves_the_trivial_vector_out():
    rng = np.random.default_rng(0)
    P = rng.normal(size=(40, 2))
    W = sp.csr_matrix(local_affinity(P, None))
    d = degrees(W)
    all_same = sp.csr_matrix(np.ones((40, 40)) - np.eye(40))
    V, _, _ = csp_vectors(W, all_same, 3)
    u = np.sqrt(d / d.sum())
    overlap = (u @ (V / np.linalg.norm(V, axis=0))) ** 2
    assert overlap.max(initial=0) < 0.5


@pytest.mark.parametrize("cls", ALL)
@pytest.mark.parametrize("unit", [1e-6, 1e3])
def test_the_unit_of_the_weights_says_nothing(cls, unit):
    c = Constraints.from_labels(Y, n=60, noise=0.1, random_state=0)
    scaled = Constraints(c.a, c.b, c.value, weight=np.full(60, unit), n_samples=90)
    labels = [cls(3, random_state=0).fit(X, constraints=k).labels_ for k in (c, scaled)]
    assert same_partition(*labels)


def test_soft_cosc_weighs_answers_against_each_other():
    "Only the unit is taken away: a heavy answer still beats a light one."
    P, y = make_blobs(60, centers=[[0, 0], [8, 0]], random_state=0)
    a, r = np.flatnonzero(y == 0)[0], np.flatnonzero(y == 1)[0]
    for weight, together in (([9.0, 1.0], True), ([1.0, 9.0], False)):
        c = Constraints([a, a], [r, r], [1, -1], weight=weight, n_samples=60)
        z = COSC(2, random_state=0).fit(P, constraints=c).labels_
        assert (z[a] == z[r]) == together


@pytest.mark.parametrize("cls", ALL)
def test_the_order_of_rows_and_answers_does_not_matter(cls):
    c = Constraints.from_labels(Y, n=80, noise=0.1, random_state=1)
    z = cls(3, random_state=0).fit(X, constraints=c).labels_
    rng = np.random.default_rng(0)
    rows, by = rng.permutation(90), rng.permutation(80)
    place = np.argsort(rows)
    other = Constraints(place[c.b][by], place[c.a][by], c.value[by], n_samples=90)
    again = cls(3, random_state=0).fit(X[rows], constraints=other).labels_
    assert same_partition(z[rows], again)


@pytest.mark.parametrize("cls", ALL)
def test_shifted_data_give_the_same_partition(cls):
    rng = np.random.default_rng(0)
    P = np.round(rng.normal(size=(90, 20)), 3)
    P[:30, 0] += 9
    P[30:60, 1] += 9
    labels = [cls(3, random_state=0).fit(P + shift).labels_ for shift in (0.0, 1e9)]
    assert same_partition(*labels)


@pytest.mark.parametrize("cls", ALL)
def test_fewer_different_rows_than_clusters(cls):
    P = np.repeat([[0.0, 0], [1, 1]], 10, axis=0)
    with pytest.warns(ConvergenceWarning, match="2 different rows for n_clusters=4"):
        m = cls(4, random_state=0).fit(P)
    assert m.n_clusters_ == 2 and same_partition(m.labels_, np.repeat([0, 1], 10))


@pytest.mark.parametrize(
    "est, name",
    [
        (COSC(2, gamma=np.inf), "gamma"),
        (COSC(2, gamma="high"), "gamma"),
        (SpectralRegularization(2, beta=np.inf), "beta"),
        (SpectralRegularization(2, beta=np.nan), "beta"),
        (FlexibleSpectral(2, beta=np.inf), "beta"),
        (PlainSpectral(2, n_init=0), "n_init"),
        (PlainSpectral(2, n_neighbors=2.5), "n_neighbors"),
        (PlainSpectral(2, random_state="x"), "random_state"),
    ],
    ids=str,
)
def test_parameters_are_refused_by_name(est, name):
    with pytest.raises(ValueError, match=f"'{name}' parameter of {type(est).__name__}"):
        est.fit(X)


@pytest.mark.parametrize("cls", ALL)
def test_objectives_are_costs_that_never_rise(cls):
    c = Constraints.from_labels(Y, n=60, noise=0.2, random_state=0)
    h = cls(3, random_state=0).fit(X, constraints=c).objective_history_
    assert (np.diff(h) <= 1e-12).all() and h[-1] >= -1e-9


def test_spectral_objective_bounds_the_cut():
    m = PlainSpectral(3, random_state=0).fit(X)
    assert m.objective_history_[0] <= ncut(local_affinity(X, 20), m.labels_) + 1e-9


# one step left out is noticed


def test_fines_of_spectral_regularization_pull_must_linked_rows_together():
    "The embedding is that of the dense operator with its fines, and not without them."
    rng = np.random.default_rng(1)
    P, _ = make_blobs(40, centers=2, cluster_std=2.0, random_state=1)
    W = join_parts(local_affinity(P, 8), P)
    d = degrees(W)
    must, cannot = links(rng, 40, 12, 0)
    V = SpectralRegularization(2, beta=5.0)._embed(W, must, cannot, 2, 0)
    s = np.diag(d**-0.5)
    full = sp.csr_matrix(W).toarray() - 5.0 * laplacian(must).toarray()
    top = np.linalg.eigh(s @ full @ s)[1][:, -2:]
    plain = np.linalg.eigh(s @ sp.csr_matrix(W).toarray() @ s)[1][:, -2:]
    unit = np.linalg.qr(V)[0]
    inside = lambda B: np.linalg.norm(unit - B @ (B.T @ unit))
    assert inside(top) < 1e-4 < 0.05 < inside(plain)


@pytest.mark.parametrize("seed", range(4))
def test_csp_takes_only_vectors_that_keep_enough(seed):
    "With a demand between their agreements, some vectors of the problem are refused."
    rng = np.random.default_rng(seed)
    P, y = make_blobs(40, centers=3, random_state=seed)
    W = join_parts(local_affinity(P, 12), P)
    must, cannot = links(rng, 40, 20, 20)
    vol = degrees(W).sum()
    for beta in (0.0, 0.02, 0.05, 0.1):
        _, _, agree = csp_vectors(W, must - cannot, 3, beta=beta, n_vectors=30)
        assert (agree > beta * vol).all()


@pytest.mark.parametrize("seed", range(3))
def test_a_step_of_cosc_follows_the_fines_of_broken_cannot_links(seed):
    "The inner problem of one step, put together again from its two gradients."
    rng = np.random.default_rng(seed)
    W, d = graph(rng)
    _, cannot = links(rng, 10, 0, 4)
    P = cut_problem(W, d, None, cannot, 2.0 * d.mean())
    start = cosc_init(P, rng.normal(size=10))
    new = cosc_step(start, P)
    pull = cannot_gradient(start.f, P.Q)
    g = pull + start.F * balance_gradient(start.f, P.deg)
    f, _ = _tv_prox(g, *P.edges, np.zeros(len(P.edges[0])), 200, 1e-6)
    C, value = best_level_set(f, P)
    assert np.abs(pull).max() > 0
    assert new.F == pytest.approx(min(value, start.F))
    if not new.done:
        np.testing.assert_allclose(new.f, f)
