"""The label hierarchy: E-step, M-steps, starts, estimator and baselines."""

import json
import pickle
import warnings
from itertools import product
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import expit, log_expit
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from csc_nb.datasets import load, toy_tree
from csc_nb.estimators import methods
from csc_nb.hierarchy import (
    EMRules,
    FastTag,
    LabelHierarchy,
    _fixed_weights,
    _pairs_at,
    ancestors,
    as_labels,
    binary_relevance,
    candidate_edges,
    chow_liu,
    classifier_chain,
    closure,
    cooccurrence,
    e_step,
    edge_moves,
    em_init,
    em_step,
    expect,
    fit_hierarchy,
    label_pairs_test,
    m_step_alternate,
    m_step_exact,
    marginals,
    max_arborescence,
    moment_alpha,
    moment_tree,
    most_probable,
    newick,
    pair_posterior,
    penalised,
    posterior,
    profile_edges,
    run_em,
    start_tree,
    topological,
    tree_rf,
    tree_value,
    update_alpha,
)

TIGHT = dict(tol=1e-9)


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def random_tree(rng, K):
    "Any labelled tree: parents in random order."
    parents = np.array([-1] + [rng.integers(-1, c) for c in range(1, K)])
    perm = rng.permutation(K)
    inv = np.argsort(perm)
    return np.where(parents[perm] < 0, -1, inv[parents[perm]])


def brute(f, z, parents, alpha, eps):
    Y = np.array(list(product((0, 1), repeat=len(f))))
    on = np.where(np.where(parents < 0, 1, Y[:, parents]) == 1, expit(f), eps)
    P = np.where(Y == 1, on, 1 - on).prod(1) * np.where(
        Y == 1, np.where(z == 1, 1 - alpha, alpha), np.where(z == 1, 0.0, 1.0)
    ).prod(1)
    return Y, P


def toy(noise=0.3, n=300, seed=0, **kw):
    return toy_tree(n, missing=noise, random_state=seed, **kw)


@pytest.mark.parametrize("K", range(1, 8))
def test_e_step_is_enumeration(K):
    rng = np.random.default_rng(K)
    for _ in range(6):
        tree, F, Z = (
            random_tree(rng, K),
            rng.normal(0, 2, (3, K)),
            (rng.random((3, K)) < 0.5).astype(np.int8),
        )
        alpha, eps = (
            rng.uniform(0.05, 0.9, K),
            rng.uniform(0.001, 0.3),
        )  # one rate per label
        for q in (posterior(F, Z, tree, alpha, eps), e_step(F, Z, tree, alpha, eps)):
            J = pair_posterior(q, tree)
            for i in range(3):
                Y, P = brute(F[i], Z[i], tree, alpha, eps)
                np.testing.assert_allclose(q.loglik[i], np.log(P.sum()), atol=1e-11)
                np.testing.assert_allclose(q.m[i], P @ Y / P.sum(), atol=1e-11)
                np.testing.assert_allclose(J[i], (Y.T * P) @ Y / P.sum(), atol=1e-11)
                for c, p in enumerate(tree):
                    for v, r in ((0, q.r0), (1, q.r1)):
                        if p < 0:
                            continue
                        w = P * (Y[:, p] == v)
                        if w.sum() > 1e-12:
                            np.testing.assert_allclose(
                                r[i, c], w @ Y[:, c] / w.sum(), atol=1e-9
                            )


def test_posterior_facts():
    t = toy(0.4)
    F = np.random.default_rng(0).normal(size=t.Z.shape)
    q = e_step(F, t.Z, t.parents, 0.4, 0.01)
    J = pair_posterior(q, t.parents)
    assert (q.m[t.Z == 1] > 1 - 1e-12).all()
    np.testing.assert_allclose(J, J.transpose(0, 2, 1), atol=0)
    assert (J <= np.minimum(q.m[:, :, None], q.m[:, None]) + 1e-12).all() and (
        J >= q.m[:, :, None] + q.m[:, None] - 1 - 1e-12
    ).all()
    np.testing.assert_allclose(
        e_step(F, t.Z, np.full(12, -1), 0.0, 0.01).m, t.Z, atol=1e-12
    )


def test_many_labels_do_not_underflow():
    rng = np.random.default_rng(0)
    K = 400
    F, Z, tree = (
        rng.normal(0, 3, (4, K)),
        (rng.random((4, K)) < 0.3).astype(np.int8),
        np.r_[-1, np.zeros(K - 1, int)],
    )
    q = e_step(F, Z, tree, 0.3, 1e-6)
    assert np.isfinite(q.loglik).all() and (q.loglik < -50).all() and np.isfinite(q.m).all()


def test_relabelling_changes_nothing():
    t = toy()
    rng = np.random.default_rng(0)
    F = rng.normal(size=t.Z.shape)
    perm = rng.permutation(12)
    inv = np.argsort(perm)
    tree = np.where(t.parents[perm] < 0, -1, inv[t.parents[perm]])
    a, b = (
        e_step(F, t.Z, t.parents, 0.3, 0.05),
        e_step(F[:, perm], t.Z[:, perm], tree, 0.3, 0.05),
    )
    np.testing.assert_allclose(a.m[:, perm], b.m, atol=1e-12)
    np.testing.assert_allclose(a.loglik, b.loglik, atol=1e-9)


def test_chosen_pairs_and_fixed_weights():
    t = toy(n=40)
    rng = np.random.default_rng(0)
    F = rng.normal(size=t.Z.shape)
    q = e_step(F, t.Z, t.parents, 0.3, 0.05)
    J = pair_posterior(q, t.parents)
    order = topological(t.parents)
    P, C = map(
        np.ascontiguousarray,
        np.array([[p, c] for p in range(-1, 12) for c in range(12) if p != c]).T,
    )
    on, off, s01, s00 = _pairs_at(q.m, q.r0, q.r1, t.parents, order, P, C)
    W = _fixed_weights(q.m, q.r0, q.r1, t.parents, order, F, 0.05)
    for k, (p, c) in enumerate(zip(P, C)):
        mp, j = (np.ones(40), q.m[:, c]) if p < 0 else (q.m[:, p], J[:, p, c])
        np.testing.assert_allclose(on[:, k], j, atol=1e-12)
        np.testing.assert_allclose(off[:, k], mp - j, atol=1e-12)
        s = expit(F[:, c])
        want = (
            (j * np.log(s) + (mp - j) * np.log(1 - s)).sum()
            + s01[k] * np.log(0.05)
            + s00[k] * np.log(0.95)
        )
        np.testing.assert_allclose(W[p, c], want, rtol=1e-9)


def test_alpha_closed_form_without_root():
    rng = np.random.default_rng(0)
    Z = (rng.random((50, 4)) < 0.3).astype(np.int8)
    m = np.where(Z, 1.0, rng.random(Z.shape) * 0.5)
    grid = np.linspace(1e-4, 1 - 1e-4, 20_001)
    bound = lambda z, q: grid[
        np.argmax((q * z).sum() * np.log(1 - grid) + (q * (1 - z)).sum() * np.log(grid))
    ]
    assert abs(update_alpha(Z, m)[0] - bound(Z, m)) < 2e-4
    for c in range(4):
        assert abs(update_alpha(Z, m, True)[c] - bound(Z[:, c], m[:, c])) < 2e-4
    assert (
        abs(1 - (Z.sum() + 50) / (m.sum() + 50) - bound(Z, m)) > 0.05
    )  # with the dummy root: wrong


def test_arborescence_is_the_best_tree():
    rng = np.random.default_rng(0)
    for K in (1, 2, 3, 4):
        trees = []
        for t in product(range(-1, K), repeat=K):
            try:
                topological(t)
                trees.append(np.array(t))
            except ValueError:
                pass
        assert len(trees) == (K + 1) ** (K - 1)  # Cayley
        for _ in range(40):
            W = rng.normal(size=(K + 1, K)) * 10 ** rng.uniform(-2, 4)
            W[range(K), range(K)] = -np.inf
            if K > 2:
                W[rng.integers(K), rng.integers(K)] = -np.inf
            best = max(W[t, np.arange(K)].sum() for t in trees)
            np.testing.assert_allclose(
                W[max_arborescence(W), np.arange(K)].sum(), best, rtol=1e-12
            )


@pytest.mark.parametrize("K", [7, 30, 60])
def test_arborescence_equals_networkx(K):
    rng = np.random.default_rng(K)
    for _ in range(3):
        W = rng.normal(size=(K + 1, K)) - 5 * (rng.random((K + 1, K)) < 0.2)
        W[K] -= 3
        W[range(K), range(K)] = -np.inf
        G = nx.DiGraph()
        G.add_weighted_edges_from(
            (p, c, W[p, c]) for p in range(K + 1) for c in range(K) if p != c
        )
        t = max_arborescence(W)
        topological(t)
        np.testing.assert_allclose(
            W[t, np.arange(K)].sum(),
            nx.maximum_spanning_arborescence(G).size("weight"),
            rtol=1e-9,
        )


def test_profile_weights_are_maxima():
    t = toy(n=80)
    r = EMRules(2.0, solver=TIGHT)
    s = em_init(t.data, t.Z, r, t.parents, 0.3, 0.05)
    q = expect(s, t.data, t.Z)
    edges = np.array([[-1, 0], [0, 1], [4, 1], [1, 0]])
    w, coef, b = profile_edges(t.data, q, s.parents, edges, r, 0.05)
    rng = np.random.default_rng(0)
    for k, (p, c) in enumerate(edges):

        def at(v, i):
            F = np.zeros((80, 12))
            F[:, c] = t.data @ v + i
            return _fixed_weights(
                q.m, q.r0, q.r1, s.parents, topological(s.parents), F, 0.05
            )[p, c] - 2 / (2 * 8) * (v @ v)

        np.testing.assert_allclose(at(coef[k], b[k]), w[k], rtol=1e-9)
        assert all(
            at(coef[k] + rng.normal(0, 0.05, 8), b[k] + rng.normal(0, 0.05)) < w[k]
            for _ in range(20)
        )


def _bound(X, q, old, new, lam):
    w = _fixed_weights(
        q.m,
        q.r0,
        q.r1,
        old.parents,
        topological(old.parents),
        X @ new.coef.T + new.intercept,
        old.eps,
    )
    return (
        w[new.parents, np.arange(len(new.parents))].sum()
        - lam / (2 * X.shape[1]) * (new.coef**2).sum()
    )


@pytest.mark.parametrize("start", ["flat", "chow-liu", "truth"])
def test_exact_m_step_is_never_below_the_alternating_one(start):
    gains = []
    for seed, noise in ((0, 0.1), (1, 0.3), (2, 0.5)):
        t = toy(noise, 200, seed)
        r = EMRules(1.0, solver=TIGHT)
        tree = {"flat": np.full(12, -1), "chow-liu": chow_liu(t.Z), "truth": t.parents}[
            start
        ]
        s = em_init(t.data, t.Z, r, tree, noise, 0.05)
        q = expect(s, t.data, t.Z)
        a, e = (
            _bound(t.data, q, s, f(s, t.data, q, r), 1.0)
            for f in (m_step_alternate, m_step_exact)
        )
        gains.append(e - a)
    assert min(gains) > -1e-6
    if start == "chow-liu":
        assert max(gains) > 1


@pytest.mark.parametrize("m_step", ["exact", "alternate"])
@pytest.mark.parametrize("per_label", [False, True])
def test_em_never_decreases_at_fixed_eps(m_step, per_label):
    for seed, noise in ((0, 0.2), (1, 0.4)):
        t = toy(noise, 200, seed)
        r = EMRules(1.0, m_step, per_label=per_label, decay=1.0, solver=TIGHT)
        s, h = em_init(t.data, t.Z, r, chow_liu(t.Z), noise, 0.05), []
        for _ in range(12):
            s = em_step(s, t.data, t.Z, r)
            h.append(s.value)
        assert (np.diff(h) >= -1e-7 * np.abs(h[:-1])).all(), np.diff(h).min()
        assert h[-1] > h[0]


def test_em_with_loose_solver_and_rare_tree_steps_still_climbs():
    t = toy(0.3, 300)
    r = EMRules(1.0, decay=1.0, solver=dict(solver="lbfgs", tol=1e-5, max_iter=5))
    start = em_init(t.data, t.Z, r, chow_liu(t.Z), 0.3, 0.02)
    h = run_em(start, t.data, t.Z, r, 20, 0.0).history
    assert (np.diff(h) >= -1e-7 * np.abs(h[0])).all()


def test_moves_never_lower_the_objective():
    t = toy(0.5, 400, 1)
    r = EMRules(1.0, decay=1.0, solver=TIGHT)
    s = em_init(t.data, t.Z, r, chow_liu(t.Z), 0.5, 0.01)
    a, b = (fit_hierarchy(s, t.data, t.Z, r, 10, 1e-4, 3, k) for k in (0, 3))
    assert b[1][-1] >= a[1][-1] - 1e-6 * abs(a[1][-1])
    assert (np.diff(b[1]) >= -1e-6 * abs(b[1][0])).all()
    np.testing.assert_allclose(tree_value(b[0], t.data, t.Z, r), b[1][-1])


def test_flat_and_complete_is_binary_relevance():
    t = toy(0.0, 200)
    h = LabelHierarchy(lam=4.0, alpha=0.0, init="flat", learn_tree=False, scale=False).fit(
        t.data, t.Y
    )
    for c in range(12):
        lr = LogisticRegression(C=8 / 4, tol=1e-9, max_iter=5000).fit(t.data, t.Y[:, c])
        np.testing.assert_allclose(h.coef_[c], lr.coef_[0], atol=2e-3)
        np.testing.assert_allclose(
            h.predict_proba(t.data)[:, c], lr.predict_proba(t.data)[:, 1], atol=1e-3
        )
    np.testing.assert_array_equal(h.complete() > 0.5, t.Y)


def test_moment_identity_and_tree():
    t = toy(0.3, 40_000, children=2)
    A, above = cooccurrence(t.Z), ancestors(t.parents)
    assert (
        np.abs(A[above] - 0.7).max() < 0.02
        and A[~above & ~above.T & ~np.eye(9, dtype=bool)].max() < 0.6
    )
    tree, alpha = moment_tree(t.Z)
    assert tree_rf(t.parents, tree) == 0 and abs(alpha - 0.3) < 0.01
    assert (
        abs(moment_alpha(t.Z, t.parents) - 0.3) < 0.01
        and np.abs(moment_alpha(t.Z, t.parents, True) - 0.3).max() < 0.02
    )
    assert np.isnan(moment_alpha(t.Z, np.full(9, -1)))
    tree, alpha = moment_tree(np.eye(4))
    assert (tree == -1).all() and np.isnan(alpha)
    Z = np.zeros((300, 3))
    Z[:200, 0] = 1
    Z[50:110, 1] = 1
    Z[0:2, 2] = 1  # a label seen twice must not set the level
    assert moment_tree(Z)[0][1] == 0


def test_learned_tree_beats_chow_liu_and_alternation():
    exact, printed, cl = [], [], []
    for seed in range(4):
        t = toy(0.4, 600, seed)
        exact.append(
            tree_rf(t.parents, LabelHierarchy(max_iter=30).fit(t.data, t.Z).parents_)
        )
        printed.append(
            tree_rf(
                t.parents,
                LabelHierarchy(m_step="alternate", eps=0.05, init="chow-liu", max_iter=30)
                .fit(t.data, t.Z)
                .parents_,
            )
        )
        cl.append(tree_rf(t.parents, chow_liu(t.Z)))
    assert np.mean(exact) <= 2 and np.mean(exact) + 3 < min(np.mean(printed), np.mean(cl))


def test_chow_liu_is_the_maximum_spanning_tree():
    from sklearn.metrics import mutual_info_score

    from csc_nb.hierarchy import mutual_information_matrix

    t = toy(0.3)
    MI = mutual_information_matrix(t.Z)
    np.testing.assert_allclose(
        MI[0, 1], mutual_info_score(t.Z[:, 0], t.Z[:, 1]), atol=1e-12
    )
    G = nx.Graph()
    G.add_weighted_edges_from((i, j, MI[i, j]) for i in range(12) for j in range(i))
    tree = chow_liu(t.Z)
    np.testing.assert_allclose(
        sum(MI[c, p] for c, p in enumerate(tree) if p >= 0),
        nx.maximum_spanning_tree(G).size("weight"),
    )
    assert (tree < 0).sum() == 1 and t.Z.sum(0)[tree < 0][0] == t.Z.sum(0).max()
    Z = np.r_[
        np.tile([1, 1, 0, 0], (30, 1)),
        np.tile([0, 0, 1, 1], (20, 1)),
        np.tile([1, 0, 0, 0], (9, 1)),
        np.tile([0, 0, 1, 0], (9, 1)),
    ]
    assert chow_liu(Z, positive=True).tolist() == [
        -1,
        0,
        -1,
        2,
    ]  # "never together" joins nothing


def test_predictions_are_enumeration():
    rng = np.random.default_rng(0)
    for K in (1, 4, 7):
        tree, F = random_tree(rng, K), rng.normal(0, 2, (10, K))
        for f, pi, best in zip(F, marginals(F, tree, 0.03), most_probable(F, tree, 0.03)):
            Y, P = brute(f, np.zeros(K), tree, 1.0, 0.03)
            np.testing.assert_allclose(pi, P @ Y, atol=1e-12)
            np.testing.assert_array_equal(best, Y[P.argmax()])


def test_every_form_of_labels():
    t = toy(n=150)
    names = t.label_names
    want = LabelHierarchy(max_iter=10).fit(t.data, t.Z)
    df = pd.DataFrame(t.Z, columns=names)
    for Z in (
        sp.csr_matrix(t.Z),
        df,
        [set(names[r == 1]) for r in t.Z],
        t.Z.astype(bool),
        t.Z.tolist(),
        t.Z.astype(float),
    ):
        got = LabelHierarchy(max_iter=10).fit(t.data, Z)
        np.testing.assert_array_equal(got.parents_, want.parents_)
        np.testing.assert_allclose(got.coef_, want.coef_)
    got = LabelHierarchy(max_iter=10).fit(pd.DataFrame(t.data), df)
    assert got.tree_["A1"] in names and got.tree_["A"] is None
    full = got.complete(df)
    assert isinstance(full, pd.DataFrame) and list(full.columns) == list(names)
    np.testing.assert_allclose(full, got.complete())
    np.testing.assert_allclose(got.complete(t.Z[:5], pd.DataFrame(t.data[:5])), full[:5])
    assert as_labels([["b", "a"], [], ["b"]])[0].tolist() == [[1, 1], [0, 0], [0, 1]]


def test_given_tree_names_and_exports():
    t = toy(n=150)
    df = pd.DataFrame(t.Z, columns=t.label_names)
    tree = {f"{g}{k}": g for g in "ABC" for k in (1, 2, 3)}
    a = LabelHierarchy(init=tree, learn_tree=False, max_iter=5).fit(t.data, df)
    b = LabelHierarchy(init=t.parents, learn_tree=False, max_iter=5).fit(t.data, df)
    np.testing.assert_array_equal(a.parents_, t.parents)
    np.testing.assert_allclose(a.coef_, b.coef_)
    G = a.to_networkx()
    assert (
        nx.is_arborescence(G)
        and G.number_of_nodes() == 13
        and 0 <= G.nodes["A1"]["alpha"] < 1
    )
    assert (
        a.to_newick()
        == "(('A1','A2','A3')'A',('B1','B2','B3')'B',('C1','C2','C3')'C')'root';"
    )
    assert newick([-1, 0], ["it's", "b"]) == "(('b')'it''s')'root';"


@pytest.mark.parametrize(
    "bad, says",
    [
        (dict(eps=0.0), "Got 0.0"),
        (dict(eps=0.6), "without its parent"),
        (dict(lam=-1), "penalty"),
        (dict(alpha=1.0), "missing rate"),
        (dict(alpha="x"), "'moment'"),
        (dict(m_step="x"), "alternate"),
        (dict(init="x"), "chow-liu"),
        (dict(init=[1, 0] + [-1] * 10), "cycle"),
        (dict(init=np.zeros(3, int)), "3 parents"),
        (dict(init={"A": "nope"}), "nope"),
        (dict(eps_decay=2.0), "eps_decay"),
    ],
)
def test_bad_parameters(bad, says):
    t = toy(n=40)
    with pytest.raises(ValueError, match=says):
        LabelHierarchy(**bad).fit(t.data, pd.DataFrame(t.Z, columns=t.label_names))


def test_bad_labels():
    t = toy(n=40)
    h = LabelHierarchy(max_iter=3)
    for Z, says in (
        (t.Z[:30], "40 rows but Z has 30"),
        (t.Z[:, 0], "one column per label"),
        (t.Z * 2, "neither 0 nor 1"),
        ("ABC", "one string"),
        (np.where(t.Z == 1, np.nan, 0), "nan"),
        (np.full(t.Z.shape, "x"), "not numbers"),
    ):
        with pytest.raises(ValueError, match=says):
            h.fit(t.data, Z)
    h.fit(t.data, [{"a", "b"} if i % 2 else {"a"} for i in range(40)])
    with pytest.raises(ValueError, match="was not there in training"):
        h.complete([{"c"}] * 40)
    with pytest.raises(ValueError, match="give X too"):
        h.complete(np.zeros((3, 2)))
    X = pd.DataFrame(t.data)
    X.iloc[0, 2] = np.nan
    with pytest.raises(ValueError, match="SimpleImputer"):
        h.fit(X, t.Z)


def test_labels_never_or_always_on():
    t = toy(n=100)
    Z = np.c_[t.Z, np.zeros(100, int), np.ones(100, int)]
    h = LabelHierarchy(max_iter=10).fit(t.data, Z)
    P = h.predict_proba(t.data)
    assert (
        np.isfinite(h.objective_history_).all()
        and (P[:, 12] < 0.5).all()
        and (P[:, 13] > 0.5).all()
    )
    assert LabelHierarchy(max_iter=5).fit(t.data, t.Z[:, :1]).parents_.tolist() == [-1]


def test_starts_seeds_clone_pickle_pipeline():
    t = toy(0.4, 200)
    est = LabelHierarchy(init=["moment", "flat"], n_init=2, max_iter=10, random_state=0)
    a, b = est.fit(t.data, t.Z), clone(est).fit(t.data, t.Z)
    np.testing.assert_array_equal(a.coef_, b.coef_)
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(a)).predict(t.data), a.predict(t.data)
    )
    one = LabelHierarchy(init="flat", max_iter=10).fit(t.data, t.Z)
    assert a.objective_history_[-1] <= one.objective_history_[-1]
    assert np.isfinite(
        cross_val_score(
            make_pipeline(StandardScaler(), LabelHierarchy(max_iter=5)), t.data, t.Z, cv=3
        )
    ).all()
    assert methods()["label-hierarchy"] is LabelHierarchy


# checks of scikit-learn that cannot apply: they call the second argument y, or feed one column of several classes or of numbers
NOT_FOR_LABEL_SETS = {
    "check_fit_score_takes_y",
    "check_n_features_in_after_fitting",
    "check_estimators_dtypes",
    "check_classifier_data_not_an_array",
    "check_classifiers_one_label",
    "check_classifiers_classes",
    "check_classifier_multioutput",
    "check_classifiers_train",
    "check_classifiers_regression_target",
    "check_decision_proba_consistency",
    "check_classifier_not_supporting_multiclass",
    "check_fit2d_1feature",
    "check_classifiers_multilabel_output_format_predict",
}


def test_sklearn_checks():
    results = check_estimator(
        LabelHierarchy(max_iter=2, n_tree_moves=0), on_fail=None, on_skip=None
    )
    failed = {
        r["check_name"]: str(r["exception"])[:200]
        for r in results
        if r["status"] == "failed" and r["check_name"] not in NOT_FOR_LABEL_SETS
    }
    assert not failed, failed
    assert sum(r["status"] == "passed" for r in results) > 25


def test_f1_threshold_is_the_best_expected_cut():
    t = toy(0.4)
    h = LabelHierarchy(max_iter=15, alpha="moment").fit(t.data, t.Z)
    p, m = h.predict_proba(t.data), h.complete()
    expected = lambda at: 2 * m[p >= at].sum() / ((p >= at).sum() + m.sum())
    best = h.f1_threshold()
    assert expected(best) >= max(expected(at) for at in np.unique(p)) - 1e-12 and best < 0.5
    np.testing.assert_array_equal(h.predict(t.data, best), p >= best)
    np.testing.assert_array_equal(h.predict(t.data), h.predict(t.data, 0.5))


def test_feature_count_is_checked():
    t = toy(n=40)
    h = LabelHierarchy(max_iter=3).fit(t.data, t.Z)
    for f in (h.predict, h.predict_proba, h.decision_function, lambda X: h.score(X, t.Z)):
        with pytest.raises(ValueError, match="expecting 8 features"):
            f(t.data[:, :5])
    assert h.predict(t.data).dtype == np.int64 and set(np.unique(h.predict(t.data))) <= {
        0,
        1,
    }


def test_moment_alpha_repairs_the_underestimate():
    em, mom = [], []
    for seed in range(4):
        t = toy_tree(
            400, missing=0.5, d=60, strength=4.0, random_state=seed
        )  # many features: node models can learn the gaps by heart
        kw = dict(init=t.parents, learn_tree=False, max_iter=40, lam=0.1)
        em.append(LabelHierarchy(**kw).fit(t.data, t.Z).alpha_)
        mom.append(LabelHierarchy(**kw, alpha="moment").fit(t.data, t.Z).alpha_)
    assert np.mean(em) < 0.4 and abs(np.mean(mom) - 0.5) < 0.06


def test_second_parent_is_found_and_trees_raise_no_alarm():
    def data(second, seed):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(1500, 6))
        on = rng.random((1500, 7)) < expit(X @ rng.normal(size=(6, 7)) + 0.5)
        for c, p in {3: 0, 4: 1, 5: 2, 6: 0}.items():
            on[:, c] &= on[:, p]
        if second:
            on[:, 6] &= on[:, 1]
        return X, pd.DataFrame(
            (on & (rng.random(on.shape) >= 0.2)).astype(int), columns=list("ABCabcW")
        )

    hits, false = 0, 0
    for seed in range(4):
        X, Z = data(True, seed)
        hits += any(
            r["implied"] and {r["label"], r["second_parent"]} in ({"W", "B"}, {"W", "A"})
            for r in label_pairs_test(
                LabelHierarchy(alpha="moment", max_iter=15).fit(X, Z), X, Z
            )
        )
        X, Z = data(False, seed)
        false += (
            len(
                label_pairs_test(
                    LabelHierarchy(alpha="moment", max_iter=15).fit(X, Z), X, Z
                )
            )
            > 0
        )
    assert hits >= 2 and false <= 1


def test_fasttag_closed_forms():
    t = toy(0.3, 150)
    m = FastTag(1e-2, gamma=0.7, p=0.4, max_iter=60).fit(t.data, t.Z)
    X, z, B, W, q = np.c_[t.data, np.ones(150)], t.Z.astype(float), m.B_, m.coef_, 0.6
    S = z.T @ z / 150
    Q = q * q * S
    np.fill_diagonal(Q, q * np.diag(S))

    def loss(B, W):
        return (
            ((z @ B.T - X @ W) ** 2).sum() / 150
            + 1e-2 * (W**2).sum()
            + 0.7 * (np.trace(S) - 2 * q * np.trace(B @ S) + np.trace(B @ Q @ B.T))
        )

    rng = np.random.default_rng(0)
    at = loss(B, W)
    assert all(
        loss(B + rng.normal(0, 1e-2, B.shape), W + rng.normal(0, 1e-2, W.shape)) > at
        for _ in range(30)
    )
    drop = np.mean(
        [
            ((z - (z * (rng.random(z.shape) < q)) @ B.T) ** 2).sum() / 150
            for _ in range(3000)
        ]
    )
    np.testing.assert_allclose(
        np.trace(S) - 2 * q * np.trace(B @ S) + np.trace(B @ Q @ B.T), drop, rtol=0.02
    )
    assert m.predict(t.data).shape == t.Z.shape


def test_other_baselines_run():
    t = toy(0.2, 150)
    for m in (binary_relevance(8), classifier_chain(t.Z, 8)):
        assert m.fit(t.data, t.Z).predict(t.data).shape == t.Z.shape


def test_candidates_and_closure():
    t = toy()
    e = candidate_edges(t.Z, 2, t.parents)
    assert {(-1, c) for c in range(12)} <= set(map(tuple, e.tolist())) and {
        (p, c) for c, p in enumerate(t.parents)
    } <= set(map(tuple, e.tolist()))
    assert len(candidate_edges(t.Z)) == 12 * 12 and len(candidate_edges(t.Z, 2)) == 12 * 3
    Y = closure(t.Z, t.parents)
    assert (Y >= t.Z).all() and all(
        (Y[:, p] >= Y[:, c]).all() for c, p in enumerate(t.parents) if p >= 0
    )


@pytest.mark.slow
def test_newsgroups_tree():
    try:
        b = load("ng20_2000")
    except FileNotFoundError:
        pytest.skip("ng20_2000 is not here")
    Z = (b.Z * (np.random.default_rng(0).random(b.Z.shape) >= 0.1)).astype(np.int8)
    assert tree_rf(b.parents, LabelHierarchy(max_iter=15).fit(b.data, Z).parents_) <= 4


PAGE = Path(__file__).resolve().parent.parent / "nbs" / "18_hierarchy.ipynb"


def listing(*cells):
    "The names that cells of the chapter define: the literal algorithm stands there."
    source = {c["id"]: "".join(c["source"]) for c in json.loads(PAGE.read_text())["cells"]}
    names = {"np": np, "minimize": minimize, "product": product}
    names |= {"expit": expit, "log_expit": log_expit}
    for cell in cells:
        exec(source[cell], names)
    return names


@pytest.mark.parametrize("seed", [1, 3])
def test_as_published_is_the_listing_of_the_page(seed):
    literal = listing("002ffa5b", "pub-18-trees", "pub-18-list")["printed_hierarchy"]
    t = toy_tree(100, groups=2, children=1, d=2, missing=0.2, random_state=seed)
    tree, rate = start_tree("chow-liu", t.Z, t.label_names)
    parents, labels = literal(t.data, t.Z, tree, max(rate, 0.01))
    h = LabelHierarchy.as_published().fit(t.data, t.Z)
    np.testing.assert_array_equal(h.parents_, parents)
    np.testing.assert_array_equal(h.predict(t.data), labels)


def test_each_step_of_a_round_is_taken():
    t = toy(0.3, 300)
    for m_step in ("exact", "alternate"):
        rules = EMRules(1.0, m_step, solver=TIGHT)
        s = em_init(t.data, t.Z, rules, np.full(12, -1), 0.05, 0.05)
        q = expect(s, t.data, t.Z)
        new = em_step(s, t.data, t.Z, rules)
        assert new.value == pytest.approx(penalised(q, s, rules))
        assert new.alpha[0] == pytest.approx(1 - t.Z.sum() / q.m.sum())
        assert new.eps == pytest.approx(0.98 * 0.05)
        assert np.abs(new.coef - s.coef).max() > 1e-3
        kept = em_step(s, t.data, t.Z, rules._replace(learn_alpha=False, learn_tree=False))
        np.testing.assert_array_equal(kept.alpha, s.alpha)
        np.testing.assert_array_equal(kept.parents, s.parents)
        assert np.abs(kept.coef - s.coef).max() > 1e-3


def test_the_tree_is_reconsidered_and_moves_are_made():
    t = toy(0.1, 300, 0)
    rules = EMRules(1.0, decay=1.0, solver=TIGHT)
    wrong = t.parents.copy()
    wrong[[1, 5]] = wrong[5], wrong[1]  # two leaves change places
    first = chow_liu(t.Z)
    end = run_em(
        em_init(t.data, t.Z, rules, first, 0.1, 0.05), t.data, t.Z, rules, 12, 0.0
    ).state
    assert tree_rf(t.parents, end.parents) < tree_rf(t.parents, first)
    s = em_init(t.data, t.Z, rules, wrong, 0.1, 0.01)
    moved, taken = edge_moves(s, t.data, t.Z, rules)
    assert taken > 0 and tree_value(moved, t.data, t.Z, rules) > tree_value(
        s, t.data, t.Z, rules
    )
    own = {(int(p), c) for c, p in enumerate(moved.parents)}
    assert own <= set(map(tuple, moved.edges.tolist()))


def test_start_models_use_the_ancestors_of_recorded_labels():
    Z = np.array([[0, 1], [1, 1], [1, 0], [0, 0]] * 10)
    X = np.random.default_rng(0).normal(size=(40, 2))
    rules = EMRules(1.0, solver=TIGHT)
    s = em_init(X, Z, rules, np.array([-1, 0]), 0.1, 0.01)
    on = np.maximum(Z[:, 0], Z[:, 1])
    lr = LogisticRegression(C=2 / 1.0, tol=1e-9, max_iter=2000).fit(X, on)
    np.testing.assert_allclose(s.coef[0], lr.coef_[0], atol=1e-3)
    lr = LogisticRegression(C=2 / 1.0, tol=1e-9, max_iter=2000)
    lr.fit(X[on == 1], Z[on == 1, 1])  # the child only where its parent is on
    np.testing.assert_allclose(s.coef[1], lr.coef_[0], atol=1e-3)


def test_units_do_not_matter():
    t = toy(0.3, 200)
    unit, shift = np.array([1e3, 1e-3] + [1.0] * 6), 5.0
    a = LabelHierarchy(max_iter=10).fit(t.data, t.Z)
    b = LabelHierarchy(max_iter=10).fit(t.data * unit + shift, t.Z)
    np.testing.assert_array_equal(a.parents_, b.parents_)
    want = a.predict_proba(t.data)
    np.testing.assert_allclose(b.predict_proba(t.data * unit + shift), want, atol=1e-6)
    np.testing.assert_allclose(b.coef_ * unit, a.coef_, atol=1e-5)


def test_labels_that_nobody_recorded():
    t = toy(0.3, 120)
    with pytest.warns(UserWarning, match="None of the 12 labels"):
        h = LabelHierarchy(max_iter=5).fit(t.data, np.zeros_like(t.Z))
    assert h.alpha_ == 0 and not h.predict(t.data).any()
    assert np.isfinite(h.predict_proba(t.data)).all()
    Z = t.Z.copy()
    Z[:, 3] = 0
    m = np.where(Z, 1.0, 0.2)
    rates = update_alpha(Z, m, per_label=True)
    others = np.arange(12) != 3
    assert rates[3] == pytest.approx(1 - Z.sum() / m[:, others].sum())
    assert (rates < 1 - 1e-6).all()


def test_old_name_of_the_moves():
    with pytest.warns(FutureWarning, match="n_tree_moves"):
        assert LabelHierarchy(moves=2).n_tree_moves == 2


def test_default_penalty_is_a_normal_prior_of_the_logits():
    t = toy(0.2, 150)
    a = LabelHierarchy(max_iter=8).fit(t.data, t.Z)
    b = LabelHierarchy(8**2 / 16, max_iter=8).fit(t.data, t.Z)
    np.testing.assert_array_equal(a.coef_, b.coef_)
