"""Label hierarchy: a fit of 2000 x 100 with 27 labels, growth of time and memory in rows and labels, and with --full the Sosh size (5000 x 800, 95 labels).

    python benchmarks/bench_hierarchy.py [--full]

Processor seconds of this process; each fit is given beside scikit-learn's OneVsRestClassifier on the same data in the same run.
"""

import argparse, multiprocessing, resource, time, warnings
import numpy as np
from scipy.special import expit
from csc_nb.hierarchy import (
    LabelHierarchy,
    binary_relevance,
    e_step,
    tree_rf,
    _pairs_at,
    topological,
)

warnings.filterwarnings("ignore")


def random_tree_data(n, d, K, missing=0.3, seed=0):
    "Labels from a random tree of depth about log K, features of unit length per row."
    rng = np.random.default_rng(seed)
    parents = np.array(
        [-1 if c < max(2, K // 8) else rng.integers(0, c // 2 + 1) for c in range(K)]
    )
    X = rng.normal(size=(n, d)) / np.sqrt(d)
    on = rng.random((n, K)) < expit(X @ rng.normal(0, 3, (d, K)) - 0.7)
    for c, p in enumerate(parents):
        if p >= 0:
            on[:, c] &= on[:, p]
    return X, (on & (rng.random(on.shape) >= missing)).astype(np.int8), parents


def seconds(f):
    t = time.process_time()
    out = f()
    return time.process_time() - t, out


def one(n, d, K, **kw):
    X, Z, parents = random_tree_data(n, d, K)
    t, m = seconds(lambda: LabelHierarchy(**kw).fit(X, Z))
    peer, _ = seconds(lambda: binary_relevance(d).fit(X, Z))
    mb = peak_mb()
    print(
        f"fit n={n} d={d} K={K}: {t:.1f} s, {m.n_iter_} rounds, converged {m.converged_}; OneVsRest {peer:.2f} s, ratio {t / peer:.1f}; RF {tree_rf(parents, m.parents_)} of {2 * K}; peak memory {mb:.0f} MB",
        flush=True,
    )


def growth():
    print("E-step and 4 candidate parents per label (least of 3):")
    for n, K in ((2000, 25), (4000, 25), (8000, 25), (2000, 50), (2000, 100)):
        X, Z, parents = random_tree_data(n, 10, K)
        F = np.random.default_rng(0).normal(size=Z.shape)
        order = topological(parents)
        q = e_step(F, Z, parents, 0.3, 0.01)
        rng = np.random.default_rng(1)
        P, C = rng.integers(0, K, (2, 4 * K))
        e = min(seconds(lambda: e_step(F, Z, parents, 0.3, 0.01))[0] for _ in range(3))
        p = min(
            seconds(lambda: _pairs_at(q.m, q.r0, q.r1, parents, order, P, C))[0]
            for _ in range(3)
        )
        print(
            f"  n={n} K={K}: messages {1e3 * e:.1f} ms, pairs {1e3 * p:.1f} ms", flush=True
        )


def peak_mb():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _memory(n, d, K):
    "In a process of its own: megabytes that a fit adds to the peak."
    one_fit = lambda X, Z: LabelHierarchy(max_iter=4, moves=1).fit(X, Z)
    one_fit(*random_tree_data(200, 5, 5)[:2])  # compile
    X, Z, _ = random_tree_data(n, d, K)
    before = peak_mb()
    one_fit(X, Z)
    return peak_mb() - before


def memory():
    print(
        "memory that a fit adds; all pair posteriors of all rows, which it never stores, would take the last column:"
    )
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        for n, d, K in (
            (4000, 20, 25),
            (8000, 20, 25),
            (16000, 20, 25),
            (4000, 20, 50),
            (4000, 20, 100),
        ):
            mb = pool.apply(_memory, (n, d, K))
            print(
                f"  n={n} K={K}: {mb:.0f} MB = {mb * 2**20 / (8 * n * K):.0f} numbers per row and label; N K² {8 * n * K * K / 2**20:.0f} MB",
                flush=True,
            )


if __name__ == "__main__":
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("--full", action="store_true")
    args = ap.parse_args()
    one(200, 5, 5, max_iter=3)  # compile
    growth()
    memory()
    one(2000, 100, 27)
    if args.full:
        one(5000, 800, 95, max_iter=30)
