"""Every estimator passes scikit-learn's checks as it comes; no class is forgotten.

Registered clusterers are checked in test_contract.py, told K and a seed. Here are the
others: constructed with no argument at all.
"""

import importlib
import inspect
import pkgutil
import warnings

import pytest
from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import check_estimator

import csc_nb
from csc_nb.estimators import methods

ELSEWHERE = {  # checked with the peculiarities of their kind, in the tests of their page
    "LabelHierarchy": "test_hierarchy.py",
    "AnswerClustering": "test_answer_model.py",
    "AskWell": "test_ask_well.py",
    "CorrelationClustering": "test_correlation.py",
    "BayesianActiveClustering": "test_bayes_active.py",
    **dict.fromkeys("ITML LSML MMC RCA SparseLP".split(), "test_metric_baselines.py"),
}
NOTHING_TO_FIT = {  # a base that learns nothing by itself, or a helper without `fit`
    "ActiveLearner": "learners are derived from it",
    "ConstrainedClusterer": "clusterers are derived from it",
    "LinkedKMeans": "k-means with links are derived from it",
    "MetricLearner": "metrics are derived from it",
    "OnAnswers": "a wrapper: it needs an estimator",
    "ConstraintScorer": "a scorer: it has no fit",
    **dict.fromkeys("Form BayesForm NcobrasForm".split(), "settings inside a method"),
    "HasForm": "methods that have settings inside are derived from it",
    **dict.fromkeys("ExploreConsolidate MinMax NPU RandomPairs".split(), "chooses pairs"),
}
LABEL_SETS = {  # checks that call the second argument y, or feed one column of classes
    "check_fit_score_takes_y",
    "check_n_features_in_after_fitting",
    "check_estimators_dtypes",
    "check_classifier_data_not_an_array",
    "check_classifiers_one_label",
    "check_classifiers_classes",
    "check_classifier_multioutput",
    "check_classifiers_train",
    "check_classifiers_regression_target",
    "check_classifier_not_supporting_multiclass",
    "check_classifiers_multilabel_output_format_predict",
    "check_fit2d_1feature",
}
CANNOT_APPLY = {"FastTag": LABEL_SETS}
HERE = "FastTag FixedQuestions MetricKMeans VerifiedLearner CSPA SparseLPKMeans".split()
HERE += ["RandomPairLearner"]


def all_estimators():
    "Name → class, of every module of the package."
    found = {}
    for m in pkgutil.walk_packages(csc_nb.__path__, "csc_nb."):
        if m.name.rsplit(".", 1)[1].startswith("_"):
            continue
        for name, thing in vars(importlib.import_module(m.name)).items():
            own = inspect.isclass(thing) and thing.__module__ == m.name
            if own and issubclass(thing, BaseEstimator) and not name.startswith("_"):
                found[name] = thing
    return found


FOUND = all_estimators()


@pytest.mark.parametrize("name", HERE)
def test_passes_as_it_comes(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(FOUND[name](), on_fail=None, on_skip=None)
    failed = {
        r["check_name"]: str(r["exception"])[:200]
        for r in results
        if r["status"] == "failed" and r["check_name"] not in CANNOT_APPLY.get(name, set())
    }
    assert not failed, failed
    assert sum(r["status"] == "passed" for r in results) > 20


def test_no_estimator_is_forgotten():
    registered = {c.__name__ for c in methods().values()}
    known = {*registered, *HERE, *ELSEWHERE, *NOTHING_TO_FIT}
    assert not set(FOUND) - known
