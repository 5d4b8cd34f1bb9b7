"""`compare` gives the same rows in one process and in two."""

from csc_nb.comparison import compare
from csc_nb.datasets import load


def test_processes_do_not_change_a_study():
    iris = load("iris")
    one, two = (
        compare(
            ["rdp-means"], iris.data, iris.target, noise=(0.0, 0.2), repeats=2, n_jobs=j
        )
        for j in (1, 2)
    )
    strip = lambda s: [{k: v for k, v in r.items() if k != "seconds"} for r in s.rows]
    assert strip(one) == strip(two)
