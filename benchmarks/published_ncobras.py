"""nCOBRAS as published, as programmed, ours, and COBRAS as published on three sets.

ARI after 25 and 100 answers. Appends to nbs/experiments/results/ncobras_published.csv; runs
that are there are not repeated.
Usage: python benchmarks/published_ncobras.py [seeds [methods]]
"""

import sys
import time
from pathlib import Path

import numpy as np
from sklearn.metrics import adjusted_rand_score as ari

from csc_nb.cobras import COBRAS
from csc_nb.datasets import load
from csc_nb.ncobras import NCOBRAS
from csc_nb.oracles import NoisyOracle
from csc_nb.sweeps import cross, experiment

OUT = Path(__file__).parent.parent / "nbs/experiments/results/ncobras_published.csv"
FIELDS = [
    "task",
    "noise",
    "method",
    "seed",
    "ari25",
    "ari100",
    "redundant",
    "exact",
    "seconds",
]
CAP = 20_000  # states and sets; `exact` says where it was met
METHODS = ("published", "programmed", "ours", "COBRAS published")
TASKS = ("iris", "wine", "breast_cancer_wdbc")


def make(method, noise, seed):
    "A learner that is told the true noise, .05 when there is none (as in the paper)."
    if method == "COBRAS published":
        return COBRAS.as_published(random_state=seed)
    if method == "published":
        return NCOBRAS.as_published(noise=noise or 0.05, random_state=seed, max_states=CAP)
    if method == "programmed":
        return NCOBRAS.as_programmed(noise=noise or 0.05, random_state=seed, max_states=CAP)
    return NCOBRAS(noise or 0.05, random_state=seed)


def one(task, noise, method, seed):
    "One run of 100 answers about standardised rows."
    d = load(task, "standard")
    est = make(method, noise, seed).start(np.ascontiguousarray(d.data))
    oracle = NoisyOracle(d.target, noise, random_state=1000 + seed)
    start, score = time.process_time(), {}
    for n in range(1, 101):
        q = est.ask()
        if q is None:
            break
        est.tell(q, oracle(q))
        if n in (25, 100):
            score[n] = ari(d.target, est.labels_)
    last = ari(d.target, est.labels_)
    return {
        "task": task,
        "noise": noise,
        "method": method,
        "seed": seed,
        "ari25": round(score.get(25, last), 4),
        "ari100": round(score.get(100, last), 4),
        "redundant": len(getattr(est, "redundant_", ())),
        "exact": getattr(est, "exact_", True),
        "seconds": round(time.process_time() - start, 2),
    }


def main(seeds=10, methods=METHODS):
    grid = cross(seed=range(seeds), task=TASKS, noise=(0.0, 0.05, 0.1), method=methods)
    experiment(one, grid, OUT, columns=FIELDS, n_jobs=1)


if __name__ == "__main__":
    main(int((sys.argv[1:] or [10])[0]), sys.argv[2:] or METHODS)
