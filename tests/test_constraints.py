"""Containers: round trips are exact, nothing is lost on the way into an estimator,
closure and contradictions agree with brute force."""

import json, pickle, warnings
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings, strategies as st
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.model_selection import GridSearchCV, cross_val_score

from csc_nb.constraints import (
    Bags,
    Constraints,
    Triplets,
    as_bags,
    as_constraints,
    as_triplets,
)

quick = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
text = st.text(
    st.characters(codec="utf-8", exclude_characters="\x00"), min_size=0, max_size=6
)
weights = st.floats(1e-6, 1e6, allow_nan=False)


@st.composite
def names(draw, n):
    "Ids of n rows: none, text, or whole numbers."
    kind = draw(st.sampled_from(["none", "text", "int"]))
    if kind == "none":
        return None
    return draw(
        st.lists(
            text if kind == "text" else st.integers(-(2**60), 2**60),
            min_size=n,
            max_size=n,
            unique=True,
        )
    )


@st.composite
def tables(draw, k=2, answers=("must", "cannot", "unsure"), max_rows=9):
    "A random container of pairs (k=2) or triples (k=3)."
    n = draw(st.integers(k, max_rows))
    rows = draw(
        st.lists(
            st.lists(st.integers(0, n - 1), min_size=k, max_size=k, unique=True),
            max_size=14,
        )
    )
    m = len(rows)
    each = lambda s: draw(st.lists(s, min_size=m, max_size=m))
    who = draw(st.sampled_from([None, st.integers(0, 3), text]))
    kw = dict(
        weight=each(weights) if draw(st.booleans()) else None,
        expert=None if who is None else each(who),
    )
    ids = draw(names(n))
    kw |= dict(n_samples=n) if ids is None else dict(ids=ids, by="row")
    cls = Constraints if k == 2 else Triplets
    return cls(*(np.array(rows, int).reshape(m, k).T), each(st.sampled_from(answers)), **kw)


pairs, triples = tables(), tables(3, ("ab", "ac", "bc", "none"))


def same(x, y):
    assert x == y and y == x


# ---------------------------------------------------------------- round trips
@quick
@given(st.one_of(pairs, triples))
def test_csv_round_trip(tmp_path, c):
    same(type(c).from_csv(c.to_csv(tmp_path / "c.csv")), c)


@quick
@given(st.one_of(pairs, triples))
def test_log_round_trip(tmp_path, c):
    same(type(c).from_log(c.to_log(tmp_path / "c.jsonl")), c)


@quick
@given(st.one_of(pairs, triples))
def test_frame_round_trip(c):
    same(type(c).from_frame(c.to_frame()), c)


@quick
@given(st.one_of(pairs, triples))
def test_pickle_and_records(c):
    same(pickle.loads(pickle.dumps(c)), c)
    assert [type(v) for r in c.to_records() for v in r[:1]] == [
        type(v) for v in (c.a if c.ids is None else c.ids[c.a]).tolist()
    ]


@quick
@given(pairs)
def test_sparse_round_trip(c):
    """A matrix holds neither don't-knows nor names: it returns the answers, weights of
    all people added."""
    M = c.to_sparse()
    assert (M != M.T).nnz == 0 and not M.diagonal().any()
    want = {}
    for i, j, v, w in zip(c.a, c.b, c.value, c.weight):
        if v:
            want[i, j, v] = want.get((i, j, v), 0) + w
    back = Constraints.from_sparse(M)
    got = {(i, j, v): w for i, j, v, w in zip(back.a, back.b, back.value, back.weight)}
    assert got.keys() == want.keys() and np.allclose(
        [got[k] for k in got], [want[k] for k in got], rtol=1e-12
    )
    again = Constraints.from_sparse(back.to_sparse())
    same(again, back)


@pytest.mark.parametrize("half", ["upper", "lower", "both"])
def test_sparse_halves(half):
    M = sp.csr_array(([1.0, -2.0], ([0, 1], [1, 2])), (3, 3))
    M = {"upper": M, "lower": M.T, "both": M + M.T}[half]
    assert Constraints.from_sparse(M).to_records() == [
        (0, 1, "must", 1.0, 0),
        (1, 2, "cannot", 2.0, 0),
    ]


def test_opposite_answers_do_not_cancel():
    c = Constraints([0, 0], [1, 1], [1, -1], n_samples=2)
    M = c.to_sparse()
    assert M.nnz == 4 and sorted(M.data) == [-1, -1, 1, 1]
    assert c.to_sparse(sign=1).toarray()[0, 1] == 1 == c.to_sparse(sign=-1).toarray()[0, 1]


def test_polars_frame():
    pl = pytest.importorskip("polars")
    df = pl.DataFrame(
        {
            "a": ["x", "y"],
            "b": ["y", "z"],
            "value": ["same", "different"],
            "expert": ["ann", "bob"],
        }
    )
    assert Constraints.from_frame(df).to_records() == [
        ("x", "y", "must", 1.0, "ann"),
        ("y", "z", "cannot", 1.0, "bob"),
    ]


def test_hand_made_csv(tmp_path):
    (tmp_path / "c.csv").write_text(
        "\ufeffLeft;right;answer;annotator\n0;1;same;ann\n1;2;CL;bob\n", encoding="utf-8"
    )
    c = Constraints.from_csv(tmp_path / "c.csv", sep=";", n_samples=3)
    assert c.to_records() == [(0, 1, "must", 1.0, "ann"), (1, 2, "cannot", 1.0, "bob")]


def test_journal_with_undo_and_cut_off_line(tmp_path):
    ev = [
        dict(event="start", seed=0),
        *(
            dict(
                event="answer",
                n=i,
                kind="pair",
                items=[i, i + 1],
                answer=a,
                annotator="ann",
            )
            for i, a in enumerate(["same", "different", "unsure"])
        ),
        dict(event="undo", n=2),
        dict(event="note", text="tea"),
        dict(
            event="answer",
            n=1,
            kind="triple",
            items=[0, 1, 2],
            answer="ab|c",
            annotator="ann",
        ),
    ]
    (tmp_path / "j").write_text("\n".join(map(json.dumps, ev)) + '\n{"event": "ans')
    with pytest.warns(UserWarning, match="last line of j is unfinished"):
        c = Constraints.from_log(tmp_path / "j", n_samples=4)
    assert c.to_records() == [(0, 1, "must", 1.0, "ann")]
    with pytest.warns(UserWarning):
        t = Triplets.from_log(tmp_path / "j", n_samples=4)
    assert t.to_records() == [(0, 1, 2, "ab", 1.0, "ann")]


@pytest.mark.parametrize("names, by", [(["7", "9", "11"], None), ([7, 9, 11], "id")])
def test_ids_nobody_checked_stay_unchecked(tmp_path, names, by):
    c = Constraints(names[:2], names[1:], ["same", "no"], by=by)
    for d in (
        Constraints.from_csv(c.to_csv(tmp_path / "c")),
        Constraints.from_log(c.to_log(tmp_path / "c")),
        Constraints.from_frame(c.to_frame()),
    ):
        same(d, c)
        with pytest.raises(ValueError, match="unknown id"):
            as_constraints(d, sample_id=names[:2])


@pytest.mark.parametrize("m", [0, 1])
def test_silent_experts_survive(tmp_path, m):
    c = Constraints(
        [0] * m,
        [1] * m,
        ["same"] * m,
        expert=["bob"] * m,
        experts=["ann", "bob", "cy"],
        n_samples=2,
    )
    assert c.experts == ("ann", "bob", "cy") and c.expert.tolist() == [1] * m
    for d in (
        Constraints.from_csv(c.to_csv(tmp_path / "c")),
        Constraints.from_log(c.to_log(tmp_path / "c")),
        Constraints.from_frame(c.to_frame()),
    ):
        same(d, c)


def test_a_real_journal(tmp_path):
    Journal = pytest.importorskip("csc_nb.oracles").Journal
    with Journal(tmp_path / "j.jsonl", annotator="Ann") as j:
        j.append("start", seed=0)
        for k, (items, a) in enumerate(
            [(["x1", "x7"], "same"), (["x1", "x9"], "different"), (["x7", "x9"], "same")]
        ):
            j.append(
                "answer",
                n=k,
                query=f"q{k}",
                kind="pair",
                items=items,
                shown=items,
                answer=a,
                seconds=1.0,
                seed=0,
            )
        j.append("undo", n=1)
    assert Constraints.from_log(tmp_path / "j.jsonl").to_records() == [
        ("x1", "x7", "must", 1.0, "Ann"),
        ("x1", "x9", "cannot", 1.0, "Ann"),
    ]


def test_library_needs_no_pandas():
    "Import, CSV and log work in an interpreter where pandas cannot be imported."
    import subprocess, sys

    code = (
        "import sys; sys.modules['pandas'] = None\nfrom csc_nb.constraints import "
        "Constraints as C\nimport tempfile, os\nf = os.path.join(tempfile.mkdtemp(), "
        "'c')\nc = C(['a'], ['b'], ['same']); assert C.from_csv(c.to_csv(f)) == c == "
        "C.from_log(c.to_log(f)); print('fine')"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout
        == "fine\n"
    )


# ---------------------------------------------------------------- canonical form
@quick
@given(pairs, st.randoms(use_true_random=False))
def test_order_of_a_and_b_does_not_matter(c, rnd):
    flip = np.array([rnd.random() < 0.5 for _ in range(c.n_constraints)], bool)
    a, b = np.where(flip, c.b, c.a), np.where(flip, c.a, c.b)
    kw = dict(n_samples=c.n_samples) if c.ids is None else dict(ids=c.ids, by="row")
    d = Constraints(
        a,
        b,
        c.value,
        weight=c.weight,
        expert=[c.experts[e] for e in c.expert],
        experts=c.experts,
        value_kind="pm1",
        **kw,
    )
    same(d, c)
    assert (d.a < d.b).all()


@quick
@given(pairs)
def test_duplicates_merge_and_weights_add(c):
    twice = c.merge(c)
    assert twice.n_constraints == c.n_constraints and np.allclose(
        twice.weight, 2 * c.weight
    )
    keys = list(zip(c.a, c.b, c.value, c.expert))
    assert len(set(keys)) == len(keys)


def test_opposites_are_both_kept_and_counted():
    r = Constraints([0, 1, 0], [1, 0, 1], ["same", "different", "same"]).check()
    assert r.opposite == 1 and r.facts["duplicates merged"] == 1 and not r.ok


@quick
@given(triples)
def test_sorting_a_triple_keeps_the_odd_row(t):
    for r in range(3):
        rows, word = np.roll(t._rows, r, axis=0), []
        for k, col in zip(t.answer, rows.T):
            pair = (
                None
                if k == "none"
                else {dict(zip("abc", t._rows[:, len(word)]))[x] for x in k}
            )
            word.append(
                "none"
                if pair is None
                else "".join(x for x, v in zip("abc", col) if v in pair)
            )
        kw = dict(n_samples=t.n_samples) if t.ids is None else dict(ids=t.ids, by="row")
        same(
            Triplets(
                *rows,
                word,
                weight=t.weight,
                expert=[t.experts[e] for e in t.expert],
                experts=t.experts,
                **kw,
            ),
            t,
        )


@pytest.mark.parametrize(
    "words, value",
    [
        ("must same yes ML True + link SAME", 1),
        ("cannot different no CL false CANNOT-LINK", -1),
        ("unsure unknown maybe ? dnk", 0),
    ],
)
def test_words(words, value):
    w = [x for x in words.split() if x != "+"]
    c = Constraints(np.zeros(len(w), int), np.arange(1, len(w) + 1), w)
    assert set(c.value.tolist()) == {value}


@pytest.mark.parametrize(
    "values, kind, want",
    [
        ([1, 0], "01", [1, -1]),
        ([1, 0], "pm1", [1, 0]),
        (["1", "0"], "01", [1, -1]),
        ([1.0, -1.0], None, [1, -1]),
        ([True, False], None, [1, -1]),
        ([1, 1], None, [1, 1]),
        ([1, 0, -1], None, [1, 0, -1]),
    ],
)
def test_numbers(values, kind, want):
    assert (
        Constraints(
            range(len(values)), range(1, len(values) + 1), values, value_kind=kind
        ).value.tolist()
        == want
    )


# ---------------------------------------------------------------- drawing from labels
@quick
@given(
    st.lists(st.integers(0, 3), min_size=2, max_size=12),
    st.booleans(),
    st.integers(0, 99),
    st.data(),
)
def test_from_labels(y, balanced, seed, data):
    y = np.array(y)
    n_pairs = len(y) * (len(y) - 1) // 2
    inside = sum(y[i] == y[j] for i, j in combinations(range(len(y)), 2))
    n = data.draw(
        st.integers(0, 2 * min(inside, n_pairs - inside) if balanced else n_pairs)
    )
    c = Constraints.from_labels(y, n=n, balanced=balanced, random_state=seed)
    assert (
        c.n_constraints == n == len(set(zip(c.a, c.b)))
        and c.n_merged == 0
        and (c.a < c.b).all()
    )
    assert ((y[c.a] == y[c.b]) == (c.value > 0)).all()
    if balanced:
        assert (c.value > 0).sum() == n - n // 2
    same(c, Constraints.from_labels(y, n=n, balanced=balanced, random_state=seed))


def test_unrank_is_exact_for_huge_numbers():
    from csc_nb.graph import unrank_pairs

    J = np.r_[2:200, 2 ** np.arange(8, 31) - 1, 2 ** np.arange(8, 31) + 1, 3_000_000_019]
    for j, t in (
        (J, J * (J - 1) // 2),
        (J, J * (J - 1) // 2 + J - 1),
    ):  # first and last pair of each row
        i, k = unrank_pairs(t)
        assert (k == j).all() and (i == t - j * (j - 1) // 2).all()


def test_pairs_are_uniform():
    "Each of the 10 pairs of 5 rows is drawn 3/10 of the time (4 standard errors)."
    seen = np.zeros((5, 5))
    N = 1500
    for s in range(N):
        c = Constraints.from_labels([0, 0, 1, 1, 1], n=3, random_state=s)
        seen[c.a, c.b] += 1
    share = seen[np.triu_indices(5, 1)] / N
    assert abs(share - 0.3).max() < 4 * np.sqrt(0.3 * 0.7 / N)


def test_noise_and_abstain_rates():
    y = np.arange(3000) % 3
    c = Constraints.from_labels(y, n=50_000, noise=0.2, abstain=0.1, random_state=0)
    wrong = ((y[c.a] == y[c.b]) != (c.value > 0))[c.value != 0]
    assert abs(wrong.mean() - 0.2) < 4 * np.sqrt(0.16 / wrong.size) and abs(
        (c.value == 0).mean() - 0.1
    ) < 4 * np.sqrt(0.09 / 50_000)


def test_triplets_from_labels():
    y = np.arange(60) % 3
    t = Triplets.from_labels(y, n=2000, random_state=0)
    assert t.n_triplets == 2000 == len(set(zip(t.a, t.b, t.c)))
    for i, j, odd in t.alike():
        assert y[i] == y[j] != y[odd]
    none = t.code == 3
    assert all(
        len({y[i], y[j], y[k]}) in (1, 3)
        for i, j, k in zip(t.a[none], t.b[none], t.c[none])
    )
    noisy = Triplets.from_labels(y, n=20_000, noise=0.3, random_state=1)
    true = [
        (
            "none"
            if len({y[i], y[j], y[k]}) != 2
            else "ab"
            if y[i] == y[j]
            else "ac"
            if y[i] == y[k]
            else "bc"
        )
        for i, j, k in zip(noisy.a, noisy.b, noisy.c)
    ]
    assert abs((noisy.answer != true).mean() - 0.3) < 4 * np.sqrt(0.21 / 20_000)
    assert Triplets.from_labels([0, 0, 1, 1], n=4, random_state=0).n_triplets == 4


# ---------------------------------------------------------------- closure and
# contradictions, against brute force
def partitions(n):
    if n == 0:
        yield []
        return
    for z in partitions(n - 1):
        for k in range(max(z, default=-1) + 2):
            yield z + [k]


ALL = {n: [np.array(z) for z in partitions(n)] for n in range(1, 7)}
small = tables(max_rows=6)


@quick
@given(small)
def test_contradiction_reported_iff_no_partition_fits(c):
    fits = [
        z
        for z in ALL[c._n]
        if all((z[i] == z[j]) == (v > 0) for i, j, v in zip(c.a, c.b, c.value) if v)
    ]
    assert bool(fits) == (c.check().contradictions == 0) == (not c.contradictions())
    if not fits:
        return
    cl = c.closure()
    got = {(int(i), int(j)): int(v) for i, j, v in zip(cl.a, cl.b, cl.value)}
    for i, j in combinations(range(c._n), 2):
        holds = {bool(z[i] == z[j]) for z in fits}
        want = 0 if len(holds) == 2 else 1 if True in holds else -1
        # Two groups may be apart in every partition only because a cannot-link says so:
        # nothing else follows.
        assert got.get((i, j), 0) == want == cl.query(i, j)


@quick
@given(tables(max_rows=9))
def test_closure_is_idempotent_and_counts_itself(c):
    cl = c.closure()
    plain = Constraints._make(
        cl._rows, cl._code, cl.weight, cl.expert, (0,), cl.ids, cl._open, cl.n_samples
    )
    assert (
        plain.n_constraints == cl.n_constraints == cl.n_must + cl.n_cannot
        and plain.n_merged == 0
    )
    assert sorted(plain.closure().to_records()) == sorted(cl.to_records())
    assert (
        cl.closure() is cl
        and pickle.loads(pickle.dumps(c.closure())).n_constraints == cl.n_constraints
    )
    has = set(zip(cl.a, cl.b, cl.value))
    assert all((i, j, v) in has for i, j, v in zip(c.a, c.b, c.value) if v)


@quick
@given(small)
def test_evidence_is_a_shortest_chain_of_given_must_links(c):
    nx = pytest.importorskip("networkx")
    graph = pytest.importorskip("csc_nb.graph")
    G = nx.Graph()
    G.add_nodes_from(range(c._n))
    G.add_edges_from(c.must.tolist())
    found = c.contradictions()
    for (i, j), chain in found:
        assert (
            chain[0] == i
            and chain[-1] == j
            and all(G.has_edge(p, q) for p, q in zip(chain, chain[1:]))
        )
        assert len(chain) - 1 == nx.shortest_path_length(G, i, j)
    assert len(found) == graph.contradictions(c._n, c.must, c.cannot).count


def test_closure_of_billions_of_pairs_is_cheap_until_written():
    n = 200_000
    cl = Constraints(
        np.arange(n - 1), np.arange(1, n), np.ones(n - 1, int), n_samples=n
    ).closure()
    assert cl.n_constraints == n * (n - 1) // 2 and not cl.empty and cl.query(0, n - 1) == 1
    with pytest.raises(ValueError, match="19,999,900,000 pairs"):
        cl.a


def test_empty_everything():
    for c in (
        Constraints([], [], []),
        Constraints([], [], [], n_samples=0),
        as_constraints(None, n_samples=3),
        as_constraints(None, 2, ["x", "y"]),
    ):
        assert (
            c.empty
            and c.check().ok
            and c.closure().empty
            and c.must.shape == (0, 2)
            and c.resolve("majority").empty
        )
        assert c.subset([0] if c.n_samples else []).empty
    assert Triplets([], [], [], []).check().ok and Triplets([], [], [], []).implied().empty
    assert Bags([], []).empty and Bags([], []).implied().empty


# ---------------------------------------------------------------- people
def test_majority_and_drop():
    c = Constraints(
        [0, 0, 0, 1, 1, 2],
        [1, 1, 1, 2, 2, 3],
        [1, -1, 1, 1, -1, 0],
        expert=list("abcaba"),
        n_samples=4,
    )
    assert c.resolve("majority").to_records() == [
        (0, 1, "must", 1.0, 0),
        (2, 3, "unsure", 1.0, 0),
    ]
    assert c.resolve("drop").to_records() == [(2, 3, "unsure", 1.0, "a")]
    assert c.resolve() is c


def test_merge_people_and_ids():
    a = Constraints(["x"], ["y"], ["same"], expert="ann")
    b = Constraints(["z"], ["y"], ["no"], expert="bob")
    m = a.merge(b)
    assert (
        m.to_records() == [("x", "y", "must", 1.0, "ann"), ("y", "z", "cannot", 1.0, "bob")]
        and m.n_experts == 2
    )


@quick
@given(
    st.lists(
        st.tuples(st.sampled_from([-1, 1]), st.sampled_from([-1, 1])),
        min_size=1,
        max_size=30,
    )
)
def test_kappa_is_cohens(both):
    from sklearn.metrics import cohen_kappa_score

    u, v = np.array(both).T
    m = len(u)
    rows = np.arange(m)
    g = Constraints(
        np.r_[rows, rows], np.r_[rows, rows] + m, np.r_[u, v], expert=np.repeat([0, 1], m)
    ).agreement()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        want = cohen_kappa_score(u, v)
    assert g.n[0, 1] == m and g.agree[0, 1] == (u == v).mean()
    assert np.isclose(g.kappa[0, 1], want, equal_nan=True)


@quick
@given(pairs)
def test_flip(c):
    same(c.flip(0.0), c)
    same(c.flip(1.0).flip(1.0), c)
    assert (c.flip(1.0).value == -c.value).all() or c.flip(1.0).n_merged


# ---------------------------------------------------------------- the two traps
class Spy(ClusterMixin, BaseEstimator):
    "Keeps the constraints that reach `fit`, with the rows they met."

    __metadata_request__fit = {"constraints": True, "sample_id": True}
    got = []

    def __init__(self, knob=0):
        self.knob = knob

    def fit(self, X, y=None, *, constraints=None, sample_id=None):
        self.got.append((X, constraints, sample_id))
        return self

    def score(self, X, y=None):
        return 0.0


@pytest.fixture
def spy():
    Spy.got.clear()
    return Spy()


X100, Y100 = np.arange(100.0)[:, None], np.arange(100) % 2


def test_trap_one_a_list_is_sliced_the_container_is_not(spy):
    c = Constraints.from_labels(Y100, n=100, random_state=0)
    cross_val_score(
        spy, X100, Y100, cv=2, params={"constraints": list(zip(c.a, c.b, c.value))}
    )
    assert [len(g[1]) for g in Spy.got] == [50, 50]  # what scikit-learn does, silently
    Spy.got.clear()
    for thing in (
        c,
        Triplets.from_labels(Y100, n=100, random_state=0),
        Bags(np.arange(100), [None] * 100),
        c.closure(),
    ):
        assert not any(
            hasattr(thing, k) for k in ("__len__", "shape", "__array__", "__iter__")
        )
        cross_val_score(spy, X100, Y100, cv=2, params={"constraints": thing})
        assert all(g[1] is thing for g in Spy.got)
        Spy.got.clear()


@pytest.mark.parametrize("search", [False, True])
def test_trap_two_rows_that_moved(spy, search):
    ids = np.array([f"r{i}" for i in range(100)])
    shuffled = np.random.default_rng(1).permutation(100)
    c = Constraints.from_labels(Y100, n=100, random_state=0, ids=ids)
    params = {"constraints": c, "sample_id": ids[shuffled]}
    if search:
        GridSearchCV(spy, {"knob": [0]}, cv=2).fit(X100[shuffled], Y100[shuffled], **params)
    else:
        cross_val_score(spy, X100[shuffled], Y100[shuffled], cv=2, params=params)
    assert len(Spy.got) == 2 + search
    for X, given, sid in Spy.got:
        if len(X) < 100:
            with pytest.raises(ValueError, match="table of 100 rows, but X has 50"):
                as_constraints(
                    Constraints(c.a, c.b, c.value, n_samples=100), n_samples=len(X)
                )
            with pytest.warns(
                UserWarning,
                match=r"constraints of 100 dropped: they name rows that are not in this X",
            ) as seen:
                here = as_constraints(given, len(X), sid)
            assert len(seen) == 1
        else:
            here = as_constraints(given, len(X), sid)
        y = X[:, 0].astype(int) % 2  # the truth of the rows as they are now
        assert not here.empty and ((y[here.a] == y[here.b]) == (here.value > 0)).all()


@quick
@given(st.one_of(pairs, triples), st.data())
def test_subset_equals_looking_up_ids(c, data):
    n = c._n
    rows = data.draw(st.permutations(range(n)))[: data.draw(st.integers(0, n))]
    cut = c.subset(rows)
    assert cut.n_samples == len(rows)
    ids = np.arange(n) + 1000
    named = type(c)._make(
        c._rows, c._code, c.weight, c.expert, c.experts, ids, False, c.n_samples
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if not rows:
            return
        other = (as_constraints if isinstance(c, Constraints) else as_triplets)(
            named, len(rows), ids[rows]
        )
    assert np.array_equal(cut._rows, other._rows) and np.array_equal(cut._code, other._code)
    mask = np.isin(np.arange(n), rows)
    assert c.subset(mask).n_constraints == cut.n_constraints


def test_every_form_reads_the_same():
    want = Constraints([0, 1], [1, 2], [1, -1], n_samples=4)
    ids = list("wxyz")
    forms = [
        want,
        dict(must=[(0, 1)], cannot=[(1, 2)]),
        ([(0, 1), (1, 2)], [1, -1]),
        (np.array([[0, 1], [1, 2]]), np.array(["ML", "CL"])),
        want.to_frame(),
        want.to_sparse(),
    ]
    for f in forms:
        same(as_constraints(f, n_samples=4), want)
        same(as_constraints(f, sample_id=ids), want)
    for f in (
        dict(must=[("w", "x")], cannot=[("x", "y")]),
        ([("w", "x"), ("x", "y")], ["yes", "no"]),
    ):
        same(as_constraints(f, 4, ids), want)


def test_unknown_ids_can_be_dropped():
    c = Constraints(["a", "a"], ["b", "zz"], [1, 1])
    assert as_constraints(c, sample_id=["a", "b"], unknown="drop").to_records() == [
        (0, 1, "must", 1.0, 0)
    ]
    assert (
        Constraints(
            ["a", "a"], ["b", "zz"], [1, 1], ids=["a", "b"], unknown="drop"
        ).n_constraints
        == 1
    )


# ---------------------------------------------------------------- bags
@st.composite
def bags(draw):
    names_ = draw(
        st.lists(
            text.filter(lambda s: "|" not in s and s == s.strip() and s),
            min_size=1,
            max_size=5,
            unique=True,
        )
    )
    word = st.text("abcdef", min_size=1, max_size=3)
    labels = {k: draw(st.one_of(st.none(), st.sets(word, max_size=3))) for k in names_}
    bag = draw(st.lists(st.sampled_from(names_), max_size=8)) + names_
    return Bags(bag, labels)


@quick
@given(bags())
def test_bags_round_trips(b):
    same(Bags.from_frame(b.to_frame()), b)
    same(
        Bags.from_multihot(b.bag_ids[b.bag], b.to_multihot(), b.classes, bag_ids=b.bag_ids)
        if b.classes
        else b,
        b,
    )
    same(pickle.loads(pickle.dumps(b)), b)
    order = np.arange(b.n_samples)[::-1]
    same(b.subset(order).subset(order), b)


@quick
@given(bags())
def test_bags_imply_what_every_reading_shares(b):
    "Brute force: try every label that each of two rows may have."
    got = {
        (int(i), int(j)): int(v)
        for i, j, v in zip(*(lambda c: (c.a, c.b, c.value))(b.implied()))
    }
    for i, j in combinations(range(b.n_samples), 2):
        s, t = b.labels[b.bag[i]], b.labels[b.bag[j]]
        equal = {x == y for x in s for y in t}
        assert got.get((i, j), 0) == (0 if len(equal) != 1 else 1 if True in equal else -1)


def test_bags_follow_a_split():
    b = Bags([0, 0, 1], [{"x"}, None], ids=["p", "q", "r"])
    assert as_bags(b, 2, ["r", "p"]).bag.tolist() == [1, 0] and as_bags(None, 3) is None
    assert (
        b.stats()["labelled bags"] == 1
        and b.n_classes == 1
        and as_bags(([0, 0], ["robin"]), 2).labels == (frozenset({"robin"}),)
    )


# ---------------------------------------------------------------- size
def test_a_million_constraints_need_no_square_memory():
    import tracemalloc

    rng = np.random.default_rng(0)
    n, m = 200_000, 1_000_000
    z = rng.integers(5, size=n)
    tracemalloc.start()
    c = Constraints.from_labels(z, n=m, noise=0.01, random_state=0)
    report, cl = c.check(), c.closure()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (
        c.n_constraints == m
        and report.contradictions > 0
        and cl.n_must > 10**9
        and peak < 1e9
    )


def test_log_leaves_out_what_nobody_said(tmp_path):
    "A session writes implied and skipped answers too; they are not evidence."
    path = tmp_path / "a.jsonl"
    said = [
        ("x", "y", "same", ""),
        ("y", "z", "same", ""),
        ("x", "z", "same", "implied"),
        ("x", "w", "unsure", "skip"),
        ("z", "w", "different", "kept"),
    ]
    path.write_text(
        "".join(
            json.dumps(dict(event="answer", kind="pair", items=[a, b], answer=v, how=h))
            + "\n"
            for a, b, v, h in said
        )
    )
    c = Constraints.from_log(path, ids=list("wxyz"))
    assert c.n_constraints == 3 and sorted(c.value.tolist()) == [-1, 1, 1]


def test_whole_numbers_of_numpy_in_a_list_are_row_numbers():
    "A list of numpy's integers means the same as a list of Python's."
    rows = list(np.array([3, 1, 2]))
    c = Constraints(rows, list(np.array([0, 4, 5])), [1, -1, 1], n_samples=6)
    assert sorted(zip(c.a.tolist(), c.b.tolist())) == [(0, 3), (1, 4), (2, 5)]
    pairs = Constraints.from_pairs(must=[(rows[0], rows[1])], n_samples=6)
    assert {*pairs.a.tolist(), *pairs.b.tolist()} == {1, 3}
