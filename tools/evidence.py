"""csc_nb/data/evidence.csv from the result files of the comparison: what `recommend` goes
by.

`python tools/evidence.py` writes it, `--check` fails when it is stale. Only cells (set,
share of wrong answers, seed)
that were run for every method are used, so that all means are over the same fits.
"""

import csv
import statistics
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from csc_nb.comparison import of_today  # noqa: E402

RESULTS = ROOT / "nbs" / "experiments" / "results"
TARGET = ROOT / "csc_nb" / "data" / "evidence.csv"
HEAD = "method,wrong,ari,se,sets,fits,above_kmeans,finds_k".split(",")


def results():
    "method → (set, share of wrong answers, seed) → (ari, clusters found, classes)"
    found = defaultdict(dict)
    with open(RESULTS / "comparison.csv", newline="") as f:
        rows, _ = of_today([r for r in csv.DictReader(f) if r["status"] == "ok"])
    for r in rows:
        cell = (r["dataset"], float(r["noise"]), int(r["seed"]))
        found[r["method"]][cell] = float(r["ari"]), r["clusters"] == r["k"]
    with open(RESULTS / "items_comparison.csv", newline="") as f:
        for r in csv.DictReader(f):
            cell = (r["dataset"], float(r["noise"]), int(r["seed"]))
            found["answers"][cell] = float(r["ari"]), True  # it was told K
    return found


def summary():
    "Rows of the file."
    found = results()
    common = set.intersection(*(set(cells) for cells in found.values()))
    rows = []
    for method in sorted(found):
        for wrong in sorted({c[1] for c in common}):
            cells = [c for c in common if c[1] == wrong]
            by_set = defaultdict(list)
            for c in cells:
                by_set[c[0]].append(found[method][c][0])
            means = [statistics.fmean(v) for v in by_set.values()]
            kmeans = [found["k-means"][c][0] for c in cells]
            mine = [found[method][c][0] for c in cells]
            above = statistics.fmean(a - b for a, b in zip(mine, kmeans))
            right = statistics.fmean(found[method][c][1] for c in cells)
            se = statistics.stdev(means) / len(means) ** 0.5
            ari = statistics.fmean(mine)
            numbers = [f"{v:.4f}" for v in (ari, se)] + [len(by_set), len(cells)]
            rows.append([method, wrong, *numbers, f"{above:.4f}", f"{right:.3f}"])
    return rows


def text():
    lines = [HEAD, *summary()]
    return "".join(",".join(map(str, r)) + "\n" for r in lines)


if __name__ == "__main__":
    if "--check" in sys.argv:
        if TARGET.read_text() != text():
            sys.exit("csc_nb/data/evidence.csv is stale: run `python tools/evidence.py`.")
    else:
        TARGET.write_text(text())
