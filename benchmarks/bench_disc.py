"""Speed of DiSC: `python benchmarks/bench_disc.py [--quick] [copd] [gradient] [growth]
[landmarks] [pymanopt]`.

Prints seconds, ratios to a peer in the same run, growth with n, peak memory. No asserts on
time. The part `pymanopt` is skipped with a message when it is not installed."""

import argparse, resource, time, warnings
import numpy as np
from sklearn.metrics import normalized_mutual_info_score as nmi
from csc_nb.datasets import toy_disc
from csc_nb.disc import (
    DiSC,
    Exact,
    descend,
    evaluate,
    gradient,
    gradient_formula,
    random_orthonormal,
    score_blocks,
    subspace_sigma,
    usefulness_matrix,
)

warnings.simplefilter("ignore")


def clock(f):
    wall, cpu = time.perf_counter(), time.process_time()
    out = f()
    return out, time.perf_counter() - wall, time.process_time() - cpu


def line(name, wall, cpu, more=""):
    print(f"{name:<62s} {wall:7.2f} s wall {cpu:7.2f} s cpu  {more}", flush=True)


def two_views(n, d, k, seed=0):
    "k clusters that the score speaks of, k tighter ones that it does not, noise."
    rng = np.random.default_rng(seed)
    a, b, X = rng.integers(k, size=n), rng.integers(k, size=n), rng.normal(size=(n, d))
    X[:, :k] += 3 * np.eye(k)[a]
    X[:, k : 2 * k] += 4 * np.eye(k)[b]
    return X, a, a + X[:, 2 * k] + 0.3 * rng.normal(size=n)


def clock_workers(f):
    "Wall, and the CPU of this process and of its joblib workers (their start-up included)."
    from joblib.externals.loky import get_reusable_executor

    used = lambda: sum(
        r.ru_utime + r.ru_stime
        for r in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )
    wall, cpu = time.perf_counter(), used()
    out = f()
    wall = time.perf_counter() - wall
    get_reusable_executor().shutdown(wait=True)
    return out, wall, used() - cpu


def copd(quick):
    """The size of the paper's COPD study: 1906 patients, 39 features, 4 clusters, 20
    starts, 2 cores."""
    n, n_init = (600, 4) if quick else (1906, 20)
    X, a, s = two_views(n, 39, 4)
    DiSC(4, mu=1.0, n_init=1, max_iter=2, random_state=0).fit(
        X[:100], scores=s[:100]
    )  # compile
    for name, mu in (("μ given", 10.0), ("mu='balance'", "balance")):
        e, w, cpu = clock_workers(
            lambda: DiSC(4, mu=mu, n_init=n_init, n_jobs=2, random_state=0).fit(X, scores=s)
        )
        line(
            f"n = {n}, d = 39, k = 4, {n_init} starts, 2 workers, {name}",
            w,
            cpu,
            f"half the cpu {cpu / 2:.1f} s, NMI {nmi(a, e.labels_):.3f}, {e.n_iter_} "
            f"steps, converged {e.converged_}",
        )


def prob_of(n, d, k, mu=10.0):
    X, _, s = two_views(n, d, k)
    Xc = X - X.mean(0)
    return Exact(
        Xc,
        usefulness_matrix(score_blocks(s, n), n),
        subspace_sigma(Xc, k, np.random.default_rng(0)),
        k,
        1.0,
        mu,
    )


def gradients(quick):
    "The kernel that never stores Ψ against the matrix form."
    for n in (500, 1000) if quick else (500, 1000, 2000):
        p = prob_of(n, 39, 4)
        pt = evaluate(random_orthonormal(39, 4, np.random.default_rng(0)), p)
        gradient(pt, p)
        G, w0, c0 = clock(lambda: [gradient_formula(pt, p) for _ in range(5)][0])
        H, w1, c1 = clock(lambda: [gradient(pt, p) for _ in range(5)][0])
        line(
            f"gradient × 5, n = {n}: matrix form, then kernel",
            w0,
            c0,
            f"kernel {c1:.2f} s cpu, {c0 / c1:.1f} × faster, largest difference "
            f"{np.abs(G - H).max():.1e}",
        )


def growth(quick):
    """CPU per evaluation with gradient as n grows; the peer is the n × n distance
    matrix by scikit-learn."""
    from sklearn.metrics import pairwise_distances

    last = None
    for n in (500, 1000, 2000) if quick else (500, 1000, 2000, 4000):
        p = prob_of(n, 39, 4)
        W = random_orthonormal(39, 4, np.random.default_rng(0))
        _, _, c0 = clock(lambda: pairwise_distances(p.X, metric="sqeuclidean"))
        r, w, cpu = clock(lambda: descend(W, p, 15, 1e-12))
        per = cpu / r.n_eval
        line(
            f"15 steps, n = {n}",
            w,
            cpu,
            f"{per * 1e3:.0f} ms per evaluation, {per / c0:.1f} × one distance matrix"
            + ("" if last is None else f", grew {per / last:.1f} × for 2 × rows"),
        )
        last = per


def landmarks(quick):
    """Many rows in little memory; the peer is the exact method at the largest n where
    it is comfortable."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    for n in (5_000, 10_000) if quick else (12_500, 50_000):
        X, a, s = two_views(n, 20, 3)
        e, w, cpu = clock(
            lambda: DiSC(
                3, mu=10.0, n_landmarks=300, n_init=1, max_iter=20, random_state=0
            ).fit(X, scores=s)
        )
        line(
            f"n = {n:,}, d = 20, 300 landmarks, 1 start × ≤ 20 steps",
            w,
            cpu,
            f"NMI {nmi(a, e.labels_):.3f}, peak memory "
            f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB (before: "
            f"{before:.2f})",
        )


def with_pymanopt(quick):
    "The same objective by pymanopt: with autograd, and with our own gradient."
    try:
        import pymanopt, autograd.numpy as anp
    except ImportError as err:
        return print(
            f"pymanopt: skipped, not installed ({err.name}); pip install pymanopt autograd"
        )
    from pymanopt.manifolds import Stiefel
    from pymanopt.optimizers import ConjugateGradient, SteepestDescent

    n = 120 if quick else 200
    t = toy_disc(n, random_state=0)
    X = t.data - t.data.mean(0)
    p = Exact(
        X,
        usefulness_matrix(score_blocks(t.scores, n), n),
        subspace_sigma(X, 2, np.random.default_rng(0)),
        2,
        1.0,
        3.0,
    )
    manifold, starts = (
        Stiefel(6, 2),
        [random_orthonormal(6, 2, np.random.default_rng(i)) for i in range(3)],
    )

    @pymanopt.function.autograd(manifold)
    def by_autograd(W):
        Y = anp.dot(X, W) / p.sigma
        r = anp.sum(Y**2, axis=1)
        K = anp.exp(anp.dot(Y, Y.T) - 0.5 * r[:, None] - 0.5 * r)
        d = anp.sum(K, axis=1) ** -0.5
        return (
            p.k
            - anp.sum(anp.linalg.eigh(d[:, None] * K * d)[0][-p.k :])
            - p.mu * anp.sum(K * p.S)
        )

    @pymanopt.function.numpy(manifold)
    def ours(W):
        return evaluate(W, p).F

    @pymanopt.function.numpy(manifold)
    def our_gradient(W):
        return gradient(evaluate(W, p), p)

    descend(starts[0], p, 3)
    r, w, cpu = clock(lambda: [descend(W, p, 500, 1e-5).at.F for W in starts])
    line(f"n = {n}, 3 starts: this package", w, cpu, f"F {np.round(r, 6)}")
    for name, problem, opt in (
        (
            "pymanopt, autograd, conjugate gradient",
            pymanopt.Problem(manifold, by_autograd),
            ConjugateGradient,
        ),
        (
            "pymanopt, autograd, steepest descent",
            pymanopt.Problem(manifold, by_autograd),
            SteepestDescent,
        ),
        (
            "pymanopt, our gradient, conjugate gradient",
            pymanopt.Problem(manifold, ours, euclidean_gradient=our_gradient),
            ConjugateGradient,
        ),
    ):
        optimizer = opt(
            verbosity=0, max_iterations=500, min_gradient_norm=1e-5 * 4, max_time=300
        )
        q, w2, c2 = clock(
            lambda: [float(optimizer.run(problem, initial_point=W).cost) for W in starts]
        )
        line(
            f"  {name}",
            w2,
            c2,
            f"F {np.round(q, 6)}, {c2 / cpu:.1f} × our cpu, best F differs by "
            f"{min(q) - min(r):+.1e}",
        )


if __name__ == "__main__":
    parts = dict(
        copd=copd,
        gradient=gradients,
        growth=growth,
        landmarks=landmarks,
        pymanopt=with_pymanopt,
    )
    ap = argparse.ArgumentParser()
    ap.add_argument("--quick", action="store_true")
    ap.add_argument("parts", nargs="*", metavar="|".join(parts))
    args = ap.parse_args()
    for name in args.parts or parts:
        parts[name](args.quick)
