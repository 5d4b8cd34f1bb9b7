"""Speed of ExpertClustering: `python benchmarks/bench_experts.py [--quick]`.

Prints seconds, ratios to a peer in the same run, growth. No asserts on time.
"""

import argparse
import resource
import time
import warnings

import numpy as np
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import normalized_mutual_info_score as nmi
from sklearn.preprocessing import OneHotEncoder

from csc_nb.constraints import Constraints
from csc_nb.datasets import load
from csc_nb.experts import ExpertClustering
from csc_nb.oracles import ExpertPanel

warnings.simplefilter("ignore")
ACC = (0.95, 0.85, 0.75, 0.65, 0.55)


def clock(f):
    wall, cpu = time.perf_counter(), time.process_time()
    out = f()
    return out, time.perf_counter() - wall, time.process_time() - cpu


def line(name, wall, cpu, more=""):
    print(f"{name:<58s} {wall:7.2f} s wall {cpu:7.2f} s cpu  {more}", flush=True)


def mushroom(n_init):
    try:
        d = load("mushroom")
    except Exception as e:
        return print(f"mushroom is not here ({type(e).__name__}); skipped")
    X, y = OneHotEncoder(sparse_output=False).fit_transform(d.data), d.target
    c = ExpertPanel(y, ACC, random_state=0).sample(2000)
    _, w0, c0 = clock(lambda: KMeans(2, n_init=n_init, random_state=0).fit(X))
    line(f"mushroom {X.shape}: KMeans, {n_init} starts (peer)", w0, c0)
    for objective in ("paper", "marginal"):
        e, w, cpu = clock(
            lambda: ExpertClustering(
                2, objective=objective, n_init=n_init, n_jobs=2, random_state=0
            ).fit(X, constraints=c)
        )
        line(
            f"mushroom, 5 experts × 2000 pairs, {n_init} starts, {objective}",
            w,
            cpu,
            f"{cpu / c0:5.1f} × peer, NMI {nmi(y, e.labels_):.3f}",
        )


def growth(sizes, n_init=2, d=20, K=4):
    last = None
    for n in sizes:
        rng = np.random.default_rng(0)
        y = rng.integers(K, size=n)
        X = 2 * rng.normal(size=(K, d))[y] + rng.normal(size=(n, d))
        a, b = rng.integers(n, size=(2, n))
        keep = a != b
        a, b = a[keep], b[keep]
        c = Constraints(
            a,
            b,
            np.where((y[a] == y[b]) == (rng.random(len(a)) < 0.9), 1, -1),
            expert=rng.integers(5, size=len(a)),
            n_samples=n,
        )
        _, _, c0 = clock(lambda: LogisticRegression(max_iter=50).fit(X, y))
        e, w, cpu = clock(
            lambda: ExpertClustering(K, n_init=n_init, random_state=0).fit(X, constraints=c)
        )
        grew = (
            ""
            if last is None
            else f", grew {cpu / last[1]:.1f}× for {n / last[0]:.0f}× rows and pairs"
        )
        line(
            f"n = {n:,}, {c.n_constraints:,} pairs, {n_init} starts",
            w,
            cpu,
            f"{cpu / c0:5.1f} × supervised regression, NMI {nmi(y, e.labels_):.2f}{grew}",
        )
        last = n, cpu


def labelings():
    rng = np.random.default_rng(0)
    L = [
        np.where(rng.random(1000) < 0.7, rng.integers(4, size=1000), -1) for _ in range(27)
    ]
    c, w, cpu = clock(lambda: Constraints.from_expert_labels(L, random_state=0))
    size = sum(v.nbytes for v in (c.a, c.b, c.value, c.weight, c.expert)) / 1e6
    line(
        "27 partial labelings of 1000 rows",
        w,
        cpu,
        f"{c.n_constraints:,} answers, {size:.1f} MB",
    )


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--quick", action="store_true")
    quick = p.parse_args().quick
    labelings()
    mushroom(4 if quick else 20)
    growth((3_000, 10_000) if quick else (10_000, 30_000, 100_000))
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3:,.0f} MB")
