"""Throw odd input at every public name and at the command line, and count what comes back.

`python tools/fuzz.py [--calls 6000] [--seed 0] [--groups files,parameters,...] [--show 20]`

- *fine*: the call gave a result.
- *clear*: it was refused by a `raise` that somebody wrote for it, here or in scikit-learn.
- *raw*: the error came out of the inside: an index, an attribute, numpy's words, a kernel.
- *silent*: a result that contradicts another result. What must agree: the same answers in
  another order, turned round, by id instead of by row, in words instead of numbers, twice
  instead of with weight 2; the same rows in another unit; a file and what was written.

What is raw is decided by the traceback, not by the words: the last frame must be a `raise`
statement of this package or of scikit-learn. A call is reproduced by its seed and number
(`--seed 3 --only 1234`). Exit status 1 when anything was raw or silent.
"""

import argparse
import ast
import collections
import contextlib
import csv
import functools
import inspect
import io
import json
import os
import signal
import sys
import tempfile
import traceback
import unicodedata
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse

import csc_nb
from csc_nb import cli, files, formats, metrics
from csc_nb.bag_table import Bags, as_bags
from csc_nb.constraints import Constraints, Triplets, as_constraints, as_triplets
from csc_nb.estimators import ConstrainedClusterer, methods, without_advice
from csc_nb.oracles import ActiveLearner, Journal, NoisyOracle, RandomPairLearner
from csc_nb.sweeps import for_study

# what is raw -------------------------------------------------------------------------


@functools.lru_cache(None)
def raise_lines(path):
    "The lines of a file that belong to a `raise` statement."
    tree = ast.parse(Path(path).read_text(encoding="utf-8"))
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise):
            found.update(range(node.lineno, node.end_lineno + 1))
    return found


def is_clear(error):
    "Was the error raised on purpose, by this package or by scikit-learn?"
    if not isinstance(error, (ValueError, TypeError, OSError, RuntimeError, ImportError)):
        return False
    frames = traceback.extract_tb(error.__traceback__)
    last = frames[-1]
    if Path(last.filename) == Path(
        __file__
    ):  # the call itself: a wrong keyword, no such name
        return isinstance(error, TypeError) and "argument" in str(error)
    ours = "csc_nb" in last.filename or "sklearn" in last.filename
    named = isinstance(error, OSError) and error.filename is not None
    if "argparse" in last.filename or named:  # a file that is not there, by its name
        return True
    return ours and last.lineno in raise_lines(last.filename)


class Silent(Exception):
    "Two results that must agree do not."


def outcome(call):
    "What a call ended in, and a line on it."
    quiet = (
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    )
    try:
        with warnings.catch_warnings(), quiet[0], quiet[1]:
            warnings.simplefilter("ignore")
            call()
    except Silent as e:
        return "silent", str(e)
    except Exception as e:
        last = traceback.extract_tb(e.__traceback__)[-1]
        where = f"{Path(last.filename).name}:{last.lineno}"
        return ("clear" if is_clear(e) else "raw"), f"{type(e).__name__} at {where}: {e}"
    return "fine", ""


# odd things -------------------------------------------------------------------------

WORDS = [
    "same",
    "different",
    "Yes",
    "NO",
    "ML",
    "cannot-link",
    "unsure",
    "?",
    "1",
    "-1",
    "0",
]
ODD_TEXT = [
    "", " ", "\0", "\ud800", "é" * 3, "=1+1", "＝2", "\u200b=3", "a,b", 'q"', "\x1b[31m",
    "\r", "\n", "007", "7", "1e400", "nan", "None", "true", "-", "../x", "x" * 5000,
    "مرحبا",
]  # fmt: skip


def odd(rng):
    "One value that nobody should pass."
    pick = int(rng.integers(30))
    simple = [
        None, True, False, 0, -1, 1, 2, 1.5, -0.0, 10**30, -(10**30), np.nan, np.inf,
        -np.inf,
        b"bytes", (), [], {}, set(), object, print, np.float64(2), np.array([]), range(3),
        np.datetime64("2020-01-01"), pd.NA, 1 + 2j, [[1], [2, 3]], {"a": [1]},
    ]  # fmt: skip
    if pick < len(simple):
        return simple[pick]
    return str(rng.choice(ODD_TEXT))


def table(rng, n=None, tidy=False):
    "A table of numbers; not tidy: sometimes of an odd shape, kind or content."
    n = int(rng.integers(6, 40)) if n is None else n
    d = int(rng.integers(1, 5))
    y = rng.integers(0, 3, n)
    X = rng.normal(size=(n, d)) + 4 * y[:, None] * rng.normal(size=d)
    if tidy:
        return X, y
    kind = int(rng.integers(16))
    if kind == 0:
        X[rng.integers(n), rng.integers(d)] = rng.choice([np.nan, np.inf, -np.inf])
    elif kind == 1:
        X = np.repeat(X[:2], (n + 1) // 2, axis=0)[:n]
    elif kind == 2:
        X = X * 10.0 ** rng.integers(-320, 300)
    elif kind == 3:
        X = np.zeros((n, 0)) if rng.random() < 0.5 else np.zeros((0, d))
    elif kind == 4:
        X = X.astype(rng.choice(["f4", "i8", "?", "U5", "O", "c16", "f2", "u1"]))
    elif kind == 5:
        X = pd.DataFrame(
            X, index=rng.permutation(n) + 5, columns=[f"c{j}" for j in range(d)]
        )
    elif kind == 6:
        X = pd.DataFrame(X, columns=["same"] * d)
    elif kind == 7:
        X = X[:, 0]
    elif kind == 8:
        X = X[None]
    elif kind == 9:
        X = np.ma.masked_array(X, X > 3)
    elif kind == 10:
        X = pd.DataFrame({"a": list("xyz") * n, "b": 1.0}).iloc[:n]
    elif kind == 11:
        return odd(rng), y
    elif kind == 12:
        X = X.tolist()
    elif kind == 13:
        X = np.asfortranarray(X)[::-1]
    return X, y


def pairs(rng, n, m=None, tidy=True):
    "Row numbers a, b and values."
    m = int(rng.integers(1, 30)) if m is None else m
    a = rng.integers(0, n, m)
    b = (a + rng.integers(1, n, m)) % n
    value = rng.choice([1, -1], m)
    if not tidy:
        a = a + int(rng.choice([0, 0, 1, -1, n, 10**9]))
    return a, b, value


def answers(rng, n):
    "Answers in any form, right or not."
    a, b, v = pairs(rng, n, tidy=rng.random() < 0.6)
    kind = int(rng.integers(12))
    if kind == 0:
        return np.c_[a, b], v
    if kind == 1:
        return dict(must=np.c_[a, b][v > 0], cannot=np.c_[a, b][v < 0])
    if kind == 2:
        return pd.DataFrame(dict(a=a, b=b, value=rng.choice(WORDS, len(a))))
    if kind == 3:
        return list(zip(a.tolist(), b.tolist(), rng.choice(WORDS, len(a)).tolist()))
    if kind == 4:
        return np.c_[a, b], v[:-1]
    if kind == 5:
        return {"must": odd(rng), "cannot": []}
    if kind == 6:
        return odd(rng)
    if kind == 7:
        import scipy.sparse as sp

        return sp.csr_matrix((v.astype(float), (a % n, b % n)), shape=(n, n))
    if kind == 8:
        return [(int(x), int(x), "same") for x in a]
    if kind == 9:
        return [(0, 1, "different"), (0, 1, "same"), (1, 2, "same")] * 3
    return list(zip(a.tolist(), b.tolist(), v.tolist()))


# groups: each makes one call from a generator ---------------------------------------

PASSIVE = {
    k: c
    for k, c in methods().items()
    if issubclass(c, ConstrainedClusterer) and not issubclass(c, ActiveLearner)
}
PAIR_METHODS = {k: c for k, c in PASSIVE.items() if "pairs" in c.side_information}
LEARNERS = {k: c for k, c in methods().items() if issubclass(c, ActiveLearner)}
QUICK = {"n_init": 1, "max_iter": 20}


def made(cls, seed=0, K=2):
    "A method with few restarts."
    est = for_study(cls, K, seed)
    known = inspect.signature(cls.__init__).parameters
    return est.set_params(**{k: v for k, v in QUICK.items() if k in known})


def fits(rng):
    "A method, a table and answers, some of them odd."
    cls = PASSIVE[str(rng.choice(list(PASSIVE)))]
    X, y = table(rng)
    given = {}
    if rng.random() < 0.8 and "constraints" in inspect.signature(cls.fit).parameters:
        given["constraints"] = answers(rng, max(len(y), 2))
    if rng.random() < 0.2 and "sample_id" in inspect.signature(cls.fit).parameters:
        given["sample_id"] = list(range(len(y))) if rng.random() < 0.5 else odd(rng)
    if rng.random() < 0.2:
        given["y"] = odd(rng)

    def call():
        labels = made(cls).fit(X, **given).labels_
        if len(labels) != len(X) or labels.min() != 0:
            raise Silent(f"{cls.__name__}: labels of {len(X)} rows: {labels!r:.80}")

    return f"{cls.__name__}.fit", call


def parameters(rng):
    "One or two settings of the wrong kind or size."
    every = {**PASSIVE, **LEARNERS}
    cls = every[str(rng.choice(list(every)))]
    known = [p for p in inspect.signature(cls.__init__).parameters if p != "self"]
    names = rng.choice(known, min(len(known), int(rng.integers(1, 3))), replace=False)
    setting = {str(name): odd(rng) for name in names}
    X, y = table(rng, 14, tidy=True)

    def call():
        est = made(cls).set_params(**setting)
        if isinstance(est, ActiveLearner):
            est.fit(X, oracle=NoisyOracle(y), budget=4)
        elif issubclass(cls, ConstrainedClusterer):
            est.fit(X)

    return f"{cls.__name__}({setting!r:.90})", call


def arguments(rng):
    "A public name with odd arguments in some places."
    name = str(rng.choice(csc_nb.__all__))
    thing = getattr(csc_nb, name)
    known = list(inspect.signature(thing).parameters.values())
    X, y = table(rng, tidy=True)
    a, b, v = pairs(rng, len(y))
    usual = dict(
        a=a, b=b, c=(b + 1) % len(y), value=v, values=v, X=X, y=y, labels=y, labels_true=y,
        labels_pred=y, y_true=y, y_pred=y, true=y, found=y, constraints=(np.c_[a, b], v),
        answer=["ab"] * len(a), bag=y, n_clusters=2, name="iris", path="nowhere.csv", n=5,
        truth=y, data=pd.DataFrame(X), pairs=np.c_[a, b], items=list(range(4)),
    )  # fmt: skip
    given = {}
    for p in known:
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            continue
        if rng.random() < 0.25 or (p.default is p.empty and p.name not in usual):
            given[p.name] = odd(rng)
        elif p.default is p.empty or rng.random() < 0.2 and p.name in usual:
            given[p.name] = usual[p.name]
    for name_of_file in ("path", "log", "folder", "out"):  # no odd files in this folder
        if isinstance(given.get(name_of_file), str):
            given[name_of_file] = os.path.join(HERE, f"odd{rng.integers(9)}")
    positional = [
        given.pop(p.name) for p in known if p.kind is p.POSITIONAL_ONLY and p.name in given
    ]

    def call():
        if name not in ("compare",):
            thing(*positional, **given)

    return f"{name}({', '.join(given)})", call


def containers(rng):
    "A method of a container with an odd argument."
    n = int(rng.integers(4, 20))
    a, b, v = pairs(rng, n)
    y = rng.integers(0, 3, n)
    words = rng.choice(["ab", "ac", "bc", "none"], len(a))
    c_ = (b + 1) % n
    c_[c_ == a] = (c_[c_ == a] + 1) % n
    boxes = [
        Constraints(a, b, v, n_samples=n),
        Constraints([f"r{i}" for i in a], [f"r{i}" for i in b], v, ids=True),
        Triplets(a, b, c_, words, n_samples=n),
        Bags(y, [{str(k)} for k in range(int(y.max()) + 1)]),
    ]
    box = boxes[int(rng.integers(len(boxes)))]
    public = [m for m in dir(type(box)) if not m.startswith("_") and m not in WRITES]
    method = str(rng.choice([m for m in public if callable(getattr(type(box), m))]))
    bound = getattr(box, method)
    known = inspect.signature(bound).parameters.values()
    args = [odd(rng) for p in known if p.default is p.empty and p.kind is not p.VAR_KEYWORD]
    more = {
        p.name: odd(rng) for p in known if p.kind is p.KEYWORD_ONLY and rng.random() < 0.3
    }
    if rng.random() < 0.3:
        args.append(odd(rng))
    return f"{type(box).__name__}.{method}", lambda: bound(*args, **more)


WRITES = {"to_csv", "to_log", "to_parquet", "to_json"}


def readers(rng):
    "A damaged file of ours, or somebody else's, for each reader."
    path = Path(HERE) / f"in{rng.integers(50)}.csv"
    a, b, v = pairs(rng, 9)
    whole = Constraints([f"r{i}" for i in a], [f"r{i}" for i in b], v, ids=True)
    kinds = [
        lambda: whole.to_csv(path),
        lambda: whole.to_log(path.with_suffix(".jsonl")),
        lambda: Bags([0, 1, 1], [{"x"}, None], ids=list("abc")).to_csv(path),
        lambda: Triplets([0], [1], [2], ["ab"]).to_csv(path),
    ]
    path = Path(kinds[int(rng.integers(4))]())
    raw = bytearray(path.read_bytes())
    for _ in range(int(rng.integers(0, 4))):
        at = int(rng.integers(len(raw) + 1))
        damage = int(rng.integers(6))
        if damage == 0:
            raw[at : at + 1] = bytes([int(rng.integers(256))])
        elif damage == 1:
            del raw[at : at + int(rng.integers(9))]
        elif damage == 2:
            raw[at:at] = str(rng.choice(ODD_TEXT)).encode("utf-8", "surrogatepass")
        elif damage == 3:
            raw = bytearray(raw.decode("utf-8", "replace").encode("utf-16"))
        elif damage == 4:
            raw[at:at] = raw[: int(rng.integers(40))]
        else:
            raw = raw.replace(b",", bytes(rng.choice([b";", b"\t", b",,", b"|"])))
    path.write_bytes(raw)
    found = [getattr(formats, f) for f in dir(formats) if f.startswith("read_")]
    found += [
        Constraints.from_csv,
        Constraints.from_log,
        Triplets.from_csv,
        Triplets.from_log,
    ]
    found += [Bags.from_csv, csc_nb.read_table, csc_nb.ReplayOracle, Journal]
    read = found[int(rng.integers(len(found)))]

    def call():
        got = read(path)
        getattr(got, "close", lambda: None)()
        if read is not Journal and path.read_bytes() != raw:
            raise Silent(f"{read.__name__} changed the file it read")

    def journal():  # opening may repair our own log, and nothing else
        try:
            call()
        finally:
            first = bytes(raw).partition(b"\n")[0]
            ours = b"csc_nb" in first or b'"event"' in first
            if not ours and path.read_bytes() != raw:
                raise Silent("Journal changed a file that is not a log")

    return f"{getattr(read, '__qualname__', read)}", journal if read is Journal else call


def round_trips(rng):
    "What was written comes back."
    names = [f"{rng.choice(ODD_TEXT[3:])}{k}" for k in range(9)]
    names = [s.replace("\0", "").replace("\ud800", "") for s in names]
    a, b, v = pairs(rng, 9)
    v = rng.choice([1, -1, 0], len(v))
    pick = np.array(names, dtype=object)
    c = Constraints(pick[a], pick[b], v, ids=True, value_kind="pm1")
    path = Path(HERE) / "trip"
    kind = int(rng.integers(5))
    ways = [
        lambda: Constraints.from_csv(c.to_csv(path)),
        lambda: Constraints.from_log(c.to_log(path)),
        lambda: Constraints.from_frame(c.to_frame()),
        lambda: c.select(np.arange(c.n_constraints)),
        lambda: Bags.from_csv(
            Bags(a, [{names[i]} for i in range(a.max() + 1)]).to_csv(path)
        ),
    ]

    def call():
        back = ways[kind]()
        want = c if kind < 4 else Bags(a, [{names[i]} for i in range(a.max() + 1)])
        if not back == want:
            raise Silent(f"way {kind}: {back!r:.60} is not {want!r:.60}")

    return f"round trip {kind}", call


def relations(rng):
    "One problem told in two ways must give one clustering."
    name = str(rng.choice(list(PAIR_METHODS)))
    cls, n = PAIR_METHODS[name], int(rng.integers(15, 40))
    X, y = table(rng, n, tidy=True)
    a, b, _ = pairs(rng, n, 25)
    v = np.where(y[a] == y[b], 1, -1) * np.where(rng.random(25) < 0.1, -1, 1)
    ids = [f"id{i}" for i in range(n)]
    words = np.where(v > 0, "same", "different")
    p, turned = rng.permutation(25), rng.random(25) < 0.5
    low, high = np.where(turned, b, a), np.where(turned, a, b)
    plain = dict(constraints=(np.c_[a, b], v))
    named = [(ids[i], ids[j], w) for i, j, w in zip(a, b, words)]
    unit = 2.0 ** int(rng.integers(-30, 30))
    weight = np.full(25, 2.0)
    told = {
        "order": (X, dict(constraints=(np.c_[low, high][p], v[p]))),
        "ids": (X, dict(constraints=named, sample_id=ids)),
        "words": (X, dict(constraints=(np.c_[a, b], words))),
        "frame": (pd.DataFrame(X, index=ids), dict(constraints=named)),
        "unit": (X * unit, plain),
        "list": (X.tolist(), plain),
        "unsure added": (
            X,
            dict(constraints=(np.r_[np.c_[a, b], [[0, 1]]], np.r_[v, 0]), value_kind="pm1"),
        ),
        "twice": (X, None),
    }
    way = str(rng.choice(list(told)))
    Z, given = told[way]
    if way == "twice":
        two = Constraints(np.r_[a, a], np.r_[b, b], np.r_[v, v], n_samples=n)
        given = dict(constraints=two)
        plain = dict(constraints=Constraints(a, b, v, weight=weight, n_samples=n))
    if way == "unsure added":
        both = Constraints(
            np.r_[a, 0], np.r_[b, 1], np.r_[v, 0], n_samples=n, value_kind="pm1"
        )
        given = dict(constraints=both)

    def call():
        with without_advice():
            want = made(cls, K=3).fit(X, **plain).labels_
            got = made(cls, K=3).fit(Z, **given).labels_
        if csc_nb.ari(want, got) < 1 - 1e-9:
            raise Silent(f"{name}, {way}: ari {csc_nb.ari(want, got):.2f}")

    return f"{name}: {way}", call


def sessions(rng):
    "A learner that hears odd things, and must go on as if it had not."
    cls = LEARNERS[str(rng.choice(list(LEARNERS)))]
    X, y = table(rng, 16, tidy=True)
    if rng.random() < 0.5:
        cls = RandomPairLearner
    odd_things = [(int(rng.integers(5)), odd(rng)) for _ in range(3)]
    label = f"{cls.__name__} hears {odd_things!r:.70}"

    def call():
        learner = made(cls) if cls is not RandomPairLearner else cls(2, random_state=0)
        learner.start(X)
        first = None
        for what, value in odd_things:
            q = learner.ask()
            if q is None:
                return
            learner.tell(q, "same" if y[q.items[0]] == y[q.items[1]] else "different")
            before = len(learner.answers_)
            try:
                if what == 0:
                    learner.tell(learner.ask(), value)
                elif what == 1:
                    learner.tell(value, "same")
                elif what == 2:
                    learner.undo(value)
                elif what == 3:
                    learner.ask(value) if value is not None else learner.ask()
                else:
                    learner.tell(q, value)
            except Exception as e:
                first = first or e
                if len(learner.answers_) != before:
                    raise Silent(f"refused {value!r:.30} and changed the answers") from None
        if first is not None:
            raise first

    return label, call


def command_line(rng):
    "`csc-nb` with odd tables, flags and files."
    X, y = table(rng, 12, tidy=True)
    data, out = Path(HERE) / "t.csv", Path(HERE) / f"o{rng.integers(9)}.csv"
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])
    frame.insert(0, "id", [f"p{i}" for i in range(12)])
    if rng.random() < 0.4:
        frame = frame.astype(object)
        frame.iat[int(rng.integers(12)), int(rng.integers(frame.shape[1]))] = str(odd(rng))
    heads = list(frame.columns)  # not renamed: pandas' own strings take no lone surrogate
    if rng.random() < 0.2:
        heads[heads.index("c0")] = str(rng.choice(ODD_TEXT))
    sep = str(rng.choice([",", ";", "\t"]))
    text = frame.to_csv(index=False, header=heads, sep=sep)
    encoding = str(rng.choice(["utf-8", "utf-8", "utf-16", "latin-1"]))
    data.write_bytes(text.encode(encoding, "replace"))
    said = Path(HERE) / "pairs.csv"
    rows = [f"p{i},p{j},{rng.choice(WORDS)}" for i, j in rng.integers(0, 14, (6, 2))]
    said.write_text("\n".join(["a,b,value", *rows]), encoding="utf-8")
    some = lambda *v: str(rng.choice(v))
    flags = [
        ["--pairs", str(said)], ["--id", some("id", "nobody", "c0")],
        ["--seed", some("1", "x")],
        ["--n-clusters", some("2", "0", "-3", "99", "two")], ["--raw"], ["--only-labels"],
        ["--method", some(*PAIR_METHODS, "nobody")],
        ["--columns", some("c0", "id", "zz", "")],
        ["--set", some("n_init=2", "n_init=x", "clusterer=x", "tol=", "=3", "lam=inf")],
        ["--sep", some(",", "tab", "xx", "")], ["--encoding", some("utf-8", "klingon")],
        ["--header", some("yes", "no")], ["--decimal", ","], ["--sheet", "2"],
    ]  # fmt: skip
    chosen = [f for f in flags if rng.random() < 0.25]
    command = some(
        "cluster", "cluster", "cluster", "report", "predict", "sweep", "panel", "ask"
    )
    argv = {
        "cluster": [command, str(data), "--out", str(out), *sum(chosen, [])],
        "report": [command, some(str(data), str(said), "nowhere.json"), "--out", str(out)],
        "predict": [command, some(str(data), str(said)), str(data), "--out", str(out)],
        "sweep": [command, str(sweep_file(rng)), "--out", str(out), "--quiet"],
        "panel": [command, some(str(said), str(data), "nowhere.jsonl")],
        "ask": [command, some("nowhere.csv", HERE), "--no-browser"],
    }[command]
    before = data.read_bytes()

    def call():
        stop = []

        def kept(e):  # what `main` turns into a sentence
            stop.append(e)
            return sentence(e)

        sentence, cli._sentence = cli._sentence, kept
        try:
            cli.main(argv)
        except SystemExit as e:
            if e.code not in (0, 2):
                raise RuntimeError(f"exit status {e.code}") from None
        finally:
            cli._sentence = sentence
        if data.read_bytes() != before:
            raise Silent("the table was changed")
        if out.exists():
            harmless(out)
        if stop:
            raise stop[0]

    return " ".join(Path(a).name for a in argv), call


def harmless(path):
    "No cell of a file for spreadsheets may be a formula or speak to a terminal."
    text = path.read_text(encoding="utf-8-sig")
    path.unlink()
    for row in csv.reader(io.StringIO(text, newline="")):
        for cell in row:
            bare = "".join(c for c in cell if unicodedata.category(c) not in ("Cf", "Zs"))
            bare = unicodedata.normalize("NFKC", bare)
            if bare[:1] in ("=", "+", "-", "@") and bare[:1] and not is_number(bare):
                raise Silent(f"a formula reached the file: {cell!r:.40}")
            if any(ord(c) < 32 and c not in "\n\r\t" for c in cell):
                raise Silent(f"a control sign reached the file: {cell!r:.40}")


def is_number(text):
    "Is it a number, with a sign perhaps?"
    try:
        float(text)
    except ValueError:
        return text == "-"
    return True


def sweep_file(rng):
    "A configuration with one odd entry."
    path = Path(HERE) / "sweep.toml"
    lines = dict(
        datasets='["iris"]', methods='["pck-means"]', seeds="1", noise="[0.1]",
        max_rows="20",
        n_constraints="[5]", metrics='["ari"]', scale='"none"', caps="{}", params="{}",
    )  # fmt: skip
    wrong = [
        "3",
        '"x"',
        "[]",
        "[[1]]",
        "{a = 1}",
        "true",
        "-1",
        "1e400",
        "1979-05-27",
        '["", 3]',
    ]
    lines[str(rng.choice([*lines, "out", "max_constraints", "odd"]))] = str(
        rng.choice(wrong)
    )
    path.write_text("\n".join(f"{k} = {v}" for k, v in lines.items()), encoding="utf-8")
    return path


def forms(rng):
    "Answers in any form, alone."
    n = int(rng.integers(2, 20))
    given, ids = answers(rng, n), odd(rng) if rng.random() < 0.2 else None
    made_of = [as_constraints, as_triplets, as_bags][int(rng.choice(3, p=[0.8, 0.1, 0.1]))]
    if made_of is as_bags:
        return "as_bags", lambda: made_of(given)
    return made_of.__name__, lambda: made_of(given, n, ids)


def other_table(rng, X):
    "The same numbers as a table of another kind, or nearly a table."
    n, d = X.shape
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(d)])
    kind = int(rng.integers(20))
    ways = [
        lambda: frame.convert_dtypes(),
        lambda: frame.astype("Float64").mask(frame > 3),
        lambda: frame.assign(c0=pd.Categorical(["u", "v"] * (n // 2) + ["u"] * (n % 2))),
        lambda: frame.assign(c0=pd.date_range("2020-01-01", periods=n)),
        lambda: frame.assign(c0=pd.to_timedelta(np.arange(n), "h")),
        lambda: frame.set_index(pd.MultiIndex.from_product([[1], range(n)])),
        lambda: frame.set_axis(pd.MultiIndex.from_product([["a"], range(d)]), axis=1),
        lambda: frame.assign(c0=[[1, 2]] * n),
        lambda: frame.assign(c0=[complex(1, 2)] * n),
        lambda: frame.iloc[:, :0],
        lambda: frame["c0"],
        lambda: sparse.csr_matrix(X),
        lambda: sparse.coo_array(X),
        lambda: np.rec.fromarrays(X.T),
        lambda: np.array([tuple(r) for r in X.tolist()] + [None], dtype=object)[:-1],
        lambda: (row for row in X),
        lambda: X.astype(np.longdouble),
        lambda: X.astype("datetime64[s]"),
        lambda: np.broadcast_to(X[:1], X.shape),
        lambda: {"c0": X[:, 0].tolist()},
    ]
    return ways[kind]()


def kinds(rng):
    "A fit on a table of another kind, and a prediction for one."
    cls = PASSIVE[str(rng.choice(list(PASSIVE)))]
    X, y = table(rng, 20, tidy=True)
    odd_table = other_table(rng, X)
    later = bool(rng.random() < 0.4) and hasattr(cls, "predict")

    def call():
        if not later:
            labels = made(cls).fit(odd_table).labels_
            if len(labels) != 20:
                raise Silent(f"{cls.__name__}: {len(labels)} labels of 20 rows")
            return
        est = made(cls).fit(X)
        found = est.predict(odd_table)
        if len(found) != 20 or not set(found) <= set(range(est.n_clusters_)):
            raise Silent(f"{cls.__name__}.predict: {found!r:.60}")

    return f"{cls.__name__}{' predict' if later else ''}: {type(odd_table).__name__}", call


def predictions(rng):
    "What a fitted method says of odd rows."
    known = [k for k in PASSIVE if any(hasattr(PASSIVE[k], m) for m in AFTER)]
    cls = PASSIVE[str(rng.choice(known))]
    X, y = table(rng, 20, tidy=True)
    Z = table(rng, 12)[0] if rng.random() < 0.7 else odd(rng)
    method = str(rng.choice([m for m in AFTER if hasattr(cls, m)]))
    fitted = bool(rng.random() < 0.85)

    def call():
        est = made(cls)
        est = est.fit(X) if fitted else est
        getattr(est, method)(Z)

    return f"{cls.__name__}.{method}", call


AFTER = ("predict", "predict_proba", "transform", "result_frame", "score")


def judges(rng):
    "Methods that hear answers alone, with odd answers and odd settings."
    from csc_nb.answer_model import AnswerClustering
    from csc_nb.correlation import CorrelationClustering

    cls = (AnswerClustering, CorrelationClustering)[int(rng.integers(2))]
    n = int(rng.integers(4, 16))
    given = answers(rng, n)
    known = [p for p in inspect.signature(cls.__init__).parameters if p != "self"]
    setting = {str(rng.choice(known)): odd(rng)} if rng.random() < 0.5 else {}
    X = table(rng, n)[0] if rng.random() < 0.5 else None

    def call():
        est = cls(random_state=0) if "random_state" in known else cls()
        est.set_params(**setting)
        est.fit(given) if X is None else est.fit(X, given)
        if len(est.labels_) and est.labels_.min() < 0:
            raise Silent(f"{cls.__name__}: a row without a cluster")

    return f"{cls.__name__}({setting!r:.50}).fit", call


def labelling(rng):
    "A labelling session with odd settings and odd answers."
    X, y = table(rng, 12, tidy=True)
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])
    frame.insert(0, "name", [f"p{i}" for i in range(12)])
    kind = (csc_nb.AskPairs, csc_nb.AskTriplets)[int(rng.integers(2))]
    known = [p for p in inspect.signature(kind).parameters if p not in ("table", "log")]
    known = [p for p in known if not p.startswith(("kw", "args"))]
    setting = {str(rng.choice(known)): odd(rng)} if known and rng.random() < 0.6 else {}
    log = os.path.join(HERE, f"s{rng.integers(10**9)}.jsonl")
    said = [odd(rng) if rng.random() < 0.5 else "same" for _ in range(3)]

    def call():
        session = kind(frame, **{"log": log, **setting})
        try:
            for word in said:
                before = len(session.learner.answers_)
                if session.turn is None:
                    return
                try:
                    session.answer(session.turn.id, word)
                except Exception:
                    if len(session.learner.answers_) != before:
                        raise Silent(f"refused {word!r:.30} and kept it") from None
                    raise
        finally:
            session.close()

    return f"{kind.__name__}({setting!r:.60})", call


def saved_runs(rng):
    "A damaged file of a run, read back by the report and by predictions."
    X, y = table(rng, 14, tidy=True)
    data, out = Path(HERE) / "r.csv", Path(HERE) / "r_out.csv"
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])
    frame.to_csv(data, index=False)
    run = out.with_suffix(".json")
    if not run.exists():
        with (
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(io.StringIO()),
        ):
            cli.main(["cluster", str(data), "--out", str(out), "--n-clusters", "2",
                      "--method", "pck-means", "--quiet"])  # fmt: skip
        run.with_suffix(".whole").write_bytes(run.read_bytes())
    whole = json.loads(run.with_suffix(".whole").read_bytes())
    place, where = whole, []
    for _ in range(int(rng.integers(1, 4))):  # walk to a place inside and change it
        if isinstance(place, dict) and place:
            key = str(rng.choice(list(place)))
        elif isinstance(place, list) and place:
            key = int(rng.integers(len(place)))
        else:
            break
        where.append(key)
        if not isinstance(place[key], (dict, list)):
            break
        holder, place = place, place[key]
    holder = whole
    for key in where[:-1]:
        holder = holder[key]
    values = [None, -1, "x", [], {}, 1e308, True, [[1], [2, 3]], "=1+1", 10**30]
    change = int(rng.integers(len(values) + 1))
    if where and change == len(values):
        del holder[where[-1]]
    elif where:
        holder[where[-1]] = values[change]
    run.write_text(json.dumps(whole), encoding="utf-8")
    command = ["report", str(run), "--out", str(Path(HERE) / "r.html")]
    if rng.random() < 0.6:
        command = ["predict", str(run), str(data), "--out", str(Path(HERE) / "r2.csv")]

    def call():
        stop = []

        def kept(e):
            stop.append(e)
            return sentence(e)

        sentence, cli._sentence = cli._sentence, kept
        try:
            cli.main(command)
        except SystemExit as e:
            if e.code not in (0, 2):
                raise RuntimeError(f"exit status {e.code}") from None
        finally:
            cli._sentence = sentence
        if stop:
            raise stop[0]

    return f"{command[0]}: {where} = {change}", call


def measures(rng):
    "Measures and small functions on odd labels."
    name = str(rng.choice([m for m in metrics.__all__ if callable(getattr(metrics, m))]))
    f = getattr(metrics, name)
    y = rng.integers(0, 3, int(rng.integers(0, 12)))
    known = [p for p in inspect.signature(f).parameters.values() if p.default is p.empty]
    args = [odd(rng) if rng.random() < 0.5 else y for _ in known]
    return name, lambda: f(*args)


def writers(rng):
    "The one writer: odd names, odd text; nothing else may change."
    folder = Path(HERE) / "w"
    folder.mkdir(exist_ok=True)
    other = folder / "other.txt"
    other.write_text("mine", encoding="utf-8")
    where = [folder / "new.txt", other, folder, "/dev/null", folder / "no" / "x", odd(rng)]
    target, text = where[int(rng.integers(6))], odd(rng) if rng.random() < 0.4 else "x"
    if isinstance(target, str) and "/" not in target or isinstance(target, bytes):
        target = folder / (str(target).replace("/", "_") or "empty")

    def call():
        try:
            files.write_text(target, text, inputs=[other])
        finally:
            if other.read_text(encoding="utf-8") != "mine":
                raise Silent("an input was overwritten")

    return f"write_text({target!r:.40}, {text!r:.30})", call


GROUPS = {
    "files": (readers, writers, round_trips),
    "silent": (relations,),
    "raw": (parameters, fits, arguments, containers, forms, measures, sessions),
    "let in": (command_line, saved_runs),
    "other": (kinds, predictions, judges, labelling),
}
HERE = None


def too_long(*_):
    raise TimeoutError("more than 60 seconds of processor time")


def where(text):
    "What makes two faults the same: the kind of error and its place."
    return text.split(": ")[0]


def run(group, calls, seed, only=None, show=20):
    "Counts of one group; each new kind of fault is printed when it comes up."
    count = dict.fromkeys(("fine", "clear", "raw", "silent"), 0)
    seen = collections.Counter()
    makers = GROUPS[group]
    for k in range(calls) if only is None else [only]:
        rng = np.random.default_rng([seed, k, len(group)])
        label, call = makers[k % len(makers)](rng)
        signal.setitimer(signal.ITIMER_VIRTUAL, 60)
        kind, text = outcome(call)
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        count[kind] += 1
        if kind in ("raw", "silent"):
            seen[where(text)] += 1
            if seen[where(text)] == 1 and len(seen) <= show:
                print(f"{group} {k}: {kind}: {label!r:.130}\n    {text!r:.220}", flush=True)
    return count, seen


def main():
    global HERE
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--calls", type=int, default=6000, help="over all groups")
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--groups", default=",".join(GROUPS))
    p.add_argument("--only", type=int, help="one call of one group, with its traceback")
    p.add_argument("--show", type=int, default=20, help="faults to print for each group")
    p.add_argument("--json", help="write the counts here")
    args = p.parse_args()
    os.environ.setdefault("CSC_NB_QUIET", "1")
    signal.signal(signal.SIGVTALRM, too_long)
    for source in Path(csc_nb.__file__).parent.rglob("*.py"):  # as they are now
        raise_lines(str(source))
    share = {"files": 0.15, "silent": 0.1, "raw": 0.4, "let in": 0.15, "other": 0.2}
    table_, wrong = {}, 0
    with tempfile.TemporaryDirectory() as HERE:
        os.chdir(HERE)
        for group in args.groups.split(","):
            calls = max(1, round(args.calls * share[group]))
            count, seen = run(group, calls, args.seed, args.only, args.show)
            table_[group] = {"tried": sum(count.values()), **count}
            wrong += count["raw"] + count["silent"]
            for place, times in seen.most_common(args.show):
                print(f"  {times:>4} × {place}", flush=True)
        os.chdir("/")
    columns = ("tried", "fine", "clear", "raw", "silent")
    print(f"seed {args.seed}\n{'group':<10}" + "".join(f"{c:>8}" for c in columns))
    for group, count in table_.items():
        print(f"{group:<10}" + "".join(f"{count[c]:>8}" for c in columns))
    if args.json:
        Path(args.json).write_text(json.dumps(table_), encoding="utf-8")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
