"""Spectral embedding: longer checks than the page carries."""

from itertools import product

import numpy as np, pytest, scipy.sparse as sp
from sklearn.cluster import SpectralClustering
from sklearn.datasets import make_blobs, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score as ari

import csc_nb.spectral as sl


def rng(seed=0):
    return np.random.default_rng(seed)


def graph(n, seed=0, p=1.0):
    r = rng(seed)
    A = np.triu(r.uniform(size=(n, n)) * (r.uniform(size=(n, n)) < p), 1)
    return A + A.T


def moons(n=300, noise=0.05):
    return make_moons(n, noise=noise, random_state=0)


def dense_operator(W, low_rank=()):
    W = W.toarray() if sp.issparse(W) else W
    d = W.sum(1)
    M = W.astype(float).copy()
    for c, G in low_rank:
        G = G.toarray() if sp.issparse(G) else np.asarray(G, float).reshape(len(W), -1)
        M += c * G @ G.T
    s = np.where(d > 0, np.where(d > 0, d, 1) ** -0.5, 0)
    return s[:, None] * M * s


AFFINITIES = {
    "knn": lambda X: sl.knn_affinity(X, 6),
    "knn mutual": lambda X: sl.knn_affinity(X, 6, "mutual"),
    "knn mean": lambda X: sl.knn_affinity(X, 6, "mean"),
    "rbf": lambda X: sl.rbf_affinity(X, n_neighbors=6),
    "local": lambda X: sl.local_affinity(X, 9),
    "rbf dense": lambda X: sl.rbf_affinity(X, n_neighbors=None),
    "local dense": lambda X: sl.local_affinity(X, None),
}


@pytest.mark.parametrize("name", AFFINITIES)
def test_affinities_are_symmetric_bounded_and_hollow(name):
    X, _ = moons(60)
    W = AFFINITIES[name](X)
    assert sp.issparse(W) == ("dense" not in name)
    W = W.toarray() if sp.issparse(W) else W
    np.testing.assert_array_equal(W, W.T)
    assert (W >= 0).all() and (W <= 1).all() and (np.diag(W) == 0).all()
    perm = rng().permutation(60)
    P = AFFINITIES[name](X[perm])
    np.testing.assert_allclose(
        P.toarray() if sp.issparse(P) else P, W[np.ix_(perm, perm)], atol=1e-12
    )


def test_sparse_affinities_with_all_neighbours_are_the_dense_ones():
    X, _ = moons(40)
    np.testing.assert_allclose(
        sl.rbf_affinity(X, 0.4, n_neighbors=39).toarray(),
        sl.rbf_affinity(X, 0.4, n_neighbors=None),
        atol=1e-12,
    )
    np.testing.assert_allclose(
        sl.local_affinity(X, 39, diagonal=1.0).toarray(),
        sl.local_affinity(X, None, diagonal=1.0),
        atol=1e-12,
    )
    one, two = (sl.local_affinity(X, None, factor=f) for f in (1.0, 2.0))
    np.testing.assert_allclose(two**2, one, atol=1e-12)


def test_union_mutual_mean():
    X, _ = moons(50)
    u, m, a = (sl.knn_affinity(X, 5, s) for s in ("union", "mutual", "mean"))
    assert abs((u + m) / 2 - a).max() == 0 and m.nnz < u.nnz
    assert (sl.degrees(u) >= 5).all() and (sl.degrees(m) <= 5).all()
    with pytest.raises(ValueError, match="symmetric='both'"):
        sl.knn_affinity(X, 5, "both")


def test_duplicates_leave_finite_scales():
    for X in (
        np.zeros((12, 2)),
        np.r_[np.zeros((9, 2)), np.ones((9, 2))],
        np.r_[np.zeros((30, 2)), rng().normal(size=(20, 2))],
    ):
        for k in (8, None):
            W = sl.local_affinity(X, k)
            data = W.data if sp.issparse(W) else W
            assert np.isfinite(data).all() and data.min() >= 0
            assert np.isfinite(
                sl.spectral_embedding(sl.local_affinity(X, None, diagonal=1.0), 2).vectors
            ).all()
    assert (
        sl.median_sigma(np.zeros((5, 2))) == 1.0
        and sl.median_sigma(np.r_[np.zeros((9, 1)), [[2.0]]]) == 2.0
    )
    with pytest.raises(ValueError, match="must be positive"):
        sl.rbf_affinity(np.ones((3, 1)), 0.0)


def test_one_and_two_rows():
    assert (
        sl.knn_affinity(np.ones((1, 2))).shape == (1, 1)
        and sl.local_affinity(np.ones((1, 2))).nnz == 0
    )
    two = np.array([[0.0, 0], [1, 1]])
    np.testing.assert_allclose(
        sl.local_affinity(two).toarray(), np.exp(-1) * (1 - np.eye(2))
    )
    assert set(sl.spectral_labels(sl.local_affinity(two), 2)) == {0, 1}


LOW_RANK = {
    "none": [],
    "vector": [(-0.3, np.ones(30))],
    "dense": [(0.5, rng(1).normal(size=(30, 4)))],
    "sparse and vector": [
        (0.7, sp.random(30, 3, 0.4, random_state=0).tocsr()),
        (-0.2, np.arange(30.0) / 30),
    ],
}


@pytest.mark.parametrize("name", LOW_RANK)
@pytest.mark.parametrize("sparse", [True, False])
def test_operator_equals_dense(name, sparse):
    W = graph(30, 2, 0.3)
    W[4] = W[:, 4] = 0  # an isolated row
    op = sl.normalised_operator(sp.csr_matrix(W) if sparse else W, LOW_RANK[name])
    D, V = dense_operator(W, LOW_RANK[name]), rng(3).normal(size=(30, 5))
    np.testing.assert_allclose(op @ V, D @ V, atol=1e-12)
    np.testing.assert_allclose(op @ V[:, 0], D @ V[:, 0], atol=1e-12)
    np.testing.assert_allclose(op.H @ V, D @ V, atol=1e-12)


@pytest.mark.parametrize("solver", ["auto", "arpack", "lobpcg", "dense"])
@pytest.mark.parametrize("signs", ["none", "attract", "repel"])
def test_eigenpairs_are_the_largest_algebraic(solver, signs):
    X, _ = make_blobs(260, centers=4, cluster_std=2.5, random_state=1)
    W = sl.local_affinity(X, 12)
    lr = {
        "none": [],
        "attract": [(0.5, sp.random(260, 3, 0.1, random_state=0).tocsr())],
        "repel": [(-3.0, np.ones(260))],
    }[signs]
    e = sl.spectral_embedding(W, 4, lr, solver=solver)
    D = dense_operator(W, lr)
    np.testing.assert_allclose(e.values, np.linalg.eigvalsh(D)[::-1][:4], atol=1e-6)
    np.testing.assert_allclose(e.vectors.T @ e.vectors, np.eye(4), atol=1e-7)
    assert np.abs(D @ e.vectors - e.vectors * e.values).max() < 1e-5
    if signs == "repel":
        assert np.linalg.eigvalsh(D)[0] < -5  # largest magnitude would have been wrong


def test_same_seed_same_numbers_and_signs():
    W = sl.knn_affinity(moons()[0], 12)
    a, b = (sl.spectral_embedding(W, 3, solver="arpack", random_state=5) for _ in range(2))
    np.testing.assert_array_equal(a.vectors, b.vectors)
    c = sl.spectral_embedding(W, 3, solver="arpack", random_state=6)
    np.testing.assert_allclose(a.vectors, c.vectors, atol=1e-5)
    assert (a.vectors.max(0) >= -a.vectors.min(0)).all()


def test_zero_coefficients_are_plain():
    W = sl.knn_affinity(moons()[0], 12)
    a, b = (
        sl.spectral_embedding(W, 3),
        sl.spectral_embedding(W, 3, [(0.0, np.ones(300)), (0, np.ones((300, 2)))]),
    )
    np.testing.assert_array_equal(a.vectors, b.vectors)


@pytest.mark.parametrize("n, K, seed", [(6, 2, 0), (6, 3, 1), (7, 2, 2), (7, 3, 3)])
def test_relaxation_bounds_every_partition(n, K, seed):
    W = graph(n, seed)
    best = min(sl.ncut(W, z) for z in product(range(K), repeat=n) if len(set(z)) == K)
    brute = min(
        sum(W[np.ix_(z == k, z != k)].sum() / W[z == k].sum() for k in range(K))
        for z in map(np.array, product(range(K), repeat=n))
        if len(set(z.tolist())) == K
    )
    bound = K - sl.spectral_embedding(W, K).values.sum()
    assert best == pytest.approx(brute, abs=1e-12) and bound <= best + 1e-12
    assert sl.ncut(sp.csr_matrix(W), np.arange(n) % K) == pytest.approx(
        sl.ncut(W, np.arange(n) % K)
    )
    found = min(
        sl.ncut(W, sl.spectral_labels(W, K, rounding=r)) for r in ("kmeans", "rotation")
    )
    assert bound - 1e-12 <= found


def test_relaxation_is_tight_for_components():
    W = sp.block_diag([graph(n, n) for n in (6, 9, 5)]).tocsr()
    y = np.repeat([0, 1, 2], [6, 9, 5])
    assert sl.ncut(W, y) == pytest.approx(0, abs=1e-12)
    for r in ("kmeans", "rotation"):
        assert ari(sl.spectral_labels(W, 3, rounding=r), y) == 1


@pytest.mark.parametrize("solver", ["arpack", "lobpcg"])
def test_large_disconnected_graph(solver):
    W = sp.block_diag(
        [sl.knn_affinity(rng(s).normal(size=(120, 2)), 8) for s in range(5)]
    ).tocsr()
    perm = rng().permutation(600)
    e = sl.spectral_embedding(W[perm][:, perm], 7, solver=solver)
    np.testing.assert_allclose(e.values[:5], 1, atol=1e-12)
    np.testing.assert_allclose(
        e.values, np.linalg.eigvalsh(dense_operator(W))[::-1][:7], atol=1e-6
    )
    assert ari(sl.spectral_labels(W[perm][:, perm], 5), np.repeat(range(5), 120)[perm]) == 1


def test_more_components_than_clusters_warns():
    W = sp.block_diag([graph(5, s) for s in range(4)]).tocsr()
    with pytest.warns(UserWarning, match="4 components but k=2"):
        z = sl.spectral_labels(W, 2)
    assert set(z) == {0, 1}


@pytest.mark.parametrize("rounding", ["kmeans", "rotation"])
def test_isolated_rows(rounding):
    W = sp.block_diag([[[0.0]], graph(8, 1), [[0.0]], graph(6, 2)]).tocsr()
    with pytest.warns(UserWarning, match="2 rows have no neighbours: first is row 0"):
        z = sl.spectral_labels(W, 2, rounding=rounding)
    rest = np.r_[1:9, 10:16]
    assert (
        ari(z[rest], np.repeat([0, 1], [8, 6])) == 1 and z[0] == z[9] == z[1]
    )  # the larger cluster


@pytest.mark.filterwarnings("ignore")
def test_a_graph_without_links():
    z = sl.spectral_labels(sp.csr_matrix((6, 6)), 2)
    assert z.shape == (6,) and z.min() >= 0 and z.max() < 2
    for V in (np.zeros((5, 2)), np.eye(5, 2) * [[1, 0]]):  # no live row, one live row
        for z in (sl.round_kmeans(V), sl.round_rotation(V)):
            assert z.shape == (5,) and z.min() >= 0 and z.max() < 2


@pytest.mark.parametrize("rounding", ["kmeans", "rotation"])
@pytest.mark.parametrize("affinity", ["knn", "local"])
def test_agrees_with_sklearn_on_moons_in_any_order(rounding, affinity):
    X, y = moons()
    W = sl.knn_affinity(X, 12) if affinity == "knn" else sl.local_affinity(X, 15)
    z = sl.spectral_labels(W, 2, rounding=rounding)
    sk = SpectralClustering(2, affinity="precomputed", random_state=0).fit_predict(W)
    assert ari(z, sk) == 1 and ari(z, y) > 0.98  # one row of a noisy moon may stray
    perm = rng(4).permutation(300)
    assert ari(sl.spectral_labels(W[perm][:, perm], 2, rounding=rounding), z[perm]) == 1


def test_rotation_rounding_rises_and_ignores_rotations():
    X, y = make_blobs(200, centers=5, random_state=3)
    U = sl.unit_rows(sl.spectral_embedding(sl.local_affinity(X, 20), 5).vectors)
    for first in range(0, 200, 40):
        _, h = sl._rotate(U, first, 100)
        assert (np.diff(h) >= -1e-9).all() and h[-1] <= 200 + 1e-9
    R = np.linalg.qr(rng().normal(size=(5, 5)))[0]
    assert ari(sl.round_rotation(U), sl.round_rotation(U @ R)) == 1
    exact = np.eye(5)[y] @ R  # a partition, rotated
    assert ari(sl.round_rotation(exact), y) == 1 and sl._rotate(exact, 0, 100)[1][
        -1
    ] == pytest.approx(200)


def test_rounding_to_another_number_of_clusters():
    V = sl.spectral_embedding(sl.local_affinity(moons()[0], 15), 3).vectors
    assert len(set(sl.round_kmeans(V, 5))) == 5


def test_eigengap():
    assert sl.eigengap([1, 0.99, 0.98, 0.5, 0.4]) == 3 and sl.eigengap([1.0]) == 1


@pytest.mark.parametrize(
    "W, k, words",
    [
        (np.ones((3, 4)), 2, "square"),
        (np.ones((3, 3)), 5, "n_samples=3 should be >= n_clusters=5"),
        (np.ones((3, 3)), 0, "at least 1"),
        (np.triu(np.ones((3, 3))), 2, "not symmetric"),
        (-np.ones((3, 3)), 2, "negative"),
        (np.full((3, 3), np.nan), 2, "not finite"),
        (sp.csr_matrix(np.triu(np.ones((3, 3)))), 2, "not symmetric"),
    ],
)
def test_bad_affinities(W, k, words):
    with pytest.raises(ValueError, match=words):
        sl.spectral_embedding(W, k)


def test_bad_options():
    W = graph(5)
    with pytest.raises(ValueError, match="solver='qr'"):
        sl.spectral_embedding(W, 2, solver="qr")
    with pytest.raises(ValueError, match="rounding='best'"):
        sl.spectral_labels(W, 2, rounding="best")
    big = sl.knn_affinity(rng().normal(size=(400, 2)), 5)
    with pytest.raises(RuntimeError, match="Raise max_iter"):
        sl.spectral_embedding(big, 5, max_iter=1)
    with pytest.warns(ConvergenceWarning, match="LOBPCG stopped"):
        sl.spectral_embedding(big, 5, solver="lobpcg", max_iter=1)


def test_k_equals_n():
    e = sl.spectral_embedding(graph(6), 6)
    np.testing.assert_allclose(
        e.values, np.linalg.eigvalsh(dense_operator(graph(6)))[::-1], atol=1e-10
    )


@pytest.mark.slow
def test_fifty_thousand_rows_stay_sparse():
    import tracemalloc

    X, y = make_blobs(50_000, centers=10, n_features=10, cluster_std=2, random_state=0)
    tracemalloc.start()
    e = sl.spectral_embedding(sl.local_affinity(X, 15), 10)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1e9  # a dense matrix would need 2e10
    assert ari(sl.round_kmeans(e.vectors, n_init=2), y) > 0.95


# what must not matter, what is refused ----------------------------------------------


@pytest.mark.parametrize("d", [3, 20])
@pytest.mark.parametrize("kind", ["local", "rbf", "knn"])
def test_neighbours_do_not_depend_on_the_origin(kind, d):
    "Search by products of norms loses every digit at 1e9; 20 columns take that path."
    X = np.round(rng().normal(size=(120, d)), 3)
    near, far = (sl.affinity_matrix(X + shift, kind, 10) for shift in (0.0, 1e9))
    assert abs(near - far).max() < 1e-3
    assert near.nnz == far.nnz


def test_rounding_looks_at_directions_not_at_lengths():
    "Two directions, lengths from 1 to 100: without unit rows k-means splits by length."
    length = np.geomspace(1, 100, 40)
    V = np.r_[np.outer(length, [1.0, 0.1]), np.outer(length, [0.1, 1.0])]
    truth = np.repeat([0, 1], 40)
    assert ari(truth, sl.round_kmeans(V)) == 1
    assert ari(truth, sl.round_rotation(V)) == 1


def test_zero_rows_join_the_largest_cluster():
    V = np.r_[np.tile([1.0, 0.0], (6, 1)), np.tile([0.0, 1.0], (3, 1)), np.zeros((2, 2))]
    z = sl.round_kmeans(V)
    assert z[-1] == z[-2] == z[0] != z[6]


@pytest.mark.parametrize("sigma", [0.0, -1.0, np.inf, np.nan])
def test_a_width_is_positive_and_finite(sigma):
    with pytest.raises(ValueError, match="width"):
        sl.rbf_affinity(rng().normal(size=(10, 2)), sigma)


def test_no_more_clusters_than_different_rows():
    X = np.repeat([[0.0, 0], [1, 1]], 10, axis=0)
    assert sl.limit_clusters(X, 4) == 2  # who fits says so, see test_safety_methods
    assert sl.limit_clusters(X, 2) == 2


def test_component_vectors_follow_the_given_mass():
    W = sp.block_diag([graph(4, 1), graph(3, 2)]).tocsr()
    mass = np.arange(1.0, 8.0)
    U = sl.component_vectors(W, mass).toarray()
    np.testing.assert_allclose(U.T @ U, np.eye(2), atol=1e-12)
    np.testing.assert_allclose(U[4:, 0] ** 2, mass[4:] / mass[4:].sum())  # heaviest first
    assert (U[:4, 0] == 0).all()
