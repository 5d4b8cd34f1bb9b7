"""The contract that every registered clusterer keeps, whatever chapter it comes from."""

import functools, inspect, pickle, warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from csc_nb.bag_table import Bags
from csc_nb.constraints import Constraints, Triplets
from csc_nb.estimators import ConstrainedClusterer, methods
from csc_nb.metrics import constraint_accuracy
from csc_nb.oracles import NoisyOracle

PASSIVE = {k: c for k, c in methods().items() if issubclass(c, ConstrainedClusterer)}
PAIRS = {k: c for k, c in PASSIVE.items() if "pairs" in c.side_information}
X, Y = make_blobs(60, centers=[[0, 0, 0], [4, 0, 0], [0, 4, 0]], random_state=0)
IDS = np.array([f"row{i:02d}" for i in range(len(X))])


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def make(cls):
    "The plain defaults, told the number of clusters and a seed and nothing else."
    takes = inspect.signature(cls.__init__).parameters
    say = dict(n_clusters=3, random_state=0)
    return cls(**{k: v for k, v in say.items() if k in takes})


def pairs(**kw):
    "Four of thirty are wrong and none contradict, so that methods that obey run too."
    return Constraints.from_labels(Y, n=30, noise=0.1, random_state=2, **kw)


def bags_of_four():
    bag = np.arange(len(X)) // 4
    names = [{"abc"[k] for k in Y[bag == b]} for b in range(bag.max() + 1)]
    return Bags(bag, names)


@functools.cache
def fitted(cls):
    "What every other fit of a class is compared with; nobody changes it."
    return make(cls).fit(X, constraints=pairs())


def same(a, b):
    np.testing.assert_array_equal(a.labels_, b.labels_)


@pytest.fixture(params=PASSIVE, ids=str)
def cls(request):
    return PASSIVE[request.param]


@pytest.fixture(params=PAIRS, ids=str)
def pair_cls(request):
    return PAIRS[request.param]


def test_some_methods_exist():
    assert {"rdp-means", "dp-means", "tvclust"} <= set(PASSIVE)


def test_sklearn_checks(cls):
    failed = [
        f"{r['check_name']}: {r['exception']}"
        for r in check_estimator(make(cls), on_fail=None, on_skip=None)
        if r["status"] == "failed"
    ]
    assert not failed, "\n".join(failed)


SIDE = {  # what a method is told, by the kind of help it takes
    "pairs": lambda: dict(constraints=pairs()),
    "scores": lambda: dict(scores=X[:, :1]),
    "bags": lambda: dict(bags=bags_of_four()),
    "triplets": lambda: dict(triplets=Triplets.from_labels(Y, n=20, random_state=1)),
}


@pytest.mark.parametrize("name", methods())
def test_the_plain_constructor_runs(name):
    "No argument at all, and the help that the method takes."
    cls = methods()[name]
    est = cls()
    if "questions" in cls.side_information:
        est.fit(X, oracle=NoisyOracle(Y, noise=0.1, random_state=0), budget=12)
    elif "labels" in cls.side_information:
        est.fit(X, np.eye(3, dtype=int)[Y])
        return
    else:
        help = [SIDE[kind]() for kind in cls.side_information]
        est.fit(X, **{k: v for part in help for k, v in part.items()})
    assert est.labels_.shape == (len(X),)


def test_attributes_without_side_information(cls):
    est = make(cls).fit(X)
    assert est.labels_.shape == (len(X),) and est.labels_.dtype.kind == "i"
    assert (
        est.n_clusters_ == len(np.unique(est.labels_))
        and est.labels_.min() == 0
        and est.labels_.max() == est.n_clusters_ - 1
    )
    assert est.n_iter_ >= 0 and len(est.objective_history_) >= 1


def test_what_comes_out_means_the_same_everywhere(pair_cls):
    "Objectives are costs; suspicion is a chance, suspects the likeliest wrong ones first."
    est = make(pair_cls).fit(X, constraints=pairs())
    cost = np.asarray(est.objective_history_, float)
    assert (np.diff(cost) <= 1e-9 * np.abs(cost[:-1]).max(initial=1)).all(), cost
    if "suspicion_" not in vars(est):
        assert "suspects_" not in vars(est)
        return
    chance = est.suspicion_
    assert len(chance) == 30 and chance.min() >= 0 and chance.max() <= 1
    assert set(est.suspects_) == set(np.flatnonzero(chance > 0.5))
    assert (np.diff(chance[est.suspects_]) <= 0).all()


def test_plain_defaults(cls):
    "As a user writes it: the number of clusters where one must be said, and a seed."
    needed = inspect.signature(cls.__init__).parameters
    how = {"n_clusters": 3} if "n_clusters" in needed else {}
    est = cls(**how, random_state=0)
    clean = Constraints.from_labels(Y, n=30, random_state=1)
    est.fit(X, **({"constraints": clean} if "pairs" in cls.side_information else {}))
    assert est.labels_.shape == (len(X),) and est.labels_.min() == 0
    assert 1 <= est.n_clusters_ == len(np.unique(est.labels_)) < len(X)
    assert np.isfinite(est.objective_history_).all()


def test_clone_and_pickle(pair_cls):
    est = fitted(pair_cls)
    same(clone(est).fit(X, constraints=pairs()), est)
    same(pickle.loads(pickle.dumps(est)), est)


def test_same_seed_same_result(pair_cls):
    same(make(pair_cls).fit(X, constraints=pairs()), fitted(pair_cls))


def test_n_jobs_does_not_change_the_result(pair_cls):
    if "n_jobs" not in inspect.signature(pair_cls.__init__).parameters:
        pytest.skip("has no n_jobs")
    same(make(pair_cls).set_params(n_jobs=2).fit(X, constraints=pairs()), fitted(pair_cls))


def test_inputs_of_every_kind(pair_cls, tmp_path):
    want = fitted(pair_cls)
    np.save(tmp_path / "x.npy", X)
    mm = np.load(tmp_path / "x.npy", mmap_mode="r")
    names = list("abc")
    for other in (
        pd.DataFrame(X, columns=names),
        pl.DataFrame(X, schema=names),
        mm,
        np.asfortranarray(X),
        X.tolist(),
    ):
        same(make(pair_cls).fit(other, constraints=pairs()), want)
    est = make(pair_cls).fit(X.astype(np.float32), constraints=pairs())
    assert est.labels_.shape == (len(X),)


def test_pairs_given_in_every_form(pair_cls):
    c, want = pairs(), fitted(pair_cls)
    forms = [(np.c_[c.a, c.b], c.value), dict(must=c.must, cannot=c.cannot), c.to_frame()]
    for f in forms[:1] + forms[2:]:
        same(make(pair_cls).fit(X, constraints=f), want)
    make(pair_cls).fit(X, constraints=forms[1])


def test_inputs_are_left_alone(pair_cls):
    Z, c = X.copy(), pairs()
    before = c.a.copy(), c.b.copy(), c.value.copy()
    make(pair_cls).fit(Z, constraints=c)
    np.testing.assert_array_equal(Z, X)
    for u, v in zip(before, (c.a, c.b, c.value)):
        np.testing.assert_array_equal(u, v)


def test_in_a_pipeline_with_and_without_routing(pair_cls):
    c = pairs()
    Z = StandardScaler().fit_transform(X)
    want = make(pair_cls).fit(Z, constraints=c)
    name = pair_cls.__name__.lower()
    pipe = make_pipeline(StandardScaler(), make(pair_cls)).fit(
        X, **{f"{name}__constraints": c}
    )
    same(pipe[-1], want)
    with config_context(enable_metadata_routing=True):
        pipe = make_pipeline(StandardScaler(), make(pair_cls)).fit(X, constraints=c)
    same(pipe[-1], want)


@pytest.mark.parametrize("routing", [False, True])
def test_grid_search_with_constraints(pair_cls, routing):
    "Rows are split; ids keep the pairs on the right rows, and no pair is silently lost."
    c = pairs(ids=IDS)
    grid = (
        {"n_clusters": [2, 3]}
        if "n_clusters" in inspect.signature(pair_cls.__init__).parameters
        else {"max_iter": [5, 10]}
    )
    score = lambda est, X, y=None: -len(np.unique(est.labels_))
    with config_context(enable_metadata_routing=routing):
        gs = GridSearchCV(
            make(pair_cls),
            grid,
            scoring=score,
            cv=KFold(2, shuffle=True, random_state=0),
            error_score="raise",
        )
        gs.fit(X, constraints=c, sample_id=IDS)
    same(
        gs.best_estimator_,
        make(pair_cls).set_params(**gs.best_params_).fit(X, constraints=c, sample_id=IDS),
    )


def test_positional_pairs_refuse_another_length(pair_cls):
    with pytest.raises(ValueError, match="60"):
        make(pair_cls).fit(X[:30], constraints=pairs())


def test_answers_help(pair_cls):
    "Many clean answers: at least as many are kept as by the same method without them."
    c = Constraints.from_labels(Y, n=150, random_state=0)
    kept = constraint_accuracy(make(pair_cls).fit(X, constraints=c).labels_, c)
    assert kept >= constraint_accuracy(make(pair_cls).fit(X).labels_, c) - 1e-12
    assert kept > 0.9


def test_import_has_no_side_effects_and_is_light():
    import subprocess, sys

    code = (
        "import numpy as np, sys; state = lambda: np.random.get_state()[1].tolist(); "
        "s, r = np.geterr(), state(); import csc_nb; "
        "assert np.geterr() == s and state() == r; "
        "from csc_nb import RDPMeans; assert np.geterr() == s; "
        "heavy = {'matplotlib', 'ipywidgets', 'IPython', 'nbdev', 'fastcore'}; "
        "bad = heavy & set(sys.modules); assert not bad, bad"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_broken_answers_by_looking_at_each():
    "One answer after the other; a don't-know is never broken."
    from csc_nb.estimators import broken_answers

    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 12)
    a, b = rng.integers(0, 6, 40), rng.integers(6, 12, 40)
    value = rng.integers(-1, 2, 40)
    want = set()
    for i, j, said in zip(a.tolist(), b.tolist(), value.tolist()):
        together = labels[i] == labels[j]
        if (said == 1 and not together) or (said == -1 and together):
            want.add((i, j, said))
    answers = Constraints(a, b, value, n_samples=12)
    found = {tuple(row) for row in broken_answers(labels, answers).tolist()}
    assert found == want and (value == 0).sum() > 5
