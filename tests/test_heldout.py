"Choosing by held-out answers: folds, gains, the rule, and the record."

import numpy as np
import pytest

from csc_nb.heldout import (
    HeldOut,
    central_choice,
    choose_heldout,
    one_standard_error,
    paired_gain,
    question_folds,
    vote_weights,
)
from csc_nb.metrics import ari


def test_no_question_is_split_and_folds_are_equal():
    question = np.random.default_rng(0).integers(0, 43, 300) * 7 - 50
    fold = question_folds(question, 5, random_state=3)
    where = {}
    for q, f in zip(question.tolist(), fold.tolist()):
        where.setdefault(q, set()).add(f)
    assert all(len(folds) == 1 for folds in where.values())
    sizes = np.bincount([next(iter(folds)) for folds in where.values()], minlength=5)
    assert sizes.max() - sizes.min() <= 1


def test_folds_depend_on_the_seed_only():
    question = np.arange(50)
    same = question_folds(question, 5, 1)
    assert (same == question_folds(question, 5, 1)).all()
    assert (same != question_folds(question, 5, 2)).any()


@pytest.mark.parametrize("folds", [0, 1])
def test_one_fold_is_refused(folds):
    with pytest.raises(ValueError, match=f"n_folds={folds}"):
        question_folds(np.arange(9), folds)


def test_too_few_questions_are_refused():
    with pytest.raises(ValueError, match="2 questions cannot be dealt into 5 folds"):
        question_folds([0, 0, 1, 1, 1, 1], 5)


def test_gain_sums_answers_and_its_error_goes_by_question():
    a = np.array([1.0, 2.0, 4.0, 0.0])
    b = np.zeros(4)
    gain, error = paired_gain(a, b, [0, 0, 1, 2])
    assert gain == 7
    per_question = np.array([3.0, 4.0, 0.0])
    by_hand = np.sqrt(3 * ((per_question - 7 / 3) ** 2).sum() / 2)
    assert error == pytest.approx(by_hand)
    copies = paired_gain(np.repeat(a, 2) / 2, np.zeros(8), np.repeat([0, 0, 1, 2], 2))
    assert copies == pytest.approx((gain, error))


def test_error_of_a_single_question_is_unknown():
    assert paired_gain([1.0, 1.0], [0.0, 0.0], [5, 5]) == (2.0, np.inf)


def test_rule_takes_the_first_that_is_not_clearly_beaten():
    "The winner leads the first by 100 ± 10 nats, the second by 5 ± 10."
    question = np.arange(100)
    swing = np.where(question % 2, 1.0, -1.0)
    swing *= 10 / paired_gain(swing, np.zeros(100), question)[1]
    best = np.zeros(100)
    score = np.array([swing - 1, swing - 0.05, best])
    assert one_standard_error(score, question) == (1, 2)
    assert one_standard_error(score, question, 11) == (0, 2)
    assert one_standard_error(score, question, 0.4) == (2, 2)
    assert one_standard_error(score[[2, 1, 0]], question) == (0, 0)


def coin(candidate, train, test, seed):
    return np.full(len(test), np.log(candidate)) + 0.01 * np.random.default_rng(
        seed
    ).normal(size=len(test))


def test_same_seed_same_scores_whatever_the_jobs():
    question = np.arange(60) // 2
    one = choose_heldout([0.4, 0.5], coin, question, random_state=4)
    two = choose_heldout([0.4, 0.5], coin, question, random_state=4, n_jobs=2)
    np.testing.assert_array_equal(one.score, two.score)
    other = choose_heldout([0.4, 0.5], coin, question, random_state=5)
    assert (one.score != other.score).any()


def test_candidates_share_their_luck():
    question = np.arange(60)
    choice = choose_heldout([0.4, 0.5], coin, question, random_state=4)
    gap = choice.score[1] - choice.score[0]
    np.testing.assert_allclose(gap, np.log(0.5 / 0.4))


def test_every_answer_is_predicted_once_from_other_questions():
    question = np.arange(40) // 2
    seen = []

    def score(candidate, train, test, seed):
        assert not set(question[train]) & set(question[test])
        assert len(train) + len(test) == 40
        seen.extend(test.tolist())
        return np.zeros(len(test))

    choose_heldout(["only"], score, question, random_state=0)
    assert sorted(seen) == list(range(40))


def test_weights_multiply_and_can_turn_the_choice():
    question = np.arange(20)
    first = np.where(question < 15, 0.0, -1.0)

    def score(candidate, train, test, seed):
        return first[test] if candidate == "first" else np.full(len(test), -0.5)

    weight = np.where(question < 15, 0.1, 10.0)
    names = ["second", "first"]
    plain = choose_heldout(names, score, question, width=0, random_state=0)
    heavy = choose_heldout(names, score, question, weight=weight, width=0, random_state=0)
    assert (plain.name, heavy.name) == ("first", "second")


def test_record_names_choice_and_winner():
    question = np.arange(60)
    choice = choose_heldout([0.2, 0.5, 0.5], coin, question, random_state=0)
    rows = choice.rows()
    assert choice.name == 0.5
    assert rows[choice.chosen][-1] == "chosen"
    assert rows[0][2] == pytest.approx(60 * np.log(2.5), rel=1e-6)


@pytest.mark.parametrize("bad", ["shape", "nan", "none"])
def test_bad_scores_are_refused(bad):
    def score(candidate, train, test, seed):
        return np.zeros(3) if bad == "shape" else np.full(len(test), np.nan)

    message = {"shape": "return one for each", "nan": "scored nan", "none": "0 candidates"}
    with pytest.raises(ValueError, match=message[bad]):
        choose_heldout([] if bad == "none" else ["a"], score, np.arange(50))


def test_exactly_one_standard_error_is_a_tie():
    "Differences 4, 0, 0, 0 gain 4 with a standard error of 4: the simpler is taken."
    score = np.array([[-5.0, -1.0, -1.0, -1.0], [-1.0, -1.0, -1.0, -1.0]])
    assert paired_gain(score[1], score[0], np.arange(4)) == (4.0, 4.0)
    assert one_standard_error(score, np.arange(4)) == (0, 1)


def record(score):
    score = np.asarray(score, float)
    names = [f"c{k}" for k in range(len(score))]
    return HeldOut(names, score, np.arange(score.shape[1]), 0, 0)


def test_votes_are_tempered_chances_and_noise_votes_for_the_first():
    rng = np.random.default_rng(0)
    score = rng.normal(size=(4, 6))
    noise, prior = rng.normal(size=6), np.array([7.0, 1, 1, 1])
    by_hand = [prior[k] * np.exp(score[k].sum() / 3) for k in range(4)]
    by_hand[0] += prior[0] * np.exp(noise.sum() / 3)
    weight = vote_weights(record(score), noise, prior, temper=3)
    np.testing.assert_allclose(weight, np.array(by_hand) / sum(by_hand))
    far = vote_weights(record(score - 5000 * np.arange(4)[:, None]))
    assert np.isfinite(far).all() and far[0] == 1


@pytest.mark.parametrize("seed", range(5))
def test_the_central_candidate_by_trying_each(seed):
    rng = np.random.default_rng(seed)
    labels = rng.integers(3, size=(6, 30))
    weight = rng.dirichlet(np.ones(6))
    expected = [sum(w * ari(z, t) for w, t in zip(weight, labels)) for z in labels]
    found = central_choice(record(rng.normal(size=(6, 4))), labels, weight)
    assert found.chosen == int(np.argmax(expected))


def test_equal_partitions_go_by_their_hidden_answers():
    labels = [[0, 0, 1, 1], [1, 1, 0, 0], [0, 1, 0, 1]]
    choice = record([[-3.0], [-2.0], [-9.0]])
    assert central_choice(choice, np.array(labels), vote_weights(choice)).chosen == 1
