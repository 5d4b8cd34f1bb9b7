"""Chapter 12: gradients, bounds, invariances, recovery, partial labelings."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp
from sklearn.metrics import normalized_mutual_info_score as nmi

from csc_nb.constraints import Constraints
from csc_nb.datasets import toy_experts
from csc_nb.experts import (
    TOP,
    ExpertClustering,
    ExpertFit,
    Settings,
    Starts,
    _gamma,
    _spread,
    _sweep,
    accuracies,
    accuracy_se,
    agree_prob,
    alternate_bound,
    answer_counts,
    answer_suspicion,
    bound_objective,
    distinct_fits,
    elbo,
    expected_log_lik,
    expert_weight,
    fit_starts,
    labeling_counts,
    make_panel,
    mf_init,
    mf_step,
    mf_value,
    neighbours_of,
    pair_weight,
    random_start,
)
from csc_nb.oracles import ExpertPanel
from csc_nb.softmax import num_grad, proba, probs

ACC = np.array([0.95, 0.85, 0.75, 0.65, 0.55])


def problem(seed, n=6, K=3, m=11, M=2):
    rng = np.random.default_rng(seed)
    pairs = np.array(list(itertools.combinations(range(n), 2)))[
        rng.permutation(n * (n - 1) // 2)[:m]
    ]
    c = Constraints(
        np.tile(pairs[:, 0], M),
        np.tile(pairs[:, 1], M),
        rng.choice([-1, 1], m * M),
        expert=np.repeat(np.arange(M), m),
        n_samples=n,
    )
    return (
        rng.normal(size=(n, K)),
        make_panel(c, n, all_rows=True),
        rng.uniform(0.5, 0.99, M),
        rng.uniform(0.5, 0.99, M),
    )


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "s", [Settings(), Settings(prior=(2.0, 3.0), mi_weight=0.3), Settings(low=0.0)]
)
def test_gradient_with_free_and_fixed_accuracies(seed, s):
    Z, panel, al, be = problem(seed)
    for acc in (None, (al, be)):
        G = bound_objective(*probs(Z), panel, s, acc)[1]
        np.testing.assert_allclose(
            G,
            num_grad(lambda z: bound_objective(*probs(z), panel, s, acc)[0], Z),
            atol=1e-6,
        )


def test_kernels_against_their_formulas():
    Z, panel, al, be = problem(1)
    P, a = proba(Z), pair_weight(panel, al, be)[0]
    A = np.zeros((6, 6))
    A[panel.i, panel.j] = A[panel.j, panel.i] = a
    np.testing.assert_allclose(
        _gamma(P, panel.i, panel.j), (P[panel.i] * P[panel.j]).sum(1)
    )
    np.testing.assert_allclose(_spread(P, panel.i, panel.j, a), A @ P)
    R, want = P.copy(), P.copy()
    _sweep(R, np.log(P), *neighbours_of(panel), a, np.arange(6))
    for i in range(6):
        z = np.log(P[i]) + A[i] @ want
        want[i] = np.exp(z - logsumexp(z))
    np.testing.assert_allclose(R, want)


@pytest.mark.parametrize("seed", range(10))
def test_bound_elbo_likelihood_are_in_order(seed):
    Z, panel, al, be = problem(seed)
    P, K, n = proba(Z), 3, 6
    R, a, nb = P.copy(), pair_weight(panel, al, be)[0], neighbours_of(panel)
    bound = elbo(R, np.log(P), panel, al, be)
    assert bound == pytest.approx(expected_log_lik(agree_prob(P, panel), panel, al, be))
    values = [bound]
    for _ in range(50):
        _sweep(R, np.log(P), *nb, a, np.arange(n))
        values.append(elbo(R, np.log(P), panel, al, be))
    assert (np.diff(values) > -1e-9).all()
    lab = np.array(list(itertools.product(range(K), repeat=n)))
    lik = [expected_log_lik((z[panel.i] == z[panel.j]) * 1.0, panel, al, be) for z in lab]
    assert values[-1] <= logsumexp(np.log(P[np.arange(n), lab]).sum(1) + lik) + 1e-9


def test_blocks_raise_their_objectives():
    t = toy_experts(80, 3, 10, spread=1.0, random_state=0)
    panel, s = (
        make_panel(ExpertPanel(t.target, ACC, random_state=0).sample(120), 80),
        Settings(prior=(1.5, 1.2), mi_weight=0.01),
    )
    X, fits = t.data[panel.rows], fit_starts(t.data, panel, 3, s, Starts(n_init=4))
    for f in fits:
        assert (np.diff(f.history) > -1e-9).all()
    assert [f.value for f in fits] == sorted((f.value for f in fits), reverse=True)
    st, nb = mf_init(X, panel, s, fits[0]), neighbours_of(panel)
    for _ in range(8):
        new = mf_step(st, X, panel, s, nb)
        assert new.value >= st.value - 1e-9
        st = new
    best = distinct_fits(fits, 2)
    assert len(best) == 1 or abs(best[0].value - best[1].value) > 1e-4


def test_coins_have_no_weight_and_a_flat_objective():
    Z, panel, *_ = problem(0)
    v, G = bound_objective(*probs(Z), panel, Settings(), (np.full(2, 0.5), np.full(2, 0.5)))
    assert (
        expert_weight(0.5, 0.5) == 0
        and v == pytest.approx(-np.log(2))
        and np.abs(G).max() < 1e-15
    )


@pytest.mark.parametrize("objective", ["paper", "marginal"])
def test_renaming_experts_and_rows(objective):
    t = toy_experts(60, 2, 10, spread=0.7, random_state=0)
    c = ExpertPanel(t.target, [0.95, 0.75, 0.6], random_state=0).sample(100)
    fit = lambda X, c: ExpertClustering(
        2,
        objective=objective,
        init="k-means",
        n_init=1,
        random_state=0,
        tol=1e-8,
        max_iter=2000,
    ).fit(X, constraints=c)
    base, perm = fit(t.data, c), np.array([2, 0, 1])
    other = fit(t.data, Constraints(c.a, c.b, c.value, expert=perm[c.expert], n_samples=60))
    np.testing.assert_allclose(other.sensitivity_[perm], base.sensitivity_, atol=1e-3)
    order = np.random.default_rng(0).permutation(60)
    where = np.argsort(order)
    moved = fit(
        t.data[order],
        Constraints(where[c.a], where[c.b], c.value, expert=c.expert, n_samples=60),
    )
    assert nmi(moved.labels_[where], base.labels_) == pytest.approx(1)
    np.testing.assert_allclose(moved.sensitivity_, base.sensitivity_, atol=1e-3)


def test_marginal_recovers_weights_that_the_bound_shrinks():
    t = toy_experts(200, 3, 10, spread=1.6, random_state=0)
    c = ExpertPanel(t.target, ACC, random_state=0).sample(500)
    made = 1 - np.array([12, 37, 62, 87, 112]) / 250
    paper, marg = (
        ExpertClustering(3, objective=o, n_init=5, random_state=0).fit(
            t.data, constraints=c
        )
        for o in ("paper", "marginal")
    )
    np.testing.assert_allclose(marg.expert_weights_, expert_weight(made, made), atol=0.6)
    assert paper.expert_weights_[0] < 3
    assert (np.diff(paper.expert_weights_) < 0).all()  # the order is right in both
    np.testing.assert_array_equal(paper.predict(t.data), paper.labels_)


def test_suspects_are_mostly_wrong_and_carry_their_expert():
    t = toy_experts(100, 3, 10, spread=0.6, random_state=0)
    c = ExpertPanel(t.target, ACC, random_state=0).sample(300)
    wrong = (t.target[c.a] == t.target[c.b]) != (c.value > 0)
    for o in ("paper", "marginal"):
        m = ExpertClustering(3, objective=o, n_init=4, random_state=0).fit(
            t.data, constraints=c
        )
        assert wrong[m.suspects_].mean() > 0.9
        assert m.suspicion_.shape == c.a.shape
        assert (np.diff(m.suspicion_[m.suspects_]) <= 0).all()
        assert set(m.suspects_) == set(np.flatnonzero(m.suspicion_ > 0.5))
        np.testing.assert_array_equal(m.suspect_experts_, c.expert[m.suspects_])


def test_prior_keeps_a_yes_sayer_finite_and_floor_admits_liars():
    t = toy_experts(60, 2, 10, spread=0.5, random_state=0)
    c = ExpertPanel(t.target, [0.9, 0.1], random_state=0).sample(100)
    liar = ExpertClustering(
        2, objective="marginal", min_accuracy=0, n_init=4, random_state=0
    ).fit(t.data, constraints=c)
    assert liar.expert_weights_[0] > 3 and liar.expert_weights_[1] < -3
    assert ExpertClustering(2, objective="marginal", n_init=4, random_state=0).fit(
        t.data, constraints=c
    ).expert_weights_[1] == pytest.approx(0, abs=1e-6)
    yes = Constraints(
        np.r_[c.a, c.a],
        np.r_[c.b, c.b],
        np.r_[c.value, np.ones(len(c.a), int)],
        expert=np.r_[c.expert, np.full(len(c.a), 2)],
        n_samples=60,
    )
    w = [
        ExpertClustering(2, prior=p, n_init=3, random_state=0)
        .fit(t.data, constraints=yes)
        .expert_weights_[2]
        for p in (None, (2.0, 2.0))
    ]
    assert w[0] > 10 > w[1]


def test_weights_count_as_repeats_and_dont_knows_say_nothing():
    a, b, v = [0, 1, 2], [3, 4, 5], [1, -1, 1]
    three = make_panel(Constraints(a, b, v, weight=[3, 1, 1], n_samples=6), 6)
    plain = make_panel(Constraints(a, b, v, n_samples=6), 6)
    assert three.total == plain.total + 2
    P = proba(np.random.default_rng(0).normal(size=(6, 2)))
    assert answer_counts(agree_prob(P, three), three)[0, 0, 0] == pytest.approx(
        answer_counts(agree_prob(P, plain), plain)[0, 0, 0] + 2 * P[0] @ P[3]
    )
    unsure = make_panel(Constraints(a + [0], b + [5], v + [0], n_samples=6), 6)
    assert unsure.total == plain.total and len(unsure.i) == 3


def test_silent_expert_gets_no_weight():
    c = Constraints(
        [0, 1], [2, 3], [1, -1], expert=["a", "a"], experts=["a", "b"], n_samples=4
    )
    al, be = accuracies(answer_counts(np.array([0.9, 0.2]), make_panel(c, 4)))
    assert al[1] == be[1] == 0.5
    assert np.isnan(accuracy_se(np.array([0.9, 0.2]), make_panel(c, 4), al, be)[0][1])


def test_without_answers_it_clusters():
    t = toy_experts(90, 3, 10, spread=0.4, random_state=0)
    for o in ("paper", "marginal"):
        m = ExpertClustering(3, objective=o, random_state=0).fit(t.data)
        assert (
            nmi(t.target, m.labels_) > 0.9
            and m.expert_weights_.tolist() == [0.0]
            and len(m.suspects_) == 0
        )


@pytest.mark.parametrize(
    "bad",
    [
        dict(objective="em"),
        dict(init="best"),
        dict(lam=-1),
        dict(mi_weight=-1),
        dict(min_accuracy=0.7),
        dict(prior=(0.5, 1)),
        dict(prior=3),
        dict(n_init=0),
        dict(n_refine=0),
        dict(n_clusters=99),
    ],
)
def test_bad_parameters_are_named(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        ExpertClustering(**bad).fit(np.random.default_rng(0).normal(size=(20, 2)))


def test_partial_labelings_are_small_and_right():
    rng = np.random.default_rng(0)
    labs = [
        np.where(rng.random(1000) < 0.7, rng.integers(4, size=1000), -1) for _ in range(27)
    ]
    c = Constraints.from_expert_labels(labs, random_state=0)
    assert c.n_experts == 27 and c.n_constraints < 5 * 27 * 1000
    L = np.array(labs)
    assert (L[c.expert, c.a] >= 0).all() and (L[c.expert, c.b] >= 0).all()
    np.testing.assert_array_equal(c.value > 0, L[c.expert, c.a] == L[c.expert, c.b])
    key = c.expert * 1_000_000 + c.a * 1000 + c.b
    assert len(np.unique(key)) == len(key)  # distinct pairs
    assert Constraints.from_expert_labels(labs, random_state=0) == c


def test_partial_labelings_in_every_form():
    import pandas as pd

    lab = np.array([0.0, 1, np.nan, 1, 0])
    want = Constraints.from_expert_labels([lab], per_row=None)
    assert want.n_constraints == 6
    for other in (
        [[0, 1, None, 1, 0]],
        [["x", "y", None, "y", "x"]],
        np.array([[0, 1, -1, 1, 0]]).T,
        {0: [0, 1, -1, 1, 0]},
    ):
        got = Constraints.from_expert_labels(other, per_row=None)
        np.testing.assert_array_equal(
            np.c_[got.a, got.b, got.value], np.c_[want.a, want.b, want.value]
        )
    d = Constraints.from_expert_labels(
        [{0: "x", 1: "y", 3: "y", 4: "x"}], per_row=None, n_samples=5
    )
    assert d.n_constraints == 6
    f = Constraints.from_expert_labels(
        pd.DataFrame({"ann": lab}, index=list("abcde")), per_row=None
    )
    assert f.experts == ("ann",) and list(f.ids) == list("abcde")


def test_labeling_counts_equal_all_pairs():
    rng = np.random.default_rng(0)
    P, lab = (
        proba(rng.normal(size=(25, 3))),
        np.where(rng.random(25) < 0.8, rng.integers(3, size=25), -1),
    )
    panel = make_panel(
        Constraints.from_expert_labels([lab], per_row=None), 25, all_rows=True
    )
    np.testing.assert_allclose(
        labeling_counts(P, lab), answer_counts(agree_prob(P, panel), panel)[0]
    )


def test_large_panels_are_sparse_and_agree_with_dense_ones():
    rng = np.random.default_rng(0)
    labs = [
        np.where(rng.random(400) < 0.5, rng.integers(3, size=400), -1) for _ in range(4)
    ]
    c = Constraints.from_expert_labels(labs, random_state=0)
    panel, P = make_panel(c, 400), None
    import scipy.sparse as sp

    sparse = panel._replace(yes=sp.csr_matrix(panel.yes), no=sp.csr_matrix(panel.no))
    P = proba(rng.normal(size=(len(panel.rows), 3)))
    for acc in (None, (np.full(4, 0.7), np.full(4, 0.8))):
        (v1, G1), (v2, G2) = (
            bound_objective(np.log(P), P, p, Settings(), acc) for p in (panel, sparse)
        )
        assert v1 == pytest.approx(v2)
        np.testing.assert_allclose(G1, G2, atol=1e-15)


PAGE = Path(__file__).resolve().parent.parent / "nbs" / "12_experts.ipynb"


def listing(*cells):
    "The names that cells of the chapter define: the literal algorithm stands there."
    source = {c["id"]: "".join(c["source"]) for c in json.loads(PAGE.read_text())["cells"]}
    names = {"np": np, "minimize": minimize, "product": itertools.product}
    for cell in cells:
        exec(source[cell], names)
    return names


def by_first(z):
    "Clusters numbered by their first row: two starts may end in the same partition."
    _, first, inverse = np.unique(z, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]


def three_stripes(seed, n=45):
    rng, y = np.random.default_rng(seed), np.arange(n) % 3
    X = np.c_[np.zeros(n), 2.2 * (y - 1)] + rng.normal(size=(n, 2)) * [2.0, 0.6]
    return X, y, ExpertPanel(y, [0.95, 0.8, 0.6], random_state=seed).sample(40)


@pytest.mark.parametrize("seed", [4, 5])
def test_as_published_is_the_listing_of_the_page(seed):
    X, y, c = three_stripes(seed)
    literal = listing("pub-12-list")["printed_experts"]
    draws = np.random.RandomState(seed).randint(2**31 - 1)
    same = (c.value > 0).astype(float)
    want = literal(X, 3, c.a, c.b, same, c.expert, draws, 4)
    est = ExpertClustering.as_published(n_clusters=3, n_init=4, random_state=seed)
    got = est.fit(X, constraints=c).labels_
    np.testing.assert_array_equal(by_first(got), by_first(want))


def test_alternating_updates_the_accuracies_and_stops_when_they_settle():
    X, y, c = three_stripes(0)
    panel, s = make_panel(c, len(X)), Settings()
    start, acc = random_start(3, 2, 3, np.random.default_rng(0))
    slow = alternate_bound(X[panel.rows], panel, s, start, acc)
    counts = answer_counts(agree_prob(slow.R, panel), panel)
    np.testing.assert_allclose(np.array(accuracies(counts)), [slow.alpha, slow.beta])
    assert slow.converged and len(slow.history) > 1
    assert (np.diff(slow.history) > -1e-9).all()


def test_standard_errors_are_the_scores_of_the_answers():
    "Beliefs between 0 and 1, weights, every answer on its own, derivatives by differences."
    a, b, v, m = [0, 0, 1, 2, 1], [1, 2, 2, 3, 3], [1, -1, 1, 1, -1], [0, 0, 1, 1, 0]
    w = [1.0, 2.0, 1.0, 0.5, 1.5]
    c = Constraints(a, b, v, expert=m, weight=w, n_samples=4)
    panel = make_panel(c, 4)
    gamma = np.array([0.9, 0.3, 0.6, 0.2, 0.7])[: len(panel.i)]
    alpha, beta, h = np.array([0.8, 0.7]), np.array([0.9, 0.6]), 1e-6
    pair = {
        (i, j): k for k, (i, j) in enumerate(zip(panel.rows[panel.i], panel.rows[panel.j]))
    }
    info = np.zeros((2, 2))
    for i, j, say, who, weight in zip(a, b, v, m, w):
        g = gamma[pair[i, j]]
        for kind, (acc, belief, right) in enumerate(
            ((alpha[who], g, say > 0), (beta[who], 1 - g, say < 0))
        ):
            log = [np.log(x if right else 1 - x) for x in (acc + h, acc - h)]
            info[kind, who] += weight * (belief * (log[0] - log[1]) / (2 * h)) ** 2
    got = np.array(accuracy_se(gamma, panel, alpha, beta))
    np.testing.assert_allclose(got, 1 / np.sqrt(info), rtol=1e-6)


def test_em_begins_with_a_third_of_the_error_rates():
    X, y, c = three_stripes(1)
    panel, s = make_panel(c, len(X)), Settings(low=0.0)
    P = proba(np.random.default_rng(0).normal(size=(len(panel.rows), 3)))
    alpha, beta = np.array([0.7, 0.2, 0.5]), np.array([0.91, 0.4, 1 - 1e-6])
    fit = ExpertFit(np.zeros((3, 2)), np.zeros(3), alpha, beta, P, 0.0, [], True)
    state = mf_init(X[panel.rows], panel, s, fit)
    np.testing.assert_allclose(state.alpha, [0.9, 0.2 / 3, 1 - 0.5 / 3])
    np.testing.assert_allclose(state.beta, [0.97, 0.4 / 3, TOP], atol=1e-9)
    half = mf_init(X[panel.rows], panel, Settings(), fit)
    assert half.alpha[1] == 0.5 and half.beta[1] == 0.5  # the floor still holds
    assert state.R is not fit.R and state.value == mf_value(state, X[panel.rows], panel, s)


def test_each_step_of_a_round_is_taken():
    X, y, c = three_stripes(2)
    panel, s = make_panel(c, len(X)), Settings()
    rows = X[panel.rows]
    fit = fit_starts(X, panel, 3, s, Starts(n_init=3))[0]
    state = mf_init(rows, panel, s, fit)
    new = mf_step(state, rows, panel, s, neighbours_of(panel))
    assert np.abs(new.R - state.R).max() > 1e-3  # beliefs
    counts = answer_counts(agree_prob(new.R, panel), panel)
    np.testing.assert_allclose(np.array(accuracies(counts)), [new.alpha, new.beta])
    assert np.abs(new.coef - state.coef).max() > 1e-3  # model
    assert new.value == pytest.approx(mf_value(new, rows, panel, s))


def test_units_do_not_matter_and_coef_is_in_units_of_X():
    X, y, c = three_stripes(3)
    fit = lambda X: ExpertClustering(3, n_init=4, random_state=0).fit(X, constraints=c)
    base, other = fit(X), fit(X * [1000, 0.001] + [7, -3])
    np.testing.assert_array_equal(base.labels_, other.labels_)
    np.testing.assert_allclose(base.coef_, other.coef_ * [1000, 0.001], rtol=1e-5)
    np.testing.assert_array_equal(other.predict(X * [1000, 0.001] + [7, -3]), other.labels_)
    plain = ExpertClustering(3, n_init=4, scale=False, random_state=0)
    assert nmi(plain.fit(X, constraints=c).labels_, base.labels_) <= 1


@pytest.mark.parametrize("kind", ["must", "cannot", "unanimous", "contradictory"])
@pytest.mark.parametrize("objective", ["paper", "marginal"])
def test_one_sided_answers_give_a_sensible_partition(kind, objective):
    t = toy_experts(90, 3, 10, spread=0.5, random_state=0)
    y = t.target
    c = Constraints.from_labels(y, n=200, random_state=0)
    keep = {"must": c.value > 0, "cannot": c.value < 0}.get(kind, c.value != 0)
    a, b, v, who = c.a[keep], c.b[keep], c.value[keep], np.zeros(keep.sum(), int)
    if kind == "unanimous":
        a, b, v = np.tile(a, 2), np.tile(b, 2), np.tile(v, 2)
        who = np.repeat([0, 1], len(who))
    if kind == "contradictory":
        a, b, v = np.tile(a, 2), np.tile(b, 2), np.r_[v, -v]
        who = np.repeat([0, 1], len(who))
    answers = Constraints(a, b, v, expert=who, n_samples=90)
    est = ExpertClustering(3, objective=objective, n_init=6, random_state=0)
    assert nmi(y, est.fit(t.data, constraints=answers).labels_) > 0.6


def test_old_name_of_the_information_weight():
    with pytest.warns(FutureWarning, match="mi_weight"):
        assert ExpertClustering(3, mi=0.5).mi_weight == 0.5


def test_suspicion_is_by_answer_in_the_order_given():
    c = Constraints([3, 0, 1], [1, 2, 2], [1, 0, -1], n_samples=4, value_kind="pm1")
    panel = make_panel(c, 4)
    gamma = np.zeros(len(panel.i))
    at = {
        (int(i), int(j)): k
        for k, (i, j) in enumerate(zip(panel.rows[panel.i], panel.rows[panel.j]))
    }
    gamma[at[1, 3]], gamma[at[1, 2]] = 0.8, 0.3
    want = {(1, 3): 0.2, (0, 2): 0.0, (1, 2): 0.3}
    got = answer_suspicion(gamma, panel, c)
    for k in range(3):
        pair = tuple(sorted((int(c.a[k]), int(c.b[k]))))
        assert got[k] == pytest.approx(want[pair])


def test_objective_is_a_cost_that_never_rises():
    X, y, c = three_stripes(5)
    for kw in (dict(), dict(objective="marginal"), dict(solver="alternate")):
        est = ExpertClustering(3, n_init=3, random_state=0, **kw).fit(X, constraints=c)
        assert (np.diff(est.objective_history_[-20:]) < 1e-9).all()
