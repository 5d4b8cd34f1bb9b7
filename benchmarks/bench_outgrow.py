"""Fits of tables on disk: CPU seconds a pass, peak memory, ratio to MiniBatchKMeans.

python benchmarks/bench_outgrow.py [RESULT.csv] [--rows 100000 1000000 10000000]
"""

import argparse
import csv
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

COLUMNS = 20
CLUSTERS = 5
FIELDS = ["rows", "method", "passes", "cpu_s", "cpu_s_a_pass", "peak_mb", "ratio", "agree"]


def make(path, n, seed=0):
    "Five overlapping groups on disk, written in pieces."
    rng = np.random.default_rng(seed)
    centres = rng.normal(0, 1.2, (CLUSTERS, COLUMNS))
    out = np.lib.format.open_memmap(path, "w+", dtype=np.float64, shape=(n, COLUMNS))
    truth = rng.integers(0, CLUSTERS, n).astype(np.int8)
    for s in range(0, n, 200_000):
        z = truth[s : s + 200_000]
        out[s : s + 200_000] = centres[z] + rng.normal(size=(len(z), COLUMNS))
    out.flush()
    return truth


def peak():
    "Largest resident memory so far, in MB."
    text = Path("/proc/self/status").read_text()
    return int(text.split("VmHWM:")[1].split()[0]) / 1024


def one(path, truth_path, method):
    "One fit in a process of its own."
    import warnings

    from csc_nb import Constraints, RDPMeans, TVClust
    from csc_nb.metrics import ari
    from csc_nb.outgrow import Chunks, fit_chunks

    warnings.simplefilter("ignore")
    truth = np.load(truth_path, mmap_mode="r")
    chunks = Chunks(path)
    rng = np.random.default_rng(1)
    pairs = rng.choice(len(truth), (2500, 2), replace=False)
    value = np.where(truth[pairs[:, 0]] == truth[pairs[:, 1]], 1, -1)
    value = np.where(rng.random(len(value)) < 0.05, -value, value)
    said = Constraints(pairs[:, 0], pairs[:, 1], value, n_samples=len(truth))
    if method == "minibatch":
        from sklearn.cluster import MiniBatchKMeans

        km = MiniBatchKMeans(CLUSTERS, random_state=0, n_init=1)
        start = time.process_time()
        for piece in chunks.pieces:
            rows = piece.load()
            for s in range(0, len(rows), 10_000):
                km.partial_fit(rows[s : s + 10_000])
        cpu = time.process_time() - start
        print(json.dumps(dict(passes=1, cpu=cpu, a_pass=cpu, peak=peak(), agree=0)))
        return
    est = dict(
        rdp=RDPMeans(CLUSTERS, random_state=0),
        tvclust=TVClust(CLUSTERS, random_state=0, n_init=1),
    )[method]
    ticks = []
    chunks.on_pass = lambda number: ticks.append(time.process_time())
    start = time.process_time()
    fit_chunks(est, chunks, constraints=said, max_rounds=5)
    cpu = time.process_time() - start
    rounds = np.diff(ticks)[-est.n_iter_ :] if len(ticks) > 1 else [cpu]
    some = slice(0, 200_000)
    agree = ari(np.asarray(truth[some]), est.labels_[some])
    print(
        json.dumps(
            dict(passes=chunks.passes, cpu=cpu, a_pass=float(np.median(rounds)),
                 peak=peak(), agree=round(float(agree), 4))
        )
    )  # fmt: skip


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("result", nargs="?", default="outgrow_growth.csv")
    ap.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000, 10_000_000])
    ap.add_argument("--one", nargs=3)
    args = ap.parse_args()
    if args.one:
        return one(*args.one)
    found = []
    for n in args.rows:
        with tempfile.TemporaryDirectory() as tmp:
            table, truth = Path(tmp) / "x.npy", Path(tmp) / "y.npy"
            np.save(truth, make(table, n))
            base = None
            for method in ("minibatch", "rdp", "tvclust"):
                run = subprocess.run(
                    [sys.executable, __file__, "--one", table, truth, method],
                    capture_output=True,
                    text=True,
                    check=True,
                )
                r = json.loads(run.stdout.splitlines()[-1])
                base = base or r["a_pass"]
                row = [n, method, r["passes"], round(r["cpu"], 2), round(r["a_pass"], 3),
                       round(r["peak"]), round(r["a_pass"] / base, 2), r["agree"]]  # fmt: skip
                found.append(dict(zip(FIELDS, row)))
                print(found[-1], flush=True)
    with open(args.result, "w", newline="") as f:
        writer = csv.DictWriter(f, FIELDS)
        writer.writeheader()
        writer.writerows(found)


if __name__ == "__main__":
    main()
