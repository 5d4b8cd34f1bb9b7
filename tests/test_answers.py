"""Readers, rivals and the generator of chapter 40."""

import numpy as np
import pandas as pd
import pytest

from csc_nb import answers as ans
from csc_nb.answer_table import Answers
from csc_nb.answers import CREWS, CrewNoise

real = pytest.mark.skipif(not ans.have_answers(), reason="the real answers are not here")


def small_frame(rows):
    return pd.DataFrame(rows, columns=["a", "b", "answer", "annotator", "group", "truth"])


def test_no_folder_says_what_to_do(monkeypatch):
    monkeypatch.setenv("CSC_NB_DATA", "")
    assert not ans.have_answers()
    with pytest.raises(FileNotFoundError, match="CSC_NB_DATA.*realistic_answers"):
        ans.read_answers("restaurants")


def test_unknown_set_is_named():
    with pytest.raises(ValueError, match="'resturants'; known: products"):
        ans.read_answers("resturants")


def test_cut_off_replies():
    replies = ["Yes", "no, the two", " YES ", "The two product descriptions do", None]
    assert ans.cut_off(replies).tolist() == [False, False, False, True, True]


def test_scores_by_hand():
    p, t = np.array([0.9, 0.6, 0.2, 0.4]), np.array([1, 0, 0, 1])
    s = ans.answer_scores(p, t)
    assert s["F1"] == pytest.approx(2 * 1 / (2 + 2))
    assert s["Brier"] == pytest.approx((0.01 + 0.36 + 0.04 + 0.36) / 4)
    by_hand = -(np.log(0.9) + np.log(0.4) + np.log(0.8) + np.log(0.4)) / 4
    assert s["log-loss"] == pytest.approx(by_hand)
    # bins of certainty: .9 (right), .8 (right), and .6 twice (wrong both times)
    assert s["calibration"] == pytest.approx((0.1 + 0.2 + 2 * 0.6) / 4)


def test_certain_and_wrong_stays_finite():
    s = ans.answer_scores(np.array([1.0, 0.0]), np.array([0, 0]))
    assert np.isfinite(list(s.values())).all()
    assert s["log-loss"] == pytest.approx(-np.log(1e-6) / 2, rel=1e-3)


def test_reliability_counts_every_question():
    rng = np.random.default_rng(0)
    p = rng.random(500)
    curve = ans.reliability(p, rng.random(500) < p)
    assert curve["n"].sum() == 500
    assert (np.diff(curve["stated"]) > 0).all()


def test_text_similarity_orders_texts():
    names = ["sony turntable pslx350h", "sony turntable ps-lx350h", "bose speaker"]
    items = pd.DataFrame(dict(item=[1, 2, 3], name=names, more=["black", "black", None]))
    s = ans.text_similarity(items, [1, 1, 1], [1, 2, 3])
    assert s.shape == (3, 2)
    assert np.allclose(s[0], 1)
    assert (s[0] > s[1]).all() and (s[1] > s[2]).all()


def test_text_similarity_names_unknown_ids():
    items = pd.DataFrame(dict(item=[1, 2], name=["x", "y"]))
    with pytest.raises(ValueError, match="1 ids have no text: the first is 7"):
        ans.text_similarity(items, [1], [7])


def test_majority_ignores_unsure():
    p = ans.majority_chance(np.array([0, 0, 0, 1]), np.array([1, 1, -1, -1]), 2, 0.5)
    assert p == pytest.approx([2.5 / 3, 0.5])


def test_group_votes_share_one_vote_and_ties_are_unsure():
    question = np.array([0, 0, 0, 0, 1, 1])
    who = np.array([0, 1, 2, 3, 0, 1])
    said = np.array([1, 1, 0, 0, 1, 0])
    q, g, vote = ans.group_votes(question, who, said, np.array([0, 0, 0, 1]))
    found = {(a, b): v for a, b, v in zip(q.tolist(), g.tolist(), vote.tolist())}
    assert found == {(0, 0): 1, (0, 1): 0, (1, 0): -1}


def test_dawid_skene_finds_the_liar():
    rng = np.random.default_rng(1)
    truth = rng.random(400) < 0.4
    who = np.tile(np.arange(5), 400)
    question = np.repeat(np.arange(400), 5)
    accuracy = np.array([0.9, 0.9, 0.8, 0.8, 0.1])
    right = rng.random(2000) < accuracy[who]
    said = np.where(right, truth[question], ~truth[question]).astype(int)
    p = ans.dawid_skene_looks(question, who, said, 400)
    majority = ans.majority_chance(question, said, 400)
    assert ((p > 0.5) == truth).mean() > ((majority > 0.5) == truth).mean() + 0.03


def test_looks_help_where_votes_are_few():
    d = ans.realistic_answers(800, [ans.Crew(per_question=1)], random_state=0)
    A = Answers.from_frame(d)
    t, F = (d.truth == "same").to_numpy(), d[["alike"]].to_numpy()
    found = ans.rivals(A.question, A.annotator, A.response, A.group_of, A.n_questions, F)
    loss = {k: ans.answer_scores(p, t)["log-loss"] for k, p in found.items()}
    assert loss["Dawid–Skene, looks"] < loss["Dawid–Skene"]


def test_generator_is_reproducible_and_complete():
    d = ans.realistic_answers(50, random_state=3)
    same = ans.realistic_answers(50, random_state=3)
    pd.testing.assert_frame_equal(d, same)
    assert not d.equals(ans.realistic_answers(50, random_state=4))
    assert len(d) == 50 * (3 + 4)
    A = Answers.from_frame(d)
    assert A.n_questions == 50 and set(A.groups) == {"people", "model"}
    assert (d.seconds > 0).all()


def test_generator_takes_truth_and_pairs():
    truth = np.array([1, 0, 1, 0, 0])
    pairs = [(f"i{k}", f"j{k}") for k in range(5)]
    quiet = ans.Crew(
        "q", 5, 5, misled=0, missed=0, imagined=0, unclear=0, miss=1e-9, ghost=1e-9
    )
    d = ans.realistic_answers(crews=[quiet], truth=truth, pairs=pairs, random_state=0)
    assert (d.answer == d.truth).all()
    first = d.drop_duplicates(["a", "b"])
    assert (first.truth == "same").tolist() == (truth == 1).tolist()
    assert first.a.tolist() == [p[0] for p in pairs]


def test_a_misled_crew_errs_together_and_by_the_looks():
    fooled = ans.Crew(
        "f", 4, 4, misled=1.0, missed=0, imagined=0, unclear=0, miss=1e-9, ghost=1e-9
    )
    d = ans.realistic_answers(2000, [fooled], random_state=0)
    said = (d.answer == "same").to_numpy().reshape(-1, 4)
    assert (said == said[:, :1]).all(), "one opinion"
    alike = d.alike.to_numpy().reshape(-1, 4)[:, 0]
    assert np.corrcoef(alike, said[:, 0])[0, 1] > 0.4, "errors follow the looks"


def test_liars_say_the_opposite():
    crew = ans.Crew(
        "l",
        3,
        3,
        misled=0,
        missed=0,
        imagined=0,
        unclear=0,
        miss=1e-9,
        ghost=1e-9,
        liars=1.0,
    )
    d = ans.realistic_answers(40, [crew], random_state=0)
    assert (d.answer != d.truth).all()


def test_tired_people_err_more():
    base = ans.CREWS["people"]
    calm = ans.answer_facts(ans.realistic_answers(3000, [base], random_state=0))
    tired = base._replace(tired=3.0)
    worn = ans.answer_facts(ans.realistic_answers(3000, [tired], random_state=0))
    assert worn["missed"] > calm["missed"] + 0.05


def test_facts_by_hand():
    rows = [
        ("x", "y", "same", "p", "g", "same"),
        ("x", "y", "different", "q", "g", "same"),
        ("u", "v", "same", "p", "g", "different"),
        ("u", "v", "same", "q", "g", "different"),
        ("s", "t", "different", "p", "g", "different"),
        ("s", "t", "different", "q", "g", "different"),
    ]
    f = ans.answer_facts(small_frame(rows))
    assert f["error"] == pytest.approx(3 / 6)
    assert f["missed"] == pytest.approx(1 / 2)
    assert f["imagined"] == pytest.approx(2 / 4)
    assert f["agreement"] == pytest.approx(2 / 3)
    assert f["all_wrong"] == pytest.approx(1 / 3)
    assert f["by_luck"] == pytest.approx(0.25)


def test_simulated_errors_are_shared():
    f = ans.answer_facts(ans.realistic_answers(4000, ["model"], random_state=0))
    assert f["all_wrong"] > 20 * f["by_luck"]


@real
def test_readers_read_what_the_files_hold():
    people, model = ans.read_answers("products_people"), ans.read_answers("products_model")
    assert len(people) == 24961 and people.annotator.nunique() == 46
    assert len(model) == 4824 and (model.answer == "unsure").sum() == 826
    assert len(ans.read_answers("restaurants")) == 6012
    both = ans.read_answers("products")
    assert len(both.drop_duplicates(["a", "b"])) == 1019
    assert set(both.group) == {"people", "gpt-4o-mini"}


@real
def test_grades_and_comparisons_become_answers():
    words, eggs = ans.read_answers("word_uses"), ans.read_answers("eggs")
    assert set(words.answer) == {"unsure", 1, 2, 3, 4}
    assert set(eggs.answer) == {"left", "right"} and (eggs.seconds > 0).all()
    assert Answers.from_frame(words.head(200)).n_answers == 200
    assert Answers.from_frame(eggs.head(200)).n_answers == 200


@real
def test_crews_resemble_the_sets_they_imitate():
    real_sets = {"people": "products_people", "model": "products_model"}
    base_rate = {"people": 0.122, "model": 0.171}
    for crew, name in real_sets.items():
        seen = ans.answer_facts(ans.read_answers(name))
        d = ans.realistic_answers(6000, [crew], base_rate=base_rate[crew], random_state=0)
        made = ans.answer_facts(d)
        assert abs(seen["missed"] - made["missed"]) < 0.06
        assert abs(seen["agreement"] - made["agreement"]) < 0.02
        assert 0.4 < made["all_wrong"] / seen["all_wrong"] < 2.5


# a crew in the place of a coin


def test_a_crew_shares_its_mistakes_and_coins_do_not():
    from csc_nb.oracles import NoisyOracle, Pair

    y = np.repeat(np.arange(4), 25)
    rng = np.random.default_rng(0)
    asked = [Pair(*rng.choice(100, 2, replace=False).tolist()) for _ in range(3000)]
    right = np.array([1 if y[q.a] == y[q.b] else -1 for q in asked])

    def twice(noise):
        oracle = NoisyOracle(y, noise=noise, random_state=1)
        once, again = (np.array([oracle(q) for q in asked]) != right for _ in range(2))
        return (once & again).mean(), once.mean() * again.mean()

    both, luck = twice(CrewNoise(y, CREWS["people"]._replace(misled=0.1)))
    assert both > 2 * luck
    both, luck = twice(0.1)
    assert both < 1.5 * luck


def test_a_crew_without_faults_tells_the_truth_and_a_liar_the_opposite():
    from csc_nb.oracles import NoisyOracle, Pair

    y = np.array([0, 0, 1, 1])
    perfect = dict(misled=0.0, missed=0.0, imagined=0.0, unclear=0.0)
    perfect |= dict(miss=1e-12, ghost=1e-12, spread=0.0)
    crew = CREWS["people"]._replace(**perfect)
    for liars, sign in ((0.0, 1), (1.0, -1)):
        oracle = NoisyOracle(y, noise=CrewNoise(y, crew._replace(liars=liars)))
        said = [oracle(Pair(a, b)) for a, b in ((0, 1), (1, 2), (2, 3))]
        assert said == [sign, -sign, sign]


def test_looks_follow_the_features_and_answers_follow_the_seed():
    from csc_nb.oracles import NoisyOracle, Pair, Triple

    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 30)
    X = rng.normal(size=(60, 2)) + 3 * y[:, None]
    noise = CrewNoise(y, "model", X, random_state=3)
    far = np.argmax(((X - X[0]) ** 2).sum(1))
    near = np.argsort(((X - X[0]) ** 2).sum(1))[1]
    assert noise.looks(0, near) > noise.looks(0, int(far))
    assert noise.looks(0, 5) == noise.looks(5, 0) and noise.opinion(0, 5) == noise.opinion(
        5, 0
    )
    say = [NoisyOracle(y, noise=CrewNoise(y, "model", X, random_state=3), random_state=1)
           for _ in range(2)]  # fmt: skip
    asked = [Pair(*rng.choice(60, 2, replace=False).tolist()) for _ in range(50)]
    assert [say[0](q) for q in asked] == [say[1](q) for q in asked]
    with pytest.raises(ValueError, match="A crew answers pairs"):
        say[0](Triple(0, 1, 2))


def test_looks_are_told_in_any_unit():
    "Zero point and unit of a feature say nothing; a feature that says the truth does."
    rng = np.random.default_rng(0)
    true = rng.random(40) < 0.5
    question, who = np.repeat(np.arange(40), 3), np.tile(np.arange(3), 40)
    said = np.where(rng.random(120) < 0.35, ~true[question], true[question]).astype(int)
    looks = np.c_[true + rng.normal(0, 0.3, 40), rng.normal(size=40)]
    chance = ans.dawid_skene_looks(question, who, said, 40, looks)
    other = ans.dawid_skene_looks(question, who, said, 40, 1000 * looks + [7, -300])
    np.testing.assert_allclose(other, chance, atol=1e-6)
    blind = ans.dawid_skene_looks(question, who, said, 40)
    right = lambda p: ((p > 0.5) == true).sum()
    assert right(chance) > right(blind)


@pytest.mark.parametrize("gap", [{"a": 1}, "2", None, True, np.nan, np.inf])
def test_a_gap_that_is_no_number_is_named(gap):
    with pytest.raises(ValueError, match="gap=.*: a finite number"):
        ans.realistic_answers(20, gap=gap, random_state=0)
