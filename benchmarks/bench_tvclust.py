"""RDP-means: one sweep against one Lloyd iteration of scikit-learn in the same run, growth in rows and links, memory.

    python benchmarks/bench_tvclust.py [--full]

Processor seconds of one thread, the least of several, beside KMeans measured in between: other work on the machine matters less.
`--full` also fits 10⁶ rows in a process of its own and prints its peak memory.
"""

import os

for v in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[v] = "1"
import argparse, resource, subprocess, sys, time
import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from csc_nb.constraints import Constraints
from csc_nb.datasets import make_linked_blobs
from csc_nb.rdpmeans import RDPMeans, RDPState, make_links, rdp_problem, rdp_step


def least(f, repeats=5):
    "Least processor seconds of several calls (one thread; others may share the machine)."
    out = []
    for _ in range(repeats):
        s = time.process_time()
        f()
        out.append(time.process_time() - s)
    return min(out)


def setting(n, d, k, m, seed=0):
    "A problem and a state near its solution, so that the number of clusters stays k."
    b = make_linked_blobs(n, d, k, m, noise=0.1, random_state=seed)
    X = b.data - b.data.mean(0)
    prob = rdp_problem(X, make_links(n, *b.pairs.T, b.value), 1e4)
    mu = np.array([X[b.target == j].mean(0) for j in range(k)])
    return X, prob, RDPState(b.target.astype(np.int64), mu, 1.0, 1.0, 0.0, -1, 0)


def sweep_seconds(prob, state, moves, repeats=25):
    rng = np.random.default_rng(0)
    rdp_step(state, prob, rng, moves=moves)  # compile
    return least(lambda: rdp_step(state, prob, rng, moves=moves), repeats)


def lloyd_seconds(X, k, iters=10, repeats=8):
    "One single-threaded Lloyd iteration: the difference of a long and a short run."
    init = X[np.random.default_rng(0).choice(len(X), k, replace=False)]
    fit = lambda it: KMeans(
        k, init=init, n_init=1, max_iter=it, tol=0.0, algorithm="lloyd"
    ).fit(X)
    import warnings

    warnings.simplefilter("ignore")
    done = fit(1 + iters).n_iter_
    return (least(lambda: fit(1 + iters), repeats) - least(lambda: fit(1), repeats)) / (
        done - 1
    )


def million():
    "Fit 10⁶ rows; run in a process of its own, so that the peak memory is its own."
    b = make_linked_blobs(1_000_000, 10, 20, 100_000, noise=0.1, random_state=0)
    c = Constraints(b.pairs[:, 0], b.pairs[:, 1], b.value, n_samples=len(b.data))
    base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    t = time.process_time()
    est = RDPMeans(
        n_clusters=20, xi_max=10.0, max_clusters=None, n_init=1, random_state=0
    ).fit(b.data, constraints=c)
    t = time.process_time() - t
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"10⁶ × 10, 10⁵ links: fit at a given ξ {t:.0f} s, {est.n_iter_} sweeps in the last run, K={est.n_clusters_}, ARI {adjusted_rand_score(b.target, est.labels_):.3f}, peak {peak:.2f} GB (data alone {base:.2f} GB)"
    )


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("--full", action="store_true")
    ap.add_argument("--million", action="store_true", help=argparse.SUPPRESS)
    args = ap.parse_args()
    if args.million:
        return million()
    X, prob, state = setting(100_000, 10, 20, 100_000)
    for _ in range(3):
        lloyd = lloyd_seconds(X, 20)
        print(
            f"n=10⁵ d=10 K=20 10⁵ links: Lloyd {1e3 * lloyd:6.1f} ms",
            *(
                f"| {m} sweep {1e3 * s:6.1f} ms = {s / lloyd:.1f}×"
                for m in ("paper", "exact")
                for s in [sweep_seconds(prob, state, m)]
            ),
            flush=True,
        )
    print(
        "growth in rows (10⁵ links):",
        {
            n: f"{1e3 * sweep_seconds(p, s, 'exact', 3):.0f} ms"
            for n in (50_000, 100_000, 200_000, 400_000)
            for _, p, s in [setting(n, 10, 20, 100_000)]
        },
        flush=True,
    )
    print(
        "growth in links (10⁵ rows):",
        {
            m: f"{1e3 * sweep_seconds(p, s, 'exact', 3):.0f} ms"
            for m in (0, 500_000, 1_000_000, 2_000_000)
            for _, p, s in [setting(100_000, 10, 20, m)]
        },
        flush=True,
    )
    if args.full:
        subprocess.run([sys.executable, __file__, "--million"], check=True)


if __name__ == "__main__":
    main()
