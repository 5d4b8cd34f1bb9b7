"""Bayesian active clustering: seconds per question on digits-389, growth in n, d, K and
particles, and what the bound saves.

    python benchmarks/bench_bayes_active.py [--growth] [--plot FILE] [--csv FILE]

Processor seconds of this process are given beside wall seconds, since a shared machine
makes the latter wander; and beside a peer
measured in the same run: one product of the `(n, S·K)` marginals with themselves, which
*Uncertain* cannot do without.
"""

import argparse, time
import numpy as np
from csc_nb.bayes_active import BayesForm, BayesianActiveClustering, best_pair, pair_scores
from csc_nb.datasets import load, make_linked_blobs
from csc_nb.oracles import NoisyOracle
from csc_nb.sweeps import experiment


def clock(f):
    w, c = time.perf_counter(), time.process_time()
    f()
    return time.perf_counter() - w, time.process_time() - c


def per_question(X, y, K, S, criterion="info", questions=4):
    "Median wall and processor seconds between an answer and the next question."
    model = BayesianActiveClustering(
        K, criterion=criterion, form=BayesForm(n_particles=S), random_state=0
    ).start(X)
    person, t = NoisyOracle(y, random_state=0), []
    for _ in range(questions):
        q = model.ask()
        t.append(clock(lambda: model.tell(q, person(q))))
    return *np.median(t, axis=0), model


def peer(n, S, K):
    U = np.random.default_rng(0).random((n, S * K), dtype=np.float32)
    return min(
        clock(lambda: [U[i : i + 256] @ U.T for i in range(0, n, 256)])[1] for _ in range(2)
    )


def digits():
    b = load("pendigits389")
    for criterion in ("info", "uncertain", "random"):
        wall, cpu, m = per_question(b.data, b.target, b.k, 96, criterion)
        print(
            f"digits-389, {b.n} × {b.d}, K={b.k}, 96 particles, {criterion:9}: "
            f"{wall:.2f} s a question ({cpu:.2f} s processor, "
            f"{cpu / peer(b.n, 96, b.k):.1f} × the peer)"
            + (
                f", {m._looked} of {b.n * (b.n - 1) // 2} pairs scored exactly"
                if criterion != "random"
                else ""
            ),
            flush=True,
        )
    labels = clock(lambda: m.labels_)
    print(
        f"MAP and labels of {b.n} rows: {labels[0]:.2f} s ({labels[1]:.2f} s processor)",
        flush=True,
    )


VARIED = dict(n=(400, 800, 1600, 3200), d=(4, 8, 16, 64), k=(2, 3, 6), S=(32, 64, 128, 256))


def grown(varied, value):
    "CPU seconds a question with one size varied."
    p = {**dict(n=800, d=8, k=3, S=64), varied: value}
    b = make_linked_blobs(p["n"], p["d"], p["k"], 1, spread=2.0, random_state=0)
    cpu, m = per_question(b.data, b.target, p["k"], p["S"], questions=3)[1:]
    print(
        f"{varied}={value:5}: {cpu:.3f} s processor a question, {m._looked} pairs "
        "scored exactly",
        flush=True,
    )
    return dict(seconds=round(cpu, 4))


def growth(out=None):
    "Rows of all sizes; in a file those that it has are not run again."
    tasks = [dict(varied=k, value=v) for k, values in VARIED.items() for v in values]
    columns = ["varied", "value", "seconds"]
    rows = experiment(grown, tasks, out, columns=columns, n_jobs=1)
    return [(r["varied"], r["value"], r["seconds"]) for r in rows]


def savings():
    rng = np.random.default_rng(0)
    Q = rng.dirichlet(np.full(3, 0.3), (96, 600))
    R = np.ascontiguousarray(Q.transpose(1, 0, 2))
    best_pair(R[:20], np.arange(20), 0.05)
    full, quick = (
        clock(f)[1]
        for f in (lambda: pair_scores(Q, 0.05), lambda: best_pair(R, np.arange(600), 0.05))
    )
    print(
        f"best of {600 * 599 // 2} pairs, 96 particles: full table {full:.2f} s, bound "
        f"{quick:.3f} s: {full / quick:.0f} × faster",
        flush=True,
    )


def plot(rows, path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    fig, axs = plt.subplots(1, 4, figsize=(10, 2.4), sharey=True)
    for ax, name in zip(axs, ("n", "d", "k", "S")):
        v, t = zip(*[(v, t) for a, v, t in rows if a == name])
        ax.loglog(v, t, "o-")
        ax.set_xlabel({"k": "K", "S": "particles"}.get(name, name))
    axs[0].set_ylabel("seconds a question")
    fig.tight_layout()
    fig.savefig(path, dpi=120)


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--plot")
    ap.add_argument("--csv")
    ap.add_argument("--growth", action="store_true", help="only the growth")
    args = ap.parse_args()
    if not args.growth:
        digits()
        savings()
    rows = growth(args.csv)
    if args.plot:
        plot(rows, args.plot)
