"""Lines that are wider than the page: `python tools/longlines.py [--write | --anew]`.

The formatter wraps code and leaves strings and comments; this looks at those too, in the
code cells of notebooks, in tests, tools and benchmarks. `# fmt: skip` exempts a line.
`tests/longlines_allowed.txt` says how many each file still has; it may only get shorter.
"""

import sys
from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parent.parent
ALLOWED = ROOT / "tests" / "longlines_allowed.txt"
WIDTH = 92


def sources(root=ROOT):
    "(name, text) of everything that people read as code."
    for folder in ("tests", "tools", "benchmarks"):
        for path in sorted((root / folder).glob("*.py")):
            yield path.relative_to(root).as_posix(), path.read_text(encoding="utf-8")
    for path in sorted((root / "csc_nb").rglob("__*__.py")):  # written by hand
        yield path.relative_to(root).as_posix(), path.read_text(encoding="utf-8")
    for path in sorted((root / "nbs").rglob("*.ipynb")):
        if any(part.startswith((".", "_")) for part in path.relative_to(root).parts):
            continue
        cells = nbformat.read(path, 4).cells
        code = "\n".join(c.source for c in cells if c.cell_type == "code")
        yield path.relative_to(root).as_posix(), code


def too_long(text):
    "The lines over the width, directives and `# fmt: skip` excepted."
    return [
        line
        for line in text.splitlines()
        if len(line) > WIDTH and "# fmt: skip" not in line and not line.startswith("#|")
    ]


def allowed():
    lines = ALLOWED.read_text().splitlines() if ALLOWED.exists() else []
    rows = (line.split() for line in lines if line)
    return {name: int(count) for name, count in rows}


def check():
    "True when no file has more long lines than the list says; prints the new ones."
    limit, ok = allowed(), True
    for name, text in sources():
        long = too_long(text)
        if len(long) > limit.get(name, 0):
            ok = False
            print(f"{name}: {len(long)} lines over {WIDTH}, allowed {limit.get(name, 0)}")
            print(*(f"    {line.strip()[:80]} …" for line in long[:5]), sep="\n")
    if not ok:
        print("Wrap them; after a merge of older work, once: tools/longlines.py --anew")
    return ok


def write():
    "Take today's counts as the limit; a limit never rises."
    limit = allowed() if ALLOWED.exists() else {}
    rows = []
    for name, text in sources():
        count = len(too_long(text))
        count = min(count, limit.get(name, 0)) if limit else count
        if count:
            rows.append(f"{name} {count}")
    ALLOWED.write_text("\n".join(rows) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if "--anew" in sys.argv[1:]:
        ALLOWED.unlink(missing_ok=True)
    if {"--write", "--anew"} & set(sys.argv[1:]):
        write()
    sys.exit(not check())
