"""Baselines: the methods that every paper compares with. Names are imported on first use, as in `csc_nb`."""
from importlib import import_module as _import
from importlib.util import find_spec as _find


def _names():
    "Public name -> its module below `csc_nb.baselines`, read from nbdev's index."
    from .._modidx import d
    here = __name__ + "."
    return {full[len(m) + 1:]: m for m, symbols in d["syms"].items() if m.startswith(here)
            for full in symbols if "." not in full[len(m) + 1:] and not full[len(m) + 1:].startswith("_")}


def __getattr__(name):
    if not name.startswith("_") and _find(f"{__name__}.{name}"): return _import(f"{__name__}.{name}")
    module = None if name.startswith("_") else _names().get(name)
    if module is None: raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(_import(module), name)
    return value


def __dir__():
    return sorted(_names())
