"""Clustering with imperfect human help: five papers as executable, tested notebooks.

Public names are found in the exported modules and imported on first use, so `import csc_nb` stays light
and a new notebook needs no edit here.
"""
from importlib import import_module as _import

__version__ = "0.1.0"


def _names():
    "Public name -> the modules that define it, read from nbdev's index."
    from ._modidx import d
    found = {}
    for module, symbols in d["syms"].items():
        for full in symbols:
            name = full[len(module) + 1:]
            if "." not in name and not name.startswith("_"): found.setdefault(name, []).append(module)
    return found


def __getattr__(name):
    if name.startswith("_"): raise AttributeError(name)
    modules = _names().get(name, [])
    if len(modules) == 1:
        value = globals()[name] = getattr(_import(modules[0]), name)
        return value
    if modules: raise AttributeError(f"{name!r} is in several modules: import it from one of {', '.join(modules)}.")
    raise AttributeError(f"module 'csc_nb' has no attribute {name!r}")


def __dir__():
    return sorted(k for k, v in _names().items() if len(v) == 1)
