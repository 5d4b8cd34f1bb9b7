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
and `--repeats=5` run a part, `agreement --missing` what the file lacks; `--rows=300
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


def agreement(
    repeats=3,
    sets=("iris", "wine", "breast cancer", "digits"),
    only=("cop", "pck", "mpck", "mpck-sd"),
    rows=None,
    iterations=100,
):
    """Objective of the peer's labels and of ours, from the peer's own first centres;
    links closed as the peer closes them. With --missing only starts that the file
    lacks."""
    head, out, path = (
        [
            "set",
            "method",
            "rows",
            "peer_iterations",
            "seed",
            "peer",
            "one_order",
            "csc_nb",
            "greedy",
            "peer_broken",
            "peer_error",
        ],
        [],
        RESULTS / "baselines_agreement.csv",
    )
    done = (
        {tuple(r[:5]) for r in list(csv.reader(open(path)))[1:]}
        if "--missing" in sys.argv and path.exists()
        else set()
    )

    def keep(row):
        out.append(row)
        if "--write" in sys.argv:
            write("agreement", (head, out), key=5)  # after every fit: the peer is slow

    for seed in range(repeats):
        for name in sets:
            for method in only:
                X, y = load(
                    name,
                    rows=rows
                    or (300 if method.startswith("mpck") and name == "digits" else None),
                )
                X, K, key = (
                    X - X.mean(0),
                    len(np.unique(y)),
                    [name, method, len(X), iterations, seed],
                )
                if tuple(map(str, key)) in done:
                    continue
                c = Constraints.from_labels(y, n=len(y) // 2, random_state=seed)
                p = peer(
                    method, X, c, K, seed=seed, timeout=240, quick=True, max_iter=iterations
                )
                if p is None:
                    print("no peer: set CSC_NB_PEER_PYTHON")
                    return None
                if p["error"]:
                    keep([*key, "", "", "", "", "", p["error"]])
                    print(out[-1], flush=True)
                    continue
                links = c if method == "cop" else c.closure()
                value, est = objective_of(method, X, K, links)
                fits = [
                    value(
                        est.set_params(init=p["centres"], n_init=n)
                        .fit(X, constraints=links)
                        .labels_
                    )
                    for n in (1, 10)
                ]
                bad = int(((p["labels"][c.a] == p["labels"][c.b]) != (c.value > 0)).sum())
                a, b = value(p["labels"]), fits[1]
                other = (
                    value(est.set_params(greedy=True).fit(X, constraints=links).labels_)
                    if method.startswith("mpck")
                    else ""
                )
                keep([*key, a, *fits, other, bad, ""])
                lower = "ours lower" if b < a else "PEER LOWER"
                print(
                    f"{name:14} {method:8} seed {seed}: peer {a:12.3f} in "
                    f"{p['seconds']:.0f} s  one order {fits[0]:12.3f}  csc_nb {b:12.3f}  "
                    f"greedy {other or np.nan:12.3f}  peer breaks {bad} links; "
                    f"{'equal' if abs(a - b) < 1e-6 * abs(a) else lower}",
                    flush=True,
                )
    return head, out


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


def quality(repeats=10, sets=("iris", "wine", "breast cancer"), only=()):
    """ARI on standardised data, as many random pairs as rows, a share of the answers
    turned around."""
    make = {
        "COPKMeans (relaxed)": lambda K: km.COPKMeans(
            K, on_conflict="relax", random_state=0
        ),
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
    head, path = (
        ["set", "method", "noise", "draw", "ari", "seconds"],
        RESULTS / "baselines_quality.csv",
    )
    done = (
        {tuple(r[:4]) for r in list(csv.reader(open(path)))[1:]} if path.exists() else set()
    )
    data, rows = {name: load(name) for name in sets}, []
    for draw in range(repeats):  # all sets and methods with one draw, then the next draw
        for name, (X, y) in data.items():
            for method, f in make.items():
                for noise in (0.0, 0.1, 0.2):
                    if (
                        only
                        and method not in only
                        or (name, method, f"{noise:.5g}", str(draw)) in done
                    ):
                        continue
                    c, start = (
                        Constraints.from_labels(
                            y, n=len(y), noise=noise, random_state=draw
                        ),
                        time.perf_counter(),
                    )
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        value = ari(y, f(len(np.unique(y))).fit(X, constraints=c).labels_)
                    rows.append(
                        [name, method, noise, draw, value, time.perf_counter() - start]
                    )
                if "--write" in sys.argv:
                    write("quality", (head, rows), key=4)
            print(
                f"draw {draw} {name}: {sum(r[-1] for r in rows):.0f} s so far", flush=True
            )
    return head, rows


def metric_peer(repeats=10, sets=("iris", "wine", "breast cancer")):
    "ARI of metric-learn's MMC (diagonal), ITML and LSML on the draws of `quality`."
    python, head, rows = (
        os.environ.get("CSC_NB_PEER_PYTHON"),
        ["set", "method", "noise", "draws", "mean_ari", "sd_ari"],
        [],
    )
    if not python:
        print("no peer: set CSC_NB_PEER_PYTHON")
        return None
    for name in sets:
        X, y = load(name)
        for noise in (0.0, 0.1, 0.2):
            draws = [
                Constraints.from_labels(y, n=len(y), noise=noise, random_state=s)
                for s in range(repeats)
            ]
            with tempfile.TemporaryDirectory() as d:
                src, dst = Path(d, "in.npz"), Path(d, "out.npz")
                np.savez(
                    src,
                    X=X,
                    K=len(np.unique(y)),
                    draws=repeats,
                    **{
                        f"{k}_{t}": getattr(c, k)
                        for t, c in enumerate(draws)
                        for k in ("a", "b", "value")
                    },
                )
                subprocess.run(
                    [python, str(HERE / "metric_learn_peer.py"), str(src), str(dst)],
                    check=True,
                    timeout=800,
                )
                out = np.load(dst)
                for method in ("MMC diagonal", "ITML", "LSML"):
                    got = [
                        ari(y, out[f"{method}_{t}"])
                        for t in range(repeats)
                        if f"{method}_{t}" in out
                    ]
                    if len(got) > 1:
                        rows.append(
                            [
                                name,
                                method,
                                noise,
                                len(got),
                                float(np.mean(got)),
                                float(np.std(got, ddof=1)),
                            ]
                        )
                    print(
                        f"{name:14} metric-learn {method:14} {noise:.0%}: "
                        f"{np.mean(got) if got else np.nan:.3f} ± "
                        f"{np.std(got, ddof=1) if len(got) > 1 else np.nan:.3f} "
                        f"({len(got)} draws)",
                        flush=True,
                    )
        if "--write" in sys.argv:
            write("metric_learn", (head, rows), key=3)
    return head, rows


def write(name, table, key=None):
    """Store a table; with `key`, rows that agree in the first `key` columns are
    replaced and the others kept."""
    if table is None:
        return
    path, text = (
        RESULTS / f"baselines_{name}.csv",
        lambda row: [f"{v:.5g}" if isinstance(v, float) else str(v) for v in row],
    )
    rows = [text(r) for r in table[1]]
    if key and path.exists():
        new = {tuple(r[:key]) for r in rows}
        rows = [
            r for r in list(csv.reader(open(path)))[1:] if tuple(r[:key]) not in new
        ] + rows
    RESULTS.mkdir(parents=True, exist_ok=True)
    with open(path, "w", newline="") as f:
        csv.writer(f, lineterminator="\n").writerows([table[0], *rows])


if __name__ == "__main__":
    what = [a for a in sys.argv[1:] if not a.startswith("-")] or ["growth", "speed"]
    option = {
        k: v.split(",")
        for k, _, v in (a[2:].partition("=") for a in sys.argv[1:] if a.startswith("--"))
    }
    for name in what:
        args = {
            k: int(option[k][0])
            for k in ("rows", "iterations")
            if k in option and name == "agreement"
        }
        args |= (
            {"repeats": int(option["repeats"][0])}
            if "repeats" in option and name not in ("growth", "visits", "speed")
            else {}
        )
        args |= {
            k: option[k]
            for k in ("sets", "only")
            if k in option
            and (
                name in ("agreement", "quality")
                or name == "growth"
                and k == "only"
                or name == "metric-learn"
                and k == "sets"
            )
        }
        table = {
            "growth": growth,
            "visits": visits,
            "speed": speed,
            "agreement": agreement,
            "greedy": greedy,
            "quality": quality,
            "metric-learn": metric_peer,
        }[name](**args)
        if "write" in option and name in ("visits", "speed"):
            write(name, table)
