"""Tables in memory: fits beside KMeans(n_init=10), and the price of pieces and of Dask.

python benchmarks/bench_in_memory.py [RESULT.csv] [--rows 400000] [--repeats 1]
    # 20 columns, 5 000 answers, 10 % of them wrong; CPU seconds of one core
python benchmarks/bench_in_memory.py dask.csv --pieces
    # RDP-means: the array, the same array in pieces, and as a Dask array
"""

import argparse
import csv
import time
import warnings

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

from csc_nb import Constraints, RDPMeans, TVClust
from csc_nb.metrics import ari

FIELDS = ["rows", "table", "fit", "cpu_s", "ratio", "rounds", "right"]


def make(kind, n):
    "Groups far apart, touching, or overlapping; their number; answers."
    K = dict(apart=5, touching=5, overlapping=8)[kind]
    if kind == "apart":
        X, y = make_blobs(n, 20, centers=K, random_state=0)
    else:
        rng = np.random.default_rng(0)
        centres = rng.normal(0, dict(touching=1.2, overlapping=0.6)[kind], (K, 20))
        y = rng.integers(0, K, n)
        X = centres[y] + rng.normal(size=(n, 20))
    rng = np.random.default_rng(1)
    a, b = rng.choice(n, (2, 5000), replace=False)
    value = np.where(y[a] == y[b], 1, -1)
    value = np.where(rng.random(5000) < 0.1, -value, value)
    return X, y, K, Constraints(a, b, value, n_samples=n)


def clock(fit):
    "CPU seconds, and what was fitted."
    start = time.process_time()
    fitted = fit()
    return time.process_time() - start, fitted


def beside_kmeans(n, seed):
    for kind in ("apart", "touching", "overlapping"):
        small, _, K, told = make(kind, 12_000)
        fits = dict(
            kmeans=KMeans(K, n_init=10, random_state=seed),
            rdp=RDPMeans(K, random_state=seed),
            tvclust=TVClust(K, random_state=seed),
        )
        for name in ("rdp", "tvclust"):  # compiled before the clock runs
            fits[name].fit(small, constraints=told)
        X, y, K, told = make(kind, n)
        base = None
        for name, est in fits.items():
            given = {} if name == "kmeans" else dict(constraints=told)
            cpu, _ = clock(lambda: est.fit(X, **given))
            base = base or cpu
            right = round(float(ari(y, est.labels_)), 4)
            yield n, kind, name, round(cpu, 2), round(cpu / base, 2), est.n_iter_, right


def pieces(n, seed):
    import dask.array as da

    from csc_nb.outgrow import fit_chunks

    X, y, K, told = make("touching", n)
    forms = {"array": X, "pieces": np.array_split(X, 8)}
    forms["dask"] = da.from_array(X, chunks=(-(-n // 8), 20))
    for form in ("array", "pieces"):  # compiled before the clock runs
        some = forms[form][:1] if form == "pieces" else X[:12_000]
        RDPMeans(K, random_state=0).fit(some)
    base = None
    for form, table in forms.items():
        est = RDPMeans(K, random_state=seed)
        if form == "array":
            fit = lambda: est.fit(X, constraints=told)
        else:
            fit = lambda: fit_chunks(est, table, constraints=told, max_rounds=5)
        cpu, _ = clock(lambda: np.asarray(fit().labels_))
        base = cpu if form == "pieces" else base
        right = round(float(ari(y, np.asarray(est.labels_))), 4)
        ratio = round(cpu / (base or cpu), 2)
        yield n, "touching", form, round(cpu, 2), ratio, est.n_iter_, right


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("result", nargs="?", default="in_memory.csv")
    ap.add_argument("--rows", type=int, default=400_000)
    ap.add_argument("--repeats", type=int, default=1)
    ap.add_argument("--pieces", action="store_true")
    args = ap.parse_args()
    warnings.simplefilter("ignore")
    found = []
    for seed in range(args.repeats):
        for row in (pieces if args.pieces else beside_kmeans)(args.rows, seed):
            found.append(row)
            print(dict(zip(FIELDS, row)), flush=True)
            with open(args.result, "w", newline="") as f:
                writer = csv.writer(f)
                writer.writerow(FIELDS)
                writer.writerows(found)


if __name__ == "__main__":
    main()
