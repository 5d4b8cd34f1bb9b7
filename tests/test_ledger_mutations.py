"""Every verdict of the ledger by a check that can fail for the stated slip.

A case has a check, the form that holds and forms that do not. Where the verdict is ERROR or
TYPO, the printed form is among those that fail; where it is OK, the printed form is the one
that holds, and a plausible slip fails. Nothing here uses the package.
"""

import csv
import itertools
import math
from fractions import Fraction
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
from scipy import integrate, optimize, stats
from scipy.special import logsumexp

ROOT = Path(__file__).resolve().parent.parent
LEDGER = ROOT / "nbs" / "experiments" / "ledger.csv"
CASES = {}


def item(paper, name, holds, **fails):
    "Register a check of one entry; the check raises AssertionError for a wrong form."

    def add(check):
        assert (paper, name) not in CASES, (paper, name)
        CASES[paper, name] = check, holds, fails
        return check

    return add


def close(a, b, eps=1e-9):
    a, b = np.asarray(a, float), np.asarray(b, float)
    assert np.isfinite(a).all() and np.allclose(a, b, rtol=eps, atol=eps), (a, b)


def rng(seed=0):
    return np.random.default_rng(seed)


def partitions(n):
    "All set partitions of n rows as labels in order of appearance."
    out = [[]]
    for _ in range(n):
        out = [z + [k] for z in out for k in range(max(z, default=-1) + 2)]
    return [np.array(z) for z in out]


def gradient(f, x, h=1e-6):
    g = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[i] += h
        down[i] -= h
        g[i] = (f(up) - f(down)) / (2 * h)
    return g


def softmax(a):
    return np.exp(a - logsumexp(a, axis=-1, keepdims=True))


# Paper 004: TVClust and RDP-means


def urn(z, alpha, divide):
    p, size = 1.0, {}
    for i, k in enumerate(z):
        p *= (size[k] if k in size else alpha) / divide(i, alpha)
        size[k] = size.get(k, 0) + 1
    return p


@item("004", "(1)", lambda i, a: i + a, slip=lambda i, a: i + 1 + a)
def _(divide):
    "The chances of all partitions add up to one, and do not depend on the order."
    P = [urn(z, 0.7, divide) for z in partitions(5)]
    close(sum(P), 1)
    close(urn([0, 0, 1], 0.7, divide), urn([0, 1, 0], 0.7, divide))


@item("004", "(2)", lambda n, a: (n, a), slip=lambda n, a: (n + 1, a))
def _(weights):
    "The conditional of the last label under the exchangeable law α^K Π (n_k−1)!."
    a = 0.6
    law = lambda z: (
        a ** (max(z) + 1) * math.prod(math.factorial(c - 1) for c in np.bincount(z))
    )
    start = [0, 0, 1]
    joint = [law(start + [k]) for k in range(3)]
    w = [weights(2, a)[0], weights(1, a)[0], weights(0, a)[1]]
    close(np.array(joint) / sum(joint), np.array(w) / sum(w))


def gaussian_family(T):
    "Is the normal density of the form exp(<T(x), θ> − ψ)? Least squares in θ and ψ."
    X = rng().normal(size=(200, 2))
    S = np.array([[2.0, 0.7], [0.7, 1.0]])
    target = stats.multivariate_normal([1, -1], S).logpdf(X)
    F = np.c_[[T(x) for x in X], np.ones(len(X))]
    fit = F @ np.linalg.lstsq(F, target, rcond=None)[0]
    close(fit, target, 1e-8)


item(
    "004",
    "§3.1",
    lambda x: np.r_[x, np.outer(x, x).ravel()],
    printed=lambda x: np.r_[x, x @ x],
)(gaussian_family)


@item("004", "(3)", lambda x, m: x * np.log(m) - m, slip=lambda x, m: x * m - np.exp(m))
def _(form):
    "The Poisson law is <x, θ> − ψ(θ) − h(x) with h free of the parameter."
    h = [
        stats.poisson(m).logpmf([0, 3, 7]) - form(np.array([0, 3, 7]), m)
        for m in (1.0, 4.0)
    ]
    close(h[0], h[1])


@item("004", "(4)", lambda t: np.exp(t), slip=lambda t: np.exp(t) - 1)
def _(psi):
    "ψ is the log of the sum that normalises."
    k = np.arange(80)
    h = stats.poisson(1).logpmf(k) + 1
    for t in (-1.0, 0.0, 1.0):
        close(psi(t), logsumexp(k * t + h))


@item("004", "(5)", lambda t: np.exp(t), slip=lambda t: np.exp(2 * t))
def _(mean):
    psi = lambda t: logsumexp(np.arange(90) * t + stats.poisson(1).logpmf(np.arange(90)))
    for t in (-0.5, 0.3):
        close(mean(t), (psi(t + 1e-6) - psi(t - 1e-6)) / 2e-6, 1e-6)


@item("004", "(6)", lambda t: np.exp(t), slip=lambda t: np.sqrt(np.exp(t)))
def _(variance):
    for t in (-0.5, 0.3):
        p = softmax(np.arange(90) * t + stats.poisson(1).logpmf(np.arange(90)))
        k = np.arange(90)
        close(variance(t), (p * k**2).sum() - (p * k).sum() ** 2, 1e-9)


@item("004", "(7)", lambda t, e, x: (t + x, e + 1), slip=lambda t, e, x: (t * x, e + 1))
def _(posterior):
    "Prior ∝ exp(τθ − ηψ(θ)); times the likelihood it must be of the same form."
    tau, eta, x, th = 2.0, 1.5, 3.0, np.linspace(-2, 2, 9)
    log_prior = lambda t, e: t * th - e * np.exp(th)
    new = log_prior(*posterior(tau, eta, x))
    gap = new - (log_prior(tau, eta) + x * th - np.exp(th))
    close(gap - gap[0], 0 * gap)


@item(
    "004",
    "§3.2 table",
    [((1, 1), 0), ((0, 1), 1), ((0, 0), 2), ((1, 0), 3)],
    printed=[((0, 1), 0), ((1, 0), 1), ((0, 0), 2), ((1, 0), 3)],
)
def _(rows):
    "Given the truth H the chances of E = 0 and 1 must be there once each and add to one."
    values = np.array([0.9, 0.1, 0.8, 0.2])
    seen = {}
    for event, k in rows:
        assert event not in seen
        seen[event] = values[k]
    for H in (0, 1):
        close(seen[0, H] + seen[1, H], 1)


def law8(E, H, p, q):
    return p ** (E * H) * (1 - p) ** ((1 - E) * H) * q ** ((1 - E) * (1 - H)) * (1 - q) ** (E * (1 - H))  # fmt: skip


@item("004", "(8)", law8, slip=lambda E, H, p, q: law8(E, H, p, 1 - q))
def _(f):
    "p is the chance of a link inside, q of none outside; both sum to one."
    for H, p, q in itertools.product((0, 1), (0.6, 0.9), (0.7, 0.95)):
        close(f(0, H, p, q) + f(1, H, p, q), 1)
        close(f(1, 1, p, q), p)
        close(f(0, 0, p, q), q)


def conditional_of_last(new_factor, ratio):
    "Label of row 3 by enumeration of the joint, and by prices with these factors."
    E = {(0, 3): 1, (1, 3): 0, (2, 3): 0, (0, 1): 1}
    p, q, a = 0.85, 0.7, 0.9
    z = [0, 0, 1]
    joint = []
    for k in range(3):
        full = z + [k]
        law = a ** (max(full) + 1) * math.prod(
            math.factorial(c - 1) for c in np.bincount(full)
        )
        links = math.prod(law8(e, int(full[i] == full[j]), p, q) for (i, j), e in E.items())
        joint.append(law * links)
    w = []
    for k in range(2):
        f = sum(E.get((i, 3)) == 1 for i in range(3) if z[i] == k)
        s = sum(E.get((i, 3)) == 0 for i in range(3) if z[i] == k)
        w.append(z.count(k) * ratio(f, s, p, q))
    mine = [E[i, 3] for i in range(3)]
    fair = math.prod(law8(e, 0, p, q) for e in mine)
    w.append(a * math.prod(new_factor(e, p, q) for e in mine) / fair)
    close(np.array(joint) / sum(joint), np.array(w) / sum(w))


RATIO = lambda f, s, p, q: (p / (1 - q)) ** f * ((1 - p) / q) ** s
NEW = lambda e, p, q: q ** (1 - e) * (1 - q) ** e
PRINTED_NEW = lambda e, p, q: q**e * (1 - q) ** (1 - e)

item("004", "§3.3 new cluster", NEW, printed=PRINTED_NEW)(
    lambda f: conditional_of_last(f, RATIO)
)
item("004", "(9)", RATIO, slip=lambda f, s, p, q: (p / q) ** f)(
    lambda f: conditional_of_last(NEW, f)
)
item("004", "(10)", NEW, slip=lambda e, p, q: p**e * (1 - p) ** (1 - e))(
    lambda f: conditional_of_last(f, RATIO)
)
item("004", "(11)", RATIO, slip=lambda f, s, p, q: (p / (1 - q)) ** f * (q / (1 - p)) ** s)(
    lambda f: conditional_of_last(NEW, f)
)


@item("004", "(12)", lambda E, z, i, k: [sum(E[i, j] == e for j in range(4) if z[j] == k and j != i) for e in (1, 0)], slip=lambda E, z, i, k: [sum(E[i, j] == e for j in range(4) if z[j] == k) for e in (1, 0)])  # fmt: skip
def _(counts):
    "Friends and strangers of a row are its observed pairs, each once, itself left out."
    E = np.array([[1, 1, 0, -1], [1, 1, 1, 0], [0, 1, 1, 1], [-1, 0, 1, 1]])
    z = [0, 0, 1, 1]
    for i in range(4):
        seen = sum((np.array(counts(E, z, i, k)) for k in (0, 1)), np.zeros(2))
        others = [E[i, j] for j in range(4) if j != i]
        close(seen, [others.count(1), others.count(0)])


@item("004", "(13)", lambda th: th, printed=lambda th: np.full_like(th, 0.4))
def _(argument):
    "∫ p(x|θ) dG₀(θ): with the old centre in the place of θ it is no evidence of x."
    th = np.linspace(-12, 12, 4001)
    prior = stats.norm(0, 2).pdf(th)
    for x in (-1.0, 0.4, 3.0):
        found = integrate.trapezoid(stats.norm(argument(th), 1).pdf(x) * prior, th)
        close(found, stats.norm(0, np.sqrt(5)).pdf(x), 1e-6)


def bregman(phi, grad):
    return lambda x, y: phi(x) - phi(y) - grad(y) @ (x - y)


@item("004", "Definition 1", lambda x, y: ((x - y) ** 2).sum(), printed=lambda x, y: np.linalg.norm(x - y))  # fmt: skip
def _(what):
    "The divergence of the squared norm."
    x, y = rng().normal(size=(2, 3))
    close(bregman(lambda v: v @ v, lambda v: 2 * v)(x, y), what(x, y))


@item(
    "004", "Definition 2", lambda mu: mu * np.log(mu) - mu, slip=lambda mu: mu * np.log(mu)
)
def _(conjugate):
    "sup_θ θμ − exp(θ) by search."
    for mu in (0.5, 2.0, 5.0):
        best = optimize.minimize_scalar(lambda t: np.exp(t) - t * mu, bounds=(-9, 9), method="bounded", options=dict(xatol=1e-9))  # fmt: skip
        close(conjugate(mu), -best.fun, 1e-6)


PHI = lambda x: np.where(x > 0, x * np.log(np.maximum(x, 1e-300)) - x, 0.0)
D = lambda x, mu: PHI(x) - PHI(mu) - np.log(mu) * (x - mu)


@item("004", "(14)", lambda x, m: -D(x, m), slip=lambda x, m: -D(m, x))
def _(exponent):
    "The Poisson law is exp(−D(x, μ)) times a factor without μ."
    x = np.array([1.0, 4.0])
    f = [stats.poisson(m).logpmf(x) - exponent(x, m) for m in (1.5, 3.0)]
    close(f[0], f[1])


@item(
    "004",
    "(15)",
    lambda th, t, e: t * np.log(t / e) - t,
    printed=lambda th, t, e: e * np.exp(th),
)
def _(log_g):
    "exp(τθ − ηψ(θ)) = exp(−η D(τ/η, μ)) g: the rest must not depend on θ."
    tau, eta, th = 3.0, 1.5, np.linspace(-1, 2, 7)
    left = tau * th - eta * np.exp(th)
    right = -eta * D(tau / eta, np.exp(th)) + log_g(th, tau, eta)
    close(left - right, np.zeros_like(th))


@item("004", "(16)", lambda theta, tau: theta, printed=lambda theta, tau: tau)
def _(given):
    """The law p̃(x|·, γ) must be named by what moves it, θ and not τ: for whole multiples
    of 1/γ the right side, exp(−γ D(x, μ)) f, sums to one and has the mean ∇ψ(·) and the
    variance mean/γ."""
    gamma, tau, k = 7, 5.0, np.arange(400)
    for theta in (0.4, 0.9):
        mu, x = np.exp(theta), k / gamma
        with np.errstate(divide="ignore", invalid="ignore"):
            D = np.where(k > 0, x * np.log(x / mu), 0) - x + mu
        f = stats.poisson.logpmf(k, np.maximum(k, 1e-300))
        p = np.exp(-gamma * D + f)
        named = np.exp(given(theta, tau))
        close(p.sum(), 1)
        close((p * x).sum(), named)
        close((p * (x - named) ** 2).sum(), named / gamma)


@item("004", "(17)", (0, 0), printed=(1, 0))
def _(kept):
    "A factor of x alone may be dropped in both lines or in none: the chances must agree."
    factor, old, new = 0.3, 0.4, 0.1
    lines = [old * factor ** kept[0], new * factor ** kept[1]]
    close(lines[0] / sum(lines), old * factor / (old * factor + new * factor))


def sweep_once(x, mu, lam, assign_new):
    z = np.zeros(len(x), int)
    mu = list(mu)
    for i, v in enumerate(x):
        price = [(v - m) ** 2 for m in mu]
        if min(price) >= lam:
            mu.append(v)
            z[i] = len(mu) - 1 if assign_new else z[i]
        else:
            z[i] = int(np.argmin(price))
    return z


@item("004", "Algorithm 1", True, printed=False)
def _(assign_new):
    "The branch that opens a cluster must also put the row into it."
    assert sweep_once([0.0, 0.1, 9.0], [0.0], 4.0, assign_new).tolist() == [0, 0, 1]


@item("004", "§4.5", False, printed=True)
def _(all_kept):
    """ξ → ∞ with right may-links only: two triangles and one link between them, single
    moves."""
    links = [(0, 1), (0, 2), (1, 2), (3, 4), (3, 5), (4, 5), (0, 3)]
    z, xi = [0, 0, 0, 1, 1, 1], 1e9
    x = np.array([0.0, 0.1, 0.2, 5.0, 5.1, 5.2])
    for _ in range(20):
        mu = [x[np.array(z) == k].mean() for k in (0, 1)]
        for i in range(6):
            friends = [
                sum(z[a + b - i] == k for a, b in links if i in (a, b)) for k in (0, 1)
            ]
            price = [(x[i] - mu[k]) ** 2 - xi * friends[k] for k in (0, 1)]
            z[i] = int(np.argmin(price))
    assert all(z[a] == z[b] for a, b in links) == all_kept


@lru_cache
def scaled_evidence(gamma, x=2.0, tau=3.0, eta=1.5):
    "∫ of the scaled likelihood times the prior over θ, without the common factor."
    th = np.linspace(-4, 4, 200001)
    log = -gamma * D(np.array(x), np.exp(th)) - eta * D(np.array(tau / eta), np.exp(th))
    return float(logsumexp(log) + np.log(th[1] - th[0]))


def laplace(sign, power):
    def form(gamma, x=2.0, tau=3.0, eta=1.5):
        mid = (gamma * x + tau) / (gamma + eta)
        at = -gamma * PHI(x) - eta * PHI(tau / eta) + sign * (gamma + eta) * PHI(mid)
        return float(at + power(gamma + eta, mid))

    return form


LAPLACE = laplace(1, lambda g, m: 0.5 * np.log(2 * np.pi / g) - 0.5 * np.log(m))


@item("004", "Laplace step", LAPLACE, printed=laplace(-1, lambda g, m: np.log(g * m)))
def _(form):
    assert abs(form(500) - scaled_evidence(500)) < 1e-3


@item("004", "α", lambda lam, g: -lam * g, printed=lambda lam, g: lam * g)
def _(log_alpha):
    "With γ → ∞ a new cluster must win where λ is the smallest price, and lose elsewhere."
    for lam, price in ((1.0, 2.0), (3.0, 2.0)):
        for gamma in (50.0, 200.0):
            new, old = log_alpha(lam, gamma), -gamma * price
            assert (new > old) == (lam < price)


@item("004", "ξ", lambda p, q, g: np.log(p / (1 - q)) / g, printed=lambda p, q, g: np.log(p / (1 - q)))  # fmt: skip
def _(xi):
    "exp(γ f ξ) must be the factor (p/(1−q))^f for every γ."
    p, q = 0.8, 0.7
    for gamma, f in itertools.product((1.5, 10.0), (1, 3)):
        close(np.exp(gamma * f * xi(p, q, gamma)), (p / (1 - q)) ** f)


def best_price(prices, lam):
    return int(np.argmin(np.r_[prices, lam]))


@item("004", "(18)", lambda lam: lam, slip=lambda lam: -lam)
def _(price):
    "A far row opens a cluster, a near one does not."
    for d, new in ((5.0, True), (0.2, False)):
        assert (best_price([d], price(1.0)) == 1) == new


def energy(x, z, links, xi, lam, pairs_once=True):
    J = lam * len(set(z))
    for k in set(z):
        rows = x[np.array(z) == k]
        J += ((rows - rows.mean()) ** 2).sum()
    for i, j, sign in links:
        if z[i] == z[j]:
            J -= xi * sign * (1 if pairs_once else 2)
    return J


@item("004", "(19)", lambda d, f, s, xi: d - xi * f + xi * s, slip=lambda d, f, s, xi: d + xi * f - xi * s)  # fmt: skip
def _(price):
    """Differences of the price are differences of the energy when one row moves (fixed
    means)."""
    x, mu, xi = np.array([0.0, 1.0, 3.0, 6.0]), np.array([0.5, 4.0]), 2.0
    links = [(0, 3, 1), (1, 3, -1), (2, 3, 1)]
    z = [0, 0, 1]
    cost = []
    for k in (0, 1):
        inside = sum(xi * s for i, j, s in links if z[i] == k)
        cost.append((x[3] - mu[k]) ** 2 - inside)
    mine = []
    for k in (0, 1):
        f, s = (sum(l[2] == sign and z[l[0]] == k for l in links) for sign in (1, -1))
        mine.append(price((x[3] - mu[k]) ** 2, f, s, xi))
    close(np.diff(mine), np.diff(cost))


@item("004", "§4.4", lambda x: x.mean(), slip=lambda x: np.median(x))
def _(centre):
    "For a Bregman divergence the mean is best (Kullback–Leibler, by search)."
    x = np.array([0.5, 1.0, 6.0])
    best = optimize.minimize_scalar(
        lambda m: D(x, m).sum(), bounds=(0.1, 9), method="bounded"
    )
    close(centre(x), best.x, 1e-3)


def one_sweep(objective_once):
    "The counterexample: x = 0, 1, 3, 6; Algorithm 1 moves row 0 to {0, 1}."
    x, links = np.array([0.0, 1.0, 3.0, 6.0]), [(0, 3, 1)]
    z, mu, xi, lam = [1, 0, 1, 1], {0: 1.0, 1: 3.0}, 8.0, 50.0
    before = energy(x, z, links, xi, lam, objective_once)
    for i in range(4):
        price = {}
        for k in mu:
            friends = sum(s for a, b, s in links if i in (a, b) and z[a + b - i] == k)
            price[k] = (x[i] - mu[k]) ** 2 - xi * friends
        z[i] = min(price, key=price.get)
    return before, energy(x, z, links, xi, lam, objective_once)


for name in ("(20)", "Theorem 4"):

    @item("004", name, True, printed=False)
    def _(pairs_once):
        before, after = one_sweep(pairs_once)
        assert after <= before + 1e-9


def relaxation(z, A, E, form):
    K, Y = A @ A.T, np.zeros((len(z), max(z) + 1))
    for i, k in enumerate(z):
        Y[i, k] = 1 / np.sqrt(np.sum(np.array(z) == k))
    return form(A, K, Y, E)


def square(A, K, Y, E):
    return np.trace(K) - np.trace(Y.T @ K @ Y)


def printed21(A, K, Y, E):
    Kp = A.T @ A
    Yp = np.resize(Y, (Kp.shape[0], Y.shape[1]))
    return np.trace(Kp) - np.trace(Yp.T @ Kp @ Yp)


@item("004", "(21)", square, printed=printed21)
def _(form):
    "tr K − tr YᵀKY is the k-means cost, when K is n × n."
    A, z = rng(2).normal(size=(5, 2)), [0, 1, 0, 2, 1]
    cost = sum(
        ((A[np.array(z) == k] - A[np.array(z) == k].mean(0)) ** 2).sum() for k in range(3)
    )
    close(relaxation(z, A, None, form), cost)


@item("004", "Theorem 5", lambda n: 1 / n, printed=lambda n: 1.0)
def _(share):
    "tr YᵀEY is Σ_k (1/n_k) Σ_{i,j∈k} E_ij."
    z = np.array([0, 0, 0, 1, 1])
    E = np.sign(rng(3).normal(size=(5, 5)))
    E = np.triu(E, 1) + np.triu(E, 1).T
    Y = np.array([[(k == c) / np.sqrt((z == c).sum()) for c in (0, 1)] for k in z])
    inside = sum(share((z == k).sum()) * E[np.ix_(z == k, z == k)].sum() for k in (0, 1))
    close(np.trace(Y.T @ E @ Y), inside)


@item("004", "eigenvalue rule", lambda w, lam: w > lam, slip=lambda w, lam: w > lam / 4)
def _(keep):
    "Kept eigenvectors minimise λk − Σ of k eigenvalues over k."
    B = rng(4).normal(size=(6, 6))
    w, lam = np.linalg.eigvalsh(B @ B.T)[::-1], 3.0
    best = min(range(7), key=lambda k: lam * k - w[:k].sum())
    assert keep(w, lam).sum() == best


@item("004", "§3.2 text", lambda p, q: (1 - p, 1 - q), printed=lambda p, q: (1 - p, q))
def _(errors):
    "Chances of a lost and of a false edge, against (8) and against drawn edges."
    p, q, r = 0.9, 0.7, rng(2)
    lost, false = errors(p, q)
    close(lost, law8(0, 1, p, q))
    close(false, law8(1, 0, p, q))


# Paper 000: experts


def tiny_experts(seed=0, n=4, K=2):
    r = rng(seed)
    P = softmax(r.normal(size=(n, K)))
    pairs = [(0, 1), (1, 2), (0, 3), (2, 3)]
    S = r.integers(0, 2, size=(2, len(pairs)))
    al, be = np.array([0.9, 0.7]), np.array([0.8, 0.65])
    return P, pairs, S, al, be


def log_lik(P, pairs, S, al, be):
    "log p(S|X) by enumeration of all labels."
    total = []
    for z in itertools.product(range(P.shape[1]), repeat=len(P)):
        lp = sum(np.log(P[i, k]) for i, k in enumerate(z))
        for m in range(len(S)):
            for (i, j), s in zip(pairs, S[m]):
                hit = al[m] if s else 1 - al[m]
                miss = be[m] if not s else 1 - be[m]
                lp += np.log(hit if z[i] == z[j] else miss)
        total.append(lp)
    return logsumexp(total)


def jensen(P, pairs, S, al, be):
    g = np.array([P[i] @ P[j] for i, j in pairs])
    same = [S[m] * np.log(al[m]) + (1 - S[m]) * np.log(1 - al[m]) for m in range(len(S))]
    far = [(1 - S[m]) * np.log(be[m]) + S[m] * np.log(1 - be[m]) for m in range(len(S))]
    return float(sum((g * a + (1 - g) * b).sum() for a, b in zip(same, far)))


@item("000", "(1)", lambda a: softmax(a), slip=lambda a: np.exp(a) / np.exp(a).sum(0))
def _(soft):
    "Rows are chances, and a shift of all classes changes nothing."
    a = rng().normal(size=(4, 3))
    close(soft(a).sum(1), 1)
    close(soft(a + rng(1).normal(size=(4, 1))), soft(a))


for name, right, slip in (
    ("(2)", lambda al, be: (al, 1 - al), lambda al, be: (be, 1 - al)),
    ("(3)", lambda al, be: (1 - be, be), lambda al, be: (be, 1 - be)),
):

    @item("000", name, right, slip=slip)
    def _(f, same=name == "(2)"):
        "Simulated: how often is the answer 'must' (first) and 'cannot' (second)?"
        al, be = 0.9, 0.7
        u = rng().random(200000)
        must = (u < al).mean() if same else 1 - (u < be).mean()
        assert abs(f(al, be)[0] - must) < 0.01 and abs(sum(f(al, be)) - 1) < 1e-12


@item("000", "(4)", lambda l: l, printed=lambda l: np.exp(l))
def _(objective):
    "Two independent halves of the answers must add: only the logarithm does."
    P, pairs, S, al, be = tiny_experts(1)
    one = log_lik(P[:2], [(0, 1)], S[:, :1], al, be)
    two = log_lik(P[2:], [(0, 1)], S[:, 3:], al, be)
    both = log_lik(P, [(0, 1), (2, 3)], S[:, [0, 3]], al, be)
    close(objective(both), objective(one) + objective(two))


def posterior_pairs(P, pairs, S, al, be, prior):
    "Chance that each pair is together, given the answers or not."
    out, total = np.zeros(len(pairs)), []
    for z in itertools.product(range(P.shape[1]), repeat=len(P)):
        lp = sum(np.log(P[i, k]) for i, k in enumerate(z))
        if not prior:
            one = np.eye(P.shape[1])[list(z)] * (1 - 1e-12) + 1e-12 / 2
            lp += jensen(one, pairs, S, al, be)
        total.append((lp, [z[i] == z[j] for i, j in pairs]))
    w = softmax(np.array([t[0] for t in total]))
    for c, (_, same) in zip(w, total):
        out += c * np.array(same)
    return out


@item("000", "E-step", False, printed=True)
def _(prior):
    "The E-step of EM makes the bound touch the log-likelihood."
    P, pairs, S, al, be = tiny_experts(2)
    states, lp, ls = list(itertools.product(range(2), repeat=4)), [], []
    for z in states:
        lp.append(sum(np.log(P[i, k]) for i, k in enumerate(z)))
        one = np.eye(2)[list(z)]
        ls.append(jensen(one, pairs, S, al, be))
    q = softmax(np.array(lp) + (0 if prior else np.array(ls)))
    bound = (q * (np.array(lp) + np.array(ls) - np.log(q))).sum()
    close(bound, log_lik(P, pairs, S, al, be))


@item("000", "(5)", lambda q, a, b: (q * a).sum() + (q * b).sum(), slip=lambda q, a, b: (q * a).sum() * (q * b).sum())  # fmt: skip
def _(split):
    q, a, b = softmax(rng().normal(size=6)), *rng(1).normal(size=(2, 6))
    close(split(q, a, b), (q * (a + b)).sum())


@item("000", "(6)", lambda lp: lp, printed=lambda lp: np.full_like(lp, -4 * np.log(2)))
def _(log_prior):
    "E_q log p(Z|X) − E_q log q must vanish at q = p(Z|X): the bound has no such term."
    P = tiny_experts(3)[0]
    states = itertools.product(range(2), repeat=4)
    lp = np.array([sum(np.log(P[i, k]) for i, k in enumerate(z)) for z in states])
    q = np.exp(lp)
    close((q * log_prior(lp)).sum() - (q * lp).sum(), 0)


for name in ("(7)", "(9)"):

    @item(
        "000",
        name,
        lambda P, i, j: P[i] @ P[j],
        slip=lambda P, i, j: P[i].max() * P[j].max(),
    )
    def _(gamma):
        "The expected log-likelihood by enumeration of the labels."
        P, pairs, S, al, be = tiny_experts(4)
        brute = 0.0
        for z in itertools.product(range(2), repeat=4):
            w = math.prod(P[i, k] for i, k in enumerate(z))
            brute += w * jensen(np.eye(2)[list(z)], pairs, S, al, be)
        g = np.array([gamma(P, i, j) for i, j in pairs])
        mine = 0.0
        for m in range(2):
            same = np.where(S[m], np.log(al[m]), np.log(1 - al[m]))
            far = np.where(S[m], np.log(1 - be[m]), np.log(be[m]))
            mine += (g * same + (1 - g) * far).sum()
        close(mine, brute)


@item("000", "(8)", lambda L, lam, N, W: L / N - lam * (W**2).sum(), slip=lambda L, lam, N, W: L / N - lam * (W**2).sum() / N)  # fmt: skip
def _(objective):
    """Divided by N the penalty is felt N times: twice all answers, λ as it is, other
    optimum."""
    W = np.array([0.5, -1.0])
    weight = lambda N: objective(1.0, 0.1, N, W) - objective(1.0, 0.0, N, W)
    close(weight(10), weight(1))  # not divided: N times as heavy beside L/N


def answer_bound(W, X, pairs, S, al, be):
    return jensen(softmax(X @ W), pairs, S, al, be)


def grad_W(W, X, pairs, S, al, be, half=1.0):
    P = softmax(X @ W)
    A = np.zeros((len(X), len(X)))
    for m in range(len(S)):
        omega = np.log(al[m] * be[m] / ((1 - al[m]) * (1 - be[m])))
        for (i, j), s in zip(pairs, S[m]):
            A[i, j] += s * omega + np.log((1 - al[m]) / be[m])
            A[j, i] = A[i, j]
    Q = A @ P
    return half * X.T @ (P * (Q - (P * Q).sum(1, keepdims=True)))


@item("000", "§2.5.1–2", 1.0, slip=0.5)
def _(half):
    _, pairs, S, al, be = tiny_experts(5)
    X, W = rng(6).normal(size=(4, 3)), rng(7).normal(size=(3, 2))
    f = lambda V: answer_bound(V, X, pairs, S, al, be)
    close(grad_W(W, X, pairs, S, al, be, half), gradient(f, W), 1e-6)


@item(
    "000",
    "§2.4 coefficient of S",
    lambda g, w, b: g * w - np.log(b / (1 - b)),
    printed=lambda g, w, b: w,
)
def _(coefficient):
    "What one answer more, S = 1 in place of 0, adds to the expected log-likelihood (9)."
    al, be = 0.85, 0.7
    omega = np.log(al * be / ((1 - al) * (1 - be)))
    for g in (0.1, 0.5, 0.8):
        said = lambda S: (
            g * (S * np.log(al) + (1 - S) * np.log(1 - al))
            + (1 - g) * ((1 - S) * np.log(be) + S * np.log(1 - be))
        )
        close(coefficient(g, omega, be), said(1) - said(0))


@item(
    "000",
    "3.2 flips",
    lambda q, share: int(q * (1 - Fraction(str(share)))),
    slip=lambda q, share: int(q * (1 - share)),
)
def _(flips):
    "⌊q(1 − α)⌋ pairs are flipped: five of fifty for α = .9, which floats make four."
    for q, share, there in ((50, 0.9, 5), (100, 0.55, 45), (250, 0.95, 12)):
        assert flips(q, share) == there


# Paper 001: DiSC


def ncut_pieces(seed=0):
    B = rng(seed).random((6, 6))
    W = (B + B.T) / 2
    return W, W.sum(1)


def normalised_cut(W, d, z):
    cut = lambda k: W[np.ix_(z == k, z != k)].sum() / d[z == k].sum()
    return sum(cut(k) for k in np.unique(z))


@item("001", "(2.1)", lambda Q, R, mu: Q + mu * R, slip=lambda Q, R, mu: Q - mu * R)
def _(objective):
    "More quality and more usefulness are both better, and (2.5) is its negative."
    J1, J2, mu = np.array([0.4, 0.4, 0.9]), np.array([0.1, 0.5, 0.1]), 2.0
    close(objective(-J1, J2, mu), -(J1 - mu * J2))
    assert np.argmax(objective(-J1, J2, mu)) == 1


@item("001", "(2.2)", lambda w: w[:2].sum(), slip=lambda w: w[-2:].sum())
def _(bottom):
    "The relaxation is a lower bound of every cut into two."
    W, d = ncut_pieces(1)
    L = np.eye(6) - W / np.sqrt(np.outer(d, d))
    every = [normalised_cut(W, d, z) for z in partitions(6) if z.max() == 1]
    value = bottom(np.linalg.eigvalsh(L))
    assert -1e-9 < value <= min(every) + 1e-9


def centred(n):
    return np.eye(n) - 1 / n


@item("001", "(2.3)", lambda K, L: np.trace(K @ centred(7) @ L @ centred(7)), slip=lambda K, L: np.trace(K @ L))  # fmt: skip
def _(hsic):
    "The covariance of all pairs, centred; constants drop out."
    K, L = (lambda B: B @ B.T)(rng().normal(size=(7, 7))), (lambda B: B @ B.T)(rng(1).normal(size=(7, 7)))  # fmt: skip
    Kc = K - K.mean(0) - K.mean(1)[:, None] + K.mean()
    Lc = L - L.mean(0) - L.mean(1)[:, None] + L.mean()
    close(hsic(K, L), (Kc * Lc).sum())
    close(hsic(K + 3, L), hsic(K, L))


def skew_pair(W, G, symmetric=False):
    "A and its projected form for a gradient G; with WᵀG symmetric on request."
    if symmetric:
        M = G @ G.T
        G = M @ W
    PG = G - W @ (W.T @ G) / 2
    return G @ W.T - W @ G.T, PG @ W.T - W @ PG.T


W0 = np.linalg.qr(rng(8).normal(size=(5, 2)))[0]
G0 = rng(9).normal(size=(5, 2))


@item("001", "A", True, printed=False)
def _(symmetric):
    "The two forms agree when WᵀG is symmetric, not for any G."
    close(*skew_pair(W0, G0, symmetric))


@item("001", "'−AW is the projected gradient'", 1, printed=0)
def _(which):
    "A W against the projection of G to the tangent space, by its definition."
    A = skew_pair(W0, G0)[which]
    T = G0 - W0 @ (W0.T @ G0 + G0.T @ W0) / 2
    close(A @ W0, T)


@item("001", "(2.6)", 0.5, slip=0.4)
def _(half):
    "Cayley: the step stays on the sphere of orthonormal frames and starts along −AW."
    A = skew_pair(W0, G0)[0]
    step = lambda t: np.linalg.solve(np.eye(5) + half * t * A, (np.eye(5) - (1 - half) * t * A) @ W0)  # fmt: skip
    close(step(0.7).T @ step(0.7), np.eye(2))
    close((step(1e-6) - W0) / 1e-6, -A @ W0, 1e-4)


@item("001", "(2.7)", lambda K, S, j, l: S[j, l], printed=lambda K, S, j, l: S[0, 1])
def _(entry):
    "The gradient of Σ K_jl S_jl in W, σ fixed."
    X, S = rng(10).normal(size=(5, 3)), rng(11).normal(size=(5, 5))
    S = S + S.T
    kernel = lambda W: np.exp(-((X @ W)[:, None] - (X @ W)[None]).__pow__(2).sum(2) / 2)
    W = rng(12).normal(size=(3, 2))
    K, g = kernel(W), np.zeros((3, 2))
    for j, l in itertools.product(range(5), range(5)):
        d = X[j] - X[l]
        g -= entry(K, S, j, l) * K[j, l] * np.outer(d, d) @ W
    close(g, gradient(lambda V: (kernel(V) * S).sum(), W), 1e-6)


def subspace_terms(degrees=True, power=2):
    """J1 and its gradient in W with U fixed, a Gaussian kernel of width 1.3."""
    X, U, sigma = rng(13).normal(size=(6, 3)), rng(14).normal(size=(6, 2)), 1.3

    def kernel(W):
        Y = X @ W
        return np.exp(-((Y[:, None] - Y[None]) ** 2).sum(2) / (2 * sigma**2))

    def J1(W):
        K = kernel(W)
        d = K.sum(1)
        return 2 - np.trace(U.T @ (K / np.sqrt(np.outer(d, d))) @ U)

    def slope(W):
        K = kernel(W)
        d = K.sum(1)
        B = U @ U.T / np.sqrt(np.outer(d, d))
        own = (B * K).sum(1) / d / 2 if degrees else np.zeros(6)
        weight = -(B - own[:, None] - own[None]) * K / sigma**power
        D = X[:, None] - X[None]
        return -np.einsum("jl,jla,jlb->ab", weight, D, D) @ W

    return J1, slope


@item("001", "§2.4.2 gradient of J1", True, slip=False)
def _(degrees):
    "With the terms of the degrees d, against differences; without them it is another."
    W = rng(15).normal(size=(3, 2))
    J1, slope = subspace_terms(degrees=degrees)
    close(slope(W), gradient(J1, W), 1e-5)


@item("001", "§2.4.2 gradient of K", 2, slip=1)
def _(power):
    "∂K = −K (x_j − x_l)(x_j − x_l)ᵀ W / σ², with σ fixed."
    W = rng(16).normal(size=(3, 2))
    J1, slope = subspace_terms(power=power)
    close(slope(W), gradient(J1, W), 1e-5)


def algorithm_1(path, F, parts, eps, always, newer, scale):
    """The loop of the listing over a given path of W: the W and whether there are labels.

    `always`: labels without convergence, too; `newer`: W of t + 1 is given back; `scale`:
    what the change of F is divided by.
    """
    for old, new in itertools.pairwise(path):
        change = abs(F(new) - F(old)) / scale(F(old), parts(old))
        converged = abs(new - old) < eps and change < eps
        W = new if newer else old
        if converged:
            break
    return W, converged or always


PRINTED_STOP = lambda F, parts: abs(F)
SUM_OF_PARTS = lambda F, parts: parts


@item(
    "001",
    "Algorithm 1",
    (True, True, SUM_OF_PARTS),
    printed=(False, False, PRINTED_STOP),
    no_labels=(False, True, SUM_OF_PARTS),
    old_W=(True, False, SUM_OF_PARTS),
    relative=(True, True, PRINTED_STOP),
)
def _(rules):
    """Labels at the end in any case; the W that passed the test; a stop near F = 0.

    F = J1 − μJ2 with J1 = 2 + W² and μJ2 = 2, so F is 0 at the best W, as at the μ that
    the paper advises; W halves in every step.
    """
    F, parts = (lambda W: W**2), (lambda W: 4 + W**2)
    halves = [0.5**t for t in range(60)]
    W, labels = algorithm_1(halves[:4], F, parts, 1e-6, *rules)
    assert labels and W == halves[3]  # three rounds, then T is reached
    W, labels = algorithm_1(halves, F, parts, 1e-6, *rules)
    assert labels and 1e-7 < W < 1e-5  # soon after a step is smaller than ε
    close(W, next(b for a, b in itertools.pairwise(halves) if a - b < 1e-6))


# Paper 002: nCOBRAS


def consistent(n, pairs, value):
    "Is there a labelling? By trying all."
    return any(
        all((z[i] == z[j]) == (v > 0) for (i, j), v in zip(pairs, value))
        for z in partitions(n)
    )


def bad_cycles(n, pairs, value, k):
    "Is there a cycle with exactly k cannot-links? By trying all cycles."
    at = {frozenset(p): v for p, v in zip(pairs, value)}
    for r in range(3, n + 1):
        for c in itertools.permutations(range(n), r):
            edges = [frozenset((c[t], c[(t + 1) % r])) for t in range(r)]
            if all(e in at for e in edges) and sum(at[e] < 0 for e in edges) == k:
                return True
    return False


@item("002", "Proposition 1", 1, slip=2)
def _(k):
    pairs = list(itertools.combinations(range(4), 2))
    for value in itertools.product((1, -1), repeat=6):
        assert consistent(4, pairs, value) != bad_cycles(4, pairs, value, k)


@lru_cache
def consistent_sets(n, m):
    pairs = list(itertools.combinations(range(n), 2))[:m]
    return pairs, [
        v for v in itertools.product((1, -1), repeat=m) if consistent(n, pairs, v)
    ]


@item("002", "(1)", lambda like: like, slip=lambda like: np.sqrt(like))
def _(weight):
    "The posterior of a consistent set: simulate answers of consistent truths."
    pairs, sets = consistent_sets(3, 3)
    nu, said, r = 0.2, (1, 1, -1), rng()
    hits = np.zeros(len(sets))
    for _ in range(40000):
        t = r.integers(len(sets))
        noisy = tuple(v if u > nu else -v for v, u in zip(sets[t], r.random(3)))
        hits[t] += noisy == said
    like = np.array([nu ** sum(a != b for a, b in zip(s, said)) * (1 - nu) ** sum(a == b for a, b in zip(s, said)) for s in sets])  # fmt: skip
    p = weight(like) / weight(like).sum()
    assert np.abs(p - hits / hits.sum()).max() < 0.02


@item(
    "002", "(2)", lambda nu, d, n: nu**d * (1 - nu) ** (n - d), slip=lambda nu, d, n: nu**d
)
def _(like):
    "The chances of all answers to one truth add to one."
    close(sum(math.comb(5, d) * like(0.15, d, 5) for d in range(6)), 1)


@item("002", "(3)", lambda n, nu, d: math.comb(n, d), slip=lambda n, nu, d: 1)
def _(count):
    n, nu, k = 8, 0.1, 2
    brute = sum(
        math.prod(nu if e else 1 - nu for e in err)
        for err in itertools.product((0, 1), repeat=n)
        if sum(err) <= k
    )
    close(sum(count(n, nu, d) * nu**d * (1 - nu) ** (n - d) for d in range(k + 1)), brute)


@item("002", "(4)", sum, slip=max)
def _(together):
    """The mass of relevant values: sum over the irrelevant ones, by simulation-free
    counting."""
    pairs, sets = consistent_sets(4, 5)
    said, rho = (1, 1, -1, 1, -1), 0.25
    w = {s: rho ** sum(a != b for a, b in zip(s, said)) for s in sets}
    total = sum(w.values())
    mass = {}
    for s, x in w.items():
        mass.setdefault(s[:3], []).append(x)
    close(sum(together(v) for v in mass.values()), total)


@item("002", "Figure 1", [("c", "d", 1), ("d", "e", 1), ("c", "e", -1)], printed=[("c", "b", 1), ("b", "e", 1), ("c", "d", -1)])  # fmt: skip
def _(edges):
    "The cycle c, d, e with one cannot-link is inconsistent."
    names = "bcde"
    pairs = [(names.index(a), names.index(b)) for a, b, _ in edges]
    assert not consistent(4, pairs, [v for *_, v in edges])


@item(
    "002", "average aligned rank", lambda S: S - S.mean(1, keepdims=True), slip=lambda S: S
)
def _(align):
    "A data set on which all are equally better must not favour anybody."
    S = rng().random((5, 3))
    shifted = S.copy()
    shifted[2] += 5
    ranks = lambda M: stats.rankdata(-align(M)).reshape(M.shape).mean(0)
    close(ranks(S), ranks(shifted))
    close(ranks(S).mean(), (15 + 1) / 2)


def rule1(against_opposite):
    "Which open pair is asked by rule 1: triangle-free path 0-1-2-3 with one doubtful link."
    pairs = [(0, 1), (1, 2), (2, 3)]
    sets = [v for v in itertools.product((1, -1), repeat=3) if consistent(4, pairs, v)]
    said, odds = (1, 1, 1), (0.01, 0.3, 0.02)
    w = {s: math.prod(o if a != b else 1 for a, b, o in zip(s, said, odds)) for s in sets}

    def implied(s, i, j):
        lab = next(
            z for z in partitions(4)
            if all((z[a] == z[b]) == (v > 0) for (a, b), v in zip(pairs, s))
        )  # fmt: skip
        between = [v for (a, b), v in zip(pairs, s) if i <= a and b <= j]
        if all(v > 0 for v in between):
            return 1
        return -1 if between.count(-1) == 1 else 0

    score = {}
    for i, j in ((0, 2), (1, 3), (0, 3)):
        mine = implied(said, i, j)
        opposite = sum(x for s, x in w.items() if implied(s, i, j) == -mine)
        same = sum(x for s, x in w.items() if implied(s, i, j) == mine)
        score[i, j] = against_opposite(opposite, same)
    return max(score, key=score.get)


@item(
    "002", "query rule 1", lambda opposite, same: opposite, slip=lambda opposite, same: same
)
def _(score):
    "The pair across the doubtful link and the next doubtful one speaks against the most."
    assert rule1(score) == (0, 3)


@item("002", "query rule 2", lambda m, c: -abs(m - c) if m and c else -np.inf, slip=lambda m, c: abs(m - c))  # fmt: skip
def _(score):
    "Among tied sets the pair that splits them most evenly, and one that splits at all."
    votes = {"even": (2, 2), "uneven": (3, 1), "agreed": (4, 0)}
    assert max(votes, key=lambda k: score(*votes[k])) == "even"


# Paper 003, chapter 2: bags


def bags(seed=0, M=4, N=7, C=3):
    r = rng(seed)
    bag = np.r_[np.arange(M), r.integers(0, M, N - M)]
    B = np.eye(M)[bag].T  # M × N: rows are the bags' indicators
    sets = [np.flatnonzero(r.random(C) < 0.6) for _ in range(M)]
    Y = np.array([[(c in s) / max(len(s), 1) for s in sets] for c in range(C)])  # C × M
    F = r.normal(size=(N, 2))  # D^{-1/2} Z
    return B.T, Y, F, bag


def omegas(B, Y, F):
    return Y.T @ Y, B.T @ F @ F.T @ B


def penalty(L, A):
    M = len(L)
    total = 0.0
    for i, j, r, s in itertools.product(range(M), repeat=4):
        total += (L[i, j] - L[r, s]) * (A[i, j] - A[r, s])
    return total / (2 * M**2)


@item("003", "(2.1)", lambda dl, da: dl * da >= 0, slip=lambda dl, da: dl * da <= 0)
def _(wanted):
    "Bags that share more labels should share more: the sign of the product."
    assert wanted(0.4, 0.2) and wanted(-0.4, -0.1) and not wanted(0.4, -0.2)


@item("003", "(2.2)", 1.0, slip=2.0)
def _(factor):
    "The penalty is M² times a covariance over pairs."
    B, Y, F, _ = bags()
    L, A = omegas(B, Y, F)
    cov = (L * A).mean() - L.mean() * A.mean()
    close(factor * penalty(L, A), len(L) ** 2 * cov)


for name in ("(2.3)", "(2.4)"):

    @item("003", name, lambda num, den: num / den, slip=lambda num, den: num)
    def _(ratio):
        "Mean association of a partition by loops, and in matrices."
        W = ncut_pieces(3)[0]
        d, z = W.sum(1), np.array([0, 1, 1, 2, 0, 2])
        loops = [W[np.ix_(z == k, z == k)].sum() / W[z == k].sum() for k in range(3)]
        A = np.eye(3)[z]
        mine = [
            ratio(A[:, k] @ W @ A[:, k], A[:, k] @ np.diag(d) @ A[:, k]) for k in range(3)
        ]
        close(np.mean(mine), np.mean(loops))


@item("003", "rewriting after (2.4)", 1 / 3, printed=1.0)
def _(share):
    "(1/K) Σ of the ratios against the trace: the factor 1/K is lost in print."
    W = ncut_pieces(3)[0]
    d, z = W.sum(1), np.array([0, 1, 1, 2, 0, 2])
    Z = np.array([[(k == c) * np.sqrt(d[i] / d[z == c].sum()) for c in range(3)] for i, k in enumerate(z)])  # fmt: skip
    ratio = np.mean([W[np.ix_(z == k, z == k)].sum() / W[z == k].sum() for k in range(3)])
    close(share * np.trace(Z.T @ (W / np.sqrt(np.outer(d, d))) @ Z), ratio)


for name in ("(2.5)", "(2.6)"):

    @item("003", name, lambda d: np.sqrt(d), slip=lambda d: np.ones_like(d))
    def _(scale):
        "Scaled indicators are orthonormal, and the relaxed maximum bounds their trace."
        W = ncut_pieces(4)[0]
        d, z = W.sum(1), np.array([0, 1, 1, 0, 0, 1])
        Z = np.array([[(k == c) * scale(d)[i] / np.sqrt(d[z == c].sum()) for c in (0, 1)] for i, k in enumerate(z)])  # fmt: skip
        close(Z.T @ Z, np.eye(2))
        top = np.linalg.eigvalsh(W / np.sqrt(np.outer(d, d)))[-2:].sum()
        assert np.trace(Z.T @ (W / np.sqrt(np.outer(d, d))) @ Z) <= top + 1e-9


JACCARD = lambda a, b: len(a & b) / len(a | b)
OMEGA = lambda a, b: len(a & b) / (len(a) * len(b))


@item("003", "before (2.7)", JACCARD, printed=OMEGA)
def _(likeness):
    "Does smaller Jaccard mean smaller likeness? Two pairs of bags decide."
    same, other = ({1, 2, 3, 4, 5}, {1, 2, 3, 4, 5}), ({1, 2}, {1, 3})
    assert JACCARD(*same) > JACCARD(*other) and likeness(*same) > likeness(*other)


@item("003", "(2.7)", lambda Y: Y.T @ Y, slip=lambda Y: (Y > 0).T.astype(float) @ (Y > 0))
def _(omega):
    "The chance that labels drawn from two bags agree, by drawing all of them."
    Y = bags(1)[1]
    for i, j in itertools.product(range(4), repeat=2):
        a, b = np.flatnonzero(Y[:, i]), np.flatnonzero(Y[:, j])
        drawn = np.mean([x == y for x in a for y in b]) if len(a) and len(b) else 0
        close(omega(Y)[i, j], drawn)


@item("003", "(2.8)", lambda F, B: B.T @ F @ F.T @ B, slip=lambda F, B: B.T @ B)
def _(form):
    B, _, F, bag = bags(2)
    for i, j in itertools.product(range(4), repeat=2):
        loops = sum(
            F[x] @ F[y] for x in np.flatnonzero(bag == i) for y in np.flatnonzero(bag == j)
        )
        close(form(F, B)[i, j], loops)


@item("003", "(2.9)", lambda L, A: penalty(L, A), slip=lambda L, A: (L * A).mean())
def _(form):
    "A constant added to either side changes nothing."
    B, Y, F, _ = bags(3)
    L, A = omegas(B, Y, F)
    close(form(L + 0.7, A), form(L, A))
    close(form(L, A - 0.2), form(L, A))


def sum210(B, Y, F, transpose=False):
    M, total = B.shape[1], np.zeros((len(B), len(B)))
    for i, j, r, s in itertools.product(range(M), repeat=4):
        b = np.outer(B[:, j], B[:, i]) - np.outer(B[:, s], B[:, r]) * (
            -1 if transpose else 1
        )
        total += (Y[:, i] @ Y[:, j] - Y[:, r] @ Y[:, s]) * b
    return np.trace(F.T @ total @ F) / (2 * M**2)


@item("003", "(2.10)", False, slip=True)
def _(wrong_sign):
    "(2.10) as printed equals (2.9): it is right."
    for seed in range(3):
        B, Y, F, _ = bags(seed)
        close(sum210(B, Y, F, wrong_sign), penalty(*omegas(B, Y, F)))


def bag_matrix(B, Y, ones):
    mu = (Y.T @ Y).mean()
    M = B.shape[1]
    return B @ (Y.T @ Y - mu * (np.ones((M, M)) if ones else np.eye(M))) @ B.T


for name in ("(2.11)", "(2.12)"):

    @item("003", name, True, printed=False)
    def _(ones):
        for seed in range(3):
            B, Y, F, _ = bags(seed)
            close(np.trace(F.T @ bag_matrix(B, Y, ones) @ F), penalty(*omegas(B, Y, F)))


@item(
    "003", "Appendix A", lambda B: np.outer(B.sum(1), B.sum(1)), printed=lambda B: B @ B.T
)
def _(form):
    "Σ over all (r, s) of b_s b_rᵀ."
    B = bags(4)[0]
    M = B.shape[1]
    close(sum(np.outer(B[:, s], B[:, r]) for r in range(M) for s in range(M)), form(B))


def entries(matrix):
    "Q for bags {1}, {1}, {2}, {1, 2}, {1, 2, 3}, two rows each, by the kind of the pair."
    sets, bag = [{0}, {0}, {1}, {0, 1}, {0, 1, 2}], np.repeat(np.arange(5), 2)
    Y = np.array([[(c in s) / len(s) for s in sets] for c in range(3)])
    B = np.eye(5)[bag]
    mu = (Y.T @ Y).mean()
    Q = matrix(B, Y)
    kind = {}
    for i, j in itertools.combinations(range(10), 2):
        a, b = sets[bag[i]], sets[bag[j]]
        if bag[i] == bag[j]:
            k = "ML in bag" if len(a) == 1 else f"bag of {len(a)}"
        elif a == b and len(a) == 1:
            k = "ML across"
        else:
            k = "CL" if not a & b else "overlap"
        kind.setdefault(k, []).append(Q[i, j])
    return mu, kind


for name in ("Proposition 1", "Table 2.1"):

    @item("003", name, False, slip=True)
    def _(ones):
        """The printed entries hold for the printed Q (they are others for the corrected
        one)."""
        mu, kind = entries(lambda B, Y: bag_matrix(B, Y, ones))
        close(kind["ML in bag"], 1 - mu)
        close(kind["ML across"], 1)
        close(kind["CL"], 0)
        close(kind["bag of 2"], 1 / 2 - mu)
        close(kind["bag of 3"], 1 / 3 - mu)
        assert all(0 < v < 1 for v in kind["overlap"])


def entropy(p):
    p = p[p > 0]
    return -(p * np.log(p)).sum()


@item("003", "(2.15)", lambda I, a, b: 2 * I / (a + b), slip=lambda I, a, b: I / max(a, b))
def _(nmi):
    "NMI with the arithmetic mean, against scikit-learn."
    from sklearn.metrics import normalized_mutual_info_score

    y, z = rng().integers(0, 3, 40), rng(1).integers(0, 4, 40)
    T = np.array([[np.mean((y == a) & (z == b)) for b in range(4)] for a in range(3)])
    a, b = entropy(T.sum(1)), entropy(T.sum(0))
    I = a + b - entropy(T.ravel())
    close(nmi(I, a, b), normalized_mutual_info_score(y, z))


@item("003", "(2.16)", lambda T: T.max(0).sum(), slip=lambda T: T.max(1).sum())
def _(purity):
    "Every cluster has a class of its own: one cluster per row is perfectly pure."
    y = np.array([0, 0, 1, 1, 1])
    T = np.array([[(y[i] == c) for i in range(5)] for c in (0, 1)], float)
    close(purity(T) / 5, 1)


# Paper 003, chapter 3: pairs and triplets


@item(
    "003", "(3.1)", lambda a, b: 1 if a == b else -1, slip=lambda a, b: 1 if a != b else -1
)
def _(answer):
    for a, b in itertools.product(range(3), repeat=2):
        assert (answer(a, b) > 0) == (a == b)


def triple(a, b, c):
    if a == b != c:
        return "abC"
    if a == c != b:
        return "aBc"
    if b == c != a:
        return "Abc"
    return "none"


@item("003", "(3.2)", triple, slip=lambda a, b, c: "abC" if a == b else triple(a, b, c))
def _(answer):
    "Exchanging b and c exchanges the first two answers; all equal or all different: none."
    swap = {"abC": "aBc", "aBc": "abC", "Abc": "Abc", "none": "none"}
    for a, b, c in itertools.product(range(3), repeat=3):
        assert answer(a, c, b) == swap[answer(a, b, c)]
        assert (answer(a, b, c) == "none") == (len({a, b, c}) != 2)


PAIR = lambda eps: {True: (1 - eps, eps), False: (eps, 1 - eps)}


@item("003", "Table 3.1", lambda a, b: a != b, printed=lambda a, b: a == 2)
def _(second_row):
    "The two rows of the table are all cases, each once."
    for a, b, c in itertools.product(range(3), repeat=3):
        assert (a == b) + bool(second_row(a, b if second_row(0, 1) else c)) == 1


@item("003", "Table 3.2", lambda e: e / 3, slip=lambda e: e / 2)
def _(other):
    "Four answers: the right one and three others; ε = 3/4 says nothing."
    for eps in (0.1, 0.75):
        close(1 - eps + 3 * other(eps), 1)
    close(other(0.75), 0.25)


def relative_likelihood(p, answers, eps):
    "log P(L|X) of triplets by enumeration."
    total = []
    for y in itertools.product(range(p.shape[1]), repeat=len(p)):
        lp = sum(np.log(p[i, k]) for i, k in enumerate(y))
        for (a, b, c), said in answers:
            lp += np.log(1 - eps if triple(y[a], y[b], y[c]) == said else eps / 3)
        total.append(lp)
    return logsumexp(total)


@item("003", "(3.3)", lambda eps: eps / 3, slip=lambda eps: eps)
def _(wrong):
    "The chances of all answers to one triple add to one, whatever the labels."
    p, eps = softmax(rng().normal(size=(3, 2))), 0.2
    total = 0.0
    for said in ("abC", "aBc", "Abc", "none"):
        for y in itertools.product(range(2), repeat=3):
            w = math.prod(p[i, k] for i, k in enumerate(y))
            total += w * (1 - eps if triple(*y) == said else wrong(eps))
    close(total, 1)


@item("003", "(3.4)", np.sum, slip=np.max)
def _(over):
    "The log-likelihood sums over the labels: it is above every single term."
    p, answers = softmax(rng(1).normal(size=(3, 2))), [((0, 1, 2), "abC")]
    terms = []
    for y in itertools.product(range(2), repeat=3):
        w = math.prod(p[i, k] for i, k in enumerate(y))
        terms.append(w * (0.9 if triple(*y) == "abC" else 0.1 / 3))
    close(np.log(over(terms)), relative_likelihood(p, answers, 0.1))


def mean_field(p, answers, eps, over_others):
    "One update of row 0 by the expectation over the other rows (or over all rows)."
    q = softmax(rng(5).normal(size=p.shape))
    new = np.zeros(p.shape[1])
    for k in range(p.shape[1]):
        new[k] = np.log(p[0, k])
        for y in itertools.product(range(p.shape[1]), repeat=len(p)):
            w = math.prod(q[i, y[i]] for i in range(0 if not over_others else 1, len(p)))
            full = (k, *y[1:]) if over_others else y
            if over_others and y[0] != 0:
                continue
            for (a, b, c), said in answers:
                right = triple(full[a], full[b], full[c]) == said
                new[k] += w * np.log(1 - eps if right else eps / 3)
    q[0] = softmax(new)
    return q


def bound(q, p, answers, eps):
    total = -(q * np.log(q)).sum() + (q * np.log(p)).sum()
    for y in itertools.product(range(p.shape[1]), repeat=len(p)):
        w = math.prod(q[i, k] for i, k in enumerate(y))
        for (a, b, c), said in answers:
            total += w * np.log(1 - eps if triple(y[a], y[b], y[c]) == said else eps / 3)
    return total


for name, wrong in (("(3.8)", "slip"), ("(3.9)", "printed")):

    @item("003", name, True, **{wrong: False})
    def _(over_others):
        "The update is the best value of the bound in row 0."
        p, answers = (
            softmax(rng(2).normal(size=(3, 2))),
            [((0, 1, 2), "abC"), ((0, 2, 1), "none")],
        )
        q = mean_field(p, answers, 0.1, over_others)
        best = bound(q, p, answers, 0.1)
        for t in np.linspace(0.01, 0.99, 99):
            other = q.copy()
            other[0] = (t, 1 - t)
            assert bound(other, p, answers, 0.1) <= best + 1e-9


for name in ("(3.6)", "(3.7)"):

    @item("003", name, 1.0, slip=0.0)
    def _(entropy_part):
        "The bound lies below the log-likelihood and touches it where nothing is coupled."
        p, answers = softmax(rng(3).normal(size=(3, 2))), [((0, 1, 2), "none")]
        exact = relative_likelihood(p, answers, 0.75)  # ε = 3/4: the answers say nothing
        close(
            bound(p, p, answers, 0.75) + (1 - entropy_part) * (p * np.log(p)).sum(), exact
        )
        assert bound(p, p, answers, 0.1) <= relative_likelihood(p, answers, 0.1)


@item("003", "(3.10)", lambda e: 3 * (1 - e) / e, slip=lambda e: (1 - e) / e)
def _(alpha):
    "q ∝ p α^F for triplets, against the update written out."
    p, answers, eps = softmax(rng(4).normal(size=(3, 2))), [((0, 1, 2), "abC")], 0.1
    q = softmax(rng(5).normal(size=p.shape))
    F = np.zeros(2)
    for k in range(2):
        for b, c in itertools.product(range(2), repeat=2):
            F[k] += q[1, b] * q[2, c] * (triple(k, b, c) == "abC")
    close(
        softmax(np.log(p[0]) + F * np.log(alpha(eps))), mean_field(p, answers, eps, True)[0]
    )


@item("003", "(3.11)", lambda F: F >= F.max() - 1e-9, slip=lambda F: F >= F.min())
def _(keep):
    "The limit ε → 0 of p α^F keeps the largest F only."
    p, F = np.array([0.2, 0.5, 0.3]), np.array([0.9, 0.9, 0.1])
    limit = softmax(np.log(p) + F * np.log(3 / 1e-200))
    hard = p * keep(F)
    close(hard / hard.sum(), limit, 1e-6)


def information(p, arity):
    "Entropy of a right answer about rows drawn with replacement, by enumeration."
    mass = {}
    for y in itertools.product(range(len(p)), repeat=arity):
        key = triple(*y) if arity == 3 else y[0] == y[1]
        mass[key] = mass.get(key, 0) + math.prod(p[k] for k in y)
    return entropy(np.array(list(mass.values())))


PM, PR = lambda p: (p**2).sum(), lambda p: (p**2 * (1 - p)).sum()


def h(x):
    return entropy(np.array([x, 1 - x]))


@item("003", "(3.12)", lambda p: h(PM(p)), slip=lambda p: h(PR(p)))
def _(form):
    for s in range(3):
        p = rng(s).dirichlet(np.ones(4))
        close(form(p), information(p, 2))


@item(
    "003",
    "(3.13)",
    lambda p: h(3 * PR(p)) + 3 * PR(p) * np.log(3),
    slip=lambda p: h(3 * PR(p)),
)
def _(form):
    for s in range(3):
        p = rng(s).dirichlet(np.ones(4))
        close(form(p), information(p, 3))


item("003", "Theorem 3.4.1", 3, slip=1)(
    lambda k: close(
        h(3 * PR(np.array([0.5, 0.3, 0.2])))
        + k * PR(np.array([0.5, 0.3, 0.2])) * np.log(3),
        information(np.array([0.5, 0.3, 0.2]), 3),
    )
)


@item("003", "(3.14)", lambda p: PR(p), slip=lambda p: 3 * PR(p) + 0.3)
def _(form):
    for s in range(200):
        p = rng(s).dirichlet(np.full(5, 0.5))
        assert form(p) <= PM(p) + 1e-12


@item("003", "(3.15)", 2 / 3, slip=0.95)
def _(limit):
    "3 P_R ≥ P_M while no class is larger than the limit."
    for s in range(3000):
        p = rng(s).dirichlet(np.full(3, 0.4))
        if p.max() <= limit:
            assert 3 * PR(p) >= PM(p) - 1e-12


@item(
    "003",
    "§3.5.2.3",
    lambda pair, trip: trip > pair,
    printed=lambda pair, trip: pair > trip,
)
def _(says):
    "Can pairs say more than triplets on unbalanced classes? Never."
    for s in range(500):
        p = rng(s).dirichlet(np.full(13, 10 ** rng(s + 999).uniform(-1.5, 1)))
        if p.max() < 1 - 1e-9:
            assert says(information(p, 2) if len(p) < 5 else h(PM(p)), h(3 * PR(p)) + 3 * PR(p) * np.log(3))  # fmt: skip


@item("003", "Table 3.3", lambda q, k: q[k], slip=lambda q, k: 1 - q[k])
def _(entry):
    "The chance that a pair is right, given one label, by drawing the other."
    q = np.array([0.2, 0.5, 0.3])
    for k in range(3):
        close(entry(q, k), sum(q[b] for b in range(3) if b == k))


@item("003", "Table 3.4", lambda qb, qc, k: 1 - qb[k] - qc[k] + 3 * qb[k] * qc[k] - qb @ qc, slip=lambda qb, qc, k: 1 - qb[k] - qc[k] + qb[k] * qc[k])  # fmt: skip
def _(none):
    "The chance of 'none' given the label of the first row."
    qb, qc = softmax(rng(6).normal(size=(2, 3)))
    for k in range(3):
        brute = sum(
            qb[b] * qc[c] for b in range(3) for c in range(3) if triple(k, b, c) == "none"
        )
        close(none(qb, qc, k), brute)


@item("003", "Table 3.7", (17, 4, 3), printed=(18, 4, 3))
def _(counts):
    assert sum(counts) == 24  # participants


@item("003", "Table 3.8", 92.09, printed=83.52)
def _(percent):
    "(142.42 + 37.15) of 195 answers are on the diagonal of (a)."
    assert abs(percent - 100 * (142.42 + 37.15) / 195) < 0.01


@item("003", "Table 3.9", 96.65, slip=83.52)
def _(percent):
    "Flower, pairs: the diagonal of (a) is 96.65 % as printed."
    assert 96 < percent < 97


# Paper 003, chapter 4: Bayesian active clustering


@item("003", "(4.3)", lambda lam: 1 / lam, printed=lambda lam: lam)
def _(variance):
    "exp(−λ/2 w²) is the density of a normal with this variance."
    w = np.linspace(-1, 2, 7)
    for lam in (0.5, 10.0):
        gap = stats.norm(0, np.sqrt(variance(lam))).logpdf(w) + lam / 2 * w**2
        close(gap - gap[0], 0 * gap)


@item("003", "(4.4)", lambda e, same: 1 - e if same else e, slip=lambda e, same: 1 - e)
def _(must):
    for e in (0.05, 0.3):
        close(must(e, True) + must(e, False), 1)


def forest(P, edges, signs, eps):
    "Chance of the answers and the joint of the labels, by enumeration."
    joint = {}
    for y in itertools.product(range(P.shape[1]), repeat=len(P)):
        w = math.prod(P[i, k] for i, k in enumerate(y))
        for (a, b), s in zip(edges, signs):
            w *= (1 - eps) if (y[a] == y[b]) == (s > 0) else eps
        joint[y] = w
    return joint


P4, EDGES4, SIGNS4 = (
    softmax(rng(20).normal(size=(5, 2))),
    [(0, 1), (1, 2), (3, 4)],
    [1, -1, 1],
)


@item("003", "(4.1)", lambda ws: np.sum(ws), slip=lambda ws: np.max(ws))
def _(over_labels):
    "The three layers: the chances of all answers add to one."
    total = sum(
        over_labels(list(forest(P4, EDGES4, signs, 0.1).values()))
        for signs in itertools.product((1, -1), repeat=3)
    )
    close(total, 1)


def message(f, s, eps, sign, slip=False):
    f = np.asarray(f)
    if sign > 0:
        return eps * s + (1 - 2 * eps) * f
    return (1 - eps) * s - (1 - (1 if slip else 2) * eps) * f


@item("003", "(4.5)", False, slip=True)
def _(slip):
    "Messages along a path of three, against enumeration."
    up0 = message(P4[0], P4[0].sum(), 0.1, 1)
    b1 = P4[1] * up0
    up1 = message(b1, b1.sum(), 0.1, -1, slip)
    part = (P4[2] * up1).sum()
    brute = sum(forest(P4[:3], EDGES4[:2], SIGNS4[:2], 0.1).values())
    close(part, brute)


def next_answer(a, b, eps=0.1):
    "P(z_ab = same | Z) as the ratio (4.10), by enumeration."
    joint = forest(P4, EDGES4, SIGNS4, eps)
    more = forest(P4, EDGES4 + [(a, b)], SIGNS4 + [1], eps)
    return sum(more.values()) / sum(joint.values())


def truth_same(a, b, eps=0.1):
    joint = forest(P4, EDGES4, SIGNS4, eps)
    same = sum(w for y, w in joint.items() if y[a] == y[b]) / sum(joint.values())
    return eps + (1 - 2 * eps) * same


@item("003", "(4.10)", next_answer, one_pass=lambda a, b: product_short_cut(a, b))
def _(ratio):
    "Right for pairs of one tree and of two; the product of marginals only for two."
    for a, b in ((0, 3), (0, 2), (2, 4)):
        close(ratio(a, b), truth_same(a, b))


def product_short_cut(a, b, eps=0.1):
    joint = forest(P4, EDGES4, SIGNS4, eps)
    total = sum(joint.values())
    m = [
        [sum(w for y, w in joint.items() if y[i] == k) / total for k in (0, 1)]
        for i in (a, b)
    ]
    return eps + (1 - 2 * eps) * float(np.dot(*m))


def test_the_product_is_right_for_two_trees():
    close(product_short_cut(0, 3), truth_same(0, 3))


PS = rng(21).uniform(0.1, 0.9, 7)  # chances of "same" in seven particles


@item("003", "(4.6)", lambda ps: h(ps.mean()), slip=lambda ps: np.mean([h(p) for p in ps]))
def _(uncertain):
    "Uncertain is the entropy of the mean chance: largest where the mean is one half."
    close(uncertain(np.array([0.1, 0.9])), np.log(2))


@item("003", "(4.7)", lambda ps: h(ps.mean()) - np.mean([h(p) for p in ps]), slip=lambda ps: h(ps.mean()))  # fmt: skip
def _(info):
    "Info is the mutual information of answer and particle, by its definition."
    joint = np.array([[p, 1 - p] for p in PS]) / len(PS)
    flat = joint.sum(1, keepdims=True) * joint.sum(0, keepdims=True)
    close(info(PS), (joint * np.log(joint / flat)).sum())


for name, right, slip in (
    ("(4.8)", lambda ps: ps.mean(), np.median),
    ("(4.9)", lambda ps: np.mean([h(p) for p in ps]), lambda ps: h(ps.mean())),
    ("(4.11)", lambda ps: 1 - np.mean(1 - ps), lambda ps: np.exp(np.log(ps).mean())),
):

    @item("003", name, right, slip=slip)
    def _(form, name=name):
        "Plug-in means: the value of many copies is the expectation of a drawn particle."
        r = rng(22)
        drawn = PS[r.integers(0, len(PS), 400000)]
        value = np.mean([h(p) for p in PS]) if name == "(4.9)" else drawn.mean()
        assert abs(form(PS) - value) < 2e-3


def entropy_term(W, X, sign):
    P = softmax(X @ W)
    H = -(P * np.log(P)).sum(1, keepdims=True)
    return sign * X.T @ (P * (np.log(P) + H)) / len(X)


@item("003", "gradient after (4.13)", 1.0, printed=-1.0)
def _(sign):
    "The derivative of −(1/N) Σ H in W."
    X, W = rng(23).normal(size=(6, 3)), rng(24).normal(size=(3, 2))
    f = lambda V: (softmax(X @ V) * np.log(softmax(X @ V))).sum() / len(X)
    close(entropy_term(W, X, sign), gradient(f, W), 1e-6)


@item("003", "(4.13)", lambda q, p: q - p, slip=lambda q, p: p - q)
def _(fisher):
    "Fisher's identity: d log P(Z|W)/dW = Σ x_i (q_i − p_i)ᵀ."
    X, W = rng(25).normal(size=(5, 3)), rng(26).normal(size=(3, 2))
    like = lambda V: np.log(sum(forest(softmax(X @ V), EDGES4, SIGNS4, 0.1).values()))
    P = softmax(X @ W)
    joint = forest(P, EDGES4, SIGNS4, 0.1)
    total = sum(joint.values())
    q = np.array([[sum(w for y, w in joint.items() if y[i] == k) / total for k in (0, 1)] for i in range(5)])  # fmt: skip
    close(X.T @ fisher(q, P), gradient(like, W), 1e-6)


@item("003", "Algorithm 2", 2, printed=1)
def _(first):
    "The pool before the first question is all pairs: the update has nothing to take off."
    pools, asked = {0: {(0, 1), (0, 2), (1, 2)}}, {1: (0, 1), 2: (0, 2)}
    start = {1: pools[0]}
    for t in range(first, 3):
        assert t - 1 in start and t - 1 in asked, "t = 1 takes the question number 0"
        start[t] = start[t - 1] - {asked[t - 1]}
    assert len(start[2]) == 2


# Paper 003, chapter 5: label hierarchies


def tree_joint(sig, parent, eps):
    "P(y) of three labels under a root, by enumeration."
    out = {}
    for y in itertools.product((0, 1), repeat=3):
        w = 1.0
        for c in range(3):
            up = 1 if parent[c] < 0 else y[parent[c]]
            p = sig[c] if up else eps
            w *= p if y[c] else 1 - p
        out[y] = w
    return out


@item("003", "(5.1)", lambda s, up, e: s if up else e, slip=lambda s, up, e: s)
def _(chance):
    "Without ε a child is never on when its parent is off."
    sig, parent = (0.6, 0.7, 0.5), (-1, 0, 0)
    off = 0.0
    for y in itertools.product((0, 1), repeat=3):
        w = 1.0
        for c in range(3):
            up = 1 if parent[c] < 0 else y[parent[c]]
            p = chance(sig[c], up, 0.0)
            w *= p if y[c] else 1 - p
        off += w * (y[1] > y[0])
    close(off, 0)


@item("003", "Table 5.1", lambda z, y, a: (0.0 if z else 1.0) if not y else (1 - a if z else a), slip=lambda z, y, a: 1 - a if z == y else a)  # fmt: skip
def _(seen):
    "A label that is off is never seen; rows sum to one."
    for y, a in itertools.product((0, 1), (0.1, 0.4)):
        close(seen(0, y, a) + seen(1, y, a), 1)
    assert seen(1, 0, 0.3) == 0


@item("003", "(5.4)", True, slip=False)
def _(parents):
    "Node and edge potentials multiply to the joint."
    sig, parent, eps = (0.6, 0.7, 0.5), (-1, 0, 1), 0.05
    for y, w in tree_joint(sig, parent, eps).items():
        prod = 1.0
        for c in range(3):
            up = 1 if parent[c] < 0 or not parents else y[parent[c]]
            p = sig[c] if up else eps
            prod *= p if y[c] else 1 - p
        close(prod, w)


@item("003", "(5.3)", True, slip=False)
def _(with_entropy):
    "EM's bound at the posterior touches the log-likelihood."
    joint = tree_joint((0.6, 0.7, 0.5), (-1, 0, 0), 0.05)
    seen = {
        y: w * 0.3 ** (sum(y) - y[1]) for y, w in joint.items() if y[1]
    }  # z = (0, 1, 0)
    q = {y: w / sum(seen.values()) for y, w in seen.items()}
    value = sum(p * (np.log(seen[y]) - with_entropy * np.log(p)) for y, p in q.items())
    close(value, np.log(sum(seen.values())))


TERMS = {1: "labels given the tree", 2: "what is seen, with α", 3: "penalty of W"}


@item("003", "(5.6)", {1, 3}, printed={2, 3})
def _(terms):
    "The part of the objective that depends on W and the tree, by changing them."
    x, q = rng(27).normal(size=4), rng(28).random(4)

    def parts(w, alpha):
        s = 1 / (1 + np.exp(-x * w))
        first = (q * np.log(s) + (1 - q) * np.log(1 - s)).sum()
        second = (q * np.log(alpha)).sum()
        return {1: first, 2: second, 3: -0.1 * w**2}

    a, b = parts(0.3, 0.2), parts(0.9, 0.2)
    assert {k for k in TERMS if a[k] != b[k]} == terms


@item("003", "RF undefined", lambda a, b: len(a ^ b), slip=lambda a, b: len(a & b))
def _(distance):
    "The distance of two trees is the number of edges that only one has: 2(K − 1 − common)."
    a = frozenset({(0, 1), (0, 2), (1, 3)})
    b = frozenset({(0, 1), (0, 2), (2, 3)})
    assert distance(a, a) == 0 and distance(a, b) == distance(b, a) == 2 * (3 - 2)


# The tests


@pytest.mark.parametrize("key", CASES, ids=lambda k: " ".join(k))
def test_the_form_that_holds_passes(key):
    check, holds, _ = CASES[key]
    check(holds)


WRONG = [(key, name) for key, (_, _, fails) in CASES.items() for name in fails]


@pytest.mark.parametrize(
    "key, name", WRONG, ids=lambda k: k if isinstance(k, str) else " ".join(k)
)
def test_the_other_form_fails(key, name):
    check, _, fails = CASES[key]
    with pytest.raises((AssertionError, np.linalg.LinAlgError)):
        with np.errstate(all="ignore"):
            check(fails[name])


def rows():
    with open(LEDGER, newline="", encoding="utf-8") as f:
        return list(csv.DictReader(f))


@pytest.mark.skipif(not LEDGER.exists(), reason="needs the repository")
def test_every_accusation_has_its_mutation():
    "ERROR or TYPO: the printed form fails here. OK: it holds here, and a slip fails."
    for r in rows():
        case = CASES.get((r["paper"], r["item"]))
        if r["verdict"] in ("ERROR", "TYPO"):
            assert case is not None, (
                f"{r['paper']} {r['item']} accuses without a mutation test"
            )
            assert "printed" in case[2], r["item"]
        elif case is not None and r["verdict"] == "OK":
            assert "printed" not in case[2], (
                f"{r['paper']} {r['item']} is OK, yet printed fails"
            )


@pytest.mark.skipif(not LEDGER.exists(), reason="needs the repository")
def test_every_case_belongs_to_an_entry():
    have = {(r["paper"], r["item"]) for r in rows()}
    assert not [k for k in CASES if k not in have]


@pytest.mark.skipif(not LEDGER.exists(), reason="needs the repository")
def test_most_right_equations_have_a_slip_that_fails():
    ok = [
        r for r in rows() if r["verdict"] == "OK" and r["kind"] not in ("result", "figure")
    ]
    tested = [r for r in ok if (r["paper"], r["item"]) in CASES]
    assert len(tested) >= 0.9 * len(ok), [r["item"] for r in ok if r not in tested]
