"""Runs inside the environment of active-semi-supervised-clustering 0.0.1 (numpy and that package; nothing of csc_nb).

Reads one .npz (X, must, cannot, K, method, seed, w, start), fits, writes labels, first centres and seconds to another.
Called by bench_baselines.py and tests/test_kmeans_baselines.py with the interpreter named in CSC_NB_PEER_PYTHON.
"""
import sys, time
import numpy as np


def main(src, dst):
    from active_semi_clustering.semi_supervised.pairwise_constraints import COPKMeans, MPCKMeans, MPCKMeansMF, PCKMeans
    d = np.load(src)
    X, K, method, seed, max_iter = d["X"], int(d["K"]), str(d["method"]), int(d["seed"]), int(d["max_iter"])
    cls = {"cop": COPKMeans, "pck": PCKMeans, "mpck": MPCKMeansMF, "mpck-sd": MPCKMeans}[method]
    est = cls(n_clusters=K, max_iter=max_iter, **({} if method == "cop" else {"w": float(d["w"])}))
    name = "_init_cluster_centers" if method == "cop" else "_initialize_cluster_centers"
    original, kept = getattr(est, name), {}

    def remember(*args):
        kept["centres"] = original(*args)
        return kept["centres"].copy()

    setattr(est, name, remember)
    np.random.seed(seed)
    np.seterr(all="ignore")
    start = time.perf_counter()
    try:
        est.fit(X, ml=[tuple(p) for p in d["must"].tolist()], cl=[tuple(p) for p in d["cannot"].tolist()])
        labels, error = est.labels_, ""
    except Exception as e:
        labels, error = np.full(len(X), -1), type(e).__name__
    seconds = time.perf_counter() - start
    np.savez(dst, labels=labels, centres=kept.get("centres", np.empty((0, X.shape[1]))), seconds=seconds, error=error)


if __name__ == "__main__":
    main(*sys.argv[1:3])
