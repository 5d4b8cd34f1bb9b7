"Clusters from features and answers: judged by enumeration, by differences, by behaviour."

import warnings
from itertools import product

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, make_blobs
from sklearn.metrics import adjusted_rand_score as ari
from sklearn.utils.estimator_checks import check_estimator

from csc_nb import AnswerClustering, Constraints
from csc_nb import answer_items as ai
from csc_nb.answer_items import fit_items

RNG = np.random.default_rng


def questions(rows, kind, response, n, annotator=None, group_of=None, n_grades=0):
    said = ai._check_answers(n, rows, kind, response, annotator, group_of, None)
    return ai.make_questions(*said, n, n_grades)


def mixed_answers(n=6, m=14, seed=0):
    "Random answers of all four kinds by three annotators, two of them in one group."
    rng = RNG(seed)
    rows, kind = [], rng.integers(4, size=m)
    for _ in range(m):
        rows.append(rng.choice(n, 3, replace=False))
    top = np.array([2, 4, 2, 5])[kind]
    response = rng.integers(-1, top)
    return np.array(rows), kind, response, rng.integers(3, size=m), np.array([0, 0, 1])


def truth_of(kind, items, z):
    "What a labeling says of a question: written from the table of kinds, nothing else."
    a, b = z[items[0]], z[items[1]]
    if kind in (0, 3):
        return int(a == b)
    c = z[items[2]]
    agree = [a == b, a == c, b == c]
    if sum(agree) != 1:
        only = None
    else:
        only = agree.index(True)
    if kind == 1:
        return 3 if only is None else only
    return only if only in (0, 1) else 2


def log_chance(z, answers, crowd, q, looks):
    "Log-chance of all answers given a labeling, from the tables, by loops."
    rows, kind, response, annotator, group_of = answers
    cells, total = {}, 0.0
    for e in range(len(kind)):
        size = 3 if kind[e] in (1, 2) else 2
        key = (tuple(sorted(rows[e][:size])), group_of[annotator[e]], kind[e])
        cells.setdefault(key, []).append(e)
    shared = {k[1] for k, who in cells.items() if len({annotator[e] for e in who}) > 1}
    for (items, group, k), who in cells.items():

        def given(opinion_labels, who=who, k=k):
            chance = 1.0
            for e in who:
                here = q.table_annotator[q.table_kind == k].tolist().index(annotator[e])
                table = crowd.tables[k][here]
                truth = truth_of(k, rows[e], opinion_labels)
                chance *= table[truth, response[e]]  # −1 is the last column: unsure
            return chance

        if group not in shared:
            total += np.log(given(z))
            continue
        misled = crowd.misled[sorted(shared).index(group)]
        unit = [i for i, p in enumerate(q.pair) if tuple(p) == items]
        unit += [len(q.pair) + i for i, t in enumerate(q.triple) if tuple(t) == items]
        views = (
            [(0, 1), (0, 0)]
            if len(items) == 2
            else [(0, 0, 1), (0, 1, 0), (1, 0, 0), (0, 1, 2)]
        )
        by_looks = 0.0
        for s, view in enumerate(views):
            by_looks += looks[unit[0], s] * given(dict(zip(items, view)))
        total += np.log((1 - misled) * given(z) + misled * by_looks)
    return total


@pytest.mark.parametrize("seed", range(6))
def test_question_logs_add_up_to_the_chance_of_all_answers(seed):
    answers = mixed_answers(seed=seed)
    q = questions(answers[0], *answers[1:3], 6, *answers[3:])
    rng = RNG(seed)
    looks = rng.dirichlet(np.ones(4), q.n_units)
    p = len(q.pair)
    looks[:p, 2:] = 0
    looks /= looks.sum(1, keepdims=True)
    crowd = ai.first_crowd(q)
    tables = [rng.dirichlet(np.ones(t.shape[2]), t.shape[:2]) for t in crowd.tables]
    crowd = ai.Crowd(tables, np.full(len(q.shared), 0.3))
    logs = ai.question_logs(q, crowd, looks)
    for z in RNG(seed + 100).integers(3, size=(20, 6)):
        one_hot = ai.truth_chances(np.eye(3)[z], q)
        assert (one_hot * logs).sum() == pytest.approx(
            log_chance(z, answers, crowd, q, looks)
        )


def test_worth_is_the_expectation_over_all_labelings():
    answers = mixed_answers(5, 12, seed=3)
    q = questions(answers[0], *answers[1:3], 5, *answers[3:])
    logs = RNG(0).normal(size=(q.n_units, 4))
    P = RNG(1).dirichlet(np.ones(3), 5)
    a, b = ai.worths(q, logs)
    p = len(q.pair)
    value = ai._add_worth(P, q.pair, a, q.triple, b, np.zeros((5, 3)))
    value += logs[:p, 0].sum() + logs[p:, 3].sum()
    listed = 0.0
    for z in product(range(3), repeat=5):
        chance = np.prod(P[np.arange(5), list(z)])
        listed += chance * (ai.truth_chances(np.eye(3)[list(z)], q) * logs).sum()
    assert value == pytest.approx(listed)


@pytest.mark.parametrize("mu", [0.0, 0.7])
def test_gradient(mu):
    answers = mixed_answers(8, 20, seed=1)
    q = questions(answers[0], *answers[1:3], 8, *answers[3:])
    logs = RNG(0).normal(size=(q.n_units, 4))
    a, b = ai.worths(q, logs)
    X = RNG(1).normal(size=(8, 2))
    theta = RNG(2).normal(size=3 * 2 + 3)

    def value(t):
        return ai._objective(t, X, 3, q.pair, a, q.triple, b, mu, 0.05)[0]

    found = ai._objective(theta, X, 3, q.pair, a, q.triple, b, mu, 0.05)[1]
    for i in range(len(theta)):
        step = np.zeros(len(theta))
        step[i] = 1e-5
        slope = (value(theta + step) - value(theta - step)) / 2e-5
        assert found[i] == pytest.approx(slope, abs=1e-7)


def test_climbing_ends_on_a_flat_spot_above_its_start():
    answers = mixed_answers(8, 20, seed=1)
    q = questions(answers[0], *answers[1:3], 8, *answers[3:])
    a, b = ai.worths(q, RNG(0).normal(size=(q.n_units, 4)) / 10)
    X = RNG(1).normal(size=(8, 2))
    start = RNG(2).normal(size=9)
    said = q.pair, a, q.triple, b, 0.3, 0.05
    end, top = ai._climb(start, X, 3, *said, 500)
    low, gradient = ai._objective(end, X, 3, *said)
    assert top == pytest.approx(-low)
    assert np.abs(gradient).max() < 1e-3
    assert low < ai._objective(start, X, 3, *said)[0]


def mean_field_bound(R, prior, q, logs):
    "Evidence lower bound of independent beliefs: what every visit must raise."
    chance = ai.truth_chances(R, q)
    entropy = -(R * np.log(np.maximum(R, 1e-300))).sum()
    return (chance * logs).sum() + (R * prior).sum() + entropy


def test_beliefs_climb_and_stay_below_the_evidence():
    answers = mixed_answers(6, 16, seed=5)
    q = questions(answers[0], *answers[1:3], 6, *answers[3:])
    logs = RNG(0).normal(size=(q.n_units, 4))
    P = RNG(1).dirichlet(np.ones(3), 6)
    prior = np.log(P)
    a, b = ai.worths(q, logs)
    index = ai._incidence(q, 6)
    R, bounds = P.copy(), []
    for _ in range(12):
        bounds.append(mean_field_bound(R, prior, q, logs))
        ai._believe(R, prior, *index, q.pair, a, q.triple, b, 1)
    assert (np.diff(bounds) > -1e-9).all()
    assert bounds[-1] > bounds[0] + 0.1
    evidence = []
    for z in product(range(3), repeat=6):
        one_hot = np.eye(3)[list(z)]
        evidence.append(
            (one_hot * prior).sum() + (ai.truth_chances(one_hot, q) * logs).sum()
        )
    assert bounds[-1] <= np.logaddexp.reduce(evidence) + 1e-9


def test_drawn_partitions_have_the_chances_of_the_enumeration():
    "All set partitions of five items, a Chinese restaurant prior, random log-odds."
    rows = np.array([[0, 1, 2], [1, 2, 0], [3, 4, 0], [0, 4, 3], [2, 3, 4]])
    kind = np.array([0, 0, 0, 1, 1])
    q = questions(rows, kind, np.array([1, 0, 1, 0, 3]), 5)
    logs = RNG(3).normal(size=(q.n_units, 4))
    a, b = ai.worths(q, logs)
    near = 1.0 - np.eye(5)
    z = np.zeros(5, np.int64)
    said = q.pair, a, q.triple, b
    draws = ai._sample(z, near, 5, *ai._incidence(q, 5), *said, (40_000, 39_000), 1)
    together = np.zeros((5, 5))
    for draw in draws:
        together += draw[:, None] == draw
    together /= len(draws)
    listed, total = np.zeros((5, 5)), 0.0
    for labels in product(range(5), repeat=5):
        first_seen = list(dict.fromkeys(labels))
        if first_seen != sorted(first_seen) or first_seen[0] != 0:
            continue
        if first_seen != list(range(len(first_seen))):
            continue
        sizes = np.bincount(labels)
        prior = np.prod([float(np.prod(np.arange(1, s))) for s in sizes])
        labels = np.array(labels)
        chance = (ai.truth_chances(np.eye(5)[labels], q) * logs).sum()
        weight = prior * np.exp(chance)
        listed += weight * (labels[:, None] == labels)
        total += weight
    np.testing.assert_allclose(together, listed / total, atol=0.015)


def test_truth_posterior_is_bayes():
    chance = np.array([[0.2, 0.8, 0, 0], [0.1, 0.2, 0.3, 0.4]])
    logs = np.log([[0.9, 0.1, 1, 1], [0.1, 0.2, 0.3, 0.4]])
    post, evidence = ai.truth_posterior(chance, logs)
    np.testing.assert_allclose(post[0], np.array([18, 8, 0, 0]) / 26, atol=1e-12)
    assert evidence[1] == pytest.approx(np.log(0.01 + 0.04 + 0.09 + 0.16))


def test_permuted_triples_are_one_question_and_mean_the_same():
    items = np.array([[4, 2, 7], [7, 4, 2], [2, 7, 4]])
    response = np.array([0, 1, 2])  # {4,2}, then 7 with 2 … each names its own pair
    q = questions(items, np.ones(3, int), response, 9)
    assert q.n_units == 1
    z = np.zeros(9, int)
    z[7] = 1  # 2 and 4 together
    truths = [truth_of(1, row, z) for row in items]
    here = int(ai.truth_chances(np.eye(2)[z], q)[0].argmax())
    assert q.truth[:, here].tolist() == truths


def test_learned_tables_are_counts_with_a_prior():
    rng = RNG(0)
    rows = np.array([rng.choice(40, 2, replace=False) for _ in range(400)])
    z = rng.integers(2, size=40)
    same = (z[rows[:, 0]] == z[rows[:, 1]]).astype(int)
    said = np.where(rng.random(400) < 0.8, same, 1 - same)
    q = questions(rows, np.zeros(400, int), said, 40)
    looks = ai.look_chances(rng.normal(size=(40, 2)), q)
    truth = ai.truth_chances(np.eye(2)[z], q)
    table = ai.learn_crowd(q, ai.first_crowd(q), looks, truth).tables[0][0]
    right = (said[same == 1] == 1).sum()
    pooled = (right + 9) / ((same == 1).sum() + 10.5)
    expected = (right + 5 * pooled) / ((same == 1).sum() + 5)
    assert table[1, 1] == pytest.approx(expected, abs=1e-6)
    assert table[1, 2] < 1e-8  # nobody was ever unsure


def test_a_group_that_shares_opinions_counts_for_less():
    "Three copies in one group say less than three who are alone."
    rows = np.array([[0, 1], [0, 1], [0, 1], [2, 3]])
    same = np.ones(4, int)
    who = np.array([0, 1, 2, 0])
    worth = {}
    for name, group_of in (("one group", np.zeros(3, int)), ("alone", np.arange(3))):
        q = questions(rows, np.zeros(4, int), same, 4, who, group_of)
        looks = np.tile([0.5, 0.5, 0, 0], (q.n_units, 1))
        logs = ai.question_logs(q, ai.first_crowd(q), looks)
        worth[name] = ai.worths(q, logs)[0][0]
    assert 0 < worth["one group"] < 0.7 * worth["alone"]


def test_misled_groups_are_found():
    rng = RNG(0)
    n, Q = 200, 600
    z = rng.integers(2, size=n)
    pairs = np.array([rng.choice(n, 2, replace=False) for _ in range(Q)])
    same = (z[pairs[:, 0]] == z[pairs[:, 1]]).astype(int)
    opinion = np.where(rng.random(Q) < 0.4, rng.integers(2, size=Q), same)
    rows = np.repeat(pairs, 3, axis=0)
    said = np.repeat(opinion, 3) ^ (rng.random(3 * Q) < 0.03)
    q = questions(
        rows, np.zeros(3 * Q, int), said, n, np.tile([0, 1, 2], Q), np.zeros(3, int)
    )
    looks = np.tile([0.5, 0.5, 0, 0], (q.n_units, 1))
    truth = ai.truth_chances(np.eye(2)[z], q)
    crowd = ai.first_crowd(q)
    for _ in range(30):
        crowd = ai.learn_crowd(q, crowd, looks, truth)
    assert crowd.misled[0] == pytest.approx(0.4, abs=0.08)
    assert crowd.tables[0][:, 1, 1].min() > 0.93


# ------------------------------------------------------------- behaviour


@pytest.fixture(scope="module")
def iris():
    data = load_iris()
    return data.data, data.target


def ask_pairs(y, m, wrong=0.0, seed=0):
    rng = RNG(seed)
    pairs = rng.integers(len(y), size=(2 * m, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]][:m]
    same = (y[pairs[:, 0]] == y[pairs[:, 1]]).astype(int)
    return pairs, np.where(rng.random(m) < wrong, 1 - same, same)


def fit_pairs(X, pairs, said, K=3, **how):
    return fit_items(X, pairs, np.zeros(len(pairs), int), said, n_clusters=K, **how)


@pytest.fixture(scope="module")
def helped(iris):
    X, y = iris
    pairs, said = ask_pairs(y, 120, 0.1)
    return fit_pairs(X, pairs, said, random_state=0), pairs, said


def plain_iris(X):
    Z = (X - X.mean(0)) / X.std(0)
    return KMeans(3, n_init=10, random_state=0).fit(Z).labels_


def test_answers_help(iris, helped):
    X, y = iris
    assert ari(y, helped[0].labels) > ari(y, plain_iris(X)) + 0.15
    assert helped[0].chosen["method"] == "features and answers"


def test_result_is_complete(iris, helped):
    result, _, said = helped
    assert result.resp.shape == (150, 3)
    np.testing.assert_allclose(result.resp.sum(1), 1)
    assert result.n_clusters == 3 == len(np.unique(result.labels))
    assert result.answer_proba.shape == said.shape
    assert 0.8 < result.annotators["accuracy"][0] < 0.97
    assert result.annotators["low"][0] < 0.9 < result.annotators["high"][0]
    table = result.tables[0, "pair"]
    np.testing.assert_allclose(table.sum(1), 1, atol=1e-6)
    assert abs(sum(w for *_, w in result.scores) - 1) < 1e-9


def test_wrong_answers_look_wrong(iris, helped):
    result, pairs, said = helped
    y = iris[1]
    wrong = (y[pairs[:, 0]] == y[pairs[:, 1]]) != said
    assert result.answer_proba[wrong].mean() < 0.6
    assert result.answer_proba[~wrong].mean() > 0.95


def test_pair_chances(iris, helped):
    result = helped[0]
    i, j = RNG(0).integers(150, size=(2, 500))
    p = result.pair_proba(i, j)
    np.testing.assert_allclose(p, result.pair_proba(j, i))
    assert (p[i == j] == 1).all() and (p >= 0).all() and (p <= 1).all()
    same = iris[1][i] == iris[1][j]
    assert ((p > 0.5) == same).mean() > 0.9
    assert np.ndim(result.pair_proba(3, 4)) == 0


def test_same_seed_same_result_whatever_the_threads(iris, helped):
    X, _ = iris
    again = fit_pairs(X, *helped[1:], random_state=0, n_jobs=2)
    np.testing.assert_array_equal(again.resp, helped[0].resp)


def test_units_and_constant_columns_do_not_matter(iris, helped):
    X, _ = iris
    changed = np.c_[X * [1e-3, 1e4, 1, 1] + 50, np.full(150, 3.0), np.full(150, 1e9)]
    again = fit_pairs(changed, *helped[1:], random_state=0)
    assert ari(again.labels, helped[0].labels) == 1


def test_useless_answers_give_k_means(iris):
    X, y = iris
    ignored = 0
    for seed in range(4):
        pairs, said = ask_pairs(y, 75, 0.5, seed)
        result = fit_pairs(X, pairs, said, random_state=seed)
        if result.chosen["method"] == "k-means":
            assert ari(result.labels, plain_iris(X)) > 0.9
            ignored += 1
    assert ignored >= 3


def test_no_answers_and_only_unsure_ones_give_k_means(iris):
    X, y = iris
    pairs, _ = ask_pairs(y, 60)
    none = fit_pairs(X, pairs[:0], [], random_state=0)
    unsure = fit_pairs(X, pairs, np.full(60, -1), random_state=0)
    for result in (none, unsure):
        assert ari(result.labels, plain_iris(X)) == pytest.approx(1)
        assert "k-means" in result.chosen["method"]
    assert np.isnan(unsure.answer_proba).all()


def test_contradictions_only_give_k_means(iris):
    X, y = iris
    pairs, _ = ask_pairs(y, 60)
    both = np.r_[pairs, pairs]
    result = fit_pairs(X, both, np.r_[np.ones(60, int), np.zeros(60, int)], random_state=0)
    assert ari(result.labels, plain_iris(X)) == pytest.approx(1)


def test_must_links_only_keep_the_clusters_apart(iris):
    X, y = iris
    pairs, said = ask_pairs(y, 1000)
    must = pairs[said == 1]
    result = fit_pairs(X, must, np.ones(len(must), int), random_state=0)
    assert result.n_clusters == 3
    assert ari(y, result.labels) > 0.9


def test_cannot_links_only_help(iris):
    X, y = iris
    pairs, said = ask_pairs(y, 300)
    cannot = pairs[said == 0]
    result = fit_pairs(X, cannot, np.zeros(len(cannot), int), random_state=0)
    assert ari(y, result.labels) > ari(y, plain_iris(X)) + 0.1


def test_unanimous_same_without_k_is_one_cluster(iris):
    pairs, _ = ask_pairs(iris[1], 300)
    result = fit_pairs(iris[0], pairs, np.ones(300, int), None, random_state=0)
    assert result.n_clusters == 1
    assert "differ" in result.chosen["method"]


def test_the_number_of_clusters_is_found(iris):
    X, y = make_blobs(120, centers=4, cluster_std=0.7, random_state=3)
    pairs, said = ask_pairs(y, 200, 0.05)
    result = fit_pairs(X, pairs, said, None, random_state=0)
    assert result.n_clusters == 4
    assert ari(y, result.labels) > 0.9


def test_answers_alone_are_enough_when_they_are_many():
    "Features that say nothing, K not given, every pair asked."
    y = np.repeat([0, 1, 2], [9, 7, 5])
    i, j = np.triu_indices(21, 1)
    said = np.where(RNG(0).random(len(i)) < 0.08, y[i] != y[j], y[i] == y[j]).astype(int)
    X = RNG(1).normal(size=(21, 3))
    result = fit_pairs(X, np.c_[i, j], said, None, random_state=0)
    assert result.chosen["method"] == "drawn partitions"
    assert ari(y, result.labels) == 1
    p = result.pair_proba(i, j)
    assert p[y[i] == y[j]].min() > 0.5 > p[y[i] != y[j]].max()


def stripes(n=120, seed=0):
    "Two long slanted stripes that k-means cuts across."
    rng = RNG(seed)
    y = np.arange(n) % 2
    along, across = 2 * rng.normal(size=n), 0.2 * rng.normal(size=n) + (y - 0.5)
    return np.c_[along + across, along - across, 0.5 * rng.normal(size=n)], y


@pytest.mark.parametrize("kind", [1, 2, 3])
def test_other_kinds_help_too(kind):
    X, y = stripes()
    if kind == 1:
        y = np.where(np.arange(120) % 3 == 2, 2, y)
        X[y == 2] += [3, -3, 0]
    rng = RNG(1)
    rows = np.array([rng.choice(120, 3, replace=False) for _ in range(240)])
    truth = np.array([truth_of(kind, row, y) for row in rows])
    if kind == 2:
        decided = truth < 2
        rows, response = rows[decided], truth[decided]
    elif kind == 3:
        response = np.where(truth == 1, rng.integers(2, 4, 240), rng.integers(0, 2, 240))
    else:
        response = truth
    K = len(np.unique(y))
    kinds = np.full(len(rows), kind)
    result = fit_items(X, rows, kinds, response, n_clusters=K, n_grades=4, random_state=0)
    Z = (X - X.mean(0)) / X.std(0)
    plain = KMeans(K, n_init=10, random_state=0).fit(Z).labels_
    assert ari(y, result.labels) > max(0.8, ari(y, plain) + 0.1)


def test_a_liar_is_found_among_others():
    X, y = stripes()
    pairs, said = ask_pairs(y, 400)
    who = RNG(2).integers(4, size=400)
    said = np.where(who == 3, 1 - said, said)
    kind = np.zeros(400, int)
    result = fit_items(X, pairs, kind, said, who, n_clusters=2, random_state=0)
    assert ari(y, result.labels) > 0.8
    assert result.annotators["accuracy"][3] < 0.2
    assert result.annotators["accuracy"][:3].min() > 0.8


def test_a_sample_chooses_for_large_data():
    X, y = make_blobs(900, centers=3, n_features=4, cluster_std=3.0, random_state=0)
    pairs, said = ask_pairs(y, 3000, 0.1)
    result = fit_pairs(X, pairs, said, max_questions=300, random_state=0)
    assert "sample" in result.chosen["fitted"]
    plain = KMeans(3, n_init=10, random_state=0).fit(X).labels_
    assert ari(y, result.labels) >= ari(y, plain) - 0.02
    assert result.answer_proba.shape == (3000,)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rows": [[0, 1], [2, 2]]}, "1 answers name one item twice: first is answer 1"),
        ({"rows": [[0, 1], [2, 150]]}, "outside X .n_samples=150.: first is answer 1"),
        ({"rows": [[0, 1]]}, "2 answers but items of shape"),
        ({"response": [0, 2]}, "does not have: first is answer 1"),
        ({"kind": [0, 4]}, "not 0 … 3"),
        ({"annotator": [0]}, "2 answers but 1 values of `annotator`"),
        ({"group_of": [0], "annotator": [0, 1]}, "2 annotators but groups for 1"),
        ({"weight": [1.0, -1.0]}, "weight"),
        ({"n_clusters": 151}, "should be >= n_clusters=151"),
    ],
)
def test_bad_input_is_refused(iris, change, message):
    good = {"rows": [[0, 1], [2, 3]], "kind": [0, 0], "response": [0, 1], "n_clusters": 3}
    with pytest.raises(ValueError, match=message):
        fit_items(iris[0], **(good | change))


def test_gaps_in_the_features_are_refused(iris):
    X = iris[0].copy()
    X[7, 2] = np.nan
    with pytest.raises(ValueError, match="1 rows of X are not finite: first is row 7"):
        fit_items(X, [[0, 1]], [0], [1], n_clusters=3)


def test_grades_from_one_have_their_middle_between_one_and_four():
    "Once the scale ran from 0, and the lowest grade said half of what the highest did."
    a, b = np.array([(i, j) for i in range(6) for j in range(i)]).T
    rows, m = np.c_[a, b], len(a)
    kind, people = np.full(m, 3), np.zeros(m, int)
    for low in (1, 0):
        grade = np.arange(m) % (5 - low) + low
        checked = ai._check_answers(6, rows, kind, grade, people, None, None)
        q = ai.make_questions(*checked, 6)
        R = ai.first_crowd(q).tables[3][0]
        odds = np.log(R[1, low:5] / R[0, low:5])
        assert np.allclose(odds, -odds[::-1]) and (np.diff(odds) > 0).all()


# what hidden answers cannot see


def test_the_centre_has_the_largest_mean_ari_of_all_drawn():
    drawn = RNG(3).integers(0, 3, size=(12, 7))
    drawn[8:] = drawn[0]
    mean = [np.mean([ari(z, other) for other in drawn]) for z in drawn]
    assert np.mean([ari(ai.central_partition(drawn), z) for z in drawn]) == pytest.approx(
        max(mean)
    )


def test_ties_among_eigenvalues_give_the_same_axes_in_every_call():
    "Four equal far-off clouds of repeated rows: eigenvalue one four times over."
    X = np.repeat(100.0 * np.eye(4), 15, axis=0)
    first = ai.graph_axes(X)
    for _ in range(5):
        assert np.array_equal(first, ai.graph_axes(X))


def test_one_cluster_is_found_when_few_say_different():
    "22 items, no features worth the name, one wrong answer in ten."
    rng = RNG(5)
    pairs = np.array([rng.choice(22, 2, replace=False) for _ in range(60)])
    said = (np.arange(60) % 10 > 0).astype(int)
    result = fit_pairs(rng.normal(size=(22, 4)), pairs, said, None, random_state=0)
    assert result.n_clusters == 1


def test_answers_that_tie_all_items_outvote_useless_features():
    y = np.repeat([0, 1, 2], [9, 7, 5])
    rng = RNG(8)
    pairs = np.array([rng.choice(21, 2, replace=False) for _ in range(70)])
    said = (y[pairs[:, 0]] == y[pairs[:, 1]]).astype(int)
    result = fit_pairs(rng.normal(size=(21, 50)), pairs, said, None, random_state=0)
    assert ari(y, result.labels) > 0.7


def test_chances_are_never_surer_than_the_shared_doubt(iris, helped):
    "Nobody is left to notice what misleads answers and model together."
    i, j = np.triu_indices(len(iris[0]), 1)
    fit = helped[0]
    p = fit.pair_proba(i, j)
    assert p.max() <= 1 - ai.TOGETHER * (1 - fit.base) + 1e-9
    assert p.min() >= ai.TOGETHER * fit.base - 1e-9


def test_useless_answers_leave_the_chances_unsure(iris):
    "The labels fall back to k-means; k-means has no doubts, the chances must."
    X, y = iris
    pairs, _ = ask_pairs(y, 75)
    said = RNG(4).integers(2, size=75)
    result = fit_pairs(X, pairs, said, random_state=0)
    i, j = np.triu_indices(len(X), 1)
    together = result.labels[i] == result.labels[j]
    p, same = result.pair_proba(i, j), y[i] == y[j]
    assert 0.3 < p[together].mean() < 0.97
    assert abs(p.mean() - same.mean()) < 0.2


# scikit-learn's checks ---------------------------------------------------------------


def test_plain_defaults_pass_the_checks_of_sklearn():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(AnswerClustering(), on_fail=None, on_skip=None)
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    assert not failed, failed
    names = {r["check_name"] for r in results if r["status"] == "passed"}
    assert {"check_estimator_sparse_tag", "check_clustering"} <= names


def test_sparse_features_are_read_as_dense_ones(iris):
    X, y = iris
    pairs = Constraints.from_labels(y, n=80, random_state=0)
    dense = AnswerClustering(3).fit(X, constraints=pairs)
    sparse = AnswerClustering(3).fit(csr_matrix(X), constraints=pairs)
    assert np.array_equal(dense.labels_, sparse.labels_) and sparse.n_iter_ == 1
