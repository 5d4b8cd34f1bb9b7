"""Every fault that the safety issue names, one by one, in a form that 0.1 can run too.

`python tests/test_safety_named.py` prints how many cases of each group survived, ended in a
clear error, in a raw one, or wrong in silence; with `PYTHONPATH` at an older tree, that
tree's counts. Under pytest each case must survive or be refused in a sentence.
"""

import ast
import contextlib
import functools
import gzip
import importlib
import inspect
import io
import os
import signal
import stat
import sys
import tempfile
import traceback
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score as ari

import csc_nb
from csc_nb.constraints import Bags, Constraints, Triplets, as_triplets
from csc_nb.estimators import methods
from csc_nb.oracles import Journal, NoisyOracle, RandomPairLearner

CASES = {}  # (group, name) → the case


class Silent(AssertionError):
    "A result that is wrong and says nothing."


class Clear(Exception):
    "A sentence and an exit status."


class Raw(Exception):
    "A traceback that reached the user."


def case(group, *names):
    "Register a case; with names, one for each of them."

    def keep(f):
        name = f.__name__.replace("_", " ")
        if not names:
            CASES[group, name] = f
        for n in names:
            CASES[group, f"{name}: {n}"] = functools.partial(f, n)
        return f

    return keep


def must(right, what):
    if not right:
        raise Silent(what)


# what an outcome is ------------------------------------------------------------------


@functools.lru_cache(None)
def raising(path):
    tree = ast.parse(Path(path).read_text(encoding="utf-8"))
    found = [n for n in ast.walk(tree) if isinstance(n, ast.Raise)]
    return {k for n in found for k in range(n.lineno, n.end_lineno + 1)}


NUMPYS = ("inhomogeneous", "ambiguous", "ufunc", "broadcast", "not supported between")


def on_purpose(e):
    "Was it raised for the user, by this package or by scikit-learn?"
    if isinstance(e, Clear):
        return True
    if isinstance(e, (Raw, KeyError, IndexError, AttributeError, ZeroDivisionError)):
        return False
    last = traceback.extract_tb(e.__traceback__)[-1]
    ours = "csc_nb" in last.filename or "sklearn" in last.filename
    return (
        ours
        and last.lineno in raising(last.filename)
        and not any(word in str(e) for word in NUMPYS)
    )


def too_long(*_):
    raise TimeoutError("more than 40 seconds of processor time")


def outcome(call):
    "What a case ends in, in a folder of its own."
    signal.signal(signal.SIGVTALRM, too_long)
    signal.setitimer(signal.ITIMER_VIRTUAL, 40)
    old, here = os.getcwd(), tempfile.TemporaryDirectory()
    os.chdir(here.name)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call()
    except Silent as e:
        return "silent", str(e)
    except Exception as e:
        return ("clear" if on_purpose(e) else "raw"), f"{type(e).__name__}: {e}"
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        os.chdir(old)
        here.cleanup()
    return "fine", ""


def cli(*argv):
    "The command line in this process: its output, or how it was refused."
    from csc_nb.cli import main

    out, err = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main(list(argv))
    except SystemExit as e:
        status = e.code
    except TimeoutError:
        raise
    except BaseException as e:
        raise Raw(f"{type(e).__name__}: {e}") from None
    said = err.getvalue()
    if status and "Traceback" in said:
        raise Raw(said)
    if status:
        if "codec" in said or not said.strip():
            raise Raw(said)
        raise Clear(said)
    return out.getvalue()


ROWS = "id,x,y\n" + "".join(f"r{i},{i % 2 * 8 + i / 30:.3f},{i / 20}\n" for i in range(20))
PAIRS = "a,b,answer\nr0,r2,same\nr0,r1,different\nr3,r5,same\n"


def table(rows=ROWS, pairs=PAIRS):
    Path("t.csv").write_text(rows, encoding="utf-8")
    Path("p.csv").write_text(pairs, encoding="utf-8")


def cluster(*more, data="t.csv", pairs="p.csv", method="pck-means"):
    said = ["cluster", data, "--pairs", pairs, "--n-clusters", "2", "--method", method]
    return cli(*said, "--id", "id", *more)


def labels_in(path):
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    return [line.split(",")[0] for line in lines[1:]]


# 1–5: files and answers --------------------------------------------------------------


@case("files", "t.csv", "p.csv")
def output_is_an_input(name):
    table()
    before = Path(name).read_bytes()
    try:
        cluster("--out", name)
    finally:
        must(Path(name).read_bytes() == before, f"{name} was replaced")


@case("files")
def a_link_is_followed():
    table()
    Path("real.csv").write_text("id,cluster\n")
    os.symlink("real.csv", "link.csv")
    cluster("--out", "link.csv")
    must(Path("link.csv").is_symlink(), "the link was replaced by a file")


@case("files")
def the_mode_of_a_file_is_kept():
    table()
    cluster("--out", "o.csv")
    os.chmod("o.csv", 0o600)
    cluster("--out", "o.csv")
    must(stat.S_IMODE(os.stat("o.csv").st_mode) == 0o600, "600 became another mode")


@case("files")
def a_device_is_not_replaced():
    table()
    try:
        os.mknod("null.csv", stat.S_IFCHR | 0o666, os.makedev(1, 3))
    except OSError:
        os.mkfifo("null.csv")
    before = stat.S_IFMT(os.stat("null.csv").st_mode)
    try:
        cluster("--out", "null.csv")
    finally:
        after = stat.S_IFMT(os.lstat("null.csv").st_mode)
        must(after == before, "a device was replaced by a file")


@case("files")
def a_dash_is_the_standard_output():
    table()
    raw = io.TextIOWrapper(io.BytesIO())
    with contextlib.redirect_stdout(raw):
        from csc_nb.cli import main

        main("cluster t.csv --pairs p.csv --n-clusters 2 --id id --out -".split())
    must(not Path("-").exists(), "a file called - was written")


FOREIGN = {"one line": "my only copy", "a table": "id,x\n1,2\n3,4", "json": '{"a": 1}\n{"b'}


@case("files", *FOREIGN)
def a_foreign_file_is_no_log(kind):
    Path("n.txt").write_text(FOREIGN[kind])
    try:
        Journal("n.txt").close()
    finally:
        must(Path("n.txt").read_text() == FOREIGN[kind], "a foreign file was changed")


@case("files", *FOREIGN)
def a_foreign_file_is_no_log_of_a_session(kind):
    Path("n.txt").write_text(FOREIGN[kind])
    try:
        csc_nb.AskPairs(pd.DataFrame({"x": range(9)}), log="n.txt").close()
    finally:
        must(Path("n.txt").read_text() == FOREIGN[kind], "a foreign file was changed")


@case("files", *FOREIGN)
def a_foreign_file_is_no_file_of_results(kind):
    from csc_nb.sweeps import RowFile

    Path("n.csv").write_text(FOREIGN[kind])
    try:
        RowFile("n.csv", ["a", "b"]).close()
    finally:
        must(Path("n.csv").read_text() == FOREIGN[kind], "a foreign file was changed")


@case("files")
def a_log_deleted_while_open():
    with Journal("log.jsonl") as j:
        j.append("answer", n=0, kind="pair", items=["x", "y"], answer=1)
        os.unlink("log.jsonl")
        j.append("answer", n=1, kind="pair", items=["x", "z"], answer=1)
        must(Path("log.jsonl").exists(), "an answer went nowhere")


@case("files")
def an_id_that_cannot_be_encoded():
    Constraints(["x"], ["y"], ["same"], ids=["x", "y"]).to_csv("c.csv")
    before = Path("c.csv").read_bytes()
    try:
        Constraints(["\ud800"], ["y"], ["same"], ids=["\ud800", "y"]).to_csv("c.csv")
    finally:
        must(Path("c.csv").read_bytes() == before, "the old file lost its answers")


@case("files", 1.5, "1", None)
def undo_of_a_wrong_count(n):
    X = np.random.default_rng(0).normal(size=(12, 2))
    learner = RandomPairLearner(2, random_state=0).start(X, journal="log.jsonl")
    for _ in range(3):
        learner.tell(learner.ask(), "same")
    try:
        learner.undo(n)
    finally:
        learner.tell(learner.ask(), "same")


ODD_BAGS = {
    "carriage return": ([0, 1], [{"x"}, {"y"}], ["a\rb", "c"]),
    "a bar in a label": ([0, 1], [{"x|y"}, {"z"}], ["a", "b"]),
    "an empty label": ([0, 1], [{""}, {"z"}], ["a", "b"]),
    "an empty bag": ([0, 2], [{"x"}, {"u"}, {"y"}], ["a", "b"]),
}


@case("files", *ODD_BAGS)
def bags_come_back(kind):
    bag, labels, ids = ODD_BAGS[kind]
    bags = Bags(bag, labels, ids=ids)
    bags.to_csv("b.csv")
    must(Bags.from_csv("b.csv") == bags, "other bags came back")


@case("files")
def a_row_with_a_field_too_many():
    Bags([0, 1], [{"x"}, {"y"}], ids=["a", "b"]).to_csv("b.csv")
    lines = Path("b.csv").read_text().splitlines()
    Path("b.csv").write_text("\n".join([*lines[:-1], lines[-1] + ",z"]) + "\n")
    back = Bags.from_csv("b.csv")
    must(list(back.ids) == ["a", "b"], f"columns were shifted: {back.ids}")


# 6–8: wrong in silence ---------------------------------------------------------------


@case("silent")
def nothing_about_a_triple_is_not_none():
    t = Triplets([0], [1], [2], [None])
    must(t.answer[0] != "none", "None was read as 'none'")


@case("silent", 0, "0")
def a_zero_beside_a_word(value):
    c = Constraints([0, 1], [1, 2], ["same", value])
    must(int(c.value[1]) == -1, "0 was read as unsure")


@case("silent")
def false_beside_a_word():
    c = Constraints([0, 1], [1, 2], ["same", False])
    must(int(c.value[1]) == -1, "False was read as unsure")


@case("silent")
def a_frame_with_edited_values():
    frame = Constraints(["x", "y"], ["y", "z"], [1, -1], ids=["x", "y", "z"]).to_frame()
    frame["value"] = [1, 0]
    must(Constraints.from_frame(frame).value.tolist() == [1, -1], "0 was read as unsure")


@case("silent")
def empty_cells_of_an_expert():
    c = Constraints.from_expert_labels({"ann": ["a", "", "", "a"]}, per_row=None)
    said = {tuple(sorted(map(int, pair))) for pair in c.must}
    must(said == {(0, 3)}, f"two empty cells are one class: {said}")


@case("silent")
def a_header_of_numbers():
    rows = "id,2019,2020\n" + ROWS.split("\n", 1)[1]
    table(rows)
    cluster("--out", "o.csv")
    must(len(labels_in("o.csv")) == 20, "the header was read as a row")
    Path("u.csv").write_text("2019,2020\n" + "1,2\n3,4\n5,9\n8,7\n9,9\n")
    cli("cluster", "u.csv", "--n-clusters", "2", "--out", "o2.csv", *no_pairs())
    must(len(labels_in("o2.csv")) == 5, "the header was read as a row")


def no_pairs():
    "0.1 asks for a file of pairs."
    Path("none.csv").write_text("a,b,answer\n0,1,same\n")
    return ("--pairs", "none.csv", "--method", "pck-means")


@case("silent")
def two_logs_of_one_file_name():
    from csc_nb.labelling import Items, merge_annotators

    X = np.random.default_rng(0).normal(size=(12, 2))
    logs = []
    for who, word in (("ann", 1), ("bob", -1)):
        Path(who).mkdir()
        logs.append(Path(who) / "log.jsonl")
        with Journal(logs[-1]) as j:
            for n in range(4):
                j.append("answer", n=n, kind="pair", items=[n, n + 1], answer=word)
    merged = merge_annotators(logs, Items(pd.DataFrame(X)), 2, n_init=1, random_state=0)
    must(len(merged.accuracy) == 2, "two people became one")


@case("silent", "false", "False", "none")
def a_setting_that_is_no_word(word):
    from csc_nb.baselines.metric import ITMLKMeans
    from csc_nb.cli import parse_settings

    value = parse_settings([f"tune={word}"], ITMLKMeans)["tune"]
    must(value is (None if word == "none" else False), f"{word} was read as {value!r}")


@case("silent", "file", "frame")
def a_column_that_stands_twice(where):
    Path("d.csv").write_text("a,a,b,value\nx,q,y,same\n")
    if where == "file":
        c = Constraints.from_csv("d.csv")
    else:
        frame = pd.DataFrame([["x", "q", "y", "same"]], columns=["a", "a", "b", "value"])
        c = Constraints.from_frame(frame)
    must(False, f"the first of two columns was taken: {c!r}")


@case("silent")
def leading_zeros():
    Path("c.csv").write_text("a,b,value\n007,x,same\n7,x,different\n")
    must(Constraints.from_csv("c.csv").check().opposite == 0, "007 and 7 are one id")


@case("silent")
def a_tie_by_rounding():
    weight = [0.1, 0.2, 0.3, 0.6]
    c = Constraints([0] * 4, [1] * 4, [1, 1, 1, -1], weight=weight, expert=range(4))
    must(c.resolve("majority").n_constraints == 0, "rounding decided a tie")


X, Y = make_blobs(90, centers=[[0, 0, 0], [6, 0, 0], [0, 6, 0]], random_state=0)
NOISY = Constraints.from_labels(Y, n=100, noise=0.15, random_state=1)
TWO_TABLES = ("label-hierarchy",)  # it needs labels of every row
PASSIVE = [k for k, c in methods().items() if not hasattr(c, "ask") and k not in TWO_TABLES]
TAKES = [k for k in PASSIVE if "pairs" in methods()[k].side_information]


def made(name, K=3, **more):
    "A method with K clusters and a seed, and few restarts."
    cls = methods()[name]
    known = inspect.signature(cls.__init__).parameters
    usual = dict(n_clusters=K, random_state=0, n_init=2)
    given = {k: v for k, v in usual.items() if k in known and (k != "n_init" or v)}
    return cls(**{**given, **more})


def labels(name, X=X, c=None, **more):
    est = made(name, **more)
    takes = "constraints" in inspect.signature(type(est).fit).parameters
    return est.fit(X, constraints=c).labels_ if takes else est.fit(X).labels_


def loudly(call):
    "What a call gives, and whether it warned."
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        return call(), bool(said)


@case("silent", *TAKES)
def three_hundred_right_answers(name):
    c = Constraints.from_labels(Y, n=300, random_state=2)
    z, spoke = loudly(lambda: labels(name, c=c))
    must(ari(Y, z) > 0.9 or spoke, f"ARI {ari(Y, z):.2f}")


@case("silent", *TAKES)
def three_thousand_answers_of_which_some_are_wrong(name):
    c = Constraints.from_labels(Y, n=3000, noise=0.05, random_state=0)
    z, spoke = loudly(lambda: labels(name, c=c))
    must(ari(Y, z) > 0.9 or spoke, f"ARI {ari(Y, z):.2f}, {z.max() + 1} clusters")


@case("silent", *PASSIVE)
def fewer_distinct_rows_than_clusters(name):
    est = made(name, 4)
    if getattr(est, "n_clusters", None) is None:
        return
    few = np.repeat([[0.0, 0, 1], [1, 1, 0]], 20, axis=0)
    _, spoke = loudly(lambda: labels(name, few, K=4))
    must(spoke, "four clusters of two different rows")


@case("silent", *PASSIVE)
def a_small_unit_and_a_far_place(name):
    want = labels(name)
    for what, Z in (("X · 1e-6", X * 1e-6), ("X + 1e9", X + 1e9)):
        found = ari(want, labels(name, Z))
        must(found > 0.9, f"{what}: ARI {found:.2f} with X itself")


@case("silent", "cobras", "ncobras", "bayes-active")
def a_small_unit_to_who_asks(name):
    def run(Z):
        known = inspect.signature(methods()[name].__init__).parameters
        given = {k: v for k, v in dict(random_state=0, n_clusters=3).items() if k in known}
        est = methods()[name](**given)
        return est.fit(Z, oracle=NoisyOracle(Y), budget=8).labels_

    found = ari(run(X), run(X * 1e-6))
    must(found > 0.9, f"X · 1e-6: ARI {found:.2f} with X itself")


@case("silent", *PASSIVE)
def numbers_that_cannot_be_squared(name):
    z = labels(name, X * 1e300)
    must(ari(Y, z) > 0.5, f"ARI {ari(Y, z):.2f} on X · 1e300")


NONSENSE = dict(n_init=0, alpha=np.inf, sigma=np.inf, lam=np.inf)
HAVE = [
    f"{k} {p}"
    for k in PASSIVE
    for p in NONSENSE
    if p in inspect.signature(methods()[k].__init__).parameters
]


@case("silent", *HAVE)
def a_setting_that_means_nothing(which):
    name, parameter = which.split()
    labels(name, **{parameter: NONSENSE[parameter]})
    must(False, f"{parameter}={NONSENSE[parameter]} was accepted")


@case("silent")
def the_unit_of_the_weights_of_cosc():
    one = Constraints(NOISY.a, NOISY.b, NOISY.value, weight=np.full(100, 1e3))
    found = ari(labels("cosc", c=NOISY), labels("cosc", c=one))
    must(found == 1, f"ARI {found:.2f} between two units")


@case("silent", "cop-kmeans", "constrained-em", "cosc", "mpck-means")
def answers_that_mislead(name):
    Z, y = make_blobs(300, centers=[[0, 0], [5, 0], [0, 5]], random_state=0)
    c = Constraints.from_labels(y, n=300, noise=0.2, random_state=1)
    z, spoke = loudly(lambda: labels(name, Z, c))
    must(spoke or ari(y, z) > ari(y, labels(name, Z)) - 0.02, f"ARI {ari(y, z):.2f}")


W, V = make_blobs(200, centers=4, cluster_std=2.5, random_state=0)  # they overlap
SAID = Constraints.from_labels(V, n=150, noise=0.1, random_state=1)


@case("silent", *TAKES)
def another_order_of_the_answers(name):
    rng = np.random.default_rng(0)
    p, turned = rng.permutation(150), rng.random(150) < 0.5
    low, high = np.where(turned, SAID.b, SAID.a), np.where(turned, SAID.a, SAID.b)
    other = Constraints(low[p], high[p], SAID.value[p], n_samples=200)
    found = ari(labels(name, W, SAID, K=4), labels(name, W, other, K=4))
    must(found > 1 - 1e-9, f"ARI {found:.2f} between two orders")


BY_ROW = ("dc",)  # starts on rows as they come: page 00b says why


@case("silent", *[k for k in TAKES if k not in BY_ROW])
def another_order_of_the_rows(name):
    want = labels(name, W, SAID, K=4)
    for seed in (1, 2):
        p = np.random.default_rng(seed).permutation(200)
        at = np.argsort(p)
        c = Constraints(at[SAID.a], at[SAID.b], SAID.value, n_samples=200)
        found = ari(want[p], labels(name, W[p], c, K=4))
        must(found > 1 - 1e-9, f"ARI {found:.2f} between two orders")


# 9–10: raw errors --------------------------------------------------------------------

CODES = {
    "latin-1": lambda text: text.encode("latin-1"),
    "utf-16": lambda text: text.encode("utf-16"),
    "utf-16-le": lambda text: text.encode("utf-16-le"),
    "gz": lambda text: gzip.compress(text.encode()),
}


@case("raw", *CODES)
def an_encoding_of_a_table(code):
    table()
    Path("t.csv").write_bytes(CODES[code](ROWS.replace("r0", "Müller")))
    Path("p.csv").write_text(PAIRS.replace("r0", "Müller"), encoding="utf-8")
    cluster("--out", "o.csv")
    must("Müller" in labels_in("o.csv"), "another name was read")


@case("raw", *CODES)
def an_encoding_of_pairs(code):
    table(ROWS.replace("r0", "Müller"))
    Path("p.csv").write_bytes(CODES[code](PAIRS.replace("r0", "Müller")))
    cluster("--out", "o.csv")


@case("raw", *CODES)
def an_encoding_of_answers_in_python(code):
    Path("p.csv").write_bytes(CODES[code]("a,b,value\nMüller,x,same\n"))
    c = Constraints.from_csv("p.csv")
    must("Müller" in list(c.ids), "another name was read")


@case("raw", *CODES)
def an_encoding_of_a_log(code):
    with Journal("log.jsonl") as j:
        j.append("answer", n=0, kind="pair", items=["Müller", "y"], answer=1)
    text = Path("log.jsonl").read_text(encoding="utf-8").replace("\\u00fc", "ü")
    raw = CODES[code](text)
    Path("log.jsonl").write_bytes(raw)
    try:
        Journal("log.jsonl").close()
    finally:
        must(Path("log.jsonl").read_bytes() == raw, "a log that was not read was changed")


CONFIG = dict(
    datasets='["iris"]', methods='["pck-means"]', seeds="1", noise="[0.1]",
    n_constraints="[5]", metrics='["ari"]', out='"o.csv"',
)  # fmt: skip


@case("raw", *CODES)
def an_encoding_of_a_configuration(code):
    text = "".join(f"{k} = {v}\n" for k, v in CONFIG.items())
    Path("s.toml").write_bytes(CODES[code]("# Müller\n" + text))
    cli("sweep", "s.toml", "--quiet")


WRONG = ["3", '"x"', "[[1]]", "{a = 1}", "true", "-1", "1979-05-27", '["", 3]', "[]"]
FIT = {"datasets": (), "methods": (), "metrics": ()}  # what is right for an entry
OF_SWEEPS = [f"{k} = {w}" for k in CONFIG for w in WRONG]


@case("raw", *OF_SWEEPS)
def an_entry_of_a_sweep(entry):
    name, value = entry.split(" = ", 1)
    told = {**CONFIG, "max_rows": "20", name: value}
    Path("s.toml").write_text("".join(f"{k} = {v}\n" for k, v in told.items()))
    cli("sweep", "s.toml", "--quiet", *([] if name == "out" else ["--out", "o.csv"]))


@case("raw", "clusterer=x", "n_init=x", "=3", "n_init=", "nothing=1", "init=3")
def a_setting_of_the_command_line(word):
    table()
    cluster("--set", word, "--out", "o.csv")


@case("raw", "0", "-1", "x")
def repeats_of_the_demo(n):
    cli("demo", "--repeats", n, "--jobs", "1", "--out", "d")


@case("raw")
def a_very_long_field():
    table(pairs=PAIRS + "x" * 200_000 + ",r1,same\n")
    cluster("--out", "o.csv")


@case("raw")
def a_quiet_end():
    from csc_nb import cli as module

    def interrupted(args):
        raise KeyboardInterrupt

    table()
    old, module.cluster = module.cluster, interrupted
    err = io.StringIO()
    try:
        with contextlib.redirect_stderr(err), contextlib.redirect_stdout(io.StringIO()):
            module.main("cluster t.csv --pairs p.csv".split())
    except KeyboardInterrupt:
        raise Raw("Ctrl-C prints a traceback") from None
    except SystemExit:
        pass
    finally:
        module.cluster = old
    must(len(err.getvalue().splitlines()) <= 2, "Ctrl-C prints many lines")


ODD = ["x", None, -3, 1.5, [1], np.nan, {}, object(), b"b"]
EVERY = [
    f"{k} {p}"
    for k, c in methods().items()
    for p in inspect.signature(c.__init__).parameters
    if p not in ("self", "params", "kwargs", "rules")
]


@case("parameters", *EVERY)
def a_parameter_of_the_wrong_type(which):
    "Each value on three clusters; the worst of the outcomes counts."
    name, parameter = which.split()
    cls = methods()[name]
    worst = None
    for value in ODD:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                known = inspect.signature(cls.__init__).parameters
                usual = dict(n_clusters=3, random_state=0, n_init=1, max_iter=5)
                given = {k: v for k, v in usual.items() if k in known}
                est = cls(**{**given, parameter: value})
                if hasattr(est, "ask"):
                    est.fit(X, oracle=NoisyOracle(Y), budget=3)
                elif "constraints" in inspect.signature(cls.fit).parameters:
                    est.fit(X[:45], constraints=None)
                elif name not in TWO_TABLES:
                    est.fit(X[:45])
        except Exception as e:
            if not on_purpose(e):
                raise
            worst = worst or e
    if worst is not None:
        raise worst


def small():
    return Constraints([0, 1], [1, 2], [1, -1], n_samples=5)


def started():
    return RandomPairLearner(2, random_state=0).start(X)


def the_demo_of_ids():
    c = Constraints([f"r{i}" for i in range(3)], ["r1", "r2", "r9"], [1, 1, -1], ids=True)
    return c.select([99])


CALLS = {
    "select([99])": lambda: small().select([99]),
    "select('x')": lambda: small().select("x"),
    "closure().query(5, 6)": lambda: small().closure().query(5, 6),
    "closure().query('x', 6)": lambda: small().closure().query("x", 6),
    "undo('1')": lambda: started().undo("1"),
    "budget='5'": lambda: RandomPairLearner(2).fit(X, oracle=NoisyOracle(Y), budget="5"),
    "budget=-1": lambda: RandomPairLearner(2).fit(X, oracle=NoisyOracle(Y), budget=-1),
    "oracle=3": lambda: RandomPairLearner(2).fit(X, oracle=3, budget=2),
    "learner=NCOBRAS": lambda: csc_nb.AskPairs(pd.DataFrame(X), learner=csc_nb.NCOBRAS),
    "merge_annotators([])": lambda: of("labelling", "merge_annotators")([], X, 2),
    "ragged triples": lambda: as_triplets(([(0, 1, 2), (0, 1)], ["ab", "ab"])),
    "triples of four": lambda: as_triplets(([(0, 1, 2, 3)], ["ab"])),
    "tell(None)": lambda: started().tell(None, "same"),
    "tell(3)": lambda: (lambda s: s.tell(s.ask(), 3))(started()),
    "from_labels(n='5')": lambda: Constraints.from_labels(Y, "5"),
    "from_labels(n=-1)": lambda: Constraints.from_labels(Y, -1),
    "flip('x')": lambda: small().flip("x"),
    "resolve('x')": lambda: small().resolve("x"),
    "subset([99])": lambda: small().subset([99]),
    "subset('x')": lambda: small().subset("x"),
    "merge(3)": lambda: small().merge(3),
    "weight='x'": lambda: Constraints([0], [1], [1], weight=["x"]),
    "expert without end": lambda: Constraints([0], [1], [1], expert=[0, 1]),
    "Bags(3, 4)": lambda: Bags(3, 4),
    "Bags of a gap": lambda: Bags([0, 5], [{"x"}]),
    "noise='x'": lambda: NoisyOracle(Y, noise="x"),
    "oracle of a word": lambda: NoisyOracle(Y)("x"),
    "select of ids": the_demo_of_ids,
}


def of(module, name):
    return getattr(importlib.import_module(f"csc_nb.{module}"), name)


@case("raw", *CALLS)
def a_call(which):
    CALLS[which]()


@case("raw")
def advice_to_drop_what_is_unknown():
    "The error recommends `unknown='drop'`, which must then work for tuples."
    from csc_nb.constraints import as_constraints

    said = [("r0", "r1", "same"), ("r0", "nobody", "same")]
    c = as_constraints(said, sample_id=["r0", "r1"], unknown="drop")
    must(c.n_constraints == 1, "the unknown id was not dropped")


@case("raw")
def advice_about_the_separator():
    table(ROWS.replace(",", ";"))
    try:
        cluster("--out", "o.csv", "--columns", "x,y")
    except Clear as e:
        if "sep=" in str(e) and "--sep" not in str(e):
            raise Raw("the command line advises sep=, which is no flag") from None
        raise
    must(len(labels_in("o.csv")) == 20, "rows were lost")


@case("raw")
def advice_names_ids():
    table(pairs=PAIRS + "r4,r4,different\n")
    try:
        cluster("--out", "o.csv")
    except Clear as e:
        if "r4" not in str(e):
            raise Raw("a row number where the user has ids") from None
        raise


# 11–14: let in, injected, too large --------------------------------------------------

STARTS = ["=1+1", "+1+cmd", "-2+3|x", "@SUM(1)", "\u200b=1+1", "＝1+1", "\ufeff=1", " =1"]


def harmless(text):
    "Would a spreadsheet take it for a formula?"
    import unicodedata

    bare = "".join(c for c in text if unicodedata.category(c) not in ("Cf", "Zs"))
    bare = unicodedata.normalize("NFKC", bare).lstrip('"')
    return not bare.startswith(("=", "+", "-", "@"))


@case("let in", *STARTS)
def a_formula_as_an_id(sign):
    table(ROWS.replace("r7,", f"{sign},"))
    cluster("--out", "o.csv")
    must(all(map(harmless, labels_in("o.csv"))), "a formula reached the file")


@case("let in", *STARTS)
def a_formula_as_a_header(sign):
    table(ROWS.replace("id,", f"{sign},"))
    said = ["cluster", "t.csv", "--pairs", "p.csv", "--n-clusters", "2", "--id", sign]
    cli(*said, "--method", "pck-means", "--out", "o.csv")
    head = Path("o.csv").read_text(encoding="utf-8").splitlines()[0]
    must(harmless(head), "a formula reached the header")


@case("let in", *STARTS)
def a_formula_in_a_cell(sign):
    must(harmless(str(of("labelling", "safe_cell")(sign))), "a formula is let through")


@case("let in", "\x1b[2J", "\x9b31m", "\x07")
def a_sign_that_a_terminal_obeys(sign):
    table(ROWS.replace("r7,", f"{sign}gone,"), PAIRS + f"{sign}gone,r1,same\n")
    said = cluster("--out", "o.csv")
    must(sign not in said, "it reached the screen")
    Path("p.csv").write_text(PAIRS + f"{sign}nobody,r1,same\n", encoding="utf-8")
    try:
        cluster("--out", "o2.csv")
    except Clear as e:
        must(sign not in str(e), "it reached the screen in an error")


@case("let in")
def a_row_number_beyond_every_memory():
    must(Constraints([10**12], [1], [1]).check().ok, "a right answer was refused")


@case("let in", "FixedQuestions", "VerifiedLearner", "MetricKMeans", "FastTag")
def the_checks_of_sklearn_with_plain_defaults(name):
    from sklearn.utils.estimator_checks import check_estimator

    where = dict(FixedQuestions="labelling", VerifiedLearner="ncobras")
    where |= dict(MetricKMeans="baselines.metric", FastTag="hierarchy")
    est = of(where[name], name)()
    done = check_estimator(est, on_fail=None, on_skip=None)
    failed = {r["check_name"]: r["exception"] for r in done if r["status"] == "failed"}
    if name == "FastTag":  # y must be sets of labels: checks with plain classes cannot run
        for check in NOT_FOR_SETS:
            failed.pop(check, None)
    if failed:
        raise Raw(f"{len(failed)} checks fail: {', '.join(failed)}")


NOT_FOR_SETS = {
    "check_fit_score_takes_y",
    "check_n_features_in_after_fitting",
    "check_estimators_dtypes",
    "check_classifier_data_not_an_array",
    "check_classifiers_one_label",
    "check_classifiers_classes",
    "check_classifier_multioutput",
    "check_classifiers_train",
    "check_classifiers_regression_target",
    "check_decision_proba_consistency",
    "check_classifier_not_supporting_multiclass",
    "check_fit2d_1feature",
    "check_classifiers_multilabel_output_format_predict",
}


# ------------------------------------------------------------------------------------


def rows_of_tests():
    "What takes long runs with the slow tests."
    for key in CASES:
        slow = key[0] == "parameters" or "sklearn" in key[1]
        marks = [pytest.mark.slow] if slow else []
        yield pytest.param(key, id=f"{key[0]}-{key[1]}", marks=marks)


@pytest.mark.parametrize("which", rows_of_tests())
def test_a_named_fault_survives_or_is_refused_in_a_sentence(which):
    kind, text = outcome(CASES[which])
    assert kind in ("fine", "clear"), text


def main(only):
    count = {}
    for (group, name), call in CASES.items():
        if group not in (only or ("files", "silent", "raw", "parameters", "let in")):
            continue
        kind, text = outcome(call)
        row = count.setdefault(group, dict.fromkeys(("fine", "clear", "raw", "silent"), 0))
        row[kind] += 1
        if kind in ("raw", "silent"):
            print(f"{group}: {kind}: {name!r:.70}: {text!r:.150}", file=sys.stderr)
    print(f"{'group':<8}{'tried':>7}{'fine':>7}{'clear':>7}{'raw':>7}{'silent':>7}")
    for group, row in count.items():
        print(
            f"{group:<8}{sum(row.values()):>7}" + "".join(f"{v:>7}" for v in row.values())
        )


if __name__ == "__main__":
    main(sys.argv[1:])
