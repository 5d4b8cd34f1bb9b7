"""Do 25 answers end no worse than k-means told K, and no worse than the learner's own
clusters? Ten sets, K told and found, all answers right or one in ten wrong.

`python benchmarks/quality_labelling.py OUT.csv [--seeds 440 441] [--answers 25]`: rows
that are in OUT.csv are not run again. The sets: the gallery's four, and the first six of
the comparison. `--others` takes ten further sets, on which nothing was ever chosen;
`--choice` the 28 on which the rule was chosen.
"""

import argparse
import warnings
from functools import lru_cache
from pathlib import Path

import nbformat
import numpy as np
from sklearn.cluster import KMeans

from csc_nb.datasets import load
from csc_nb.labelling import AskPairs, _block
from csc_nb.metrics import ari
from csc_nb.ncobras import NCOBRAS
from csc_nb.oracles import NoisyOracle
from csc_nb.sweeps import cross, experiment

ROOT = Path(__file__).resolve().parent.parent
COMPARISON = ("iris", "wine", "newthyroid", "glass", "ecoli", "heart_statlog")
OTHERS = "column_2C breast_cancer_wisconsin parkinsons sonar crabs_species".split()
OTHERS += "pendigits389 optdigits389 transfusion yeast fertility".split()
CHOICE = "hepatitis dermatology ionosphere balance_scale breast_cancer_wdbc pima".split()
CHOICE += "msrcv2_six segmentation letters_ijlt satimage spambase".split()
CHOICE += "ng20_sim3 ng20_diff3".split()
SMALL = "segmentation dermatology letters_ijlt breast_cancer_wdbc msrcv2_six".split()
FIELDS = "set seed noise given n K answers ari kmeans learner clusters".split()


def gallery():
    "The four collections of the gallery, made by its own cells."
    wanted = ("rows = pd.DataFrame", "TEXTS = {", "TEXTS |=", "texts = (", "pictures, y_")
    book = nbformat.read(ROOT / "nbs" / "30c_gallery.ipynb", 4)
    code = [c.source for c in book.cells if c.cell_type == "code"]
    room = {}
    exec(code[0], room)
    for source in code[1:]:
        if any(w in source for w in (*wanted, "curves, y_series = (")):
            kept = source.split("session = answer")[0].split("out = []")[0]
            if "for name, (data" not in source:
                exec(kept, room)
    yield "gallery rows", room["rows"], room["y_rows"], dict(id="bottle")
    yield "gallery texts", room["texts"][["text"]], room["y_texts"], {}
    yield "gallery pictures", room["pictures"], room["y_pics"], {}
    yield "gallery series", room["curves"], room["y_series"], {}


def tables(names=COMPARISON, most=300):
    "Sets that are on the machine, at most 300 rows of each."
    for name in names:
        b = load(name)
        y = np.unique(b.target, return_inverse=True)[1]
        pick = np.sort(np.random.default_rng(0).permutation(len(y))[:most])
        data = {f"x{j}": b.data[pick, j] for j in range(b.data.shape[1])}
        yield name, data, y[pick], {}


def choice():
    "The sets on which the rule of the clusters was chosen: tables, texts, few rows."
    yield from tables(CHOICE)
    b = load("ng20_2000")
    kind = np.unique(b.target, return_inverse=True)[1]
    for k in range(10):  # forty texts of four groups
        rng = np.random.default_rng(1000 + k)
        groups = rng.choice(kind.max() + 1, 4, replace=False)
        rows = [rng.choice(np.flatnonzero(kind == c), 10, replace=False) for c in groups]
        rows = rng.permutation(np.concatenate(rows))
        y = np.unique(kind[rows], return_inverse=True)[1]
        X = np.round(_block(b.data[rows], d=8), 4)
        yield f"texts {k}", dict(row=np.arange(40)), y, dict(features=X)
    for k, name in enumerate(SMALL):
        b = load(name)
        rows = np.random.default_rng(k).permutation(len(b.target))[:40]
        data = {f"x{j}": b.data[rows, j] for j in range(b.data.shape[1])}
        yield (
            f"forty of {name}",
            data,
            np.unique(b.target[rows], return_inverse=True)[1],
            {},
        )


def answered(data, y, kw, seed, noise, answers):
    "A session with the answers of one person, wrong with chance `noise`."
    s = AskPairs(data, log=None, learner=NCOBRAS(random_state=seed), **kw)
    person = NoisyOracle(y, noise=noise, random_state=seed)
    while s.turn is not None and len(s.said) < answers:
        s.answer(s.turn.id, person(s.turn.query))
    return s


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("out")
    ap.add_argument("--seeds", type=int, nargs="+", default=list(range(440, 445)))
    ap.add_argument("--answers", type=int, default=25)
    ap.add_argument("--others", action="store_true", help="ten further sets")
    ap.add_argument("--choice", action="store_true", help="those the rule was chosen on")
    args = ap.parse_args()
    warnings.simplefilter("ignore")
    found = tables(OTHERS) if args.others else choice() if args.choice else ()
    found = found or (*gallery(), *tables())
    sets = {name: rest for name, *rest in found}

    @lru_cache(maxsize=1)
    def session(seed, set, noise):  # the questions do not depend on K
        data, y, kw = sets[set]
        return answered(data, y, kw, seed, noise, args.answers)

    def row(seed, set, noise, given):
        s, y = session(seed, set, noise), sets[set][1]
        K = len({*y})
        s.n_clusters = K if given == "K told" else None
        s._seen.clear()
        k = KMeans(K, n_init=10, random_state=seed).fit(s.items.X).labels_
        found = dict(ari=s.labels, kmeans=k, learner=s.learner.labels_)
        scores = {name: f"{ari(y, z):.4f}" for name, z in found.items()}
        sizes = dict(n=len(y), K=K, answers=len(s.said))
        return sizes | scores | dict(clusters=len(np.unique(s.labels)))

    told = ("K told", "K found")
    tasks = cross(seed=args.seeds, set=list(sets), noise=(0.0, 0.1), given=told)
    experiment(row, tasks, args.out, columns=FIELDS, n_jobs=1)


if __name__ == "__main__":
    main()
