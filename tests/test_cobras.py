"""COBRAS: the two steps, the dialogue, and what it promises when the answers are right."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score as ari, pairwise_distances

from csc_nb import cobras as cb
from csc_nb.cobras import COBRAS
from csc_nb.oracles import NoisyOracle


def rings(n=90, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    t = 2 * np.pi * rng.random(n)
    return np.c_[np.cos(t), np.sin(t)] * (1 + 2 * y)[:, None] + 0.15 * rng.normal(
        size=(n, 2)
    ), y


either = pytest.mark.parametrize(
    "rules", [{}, dict(split_by="doubt", representative="kept")], ids=["paper", "doubt"]
)


def run(gen, answer):
    asked = []
    try:
        q = next(gen)
        while True:
            asked.append(q)
            q = gen.send(answer(q))
    except StopIteration as end:
        return end.value, asked


def oracle(y, **kw):
    return NoisyOracle(y, random_state=0, **kw)


def test_kernel_equals_its_python_twin():
    rng = np.random.default_rng(0)
    for _ in range(5):
        Z, U = rng.normal(size=(20, 3)), rng.random((3, 4))
        np.testing.assert_array_equal(
            cb._kmeans(Z, 4, U, 50), cb._kmeans.py_func(Z, 4, U, 50)
        )


def test_cut_covers_and_is_local_optimum():
    X, _ = rings()
    space = cb.VectorSpace(X)
    lab = space.cut(np.arange(len(X)), 5, np.random.default_rng(0))
    C = np.array([X[lab == c].mean(0) for c in range(5)])
    np.testing.assert_array_equal(((X[:, None] - C) ** 2).sum(2).argmin(1), lab)


@pytest.mark.parametrize(
    "make", [cb.VectorSpace, lambda X: cb.DistanceSpace(pairwise_distances(X))]
)
def test_split_keeps_every_row_and_only_speaks_with_askable_ones(make):
    X, _ = rings()
    space = make(X)
    for seed in range(10):
        rng = np.random.default_rng(seed)
        may = rng.random(len(X)) < 0.1
        may[0] = True
        whole = space.make(np.arange(len(X)), may)
        parts = cb.split(space, whole, 8, may, rng)
        np.testing.assert_array_equal(
            np.sort(np.concatenate([p.rows for p in parts])), np.arange(len(X))
        )
        assert all(may[p.rep] and p.rep in p.rows and may[p.askable].all() for p in parts)


def test_representative_is_nearest_askable_row():
    X, _ = rings()
    may = np.zeros(len(X), bool)
    may[[3, 8, 20]] = True
    s = cb.VectorSpace(X).make(np.arange(len(X)), may)
    assert s.rep == [3, 8, 20][np.argmin(((X[[3, 8, 20]] - X.mean(0)) ** 2).sum(1))]


def test_merge_reuses_answers_and_finds_the_classes():
    for seed in range(100):
        rng = np.random.default_rng(seed)
        S = int(rng.integers(2, 14))
        lab = rng.integers(0, 4, S)
        D = pairwise_distances(rng.normal(size=(S, 2)))
        truth = lambda i, j: 1 if lab[i] == lab[j] else -1
        known = {
            (i, j): truth(i, j)
            for i in range(S)
            for j in range(i + 1, S)
            if rng.random() < 0.3
        }
        given = set(known)
        out, asked = run(
            cb.merge([[s] for s in range(S)], list(range(S)), D, known, cb.asking(known)),
            lambda q: truth(q.a, q.b),
        )
        assert sorted(map(sorted, out)) == sorted(
            np.flatnonzero(lab == c).tolist() for c in np.unique(lab)
        )
        assert len({q.key for q in asked}) == len(asked) and not given & {
            q.key for q in asked
        }


def test_join_known_is_the_closure_of_same():
    rng = np.random.default_rng(3)
    for _ in range(100):
        S = int(rng.integers(2, 12))
        lab = rng.integers(0, 3, S)
        known = np.triu(rng.random((S, S)) < 0.3, 1)
        V = np.where(known | known.T, np.where(lab[:, None] == lab, 1, -1), 0).astype(
            np.int8
        )
        R = (V == 1) | np.eye(S, dtype=bool)
        for _ in range(S):
            R = R | (R.astype(int) @ R.astype(int) > 0)
        out = cb.join_known([[s] for s in range(S)], V)
        assert sorted(map(tuple, map(sorted, out))) == sorted(
            {tuple(np.flatnonzero(r).tolist()) for r in R}
        )


def test_cluster_table_against_loops():
    rng = np.random.default_rng(0)
    S, C = 9, 4
    lab = np.r_[np.arange(C), rng.integers(0, C, S - C)]
    D = pairwise_distances(rng.normal(size=(S, 2)))
    V = np.triu(rng.integers(-1, 2, (S, S)), 1).astype(np.int8)
    V = V + V.T
    near, no, yes = cb._cluster_table(lab, D, V, C)
    for a in range(C):
        for b in range(C):
            A, B = np.flatnonzero(lab == a), np.flatnonzero(lab == b)
            assert (
                near[a, b] == D[np.ix_(A, B)].min()
                and no[a, b] == (V[np.ix_(A, B)] == -1).sum()
                and yes[a, b] == (V[np.ix_(A, B)] == 1).sum()
            )


@either
def test_full_dialogue_ends_with_the_truth(rules):
    X, y = rings(36)
    est = COBRAS(random_state=0, **rules).fit(X, oracle=oracle(y), budget=None)
    assert ari(y, est.labels_) == 1 and est.ask() is None and est.n_queries_ < 36 * 35 / 2


@either
def test_no_question_twice_and_only_training_rows(rules):
    X, y = rings()
    train = np.arange(0, 60)
    est = COBRAS(train_indices=train, random_state=1, **rules).fit(
        X, oracle=oracle(y, noise=0.1), budget=80
    )
    keys = [q.key for q, _ in est.answers_]
    assert len(set(keys)) == len(keys) and max(max(k) for k in keys) < 60


def test_mask_of_training_rows_is_the_same():
    X, y = rings()
    mask = np.arange(len(X)) < 60
    a, b = (
        COBRAS(train_indices=t, random_state=1).fit(X, oracle=oracle(y), budget=30)
        for t in (mask, np.arange(60))
    )
    np.testing.assert_array_equal(a.labels_, b.labels_)


@either
def test_undo_equals_never_asked(rules):
    X, y = rings()
    a = COBRAS(random_state=2, **rules).fit(X, oracle=oracle(y), budget=25)
    b = COBRAS(random_state=2, **rules).fit(X, oracle=oracle(y), budget=40).undo(15)
    np.testing.assert_array_equal(a.labels_, b.labels_)
    assert a.ask() == b.ask() and a.objective_history_ == b.objective_history_


@either
def test_answers_help(rules):
    X, y = rings()
    score = [
        ari(y, COBRAS(random_state=0, **rules).fit(X, oracle=oracle(y), budget=b).labels_)
        for b in (10, 60, 120)
    ]
    assert score[2] > 0.8 and score[2] > score[0]


@either
def test_precomputed_finds_the_truth(rules):
    X, y = rings(45)
    est = COBRAS(metric="precomputed", random_state=0, **rules).fit(
        pairwise_distances(X), oracle=oracle(y), budget=None
    )
    assert ari(y, est.labels_) == 1


def test_what_is_shown_does_not_change_what_is_asked():
    X, y = rings()
    a, b = (
        COBRAS(show=w, random_state=0).fit(X, oracle=oracle(y), budget=50)
        for w in ("always", "merged")
    )
    assert [q for q, _ in a.answers_] == [q for q, _ in b.answers_]


def test_start_clusters_shown_before_the_first_merge():
    X, _ = rings()
    assert COBRAS(n_start=None, random_state=0).fit(X).n_clusters_ == 1
    assert COBRAS(n_start=4, random_state=0).fit(X).n_clusters_ == 4
    Z = np.repeat([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]], 20, axis=0)
    Z = Z + np.random.default_rng(0).normal(size=Z.shape)
    far = COBRAS(random_state=0).fit(Z)
    assert ari(np.repeat([0, 1, 2], 20), far.labels_) == 1
    near = COBRAS(metric="precomputed", random_state=0).fit(pairwise_distances(Z))
    assert ari(far.labels_, near.labels_) == 1
    assert COBRAS(random_state=0).fit(np.zeros((5, 2))).n_clusters_ == 1


def test_what_is_shown_first_does_not_change_what_is_asked():
    X, y = rings()
    runs = [
        COBRAS(n_start=k, random_state=0).fit(X, oracle=oracle(y), budget=30)
        for k in ("auto", None)
    ]
    assert [q for q, _ in runs[0].answers_] == [q for q, _ in runs[1].answers_]


@either
def test_inertia_only_falls(rules):
    X, y = rings()
    h = (
        COBRAS(random_state=0, **rules)
        .fit(X, oracle=oracle(y), budget=80)
        .objective_history_
    )
    assert len(h) > 3 and (np.diff(h) <= 1e-9).all()


@either
def test_unsure_and_equal_rows_end(rules):
    X, _ = rings(12)
    assert (
        COBRAS(random_state=0, **rules).fit(X, oracle=lambda q: "unsure", budget=None).ask()
        is None
    )
    same = np.zeros((10, 2))
    est = COBRAS(random_state=0, **rules).fit(
        same, oracle=oracle(np.arange(10) % 2), budget=None
    )
    assert est.ask() is None and est.n_clusters_ == 1


@pytest.mark.parametrize(
    "kw, text",
    [
        (dict(train_indices=[0, 500]), "first is 500"),
        (dict(train_indices=[0.5]), "row numbers"),
        (dict(n_init=0), "n_init"),
        (dict(n_start=0), "n_start"),
        (dict(n_init="3"), "n_init"),
        (dict(metric="cosine"), "precomputed"),
        (dict(metric="precomputed"), "square"),
        (dict(show="never"), "always"),
        (dict(split_by="size"), "'doubt'"),
        (dict(representative="old"), "'kept'"),
    ],
)
def test_errors_say_what_to_do(kw, text):
    with pytest.raises(ValueError, match=text):
        COBRAS(**kw).start(rings()[0])


@pytest.mark.parametrize("seed", range(20))
def test_most_doubt_with_early_stop_is_the_maximum(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 2))
    all_ = np.ones(60, bool)
    for space in (cb.VectorSpace(X), cb.DistanceSpace(pairwise_distances(X))):
        sis = cb.split(space, space.make(np.arange(60), all_), 7, all_, rng)
        home = rng.integers(3, size=len(sis))
        home[:2] = 0, 1
        clusters = [np.flatnonzero(home == c).tolist() for c in np.unique(home)]
        failed = {sis[0].rep} if seed % 2 else set()
        d = [
            cb.doubt(space, x, [sis[t] for t in np.flatnonzero(home != home[s])])
            for s, x in enumerate(sis)
        ]
        assert all(0 <= v <= len(x.rows) for v, x in zip(d, sis))
        able = [s for s, x in enumerate(sis) if len(x.askable) >= 2 and x.rep not in failed]
        assert cb.next_to_split(sis, failed, space, clusters) == max(
            able, key=lambda s: d[s]
        )


def test_a_kept_speaker_needs_fewer_questions():
    X, y = rings()
    n = [
        np.mean(
            [
                len(
                    COBRAS(representative=w, random_state=r)
                    .fit(X, oracle=oracle(y), budget=60)
                    .super_instances_
                )
                for r in range(5)
            ]
        )
        for w in ("central", "kept")
    ]
    assert n[1] > n[0]


def test_kept_speaker_is_central():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    all_ = np.ones(80, bool)
    space = cb.VectorSpace(X)
    kept = 0
    for _ in range(30):
        rows = np.sort(rng.choice(80, 30, replace=False))
        s = space.make(rows, all_)._replace(rep=int(rng.choice(rows)))
        for p in cb.split(space, s, 3, all_, rng, keep=True):
            d = np.linalg.norm(X[p.rows] - p.centre, axis=1)
            at = int(np.flatnonzero(p.rows == p.rep)[0])
            mine = s.rep in p.rows and d[p.rows == s.rep][0] <= np.median(d) * (1 + 1e-9)
            assert p.rep == s.rep if mine else at == d.argmin()
            kept += mine
    assert kept


def test_literal_listing_of_the_paper():
    "as_published asks and shows what a naive program does, written without the package."
    for seed in range(4):
        X, y = rings(30, seed)
        est = COBRAS.as_published(random_state=seed).fit(X, oracle=oracle(y), budget=25)
        asked, shown = naive_cobras(X, oracle(y), seed, 25)
        assert [q.key for q, _ in est.answers_] == asked
        np.testing.assert_array_equal(est.labels_, shown)


def naive_cobras(X, person, seed, budget):
    "Split the largest, merge nearest first; only the k-means is the package's."
    from csc_nb.oracles import Pair

    space, rng, said = cb.VectorSpace(X), np.random.default_rng(seed), {}

    class Spent(Exception):
        pass

    def ask(i, j):
        key = min(i, j), max(i, j)
        if key not in said:
            if len(said) == budget:
                raise Spent
            said[key] = person(Pair(*key, number=len(said)))
        return said[key]

    def speaker(rows):
        d = ((X[rows] - X[rows].mean(0)) ** 2).sum(1)
        return rows[int(np.argmax(d <= d.min() * (1 + 1e-9)))]

    def cut(rows, k):
        lab = space.cut(np.array(rows), k, rng)
        return [[r for r, c in zip(rows, lab) if c == part] for part in np.unique(lab)]

    def level(rows):
        size, deep = len(rows), 0
        while True:
            halves = cut(rows, 2)
            if len(halves) < 2 or ask(*map(speaker, halves)) != -1:
                break
            deep += 1
            rest = [h for h in halves if len(h) >= 2]
            if not rest:
                break
            rows = min(rest, key=len)
        return min(size, 2 ** max(deep, 1))

    def gap(s, t):
        return np.sqrt(((X[parts[s]].mean(0) - X[parts[t]].mean(0)) ** 2).sum())

    def known(a, b):
        keys = [sorted((speaker(parts[s]), speaker(parts[t]))) for s in a for t in b]
        return {said[tuple(k)] for k in keys if tuple(k) in said}

    parts, groups, dead = [list(range(len(X)))], [[0]], set()
    shown = np.zeros(len(X), int)
    try:
        while True:
            able = [s for s, p in enumerate(parts) if len(p) > 1 and tuple(p) not in dead]
            if not able:
                break
            s = max(able, key=lambda s: (len(parts[s]), -s))
            new = cut(parts[s], level(parts[s]))
            if len(new) < 2:
                dead.add(tuple(parts[s]))
            else:
                groups = [[t for t in g if t != s] for g in groups]
                groups = [g for g in groups if g] + [[s]]
                groups += [[len(parts) + t] for t in range(len(new) - 1)]
                parts[s] = new[0]
                parts += new[1:]
            merged = True
            while merged:
                merged = False
                pairs = []
                for a in range(len(groups)):
                    for b in range(a + 1, len(groups)):
                        if -1 not in known(groups[a], groups[b]):
                            near = min(gap(u, v) for u in groups[a] for v in groups[b])
                            pairs.append((near, a, b))
                for _, a, b in sorted(pairs):
                    first = speaker(parts[groups[a][0]]), speaker(parts[groups[b][0]])
                    if 1 in known(groups[a], groups[b]) or ask(*first) == 1:
                        groups[a] += groups.pop(b)
                        merged = True
                        break
            for c, g in enumerate(groups):
                for t in g:
                    shown[parts[t]] = c
    except Spent:
        pass
    return list(said), shown


def test_unsure_keeps_parts_together():
    X, _ = rings(60)
    shrug = COBRAS(random_state=0).fit(X, oracle=lambda q: "unsure", budget=60)
    assert shrug.n_clusters_ == 1
    D = pairwise_distances(np.array([[0.0], [1.0], [5.0]]))
    V = np.array([[0, 2, -1], [2, 0, 2], [-1, 2, 0]], np.int8)
    one = np.zeros(3, int)
    assert cb.keep_together([[0], [1], [2]], D, V, one) == [[0, 1], [2]]
    assert cb.keep_together([[0], [1], [2]], D, V, np.arange(3)) == [[0], [1], [2]]


def test_an_unsure_pair_is_no_reason_to_give_two_clusters_up():
    "Two others that speak for the same clusters are asked, the nearest first."
    D = np.abs(np.subtract.outer([0, 1, 4, 6], [0, 1, 4, 6])).astype(float)
    reps, asked = [10, 11, 12, 13], []
    known = {(10, 11): 1, (12, 13): 1}

    def person(answers):
        def ask(i, j):
            asked.append((i, j))
            known[i, j] = answers.pop(0)
            return known[i, j]
            yield

        return ask

    def joined(answers):
        gen = cb.merge([[0, 1], [2, 3]], reps, D, known, person(answers))
        try:
            next(gen)
        except StopIteration as end:
            return end.value

    assert joined([0, 1]) == [[0, 1, 2, 3]]
    assert asked == [(10, 12), (11, 12)]  # the first of each, then the nearest pair
    asked.clear()
    known.clear()
    known.update({(10, 11): 1, (12, 13): 1})
    assert joined([0, 0, 0, 0]) == [[0, 1], [2, 3]]
    assert asked == [(10, 12), (11, 12), (11, 13), (10, 13)]


@pytest.mark.parametrize("name", ["iris", "wine"])
def test_some_unsure_answers_cost_little(name):
    "100 answers of which 40 % are unsure, against 60 that are all sure."
    from csc_nb.datasets import load
    from csc_nb.ncobras import NCOBRAS

    d = load(name, "standard")

    def score(cls, abstain, budget):
        found = []
        for r in range(3):
            person = NoisyOracle(d.target, 0.0, abstain, random_state=r)
            model = cls(random_state=r).fit(d.data, oracle=person, budget=budget)
            found.append(ari(d.target, model.labels_))
        return np.mean(found)

    for cls in (COBRAS, NCOBRAS):
        assert score(cls, 0.4, 100) > score(cls, 0.0, 60) - 0.1, cls


def test_nobody_knows_anything():
    from csc_nb.ncobras import NCOBRAS

    X, _ = rings(60)
    shrug = NCOBRAS(random_state=0).fit(X, oracle=lambda q: "unsure", budget=60)
    assert shrug.n_clusters_ == 1 and np.isnan(shrug.confidence_)


@pytest.mark.parametrize("scale", [1e-60, 1e-6, 1e6])
def test_the_unit_of_the_data_does_not_matter(scale):
    X, y = rings(60)
    a, b = (
        COBRAS(random_state=0).fit(Z, oracle=oracle(y), budget=40) for Z in (X, scale * X)
    )
    assert [q for q, _ in a.answers_] == [q for q, _ in b.answers_]
    np.testing.assert_array_equal(a.labels_, b.labels_)
    D = pairwise_distances(X)
    u = np.random.default_rng(0).random((5, 4))
    np.testing.assert_array_equal(cb.k_medoids(D, 4, u), cb.k_medoids(scale * D, 4, u))


def test_the_best_of_the_starts_is_kept():
    "Every start by itself; the kept one has the smallest sum of squares, at any scale."
    rng = np.random.default_rng(0)
    for scale in (1.0, 1e-6):
        Z, U = scale * rng.normal(size=(30, 2)), rng.random((8, 5))

        def cost(lab):
            return sum(((Z[lab == c] - Z[lab == c].mean(0)) ** 2).sum() for c in set(lab))

        each = [cost(cb._kmeans(Z, 5, U[[t]], 100)) for t in range(8)]
        assert cost(cb._kmeans(Z, 5, U, 100)) <= min(each) * (1 + 1e-9)
        assert max(each) > min(each) * 1.01


def test_split_level_stops_at_same_and_goes_on_in_the_smaller_half():
    X = np.r_[np.zeros((20, 1)), np.full((6, 1), 10.0), np.full((3, 1), 20.0)]
    X = X + np.linspace(0, 1, 29)[:, None]
    y = np.repeat([0, 1, 2], [20, 6, 3])
    space, all_ = cb.VectorSpace(X), np.ones(29, bool)
    whole = space.make(np.arange(29), all_)
    rng = np.random.default_rng(0)
    k, asked = run(
        cb.split_level(space, whole, cb.asking({}), all_, rng),
        lambda q: 1 if y[q.a] == y[q.b] else -1,
    )
    assert k == 4 and len(asked) == 3
    assert max(asked[1].items) >= 20 and min(asked[1].items) >= 20


def test_old_names_still_count():
    X, y = rings(30)
    with pytest.warns(FutureWarning, match="show"):
        a = COBRAS(anytime="finished", random_state=0)
    with pytest.warns(FutureWarning, match="representative"):
        COBRAS(speaker="centre")
    a.fit(X, oracle=oracle(y), budget=15)
    b = COBRAS(show="merged", random_state=0).fit(X, oracle=oracle(y), budget=15)
    np.testing.assert_array_equal(a.labels_, b.labels_)


def test_unfinished_merges_are_shown_only_if_wanted():
    X, y = rings()
    seen = {}
    for show in ("always", "merged"):
        est = COBRAS(show=show, random_state=0).start(X)
        person, labels = oracle(y), []
        for _ in range(30):
            est.tell(est.ask(), person(est.ask()))
            labels.append((est.n_iter_, est.labels_.copy()))
        seen[show] = labels
    for (i, a), (j, b) in zip(seen["merged"], seen["merged"][1:]):
        assert i < j or (a == b).all()
    moved = [(a != b).any() for (i, a), (j, b) in zip(seen["always"], seen["always"][1:])]
    rounds = [i < j for (i, _), (j, _) in zip(seen["always"], seen["always"][1:])]
    assert sum(moved) > sum(rounds)


def test_a_known_answer_is_not_asked_again():
    known = {(0, 1): -1, (2, 3): 0}
    ask = cb.asking(known)
    assert run(ask(1, 0), lambda q: 1) == (-1, []) and run(ask(2, 3), lambda q: 1) == (
        0,
        [],
    )
    value, asked = run(ask(5, 4), lambda q: 1)
    assert value == 1 and [q.key for q in asked] == [(4, 5)] and known[4, 5] == 1
