"""Chapter 23: votes, Dawid–Skene, CSPA, SemiCrowd."""

import numpy as np
import pytest
from sklearn.metrics import normalized_mutual_info_score as nmi

from csc_nb.baselines.crowd import (
    CSPA,
    CrowdVote,
    SemiCrowd,
    average_similarity,
    complete_similarity,
    completion_loss,
    count_votes,
    dawid_skene,
    filter_votes,
    majority_vote,
    metric_map,
    nearest_mean,
    weighted_vote,
)
from csc_nb.baselines.kmeans import LCVQE
from csc_nb.constraints import Constraints
from csc_nb.datasets import toy_experts
from csc_nb.oracles import ExpertPanel
from csc_nb.softmax import num_grad

ACC = np.array([0.95, 0.85, 0.75, 0.65, 0.55])
T = toy_experts(120, 3, 10, spread=0.7, random_state=0)
C = ExpertPanel(T.target, ACC, random_state=0).sample(300)
right = lambda c: ((T.target[c.a] == T.target[c.b]) == (c.value > 0)).mean()


def test_votes_and_majority_by_hand():
    c = Constraints(
        [0, 0, 0, 1, 1],
        [1, 1, 1, 2, 2],
        [1, 1, -1, 1, -1],
        expert=[0, 1, 2, 0, 1],
        weight=[1, 1, 3, 1, 1],
        n_samples=3,
    )
    v = count_votes(c)
    assert v.yes.tolist() == [2, 1] and v.no.tolist() == [3, 1]
    m = majority_vote(c)
    assert (m.a.tolist(), m.b.tolist(), m.value.tolist()) == ([0], [1], [-1])
    assert majority_vote(c, "cannot").value.tolist() == [-1, -1]
    with pytest.raises(ValueError, match="ties"):
        majority_vote(c, "must")


def test_dont_knows_do_not_vote():
    c = Constraints(
        [0, 0, 1], [1, 1, 2], [1, 0, 0], expert=[0, 1, 0], n_samples=3, value_kind="pm1"
    )
    v = count_votes(c)
    assert (v.a.tolist(), v.yes.tolist(), v.no.tolist()) == ([0], [1], [0])


def test_dawid_skene_recovers_accuracies_and_votes_better():
    y = np.arange(400) % 4
    c = ExpertPanel(y, ACC, random_state=1).sample(1000)
    ds = dawid_skene(c)
    assert (np.diff(ds.history) > -1e-8).all()
    np.testing.assert_allclose(ds.sensitivity, ACC, atol=0.06)
    np.testing.assert_allclose(ds.specificity, ACC, atol=0.06)
    ok = lambda c: ((y[c.a] == y[c.b]) == (c.value > 0)).mean()
    assert ok(weighted_vote(c)) > ok(majority_vote(c))
    order = np.array([4, 2, 0, 1, 3])
    other = dawid_skene(
        Constraints(c.a, c.b, c.value, expert=order[c.expert], n_samples=400)
    )
    np.testing.assert_allclose(other.sensitivity[order], ds.sensitivity, atol=1e-6)


def test_majority_is_worse_than_the_best_expert_in_case_1():
    assert (
        right(majority_vote(C))
        < ((T.target[C.a] == T.target[C.b]) == (C.value > 0))[C.expert == 0].mean() + 0.02
    )


def test_any_clusterer_can_follow_a_vote():
    for vote in ("majority", "dawid-skene"):
        e = CrowdVote(3, clusterer=LCVQE(n_init=2), vote=vote, random_state=0).fit(
            T.data, constraints=C
        )
        assert e.clusterer_.n_clusters == 3 and e.voted_.n_experts == 1
        assert e.predict(T.data[:5]).shape == (5,)
    with pytest.raises(ValueError, match="vote"):
        CrowdVote(n_clusters=3, vote="loudest").fit(T.data, constraints=C)


def test_average_similarity():
    A = average_similarity(count_votes(C), 120).toarray()
    np.testing.assert_array_equal(A, A.T)
    i, j = C.a[5], C.b[5]
    assert A[i, j] == pytest.approx((C.value[(C.a == i) & (C.b == j)] > 0).mean())


def test_cspa_needs_many_pairs():
    few, many = (
        CSPA(3, random_state=0).fit(
            T.data,
            constraints=ExpertPanel(T.target, np.full(5, 0.95), random_state=0).sample(q),
        )
        for q in (60, 2000)
    )
    assert nmi(T.target, many.labels_) > 0.9 > nmi(T.target, few.labels_)
    assert not hasattr(many, "predict")


def test_completion_gradient_and_recovery():
    rng = np.random.default_rng(0)
    U, i, j, v = (
        rng.normal(size=(7, 2)),
        np.array([0, 1, 2, 5]),
        np.array([3, 4, 6, 6]),
        np.array([1.0, 0, 1, 0]),
    )
    np.testing.assert_allclose(
        completion_loss(U, i, j, v)[1],
        num_grad(lambda u: completion_loss(u, i, j, v)[0], U),
        atol=1e-6,
    )
    z = np.arange(45) % 3
    ii, jj = np.triu_indices(45, 1)
    keep = rng.permutation(len(ii))[:400]
    ii, jj = ii[keep], jj[keep]
    full = (lambda u: u @ u.T)(
        complete_similarity(ii, jj, (z[ii] == z[jj]) * 1.0, rng.normal(0, 0.5, (45, 3)))[0]
    )
    assert ((full > 0.5) == (z[:, None] == z)).mean() > 0.97


def test_metric_is_the_least_squares_one():
    rng = np.random.default_rng(0)
    X, U = rng.normal(size=(15, 3)), rng.normal(size=(15, 2))
    L = metric_map(X, U, 0.0)
    G = num_grad(lambda M: ((X @ M @ X.T - U @ U.T) ** 2).sum(), L @ L.T)
    assert np.abs(G).max() < 1e-5


def test_semicrowd_filters_and_predicts():
    v = count_votes(C)
    a, b, value = filter_votes(v, 0.25, 0.75)
    assert len(a) < len(v.a) and set(value.tolist()) <= {0.0, 1.0}
    e = SemiCrowd(3, random_state=0).fit(T.data, constraints=C)
    np.testing.assert_array_equal(e.predict(T.data), e.labels_)
    with pytest.raises(ValueError, match="low"):
        SemiCrowd(3, low=0.8, high=0.2).fit(T.data, constraints=C)


def weighted_answers():
    rng = np.random.default_rng(5)
    y = np.arange(30) % 3
    a, b = np.triu_indices(30, 1)
    pick = rng.permutation(len(a))[:60]
    a, b = np.tile(a[pick], 3), np.tile(b[pick], 3)
    who = np.repeat([0, 1, 2], 60)
    right = rng.random(180) < np.array([0.95, 0.75, 0.6])[who]
    value = np.where((y[a] == y[b]) == right, 1, -1)
    weight = rng.choice([0.5, 1.0, 2.0, 4.0], 180)
    return Constraints(a, b, value, expert=who, weight=weight, n_samples=30)


def test_dawid_skene_answer_by_answer_with_weights():
    "EM written as loops over the answers; each answer counts its weight."
    c = weighted_answers()
    pairs = sorted({(int(i), int(j)) for i, j in zip(c.a, c.b)})
    at = {p: k for k, p in enumerate(pairs)}
    said = [
        (at[int(i), int(j)], v > 0, m, w)
        for i, j, v, m, w in zip(c.a, c.b, c.value, c.expert, c.weight)
    ]
    yes, every = np.zeros(len(pairs)), np.zeros(len(pairs))
    for k, same, _, w in said:
        yes[k] += w * same
        every[k] += w
    r = np.clip(yes / every, 0.01, 0.99)
    ds = dawid_skene(c)
    for _ in range(len(ds.history)):
        right, total = np.ones((2, 3)), np.full((2, 3), 2.0)  # Beta(2, 2)
        for k, same, m, w in said:
            right[0, m] += w * r[k] * same
            right[1, m] += w * (1 - r[k]) * (not same)
            total[:, m] += w * np.array([r[k], 1 - r[k]])
        alpha, beta = right / total
        pi = (r.sum() + 1) / (len(r) + 2)
        odds = np.full(len(pairs), np.log(pi / (1 - pi)))
        for k, same, m, w in said:
            if same:
                odds[k] += w * np.log(alpha[m] / (1 - beta[m]))
            else:
                odds[k] += w * np.log((1 - alpha[m]) / beta[m])
        r = 1 / (1 + np.exp(-odds))
    np.testing.assert_allclose(ds.sensitivity, alpha)
    np.testing.assert_allclose(ds.specificity, beta)
    np.testing.assert_allclose(ds.posterior, r, atol=1e-9)
    np.testing.assert_allclose(ds.same, pi)
    odds = np.log(alpha / (1 - alpha)) + np.log(beta / (1 - beta))
    np.testing.assert_allclose(ds.weights, odds)


def test_a_voted_answer_weighs_what_it_is_sure_of():
    c = weighted_answers()
    ds, v = dawid_skene(c), weighted_vote(c)
    keep = np.abs(ds.posterior - 0.5) > 1e-9
    np.testing.assert_allclose(v.weight, np.abs(2 * ds.posterior - 1)[keep])
    np.testing.assert_array_equal(v.value > 0, ds.posterior[keep] > 0.5)
    sure = weighted_vote(c, min_sure=0.9)
    assert sure.weight.min() > 0.8 and sure.n_constraints < v.n_constraints


def test_majority_counts_weights_and_gives_weight_one():
    c = weighted_answers()
    m = majority_vote(c)
    assert (m.weight == 1).all()
    for i, j, v in zip(m.a, m.b, m.value):
        mine = (c.a == i) & (c.b == j)
        assert np.sign((c.weight * c.value)[mine].sum()) == v


def test_suspects_are_the_answers_that_the_clusters_break():
    for est in (CrowdVote(3), CSPA(3), SemiCrowd(3)):
        e = est.set_params(random_state=0).fit(T.data, constraints=C)
        together = e.labels_[C.a] == e.labels_[C.b]
        want = np.flatnonzero(together != (C.value > 0))
        np.testing.assert_array_equal(e.suspects_, want)
        assert set(np.unique(e.suspicion_)) <= {0.0, 1.0}
        assert (np.diff(e.objective_history_) <= 1e-9).all()


def test_steps_of_semicrowd():
    "Filter, complete, metric, k-means: each leaves its mark."
    v = count_votes(C)
    a, b, value = filter_votes(v)
    share = v.yes / (v.yes + v.no)
    np.testing.assert_array_equal(len(a), ((share <= 0.25) | (share >= 0.75)).sum())
    e = SemiCrowd(3, random_state=0).fit(T.data, constraints=C)
    rows = np.unique(np.r_[a, b])
    assert e.factors_.shape == (len(rows), 3)
    at = {r: k for k, r in enumerate(rows)}
    made = [e.factors_[at[i]] @ e.factors_[at[j]] for i, j in zip(a, b)]
    assert np.corrcoef(made, value)[0, 1] > 0.9  # completed
    plain = SemiCrowd(3, random_state=0).fit(T.data)
    assert nmi(T.target, e.labels_) >= nmi(T.target, plain.labels_)
    assert np.linalg.matrix_rank(e._map @ e._map.T) <= 2  # a learned metric
    np.testing.assert_allclose(plain._map, np.eye(T.data.shape[1]))


def test_an_unlinked_row_joins_the_nearest_mean():
    X = np.array([[0.0], [0.2], [5.0], [5.2], [0.1], [5.1]])
    z = nearest_mean(X, np.array([7, 7, 3, 3]), np.arange(4))
    assert z[4] == z[0] != z[2] == z[5]
