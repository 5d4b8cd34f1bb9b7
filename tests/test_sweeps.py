"""The sweep engine: kill it, cut its files, change its backend: the sorted rows stay the
same bytes."""

import os, re, signal, subprocess, sys, time
from pathlib import Path

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import BaseEstimator
from csc_nb import sweeps
from csc_nb.cli import main
from csc_nb.estimators import ConstrainedClusterer
from csc_nb.metrics import t_interval
from csc_nb.sweeps import (
    COST,
    Measured,
    RowFile,
    STUDY,
    Sweep,
    Task,
    child_seed,
    cost_path,
    cross,
    experiment,
    fingerprint,
    for_study,
    grid,
    holm,
    made_by,
    made_path,
    n_answers,
    prepare,
    read_config,
    read_rows,
    read_table,
    resolve,
    sweep,
    task_seeds,
)

ROOT = Path(__file__).resolve().parent.parent


def toys():
    rng = np.random.default_rng(0)
    make = lambda k, n: (
        rng.normal(size=(n, 2)) + 4 * (np.arange(n) % k)[:, None],
        np.arange(n) % k,
    )
    return dict(two=make(2, 24), three=make(3, 30))


GRID = dict(noise=(0.0, 0.2), n_constraints=("n/2", 20), seeds=2, progress=False)
METHODS = ["k-means", "pck-means", "seeded-kmeans"]
lines = lambda p: sorted(Path(p).read_bytes().splitlines())


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    "The grid in one go, in this process."
    out = tmp_path_factory.mktemp("ref") / "r.csv"
    sweep(METHODS, toys(), out=out, n_jobs=1, **GRID)
    return out


def test_the_grid_is_complete_and_scores_are_there(reference):
    s = Sweep.read(reference)
    assert len(s) == 3 * 2 * 2 * 2 * 2 and s.values("status") == ["ok"]
    assert all(
        0 <= r["nmi"] <= 1 and r["clusters"] >= 1 and r["answers"] > 0 for r in s.rows
    )
    assert (
        all(r["seconds"] > 0 for r in s.rows) and np.mean([r["ari"] for r in s.rows]) > 0.5
    )
    assert len({r["ari"] for r in s.rows}) > 3


def test_a_second_run_computes_nothing(reference, monkeypatch):
    before = reference.read_bytes(), cost_path(reference).read_bytes()
    monkeypatch.setattr(
        "csc_nb.sweeps.run_one", lambda *a: pytest.fail("a finished task ran again")
    )
    sweep(METHODS, toys(), out=reference, n_jobs=1, **GRID)
    assert (reference.read_bytes(), cost_path(reference).read_bytes()) == before


def test_cut_at_any_byte_a_restart_gives_the_same_rows(tmp_path):
    "Every prefix of the result file is what some kill leaves behind."
    small = dict(noise=0.0, n_constraints=5, seeds=1, progress=False, n_jobs=1)
    one = {"two": toys()["two"]}
    sweep(["seeded-kmeans"], one, out=tmp_path / "a.csv", **small)
    whole = (tmp_path / "a.csv").read_bytes()
    for n in [
        *range(0, whole.index(b"\n") - 2, 12),
        *range(whole.index(b"\n") - 2, len(whole)),
    ]:  # the header in steps, then every byte
        (tmp_path / "b.csv").write_bytes(whole[:n])
        sweep(["seeded-kmeans"], one, out=tmp_path / "b.csv", **small)
        assert lines(tmp_path / "b.csv") == lines(tmp_path / "a.csv"), n


def test_a_torn_cost_file_and_a_lost_one_do_no_harm(reference, tmp_path):
    out = tmp_path / "r.csv"
    rows = reference.read_bytes().splitlines(True)
    out.write_bytes(b"".join(rows[:20]))
    cost_path(out).write_bytes(cost_path(reference).read_bytes()[:500])
    s = sweep(METHODS, toys(), out=out, n_jobs=1, **GRID)
    assert lines(out) == lines(reference) and len(s) == len(rows) - 1
    assert cost_path(out).read_bytes().endswith(b"\n")


VICTIM = """
import sys
sys.path.insert(0, sys.argv[2])
from test_sweeps import GRID, METHODS, toys
from csc_nb.sweeps import sweep
print("ready", flush=True)
sweep(METHODS, toys(), out=sys.argv[1], n_jobs=2, **GRID)
print("done", flush=True)
"""


def victim(out):
    env = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-c", VICTIM, str(out), str(ROOT / "tests")],
        env=env,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def count(path):
    return path.read_bytes().count(b"\n") if path.exists() else 0


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="needs SIGKILL")
def test_sigkill_and_restart_with_processes(reference, tmp_path):
    """Killed twice while two worker processes run, once at the first row and once
    half-way; the last start finishes."""
    out, kills = tmp_path / "r.csv", 0
    for rows in (2, 20):
        p = victim(out)
        while p.poll() is None and count(out) < rows:
            time.sleep(0.002)
        if p.poll() is None:
            os.killpg(p.pid, signal.SIGKILL)
            kills += 1
        p.wait()
        p.stdout.close()
    assert kills == 2 and count(out) < count(reference)
    p = victim(out)
    text = p.communicate(timeout=120)[0]
    assert "done" in text and p.returncode == 0
    assert lines(out) == lines(reference)


def test_threads_and_another_order_agree(reference, tmp_path):
    with parallel_config(backend="threading", n_jobs=2):
        sweep(
            METHODS[::-1],
            dict(reversed(toys().items())),
            out=tmp_path / "r.csv",
            **{**GRID, "seeds": [1, 0], "noise": (0.2, 0.0)},
        )
    assert lines(tmp_path / "r.csv") == lines(reference)


def test_a_dask_cluster_of_two_processes_agrees(reference, tmp_path):
    distributed = pytest.importorskip("distributed")
    import dask

    with (
        dask.config.set({"distributed.worker.daemon": False}),
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            host="127.0.0.1",
        ) as cluster,
        distributed.Client(cluster) as client,
        parallel_config(backend="dask"),
    ):
        pids = set(client.run(os.getpid).values())
        assert len(pids) == 2 and os.getpid() not in pids
        sweep(METHODS, toys(), out=tmp_path / "r.csv", **GRID)
        ran = client.run(
            lambda: bool(__import__("csc_nb.sweeps", fromlist=["_warm"])._warm)
        )
    assert any(ran.values())  # the fits were made over there
    assert lines(tmp_path / "r.csv") == lines(reference)


@pytest.mark.slow
def test_sigkill_at_many_moments(reference, tmp_path):
    rng = np.random.default_rng(0)
    for k in range(6):
        out = tmp_path / f"{k}.csv"
        for _ in range(2):
            p = victim(out)
            p.stdout.readline()
            time.sleep(rng.uniform(0, 3))
            if p.poll() is None:
                os.killpg(p.pid, signal.SIGKILL)
            p.wait()
            p.stdout.close()
        assert victim(out).wait(180) == 0
        assert lines(out) == lines(reference)


def test_seeds_come_from_names_not_from_places():
    a, b = Task("x", "iris", 0.1, "n/2", 0), Task("y", "iris", 0.1, "n/2", 0)
    assert (
        task_seeds(0, a)[0] == task_seeds(0, b)[0]
        and task_seeds(0, a)[1] != task_seeds(0, b)[1]
    )
    assert len({child_seed(0, "d", i) for i in range(500)}) == 500 and child_seed(
        0, "a", "b"
    ) != child_seed(0, "ab")
    assert child_seed(0, "a") != child_seed(1, "a")


def test_answers_are_shared_by_the_methods(tmp_path):
    """Two copies of an estimator that reports its answers see the same ones, and other
    ones for another seed."""
    s = sweep(
        dict(a=Spy(), b=Spy()),
        {"two": toys()["two"]},
        noise=0.2,
        n_constraints=10,
        seeds=3,
        metrics=["kept", "ari"],
        out=tmp_path / "r.csv",
        n_jobs=1,
        progress=False,
    )
    score = {(r["method"], r["seed"]): r["ari"] for r in s.rows}
    assert (
        all(score["a", k] == score["b", k] for k in range(3))
        and len({score["a", k] for k in range(3)}) > 1
    )


class Spy(ConstrainedClusterer):
    "Labels that depend on the answers alone."

    def fit(self, X, y=None, *, constraints=None, sample_id=None):
        self.labels_ = np.zeros(len(X), int)
        self.labels_[constraints.a] = 1
        self.labels_[constraints.b[constraints.value > 0]] = 2
        return self


class Falls(BaseEstimator):
    def fit(self, X):
        raise RuntimeError(f"two\nlines, {object()}")


def test_failures_and_caps_are_rows(tmp_path):
    study = lambda caps: sweep(
        {"falls": Falls(), "k": Spy()},
        toys(),
        noise=0.0,
        n_constraints=5,
        seeds=1,
        out=tmp_path / "r.csv",
        n_jobs=1,
        progress=False,
        caps=caps,
    )
    s = study({"k": 25})
    assert [r["status"] for r in s.where(method="falls").rows] == ["failed"] * 2
    assert s.rows[0]["message"] == "RuntimeError: two lines, <object object>"
    skipped = s.where(status="skipped").rows
    assert (
        [(r["method"], r["dataset"]) for r in skipped] == [("k", "three")]
        and "30 rows" in skipped[0]["message"]
        and np.isnan(skipped[0]["ari"])
    )
    assert study({}).where(method="k").values("status") == [
        "ok"
    ]  # the cap is lifted: what was skipped runs now


def test_other_settings_and_other_columns_are_refused(reference):
    before = reference.read_bytes()
    with pytest.raises(ValueError, match="other settings"):
        sweep(METHODS, toys(), out=reference, params={"pck-means": dict(w=2.0)}, **GRID)
    with pytest.raises(ValueError, match="other settings"):
        sweep(METHODS, toys(), out=reference, random_state=1, **GRID)
    with pytest.raises(ValueError, match="this study writes the columns"):
        sweep(METHODS, toys(), out=reference, metrics=["ari"], **GRID)
    assert reference.read_bytes() == before


def test_two_writers_are_refused(tmp_path):
    from csc_nb.sweeps import fcntl

    if fcntl is None:
        pytest.skip("no file locks on this system")
    f = RowFile(tmp_path / "r.csv", ["x"])
    with pytest.raises(OSError, match="Another run"):
        RowFile(tmp_path / "r.csv", ["x"])
    f.close()
    RowFile(tmp_path / "r.csv", ["x"]).close()


def test_a_time_budget_stops_between_tasks(tmp_path, reference):
    out = tmp_path / "r.csv"
    assert len(sweep(METHODS, toys(), out=out, n_jobs=1, seconds=0, **GRID)) == 0
    sweep(METHODS, toys(), out=out, n_jobs=1, **GRID)
    assert lines(out) == lines(reference)


@pytest.mark.parametrize(
    "rule, n, m",
    [
        (7, 10, 7),
        ("n", 10, 10),
        ("n/2", 11, 5),
        ("2n", 10, 20),
        ("0.3n", 10, 3),
        ("10% of pairs", 10, 4),
        ("9n", 10, 45),
    ],
)
def test_rules_for_the_number_of_answers(rule, n, m):
    assert n_answers(rule, n) == m


@pytest.mark.parametrize(
    "bad, message",
    [
        (dict(methods=["magic"]), "No method 'magic'"),
        (dict(noise=0.5), "below 0.5"),
        (dict(metrics=["zari"]), "No metric 'zari'"),
        (dict(params={"pck-means": dict(magic=1)}), "params of pck-means: .*magic"),
        (dict(caps={"cvqe": 3}), "caps names cvqe"),
        (dict(n_constraints="lots"), "not understood"),
    ],
)
def test_mistakes_are_refused_before_anything_runs(tmp_path, bad, message):
    args = {
        **dict(
            methods=METHODS,
            datasets=toys(),
            out=tmp_path / "r.csv",
            n_jobs=1,
            progress=False,
        ),
        **bad,
    }
    with pytest.raises(ValueError, match=message):
        sweep(args.pop("methods"), args.pop("datasets"), **args)
    assert not (tmp_path / "r.csv").exists() or count(tmp_path / "r.csv") <= 1


def test_absent_sets_are_all_named(tmp_path, monkeypatch):
    monkeypatch.setenv("CSC_NB_DATA", "")
    args = dict(
        noise=0.0,
        n_constraints=5,
        seeds=1,
        out=tmp_path / "r.csv",
        n_jobs=1,
        progress=False,
    )
    with pytest.raises(FileNotFoundError, match="2 of 3 .*msrcv2, church_fun"):
        sweep(["seeded-kmeans"], ["iris", "msrcv2", "church_fun"], **args)
    with pytest.warns(UserWarning, match="left out"):
        s = sweep(["seeded-kmeans"], ["iris", "msrcv2"], absent="skip", **args)
    assert s.values("dataset") == ["iris"] and s.missing == ("msrcv2",)
    assert s.table().endswith("Not on this machine, left out: msrcv2")


def test_samples_of_rows_do_not_depend_on_the_seed():
    X, y = np.arange(400.0).reshape(200, 2), np.arange(200) % 4
    a, b, c = (
        prepare("s", X, y, None, 50),
        prepare("s", X, y, None, 50),
        prepare("t", X, y, None, 50),
    )
    assert (
        np.array_equal(a.X, b.X) and not np.array_equal(a.X, c.X) and a.X.shape == (50, 2)
    )


def test_ranks_keep_their_invariant_and_ties():
    rng = np.random.default_rng(0)
    rows = [
        dict(method=m, dataset=d, seed=s, status="ok", ari=v)
        for d in "abcdef"
        for m in "xyz"
        for s in range(3)
        for v in [rng.random()]
    ]
    assert np.isclose(np.mean(list(Sweep(rows).ranks().values())), (18 + 1) / 2)
    equal = Sweep([r | dict(ari=0.5) for r in rows]).ranks()
    assert set(equal.values()) == {9.5}
    better = Sweep(
        [r | dict(ari=r["ari"] + 2 * (r["method"] == "z")) for r in rows]
    ).ranks()
    assert list(better)[0] == "z" and better["z"] == 3.5
    assert Sweep(rows).ranks(higher_is_better=False)[list(Sweep(rows).ranks())[-1]] == min(
        Sweep(rows).ranks(higher_is_better=False).values()
    )


def test_holes_in_a_table_must_be_dealt_with():
    rows = [
        dict(method=m, dataset=d, seed=0, status="ok", ari=v)
        for d, m, v in [
            ("a", "x", 0.1),
            ("a", "y", 0.2),
            ("b", "x", 0.3),
            ("b", "y", np.nan),
            ("c", "x", 0.1),
            ("c", "y", 0.9),
        ]
    ]
    s = Sweep(rows)
    with pytest.raises(ValueError, match="1 of 6 cells .* y on b"):
        s.ranks()
    assert s.matrix(missing="datasets")[1] == ["a", "c"] and s.matrix(missing="methods")[
        0
    ] == ["x"]
    assert s.matrix(missing="worst")[2][1].tolist() == [0.3, 0.3]
    assert s.paired("y", "x").difference.n == 2


def test_intervals_are_over_data_sets_not_over_seeds():
    rows = [
        dict(method="x", dataset=d, noise=0.0, seed=s, status="ok", ari=a + 0.001 * s)
        for d, a in (("a", 0.2), ("b", 0.6), ("c", 0.9))
        for s in range(5)
    ]
    got, want = Sweep(rows).mean()["x", 0.0], t_interval([0.202, 0.602, 0.902])
    assert got.n == 3 and np.allclose(got[:2], want[:2])
    one = Sweep(rows[:5]).mean()["x", 0.0]
    assert one.n == 5 and np.allclose(one[:2], t_interval(0.2 + 0.001 * np.arange(5))[:2])


def test_paired_test_against_enumeration():
    import itertools

    d = np.array([0.3, -0.1, 0.25, 0.2, 0.05, 0.4])
    s = Sweep(
        [
            dict(method=m, dataset=str(i), ari=v, status="ok")
            for i, x in enumerate(d)
            for m, v in (("a", x), ("b", 0.0))
        ]
    )
    r = np.argsort(np.argsort(abs(d))) + 1
    w = r[d > 0].sum()
    mid = r.sum() / 2
    brute = np.mean(
        [
            abs(r[np.array(z) > 0].sum() - mid) >= abs(w - mid)
            for z in itertools.product((-1, 1), repeat=6)
        ]
    )
    got = s.paired("a", "b")
    assert np.isclose(got.p, brute) and (got.wins, got.ties, got.losses) == (5, 0, 1)
    assert (
        np.allclose(holm([0.01, 0.04, 0.03]), [0.03, 0.06, 0.06])
        and holm([0.9, 0.8]).max() == 1
    )


@pytest.mark.skipif(not (ROOT / "nbs").exists(), reason="needs the repository")
@pytest.mark.parametrize(
    "path",
    sorted((ROOT / "nbs" / "experiments" / "configs").glob("*.toml")),
    ids=lambda p: p.name,
)
def test_every_committed_configuration_is_valid(path):
    from csc_nb.datasets import dataset_index

    conf = read_config(path)
    specs, known = resolve(conf["methods"], conf.get("params")), dataset_index()
    assert (
        specs
        and not [d for d in conf["datasets"] if d not in known]
        and not set(conf.get("caps", {})) - set(specs)
    )
    tasks = grid(
        specs,
        conf["datasets"],
        np.atleast_1d(conf["noise"]).tolist(),
        np.atleast_1d(conf["n_constraints"]).tolist(),
        range(2),
    )
    assert len({t.key() for t in tasks}) == len(tasks) and all(
        n_answers(t.n_constraints, 500) > 0 for t in tasks[:20]
    )


@pytest.mark.skipif(not (ROOT / "nbs").exists(), reason="needs the repository")
def test_every_committed_configuration_was_run():
    "A configuration that nothing drives is not kept."
    configs = sorted((ROOT / "nbs" / "experiments" / "configs").glob("*.toml"))
    assert configs and all(read_config(p)["out"].exists() for p in configs)


def test_the_command_line(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("c.toml").write_text(
        'about = "x"\nmethods = ["k-means", "mild"]\ndatasets = ["iris"]\nnoise = [0.0, '
        '0.2]\nseeds = 2\nn_constraints = 20\nout = "r.csv"\n[params.mild]\nmethod = '
        '"pck-means"\nn_init = 1\n'
    )
    assert (
        main(["sweep", "c.toml", "--quiet", "--seeds", "0"]) == 0
        and count(Path("r.csv")) == 5
    )
    assert main(["sweep", "c.toml", "--quiet"]) == 0 and count(Path("r.csv")) == 9
    assert "mild" in capsys.readouterr().out
    Path("bad.toml").write_text('methods = ["k-means"]\ndatasets = ["iris"]\nmagic = 1\n')
    assert (
        main(["sweep", "bad.toml"]) == 2
        and "unknown key 'magic'" in capsys.readouterr().err
    )
    assert (
        main(["sweep", "none.toml"]) == 2 and main(["sweep", "c.toml", "--seeds", "x"]) == 2
    )


# The engine alone: any function, any grid


def squares(a, b, seed):
    return dict(value=a * b + child_seed(0, a, b, seed) % 7)


SMALL = cross(a=(1, 2), b=(0.5, 2.0), seed=range(3))


def test_cross_is_the_whole_grid_first_axis_outermost():
    assert len(SMALL) == 12 and SMALL[0] == dict(a=1, b=0.5, seed=0)
    assert [t["a"] for t in SMALL] == [1] * 6 + [2] * 6
    assert cross(x="iris") == [dict(x="iris")]


def test_memory_and_file_give_the_same_rows_in_the_order_of_the_tasks(tmp_path):
    plain = [{**t, **squares(**t)} for t in SMALL]
    assert experiment(squares, SMALL, n_jobs=1) == plain
    assert experiment(squares, SMALL[::-1], n_jobs=2) == plain[::-1]
    assert experiment(squares, SMALL, tmp_path / "a.csv", n_jobs=1) == plain


def test_finished_tasks_are_found_by_value_not_by_spelling(tmp_path):
    out = tmp_path / "a.csv"
    out.write_text("a,b,seed,value\r\n1.0,0.50,0,99\r\n")
    rows = experiment(squares, SMALL, out, n_jobs=1)
    assert rows[0]["value"] == 99 and len(rows) == 12
    assert out.read_bytes().count(b"\r\n") == 13  # goes on with the ends it found
    again = experiment(lambda **t: pytest.fail("ran again"), SMALL, out, n_jobs=1)
    assert again == rows


def test_every_cut_of_a_file_with_several_rows_a_task_is_made_whole(tmp_path):
    def pair(x):
        return [dict(part=k, value=f"{x} and\n{k}") for k in (0, 1)]

    whole = tmp_path / "a.csv"
    experiment(pair, cross(x=range(3)), whole, each=2, n_jobs=1)
    raw = whole.read_bytes()
    for n in range(raw.index(b"\n") + 1, len(raw)):
        cut = tmp_path / "b.csv"
        cut.write_bytes(raw[:n])
        rows = experiment(pair, cross(x=range(3)), cut, each=2, n_jobs=1)
        assert [(r["x"], r["part"]) for r in rows] == [
            (x, k) for x in range(3) for k in (0, 1)
        ]
        assert [r["value"] for r in rows] == [
            f"{x} and {k}" for x in range(3) for k in (0, 1)
        ]
        assert len(read_table(cut)) == 6, n


def test_a_failing_task_does_not_take_the_others_with_it(tmp_path):
    def some(x):
        if x in (1, 3):
            raise ValueError(f"no {x}")
        return dict(y=x)

    with pytest.raises(RuntimeError, match="2 of 5 tasks failed; .*'x': 1.*no 1"):
        experiment(some, cross(x=range(5)), tmp_path / "a.csv", n_jobs=1)
    assert [r["x"] for r in read_table(tmp_path / "a.csv")] == ["0", "2", "4"]
    ran = []
    experiment(
        lambda x: ran.append(x) or dict(y=x),
        cross(x=range(5)),
        tmp_path / "a.csv",
        n_jobs=1,
    )
    assert ran == [1, 3]


FOREIGN = ["my only copy", "name,age\nAda,36\nEmmy,5", "\n", "x,y,z\n1,2", "\ufeffx,y\n1,2"]


@pytest.mark.parametrize("text", FOREIGN)
def test_a_file_of_somebody_else_is_left_as_it_is(tmp_path, text):
    path = tmp_path / "n.txt"
    path.write_text(text)
    with pytest.raises(ValueError, match="left as it is"):
        RowFile(path, ["x", "y"])
    with pytest.raises(ValueError):
        experiment(squares, SMALL, path, columns=["a", "b", "seed", "value"], n_jobs=1)
    assert path.read_text() == text


def test_our_own_torn_header_is_repaired(tmp_path):
    path = tmp_path / "r.csv"
    for torn in ("", "x", "x,", "x,y"):
        path.write_text(torn)
        RowFile(path, ["x", "y"]).close()
        assert path.read_text() == "x,y\n"


def test_unknown_columns_are_refused(tmp_path):
    f = RowFile(tmp_path / "r.csv", ["x"])
    with pytest.raises(ValueError, match="no column 'z'"):
        f.append(dict(x=1, z=2))
    f.close()
    (tmp_path / "other.csv").write_text("q,value\n1,2\n")
    with pytest.raises(ValueError, match="no column 'a'"):
        experiment(squares, SMALL, tmp_path / "other.csv", n_jobs=1)
    assert (tmp_path / "other.csv").read_text() == "q,value\n1,2\n"


def test_costs_of_any_function(tmp_path):
    out = tmp_path / "a.csv"
    free = dict(seconds=7.0, cpu_seconds=6.0, before_mb=1.0, peak_mb=2.0)
    run = lambda a, b, seed: (
        Measured([squares(a, b, seed)], free) if a == 1 else squares(a, b, seed)
    )
    experiment(run, SMALL, out, costs=True, n_jobs=1)
    costs = read_table(cost_path(out))
    assert len(costs) == 12 and list(costs[0]) == ["a", "b", "seed", *COST]
    assert {r["seconds"] for r in costs if r["a"] == "1"} == {"7.000000"}
    assert all(0 < float(r["seconds"]) < 7 for r in costs if r["a"] == "2")


def test_a_study_uses_the_defaults_of_every_method():
    "What differs from the plain constructor stands in STUDY, and nowhere else."
    from csc_nb.estimators import methods

    for name, cls in methods().items():
        made, plain = for_study(cls, 3, random_state=5).get_params(), cls().get_params()
        told = {"n_clusters", "random_state", *STUDY.get(name, lambda K: {})(3)}
        assert {k for k in plain if repr(made[k]) != repr(plain[k])} <= told, name
        if "n_clusters" in plain and name not in STUDY:
            assert made["n_clusters"] == 3, name
    assert for_study(methods()["disc"], 2).get_params() == methods()["disc"](2).get_params()


# The paper's own form of a method


def test_a_published_name_makes_the_printed_algorithm():
    "Told the number of clusters and a seed, and not what a study tells the defaults."
    from csc_nb.estimators import methods

    known = methods()
    for name in ("rdp-means", "tvclust", "experts", "dc", "cobras", "ncobras"):
        spec = resolve([f"{name}:published"])[f"{name}:published"]
        made, cls = spec.make(3, 7), known[name]
        printed = cls.as_published().get_params()
        assert type(made) is cls and ".as_published(" in spec.text()
        differ = {k for k, v in made.get_params().items() if repr(v) != repr(printed[k])}
        assert differ <= {"n_clusters", "random_state"}, (name, differ)
        plain = resolve([name])[name]
        assert fingerprint(spec) != fingerprint(plain)
        assert repr(plain.make(3, 7).get_params()) != repr(made.get_params())


def test_names_that_stand_for_no_paper_are_refused():
    for name in ("cosc:published", "k-means:published"):
        with pytest.raises(ValueError, match="stands for no paper"):
            resolve([name])
    with pytest.raises(ValueError, match="No method 'tvclost'"):
        resolve(["tvclost:published"])


def test_both_forms_are_rows_of_one_study(tmp_path):
    from csc_nb.comparison import compare

    X, y = np.random.default_rng(0).normal(size=(24, 2)), np.arange(24) % 2
    names = ["rdp-means", "rdp-means:published"]
    found = compare(names, X, y, noise=(0.0,), repeats=1)
    assert {r["method"] for r in found.rows} == {"k-means", *names}
    rows = sweep(names, {"toy": (X, y)}, noise=0.1, seeds=1, out=tmp_path / "r.csv").rows
    assert [r["method"] for r in rows] == names and rows[0]["spec"] != rows[1]["spec"]


@pytest.mark.skipif(not (ROOT / "nbs").exists(), reason="needs the repository")
def test_the_committed_published_rows_were_made_by_the_configuration():
    conf = read_config(ROOT / "nbs" / "experiments" / "configs" / "published.toml")
    specs = resolve(conf["methods"], conf["params"])
    how = dict(scale="standard", max_rows=conf["max_rows"], random_state=0)
    want = {m: fingerprint(s, **how, max_constraints=None) for m, s in specs.items()}
    rows = read_rows(conf["out"]).values()
    assert {r["method"] for r in rows} <= set(specs)  # it grows; what is there is right
    assert all(r["spec"] == want[r["method"]] for r in rows)
    first = [r["dataset"] for r in rows if r["noise"] == "0.1" and r["method"] == "cobras"]
    assert sorted(first) == sorted(conf["datasets"])


@pytest.mark.skipif(not (ROOT / "nbs").exists(), reason="needs the repository")
def test_no_experiment_has_a_resume_logic_of_its_own():
    "Pages of experiments and benchmarks append by the laboratory, or not at all."
    own = re.compile(r"""open\([^)\n]*["']a["']|csv\.DictWriter|def resume_""")
    pages = sorted((ROOT / "nbs" / "experiments").glob("*.ipynb"))
    texts = {p.name: p.read_text() for p in (ROOT / "benchmarks").glob("*.py")}
    texts |= {p.name: p.read_text().replace('\\"', '"') for p in pages}
    whole = "bench_baselines.py bench_outgrow.py bench_outgrow_answers.py"
    once = {"13_bags.ipynb", *whole.split()}  # whole tables
    found = [n for n, t in texts.items() if own.search(t) and n not in once]
    assert not found, found


def by_commit(monkeypatch, name):
    monkeypatch.setattr(sweeps, "_made_now", lambda: (name, "code of " + name))


def double(x):
    return dict(value=2 * x)


def rows_by(path):
    return [(m["commit"], m["rows"]) for m in made_by(path)]


def test_rows_name_the_commit_that_made_them(tmp_path, monkeypatch):
    out = tmp_path / "r.csv"
    by_commit(monkeypatch, "aaa")
    experiment(double, cross(x=(1, 2)), out, n_jobs=1)
    experiment(double, cross(x=(1, 2, 3)), out, n_jobs=1)
    by_commit(monkeypatch, "bbb")
    experiment(double, cross(x=(1, 2, 3)), out, n_jobs=1)  # nothing open, nothing signed
    assert rows_by(out) == [("aaa", 3)]
    experiment(double, cross(x=(1, 2, 3, 4, 5)), out, n_jobs=1)
    assert rows_by(out) == [("aaa", 3), ("bbb", 2)]
    assert [m["code"] for m in made_by(out)] == ["code of aaa", "code of bbb"]


def test_rows_of_before_are_unknown_and_stay_it(tmp_path, monkeypatch):
    out = tmp_path / "r.csv"
    out.write_text("x,value\n1,2\n2,4\n")
    assert rows_by(out) == [("unknown", 2)] and not made_path(out).exists()
    by_commit(monkeypatch, "aaa")
    experiment(double, cross(x=(1, 2, 3)), out, n_jobs=1)
    assert rows_by(out) == [("unknown", 2), ("aaa", 1)]


def test_a_row_that_was_cut_off_belongs_to_who_makes_it_again(tmp_path, monkeypatch):
    out = tmp_path / "r.csv"
    by_commit(monkeypatch, "aaa")
    experiment(double, cross(x=(1, 2, 3)), out, n_jobs=1)
    out.write_bytes(out.read_bytes()[:-2])
    by_commit(monkeypatch, "bbb")
    experiment(double, cross(x=(1, 2, 3)), out, n_jobs=1)
    assert rows_by(out) == [("aaa", 2), ("bbb", 1)]
    out.write_text("x,value\n")  # begun again from nothing
    by_commit(monkeypatch, "ccc")
    experiment(double, cross(x=(1,)), out, n_jobs=1)
    assert rows_by(out) == [("ccc", 1)]


def test_the_commit_is_that_of_the_package(monkeypatch):
    if not (ROOT / ".git").exists():
        pytest.skip("needs the repository")
    sweeps._made_now.cache_clear()
    head = ["git", "-C", str(ROOT), "rev-parse", "HEAD"]
    full = subprocess.run(head, capture_output=True, text=True, check=True).stdout.strip()
    commit, code = sweeps._made_now()
    assert full.startswith(commit.rstrip("+")) and len(commit.rstrip("+")) == 12
    assert re.fullmatch("[0-9a-f]{12}", code)
    sweeps._made_now.cache_clear()
    monkeypatch.setattr(sweeps, "_git", lambda *words: None)
    assert sweeps._made_now() == ("unknown", code)
    sweeps._made_now.cache_clear()


MANIFESTS = sorted((ROOT / "nbs" / "experiments" / "results").glob("*.made.csv"))


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda p: p.name)
def test_committed_manifests_speak_of_rows_that_are_there(path):
    out = path.with_name(path.name.replace(".made.csv", ".csv"))
    firsts = [int(r["from_row"]) for r in read_table(path)]
    assert firsts == sorted(set(firsts)) and firsts[-1] < len(read_table(out))
    assert sum(m["rows"] for m in made_by(out)) == len(read_table(out))
