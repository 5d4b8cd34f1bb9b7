"""Nothing wrong in silence, nothing lost: containers, readers, writer, log and runner.

The first part uses only names that version 0.1 had, so that it can be run on the code of
that
time: each of these tests fails there.
"""

import errno
import json
import os
import stat
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import csc_nb
from csc_nb.answers import realistic_answers
from csc_nb.baselines.kmeans import LCVQE, PCKMeans
from csc_nb.constraints import Bags, Constraints, Triplets, as_constraints
from csc_nb.oracles import (
    ExpertPanel,
    Journal,
    NoisyOracle,
    Pair,
    RandomPairLearner,
    ReplayOracle,
)
from csc_nb.metrics import t_interval
from csc_nb.plotting import ExpertWeightsDisplay, PairEntropyDisplay, QueryCurveDisplay
from csc_nb.rdpmeans import RDPMeans

rng = np.random.default_rng(0)
X = np.r_[rng.normal(0, 1, (15, 2)), rng.normal(6, 1, (15, 2))]
y = np.repeat([0, 1], 15)


# faults of version 0.1 --------------------------------------------------------------


def test_whole_numbers_of_a_frame_that_counts_from_one_are_not_taken_as_rows():
    frame = pd.DataFrame(X, index=range(1, 31))
    with pytest.raises(ValueError, match="row called"):
        PCKMeans(2, random_state=0).fit(frame, constraints=Constraints([1], [2], [1]))


def test_unsure_about_a_triple_is_not_none():
    assert Triplets([0], [1], [2], ["unsure"]).answer.tolist() == ["unsure"]


@pytest.mark.parametrize("index", [["a"] * 30, [0.5] * 30, ["a", 1] * 15])
def test_a_frame_with_any_index_is_a_table(index):
    assert len(PCKMeans(2, random_state=0).fit(pd.DataFrame(X, index=index)).labels_) == 30


def test_answers_in_the_second_place_are_used():
    c = Constraints.from_labels(y, 60, random_state=0)
    given_as_keyword = RDPMeans(n_clusters=2, random_state=0).fit(X, constraints=c)
    second = RDPMeans(n_clusters=2, random_state=0).fit(X, c)
    assert second.objective_history_ == given_as_keyword.objective_history_
    without = RDPMeans(n_clusters=2, random_state=0).fit(X)
    assert second.objective_history_ != without.objective_history_


def test_sample_id_makes_whole_numbers_names():
    ids = np.arange(100, 130)
    c = as_constraints(Constraints([101], [104], [1]), sample_id=ids)
    assert c.must.tolist() == [[1, 4]]
    assert as_constraints([(3, 5, "same")], sample_id=range(1, 31)).must.tolist() == [
        [2, 4]
    ]


@pytest.mark.parametrize("word", ["true", "n", "y", "match", "apart", "-"])
def test_one_word_is_understood_by_containers_and_by_tell(word):
    value = Constraints([0], [1], [word]).value[0]
    learner = RandomPairLearner(2, random_state=0).start(X)
    learner.tell(learner.ask(), word)
    assert learner.answers_[0][1] == value


def test_truth_values_mean_the_same_everywhere():
    learner = RandomPairLearner(2, random_state=0).start(X)
    learner.tell(learner.ask(), True)
    assert learner.answers_[0][1] == Constraints([0], [1], [True]).value[0] == 1


def test_nothing_said_about_a_triple_is_refused():
    with pytest.raises(ValueError, match="empty"):
        Triplets([0], [1], [2], [None])


def test_a_zero_beside_a_word_is_not_unsure():
    with pytest.raises(ValueError, match="0 may mean"):
        Constraints([0, 1], [1, 2], ["same", 0])
    assert Constraints([0, 1], [1, 2], ["same", False]).value.tolist() == [1, -1]


def test_bags_need_no_pandas_and_come_back_as_they_were(tmp_path):
    bags = Bags([0, 0, 1, 2], [{"x|y"}, {""}, None], ids=["a\rb", "c", "d", "e"])
    assert Bags.from_csv(bags.to_csv(tmp_path / "b.csv")) == bags


def test_a_row_with_a_field_too_many_does_not_shift_the_columns(tmp_path):
    path = Bags([0, 1], [{"x"}, {"y"}], ids=["a", "b"]).to_csv(tmp_path / "b.csv")
    lines = Path(path).read_text().splitlines()
    Path(path).write_text("\n".join([*lines[:-1], lines[-1] + ",z"]) + "\n")
    with pytest.raises(ValueError, match=f"line {len(lines)}"):
        Bags.from_csv(path)


def test_a_table_that_cannot_be_written_leaves_the_old_file(tmp_path):
    path = tmp_path / "c.csv"
    Constraints(["x"], ["y"], ["same"]).to_csv(path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match="cannot be written as"):
        Constraints(["\ud800"], ["y"], ["same"]).to_csv(path)
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["c.csv"]


@pytest.mark.parametrize("text", ["my only copy", "id,x", '{"a": 1'])
def test_a_foreign_file_is_no_log_and_stays_as_it_is(tmp_path, text):
    path = tmp_path / "n.txt"
    path.write_text(text)
    with pytest.raises(ValueError):
        Journal(path)
    assert path.read_text() == text


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32", "latin-1"])
def test_a_log_in_another_encoding_is_refused_and_stays_as_it_is(tmp_path, encoding):
    "A log in UTF-16 was read, lost its last byte, and got UTF-8 behind it."
    path = tmp_path / "log.jsonl"
    with Journal(path) as j:
        for n in range(2):
            j.append("answer", n=n, kind="pair", items=["é", f"y{n}"], answer=1)
    text = path.read_text(encoding="utf-8").replace("\\u00e9", "é")
    path.write_bytes(text.encode(encoding))
    before = path.read_bytes()
    with pytest.raises(ValueError, match="log.jsonl") as told:
        Journal(path)
    assert path.read_bytes() == before and "codec" not in str(told.value)


def test_a_log_deleted_while_open_takes_no_answer(tmp_path):
    path = tmp_path / "log.jsonl"
    with Journal(path) as j:
        path.unlink()
        with pytest.raises(RuntimeError, match="deleted or replaced"):
            j.append("answer", n=0, kind="pair", items=["x", "y"], answer=1)


@pytest.mark.parametrize("n", [1.5, "1", None, [1], True])
def test_a_wrong_count_is_refused_before_the_log_hears_of_it(tmp_path, n):
    learner = RandomPairLearner(2, random_state=0).start(X)
    for _ in range(3):
        learner.tell(learner.ask(), "same")
    with pytest.raises(ValueError, match="answers"):
        learner.undo(n)
    learner.tell(learner.ask(), "same")
    assert learner.n_queries_ == 4


def test_a_row_number_beyond_every_memory():
    assert Constraints([10**12], [1], [1]).check().ok


def test_a_tie_is_a_tie_whatever_the_rounding():
    c = Constraints(
        [0] * 4, [1] * 4, [1, 1, 1, -1], weight=[0.1, 0.2, 0.3, 0.6], expert=range(4)
    )
    assert c.resolve("majority").empty


def test_leading_zeros_are_part_of_a_name(tmp_path):
    (tmp_path / "c.csv").write_text("a,b,value\n007,x,same\n7,x,different\n")
    assert Constraints.from_csv(tmp_path / "c.csv").check().opposite == 0


def test_empty_cells_of_an_expert_are_no_class():
    c = Constraints.from_expert_labels({"ann": ["a", "", "", "a"]}, per_row=None)
    assert c.must.tolist() == [[0, 3]] and c.cannot.size == 0


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16-le"])
def test_a_wrong_encoding_names_the_file(tmp_path, encoding):
    (tmp_path / "c.csv").write_bytes("a,b,value\nMüller,x,same\n".encode(encoding))
    with pytest.raises(ValueError, match="c.csv.*encoding"):
        Constraints.from_csv(tmp_path / "c.csv")


RAW = (IndexError, KeyError, AttributeError, OverflowError, ZeroDivisionError)
WRONG = [None, 99, -1, 1.5, "x", b"x", [[1, 2], [3]], {}, object(), np.nan, 10**30, [None]]


@pytest.mark.parametrize("wrong", WRONG, ids=lambda v: repr(v)[:12])
def test_values_of_the_wrong_kind_are_named_in_a_sentence(wrong):
    "Raw errors of numpy and Python come from elsewhere; ours say what to give."
    c = Constraints([0, 1], [1, 2], [1, -1], n_samples=5)
    calls = [
        lambda: c.select(wrong),
        lambda: c.select([wrong]),
        lambda: c.closure().query(wrong, 6),
        lambda: c.to_sparse(wrong),
        lambda: c.resolve(wrong),
        lambda: c.subset([wrong]),
        lambda: Constraints([wrong, 0], [1, 1], [1, 1], by="row"),
        lambda: Constraints([0], [1], [1], weight=[wrong]),
        lambda: Constraints([0], [1], [1], experts=[]),
        lambda: Constraints.from_labels(y, wrong),
        lambda: Constraints.from_labels(y, 5, balanced=wrong),
        lambda: ExpertPanel(y, (0.9, 0.8)).expert(wrong),
        lambda: NoisyOracle(y)(wrong),
        lambda: NoisyOracle(y, noise=wrong),
        lambda: ReplayOracle([wrong]),
        lambda: Constraints.from_csv(wrong),
        lambda: Constraints.from_log(wrong),
        lambda: RandomPairLearner(2).fit(X, oracle=NoisyOracle(y), budget=wrong),
        lambda: RandomPairLearner(2).fit(X, oracle=wrong, budget=2),
        lambda: Constraints.from_expert_labels([wrong, wrong]),
        lambda: t_interval([wrong], level=wrong),
        lambda: csc_nb.recommend(n_rows=wrong, kind=wrong),
        lambda: csc_nb.recommend(wrong=wrong, n_clusters=wrong),
        lambda: csc_nb.load([wrong]),
        lambda: csc_nb.AskPairs(X, shared=wrong),
        lambda: csc_nb.AskPairs(X, shared=[wrong]),
        lambda: PairEntropyDisplay(wrong),
        lambda: QueryCurveDisplay(wrong, wrong),
        lambda: ExpertWeightsDisplay(wrong, wrong, names=wrong),
        lambda: realistic_answers(8, truth=wrong),
        lambda: LCVQE(2, init=wrong).fit(X),
    ]
    fine = 0
    for call in calls:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                call()
        except RAW as e:
            raise AssertionError(f"raw {type(e).__name__}: {e}") from e
        except (ValueError, TypeError, OSError) as e:
            assert "ambiguous" not in str(e) and "inhomogeneous" not in str(e)
            assert "not supported between" not in str(e) and "ufunc" not in str(e)
        else:
            fine += 1
    assert fine <= 12  # None and small numbers are fine in some places


def test_ragged_triples_are_refused():
    from csc_nb.constraints import as_triplets

    for ragged in ([(0, 1, 2), (0, 1)], [(0, 1, 2, 3)], ["abc"]):
        with pytest.raises((ValueError, TypeError), match="three|triple|Triplets"):
            as_triplets((ragged, ["ab"] * len(ragged)))


# readers ----------------------------------------------------------------------------

MESS = st.one_of(
    st.binary(max_size=200),
    st.text(max_size=200).map(lambda t: t.encode("utf-8", "surrogatepass")),
    st.lists(st.text('abcx,;"\n\t|0127same\r', max_size=12), max_size=8).map(
        lambda rows: ("a,b,value\n" + "\n".join(rows)).encode()
    ),
    st.lists(
        st.dictionaries(
            st.sampled_from(
                ["event", "items", "answer", "n", "kind", "a", "b", "csc_nb", "k"]
            ),
            st.recursive(
                st.none()
                | st.booleans()
                | st.integers(-2, 3)
                | st.text(max_size=5)
                | st.sampled_from(["answer", "undo", "relabel", "note", "batch", "same"]),
                lambda inner: st.lists(inner, max_size=3),
                max_leaves=4,
            ),
            max_size=5,
        ),
        max_size=6,
    ).map(lambda events: "\n".join(map(json.dumps, events)).encode()),
)
FORMATS = ("csv", "jsonl", "labelstudio", "dedupe", "splink", "durel", "crowd")


def readers():
    from csc_nb import formats
    from csc_nb.oracles import read_journal

    yield from (Constraints.from_csv, Constraints.from_log, Triplets.from_csv)
    yield from (Triplets.from_log, Bags.from_csv, read_journal, ReplayOracle)
    for name in dir(formats):
        if name.startswith("read_"):
            yield getattr(formats, name)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(raw=MESS)
def test_every_reader_reads_or_says_why_not(tmp_path_factory, raw):
    path = tmp_path_factory.mktemp("mess") / "file.csv"
    path.write_bytes(raw)
    for read in readers():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                read(path)
            except (ValueError, TypeError) as e:
                assert type(e) in (ValueError, TypeError), f"{read.__name__}: {e!r}"
                assert len(str(e)) > 15
        assert path.read_bytes() == raw, "reading changes nothing"


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    names=st.lists(
        st.text(
            st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"),
            min_size=1,
        ),
        min_size=2, max_size=6, unique=True,
    ),
    data=st.data(),
)  # fmt: skip
def test_files_give_back_what_was_written(tmp_path_factory, names, data):
    folder = tmp_path_factory.mktemp("trip")
    pairs = st.tuples(
        st.sampled_from(names), st.sampled_from(names), st.sampled_from([1, 0, -1])
    )
    said = data.draw(st.lists(pairs.filter(lambda p: p[0] != p[1]), min_size=1, max_size=8))
    c = Constraints(*map(list, zip(*said)), value_kind="pm1", ids=True)
    assert Constraints.from_csv(c.to_csv(folder / "c.csv")) == c
    assert Constraints.from_log(c.to_log(folder / "c.jsonl")) == c


# the writer -------------------------------------------------------------------------


def test_the_writer_follows_links_keeps_rights_and_refuses_what_is_no_file(tmp_path):
    from csc_nb.files import write_text

    path, link = tmp_path / "real.csv", tmp_path / "link.csv"
    path.write_text("old")
    path.chmod(0o600)
    link.symlink_to(path)
    write_text(link, "new")
    assert link.is_symlink() and path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(ValueError, match="was read"):
        write_text(link, "labels", inputs=[path])
    os.mkfifo(tmp_path / "pipe")
    for strange in ("/dev/null", tmp_path / "pipe", tmp_path):
        with pytest.raises(ValueError, match="not a regular file"):
            write_text(strange, "x")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    assert path.read_text() == "new"


def test_a_dash_is_the_standard_output(capsysbinary, tmp_path, monkeypatch):
    from csc_nb.files import write_text

    monkeypatch.chdir(tmp_path)
    write_text("-", "Müller\n")
    assert capsysbinary.readouterr().out == "Müller\n".encode()
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("step", ["write", "fsync", "replace"])
def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, step):
    from csc_nb import files

    path = tmp_path / "c.csv"
    path.write_text("old")

    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    if step == "write":
        real = os.fdopen

        class Full:
            def __init__(self, fd):
                self.f = real(fd, "wb")

            def __enter__(self):
                return self

            def __exit__(self, *_):
                self.f.close()

            write = full

        monkeypatch.setattr(files.os, "fdopen", lambda fd, mode: Full(fd))
    else:
        monkeypatch.setattr(files.os, step, full)
    with pytest.raises(OSError, match="c.csv was not written.*as before"):
        files.write_text(path, "new")
    monkeypatch.undo()
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["c.csv"]


def as_ordinary_user(*calls):
    "What each call ends in, in a child that is not root."
    from csc_nb import files, oracles  # noqa: F401  the child may not read the package

    def ended(call):
        try:
            return f"fine {call()!r}"
        except OSError as e:
            return f"{type(e).__name__} {e}"

    if os.getuid() != 0:
        return [ended(call) for call in calls]
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            text = json.dumps([ended(call) for call in calls])
        except BaseException as e:
            text = json.dumps([repr(e)])
        os.write(write, text.encode())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(write)
    with os.fdopen(read) as f:
        return json.loads(f.read())


def lock(folder):
    "A folder that its owner may read, and a way to it for everybody."
    own = Path(tempfile.gettempdir()).resolve()
    for p in [folder, *folder.parents]:
        if p.resolve() == own:
            break
        if p.stat().st_uid == os.getuid():
            p.chmod(0o555 if p == folder else 0o755)


def test_a_folder_that_may_not_be_written_and_a_file_that_may_not_be_read(tmp_path):
    folder = tmp_path / "locked"
    folder.mkdir()
    (folder / "c.csv").write_text("a,b,value\nx,y,same\n")
    (folder / "c.csv").chmod(0o000)
    from csc_nb.files import read_text, write_text

    lock(folder)
    first, second = as_ordinary_user(
        lambda: read_text(folder / "c.csv"), lambda: write_text(folder / "new.csv", "x")
    )
    folder.chmod(0o755)
    assert "PermissionError" in first and "may not be read" in first
    assert "PermissionError" in second and "was not written" in second
    assert os.listdir(folder) == ["c.csv"]


# the log ----------------------------------------------------------------------------


def said(j, n):
    j.append("answer", n=n, kind="pair", items=["x", f"y{n}"], answer=1)


@pytest.mark.parametrize("call", ["write", "fsync"])
def test_a_full_disk_takes_no_answer_and_loses_none(tmp_path, monkeypatch, call):
    from csc_nb import oracles

    path = tmp_path / "log.jsonl"
    with Journal(path) as j:
        said(j, 0)
        before = path.read_bytes()

        def full(fd, *raw):
            if call == "write":
                os.pwrite(fd, b'{"half', os.fstat(fd).st_size)  # half of it got through
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(oracles.os, call, full)
        with pytest.raises(OSError):
            said(j, 1)
        monkeypatch.undo()
        assert path.read_bytes() == before and j.n == 1
        said(j, 1)
    with Journal(path) as j:
        assert j.n == 2


def test_a_file_system_without_locks_warns_and_goes_on(tmp_path, monkeypatch):
    from csc_nb import oracles
    from csc_nb.vocabulary import FileWarning

    def no_locks(fd, how):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(oracles.fcntl, "flock", no_locks)
    with pytest.warns(FileWarning, match="no locks"):
        with Journal(tmp_path / "log.jsonl") as j:
            said(j, 0)
            assert j.n == 1


def test_a_clock_that_jumps_back_changes_no_order(tmp_path, monkeypatch):
    from csc_nb import oracles

    class Back(oracles.datetime):
        @classmethod
        def now(cls, tz=None):
            return super().now(tz).replace(year=1971)

    with Journal(tmp_path / "log.jsonl") as j:
        said(j, 0)
        monkeypatch.setattr(oracles, "datetime", Back)
        said(j, 1)
    with Journal(tmp_path / "log.jsonl") as j:
        assert [e["n"] for e in j.standing] == [0, 1]


def test_reading_a_log_that_is_not_there_is_no_empty_log(tmp_path):
    with pytest.raises(FileNotFoundError, match="nobody.jsonl"):
        ReplayOracle(tmp_path / "nobody.jsonl")


# ask, tell, undo, relabel, kill, resume ---------------------------------------------


class Session(RuleBasedStateMachine):
    """A runner beside a model of it: a list of (pair, answer) that only Python's lists
    touch."""

    folder = None

    def __init__(self):
        super().__init__()
        Session.count = getattr(Session, "count", 0) + 1
        self.path = Path(Session.folder) / f"log{Session.count}.jsonl"
        self.model = []
        self.open()

    def open(self):
        from csc_nb.oracles import Runner

        learner = RandomPairLearner(2, random_state=3)
        self.runner = Runner(learner, X, [f"r{i}" for i in range(30)], journal=self.path)

    def record(self):
        return [(q.key, a) for q, a in self.runner.learner.answers_]

    @precondition(lambda self: self.runner.ask() is not None)
    @rule(word=st.sampled_from(["same", "different", "unsure"]))
    def tell(self, word):
        q = self.runner.ask()
        self.runner.tell(q, word)
        self.model.append((q.key, {"same": 1, "different": -1, "unsure": 0}[word]))

    @rule(a=st.integers(0, 29), b=st.integers(0, 29), value=st.sampled_from([1, -1]))
    def hear(self, a, b, value):
        if a != b:
            q = Pair(a, b)
            self.runner.hear(q, value)
            self.model.append((q.key, value))

    @precondition(lambda self: self.model)
    @rule(data=st.data())
    def undo(self, data):
        n = data.draw(st.integers(1, len(self.model)))
        self.runner.undo(n)
        del self.model[len(self.model) - n :]

    @precondition(lambda self: self.model)
    @rule(data=st.data(), value=st.sampled_from([1, -1, 0]))
    def relabel(self, data, value):
        k = data.draw(st.integers(0, len(self.model) - 1))
        self.runner.relabel(k, value)
        self.model[k] = (self.model[k][0], value)

    @rule(n=st.sampled_from([10**6, -1, 1.5, "1"]))
    def undo_nonsense(self, n):
        with pytest.raises(ValueError):
            self.runner.undo(n)

    @rule(half=st.booleans())
    def kill_and_resume(self, half):
        "The program ends without a word, perhaps in the middle of a line."
        self.runner.journal.close()
        if half:
            with open(self.path, "ab") as f:
                f.write(b'{"event": "answer", "n": 0, "it')
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.open()

    @invariant()
    def nothing_is_lost(self):
        assert self.record() == self.model
        assert len(self.runner.journal.standing) >= len(self.model)

    @invariant()
    def every_reader_agrees(self):
        if not self.path.exists():
            return
        from csc_nb.files import standing_events
        from csc_nb.vocabulary import pair_value

        told = [
            (tuple(sorted(int(i[1:]) for i in e["items"])), pair_value(e["answer"]))
            for _, e in standing_events(self.path)[1]
        ]
        meant = [(k[1:], v) if k[0] == "pair" else (k, v) for k, v in self.model]
        assert told == [(tuple(sorted(k)), v) for k, v in meant]

    def teardown(self):
        self.runner.close()
        self.path.unlink(missing_ok=True)


def walk(folder, n):
    Session.folder = folder
    how = settings(
        max_examples=n, stateful_step_count=12, deadline=None, derandomize=n < 100,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    run_state_machine_as_test(Session, settings=how)


def test_no_walk_of_a_session_loses_an_answer(tmp_path):
    walk(tmp_path, 15)


@pytest.mark.slow
def test_ten_thousand_walks_lose_no_answer(tmp_path):
    walk(tmp_path, 10_000)


# sentences of the issue that had no test of their own -------------------------------


def test_a_frame_with_edited_values_is_asked_about():
    frame = Constraints(["x", "y"], ["y", "z"], [1, -1], ids=True).to_frame()
    frame["value"] = [1, 0]
    with pytest.raises(ValueError, match="value_kind"):
        Constraints.from_frame(frame)


def test_a_column_that_stands_twice_is_refused(tmp_path):
    (tmp_path / "d.csv").write_text("a,a,b,value\nx,q,y,same\n")
    with pytest.raises(ValueError, match="'a' stands twice"):
        Constraints.from_csv(tmp_path / "d.csv")
    with pytest.raises(ValueError, match="'a' stands twice"):
        Constraints.from_frame(pd.DataFrame([list("xqy")], columns=["a", "a", "b"]))


def test_a_field_of_any_length_is_read(tmp_path):
    (tmp_path / "b.csv").write_text("a,b,value\n" + "x" * 200_000 + ",y,same\n")
    assert Constraints.from_csv(tmp_path / "b.csv").n_constraints == 1


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252"])
def test_a_configuration_in_a_wrong_encoding_names_the_file(tmp_path, capsys, encoding):
    from csc_nb.cli import main

    (tmp_path / "s.toml").write_bytes("about = 'Müller'\n".encode(encoding))
    assert main(["sweep", str(tmp_path / "s.toml")]) == 2
    said = capsys.readouterr().err
    assert "s.toml" in said and "encoding" in said and "codec" not in said


def test_no_logs_are_no_annotators():
    from csc_nb.labelling import Items, merge_annotators

    with pytest.raises(ValueError, match="0 logs"):
        merge_annotators([], Items(pd.DataFrame(X)), 2)


def test_people_with_logs_of_one_name_are_two_people(tmp_path):
    from csc_nb.labelling import AskPairs, Items, merge_annotators

    logs, table = [], pd.DataFrame(X, columns=["u", "v"])
    for who, word in (("ann", "same"), ("bob", "different")):
        (tmp_path / who).mkdir()
        logs.append(tmp_path / who / "log.jsonl")
        session = AskPairs(
            table, log=logs[-1], annotator=who, learner=RandomPairLearner(2, random_state=0)
        )
        for _ in range(5):
            session.answer(session.turn.id, word)
        session.close()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        merged = merge_annotators(logs, Items(table), 2, n_init=1, random_state=0)
    assert [a["annotator"] for a in merged.accuracy] == ["ann", "bob"]


def test_people_whose_logs_name_nobody_are_told_apart_by_their_folders(tmp_path):
    from csc_nb.labelling import Items, merge_annotators

    logs = [tmp_path / who / "log.jsonl" for who in ("ann", "bob")]
    for log, word in zip(logs, (1, -1)):
        log.parent.mkdir()
        with Journal(log) as j:
            for n in range(5):
                j.append("answer", n=n, kind="pair", items=[n, n + 1], answer=word)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        items = Items(pd.DataFrame(X, columns=["u", "v"]))
        merged = merge_annotators(logs, items, 2, n_init=1, random_state=0)
    assert [a["annotator"] for a in merged.accuracy] == [str(p) for p in logs]


def test_a_session_in_a_locked_folder_says_so_and_loses_nothing(tmp_path):
    "As an ordinary user: a log may not be made, and one that is there may only be read."
    folder = tmp_path / "locked"
    folder.mkdir()
    with Journal(folder / "log.jsonl") as j:
        said(j, 0)
    before = (folder / "log.jsonl").read_bytes()
    (folder / "log.jsonl").chmod(0o444)
    from csc_nb.oracles import read_journal

    lock(folder)
    count, first, second = as_ordinary_user(
        lambda: len(read_journal(folder / "log.jsonl")[0]),
        lambda: Journal(folder / "log.jsonl"),
        lambda: Journal(folder / "new.jsonl"),
    )
    folder.chmod(0o755)
    assert count == "fine 1" and "log.jsonl" in first and "new.jsonl" in second
    assert "PermissionError" in first and "PermissionError" in second
    assert (folder / "log.jsonl").read_bytes() == before
    assert os.listdir(folder) == ["log.jsonl"]
