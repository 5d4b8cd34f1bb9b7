"""TVClust, RDP-means and experts on the thirty sets of the comparison, beside k-means.

    python benchmarks/bench_methods.py run [--seconds 3600] [--seeds 5] [--old]
    python benchmarks/bench_methods.py table
    python benchmarks/bench_methods.py merge

Rows, answers and seeds are those of `nbs/experiments/configs/comparison.toml`, with 40 %
wrong answers added. Every method is told the number of classes, except where its name says
otherwise. A name that ends in ":old" is the default of version 0.1, TVClust's not told
the number. `run` writes one line
a fit and goes on where it stopped. The sets of `CHOSEN_ON` were looked at while candidates,
the temper of chapter 06a and the third of the blame in 07a were chosen, with seeds 0 and 1;
the table gives the others apart. `merge` puts the rows of today's defaults, and k-means at
40 %, into comparison.csv; rows of the old defaults are kept there under their ":old" names.
"""

import argparse
import tomllib
import warnings
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans

from csc_nb.constraints import Constraints
from csc_nb.estimators import without_advice
from csc_nb.experts import ExpertClustering
from csc_nb.rdpmeans import RDPMeans
from csc_nb.sweeps import Task, cross, experiment, load_sets, measured, n_answers
from csc_nb.sweeps import cost_path, fingerprint, read_table, resolve, score
from csc_nb.sweeps import task_seeds
from csc_nb.tvclust import TVClust

ROOT = Path(__file__).resolve().parent.parent
CONFIG = ROOT / "nbs/experiments/configs/comparison.toml"
FILE = ROOT / "nbs" / "experiments" / "results" / "methods_comparison.csv"
LEVELS = (0.1, 0.3, 0.4, 0.0, 0.2, 0.05)
METRICS = ["ari", "nmi", "f", "kept"]
COSTS = ["seconds", "cpu_seconds", "before_mb", "peak_mb"]
COLUMNS = ["dataset", "noise", "seed", "method", *METRICS, "clusters", "suspects"]
COLUMNS += ["caught", "wrong", *COSTS]
CHOSEN_ON = ["iris", "glass", "hepatitis", "ionosphere", "column_3C", "balance_scale"]
CHOSEN_ON += ["pima", "msrcv2_six", "pendigits389", "spambase"]
METHODS = {
    "k-means": lambda K, s: KMeans(K, n_init=10, random_state=s),
    "tvclust": lambda K, s: TVClust(K, random_state=s),
    "rdp-means": lambda K, s: RDPMeans(K, random_state=s),
    "experts": lambda K, s: ExpertClustering(K, random_state=s),
    "rdp-means:old": lambda K, s: RDPMeans(
        K, space="raw", divergence="euclidean", random_state=s
    ),
    "experts:old": lambda K, s: ExpertClustering(
        K, mi_weight="auto", lam=1e-3, random_state=s
    ),
    "tvclust:old": lambda K, s: TVClust(
        space="raw", likelihood="normal", q="learn", random_state=s
    ),
    "tvclust, number not told": lambda K, s: TVClust(random_state=s),
}
NEW = list(METHODS)[:4]


def answers_of(y, name, noise, seed, method="methods"):
    "The answers of the comparison, which of them are wrong, and a seed for the fit."
    draw, fit = task_seeds(0, Task(method, name, noise, "n/2", seed))
    c = Constraints.from_labels(
        y, n=n_answers("n/2", len(y)), noise=noise, random_state=draw
    )
    wrong = (y[c.a] == y[c.b]) != (np.asarray(c.value) > 0)
    return c, wrong, fit


def one_fit(data, method, c, wrong, fit):
    "One line of the table."
    est = METHODS[method](data.k, fit)
    with measured() as cost, warnings.catch_warnings(), without_advice():
        warnings.simplefilter("ignore")
        est.fit(data.X) if method == "k-means" else est.fit(data.X, constraints=c)
    suspects = getattr(est, "suspects_", np.zeros(0, int))
    found = score(data.y, est.labels_, c, METRICS)
    return {
        **{k: f"{v:.6f}" for k, v in found.items()},
        "clusters": len(np.unique(est.labels_)),
        "suspects": len(suspects),
        "caught": int(wrong[suspects].sum()),
        "wrong": int(wrong.sum()),
        **{k: f"{v:.3f}" for k, v in cost.items()},
    }


def run(seconds, seeds, old, out):
    "Every open fit; sets that were not used to choose come first."
    config = tomllib.loads(CONFIG.read_text())
    sets = load_sets(config["datasets"], scale="standard", max_rows=300, random_state=0)
    names = sorted(sets, key=lambda name: name in CHOSEN_ON)
    tasks = []
    for seed in range(seeds):
        how = dict(noise=LEVELS, dataset=names)
        tasks += cross(seed=seed, **how, method=list(METHODS)[4:] if old else NEW)

    def row(seed, noise, dataset, method):
        data = sets[dataset]
        drawn = answers_of(data.y, dataset, noise, seed, method)
        return dict(noise=f"{noise:g}", **one_fit(data, method, *drawn))

    for method in NEW:  # compile
        one_fit(sets["iris"], method, *answers_of(sets["iris"].y, "iris", 0.1, 99))
    experiment(row, tasks, out, columns=COLUMNS, seconds=seconds, n_jobs=1)


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


def merge():
    "Today's rows into comparison.csv and comparison.cost.csv."
    import csv

    config = tomllib.loads(CONFIG.read_text())
    sets = load_sets(config["datasets"], scale="standard", max_rows=300, random_state=0)
    settings = dict(scale="standard", max_rows=300, max_constraints=None, random_state=0)
    specs = resolve(NEW)
    out = FILE.with_name("comparison.csv")
    runs = [r for r in read_table(FILE) if r["method"] in NEW]
    runs = [r for r in runs if r["method"] != "k-means" or r["noise"] == "0.4"]
    for path in (out, cost_path(out)):
        kept = read_table(path)
        head = list(kept[0])
        if not any(r["method"] == "tvclust:old" for r in kept):
            for r in kept:
                r["method"] += ":old" * (r["method"] in NEW[1:])
        mine = {(r["method"], r["dataset"], r["noise"], r["seed"]) for r in runs}
        key = lambda r: (r["method"], r["dataset"], f"{float(r['noise']):g}", r["seed"])
        kept = [r for r in kept if key(r) not in mine]
        for r in runs:
            data = sets[r["dataset"]]
            n, d = data.X.shape
            row = dict(r, n_constraints="n/2", n=n, d=d)
            row |= dict(k=data.k, answers=n // 2, status="ok", message="")
            row["spec"] = fingerprint(specs[r["method"]], **settings)
            kept.append({c: row[c] for c in head})
        with open(path, "w", newline="") as f:
            writer = csv.DictWriter(f, head, lineterminator="\n")
            writer.writeheader()
            writer.writerows(kept)
        print(f"{path.name}: {len(runs)} rows of today, {len(kept)} in all")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["run", "table", "merge"])
    parser.add_argument("--seconds", type=float, default=np.inf)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--old", action="store_true", help="the old defaults instead")
    parser.add_argument("--out", type=Path, default=FILE, help="where `run` writes")
    args = parser.parse_args()
    if args.what == "run":
        run(args.seconds, args.seeds, args.old, args.out)
    else:
        dict(table=table, merge=merge)[args.what]()
