"""Baselines: the methods that every paper compares with.

Names are imported on first use, as in `csc_nb`.
"""

from importlib import import_module as _import
from importlib.util import find_spec as _find


def _names():
    "Public name -> its module below `csc_nb.baselines`, read from nbdev's index."
    from .._modidx import d

    found = {}
    for module, symbols in d["syms"].items():
        if module.startswith(f"{__name__}."):
            short = (full[len(module) + 1 :] for full in symbols)
            found |= {n: module for n in short if "." not in n and n[0] != "_"}
    return found


def __getattr__(name):
    if not name.startswith("_") and _find(f"{__name__}.{name}"):
        return _import(f"{__name__}.{name}")
    module = None if name.startswith("_") else _names().get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(_import(module), name)
    return value


def __dir__():
    return sorted(_names())
