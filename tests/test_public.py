"""The contract with others: public names, help at the prompt. A change is a decision."""

import ast
import doctest
import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import pytest
from sklearn.base import BaseEstimator

import csc_nb

PUBLIC = sorted(csc_nb.__all__)
CLASSES = [n for n in PUBLIC if inspect.isclass(getattr(csc_nb, n))]
ESTIMATORS = [n for n in CLASSES if issubclass(getattr(csc_nb, n), BaseEstimator)]
PAPERS = (
    "TVClust RDPMeans DPMeans DiscriminativeClustering ExpertClustering "
    "BagSpectralClustering DiSC BayesianActiveClustering COBRAS NCOBRAS LabelHierarchy"
).split()


def test_the_number_of_public_names_is_a_decision():
    assert 55 <= len(PUBLIC) <= 75
    assert set(dir(csc_nb)) == {*PUBLIC, "__version__"}


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_is_there_and_explains_itself(name):
    thing = getattr(csc_nb, name)
    doc = inspect.getdoc(thing)
    assert doc and len(doc.splitlines()[0]) > 10
    if inspect.isclass(thing):
        own = list(inspect.signature(thing.__init__).parameters)[1:]
    else:
        own = list(inspect.signature(thing).parameters)
    named = [n for n in own if n not in ("args", "kwargs")]
    described = described_in(doc, "Parameters") or described_in(doc, "Attributes")
    if named and "__init__" in vars(thing) if inspect.isclass(thing) else named:
        assert set(named) <= set(described), set(named) - set(described)
        if "Parameters" in doc:
            assert {d for d in described if not d.startswith("**")} <= set(named)
        empty = [n for n in named if not described[n]]
        assert not empty, f"no words about {empty}"


def described_in(doc, title):
    "Names and texts of a numpydoc section."
    lines, out, name = doc.splitlines(), {}, None
    if title not in lines:
        return out
    for line in lines[lines.index(title) + 2 :]:
        if line and not line.startswith(" "):
            if set(line) == {"-"}:
                break
            name = line.split(" : ")[0]
            out[name] = ""
        elif name:
            out[name] += line.strip()
    out.pop(list(out)[-1], None) if out and list(out)[-1] in (
        "Attributes",
        "Examples",
        "Returns",
    ) else None
    return out


@pytest.mark.parametrize("name", PAPERS)
def test_every_paper_has_its_own_method(name):
    cls = getattr(csc_nb, name)
    published = cls.as_published()
    assert isinstance(published, cls)
    if name != "COBRAS":  # its plain defaults are the paper's rules
        assert published.get_params() != cls().get_params()
    assert cls.as_published(random_state=7).random_state == 7


@pytest.mark.parametrize("name", ESTIMATORS)
def test_n_clusters_comes_first_where_there_is_one(name):
    own = list(inspect.signature(getattr(csc_nb, name).__init__).parameters)[1:]
    if "n_clusters" in own and name != "ActiveClusterer":
        assert own[0] == "n_clusters"


@pytest.mark.parametrize("name", CLASSES)
def test_no_fitted_attribute_is_described_that_does_not_exist(name):
    "Every attribute in the docstring is assigned, or a property, somewhere in the class."
    cls = getattr(csc_nb, name)
    described = described_in(inspect.getdoc(cls) or "", "Attributes")
    bodies = "".join(
        inspect.getsource(k) for k in cls.__mro__ if k.__module__.startswith("csc_nb")
    )
    names = {n.attr for n in ast.walk(ast.parse(bodies)) if isinstance(n, ast.Attribute)}
    names |= {n.name for n in ast.walk(ast.parse(bodies)) if isinstance(n, ast.FunctionDef)}
    names |= {
        n.value
        for n in ast.walk(ast.parse(bodies))
        if isinstance(n, ast.Constant) and isinstance(n.value, str)
    }
    missing = [d for d in described if d.isidentifier() and d not in names]
    assert not missing


@pytest.mark.parametrize("name", CLASSES)
def test_the_examples_run(name):
    cls = getattr(csc_nb, name)
    module = importlib.import_module(cls.__module__)
    tests = doctest.DocTestFinder(recurse=False).find(
        cls, name, module=module, globs={**vars(module)}
    )
    for t in tests:
        assert (
            doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(t).failed
            == 0
        )


def test_a_name_that_moved_says_where_it_is():
    with pytest.raises(AttributeError, match="csc_nb.graph"):
        csc_nb.make_links


def test_python_m_csc_nb():
    root = Path(csc_nb.__file__).parent.parent
    done = subprocess.run(
        [sys.executable, "-m", "csc_nb", "--version"],
        capture_output=True,
        text=True,
        cwd=root,
    )
    assert done.stdout.strip() == f"csc-nb {csc_nb.__version__}"
