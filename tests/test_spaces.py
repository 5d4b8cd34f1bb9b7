"""Spaces that the answers speak for: the map against brute force, limits, invariances."""

import numpy as np
import pytest

from csc_nb.constraints import Constraints
from csc_nb.spaces import (
    Asked,
    answer_space,
    choose_by_hidden,
    floor_choice,
    hidden_scores,
    hidden_suspicion,
    metric_cost,
    noise_scores,
    part_of,
    person_scores,
    principal_space,
    row_order,
    same_chance,
    sorted_answers,
)

RNG = np.random.default_rng(0)
Y = np.repeat([0, 1], 60)
X = np.c_[Y + 0.2 * RNG.normal(size=120), 3 * RNG.normal(size=(120, 2))]
C = Constraints.from_labels(Y, n=60, noise=0.1, random_state=0)


def distances(space, X=X):
    Z = space(X)
    return ((Z[:, None] - Z) ** 2).sum(-1)


def test_cost_in_one_dimension_against_the_written_out_likelihood():
    D = np.array([[0.3], [2.0], [1.0]])
    yes, no = np.array([2.0, 0.0, 1.0]), np.array([0.0, 1.0, 3.0])
    for L, b in ((1.0, 2.0), (0.4, -1.0), (3.0, 0.5)):
        near = 1 / (1 + np.exp(-(b - (L * D[:, 0]) ** 2)))
        p = 0.1 + 0.8 * near
        want = -(yes @ np.log(p) + no @ np.log(1 - p)) / 7
        want += 0.2 * ((L - 1) ** 2 + (b - 2) ** 2 / 100)
        got = metric_cost(np.array([L, b]), D, yes, no, 0.2, 0.1)[0]
        assert got == pytest.approx(want, rel=1e-12)
        np.testing.assert_allclose(same_chance(D, np.array([[L]]), b, 0.1), p)


def test_the_column_that_the_answers_speak_of_leads():
    Z = answer_space(X, C.a, C.b, C.value)(X)
    before = principal_space(X)(X)
    with_truth = [abs(np.corrcoef(z[:, 0], Y)[0, 1]) for z in (before, Z)]
    assert with_truth[1] > 0.85 > with_truth[0]


@pytest.mark.parametrize("far", [1e9, -1e9])
def test_units_and_place_do_not_matter(far):
    about = C.a, C.b, C.value
    want = distances(answer_space(X, *about))
    scaled = X * 1e-6
    np.testing.assert_allclose(
        distances(answer_space(scaled, *about), scaled), want, rtol=1e-3, atol=1e-3
    )
    moved = X + far
    np.testing.assert_allclose(
        distances(answer_space(moved, *about), moved), want, rtol=0.05, atol=0.05
    )


def test_the_whole_map_written_out_again():
    "Standardised, whitened, mean square one; then eq. (2) by a search without gradient."
    from scipy.optimize import minimize

    few = slice(0, 25)
    a, b, same = C.a[few], C.b[few], C.value[few] > 0
    Z = (X - X.mean(0)) / X.std(0)
    var, axes = np.linalg.eigh(np.cov(Z.T, bias=True))
    Z = Z @ axes / np.sqrt(var + var.mean())
    Z = Z / np.sqrt((Z**2).sum() / len(Z))

    def minus_eq_2(theta):
        L, bias = theta[:9].reshape(3, 3), theta[9]
        total = 0.0
        for i, j, yes in zip(a, b, same):
            step = L @ (Z[i] - Z[j])
            chance = 0.15 + 0.7 / (1 + np.exp(step @ step - bias))
            total -= np.log(chance if yes else 1 - chance)
        away = ((L - np.eye(3)) ** 2).sum() + (bias - 2) ** 2 / 100
        return total / len(a) + 0.03 * away

    found = minimize(minus_eq_2, np.append(np.eye(3), 2.0), method="BFGS", tol=1e-7)
    bent = Z @ found.x[:9].reshape(3, 3).T
    want = ((bent[:, None] - bent) ** 2).sum(-1)
    got = distances(answer_space(X, a, b, C.value[few], share=1.0))
    np.testing.assert_allclose(got, want, rtol=2e-2, atol=2e-3)


def test_constant_columns_and_all_rows_alike():
    about = C.a, C.b, C.value
    more = np.c_[X, np.full(120, 7.0)]
    np.testing.assert_allclose(
        distances(answer_space(more, *about), more), distances(answer_space(X, *about))
    )
    flat = np.ones((120, 3))
    for space in (answer_space(flat, *about), principal_space(flat)):
        assert np.isfinite(space(flat)).all()


@pytest.mark.parametrize("value", [1, -1])
def test_one_kind_of_answer_leaves_a_finite_map(value):
    space = answer_space(X, C.a, C.b, np.full(60, value))
    assert np.isfinite(distances(space)).all()


def test_many_columns_are_reduced_first():
    wide = np.random.default_rng(0).normal(size=(300, 400))
    space = answer_space(wide, C.a, C.b, C.value, width=20)
    assert space.axes.shape[0] == 400 and space.axes.shape[1] <= 10


def test_answers_are_sorted_by_what_they_say():
    turn = np.random.default_rng(1).permutation(60)
    other = Constraints(C.b[turn], C.a[turn], C.value[turn], n_samples=120)
    for mine, yours in zip(sorted_answers(C), sorted_answers(other)):
        np.testing.assert_array_equal(mine, yours)
    unsure = Constraints([0, 3, 4], [1, 3, 5], [0, 1, -1], n_samples=6)
    assert sorted_answers(unsure).a.tolist() == [4]


def test_rows_are_sorted_by_their_values():
    turn = np.random.default_rng(1).permutation(120)
    np.testing.assert_array_equal(X[row_order(X)], X[turn][row_order(X[turn])])


def test_a_part_keeps_answers_about_the_same_rows():
    asked = sorted_answers(C)
    rows, inside = part_of(asked, 120, 60, np.random.default_rng(0))
    assert len(rows) <= 60 and len(inside.a)
    whole = {(a, b, v) for a, b, v, _ in zip(*asked)}
    assert {(rows[a], rows[b], v) for a, b, v, _ in zip(*inside)} <= whole


def test_a_liar_who_can_be_predicted_is_worth_as_much_as_a_friend():
    rng = np.random.default_rng(0)
    H = (rng.random(200) < 0.5).astype(float)
    value = np.where(H > 0, 1, -1)
    person = np.repeat([0, 1], 100)
    value[person == 1] *= -1
    a = np.arange(200)
    asked = Asked(a, a + 1, value, np.ones(200))
    alone = person_scores(H, asked, person)
    pooled = hidden_scores(H, value)[0]
    assert alone.mean() > -0.2 and pooled.mean() < -0.6


def test_hidden_answers_are_hidden_and_the_right_candidate_wins():
    asked = sorted_answers(C)
    seen = []

    def predict(train, test, seed):
        seen.append((set(train), set(test)))
        together = Y[asked.a[test]] == Y[asked.b[test]]
        return np.array([np.full(len(test), 0.5), together, ~together])

    choice = choose_by_hidden(["blind", "truth", "opposite"], predict, asked)
    assert choice.name == "truth"
    assert all(not tr & te and len(tr | te) == 60 for tr, te in seen)
    assert set.union(*(te for _, te in seen)) == set(range(60))


@pytest.mark.parametrize("rate", [0.9, 0.7])
def test_suspicion_is_true_where_the_clusters_err_as_well(rate):
    "A person and a clustering err by themselves: of the answers stated at s, s are wrong."
    rng = np.random.default_rng(1)
    m = 40_000
    together = rng.random(m) < 0.4
    said = together ^ (rng.random(m) > rate)
    H = (together ^ (rng.random(m) > 0.8)).astype(float)
    a = np.arange(m)
    asked = Asked(a, a + 1, np.where(said, 1, -1), np.ones(m))
    wrong = said != together
    learned = (3 * rate - 1) / 2  # what gives `rate` when a third of the blame is returned
    stated = hidden_suspicion(H, asked, learned, learned)
    broken = (H > 0) != said
    assert stated[broken].mean() == pytest.approx(wrong[broken].mean(), abs=0.03)
    assert stated[~broken].mean() == pytest.approx(wrong[~broken].mean(), abs=0.03)


def test_clusters_that_say_nothing_accuse_nobody():
    asked = sorted_answers(C)
    stated = hidden_suspicion(np.full(60, 0.5), asked, 0.8, 0.8)
    assert stated.max() < 0.5


def test_coins_leave_the_features_alone_and_right_answers_do_not():
    "The first candidate heard nothing; the others follow the answers, three ways."
    rng = np.random.default_rng(2)
    asked = sorted_answers(C)
    coins = asked._replace(value=rng.choice([-1, 1], 60))
    plain = rng.integers(2, size=120)
    labels = np.array([plain, Y, rng.integers(2, size=120), rng.integers(2, size=120)])

    def predict(train, test, seed):
        return labels[:, asked.a[test]] == labels[:, asked.b[test]]

    for about, best in ((asked, 1), (coins, 0)):
        choice = choose_by_hidden(["alone", "b", "c", "d"], predict, about)
        choice, weight = floor_choice(choice, labels, about)
        assert choice.chosen == best and weight.sum() == pytest.approx(1)
    without = floor_choice(choice, labels, coins, floor=False)[1]
    assert weight[0] > without[0]
    np.testing.assert_allclose(noise_scores(coins), person_scores(np.full(60, 0.5), coins))
