"""Label hierarchy: a fit of 2000 x 100 with 27 labels, growth of time and memory.

    python benchmarks/bench_hierarchy.py [--full]

With --full also the Sosh size (5000 x 800, 95 labels). Processor seconds of this process;
each fit stands beside scikit-learn's OneVsRestClassifier on the same data, same run.
"""

import argparse
import multiprocessing
import resource
import time
import warnings

import numpy as np
from scipy.special import expit

from csc_nb.hierarchy import (
    LabelHierarchy,
    _pairs_at,
    binary_relevance,
    e_step,
    topological,
    tree_rf,
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
    print(
        f"fit n={n} d={d} K={K}: {t:.1f} s, {m.n_iter_} rounds, converged {m.converged_}; "
        f"OneVsRest {peer:.2f} s, ratio {t / peer:.1f}; "
        f"RF {tree_rf(parents, m.parents_)} of {2 * K}; peak memory {peak_mb():.0f} MB",
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
    est = LabelHierarchy(max_iter=4, n_tree_moves=1)
    est.fit(*random_tree_data(200, 5, 5)[:2])  # compile
    X, Z, _ = random_tree_data(n, d, K)
    before = peak_mb()
    est.fit(X, Z)
    return peak_mb() - before


def memory():
    print("memory that a fit adds; the last column is what all pair posteriors would take:")
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        for n, d, K in (
            (4000, 20, 25),
            (8000, 20, 25),
            (16000, 20, 25),
            (4000, 20, 50),
            (4000, 20, 100),
        ):
            mb = pool.apply(_memory, (n, d, K))
            each = mb * 2**20 / (8 * n * K)
            pairs = 8 * n * K * K / 2**20
            print(
                f"  n={n} K={K}: {mb:.0f} MB = {each:.0f} numbers per row and label; "
                f"N K² {pairs:.0f} MB",
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
