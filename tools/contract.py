"""The pinned contract: signatures, methods and attributes of every public name.

`python tools/contract.py` says what changed, `--write` takes the change as a decision.
The file is `tests/contract.txt`, one fact a line, so that a diff is easy to read.
"""

import inspect
import re
import sys
from pathlib import Path

from reference import entries, sections

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "tests" / "contract.txt"


def signature(thing):
    "Parameters with their kinds and defaults; annotations are left out."
    plain = inspect.signature(thing)
    bare = [p.replace(annotation=p.empty) for p in plain.parameters.values()]
    text = str(plain.replace(parameters=bare, return_annotation=plain.empty))
    return re.sub(r" at 0x[0-9a-f]+", "", text)


def facts(name, thing):
    "One line for each thing that others may rely on."
    yield f"{name}{signature(thing)}"
    if not inspect.isclass(thing):
        return
    parts = sections(inspect.getdoc(thing) or "")
    for words, _, _ in entries(parts.get("Attributes", [])):
        for word in words.split(", "):
            yield f"{name}.{word}"
    for word, member in inspect.getmembers(thing):
        home = getattr(inspect.unwrap(member), "__module__", None) or ""
        if word.startswith("_") or not home.startswith("csc_nb"):
            continue
        if inspect.isfunction(member) or inspect.ismethod(member):
            yield f"{name}.{word}{signature(member)}"


def contract():
    "All facts, sorted."
    sys.path.insert(0, str(ROOT))
    import csc_nb

    return sorted({f for n in csc_nb.__all__ for f in facts(n, getattr(csc_nb, n))})


def changes():
    "Facts that the file has and the code has not, and the other way round."
    pinned = FILE.read_text(encoding="utf-8").splitlines() if FILE.exists() else []
    now = contract()
    return sorted(set(pinned) - set(now)), sorted(set(now) - set(pinned))


def main():
    gone, new = changes()
    for sign, lines in (("-", gone), ("+", new)):
        for line in lines:
            print(sign, line)
    if "--write" in sys.argv[1:]:
        FILE.write_text("\n".join(contract()) + "\n", encoding="utf-8")
    elif gone or new:
        sys.exit("The contract changed. Meant so? `python tools/contract.py --write`.")


if __name__ == "__main__":
    main()
