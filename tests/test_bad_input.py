"""Malformed input, each with the sentence it must get: how many, which is first, how to
repair."""

import json, re, warnings
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from csc_nb.constraints import (
    Bags,
    Constraints,
    Triplets,
    as_bags,
    as_constraints,
    as_triplets,
)
from csc_nb.baselines import COPKMeans
from csc_nb.rdpmeans import DPMeans, RDPMeans
from csc_nb.tvclust import TVClust

IDS = [f"s{i}" for i in range(10)]
pairs120 = (np.arange(120), np.arange(120) + 1)
C = lambda a, b, v, **kw: Constraints(a, b, v, **kw)
T = lambda a, b, c, w, **kw: Triplets(a, b, c, w, **kw)
frame = lambda **cols: __import__("pandas").DataFrame(cols)
positional = Constraints([0, 1], [2, 3], [1, -1], n_samples=150)
by_id = Constraints(["s1", "s2"], ["s3", "s4"], [1, -1])
chain = Constraints.from_pairs(
    must=[(0, 1), (1, 2), (2, 3)], cannot=[(0, 3), (1, 3)], n_samples=4
)
chain_id = Constraints.from_pairs(
    must=[("s0", "s1"), ("s1", "s2")], cannot=[("s0", "s2")], ids=IDS
)
out7 = lambda: C(
    [0] * 7 + [12, 1, 2], list(range(1, 8)) + [150, 151, 200], [1] * 10, n_samples=150
)
coo = lambda w, i, j, n=3: sp.csr_array((np.array(w, float), (i, j)), (n, n))

# name | what is called | fragments of the message, in order
CONTAINERS = [
    # lengths
    ("values missing", lambda: C(*pairs120, [1] * 118), ["120 pairs but 118 values."]),
    (
        "b shorter than a",
        lambda: C([0, 1, 2], [1, 2], [1, 1, 1]),
        ["3 entries in a but 2 in b"],
    ),
    (
        "weights missing",
        lambda: C([0, 1], [1, 2], [1, 1], weight=[1.0]),
        ["2 pairs but 1 weight."],
    ),
    (
        "experts missing",
        lambda: C([0, 1], [1, 2], [1, 1], expert=["ann"]),
        ["2 pairs but 1 expert."],
    ),
    (
        "ids and n_samples",
        lambda: C([0], [1], [1], ids=IDS, n_samples=7),
        ["n_samples=7 but 10 ids"],
    ),
    (
        "a table as a",
        lambda: C([[0, 1]], [1], [1]),
        ["a must be one-dimensional", "(1, 2)"],
    ),
    ("a number as a", lambda: C(3, 4, 1), ["a must be a list with one entry", "got 3"]),
    (
        "a word as value",
        lambda: C([0], [1], "same"),
        ["value must be a list with one entry", "'same'"],
    ),
    # rows
    (
        "row out of range",
        out7,
        [
            "3 constraints name rows outside X (n_samples=150): first is constraint 7: "
            "(12, 150). Row numbers start at 0; did you number from 1?"
        ],
    ),
    (
        "one row out of range",
        lambda: C([0], [5], [1], n_samples=5),
        ["1 constraint names rows outside X (n_samples=5): first is constraint 0: (0, 5)"],
    ),
    (
        "negative row",
        lambda: C([0, -1], [1, 2], [1, 1], n_samples=5),
        ["first is constraint 1: (-1, 2)", "negative ones do not count from the end"],
    ),
    (
        "negative row, no length",
        lambda: C([-1], [2], [1]),
        ["1 constraint names rows", "(-1, 2)"],
    ),
    (
        "half a row",
        lambda: as_constraints(C([0, 0.5], [1, 2], [1, 1]), n_samples=10),
        ["name rows by id", "pass sample_id="],
    ),
    (
        "NaN row",
        lambda: C([0, 1], [1, np.nan], [1, 1]),
        ["1 entry of b empty: first is b[1]"],
    ),
    (
        "None row",
        lambda: C([0, None], [1, 2], [1, 1]),
        ["1 entry of a empty: first is a[1]"],
    ),
    (
        "mask as rows",
        lambda: C([True, False], [1, 2], [1, 1]),
        ["a holds True/False", "give row numbers"],
    ),
    (
        "text among numbers",
        lambda: as_constraints(C([0, "s1"], [1, 2], [1, 1]), n_samples=10),
        ["name rows by id", "pass sample_id="],
    ),
    (
        "text and numbers",
        lambda: as_constraints(C(["s1"], [2], [1]), n_samples=10),
        ["name rows by id", "pass sample_id="],
    ),
    (
        "negative n_samples",
        lambda: C([0], [1], [1], n_samples=-3),
        ["n_samples must be a whole number of at least 0, the rows of the table, got -3"],
    ),
    (
        "fractional n_samples",
        lambda: C([0], [1], [1], n_samples=2.5),
        ["n_samples must be a whole number", "2.5"],
    ),
    # ids
    (
        "unknown id",
        lambda: C(["s1", "S2"], ["s3", "s4"], [1, 1], ids=IDS),
        [
            "1 constraint uses 1 unknown id: 'S2' (did you mean 's2'?)",
            "First is constraint 1",
            "unknown='drop'",
        ],
    ),
    (
        "unknown ids in X",
        lambda: as_constraints(by_id, sample_id=["s1", "s2", "s3", "x4"]),
        [
            "1 constraint uses 1 unknown id: 's4' (did you mean",
            "First is constraint 1",
            "unknown='drop'",
        ],
    ),
    (
        "no id fits",
        lambda: as_constraints(C([0], [1], [1], ids=IDS), sample_id=list(range(10))),
        ["uses 2 unknown ids: 's0', 's1'", "asked for are str, the known ones int"],
    ),
    (
        "id twice",
        lambda: C([0], [1], [1], ids=["x", "y", "x"]),
        ["1 entry of ids repeats an earlier one: first is ids[2] = 'x'"],
    ),
    (
        "sample_id twice",
        lambda: as_constraints(by_id, sample_id=["s1", "s1"]),
        ["of sample_id repeats", "sample_id[1] = 's1'"],
    ),
    (
        "numbers that may be ids",
        lambda: C([1], [2], [1], ids=[1, 2, 3]),
        ["may be the row called 1 or row number 1", "by='id' or by='row'"],
    ),
    (
        "ids with NaN",
        lambda: C([0], [1], [1], ids=[1.0, np.nan]),
        ["1 entry of ids empty", "ids[1]"],
    ),
    (
        "ids but no sample_id",
        lambda: as_constraints(by_id, n_samples=10),
        ["name rows by id (first id: 's1'): pass sample_id="],
    ),
    (
        "sample_id of other length",
        lambda: as_constraints(by_id, n_samples=3, sample_id=IDS),
        ["X has 3 rows but sample_id has 10 entries"],
    ),
    (
        "length for open ids",
        lambda: C(["x"], ["y"], [1], n_samples=5),
        ["n_samples=5 cannot be checked", "pass ids="],
    ),
    (
        "by what",
        lambda: C([0], [1], [1], by="name"),
        ["by='name' is not known", "'row'", "'id'"],
    ),
    # another table
    (
        "X shorter",
        lambda: as_constraints(positional, n_samples=100),
        ["a table of 150 rows, but X has 100", "After a split", ".subset(rows)"],
    ),
    (
        "X longer",
        lambda: as_constraints(positional, n_samples=151),
        ["a table of 150 rows, but X has 151"],
    ),
    (
        "rows beyond X",
        lambda: as_constraints(C([0], [9], [1]), n_samples=5),
        ["1 constraint names rows outside X (n_samples=5)"],
    ),
    (
        "matrix of other size",
        lambda: as_constraints(coo([1], [0], [1]), n_samples=5),
        ["matrix is 3 × 3 but X has 5 rows"],
    ),
    # self pairs
    (
        "cannot with itself",
        lambda: C([0, 4], [1, 4], [1, -1]),
        ["1 cannot-link between a row and itself: first is constraint 1: (4, 4)"],
    ),
    (
        "cannot with itself, id",
        lambda: C(["x"], ["x"], ["no"]),
        ["first is constraint 0: ('x', 'x')"],
    ),
    # values
    (
        "misspelt value",
        lambda: C([0, 1], [1, 2], ["same", "diferent"]),
        [
            "1 answer not understood: first is answer 1: 'diferent' (did you mean "
            "'different'",
            "Answers to a pair: different, same, unsure",
        ],
    ),
    (
        "value 3",
        lambda: C([0], [1], [3]),
        ["1 answer not understood: first is answer 0: 3"],
    ),
    ("value one half", lambda: C([0, 1], [1, 2], [1.0, 0.5]), ["first is answer 1: 0.5"]),
    (
        "value NaN",
        lambda: C([0], [1], [np.nan]),
        ["1 answer is empty: first is answer 0", "unsure"],
    ),
    ("value None", lambda: C([0], [1], [None]), ["1 answer is empty: first is answer 0"]),
    (
        "value empty text",
        lambda: C([0, 1], [1, 2], ["same", ""]),
        ["1 answer is empty: first is answer 1"],
    ),
    (
        "zeros and ones",
        lambda: C([0, 1], [1, 2], [1, 0]),
        ["1 of 2 answers is 0 and none is -1", "value_kind='01'", "value_kind='pm1'"],
    ),
    (
        "zeros and ones as text",
        lambda: C([0, 1, 2], [1, 2, 3], ["1", "0", "0"]),
        ["2 of 3 answers are 0", "value_kind"],
    ),
    ("only zeros", lambda: C([0], [1], [0]), ["1 of 1 answers is 0", "value_kind"]),
    (
        "value_kind",
        lambda: C([0], [1], [1], value_kind="binary"),
        ["value_kind='binary' is not known", "'01'", "'pm1'"],
    ),
    # weights and experts
    (
        "weight zero",
        lambda: C([0, 1], [1, 2], [1, 1], weight=[1, 0]),
        ["1 weight not positive and finite: first is weight 1: 0.0"],
    ),
    ("weight negative", lambda: C([0], [1], [1], weight=-2.0), ["first is weight 0: -2.0"]),
    (
        "weight infinite",
        lambda: C([0], [1], [1], weight=[np.inf]),
        ["first is weight 0: inf"],
    ),
    (
        "weight in words",
        lambda: C([0], [1], [1], weight=["much"]),
        ["weights must be numbers, got 'much'"],
    ),
    (
        "experts of two types",
        lambda: C([0, 1], [1, 2], [1, 1], expert=["ann", 2]),
        ["expert must be all text or all whole numbers"],
    ),
    (
        "expert not announced",
        lambda: C([0], [1], [1], expert=["an"], experts=["ann", "bob"]),
        ["1 answer uses 1 unknown id: 'an' (did you mean 'ann'", "experts="],
    ),
    # contradictions and conflicts
    (
        "contradiction",
        lambda: chain.resolve("raise"),
        [
            "cannot-link (0, 3), but 3 must-links join them: 0 – 1 – 2 – 3",
            "1 more contradiction.",
            "resolve('majority')",
        ],
    ),
    (
        "contradiction, ids",
        lambda: chain_id.resolve("raise"),
        ["cannot-link ('s0', 's2'), but 2 must-links join them: 's0' – 's1' – 's2'"],
    ),
    (
        "contradiction, X's ids",
        lambda: as_constraints(chain_id, sample_id=IDS[::-1]).resolve("raise"),
        ["'s2'", "'s1'", "'s0'"],
    ),
    (
        "on_conflict",
        lambda: chain.resolve("vote"),
        ["on_conflict='vote' is not known", "'majority'"],
    ),
    (
        "closure too large",
        lambda: (
            Constraints(np.arange(9999), np.arange(1, 10_000), np.ones(9999)).closure().must
        ),
        ["49,995,000 pairs (largest group: 10,000 rows)", ".query(i, j)"],
    ),
    # drawing
    (
        "noise one half",
        lambda: Constraints.from_labels([0, 1, 1], n=1, noise=0.5),
        [
            "noise=0.5 is outside [0, 0.5)",
            "chance that one answer is wrong",
            "no information",
        ],
    ),
    (
        "noise negative",
        lambda: Constraints.from_labels([0, 1, 1], n=1, noise=-0.1),
        ["noise=-0.1 is outside"],
    ),
    (
        "abstain above one",
        lambda: Constraints.from_labels([0, 1], n=1, abstain=1.5),
        ["abstain=1.5 is outside [0, 1]", "don't know"],
    ),
    (
        "too many pairs",
        lambda: Constraints.from_labels([0, 1, 1], n=100),
        ["n=100 asks for 100 distinct pairs, but only 3 exist"],
    ),
    (
        "too many equal pairs",
        lambda: Constraints.from_labels([0, 1, 1], n=4, balanced=True),
        ["2 pairs of equal label, but only 1 exist"],
    ),
    (
        "n not whole",
        lambda: Constraints.from_labels([0, 1, 1], n=1.5),
        ["n must be a whole number", "1.5"],
    ),
    (
        "label missing",
        lambda: Constraints.from_labels([0, np.nan, 1], n=1),
        ["1 label missing: first is y[1]"],
    ),
    (
        "flip above one",
        lambda: positional.flip(2),
        ["p=2 is outside [0, 1]", "turned around"],
    ),
    # frames, files, matrices, other forms
    (
        "column missing",
        lambda: Constraints.from_frame(frame(a=[0], bb=[1], value=[1])),
        ["1 column missing: 'b' (did you mean 'bb'?)", "Columns here: 'a', 'bb', 'value'"],
    ),
    (
        "not a frame",
        lambda: Constraints.from_frame([1, 2]),
        ["from_frame needs a data frame, got list"],
    ),
    (
        "triplets in a frame",
        lambda: Constraints.from_frame(Triplets([0], [1], [2], ["ab"]).to_frame()),
        ["this holds triplets, not constraints"],
    ),
    (
        "not square",
        lambda: Constraints.from_sparse(sp.csr_array((2, 3))),
        ["must be n × n", "(2, 3)"],
    ),
    (
        "not symmetric",
        lambda: Constraints.from_sparse(coo([1, 2], [0, 1], [1, 0])),
        ["1 pair of the matrix not symmetric: first is M[0, 1] and M[1, 0]"],
    ),
    (
        "opposite halves",
        lambda: Constraints.from_sparse(coo([1, -1], [0, 1], [1, 0])),
        ["1 pair of the matrix not symmetric: first is M[0, 1] and M[1, 0]"],
    ),
    (
        "matrix with NaN",
        lambda: Constraints.from_sparse(coo([np.nan], [0], [1])),
        ["1 entry of the matrix not finite: first is M[0, 1]"],
    ),
    (
        "negative diagonal",
        lambda: Constraints.from_sparse(coo([-1], [1], [1])),
        ["cannot-link between a row and itself", "(1, 1)"],
    ),
    (
        "dense matrix",
        lambda: Constraints.from_sparse(np.eye(3)),
        ["needs a scipy sparse matrix, got ndarray", "csr_array"],
    ),
    (
        "matrix of what size",
        lambda: C([0], [1], [1]).to_sparse(),
        ["how many rows has the matrix? Pass n_samples="],
    ),
    (
        "a path",
        lambda: as_constraints("answers.csv", n_samples=5),
        ["type str are not understood", "Constraints.from_csv(path)"],
    ),
    (
        "an array",
        lambda: as_constraints(np.zeros((4, 3)), n_samples=5),
        ["type ndarray are not understood", "dict(must="],
    ),
    (
        "pairs without values",
        lambda: as_constraints([(0, 1), (1, 2)], n_samples=5),
        ["2 pairs but no answers", "First is (0, 1)"],
    ),
    (
        "pairs of three",
        lambda: Constraints.from_pairs(must=[(0, 1), (1, 2, 3)]),
        [
            "must must be a list of pairs (i, j): 1 entry is not, first is must[1] = (1, "
            "2, 3)"
        ],
    ),
    (
        "key misspelt",
        lambda: as_constraints(dict(must=[], canot=[(0, 1)]), 3),
        ["1 key not understood: 'canot' (did you mean 'cannot'?)"],
    ),
    (
        "triplets for pairs",
        lambda: as_constraints(T([0], [1], [2], ["ab"]), 3),
        ["got Triplets where Constraints belong", "triplets="],
    ),
    ("rows taken twice", lambda: positional.subset([0, 1, 1]), ["1 row repeated in rows"]),
    (
        "mask of other length",
        lambda: positional.subset(np.ones(3, bool)),
        ["the mask has 3 entries but the table 150 rows"],
    ),
    (
        "merge tables",
        lambda: positional.merge(C([0], [1], [1], n_samples=9)),
        ["tables of different length (9, 150 rows)", "ids="],
    ),
    (
        "merge ids and numbers",
        lambda: positional.merge(by_id),
        ["one side names rows by number, the other by id"],
    ),
    (
        "merge kinds",
        lambda: positional.merge(T([0], [1], [2], ["ab"])),
        ["merge needs Constraints, got Triplets"],
    ),
    # triplets
    (
        "answers missing",
        lambda: T([0, 1], [1, 2], [2, 3], ["ab"]),
        ["2 triplets but 1 answer."],
    ),
    (
        "answer not understood",
        lambda: T([0], [1], [2], ["abc"]),
        ["1 answer not understood: first is answer 0: 'abc'", "c is odd"],
    ),
    (
        "row twice",
        lambda: T([0, 3], [1, 5], [2, 3], ["ab", "ac"]),
        ["1 triplet names a row twice: first is triplet 1: (3, 5, 3)"],
    ),
    (
        "triplet out of range",
        lambda: T([0], [1], [9], ["ab"], n_samples=5),
        ["1 triplet names rows outside X (n_samples=5): first is triplet 0: (0, 1, 9)"],
    ),
    (
        "triplet noise",
        lambda: Triplets.from_labels([0, 1, 1], n=1, noise=0.8),
        ["noise=0.8 is outside [0, 0.75)", "one of the three others"],
    ),
    (
        "too many triples",
        lambda: Triplets.from_labels([0, 1, 1], n=2),
        ["2 distinct triples, but only 1 exist"],
    ),
    (
        "triples of two",
        lambda: as_triplets(([(0, 1)], ["ab"]), 5),
        ["triples must hold three rows each"],
    ),
    (
        "pairs for triplets",
        lambda: as_triplets(positional, 150),
        ["got Constraints where Triplets belong"],
    ),
    (
        "triplets, X shorter",
        lambda: as_triplets(T([0], [1], [2], ["ab"], n_samples=9), 5),
        ["These triplets count the rows of a table of 9 rows, but X has 5"],
    ),
    # bags
    (
        "bag without labels",
        lambda: Bags([0, 1, 3], [{"x"}, None, None]),
        [
            "1 row names bags outside labels (3 bags): first is row 2: bag 3",
            "number from 1",
        ],
    ),
    (
        "named bags, list",
        lambda: Bags(["r1"], [{"x"}]),
        ["bags are named by str (first: 'r1'), so labels must be a dict"],
    ),
    (
        "unknown bag",
        lambda: Bags(["r1", "r3"], {"r1": None, "r2": None}),
        ["1 row uses 1 unknown bag: 'r3' (did you mean"],
    ),
    (
        "one word for all",
        lambda: Bags([0], "robin"),
        ["labels must be a list with one set per bag", "'robin'"],
    ),
    (
        "labels of two types",
        lambda: Bags([0, 1], [{"x"}, {3}]),
        ["labels must be all text or all whole numbers, got int, str"],
    ),
    (
        "label not in classes",
        lambda: Bags([0], [{"robn"}], classes=["robin"]),
        ["1 label not in classes: 'robn' (did you mean 'robin'?)"],
    ),
    (
        "indicator of two",
        lambda: Bags.from_multihot([0], [[0, 2]]),
        ["1 entry of Z neither 0 nor 1: first is Z[0, 1] = 2"],
    ),
    (
        "columns and classes",
        lambda: Bags.from_multihot([0], [[0, 1]], ["x"]),
        ["Z has 2 columns but 1 class name"],
    ),
    (
        "bag with two labellings",
        lambda: Bags.from_frame(frame(bag=["r", "r"], labels=["x", "y"])),
        ["bag 'r' has different labels on different lines: ['x'] and ['y']"],
    ),
    (
        "bags, X shorter",
        lambda: as_bags(Bags([0, 0], [None]), 1),
        ["The bags hold 2 rows but X has 1"],
    ),
    (
        "row without a bag",
        lambda: as_bags(Bags([0], [None], ids=["p"]), 2, ["p", "q"]),
        ["1 row uses 1 unknown id: 'q'", "Every row of X needs a bag"],
    ),
    ("ids of bags", lambda: Bags([0, 0], [None], ids=["p"]), ["2 rows but 1 id."]),
]

# name | text of the file | reader | fragments
FILES = [
    (
        "empty",
        "",
        Constraints.from_csv,
        ["f is empty: it needs a header line"],
    ),
    (
        "no header",
        "0,1,same\n",
        Constraints.from_csv,
        ["3 columns missing", "Columns here: '0', '1', 'same'"],
    ),
    (
        "a column twice",
        "a,b,value,value\n0,1,same,same\n",
        Constraints.from_csv,
        ["the column 'value' stands twice in f"],
    ),
    (
        "ragged",
        "a,b,value\n0,1,same\n0,2\n",
        Constraints.from_csv,
        ["1 line of f does not have 3 columns: first is line 3: ['0', '2']"],
    ),
    (
        "weight in words",
        "a,b,value,weight\n0,1,same,much\n",
        Constraints.from_csv,
        ["weight 0 of f is not a number: 'much'"],
    ),
    (
        "ambiguous",
        "a,b,value\n0,1,1\n1,2,0\n",
        Constraints.from_csv,
        ["1 of 2 answers is 0", "value_kind"],
    ),
    (
        "not JSON",
        '{"a": 0, "b": 1, "value": "same"}\nhello\n{}\n',
        Constraints.from_log,
        ["line 2 of f is not JSON: 'hello'"],
    ),
    ("not an object", "[1, 2]\n", Constraints.from_log, ["line 1 of f is not an object"]),
    (
        "field missing",
        '{"a": 0, "b": 1}\n',
        Constraints.from_log,
        ["line 1 of f without value"],
    ),
    (
        "other container",
        json.dumps({"csc_nb": "triplet"}) + "\n",
        Constraints.from_log,
        ["this holds triplets, not constraints"],
    ),
    (
        "undo too much",
        '{"event": "undo", "n": 2}\n',
        Constraints.from_log,
        ["line 1 of f: undo of 2 answers, but 0 stand"],
    ),
]

# name | what is called | fragments of the only warning | what is left
WARNED = [
    (
        "must with itself",
        lambda: C([0, 4], [1, 4], [1, 1]),
        ["1 constraint between a row and itself dropped: first is constraint 1: (4, 4)"],
        1,
    ),
    (
        "unsure with itself",
        lambda: C(["x", "x"], ["x", "y"], ["?", "no"]),
        ["first is constraint 0: ('x', 'x')"],
        1,
    ),
    (
        "positive diagonal",
        lambda: Constraints.from_sparse(coo([1, 1], [0, 0], [0, 1])),
        ["1 constraint between a row and itself"],
        1,
    ),
    (
        "rows not in X",
        lambda: as_constraints(
            C([0, 1, 2], [3, 4, 5], [1] * 3, ids=IDS), sample_id=IDS[:5]
        ),
        ["1 constraint of 3 dropped: it names rows that are not in this X"],
        2,
    ),
    (
        "triplets not in X",
        lambda: as_triplets(
            T([0, 1], [3, 4], [5, 2], ["ab", "ac"], ids=IDS), sample_id=IDS[:5]
        ),
        ["1 triplet of 2 dropped"],
        1,
    ),
]

# The lead adds rows here: malformed X, parameters out of range, hard methods that meet a
# contradiction.
# name | what is called | fragments of the message
NUMBERS = np.random.default_rng(0).normal(size=(20, 3))


def spoiled(value):
    X = NUMBERS.copy()
    X[3, 1] = value
    return X


def words():
    import pandas as pd

    return pd.DataFrame(dict(name=["ann"] * 20, age=range(20)))


CHAIN = Constraints.from_pairs(must=[(0, 1), (1, 2)], cannot=[(0, 2)], n_samples=20)

ESTIMATORS = [
    (
        "X has a gap",
        lambda: RDPMeans(n_clusters=2).fit(spoiled(np.nan)),
        ["NaN", "1 columns missing: column 1", "SimpleImputer"],
    ),
    (
        "X is infinite",
        lambda: TVClust().fit(spoiled(np.inf)),
        ["infinity", "1 columns infinite: column 1"],
    ),
    (
        "X has words",
        lambda: RDPMeans(n_clusters=2).fit(words()),
        ["1 columns not numbers: name", "OneHotEncoder"],
    ),
    ("X has one dimension", lambda: TVClust().fit(NUMBERS[:, 0]), ["2D array"]),
    (
        "more clusters than rows",
        lambda: DPMeans(n_clusters=21).fit(NUMBERS),
        ["n_samples=20 should be >= n_clusters=21"],
    ),
    (
        "half a cluster",
        lambda: RDPMeans(n_clusters=2.5).fit(NUMBERS),
        ["range [1, inf)", "2.5"],
    ),
    (
        "lambda below zero",
        lambda: RDPMeans(lam=-1.0).fit(NUMBERS),
        ["Got -1.0", "price λ of a cluster"],
    ),
    ("xi shrinks", lambda: RDPMeans(xi_rate=0.5).fit(NUMBERS), ["Got 0.5", "above 1"]),
    (
        "unknown divergence",
        lambda: RDPMeans(divergence="cosine").fit(NUMBERS),
        ["'euclidean'", "Got 'cosine'"],
    ),
    (
        "negative counts",
        lambda: RDPMeans(n_clusters=2, divergence="kl").fit(NUMBERS),
        ["needs non-negative numbers", "first is row"],
    ),
    (
        "certain answers",
        lambda: TVClust(p=1.0).fit(NUMBERS),
        ["(0.0, 1.0)", "Got 1.0"],
    ),
    (
        "unknown inference",
        lambda: TVClust(inference="mcmc").fit(NUMBERS),
        ["'gibbs'", "Got 'mcmc'"],
    ),
    (
        "no component",
        lambda: TVClust(n_components=0).fit(NUMBERS),
        ["range [1, inf)", "Got 0"],
    ),
    (
        "alpha zero",
        lambda: TVClust(alpha=0).fit(NUMBERS),
        ["Got 0", "concentration, above 0"],
    ),
    (
        "pairs of another table",
        lambda: TVClust().fit(NUMBERS[:10], constraints=CHAIN),
        ["20", "10"],
    ),
    (
        "row out of range",
        lambda: RDPMeans(n_clusters=2).fit(NUMBERS, constraints=([(0, 20)], [1])),
        ["rows outside X (n_samples=20)", "(0, 20)", "did you number from 1?"],
    ),
    (
        "lengths differ",
        lambda: RDPMeans(n_clusters=2).fit(NUMBERS, constraints=([(0, 1), (1, 2)], [1])),
        ["2 pairs but 1 value"],
    ),
    (
        "contradiction in a hard method",
        lambda: COPKMeans(n_clusters=2).fit(NUMBERS, constraints=CHAIN),
        ["0", "1", "2"],
    ),
    (
        "noise of a coin",
        lambda: Constraints.from_labels(np.zeros(5), n=3, noise=0.6),
        ["noise"],
    ),
]


def expect(call, fragments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises((ValueError, TypeError)) as e:
            call()
    text, at = str(e.value), 0
    for f in fragments:
        assert f in text[at:], f"\nexpected {f!r}\nin       {text!r}"
        at += text[at:].index(f)


row = lambda table: [pytest.param(*r[1:], id=re.sub(r"\W+", "-", r[0])) for r in table]


@pytest.mark.parametrize("call, fragments", row(CONTAINERS))
def test_container(call, fragments):
    expect(call, fragments)


@pytest.mark.parametrize("text, reader, fragments", row(FILES))
def test_file(tmp_path, text, reader, fragments):
    (tmp_path / "f").write_text(text)
    expect(lambda: reader(tmp_path / "f"), fragments)


@pytest.mark.parametrize("call, fragments, left", row(WARNED))
def test_warning(call, fragments, left):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        c = call()
    assert len(seen) == 1 and c.n_constraints == left
    for f in fragments:
        assert f in str(seen[0].message)


@pytest.mark.parametrize("call, fragments", row(ESTIMATORS))
def test_estimator(call, fragments):
    expect(call, fragments)


def test_there_are_enough():
    assert len(CONTAINERS) + len(FILES) + len(WARNED) + len(ESTIMATORS) >= 60
