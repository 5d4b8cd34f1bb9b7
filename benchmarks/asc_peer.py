"""Runs inside the environment of active-semi-supervised-clustering 0.0.1 (numpy and that
package; nothing of csc_nb).

Reads one .npz (X, must, cannot, K, method, seed, w, max_iter, quick), fits, writes labels,
first centres and seconds to another.
Called by bench_baselines.py and tests/test_kmeans_baselines.py with the interpreter named
in CSC_NB_PEER_PYTHON.
"""

import sys, time
import numpy as np


def farthest(X, As):
    """That package's scan over all pairs, as one product per metric: same pairs and
    distances. Not used when time is measured."""
    out = []
    for A in As:
        Y = X @ A
        q = (Y * X).sum(1)
        D = np.tril(q[:, None] + q[None] - Y @ X.T - X @ Y.T, -1)
        i, j = np.unravel_index(D.argmax(), D.shape)
        out.append((i, j, (X[i] - X[j]) @ A @ (X[i] - X[j])))
    return out


def main(src, dst):
    from active_semi_clustering.semi_supervised.pairwise_constraints import (
        COPKMeans,
        MPCKMeans,
        MPCKMeansMF,
        PCKMeans,
    )

    d = np.load(src)
    X, K, method, seed, max_iter = (
        d["X"],
        int(d["K"]),
        str(d["method"]),
        int(d["seed"]),
        int(d["max_iter"]),
    )
    cls = {"cop": COPKMeans, "pck": PCKMeans, "mpck": MPCKMeansMF, "mpck-sd": MPCKMeans}[
        method
    ]
    est = cls(
        n_clusters=K, max_iter=max_iter, **({} if method == "cop" else {"w": float(d["w"])})
    )
    name = "_init_cluster_centers" if method == "cop" else "_initialize_cluster_centers"
    original, kept = getattr(est, name), {}

    def remember(*args):
        kept["centres"] = original(*args)
        return kept["centres"].copy()

    setattr(est, name, remember)
    if "quick" in d and bool(d["quick"]) and method.startswith("mpck"):
        est._find_farthest_pairs_of_points = (
            farthest if method == "mpck" else lambda X, A: farthest(X, [A])[0]
        )
    np.random.seed(seed)
    np.seterr(all="ignore")
    start = time.process_time()
    try:
        est.fit(
            X,
            ml=[tuple(p) for p in d["must"].tolist()],
            cl=[tuple(p) for p in d["cannot"].tolist()],
        )
        labels, error = est.labels_, ""
    except Exception as e:
        labels, error = np.full(len(X), -1), type(e).__name__
    seconds = time.process_time() - start
    np.savez(
        dst,
        labels=labels,
        centres=kept.get("centres", np.empty((0, X.shape[1]))),
        seconds=seconds,
        error=error,
    )


if __name__ == "__main__":
    main(*sys.argv[1:3])
