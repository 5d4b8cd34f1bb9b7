"""TVClust: a Gibbs sweep, growth of a pass in rows and links, and a fit of 500 000 rows.

    python benchmarks/bench_tvclust_inference.py [--full]

Times on a shared machine wander, so they are CPU seconds of one thread, and each stands
beside a peer measured in the same run: one iteration of scikit-learn's
BayesianGaussianMixture (full covariances), and one of KMeans.
"""

import os

for v in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(v, "1")
import argparse
import resource
import time
import warnings

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import BayesianGaussianMixture

from csc_nb.constraints import Constraints
from csc_nb.graph import make_links
from csc_nb.tvclust import (
    TVClust,
    default_family,
    gibbs_init,
    gibbs_step,
    tv_model,
    vb_state,
    vb_step,
)

warnings.filterwarnings("ignore")


def blobs(n, d, k, m, noise=0.1, seed=0, box=2.0):
    "Rows in k normal clusters, and m random answers of which a share `noise` is wrong."
    rng = np.random.default_rng(seed)
    y = rng.integers(k, size=n)
    X = rng.normal(size=(k, d))[y] * box + rng.normal(size=(n, d))
    a = rng.integers(n, size=m)
    b = (a + rng.integers(1, n, size=m)) % n
    value = np.where(y[a] == y[b], 1, -1) * np.where(rng.random(m) < noise, -1, 1)
    return X, y, a, b, value


def best(f, repeats=3):
    "Least and median CPU seconds of `repeats` calls."
    t = []
    for _ in range(repeats):
        s = time.process_time()
        f()
        t.append(time.process_time() - s)
    return min(t), float(np.median(t))


def per_iteration(fit, iters):
    "Seconds of one iteration: the difference of a long and a short fit."
    return (best(lambda: fit(1 + iters))[0] - best(lambda: fit(1))[0]) / iters


def peer_mixture(X, k):
    def fit(max_iter):
        model = BayesianGaussianMixture(
            n_components=k,
            max_iter=max_iter,
            tol=0.0,
            init_params="random_from_data",
            random_state=0,
        )
        model.fit(X)

    return per_iteration(fit, 3)


def peer_kmeans(X, k):
    def fit(max_iter):
        km = KMeans(k, init=X[:k], n_init=1, max_iter=max_iter, tol=0.0, algorithm="lloyd")
        km.fit(X)

    return per_iteration(fit, 5)


def gibbs():
    X, y, a, b, v = blobs(5000, 10, 20, 5000)
    model = tv_model(X, default_family(X), make_links(len(X), a, b, v))
    rng = np.random.default_rng(0)
    peer = peer_mixture(X, 20)
    for name, explicit in (("collapsed", False), ("the paper's", True)):
        s = gibbs_init(model, rng, z=y, explicit=explicit)
        for _ in range(3):
            s = gibbs_step(s, model, rng, explicit)
        lo, med = best(lambda: gibbs_step(s, model, rng, explicit), 5)
        print(
            f"Gibbs sweep, {name}, n=5000 d=10 K={s.K}, 5000 answers: {lo:.3f} s "
            f"(median {med:.3f}); BayesianGaussianMixture iteration {peer:.3f} s, "
            f"ratio {lo / peer:.1f}",
            flush=True,
        )


def growth():
    print("variational pass, d=10, K=20 (least of 3):")
    few = [(n, 20_000) for n in (20_000, 40_000, 80_000, 160_000)]
    many = [(80_000, m) for m in (0, 80_000, 320_000, 1_280_000)]
    for n, m in few + many:
        X, y, a, b, v = blobs(n, 10, 20, m)
        model = tv_model(X, default_family(X), make_links(n, a, b, v), T=20)
        R = np.full((n, 20), 0.1 / 19)
        R[np.arange(n), y] = 0.9
        s = vb_state(R, model)
        vb_step(s, model)
        lo, med = best(lambda: vb_step(s, model))
        line = f"  n={n:>7,} answers={m:>9,}: {lo:.3f} s (median {med:.3f})"
        if m == 20_000:
            line += f"  KMeans iteration {peer_kmeans(X, 20):.3f} s"
            line += f", BayesianGaussianMixture iteration {peer_mixture(X, 20):.3f} s"
        print(line, flush=True)


def large():
    X, y, a, b, v = blobs(500_000, 20, 20, 100_000, noise=0.3, box=1.0)
    c = Constraints(a, b, v, n_samples=len(X))
    lloyd = peer_kmeans(X, 20)
    print("fit of 500 000 x 20 with 100 000 answers, 30 % wrong;", end=" ")
    print(f"KMeans iteration {lloyd:.2f} s", flush=True)
    for updates in ("incremental", "stochastic"):
        t, cpu = time.perf_counter(), time.process_time()
        est = TVClust(batch_size=10_000, updates=updates, n_init=2, random_state=0)
        est.fit(X, constraints=c)
        t, cpu = time.perf_counter() - t, time.process_time() - cpu
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        print(
            f"  {updates}: {t:.0f} s ({cpu:.0f} CPU s = {cpu / lloyd:.0f} KMeans "
            f"iterations), history of {est.n_iter_}, {est.n_clusters_} clusters (20 true), "
            f"ARI {adjusted_rand_score(y, est.labels_):.3f}, bound "
            f"{est.elbo_history_[-1]:.0f}, p {est.p_:.3f} q {est.q_:.3f}, "
            f"{len(est.suspects_)} suspects; peak memory so far {memory:.2f} GB",
            flush=True,
        )


if __name__ == "__main__":
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("--full", action="store_true", help="also fit 500 000 rows")
    ap.add_argument("--large", action="store_true", help="only that")
    args = ap.parse_args()
    if args.full or args.large:
        large()
    if not args.large:
        gibbs()
        growth()
