"""Readers and writers of answers: what was said must be what is read, or a sentence."""

import gzip
import json
import random
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from csc_nb.answer_table import Answers
from csc_nb.constraints import Constraints, Triplets
from csc_nb.datasets import data_folder
from csc_nb.formats import (
    CANNOT_HOLD,
    FORMATS,
    guess_format,
    read_answers_file,
    read_durel_uses,
    write_answers_file,
)

WORDS = {
    "pair": ["same", "different", "unsure"],
    "triple": ["ab", "ac", "bc", "none", "unsure"],
    "comparison": ["left", "right", "unsure"],
    "grade": [1, 2, 3, 4, "unsure"],
}


def meaning(A):
    "What each answer says, without the order in which its items stand."
    out = []
    for k in range(A.n_answers):
        items = [A.items[r] for r in A.rows[:, k] if r >= 0]
        kind = ("pair", "triple", "comparison", "grade")[A.kind[k]]
        word = A.answer[k]
        if kind == "triple" and word in ("ab", "ac", "bc"):
            word = frozenset(items["abc".index(x)] for x in word)
        if kind == "comparison" and word != "unsure":
            word = items[1] if word == "left" else items[2]
        head = items[0] if kind == "comparison" else None
        who = A.annotators[A.annotator[k]]
        out.append((head, frozenset(items), kind, word, who))
    return sorted(map(repr_of, out))


def repr_of(x):
    return repr([sorted(map(repr, v)) if isinstance(v, frozenset) else repr(v) for v in x])


def random_table(seed, kinds, names=None, sure=(), people=("ann", "bob", 7), m=40, **extra):
    "A random table; kinds in `sure` have no unsure answers."
    rng = random.Random(seed)
    names = names or [f"item {i}" for i in range(9)]
    rows = []
    for _ in range(m):
        kind = rng.choice(kinds)
        three = kind in ("triple", "comparison")
        items = rng.sample(names, 3 if three else 2)
        words = [w for w in WORDS[kind] if w != "unsure" or kind not in sure]
        rows.append((*items, *([] if three else [None]), rng.choice(words), kind))
    a, b, c, answer, kind = map(list, zip(*rows))
    who = [rng.choice(people) for _ in rows] if people else None
    return Answers(a, b, answer, c, kind=kind, annotator=who, ids=True, **extra)


NAMES = st.one_of(
    st.lists(st.integers(-(2**40), 2**40), min_size=4, max_size=8, unique=True),
    st.lists(
        st.text(st.characters(exclude_categories=("Cs",)), max_size=6),
        min_size=4,
        max_size=8,
        unique=True,
    ).map(lambda x: [v + "." if not v else v for v in x]),
    st.just(["x", 7, 2.5, ("a", 1)]),
    st.just(["007", "7", " 7", "x,y", 'q"', "l\nb", "r\r", "# {"]),
)
NUMBERS = st.one_of(st.none(), st.floats(0, 1e9), st.just(float("nan")))


@st.composite
def tables(draw):
    names = list(dict.fromkeys(draw(NAMES)))
    m = draw(st.integers(0, 8))
    rows = []
    for _ in range(m):
        kind = draw(st.sampled_from(list(WORDS)))
        items = draw(st.permutations(names))[:3]
        if kind in ("pair", "grade"):
            items = [*items[:2], None]
        rows.append((*items, draw(st.sampled_from([*WORDS[kind]])), kind))
    a, b, c, answer, kind = map(list, zip(*rows)) if rows else ([], [], [], [], None)
    who = draw(st.lists(st.sampled_from(names), min_size=m, max_size=m))
    group = {e: draw(st.sampled_from(["g", "h"])) for e in names}
    extra = {}
    for name in ("weight", "seconds", "price"):
        if draw(st.booleans()):
            low = NUMBERS if name != "weight" else st.floats(0, 10)
            extra[name] = draw(st.lists(low, min_size=m, max_size=m))
    whole = all(isinstance(v, int) and v >= 0 for v in names)
    ids = draw(st.sampled_from([True, False, None])) if whole else True
    if draw(st.booleans()):
        extra["group"] = group if m else None
    return Answers(a, b, answer, c, kind=kind, annotator=who, ids=ids, **extra)


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
@settings(
    max_examples=80,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(A=tables())
def test_our_formats_are_exact(A, suffix, tmp_path):
    path = tmp_path / f"t.{suffix}"
    write_answers_file(A, path)
    assert guess_format(path) == suffix
    B = read_answers_file(path)
    assert B == A
    assert meaning(B) == meaning(A)
    assert B.items.tolist() == A.items.tolist()
    assert list(map(type, B.items.tolist())) == list(map(type, A.items.tolist()))


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_an_empty_table_keeps_what_it_knows(suffix, tmp_path):
    A = Answers([], [], [], annotator="ann", weight=[], ids=False, n_samples=5)
    path = tmp_path / f"t.{suffix}"
    write_answers_file(A, path)
    assert read_answers_file(path) == A


FOREIGN = {
    # format → kinds, kinds without unsure, people, options of the reader
    "labelstudio": (
        ["pair", "comparison", "grade"],
        ["comparison", "grade"],
        ("a@b.c", 7),
        {"head": "text0"},
    ),
    "dedupe": (["pair"], ["pair"], None, {"id": "name"}),
    "splink": (["pair"], [], None, {}),
    "durel": (["grade"], [], ("ann", "bob"), {}),
    "crowd": (["pair", "triple"], [], ("ann", "bob"), {"between": "|"}),
}


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("format", FOREIGN)
def test_foreign_formats_keep_the_meaning(format, seed, tmp_path):
    kinds, sure, people, how = FOREIGN[format]
    A = random_table(seed, kinds, sure=sure, people=people)
    path = tmp_path / "file"
    write = {"id": "name"} if format == "dedupe" else {}
    write_answers_file(A, path, format, **write)
    assert guess_format(path) == format
    B = read_answers_file(path, **how)
    assert meaning(B) == meaning(A)
    assert B.by == "id"
    assert (B.response < 0).sum() == (A.response < 0).sum()


@pytest.mark.parametrize("kind", ["comparison", "grade"])
def test_a_crowd_table_of_one_kind(kind, tmp_path):
    A = random_table(1, [kind], people=("ann", "bob"))
    write_answers_file(A, tmp_path / "c.csv", "crowd", between="::")
    B = read_answers_file(tmp_path / "c.csv", between="::", kind=kind)
    assert meaning(B) == meaning(A)


@pytest.mark.parametrize("format", ["splink", "durel", "crowd"])
def test_whole_numbers_and_their_texts(format, tmp_path):
    kinds, _, people, how = FOREIGN[format]
    for names, id_type in (([*range(5)], "int"), ([str(i) for i in range(5)], "text")):
        A = random_table(0, kinds, names, people=people)
        write_answers_file(A, tmp_path / "f", format)
        B = read_answers_file(tmp_path / "f", format, id_type=id_type, **how)
        assert meaning(B) == meaning(A)


def test_splink_scores_are_weights(tmp_path):
    A = Answers([*"aab"], [*"bcc"], WORDS["pair"], weight=[0.5, 0.25, 1])
    write_answers_file(A, tmp_path / "s.csv", "splink")
    cells = [r.split(",")[2] for r in (tmp_path / "s.csv").read_text().split()[1:]]
    assert [float(v) for v in cells] == [0.75, 0.375, 0.5]
    assert read_answers_file(tmp_path / "s.csv") == A


def test_splink_data_sets(tmp_path):
    head = (
        "unique_id_l,source_dataset_l,unique_id_r,source_dataset_r,clerical_match_score\n"
    )
    path = tmp_path / "s.csv"
    path.write_text(head + "1,x,1,y,1\n1,x,2,x,0\n")
    A = read_answers_file(path)
    assert A.items.tolist() == ["x-/-1", "y-/-1", "x-/-2"]
    assert A.answer.tolist() == ["same", "different"]
    write_answers_file(A, tmp_path / "t.csv", "splink")
    assert read_answers_file(tmp_path / "t.csv") == A
    path.write_text(head + "1,x,2,x,1\n1,x,3,x,0\n")
    assert read_answers_file(path).items.tolist() == [1, 2, 3]


def test_dedupe_records_round_trip(tmp_path):
    sets = {"__class__": "frozenset", "__value__": ["v", "u"]}
    pair = [{"n": 1, "s": sets}, {"s": None, "n": 2}]
    wrapped = {"__class__": "tuple", "__value__": pair}
    path = tmp_path / "t.json"
    path.write_text(json.dumps({"match": [wrapped], "distinct": [pair[::-1]]}))
    A = read_answers_file(path)
    assert A.n_questions == 1 and A.answer.tolist() == ["same", "different"]
    write_answers_file(A, tmp_path / "u.json", "dedupe")
    assert read_answers_file(tmp_path / "u.json") == A


def test_labelstudio_reads_people_times_and_words(tmp_path):
    def note(who, choice, **more):
        result = [{"type": "choices", "from_name": "c", "value": {"choices": [choice]}}]
        return {"completed_by": who, "result": result, **more}

    notes = [
        note({"id": 3, "email": "a@b.c"}, "Not similar", lead_time=2.5),
        note(4, "Can't tell"),
        note(5, "Similar", was_cancelled=True),
    ]
    path = tmp_path / "ls.json"
    path.write_text(json.dumps([{"data": {"p": "x", "q": "y"}, "annotations": notes}]))
    words = {"Not similar": "different", "Can't tell": "unsure"}
    A = read_answers_file(path, items=("p", "q"), words=words)
    assert A.answer.tolist() == ["different", "unsure"]
    assert A.annotators == ("a@b.c", 4)
    assert A.seconds[0] == 2.5 and np.isnan(A.seconds[1])
    with pytest.raises(ValueError, match="annotation 0.*Not similar"):
        read_answers_file(path, items=("p", "q"))


def test_an_empty_annotation_is_not_guessed(tmp_path):
    path = tmp_path / "ls.json"
    data = {"text0": "h", "text1": "x", "text2": "y"}
    task = {"data": data, "annotations": [{"completed_by": 1, "result": []}]}
    path.write_text(json.dumps([task]))
    with pytest.raises(ValueError, match="empty='unsure'"):
        read_answers_file(path)
    assert read_answers_file(path, empty="skip").empty
    assert read_answers_file(path, empty="unsure").answer.tolist() == ["unsure"]
    A = read_answers_file(path, empty="unsure", head="text0")
    assert A.questions["kind"].tolist() == ["comparison"]


def test_pairwise_names_the_nearer_item(tmp_path):
    data = {"left": "x", "right": "y", "head": "h"}
    result = [{"type": "pairwise", "value": {"selected": "right"}}]
    note = {"completed_by": 1, "result": result}
    path = tmp_path / "ls.json"
    path.write_text(json.dumps([{"data": data, "annotations": [note]}]))
    A = read_answers_file(path, items=("left", "right"), head="head")
    row = A.to_frame().iloc[0]
    assert (row.a, row.b, row.c, row.answer) == ("h", "x", "y", "right")


@pytest.mark.parametrize("cell", ["0", "", " ", "0.0", "-"])
def test_durel_zero_is_unsure(cell, tmp_path):
    path = tmp_path / "judgments.csv"
    path.write_text(f"identifier1\tidentifier2\tannotator\tjudgment\nu\tv\tann\t{cell}\n")
    A = read_answers_file(path)
    assert A.answer.tolist() == ["unsure"] and A.kind.tolist() == [3]


def test_durel_quotes_belong_to_the_text(tmp_path):
    uses = tmp_path / "uses.csv"
    uses.write_text('identifier\tcontext\nu\t"a\nv\tb" c\n')
    assert list(read_durel_uses(uses)["context"]) == ['"a', 'b" c']
    path = tmp_path / "judgments.csv"
    path.write_text("identifier1\tidentifier2\tannotator\tjudgment\nu\tw\tann\t1\n")
    with pytest.raises(ValueError, match="line 2 of judgments.csv.*'w'.*uses.csv"):
        read_answers_file(path, uses=uses)


def test_crowd_questions_by_task(tmp_path):
    path = tmp_path / "c.csv"
    path.write_text("worker,task,question,answer\nw,t1,q,yes\nw,t2,q,idk\n")
    items = {("t1", "q"): ("x", "y"), ("t2", "q"): ("x", "z")}
    A = read_answers_file(path, items=items)
    assert A.questions["b"].tolist() == ["y", "z"]
    assert A.answer.tolist() == ["same", "unsure"]


# logs and tables that the package wrote before


def test_journals_are_read_without_what_was_undone(tmp_path):
    events = [
        {"event": "start", "seed": 1},
        {"event": "answer", "kind": "pair", "items": [3, 4], "answer": "same", "n": 0},
        {"event": "answer", "kind": "triple", "items": [3, 4, 5], "answer": "unsure"},
        {
            "event": "answer",
            "kind": "pair",
            "items": [3, 5],
            "answer": "same",
            "how": "skip",
        },
        {"event": "answer", "kind": "pair", "items": [4, 5], "answer": "different"},
        {"event": "undo", "n": 1},
    ]
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(map(json.dumps, events)))
    A = read_answers_file(path)
    assert A.answer.tolist() == ["same", "unsure"]
    assert A.by is None
    assert read_answers_file(path, ids=True).by == "id"


@pytest.mark.parametrize("names", [["x", "y", "z"], ["1", "2", "3"], [10, 20, 30]])
def test_files_of_the_containers(names, tmp_path):
    a, b, c = names
    pairs = Constraints([a, b], [b, c], ["same", "unsure"], expert=["e", "f"], ids=True)
    triples = Triplets([a], [b], [c], ["unsure"], expert=["e"], ids=True)
    for side in (pairs, triples):
        side.to_csv(tmp_path / "s.csv")
        side.to_log(tmp_path / "s.jsonl")
        for path in (tmp_path / "s.csv", tmp_path / "s.jsonl"):
            A = read_answers_file(path)
            assert meaning(A) == meaning(side.to_answers())
            assert A.by == "id" and (A.response < 0).sum() == 1


def test_encodings(tmp_path):
    raw = "a;b;answer;annotator\nMüller;Maß;same;ann\n"
    for data in (
        raw.encode("utf-16"),
        gzip.compress(raw.encode()),
        raw.encode("utf-8-sig"),
    ):
        (tmp_path / "f.csv").write_bytes(data)
        assert read_answers_file(tmp_path / "f.csv").items.tolist() == ["Müller", "Maß"]
    (tmp_path / "f.csv").write_bytes(raw.encode("latin-1"))
    with pytest.raises(ValueError, match="f.csv is not UTF-8.*line 2"):
        read_answers_file(tmp_path / "f.csv")
    A = read_answers_file(tmp_path / "f.csv", encoding="latin-1")
    assert A.items.tolist() == ["Müller", "Maß"]


# what a format cannot hold is a sentence

LOSSES = [
    ("labelstudio", ["triple"], {}, "1 triple cannot"),
    ("labelstudio", ["comparison"], {"answer": "unsure"}, "unsure"),
    ("labelstudio", ["pair"], {"weight": [2]}, "'weight' would be lost"),
    ("dedupe", ["grade"], {}, "1 grade cannot"),
    ("dedupe", ["pair"], {"answer": "unsure"}, "unsure"),
    ("dedupe", ["pair"], {"annotator": "ann"}, "'annotator' would be lost"),
    ("dedupe", ["pair"], {}, "records="),
    ("splink", ["triple"], {}, "pairs only"),
    ("splink", ["pair"], {"weight": [2]}, "weight"),
    ("splink", ["pair"], {"weight": [0]}, "weight"),
    ("splink", ["pair"], {"annotator": "ann"}, "'annotator' would be lost"),
    ("durel", ["pair"], {}, "1 pair cannot"),
    ("durel", ["grade"], {"answer": 0}, "grade 0"),
    ("durel", ["grade"], {"price": [1]}, "'price' would be lost"),
    ("crowd", ["pair"], {"seconds": [1]}, "'seconds' would be lost"),
    ("crowd", ["pair", "grade"], {}, "in one table"),
]


@pytest.mark.parametrize("format, kinds, change, words", LOSSES)
def test_a_loss_is_a_sentence(format, kinds, change, words, tmp_path):
    usual = {"pair": "same", "triple": "ab", "comparison": "left", "grade": 1}
    third = ["z" if k in ("triple", "comparison") else None for k in kinds]
    m = len(kinds)
    answer = change.get("answer", None)
    said = [usual[k] if answer is None else answer for k in kinds]
    rest = {k: v for k, v in change.items() if k != "answer"}
    A = Answers(["x"] * m, ["y"] * m, said, third, kind=kinds, **rest)
    path = tmp_path / "f"
    with pytest.raises(ValueError, match=words):
        write_answers_file(A, path, format)
    assert not path.exists()


def test_drop_leaves_out_columns_not_answers(tmp_path):
    A = random_table(0, ["pair"], price=[1.0] * 40)
    write_answers_file(A, tmp_path / "s.csv", "splink", drop=True)
    B = read_answers_file(tmp_path / "s.csv")
    assert B.answer.tolist() == A.answer.tolist()
    with pytest.raises(ValueError, match="triple"):
        T = random_table(0, ["pair", "triple"])
        write_answers_file(T, tmp_path / "s.csv", "splink", drop=True)


def test_every_format_says_what_it_cannot_hold():
    assert set(CANNOT_HOLD) == set(FORMATS)


# malformed input

LS = {"data": {"text1": "x", "text2": "y"}}
TAB = "identifier1\tidentifier2\tannotator\tjudgment\n"
SPLINK = "unique_id_l,unique_id_r,clerical_match_score\n"
OURS = '# {"csc_nb": "answers", "id_type": "int", "columns": []}\na,b,answer\n'
BAD = [
    ("csv", "", "empty"),
    ("csv", "a,b\nx,y\n", "answer"),
    ("csv", "a,b,answer\nx,y,same\nx,y\n", "line 3"),
    ("csv", "a,b,answer\nx,y,same\nx,z,\n", "line 3 of f: .*empty"),
    ("csv", "a,b,answer\nx,,same\n", "line 2 of f has an empty 'b'"),
    ("csv", "a,b,answer\nx,x,same\n", "line 2 of f: .*itself"),
    ("csv", "a,b,answer\nx,y,1\nx,z,0\n", "line 3 of f: .*value_kind"),
    ("csv", "a,b,answer,weight\nx,y,1,z\n", "line 2 of f: weight"),
    ("csv", "a,b,answer,weight\nx,y,1,1\nx,z,1,\n", "line 3 of f has no weight"),
    ("csv", OURS + "1,2,same\n1,z,same\n", "line 4 of f: 'z' is no int"),
    ("csv", OURS.replace("[]", "3") + "1,2,same\n", "first line"),
    ("csv", OURS.replace("answers", "bags") + "1,2,same\n", "'bags'"),
    ("jsonl", '{"a": 1}\n{"b": 2}\n', "line 1"),
    ("jsonl", '{"a": 1\n{"b": 2}\n', "line 1"),
    ("jsonl", '{"items": [1], "answer": "same"}\n', "line 1 of f: items"),
    ("jsonl", '{"items": 4, "answer": "same"}\n', "line 1 of f: items"),
    ("jsonl", '{"a": {}, "b": 2, "answer": "same"}\n', "line 1 of f: a must"),
    ("jsonl", '{"a": null, "b": 2, "answer": "same"}\n', "line 1 of f has no 'a'"),
    ("jsonl", '{"a": 1, "b": 2, "answer": ["same"]}\n', "line 1 of f: the answer"),
    ("jsonl", '{"a": 1, "b": 2, "answer": "sam"}\n', "line 1 of f: .*same"),
    ("jsonl", '{"csc_nb": "bags"}\n{"a": 1, "b": 2, "answer": "same"}\n', "'bags'"),
    ("labelstudio", "[{]", "line 1, column 3"),
    ("labelstudio", "{}", "no list of tasks"),
    ("labelstudio", "[3]", "task 0 of f has no 'data'"),
    ("labelstudio", json.dumps([LS]), "task 0 of f has no list of 'annotations'"),
    ("labelstudio", json.dumps([{**LS, "annotations": [3]}]), "annotation 0"),
    (
        "labelstudio",
        json.dumps([{**LS, "annotations": [{"completed_by": 1, "result": 4}]}]),
        "'result' must be",
    ),
    ("dedupe", "[]", "'match' and 'distinct'"),
    ("dedupe", '{"match": 3}', "'match' of f must be a list"),
    ("dedupe", '{"match": [3]}', "match 0 of f is not a pair"),
    ("dedupe", '{"match": [], "distinct": [[{}, 3]]}', "distinct 0 of f: 3"),
    ("dedupe", '{"match": [[{"n": 1}, {"n": 1}]]}', "match 0 of f: .*itself"),
    ("dedupe", '{"match": [], "unsure": []}', "'unsure'"),
    ("splink", "unique_id_l,score\n1,1\n", "no column 'unique_id_r'"),
    ("splink", "unique_id_l,unique_id_r\n1,2\n", "score=1"),
    ("splink", SPLINK + "1,2,1.5\n", "line 2 of f: .*0 … 1"),
    ("splink", SPLINK + "1,2,\n", "line 2 of f: .*0 … 1"),
    ("splink", SPLINK + "1,2,1\n1,2,x\n", "line 3 of f: .*number"),
    ("splink", SPLINK + "1,,1\n", "line 2 of f has an empty 'unique_id_r'"),
    ("durel", "", "empty"),
    ("durel", "identifier1\tannotator\nx\ty\n", "no column 'identifier2'"),
    ("durel", TAB + "x\ty\n", "line 2"),
    ("durel", TAB + "x\ty\tz\t2.5\n", "line 2 of f: a judgment"),
    ("durel", TAB + "x\ty\tz\t-1\n", "line 2 of f: a judgment"),
    ("durel", TAB + "x\ty\tz\tgood\n", "line 2 of f: judgment must be a number"),
    ("durel", TAB + "x\ty\t\t3\n", "line 2 of f has an empty 'annotator'"),
    ("durel", TAB + "x\ty\tz\t99999999\n", "line 2 of f"),
    ("crowd", "worker,question\nw,q\n", "no column 'answer'"),
    ("crowd", "worker,question,answer\nw,q,same\n", "line 2 of f: 'q' holds 1 ids"),
    ("crowd", "worker,question,answer\nw,p|q,\n", "line 2 of f: .*empty"),
]


@pytest.mark.parametrize("format, text, words", BAD)
def test_malformed_input_names_the_place(format, text, words, tmp_path):
    path = tmp_path / "f"
    path.write_text(text)
    how = {"between": "|"} if format == "crowd" else {}
    with pytest.raises(ValueError, match=words):
        read_answers_file(path, format, **how)


def test_crowd_questions_that_nobody_knows(tmp_path):
    path = tmp_path / "f"
    path.write_text("worker,question,answer\nw,q1,same\n")
    with pytest.raises(ValueError, match="line 2 of f: .*'q1'"):
        read_answers_file(path, items={"q2": ("x", "y")})
    with pytest.raises(ValueError, match="two or three items"):
        read_answers_file(path, items={"q1": "xy"})
    with pytest.raises(ValueError, match="items=.*between="):
        read_answers_file(path)


def mutated(value, rng):
    "One place of a JSON value replaced by something else, or left out."
    junk = [None, 3, -1.5, "", "x", [], {}, True, [1, 2], {"a": 1}, 10**30]
    if rng.random() < 0.25 or not isinstance(value, (dict, list)) or not value:
        return rng.choice(junk)
    if isinstance(value, dict):
        key = rng.choice(list(value))
        if rng.random() < 0.2:
            return {k: v for k, v in value.items() if k != key}
        return {**value, key: mutated(value[key], rng)}
    at = rng.randrange(len(value))
    return [*value[:at], mutated(value[at], rng), *value[at + 1 :]]


@pytest.mark.parametrize("format", ["labelstudio", "dedupe", "jsonl"])
def test_damaged_json_is_never_a_raw_error(format, tmp_path):
    kinds, sure, people, how = FOREIGN.get(format, (list(WORDS), [], ("ann",), {}))
    A = random_table(3, kinds, sure=sure, people=people, m=5)
    path = tmp_path / "f"
    write = {"id": "name"} if format == "dedupe" else {}
    write_answers_file(A, path, format, **write)
    lines = path.read_text().splitlines()
    whole = (
        [json.loads(v) for v in lines] if format == "jsonl" else json.loads("".join(lines))
    )
    rng, refused = random.Random(0), 0
    for _ in range(400):
        bad = mutated(whole, rng)
        text = json.dumps(bad)
        if format == "jsonl":
            text = (
                "\n".join(map(json.dumps, bad if isinstance(bad, list) else [bad])) + "\n"
            )
        path.write_text(text)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                read_answers_file(path, format, **how)
        except ValueError:
            refused += 1
    assert refused > 100


@pytest.mark.parametrize("format", ["csv", "splink", "durel", "crowd"])
def test_damaged_tables_are_never_a_raw_error(format, tmp_path):
    kinds, sure, people, how = FOREIGN.get(format, (list(WORDS), [], ("ann",), {}))
    A = random_table(3, kinds, sure=sure, people=people, m=5)
    path = tmp_path / "f"
    write_answers_file(A, path, format)
    text, rng, refused = path.read_text(), random.Random(0), 0
    for _ in range(400):
        i = rng.randrange(len(text))
        j = min(len(text), i + rng.choice([0, 1, 5]))
        put = rng.choice(["", ",", "\t", "\n", '"', "x", "{", "[", "9" * 30, "\x00"])
        path.write_text(text[:i] + put + text[j:])
        try:
            read_answers_file(path, format, **how)
        except ValueError:
            refused += 1
    assert refused > 20


# the dispatcher


def test_unknown_formats_and_options(tmp_path):
    A = random_table(0, ["pair"], people=("ann", "bob"))
    with pytest.raises(ValueError, match="format=.*did you mean 'splink'"):
        write_answers_file(A, tmp_path / "f", "splnk")
    with pytest.raises(ValueError, match="does not say the format"):
        write_answers_file(A, tmp_path / "f.json")
    with pytest.raises(TypeError, match="to_answers"):
        write_answers_file(A.to_constraints(), tmp_path / "f.csv")
    write_answers_file(A, tmp_path / "f.csv")
    with pytest.raises(ValueError, match="'heads' is no option"):
        read_answers_file(tmp_path / "f.csv", heads=3)
    with pytest.raises(FileNotFoundError, match="there is no file"):
        read_answers_file(tmp_path / "no.csv")
    (tmp_path / "g").write_text("what,is,this\n1,2,3\n")
    with pytest.raises(ValueError, match="format="):
        read_answers_file(tmp_path / "g")


@pytest.mark.parametrize("word", ["unsure", "dk", "?", "skip", "don't know"])
def test_unsure_is_never_none_or_different(word, tmp_path):
    path = tmp_path / "f"
    path.write_text(f"a,b,c,answer\nx,y,,{word}\nx,y,z,{word}\n")
    A = read_answers_file(path)
    assert A.answer.tolist() == ["unsure", "unsure"]
    for suffix in ("csv", "jsonl"):
        write_answers_file(A, tmp_path / f"g.{suffix}")
        assert read_answers_file(tmp_path / f"g.{suffix}").response.tolist() == [-1, -1]


# tables of real studies


def real(name):
    "Lines of a file of the folder of data, which is not part of the repository."
    folder = data_folder()
    path = None if folder is None else folder / "answers" / f"{name}.csv.gz"
    if path is None or not path.exists():
        pytest.skip(f"there is no {name}.csv.gz here")
    with gzip.open(path, "rt", encoding="utf-8") as f:
        return path, [line.rstrip("\n").split(",") for line in f]


def test_a_real_crowd(tmp_path):
    path, (head, *rows) = real("products_qualified.answers")
    A = read_answers_file(path, ids=True)
    at = [head.index(c) for c in ("a", "b", "answer", "annotator")]
    want = sorted(
        (*sorted((int(r[at[0]]), int(r[at[1]]))), r[at[2]], r[at[3]]) for r in rows
    )
    got = zip(A.rows[0], A.rows[1], A.answer, A.annotator)
    names = A.items.tolist()
    said = sorted((*sorted((names[i], names[j])), w, A.annotators[e]) for i, j, w, e in got)
    assert said == want
    write_answers_file(A, tmp_path / "t.csv")
    assert read_answers_file(tmp_path / "t.csv") == A


def test_real_judgments(tmp_path):
    _, (head, *rows) = real("word_uses.answers")
    at = [head.index(c) for c in ("a", "b", "annotator", "grade")]
    lines = ["\t".join(r[k] for k in at) for r in rows]
    path = tmp_path / "judgments.tsv"
    path.write_text(TAB + "\n".join(lines) + "\n", encoding="utf-8")
    A = read_answers_file(path)
    want = [r[at[3]] if r[at[3]] != "0" else "unsure" for r in rows]
    assert list(map(str, A.answer)) == want and "unsure" in want
    write_answers_file(A, tmp_path / "again.tsv", "durel")
    assert (tmp_path / "again.tsv").read_text(encoding="utf-8").splitlines()[1:] == lines
