"""Baselines: speed, growth, agreement with active-semi-supervised-clustering 0.0.1,
quality. Nothing here asserts on time.

    python benchmarks/bench_baselines.py
        # growth in n and links; speed beside the peer when it is there
    python benchmarks/bench_baselines.py visits
        # time of one visit to a point as the arrays outgrow the caches
    python benchmarks/bench_baselines.py agreement
        # objective values from the same starts (needs the peer)
    python benchmarks/bench_baselines.py greedy           # MPCK: two kinds of warm-up
    python benchmarks/bench_baselines.py quality
        # ARI with one pair per row, 0/10/20 % wrong
    python benchmarks/bench_baselines.py metric-learn
        # the same for metric-learn 0.7 (needs it in the peer's environment)

The peer lives in an environment of its own: CSC_NB_PEER_PYTHON=/path/to/its/python.
`--write` stores the tables that the notebooks show; `--sets=iris,wine`, `--only=LCVQE,ITML`
and `--repeats=5` run a part; runs that the file has are not repeated; `--rows=300
--iterations=30` limit the data and the peer.
"""

import csv, os, subprocess, sys, tempfile, time, warnings
from pathlib import Path

import numpy as np
from numba import njit
from sklearn import datasets
from sklearn.preprocessing import StandardScaler

from csc_nb.baselines import kmeans as km
from csc_nb.baselines import metric as ml
from csc_nb.constraints import Constraints
from csc_nb.metrics import ari
from csc_nb.sweeps import cross, experiment

HERE = Path(__file__).parent
RESULTS = HERE.parent / "nbs" / "experiments" / "results"
SETS = {
    "iris": datasets.load_iris,
    "wine": datasets.load_wine,
    "breast cancer": datasets.load_breast_cancer,
    "digits": datasets.load_digits,
}


def load(name, rows=None):
    X, y = SETS[name](return_X_y=True)
    X = StandardScaler().fit_transform(X)
    if rows and rows < len(X):
        pick = np.random.default_rng(0).permutation(len(X))[:rows]
        X, y = X[pick], y[pick]
    return X[:, X.std(0) > 0], y


def peer(method, X, c, K, seed=0, w=1.0, max_iter=100, timeout=600, quick=False):
    "Labels, first centres, seconds and error of the peer; None when there is no peer."
    python = os.environ.get("CSC_NB_PEER_PYTHON")
    if not python:
        return None
    with tempfile.TemporaryDirectory() as d:
        src, dst = Path(d, "in.npz"), Path(d, "out.npz")
        np.savez(
            src,
            X=X,
            must=c.must,
            cannot=c.cannot,
            K=K,
            method=method,
            seed=seed,
            w=w,
            max_iter=max_iter,
            quick=quick,
        )
        try:
            subprocess.run(
                [python, str(HERE / "asc_peer.py"), str(src), str(dst)],
                check=True,
                timeout=timeout,
                capture_output=True,
            )
        except subprocess.TimeoutExpired:
            return dict(
                labels=None,
                centres=np.empty((0, 0)),
                seconds=float(timeout),
                error="timeout",
            )
        out = np.load(dst)
        return dict(
            labels=out["labels"],
            centres=out["centres"],
            seconds=float(out["seconds"]),
            error=str(out["error"]),
        )


def seconds(f, repeats=3):
    "Least CPU seconds of some calls: a shared machine does not disturb them."
    t = []
    for _ in range(repeats):
        start = time.process_time()
        f()
        t.append(time.process_time() - start)
    return min(t)


def blobs(n, m, K=3, d=5, seed=0):
    X, y = datasets.make_blobs(
        n, centers=K, n_features=d, cluster_std=3.0, random_state=seed
    )
    return StandardScaler().fit_transform(X), Constraints.from_labels(
        y, n=m, random_state=seed
    )


SIZES = [
    (1000, 1000),
    (10_000, 10_000),
    (10_000, 100_000),
    (100_000, 100_000),
    (1_000_000, 1_000_000),
]
MAKE = {
    "pck-means": km.PCKMeans,
    "mpck-means": km.MPCKMeans,
    "mpck-means warm-up": km.MPCKMeans,
    "cvqe": km.CVQE,
    "lcvqe": km.LCVQE,
    "constrained-em": km.ConstrainedEM,
    "cop-kmeans": km.COPKMeans,
}


def growth(only=tuple(MAKE)):
    """CPU seconds of exactly ten iterations (n_init=1, tol=-1) as n and the links grow,
    least of three; then one run to its end. MPCK: five of its warm-up, then five; or
    nine of its warm-up, which try one metric each, and one."""
    rows, tried, make_metric = [], [0], km.make_metric
    head = ["method", "n", "links", "run", "iterations", "metrics_tried", "seconds"]

    def counted(*args):
        tried[0] += 1
        return make_metric(*args)

    def row(name, n, m, what, repeats, **kw):
        X, c = blobs(n, m)
        est, tried[0] = MAKE[name](3, n_init=1, random_state=0, **kw), 0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            t = seconds(lambda: est.fit(X, constraints=c), repeats)
        rows.append(
            [name, n, m, what, est.n_iter_ + kw.get("warmup", 0), tried[0] // repeats, t]
        )
        print(
            f"{name:16} n={n:8} links={m:8} {what:14} iterations {rows[-1][4]:3} metrics "
            f"tried {rows[-1][5]:3} {t:9.4f} s",
            flush=True,
        )
        if n > 100 and "--write" in sys.argv:
            write("growth", (head, rows), key=4)

    km.make_metric = counted
    for name in only:
        ten = dict(max_iter=10, tol=-1) | {
            "mpck-means": dict(warmup=5, max_iter=5),
            "mpck-means warm-up": dict(warmup=9, max_iter=1),
        }.get(name, {})
        row(name, 100, 100, "ten iterations", 1, **ten)
        rows.pop()  # compile
        for n, m in SIZES[:-1]:
            row(name, n, m, "ten iterations", 3, **ten)
        if not name.endswith("warm-up"):
            row(name, 100_000, 100_000, "to the end", 1)
        if name not in ("constrained-em", "cop-kmeans"):
            row(name, *SIZES[-1], "ten iterations", 1, **ten)  # minutes
    km.make_metric = make_metric
    return head, rows


@njit(cache=True)
def sweep_by_rows(cost, indptr, nbr, w, z, order):
    """A fresh sweep of PCK-means that jumps to the row and the links of each point, as
    this package did before it copied them into the order of the walk."""
    price = np.empty(cost.shape[1])
    for i in order:
        for k in range(len(price)):
            price[k] = cost[i, k]
        for h in range(indptr[i], indptr[i + 1]):
            if z[nbr[h]] >= 0:
                price[z[nbr[h]]] -= w[h]
        z[i] = price.argmin()


def visits():
    """Nanoseconds per point of one fresh sweep of PCK-means, by rows and along a walk,
    as the arrays outgrow the caches; least of seven."""
    rows = []
    for n in (1000, 10_000, 30_000, 100_000, 300_000, 1_000_000):
        X, c = blobs(n, n)
        L, cost, order = (
            km.links_of(n, c, 1.0),
            0.5 * km.sq_dist(X, X[:3]),
            np.random.RandomState(0).permutation(n),
        )
        W, fresh = km.walk(L, order), np.full(n, -1)
        z, v, here = fresh.copy(), fresh.copy(), cost[order]
        sweep_by_rows(cost, L.indptr, L.nbr, L.w, z, order)
        km._icm(here, W.ptr, W.nbr, W.w, v, order, np.full(n, 3, np.uint8))
        assert (z == v).all()
        size = sum(a.nbytes for a in (cost, L.indptr, L.nbr, L.w, z, order)) / 2**20
        t = [
            seconds(f, 7) * 1e9 / n
            for f in (
                lambda: sweep_by_rows(cost, L.indptr, L.nbr, L.w, fresh.copy(), order),
                lambda: (km.walk(L, order), cost[order]),
                lambda: km._icm(
                    here, W.ptr, W.nbr, W.w, fresh.copy(), order, np.full(n, 3, np.uint8)
                ),
            )
        ]
        rows.append([n, size, *t])
        print(
            f"n={n:8} {size:7.1f} MB: by rows {t[0]:6.1f}, copy {t[1]:6.1f}, along the "
            f"walk {t[2]:6.1f} ns per point",
            flush=True,
        )
    return ["n", "megabytes", "by_rows", "copy", "along_walk"], rows


def speed(n=2000, m=2000):
    """One run beside the peer from the same start: with as many iterations, and ours to
    its end."""
    X, c = blobs(n, m)
    rows = []
    for method, cls, kw, iters in (
        ("pck", km.PCKMeans, dict(w=1.0), 100),
        ("mpck", km.MPCKMeans, dict(w=2.0, warmup=0), 1),
        ("mpck, ours to the end", km.MPCKMeans, dict(w=2.0), 1),
    ):
        if not method.startswith("mpck,"):  # that one is timed against the same run
            p = peer(method, X, c, 3, max_iter=iters, timeout=800)
        if p is None:
            print("no peer: set CSC_NB_PEER_PYTHON to compare")
            return None
        est = cls(
            3,
            init=p["centres"],
            n_init=1,
            max_iter=100 if method.endswith("end") else iters,
            random_state=0,
            **kw,
        )
        est.fit(X, constraints=c.closure())  # compile
        t = seconds(lambda: est.fit(X, constraints=c.closure()), 3)
        rows.append([method, n, m, iters, p["seconds"], t, p["seconds"] / t])
        print(
            f"{method:22} n={n} links={m}, peer at most {iters} iterations: peer "
            f"{p['seconds']:8.2f} s, csc_nb {t:8.4f} s, ratio {p['seconds'] / t:8.0f}",
            flush=True,
        )
    return ["method", "n", "links", "iterations", "peer_seconds", "seconds", "ratio"], rows


def settle_metrics(X, z, links, rho, kind=(False, False), steps=50):
    """Best value of (5) for given labels: centres, then metric steps until nothing
    changes. `kind`: diagonal, shared."""
    K = z.max() + 1
    C = km.update_centres(X, z, np.zeros((K, X.shape[1])))
    V = np.array([np.eye(X.shape[1]) * X.var(0).mean()] * K)
    P = km.MPCKProblem(X, links, rho, *kind)
    s = km.with_metric(km.MPCKState(z, C, V, None), P, V)
    for _ in range(steps):
        before, s = s.J, km.metric_step(s, P)
        if before - s.J <= 1e-9 * abs(before):
            break
    return s.J


def objective_of(method, X, K, c):
    "How labels are scored, and the estimator without its start."
    own = lambda z: km.update_centres(X, z, np.zeros((K, X.shape[1])))
    inertia = lambda z: float(((X - own(z)[z]) ** 2).sum())
    if method == "cop":
        return inertia, km.COPKMeans(K, random_state=0)
    if method == "pck":
        L = km.links_of(len(X), c, 1.0)
        return lambda z: 0.5 * inertia(z) + km.link_fines(L, z), km.PCKMeans(
            K, w=1.0, random_state=0
        )
    L, rho, kind = (
        km.links_of(len(X), c, 2.0),
        X.var(0).mean(),
        (True, True) if method == "mpck-sd" else (False, False),
    )
    est = km.MPCKMeans(
        K, w=2.0, metric="diagonal" if kind[0] else "full", shared=kind[1], random_state=0
    )
    return lambda z: settle_metrics(X, z, L, rho, kind), est


AGREEMENT = "set method rows peer_iterations seed peer one_order csc_nb greedy".split()
AGREEMENT += ["peer_broken", "peer_error"]


def agree(set, method, rows, peer_iterations, seed):
    "One fit of the peer, and ours from the peer's first centres."
    X, y = load(set, rows=rows)
    X, K = X - X.mean(0), len(np.unique(y))
    c = Constraints.from_labels(y, n=len(y) // 2, random_state=seed)
    p = peer(method, X, c, K, seed, timeout=240, quick=True, max_iter=peer_iterations)
    if p["error"]:
        return dict.fromkeys(AGREEMENT[5:], "") | dict(peer_error=p["error"])
    links = c if method == "cop" else c.closure()
    value, est = objective_of(method, X, K, links)

    def ours(**params):
        return value(est.set_params(**params).fit(X, constraints=links).labels_)

    once, best = (ours(init=p["centres"], n_init=n) for n in (1, 10))
    other = ours(greedy=True) if method.startswith("mpck") else ""
    broken = (p["labels"][c.a] == p["labels"][c.b]) != (c.value > 0)
    found = dict(peer=value(p["labels"]), one_order=once, csc_nb=best, greedy=other)
    return dict(found, peer_broken=int(broken.sum()), peer_error="")


def agreement(
    repeats=3,
    sets=("iris", "wine", "breast cancer", "digits"),
    only=("cop", "pck", "mpck", "mpck-sd"),
    rows=None,
    iterations=100,
):
    """Objective of the peer's labels and of ours, from the peer's own first centres;
    links closed as the peer closes them."""
    if not os.environ.get("CSC_NB_PEER_PYTHON"):
        print("no peer: set CSC_NB_PEER_PYTHON")
        return

    def size(name, method):
        small = 300 if method.startswith("mpck") and name == "digits" else None
        return len(load(name, rows or small)[1])

    tasks = [
        {**t, "rows": size(t["set"], t["method"]), "peer_iterations": iterations}
        for t in cross(seed=range(repeats), set=sets, method=only)
    ]
    tasks = [{k: t[k] for k in AGREEMENT[:5]} for t in tasks]
    for r in kept(agree, tasks, "agreement", AGREEMENT):
        same = r["peer_error"]
        if r["peer"] == r["peer"] != "":
            a, b = r["peer"], r["csc_nb"]
            lower = "ours lower" if b < a else "PEER LOWER"
            same = "equal" if abs(a - b) < 1e-6 * abs(a) else lower
        print(*(f"{r[k]:>12}" for k in AGREEMENT[:-1]), same)


def greedy(repeats=4, sets=("iris", "wine", "breast cancer")):
    """MPCK with sweeps until nothing moves or one sweep per round in the warm-up: which
    ends with the lower (5), and the ARI."""
    won = []
    for name in sets:
        X, y = load(name)
        for noise in (0.0, 0.1):
            for kw in (dict(), dict(metric="diagonal", shared=True)):
                gap, score = [], []
                for seed in range(repeats):
                    c = Constraints.from_labels(y, n=len(y), noise=noise, random_state=seed)
                    m = [
                        km.MPCKMeans(
                            len(np.unique(y)), n_init=6, greedy=g, random_state=0, **kw
                        ).fit(X, constraints=c)
                        for g in (False, True)
                    ]
                    a, b = (v.objective_history_[-1] for v in m)
                    gap.append((b - a) / abs(a))
                    score.append([ari(y, v.labels_) for v in m])
                won += gap
                print(
                    f"{name:14} {noise:.0%} wrong {str(kw):44} greedy above settled by "
                    f"{np.round(gap, 4)}  ARI settled, greedy "
                    f"{np.mean(score, 0).round(3)}",
                    flush=True,
                )
    print(
        f"settled lower {sum(v > 1e-6 for v in won)}, greedy lower "
        f"{sum(v < -1e-6 for v in won)}, equal {sum(abs(v) <= 1e-6 for v in won)} of "
        f"{len(won)}"
    )


QUALITY = {
    "COPKMeans (relaxed)": lambda K: km.COPKMeans(K, on_conflict="relax", random_state=0),
    "PCKMeans": lambda K: km.PCKMeans(K, random_state=0),
    "MPCKMeans full": lambda K: km.MPCKMeans(K, random_state=0),
    "MPCKMeans diagonal": lambda K: km.MPCKMeans(K, metric="diagonal", random_state=0),
    "MPCKMeans shared": lambda K: km.MPCKMeans(K, shared=True, random_state=0),
    "CVQE": lambda K: km.CVQE(K, random_state=0),
    "LCVQE": lambda K: km.LCVQE(K, random_state=0),
    "LCVQE polished": lambda K: km.LCVQE(K, polish=True, random_state=0),
    "SeededKMeans": lambda K: km.SeededKMeans(K, random_state=0),
    "ConstrainedEM": lambda K: km.ConstrainedEM(K, on_conflict="relax", random_state=0),
    "ITML": lambda K: ml.ITMLKMeans(K, random_state=0),
    "MMC diagonal": lambda K: ml.MMCKMeans(K, random_state=0),
    "MMC diagonal, reg=0": lambda K: ml.MMCKMeans(
        K, learner=ml.MMC(diagonal=True), tune=False, random_state=0
    ),
    "MMC full": lambda K: ml.MMCKMeans(K, learner=ml.MMC(), random_state=0),
    "LSML": lambda K: ml.LSMLKMeans(K, random_state=0),
    "RCA": lambda K: ml.RCAKMeans(K, random_state=0),
}


def drawn(set, method, noise, draw):
    "ARI and seconds of one fit."
    X, y = load(set)
    c = Constraints.from_labels(y, n=len(y), noise=noise, random_state=draw)
    start, model = time.perf_counter(), QUALITY[method](len(np.unique(y)))
    labels = model.fit(X, constraints=c).labels_
    return dict(ari=ari(y, labels), seconds=time.perf_counter() - start)


def quality(repeats=10, sets=("iris", "wine", "breast cancer"), only=tuple(QUALITY)):
    """ARI on standardised data, as many random pairs as rows, a share of the answers
    turned around; all sets and methods with one draw, then the next draw."""
    grid = cross(draw=range(repeats), set=sets, method=only, noise=(0.0, 0.1, 0.2))
    tasks = [{k: t[k] for k in ("set", "method", "noise", "draw")} for t in grid]
    rows = kept(drawn, tasks, "quality", [*tasks[0], "ari", "seconds"])
    for method in only:
        mine = [r["ari"] for r in rows if r["method"] == method]
        print(f"{method:22} {np.mean(mine):.3f} ± {np.std(mine):.3f} ({len(mine)} runs)")


PEERS = ("MMC diagonal", "ITML", "LSML")


def peers_of(set, noise, repeats):
    "A row for each of metric-learn's methods: mean and spread of the ARI over the draws."
    X, y = load(set)
    arrays = {"X": X, "K": len(np.unique(y)), "draws": repeats}
    for t in range(repeats):
        c = Constraints.from_labels(y, n=len(y), noise=noise, random_state=t)
        arrays |= {f"{k}_{t}": getattr(c, k) for k in ("a", "b", "value")}
    with tempfile.TemporaryDirectory() as d:
        src, dst = str(Path(d, "in.npz")), str(Path(d, "out.npz"))
        np.savez(src, **arrays)
        python, script = os.environ["CSC_NB_PEER_PYTHON"], HERE / "metric_learn_peer.py"
        subprocess.run([python, str(script), src, dst], check=True, timeout=800)
        out = dict(np.load(dst))
    rows = []
    for method in PEERS:
        names = [f"{method}_{t}" for t in range(repeats)]
        got = [ari(y, out[name]) for name in names if name in out]
        mean = np.mean(got) if len(got) > 1 else ""
        spread = np.std(got, ddof=1) if len(got) > 1 else ""
        rows.append(dict(method=method, draws=len(got), mean_ari=mean, sd_ari=spread))
    return rows


def metric_peer(repeats=10, sets=("iris", "wine", "breast cancer")):
    "ARI of metric-learn's MMC (diagonal), ITML and LSML on the draws of `quality`."
    if not os.environ.get("CSC_NB_PEER_PYTHON"):
        print("no peer: set CSC_NB_PEER_PYTHON")
        return
    columns = ["set", "method", "noise", "draws", "mean_ari", "sd_ari"]
    tasks, send = cross(set=sets, noise=(0.0, 0.1, 0.2)), lambda t: dict(repeats=repeats)
    for r in kept(peers_of, tasks, "metric_learn", columns, send=send, each=len(PEERS)):
        print(*(f"{r[k]:>14}" for k in columns))


def short(v):
    return f"{v:.5g}" if isinstance(v, float) else str(v)


def kept(run, tasks, name, columns, **how):
    "Rows of an experiment; with --write in its file, where what is there is not run again."
    out = RESULTS / f"baselines_{name}.csv" if "--write" in sys.argv else None
    return experiment(run, tasks, out, columns=columns, cell=short, n_jobs=1, **how)


def write(name, table):
    "Store a table of times anew."
    head, rows = table
    with open(RESULTS / f"baselines_{name}.csv", "w", newline="") as f:
        csv.writer(f, lineterminator="\n").writerows([head, *(map(short, r) for r in rows)])


PARTS = {  # name → function, the options that it takes
    "growth": (growth, ["only"]),
    "visits": (visits, []),
    "speed": (speed, []),
    "agreement": (agreement, ["repeats", "sets", "only", "rows", "iterations"]),
    "greedy": (greedy, ["repeats"]),
    "quality": (quality, ["repeats", "sets", "only"]),
    "metric-learn": (metric_peer, ["repeats", "sets"]),
}


def options(words):
    "`--sets=iris,wine` as a list, `--rows=300` as a number."
    given = dict(w[2:].split("=", 1) for w in words if w[:2] == "--" and "=" in w)
    numbers = ("repeats", "rows", "iterations")
    return {k: int(v) if k in numbers else v.split(",") for k, v in given.items()}


if __name__ == "__main__":
    given = options(sys.argv[1:])
    wanted = [w for w in sys.argv[1:] if not w.startswith("-")] or ["growth", "speed"]
    for name in wanted:
        part, takes = PARTS[name]
        table = part(**{k: v for k, v in given.items() if k in takes})
        if "--write" in sys.argv and name in ("visits", "speed"):
            write(name, table)
