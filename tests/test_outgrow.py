"""Tables in pieces: the same sums, the same labels, on threads, Dask and a cluster."""

import os
import re
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs

from csc_nb import (
    AnswerClustering,
    Answers,
    Constraints,
    DiscriminativeClustering,
    DPMeans,
    ExpertClustering,
    RDPMeans,
    TVClust,
)
from csc_nb.baselines.kmeans import PCKMeans
from csc_nb.metrics import ari
from csc_nb.outgrow import (
    Chunks,
    Work,
    climb_table,
    core_rows,
    fit_chunks,
    follow,
    gather,
    pooled,
    survey,
)
from csc_nb.outgrow_files import (
    cluster_file,
    labeller_of,
    labels_path,
    read_answers,
    stream_answers,
)
from csc_nb.softmax import logits, maximise, mutual_information, probs

da = pytest.importorskip("dask.array")

X, y = make_blobs(900, centers=4, n_features=4, cluster_std=1.5, random_state=3)
ANSWERS = Constraints.from_labels(y, n=80, noise=0.05, random_state=0)
FEW = Constraints.from_labels(y[:120], n=60, noise=0.05, random_state=0)
FEW = Constraints(FEW.a, FEW.b, FEW.value)
FIVE = [
    RDPMeans(4, random_state=0),
    DPMeans(4, random_state=0),
    TVClust(4, random_state=0, n_init=1),
    ExpertClustering(4, random_state=0, n_init=1, lam=0.01, mi_weight=0.1),
    DiscriminativeClustering(4, random_state=0, n_init=1),
]
SMALL = [RDPMeans(4, random_state=0), TVClust(4, random_state=0, n_init=1)]


def said(est):
    return {} if isinstance(est, DPMeans) else dict(constraints=ANSWERS)


def name(est):
    return type(est).__name__


def count(rows, own):
    return len(rows), rows.sum(0), (rows**2).sum(0)


def forms(tmp_path):
    "One table in every form."
    path = tmp_path / "x.npy"
    np.save(path, X)
    fortran = tmp_path / "f.npy"
    np.save(fortran, np.asfortranarray(X))
    return dict(
        array=Chunks(X, piece_rows=250),
        pieces=Chunks([X[:7], X[7:500], X[500:]]),
        stream=Chunks(lambda: iter([X[:300], X[300:]])),
        file=Chunks(path, piece_rows=200),
        fortran=Chunks(fortran, piece_rows=200),
        dask=Chunks(da.from_array(X, chunks=(128, 3))),
    )


class TestPieces:
    def test_every_form_has_the_same_sums(self, tmp_path):
        for kind, chunks in forms(tmp_path).items():
            n, first, second = chunks.total(count)
            assert n == len(X), kind
            assert np.allclose(first, X.sum(0)) and np.allclose(second, (X**2).sum(0)), kind

    def test_every_form_gives_its_rows(self, tmp_path):
        rows = np.array([0, 6, 7, 299, 300, 899])
        for kind, chunks in forms(tmp_path).items():
            assert np.array_equal(gather(chunks, survey(chunks), rows), X[rows]), kind

    def test_a_slice_of_a_map_is_read_where_it_starts(self, tmp_path):
        np.save(tmp_path / "x.npy", X)
        part = np.load(tmp_path / "x.npy", mmap_mode="r")[13:700]
        chunks = Chunks(part, piece_rows=100)
        assert type(chunks.pieces[0]).__name__ == "_FileRows"
        assert np.array_equal(gather(chunks, survey(chunks), np.arange(687)), X[13:700])

    def test_unknown_lengths(self):
        pd = pytest.importorskip("pandas")
        x = da.from_array(X, chunks=(200, 4))
        unknown = x[x[:, 0] > -1e9]
        assert np.isnan(unknown.chunks[0]).all()
        assert survey(Chunks(unknown)).n == len(X)
        assert pd is not None

    def test_means_far_from_zero(self):
        look = survey(Chunks([X[:400] + 1e8, X[400:] + 1e8]))
        assert np.allclose(look.var, X.var(0), rtol=1e-6)

    @pytest.mark.parametrize(
        "bad, words",
        [
            (lambda: (r for r in [X]), "more than once"),
            (lambda: [X[:5], X[5:, :3]], "chunk 1 has shape"),
            (lambda: [X[:0], X[:0]], "no rows"),
            (lambda: da.from_array(X[0], chunks=2), "two dimensions"),
            (lambda: [X[:5], X[5:9] * 1e80], "as large as"),
        ],
    )
    def test_what_cannot_be_read(self, bad, words):
        with pytest.raises((ValueError, TypeError), match=words):
            survey(Chunks(bad()))

    def test_a_missing_number_is_named(self):
        holes = X.copy()
        holes[601, 2] = np.nan
        holes[700, 0] = np.inf
        with pytest.raises(
            ValueError, match=r"nan in chunk 2, column 2, row 101 .*row 601"
        ):
            RDPMeans(4).fit([holes[:300], holes[300:500], holes[500:]])

    def test_a_column_of_words_is_named(self):
        pd = pytest.importorskip("pandas")
        pytest.importorskip("pyarrow")
        import dask.dataframe as dd

        frame = pd.DataFrame(X, columns=list("abcd")).assign(city="Rome")
        with pytest.raises(ValueError, match="city"):
            RDPMeans(4).fit(dd.from_pandas(frame, npartitions=3))

    def test_a_column_of_words_is_named_with_its_chunk(self):
        words = X[500:].astype(object)
        words[3, 2] = "Rome"
        for source in ([X[:500], words], lambda: iter([X[:500], words])):
            with pytest.raises(ValueError, match="chunk 1 .*column 2 has 'Rome' in row 3"):
                RDPMeans(4).fit(source)

    def test_sums_are_added_by_one_tree_on_every_scheduler(self):
        dask = pytest.importorskip("dask")
        rng = np.random.default_rng(0)
        rows = rng.normal(size=(1000, 3)) * 10.0 ** rng.integers(-8, 9, (1000, 1))
        for size in (1, 7, 62, 63, 400):
            cut = [rows[s : s + size] for s in range(0, 1000, size)]
            here = Chunks(cut).total(count)
            for scheduler in ("synchronous", "threads"):
                with dask.config.set(scheduler=scheduler):
                    there = Chunks(da.from_array(rows, chunks=(size, 3))).total(count)
                assert all(np.array_equal(a, b) for a, b in zip(here, there))


class TestCore:
    def test_the_core_does_not_depend_on_pieces_and_has_the_answered_rows(self):
        answered = np.array([3, 5, 700_000])
        rows = core_rows(10**6, answered, 2000, seed=1)
        assert np.isin(answered, rows).all() and 1990 <= len(rows) <= 2000
        assert np.array_equal(rows, core_rows(10**6, answered, 2000, seed=1))
        assert np.array_equal(core_rows(50, answered[:2], 100), np.arange(50))

    def test_many_answered_rows_take_half(self):
        rows = core_rows(10**5, np.arange(5000), 2000, seed=1)
        assert 900 < (rows < 5000).sum() < 1200

    @pytest.mark.parametrize("est", FIVE, ids=name)
    def test_a_table_no_larger_than_the_core_is_the_array(self, est):
        whole = clone(est).fit(X, **said(est))
        pieces = clone(est).fit([X[:10], X[10:600], X[600:]], **said(est))
        assert np.array_equal(whole.labels_, pieces.labels_)
        assert np.allclose(whole.objective_history_, pieces.objective_history_)

    def test_answers_without_a_cut(self):
        A = Answers.from_constraints(FEW)
        whole = AnswerClustering(4, random_state=0).fit(X[:120], answers=A)
        pieces = AnswerClustering(4, random_state=0).fit([X[:99], X[99:120]], answers=A)
        assert np.array_equal(whole.labels_, pieces.labels_)
        assert np.allclose(whole.answer_proba_, pieces.answer_proba_)


class TestRounds:
    @pytest.mark.parametrize("est", FIVE, ids=name)
    def test_any_cut_gives_the_same_and_the_objective_falls(self, est):
        fits = [
            fit_chunks(clone(est), source, **said(est), core=200)
            for source in (
                [X],
                [X[:1], X[1:430], X[430:]],
                da.from_array(X, chunks=(77, 2)),
            )
        ]
        first = np.asarray(fits[0].labels_)
        for other in fits[1:]:
            assert np.array_equal(first, np.asarray(other.labels_))
            assert np.allclose(fits[0].objective_history_, other.objective_history_)
        steps = np.diff(fits[0].objective_history_)
        assert (steps <= 1e-6 * abs(fits[0].objective_history_[0])).all()
        assert ari(y, first) > 0.8
        if not isinstance(est, DPMeans):
            assert fits[0].suspicion_.shape == (80,)
            assert np.allclose(fits[0].suspicion_, fits[1].suspicion_, atol=1e-6)

    @pytest.mark.parametrize("est", SMALL, ids=name)
    def test_labels_come_back_in_the_form_of_the_table(self, est):
        fit = fit_chunks(clone(est), da.from_array(X, chunks=(300, 4)), core=200)
        assert isinstance(fit.labels_, da.Array)
        assert fit.labels_.chunks[0] == (300, 300, 300)
        assert isinstance(fit.predict(da.from_array(X, chunks=(300, 4))), da.Array)
        assert isinstance(fit.predict([X[:5], X[5:]]), np.ndarray)
        assert np.array_equal(fit.predict(X), fit.predict([X[:5], X[5:]]))

    def test_rdp_means_against_a_literal_listing(self):
        "Lloyd's rounds with priced links, written out from the centres of the core."
        est = RDPMeans(4, space="raw", divergence="euclidean", xi_max=3.0, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fit = fit_chunks(clone(est), [X], constraints=ANSWERS, core=300, max_rounds=1)
        answered = np.unique(np.r_[ANSWERS.a, ANSWERS.b])
        seed = np.random.RandomState(0).randint(2**31 - 1)
        rows = core_rows(len(X), answered, 300, seed)
        core = clone(est).fit(X[rows], constraints=ANSWERS.subset(rows))
        mu, z = core.cluster_centers_, np.zeros(len(X), int)
        D = ((X[:, None] - mu) ** 2).sum(2)
        z[:] = D.argmin(1)
        z[rows[np.isin(rows, answered)]] = core.labels_[np.isin(rows, answered)]
        for i in answered:
            price = D[i].copy()
            for a, b, value in zip(ANSWERS.a, ANSWERS.b, ANSWERS.value):
                if i in (a, b):
                    price[z[b if i == a else a]] -= value * core.xi_
            if price.min() < price[z[i]] - 1e-12:
                z[i] = price.argmin()
        means = np.array([X[z == k].mean(0) for k in range(len(mu))])
        assert np.allclose(fit._mu + fit._form.shift, means)

    def test_climbing_in_pieces_ends_where_the_whole_table_does(self):
        chunks = Chunks([X[:100], X[100:]])
        look = survey(chunks)
        work = Work(chunks, look, np.zeros(0, int), X[:0], None, None, 200, 1e-9)
        rng = np.random.default_rng(0)
        start = rng.normal(size=(3, 4)), np.zeros(3)
        scale = look.mean, np.sqrt(look.var)
        silent = lambda logP, P: (0.0, np.zeros_like(P))
        end = climb_table(work, silent, start, scale, 0.01, 1.0, max_iter=300)
        S = (X - X.mean(0)) / X.std(0)
        whole = maximise(mutual_information, S, *start, 0.01, max_iter=300)
        assert np.isclose(end.value, whole.value, atol=1e-6)
        value = mutual_information(*probs(logits(S, end.coef, end.intercept)))[0]
        assert np.isclose(end.value, value - 0.01 * (end.coef**2).sum())

    def test_a_born_cluster(self):
        "A far group that the core's sample missed is found when λ is given."
        far = np.r_[X, X[:3] * 0 + 500]
        fit = fit_chunks(
            DPMeans(lam=400.0, random_state=0), [far[:500], far[500:]], core=60
        )
        z = np.asarray(fit.labels_)
        assert len(set(z[-3:])) == 1 and z[-1] not in z[:-3]

    def test_answers_outside_the_core_follow_a_rule_that_is_measured(self):
        A = Answers.from_constraints(FEW)
        fit = fit_chunks(AnswerClustering(4, random_state=0), [X], answers=A, core=200)
        said_of = fit.chosen_["rows outside the core"]
        assert said_of["agreement"] > 0.8
        assert ari(y, fit.labels_) > 0.8 and len(fit.answer_proba_) == 60

    def test_the_rule_takes_products_when_a_line_is_not_enough(self):
        rng = np.random.default_rng(0)
        P = rng.normal(size=(1200, 2))
        ring = ((P**2).sum(1) > 1.4).astype(int)
        rule = follow(P, ring, rng)
        assert rule.products and rule.agreement > 0.95


class TestRefusals:
    def test_other_methods_say_what_they_need(self):
        with pytest.raises(TypeError, match="whole table in memory.*TVClust"):
            PCKMeans(3).fit(da.from_array(X, chunks=300))

    @pytest.mark.parametrize("est", SMALL, ids=name)
    def test_answers_about_rows_that_do_not_exist(self, est):
        with pytest.raises(ValueError, match="outside X"):
            clone(est).fit([X[:450], X[450:]], constraints=[(0, 9000, "same")])

    def test_more_clusters_than_rows(self):
        with pytest.raises(ValueError, match="n_samples=900 should be >= n_clusters=901"):
            RDPMeans(901).fit([X[:450], X[450:]])

    @pytest.mark.parametrize(
        "est, words",
        [
            (RDPMeans.as_published(n_clusters=4), "one after the other"),
            (TVClust(4, inference="gibbs"), "variational"),
            (ExpertClustering(4, objective="marginal"), "marginal"),
        ],
    )
    def test_what_is_no_sum(self, est, words):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            est.set_params(max_iter=3)
            with pytest.raises(ValueError, match=words):
                fit_chunks(est, [X[:450], X[450:]], constraints=ANSWERS, core=100)

    def test_ids_name_rows_in_pieces(self):
        ids = np.array([f"r{i}" for i in range(len(X))])
        frame = [
            (ids[a], ids[b], int(v)) for a, b, v in zip(ANSWERS.a, ANSWERS.b, ANSWERS.value)
        ]
        by_id = RDPMeans(4, random_state=0).fit(
            [X[:450], X[450:]], constraints=frame, sample_id=ids
        )
        by_row = RDPMeans(4, random_state=0).fit([X[:450], X[450:]], constraints=ANSWERS)
        assert np.array_equal(by_id.labels_, by_row.labels_)


class TestBadPieces:
    "What is wrong is named once, with its chunk."

    def refusal(self, call, kind=ValueError):
        with pytest.raises(kind) as told:
            call()
        return str(told.value)

    @pytest.mark.parametrize("form", ["list", "frames", "dask", "function"])
    def test_a_word(self, form):
        words = X[:, :3].astype(object)
        words[850, 1] = "red"
        pieces = np.array_split(words, 9)
        table = dict(
            list=pieces,
            frames=[pd.DataFrame(p, columns=list("abc")) for p in pieces],
            dask=da.from_array(words, chunks=(100, 3)),
            function=lambda: iter(pieces),
        )[form]
        said = self.refusal(lambda: RDPMeans(3).fit(table))
        column = "column 'b'" if form == "frames" else "column 1"
        assert said == (
            f"chunk 8 is no table of numbers: {column} has 'red' in row 50 of the chunk."
        )

    def test_frames_in_a_list_are_a_table_in_pieces(self):
        frames = [pd.DataFrame(p, columns=list("abcd")) for p in (X[:450], X[450:])]
        fit = RDPMeans(4, random_state=0).fit(frames, constraints=ANSWERS)
        whole = RDPMeans(4, random_state=0).fit(X, constraints=ANSWERS)
        assert np.array_equal(fit.labels_, whole.labels_)
        other = [frames[0], frames[1][list("abdc")]]
        said = self.refusal(lambda: RDPMeans(4).fit(other))
        assert "chunk 1 has the columns a, b, d, c, but chunk 0 has a, b, c, d" in said

    @pytest.mark.parametrize(
        "what, words",
        [("complex128", "complex numbers"), ("datetime64[D]", "dates"), ("m8[s]", "time")],
    )
    def test_numbers_that_are_no_measures(self, what, words):
        strange = np.ones((9, 4), int).astype(what)
        said = self.refusal(lambda: RDPMeans(4).fit([X, strange]))
        assert said.startswith("chunk 1 is no table of numbers: it holds") and words in said

    def test_what_can_be_read_once_only(self):
        said = self.refusal(lambda: RDPMeans(4).fit(iter([X])), TypeError)
        assert "cannot be read more than once" in said
        once = iter([X[:450], X[450:]])
        said = self.refusal(lambda: RDPMeans(4).fit(lambda: once))
        assert "2 pieces on the first pass over the table and 0 on pass 2" in said

    @pytest.mark.parametrize("dask", [False, True])
    def test_new_rows(self, dask):
        fit = RDPMeans(4, random_state=0).fit([X])
        holes = X.copy()
        holes[760, 2] = np.inf
        tables = [np.array_split(T, 9) for T in (holes, X[:, :3])]
        if dask:
            tables = [da.from_array(T, chunks=(100, -1)) for T in (holes, X[:, :3])]
        said = self.refusal(lambda: np.asarray(fit.predict(tables[0])))
        assert "contains inf in chunk 7, column 2, row 60 of the chunk; 1 such" in said
        said = self.refusal(lambda: np.asarray(fit.predict(tables[1])))
        assert re.match(r"chunk \d: X has 3 features", said)


def listen(chunks):
    "What a bar would be told."
    told = []
    chunks.on_piece = lambda *what: told.append(what)
    return told


@pytest.mark.parametrize("form", ["pieces", "dask"])
def test_every_piece_of_every_pass_is_told(form):
    table = np.array_split(X, 5) if form == "pieces" else da.from_array(X, chunks=(180, 4))
    chunks = Chunks(table)
    told = listen(chunks)
    plain = fit_chunks(RDPMeans(4, random_state=0), [X], constraints=ANSWERS, core=200)
    fit = fit_chunks(RDPMeans(4, random_state=0), chunks, constraints=ANSWERS, core=200)
    assert np.array_equal(np.asarray(fit.labels_), plain.labels_)
    first = [what for what in told if what[2] == "pieces of pass 1"]
    assert first == [(i, 5, "pieces of pass 1") for i in range(1, 6)]
    assert {what[2] for what in told} >= {f"pieces of pass {i}" for i in (1, 2, 3)}


@pytest.mark.slow
def test_workers_read_an_array_on_disk_and_the_bar_is_told(tmp_path):
    pytest.importorskip("dask.distributed")
    import importlib.util

    np.save(tmp_path / "rows.npy", np.repeat(X, 1200, axis=0))
    lines = []

    class Say:
        def __call__(self, line):
            lines.append(line)

        def bar(self, *told):
            lines.append(told)

    how = dict(method="rdp-means", n_clusters=4)
    here = cluster_file(tmp_path / "rows.npy", **how)
    labels = np.load(here["out"])
    here["out"].unlink()
    (tmp_path / "rows.labels.npy.fit.npz").unlink()
    there = cluster_file(tmp_path / "rows.npy", where="local", say=Say(), **how)
    assert np.array_equal(np.load(there["out"]), labels)
    assert (2, 2, "pieces of pass 1") in lines
    shown = "dashboard http" if importlib.util.find_spec("bokeh") else "pip install bokeh"
    assert lines[0].startswith("scheduler tcp://127.0.0.1") and shown in lines[0]


class TestFiles:
    @pytest.mark.parametrize("est", FIVE[1:], ids=name)
    def test_a_labeller_says_what_the_estimator_says(self, est, tmp_path):
        from csc_nb.outgrow_files import read_labeller, save_labeller

        fit = fit_chunks(clone(est), [X], **said(est), core=300)
        known = labeller_of(fit)
        save_labeller(tmp_path / "fit.npz", known, np.arange(3), np.zeros(3), "key")
        again, rows, labels = read_labeller(tmp_path / "fit.npz", "key")
        assert np.array_equal(again.predict(X), fit.predict(X))
        assert read_labeller(tmp_path / "fit.npz", "other") is None

    def test_parquet_part_by_part(self, tmp_path):
        pd = pytest.importorskip("pandas")
        pytest.importorskip("pyarrow")
        names = [f"p{i}" for i in range(len(X))]
        frame = pd.DataFrame(X, columns=list("abcd")).assign(who=names)
        folder = tmp_path / "rows.parquet"
        folder.mkdir()
        for i in range(3):
            frame[300 * i : 300 * (i + 1)].to_parquet(folder / f"part.{i}.parquet")
        who = pd.DataFrame(
            dict(a=[names[i] for i in ANSWERS.a], b=[names[i] for i in ANSWERS.b],
                 answer=["same" if v > 0 else "different" for v in ANSWERS.value])
        )  # fmt: skip
        who.to_parquet(tmp_path / "said.parquet")
        how = dict(method="rdp-means", n_clusters=4, id_column="who")
        run = cluster_file(folder, [tmp_path / "said.parquet"], **how)
        found = pd.read_parquet(run["out"]).set_index("id").cluster
        assert len(found) == len(X) and run["parts"] == 3
        assert ari(y, found.loc[names].to_numpy()) > 0.8
        (run["out"] / "part.00001.parquet").unlink()  # as after a kill
        again = cluster_file(folder, [tmp_path / "said.parquet"], **how)
        assert again["parts"] == 1
        assert (pd.read_parquet(run["out"]).set_index("id").cluster == found).all()

    @pytest.mark.parametrize(
        "change, words",
        [
            (dict(method="pckmeans"), "does not fit in pieces"),
            (dict(path="nothing.npy"), "there is no"),
            (dict(where="127.0.0.1:1"), "no Dask scheduler answers"),
            (dict(out="rows.npy"), "the table itself"),
        ],
    )
    def test_what_the_command_refuses(self, change, words, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        np.save("rows.npy", X)
        how = dict(path="rows.npy", method="dp-means", n_clusters=4, **{})
        with pytest.raises((ValueError, OSError), match=words):
            cluster_file(**{**how, **change})


MEMORY = """
import resource, sys
import numpy as np
import pandas as pd
from csc_nb import RDPMeans, TVClust
table = np.load(sys.argv[1], mmap_mode="r")
small = [np.asarray(table[:3000])]
RDPMeans(3, random_state=0).fit(small)
TVClust(3, random_state=0, n_init=1).fit(small)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
from csc_nb.outgrow import fit_chunks
for est in (RDPMeans(3, random_state=0), TVClust(3, random_state=0, n_init=1)):
    fit_chunks(est, table, core=3000, max_rounds=3)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""


def test_memory_does_not_grow_with_the_table(tmp_path):
    "400 MB of rows on disk, fitted with less than 250 MB more than a small fit."
    table = np.lib.format.open_memmap(tmp_path / "big.npy", "w+", shape=(5_000_000, 10))
    rng = np.random.default_rng(0)
    for s in range(0, len(table), 500_000):
        table[s : s + 500_000] = (
            rng.normal(size=(500_000, 10)) + rng.integers(0, 3, (500_000, 1)) * 4
        )
    table.flush()
    del table
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", MEMORY, tmp_path / "big.npy"],
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    assert float(run.stdout) < 250


@pytest.mark.slow
def test_processes_give_the_bits_of_threads():
    dask = pytest.importorskip("dask")
    table = da.from_array(X, chunks=(200, 4))
    fits = []
    for scheduler in ("threads", "processes"):
        with dask.config.set(scheduler=scheduler, num_workers=2):
            how = dict(constraints=ANSWERS, core=200)
            fits.append(fit_chunks(RDPMeans(4, random_state=0), table, **how))
            fits[-1].labels_ = fits[-1].labels_.compute()
    assert np.array_equal(fits[0].labels_, fits[1].labels_)
    assert fits[0].objective_history_ == fits[1].objective_history_


def test_a_bar_is_drawn_on_terminals_only(tmp_path):
    from io import StringIO

    from csc_nb.outgrow_files import Progress

    class Terminal(StringIO):
        def isatty(self):
            return True

    np.save(tmp_path / "rows.npy", X)
    shown = {}
    for kind in (StringIO, Terminal):
        (tmp_path / "rows.labels.npy").unlink(missing_ok=True)
        (tmp_path / "rows.labels.npy.fit.npz").unlink(missing_ok=True)
        screen = kind()
        run = cluster_file(
            tmp_path / "rows.npy", method="dp-means", n_clusters=4, say=Progress(screen)
        )
        shown[kind] = screen.getvalue()
    assert "\r" not in shown[StringIO] and "labels: 1 of 1 parts" in shown[StringIO]
    assert "█ 1 of 1 pieces of pass 2" in shown[Terminal]
    assert shown[StringIO].count("over the table") == run["passes"]


@pytest.mark.slow
@pytest.mark.parametrize("listening", [False, True])
def test_a_cluster_of_two_workers_and_one_that_is_killed(listening):
    distributed = pytest.importorskip("dask.distributed")
    plain = fit_chunks(RDPMeans(4, random_state=0), [X], constraints=ANSWERS, core=200)
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
    ) as cluster:
        with distributed.Client(cluster) as client:
            table = da.from_array(X, chunks=(150, 4))
            victims = client.run(os.getpid)
            chunks = Chunks(table)
            if listening:
                listen(chunks)

            def kill_one(number):
                if number == 3:
                    os.kill(next(iter(victims.values())), 9)

            chunks.on_pass = kill_one
            fit = fit_chunks(
                RDPMeans(4, random_state=0), chunks, constraints=ANSWERS, core=200
            )
            labels = fit.labels_.compute()
    assert np.array_equal(labels, plain.labels_)
    assert np.allclose(fit.objective_history_, plain.objective_history_)


def test_pooling_is_what_the_page_says():
    parts = [(len(p), p.mean(0), ((p - p.mean(0)) ** 2).sum(0)) for p in (X[:11], X[11:])]
    n, mean, scatter = pooled(*parts)
    assert n == len(X) and np.allclose(mean, X.mean(0))
    assert np.allclose(scatter, ((X - X.mean(0)) ** 2).sum(0))


def test_labels_beside_an_array_and_a_run_that_was_killed(tmp_path):
    path, said_file = tmp_path / "rows.npy", tmp_path / "said.csv"
    np.save(path, X)
    ANSWERS.to_csv(said_file)
    lines = []
    how = dict(method="rdp-means", n_clusters=4)
    run = cluster_file(path, [said_file], **how, say=lines.append)
    z = np.load(run["out"])
    assert run["out"] == labels_path(path) and len(z) == len(X) and z.dtype == np.int32
    assert any("pass 2" in line for line in lines)
    whole = RDPMeans(4, random_state=0).fit(X, constraints=ANSWERS)
    assert np.array_equal(z, whole.labels_)
    os.remove(run["out"])  # as after a kill before the last rename
    lines.clear()
    cluster_file(path, [said_file], **how, say=lines.append)
    assert any("earlier run" in line for line in lines)
    assert np.array_equal(np.load(run["out"]), z)
    with pytest.raises(ValueError, match="was not made from this table"):
        cluster_file(path, [said_file], method="rdp-means", n_clusters=3)


class TestAnswersInPieces:
    def frame(self, m=400, seed=0):
        pd = pytest.importorskip("pandas")
        rng = np.random.default_rng(seed)
        a, b = rng.integers(0, 60, (2, m))
        names = np.array([f"row {i}" for i in range(60)])
        return pd.DataFrame({
            "a": names[a],
            "b": names[(b + (a == b)) % 60],
            "answer": rng.choice(["same", "different", "unsure"], m),
            "annotator": rng.choice(["ann", "bob", "cy"], m),
            "seconds": rng.exponential(3, m),
        })  # fmt: skip

    @pytest.mark.parametrize("cuts", [(), (1,), (7, 7, 399), range(10, 400, 10)])
    def test_any_cut_gives_the_table(self, cuts):
        frame = self.frame()
        pieces = np.split(np.arange(len(frame)), list(cuts))
        whole = Answers.from_frame(frame)
        assert stream_answers([frame.iloc[i] for i in pieces if len(i)]) == whole

    def test_files_and_dask(self, tmp_path):
        pytest.importorskip("pyarrow")
        dd = pytest.importorskip("dask.dataframe")
        frame = self.frame()
        whole = Answers.from_frame(frame)
        frame.to_parquet(tmp_path / "said.parquet", row_group_size=37)
        assert read_answers([tmp_path / "said.parquet"]) == whole
        assert stream_answers(dd.from_pandas(frame, npartitions=5)) == whole
        assert stream_answers(lambda: iter([frame])) == whole == stream_answers(frame)

    def test_no_row_is_no_answer(self, tmp_path):
        pytest.importorskip("pyarrow")
        self.frame().iloc[:0].to_parquet(tmp_path / "said.parquet")
        assert read_answers([tmp_path / "said.parquet"]).empty

    def test_a_word_that_is_no_answer_is_named_with_its_piece(self):
        frame = self.frame()
        frame.loc[250, "answer"] = "bananas"
        with pytest.raises(ValueError, match=r"piece 2 \(counted from 0\).*bananas"):
            stream_answers([frame.iloc[i : i + 100] for i in range(0, 400, 100)])

    def test_grades_are_grades_in_every_piece(self):
        one = {"a": [1, 2], "b": [3, 4], "answer": [1, 1]}
        other = {"a": [1, 2], "b": [5, 6], "answer": [4, 3]}
        with pytest.raises(ValueError, match="piece 1 .* not understood"):
            stream_answers([one, other])
        assert stream_answers([one, other], kind="grade").n_answers == 4


def test_other_answers_are_another_fit():
    "Same rows, the same number of each word, one person for another: each is another key."
    from csc_nb.outgrow_files import _digest

    a, b = ["x", "y", "u"], ["y", "z", "v"]
    told = [
        Constraints(a, b, [1, -1, 1], ids=True),
        Constraints(a, b, [-1, 1, 1], ids=True),
        Constraints(a, b, [1, -1, 1], ids=True, expert=["ann", "ann", "bob"]),
        Constraints(a, b, [1, -1, 1], ids=True, expert=["ann", "bob", "ann"]),
        Constraints(a, b, [1, -1, 1], ids=True, weight=[1, 1, 2]),
        Constraints(["x", "y", "w"], b, [1, -1, 1], ids=True),
    ]
    keys = [_digest(c.answers) for c in told]
    assert len(set(keys)) == len(keys)
    assert _digest(Constraints(a, b, [1, -1, 1], ids=True).answers) == keys[0]
