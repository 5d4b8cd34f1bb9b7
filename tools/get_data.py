"""Where the data sets of the papers are, and those with a public home fetched on request.

python tools/get_data.py
    says for every set where it is or is to be had
python tools/get_data.py --to FOLDER [NAMES]
    fetches the named sets (all that can be) from OpenML

A fetched set is written only when its values have the checksum of the reference copy that
the
results of this book were made with (tools/data_digests.csv: rows in any order). Then set
CSC_NB_DATA to the folder. Nothing is fetched without --to.
"""

import argparse, csv, gzip, hashlib, io, sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
DIGESTS = Path(__file__).parent / "data_digests.csv"
sys.path.insert(0, str(ROOT))


def digest(X, y):
    "A checksum of rows and classes that does not depend on the order of the rows."
    classes = np.unique(np.asarray(y).astype(str), return_inverse=True)[1]
    rows = [",".join(f"{v:.6g}" for v in x) + f"|{c}" for x, c in zip(X, classes)]
    return hashlib.sha256("\n".join(sorted(rows)).encode()).hexdigest()


def known():
    "name → checksum of the reference copy."
    with open(DIGESTS, newline="", encoding="utf-8") as f:
        return {r["name"]: r["digest"] for r in csv.DictReader(f)}


def home(entry):
    "Where a set is to be had, in words."
    if entry["openml"]:
        return (
            f"OpenML {entry['openml']}: python tools/get_data.py --to FOLDER "
            f"{entry['name']}"
        )
    source = entry["source"]
    if source.startswith("github:"):
        return (
            f"GitHub repository {source[8:]}; to be converted to columns f0, f1, …, label"
        )
    return f"{source}; to be converted to columns f0, f1, …, label"


def as_csv(X, y):
    text = io.StringIO()
    w = csv.writer(text, lineterminator="\n")
    w.writerow([*(f"f{j}" for j in range(X.shape[1])), "label"])
    for x, c in zip(X, y):
        w.writerow([*("" if np.isnan(v) else repr(float(v)) for v in x), c])
    return text.getvalue().encode()


def fetch(name, folder, load):
    "Fetch one set, compare, write; a sentence about what happened."
    try:
        b = load(name)
    except Exception as e:
        return f"{name}: not fetched ({type(e).__name__}: {e})"
    names = getattr(b, "target_names", None)
    y = [names[c] for c in b.target] if names is not None else b.target
    if digest(b.data, b.target) != known().get(name):
        return f"{name}: fetched, but other values than our reference copy; not written"
    path = Path(folder) / f"{name}.csv.gz"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(as_csv(b.data, y), mtime=0))
    return f"{name}: written to {path}"


def main(argv=None):
    from csc_nb.datasets import available, dataset_index, load

    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("names", nargs="*")
    p.add_argument("--to", metavar="FOLDER")
    a = p.parse_args(argv)
    index = dataset_index()
    strange = [n for n in a.names if n not in index]
    if strange:
        p.error(f"no set {strange[0]!r}; python tools/get_data.py lists all")
    if a.to:
        wanted = a.names or [
            n for n, r in index.items() if r["openml"] and not r["shipped"]
        ]
        for name in wanted:
            if index[name]["openml"]:
                print(fetch(name, a.to, lambda n: load(n, origin="openml")))
            else:
                print(f"{name}: cannot be fetched from here. {home(index[name])}")
        return
    for r in available():
        here = r["where"] in ("shipped", "folder")
        if not a.names or r["name"] in a.names:
            print(
                f"{r['name']:24}", "here: " + r["where"] if here else home(index[r["name"]])
            )


if __name__ == "__main__":
    main()
