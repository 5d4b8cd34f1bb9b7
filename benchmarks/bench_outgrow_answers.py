"""Answers in parts: CPU seconds, peak memory, against the same answers in memory.

python benchmarks/bench_outgrow_answers.py [RESULT.csv] [--answers 1000000 10000000]
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

ANNOTATORS, A_QUESTION = 10_000, 5
FIELDS = ["answers", "judge", "form", "read_s", "cpu_s", "rounds", "peak_mb", "right"]


def make(folder, m, seed=0):
    "Parquet files of answers: five a question, some annotators better than others."
    import pandas as pd

    rng = np.random.default_rng(seed)
    questions, items = m // A_QUESTION, m // 50
    y = rng.integers(0, items // 10, items)
    a = rng.integers(0, items, questions)
    by_cluster = np.argsort(y, kind="stable")  # half of the partners come from a's cluster
    start = np.searchsorted(y[by_cluster], y[a])
    size = np.bincount(y, minlength=items)[y[a]]
    friend = by_cluster[start + (rng.random(questions) * size).astype(int)]
    b = np.where(rng.random(questions) < 0.5, friend, rng.integers(0, items, questions))
    b = np.where(a == b, (b + 1) % items, b)
    right = rng.beta(8, 2, ANNOTATORS)
    for part, s in enumerate(range(0, m, 1_000_000)):
        q = rng.integers(0, questions, min(1_000_000, m - s))
        who = rng.integers(0, ANNOTATORS, len(q))
        ok = rng.random(len(q)) < right[who]
        same = (y[a[q]] == y[b[q]]) == ok
        pd.DataFrame(
            dict(a=a[q], b=b[q], answer=np.where(same, "same", "different"), annotator=who)
        ).to_parquet(folder / f"part.{part:03d}.parquet")
    np.savez(folder.parent / "truth.npz", y=y)


def peak():
    "Largest resident memory so far, in MB."
    text = Path("/proc/self/status").read_text()
    return int(text.split("VmHWM:")[1].split()[0]) / 1024


def one(folder, judge, form):
    "One fit in a process of its own."
    import warnings

    from csc_nb import AnswerClustering, Constraints, CorrelationClustering
    from csc_nb.baselines.crowd import dawid_skene
    from csc_nb.outgrow_answers import AnswerParts, stream_answers

    warnings.simplefilter("ignore")
    start = time.process_time()
    told = (AnswerParts if form == "parts" else stream_answers)(folder, ids=False)
    read = time.process_time() - start
    y = np.load(Path(folder).parent / "truth.npz")["y"][np.asarray(told.items, int)]
    start = time.process_time()
    if judge == "answers":
        est = AnswerClustering(grouping="alone", n_init=1).fit(None, answers=told)
        rounds, said = est.n_iter_, est.question_proba_[:, 1] > 0.5
        pairs = told.pairs if form == "parts" else est.fits_["pair"][0].pairs
    elif judge == "dawid-skene":
        if form == "memory":
            value = np.where(told.response < 0, 0, 2 * told.response.astype(int) - 1)
            told = Constraints(*told.rows[:2], value, expert=told.annotator)
        ds = dawid_skene(told, tol=1e-6)
        rounds, said, pairs = len(ds.history), ds.posterior > 0.5, np.c_[ds.a, ds.b]
    else:
        est = CorrelationClustering(exact=False, n_init=1).fit(told)
        rounds, pairs = 0, told.pairs
        said = est.labels_[pairs[:, 0]] == est.labels_[pairs[:, 1]]
    cpu = time.process_time() - start
    right = float((said == (y[pairs[:, 0]] == y[pairs[:, 1]])).mean())
    print(json.dumps(dict(read=read, cpu=cpu, rounds=rounds, peak=peak(), right=right)))


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("result", nargs="?", default="outgrow_answers.csv")
    ap.add_argument("--answers", type=int, nargs="+", default=[1_000_000, 10_000_000])
    ap.add_argument("--judges", nargs="+", default=["answers", "dawid-skene"])
    ap.add_argument("--forms", nargs="+", default=["parts", "memory"])
    ap.add_argument("--one", nargs=3)
    args = ap.parse_args()
    if args.one:
        return one(*args.one)
    found = []
    for m in args.answers:
        with tempfile.TemporaryDirectory() as tmp:
            folder = Path(tmp) / "said"
            folder.mkdir()
            make(folder, m)
            for judge in args.judges:
                for form in args.forms:
                    run = subprocess.run(
                        [sys.executable, __file__, "--one", folder, judge, form],
                        capture_output=True,
                        text=True,
                    )
                    if run.returncode:
                        print(run.stderr[-2000:], flush=True)
                        continue
                    r = json.loads(run.stdout.splitlines()[-1])
                    row = [m, judge, form, round(r["read"], 1), round(r["cpu"], 1),
                           r["rounds"], round(r["peak"]), round(r["right"], 4)]  # fmt: skip
                    found.append(dict(zip(FIELDS, row)))
                    print(found[-1], flush=True)
                    with open(args.result, "w", newline="") as f:
                        writer = csv.DictWriter(f, FIELDS)
                        writer.writeheader()
                        writer.writerows(found)


if __name__ == "__main__":
    main()
