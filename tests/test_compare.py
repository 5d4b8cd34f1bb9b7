"""`compare` gives the same rows in one process and in two, and every repeat its own
answers."""

import numpy as np
from sklearn.cluster import KMeans

from csc_nb.comparison import compare, run_task, task_seed
from csc_nb.constraints import Constraints
from csc_nb.datasets import load
from csc_nb.estimators import ConstrainedClusterer

strip = lambda s: [{k: v for k, v in r.items() if k != "seconds"} for r in s.rows]


def test_processes_do_not_change_a_study():
    iris = load("iris")
    how = dict(noise=(0.0, 0.2), repeats=2)
    one, two = (
        compare(["rdp-means"], iris.data, iris.target, **how, n_jobs=j) for j in (1, 2)
    )
    assert strip(one) == strip(two)


class Heard(ConstrainedClusterer):
    "Labels that tell which answers were heard."

    def fit(self, X, y=None, *, constraints=None, sample_id=None):
        self.labels_ = np.zeros(len(X), int)
        self.labels_[constraints.a] = 1
        self.labels_[constraints.b[constraints.value > 0]] = 2
        return self


def test_every_repeat_and_level_has_answers_of_its_own():
    "Repeats on one seed would be copies: a spread of zero that means nothing."
    X, y = np.arange(60.0).reshape(30, 2), np.arange(30) % 3
    s = compare({"heard": Heard()}, X, y, noise=(0.0, 0.1), n_constraints=12, repeats=4)
    seen = [(r["ari"], r["nmi"]) for r in s.rows if r["method"] == "heard"]
    assert len(seen) == 8 and len(set(seen)) == 8
    assert len({task_seed(0, i, r) for i in range(5) for r in range(20)}) == 100


def test_methods_of_a_task_share_the_answers():
    X, y = np.arange(60.0).reshape(30, 2), np.arange(30) % 3
    s = compare(
        {"a": Heard(), "b": Heard()}, X, y, noise=(0.2,), n_constraints=12, repeats=3
    )
    score = {(r["method"], r["repeat"]): r["ari"] for r in s.rows}
    assert all(score["a", r] == score["b", r] for r in range(3))


def test_rows_are_those_of_a_naive_loop():
    "The engine adds nothing: a loop over levels and repeats gives the same numbers."
    X, y = load("iris").data, load("iris").target
    got = compare(["pck-means"], X, y, noise=(0.0, 0.3), n_constraints=40, repeats=2)
    from csc_nb.baselines import PCKMeans

    for r in got.rows:
        seed = task_seed(0, [0.0, 0.3].index(r["noise"]), r["repeat"])
        c = Constraints.from_labels(y, n=40, noise=r["noise"], random_state=seed)
        est = PCKMeans(3, random_state=0) if r["method"] == "pck-means" else None
        km = KMeans(3, n_init=10, random_state=0)
        labels = km.fit(X).labels_ if est is None else est.fit(X, constraints=c).labels_
        assert r["k"] == len(np.unique(labels))
        row = run_task({"x": est or km}, X, y, 40, noise=r["noise"], repeat=0, seed=seed)[0]
        assert row["ari"] == r["ari"] and row["kept"] == r["kept"]
