"""TVClust: samplers against enumeration, the bound against the evidence, the estimator."""

import tracemalloc
from itertools import product

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import check_estimator

from csc_nb import tvclust as tv
from csc_nb.constraints import Constraints
from csc_nb.graph import make_links
from csc_nb.tvclust import (
    DirichletMultinomial,
    KnownVariance,
    Noise,
    NormalInverseWishart,
    Rate,
    TVClust,
    block_stats,
    conditional,
    gibbs_init,
    gibbs_step,
    log_evidence,
    log_joint,
    pair_counts,
    point_estimate,
    polya_urn,
    stick_logs,
    svb_run,
    svb_step,
    tv_model,
    vb_init,
    vb_merge,
    vb_state,
    vb_step,
)


def partitions(n):
    Z = [(0,)]
    for _ in range(n - 1):
        Z = [z + (k,) for z in Z for k in range(max(z) + 2)]
    return np.array(Z)


Z6 = partitions(6)
LINKS = make_links(
    6, [0, 1, 3, 0, 2], [1, 2, 5, 5, 4], [1, -1, 1, -1, 1], [1.0, 2.0, 1.0, 1.0, 0.5]
)
X1 = np.array([[-1.2], [-0.7], [-0.2], [0.3], [0.9], [1.3]])
X2 = np.random.default_rng(5).normal(size=(6, 2)) * [1.0, 2.0]
C3 = np.array([[3, 0, 1], [2, 1, 0], [1, 2, 1], [0, 3, 1], [1, 1, 3], [0, 0, 4]], float)
KV, DM = (
    KnownVariance(np.array([0.1]), 0.3, 0.4),
    DirichletMultinomial(np.array([0.7, 0.4, 1.0])),
)
NW = NormalInverseWishart(
    np.array([0.1, -0.2]), 0.5, np.array([[1.0, 0.2], [0.2, 2.0]]), 3.0
)
FLOOR = Noise(Rate(floor=0.5), Rate(floor=0.5))
CASES = {
    "known variance": tv_model(X1, KV, LINKS, 1.0, Noise(0.9, 0.8)),
    "normal": tv_model(X2, NW, LINKS, 0.7, Noise(0.9, 0.8)),
    "counts": tv_model(C3, DM, LINKS, 1.0, Noise(0.9, 0.8)),
    "rates sampled": tv_model(X2, NW, LINKS, 1.0, Noise()),
    "one rate": tv_model(X1, KV, LINKS, 1.5, Noise(tied=True)),
    "q only": tv_model(X1, KV, LINKS, 1.0, Noise(p=0.8)),
    "rates above a half": tv_model(X1, KV, LINKS, 1.0, FLOOR),
    "two clusters at most": tv_model(X1, KV, LINKS, 1.0, Noise(0.9, 0.8), T=2),
}


def exact(m):
    "Co-clustering and probabilities over all partitions into at most T clusters."
    allowed = Z6[Z6.max(1) < m.T]
    logp = np.array([log_joint(z, m) for z in allowed])
    w = np.exp(logp - logp.max())
    w /= w.sum()
    return np.einsum("s,sij->ij", w, allowed[:, :, None] == allowed[:, None, :]), w


def problem(seed, family="normal", n=30, d=2, m=40):
    rng = np.random.default_rng(seed)
    X = (
        rng.integers(0, 5, (n, 4)).astype(float)
        if family == "multinomial"
        else rng.normal(size=(n, d)) + 3 * rng.integers(0, 3, (n, 1))
    )
    a = rng.integers(n, size=m)
    b = (a + rng.integers(1, n, size=m)) % n
    noise = [Noise(), Noise(0.8, 0.9), Noise(tied=True), FLOOR][seed % 4]
    fam = tv.default_family(X, family)
    links = make_links(n, a, b, rng.choice([-1, 1], m), rng.uniform(0.5, 2, m))
    return tv_model(X, fam, links, rng.choice([0.3, 1.0, 4.0]), noise, 5), rng


# ---- the sampler


@pytest.mark.parametrize("explicit", [False, True], ids=["collapsed", "explicit"])
@pytest.mark.parametrize("name", CASES)
def test_gibbs_agrees_with_enumeration(name, explicit):
    model = CASES[name]
    C, _ = exact(model)
    rng = np.random.default_rng(0)
    s = gibbs_init(model, rng, explicit=explicit)
    batches = []
    for _ in range(25):
        H = np.zeros((6, 6))
        for _ in range(60):
            s = gibbs_step(s, model, rng, explicit)
            H += s.z[:, None] == s.z
        batches.append(H / 60)
    batches = np.array(batches)
    se = batches.std(0, ddof=1) / np.sqrt(len(batches))
    assert (abs(batches.mean(0) - C) < 5 * se + 1e-3).all(), abs(batches.mean(0) - C).max()
    assert se.max() < 0.05


def test_printed_new_cluster_factor_is_wrong():
    "The same judge must reject the factor as printed: another chain, another law."
    m = CASES["known variance"]
    C, _ = exact(m)
    p, q = 0.9, 0.8
    index = {tuple(z): t for t, z in enumerate(Z6)}

    def canon(z):
        _, first, label = np.unique(z, return_index=True, return_inverse=True)
        return tuple(first.argsort().argsort()[label])

    def stationary(printed):
        P = np.eye(203)
        for i in range(6):
            step = np.zeros((203, 203))
            for t, z in enumerate(Z6):
                w = conditional(i, z, m, p, q)
                if printed:
                    f, s = (
                        v.sum() for v in tv.friends_strangers(i, z, m.links, z.max() + 1)
                    )
                    w[-1] *= (q / (1 - q)) ** (f - s)
                    w /= w.sum()
                for k, v in enumerate(w):
                    if v > 0:
                        step[t, index[canon(np.r_[z[:i], k, z[i + 1 :]])]] += v
            P = P @ step
        pi = np.linalg.matrix_power(P, 200)[0]
        return np.einsum("s,sij->ij", pi, Z6[:, :, None] == Z6[:, None, :])

    assert abs(stationary(False) - C).max() < 1e-8
    assert abs(stationary(True) - C).max() > 0.05


@pytest.mark.slow
@pytest.mark.parametrize("explicit", [False, True])
@pytest.mark.parametrize("family", [KV, NW, DM])
def test_geweke_joint_distribution(family, explicit):
    "Prior draws of (z, p, q, X, E), and the sampler with data redrawn: the same moments."
    n, alpha = 5, 1.0
    noise = Noise(Rate(None, 4.0, 2.0), Rate(None, 3.0, 2.0))
    a, b = np.array([(i, j) for i in range(n) for j in range(i)]).T
    rng = np.random.default_rng(1)

    def data(z, p, q):
        X = np.empty((n, len(family.tau0) if family.code == 2 else len(family.m0)))
        for k in np.unique(z):
            rows = z == k
            m = rows.sum()
            if family.code == 0:
                S = stats.invwishart(family.nu0, family.S0).rvs(random_state=rng)
                X[rows] = rng.multivariate_normal(
                    rng.multivariate_normal(family.m0, S / family.beta0), S, m
                )
            elif family.code == 1:
                X[rows] = rng.normal(
                    rng.normal(family.m0, np.sqrt(family.sigma2 / family.kappa0)),
                    np.sqrt(family.sigma2),
                    (m, 1),
                )
            else:
                X[rows] = rng.multinomial(6, rng.dirichlet(family.a), m)
        same = z[a] == z[b]
        return X, make_links(
            n, a, b, np.where(rng.random(len(a)) < np.where(same, p, 1 - q), 1, -1)
        )

    def g(z, p, q, X, L):
        return [
            z.max() + 1,
            p,
            q,
            np.log1p(abs(X)).mean(),
            L.f.sum(),
            (z[a] == z[b]) @ L.f,
            np.tanh(X[0, 0]),
            float(z[0] == z[1]),
            p * p,
            q * q,
        ]

    first = []
    second = []
    for _ in range(6000):
        z = polya_urn(n, alpha, rng)
        p = rng.beta(4, 2)
        q = rng.beta(3, 2)
        first.append(g(z, p, q, *data(z, p, q)))
    X, L = data(z, p, q)
    s = tv.GibbsState(z, p, q, 1, 0.0)
    for _ in range(20000):
        model = tv_model(X, family, L, alpha, noise)
        s = gibbs_step(s, model, rng, explicit)
        X, L = data(s.z, s.p, s.q)
        second.append(g(s.z, s.p, s.q, X, L))
    first = np.array(first)
    second = np.array(second)
    batch = second.reshape(50, 400, -1).mean(1)
    score = (first.mean(0) - second.mean(0)) / np.sqrt(
        first.var(0) / len(first) + batch.var(0, ddof=1) / 50
    )
    assert abs(score).max() < 4.2, score.round(2)


def test_kernel_statistics_do_not_drift():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    fam = tv.default_family(X)
    tau, N = block_stats(fam, X, np.zeros(60, int))
    N, M, L = tv._kernel_blocks(fam, tau, N, 0)
    out = rng.permutation(60)[:40]
    for i in out:
        tv._move(0, X[i] - fam.m0, -1.0, N[1], M[1], L[1], fam.beta0)
        N[1] -= 1
    keep = np.setdiff1d(np.arange(60), out)
    _, M2, L2 = tv._kernel_blocks(fam, *block_stats(fam, X[keep], np.zeros(20, int)), 0)
    np.testing.assert_allclose(M[1], M2[1], atol=1e-10)
    np.testing.assert_allclose(L[1], L2[1], atol=1e-9)


def test_kernel_is_permutation_equivariant():
    model, rng = problem(1)
    X = model.X
    links = model.links
    n = len(model.X)
    perm = rng.permutation(n)
    inv = np.argsort(perm)
    z0 = rng.integers(3, size=n)
    order = rng.permutation(n)
    u = rng.random(n)

    def sweep(X, links, z, order, u):
        z = z + 1
        gain = (links.f - links.s)[links.edge]
        tau, N = block_stats(model.family, X, z - 1, 3)
        tv._gibbs_sweep(
            0,
            X - model.family.m0,
            z,
            order,
            0,
            u,
            *tv._kernel_blocks(model.family, tau, N, n),
            *tv._kernel_prior(model.family),
            links.indptr,
            links.nbr,
            gain,
            0.0,
            np.inf,
        )
        return z

    L2 = make_links(
        n, inv[links.a], inv[links.b], np.where(links.f > 0, 1, -1), links.f + links.s
    )
    z1 = sweep(X, links, z0, order, u)
    z2 = sweep(X[perm], L2, z0[perm], inv[order], u[perm])
    np.testing.assert_array_equal(z1[perm], z2)


def test_sampler_makes_room_for_many_clusters():
    X = np.arange(60.0)[:, None] * 100
    family = KnownVariance(np.zeros(1), 1e-10, 0.01)
    model = tv_model(X, family, make_links(60))
    rng = np.random.default_rng(0)
    s = gibbs_init(model, rng)
    assert s.K == 60 and gibbs_step(s, model, rng).K == 60
    assert gibbs_step(s, model, rng, explicit=True).K == 60


@pytest.mark.parametrize("name", CASES)
def test_log_joint_of_state(name):
    m = CASES[name]
    s = gibbs_init(m, np.random.default_rng(3))
    given = log_joint(s.z, m._replace(noise=Noise(s.p, s.q)))
    prior = 0.0
    for x, (rate, *_) in zip((s.p, s.q), m.noise.rates(np.zeros(4))):
        if rate.value is None:
            beta = stats.beta(rate.right, rate.wrong)
            prior += beta.logpdf(x) - beta.logsf(rate.floor)
    assert s.log_joint == pytest.approx(given + prior, abs=1e-9)


def test_weight_is_repetition():
    z = np.array([0, 0, 1, 1])
    X = np.arange(4.0)[:, None]
    one = make_links(4, [0, 1], [1, 2], [1, 1], [3.0, 1.0])
    many = make_links(4, [0, 0, 1, 1, 3], [1, 1, 0, 2, 0], [1, 1, 1, 1, 0])
    f = KnownVariance(np.zeros(1), 1.0, 1.0)
    want = log_joint(z, tv_model(X, f, many))
    assert log_joint(z, tv_model(X, f, one)) == pytest.approx(want, abs=1e-12)


@pytest.mark.parametrize("loss", ["vi", "binder"])
def test_point_estimate_against_definition(loss):
    Z = np.random.default_rng(0).integers(0, 3, (15, 8))
    best, losses = point_estimate(Z, loss)

    def distance(z, w):
        T = (
            np.array([[np.sum((z == k) & (w == l)) for l in range(3)] for k in range(3)])
            / 8
        )
        if loss == "binder":
            return ((z[:, None] == z) != (w[:, None] == w)).sum()
        H = lambda t: stats.entropy(t.ravel())
        return 2 * H(T) - H(T.sum(0)) - H(T.sum(1))

    brute = np.array([np.mean([distance(z, w) for w in Z]) for z in Z])
    np.testing.assert_allclose(losses, brute, atol=1e-9)
    np.testing.assert_array_equal(best, Z[brute.argmin()])


# ---- mean field


@pytest.mark.parametrize("family", ["normal", "known-variance", "multinomial"])
@pytest.mark.parametrize("seed", range(6))
def test_bound_never_falls(family, seed):
    m, rng = problem(seed, family)
    s = vb_state(rng.dirichlet(np.ones(5), 30), m)
    path = [s.elbo]
    batches = None if seed % 2 else np.array_split(rng.permutation(30), 4)
    for t in range(40):
        s = vb_step(s, m, batches)
        path.append(s.elbo)
        assert s.elbo == pytest.approx(vb_state(s.R, m).elbo, abs=1e-7)
        if t % 8 == 7:
            s = vb_merge(s, m)
            path.append(s.elbo)
            assert s.elbo == pytest.approx(vb_state(s.R, m).elbo, abs=1e-7)
    assert np.diff(path).min() > -1e-8, np.diff(path).min()


@pytest.mark.parametrize("family", ["normal", "known-variance", "multinomial"])
def test_one_cluster_is_the_evidence(family):
    m, _ = problem(3, family)
    m = m._replace(T=1)
    R = np.ones((30, 1))
    same = np.ones(len(m.links.a))
    assert vb_state(R, m).elbo == pytest.approx(
        log_evidence(m.family, m.X) + m.noise.log_evidence(pair_counts(same, m.links)),
        abs=1e-8,
    )


@pytest.mark.parametrize("name", CASES)
def test_bound_is_below_the_evidence(name):
    m = CASES[name]._replace(T=3)
    X, fam, links, alpha, noise = m[:5]
    logs = []
    for z in product(range(3), repeat=6):
        z = np.array(z)
        N = np.bincount(z, minlength=3).astype(float)
        same = (z[links.a] == z[links.b]).astype(float)
        logs.append(
            stick_logs(N, alpha, True)[1]
            + sum(log_evidence(fam, X[z == k]) for k in range(3) if N[k])
            + noise.log_evidence(pair_counts(same, links))
        )
        hard = np.eye(3)[z]  # a hard labeling's bound is its joint probability
    assert vb_state(hard, m).elbo == pytest.approx(logs[-1], abs=1e-8)
    evidence = np.logaddexp.reduce(logs)
    for seed in range(5):
        s = vb_state(np.random.default_rng(seed).dirichlet(np.ones(3), 6), m)
        for _ in range(30):
            s = vb_step(s, m)
        assert s.elbo <= evidence + 1e-9


def test_bound_is_permutation_invariant():
    m, rng = problem(2)
    perm = rng.permutation(30)
    inv = np.argsort(perm)
    L = m.links
    R = rng.dirichlet(np.ones(4), 30)
    m2 = m._replace(
        X=m.X[perm],
        links=make_links(30, inv[L.a], inv[L.b], np.where(L.f > 0, 1, -1), L.f + L.s),
    )
    assert vb_state(R, m).elbo == pytest.approx(vb_state(R[perm], m2).elbo, abs=1e-9)
    free = m._replace(links=make_links(30))
    free2 = m2._replace(links=make_links(30))
    np.testing.assert_allclose(
        vb_step(vb_state(R.copy(), free), free).R[perm],
        vb_step(vb_state(R[perm].copy(), free2), free2).R,
        atol=1e-10,
    )


@pytest.mark.parametrize("seed", range(4))
def test_merge_gains_are_differences_of_the_bound(seed):
    "The closed form of a merge, with the entropy added, against the bound of the result."
    m, rng = problem(seed)
    s = vb_state(rng.dirichlet(np.ones(4), 30), m)
    k, l, gain = tv._merge_upper(s, m)
    for t in range(len(k)):
        R = np.delete(s.R, l[t], 1)
        R[:, k[t]] = s.R[:, k[t]] + s.R[:, l[t]]
        R = R[:, np.argsort(-R.sum(0), kind="stable")]
        lost = (R * np.log(R)).sum() - (s.R * np.log(s.R)).sum()
        assert gain[t] - lost == pytest.approx(vb_state(R, m).elbo - s.elbo, abs=1e-7)


@pytest.mark.parametrize("seed", range(4))
def test_a_row_is_at_its_optimum_after_its_update(seed):
    "With the other factors fixed, no other distribution of the row has a higher bound."
    m, rng = problem(seed, n=12, m=30)
    R = rng.dirichlet(np.ones(3), 12)
    s = vb_state(R.copy(), m)
    last = np.array([int(m.links.a[0])])
    for _ in tv._local(R, last, s.tau, s.N, s.counts, m):
        pass
    eta, c = m.family.expect(s.tau, s.N)
    lp, l1p, lq, l1q = m.noise.expect(s.counts)
    log_pi = stick_logs(s.N, m.alpha, False)[0]

    def part(r):
        "What depends on the row, written out over its answers."
        i = last[0]
        total = r @ (m.family.T(m.X[i : i + 1])[0] @ eta.T + c + log_pi) - r @ np.log(r)
        for a, b, f, w in zip(m.links.a, m.links.b, m.links.f, m.links.s):
            if i in (a, b):
                H = r @ R[b if a == i else a]
                total += f * (H * lp + (1 - H) * l1q) + w * (H * l1p + (1 - H) * lq)
        return total

    best = part(R[last[0]])
    for other in rng.dirichlet(np.ones(3), 200):
        assert part(other) <= best + 1e-9


def test_merge_joins_halves_of_a_cluster_only():
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(size=(80, 2)), rng.normal(size=(60, 2)) + 12]
    fam = tv.default_family(X)
    m = tv_model(X, fam, make_links(140), T=5)
    z = np.r_[rng.integers(0, 2, 80), np.full(60, 2)]
    s = vb_merge(vb_state(np.eye(3)[z], m), m)
    assert len(s.N) == 2 and adjusted_rand_score(z == 2, s.R.argmax(1)) == 1


def test_split_finds_a_missed_cluster():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 50)
    X = rng.normal(size=(150, 2)) + 8 * np.array([[0, 0], [1, 0], [0, 1]])[y]
    fam = tv.default_family(X)
    m = tv_model(X, fam, make_links(150), T=5)
    s = vb_state(np.eye(2)[(y > 0).astype(int)], m)
    t = tv.vb_split(s, m, np.random.RandomState(0))
    assert (
        t.elbo > s.elbo and len(t.N) == 3 and adjusted_rand_score(y, t.R.argmax(1)) > 0.95
    )
    again = tv.vb_split(t, m._replace(T=3), np.random.RandomState(0))
    assert again is t


@pytest.mark.parametrize("family", [KV, NW, DM])
def test_expectations_are_the_gradient_of_m(family):
    "E θ = ∂m/∂τ: mean field uses nothing but the function m."
    X = {0: X2, 1: X1, 2: C3}[family.code]
    tau, N = block_stats(family, X, np.array([0, 0, 0, 1, 1, 1]))
    eta, _ = family.expect(tau, N)
    e = 1e-6
    num = np.array(
        [
            (family.log_m(tau + e * u, N) - family.log_m(tau - e * u, N)) / (2 * e)
            for u in np.eye(tau.shape[1])
        ]
    ).T
    np.testing.assert_allclose(eta, num, rtol=2e-5, atol=1e-6)


def test_no_square_array():
    rng = np.random.default_rng(0)
    n = 15_000
    y = rng.integers(4, size=n)
    X = rng.normal(size=(n, 3)) + 5 * np.eye(4)[y][:, :3]
    c = Constraints.from_labels(y, n=3000, noise=0.1, random_state=0)
    tracemalloc.start()
    e = TVClust(4, n_init=1, max_iter=10, batch_size=2000, random_state=0).fit(
        X, constraints=c
    )
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100 * n * 8 * 8 < n * n * 8 / 2
    assert adjusted_rand_score(y, e.labels_) > 0.9 and e.coclustering([0, 5]).shape == (
        2,
        n,
    )
    with pytest.raises(AttributeError, match="coclustering"):
        e.coclustering_


# ---- the estimator


def blobs(seed=0, n=90, gap=4.0):
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    return rng.normal(size=(n, 2)) + gap * np.array([[0, 0], [1, 0], [0, 1]])[y], y


@pytest.mark.parametrize("kw", [dict(), dict(inference="gibbs", max_iter=80)])
def test_estimator(kw):
    X, y = blobs()
    c = Constraints.from_labels(y, n=250, noise=0.2, random_state=1)
    a, b = (TVClust(random_state=0, **kw).fit(X, constraints=c) for _ in range(2))
    np.testing.assert_array_equal(a.labels_, b.labels_)
    np.testing.assert_array_equal(a.coclustering_, b.coclustering_)
    assert (
        adjusted_rand_score(y, a.labels_) > 0.9
        and a.n_clusters_ == len(np.unique(a.labels_)) == a.labels_.max() + 1
    )
    C = a.coclustering_
    assert (
        C.shape == (90, 90)
        and np.allclose(C, C.T)
        and (np.diag(C) == 1).all()
        and C.min() >= 0
        and C.max() <= 1 + 1e-12
    )
    wrong = np.flatnonzero((y[c.a] == y[c.b]) != (c.value > 0))
    assert set(a.suspects_) == set(np.flatnonzero(a.suspicion_ > 0.5))
    assert (np.diff(a.suspicion_[a.suspects_]) <= 0).all()
    assert len(np.intersect1d(a.suspects_, wrong)) > 0.8 * len(wrong)
    rate = 1 - len(wrong) / 250
    assert abs(a.p_ - rate) < 0.15 and abs(a.q_ - rate) < 0.1
    P = a.predict_proba(X)
    np.testing.assert_allclose(P.sum(1), 1)
    assert P.shape == (90, a.n_clusters_) and (a.predict(X) == P.argmax(1)).all()
    assert adjusted_rand_score(a.predict(blobs(7)[0]), blobs(7)[1]) > 0.8
    assert len(a.objective_history_) >= 1 and a.n_iter_ >= 1
    assert (np.diff(a.objective_history_) <= 0).all()
    if kw:
        assert set(a.trace_) == {"K", "log_joint", "p", "q"} and a.draws_.shape == (80, 90)
    else:
        assert np.diff(a.elbo_history_).min() > -1e-8


def test_no_constraints_predicts_its_labels():
    X, _ = blobs(2)
    e = TVClust(random_state=0).fit(X)
    np.testing.assert_array_equal(e.predict(X), e.labels_)


def test_units_of_the_columns_do_not_matter():
    X, y = blobs(3)
    c = Constraints.from_labels(y, n=60, random_state=0)
    s = np.array([1e-3, 50.0])
    np.testing.assert_array_equal(
        *(
            TVClust(random_state=0).fit(Z, constraints=c).labels_
            for Z in (X, X * s + [5.0, -700.0])
        )
    )


BAD = [
    (dict(n_clusters=0), "'n_clusters' .*at most so many"),
    (dict(n_clusters="gibbs"), "'n_clusters' "),
    (dict(n_clusters=91), "n_samples=90 should be >= n_clusters=91"),
    (dict(p=1.0), "'p' .*true pair"),
    (dict(p=np.nan), "'p' .*true pair"),
    (dict(p="same"), "'p' .*true pair"),
    (dict(q=-0.1), "'q' .*false pair"),
    (dict(p=(0, 0)), r"p=\(0, 0\): a pair is a Beta prior"),
    (dict(q=(4.0, np.inf)), "q=.*two finite numbers above 0"),
    (dict(q=[4.0]), "q=.*two finite numbers above 0"),
    (dict(inference="mcmc"), "'inference' .*gibbs"),
    (dict(alpha=0), "'alpha' .*weight of a new cluster"),
    (dict(alpha=np.inf), "'alpha' .*weight of a new cluster"),
    (dict(n_init=0), "'n_init' .*starts"),
    (dict(max_iter=0), "'max_iter' .*draws kept"),
    (dict(inference="gibbs", max_iter=0), "'max_iter' .*draws kept"),
    (dict(batch_size=0), "'batch_size' .*mini-batch"),
    (dict(tol=-1.0), "'tol'"),
    (dict(updates="sgd"), "'updates' .*stochastic"),
    (dict(updates=0.4), "'updates' .*above ½"),
    (dict(likelihood="multinomial"), "90 rows hold negative|rows hold negative"),
    (dict(likelihood="poisson"), "'likelihood' .*multinomial"),
]


@pytest.mark.parametrize("kw, match", BAD, ids=[str(b) for b, _ in BAD])
def test_messages(kw, match):
    with pytest.raises(ValueError, match=match):
        TVClust(**kw).fit(blobs()[0])


@pytest.mark.slow
@pytest.mark.parametrize("kw", [dict(), dict(inference="gibbs", max_iter=20)])
def test_scikit_learn_checks(kw):
    check_estimator(TVClust(random_state=0, **kw))


# ---- checks moved here from the page
def test_evidence_of_answers_is_an_integral_over_the_rates():
    c = np.array([5.0, 1.0, 7.0, 2.0])
    g = (np.arange(2000) + 0.5) / 2000

    def f(right, wrong):
        return np.mean(g**right * (1 - g) ** wrong * stats.beta(4, 1).pdf(g))

    np.testing.assert_allclose(
        Noise().log_evidence(c), np.log(f(5, 1) * f(7, 2)), atol=1e-5
    )
    np.testing.assert_allclose(
        Noise(tied=True).log_evidence(c), np.log(f(12, 3)), atol=1e-5
    )
    np.testing.assert_allclose(Noise().mean(c), [9 / 11, 11 / 14])


@pytest.mark.parametrize("family", [KV, NW, DM])
def test_kernel_weights_are_those_of_the_formula(family):
    rng = np.random.default_rng(1)
    X = (
        rng.integers(0, 4, (7, len(family.tau0))).astype(float)
        if family.code == 2
        else rng.normal(size=(7, len(family.m0)))
    )
    z = np.array([0, 0, 1, 1, 0, 2, 2])
    for i in range(7):
        tau, N = block_stats(family, np.delete(X, i, 0), np.delete(z, i), 3)
        N, M, L = tv._kernel_blocks(family, tau, N, 0)
        x = X[i] - (0 if family.code == 2 else family.m0)
        lw = np.array(
            [
                np.log(N[k] if k else 1.0)
                + tv._log_pred(family.code, x, N[k], M[k], L[k], *tv._kernel_prior(family))
                for k in range(4)
            ]
        )
        np.testing.assert_allclose(
            np.roll(np.exp(lw - np.logaddexp.reduce(lw)), -1),
            conditional(i, z, tv_model(X, family, make_links(7)), 0.9, 0.9),
            atol=1e-9,
        )


# ---- stochastic variational updates
def start(seed, family="normal", **kw):
    m, rng = problem(seed, family, **kw)
    R = rng.dirichlet(np.ones(5), len(m.X))
    return m, lambda: vb_state(R.copy(), m)


@pytest.mark.parametrize("family", ["normal", "known-variance", "multinomial"])
@pytest.mark.parametrize("seed", range(3))
def test_a_stochastic_step_of_length_one_on_all_rows_is_the_batch_update(family, seed):
    m, s = start(seed, family)
    one = svb_step(s(), m, np.arange(len(m.X)), 1.0)
    full = vb_step(s(), m)
    for a, b in zip(one, full):
        np.testing.assert_allclose(a, b, atol=1e-8)


def test_stochastic_estimates_are_right_on_average():
    "Statistics of batches, scaled up, are those of all rows on average."
    m, s = start(0, n=40, m=60)
    rng = np.random.default_rng(0)
    steps = []
    for _ in range(300):
        batch = np.sort(rng.permutation(40)[:10])
        t = svb_step(s(), m, batch, 1.0)
        R = t.R
        w = np.zeros(40)
        w[batch] = 2.0
        H = tv._overlap(R, m.links.a, m.links.b)
        e = w[m.links.a] + w[m.links.b]
        np.testing.assert_allclose(
            t.counts,
            [
                (e * m.links.f) @ H,
                (e * m.links.s) @ H,
                (e * m.links.s) @ (1 - H),
                (e * m.links.f) @ (1 - H),
            ],
            atol=1e-9,
        )
        np.testing.assert_allclose(t.N, 4 * R[batch].sum(0), atol=1e-9)
        steps.append(t.counts.sum())
    total = m.links.f.sum() + m.links.s.sum()
    assert (
        abs(np.mean(steps) - total) < 4 * np.std(steps) / 300**0.5
    )  # each answer counts once on average


def test_stochastic_bound_rises_and_ends_near_the_batch_optimum():
    X, y = blobs(0, 600)
    c = Constraints.from_labels(y, n=600, noise=0.2, random_state=0)
    slow, fast = (
        TVClust(n_init=1, batch_size=60, updates=u, random_state=0).fit(X, constraints=c)
        for u in ("incremental", "stochastic")
    )
    h = fast.elbo_history_
    assert adjusted_rand_score(y, fast.labels_) > adjusted_rand_score(
        y, slow.labels_
    ) - 0.02 and abs(h[-1] - slow.elbo_history_[-1]) < 0.01 * abs(h[-1])
    assert (np.diff(slow.elbo_history_) > -1e-6 * abs(h[-1])).all() and (
        np.diff(h[:-2]) < 0
    ).any()  # one is monotone, the other noisy
    m, s = start(1, n=200, m=200)
    s, path = svb_run(s(), m, np.random.RandomState(0), 20, 10, -np.inf)
    assert len(path) == 101 and np.mean(path[-20:]) > path[0]


# ---- rates above a half


@pytest.mark.parametrize(
    "right, wrong", [(0, 0), (3, 9), (40, 2), (0, 30), (9, 2000), (7e4, 3e4)]
)
def test_cut_rates_against_mpmath_free_quadrature(right, wrong):
    "A plain fine grid in log-space, from the floor to 1."
    x = 0.5 + 0.5 * (np.arange(2_000_000) + 0.5) / 2_000_000
    log_f = (3 + right) * np.log(x) + wrong * np.log1p(-x)
    w = np.exp(log_f - log_f.max())
    mass = np.log(w.mean() / 2) + log_f.max()
    prior = np.log((1 - 0.5**4) / 4)  # Beta(4, 1) above ½, without its constant
    rate = Rate(floor=0.5)
    assert rate.log_evidence(right, wrong) == pytest.approx(mass - prior, abs=2e-5)
    want = [(w @ np.log(x)) / w.sum(), (w @ np.log1p(-x)) / w.sum()]
    np.testing.assert_allclose(rate.expect(right, wrong), want, atol=2e-5)
    assert rate.mean(right, wrong) == pytest.approx((w @ x) / w.sum(), abs=1e-6)


def test_expectations_of_a_cut_rate_are_the_slopes_of_its_evidence():
    rate = Rate(floor=0.5)
    e = 1e-4
    for right, wrong in ((2.0, 5.0), (30.0, 4.0), (0.3, 80.0)):
        slope = [
            rate.log_evidence(right + e, wrong) - rate.log_evidence(right - e, wrong),
            rate.log_evidence(right, wrong + e) - rate.log_evidence(right, wrong - e),
        ]
        np.testing.assert_allclose(
            rate.expect(right, wrong), np.array(slope) / (2 * e), rtol=1e-6
        )


@pytest.mark.parametrize("right, wrong", [(2, 3), (0, 40), (1, 4000)])
def test_draws_of_a_cut_rate(right, wrong):
    rate = Rate(floor=0.5)
    rng = np.random.default_rng(0)
    x = np.array([rate.sample(right, wrong, rng)[0] for _ in range(3000)])
    assert x.min() >= 0.5
    error = abs(x.mean() - rate.mean(right, wrong))
    assert error < 5 * x.std() / 3000**0.5 + 1e-6


def test_without_a_floor_nothing_changes():
    plain = Rate()
    tiny = Rate(floor=1e-9)
    for right, wrong in ((2.0, 5.0), (30.0, 4.0)):
        np.testing.assert_allclose(
            tiny.log_evidence(right, wrong), plain.log_evidence(right, wrong), atol=1e-9
        )
        np.testing.assert_allclose(
            tiny.expect(right, wrong), plain.expect(right, wrong), rtol=1e-8
        )


def overlapping(n=120, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 2)) + np.repeat([[0.0, 0.0], [3.2, 0.0]], n // 2, axis=0)


@pytest.mark.parametrize("inference", ["variational", "gibbs"])
@pytest.mark.parametrize("seed", range(3))
def test_unanimous_answers_are_not_split(inference, seed):
    "Everybody says 'same' about every pair: the answers must not be taken for noise."
    X = overlapping(seed=seed)
    rng = np.random.default_rng(seed)
    a = rng.integers(120, size=400)
    b = (a + rng.integers(1, 120, size=400)) % 120
    c = Constraints(a, b, np.ones(400), n_samples=120)
    est = TVClust(inference=inference, max_iter=60, random_state=seed)
    est.fit(X, constraints=c)
    assert est.n_clusters_ == 1 and est.p_ > 0.9 and est.p_ + est.q_ > 1
    assert len(est.suspects_) == 0


@pytest.mark.parametrize("inference", ["variational", "gibbs"])
def test_p_and_q_never_add_up_to_less_than_one(inference):
    "Answers that are all wrong: the rates stop at a half."
    X, y = blobs(gap=8.0)
    c = Constraints.from_labels(y, n=200, random_state=0)
    lies = Constraints(c.a, c.b, -c.value, n_samples=len(X))
    est = TVClust(inference=inference, max_iter=60, random_state=0)
    est.fit(X, constraints=lies)
    assert min(est.p_, est.q_) >= 0.5 and est.p_ + est.q_ > 1
    free = TVClust(inference=inference, max_iter=60, p=(4, 1), q=(4, 1), random_state=0)
    free.fit(X, constraints=lies)
    assert free.p_ + free.q_ < 1


# ---- other faults


@pytest.mark.parametrize("inference", ["variational", "gibbs"])
@pytest.mark.parametrize("value", [5.0, 0.1, 1e6])
def test_constant_columns_change_nothing(inference, value):
    X, y = blobs()
    c = Constraints.from_labels(y, n=100, noise=0.1, random_state=0)
    more = np.c_[np.full(len(X), value), X, np.full((len(X), 2), value)]
    est = TVClust(inference=inference, max_iter=20, random_state=0)
    plain = est.fit(X, constraints=c).labels_
    np.testing.assert_array_equal(est.fit(more, constraints=c).labels_, plain)
    np.testing.assert_array_equal(est.predict(more), est.predict(more + [[9, 0, 0, 9, 9]]))
    assert adjusted_rand_score(y, plain) > 0.9


def test_a_start_is_not_misled_by_a_constant_column():
    "Also where the family is given, and the column therefore stays in the model."
    X, y = blobs(gap=8.0)
    more = np.c_[X, np.full(len(X), 0.1)]
    family = tv.default_family(more)
    assert TVClust(likelihood=family, random_state=0).fit(more).n_clusters_ == 3
    flat = np.full((10, 2), 3.0)
    assert TVClust(random_state=0).fit(flat).n_clusters_ == 1


def test_rates_are_means_after_the_burn_in():
    X, y = blobs(gap=2.0)
    c = Constraints.from_labels(y, n=60, noise=0.2, random_state=0)
    est = TVClust(inference="gibbs", max_iter=15, random_state=0).fit(X, constraints=c)
    assert len(est.draws_) == 15 and len(est.trace_["p"]) == est.n_iter_ == 30
    for rate, name in ((est.p_, "p"), (est.q_, "q")):
        assert rate == pytest.approx(est.trace_[name][15:].mean())
        assert abs(rate - est.trace_[name].mean()) > 1e-4
    np.testing.assert_array_equal(
        est.trace_["K"][15:], [len(np.unique(z)) for z in est.draws_]
    )


@pytest.mark.parametrize("inference", ["variational", "gibbs", "gibbs-explicit"])
def test_the_limit_on_the_number_of_clusters_is_kept(inference):
    X, y = blobs(gap=8.0)
    for limit in (1, 2):
        est = TVClust(limit, inference=inference, max_iter=20, random_state=0).fit(X)
        assert est.n_clusters_ <= limit
    free = TVClust(inference=inference, max_iter=40, random_state=0).fit(X)
    assert free.n_clusters_ >= 3


def test_a_start_trusts_the_answers_before_it_learns_how_far():
    "With distrust during the warm-up, a start that ignores the answers stays where it is."
    X = overlapping()
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=120)  # what the answers say has nothing to do with X
    c = Constraints.from_labels(y, n=2000, random_state=0)
    links = make_links(120, c.a, c.b, c.value)
    m = tv_model(X, tv.default_family(X), links, 1.0, Noise(), 4)
    trusting, not_so = (
        vb_init(m, np.random.RandomState(0), trust=t).R.argmax(1) for t in (0.9, 0.5)
    )
    assert adjusted_rand_score(y, trusting) > 0.9
    assert adjusted_rand_score(y, not_so) < 0.2
    default = vb_init(m, np.random.RandomState(0)).R.argmax(1)
    np.testing.assert_array_equal(default, trusting)


# ---- the paper's own sampler


def listing(X, m0, kappa0, sigma2, pairs, value, alpha, p, q, rng, z):
    "One sweep of (13) for known variance, as printed, then the parameters given labels."
    n, d = X.shape

    def posterior(rows):
        weight = kappa0 + len(rows)
        mean = m0 + (X[rows] - m0).sum(0) / weight
        return mean + np.sqrt(sigma2 / weight) * rng.standard_normal((1, d))[0]

    def density(x, mu, variance):
        return np.exp(-((x - mu) ** 2).sum() / (2 * variance)) / variance ** (d / 2)

    theta = {k: posterior(np.flatnonzero(z == k)) for k in range(z.max() + 1)}
    order = rng.permutation(n)
    u = rng.random(n)
    for i in order:
        z[i] = -1
        names = []
        weights = []
        for k, mu in theta.items():
            if (z == k).any():
                ends = [(j, v) for (a, j), v in zip(pairs, value) if a == i and z[j] == k]
                ends += [(a, v) for (a, j), v in zip(pairs, value) if j == i and z[a] == k]
                f = sum(v > 0 for _, v in ends)
                s = sum(v < 0 for _, v in ends)
                links = (p / (1 - q)) ** f * ((1 - p) / q) ** s
                names.append(k)
                weights.append((z == k).sum() * density(X[i], mu, sigma2) * links)
        names.append(max(theta, default=-1) + 1)
        weights.append(alpha * density(X[i], m0, sigma2 * (1 + 1 / kappa0)))
        share = np.cumsum(weights) / np.sum(weights)
        z[i] = names[int(np.searchsorted(share, u[i], side="right"))]
        if z[i] not in theta:
            theta[z[i]] = posterior([i])
    return np.unique(z, return_inverse=True)[1]


@pytest.mark.parametrize("seed", range(3))
def test_as_published_is_the_printed_sampler(seed):
    X, y = blobs(seed, n=40)
    c = Constraints.from_labels(y, n=40, noise=0.2, random_state=seed)
    family = KnownVariance(X.mean(0), 0.1, 1.0)
    est = TVClust.as_published(
        likelihood=family, p=0.9, q=0.8, max_iter=5, random_state=seed
    )
    est.fit(X, constraints=c)
    rng = np.random.default_rng(np.random.RandomState(seed).randint(2**31 - 1))
    z = np.full(40, -1)
    pairs = np.c_[c.a, c.b].tolist()
    for sweep in range(11):
        args = X.mean(0), 0.1, 1.0, pairs, c.value, 1.0, 0.9, 0.8
        z = listing(X, *args, rng, z)
        if sweep > 5:
            np.testing.assert_array_equal(z, est.draws_[sweep - 6])


def test_the_published_form_has_plain_beta_priors_and_no_limit():
    est = TVClust.as_published()
    assert est.n_clusters is None and est.space == "raw" and est.likelihood == "normal"
    assert [tuple(rate) for rate, *_ in est._noise().rates(np.zeros(4))] == [
        (None, 4.0, 1.0, 0.0)
    ] * 2


@pytest.mark.parametrize("family", [KV, NW, DM])
def test_drawn_parameters_have_the_posterior_mean(family):
    X = {0: X2, 1: X1, 2: C3}[family.code]
    tau, N = block_stats(family, X, np.array([0, 0, 0, 1, 1, 1]))
    rng = np.random.default_rng(0)
    draws = [family.draw(tau, N, rng) for _ in range(4000)]
    eta, c = family.expect(tau, N)
    for got, want in (
        (np.array([d[0] for d in draws]), eta),
        (np.array([d[1] for d in draws]), c),
    ):
        se = got.std(0) / 4000**0.5
        assert (abs(got.mean(0) - want) < 5 * se + 1e-12).all()


# ---- names


def test_old_names_of_parameters():
    with pytest.warns(FutureWarning):
        old = TVClust(
            n_components=7, p_prior=(2.0, 1.0), prior=KV, n_draws=9, burn_in=3, thin=2
        )
    assert (old.n_clusters, old.p, old.likelihood, old.max_iter) == (7, (2.0, 1.0), KV, 9)
    with pytest.warns(FutureWarning, match="point_estimate"):
        TVClust(loss="binder")
    with pytest.warns(FutureWarning, match="NormalInverseWishart"):
        assert tv.NormalWishart is NormalInverseWishart
    assert tv.RDPMeans.__module__ == "csc_nb.rdpmeans"


def test_old_name_of_the_suspicion_and_few_parameters():
    X, y = blobs()
    c = Constraints.from_labels(y, n=50, noise=0.1, random_state=0)
    est = TVClust(random_state=0).fit(X, constraints=c)
    with pytest.warns(FutureWarning, match="suspicion_"):
        np.testing.assert_array_equal(est.wrong_proba_, est.suspicion_)
    assert len(est.suspicion_) == c.n_constraints
    assert len(est.get_params()) <= 13


def test_a_dont_know_is_never_suspect():
    X, y = blobs()
    rows = np.arange(40)
    c = Constraints(rows, rows + 40, np.zeros(40), value_kind="pm1", n_samples=90)
    est = TVClust(random_state=0).fit(X, constraints=c)
    assert (est.suspicion_ == 0).all() and len(est.suspects_) == 0
