"""Bag-constrained spectral clustering: the matrix by enumeration, invariants, the choice
of alpha, what the estimator promises, the sliders."""

import warnings
from itertools import product

import matplotlib

matplotlib.use("agg")
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn import config_context
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from csc_nb.bags import (
    LOUD,
    STRENGTHS,
    BagSpectralClustering,
    bag_agreement,
    bag_embedding,
    bag_mu,
    bag_Q,
    bag_reward,
    bag_scale,
    bag_terms,
    bags_demo,
    best_strength,
    choose_alpha,
    hide_labels,
    label_vectors,
    omega_A,
    omega_L,
    partition_matrix,
    strengths,
)
from csc_nb.baselines.spectral import PlainSpectral
from csc_nb.constraints import Bags
from csc_nb.datasets import load, toy_bags
from csc_nb.metrics import nmi_arithmetic as nmi
from csc_nb.spectral import degrees, local_affinity, ncut


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*labelled bags for.*")
        yield


def random_bags(rng, n=12, M=5, C=4, unlabelled=0):
    bag = np.r_[np.arange(M), rng.integers(0, M, n - M)]
    sets = [
        set(rng.choice(C, rng.integers(1, 4), replace=False).tolist()) for _ in range(M)
    ]
    for m in range(unlabelled):
        sets[m] = None
    return Bags(bag, sets, classes=range(C))


def brute(L, A):
    M = len(L)
    return sum(
        (L[i, j] - L[r, s]) * (A[i, j] - A[r, s])
        for i, j, r, s in product(range(M), repeat=4)
    ) / (2 * M**2)


def dense(terms, n):
    Q = np.zeros((n, n))
    for c, G, *R in terms:
        G = G.toarray() if sp.issparse(G) else G
        Q += c * (G @ R[0] @ G.T if R else G @ G.T)
    return Q


@pytest.mark.parametrize("seed", range(10))
def test_exact_Q_is_the_sum_over_all_quadruples_and_printed_Q_is_not(seed):
    rng = np.random.default_rng(seed)
    b = random_bags(rng)
    deg = rng.uniform(1, 3, 12)
    Z = np.linalg.qr(rng.normal(size=(12, 3)))[0]
    V = Z / np.sqrt(deg)[:, None]
    want = brute(omega_L(b), omega_A(Z, deg, b))
    assert bag_reward(omega_L(b), omega_A(Z, deg, b)) == pytest.approx(want)
    assert np.trace(V.T @ bag_Q(b) @ V) == pytest.approx(want, abs=1e-10)
    assert abs(np.trace(V.T @ bag_Q(b, "printed") @ V) - want) > 1e-4


@pytest.mark.parametrize("seed", range(5))
def test_unlabelled_bags_take_no_part_in_the_exact_form(seed):
    """The sum over labelled bags only, by enumeration; the printed form counts
    unlabelled bags as sharing nothing."""
    rng = np.random.default_rng(seed)
    b = random_bags(rng, n=14, M=6, unlabelled=2)
    deg = rng.uniform(1, 3, 14)
    Z = np.linalg.qr(rng.normal(size=(14, 3)))[0]
    V, k = Z / np.sqrt(deg)[:, None], b.labelled
    want = brute(omega_L(b)[np.ix_(k, k)], omega_A(Z, deg, b)[np.ix_(k, k)])
    assert np.trace(V.T @ bag_Q(b) @ V) == pytest.approx(want, abs=1e-10)
    rows = ~k[b.bag]
    assert np.abs(bag_Q(b)[rows]).max() == 0 and np.abs(bag_Q(b, "printed")[rows]).max() > 0


def test_closed_forms_of_table_2_1():
    b = Bags([0, 0, 1, 2, 3, 3, 4], [{"a"}, {"a"}, {"b"}, {"a", "c"}, {"c", "d"}])
    mu = bag_mu(b)
    E, P = bag_Q(b), bag_Q(b, "printed")
    assert E[0, 1] == pytest.approx(1 - mu) and P[0, 1] == pytest.approx(
        1 - mu
    )  # must-link within a bag
    assert E[0, 2] == pytest.approx(1 - mu) and P[0, 2] == pytest.approx(
        1
    )  # must-link across bags
    assert E[0, 3] == pytest.approx(-mu) and P[0, 3] == pytest.approx(0)  # cannot-link
    assert E[4, 5] == pytest.approx(0.5 - mu) and P[4, 5] == pytest.approx(
        0.5 - mu
    )  # same bag, two labels
    assert E[4, 6] == pytest.approx(0.25 - mu) and P[4, 6] == pytest.approx(0.25)  # overlap
    Y = label_vectors(b).toarray()
    assert mu == pytest.approx((Y.T @ Y).sum() / 25)


@pytest.mark.parametrize("form", ["exact", "printed"])
@pytest.mark.parametrize("seed", range(3))
def test_without_pairs_zeroes_exactly_the_implied_pairs(form, seed):
    b = random_bags(np.random.default_rng(seed), n=15, M=7)
    c = b.implied()
    Q, R = bag_Q(b, form), dense(bag_terms(b, form, True), 15)
    hit = np.zeros((15, 15), bool)
    hit[c.a, c.b] = hit[c.b, c.a] = True
    hit[np.arange(15), np.arange(15)] = [len(b.labels[m]) == 1 for m in b.bag]
    np.testing.assert_allclose(R, np.where(hit, 0, Q), atol=1e-12)


def test_one_label_for_all_bags_gives_no_term():
    b = Bags([0, 0, 1, 2, 2], [{"x"}] * 3)
    assert np.abs(bag_Q(b)).max() < 1e-15 and np.abs(bag_Q(b, "printed")).max() > 0.5
    assert bag_terms(Bags([0, 1], [None, None])) == []


@pytest.mark.parametrize("without", [False, True])
@pytest.mark.parametrize("form", ["exact", "printed"])
def test_matrix_free_embedding_equals_dense(form, without):
    t = toy_bags(50, 4, classes=(1, 2), labelled=0.7, random_state=0)
    b = Bags(t.bag, t.bag_labels)
    W = local_affinity(t.data, 15, factor=2.0, diagonal=1.0)
    d = degrees(W)
    e = bag_embedding(W, b, 4, 0.5, form, without, relative=False)
    A = (W.toarray() + 0.5 * dense(bag_terms(b, form, without), len(d))) / np.sqrt(
        np.outer(d, d)
    )
    w, V = np.linalg.eigh(A)
    np.testing.assert_allclose(e.values, w[::-1][:4], atol=1e-7)
    np.testing.assert_allclose(e.vectors @ e.vectors.T, V[:, -4:] @ V[:, -4:].T, atol=1e-4)
    z = t.target
    Z = partition_matrix(z, d)
    if form == "exact" and not without:
        k = b.labelled
        reward = bag_reward(omega_L(b)[np.ix_(k, k)], omega_A(Z, d, b)[np.ix_(k, k)], 0.5)
        assert np.trace(Z.T @ A @ Z) == pytest.approx(4 - ncut(W, z) + reward)


def test_scale_is_the_largest_eigenvalue_and_grows_with_the_number_of_bags():
    lams = []
    for n_bags in (50, 200):
        t = toy_bags(n_bags, 4, classes=(2, 2), random_state=0)
        b = Bags(t.bag, t.bag_labels)
        d = degrees(local_affinity(t.data, 15))
        for form, without in product(("exact", "printed"), (False, True)):
            want = np.linalg.eigvalsh(
                dense(bag_terms(b, form, without), len(d)) / np.sqrt(np.outer(d, d))
            )[-1]
            assert bag_scale(bag_terms(b, form, without), d) == pytest.approx(
                want, rel=1e-2
            )
        lams.append(bag_scale(bag_terms(b), d))
    assert lams[1] > 2.5 * lams[0] and bag_scale([], d) == 0


def test_relative_strength_is_alpha_over_the_scale():
    t = toy_bags(60, 4, classes=(1, 2), random_state=0)
    b = Bags(t.bag, t.bag_labels)
    W = local_affinity(t.data, 15)
    lam = bag_scale(bag_terms(b), degrees(W))
    m = BagSpectralClustering(4, alpha=0.7, affinity="precomputed", random_state=0).fit(
        W, bags=b
    )
    assert m.loudness_ == pytest.approx(0.7 * lam, rel=1e-6)
    np.testing.assert_allclose(
        m.eigenvalues_, bag_embedding(W, b, 4, 0.7).values, rtol=1e-6
    )  # the default is the thesis' alpha
    np.testing.assert_allclose(
        bag_embedding(W, b, 4, 0.7, relative=True).values,
        bag_embedding(W, b, 4, 0.7 / lam).values,
        rtol=1e-6,
    )


T = toy_bags(60, 4, spread=1.1, classes=(1, 2), random_state=1)
B = Bags(T.bag, T.bag_labels)


def fit(bags, X=T.data, **kw):
    return BagSpectralClustering(4, random_state=0, **{"relative": True, **kw}).fit(
        X, bags=bags
    )


def test_alpha_zero_and_no_labels_are_plain_spectral_clustering():
    W = local_affinity(T.data, 20, factor=2.0, diagonal=1.0)
    want = PlainSpectral(4, affinity="precomputed", random_state=0).fit(W).labels_
    for b, kw in (
        (B, dict(alpha=0)),
        (None, {}),
        (Bags(T.bag, [None] * 60), {}),
        (Bags(T.bag, [{1}] * 60), {}),
        (None, dict(alpha="cv")),
    ):
        assert nmi(want, fit(b, **kw).labels_) == pytest.approx(1)


def test_order_and_names_of_bags_do_not_matter():
    order = np.random.default_rng(0).permutation(60)
    a = fit(B, alpha=0.7)
    moved = Bags(np.argsort(order)[T.bag], [T.bag_labels[k] for k in order])
    named = Bags(
        [f"bag {m}" for m in T.bag],
        {f"bag {m}": {"abcd"[c] for c in s} for m, s in enumerate(T.bag_labels)},
    )
    for other in (moved, named):
        np.testing.assert_allclose(
            fit(other, alpha=0.7).embedding_, a.embedding_, atol=1e-5
        )


def test_rows_in_another_order_give_the_same_partition():
    p = np.random.default_rng(1).permutation(len(T.data))
    z = (
        BagSpectralClustering(4, alpha=0.7, relative=True, random_state=0)
        .fit(T.data[p], bags=B.subset(p))
        .labels_
    )
    assert nmi(fit(B, alpha=0.7).labels_[p], z) > 0.98


def test_labels_help_where_classes_overlap():
    gain = []
    for s in range(5):
        t = toy_bags(100, 4, spread=1.1, classes=(2, 2), random_state=s)
        b = Bags(t.bag, t.bag_labels)
        z = [
            BagSpectralClustering(4, alpha=a, relative=True, random_state=0)
            .fit(t.data, bags=b)
            .labels_
            for a in (0, 0.7)
        ]
        gain.append(nmi(t.target, z[1]) - nmi(t.target, z[0]))
    assert np.mean(gain) > 0.08 and min(gain) > 0


def test_all_ways_to_give_bags():
    want = fit(B, alpha=0.7).labels_
    frame = pd.DataFrame({"bag": T.bag, "labels": [sorted(T.bag_labels[m]) for m in T.bag]})
    hot = np.array([[c in s for c in range(4)] for s in T.bag_labels])
    for other in ((T.bag, T.bag_labels), frame, Bags.from_multihot(T.bag, hot)):
        np.testing.assert_array_equal(fit(other, alpha=0.7).labels_, want)


def test_bags_by_id_follow_the_rows():
    ids = np.array([f"r{i}" for i in range(len(T.data))])
    p = np.random.default_rng(0).permutation(len(ids))
    b = Bags(T.bag, T.bag_labels, ids=ids)
    m = BagSpectralClustering(4, alpha=0.7, relative=True, random_state=0)
    a = m.fit(T.data[p], bags=b, sample_id=ids[p]).labels_.copy()
    np.testing.assert_array_equal(a, m.fit(T.data[p], bags=B.subset(p)).labels_)
    np.testing.assert_array_equal(
        a, m.fit(pd.DataFrame(T.data[p], index=ids[p]), bags=b).labels_
    )


def test_csv_and_stats(tmp_path):
    b = Bags(
        ["u", "u", "v", "w"],
        {"u": {"a", "b"}, "v": {"a"}, "w": None},
        ids=["p", "q", "r", "s"],
    )
    back = Bags.from_csv(b.to_csv(tmp_path / "b.csv"))
    assert (
        back == b
        and b.stats()["bags with one label"] == 1
        and b.stats()["bags with several"] == 1
    )
    assert Bags.from_csv(
        Bags([0, 1], [{"x"}, {"y"}]).to_csv(tmp_path / "c.csv")
    ).labels == (frozenset({"x"}), frozenset({"y"}))
    c, only = B.implied(), B.implied(must=False)
    assert (
        (c.value > 0).any()
        and not (only.value > 0).any()
        and (only.value < 0).sum() == (c.value < 0).sum()
    )


def test_table_2_2_of_the_poems():
    for name, want in (
        ("letter_carroll", (717, 166, 24, 1, 165, 4.32, 3.93)),
        ("letter_frost", (565, 144, 24, 12, 132, 3.92, 3.60)),
    ):
        d = load(name)
        s = Bags(d.bag, d.bag_labels).stats()
        got = [
            s[k]
            for k in ("rows", "bags", "labels", "bags with one label", "bags with several")
        ]
        assert (
            got == list(want[:5])
            and s["rows per bag"] == pytest.approx(want[5], abs=0.01)
            and s["labels per labelled bag"] == pytest.approx(want[6], abs=0.01)
        )


def test_agreement_and_hiding():
    hid = np.arange(60) % 5 == 0
    h = hide_labels(B, hid)
    assert (
        h.labelled.sum() == 48
        and h.classes == B.classes
        and [s for s, k in zip(h.labels, hid) if not k]
        == [s for s, k in zip(B.labels, hid) if not k]
    )
    rng = np.random.default_rng(0)
    assert (
        bag_agreement(T.target, B, hid)
        > 0.9
        > 0.2
        > abs(bag_agreement(rng.permutation(T.target), B, hid))
    )
    assert bag_agreement(np.zeros(len(T.target), int), B, hid) == 0


def test_hidden_bags_are_really_hidden(monkeypatch):
    import csc_nb.bags as m

    seen = []

    def spy(W, b, *args, **kwargs):
        seen.append(int(b.labelled.sum()))
        return bag_embedding(W, b, *args, **kwargs)

    monkeypatch.setattr(m, "bag_embedding", spy)
    choose_alpha(local_affinity(T.data, 15), B, 4, (0.0, 0.7), folds=4)
    assert seen == [45] * 8


def test_cv_choice_is_near_the_best_and_same_for_any_n_jobs():
    got, best = [], []
    for s in range(4):
        t = toy_bags(80, 4, spread=1.1, classes=(1, 2), random_state=s)
        b = Bags(t.bag, t.bag_labels)
        m = BagSpectralClustering(4, alpha="cv", random_state=0).fit(t.data, bags=b)
        assert m.cv_scores_.shape == (5, 5)
        got.append(nmi(t.target, m.labels_))
        best.append(
            nmi(
                t.target,
                BagSpectralClustering(4, alpha=0, random_state=0)
                .fit(t.data, bags=b)
                .labels_,
            )
        )
    assert np.mean(got) > np.mean(best) + 0.1
    W = local_affinity(t.data, 15)
    a, c = (choose_alpha(W, b, 4, (0.0, 0.3), 3, random_state=1, n_jobs=j) for j in (1, 2))
    assert a[0] == c[0]
    np.testing.assert_array_equal(a[1], c[1])


@pytest.mark.parametrize(
    "kw, match",
    [
        (dict(alpha=-1), "strength"),
        (dict(alpha="auto"), "strength"),
        (dict(alpha=np.inf), "strength"),
        (dict(form="x"), "'form' parameter.*Got 'x'"),
        (dict(n_neighbors=0), "'n_neighbors' parameter.*Got 0"),
        (dict(affinity="cosine"), "'affinity' parameter.*Got 'cosine'"),
    ],
)
def test_bad_parameters(kw, match):
    with pytest.raises(ValueError, match=match):
        fit(B, **kw)


def test_bad_bags():
    with pytest.raises(ValueError, match="The bags hold 10 rows"):
        fit((T.bag[:10], T.bag_labels))
    with pytest.raises(TypeError, match="not understood"):
        fit("bags")
    with pytest.raises(ValueError, match="n_samples=.* should be >= n_clusters"):
        BagSpectralClustering(999).fit(T.data, bags=B)


def test_warnings_few_labelled_bags_and_too_few_clusters():
    few = hide_labels(B, np.arange(60) >= 10)
    with pytest.warns(UserWarning, match="10 labelled bags for"):
        fit(few, alpha=0.7)
    with pytest.warns(UserWarning, match="5 labelled bags are too few"):
        assert fit(hide_labels(B, np.arange(60) >= 5)).alpha_ == 0.3
    with pytest.warns(UserWarning, match="n_clusters=2 but the bags carry 4 labels"):
        BagSpectralClustering(2, random_state=0).fit(T.data, bags=B)
    with pytest.warns(UserWarning, match="times as loud as the affinity"):
        m = fit(B, relative=False, alpha=50.0)
    assert m.loudness_ > 20
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit(few, alpha=0)
        fit(few, alpha="cv")
        fit(B)


def test_more_clusters_than_labels():
    t = toy_bags(60, 4, spread=0.5, classes=(1, 2), random_state=0)
    coarse = t.target // 2
    b = Bags(t.bag, [set(coarse[t.bag == m].tolist()) for m in range(60)])
    z = (
        BagSpectralClustering(4, alpha=0.7, relative=True, random_state=0)
        .fit(t.data, bags=b)
        .labels_
    )
    assert nmi(t.target, z) > 0.9


def test_precomputed_dense_and_sparse_affinity():
    W = local_affinity(T.data, 20, factor=2.0, diagonal=1.0)
    want = fit(B, alpha=0.7).labels_
    for G in (W, W.toarray()):
        assert nmi(
            want, fit(B, G, alpha=0.7, affinity="precomputed").labels_
        ) == pytest.approx(1)


def test_in_a_pipeline_with_and_without_routing():
    want = fit(B, StandardScaler().fit_transform(T.data), alpha=0.7).labels_
    m = lambda: make_pipeline(
        StandardScaler(), BagSpectralClustering(4, alpha=0.7, relative=True, random_state=0)
    )
    np.testing.assert_array_equal(
        m().fit(T.data, bagspectralclustering__bags=B)[-1].labels_, want
    )
    with config_context(enable_metadata_routing=True):
        np.testing.assert_array_equal(m().fit(T.data, bags=B)[-1].labels_, want)


def test_nothing_of_size_n_by_n():
    "20 000 rows: a dense affinity alone would take 3 GB."
    import tracemalloc

    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 3)) + np.repeat(np.eye(3) * 6, [7000, 7000, 6000], axis=0)
    y = np.repeat([0, 1, 2], [7000, 7000, 6000])
    bag = rng.permutation(20_000) // 10
    sets = [set(y[bag == m].tolist()) for m in range(2000)]
    tracemalloc.start()
    z = (
        BagSpectralClustering(3, relative=True, n_neighbors=8, n_init=1, random_state=0)
        .fit(X, bags=(bag, sets))
        .labels_
    )
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 400e6 and nmi(y, z) > 0.9


def test_demo_draws_and_moves():
    import matplotlib.pyplot as plt
    from csc_nb.widgets import Frames

    a, b = (bags_demo(alpha, share) for alpha, share in ((0.0, 1.0), (0.3, 0.5)))
    titles = [
        [ax.get_title() for f in g.subfigs for ax in f.axes if ax.get_title()]
        for g in (a, b)
    ]
    assert (
        titles[0][1].startswith("after, α = 0")
        and "50 of 100" in titles[1][1]
        and titles[0][0].split(":")[1] == titles[0][1].split(":")[1]
    )
    plt.close("all")
    f = Frames(bags_demo, alpha=[0.0, 0.3], labelled=[1.0], dpi=40)
    assert f.n_frames == 2 and len(f.frames) == 2


# hidden bags, the published algorithm, parameters -----------------------------------


def test_cross_validation_does_not_score_bags_that_it_has_seen():
    """Labels that have nothing to do with the rows: loud ones fit what was seen and
    nothing else."""
    seen, hidden = [], []
    for seed in range(3):
        t = toy_bags(60, 4, spread=1.1, classes=(1, 2), random_state=seed)
        mixed = [t.bag_labels[m] for m in np.random.default_rng(seed).permutation(60)]
        b = Bags(t.bag, mixed)
        W = local_affinity(t.data, 15, factor=2.0, diagonal=1.0)
        _, scores = choose_alpha(W, b, 4, (0.0, 10.0), folds=4, random_state=seed)
        hidden.append(scores[1].mean())
        z = fit(b, t.data, alpha=10.0).labels_
        seen.append(bag_agreement(z, b, np.ones(60, bool)))
    assert np.mean(hidden) < 0.1 < 0.3 < np.mean(seen)


def test_agreement_counts_pairs_with_a_hidden_bag():
    rng = np.random.default_rng(0)
    b = random_bags(rng, n=40, M=8)
    z, hidden = rng.integers(0, 3, 40), np.arange(8) < 2
    share = np.array([np.bincount(z[b.bag == m], minlength=3) for m in range(8)], float)
    share /= share.sum(1, keepdims=True)
    pairs = [(i, j) for i in range(8) for j in range(i + 1, 8) if hidden[i] or hidden[j]]
    found = [share[i] @ share[j] for i, j in pairs]
    said = []
    for i, j in pairs:
        S, U = b.labels[i], b.labels[j]
        said.append(len(S & U) / (len(S) * len(U)))
    want = np.corrcoef(found, said)[0, 1]
    assert bag_agreement(z, b, hidden) == pytest.approx(want)


def algorithm_1(X, bag, labels, K, alpha, seed, printed=False):
    "Algorithm 1 of the thesis, step by step; Appendix A repaired unless `printed`."
    N, M = len(X), len(labels)
    classes = sorted(set().union(*(s or set() for s in labels)))
    far = np.sqrt(((X[:, None] - X) ** 2).sum(2))
    s = np.sort(far, axis=1)[:, 7]
    W = np.exp(-(far**2) / (2 * np.outer(s, s)))
    D = W.sum(1)
    Y, B = np.zeros((len(classes), M)), np.zeros((N, M))
    for m, names in enumerate(labels):
        for c in names or ():
            Y[classes.index(c), m] = 1 / len(names)
    B[np.arange(N), bag] = 1
    mu = (Y.T @ Y).sum() / M**2
    Q = B @ (Y.T @ Y - mu * (np.eye(M) if printed else np.ones((M, M)))) @ B.T
    V = np.linalg.eigh((W + alpha * Q) / np.sqrt(np.outer(D, D)))[1][:, -K:][:, ::-1]
    V = V / np.sqrt((V**2).sum(1, keepdims=True))
    seed = np.random.RandomState(seed).randint(2**31 - 1)
    return KMeans(K, n_init=10, random_state=seed).fit(V).labels_


@pytest.mark.parametrize("printed", [False, True])
@pytest.mark.parametrize("share_hidden", [0.0, 0.5])
@pytest.mark.parametrize("seed", range(3))
def test_as_published_is_algorithm_1_label_for_label(seed, share_hidden, printed):
    t = toy_bags(35, 4, spread=1.2, classes=(1, 2), random_state=seed)
    gone = np.random.default_rng(seed).random(35) < share_hidden
    sets = [None if h else s for h, s in zip(gone, t.bag_labels)]
    more = {"form": "printed"} if printed else {}
    est = BagSpectralClustering.as_published(n_clusters=4, random_state=seed, **more)
    est.fit(t.data, bags=Bags(t.bag, sets))
    want = algorithm_1(t.data, t.bag, sets, 4, 0.7, seed, printed)
    np.testing.assert_array_equal(est.labels_, want)


def test_published_and_default_differ_where_ours_was_added():
    p = BagSpectralClustering.as_published()
    assert (p.form, p.n_neighbors, p.relative, p.alpha) == ("corrected", None, False, 0.7)
    b = random_bags(np.random.default_rng(1), n=14, M=6, unlabelled=2)
    assert np.abs(bag_Q(b, "corrected") - bag_Q(b, "exact")).max() > 0.01
    full = random_bags(np.random.default_rng(1), n=14, M=6)
    np.testing.assert_allclose(bag_Q(full, "corrected"), bag_Q(full, "exact"))


def test_corrected_form_is_the_sum_with_zeros_for_unlabelled_bags():
    rng = np.random.default_rng(2)
    b = random_bags(rng, n=14, M=6, unlabelled=2)
    deg = rng.uniform(1, 3, 14)
    Z = np.linalg.qr(rng.normal(size=(14, 3)))[0]
    V = Z / np.sqrt(deg)[:, None]
    want = brute(omega_L(b), omega_A(Z, deg, b))
    assert np.trace(V.T @ bag_Q(b, "corrected") @ V) == pytest.approx(want, abs=1e-10)


def test_fewer_different_rows_than_clusters():
    X = np.repeat([[0.0, 0], [1, 1]], 10, axis=0)
    with pytest.warns(ConvergenceWarning, match="2 different rows for n_clusters=4"):
        assert BagSpectralClustering(4, random_state=0).fit(X).n_clusters_ == 2


@pytest.mark.parametrize(
    "kw",
    [
        {"alpha": np.nan},
        {"cv": 1},
        {"n_init": 0},
        {"n_neighbors": 3.5},
        {"relative": "yes"},
        {"n_jobs": "all"},
    ],
    ids=str,
)
def test_parameters_are_refused_by_name(kw):
    with pytest.raises(ValueError, match=f"'{next(iter(kw))}' parameter"):
        fit(B, **kw)


def test_the_default_strength_does_no_worse_on_hidden_bags_than_none():
    "Bags with labels at random: a strength that the hidden bags do not speak for stays 0."
    rng = np.random.default_rng(0)
    t = toy_bags(60, 4, spread=0.6, classes=(2, 2), random_state=0)
    sets = [{int(v)} for v in rng.integers(4, size=60)]
    for labels in (t.bag_labels, sets):
        m = BagSpectralClustering(4, random_state=0).fit(t.data, bags=Bags(t.bag, labels))
        mean = m.cv_scores_.mean(1)
        assert mean[[0.0, 0.3, 1.0, 3.0, 10.0].index(m.alpha_)] >= mean[0]


@pytest.mark.parametrize("louder", [False, True])
def test_the_strength_taken_is_never_below_no_labels_on_hidden_bags(louder):
    "By another rule of the same words; the loudest within one paired standard error."
    rng = np.random.default_rng(0)
    moved = 0
    for _ in range(300):
        scores = rng.normal(size=(6, 5)) * 0.1 + rng.normal(size=(6, 1)) * 0.1
        k = best_strength(scores, louder)
        means = [sum(row) / 5 for row in scores.tolist()]
        best = means.index(max(means))
        assert means[k] >= means[0] and k >= best
        tied = [best]
        for j in range(best + 1, 6):
            d = [a - b for a, b in zip(scores[best], scores[j])]
            mean = sum(d) / 5
            error = (sum((x - mean) ** 2 for x in d) / 4 / 5) ** 0.5
            if mean <= error and means[j] >= means[0]:
                tied.append(j)
        assert k == (max(tied) if louder else best)
        moved += k > best
    assert (moved > 30) == louder


def test_louder_strengths_are_tried_with_many_bags_only():
    rng = np.random.default_rng(0)
    for n, tried in ((150, STRENGTHS), (151, LOUD)):
        bags = Bags(np.repeat(np.arange(n), 2), [{int(v)} for v in rng.integers(3, size=n)])
        assert strengths(bags) == tried and set(STRENGTHS) <= set(LOUD)
        X = rng.normal(size=(2 * n, 2))
        m = BagSpectralClustering(3, random_state=0).fit(X, bags=bags)
        assert m.cv_strengths_ == tried and m.cv_scores_.shape == (len(tried), 5)
        assert m.alpha_ in tried
        mean = m.cv_scores_.mean(1)
        assert mean[tried.index(m.alpha_)] >= mean[0]


def test_birdsong_keeps_what_loud_labels_gain():
    "Bags 151 to 450: α = .7 is ahead by .03, as hidden bags are quieter judges; no more."
    try:
        b = load("hja_birdsong", "standard")
    except (FileNotFoundError, ValueError, KeyError):
        pytest.skip("the data are not on this machine")
    names = np.unique(b.bag)[150:450]
    keep = np.isin(b.bag, names)
    y = b.target[keep]
    bags = Bags(b.bag[keep], {i: b.bag_labels[int(i)] for i in names.tolist()})
    score = {}
    for alpha in (0.0, 0.7, "cv"):
        m = BagSpectralClustering(bags.n_classes, alpha=alpha, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            score[alpha] = nmi(y, m.fit(b.data[keep], bags=bags).labels_)
    assert score["cv"] > score[0.0] + 0.08 and score["cv"] > score[0.7] - 0.05
