"""Who said what about which rows: one vocabulary, ids that never guess, one table.

The meaning is checked by brute force: a probe estimator records which rows of X were really
linked, and the rows are compared with the ones the names stand for.
"""

import json
import warnings
from datetime import timedelta
from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from csc_nb.answer_table import Answers
from csc_nb.baselines.kmeans import PCKMeans
from csc_nb.constraints import Bags, Constraints, Triplets, as_constraints, as_triplets
from csc_nb.estimators import _REGISTRY, ConstrainedClusterer
from csc_nb.experts import ExpertClustering
from csc_nb.ids import counted, id_array
from csc_nb.oracles import pair_answer, triple_answer
from csc_nb.vocabulary import (
    parse_answers,
    KINDS,
    RESPONSES,
    UNSURE_WORDS,
    WORDS,
    answer_word,
    parse_answer,
)

N = 12


class Probe(ConstrainedClusterer):
    "Remembers which rows were linked, as content of X, not as numbers."

    def __init__(self, n_clusters=2):
        self.n_clusters = n_clusters

    def fit(self, X, y=None, *, constraints=None, triplets=None, sample_id=None):
        X, c = self._validate_fit(X, constraints, sample_id)
        self.links_ = {
            (frozenset((float(X[i, 0]), float(X[j, 0]))), int(v))
            for i, j, v in zip(c.a, c.b, c.value)
        }
        self.labels_ = np.zeros(len(X), int)
        return self


# every id kind: the ids of N rows whose first column holds 100, 101, …
IDS = {
    "text": [f"p{i}" for i in range(N)],
    "from one": list(range(1, N + 1)),
    "far": list(range(1000, 1000 + N)),
    "shuffled": np.random.default_rng(0).permutation(N).tolist(),
    "float": [i + 0.5 for i in range(N)],
    "mixed": ["x", *range(50, 50 + N - 1)],
    "dates": pd.date_range("2026-01-01", periods=N),
    "tuples": pd.MultiIndex.from_product([["a", "b"], range(N // 2)]),
    "intervals": pd.interval_range(0, N),
    "categories": pd.CategoricalIndex([f"c{i}" for i in range(N)]),
}
X = np.c_[100.0 + np.arange(N), np.zeros(N)]
LINKS = [(0, 3, 1), (3, 4, 1), (4, 9, -1), (1, 2, 0)]
MEANT = {(frozenset((100.0 + i, 100.0 + j)), v) for i, j, v in LINKS}
WORD = {1: "same", -1: "different", 0: "unsure"}


def named(ids):
    "The answers in names of rows."
    ids = list(ids)
    return [(ids[i], ids[j], WORD[v]) for i, j, v in LINKS]


FORMS = {
    "tuples": lambda said: said,
    "pairs and values": lambda said: (
        [(a, b) for a, b, _ in said],
        [v for _, _, v in said],
    ),
    "dict": lambda said: {
        key: [(a, b) for a, b, v in said if v == word]
        for key, word in (("must", "same"), ("cannot", "different"), ("unsure", "unsure"))
    },
    "Constraints": lambda said: Constraints(*map(list, zip(*said)), ids=True),
    "Answers": lambda said: Answers(*map(list, zip(*said)), ids=True),
    "pandas": lambda said: pd.DataFrame(
        {
            k: pd.Series(list(v), dtype=object)
            for k, v in zip(("a", "b", "value"), zip(*said))
        }
    ),
}


def entrances(side, frame, ids):
    "Every way to hand the answers over, with the ids of the table."
    yield "keyword, sample_id", lambda: Probe().fit(X, constraints=side, sample_id=ids)
    yield "second place, sample_id", lambda: Probe().fit(X, side, sample_id=ids)
    yield "keyword, index", lambda: Probe().fit(frame, constraints=side)
    yield "second place, index", lambda: Probe().fit(frame, side)


@pytest.mark.parametrize("kind, form", list(product(IDS, FORMS)))
def test_every_container_at_every_entrance_with_every_kind_of_id(kind, form):
    ids = IDS[kind]
    frame = pd.DataFrame(X, index=ids, columns=["f0", "f1"])
    said = named(ids)
    numbers = all(isinstance(i, (int, np.integer)) for i in list(ids))
    explicit = form in ("Constraints", "Answers")
    for where, fit in entrances(FORMS[form](said), frame, ids):
        if numbers and not explicit and where.endswith("index") and kind != "far":
            # both readings are possible and differ: nobody guesses
            with pytest.raises(ValueError, match="Say which"):
                fit()
        else:
            assert fit().links_ == MEANT, (kind, form, where)


@pytest.mark.parametrize("form", FORMS)
def test_row_numbers_where_there_are_no_ids(form):
    said = named(range(N))
    if form == "Constraints":
        side = Constraints(*map(list, zip(*said)), ids=False)
    elif form == "Answers":
        side = Answers(*map(list, zip(*said)), ids=False)
    else:
        side = FORMS[form](said)
    for table in (X, pd.DataFrame(X), pl.DataFrame(X)):
        assert Probe().fit(table, constraints=side).links_ == MEANT
        assert Probe().fit(table, side).links_ == MEANT
    matrix = sp.coo_array(([1, 1, -1.0], ([0, 3, 4], [3, 4, 9])), (N, N))
    certain = {link for link in MEANT if link[1]}
    assert Probe().fit(X, matrix).links_ == certain


@pytest.mark.parametrize(
    "index",
    [
        [0] * N,
        [0.5] * N,
        ["a", 1] * (N // 2),
        IDS["tuples"],
        IDS["intervals"],
        [np.nan] * N,
    ],
    ids=["duplicate", "float", "mixed", "multi", "interval", "nan"],
)
def test_any_frame_is_a_table_when_nobody_speaks_of_ids(index):
    frame = pd.DataFrame(X, index=index)
    assert Probe().fit(frame).links_ == set()
    assert Probe().fit(frame, constraints=[(0, 3, "same")]).links_ == {
        (frozenset((100.0, 103.0)), 1)
    }
    assert len(PCKMeans(2, random_state=0).fit(frame).labels_) == N


def test_patients_one_and_two_are_never_rows_one_and_two():
    frame = pd.DataFrame(X, index=range(1, N + 1))
    pairs = Constraints.from_pairs(must=[(1, 2), (3, 4)])
    with pytest.raises(ValueError, match="may be the row called 1 or row number 1"):
        Probe().fit(frame, constraints=pairs)
    meant = {(frozenset((100.0, 101.0)), 1), (frozenset((102.0, 103.0)), 1)}
    assert Probe().fit(frame, constraints=pairs, sample_id=frame.index).links_ == meant
    by_id = Constraints.from_pairs(must=[(1, 2), (3, 4)], ids=True)
    assert Probe().fit(frame, constraints=by_id).links_ == meant


def test_a_repeated_name_is_refused_only_when_it_is_used():
    frame = pd.DataFrame(X, index=["a", "a", *(f"r{i}" for i in range(N - 2))])
    assert Probe().fit(frame, constraints=[("r0", "r1", "same")]).links_
    with pytest.raises(ValueError, match="2 rows of X have that index"):
        Probe().fit(frame, constraints=[("a", "r1", "same")])


@pytest.mark.parametrize("side", [Triplets([0], [1], [2], ["ab"]), Bags([0] * N, [{"x"}])])
def test_side_information_that_a_method_cannot_take_is_refused(side):
    with pytest.raises(TypeError, match="takes no (triplets|bags)="):
        ExpertClustering(2).fit(X, side)


def test_answers_given_twice_or_as_a_strange_target_are_refused():
    with pytest.raises(TypeError, match="twice"):
        Probe().fit(X, [(0, 1, "same")], constraints=[(0, 1, "same")])
    with pytest.raises(TypeError, match="constraints="):
        Probe().fit(X, np.array([[0, 1, 1], [1, 2, -1]]))
    Probe().fit(X, np.arange(N))


@pytest.mark.parametrize("name", sorted(_REGISTRY))
def test_no_registered_method_ignores_answers_in_the_second_place(name):
    "Either the keyword's result, or a sentence."
    cls = _REGISTRY[name]
    if "pairs" not in cls.side_information or not issubclass(cls, ConstrainedClusterer):
        pytest.skip("takes no pairs")
    seen = []
    fit = cls.fit.__wrapped__

    def spy(self, X, y=None, **kwargs):
        seen.append((y, kwargs.get("constraints")))
        return self

    from csc_nb.estimators import _checked_fit

    spy.__signature__ = __import__("inspect").signature(fit)
    side = [(0, 1, "same")]
    try:
        _checked_fit(spy)(cls(), X, side)
    except TypeError as e:
        assert "takes no" in str(e)
    else:
        assert seen == [(None, side)]


# one vocabulary ---------------------------------------------------------------------

WORDS_OF = [
    (kind, want, word)
    for kind in ("pair", "triple")
    for want, words in {**WORDS[kind], "unsure": UNSURE_WORDS}.items()
    for word in words.split()
]


@pytest.mark.parametrize("kind, want, word", WORDS_OF)
def test_every_word_at_every_entrance(kind, want, word, tmp_path):
    spellings = [word, word.upper(), f"  {word} "]
    if word[0].isalpha():
        spellings += [word.replace("-", "_"), word.replace("-", " ")]
    for spelt in spellings:
        assert answer_word(parse_answer(spelt, kind), kind) == want
    c = {} if kind == "pair" else {"c": ["z"]}
    # a lone 1 is "same" by both readings of a column of zeros and ones
    assert Answers(["x"], ["y"], [word], **c).answer.tolist() == [want]
    frame = pd.DataFrame(dict(a=["x"], b=["y"], answer=[word], **c))
    assert Answers.from_frame(frame).answer.tolist() == [want]
    log = tmp_path / "log.jsonl"
    items = ["x", "y"] if kind == "pair" else ["x", "y", "z"]
    log.write_text(json.dumps({"event": "answer", "items": items, "answer": word}) + "\n")
    if kind == "pair":
        value = {"same": 1, "different": -1, "unsure": 0}[want]
        assert Constraints(["x"], ["y"], [word]).value.tolist() == [value]
        assert Constraints.from_frame(frame).value.tolist() == [value]
        assert Constraints.from_log(log).value.tolist() == [value]
        assert pair_answer(word) == value
        (tmp_path / "c.csv").write_text(f'a,b,value\nx,y,"{word}"\n')
        assert Constraints.from_csv(tmp_path / "c.csv").value.tolist() == [value]
    else:
        assert Triplets(["x"], ["y"], ["z"], [word]).answer.tolist() == [want]
        assert Triplets.from_frame(frame).answer.tolist() == [want]
        assert Triplets.from_log(log).answer.tolist() == [want]
        assert triple_answer(word) == want


def test_true_and_false_are_same_and_different_everywhere():
    assert Constraints([0, 1], [1, 2], [True, False]).value.tolist() == [1, -1]
    assert Constraints([0, 1], [1, 2], ["same", False]).value.tolist() == [1, -1]
    assert [pair_answer(v) for v in (True, False, np.True_)] == [1, -1, 1]


def test_unsure_is_never_none():
    t = Triplets([0, 0], [1, 1], [2, 3], ["unsure", "none"], n_samples=4)
    assert t.answer.tolist() == ["unsure", "none"]
    assert as_triplets(t, n_samples=4).answer.tolist() == ["none"]
    assert t.to_answers().answer.tolist() == ["unsure", "none"]
    with pytest.raises(ValueError, match="empty"):
        Triplets([0], [1], [2], [None])


@pytest.mark.parametrize("values", [[1, 0, 1], ["same", 0], ["1", "0"], [0.0, 1.0], [0]])
def test_a_zero_is_never_guessed(values):
    rows = np.arange(len(values))
    with pytest.raises(ValueError, match="0 may mean different or unsure"):
        Constraints(rows, rows + 1, values)
    edited = Constraints(rows, rows + 1, ["same"] * len(values)).to_frame()
    edited["value"] = values
    with pytest.raises(ValueError, match="0 may mean different or unsure"):
        Constraints.from_frame(edited)


# the table --------------------------------------------------------------------------


def truth_of(kind, items, answer):
    "What an answer says, as a set of names: the judge of every conversion."
    a, b, c = items
    if kind == "pair" or kind == "grade":
        return kind, frozenset((a, b)), answer
    if kind == "comparison":
        return kind, a, frozenset((b, c)), {"left": b, "right": c}.get(answer, answer)
    pair = {"ab": (a, b), "ac": (a, c), "bc": (b, c)}.get(answer)
    return kind, frozenset(items), frozenset(pair) if pair else answer


def random_answers(seed, m=60, kinds=KINDS):
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(m):
        kind = kinds[rng.integers(len(kinds))]
        items = [f"i{k}" for k in rng.choice(8, 3, replace=False)]
        words = [*RESPONSES[kind], "unsure"] if kind != "grade" else [0, 1, 2, 3, "unsure"]
        if kind in ("pair", "grade"):
            items[2] = None
        rows.append((*items, words[rng.integers(len(words))], kind, f"e{rng.integers(4)}"))
    df = pd.DataFrame(rows, columns=["a", "b", "c", "answer", "kind", "annotator"])
    df["c"] = df["c"].astype(object).where(df["c"].notna(), None)
    df["group"] = df["annotator"].map({"e0": "g", "e1": "g", "e2": "h", "e3": "h"})
    df["seconds"] = rng.random(m)
    df["price"] = rng.integers(1, 4, m).astype(float)
    return df


@pytest.mark.parametrize("seed", range(20))
def test_a_table_says_what_was_said(seed):
    df = random_answers(seed)
    A = Answers.from_frame(df)
    out = A.to_frame()
    meant = [truth_of(r.kind, (r.a, r.b, r.c), r.answer) for r in df.itertuples()]
    kept = [truth_of(r.kind, (r.a, r.b, r.c), r.answer) for r in out.itertuples()]
    assert kept == meant
    assert Answers.from_frame(out) == A
    questions = list(dict.fromkeys(m[: 3 if m[0] == "comparison" else 2] for m in meant))
    assert A.n_questions == len(questions) == len(A.questions)
    assert [questions[q] for q in A.question] == [
        m[: 3 if m[0] == "comparison" else 2] for m in meant
    ]
    for name in ("seconds", "price"):
        assert out[name].tolist() == df[name].tolist()
    half = A.subset(np.arange(0, 60, 2)).merge(A.subset(np.arange(1, 60, 2)))
    assert half.n_answers == 60 and half.n_questions == A.n_questions


@pytest.mark.parametrize("seed", range(10))
def test_conversions_lose_nothing(seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, 15)
    ids = [None, [f"r{i}" for i in range(15)], list(range(100, 115))][seed % 3]
    c = Constraints.from_labels(y, 30, 0.2, 0.1, random_state=seed, ids=ids, expert="ann")
    assert c.to_answers().to_constraints() == c
    assert as_constraints(c.to_answers(), 15, ids) == as_constraints(c, 15, ids)
    t = Triplets.from_labels(y, 20, random_state=seed, ids=ids)
    assert t.to_answers().to_triplets() == t


def test_a_row_number_beyond_every_table_needs_no_memory():
    report = Constraints([10**12], [1], [1]).check()
    assert report.facts["largest group"] == 2 and report.ok


def test_ties_of_a_majority_are_ties_whatever_the_rounding():
    c = Constraints(
        [0] * 4, [1] * 4, [1, 1, 1, -1], weight=[0.1, 0.2, 0.3, 0.6], expert=[0, 1, 2, 3]
    )
    assert c.resolve("majority").empty


def test_ids_with_leading_zeros_stay_text(tmp_path):
    (tmp_path / "c.csv").write_text("a,b,value\n007,12,same\n7,12,different\n")
    c = Constraints.from_csv(tmp_path / "c.csv")
    assert c.to_records()[0][:2] == ("007", "12") or c.to_records()[0][:2] == ("12", "007")
    assert c.check().opposite == 0


def test_unknown_drop_works_for_every_form():
    for form in FORMS.values():
        said = [("p0", "p1", "same"), ("p0", "nobody", "different")]
        c = as_constraints(form(said), sample_id=IDS["text"], unknown="drop")
        assert c.n_constraints == 1


def test_an_old_log_and_an_old_file_are_still_read(tmp_path):
    old = (
        '# {"csc_nb": "constraint", "by": "id", "n_samples": null, "ids": ["x", "y", "z"], '
    )
    old += '"id_type": "text", "experts": [0]}\na,b,value,weight,expert\nx,y,must,1.0,0\n'
    (tmp_path / "old.csv").write_text(old)
    assert Constraints.from_csv(tmp_path / "old.csv").to_records() == [
        ("x", "y", "must", 1.0, 0)
    ]
    lines = [
        {"event": "start", "seed": 0, "data": "x", "version": "0.1.0"},
        {"event": "answer", "items": ["x", "y"], "answer": 1, "annotator": "ann"},
        {"event": "answer", "items": ["x", "z"], "answer": -1},
        {"event": "answer", "items": ["y", "z"], "answer": 0, "how": "skip"},
        {"event": "undo", "n": 1},
    ]
    (tmp_path / "old.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        c = Constraints.from_log(tmp_path / "old.jsonl")
    assert c.n_constraints == 2


# one store --------------------------------------------------------------------------


def told(seed, m=40):
    "A table of pairs with everything a table can hold, some of them said twice."
    rng = np.random.default_rng(seed)
    pairs = [rng.choice(8, 2, replace=False) for _ in range(m // 2)]
    pairs = [pairs[i] for i in rng.integers(0, m // 2, m)]
    return pd.DataFrame(
        {
            "a": [f"i{p[0]}" for p in pairs],
            "b": [f"i{p[1]}" for p in pairs],
            "answer": [["same", "different", "unsure"][k] for k in rng.integers(0, 3, m)],
            "annotator": [f"e{k}" for k in rng.integers(0, 3, m)],
            "group": "people",
            "weight": rng.integers(1, 4, m).astype(float),
            "seconds": np.arange(m) + 0.5,
            "price": rng.integers(1, 4, m).astype(float),
        }
    )


def facts(table):
    "What each response says, told apart by its seconds."
    return {
        r.seconds: (
            frozenset((r.a, r.b)),
            r.answer,
            r.annotator,
            r.group,
            r.weight,
            r.price,
        )
        for r in table.to_frame().itertuples()
    }


@pytest.mark.parametrize("seed", range(8))
def test_constraints_are_a_view_and_their_parts_keep_every_column(seed):
    A = Answers.from_frame(told(seed))
    all_facts = facts(A)
    c = A.to_constraints()
    assert np.shares_memory(c.answers.rows, A.rows), "no second store"
    assert np.shares_memory(c.to_answers().response, A.response)
    assert facts(c.to_answers()) == all_facts
    assert c.n_constraints + c.n_merged == A.n_answers and c.n_merged > 0
    # merged as before: weights of what one person said twice add
    meant = {}
    for pair, answer, who, _, weight, _ in all_facts.values():
        key = pair, {"same": "must", "different": "cannot"}.get(answer, answer), who
        meant[key] = meant.get(key, 0) + weight
    got = {(frozenset(r[:2]), r[2], r[4]): r[3] for r in c.to_records()}
    assert got == meant
    # a part, and the rest: every response is in exactly one of them
    half = np.random.default_rng(seed).random(c.n_constraints) < 0.5
    parts = [facts(c.select(m).to_answers()) for m in (half, ~half)]
    assert {**parts[0], **parts[1]} == all_facts and len(parts[0]) < len(all_facts)
    back = c.select(half).merge(c.select(~half))
    assert facts(back.to_answers()) == all_facts
    turned = facts(c.flip(1.0).to_answers())
    opposite = {"same": "different", "different": "same", "unsure": "unsure"}
    assert {k: opposite[v[1]] for k, v in turned.items()} == {
        k: v[1] for k, v in all_facts.items()
    }
    # in rows of a table that lacks two of the items
    names = [f"i{k}" for k in (5, 3, 0, 1, 2, 7)]
    located = as_constraints(c, sample_id=names, unknown="drop").to_answers()
    there = {k: v for k, v in all_facts.items() if v[0] <= set(names)}
    moved = {
        k: (frozenset(names[i] for i in v[0]), *v[1:]) for k, v in facts(located).items()
    }
    assert moved == there


def test_a_frame_of_pairs_keeps_seconds_price_and_group_behind_the_view():
    df = told(3)
    c = Constraints.from_frame(df.rename(columns={"answer": "value"}))
    assert facts(c.to_answers()) == facts(Answers.from_frame(df))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("form", ["csv", "log", "frame"])
def test_files_keep_seconds_price_and_group(seed, form, tmp_path):
    df = told(seed)
    df.loc[::5, "price"] = np.nan  # nobody knows
    df["group"] = df["annotator"].map({"e0": "people", "e1": "people", "e2": "models"})
    c = Answers.from_frame(df).to_constraints()
    assert c.n_merged > 0
    path = tmp_path / "t"
    back = {
        "csv": lambda: Constraints.from_csv(c.to_csv(path)),
        "log": lambda: Constraints.from_log(c.to_log(path)),
        "frame": lambda: Constraints.from_frame(c.to_frame()),
    }[form]()
    assert back == c and back.n_merged == 0
    meant = {}
    for r in df.itertuples():
        key = frozenset((r.a, r.b)), r.answer, r.annotator, r.group
        meant.setdefault(key, []).append((r.seconds, r.price))
    got = {
        (frozenset((r.a, r.b)), r.answer, r.annotator, r.group): (r.seconds, r.price)
        for r in back.to_answers().to_frame().itertuples()
    }
    assert got.keys() == meant.keys()
    for key, several in meant.items():  # what counts as one has cost its sum
        np.testing.assert_allclose(got[key], np.sum(several, axis=0))


def test_triplets_are_a_view_too():
    A = Answers(["x", "z"], ["y", "y"], ["ab", "none"], ["z", "w"], seconds=[1.0, 2.0])
    t = A.to_triplets()
    assert np.shares_memory(t.answers.rows, A.rows) and t.to_answers() == A
    assert t.select([1]).to_answers().seconds.tolist() == [2.0]


def test_views_have_none_of_the_three_traps():
    c = Constraints([0, 1], [1, 2], [1, -1])
    for side in (c, c.answers, c.closure(), Triplets([0], [1], [2], ["ab"])):
        for name in ("__len__", "shape", "__array__"):
            assert not hasattr(side, name), (type(side), name)


def test_one_name_two_groups_is_refused_when_tables_are_joined():
    one = Answers(["x"], ["y"], ["same"], annotator="ann", group={"ann": "people"})
    two = Answers(["x"], ["z"], ["same"], annotator="ann", group={"ann": "models"})
    with pytest.raises(ValueError, match="two groups"):
        one.merge(two)
    plain = Answers(["x"], ["z"], ["same"], annotator="ann")
    for joined in (one.merge(plain), plain.merge(one)):
        assert joined.groups == ("people",)


# one reading of columns, one of undo ------------------------------------------------


def test_the_same_columns_are_found_by_every_reader(tmp_path):
    for a, b, said in (
        ("i", "j", "label"),
        ("id_a", "id_b", "response"),
        ("A", "B", "grade"),
    ):
        df = pd.DataFrame({a: ["x"], b: ["y"], said: ["same"], "worker": ["ann"]})
        df.to_csv(tmp_path / "t.csv", index=False)
        for side in (Constraints.from_frame(df), Constraints.from_csv(tmp_path / "t.csv")):
            assert side.to_records() == [("x", "y", "must", 1.0, "ann")]
        assert Answers.from_frame(df).annotators == ("ann",)


@pytest.mark.parametrize("read", [Constraints.from_frame, Answers.from_frame])
def test_two_columns_of_answers_are_not_guessed(read):
    df = pd.DataFrame({"a": ["x"], "b": ["y"], "answer": ["same"], "value": ["different"]})
    with pytest.raises(ValueError, match="both 'answer' and 'value'"):
        read(df)


def test_head_left_right_is_a_comparison():
    df = pd.DataFrame({"head": ["x"], "left": ["y"], "right": ["z"], "answer": ["right"]})
    A = Answers.from_frame(df)
    assert A.questions.iloc[0].tolist() == ["comparison", "x", "y", "z"]
    assert A.answer.tolist() == ["right"]


def test_a_log_says_the_same_to_every_reader(tmp_path):
    "A correction that was cut off in its batch did not happen, whoever reads the log."
    from csc_nb.formats import read_jsonl_answers as read_answers
    from csc_nb.oracles import Journal

    log = tmp_path / "log.jsonl"
    with Journal(log, annotator="ann") as j:
        for n, (items, answer) in enumerate([(["x", "y"], 1), (["y", "z"], -1)]):
            j.append("answer", n=n, kind="pair", items=items, answer=answer)
        again = dict(n=1, kind="pair", items=["y", "z"], answer=1)
        j.extend([("undo", dict(n=1)), ("answer", again)])
    whole = log.read_bytes()
    said = {("x", "y"): 1, ("y", "z"): 1}
    for cut, meant in ((len(whole), said), (len(whole) - 30, {**said, ("y", "z"): -1})):
        log.write_bytes(whole[:cut])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            c, A = Constraints.from_log(log), read_answers(log)
            with Journal(log) as j:
                standing = {tuple(e["items"]): e["answer"] for e in j.standing}
        assert standing == meant
        names = c.ids[np.array([c.a, c.b])].T
        assert dict(zip(map(tuple, names.tolist()), c.value.tolist())) == meant
        assert A.answer.tolist() == [
            {1: "same", -1: "different"}[v] for v in meant.values()
        ]


# more kinds of names ----------------------------------------------------------------

MORE_IDS = {
    "zoned dates": pd.date_range("2026-01-01", periods=N, tz="Europe/Paris"),
    "milliseconds": pd.date_range("2026-01-01", periods=N, freq="ms"),
    "nanoseconds": pd.date_range("2026-01-01", periods=N, freq="ns"),
    "days": np.arange("2026-01-01", "2026-01-13", dtype="datetime64[D]").tolist(),
    "periods": pd.period_range("2026-01", periods=N, freq="M"),
    "durations": pd.timedelta_range("1h", periods=N),
    "nullable": pd.Index(range(5, 5 + N), dtype="Int64"),
    "pandas text": pd.Index([f"s{i}" for i in range(N)], dtype="string"),
    "beyond int64": pd.Index([2**63 + i for i in range(N)], dtype="uint64"),
    "beyond double": [2**60 + i for i in range(N)],
    "whole floats": [float(i) for i in range(3, 3 + N)],
    "category of numbers": pd.CategoricalIndex(range(20, 20 + N)),
    "negative": list(range(-N, 0)),
}


def polars_frame(said):
    "Through numpy where polars would read texts or Python's dates with less precision."
    a, b, value = (list(v) for v in zip(*said))
    if isinstance(a[0], pd.Timestamp) and a[0].tz is None:
        a, b = (np.array([t.to_datetime64() for t in v]) for v in (a, b))
    return pl.DataFrame({"a": a, "b": b, "value": value})


@pytest.mark.parametrize("kind", MORE_IDS)
@pytest.mark.parametrize("form", [*FORMS, "polars"])
def test_names_of_pandas_and_polars(kind, form):
    ids = MORE_IDS[kind]
    if kind == "periods" and form == "polars":
        pytest.skip("polars has no periods")
    said = named(ids)
    side = polars_frame(said) if form == "polars" else FORMS[form](said)
    series = None if kind == "periods" else pl.Series(list(ids))
    if kind == "nanoseconds":
        series = pl.Series(ids.to_numpy())
    for given in (ids, list(ids), series):
        if given is not None:
            links = Probe().fit(X, constraints=side, sample_id=given).links_
            assert links == MEANT, (kind, form, type(given))
    if kind != "negative":
        frame = pd.DataFrame(X, index=ids)
        assert Probe().fit(frame, side).links_ == MEANT


def test_a_duration_is_one_name_whoever_made_it():
    "Python's, numpy's and pandas' durations of the same length are the same row's name."
    text = "P1DT2H3M4.5S"
    python = timedelta(days=1, hours=2, minutes=3, seconds=4, milliseconds=500)
    for value in (python, np.timedelta64(93_784_500, "ms"), pd.Timedelta(text)):
        assert id_array([value, "b"]).tolist() == [text, "b"]


@pytest.mark.parametrize(
    "n, noun, text",
    [(1, "query", "1 query"), (2, "query", "2 queries"), (2, "pair", "2 pairs")],
)
def test_numbers_and_their_nouns(n, noun, text):
    assert counted(n, noun) == text
    assert counted(1200, "seconds") == "1,200 seconds"


@pytest.mark.parametrize("empty", [None, np.nan, "", "NA"])
def test_a_row_without_a_kind_has_the_kind_of_its_items(empty):
    "Tables of several kinds that were put together leave such rows."
    pd = pytest.importorskip("pandas")
    empty = pd.NA if empty == "NA" else empty
    rows = [("x", "y", None, "same", empty), ("x", "y", "z", "ab", empty)]
    rows += [("x", "y", None, 3, "grade"), ("x", "y", "z", "left", "comparison")]
    A = Answers.from_frame(pd.DataFrame(rows, columns=["a", "b", "c", "answer", "kind"]))
    assert A.questions.kind.tolist() == ["pair", "triple", "grade", "comparison"]


@pytest.mark.parametrize("kind", ["pair", "grade"])
def test_answers_in_rows_and_columns_are_refused(kind):
    "One answer a question: a matrix of numbers is not read as anything."
    for matrix in (np.array([[1, 0], [0, 1]]), np.array([[True, False]])):
        with pytest.raises(ValueError, match="not understood"):
            parse_answers(matrix, kind)
    for alone in (np.array(3), 1, "same", None):
        with pytest.raises(ValueError, match="is one answer: give a list"):
            parse_answers(alone, kind)


@pytest.mark.parametrize("empty", [[1.0, np.nan], [None, 2.0]])
def test_a_weight_that_is_not_known_is_refused(empty):
    "It would count as no answer at all, and nobody would see it."
    table = pd.DataFrame(dict(a="xx", b=["y", "z"], answer="same", weight=empty))
    with pytest.raises(
        ValueError, match=r"1 entry of weight empty: first is weight\[[01]\]"
    ):
        Answers.from_frame(table)
    assert Answers.from_frame(table.fillna(1.0)).weight.min() == 1
