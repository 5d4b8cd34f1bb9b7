"""Active learners on a table in which every row stands many times."""

import numpy as np
import pytest

from csc_nb.metrics import ari
from csc_nb.oracles import NoisyOracle
from test_safety_methods import ACTIVE, for_study


@pytest.mark.parametrize("name", ACTIVE)
def test_the_nearest_rows_of_every_row_are_its_copies(name):
    "A numba TypingError in NCOBRAS: all its neighbours were at distance 0."
    X, y = np.repeat([[0.0, 0.3], [1.1, 0.2]], 20, axis=0), np.repeat([0, 1], 20)
    est = for_study(ACTIVE[name], 2, 0)
    assert ari(y, est.fit(X, oracle=NoisyOracle(y), budget=8).labels_) == 1
