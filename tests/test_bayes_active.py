"""Chapter 15: exact sums on forests, the sampler, the criteria, and the learner."""

from itertools import product

import numpy as np
import pytest
from scipy import stats
from scipy.special import softmax

from csc_nb import bayes_active as ba
from csc_nb.bayes_active import (
    BayesForm,
    BayesianActiveClustering,
    Cloud,
    EMPTY,
    ess_step,
    factor_table,
    grow_forest,
    prior_draws,
)
from csc_nb.datasets import toy_active
from csc_nb.metrics import ari
from csc_nb.oracles import NoisyOracle, drive
from csc_nb.softmax import num_grad, probs

TOY = toy_active(60, random_state=0)
X, Y = TOY.data, TOY.target


def learner(**kw):
    "A learner of two clusters; what is a rule goes into its form."
    rules = BayesForm().get_params()
    form = BayesForm(**{k: v for k, v in kw.items() if k in rules})
    others = {k: v for k, v in kw.items() if k not in rules}
    return BayesianActiveClustering(**{"n_clusters": 2, "form": form, **others})


def brute(P, nodes, answers, eps):
    m, K = P.shape
    at = {i: t for t, i in enumerate(nodes)}
    L = np.array(list(product(range(K), repeat=m)))
    w = P[np.arange(m), L].prod(1)
    for rows, code in answers:
        w = w * factor_table(code, K, eps)[tuple(L[:, at[i]] for i in rows)]
    Z = w.sum()
    Q = np.array([[w[L[:, i] == k].sum() for k in range(K)] for i in range(m)]) / Z
    G = np.array([[w[L[:, i] == L[:, j]].sum() for j in range(m)] for i in range(m)]) / Z
    return np.log(Z), Q, G, L, w


def random_answers(rng, n, triples, cycles):
    comp, out = np.arange(n), []
    for _ in range(12):
        rows = rng.choice(n, 3 if triples and rng.random() < 0.5 else 2, replace=False)
        new = len(set(comp[rows])) == len(rows)
        if not new and not (cycles and len(rows) == 2):
            continue
        out.append(
            (
                tuple(rows.tolist()),
                int(rng.choice([1, -1]) if len(rows) == 2 else rng.integers(2, 6)),
            )
        )
        comp[np.isin(comp, comp[rows])] = comp[rows].min()
    return out


@pytest.mark.parametrize("kind", ["pairs", "triples", "cycles"])
def test_forest_sums_equal_brute_force(kind):
    rng = np.random.default_rng(0)
    for _ in range(25):
        K, eps, n = rng.integers(2, 4), rng.uniform(0.01, 0.4), rng.integers(4, 8)
        answers = random_answers(rng, n, kind == "triples", kind == "cycles")
        f = grow_forest(answers)
        P = rng.dirichlet(np.ones(K), (2, len(f.nodes)))
        logZ, Q = ba.sum_product(P, f, eps)
        for s in range(2):
            z, q, G, L, w = brute(P[s], f.nodes.tolist(), answers, eps)
            assert abs(z - logZ[s]) < 1e-11 and abs(q - Q[s]).max() < 1e-11
            best = ba.max_product(P[s], f, eps)
            assert w[(L == best).all(1)][0] > w.max() * (1 - 1e-12)
            same = f.tree[:, None] == f.tree
            if kind != "triples":
                assert abs(ba.agreement_within(P, f, eps)[s] - G)[same].max() < 1e-10
                assert abs(q @ q.T - G)[~same].max(initial=0) < 1e-12


def test_product_formula_is_wrong_inside_a_tree():
    answers = [((0, 1), 1), ((1, 2), 1)]
    f = grow_forest(answers)
    P = np.full((3, 2), 0.5)
    _, q, G, *_ = brute(P, [0, 1, 2], answers, 0.05)
    assert abs(q[0] @ q[2] - G[0, 2]) > 0.3
    assert abs(ba.agreement_within(P[None], f, 0.05)[0] - G).max() < 1e-12


def test_new_answer_weight_is_a_difference_of_log_likelihoods():
    rng = np.random.default_rng(1)
    old, new = [((0, 1), 1), ((2, 3), -1)], ((1, 2), -1)
    P = rng.dirichlet(np.ones(3), (5, 4))
    l0, q = ba.sum_product(P, grow_forest(old), 0.1)
    l1, _ = ba.sum_product(P, grow_forest(old + [new]), 0.1)
    np.testing.assert_allclose(
        np.exp(l1 - l0), 1 - 0.1 - 0.8 * (q[:, 1] * q[:, 2]).sum(1), rtol=1e-12
    )


def test_a_half_wrong_person_says_nothing():
    rng = np.random.default_rng(0)
    f = grow_forest([((0, 1), 1), ((1, 2), -1), ((4, 2), 1)])
    P = rng.dirichlet(np.ones(3), (3, 4))
    logZ, Q = ba.sum_product(P, f, 0.5)
    np.testing.assert_allclose(logZ, 3 * np.log(0.5))
    np.testing.assert_allclose(Q, P)


def test_a_long_star_does_not_underflow():
    f = grow_forest([((0, i), -1) for i in range(1, 3000)])
    logZ, Q = ba.sum_product(np.full((1, 3000, 2), 0.5), f, 0.01)
    np.testing.assert_allclose(logZ, 2999 * np.log(0.5))
    assert np.isfinite(Q).all()


def test_triple_closing_a_cycle_is_refused():
    with pytest.raises(ValueError, match="closes a cycle"):
        grow_forest([((0, 1), 1), ((0, 1, 2), ba.RS)])


@pytest.mark.parametrize("K", [2, 3, 5])
@pytest.mark.parametrize("info", [False, True])
def test_best_pair_is_that_of_the_full_table(K, info):
    rng = np.random.default_rng(K)
    for conc in (0.1, 1.0, 5.0):
        Q = rng.dirichlet(np.full(K, conc), (21, 50))
        tree = rng.integers(40, size=50)
        full = ba.pair_scores(Q, 0.05)
        unc, inf = full
        assert (
            (inf > -1e-12).all()
            and (inf <= unc - ba.binary_entropy(0.05) + 1e-12).all()
            and (unc <= np.log(2) + 1e-12).all()
        )
        M = np.where(np.triu(tree[:, None] != tree, 1), full[info], -1)
        first = np.unravel_index(M.argmax(), M.shape)
        M[first] = -1
        second = np.unravel_index(M.argmax(), M.shape)
        got, score, looked = ba.best_pair(
            Q.transpose(1, 0, 2),
            tree,
            0.05,
            info,
            skip=[first[0] * 50 + first[1]],
            block=16,
        )
        assert got == second and abs(score - M.max()) < 1e-12 and looked < 50 * 49 // 2


def test_info_bound_holds_for_the_chord():
    x = np.linspace(0.05, 0.95, 2001)
    h = ba.binary_entropy(0.05)
    chord = h + (np.log(2) - h) / (0.25 - 0.0475) * (x * (1 - x) - 0.0475)
    assert (ba.binary_entropy(x) >= chord - 1e-12).all()


def test_prior_draws_by_rejection_match_weighted_gaussians():
    A = np.c_[X, np.ones(len(X))]
    stat = lambda W: (probs(A[3] @ W)[1] * probs(A[7] @ W)[1]).sum(-1)
    W, tried = prior_draws(A, 3, 4000, 1.0, 8.0, np.random.default_rng(0))
    G = np.random.default_rng(1).normal(size=(20_000, 3, 3))
    L, one = A @ G, np.ones(len(G))
    w = np.exp(-8 * ba._blend_entropy(L, L, one, 0 * one, np.arange(len(G))))
    want = (w * stat(G)).sum() / w.sum()
    se = stat(W).std() / 4000**0.5 + np.sqrt((w**2 * (stat(G) - want) ** 2).sum()) / w.sum()
    assert tried and abs(stat(W).mean() - want) < 4 * se
    assert (
        prior_draws(A, 3, 5, 1.0, 1e4, np.random.default_rng(0), max_tries=2)[1] == 0
    )  # gives up, moves instead


@pytest.mark.parametrize(
    "n, K, scale", [(1, 2, 1.0), (63, 3, 30.0), (200, 6, 3.0), (65, 1, 1.0)]
)
def test_the_quick_entropy_is_that_of_scipy(n, K, scale):
    rng = np.random.default_rng(n)
    L, N = scale * rng.normal(size=(2, 4, n, K))
    N[0, 0] = 1e4 * np.arange(K)  # far apart: chances that are zero to the last digit
    co, si, rows = rng.normal(size=3), rng.normal(size=3), np.array([0, 3, 1])
    P = softmax(co[:, None, None] * L[rows] + si[:, None, None] * N[rows], axis=2)
    found = ba._quick_entropy(L, N, co, si, rows)
    np.testing.assert_allclose(
        found, stats.entropy(P, axis=2).mean(1), rtol=1e-12, atol=1e-14
    )


def test_elliptical_slices_leave_the_posterior_as_it_is():
    A = np.c_[X[:20], np.ones(20)]
    f = grow_forest([((0, 1), 1), ((1, 2), -1), ((4, 5), 1)])
    B = A[f.nodes]
    stat = lambda W: (probs(A[3] @ W)[1] * probs(A[7] @ W)[1]).sum(-1)
    W, _ = prior_draws(A, 2, 6000, 1.0, 2.0, np.random.default_rng(0))
    w = np.exp(ba.sum_product(probs(B @ W)[1], f, 0.1, False)[0])
    want = (w * stat(W)).sum() / w.sum()
    rng = np.random.default_rng(2)
    c = Cloud(
        W[ba.systematic(w, 0.5)], A, B, f, 1.0, 2.0, 0.1
    )  # starts in the posterior: must stay there
    for _ in range(3):
        c, _ = ess_step(c, rng)
    assert (
        abs(stat(c.W).mean() - want)
        < 5 * stat(c.W).std() / (w.sum() ** 2 / (w**2).sum()) ** 0.5
    )
    np.testing.assert_allclose(c.L, A @ c.W, atol=1e-10)
    np.testing.assert_allclose(c.value, c.with_scores().value, atol=1e-10)


def test_one_evaluation_per_step_without_a_likelihood():
    c = Cloud(np.zeros((50, 2, 2)), np.ones((1, 2)), np.ones((0, 2)), EMPTY, 1.0, 0.0, 0.05)
    assert ess_step(c, np.random.default_rng(0))[1] == 50


def test_gradient_of_the_map_and_the_printed_sign():
    rng = np.random.default_rng(0)
    f = grow_forest([((0, 1), 1), ((1, 2), -1), ((2, 3, 4), ba.ST)])
    A, W = rng.normal(size=(12, 3)), rng.normal(size=(3, 3))
    rows = np.r_[A, A[f.nodes]]
    grad = rows.T @ ba.log_joint(*probs(rows @ W), f, 0.1, 2.0)[1]
    num = num_grad(lambda W: ba.log_joint(*probs(rows @ W), f, 0.1, 2.0)[0], W)
    np.testing.assert_allclose(grad, num, atol=1e-7)
    logP, P = probs(A @ W)
    entropy_part = 2 / 12 * A.T @ (P * (logP - (P * logP).sum(1, keepdims=True)))
    assert abs(grad - 2 * entropy_part - num).max() > 0.01  # minus, as printed


def test_triple_chances():
    rng = np.random.default_rng(0)
    q = rng.dirichlet(np.ones(4), 3)
    p = ba.triple_probs(*q, 0.1)
    want = [
        np.einsum("i,j,k,ijk->", *q, factor_table(c, 4, 0.1))
        for c in (ba.RS, ba.RT, ba.ST, ba.NONE)
    ]
    np.testing.assert_allclose(p, want)
    assert abs(p.sum() - 1) < 1e-12
    Q = rng.dirichlet(np.full(3, 0.2), (9, 30))
    u, i = ba.triple_scores(Q, [(0, 1, 2), (3, 4, 5)], 0.1)
    assert (0 <= i).all() and (i <= u).all() and (u <= np.log(4) + 1e-12).all()


def test_batches():
    p = np.random.default_rng(0).beta(0.3, 0.3, (8, 40))
    p[3] = p[0]
    chosen = ba.greedy_batch(p, np.arange(16).reshape(8, 2), 3)
    assert len(set(chosen)) == 3 and not {0, 3} <= set(chosen)
    assert ba.batch_info(p[chosen]) <= sum(ba.batch_info(p[[t]]) for t in chosen) + 1e-12
    trees = np.arange(16).reshape(8, 2)
    trees[1, 0] = trees[0, 0]
    assert not {0, 1} <= set(ba.greedy_batch(p, trees, 7))


def test_asking_well_beats_asking_at_random():
    got = {
        c: [
            ari(
                Y,
                BayesianActiveClustering(2, criterion=c, random_state=s)
                .fit(X, oracle=NoisyOracle(Y), budget=14)
                .labels_,
            )
            for s in range(3)
        ]
        for c in ("info", "random")
    }
    assert np.mean(got["info"]) > 0.8 and np.mean(got["info"]) > np.mean(got["random"])


@pytest.mark.parametrize(
    "kw",
    [
        dict(),
        dict(criterion="uncertain"),
        dict(criterion="random", batch_size=2),
        dict(batch_size=3),
        dict(questions="both"),
        dict(questions="triplets"),
        dict(cycles=True, eps=0.2),
        dict(pool_size=20, prior_rows=25),
        dict(bias=0, lam=10.0, standardize=False),
    ],
    ids=str,
)
def test_replay_undo_and_forest(kw):
    person = NoisyOracle(Y, noise=0.1, abstain=0.2, random_state=0)
    m = learner(n_particles=30, random_state=0, **kw)
    m.fit(X, oracle=person, budget=9)
    pending, z = m.ask(), m.labels_
    m.tell(pending, 0 if pending.kind == "pair" else "unsure").undo()
    assert m.ask() == pending
    np.testing.assert_array_equal(m.labels_, z)
    if not kw.get("cycles"):
        assert not m.state_.cloud.forest.extra
    asked = [q for q, _ in m.answers_]
    assert len({(q.kind, tuple(sorted(q.items))) for q in asked}) == len(asked)
    np.testing.assert_array_equal(m.predict(X).shape, (len(X),))
    if kw.get("questions") == "triplets":
        assert all(q.kind == "triple" for q in asked)


def test_predict_agrees_with_labels_where_no_answer_speaks():
    m = BayesianActiveClustering(2, random_state=0).fit(X, oracle=NoisyOracle(Y), budget=10)
    free = np.setdiff1d(np.arange(len(X)), m.state_.cloud.forest.nodes)
    np.testing.assert_array_equal(m.predict(X)[free], m.labels_[free])


def test_runs_out_of_pairs_and_stops():
    m = BayesianActiveClustering(2, random_state=0).fit(
        X[:6], oracle=NoisyOracle(Y[:6]), budget=None
    )
    assert m.n_queries_ == 5 and m.ask() is None  # a forest on six rows holds five pairs
    m = BayesianActiveClustering(2, random_state=0, stop_below=2.0).fit(
        X, oracle=NoisyOracle(Y), budget=None
    )
    assert m.n_queries_ == 0 and m.advice()["stop"] is False and m.advice(2.0)["stop"]


def test_coclustering_holds_chances():
    m = BayesianActiveClustering(2, eps=0.01, random_state=0).fit(
        X, oracle=NoisyOracle(Y), budget=8
    )
    C = m.coclustering_
    assert np.allclose(C, C.T) and C.min() >= 0 and C.max() <= 1 + 1e-12
    for q, a in m.answers_:
        assert (C[q.a, q.b] > 0.5) == (a == 1)


@pytest.mark.parametrize(
    "kw, word",
    [
        (dict(eps=0.0), "strictly between"),
        (dict(eps=0.5), "say nothing"),
        (dict(criterion="x"), "info"),
        (dict(questions="x"), "triplets"),
        (dict(lam=-1.0), "precision"),
        (dict(questions="both", cycles=True), "cycles=False"),
        (dict(batch_size=0), "at least 1"),
        (dict(n_clusters=99), "n_samples=60"),
    ],
)
def test_bad_parameters(kw, word):
    with pytest.raises(ValueError, match=word):
        learner(**kw).start(X)


def calibration_run(seed, n=40, answers=8):
    rng = np.random.default_rng([seed, 7])
    Z = rng.normal(size=(n, 2))
    model = BayesianActiveClustering(
        2, eps=0.1, form=BayesForm(n_particles=63), random_state=seed
    ).start(Z)
    W = prior_draws(model.state_.A, 2, 1, model.lam_, 1.0, rng)[0][0]
    y = (rng.random(n) < probs(model.state_.A @ W)[1][:, 1]).astype(int)
    drive(model, NoisyOracle(y, noise=0.1, random_state=seed), answers)
    a, b = rng.choice(n, 2, replace=False)
    agree = lambda W: (
        probs(model.state_.A[a] @ W)[1] * probs(model.state_.A[b] @ W)[1]
    ).sum(-1)
    return ((agree(model.particles_) < agree(W[None])[0]).sum() + rng.random()) / 64


@pytest.mark.slow
def test_the_particles_are_calibrated():
    "Truth from the prior, answers from the truth: its rank among the particles is uniform."
    assert (
        stats.kstest([calibration_run(1000 + s) for s in range(150)], "uniform").pvalue
        > 0.005
    )


def test_particles_are_resampled_by_the_new_answer_alone(monkeypatch):
    "Weights are P(z_t | Z_{t-1}, W_s), not the whole posterior once more (Algorithm 2)."
    seen = []
    real = ba.systematic
    monkeypatch.setattr(ba, "systematic", lambda w, u: seen.append(w) or real(w, u))
    few = X[:9]
    model = BayesianActiveClustering(
        2, form=BayesForm(n_particles=12), random_state=0
    ).start(few)
    before = []
    for _ in range(4):
        before.append((model.particles_, list(model.state_.answers)))
        model.tell(model.ask(), 1 if Y[model.ask().a] == Y[model.ask().b] else -1)
    for (W, answers), (q, said), w in zip(before, model.answers_, seen):
        P = probs(model.state_.A @ W)[1]
        G = np.array([brute(p, list(range(9)), answers, 0.05)[2] for p in P])
        same = 0.05 + 0.9 * G[:, q.a, q.b]
        chance = same if said > 0 else 1 - same
        np.testing.assert_allclose(w / w.max(), chance / chance.max(), rtol=1e-9)
    assert len(seen) == 4


def test_particles_move_after_every_answer():
    kept = BayesianActiveClustering(
        2, form=BayesForm(n_moves=0, n_particles=20), random_state=0
    ).start(X)
    first = {w.tobytes() for w in kept.particles_}
    kept.tell(kept.ask(), "same")
    assert {w.tobytes() for w in kept.particles_} <= first
    moved = BayesianActiveClustering(
        2, form=BayesForm(n_particles=20), random_state=0
    ).start(X)
    first = {w.tobytes() for w in moved.particles_}
    moved.tell(moved.ask(), "same")
    assert not {w.tobytes() for w in moved.particles_} & first


@pytest.mark.parametrize("kind", ["pairs", "triples", "cycles"])
def test_suspicion_equals_brute_force(kind):
    rng = np.random.default_rng(3)
    A = rng.normal(size=(7, 3))
    for _ in range(8):
        answers = random_answers(rng, 7, kind == "triples", kind == "cycles")
        f = grow_forest(answers)
        W = rng.normal(size=(4, 3, 2))
        cloud = Cloud(W, A, A[f.nodes], f, 1.0, 1.0, 0.1).with_scores()
        got = ba.Posterior(A, answers, cloud, 2, 0).p_wrong()
        nodes = f.nodes.tolist()
        want = np.zeros(len(answers))
        for w in W:
            P = probs(A[f.nodes] @ w)[1]
            _, _, _, L, weight = brute(P, nodes, answers, 0.1)
            for t, (rows, code) in enumerate(answers):
                table = factor_table(code, 2, 0.1)
                right = table[tuple(L[:, nodes.index(i)] for i in rows)] == table.max()
                want[t] += weight[~right].sum() / weight.sum() / 4
        np.testing.assert_allclose(got, want, atol=1e-9)


def test_a_lie_is_suspected():
    told = []

    def person(q):
        told.append(q)
        right = 1 if Y[q.a] == Y[q.b] else -1
        return -right if len(told) == 6 else right

    m = BayesianActiveClustering(2, eps=0.1, form=BayesForm(cycles=True), random_state=1)
    m.fit(X, oracle=person, budget=25)
    assert (
        m.suspicion_.shape == (25,) and 0 <= m.suspicion_.min() <= m.suspicion_.max() <= 1
    )
    assert m.suspicion_.argmax() == 5
    assert set(m.suspects_) == set(np.flatnonzero(m.suspicion_ > 0.5))


def test_published_is_the_thesis_model():
    m = BayesianActiveClustering.as_published(n_clusters=2, random_state=0).start(X)
    assert m.lam_ == 10 and m.state_.A.shape == X.shape
    assert len(m.particles_) == 2 * X.shape[1] * 2
    np.testing.assert_allclose(m.state_.A, (X - X.mean(0)) / X.std(0))


def test_rules_were_parameters_and_still_count():
    "Nineteen parameters became eight; single rules work for one release."
    from sklearn.base import clone

    assert len(BayesianActiveClustering().get_params(deep=False)) == 8
    with pytest.warns(FutureWarning, match=r"form=BayesForm\(n_particles=20\)") as said:
        old = BayesianActiveClustering(2, n_particles=20, random_state=0)
    assert said[0].filename == __file__
    with pytest.warns(FutureWarning, match="form.n_particles"):
        assert old.n_particles == 20
    with pytest.warns(FutureWarning, match="cycles=True"):
        old.set_params(cycles=True, eps=0.1)
    assert (old.form.n_particles, old.form.cycles, old.eps) == (20, True, 0.1)
    new = BayesianActiveClustering(2, eps=0.1, random_state=0)
    new.set_params(form__n_particles=20, form__cycles=True)
    assert clone(new).get_params()["form__n_particles"] == 20
    person = NoisyOracle(Y)
    a, b = (m.fit(X, oracle=person, budget=4) for m in (old, new))
    np.testing.assert_array_equal(a.particles_, b.particles_)
    paper = BayesianActiveClustering.as_published(pool_size=30, eps=0.2)
    assert (paper.form.lam, paper.form.pool_size, paper.eps) == (10.0, 30, 0.2)
    with pytest.raises(TypeError, match="particles"):
        BayesianActiveClustering(particles=3)


def test_no_pair_of_one_tree_is_asked():
    "U_t leaves out pairs that would close a cycle: the answers stay a forest."
    m = BayesianActiveClustering(2, random_state=0).fit(X, oracle=NoisyOracle(Y), budget=20)
    group = np.arange(len(X))
    for q, _ in m.answers_:
        assert group[q.a] != group[q.b]
        group[group == group[q.b]] = group[q.a]


def test_the_question_promises_most():
    "The pending pair has the largest Info of all pairs of different trees, brute force."
    m = BayesianActiveClustering(2, form=BayesForm(n_particles=15), random_state=0)
    m.fit(X[:9], oracle=NoisyOracle(Y[:9]), budget=3)
    P = probs(m.state_.A @ m.particles_)[1]
    answers = m.state_.answers
    G = np.array([brute(p, list(range(9)), answers, 0.05)[2] for p in P])
    p = 0.05 + 0.9 * G
    h = -p * np.log2(p) - (1 - p) * np.log2(1 - p)
    mean = p.mean(0)
    info = -mean * np.log2(mean) - (1 - mean) * np.log2(1 - mean) - h.mean(0)
    group = np.arange(9)
    for q, _ in m.answers_:
        group[group == group[q.b]] = group[q.a]
    info = np.where(np.triu(group[:, None] != group, 1), info, -1)
    assert m.ask().key == tuple(int(i) for i in np.unravel_index(info.argmax(), (9, 9)))
    assert abs(m.expected_bits_[-1] - info.max()) < 1e-9


@pytest.mark.parametrize(
    "kw",
    [
        dict(n_particles=0),
        dict(tau=np.inf),
        dict(tau=np.nan),
        dict(lam=0.0),
        dict(n_moves=-1),
        dict(pool_size=1),
        dict(seconds=(1.0,)),
        dict(n_clusters="2"),
        dict(max_cut=0),
        dict(stop_below=np.nan),
    ],
    ids=str,
)
def test_parameters_out_of_range_are_named(kw):
    with pytest.raises(ValueError, match=next(iter(kw))):
        learner(**kw).start(X)


@pytest.mark.parametrize("seconds", [{"pair": 1}, "ab", (1, 0), 3])
def test_seconds_that_are_no_two_numbers_are_named(seconds):
    X = np.random.default_rng(0).normal(size=(30, 2))
    model = learner(n_clusters=3, questions="both", seconds=seconds)
    with pytest.raises(ValueError, match="seconds"):
        model.fit(X, oracle=NoisyOracle(np.zeros(30, int), random_state=0), budget=2)
