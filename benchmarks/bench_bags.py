"""Labelled bags: 5 000 instances dense and sparse beside scikit-learn's spectral
clustering, growth with n, and with --full 50 000 instances.

    python benchmarks/bench_bags.py [--full]

Processor seconds of this process and its peak memory; the peer runs in the same process on
the same rows.
"""

import argparse, resource, time, warnings
import numpy as np
from sklearn.cluster import SpectralClustering
from csc_nb.bags import BagSpectralClustering
from csc_nb.constraints import Bags
from csc_nb.metrics import nmi_arithmetic as nmi

warnings.filterwarnings("ignore")


def bagged(n, K=10, d=8, size=10, seed=0):
    "Overlapping Gaussian classes; bags of about `size` rows with at most three classes."
    rng = np.random.default_rng(seed)
    M = n // size
    allowed = np.array([rng.choice(K, 3, replace=False) for _ in range(M)])
    bag = np.arange(n) % M
    y = allowed[bag, rng.integers(0, 3, n)]
    X = 2.2 * rng.normal(size=(K, d))[y] + rng.normal(size=(n, d))
    sets = [set() for _ in range(M)]
    for m, c in zip(bag.tolist(), y.tolist()):
        sets[m].add(c)
    return X, y, Bags(bag, sets)


def seconds(f):
    c, w = time.process_time(), time.perf_counter()
    out = f()
    return time.process_time() - c, time.perf_counter() - w, out


def memory():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def one(n, name="", **kw):
    X, y, bags = bagged(n)
    c, w, m = seconds(
        lambda: BagSpectralClustering(10, relative=True, random_state=0, **kw).fit(
            X, bags=bags
        )
    )
    print(
        f"n={n:6d} {name:22s} {c:7.1f} s processor, {w:7.1f} s wall, NMI "
        f"{nmi(y, m.labels_):.3f}, peak memory {memory():5.0f} MB",
        flush=True,
    )
    return c


if __name__ == "__main__":
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("--full", action="store_true")
    args = ap.parse_args()
    one(300, "(warm up)")
    base = None
    for n in (1250, 2500, 5000):
        base = one(n, "near neighbours")
        one(n, "labels ignored", alpha=0)
    X, y, bags = bagged(5000)
    c, w, z = seconds(
        lambda: (
            SpectralClustering(
                10, affinity="nearest_neighbors", n_neighbors=20, random_state=0
            )
            .fit(X)
            .labels_
        )
    )
    print(
        f"n=  5000 {'scikit-learn':22s} {c:7.1f} s processor, {w:7.1f} s wall, NMI "
        f"{nmi(y, z):.3f}; ours takes {base / c:.1f} times as long",
        flush=True,
    )
    one(5000, "dense, as in the thesis", n_neighbors=None)
    if args.full:
        for n in (20_000, 50_000):
            one(n, "near neighbours")
