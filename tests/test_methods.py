"""What every method of chapters 10, 10a and 12 must survive: odd answers, odd data,
order."""

import warnings

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris

from csc_nb import tvclust, rdpmeans
from csc_nb.constraints import Constraints
from csc_nb.experts import ExpertClustering
from csc_nb.graph import make_links
from csc_nb.metrics import ari
from csc_nb.rdpmeans import RDPMeans
from csc_nb.tvclust import TVClust

RNG = np.random.default_rng(3)
Y = np.repeat([0, 1, 2], 30)
X = RNG.normal(size=(90, 3)) + 3.5 * np.eye(3)[Y]
PLAIN = ari(Y, KMeans(3, n_init=10, random_state=0).fit(X).labels_)
METHODS = {
    "tvclust": lambda **kw: TVClust(3, random_state=0, **kw),
    "rdp-means": lambda **kw: RDPMeans(3, random_state=0, **kw),
    "experts": lambda **kw: ExpertClustering(3, random_state=0, **{"n_init": 4, **kw}),
}


def fit(method, X=X, c=None, **kw):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return METHODS[method](**kw).fit(X, constraints=c)


def answers(kind):
    c = Constraints.from_labels(Y, n=120, noise=0.0, random_state=0)
    value = np.asarray(c.value)
    if kind == "must only":
        return c.select(value > 0)
    if kind == "cannot only":
        return c.select(value < 0)
    if kind == "contradictory":  # every question answered both ways
        return Constraints(
            np.r_[c.a, c.a], np.r_[c.b, c.b], np.r_[value, -value], n_samples=90
        )
    if kind == "echo":  # three people, always of one mind
        return Constraints(
            *(np.tile(v, 3) for v in (c.a, c.b, value)),
            expert=np.repeat([0, 1, 2], 120),
            n_samples=90,
        )
    return c


@pytest.mark.parametrize(
    "kind", ["right", "must only", "cannot only", "contradictory", "echo"]
)
@pytest.mark.parametrize("method", METHODS)
def test_odd_answers_give_a_sensible_partition(method, kind):
    e = fit(method, c=answers(kind))
    assert e.n_clusters_ >= 2
    assert ari(Y, e.labels_) > PLAIN - 0.1


@pytest.mark.parametrize("method", METHODS)
def test_the_order_of_answers_and_rows_does_not_matter(method):
    c = Constraints.from_labels(Y, n=60, noise=0.2, random_state=0)
    e = fit(method, c=c)
    turn, mix = RNG.permutation(90), RNG.permutation(60)
    back = np.argsort(turn)
    moved = Constraints(
        back[c.b[mix]], back[c.a[mix]], np.asarray(c.value)[mix], n_samples=90
    )
    assert ari(e.labels_[turn], fit(method, X[turn], moved).labels_) == 1


@pytest.mark.parametrize(
    "change",
    [lambda X: X * f for f in (1e-6, 0.01, 0.1, 1e6)]
    + [lambda X: X + 1e9, lambda X: np.c_[X, np.full(90, 5.0)]],
)
@pytest.mark.parametrize("method", METHODS)
def test_units_place_and_constant_columns_do_not_matter(method, change):
    c = Constraints.from_labels(Y, n=60, noise=0.1, random_state=0)
    assert ari(fit(method, c=c).labels_, fit(method, change(X), c).labels_) > 0.9


@pytest.mark.parametrize("method", METHODS)
def test_fewer_different_rows_than_clusters_is_said(method):
    twice = np.repeat([[0.0, 0.0], [1.0, 1.0]], 30, axis=0)
    with pytest.warns(UserWarning):
        e = METHODS[method]().fit(twice, constraints=dict(must=[(0, 1)], cannot=[(0, 59)]))
    assert e.n_clusters_ == 2


@pytest.mark.parametrize(
    ("method", "bad"),
    [
        ("tvclust", dict(alpha=np.inf)),
        ("tvclust", dict(n_init=0)),
        ("tvclust", dict(max_iter=0)),
        ("tvclust", dict(p=(0, 0))),
        ("rdp-means", dict(lam=np.inf)),
        ("rdp-means", dict(n_init=0)),
        ("experts", dict(lam=np.inf)),
        ("experts", dict(mi_weight=np.inf)),
        ("experts", dict(n_init=0)),
    ],
)
def test_infinite_and_empty_settings_are_refused(method, bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        METHODS[method](**bad).fit(X)


@pytest.mark.parametrize("method", METHODS)
def test_answers_that_nothing_predicts_are_said_to_be_so(method):
    coin = np.random.default_rng(5)
    pairs = coin.integers(90, size=(80, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    c = Constraints(*pairs.T, coin.choice([-1, 1], len(pairs)), n_samples=90)
    with pytest.warns(UserWarning, match="base rate"):
        METHODS[method]().fit(X, constraints=c)


def loud(seed=0, n=120):
    "Groups in one quiet column, and nine louder ones about nothing."
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1, 2], n // 3)
    return np.c_[4 * y + rng.normal(size=n), 4 * rng.normal(size=(n, 9))], y


@pytest.mark.parametrize("method", ["tvclust", "rdp-means"])
def test_a_learned_space_is_chosen_where_idle_columns_are_loud(method):
    Z, y = loud()
    c = Constraints.from_labels(y, n=120, noise=0.1, random_state=0)
    learned, raw = fit(method, Z, c), fit(method, Z, c, space="raw")
    assert ari(y, learned.labels_) > ari(y, raw.labels_) + 0.2
    assert "learned" in str(learned.choice_.name)
    assert (learned.predict(Z) == learned.labels_).mean() > 0.8


@pytest.mark.parametrize("seed", range(3))
def test_bound_with_one_covariance_never_falls(seed):
    rng = np.random.RandomState(seed)
    c = Constraints.from_labels(Y, n=60, noise=0.2, random_state=seed)
    links = make_links(90, c.a, c.b, c.value)
    m = tvclust.tv_model(X, tvclust.default_family(X, "known-variance"), links, T=3)
    path = tvclust.tied_fit(m, rng, 1, tol=0.0, max_iter=80)[1]
    assert np.diff(path).min() > -1e-7 * abs(path[-1])


def test_the_step_of_the_shared_covariance_is_its_maximum():
    rng = np.random.RandomState(0)
    R = rng.dirichlet(np.ones(3), 90)
    Z = X - X.mean(0)
    S0, old = 4.0 * np.eye(3), np.cov(Z.T)

    def part(Sigma):
        "The part of the bound that depends on Σ, factor of the means held fixed."
        inv, logdet = np.linalg.inv(Sigma), np.linalg.slogdet(Sigma)[1]
        value = -(5.0 + 4) / 2 * logdet - np.trace(S0 @ inv) / 2
        for k in range(3):
            N = R[:, k].sum()
            m, V = R[:, k] @ Z / (0.1 + N), old / (0.1 + N)
            far = np.einsum("ij,jk,ik->i", Z - m, inv, Z - m)
            value -= (R[:, k] @ far + N * np.trace(inv @ V) + N * logdet) / 2
            value -= (0.1 * (m @ inv @ m + np.trace(inv @ V)) + logdet) / 2
        return value

    best = tvclust.tied_scatter(R, Z, old, S0, 5.0, 0.1)
    for _ in range(20):
        E = 0.05 * rng.normal(size=(3, 3))
        assert part(best) >= part(best + E + E.T)


@pytest.mark.parametrize("seed", range(3))
def test_J_with_a_pooled_covariance_never_rises(seed):
    rng = np.random.default_rng(seed)
    c = Constraints.from_labels(Y, n=60, noise=0.2, random_state=seed)
    links = make_links(90, c.a, c.b, c.value)
    at, lens = rdpmeans.look_start(X, links, 3, rdpmeans.Look("raw", pooled=True), rng)
    for xi in (0.1, 1.0, 5.0):
        at = at._replace(state=at.state._replace(xi1=xi, xi2=xi))
        states = rdpmeans.look_sweeps(at, lens, rng, 30)
        J = [s.state.J for s in states]
        assert np.diff(J).max(initial=0) < 1e-7 * abs(J[-1])
        at = states[-1]


def test_n_clusters_are_kept_by_tvclust_and_found_without_it():
    c = Constraints.from_labels(Y, n=90, noise=0.1, random_state=0)
    assert fit("tvclust", c=c).n_clusters_ == 3
    free = TVClust(random_state=0).fit(X, constraints=c)
    assert 2 <= free.n_clusters_ <= 6 and ari(Y, free.labels_) > 0.5


def test_a_liar_among_the_experts_does_no_harm():
    rng = np.random.default_rng(0)
    parts = []
    for right in (0.9, 0.85, 0.1):
        p = rng.integers(90, size=(80, 2))
        p = p[p[:, 0] != p[:, 1]]
        truth = np.where(Y[p[:, 0]] == Y[p[:, 1]], 1, -1)
        said = np.where(rng.random(len(p)) < right, truth, -truth)
        parts.append((p, said, np.full(len(p), len(parts))))
    p, said, who = (np.concatenate(v) for v in zip(*parts))
    c = Constraints(*p.T, said, expert=who, n_samples=90)
    e = fit("experts", c=c)
    assert ari(Y, e.labels_) > PLAIN - 0.1
    assert e.expert_weights_[2] < e.expert_weights_[:2].min()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("factor", [1.0, 0.1, 0.01, 1e6])
def test_must_links_alone_do_not_join_the_species_of_iris(method, factor):
    X, y = load_iris(return_X_y=True)
    c = Constraints.from_labels(y, n=150, random_state=0)
    c = c.select(np.asarray(c.value) > 0)
    alone = KMeans(3, n_init=10, random_state=0)
    plain = min(ari(y, alone.fit(Z).labels_) for Z in (X, X / X.std(0)))
    e = fit(method, np.c_[X, np.full(150, 7.0)] * factor, c)
    assert e.n_clusters_ == 3 and ari(y, e.labels_) > plain - 0.1


@pytest.mark.parametrize("method", METHODS)
def test_where_answers_are_coins_the_features_decide(method):
    "On average over draws; one clustering by the features and one by noise lie far apart."
    found = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        p = rng.integers(90, size=(90, 2))
        p = p[p[:, 0] != p[:, 1]]
        c = Constraints(*p.T, rng.choice([-1, 1], len(p)), n_samples=90)
        found.append(ari(Y, fit(method, c=c).labels_))
    assert np.mean(found) > PLAIN - 0.05


@pytest.mark.parametrize("method", METHODS)
def test_the_first_candidate_hears_no_answers(method):
    c = Constraints.from_labels(Y, n=60, noise=0.1, random_state=0)
    e = fit(method, c=c)
    first = e.choice_.names[0]
    said = str(first if method == "tvclust" else first[1])
    assert first[0] == np.inf if method == "experts" else said == "features alone"


def test_clusters_that_err_accuse_fewer_people():
    "Where hidden answers say that the clusters err, breaking an answer is no proof."
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(200, 5))
    Z[:, 0] += 1.2 * np.repeat([0, 1], 100)
    y = np.repeat([0, 1], 100)
    c = Constraints.from_labels(y, n=100, noise=0.1, random_state=0)
    e = TVClust(2, random_state=0).fit(Z, constraints=c)
    broken = (e.labels_[c.a] == e.labels_[c.b]) != (np.asarray(c.value) > 0)
    assert len(e.suspects_) < broken.sum()
