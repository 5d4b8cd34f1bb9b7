"""CPU seconds of COBRAS and NCOBRAS; ratios to plain COBRAS in the same run, growth with
answers.

python benchmarks/bench_ncobras.py [--queries 100] [--noise .1] [--tasks iris wine ...]
The authors' program (Python, their machine-independent figures are CPU seconds of one run):
100 answers at 10 % wrong
15 s on iris, 17-28 s on wine and breast cancer; 200 answers on iris 79 to more than 139 s.
"""

import argparse, time
import numpy as np
from sklearn.metrics import adjusted_rand_score as ari
from csc_nb.cobras import COBRAS
from csc_nb.datasets import load
from csc_nb.ncobras import NCOBRAS
from csc_nb.oracles import NoisyOracle

THEIRS = {
    ("iris", 100): 15.0,
    ("wine", 100): 17.0,
    ("breast_cancer_wdbc", 100): 17.0,
    ("iris", 200): 79.0,
}


def seconds(make, X, y, noise, budget, seed):
    start = time.process_time()
    est = make(seed).fit(X, oracle=NoisyOracle(y, noise, random_state=seed), budget=budget)
    return time.process_time() - start, ari(y, est.labels_), est


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--queries", type=int, nargs="+", default=[100, 200])
    p.add_argument("--noise", type=float, default=0.1)
    p.add_argument("--tasks", nargs="+", default=["iris", "wine", "breast_cancer_wdbc"])
    p.add_argument("--seeds", type=int, default=3)
    a = p.parse_args()
    nco, cob = (
        lambda s: NCOBRAS(noise=max(a.noise, 0.05), random_state=s),
        lambda s: COBRAS(random_state=s),
    )
    d = load("iris", "standard")
    seconds(nco, d.data, d.target, 0.1, 40, 0)  # compile
    print(f"{'task':24s} answers  COBRAS s  NCOBRAS s (max)  ratio  authors s / ours   ARI")
    for name in a.tasks:
        d = load(name, "standard")
        for q in a.queries:
            c = [seconds(cob, d.data, d.target, a.noise, q, s)[0] for s in range(a.seeds)]
            n = [seconds(nco, d.data, d.target, a.noise, q, s)[:2] for s in range(a.seeds)]
            t = np.median([x[0] for x in n])
            ref = THEIRS.get((name, q))
            print(
                f"{name:24s} {q:7d}  {np.median(c):8.2f}  {t:6.2f} "
                f"({max(x[0] for x in n):5.2f})  {t / np.median(c):5.1f}  "
                f"{'' if ref is None else f'{ref / t:12.0f} x':16s}  "
                f"{np.mean([x[1] for x in n]):.2f}",
                flush=True,
            )
