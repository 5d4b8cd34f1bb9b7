"""Answers built, checked and closed: `python benchmarks/bench_answers_layer.py [--big]`.

Seconds and peak memory for 10^6 answers about pairs (10^7 with `--big`), each step in a
process of its own, as a ratio to numpy sorting the same pairs in that process. Peak memory
contains the interpreter and the libraries, which the first line shows. Nothing asserts.
"""

import argparse
import multiprocessing
import resource
import time

import numpy as np


def clock(f):
    "What `f` returns, and its wall and CPU seconds."
    wall, cpu = time.perf_counter(), time.process_time()
    out = f()
    return out, time.perf_counter() - wall, time.process_time() - cpu


def peak():
    "Peak memory of this process in GB."
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def make_pairs(m, seed=0):
    "Pairs of rows and the true answer: m / 10 rows in groups of about 50."
    rng = np.random.default_rng(seed)
    n = max(m // 10, 100)
    label = rng.integers(0, n // 50, n)
    a = rng.integers(0, n, m)
    b = rng.integers(0, n - 1, m)
    b += b >= a
    near = rng.random(m) < 0.5
    order = np.argsort(label, kind="stable")
    place = np.argsort(order)
    partner = order[(place[a] + 1) % n]
    b = np.where(near, partner, b)
    value = np.where(label[a] == label[b], 1, -1)
    return a, b, value, n


def sort_pairs(a, b, n):
    "The yardstick: the same pairs as sorted whole numbers."
    return np.sort(np.minimum(a, b) * n + np.maximum(a, b))


def closed_constraints(a, b, value, n):
    from csc_nb.constraints import Constraints

    c = Constraints(a, b, value, n_samples=n, value_kind="pm1")
    report = c.check()
    assert report.ok
    return c.closure()


def table(a, b, value, n):
    from csc_nb.answer_table import Answers

    return Answers(a, b, value, n_samples=n, value_kind="pm1")


def table_of_many(a, b, value, n):
    from csc_nb.answer_table import Answers

    who = np.arange(len(a)) % 100
    words = np.array(["different", "unsure", "same"], object)[value + 1]
    return Answers(a, b, words, annotator=who, weight=np.ones(len(a)), n_samples=n)


def table_closed(a, b, value, n):
    c = table(a, b, value, n).to_constraints()
    assert c.check().ok
    return c.closure()


STEPS = {
    "libraries and pairs, sorted": None,
    "Constraints built, checked, closed": closed_constraints,
    "Answers built": table,
    "Answers built: words, 100 annotators, weights": table_of_many,
    "Answers → Constraints, checked, closed": table_closed,
}


def one(step, m, repeats):
    "One line: the median of the repeats, each beside a sort in the same process."
    import csc_nb.answer_table  # noqa: F401
    import csc_nb.constraints  # noqa: F401

    f = STEPS[step]
    if f is not None:
        f(*make_pairs(1000))  # compiles
    data = make_pairs(m)
    a, b, _, n = data
    sort_pairs(a, b, n)
    walls, cpus, ratios = [], [], []
    for _ in range(repeats):
        _, _, sort_cpu = clock(lambda: sort_pairs(a, b, n))
        wall, cpu = 0.0, sort_cpu
        if f is not None:
            out, wall, cpu = clock(lambda: f(*data))
            del out
        walls.append(wall)
        cpus.append(cpu)
        ratios.append(cpu / sort_cpu)
    print(
        f"{step:<48s} {np.median(cpus):7.2f} s cpu ({min(cpus):.2f}–{max(cpus):.2f}) "
        f"{np.median(ratios):6.1f} × sort  {peak():5.2f} GB peak",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--big", action="store_true", help="10^7 answers, once")
    parser.add_argument("--quick", action="store_true", help="10^4 answers, once")
    args = parser.parse_args()
    m, repeats = (10**7, 1) if args.big else (10**4, 1) if args.quick else (10**6, 5)
    print(f"{m:,} answers about {max(m // 10, 100):,} rows; {repeats} repeats")
    context = multiprocessing.get_context("spawn")
    for step in STEPS:
        process = context.Process(target=one, args=(step, m, repeats))
        process.start()
        process.join()
        if process.exitcode:
            print(f"{step}: stopped with exit code {process.exitcode}")


if __name__ == "__main__":
    main()
