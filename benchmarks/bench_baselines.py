"""Baselines: speed, growth, agreement with active-semi-supervised-clustering 0.0.1, quality. Nothing here asserts on time.

    python benchmarks/bench_baselines.py                  # growth in n and links; speed beside the peer when it is there
    python benchmarks/bench_baselines.py agreement        # objective values from the same starts (needs the peer)
    python benchmarks/bench_baselines.py quality          # ARI with one pair per row, 0/10/20 % wrong
    python benchmarks/bench_baselines.py metric-learn     # the same for metric-learn 0.7 (needs it in the peer's environment)

The peer lives in an environment of its own: CSC_NB_PEER_PYTHON=/path/to/its/python. `--write` stores the tables that the notebooks show; `--sets=iris,wine`, `--only=LCVQE,ITML` and `--repeats=5` run a part.
"""
import csv, os, subprocess, sys, tempfile, time, warnings
from pathlib import Path

import numpy as np
from sklearn import datasets
from sklearn.preprocessing import StandardScaler

from csc_nb.baselines import kmeans as km
from csc_nb.baselines import metric as ml
from csc_nb.constraints import Constraints
from csc_nb.metrics import ari

HERE = Path(__file__).parent
RESULTS = HERE.parent / "nbs" / "experiments" / "results"
SETS = {"iris": datasets.load_iris, "wine": datasets.load_wine, "breast cancer": datasets.load_breast_cancer, "digits": datasets.load_digits}


def load(name, rows=None):
    X, y = SETS[name](return_X_y=True)
    X = StandardScaler().fit_transform(X)
    if rows and rows < len(X):
        pick = np.random.default_rng(0).permutation(len(X))[:rows]
        X, y = X[pick], y[pick]
    return X[:, X.std(0) > 0], y


def peer(method, X, c, K, seed=0, w=1., max_iter=100, timeout=600, quick=False):
    "Labels, first centres, seconds and error of the peer; None when there is no peer."
    python = os.environ.get("CSC_NB_PEER_PYTHON")
    if not python: return None
    with tempfile.TemporaryDirectory() as d:
        src, dst = Path(d, "in.npz"), Path(d, "out.npz")
        np.savez(src, X=X, must=c.must, cannot=c.cannot, K=K, method=method, seed=seed, w=w, max_iter=max_iter, quick=quick)
        try: subprocess.run([python, str(HERE / "asc_peer.py"), str(src), str(dst)], check=True, timeout=timeout, capture_output=True)
        except subprocess.TimeoutExpired: return dict(labels=None, centres=np.empty((0, 0)), seconds=float(timeout), error="timeout")
        out = np.load(dst)
        return dict(labels=out["labels"], centres=out["centres"], seconds=float(out["seconds"]), error=str(out["error"]))


def seconds(f, repeats=3):
    "Least CPU seconds of some calls: a shared machine does not disturb them."
    t = []
    for _ in range(repeats):
        start = time.process_time(); f(); t.append(time.process_time() - start)
    return min(t)


def blobs(n, m, K=3, d=5, seed=0):
    X, y = datasets.make_blobs(n, centers=K, n_features=d, cluster_std=3., random_state=seed)
    return StandardScaler().fit_transform(X), Constraints.from_labels(y, n=m, random_state=seed)


SIZES = [(1000, 1000), (10_000, 10_000), (100_000, 100_000), (10_000, 100_000)]


def growth():
    "Seconds of one run (n_init=1, 10 iterations) as n and the links grow; last column: a run to its end at n = 100 000."
    make = {"cop-kmeans": km.COPKMeans, "pck-means": km.PCKMeans, "mpck-means": km.MPCKMeans, "cvqe": km.CVQE, "lcvqe": km.LCVQE, "constrained-em": km.ConstrainedEM}
    rows = []
    for name, cls in make.items():
        row = [name]
        for n, m in SIZES:
            X, c = blobs(n, m)
            est = cls(3, n_init=1, max_iter=10, random_state=0)
            if name == "mpck-means": est.set_params(warmup=5, max_iter=5)
            if n == 1000: est.fit(X, constraints=c)                     # compile
            row.append(seconds(lambda: est.fit(X, constraints=c), 1 if n > 50_000 else 2))
        X, c = blobs(*SIZES[2])
        row.append(seconds(lambda: cls(3, n_init=1, random_state=0).fit(X, constraints=c), 1))
        rows.append(row)
        print(f"{name:16}" + "".join(f"{t:10.3f}" for t in row[1:]), flush=True)
    return ["method", *(f"n={n} links={m}" for n, m in SIZES), "to the end"], rows


def speed(n=2000, m=2000):
    "One run beside the peer from the same start: with as many iterations, and ours to its end."
    X, c = blobs(n, m)
    rows = []
    for method, cls, kw, iters in (("pck", km.PCKMeans, dict(w=1.), 100), ("mpck", km.MPCKMeans, dict(w=2., warmup=0), 1), ("mpck, ours to the end", km.MPCKMeans, dict(w=2.), 1)):
        p = p if method.startswith("mpck,") else peer(method, X, c, 3, max_iter=iters, timeout=800)
        if p is None: print("no peer: set CSC_NB_PEER_PYTHON to compare"); return None
        est = cls(3, init=p["centres"], n_init=1, max_iter=100 if method.endswith("end") else iters, random_state=0, **kw)
        est.fit(X, constraints=c.closure())                             # compile
        t = seconds(lambda: est.fit(X, constraints=c.closure()), 3)
        rows.append([method, n, m, iters, p["seconds"], t, p["seconds"]/t])
        print(f"{method:22} n={n} links={m}, peer at most {iters} iterations: peer {p['seconds']:8.2f} s, csc_nb {t:8.4f} s, ratio {p['seconds']/t:8.0f}", flush=True)
    return ["method", "n", "links", "iterations", "peer_seconds", "seconds", "ratio"], rows


def settle_metrics(X, z, links, rho, kind=(False, False), steps=50):
    "Best value of (5) for given labels: centres, then metric steps until nothing changes. `kind`: diagonal, shared."
    K = z.max() + 1
    C = km.update_centres(X, z, np.zeros((K, X.shape[1])))
    V = np.array([np.eye(X.shape[1])*X.var(0).mean()]*K)
    M = km.make_metric(X, links, V, kind[1])
    J = km.mpck_objective(X, z, C, M, links, rho)
    for _ in range(steps):
        V, M, J2 = km.metric_step(X, z, C, M, V, links, rho, *kind)
        if J - J2 <= 1e-9*abs(J): break
        J = J2
    return J2


def objective_of(method, X, K, c):
    "How labels are scored, and the estimator without its start."
    own = lambda z: km.update_centres(X, z, np.zeros((K, X.shape[1])))
    inertia = lambda z: float(((X - own(z)[z])**2).sum())
    if method == "cop": return inertia, km.COPKMeans(K, random_state=0)
    if method == "pck":
        L = km.links_of(len(X), c, 1.)
        return lambda z: .5*inertia(z) + km.link_fines(L, z), km.PCKMeans(K, w=1., random_state=0)
    L, rho, kind = km.links_of(len(X), c, 2.), X.var(0).mean(), (True, True) if method == "mpck-sd" else (False, False)
    est = km.MPCKMeans(K, w=2., metric="diagonal" if kind[0] else "full", shared=kind[1], random_state=0)
    return lambda z: settle_metrics(X, z, L, rho, kind), est


def agreement(repeats=3, sets=("iris", "wine", "breast cancer", "digits"), only=("cop", "pck", "mpck", "mpck-sd")):
    "Objective of the peer's labels and of ours, from the peer's own first centres; links closed as the peer closes them."
    rows, head = [], ["set", "method", "seed", "rows", "peer", "one_order", "csc_nb", "peer_broken", "peer_error"]
    for seed in range(repeats):
        for name in sets:
            for method in only:
                X, y = load(name, rows=300 if method == "mpck" and name == "digits" else None)
                X, K = X - X.mean(0), len(np.unique(y))
                c = Constraints.from_labels(y, n=len(y)//2, random_state=seed)
                p = peer(method, X, c, K, seed=seed, timeout=240, quick=True)
                if p is None: print("no peer: set CSC_NB_PEER_PYTHON"); return None
                if p["error"]:
                    rows.append([name, method, seed, len(X), "", "", "", "", p["error"]]); print(rows[-1], flush=True)
                    if "--write" in sys.argv: write("agreement", (head, rows), key=3)
                    continue
                links = c if method == "cop" else c.closure()
                value, est = objective_of(method, X, K, links)
                fits = [value(est.set_params(init=p["centres"], n_init=n).fit(X, constraints=links).labels_) for n in (1, 10)]
                bad = int(((p["labels"][c.a] == p["labels"][c.b]) != (c.value > 0)).sum())
                a, b = value(p["labels"]), fits[1]
                rows.append([name, method, seed, len(X), a, *fits, bad, ""])
                print(f"{name:14} {method:8} seed {seed}: peer {a:12.3f}  one order {fits[0]:12.3f}  csc_nb {b:12.3f}  peer breaks {bad} links; {'equal' if abs(a-b) < 1e-6*abs(a) else 'ours lower' if b < a else 'PEER LOWER'}", flush=True)
                if "--write" in sys.argv: write("agreement", (head, rows), key=3)      # after every fit: the peer is slow
    return head, rows


def quality(repeats=10, sets=("iris", "wine", "breast cancer"), only=()):
    "ARI on standardised data, as many random pairs as rows, a share of the answers turned around."
    make = {"COPKMeans (relaxed)": lambda K: km.COPKMeans.for_comparison(K, 0), "PCKMeans": lambda K: km.PCKMeans(K, random_state=0),
            "MPCKMeans full": lambda K: km.MPCKMeans(K, random_state=0), "MPCKMeans diagonal": lambda K: km.MPCKMeans(K, metric="diagonal", random_state=0),
            "MPCKMeans shared": lambda K: km.MPCKMeans(K, shared=True, random_state=0), "CVQE": lambda K: km.CVQE(K, random_state=0),
            "LCVQE": lambda K: km.LCVQE(K, random_state=0), "LCVQE polished": lambda K: km.LCVQE(K, polish=True, random_state=0),
            "SeededKMeans": lambda K: km.SeededKMeans(K, random_state=0), "ConstrainedEM": lambda K: km.ConstrainedEM.for_comparison(K, 0),
            "ITML": lambda K: ml.ITMLKMeans(K, random_state=0), "MMC diagonal": lambda K: ml.MMCKMeans(K, random_state=0),
            "MMC diagonal, reg=0": lambda K: ml.MMCKMeans(K, learner=ml.MMC(diagonal=True), tune=False, random_state=0),
            "MMC full": lambda K: ml.MMCKMeans(K, learner=ml.MMC(), random_state=0), "LSML": lambda K: ml.LSMLKMeans(K, random_state=0),
            "RCA": lambda K: ml.RCAKMeans(K, random_state=0)}
    head, path = ["set", "method", "noise", "draw", "ari", "seconds"], RESULTS / "baselines_quality.csv"
    done = {tuple(r[:4]) for r in list(csv.reader(open(path)))[1:]} if path.exists() else set()
    data, rows = {name: load(name) for name in sets}, []
    for draw in range(repeats):                                         # all sets and methods with one draw, then the next draw
        for name, (X, y) in data.items():
            for method, f in make.items():
                for noise in (0., .1, .2):
                    if only and method not in only or (name, method, f"{noise:.5g}", str(draw)) in done: continue
                    c, start = Constraints.from_labels(y, n=len(y), noise=noise, random_state=draw), time.perf_counter()
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        value = ari(y, f(len(np.unique(y))).fit(X, constraints=c).labels_)
                    rows.append([name, method, noise, draw, value, time.perf_counter() - start])
                if "--write" in sys.argv: write("quality", (head, rows), key=4)
            print(f"draw {draw} {name}: {sum(r[-1] for r in rows):.0f} s so far", flush=True)
    return head, rows


def metric_peer(repeats=10, sets=("iris", "wine", "breast cancer")):
    "ARI of metric-learn's MMC (diagonal), ITML and LSML on the draws of `quality`."
    python, head, rows = os.environ.get("CSC_NB_PEER_PYTHON"), ["set", "method", "noise", "draws", "mean_ari", "sd_ari"], []
    if not python: print("no peer: set CSC_NB_PEER_PYTHON"); return None
    for name in sets:
        X, y = load(name)
        for noise in (0., .1, .2):
            draws = [Constraints.from_labels(y, n=len(y), noise=noise, random_state=s) for s in range(repeats)]
            with tempfile.TemporaryDirectory() as d:
                src, dst = Path(d, "in.npz"), Path(d, "out.npz")
                np.savez(src, X=X, K=len(np.unique(y)), draws=repeats, **{f"{k}_{t}": getattr(c, k) for t, c in enumerate(draws) for k in ("a", "b", "value")})
                subprocess.run([python, str(HERE / "metric_learn_peer.py"), str(src), str(dst)], check=True, timeout=800)
                out = np.load(dst)
                for method in ("MMC diagonal", "ITML", "LSML"):
                    got = [ari(y, out[f"{method}_{t}"]) for t in range(repeats) if f"{method}_{t}" in out]
                    if len(got) > 1: rows.append([name, method, noise, len(got), float(np.mean(got)), float(np.std(got, ddof=1))])
                    print(f"{name:14} metric-learn {method:14} {noise:.0%}: {np.mean(got) if got else np.nan:.3f} ± {np.std(got, ddof=1) if len(got) > 1 else np.nan:.3f} ({len(got)} draws)", flush=True)
        if "--write" in sys.argv: write("metric_learn", (head, rows), key=3)
    return head, rows


def write(name, table, key=None):
    "Store a table; with `key`, rows that agree in the first `key` columns are replaced and the others kept."
    if table is None: return
    path, text = RESULTS / f"baselines_{name}.csv", lambda row: [f"{v:.5g}" if isinstance(v, float) else str(v) for v in row]
    rows = [text(r) for r in table[1]]
    if key and path.exists():
        new = {tuple(r[:key]) for r in rows}
        rows = [r for r in list(csv.reader(open(path)))[1:] if tuple(r[:key]) not in new] + rows
    RESULTS.mkdir(parents=True, exist_ok=True)
    with open(path, "w", newline="") as f: csv.writer(f, lineterminator="\n").writerows([table[0], *rows])


if __name__ == "__main__":
    what = [a for a in sys.argv[1:] if not a.startswith("-")] or ["growth", "speed"]
    option = {k: v.split(",") for k, _, v in (a[2:].partition("=") for a in sys.argv[1:] if a.startswith("--"))}
    for name in what:
        args = {"repeats": int(option["repeats"][0])} if "repeats" in option and name not in ("growth", "speed") else {}
        args |= {k: option[k] for k in ("sets", "only") if k in option and (name in ("agreement", "quality") or name == "metric-learn" and k == "sets")}
        table = {"growth": growth, "speed": speed, "agreement": agreement, "quality": quality, "metric-learn": metric_peer}[name](**args)
        if "write" in option and name in ("growth", "speed"): write(name, table)
