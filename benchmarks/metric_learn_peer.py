"""Runs inside an environment with metric-learn 0.7 (nothing of csc_nb): its diagonal MMC,
ITML and LSML on given draws of answers.

Reads one .npz (X, K, and for each draw t: a_t, b_t, value_t), writes labels of k-means with
50 restarts in each learned space.
metric-learn 0.7 does not fit under scikit-learn 1.6 or later: a keyword of check_array was
renamed. The patch here renames it back.
Called by bench_baselines.py with the interpreter named in CSC_NB_PEER_PYTHON.
"""

import sys, warnings
import numpy as np


def renamed(f):
    def g(*args, **kw):
        if "force_all_finite" in kw:
            kw["ensure_all_finite"] = kw.pop("force_all_finite")
        return f(*args, **kw)

    return g


def main(src, dst):
    warnings.simplefilter("ignore")
    import metric_learn._util as mu

    mu.check_array, mu.check_X_y = renamed(mu.check_array), renamed(mu.check_X_y)
    from metric_learn import ITML, LSML, MMC
    from sklearn.cluster import KMeans

    d = np.load(src)
    X, K, out = d["X"], int(d["K"]), {}
    for t in range(int(d["draws"])):
        a, b, s = d[f"a_{t}"], d[f"b_{t}"], d[f"value_{t}"]
        rng = np.random.default_rng(t)
        near, far = (
            rng.choice(np.flatnonzero(s > 0), 1000),
            rng.choice(np.flatnonzero(s < 0), 1000),
        )
        for name, est, args in (
            ("MMC diagonal", MMC(diagonal=True), (X[np.c_[a, b]], s)),
            ("ITML", ITML(), (X[np.c_[a, b]], s)),
            ("LSML", LSML(), (X[np.c_[a[near], b[near], a[far], b[far]]],)),
        ):
            try:
                out[f"{name}_{t}"] = (
                    KMeans(K, n_init=50, random_state=0)
                    .fit(est.fit(*args).transform(X))
                    .labels_
                )
            except Exception as e:
                print(name, t, type(e).__name__, e)
    np.savez(dst, **out)


if __name__ == "__main__":
    main(*sys.argv[1:3])
