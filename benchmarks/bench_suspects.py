"""Whom does TVClust suspect? Its suspects on the thirty sets of the comparison.

    python benchmarks/bench_suspects.py [--noise 0.1] [--seeds 1]

Rows, answers and seeds are those of `nbs/experiments/configs/comparison.toml`, so the ARI
of a row is that of `tvclust` in comparison.csv. `suspects` is how many answers are named,
`caught` how many of them are wrong, `wrong` how many are wrong in all. One line a fit; the
run goes on where it stopped.
"""

import argparse
import tomllib
from pathlib import Path

from csc_nb.constraints import Constraints
from csc_nb.estimators import without_advice
from csc_nb.metrics import ari
from csc_nb.sweeps import Task, cross, experiment, load_sets, n_answers, task_seeds
from csc_nb.tvclust import TVClust

ROOT = Path(__file__).resolve().parent.parent
CONFIG = ROOT / "nbs/experiments/configs/comparison.toml"
FILE = ROOT / "nbs" / "experiments" / "results" / "tvclust_suspects.csv"
COLUMNS = ["dataset", "noise", "seed", "ari", "suspects", "caught", "wrong"]


def suspected(data, task):
    "Fit one task of the comparison; who is suspected, and rightly?"
    draw, fit = task_seeds(0, task)
    m = n_answers(task.n_constraints, len(data.y))
    c = Constraints.from_labels(data.y, n=m, noise=task.noise, random_state=draw)
    wrong = (data.y[c.a] == data.y[c.b]) != (c.value > 0)
    with without_advice():
        est = TVClust(data.k, random_state=fit).fit(data.X, constraints=c)
    return dict(
        ari=f"{ari(data.y, est.labels_):.6f}",
        suspects=len(est.suspects_),
        caught=int(wrong[est.suspects_].sum()),
        wrong=int(wrong.sum()),
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--noise", type=float, nargs="+", default=[0.1])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--out", type=Path, default=FILE)
    args = parser.parse_args()
    names = tomllib.loads(CONFIG.read_text())["datasets"]
    sets = load_sets(names, scale="standard", max_rows=300, random_state=0)

    def run(seed, noise, dataset):
        return suspected(sets[dataset], Task("tvclust", dataset, noise, "n/2", seed))

    tasks = cross(seed=range(args.seeds), noise=args.noise, dataset=list(sets))
    experiment(run, tasks, args.out, columns=COLUMNS, n_jobs=1)
