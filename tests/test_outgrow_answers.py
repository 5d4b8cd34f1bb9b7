"""Answers in parts: the same judgements as in memory, for any cut and any size of part."""

import numpy as np
import pytest

from csc_nb import AnswerClustering, Answers, Constraints, CorrelationClustering
from csc_nb.baselines.crowd import dawid_skene
from csc_nb.outgrow_answers import AnswerParts, Blocks, Numbers, given_weights

pd = pytest.importorskip("pandas")


def made(m=1500, n=60, E=9, seed=0, grades=False):
    "Answers of people of different accuracy about items in six clusters."
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 6, n)
    a, b = rng.integers(0, n, (2, m))
    b = np.where(a == b, (b + 1) % n, b)
    who = rng.integers(0, E, m)
    right = rng.random(m) < rng.uniform(0.6, 0.95, E)[who]
    same = (y[a] == y[b]) == right
    answer = np.where(same, "same", "different").astype(object)
    kind = np.full(m, "pair", object)
    if grades:
        graded = rng.random(m) < 0.3
        kind[graded] = "grade"
        answer[graded] = np.where(same, rng.integers(3, 5, m), rng.integers(1, 3, m))[
            graded
        ]
    answer[rng.random(m) < 0.06] = "unsure"
    names = np.array([f"i{k}" for k in range(n)])
    return pd.DataFrame(
        dict(a=names[a], b=names[b], answer=answer, kind=kind,
             annotator=[f"w{w}" for w in who], weight=rng.choice([0.5, 1.0, 2.0], m))
    )  # fmt: skip


FRAME, GRADED = made(), made(seed=1, grades=True)
CUTS = [(1500, 10**6), (400, 300), (7, 10**6), (999, 41)]


def parts(frame, rows, questions):
    pieces = [frame.iloc[i : i + rows] for i in range(0, len(frame), rows)]
    return AnswerParts(pieces, part_questions=questions)


@pytest.mark.parametrize("frame", [FRAME, GRADED], ids=["pairs", "grades"])
@pytest.mark.parametrize("cut", CUTS[1:], ids=str)
def test_parts_hold_the_table(frame, cut):
    whole, p = Answers.from_frame(frame), parts(frame, *cut)
    assert p.n_answers == whole.n_answers and p.n_questions <= whole.n_questions
    assert p.n_parts == -(-p.n_questions // cut[1])
    again, names = p.select(np.arange(p.n_questions)), lambda A: np.asarray(A.items)
    pair = [np.sort(names(A)[A.rows[:2]].astype(str), axis=0) for A in (again, whole)]
    assert np.array_equal(*pair)
    for column in ("response", "kind", "annotator", "weight"):
        assert np.array_equal(getattr(again, column), getattr(whole, column)), column
    assert [p.annotators[e] for e in p.annotator] == frame.annotator.tolist()
    assert p.items.tolist() == parts(frame, 1500, 10**6).items.tolist()


@pytest.mark.parametrize("frame", [FRAME, GRADED], ids=["pairs", "grades"])
@pytest.mark.parametrize("grouping", ["alone", "one", "auto"])
def test_answer_clustering_is_that_of_memory_for_any_cut(frame, grouping):
    how = dict(grouping=grouping, max_iter=40, n_init=2 if grouping == "alone" else 1)
    whole = AnswerClustering(**how).fit(None, answers=Answers.from_frame(frame))
    for cut in CUTS[1:]:
        fit = AnswerClustering(**how).fit(None, answers=parts(frame, *cut))
        assert fit.chosen_["grouping"] == whole.chosen_["grouping"]
        assert fit.n_iter_ == whole.n_iter_
        np.testing.assert_allclose(
            fit.log_likelihood_history_, whole.log_likelihood_history_, rtol=1e-10
        )
        np.testing.assert_allclose(fit.answer_proba_, whole.answer_proba_, atol=1e-6)
        ours, theirs = fit.annotators_, whole.annotators_
        assert ours.annotator.tolist() == theirs.annotator.tolist()
        for column in ("accuracy", "low", "high", "sensitivity", "specificity"):
            np.testing.assert_allclose(ours[column], theirs[column], atol=1e-6)
        errors = fit.shared_errors_, whole.shared_errors_
        for column in ("questions", "with_another_group", "misled", "unclear"):
            np.testing.assert_allclose(*(e[column] for e in errors), atol=1e-9)


def test_chances_of_asked_pairs_by_name():
    fit = AnswerClustering(grouping="one").fit(None, answers=[FRAME[:700], FRAME[700:]])
    whole = AnswerClustering(grouping="one").fit(None, answers=FRAME)
    a, b = FRAME.a[:20].to_numpy(), FRAME.b[:20].to_numpy()
    np.testing.assert_allclose(fit.pair_proba(b, a), whole.pair_proba(a, b), atol=1e-6)
    with pytest.raises(ValueError, match="never asked.*'i0', 'nobody'"):
        fit.pair_proba("i0", "nobody")


def test_dawid_skene_is_that_of_memory_for_any_cut():
    code = {name: i for i, name in enumerate(Answers.from_frame(FRAME).items)}
    value = FRAME.answer.map(dict(same=1, different=-1, unsure=0)).to_numpy()
    a, b = (FRAME[c].map(code).to_numpy() for c in "ab")
    who = FRAME.annotator.to_numpy()
    whole = dawid_skene(Constraints(a, b, value, weight=FRAME.weight, expert=who))
    at = {(i, j): p for i, j, p in zip(whole.a, whole.b, whole.posterior)}
    for cut in CUTS:
        p = parts(FRAME, *cut)
        ds = dawid_skene(p)
        np.testing.assert_allclose(ds.history, whole.history, rtol=1e-11)
        names = [sorted((code[p.items[i]], code[p.items[j]])) for i, j in zip(ds.a, ds.b)]
        assert len(names) == len(at)
        theirs = [at[tuple(pair)] for pair in names]
        np.testing.assert_allclose(ds.posterior, theirs, atol=1e-9)
        ours, theirs = np.sort(ds.sensitivity), np.sort(whole.sensitivity)
        np.testing.assert_allclose(ours, theirs, atol=1e-9)


@pytest.mark.parametrize("weights", ["learned", "given"])
def test_correlation_clustering_is_that_of_memory_for_any_cut(weights):
    frame = made(m=700, n=40, seed=2)
    how = dict(weights=weights, n_init=3, exact=False, max_iter=6, random_state=0)
    whole = CorrelationClustering(**how).fit(Answers.from_frame(frame))
    for cut in CUTS[1:]:
        fit = CorrelationClustering(**how).fit(parts(frame, *cut))
        assert fit.items_.tolist() == whole.items_.tolist()
        assert np.array_equal(fit.labels_, whole.labels_)
        assert np.isclose(fit.objective_, whole.objective_)
        assert np.isclose(fit.alpha_, whole.alpha_)
        for ours, theirs in zip(fit.annotators_, whole.annotators_, strict=True):
            assert ours.keys() == theirs.keys()
            assert np.isclose(ours.get("sensitivity", 0), theirs.get("sensitivity", 0))


def test_correlation_clustering_with_the_chances_of_a_model_in_parts():
    p = parts(FRAME, 400, 300)
    model = AnswerClustering(grouping="alone").fit(None, answers=p)
    fit = CorrelationClustering(weights=model, exact=False, n_init=3).fit(p)
    pairs, weight = given_weights(p, model)
    assert len(pairs) < len(p.pairs)  # some were only met with "unsure"
    assert np.isfinite(weight).all()
    whole = CorrelationClustering(weights=model, exact=False, n_init=3)
    whole.fit(Answers.from_frame(FRAME))
    assert np.isclose(fit.objective_, whole.objective_, rtol=1e-4)


def test_grades_in_parts():
    how = dict(n_init=3, exact=False, max_iter=5)
    whole = CorrelationClustering(**how).fit(Answers.from_frame(GRADED))
    fit = CorrelationClustering(**how).fit(parts(GRADED, 400, 300))
    assert np.array_equal(fit.labels_, whole.labels_)


def test_parquet_and_dask_and_iterators(tmp_path):
    pytest.importorskip("pyarrow")
    dd = pytest.importorskip("dask.dataframe")
    plain = FRAME.drop(columns="kind")
    plain.to_parquet(tmp_path / "said.parquet", row_group_size=200)
    whole = AnswerClustering(grouping="one").fit(None, answers=plain)
    for source in (
        tmp_path / "said.parquet",
        dd.from_pandas(plain, npartitions=3),
        lambda: iter([plain[:10], plain[10:]]),
    ):
        fit = AnswerClustering(grouping="one").fit(None, answers=source)
        np.testing.assert_allclose(fit.answer_proba_, whole.answer_proba_, atol=1e-6)


@pytest.mark.parametrize(
    "frames, words",
    [
        ([FRAME[:9], FRAME[9:20].assign(answer="bananas")], r"piece 1 .*bananas"),
        ([FRAME.assign(group="x"), FRAME.assign(group="y")], r"piece 1 .*two groups"),
        (
            [pd.DataFrame(dict(a=["x"], b=["y"], c=["z"], answer=["ab"]))],
            "triples and comparisons are not read in parts",
        ),
        ([FRAME[:0]], "empty|no answers"),
    ],
)
def test_what_cannot_be_read(frames, words):
    with pytest.raises(ValueError, match=words):
        AnswerClustering().fit(None, answers=AnswerParts(frames))


def test_nothing_can_be_learned_from_nothing():
    for judge in (dawid_skene, CorrelationClustering().fit):
        with pytest.raises(ValueError, match="no answers"):
            judge(AnswerParts([FRAME[:0]]))


def test_answers_in_pieces_stand_alone():
    with pytest.raises(ValueError, match="fitted alone"):
        AnswerClustering().fit(None, answers=[FRAME], constraints=[("i0", "i1", "same")])


def test_with_features_of_items_pieces_are_read_first():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 3)), index=[f"i{k}" for k in range(60)])
    pieces = AnswerClustering(3).fit(X, answers=[FRAME[:300], FRAME[300:600]])
    whole = AnswerClustering(3).fit(X, answers=FRAME[:600])
    assert np.array_equal(pieces.labels_, whole.labels_)


@pytest.mark.parametrize(
    "names", [list("cabcdabz"), [5, 3, 9, 3, 5, 1], [4, 2, "x", "y", 2]]
)
def test_numbers_go_by_appearance(names):
    n, seen = Numbers(), {}
    for i in range(0, len(names), 2):
        some = list(dict.fromkeys(names[i : i + 2]))
        kind = np.int64 if all(isinstance(v, int) for v in some) else object
        found = n.of(np.array(some, dtype=kind))
        assert found.tolist() == [seen.setdefault(v, len(seen)) for v in some]
    assert list(n.all()) == list(seen) and n.size == len(seen)


def test_a_part_is_read_as_it_was_sorted():
    blocks = Blocks(parts(FRAME, 400, 300), np.arange(9))
    for block in blocks:
        assert (
            block.aptr[-1] == len(block.who) and (np.diff(block.cell_question) >= 0).all()
        )
    with pytest.raises(IndexError):
        blocks[blocks.parts.n_parts]
