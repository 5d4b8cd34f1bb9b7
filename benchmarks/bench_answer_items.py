"""Chapter 41a on the thirty sets of the comparison, and on a large made-up set.

    python benchmarks/bench_answer_items.py comparison [--seconds 3600]
    python benchmarks/bench_answer_items.py scale

`comparison` uses the rows, answers and seeds of `nbs/experiments/configs/comparison.toml`
with 40 and 50 % wrong answers added. It writes one line a fit and goes on where it stopped.
"""

import argparse
import resource
import time
import tomllib
import warnings
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression

from csc_nb.answer_items import fit_items
from csc_nb.constraints import Constraints
from csc_nb.metrics import ari
from csc_nb.sweeps import RowFile, Task, cross, experiment
from csc_nb.sweeps import load_sets, n_answers, task_seeds

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "nbs" / "experiments" / "results"
LEVELS = (0.1, 0.3, 0.0, 0.2, 0.05, 0.4, 0.5)
COLUMNS = ["dataset", "noise", "seed", "ari", "kmeans", "accuracy", "method"]
COLUMNS += ["gain", "gain_se", "seconds"]
BINS = ["dataset", "noise", "seed", "bin", "pairs", "stated", "right"]


def answers_of(data, name, noise, seed):
    "The answers of the comparison; at one half every answer is a coin flip."
    task = Task("answer-items", name, noise, "n/2", seed)
    draw, fit = task_seeds(0, task)
    m = n_answers("n/2", len(data.y))
    if noise < 0.5:
        c = Constraints.from_labels(data.y, n=m, noise=noise, random_state=draw)
        return np.c_[c.a, c.b], (np.asarray(c.value) > 0).astype(int), fit
    c = Constraints.from_labels(data.y, n=m, random_state=draw)
    coin = np.random.default_rng(draw).random(m) < 0.5
    return np.c_[c.a, c.b], (np.where(coin, c.value, -c.value) > 0).astype(int), fit


def calibration_rows(key, result, y):
    "Stated chance and share of 'same' in ten bins, over 3000 random pairs."
    i, j = np.random.default_rng(0).integers(len(y), size=(2, 3000))
    i, j = i[i != j], j[i != j]
    p, same = result.pair_proba(i, j), y[i] == y[j]
    bins = np.minimum((10 * p).astype(int), 9)
    rows = []
    for b in np.unique(bins):
        held = bins == b
        row = dict(key, bin=int(b), pairs=int(held.sum()))
        rows.append(row | {"stated": p[held].mean(), "right": same[held].mean()})
    return rows


def one_fit(data, name, noise, seed):
    "One line of the table, and its calibration."
    pairs, same, fit_seed = answers_of(data, name, noise, seed)
    start = time.process_time()
    kind = np.zeros(len(pairs), int)
    result = fit_items(data.X, pairs, kind, same, n_clusters=data.k, random_state=fit_seed)
    seconds = time.process_time() - start
    plain = KMeans(data.k, n_init=10, random_state=fit_seed).fit(data.X).labels_
    key = {"dataset": name, "noise": f"{noise:g}", "seed": str(seed)}
    row = key | {"ari": ari(data.y, result.labels), "kmeans": ari(data.y, plain)}
    row |= {"accuracy": float(result.annotators["accuracy"][0])}
    row |= {k: result.chosen[k] for k in ("method", "gain", "gain_se")}
    row |= {"seconds": seconds}
    return row, calibration_rows(key, result, data.y)


def comparison(seconds):
    "Every open fit, the first seed first."
    config = tomllib.loads((ROOT / "nbs/experiments/configs/comparison.toml").read_text())
    sets = load_sets(config["datasets"], scale="standard", max_rows=300, random_state=0)
    bins = RowFile(RESULTS / "items_calibration.csv", BINS)

    def row(seed, noise, dataset):
        line, calibrated = one_fit(sets[dataset], dataset, noise, seed)
        bins.append(*calibrated)
        return line

    tasks = cross(seed=range(5), noise=LEVELS, dataset=list(sets))
    out = RESULTS / "items_comparison.csv"
    experiment(row, tasks, out, columns=COLUMNS, seconds=seconds, n_jobs=1)


def scale(n=100_000, m=1_000_000, people=1000):
    "10⁵ rows, 10⁶ answers, 10³ annotators, beside logistic regression on the same rows."
    rng = np.random.default_rng(0)
    y = rng.integers(5, size=n)
    X = rng.normal(size=(n, 20))
    X[:, :3] += 2.5 * rng.normal(size=(5, 3))[y]
    pairs = rng.integers(n, size=(m, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    who = rng.integers(people, size=len(pairs))
    right = rng.beta(8, 2, people).clip(0.5, 1)
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    said = np.where(rng.random(len(pairs)) < right[who], same, ~same).astype(int)
    start = time.process_time()
    kind = np.zeros(len(pairs), int)
    result = fit_items(X, pairs, kind, said, who, n_clusters=5, random_state=0)
    ours = time.process_time() - start
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        LogisticRegression(max_iter=200).fit(X, y)
    theirs = time.process_time() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    found = np.corrcoef(result.annotators["accuracy"], right)[0, 1]
    print(f"ARI {ari(y, result.labels):.3f}, accuracies correlate at {found:.3f}")
    print(f"{ours:.0f} s, logistic regression {theirs:.1f} s, {memory:.0f} MB at the peak")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["comparison", "scale"])
    parser.add_argument("--seconds", type=float, default=np.inf)
    args = parser.parse_args()
    if args.what == "scale":
        scale()
    else:
        comparison(args.seconds)
