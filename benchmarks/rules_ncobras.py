"""Which super-instance to cut, and who speaks for its parts: four combinations on nine sets
that are in no table of chapter 17.

python benchmarks/rules_ncobras.py nbs/experiments/results/ncobras_rules.csv [--seeds 10 11
...]

A row for each set, noise and combination: means over the seeds of ARI after 25, 50, 75 and
100 answers, and what the verification found.
All rows may be asked about and all are scored; 1000 rows of the larger sets.
"""

import argparse
import numpy as np
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score as ari
from csc_nb.cobras import COBRAS
from csc_nb.datasets import load
from csc_nb.ncobras import NCOBRAS, NcobrasForm
from csc_nb.oracles import NoisyOracle
from csc_nb.sweeps import cross, experiment
from run_ncobras import detection

SETS = (
    "newthyroid column_3C pendigits389 blobs3 blobs10 satimage letters_ijlt msrcv2_six "
    "crabs_species"
).split()
BLOBS = dict(
    blobs3=(180, 4, 3, 2.6, 3), blobs10=(1000, 12, 10, 3.2, 1)
)  # rows, columns, clusters, spread, seed
AT = (25, 50, 75, 100)
FIELDS = "set noise method split_by speaker seeds ari25 ari50 ari75 ari100".split()
FIELDS += "super_instances checks tp fp fn".split()


def data(name):
    "Standardised columns (missing: the mean)."
    if name in BLOBS:
        n, d, k, sd, seed = BLOBS[name]
        X, y = make_blobs(
            n, d, centers=k, cluster_std=sd, center_box=(-5, 5), random_state=seed
        )
        return (X - X.mean(0)) / X.std(0), y
    b = load(name, "standard")
    keep = (
        np.random.default_rng(5).permutation(len(b.data))[:1000]
        if len(b.data) > 1000
        else slice(None)
    )
    return np.ascontiguousarray(np.nan_to_num(b.data)[keep]), b.target[keep]


def curve(est, X, y, noise, seed):
    "ARI after 25, 50, … answers."
    oracle, out = NoisyOracle(y, noise, random_state=seed + 1000), []
    est.start(X)
    while len(out) < len(AT):
        q = est.ask()
        if q is not None and est.n_queries_ < AT[len(out)]:
            est.tell(q, oracle(q))
        else:
            out.append(ari(y, est.labels_))
    return out


def run(set, noise, split_by, speaker, seeds):
    "One row: means over the seeds."
    X, y = data(set)
    curves, sis, checks, hit = [], [], [], np.zeros(3, int)
    for s in seeds:
        who = {"centre": "central"}.get(speaker, speaker)
        rules = dict(split_by=split_by, representative=who)
        est = COBRAS(**rules, random_state=s)
        if noise:
            est = NCOBRAS(noise, form=NcobrasForm(**rules), random_state=s)
        curves.append(curve(est, X, y, noise, s))
        sis.append(len(est.super_instances_))
        checks.append(len(getattr(est, "redundant_", ())))
        if noise:
            hit += detection(est, y)[0]
    return dict(
        method="NCOBRAS" if noise else "COBRAS",
        seeds=len(seeds),
        **{f"ari{t}": round(v, 4) for t, v in zip(AT, np.mean(curves, 0))},
        super_instances=np.mean(sis),
        checks=np.mean(checks),
        **dict(zip(("tp", "fp", "fn"), hit.tolist())),
    )


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("out")
    p.add_argument("--seeds", type=int, nargs="+", default=list(range(10, 20)))
    a = p.parse_args()
    grid = cross(
        set=SETS,
        noise=(0.0, 0.05, 0.1),
        split_by=("largest", "doubt"),
        speaker=("centre", "kept"),
    )
    experiment(
        run, grid, a.out, columns=FIELDS, send=lambda t: dict(seeds=a.seeds), n_jobs=1
    )
