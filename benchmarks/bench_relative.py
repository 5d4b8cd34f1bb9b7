"""Clustering with pairs and triplets: seconds of a fit, of its steps, and their growth.

    python benchmarks/bench_relative.py [--full]

The size of the thesis' largest run (4 998 rows, 38 features, 13 clusters, 1 500 triplets;
"less than 2 minutes" in Matlab) is used throughout: HJA Birdsong when the data folder has
it, else blobs of that size. Times on a shared machine wander, so CPU seconds of this
process are given as well, and each is set beside a peer of the same run: scikit-learn's
KMeans (10 starts) and one multinomial LogisticRegression on the true labels.
"""

import os

for v in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(v, "1")
import argparse
import time
import warnings

import numpy as np
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression

from csc_nb.constraints import Constraints, Triplets
from csc_nb.datasets import load
from csc_nb.metrics import ari
from csc_nb.relative import (
    DiscriminativeClustering,
    compatibility,
    fast_mean_field,
    incidence,
    make_asked,
    pair_table,
    triplet_table,
)
from csc_nb.softmax import probs

warnings.filterwarnings("ignore")


def clock(f, repeats=1):
    "Least wall and CPU seconds of `repeats` calls, and the last result."
    wall, cpu = [], []
    for _ in range(repeats):
        w, c = time.perf_counter(), time.process_time()
        out = f()
        wall.append(time.perf_counter() - w)
        cpu.append(time.process_time() - c)
    return min(wall), min(cpu), out


def blobs(n=4998, d=38, K=13, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(K, size=n)
    return 0.8 * rng.normal(size=(K, d))[y] + rng.normal(size=(n, d)), y


def data():
    try:
        b = load("hja_birdsong", "standard")
        return b.data, b.target, "HJA Birdsong"
    except Exception:
        return *blobs(), "blobs"


def answers(y, m, seed=0):
    t = Triplets.from_labels(y, n=m, random_state=seed)
    return make_asked([], [], np.c_[t.a, t.b, t.c], (t.code.astype(int) + 1) % 4)


def row(name, wall, cpu, peer, rounds="", score=None):
    end = "" if score is None else f"{score:7.2f}"
    print(f"{name:34}{wall:8.2f}{cpu:8.2f}{cpu / peer:10.1f}{rounds:8}{end}")


def thesis_run(X, y, name, full):
    K = len(np.unique(y))
    t = Triplets.from_labels(y, n=1500, random_state=0)
    c = Constraints.from_labels(y, n=1500, random_state=0)
    wk, ck, km = clock(lambda: KMeans(K, n_init=10, random_state=0).fit(X))
    wl, cl, _ = clock(lambda: LogisticRegression(C=1.0, max_iter=200).fit(X, y))
    print(f"{name}, {X.shape[0]} × {X.shape[1]}, K = {K}")
    print(f"{'':34}{'wall s':>8}{'CPU s':>8}{'× KMeans':>10}{'rounds':>8}{'ARI':>7}")
    row("KMeans, 10 starts", wk, ck, ck, "", ari(y, km.labels_))
    row("LogisticRegression on the truth", wl, cl, ck)
    for what, kw in (
        ("1500 triplets", dict(triplets=t)),
        ("1500 pairs", dict(constraints=c)),
        ("both", dict(constraints=c, triplets=t)),
    ):
        for n_init in (1, 4) if full else (1,):
            est = DiscriminativeClustering(K, eps=0.05, n_init=n_init, random_state=0)
            w, p, m = clock(lambda est=est, kw=kw: est.fit(X, **kw))
            name = f"{what}, {n_init} start" + "s" * (n_init > 1)
            row(name, w, p, ck, m.n_iter_, ari(y, m.labels_))


def rounds(X, t, max_iter):
    "CPU seconds of a fit of so many rounds."
    est = DiscriminativeClustering(
        13, eps=0.05, n_init=1, max_iter=max_iter, tol=0.0, random_state=0
    )
    return clock(lambda: est.fit(X, triplets=t))[1]


def growth(full):
    "One sweep against answers, one fit against rows; time over size must stay level."
    X, y = blobs(5000)
    print("\nE-step, one sweep, 5000 rows, K = 13")
    print(f"{'triplets':>10}{'ms':>9}{'µs each':>9}{'formula ms':>12}")
    for m in (1000, 4000, 16000, 64000) if full else (1000, 4000, 16000):
        ans = answers(y, m)
        inc = incidence(ans)
        r = len(ans.rows)
        logp, q = probs(np.random.default_rng(0).normal(size=(r, 13)))
        R = pair_table(0.05), triplet_table(0.05)
        _, s, _ = clock(lambda: fast_mean_field(q.copy(), logp, inc, *R), 5)
        f = np.nan
        if m <= 4000:
            logs = np.log(R[0]), np.log(R[1])
            f = clock(lambda: compatibility(q, ans, *logs), 2)[1] * (ans.colour.max() + 1)
        print(f"{m:10}{1e3 * s:9.2f}{1e6 * s / m:9.2f}{1e3 * f:12.1f}")
    print("\nfit, 10 rounds, 1000 triplets, d = 38, K = 13")
    print(f"{'rows':>10}{'CPU s':>9}{'µs/row':>9}")
    for n in (2500, 5000, 10000, 40000) if full else (2500, 5000, 10000):
        X, y = blobs(n)
        t = Triplets.from_labels(y, n=1000, random_state=0)
        s, k = (rounds(X, t, m) for m in (10, 1))
        print(
            f"{n:10}{s:9.2f}{1e6 * (s - k) / 9 / n:9.2f}   (a round beyond the first: "
            f"{s - k:.2f} s / 9; start and first round {k:.2f} s)"
        )


if __name__ == "__main__":
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("--full", action="store_true")
    full = ap.parse_args().full
    ans = answers(np.arange(30) % 3, 20)
    logp, q = probs(np.random.default_rng(0).normal(size=(len(ans.rows), 3)))
    fast_mean_field(q, logp, incidence(ans), pair_table(0.1), triplet_table(0.1))
    DiscriminativeClustering(3, n_init=1, max_iter=2).fit(
        np.random.default_rng(0).normal(size=(30, 2))
    )  # compile
    X, y, name = data()
    thesis_run(X, y, name, full)
    growth(full)
