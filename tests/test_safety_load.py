"""Large problems finish, or are refused before the work begins; no n × n array is made.

The loads of the slow test run one at a time, each in a process of its own that may take
4 GB and 15 minutes of processor time.
"""

import resource
import subprocess
import sys
import tracemalloc
import warnings

import numpy as np
import pytest

from csc_nb.constraints import Constraints
from csc_nb.estimators import ConstrainedClusterer, check_room, free_memory, methods
from csc_nb.oracles import ActiveLearner, NoisyOracle
from csc_nb.sweeps import for_study

ALL = {k: c for k, c in methods().items() if issubclass(c, ConstrainedClusterer)}
ACTIVE = {k: c for k, c in ALL.items() if issubclass(c, ActiveLearner)}
PAIRS = {k: c for k, c in ALL.items() if k not in ACTIVE and "pairs" in c.side_information}
LOADS = {  # rows, columns, answers, clusters
    "rows": (100_000, 10, 10_000, 10),
    "answers": (2_000, 10, 1_000_000, 10),
    "columns": (300, 5_000, 1_000, 5),
    "clusters": (5_000, 10, 5_000, 200),
}


def problem(n, d, m, K, noise=0.05):
    rng = np.random.default_rng(0)
    y = rng.integers(0, K, n)
    X = rng.normal(size=(n, d)) + 6 * rng.normal(size=(K, d))[y]
    a = rng.integers(0, n, m)
    b = (a + rng.integers(1, n, m)) % n
    value = np.where(y[a] == y[b], 1, -1) * np.where(rng.random(m) < noise, -1, 1)
    return X, y, Constraints(a, b, value, n_samples=n)


def peak_of(work):
    "Most memory that Python and numpy held at once, in bytes."
    tracemalloc.start()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


N = 3_000  # an n × n array of floats has 72 MB, of truth values 9


@pytest.mark.parametrize("name", PAIRS)
def test_no_array_of_n_times_n(name):
    X, _, c = problem(N, 3, 600, 3, noise=0)
    est = for_study(PAIRS[name], 3, 0)
    if "n_init" in est.get_params():
        est.set_params(n_init=1)
    small = problem(60, 3, 20, 3, noise=0)
    peak_of(lambda: for_study(PAIRS[name], 3, 0).fit(small[0], constraints=small[2]))
    assert peak_of(lambda: est.fit(X, constraints=c)) < 40e6


@pytest.mark.parametrize("name", ACTIVE)
def test_no_array_of_n_times_n_while_asking(name):
    X, y, _ = problem(N, 3, 10, 3)
    est = for_study(ACTIVE[name], 3, 0)
    assert peak_of(lambda: est.fit(X, oracle=NoisyOracle(y), budget=2)) < 40e6


def test_the_measure_sees_an_array_of_n_times_n():
    assert peak_of(lambda: np.ones((N, N))) > 70e6


def test_what_does_not_fit_is_refused_before_the_work_begins():
    from csc_nb import ConstrainedEM, ITMLKMeans, MPCKMeans

    X = np.zeros((300, 5_000), np.float32)
    X[:, :3] = np.random.default_rng(0).normal(size=(300, 3))
    for cls in (MPCKMeans, ConstrainedEM):
        with pytest.raises(MemoryError, match="200 clusters, needs about .* GB"):
            cls(200, random_state=0).fit(X)
    assert ITMLKMeans(2)._room(300, 5_000, 2) > 8 * 5_000**2
    assert 0 < free_memory()
    with pytest.raises(MemoryError, match="1000000.0 GB"):
        check_room(1e15, "This")


ONE = """
import resource, sys, warnings
resource.setrlimit(resource.RLIMIT_AS, (4 * 2**30, 4 * 2**30))
resource.setrlimit(resource.RLIMIT_CPU, (900, 900))
sys.path.insert(0, "tests")
from test_safety_load import LOADS, PAIRS, for_study, problem
warnings.simplefilter("ignore")
X, y, c = problem(*LOADS[sys.argv[2]])
est = for_study(PAIRS[sys.argv[1]], LOADS[sys.argv[2]][3], 0)
try:
    labels = est.fit(X, constraints=c).labels_
except (MemoryError, ValueError) as e:
    print("refused:", e)
else:
    print("done:", len(set(labels.tolist())), "clusters")
print(f"{resource.getrusage(resource.RUSAGE_SELF).ru_utime:.0f} s,",
      f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB")
"""


def one(name, load):
    return subprocess.run(
        [sys.executable, "-c", ONE, name, load], capture_output=True, text=True
    )


@pytest.mark.slow
@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize("name", PAIRS)
def test_every_method_finishes_or_refuses(name, load):
    out = one(name, load)
    assert out.stdout.startswith(("done", "refused")), (out.returncode, out.stderr[-500:])
    assert "refused" not in out.stdout or "GB" in out.stdout


if (
    __name__ == "__main__"
):  # one load of one method: python tests/test_safety_load.py cosc rows
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    done = one(*sys.argv[1:3])
    print(sys.argv[1:3], done.stdout.replace("\n", " "), done.returncode)
