"""Clustering with imperfect human help: five papers as executable, tested notebooks.

The public names are listed here by hand and imported on first use, so that
`import csc_nb` stays light.
Everything else is imported from its module.
"""

import os as _os
import sys as _sys
from importlib import import_module as _import
from pathlib import Path as _Path
from typing import TYPE_CHECKING as _TYPING

__version__ = "0.2.0"

_PUBLIC = {
    # what people said
    "vocabulary": "parse_answer",
    "answer_table": "Answers",
    "constraints": "Constraints Triplets as_constraints as_triplets",
    "bag_table": "Bags as_bags",
    # who says it
    "oracles": "NoisyOracle ExpertPanel ReplayOracle Journal Pair Triple Runner",
    # the papers' methods, and what goes beyond them
    "tvclust": "TVClust",
    "rdpmeans": "RDPMeans DPMeans",
    "relative": "DiscriminativeClustering",
    "experts": "ExpertClustering",
    "bags": "BagSpectralClustering",
    "disc": "DiSC",
    "bayes_active": "BayesianActiveClustering BayesForm",
    "cobras": "COBRAS",
    "ncobras": "NCOBRAS NcobrasForm",
    "hierarchy": "LabelHierarchy",
    "answer_model": "AnswerClustering",
    "ask_well": "AskWell Annotator",
    "chat": "ChatAnnotator",
    "correlation": "CorrelationClustering",
    "answers": "realistic_answers",
    "queries": "ActiveClusterer ExploreConsolidate MinMax NPU",
    # what everybody else does
    "baselines.kmeans": "COPKMeans PCKMeans MPCKMeans CVQE LCVQE SeededKMeans "
    "ConstrainedKMeans ConstrainedEM",
    "baselines.metric": "ITMLKMeans LSMLKMeans MMCKMeans RCAKMeans",
    "baselines.spectral": "COSC SpectralLearning FlexibleSpectral SpectralRegularization",
    "baselines.crowd": "CrowdVote SemiCrowd dawid_skene majority_vote",
    # measure, load, compare, look, label
    "metrics": "ari nmi_arithmetic pairwise_f purity",
    "datasets": "load",
    "tables": "read_table",
    "advice": "recommend",
    "comparison": "compare",
    "estimators": "methods",
    "labelling": "AskPairs AskTriplets",
    "plotting": "ConstraintGraphDisplay ExpertWeightsDisplay QueryCurveDisplay "
    "ObjectiveDisplay "
    "LabelTreeDisplay PairEntropyDisplay",
}
_HOME = {name: module for module, names in _PUBLIC.items() for name in names.split()}
__all__ = sorted(_HOME)

if _TYPING:  # editors and type checkers do not run the lazy import
    from .answer_table import Answers as Answers
    from .bag_table import Bags as Bags, as_bags as as_bags
    from .constraints import Constraints as Constraints, Triplets as Triplets
    from .constraints import as_constraints as as_constraints, as_triplets as as_triplets


def _can_write(folder):
    "Whether `folder`, or the nearest folder above it that exists, may be written to."
    for place in (folder, *folder.parents):
        if place.exists():
            return _os.access(place, _os.W_OK)
    return False


def _keep_kernels_somewhere():
    """Give numba a private folder where neither this folder nor the home may be written.

    Without one it refuses to import a module with a cached kernel. What it keeps is
    loaded as code, so the folder must belong to this user and be closed to others.
    """
    here, home = _Path(__file__).parent, _Path("~").expanduser()
    caches = (home / ".cache", home / "Library" / "Caches", home / "AppData" / "Local")
    if _os.environ.get("XDG_CACHE_HOME"):
        caches = (_Path(_os.environ["XDG_CACHE_HOME"]), *caches[1:])
    if _os.environ.get("NUMBA_CACHE_DIR") or any(map(_can_write, (here, *caches))):
        return
    folder = _private_folder()
    _os.environ["NUMBA_CACHE_DIR"] = folder
    if "numba" in _sys.modules:  # it has read the environment already
        _sys.modules["numba"].config.CACHE_DIR = folder


def _private_folder():
    "A folder for temporary files that only this user can read; the same one next time."
    import tempfile

    user = _os.getuid() if hasattr(_os, "getuid") else 0
    folder = _Path(tempfile.gettempdir()) / f"csc_nb-kernels-{user}"
    folder.mkdir(mode=0o700, exist_ok=True)
    seen = folder.lstat()
    closed = (seen.st_uid, seen.st_mode & 0o77) == (user, 0)
    if folder.is_symlink() or not closed:
        return tempfile.mkdtemp(prefix="csc_nb-kernels-")
    return str(folder)


_keep_kernels_somewhere()


def __getattr__(name):
    if name in _HOME:
        value = globals()[name] = getattr(_import(f"{__name__}.{_HOME[name]}"), name)
        return value
    raise AttributeError(f"module 'csc_nb' has no attribute {name!r}{_where(name)}")


def _where(name):
    "A name that is not public may still stand in a module."
    if name.startswith("_"):
        return ""
    from ._modidx import d

    homes = [module for module, known in d["syms"].items() if f"{module}.{name}" in known]
    return f"; import it from {' or '.join(homes)}" if homes else ""


def __dir__():
    return [*__all__, "__version__"]
