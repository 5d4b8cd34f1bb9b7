"""Spectral baselines: formulas by brute force, invariants of the cuts, and what the estimators promise."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from sklearn.datasets import make_blobs, make_moons

from csc_nb.baselines.spectral import (
    COSC,
    FlexibleSpectral,
    PlainSpectral,
    SpectralLearning,
    SpectralRegularization,
    _tv_prox,
    additive_operator,
    best_level_set,
    broken_weight,
    csp_vectors,
    cosc_run,
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
    rng = np.random.default_rng(1)
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
    rng = np.random.default_rng(0)
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
