"""RDP-means: one sweep against one Lloyd iteration, growth in rows and links, memory.

    python benchmarks/bench_tvclust.py [--full]

Processor seconds of one thread, the least of several, beside scikit-learn's KMeans measured
in between: other work on the machine matters less. `--full` also fits 10⁶ rows in a process
of its own and prints its peak memory.
"""

import os

for v in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[v] = "1"
import argparse
import resource
import subprocess
import sys
import time
import warnings

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from csc_nb.constraints import Constraints
from csc_nb.datasets import make_linked_blobs
from csc_nb.graph import make_links
from csc_nb.rdpmeans import RDPMeans, RDPState, rdp_problem, rdp_step


def least(f, repeats=5):
    "Least processor seconds of several calls (one thread; others may share the machine)."
    out = []
    for _ in range(repeats):
        start = time.process_time()
        f()
        out.append(time.process_time() - start)
    return min(out)


def setting(n, d, k, m, seed=0):
    "A problem and a state near its solution, so that the number of clusters stays k."
    b = make_linked_blobs(n, d, k, m, noise=0.1, random_state=seed)
    X = b.data - b.data.mean(0)
    prob = rdp_problem(X, make_links(n, *b.pairs.T, b.value), 1e4)
    mu = np.array([X[b.target == j].mean(0) for j in range(k)])
    return X, prob, RDPState(b.target.astype(np.int64), mu, 1.0, 1.0, 0.0, -1, 0)


def sweep_seconds(prob, state, algorithm, repeats=25):
    rng = np.random.default_rng(0)

    def sweep():
        rdp_step(state, prob, rng, algorithm=algorithm)

    sweep()  # compile
    return least(sweep, repeats)


def lloyd_seconds(X, k, iters=10, repeats=8):
    "One single-threaded Lloyd iteration: the difference of a long and a short run."
    init = X[np.random.default_rng(0).choice(len(X), k, replace=False)]

    def fit(max_iter):
        km = KMeans(k, init=init, n_init=1, max_iter=max_iter, tol=0.0, algorithm="lloyd")
        return km.fit(X)

    warnings.simplefilter("ignore")
    done = fit(1 + iters).n_iter_
    long, short = (least(lambda: fit(i), repeats) for i in (1 + iters, 1))
    return (long - short) / (done - 1)


def peak_gb():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def million():
    "Fit 10⁶ rows; run in a process of its own, so that the peak memory is its own."
    b = make_linked_blobs(1_000_000, 10, 20, 100_000, noise=0.1, random_state=0)
    c = Constraints(b.pairs[:, 0], b.pairs[:, 1], b.value, n_samples=len(b.data))
    base, start = peak_gb(), time.process_time()
    est = RDPMeans(20, xi_max=10.0, max_clusters=None, n_init=1, random_state=0)
    est.fit(b.data, constraints=c)
    seconds = time.process_time() - start
    score = adjusted_rand_score(b.target, est.labels_)
    print(
        f"10⁶ × 10, 10⁵ links: fit at a given ξ {seconds:.0f} s, {est.n_iter_} sweeps in "
        f"the last run, K={est.n_clusters_}, ARI {score:.3f}, peak {peak_gb():.2f} GB "
        f"(data alone {base:.2f} GB)"
    )


def sweeps_beside_lloyd():
    X, prob, state = setting(100_000, 10, 20, 100_000)
    for _ in range(3):
        lloyd = lloyd_seconds(X, 20)
        line = f"n=10⁵ d=10 K=20 10⁵ links: Lloyd {1e3 * lloyd:6.1f} ms"
        for algorithm in ("paper", "exact"):
            s = sweep_seconds(prob, state, algorithm)
            line += f" | {algorithm} sweep {1e3 * s:6.1f} ms = {s / lloyd:.1f}×"
        print(line, flush=True)


def growth():
    for n in (50_000, 100_000, 200_000, 400_000):
        _, prob, state = setting(n, 10, 20, 100_000)
        ms = 1e3 * sweep_seconds(prob, state, "exact", 3)
        print(f"growth in rows (10⁵ links): {n:>9,} rows {ms:.0f} ms", flush=True)
    for m in (0, 500_000, 1_000_000, 2_000_000):
        _, prob, state = setting(100_000, 10, 20, m)
        ms = 1e3 * sweep_seconds(prob, state, "exact", 3)
        print(f"growth in links (10⁵ rows): {m:>9,} links {ms:.0f} ms", flush=True)


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("--full", action="store_true")
    ap.add_argument("--million", action="store_true", help=argparse.SUPPRESS)
    args = ap.parse_args()
    if args.million:
        return million()
    sweeps_beside_lloyd()
    growth()
    if args.full:
        subprocess.run([sys.executable, __file__, "--million"], check=True)


if __name__ == "__main__":
    main()
