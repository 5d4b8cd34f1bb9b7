"""The command line, as a user with messy files meets it."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from csc_nb.cli import main

ROWS = "id,x,y\n" + "".join(
    f"r{i},{5 * (i % 2) + 0.01 * i},{i * 0.01}\n" for i in range(20)
)
PAIRS = "a,b,answer\nr0,r2,same\nr0,r1,different\n"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_text(ROWS)
    (tmp_path / "pairs.csv").write_text(PAIRS)
    return tmp_path


def said(path):
    import csv

    with open(path, newline="", encoding="utf-8") as f:
        return list(csv.DictReader(f))


def test_cluster_writes_labels_answers_a_page_and_a_run(here, capsys):
    args = ["cluster", "rows.csv", "--pairs", "pairs.csv", "--n-clusters", "2"]
    assert main([*args, "--out", "out.csv"]) == 0
    rows = said("out.csv")
    label = {r["id"]: r["cluster"] for r in rows}
    assert len(rows) == 20 and label["r0"] == label["r2"] != label["r1"]
    assert all(0.5 <= float(r["probability"]) <= 1 for r in rows)
    assert all(abs(float(r["p0"]) + float(r["p1"]) - 1) < 1e-3 for r in rows)
    out = capsys.readouterr().out
    assert "must-links: 1 kept, 0 broken" in out and "cannot-links: 1 kept, 0 broken" in out
    assert "suspected wrong answers: 0" in out and "AnswerClustering: Best of" in out
    judged = said("out.answers.csv")
    assert [r["kept"] for r in judged] == ["kept", "kept"]
    assert all(0 <= float(r["wrong"]) < 0.5 for r in judged)
    assert "<h2>Map</h2>" in (here / "out.html").read_text()
    names = sorted(p.name for p in here.iterdir())
    files = ["out.answers.csv", "out.csv", "out.html", "out.json", "pairs.csv", "rows.csv"]
    assert names == files
    assert main([*args, "--out", "out.csv", "--quiet"]) == 0  # our own files are replaced


def test_row_numbers_work_without_ids(here):
    (here / "plain.csv").write_text(
        "".join(f"{5 * (i % 2)},{i * 0.01}\n" for i in range(20))
    )
    (here / "p.csv").write_text("0,2,must\n0,1,cannot\n")
    assert main(["cluster", "plain.csv", "--pairs", "p.csv", "--n-clusters", "2"]) == 0
    label = [r["cluster"] for r in said("labels.csv")]
    assert label[0] == label[2] != label[1]


MESS = [
    ("no such file", dict(data="none.csv"), "none.csv"),
    ("empty table", dict(rows=""), "empty"),
    (
        "ragged table",
        dict(rows="id,x,y\na,1,2\nb,3\n"),
        "does not have 3 fields: first is line 3",
    ),
    ("only names", dict(rows="who,x\nann,Berg\nbob,Tal\ncid,See\n"), "--as"),
    ("an id twice", dict(rows="id,x\na,1\na,2\n"), "occur twice: first is 'a'"),
    ("a gap in the ids", dict(rows="id,x\na,1\n,2\n"), "without an id"),
    ("unknown id column", dict(args=["--id", "who"]), "No column 'who'"),
    ("unknown column", dict(args=["--columns", "x,z"]), "No column 'z'"),
    ("unknown kind", dict(args=["--as", "colour:x"]), "say number, date"),
    ("no kind", dict(args=["--as", "x"]), "write KIND:COLUMN"),
    (
        "not a number",
        dict(rows="id,x,y\na,1,u\nb,2,v\nc,4,w\n", args=["--as", "number:y"]),
        "'u' in line 2",
    ),
    ("unknown method", dict(args=["--method", "magic"]), "No method 'magic'"),
    ("unknown parameter", dict(args=["--set", "magic=1"]), "knows"),
    ("a value of the wrong kind", dict(args=["--set", "level=high"]), "level"),
    (
        "unknown id in pairs",
        dict(pairs="a,b,answer\nr0,r99,same\n"),
        "line 2 of pairs.csv: no row is called 'r99'",
    ),
    ("unknown word", dict(pairs="a,b,answer\nr0,r1,perhaps\n"), "perhaps"),
    ("with itself", dict(pairs="a,b,answer\nr0,r0,different\n"), "'r0' and itself"),
    (
        "no answer column",
        dict(pairs="a,b\nr0,r1\n"),
        "pairs.csv: the first line is neither",
    ),
    ("zeros and ones", dict(pairs="a,b,answer\nr0,r1,0\nr0,r2,1\n"), "--value-kind"),
    ("a short line", dict(pairs="a,b,answer\nr0,r1\n"), "pairs.csv"),
    ("a log that is none", dict(pairs='{"a": 1}\n'), "pairs.csv"),
    ("no such score", dict(args=["--scores", "z"]), "No column 'z'"),
    ("a bag without labels", dict(args=["--bags", "x"]), "BAG:LABELS"),
    (
        "more clusters than rows",
        dict(args=["--n-clusters", "50"]),
        "20",
    ),
    (
        "another encoding",
        dict(rows="id,x\nИван,1\nПётр,2\n", codec="cp1251"),
        "rows.csv is not UTF-8",
    ),
]


@pytest.mark.parametrize(
    "mess, want", [(m[1], m[2]) for m in MESS], ids=[m[0] for m in MESS]
)
def test_a_mess_gives_one_line_and_no_file(here, capsys, mess, want):
    if "rows" in mess:
        (here / "rows.csv").write_bytes(mess["rows"].encode(mess.get("codec", "utf-8")))
    if "pairs" in mess:
        (here / "pairs.csv").write_text(mess["pairs"])
    pairs = [] if "rows" in mess else ["--pairs", "pairs.csv"]
    before = sorted(p.name for p in here.iterdir())
    args = ["cluster", mess.get("data", "rows.csv"), *pairs, *mess.get("args", [])]
    assert main([*args, "--quiet"]) == 2
    err = capsys.readouterr().err
    last = err.strip().splitlines()[-1]
    assert want in last and last.startswith("csc-nb: ") and "Traceback" not in err
    assert sorted(p.name for p in here.iterdir()) == before


def test_a_failed_run_keeps_the_old_file(here):
    (here / "labels.csv").write_text("mine")
    assert main(["cluster", "rows.csv", "--method", "magic"]) == 2
    assert (here / "labels.csv").read_text() == "mine"


@pytest.mark.parametrize("name", ["labels.html", "labels.json", "labels.answers.csv"])
def test_files_of_somebody_else_are_not_replaced(here, capsys, name):
    (here / name).write_text("mine")
    assert main(["cluster", "rows.csv", "--pairs", "pairs.csv", "--quiet"]) == 2
    assert (here / name).read_text() == "mine" and name in capsys.readouterr().err
    assert not (here / "labels.csv").exists()


@pytest.mark.parametrize("out", ["rows.csv", "pairs.csv"])
def test_no_input_is_replaced(here, capsys, out):
    before = (here / out).read_bytes()
    assert main(["cluster", "rows.csv", "--pairs", "pairs.csv", "--out", out]) == 2
    assert (here / out).read_bytes() == before


@pytest.mark.parametrize(
    "args, says",
    [
        ("--out both.json", "would hold two results"),
        ("--model labels.csv", "would hold two results"),
        ("--model labels.json", "would hold two results"),
        ("--questions labels.html", "would hold two results"),
        ("--model rows.csv", "is a file that is read"),
        ("--questions pairs.csv", "is a file that is read"),
        ("--model mine.txt", "is not a file that csc-nb wrote"),
        ("--out /dev/null", "not a regular file"),
        ("--out pipe.csv", "not a regular file"),
        ("--out nowhere/labels.csv", "no folder"),
    ],
)
def test_results_that_cannot_be_written_are_refused_before_the_work(
    here, capsys, args, says
):
    (here / "mine.txt").write_text("mine")
    os.mkfifo(here / "pipe.csv")
    before = {f.name: f.read_bytes() for f in here.iterdir() if f.is_file()}
    assert main(["cluster", "rows.csv", "--pairs", "pairs.csv", *args.split()]) == 2
    err = capsys.readouterr().err
    assert says in err and "rows.csv: 20 rows" not in err
    assert {f.name: f.read_bytes() for f in here.iterdir() if f.is_file()} == before


@pytest.mark.parametrize("command", ["cluster rows.csv", "predict run.json rows.csv"])
def test_a_name_that_nobody_chose_replaces_no_file_of_somebody_else(here, capsys, command):
    assert main(["cluster", "rows.csv", "--n-clusters", "2", "--out", "run.csv"]) == 0
    for name in ("labels.csv", "predicted.csv"):
        (here / name).write_text("id,truth\na,1\n")
    assert main(command.split()) == 2
    assert "is not a file that csc-nb wrote" in capsys.readouterr().err
    for name in ("labels.csv", "predicted.csv"):
        assert (here / name).read_text() == "id,truth\na,1\n"
        (here / name).unlink()
    assert main(command.split()) == 0 and main(command.split()) == 0  # ours: again


def test_answers_and_clusters_of_a_session_are_two_files(here, capsys):
    assert main("ask rows.csv --log a.jsonl --out a.jsonl --no-browser".split()) == 2
    assert "would hold two results" in capsys.readouterr().err


def test_a_pipe_is_not_read_to_see_whether_it_is_ours(here):
    "`csc-nb report run.json --out /dev/stdout | head` waited for ever."
    assert main(["cluster", "rows.csv", "--n-clusters", "2", "--out", "run.csv"]) == 0
    os.mkfifo(here / "pipe")
    assert main(["report", "run.json", "--out", "pipe"]) == 2


def test_the_module_is_the_command(here):
    done = subprocess.run(
        [sys.executable, "-m", "csc_nb", "cluster", "nowhere.csv"], capture_output=True
    )
    assert done.returncode == 2


def test_the_demo_replaces_nothing_of_somebody_else(here, capsys):
    (here / "folder").mkdir()
    (here / "folder" / "report.html").write_text("mine")
    for out in ("rows.csv", "rows.csv/x", "folder"):
        assert main(["demo", "--out", out]) == 2
    assert (here / "folder" / "report.html").read_text() == "mine"


def test_the_standard_output(here):
    args = ["cluster", "rows.csv", "--n-clusters", "2", "--out", "-", "--quiet"]
    done = subprocess.run(
        [sys.executable, "-m", "csc_nb", *args], capture_output=True, text=True
    )
    assert done.returncode == 0 and done.stdout.startswith("id,cluster")
    assert len(done.stdout.splitlines()) == 21
    assert sorted(p.name for p in here.iterdir()) == ["pairs.csv", "rows.csv"]


def test_the_log_of_ask_is_read(here, capsys):
    "A log as `csc-nb ask` writes it, with an answer taken back."
    from csc_nb.oracles import Journal

    j = Journal(here / "me.jsonl", annotator="me")
    given = (("r0", "r2", "same"), ("r0", "r1", "different"), ("r3", "r5", "different"))
    for k, (a, b, w) in enumerate(given):
        j.append("answer", n=k, kind="pair", items=[a, b], answer=w)
    j.append("undo", n=1)
    j.close()
    (here / "you.csv").write_text("r4,r6,same\nr4,r7,unsure\n")
    args = ["cluster", "rows.csv", "--pairs", "me.jsonl", "you.csv", "--n-clusters", "2"]
    assert main([*args, "--quiet"]) == 0
    judged = said("labels.answers.csv")
    assert [(r["a"], r["b"], r["answer"], r["annotator"]) for r in judged] == [
        ("r0", "r2", "same", "me"),
        ("r0", "r1", "different", "me"),
        ("r4", "r6", "same", "you"),
        ("r4", "r7", "unsure", "you"),
    ]


def test_ids_are_text(here, capsys):
    "007 and 7 are two people; row numbers are not taken for ids in silence."
    (here / "t.csv").write_text("id,x\n007,0\n7,9\n8,0.1\n9,9.1\n10,0.2\n")
    (here / "p.csv").write_text("a,b,answer\n007,8,same\n7,8,different\n")
    assert (
        main(["cluster", "t.csv", "--pairs", "p.csv", "--n-clusters", "2", "--quiet"]) == 0
    )
    label = {r["id"]: r["cluster"] for r in said("labels.csv")}
    assert label["007"] == label["8"] != label["7"]
    (here / "q.jsonl").write_text('{"items": [7, 8], "answer": "same"}\n')
    assert main(["cluster", "t.csv", "--pairs", "q.jsonl", "--quiet"]) == 2
    assert "7 may be the row called 7 or row number 7" in capsys.readouterr().err


def test_triples_scores_and_bags(here, capsys):
    (here / "t.csv").write_text("r0,r2,r1,ab\nr3,r4,r5,ac\n")
    assert (
        main(["cluster", "rows.csv", "--triplets", "t.csv", "--n-clusters", "2", "--quiet"])
        == 0
    )
    assert "triples: 2 kept" in capsys.readouterr().out
    rng = np.random.default_rng(0)
    lines = [
        f"{rng.normal(6 * (i % 2)):.3f},{rng.normal():.3f},{rng.normal():.3f},"
        f"{i % 2},b{i // 4},{'u|v' if i % 8 < 4 else 'u'}"
        for i in range(40)
    ]
    (here / "s.csv").write_text("x,y,z,score,bag,tags\n" + "\n".join(lines))
    args = ["cluster", "s.csv", "--n-clusters", "2", "--quiet", "--columns", "x,y,z"]
    assert main([*args, "--scores", "score"]) == 0
    label = [int(r["cluster"]) for r in said("labels.csv")]
    assert abs(np.corrcoef(label, np.arange(40) % 2)[0, 1]) > 0.7
    assert "DiSC" in capsys.readouterr().out
    assert main([*args, "--bags", "bag:tags"]) == 0
    assert "BagSpectral" in capsys.readouterr().out
    assert main([*args, "--bags", "bag:score"]) == 2
    assert "labels belong to the whole bag" in capsys.readouterr().err


def test_what_a_spreadsheet_or_a_terminal_would_obey(here, capsys):
    rows = ROWS.replace("r0,", "=1+1,").replace("r3,", "\x1b[2Jgone,")
    (here / "rows.csv").write_text(rows)
    (here / "pairs.csv").write_text("=1+1,r2,same\n=1+1,r4,different\n")
    assert main(["cluster", "rows.csv", "--pairs", "pairs.csv", "--n-clusters", "2"]) == 0
    shown = capsys.readouterr()
    assert "\x1b" not in shown.out + shown.err
    assert said("labels.csv")[0]["id"] == "'=1+1"
    assert said("labels.answers.csv")[0]["a"] == "'=1+1"
    assert "\x1b" not in (here / "labels.html").read_text()
    assert main(["cluster", "\x1b[31mred.csv"]) == 2
    assert "\x1b" not in capsys.readouterr().err


def test_settings_say_what_they_look_like():
    from csc_nb.cli import parse_settings
    from csc_nb.relative import DiscriminativeClustering

    first = list(DiscriminativeClustering().get_params())[0]
    for word, value in (
        ("false", False),
        ("TRUE", True),
        ("None", None),
        ("3", 3),
        ("x", "x"),
    ):
        assert parse_settings([f"{first}={word}"], DiscriminativeClustering) == {
            first: value
        }


def test_repeats_must_be_one_or_more(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["demo", "--repeats", "0"])
    assert stop.value.code == 2 and "from 1 on" in capsys.readouterr().err


@pytest.mark.parametrize(
    "error, status, says",
    [
        (ValueError("a sentence"), 2, "csc-nb: a sentence"),
        (KeyError("k"), 1, "--debug shows where"),
        (MemoryError(), 2, "memory"),
        (MemoryError("COSC needs about 7.0 GB"), 2, "COSC needs about 7.0 GB"),
        (RecursionError(), 1, "nested"),
        (ZeroDivisionError(), 1, "ZeroDivisionError"),
        (KeyboardInterrupt(), 130, "stopped"),
        (PermissionError(13, "Permission denied", "x.csv"), 2, "x.csv: Permission denied"),
    ],
)
def test_one_boundary(monkeypatch, capsys, error, status, says):
    from csc_nb import cli

    def fail(args):
        raise error

    monkeypatch.setattr(cli, "list_methods", fail)
    assert main(["methods"]) == status
    err = capsys.readouterr().err
    assert says in err and "Traceback" not in err and len(err.splitlines()) == 1
    if status < 100:
        main(["methods", "--debug"])
        assert "Traceback" in capsys.readouterr().err


def test_a_closed_pipe_is_quiet():
    run = f"{sys.executable} -m csc_nb methods | head -1"
    done = subprocess.run(run, shell=True, capture_output=True, text=True)
    assert done.stdout.startswith("method") and done.stderr == ""


def test_ask_names_what_is_missing_before_an_address(here, capsys, monkeypatch):
    import importlib.util

    real = importlib.util.find_spec
    gone = lambda name, *a: None if name == "ipykernel" else real(name, *a)
    monkeypatch.setattr(importlib.util, "find_spec", gone)
    assert main(["ask", "rows.csv", "--no-browser"]) == 2
    shown = capsys.readouterr()
    assert "ipykernel" in shown.err and "csc-nb[web]" in shown.err
    assert "http" not in shown.out


def test_methods_are_listed(capsys):
    assert main(["methods"]) == 0
    out = capsys.readouterr().out
    assert "rdp-means" in out and "pairs" in out


def test_the_program_is_installed(here):
    done = subprocess.run(
        [os.path.join(os.path.dirname(sys.executable), "csc-nb"), "cluster", "none.csv"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2 and "none.csv" in done.stderr


def test_import_is_light():
    """`import csc_nb` adds no heavy module to scikit-learn and numba, and neither
    plotting nor widgets."""
    code = (
        "import sklearn, numba, sys; a = set(sys.modules); import csc_nb; new = "
        "{m.split('.')[0] for m in set(sys.modules) - a}; print(sorted(new))"
    )
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert not {"matplotlib", "ipywidgets", "IPython", "pandas", "nbdev", "fastcore"} & set(
        eval(out)
    )


@pytest.mark.parametrize(
    "args, says",
    [
        ("cluster rows.csv --sheet S", "says nothing about rows.csv"),
        ("cluster rows.csv --pairs pairs.csv pairs.csv", "given twice"),
        ("cluster rows.csv --columns id", "can be used: id"),
        ("cluster rows.csv --method magic", "No method 'magic'"),
        ("ask rows.csv --columns zz", "--columns"),
        ("demo --jobs 0", "no number of workers"),
        ("sweep s.toml --jobs x", "no number of workers"),
        ("ask rows.csv --language xx", "none of ar, de, en"),
        ("ask rows.csv --port 99999", "1 to 65535"),
        ("ask rows.csv --people Ann,Ann", "'Ann' stands twice"),
        ("ask rows.csv --people ,", "nobody is named"),
        ("ask rows.csv --goal -3", "no whole number"),
        ("ask rows.csv --out rows.csv", "is a file that is read"),
        ("ask rows.csv --questions pairs.csv --log pairs.csv", "is a file that is read"),
        ("ask rows.csv --no-browser --questions none.csv", "holds no question"),
        ("ask rows.csv --no-browser --questions typo.csv", "names 'a9999'"),
        ("ask rows.csv --no-browser --questions three.csv", "three rows a line"),
    ],
)
def test_what_would_be_ignored_or_fail_later_is_refused_at_once(here, capsys, args, says):
    "Found by calls made by hand: each began, or said nothing."
    ids = [r["id"] for r in said(here / "rows.csv")[:3]]
    (here / "none.csv").write_text("a,b\n")
    (here / "typo.csv").write_text(f"a9999,{ids[0]}\n{ids[1]},{ids[2]}\n")
    (here / "three.csv").write_text(",".join(ids) + "\n")
    before = {f.name: f.read_bytes() for f in here.iterdir()}
    try:
        status = main(args.split())
    except SystemExit as e:
        status = e.code
    assert status == 2 and says in capsys.readouterr().err
    assert {f.name: f.read_bytes() for f in here.iterdir()} == before


def test_the_separator_agrees_with_the_header(here, capsys):
    "A bar in every cell of one column is no separator; numbers beyond 1e150 are named."
    lines = [f"=cmd|'/C calc'!A{i},{i % 2 * 9 + i / 50},{i}" for i in range(20)]
    (here / "t.csv").write_text("id,x,y\n" + "\n".join(lines) + "\n")
    assert main(["cluster", "t.csv", "--n-clusters", "2", "--only-labels"]) == 0
    assert [r["cluster"] for r in said(here / "labels.csv")][:2] in (["0", "1"], ["1", "0"])
    assert (here / "labels.csv").read_text(encoding="utf-8-sig").count("'=cmd") == 20
    (here / "t.csv").write_text("id,x\na,1e308\nb,2\nc,3\n")
    assert main(["cluster", "t.csv"]) == 2
    assert "'1e308' in line 2 is too large" in capsys.readouterr().err


def test_warm_fits_every_method_with_the_help_it_takes(monkeypatch, capsys):
    "It fitted seven of them; the others compiled at their first fit."
    from csc_nb import answer_model, cli, correlation, sweeps
    from csc_nb.estimators import methods

    fitted = {}

    class Recorder:
        def __init__(self, cls):
            self.cls = cls

        def fit(self, X, **help):
            fitted[self.cls] = set(help)

    monkeypatch.setattr(sweeps, "for_study", lambda cls, k, seed: Recorder(cls))
    alone = []
    for home, name in (
        (answer_model, "AnswerClustering"),
        (correlation, "CorrelationClustering"),
    ):
        fit = lambda self, c: alone.append(type(self).__name__)
        monkeypatch.setattr(getattr(home, name), "fit", fit)
    cli.warm()
    help_of = dict(pairs="constraints", questions="oracle", bags="bags", scores="scores")
    for name, cls in methods().items():
        kind = next(iter(cls.side_information), None)
        assert kind is None or {help_of.get(kind, "Z")} <= fitted[cls], name
    assert len(fitted) == len(methods()) + 2
    assert alone == ["AnswerClustering", "CorrelationClustering"]
    assert capsys.readouterr().out.endswith("done\n")


def test_false_and_none_in_a_setting_are_no_words():
    from csc_nb import PCKMeans
    from csc_nb.cli import parse_settings

    said = ["n_init=false", "tol=None", "max_iter=TRUE", "random_state=7"]
    values = dict(n_init=False, tol=None, max_iter=True, random_state=7)
    assert parse_settings(said, PCKMeans) == values


@pytest.mark.parametrize("sign", ["", "\u200b", "\ufeff", "\u00a0", " ", "\t", "\u2060"])
@pytest.mark.parametrize("start", ["=1+1", "＝1+1", "@x", "-a", "＠x", "+a"])
def test_no_cell_that_csc_nb_writes_is_a_formula(sign, start):
    from csc_nb.labelling import safe_cell

    assert safe_cell(sign + start).startswith("'")


def test_a_device_is_not_replaced(here):
    assert main(["cluster", "rows.csv", "--out", os.devnull, "--only-labels"]) == 2
    assert not Path(os.devnull).is_file()
