"""The contract with others: public names, help at the prompt. A change is a decision."""

import ast
import copy
import doctest
import functools
import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator

import csc_nb
from csc_nb.baselines import COSC, kmeans
from csc_nb.widgets import Steps, same_state

ROOT = Path(__file__).resolve().parent.parent
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
    init = thing.__init__ if inspect.isclass(thing) else thing
    own = list(inspect.signature(init).parameters.values())
    own = [p for p in own[inspect.isclass(thing) :] if p.name not in ("args", "kwargs")]
    named = ["**" * (p.kind == p.VAR_KEYWORD) + p.name for p in own]
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


@functools.cache
def names_in(cls):
    "Attributes, functions and texts that the source of a class names."
    found = set()
    for n in ast.walk(ast.parse(inspect.getsource(cls))):
        if isinstance(n, ast.Attribute):
            found.add(n.attr)
        elif isinstance(n, ast.FunctionDef):
            found.add(n.name)
        elif isinstance(n, ast.Constant) and isinstance(n.value, str):
            found.add(n.value)
    return found


@pytest.mark.parametrize("name", CLASSES)
def test_no_fitted_attribute_is_described_that_does_not_exist(name):
    "Every attribute in the docstring is assigned, or a property, somewhere in the class."
    cls = getattr(csc_nb, name)
    described = described_in(inspect.getdoc(cls) or "", "Attributes")
    ours = [k for k in cls.__mro__ if k.__module__.startswith("csc_nb")]
    names = set().union(*map(names_in, ours))
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


# The inside: classes that a reader can follow


@functools.cache
def modules():
    "Module of ours → its syntax tree, parsed once for all tests."
    files = sorted((ROOT / "csc_nb").rglob("*.py"))
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in files}


@functools.cache
def own_bases():
    "Class of ours → its bases that are ours, from the source."
    found = {}
    for tree in modules().values():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                names = [b.id for b in node.bases if isinstance(b, ast.Name)]
                found[node.name] = [n for n in names if n != node.name]
    return {c: [b for b in bases if b in found] for c, bases in found.items()}


def test_no_chain_of_our_classes_is_longer_than_four():
    bases = own_bases()
    depth = lambda c: 1 + max(map(depth, bases[c]), default=0)
    deep = {c: depth(c) for c in bases if depth(c) > 4}
    assert len(bases) > 100 and not deep, deep


def test_no_private_class_has_a_single_child():
    "A parent of one is a class cut in two."
    bases = own_bases()
    children = {c: [d for d in bases if c in bases[d]] for c in bases}
    only = {c: k for c, k in children.items() if c.startswith("_") and len(k) == 1}
    assert not only, only


def test_methods_are_not_hung_on_classes_from_outside():
    "No `Class.x = f`, no setattr in a loop, no globals().update in the package."
    for path, tree in modules().items():
        classes = {n.name for n in tree.body if isinstance(n, ast.ClassDef)}
        for node in tree.body:
            text = ast.unparse(node)
            assert not text.startswith("globals()"), f"{path.name}: {text[:80]}"
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute):
                owner = node.targets[0].value
                hung = isinstance(owner, ast.Name) and owner.id in classes
                assert not hung, f"{path.name}: {text[:80]}"
            if isinstance(node, ast.For):
                assert "setattr(" not in text, f"{path.name}: {text[:80]}"


@functools.cache
def protocol():
    "(module, name, `_init`, `_step`) of each kind of iterative inference."
    return list(families())


def families():
    for path, tree in modules().items():
        made = {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef)}
        for name, step in made.items():
            init = made.get(name.removesuffix("_step") + "_init")
            if name.endswith("_step") and init and not name.startswith("_"):
                yield path.stem, name, init, step


def test_iterative_inference_has_one_protocol():
    "State in, state out: `x_init(problem, …) -> S`, `x_step(state, problem, …) -> S`."
    found = protocol()
    assert len(found) >= 10
    for module, name, init, step in found:
        first, *rest = [a.arg for a in step.args.args]
        kind = ast.unparse(init.returns or ast.Constant("?"))
        assert first in ("state", "s"), f"{module}.{name} begins with {first}"
        assert kind == ast.unparse(step.returns or ast.Constant("!")), f"{module}.{name}"
        assert kind[0].isupper(), f"{module}.{name} gives {kind}, no state"
        asked = [a.arg for a in init.args.args]
        shared = [a for a in rest if a in asked]
        assert shared == [a for a in asked if a in rest], f"{module}.{name}: order"


# Each family of steps, taken from a small fit and run by `Steps`, as a stepper does it

ROWS = np.random.default_rng(0).normal(size=(24, 2)) + np.repeat([[0, 0], [1, 0]], 12, 0)
TRUTH = np.repeat([0, 1], 12)


def pairs(cls, **params):
    given = csc_nb.Constraints.from_labels(TRUTH, n=20, noise=0.1, random_state=0)
    return lambda: cls(**params, random_state=0).fit(ROWS, constraints=given)


def experts():
    given = csc_nb.Constraints.from_labels(TRUTH, n=20, noise=0.1, random_state=0)
    given = csc_nb.Constraints(given.a, given.b, given.value, expert=np.arange(20) % 2)
    how = dict(objective="marginal", n_init=2, mi_weight=0.1, lam=1e-3)  # nothing to choose
    model = csc_nb.ExpertClustering(2, **how, random_state=0)
    model.fit(ROWS, constraints=given)


def labels():
    marks = np.c_[TRUTH, 1 - TRUTH, TRUTH]
    csc_nb.LabelHierarchy(random_state=0, max_iter=3).fit(ROWS, marks)


def scores():
    csc_nb.DiSC(2, n_init=1, random_state=0).fit(ROWS, scores=np.c_[TRUTH, TRUTH + 1.0])


def answers_alone():
    left, right = np.triu_indices(8, 1)
    said = np.where(left % 2 == right % 2, "same", "different")
    who = np.arange(len(left)) % 3
    said = csc_nb.Answers(left, right, said, annotator=who)
    csc_nb.AnswerClustering(2).fit(answers=said)


FAMILIES = {  # module, step → a fit that takes it
    "answer_model.em_step": answers_alone,
    "baselines.kmeans.em_step": pairs(kmeans.ConstrainedEM, n_clusters=2),
    "baselines.kmeans.mpck_step": pairs(kmeans.MPCKMeans, n_clusters=2, n_init=1, warmup=1),
    "baselines.spectral.cosc_step": pairs(COSC, n_clusters=2),
    "disc.descent_step": scores,
    "experts.mf_step": experts,
    "hierarchy.em_step": labels,
    "rdpmeans.rdp_step": pairs(csc_nb.RDPMeans, n_clusters=2, n_init=1),
    "relative.dc_step": pairs(csc_nb.DiscriminativeClustering, n_clusters=2, n_init=1),
    "tvclust.gibbs_step": pairs(csc_nb.TVClust.as_published, max_iter=6),
    "tvclust.vb_step": pairs(csc_nb.TVClust, n_clusters=2, n_init=1),
}


def test_the_families_are_all_of_them():
    found = {f"{module}.{step.name}" for module, _, _, step in protocol()}
    assert found == {name.split("baselines.")[-1] for name in FAMILIES}


class Enough(Exception):
    "The first step was seen."


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.filterwarnings("ignore")
def test_a_stepper_works_with_every_family(name, monkeypatch):
    "The step of a fit is a function: forwards, back and forwards again are the same."
    module = importlib.import_module("csc_nb." + name.rpartition(".")[0])
    step, seen = getattr(module, name.rpartition(".")[2]), []
    init = getattr(module, "em_init", None)
    by_init = name == "answer_model.em_step"  # its fit takes the two halves of a step

    def watched(*args, **kwargs):
        seen.append(copy.deepcopy((args, kwargs)))
        raise Enough

    monkeypatch.setattr(module, "em_init" if by_init else step.__name__, watched)
    with pytest.raises(Enough):
        FAMILIES[name]()
    monkeypatch.undo()
    (start, *args), kwargs = seen[0]
    if by_init:
        setup, args, kwargs = start, [start], {}
        start = init(setup)

    def again(state):
        rest, how = copy.deepcopy((args, kwargs))  # a generator begins at the same place
        return step(state, *rest, **how)

    before = copy.deepcopy(start)
    run = Steps(start, again, max_steps=3)
    run.step(2)
    assert (run.t >= 1 or run.done) and type(run.state) is type(start)
    assert same_state(start, before), "the step changed the state that it was given"
    last, steps = run.state, run.t
    assert run.back(steps) is start
    assert same_state(Steps(before, again).step(steps), last)


# More than eight parameters only where a kernel needs them

MANY = {  # function or constructor → how many it takes, and why; may only shrink
    # waits for a page that is being rewritten
    "correlation.learn_noise": (10, "arrays and settings of one round"),
    "experts.experts_demo": (9, "a slider for each"),
    "labelling_view.make_session": (21, "what `AskPairs` and `AskTriplets` take"),
    "labelling.Session": (16, "what `AskPairs` and `AskTriplets` take"),
    "ncobras.verdict": (12, "arrays and limits of one search"),
    "ncobras.questions": (9, "what a run knows, and who is told of it"),
    "ncobras.Block": (10, "arrays and limits of one search"),
    "study.Study": (10, "a study with people: its sets, its questions, its log"),
    "tvclust._fit_view": (9, "arrays of one view"),
    "tvclust.vb_fit": (9, "a whole fit: model, start and its settings"),
    # one argument for each column of a table
    "answer_table.Answers": (13, "a column each; a fixed public name"),
    "answer_table._of_codes": (12, "a column each"),
    "ask_well.WorldBelief": (11, "arrays of one posterior"),
    "constraints.Constraints": (11, "a column each; a fixed public name"),
    "constraints.Triplets": (11, "a column each; a fixed public name"),
    "constraints._make": (10, "a column each"),
    # estimators: the settings of a method, flat as scikit-learn's cloning and search want
    "answer_model.AnswerClustering": (9, "an estimator"),
    "ask_well.AskWell": (11, "an estimator"),
    "bags.BagSpectralClustering": (11, "an estimator"),
    "kmeans.MPCKMeans": (13, "an estimator"),
    "kmeans.ConstrainedEM": (11, "an estimator"),
    "bayes_active.BayesForm": (12, "the switches between the printed and our model"),
    "chat.ChatAnnotator": (22, "a service: address, limits, price, records"),
    "correlation.CorrelationClustering": (12, "an estimator"),
    "disc.DiSC": (13, "an estimator"),
    "experts.ExpertClustering": (15, "an estimator"),
    "hierarchy.LabelHierarchy": (14, "an estimator"),
    "ncobras.NcobrasForm": (14, "the switches between printed, programmed and our rules"),
    "ncobras.VerifiedLearner": (9, "an estimator"),
    "rdpmeans.RDPMeans": (14, "an estimator"),
    "relative.DiscriminativeClustering": (11, "an estimator"),
    "tvclust.TVClust": (13, "an estimator"),
}


def parameters_of(node):
    a = node.args
    return [
        p for p in (*a.posonlyargs, *a.args, *a.kwonlyargs) if p.arg not in ("self", "cls")
    ]


def with_many(tree, stem, most=8):
    "Name → number of parameters, of what takes more than `most` and is no kernel."
    found = {}
    for node in ast.walk(tree):
        inside = node.body if isinstance(node, ast.ClassDef) else []
        for part in inside:
            if isinstance(part, ast.FunctionDef) and part.name == "__init__":
                found[f"{stem}.{node.name}"] = len(parameters_of(part))
        if isinstance(node, ast.FunctionDef) and node.name != "__init__":
            if not any("jit" in ast.unparse(d) for d in node.decorator_list):
                found[f"{stem}.{node.name}"] = len(parameters_of(node))
    return {name: n for name, n in found.items() if n > most}


def test_many_parameters_are_a_decision():
    "Kernels take arrays one by one; what else takes many is listed, and never takes more."
    found = {}
    for path, tree in modules().items():
        if path.name != "_modidx.py":
            found |= with_many(tree, path.stem)
    new = {name: n for name, n in found.items() if n > MANY.get(name, (8, ""))[0]}
    assert not new, f"bundle what belongs together, or split: {new}"
    fewer = {name: found.get(name) for name in MANY if found.get(name) != MANY[name][0]}
    assert not fewer, f"these take fewer now: say so in MANY, {fewer}"


def test_a_function_with_nine_parameters_is_seen():
    many = ", ".join("abcdefghi")
    plain, kernel = f"def f({many}): pass\n", f"@njit\ndef g({many}): pass\n"
    own = f"class C:\n    def __init__(self, {many}): pass\n    def f(self, a): pass\n"
    many_of = lambda source: with_many(ast.parse(source), "m")
    assert many_of(plain + kernel) == {"m.f": 9}
    assert many_of(own) == {"m.C": 9}
    assert many_of("def f(a, *, b, c=1): pass") == {}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_settings_beyond_the_first_three_go_by_name_and_have_defaults(name):
    own = inspect.signature(getattr(csc_nb, name).__init__).parameters.values()
    settings = [p for p in own if p.name != "self" and p.kind != p.VAR_KEYWORD]
    if len(settings) > 8:
        by_place = [p.name for p in settings if p.kind != p.KEYWORD_ONLY]
        assert len(by_place) <= 3, by_place
        assert all(p.default is not p.empty for p in settings)
