"""Are a study's committed rows still what the code gives? `python tools/same_rows.py`.

Recomputes tasks of the comparison's first seed into a temporary file and compares every
score with the committed one, digit for digit. `--sets iris wine`, `--noise 0.1`,
`--methods dc cobras`, `--config published` choose; `--rows FILE` compares a file that is
there already instead of computing. A method whose rows differ must stand in CHANGED, with
the reason; anything else is a failure. `--table` keeps the outcome in
nbs/experiments/results/same_rows.csv.
"""

import argparse
import csv
import sys
import tempfile
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CONFIGS = ROOT / "nbs" / "experiments" / "configs"
SPACE = "its space and shape of clusters are chosen by hidden answers now"
SORTED = (
    "sorts rows and answers inside now, so that their order does not matter: other draws"
)
FAMILY = "cop-kmeans pck-means mpck-means cvqe lcvqe seeded-kmeans constrained-kmeans"
FAMILY += " constrained-em crowd-vote cosc itml lsml mmc rca semicrowd"
FAMILY += " flexible-spectral spectral spectral-learning spectral-regularization"
CHANGED = {  # method → why its committed rows differ from today's; see CHANGELOG.md
    **dict.fromkeys(FAMILY.split(), SORTED),
    "tvclust": f"{SPACE}, and a study tells it K",
    "rdp-means": SPACE,
    "experts": "its weight and penalty are chosen by hidden answers now",
    "ncobras": "lists all cheap sets of a large block now; unsure parts stay together",
}


def recomputed(conf, out, args):
    "Rows of the chosen tasks, freshly computed."
    from csc_nb.sweeps import sweep

    given = {k: v for k, v in conf.get("params", {}).items() if k in args.methods}
    chosen = dict(methods=args.methods, datasets=args.sets, noise=args.noise)
    chosen |= dict(seeds=[0], params=given, out=out)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sweep(**{**conf, **chosen}, n_jobs=1, progress=False)


def differences(new, old, columns):
    "(method) → equal rows, all rows, largest difference in ARI; only tasks in both."
    found = {}
    for key, row in new.items():
        if key not in old:
            continue
        same = all(row[c] == old[key][c] for c in columns)
        gap = abs(float(row["ari"] or 0) - float(old[key]["ari"] or 0))
        equal, total, most = found.get(key[0], (0, 0, 0.0))
        found[key[0]] = equal + same, total + 1, max(most, gap)
    return found


def keep(found, args, path=CONFIGS.parent / "results" / "same_rows.csv"):
    "The outcome as a table beside the results."
    about = dict(sets=" ".join(args.sets), noise=" ".join(map(str, args.noise)), seed=0)
    with open(path, "w", newline="", encoding="utf-8") as f:
        names = ["method", "equal", "rows", "ari_off", *about, "reason"]
        out = csv.DictWriter(f, names, lineterminator="\n")
        out.writeheader()
        for method, (equal, total, most) in sorted(found.items()):
            why = "" if equal == total else CHANGED.get(method, "")
            row = dict(method=method, equal=equal, rows=total, ari_off=f"{most:.6f}")
            out.writerow(row | about | dict(reason=why))


def report(found):
    "Print a line for each method; True when every difference has a reason."
    fine = True
    for method, (equal, total, most) in sorted(found.items()):
        why = ""
        if equal < total:
            why = CHANGED.get(method, "NO REASON IS KNOWN")
            fine = fine and method in CHANGED
        print(
            f"{method:26} {equal:4} of {total:4} rows equal, ARI off by {most:.6f}  {why}"
        )
    print(f"{sum(f[0] == f[1] for f in found.values())} of {len(found)} methods unchanged")
    return fine


def main():
    from csc_nb.sweeps import read_config, read_rows, resolve

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", default="comparison")
    parser.add_argument("--sets", nargs="+", default=["iris", "wine", "glass"])
    parser.add_argument("--noise", nargs="+", type=float, default=[0.1])
    parser.add_argument("--methods", nargs="+")
    parser.add_argument("--table", action="store_true", help="keep the outcome")
    parser.add_argument("--rows", help="a file to compare instead of computing")
    args = parser.parse_args()
    conf = read_config(CONFIGS / f"{args.config}.toml")
    args.methods = args.methods or list(resolve(conf["methods"], conf.get("params")))
    columns = ["n", "d", "k", "answers", "clusters", *conf["metrics"], "status"]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(args.rows or Path(folder) / "new.csv")
        if not args.rows:
            recomputed(conf, out, args)
        found = differences(read_rows(out), read_rows(conf["out"]), columns)
    if not found:
        sys.exit("no task of these is in the committed file")
    if args.table:
        keep(found, args)
    sys.exit(not report(found))


if __name__ == "__main__":
    main()
