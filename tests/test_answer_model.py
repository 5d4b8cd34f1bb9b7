"""AnswerClustering without features of items: sums, limits, odd tables, real answers."""

import warnings
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

from csc_nb.answer_model import (
    AnswerClustering,
    Priors,
    accuracy_interval,
    cast_answers,
    e_step,
    em_init,
    heldout_loglik,
    looks_step,
    make_block,
    make_setup,
    merged_groups,
    ordered_table,
    report_tables,
    run_em,
)
from csc_nb.answer_table import Answers
from csc_nb.answers import (
    CREWS,
    answer_scores,
    have_answers,
    read_answers,
    read_items,
    realistic_answers,
    rivals,
    text_similarity,
)
from csc_nb.constraints import Constraints

real = pytest.mark.skipif(not have_answers(), reason="the real answers are not here")


@pytest.fixture(scope="module")
def example():
    "Answers of two groups, their truths and their looks."
    d = realistic_answers(400, ["people", "model"], random_state=2)
    one = d.drop_duplicates(["a", "b"])
    return d, (one.truth == "same").to_numpy(), one[["alike"]].to_numpy()


def random_state_of(block, f, rng):
    "Any parameters at all, for a block."
    setup = make_setup(block, rng.normal(size=(block.n_questions, f)))
    state = em_init(setup)
    T, G, E = block.n_truths, block.n_groups, len(block.group_of)
    report = rng.dirichlet(np.ones(block.n_said + 1), size=(E, T))
    own = rng.dirichlet(np.ones(block.n_said + 1), size=(E, T))
    return setup, state._replace(
        beta=rng.normal(size=state.beta.shape),
        eps=rng.uniform(0.05, 0.5, G),
        zeta=rng.uniform(0.05, 0.5, G),
        opinion=rng.dirichlet(np.ones(T), size=(G, T)),
        report=report,
        own=own,
        lean=rng.normal(size=(E, T)),
    )


def stories(block, state, X, q):
    "Joint chance of each truth with the answers, and expected counts, story by story."
    T = block.n_truths
    z = np.r_[0, X[q] @ state.beta].ravel()
    sigma = np.exp(z) / np.exp(z).sum()
    cells = range(block.qptr[q], block.qptr[q + 1])
    joint, misled_count, opinion_count = np.zeros(T), 0.0, np.zeros((T, T))
    one = list(product((0, 1), (0, 1), range(T), range(T), repeat=1))
    for tau in range(T):
        for told in product(one, repeat=len(cells)):
            weight = sigma[tau]
            for c, (unclear, misled, seen, thought) in zip(cells, told):
                g = block.cell_group[c]
                weight *= state.zeta[g] if unclear else 1 - state.zeta[g]
                if misled:
                    weight *= state.eps[g] * sigma[seen]
                else:
                    weight *= (1 - state.eps[g]) * (seen == tau)
                weight *= state.opinion[g, seen, thought]
                for j in range(block.aptr[c], block.aptr[c + 1]):
                    e, r = block.who[j], block.said[j]
                    own = np.exp(z + state.lean[e])
                    own = own / own.sum() @ state.own[e, :, r]
                    chance = own if unclear else state.report[e, thought, r]
                    weight *= chance ** block.weight[j]
            joint[tau] += weight
            for unclear, misled, seen, thought in told:
                if not unclear:
                    misled_count += weight * misled
                    opinion_count[seen, thought] += weight
    return joint, misled_count, opinion_count


@pytest.mark.parametrize("n_truths", [2, 3])
def test_e_step_is_the_sum_over_all_stories(n_truths):
    rng = np.random.default_rng(n_truths)
    n, m = 4, 14
    question, who = rng.integers(0, n, m), rng.integers(0, 4, m)
    said = rng.integers(-1, n_truths, m)
    weight = rng.choice([1.0, 1.0, 2.5], m)
    group_of = np.array([0, 0, 1, 1])
    block = make_block(question, who, said, group_of, n, n_truths, weight=weight)
    setup, state = random_state_of(block, 2, rng)
    counts = e_step(state, block, setup.X, np.ones(n))
    misled, opinion = 0.0, np.zeros((n_truths, n_truths))
    for q in range(n):
        joint, by_looks, seen_thought = stories(block, state, setup.X, q)
        assert counts.posterior[q] == pytest.approx(joint / joint.sum(), abs=1e-12)
        assert counts.loglik[q] == pytest.approx(np.log(joint.sum()), abs=1e-10)
        misled += by_looks / joint.sum()
        opinion += seen_thought / joint.sum()
    assert counts.group[:, 1].sum() == pytest.approx(misled, abs=1e-10)
    assert counts.opinion.sum(0) == pytest.approx(opinion, abs=1e-10)
    cells = len(block.cell_group)
    assert counts.group.sum() == pytest.approx(cells, abs=1e-10)
    assert counts.unclear.sum() == pytest.approx(counts.group[:, 2].sum(), abs=1e-10)
    assert counts.target.sum() == pytest.approx(n + misled, abs=1e-10)


def test_order_of_answers_does_not_matter(example):
    d, _, F = example
    m = AnswerClustering().fit(None, answers=d, question_features=F)
    mixed = d.sample(frac=1, random_state=0)
    A = Answers.from_frame(mixed)
    first = d.drop_duplicates(["a", "b"]).set_index(["a", "b"])
    G = first.loc[list(zip(A.questions.a, A.questions.b)), ["alike"]].to_numpy()
    again = AnswerClustering().fit(None, answers=A, question_features=G)
    a, b = d.a.unique(), d.b.unique()
    assert again.pair_proba(a, b) == pytest.approx(m.pair_proba(a, b), abs=1e-4)
    assert again.pair_proba(b, a) == pytest.approx(again.pair_proba(a, b))


def test_weight_two_is_two_answers():
    rng = np.random.default_rng(0)
    q, e, r = np.repeat(np.arange(30), 3), np.tile(np.arange(3), 30), rng.integers(0, 2, 90)
    heavy = make_block(q, e, r, np.zeros(3, int), 30, weight=np.full(90, 2.0))
    double = make_block(np.r_[q, q], np.r_[e, e], np.r_[r, r], np.zeros(3, int), 30)
    one, two = (run_em(make_setup(b), tol=1e-12).counts.posterior for b in (heavy, double))
    assert one == pytest.approx(two, abs=1e-6)


def test_weight_zero_is_no_answer(example):
    d, _, _ = example
    part = d.assign(weight=np.where(np.arange(len(d)) < 600, 1.0, 0.0))
    with_zero = AnswerClustering(grouping="given").fit(None, answers=part)
    only = AnswerClustering(grouping="given").fit(None, answers=d.iloc[:600])
    n = only.answers_.n_questions
    assert with_zero.question_proba_[:n, 1] == pytest.approx(
        only.question_proba_[:, 1], abs=0.02
    )


def test_limit_is_dawid_skene_with_looks(example):
    d, _, F = example
    d = d[d.group == "people"]
    A = Answers.from_frame(d)
    E = len(A.annotators)
    held = dict(eps=0.0, zeta=0.0, opinion=np.eye(2))
    cast = cast_answers(A, F, np.arange(E))[0]
    end = run_em(make_setup(cast.block, F, fixed=held), max_iter=500, tol=1e-13)
    beta, R = end.state.beta[:, 0], end.state.report[:, :, :2]
    X = np.c_[np.ones(len(F)), (F - F.mean(0)) / F.std(0)]
    channel = np.argsort(cast.channel_annotator)
    for q in range(0, A.n_questions, 7):
        odds = X[q] @ beta
        for e, r in zip(A.annotator[A.question == q], A.response[A.question == q]):
            odds += np.log(R[channel[e], 1, r] / R[channel[e], 0, r])
        assert end.counts.posterior[q, 1] == pytest.approx(
            1 / (1 + np.exp(-odds)), abs=1e-9
        )
    # the tables are what the posteriors count
    p = end.counts.posterior[A.question, 1]
    share = np.bincount(A.response[A.response >= 0], minlength=2) + 1
    blindly = 0.9 * np.array([0, 1]) + 0.1 * share / share.sum()
    for e in range(0, E, 9):
        mine = A.annotator == e
        same = np.array([(p[mine] * (A.response[mine] == r)).sum() for r in (0, 1)])
        mean = (same + 10 * blindly) / (same.sum() + 10)
        table = (same + 5 * mean) / (same.sum() + 5)
        assert R[channel[e], 1] == pytest.approx(table, abs=1e-5)


def test_ascent_where_nothing_is_cut(example):
    "With ζ = 0 and the means of the groups fixed by one member each, EM climbs."
    d, _, F = example
    A = Answers.from_frame(d[d.group == "model"])
    cast = cast_answers(A, F, np.arange(len(A.annotators)))[0]
    weak = Priors(member=1e-9, group=1e-9, ridge=1e-9, misled=(1e-9, 1e-9),
                  missed=(1e-9, 0.1), imagined=(1e-9, 0.02), unsure=1e-9)  # fmt: skip
    fixed = dict(zeta=0.0, eps=0.1, opinion=np.eye(2))
    history = run_em(make_setup(cast.block, F, weak, fixed=fixed), tol=1e-12).history
    assert (np.diff(history) > -1e-6).all()


def test_a_lone_group_is_flat_in_eps_and_two_are_not(example):
    d, _, F = example
    spread = {}
    for name, part in (("one", d[d.group == "model"]), ("two", d)):
        A = Answers.from_frame(part)
        setup = make_setup(cast_answers(A, F)[0].block, F)
        state = run_em(setup).state
        values = []
        for eps in (0.0, 0.1, 0.3, 0.7):
            moved = state._replace(eps=np.full(len(state.eps), eps))
            values.append(e_step(moved, setup.block, setup.X, setup.teach).loglik.sum())
        spread[name] = np.ptp(values)
    assert spread["one"] < 1e-8 and spread["two"] > 5


def test_looks_step_climbs_to_the_maximum():
    rng = np.random.default_rng(4)
    X = np.c_[np.ones(200), rng.normal(size=(200, 2))]
    target = rng.dirichlet(np.ones(3), size=200) * rng.uniform(0.5, 2, 200)[:, None]
    beta = np.zeros((3, 2))
    for _ in range(30):
        beta = looks_step(beta, X, target, 2.0)

    def loss(flat):
        z = np.c_[np.zeros(200), X @ flat.reshape(3, 2)]
        log_p = z - np.log(np.exp(z).sum(1, keepdims=True))
        ridge = 2.0 * (flat.reshape(3, 2)[1:] ** 2).sum() + 1e-3 * (flat[:2] ** 2).sum()
        return -(target * log_p).sum() + ridge / 2

    best = minimize(loss, np.zeros(6), method="BFGS").x.reshape(3, 2)
    assert beta == pytest.approx(best, abs=1e-4)


def test_ordered_table_is_the_constrained_maximum():
    counts = np.array([[9.0, 2.0, 6.0, 1.0], [1.0, 4.0, 3.0, 12.0]])
    R = ordered_table(counts)
    assert R.sum(1) == pytest.approx([1, 1])
    ratio = R[1] / R[0]
    assert (np.diff(ratio) > -1e-12).all()

    def tables(flat):
        rows = np.exp(flat.reshape(2, 4))
        return rows / rows.sum(1, keepdims=True)

    order = dict(
        type="ineq",
        fun=lambda f: np.diff(np.log(tables(f)[1]) - np.log(tables(f)[0])),
    )
    start = np.log(np.array([[4.0, 3, 2, 1], [1.0, 2, 3, 4]])).ravel()
    found = minimize(
        lambda f: -(counts * np.log(tables(f))).sum(), start, constraints=order,
        method="SLSQP", options=dict(maxiter=500, ftol=1e-12),
    )  # fmt: skip
    assert (counts * np.log(R)).sum() == pytest.approx(-found.fun, abs=1e-5)


def test_report_tables_shrink_members_to_their_group():
    block = make_block(
        np.arange(6), np.array([0, 0, 1, 1, 2, 2]), np.zeros(6, int), np.array([0, 0, 1]), 6
    )
    counts = np.zeros((3, 2, 3))
    counts[0, 1, :2] = [30, 10]
    report, _ = report_tables(counts, block, Priors(), np.zeros(3))
    mean = (np.array([30, 10]) + 10 * np.array([0.05, 0.95])) / 50
    assert report[1, 1, :2] == pytest.approx(mean), "no answers: the mean of the group"
    assert report[0, 1, :2] == pytest.approx((np.array([30, 10]) + 5 * mean) / 45)
    assert report[2, 1, :2] == pytest.approx([0.05, 0.95]), "another group learns nothing"


def test_better_than_the_rivals_on_simulated_answers():
    gains = []
    for seed in range(4):
        d = realistic_answers(700, ["people", "model"], random_state=20 + seed)
        A, one = Answers.from_frame(d), d.drop_duplicates(["a", "b"])
        t, F = (one.truth == "same").to_numpy(), one[["alike"]].to_numpy()
        found = rivals(A.question, A.annotator, A.response, A.group_of, A.n_questions, F)
        best = min(answer_scores(p, t)["log-loss"] for p in found.values())
        m = AnswerClustering(random_state=seed).fit(None, answers=A, question_features=F)
        gains.append(best - answer_scores(m.question_proba_[:, 1], t)["log-loss"])
    assert np.mean(gains) > 0


def test_answer_proba_and_suspects(example):
    d, t, F = example
    m = AnswerClustering().fit(None, answers=d, question_features=F)
    unsure = (d.answer == "unsure").to_numpy()
    assert np.isnan(m.answer_proba_[unsure]).all()
    p = m.question_proba_[m.answers_.question, 1]
    said = (d.answer == "same").to_numpy()
    expected = np.where(said, p, 1 - p)
    assert m.answer_proba_[~unsure] == pytest.approx(expected[~unsure])
    assert (m.suspicion_[unsure] == 0).all()
    s = m.suspicion_[m.suspects_]
    assert (s > 0.5).all() and (np.diff(s) <= 1e-12).all()
    wrong = (d.answer != d.truth).to_numpy()
    assert wrong[m.suspects_].mean() > 0.75
    assert m.question_proba_[:, :2].sum(1) == pytest.approx(np.ones(len(t)))


def test_same_seed_same_result(example):
    d, _, F = example
    one, two = (
        AnswerClustering(random_state=5).fit(None, answers=d, question_features=F)
        for _ in range(2)
    )
    assert np.array_equal(one.question_proba_[:, :2], two.question_proba_[:, :2])


def test_annotators_table(example):
    d, _, F = example
    m = AnswerClustering().fit(None, answers=d, question_features=F)
    t = m.annotators_
    assert list(t.columns[:6]) == [
        "annotator",
        "group",
        "n_answers",
        "accuracy",
        "low",
        "high",
    ]
    assert t.n_answers.sum() == len(d)
    assert ((t.low < t.accuracy) & (t.accuracy < t.high)).all()
    many, few = t.sort_values("n_answers").iloc[-1], t.sort_values("n_answers").iloc[0]
    assert many.high - many.low < few.high - few.low


def test_intervals_cover_known_accuracies():
    "Simulation-based: accuracies drawn, answers drawn, the 90 % interval holds about 90 %."
    inside, total = 0, 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        accuracy = rng.beta(12, 2, size=12)
        truth = rng.random(150) < 0.4
        q = np.repeat(np.arange(150), 4)
        e = np.concatenate([rng.permutation(12)[:4] for _ in range(150)])
        right = rng.random(600) < accuracy[e]
        said = np.where(right, truth[q], ~truth[q])
        names = [f"w{k:02d}" for k in range(12)]
        A = Answers(
            [f"a{k}" for k in q], [f"b{k}" for k in q],
            np.where(said, "same", "different"), annotator=[names[k] for k in e],
        )  # fmt: skip
        m = AnswerClustering(grouping="alone").fit(None, answers=A)
        t = m.annotators_.set_index("annotator").loc[names]
        inside += ((t.low <= accuracy) & (accuracy <= t.high)).sum()
        total += 12
    assert 0.8 <= inside / total <= 0.99


def test_accuracy_interval_narrows():
    n = np.array([5.0, 50.0, 500.0])
    mean, low, high = accuracy_interval(n, 0.9 * n, 0.0 * n)
    assert (np.diff(high - low) < 0).all() and (low < mean).all() and (mean < high).all()
    _, low2, high2 = accuracy_interval(n, 0.9 * n, 0.09 * n)
    assert (high2 - low2 > high - low).all(), "unknown truths widen the interval"


def test_prompts_are_found_to_be_one_group():
    crews = ["people", CREWS["model"]._replace(misled=0.15, unsure=0.0)]
    d = realistic_answers(1200, crews, random_state=8)
    d["group"] = d.annotator.where(d.group == "model", "people")
    F = d.drop_duplicates(["a", "b"])[["alike"]].to_numpy()
    m = AnswerClustering(grouping="cv").fit(None, answers=d, question_features=F)
    of = dict(zip(m.answers_.annotators, m.group_of_))
    prompts = {g for e, g in of.items() if e.startswith("model")}
    people = {g for e, g in of.items() if e.startswith("people")}
    assert len(prompts) == 1 and len(people) == 1 and prompts != people
    heldout = m.chosen_["heldout"]
    assert heldout[m.chosen_["grouping"]] > heldout["given"] + 5
    assert heldout["given"] > heldout["one"], "true groups lose when merged"


def test_given_groups_are_kept(example):
    d, _, F = example
    m = AnswerClustering().fit(None, answers=d, question_features=F)
    assert m.chosen_ == dict(grouping="given", heldout=None)
    assert np.array_equal(m.group_of_, m.answers_.group_of)


def test_without_groups_held_out_answers_decide(example):
    d, _, _ = example
    m = AnswerClustering().fit(None, answers=d.drop(columns="group"))
    score, best = m.chosen_["heldout"], m.chosen_["grouping"]
    assert {"given", "alone", "one"} <= set(score) and all(v < 0 for v in score.values())
    assert best == "given" or score[best] == max(score.values()) > score["given"]


def test_heldout_foresees_better_with_the_right_looks(example):
    d, _, F = example
    A = Answers.from_frame(d)
    m = AnswerClustering()
    noise = np.random.default_rng(0).normal(size=F.shape)
    good, bad = (heldout_loglik(m, A, X, A.group_of) for X in (F, noise))
    assert good > bad + 10


def test_merged_groups_never_join_all(example):
    A = Answers.from_frame(example[0])
    assert merged_groups(A) == {}, "two groups: nothing to join but all"


def test_shared_errors_say_what_is_assumed(example):
    d, _, F = example
    two = AnswerClustering().fit(None, answers=d, question_features=F).shared_errors_
    assert two.how.str.contains("product").all()
    part = d[d.group == "model"]
    lone = AnswerClustering().fit(None, answers=part, question_features=F).shared_errors_
    assert lone.how[0] == (
        "shared error assumed 10 %, not learned: no other group to compare with"
    )
    assert lone.misled[0] == pytest.approx(0.1, abs=1e-6)


# other kinds of questions


def test_triples_find_the_truth_and_the_careless():
    rng = np.random.default_rng(0)
    words = np.array(["ab", "ac", "bc", "none"])
    truth = rng.integers(0, 4, 150)
    rows = []
    for q, t in enumerate(truth):
        for e, accuracy in enumerate((0.9, 0.85, 0.8, 0.3)):
            r = t if rng.random() < accuracy else rng.integers(0, 4)
            rows.append((f"a{q}", f"b{q}", f"c{q}", words[r], f"w{e}", "people"))
    d = pd.DataFrame(rows, columns=["a", "b", "c", "answer", "annotator", "group"])
    m = AnswerClustering().fit(None, answers=d)
    assert (m.question_proba_.argmax(1) == truth).mean() > 0.9
    accuracy = m.annotators_.set_index("annotator").accuracy
    assert accuracy.idxmin() == "w3" and accuracy["w3"] < 0.6
    with pytest.raises(ValueError, match="No pair was asked"):
        m.pair_proba("a0", "b0")


def test_comparisons():
    rng = np.random.default_rng(1)
    left = rng.random(200) < 0.5
    rows = []
    for q in range(200):
        for e in range(3):
            r = left[q] if rng.random() < 0.85 else not left[q]
            rows.append((f"a{q}", f"b{q}", f"c{q}", "left" if r else "right", f"w{e}"))
    d = pd.DataFrame(rows, columns=["a", "b", "c", "answer", "annotator"])
    m = AnswerClustering(grouping="alone").fit(None, answers=d.assign(kind="comparison"))
    assert ((m.question_proba_[:, 0] > 0.5) == left).mean() > 0.88
    assert np.isnan(m.question_proba_[:, 2:]).all()


def graded_frame(n, rng, cuts):
    same = rng.random(n) < 0.4
    rows = []
    for name, cut in cuts.items():
        felt = rng.normal(np.where(same, 1.0, -1.0), 0.8)
        for q, g in enumerate(1 + np.digitize(felt, cut)):
            rows.append((f"u{q}", f"v{q}", int(g), "grade", name, "people"))
    return pd.DataFrame(
        rows, columns=["a", "b", "answer", "kind", "annotator", "group"]
    ), same


def test_grades_learn_a_scale_for_everybody():
    cuts = {
        "strict": (-0.2, 0.9, 1.8),
        "mild": (-1.8, -0.9, 0.2),
        "usual": (-0.8, 0.0, 0.8),
    }
    d, same = graded_frame(400, np.random.default_rng(3), cuts)
    m = AnswerClustering().fit(None, answers=d)
    assert ((m.question_proba_[:, 1] > 0.5) == same).mean() > 0.95
    cast, _, fit, _ = m.fits_["pair"]
    tells = {}
    for c, e in enumerate(cast.channel_annotator):
        R = fit.state.report[c, :, :4]
        ratio = np.log(R[1] / R[0])
        assert (np.diff(ratio) > -1e-9).all()
        tells[m.answers_.annotators[e]] = ratio
    assert tells["strict"][2] > tells["mild"][2] + 1, "a strict 3 says more than a mild 3"


def test_a_pair_and_its_grades_share_one_truth():
    d, same = graded_frame(200, np.random.default_rng(5), {"usual": (-0.8, 0.0, 0.8)})
    asked = pd.DataFrame(
        dict(
            a=[f"v{q}" for q in range(200)],
            b=[f"u{q}" for q in range(200)],
            answer=np.where(same, "same", "different"),
            kind="pair",
            annotator="oracle",
            group="other",
        )
    )
    both = pd.concat([d, asked], ignore_index=True)
    m = AnswerClustering().fit(None, answers=both)
    n = 200
    assert m.answers_.n_questions == 2 * n
    p = m.question_proba_[:, 1]
    assert p[:n] == pytest.approx(p[n:]), "two questions, one truth"
    assert ((p[:n] > 0.5) == same).mean() > 0.97


# odd tables


@pytest.fixture(scope="module")
def crowd():
    return realistic_answers(200, [CREWS["people"]._replace(size=8)], random_state=11)


def chances(d, **kw):
    m = AnswerClustering(**kw).fit(None, answers=d)
    return m, m.question_proba_[:, 1]


@pytest.mark.parametrize("said", ["same", "different"])
def test_one_sided_answers_are_believed(crowd, said):
    m, p = chances(crowd.assign(answer=said))
    assert ((p > 0.9) if said == "same" else (p < 0.1)).all()
    assert np.isfinite(m.annotators_.accuracy).all()


def test_unanimous_answers_are_believed_with_a_doubt(crowd):
    m, p = chances(crowd.assign(answer=crowd.truth))
    t = (crowd.drop_duplicates(["a", "b"]).truth == "same").to_numpy()
    assert ((p > 0.5) == t).all()
    assert p.max() < 0.999, "a lone group is never certain"
    assert len(m.suspects_) == 0


def test_one_annotator_keeps_the_prior(crowd):
    one = crowd.drop_duplicates(["a", "b"]).assign(annotator="x", group="x")
    m, p = chances(one)
    said = (one.answer == "same").to_numpy()
    assert (p[said].min() > p[~said].max()) and (p[said] > 0.5).all()
    report = m.fits_["pair"][2].state.report[0]
    same = (said.sum() + 1) / (len(said) + 2)
    assert report[0, 1] == pytest.approx(0.1 * same), "a false match is as rare as a match"
    assert report[1, 0] == pytest.approx(0.1 * (1 - same))


def test_one_answer_a_question_without_features(crowd):
    one = crowd.drop_duplicates(["a", "b"])
    _, p = chances(one)
    assert ((p > 0.5) == (one.answer == "same").to_numpy()).all(), "each answer is believed"


def test_a_liar_among_others_is_found_and_turned(crowd):
    opposite = crowd.truth.map({"same": "different", "different": "same"})
    lies = crowd.annotator == "people/03"
    m, p = chances(crowd.assign(answer=np.where(lies, opposite, crowd.truth)))
    t = m.annotators_.set_index("annotator")
    assert t.loc["people/03", "worse_than_chance"] and t.worse_than_chance.sum() == 1
    truth = (crowd.drop_duplicates(["a", "b"]).truth == "same").to_numpy()
    assert ((p > 0.5) == truth).mean() > 0.99
    assert set(m.suspects_) == set(np.flatnonzero(lies))


def test_if_everybody_lies_all_is_inverted(crowd):
    opposite = crowd.truth.map({"same": "different", "different": "same"})
    _, p = chances(crowd.assign(answer=opposite))
    truth = (crowd.drop_duplicates(["a", "b"]).truth == "same").to_numpy()
    assert ((p > 0.5) == truth).mean() < 0.05


def test_copies_in_one_group_add_no_certainty(crowd):
    copies = [
        crowd[crowd.annotator == "people/01"].assign(annotator=f"copy{k}") for k in range(6)
    ]
    _, more = chances(pd.concat([crowd, *copies]), grouping="given")
    assert np.maximum(more, 1 - more).max() < 0.995
    ds = rivals_certainty(pd.concat([crowd, *copies]))
    assert np.maximum(more, 1 - more).mean() < ds


def rivals_certainty(d):
    A = Answers.from_frame(d)
    found = rivals(A.question, A.annotator, A.response, A.group_of, A.n_questions)
    p = found["Dawid–Skene"]
    return np.maximum(p, 1 - p).mean()


def test_only_unsure_says_nothing(crowd):
    m, p = chances(crowd.assign(answer="unsure"))
    assert np.allclose(p, p[0]) and np.isnan(m.answer_proba_).all()
    assert len(m.suspects_) == 0


@pytest.mark.parametrize("word", ["same", "different"])
def test_a_prompt_that_never_answers_takes_nothing_from_the_others(crowd, word):
    "All its replies are unreadable: chances are as if it were not there."
    first = crowd.drop_duplicates(["a", "b"])
    mute = first.assign(annotator="mute", group="mute", answer="unsure")
    F = first[["alike"]].to_numpy()
    m = AnswerClustering().fit(None, answers=crowd, question_features=F)
    both = pd.concat([crowd, mute], ignore_index=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        n = AnswerClustering().fit(None, answers=both, question_features=F)
        some = crowd.assign(answer=np.where(crowd.answer == word, "unsure", crowd.answer))
        one_word = AnswerClustering().fit(None, answers=some, question_features=F)
    assert n.question_proba_[:, 1] == pytest.approx(m.question_proba_[:, 1], abs=0.02)
    assert np.isfinite(one_word.question_proba_[:, :2]).all()


def test_unsure_can_speak():
    "Somebody who is unsure on matches only: being unsure becomes a hint."
    d = realistic_answers(600, [CREWS["people"]._replace(miss=0.05)], random_state=1)
    match = (d.drop_duplicates(["a", "b"]).truth == "same").to_numpy()
    shy = d.drop_duplicates(["a", "b"]).assign(
        annotator="shy", group="shy", answer=np.where(match, "unsure", "different")
    )
    m = AnswerClustering().fit(None, answers=pd.concat([d, shy]))
    cast, _, fit, _ = m.fits_["pair"]
    e = list(m.answers_.annotators).index("shy")
    told = fit.state.report[np.flatnonzero(cast.channel_annotator == e)[0], :, 2]
    assert told[1] > told[0] + 0.4


def test_constant_feature_is_no_feature(crowd):
    F = np.ones((200, 1))
    m = AnswerClustering().fit(None, answers=crowd, question_features=F)
    assert np.isfinite(m.question_proba_[:, :2]).all()


def test_where_matches_are_rare_each_single_answer_is_believed():
    "A fixed noise of 5 % either way would not believe any match at this base rate."
    truth = np.arange(400) % 25 == 0
    d = pd.DataFrame(dict(a=np.arange(400), b=1000 + np.arange(400), annotator="x",
                          answer=np.where(truth, "same", "different")))  # fmt: skip
    _, p = chances(Answers.from_frame(d, ids=True))
    assert (p[truth] > 0.7).all() and (p[~truth] < 0.05).all()


def test_features_that_foresee_nothing_are_left_out(crowd):
    A = Answers.from_frame(crowd)
    noise = np.random.default_rng(0).normal(size=(A.n_questions, 2))
    m = AnswerClustering().fit(None, answers=A, question_features=noise)
    without = AnswerClustering().fit(None, answers=A)
    assert "left_out" in m.chosen_ and "left_out" not in without.chosen_
    same = pytest.approx(without.question_proba_[:, 1], abs=0.01)
    assert m.question_proba_[:, 1] == same
    alike = crowd.drop_duplicates(["a", "b"])[["alike"]].to_numpy()
    told = AnswerClustering().fit(None, answers=A, question_features=alike)
    assert "left_out" not in told.chosen_


def test_being_unsure_hints_at_nothing_where_nobody_else_answered():
    d = realistic_answers(400, [CREWS["people"]._replace(per_question=1, size=1)],
                          random_state=3)  # fmt: skip
    rng = np.random.default_rng(0)
    hides = (rng.random(400) < 0.4).astype(bool)
    d["answer"] = np.where(hides, "unsure", d.answer)
    m = AnswerClustering().fit(None, answers=d, question_features=d[["alike"]].to_numpy())
    told = m.fits_["pair"][2].state.report[0, :, 2]
    assert told == pytest.approx([hides.mean()] * 2)


# input


def test_errors_name_what_is_wrong(example):
    d, _, F = example
    with pytest.raises(ValueError, match="needs answers="):
        AnswerClustering().fit(None)
    with pytest.raises(ValueError, match=r"shape \(5, 1\): give one row .* 400"):
        AnswerClustering().fit(None, answers=d, question_features=F[:5])
    bad = F.copy()
    bad[7] = np.nan
    with pytest.raises(ValueError, match="1 rows .* not finite: the first is row 7"):
        AnswerClustering().fit(None, answers=d, question_features=bad)
    with pytest.raises(ValueError, match="must be a table of numbers: could not convert"):
        AnswerClustering().fit(None, answers=d, question_features=["x"] * 400)
    with pytest.raises(ValueError, match="grouping"):
        AnswerClustering(grouping="mine").fit(None, answers=d)
    with pytest.raises(ValueError, match="n_init"):
        AnswerClustering(n_init=0).fit(None, answers=d)
    m = AnswerClustering().fit(None, answers=d)
    with pytest.raises(ValueError, match="1 pairs were never asked: the first is"):
        m.pair_proba(d.a.iloc[0], "nobody")


def test_pair_proba_of_numbers_and_arrays(example):
    d, _, _ = example
    m = AnswerClustering().fit(None, answers=d)
    one = m.pair_proba(d.a.iloc[0], d.b.iloc[0])
    assert isinstance(one, float) and one == m.question_proba_[0, 1]
    many = m.pair_proba(d.a.iloc[:9], d.b.iloc[:9])
    assert many.shape == (9,) and many[0] == one


def test_constraints_are_answers_too():
    c = Constraints(
        [0, 1, 2] * 3, [3, 4, 5] * 3, [1, 1, -1] * 3, expert=[0] * 3 + [1] * 3 + [2] * 3
    )
    m = AnswerClustering().fit(None, constraints=c)
    assert m.pair_proba(0, 3) > 0.5 > m.pair_proba(2, 5)


# real answers


@real
@pytest.mark.parametrize(
    "name, f1, brier, log_loss, calibration",
    [
        ("products", 0.935, 0.021, 0.080, 0.015),
        ("products_people", 0.85, 0.030, 0.105, 0.02),
        ("products_model", 0.91, 0.026, 0.105, 0.02),
        ("restaurants", 0.917, 0.008, 0.036, 0.02),
    ],
)
def test_real_answers_without_their_truth(name, f1, brier, log_loss, calibration):
    d = read_answers(name)
    A = Answers.from_frame(d)
    t = (d.drop_duplicates(["a", "b"]).truth == "same").to_numpy()
    F = None
    if name != "restaurants":
        texts = ["name", "description"]
        F = text_similarity(read_items(name), A.questions.a, A.questions.b, texts)
    m = AnswerClustering(random_state=3).fit(None, answers=A, question_features=F)
    s = answer_scores(m.question_proba_[:, 1], t)
    assert s["F1"] >= f1 and s["Brier"] <= brier
    assert s["log-loss"] <= log_loss and s["calibration"] <= calibration
    found = rivals(A.question, A.annotator, A.response, A.group_of, A.n_questions, F)
    for p in found.values():
        rival = answer_scores(p, t)
        assert s["log-loss"] <= rival["log-loss"] and s["Brier"] <= rival["Brier"]
        assert s["F1"] >= rival["F1"] - 0.02


@real
def test_real_prompts_are_grouped_again():
    d = read_answers("products")
    d["group"] = d.annotator.where(d.group == "gpt-4o-mini", "people")
    A = Answers.from_frame(d)
    F = text_similarity(
        read_items("products"), A.questions.a, A.questions.b, ["name", "description"]
    )
    m = AnswerClustering(grouping="cv").fit(None, answers=A, question_features=F)
    assert m.chosen_["grouping"] == "2 groups"


def test_features_of_items_are_handed_over():
    "One place hands over to `csc_nb.answer_items`; ids follow the rows of X."
    pytest.importorskip("csc_nb.answer_items")
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 20)
    X = rng.normal(size=(40, 2)) + 4 * y[:, None]
    ids = [f"r{i}" for i in range(40)]
    a = rng.integers(0, 40, 60)
    b = (a + rng.integers(1, 40, 60)) % 40
    said = np.where(y[a] == y[b], "same", "different")
    A = Answers([ids[i] for i in a], [ids[i] for i in b], said)
    m = AnswerClustering(2, random_state=0).fit(X, answers=A, sample_id=ids)
    assert len(np.unique(m.labels_[y == 0])) == 1 and m.labels_[0] != m.labels_[-1]
    assert m.pair_proba("r0", "r1") > 0.5 > m.pair_proba("r0", "r39")
    assert m.answer_proba_.shape == (60,) and (m.answer_proba_ > 0.5).all()
    with pytest.warns(UserWarning, match="answers name items that are not in X"):
        AnswerClustering(2, random_state=0).fit(X[:30], answers=A, sample_id=ids[:30])


def test_a_row_number_outside_x_is_an_error_and_a_missing_name_a_warning():
    X = np.random.default_rng(0).normal(size=(5, 2))
    for how in (dict(), dict(ids=False)):
        A = Answers([0, 1, 2], [1, 2, 5], ["same", "different", "same"], **how)
        with pytest.raises(ValueError, match=r"1 answer names rows outside X.*2: \(2, 5\)"):
            AnswerClustering(2, random_state=0).fit(X, answers=A)
    named = Answers(list("ab"), list("bz"), ["same", "different"])
    with pytest.warns(UserWarning, match="1 of 2 answers name items that are not in X"):
        AnswerClustering(2, random_state=0).fit(X, answers=named, sample_id=list("abcde"))


def test_constraints_by_id_are_found_by_sample_id():
    "Ids in any form of constraints mean the rows that `sample_id` names."
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(0, 1, (12, 2)), rng.normal(6, 1, (12, 2))]
    ids = np.array([f"p{i}" for i in range(24)])
    order = rng.permutation(24)
    told = [("p0", "p3", "same"), ("p1", "p14", "different"), ("p12", "p15", "same")]
    given = Constraints(*zip(*told), ids=True)
    plain = AnswerClustering(2, random_state=0).fit(X, constraints=[(0, 3, "same")])
    for form in (given, told):
        model = AnswerClustering(2, random_state=0)
        model.fit(X[order], constraints=form, sample_id=ids[order])
        rows = [[ids[order][r] for r in pair] for pair in located(model)]
        assert rows == [list(t[:2]) for t in told]
    assert plain.answers_.n_answers == 1


def located(model):
    "Rows of the pairs that a fitted model used."
    return (
        model.answers_.locate(24, model.row_id_, None, unknown="drop")[0].T[:, :2].tolist()
    )


def test_distance_of_groups_is_one_minus_cohens_kappa():
    "Three people of groups of their own, against scikit-learn's kappa."
    from sklearn.metrics import cohen_kappa_score

    from csc_nb.answer_model import group_distance

    rng = np.random.default_rng(1)
    true = rng.random(60) < 0.3
    said = [np.where(rng.random(60) < p, ~true, true) for p in (0.05, 0.1, 0.3)]
    A = Answers(
        np.tile(np.arange(60), 3),
        np.tile(np.arange(60, 120), 3),
        np.where(np.concatenate(said), "same", "different"),
        annotator=np.repeat(["a", "b", "c"], 60),
    )
    D = group_distance(A, np.arange(3))
    for g in range(3):
        for h in range(g):
            assert D[g, h] == pytest.approx(1 - cohen_kappa_score(said[g], said[h]))
    assert (group_distance(A, np.arange(3), least=61) == 1 - np.eye(3)).all()


def test_tables_after_a_fit_with_items_name_everybody_and_follow_the_level():
    rng = np.random.default_rng(2)
    y = np.repeat([0, 1], 20)
    X = rng.normal(size=(40, 2)) + 4 * y[:, None]
    a = rng.integers(0, 40, 90)
    b = (a + rng.integers(1, 40, 90)) % 40
    said = np.where(y[a] == y[b], "same", "different").astype(object)
    said[:6] = "unsure"
    who = np.array(["p", "q", "r"], dtype=object)[np.arange(90) % 3]
    ids = np.array([f"i{k}" for k in range(41)], dtype=object)
    lost = (["i40"], ["i0"], ["same"])  # the only answer of the last annotator
    A = Answers(
        [*ids[a], *lost[0]], [*ids[b], *lost[1]], [*said, *lost[2]],
        annotator=[*who, "z"], group=["team"] * 91,
    )  # fmt: skip
    wide = AnswerClustering(2, level=0.99)
    with pytest.warns(UserWarning, match="left out"):
        wide.fit(X, answers=A, sample_id=ids[:40].tolist())
    t = wide.annotators_
    assert t.annotator.tolist() == ["p", "q", "r", "z"]
    assert t.n_answers.tolist() == [30, 30, 30, 0]
    assert ((t.low < t.accuracy) & (t.accuracy < t.high)).all()
    assert t.unsure[0] == pytest.approx(2 / 30)
    narrow = t.high - t.low
    wide.set_params(level=0.5)
    assert (wide.annotators_.high - wide.annotators_.low < narrow).all()
    assert (wide.shared_errors_.columns[:2] == ["group", "misled"]).all()


@pytest.mark.parametrize("seed", [0, 4])
def test_silence_of_two_shy_prompts_is_no_answer(seed):
    "Where both are unsure nobody was heard: that cannot teach what being unsure means."
    two = CREWS["model"]._replace(size=2, per_question=2, unsure=0.0)
    d = realistic_answers(1500, [two], base_rate=0.05, gap=1.0, random_state=seed)
    shy = np.random.default_rng(seed).random(len(d)) < 0.6
    d["answer"] = np.where(shy, "unsure", d.answer)
    truth = (d.drop_duplicates(["a", "b"]).truth == "same").to_numpy()
    p = AnswerClustering().fit(None, answers=d).question_proba_[:, 1]
    silent = (d.answer == "unsure").groupby([d.a, d.b], sort=False).all().to_numpy()
    assert silent.sum() > 300
    assert p[silent].mean() < 0.12
    assert answer_scores(p, truth)["log-loss"] < 0.16


@real
def test_silence_of_two_real_prompts_is_not_taken_for_same():
    d, items = read_answers("products_model"), read_items("products_model")
    for two in combinations(sorted(d.annotator.unique()), 2):
        part = d[d.annotator.isin(two)].reset_index(drop=True)
        A = Answers.from_frame(part)
        F = text_similarity(items, A.questions.a, A.questions.b, ["name", "description"])
        truth = (part.drop_duplicates(["a", "b"]).truth == "same").to_numpy()
        p = AnswerClustering().fit(None, answers=A, question_features=F)
        assert answer_scores(p.question_proba_[:, 1], truth)["log-loss"] < 0.25, two
