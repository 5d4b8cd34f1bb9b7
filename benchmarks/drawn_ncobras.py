"""nCOBRAS with drawn sets and nearness along the data, against its form before.

python benchmarks/drawn_ncobras.py nbs/experiments/results/ncobras_drawn.csv
[--sets iris wine] [--noise .1 .2] [--forms before now sure] [--seeds 10 11]

A row for each set, noise, form and seed: ARI after 25, 50, 75, 100 answers, time, checks,
super-instances, what the verification found, (number, stated, right) per confidence.
The nine sets of rules_ncobras.py were used to choose; FRESH ones were not.
"before": `order=3`, `beyond_cap="drop"`, `confidence=.95`, no neighbours, the prior not
cross-fitted; "now": the defaults; "sure": the defaults with `confidence=.95`.
"""

import argparse
import json
import time
import numpy as np
from rules_ncobras import AT, SETS
from rules_ncobras import data as chosen_data
from run_ncobras import compiled, data, detection
from sklearn.metrics import adjusted_rand_score as ari
from csc_nb.ncobras import NCOBRAS, NcobrasForm, fit_same
from csc_nb.oracles import NoisyOracle
from csc_nb.sweeps import cross, experiment

FRESH = (
    "iris wine hepatitis parkinsons sonar glass column_2C ecoli ionosphere dermatology "
    "breast_cancer_wisconsin yeast"
).split()
FIELDS = "set noise form seed ari25 ari50 ari75 ari100 seconds checks super_instances"
FIELDS = (FIELDS + " tp fp fn bins").split()


class Before(NCOBRAS):
    "The prior of an answer is fitted to all answers, also to itself."

    def _same(self, F, said, noise):
        return 1 / (1 + np.exp(-F @ fit_same(F, said, noise)))


def make(form, noise, seed):
    if form == "before":
        plain = dict(neighbours=None, finish="super_instances")
        rules = NcobrasForm(order=3, beyond_cap="drop", **plain)
        return Before(noise, 0.95, form=rules, random_state=seed)
    if form == "sure":
        return NCOBRAS(noise, 0.95, random_state=seed)
    return NCOBRAS(noise, random_state=seed)


def run(set, noise, form, seed):
    "One row."
    X, y = (chosen_data if set in SETS else data)(set)
    est, oracle = (
        make(form, noise or 0.05, seed),
        NoisyOracle(y, noise, random_state=seed + 1000),
    )
    out, start = [], time.process_time()
    est.start(X)
    while len(out) < len(AT):
        q = est.ask()
        if q is not None and est.n_queries_ < AT[len(out)]:
            est.tell(q, oracle(q))
        else:
            out.append(ari(y, est.labels_))
    seconds = time.process_time() - start
    hit, bins = detection(est, y)
    return dict(
        **{f"ari{t}": round(v, 4) for t, v in zip(AT, out)},
        seconds=round(seconds, 2),
        checks=len(est.redundant_),
        super_instances=len(est.super_instances_),
        **dict(zip(("tp", "fp", "fn"), hit)),
        bins=json.dumps(bins),
    )


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("out")
    p.add_argument("--sets", nargs="+", default=[*FRESH, *SETS])
    p.add_argument("--noise", type=float, nargs="+", default=[0.1, 0.2, 0.05, 0.0])
    p.add_argument("--forms", nargs="+", default=["before", "now"])
    p.add_argument("--seeds", type=int, nargs="+", default=[10, 11, 12])
    a = p.parse_args()
    compiled()
    grid = cross(seed=a.seeds, set=a.sets, noise=a.noise, form=a.forms)
    experiment(run, grid, a.out, columns=FIELDS, n_jobs=1)
