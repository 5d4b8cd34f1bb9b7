"Measures against counting every pair, against scikit-learn, and their invariants."

import warnings
from itertools import combinations

import numpy as np
import pytest
import sklearn
import sklearn.metrics as skm
from hypothesis import given, settings, strategies as st
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.cluster import KMeans
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from csc_nb.constraints import Constraints
from csc_nb.metrics import (
    Contingency,
    ari,
    average_aligned_rank,
    cluster_scores,
    constraint_accuracy,
    constraint_scorer,
    contingency,
    edge_rf,
    information,
    kept_answers,
    nmi_arithmetic,
    nmi_geometric,
    noise_detection,
    pair_counts,
    pairwise_f,
    pairwise_prf,
    prf,
    purity,
    t_interval,
    variation_of_information,
    wrong_answers,
)

quick = settings(max_examples=100, deadline=None)


@st.composite
def two(draw, min_n=1, max_n=14):
    n = draw(st.integers(min_n, max_n))
    lab = st.lists(st.integers(-2, draw(st.integers(0, 6))), min_size=n, max_size=n)
    return np.array(draw(lab)), np.array(draw(lab))


def brute(y, z, skip=lambda i, j: False):
    P = [
        (y[i] == y[j], z[i] == z[j])
        for i, j in combinations(range(len(y)), 2)
        if not skip(i, j)
    ]
    return tuple(
        P.count(k) for k in [(True, True), (False, True), (True, False), (False, False)]
    )


@given(two())
@quick
def test_table(g):
    y, z = g
    c = contingency(y, z)
    dense = np.zeros((len(c.a), len(c.b)), int)
    dense[c.row, c.col] = c.count
    assert (dense == skm.cluster.contingency_matrix(y, z)).all()
    assert (
        (c.count > 0).all()
        and (dense.sum(1) == c.a).all()
        and (dense.sum(0) == c.b).all()
        and c.n == len(y)
    )
    assert len(set(zip(c.row.tolist(), c.col.tolist()))) == len(c.row)


@given(two())
@quick
def test_pairs_by_counting_all(g):
    y, z = g
    tp, fp, fn, tn = brute(y, z)
    assert tuple(pair_counts(y, z)) == (tp, fp, fn, tn)
    if tp + fp + fn:
        assert pairwise_f(y, z) == pytest.approx(2 * tp / (2 * tp + fp + fn))
    else:
        assert pairwise_f(y, z) == 1


@given(two(min_n=2))
@quick
def test_against_sklearn(g):
    y, z = g
    assert ari(y, z) == pytest.approx(skm.adjusted_rand_score(y, z), abs=1e-12)
    assert nmi_arithmetic(y, z) == pytest.approx(
        skm.normalized_mutual_info_score(y, z), abs=1e-9
    )
    assert nmi_geometric(y, z) == pytest.approx(
        skm.normalized_mutual_info_score(y, z, average_method="geometric"), abs=1e-9
    )
    assert information(y, z).mutual == pytest.approx(
        max(0, skm.mutual_info_score(y, z)), abs=1e-12
    )
    M = skm.cluster.contingency_matrix(y, z)
    assert purity(y, z) == pytest.approx(M.max(0).sum() / len(y))


@given(two(), st.randoms(use_true_random=False))
@quick
def test_invariants(g, rnd):
    y, z = g
    s = cluster_scores(y, z)
    names = dict(
        zip(sorted(set(z.tolist())), rnd.sample(range(100), 100))
    )  # rename the clusters, shuffle the points
    order = np.array(rnd.sample(range(len(y)), len(y)))
    assert cluster_scores(
        y[order], np.array([names[v] for v in z.tolist()])[order]
    ) == pytest.approx(s)
    t = cluster_scores(z, y)  # swap the two
    assert (t["precision"], t["recall"]) == (s["recall"], s["precision"])
    for k in ("f", "ari", "nmi_arithmetic", "nmi_geometric", "vi"):
        assert t[k] == pytest.approx(s[k], abs=1e-12)
    assert s["nmi_geometric"] >= s["nmi_arithmetic"] - 1e-12
    assert 0 <= s["vi"] <= np.log(len(y)) + 1e-12
    same = cluster_scores(y, y)
    assert all(
        same[k] == pytest.approx(1)
        for k in ("f", "ari", "nmi_arithmetic", "nmi_geometric", "purity")
    ) and same["vi"] == pytest.approx(0, abs=1e-12)


@given(
    st.integers(1, 9).flatmap(
        lambda n: st.tuples(*[st.lists(st.integers(0, 4), min_size=n, max_size=n)] * 3)
    )
)
@quick
def test_vi_is_a_metric(g):
    d = lambda u, v: variation_of_information(u, v)
    x, y, z = g
    assert d(x, z) <= d(x, y) + d(y, z) + 1e-12
    same = contingency(x, y)
    assert (d(x, y) < 1e-12) == (len(same.count) == len(same.a) == len(same.b))


def test_one_table_for_all_and_edge_cases():
    y, z = [0, 0, 1, 1, 2], ["a", "a", "b", "c", "c"]
    c = contingency(y, z)
    assert isinstance(c, Contingency) and contingency(c) is c
    assert cluster_scores(c) == cluster_scores(y, z) and ari(c) == ari(y, z)
    one, alone = np.zeros(6, int), np.arange(6)
    s = cluster_scores(one, alone)
    assert (
        s["precision"],
        s["recall"],
        s["f"],
        s["ari"],
        s["nmi_arithmetic"],
        s["nmi_geometric"],
    ) == (1, 0, 0, 0, 0, 0)
    assert (
        cluster_scores(alone, alone)["f"]
        == cluster_scores(alone, alone)["ari"]
        == cluster_scores(one, one)["nmi_geometric"]
        == 1
    )
    assert cluster_scores([7], [3])["ari"] == 1


@pytest.mark.parametrize(
    "y",
    [
        np.array(["u", "v", "u"]),
        np.array(["u", "v", "u"], dtype=object),
        np.array([True, False, True]),
        [1.5, 2.0, 1.5],
        np.array([10**15, 3, 10**15]),
        np.array([250, 3, 250], np.uint8),
        np.array([-100, 100, -100], np.int8),
        [None, "x", None],
    ],
)
def test_any_labels(y):
    assert ari(y, [5, 6, 5]) == 1 and tuple(pair_counts(y, [0, 0, 1])) == (0, 1, 1, 1)


def test_bad_labels():
    with pytest.raises(ValueError, match="3 true labels but 2 predicted"):
        ari([0, 1, 2], [0, 1])
    with pytest.raises(ValueError, match="3 true labels but 2 predicted"):
        pairwise_f([0, 1, 2], [0, 1])
    with pytest.raises(ValueError, match="one-dimensional"):
        ari(np.zeros((3, 1)), [0, 1, 2])


def test_large_counts_are_exact():
    n = 400_000
    y, z = np.arange(n) % 2, np.arange(n) % 4
    c = pair_counts(y, z)
    q, h = n // 4, n // 2
    assert (
        c.both == 4 * (q * (q - 1) // 2)
        and c.both + c.true == 2 * (h * (h - 1) // 2)
        and sum(c) == n * (n - 1) // 2
    )
    assert ari(y, z) == pytest.approx(skm.adjusted_rand_score(y, z))
    many = np.random.default_rng(0).permutation(
        n
    )  # 400 000 clusters: a dense table would not fit
    assert cluster_scores(many, many)["ari"] == 1 and cluster_scores(y, many)["purity"] == 1


@given(two(min_n=3), st.data())
@quick
def test_leaving_out(g, data):
    y, z = g
    n = len(y)
    row = st.integers(0, n - 1)
    points, pairs = (
        data.draw(st.lists(row, max_size=4)),
        data.draw(st.lists(st.tuples(row, row), max_size=8)),
    )
    asked = {tuple(sorted(p)) for p in pairs}
    want = prf(*brute(y, z, lambda i, j: i in points or j in points or (i, j) in asked)[:3])
    assert pairwise_prf(y, z, without_points=points, without_pairs=pairs) == pytest.approx(
        want
    )


def test_leaving_out_constraints():
    y, z = np.array([0, 0, 0, 1, 1]), np.array([0, 0, 1, 1, 1])
    c = Constraints([0, 2], [1, 3], [1, -1], n_samples=5)
    assert pairwise_prf(y, z, without_pairs=c) == pairwise_prf(
        y, z, without_pairs=[(0, 1), (3, 2)]
    )
    assert pairwise_prf(y, z, without_pairs=c) == prf(1, 1, 2)
    with pytest.raises(ValueError, match="outside 0..4"):
        pairwise_f(y, z, without_pairs=[(0, 5)])


def test_prf_conventions():
    assert (
        prf(0, 0, 0) == (1, 1, 1)
        and prf(0, 0, 3) == (1, 0, 0)
        and prf(0, 2, 0) == (0, 1, 0)
    )
    assert prf(3, 1, 2) == pytest.approx((0.75, 0.6, 2 * 0.75 * 0.6 / 1.35))


def random_tree(rng, K):
    name = rng.permutation(K)
    p = np.full(K, -1)
    for k in range(1, K):
        p[name[k]] = name[rng.integers(k)]
    return p


def test_edge_rf():
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(200):
        K = int(rng.integers(1, 7))
        s, t = random_tree(rng, K), random_tree(rng, K)
        A, B = ({(int(p), c) for c, p in enumerate(v) if p >= 0} for v in (s, t))
        assert edge_rf(s, t) == len(A ^ B) == edge_rf(t, s)
        U, V = ({frozenset(e) for e in W} for W in (A, B))
        assert edge_rf(s, t, directed=False) == len(U ^ V) <= edge_rf(s, t) <= 2 * (K - 1)
        new = rng.permutation(K)  # relabel the nodes of both
        move = lambda p: np.array([-1 if p[i] < 0 else new[p[i]] for i in np.argsort(new)])
        assert edge_rf(move(s), move(t)) == edge_rf(s, t)
        seen.add((K, edge_rf(s, t)))
    assert {(4, d) for d in (0, 2, 4, 6)} <= seen
    assert (
        edge_rf([-1, 0, 1, 2], [1, 2, 3, -1]) == 6
        and edge_rf([-1, 0, 1, 2], [1, 2, 3, -1], directed=False) == 0
    )


@pytest.mark.parametrize(
    "p, message",
    [
        ([-1, 2, 1], "cycle: node 1 never reaches the root 0"),
        ([-1, -1, 0], "2 roots"),
        ([0, 0], "0 roots"),
        ([-1, 5, 0], r"in 0..2"),
        ([-1, -2, 0], r"in 0..2"),
        ([-1, 1, 0], "cycle"),
        ([-1.0, 0.0], "node numbers"),
    ],
)
def test_not_a_tree(p, message):
    with pytest.raises(ValueError, match=message):
        edge_rf(p, p)


def test_long_tree_and_sizes():
    path = np.arange(-1, 4096)
    assert edge_rf(path, path) == 0
    with pytest.raises(ValueError, match="3 and 2 nodes"):
        edge_rf([-1, 0, 0], [-1, 0])


def test_aligned_rank():
    S = np.array([[0.9, 0.8, 0.1], [0.5, 0.4, 0.3]])  # means .6 and .4
    # differences: .3 .2 -.5 / .1 0 -.1 → ranks 1 2 6 / 3 4 5
    assert average_aligned_rank(S).tolist() == [2, 3, 5.5]
    assert average_aligned_rank(-S, higher_is_better=False).tolist() == [2, 3, 5.5]
    rng = np.random.default_rng(0)
    for D, A in [(21, 4), (1, 5), (7, 1), (3, 3)]:
        S = rng.integers(0, 4, (D, A)) / 10  # many ties
        assert average_aligned_rank(S).mean() == pytest.approx((A * D + 1) / 2)
        assert average_aligned_rank(S + rng.random((D, 1))) == pytest.approx(
            average_aligned_rank(S)
        )  # an easier data set changes nothing
    assert average_aligned_rank(np.full((4, 2), 0.1)).tolist() == [4.5, 4.5]
    with pytest.raises(ValueError, match="finite"):
        average_aligned_rank([[1, np.nan]])


def test_noise_detection():
    wrong, flag = np.array([1, 1, 1, 0, 0], bool), np.array([1, 0, 0, 1, 0], bool)
    assert noise_detection(wrong, flag) == pytest.approx((1 / 2, 1 / 3, 2 / 5))
    assert noise_detection(wrong, np.zeros(5, bool)) == (1, 0, 0)
    assert noise_detection(np.zeros(5, bool), np.zeros(5, bool)) == (1, 1, 1)
    with pytest.raises(ValueError, match="5 answers but 4 flags"):
        noise_detection(wrong, flag[:4])
    with pytest.raises(ValueError, match="True and False"):
        noise_detection(wrong, np.array([0, 3, 4, 1, 1]))


def test_wrong_answers_and_accuracy():
    y = np.array([0, 0, 1, 1])
    c = Constraints([0, 0, 2, 1, 0], [1, 2, 3, 3, 3], [1, 1, -1, -1, 0], n_samples=4)
    assert wrong_answers(c, y).tolist() == [False, True, True, False, False]
    kept, value, weight = kept_answers(y, c)
    assert (
        kept.tolist() == [True, False, False, True]
        and value.tolist() == [1, 1, -1, -1]
        and len(weight) == 4
    )
    assert constraint_accuracy(y, c) == 0.5
    assert (
        constraint_accuracy(np.zeros(4), c) == 0.5
        and constraint_accuracy(np.arange(4), c) == 0.5
    )
    c = Constraints([0, 1, 2], [1, 2, 3], [1, -1, -1], weight=[6, 1, 1], n_samples=4)
    assert (
        constraint_accuracy(np.zeros(4), c) == 0.75
        and constraint_accuracy(np.zeros(4), c, balanced=True) == 0.5
    )
    assert np.isnan(constraint_accuracy(y, None))
    assert constraint_accuracy(y, dict(must=[(0, 1)], cannot=[(0, 2)])) == 1


def test_accuracy_over_all_pairs_is_the_rand_index():
    rng = np.random.default_rng(0)
    y, z = rng.integers(0, 3, 12), rng.integers(0, 4, 12)
    i, j = np.triu_indices(12, 1)
    c = Constraints(i, j, np.where(y[i] == y[j], 1, -1), n_samples=12)
    assert constraint_accuracy(z, c) == pytest.approx(skm.rand_score(y, z))


def blobs(n=90):
    rng = np.random.default_rng(0)
    y = np.arange(n) % 3
    return np.c_[y * 4 + rng.normal(size=n), rng.normal(size=n)], y


def test_scorer_in_a_grid_search_by_pandas_index():
    pd = pytest.importorskip("pandas")
    X, y = blobs()
    names = np.array([f"r{i}" for i in range(len(y))])
    c = Constraints.from_labels(y, n=400, balanced=True, random_state=0)
    named = Constraints(names[c.a], names[c.b], c.value)
    order = np.random.default_rng(1).permutation(len(y))  # rows move; ids follow
    frame = pd.DataFrame(X[order], index=names[order])
    pipe = make_pipeline(StandardScaler(with_std=False), KMeans(n_init=3, random_state=0))
    search = GridSearchCV(
        pipe,
        {"kmeans__n_clusters": [1, 2, 3, 8]},
        scoring=constraint_scorer(named, balanced=True),
        cv=2,
    )
    clone(search)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        search.fit(frame)
    assert search.best_params_ == {"kmeans__n_clusters": 3}
    assert search.cv_results_["mean_test_score"][0] == 0.5
    # the score of a fold, by hand
    half = order[: len(order) // 2]
    km = clone(pipe).set_params(kmeans__n_clusters=3).fit(frame.iloc[len(half) :])
    z = np.full(len(y), -1)
    z[half] = km.predict(frame.iloc[: len(half)])
    inside = np.isin(c.a, half) & np.isin(c.b, half)
    ok = (z[c.a] == z[c.b]) == (c.value > 0)
    want = np.mean([ok[inside & (c.value == v)].mean() for v in (1, -1)])
    assert search.cv_results_["split0_test_score"][2] == pytest.approx(want)


def test_scorer_takes_routed_ids():
    X, y = blobs()
    ids = np.array([f"r{i}" for i in range(len(y))])
    c = Constraints.from_labels(y, n=400, random_state=0)
    scorer = constraint_scorer(Constraints(ids[c.a], ids[c.b], c.value))
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            KMeans(n_init=3, random_state=0), {"n_clusters": [1, 3]}, scoring=scorer, cv=2
        )
        search.fit(X, sample_id=ids)
        both = cross_validate(
            KMeans(3, n_init=3, random_state=0),
            X,
            scoring=scorer,
            cv=2,
            params={"sample_id": ids},
        )
    assert search.best_params_ == {"n_clusters": 3}
    assert both["test_score"] == pytest.approx(
        [search.cv_results_[f"split{k}_test_score"][1] for k in (0, 1)]
    )


class NoPredict(ClusterMixin, BaseEstimator):
    def fit(self, X, y=None):
        self.labels_ = (X[:, 0] > 2).astype(int)
        return self


def test_scorer_without_predict():
    X, y = blobs()
    c = Constraints.from_labels(y, n=50, random_state=0)
    rows = np.arange(len(y))
    got = cross_validate(NoPredict(), X, scoring=constraint_scorer(c), cv=[(rows, rows)])[
        "test_score"
    ]
    assert got == pytest.approx([constraint_accuracy(X[:, 0] > 2, c)])
    pipe = make_pipeline(StandardScaler(), NoPredict()).fit(X)
    assert constraint_scorer(c)(pipe, X) == constraint_accuracy(pipe[-1].labels_, c)
    one = Constraints([0], [1], [1], n_samples=3)
    with pytest.raises(
        ValueError, match="no predict and was fitted on 90 rows, not these 3"
    ):
        constraint_scorer(one)(pipe, X[:3])


def test_scorer_with_no_answer_in_the_fold():
    X, y = blobs()
    ids = np.array([f"r{i}" for i in range(len(y))])
    c = Constraints(ids[:2], ids[2:4], [1, -1])
    km = KMeans(3, n_init=1, random_state=0).fit(X)
    with pytest.warns(UserWarning, match="No answer lies wholly inside"):
        assert np.isnan(constraint_scorer(c)(km, X[50:], sample_id=ids[50:]))


def test_t_interval():
    x = np.array([1.0, 2, 4])
    i = t_interval(x)
    assert i.mean == pytest.approx(7 / 3) and i.n == 3
    assert i.half == pytest.approx(4.302652729911275 * np.std(x, ddof=1) / 3**0.5)
    assert t_interval(x, level=0.5).half < i.half
    assert np.isnan(t_interval([3]).half) and t_interval([2, 2]).half == 0
    assert (
        f"{t_interval([2, 2]):.1f}" == "2.0 ± 0.0"
        and str(t_interval([2, 2])) == "2.000 ± 0.000"
    )
    with pytest.raises(ValueError, match="level is a probability"):
        t_interval(x, level=95)
    with pytest.raises(ValueError, match="No measurements"):
        t_interval([])
