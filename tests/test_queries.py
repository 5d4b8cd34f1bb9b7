"""Chapter 24: query strategies with any passive clusterer."""

import pickle, warnings

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from csc_nb.baselines.kmeans import MPCKMeans, PCKMeans
from csc_nb.metrics import ari
from csc_nb.oracles import NoisyOracle, Pair
from csc_nb.queries import (
    STRATEGIES,
    ActiveClusterer,
    Board,
    ExploreConsolidate,
    MinMax,
    NPU,
    RandomPairs,
    explore_groups,
    forest_similarity,
    neighbourhood_chances,
    npu_scores,
    place_row,
)

X, Y = make_blobs(60, centers=[[0, 0], [6, 0], [0, 6]], random_state=0)


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def play(gen, answer):
    "Questions of a generator whose answers come from a function; and what it returns."
    asked, said = [], None
    while True:
        try:
            q = gen.send(said)
        except StopIteration as end:
            return asked, end.value
        asked.append(q)
        said = answer(q)


def truth(q):
    return 1 if Y[q.a] == Y[q.b] else -1


@pytest.mark.parametrize(
    "K, answers, asked, placed, groups, implied",
    [
        (3, [-1, -1], 2, True, [[0, 3], [1], [2]], [(3, 0, 1)]),
        (3, [-1, 1], 2, True, [[0], [1, 3], [2]], []),
        (None, [-1] * 3, 3, True, [[0], [1], [2], [3]], []),
        (4, [-1] * 3, 3, True, [[0], [1], [2], [3]], []),
        (3, [0, -1, -1], 3, False, [[0], [1], [2]], []),
        (3, [-1, 0, -1], 3, False, [[0], [1], [2]], []),
        (None, [0] * 3, 3, False, [[0], [1], [2]], []),
    ],
)
def test_place(K, answers, asked, placed, groups, implied):
    board, g, left = (
        Board(np.array([[0.0], [1.0], [2.0], [2.2]]), K, None),
        [[0], [1], [2]],
        iter(answers),
    )
    qs, got = play(place_row(3, g, [2, 1, 0], board), lambda q: next(left))
    assert (len(qs), got, g, board.implied) == (asked, placed, groups, implied)


def test_explore_finds_every_cluster_quickly():
    for seed in range(10):
        board, groups = Board(X, 3, np.random.default_rng(seed)), []
        from csc_nb.queries import PlacedDistances

        asked, _ = play(explore_groups(groups, PlacedDistances(X), board), truth)
        assert len({Y[g[0]] for g in groups}) == 3 and len(asked) <= 6


@pytest.mark.parametrize("name", ["explore-consolidate", "min-max", "npu"])
def test_neighbourhoods_are_pure_and_answers_never_repeat(name):
    board = Board(X, 3, np.random.default_rng(0), lambda: Y)
    asked, _ = play(STRATEGIES[name]().ask(board), truth)
    assert len({q.key for q in asked}) == len(asked)
    assert all(v == (1 if Y[a] == Y[b] else -1) for a, b, v in board.implied)
    linked = {i for q in asked for i in q.items} | {i for l in board.implied for i in l[:2]}
    assert (
        linked == set(range(60)) and len(asked) < 3 * 60
    )  # every row is placed in at most K-1 questions


def test_npu_scores_and_similarity():
    leaves = np.array([[1, 2, 3], [1, 5, 3], [9, 5, 7]])
    np.testing.assert_allclose(
        forest_similarity(leaves, [0, 1]), [[1, 2 / 3], [2 / 3, 1], [0, 1 / 3]]
    )
    p = neighbourhood_chances(np.array([[1.0, 0.5, 0.5], [0, 0, 0]]), np.array([0, 1, 1]))
    np.testing.assert_allclose(p, [[2 / 3, 1 / 3], [0.5, 0.5]])
    np.testing.assert_allclose(
        npu_scores(np.array([[0.5, 0.5], [1.0, 0.0]])), [np.log(2) / 1.5, 0], atol=1e-12
    )


def test_random_pairs():
    board = Board(X[:10], 3, np.random.default_rng(0))
    every, tree = list(RandomPairs().ask(board)), list(RandomPairs(tree=True).ask(board))
    assert len(set(every)) == 45 and len(tree) == 9


@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.parametrize(
    "passive", [PCKMeans(3, n_init=2), MPCKMeans(3, n_init=2)], ids=["pck", "mpck"]
)
def test_with_a_clusterer(name, passive):
    m = ActiveClusterer(name, passive, random_state=0).fit(
        X, oracle=NoisyOracle(Y, abstain=0.1, random_state=0), budget=12
    )
    assert ari(Y, m.labels_) > 0.9 and m.n_queries_ == 12
    pending, z = m.ask(), m.labels_
    m.tell(pending, 0).undo()
    assert m.ask() == pending
    np.testing.assert_array_equal(m.labels_, z)
    np.testing.assert_array_equal(m.clusterer_.labels_, z)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(m)).labels_, z)


def test_replay_fits_nothing_twice(monkeypatch):
    m = ActiveClusterer(NPU(n_trees=5), PCKMeans(3, n_init=1), random_state=0).fit(
        X, oracle=NoisyOracle(Y), budget=8
    )
    count, fit = [], PCKMeans.fit
    monkeypatch.setattr(
        PCKMeans, "fit", lambda self, *a, **k: count.append(1) or fit(self, *a, **k)
    )
    m.undo(2)
    m.labels_
    assert len(count) <= 1


def test_a_strategy_of_your_own():
    class InOrder:
        def ask(self, board):
            for i in range(1, len(board.X)):
                yield Pair(0, i)

    m = ActiveClusterer(InOrder(), PCKMeans(3, n_init=1), random_state=0).fit(
        X, oracle=NoisyOracle(Y), budget=None
    )
    assert [q.b for q, _ in m.answers_] == list(range(1, 60))


def test_errors():
    with pytest.raises(ValueError, match="min-max"):
        ActiveClusterer("minmax").start(X)
    with pytest.raises(ValueError, match="ask"):
        ActiveClusterer(3, PCKMeans(3)).start(X)
    with pytest.raises(ValueError, match="n_samples=60"):
        ActiveClusterer("npu", n_clusters=61).start(X)


def test_npu_grows_fewer_forests_when_told():
    "A forest for every placed row, or for every fifth and each new neighbourhood."
    grown = {}

    class Counted(NPU):
        def _leaves(self, board):
            grown[self.every] = grown.get(self.every, 0) + 1
            return super()._leaves(board)

    for every in (1, 5):
        est = ActiveClusterer(
            Counted(n_trees=10, every=every), n_clusters=3, random_state=0
        ).fit(X, oracle=NoisyOracle(Y, random_state=0), budget=30)
        assert est.n_queries_ == 30 and len({q.key for q, _ in est.answers_}) == 30
    assert grown[5] < grown[1] / 2
