"""Time and memory of correlation clustering: `python benchmarks/bench_correlation.py
[--quick] [--save FILE]`.

Every case runs in a process of its own; peak memory is that of the process, libraries
included.
"""

import argparse
import multiprocessing as mp
import resource
import time
from pathlib import Path

from csc_nb.sweeps import experiment

CASES = [
    (10_000, 100_000, "given"),
    (10_000, 100_000, "learned"),
    (100_000, 1_000_000, "given"),
    (100_000, 1_000_000, "learned"),
]
HEAD = "items answers weights seconds cpu_s peak_mb certificate ari".split()


def many_answers(n, m, wrong=0.1, size=10, seed=0):
    "Clusters of `size` items, five people; asked are items that a search put near."
    import numpy as np

    rng = np.random.default_rng(seed)
    y = np.arange(n) // size
    a = rng.integers(n, size=m)
    step = rng.integers(1, 2 * size, size=m) * rng.choice([-1, 1], size=m)
    b = (a + step) % n
    who = rng.integers(5, size=m)
    lie = rng.random(m) < wrong * np.array([0.2, 0.6, 1.0, 1.4, 1.8])[who]
    return y, a, b, (y[a] == y[b]) ^ lie, who


def case(n, m, weights):
    "Fit once after a small fit that compiles the kernels; one row of results."
    import numpy as np
    from sklearn.metrics import adjusted_rand_score

    from csc_nb.answer_table import Answers
    from csc_nb.correlation import CorrelationClustering

    def table(n, m):
        y, a, b, same, who = many_answers(n, m)
        words = np.where(same, "same", "different")
        return y, Answers(a, b, words, annotator=who, ids=True)

    warm = table(300, 3000)[1]
    CorrelationClustering(weights, time_limit=1).fit(warm)
    y, A = table(n, m)
    start, cpu = time.perf_counter(), time.process_time()
    model = CorrelationClustering(weights, time_limit=5).fit(A)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    score = adjusted_rand_score(y[model.items_], model.labels_)
    return dict(
        seconds=f"{seconds:.1f}",
        cpu_s=f"{cpu:.1f}",
        peak_mb=f"{peak:.0f}",
        certificate=model.certificate_,
        ari=f"{score:.3f}",
    )


def alone(items, answers, weights):
    "One case in a process of its own."
    with mp.get_context("spawn").Pool(1) as pool:
        row = pool.apply(case, (items, answers, weights))
    print(items, answers, weights, *row.values(), sep="\t", flush=True)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small cases only")
    parser.add_argument("--save", type=Path, help="CSV file to complete")
    args = parser.parse_args()
    cases = [c for c in CASES if c[0] <= 10_000 or not args.quick]
    tasks = [dict(zip(HEAD[:3], c)) for c in cases]
    print(*HEAD, sep="\t")
    experiment(alone, tasks, args.save, columns=HEAD, n_jobs=1)


if __name__ == "__main__":
    main()
