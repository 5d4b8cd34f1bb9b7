"""The faults of the outside of 0.1, each as a test that fails on that code (7405165).

`PYTHONPATH=OLD python -m pytest --rootdir=OLD -p no:cacheprovider THIS FILE` runs them on a
copy of the old tree; here they hold. Most have a wider test elsewhere; this is the list.
"""

import inspect
import signal
import subprocess
import sys
import tarfile
import warnings
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import csc_nb

TREE = Path(csc_nb.__file__).resolve().parent.parent
RNG = np.random.default_rng(0)
X = np.concatenate([RNG.normal(m, 0.5, size=(20, 2)) for m in (0, 4, 8)])
Y = np.repeat([0, 1, 2], 20)


@contextmanager
def at_most(seconds):
    "A call that does not end is a failure."

    def stop(*_):
        raise TimeoutError(f"did not end within {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def answers(n=30, noise=0.0):
    return csc_nb.Constraints.from_labels(Y, n=n, noise=noise, random_state=0)


# An install


def test_the_source_distribution_has_what_its_setup_reads(tmp_path):
    "`KeyError: 'dev_requirements'`: settings.ini was not in it."
    if not (TREE / "setup.py").exists():
        pytest.skip("not a source tree")
    work = tmp_path / "tree"
    (work / "csc_nb").mkdir(parents=True)
    (work / "csc_nb" / "__init__.py").write_text("")
    for name in ("setup.py", "settings.ini", "README.md", "pyproject.toml", "MANIFEST.in"):
        if (TREE / name).exists():
            (work / name).write_bytes((TREE / name).read_bytes())
    make = "import setuptools.build_meta as b; b.build_sdist('out')"
    subprocess.run([sys.executable, "-c", make], cwd=work, capture_output=True, check=True)
    (built,) = (work / "out").glob("*.tar.gz")
    with tarfile.open(built) as archive:
        names = [Path(n).name for n in archive.getnames()]
    assert "settings.ini" in names


# Names and help


def test_the_tab_key_shows_a_short_list():
    "698 names, 55 of them estimators, and no `__all__`."
    assert 50 < len(csc_nb.__all__) < 80
    public = [n for n in dir(csc_nb) if not n.startswith("_")]
    assert set(public) == set(csc_nb.__all__)


def test_a_module_that_reuses_a_name_takes_none_away(tmp_path):
    "Names that stood in two modules were ambiguous, and raised: 20 of them."
    package = tmp_path / "csc_nb"
    package.mkdir()
    for item in (TREE / "csc_nb").iterdir():
        if item.name not in ("__pycache__", "_modidx.py"):
            (package / item.name).symlink_to(item)
    (package / "aaa.py").write_text("__all__ = ['NCOBRAS']\nclass NCOBRAS: pass\n")
    index = TREE / "csc_nb" / "_modidx.py"
    known = index.read_text().replace("'syms': {", "'syms': {'csc_nb.aaa': {")
    name = "'csc_nb.aaa.NCOBRAS': ('aaa.html#ncobras', 'csc_nb/aaa.py')},"
    (package / "_modidx.py").write_text(known.replace("aaa': {", f"aaa': {{{name}", 1))
    code = "import csc_nb; print(csc_nb.__file__, csc_nb.NCOBRAS.__module__)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True
    )
    where, home = done.stdout.split()
    assert Path(where).parent == package and home == "csc_nb.ncobras"


def test_no_method_is_a_public_name():
    "`csc_nb.predict` was a method of TVClust."
    with pytest.raises(AttributeError):
        csc_nb.predict


@pytest.mark.parametrize("name", ["RDPMeans", "TVClust"])
def test_help_explains_every_parameter(name):
    cls = getattr(csc_nb, name)
    text = inspect.getdoc(cls)
    assert "Parameters\n" in text and "Attributes\n" in text
    for parameter in list(inspect.signature(cls.__init__).parameters)[1:]:
        assert f"\n{parameter} :" in text, parameter


# The paper's own method

PAPERS = "TVClust RDPMeans DPMeans DiscriminativeClustering ExpertClustering NCOBRAS "
PAPERS += "BagSpectralClustering DiSC BayesianActiveClustering COBRAS LabelHierarchy"


@pytest.mark.parametrize("name", PAPERS.split())
def test_there_is_one_way_to_the_printed_algorithm(name):
    published = getattr(csc_nb, name).as_published(random_state=3)
    assert published.random_state == 3


def test_rdp_means_as_published_does_not_cap_xi():
    "`xi_max=np.inf` said 'as in the paper' and stopped at four units of the divergence."
    given = answers()
    unit = ((X - X.mean(0)) ** 2).sum(1).max()
    how = dict(max_iter=30, random_state=0, xi_rate=50.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = csc_nb.RDPMeans.as_published(n_clusters=3, **how).fit(X, constraints=given)
    assert model.xi_ > 100 * unit


def test_ncobras_as_published_has_every_rule_of_the_paper():
    "`order=k` counted per block, and `join_known` could not be switched off."
    rules = csc_nb.NCOBRAS.as_published().form.get_params()
    assert rules["order_over"] == "all" and rules["after_correction"] == "merge_again"


# One meaning of each name


def test_suspicion_is_a_chance_and_suspects_come_most_suspect_first():
    "A posterior, a pair's posterior, any broken answer, overruled: four meanings."
    given = answers(60, noise=0.15)
    for name in ("TVClust", "RDPMeans", "DiscriminativeClustering"):
        model = getattr(csc_nb, name)(n_clusters=3, random_state=0)
        model.fit(X, constraints=given)
        chance = model.suspicion_
        assert chance.shape == (60,) and 0 <= chance.min() <= chance.max() <= 1
        assert set(model.suspects_) == set(np.flatnonzero(chance > 0.5))
        assert (np.diff(chance[model.suspects_]) <= 0).all()


@pytest.mark.parametrize("name", ["TVClust", "DiscriminativeClustering"])
def test_objectives_fall(name):
    "`objective_history_` rose in some methods and fell in others."
    model = getattr(csc_nb, name)(n_clusters=3, random_state=0)
    cost = np.asarray(model.fit(X, constraints=answers()).objective_history_, float)
    assert len(cost) and (np.diff(cost) <= 1e-9 * np.abs(cost).max()).all()


def test_the_first_number_is_the_number_of_clusters():
    "`RDPMeans(3)` meant lambda = 3."
    assert csc_nb.RDPMeans(3).fit(X).n_clusters_ == 3
    assert csc_nb.RDPMeans(3).get_params()["n_clusters"] == 3


@pytest.mark.parametrize(
    "name, wrong, word",
    [
        ("NCOBRAS", dict(max_states=0), "max_states"),  # did not end
        ("TVClust", dict(n_init=0), "n_init"),  # "max() arg is an empty sequence"
        ("TVClust", dict(n_draws=0), "n_draws|max_iter"),  # a numba TypingError
        ("TVClust", dict(p_prior=(0, 0)), "p_prior|p="),  # fitted through NaN warnings
    ],
)
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_a_parameter_out_of_range_is_named(name, wrong, word):
    cls = getattr(csc_nb, name)
    fit = dict(constraints=answers())
    if name == "NCOBRAS":
        fit = dict(oracle=csc_nb.NoisyOracle(Y, 0.2, random_state=0), budget=30)
    with at_most(200), pytest.raises(ValueError, match=word):
        cls(**wrong).fit(X, **fit)


def test_old_names_work_and_say_so():
    with pytest.warns(FutureWarning, match="check_by"):
        model = csc_nb.NCOBRAS(choice="refutable")
    assert model.form.check_by == "refutable"


# Compiling: the line while it happens is seen in test_install.py


def test_everything_can_be_compiled_at_once():
    from csc_nb import cli

    with pytest.raises(SystemExit) as done:
        cli.main(["warm", "--help"])
    assert done.value.code == 0
