"""TVClust, RDP-means and experts on the thirty sets of the comparison, beside k-means.

    python benchmarks/bench_methods.py run [--seconds 3600] [--seeds 5]
    python benchmarks/bench_methods.py table

Rows, answers and seeds are those of `nbs/experiments/configs/comparison.toml`, with 40 %
wrong answers added. Every method is told the number of classes, except where its name says
otherwise. A name that ends in "before" is the default of version 0.1. `run` writes one line
a fit and goes on where it stopped. The sets of `CHOSEN_ON` were looked at while candidates
and the half standard error were chosen, with seed 0; the table gives the others apart.
"""

import argparse
import time
import tomllib
import warnings
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans

from csc_nb.constraints import Constraints
from csc_nb.experts import ExpertClustering
from csc_nb.metrics import ari
from csc_nb.rdpmeans import RDPMeans
from csc_nb.sweeps import Task, cross, experiment, load_sets, n_answers, task_seeds
from csc_nb.tvclust import TVClust

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "nbs" / "experiments" / "results" / "methods_comparison.csv"
LEVELS = (0.1, 0.3, 0.0, 0.4)
COLUMNS = ["dataset", "noise", "seed", "method", "ari", "clusters", "suspects"]
COLUMNS += ["caught", "wrong", "seconds"]
CHOSEN_ON = ["iris", "glass", "hepatitis", "ionosphere", "column_3C", "balance_scale"]
CHOSEN_ON += ["pima", "msrcv2_six", "pendigits389", "spambase"]
METHODS = {
    "k-means": lambda K, s: KMeans(K, n_init=10, random_state=s),
    "tvclust": lambda K, s: TVClust(K, random_state=s),
    "rdp-means": lambda K, s: RDPMeans(K, random_state=s),
    "experts": lambda K, s: ExpertClustering(K, random_state=s),
    "rdp-means, before": lambda K, s: RDPMeans(
        K, space="raw", divergence="euclidean", random_state=s
    ),
    "experts, before": lambda K, s: ExpertClustering(
        K, mi_weight="auto", lam=1e-3, random_state=s
    ),
    "tvclust, before": lambda K, s: TVClust(
        space="raw", likelihood="normal", q="learn", random_state=s
    ),
    "tvclust, number not told": lambda K, s: TVClust(random_state=s),
}


def answers_of(y, name, noise, seed):
    "The answers of the comparison, which of them are wrong, and a seed for the fit."
    draw, fit = task_seeds(0, Task("methods", name, noise, "n/2", seed))
    c = Constraints.from_labels(
        y, n=n_answers("n/2", len(y)), noise=noise, random_state=draw
    )
    wrong = (y[c.a] == y[c.b]) != (np.asarray(c.value) > 0)
    return c, wrong, fit % 2**31


def one_fit(data, method, c, wrong, fit):
    "One line of the table."
    start = time.process_time()
    est = METHODS[method](data.k, fit)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        est.fit(data.X) if method == "k-means" else est.fit(data.X, constraints=c)
    suspects = getattr(est, "suspects_", np.zeros(0, int))
    return {
        "ari": f"{ari(data.y, est.labels_):.6f}",
        "clusters": len(np.unique(est.labels_)),
        "suspects": len(suspects),
        "caught": int(wrong[suspects].sum()),
        "wrong": int(wrong.sum()),
        "seconds": f"{time.process_time() - start:.2f}",
    }


def run(seconds, seeds):
    "Every open fit; sets that were not used to choose come first."
    config = tomllib.loads((ROOT / "nbs/experiments/configs/comparison.toml").read_text())
    sets = load_sets(config["datasets"], scale="standard", max_rows=300, random_state=0)
    names = sorted(sets, key=lambda name: name in CHOSEN_ON)
    methods = list(METHODS)
    tasks = []
    for seed in range(seeds):
        for part in (methods[:4], methods[4:]):
            tasks += cross(seed=seed, noise=LEVELS, dataset=names, method=part)

    def row(seed, noise, dataset, method):
        data = sets[dataset]
        drawn = answers_of(data.y, dataset, noise, seed)
        return dict(noise=f"{noise:g}", **one_fit(data, method, *drawn))

    experiment(row, tasks, FILE, columns=COLUMNS, seconds=seconds, n_jobs=1)


def table():
    "Mean ARI over sets and seeds; the gap to k-means with its standard error over sets."
    import pandas as pd

    runs = pd.read_csv(FILE)
    for title, own in (
        ("sets not used to choose", ~runs.dataset.isin(CHOSEN_ON)),
        ("all sets", runs.dataset.notna()),
    ):
        part = runs[own]
        wide = part.pivot_table(index="dataset", columns=["method", "noise"], values="ari")
        print(f"\n{title}: {part.dataset.nunique()} sets, seeds {part.seed.nunique()}")
        for method in METHODS:
            cells = []
            for noise in sorted(part.noise.unique()):
                if (method, noise) not in wide:
                    continue
                gap = wide[method, noise] - wide["k-means", noise]
                error = gap.std(ddof=1) / np.sqrt(gap.count())
                mean = wide[method, noise].mean()
                said = f"{mean:.3f} ({gap.mean():+.3f} ± {error:.3f}, n={gap.count()})"
                cells.append(f"{noise:4.0%} {said}")
            print(f"{method:26}", "  ".join(cells))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["run", "table"])
    parser.add_argument("--seconds", type=float, default=np.inf)
    parser.add_argument("--seeds", type=int, default=5)
    args = parser.parse_args()
    run(args.seconds, args.seeds) if args.what == "run" else table()
