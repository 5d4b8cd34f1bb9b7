"""What a type checker does not find on our own classes: `python tools/attributes.py`.

Pyright reads the whole package. Errors about attributes of classes that we wrote are
failures: an editor would not complete them. Those of other libraries are not ours.
`tests/attributes_allowed.txt` lists what is still open (file, class, attribute); it may
only get shorter.
"""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ALLOWED = ROOT / "tests" / "attributes_allowed.txt"
UNKNOWN = re.compile(r'attribute "(\w+)" for class "([^"]*)"')


def command():
    "How pyright starts without fetching anything; None when that cannot be."
    spec, node = find_spec("pyright"), shutil.which("node")
    if spec is None or node is None:
        return None
    script = Path(spec.origin).parent / "dist" / "index.js"  # it comes with the wheel
    return [node, str(script)] if script.exists() else None


def own_classes(package=ROOT / "csc_nb"):
    "Names of all classes of the package."
    nodes = (n for p in package.rglob("*.py") for n in ast.walk(ast.parse(p.read_text())))
    return {n.name for n in nodes if isinstance(n, ast.ClassDef)}


def about_our_own(report, own, root=ROOT):
    "`file Class.attribute` for each complaint of pyright about a class of ours."
    found = set()
    for item in report["generalDiagnostics"]:
        match = UNKNOWN.search(item["message"])
        if item.get("rule") != "reportAttributeAccessIssue" or not match:
            continue
        names = [n for n in re.findall(r"\w+", match[2]) if n in own]
        if names:
            file = Path(item["file"]).relative_to(root).as_posix()
            found.add(f"{file} {names[0]}.{match[1]}")
    return found


def allowed():
    lines = ALLOWED.read_text().splitlines() if ALLOWED.exists() else []
    return {line for line in lines if line and not line.startswith("#")}


def check():
    "True when nothing new is unknown; prints what is, and what may leave the list."
    start = command()
    if start is None:
        print("pyright or node is not there: attributes were not checked.")
        return os.environ.get("CSC_NB_BROWSER") != "1"  # CI must check them
    python = ["--pythonpath", sys.executable, "--outputjson"]
    done = subprocess.run([*start, *python], cwd=ROOT, capture_output=True, text=True)
    try:
        report = json.loads(done.stdout)
    except ValueError:
        print(done.stdout[-2000:], done.stderr[-2000:])
        return False
    if not report["summary"]["filesAnalyzed"]:
        print("pyright found no file to read.")
        return False
    found, open_ones = about_our_own(report, own_classes()), allowed()
    for line in sorted(open_ones - found):
        print(f"repaired, take it out of {ALLOWED.name}: {line}")
    for line in sorted(found - open_ones):
        print(f"not declared in its class: {line}")
    return not found - open_ones


if __name__ == "__main__":
    sys.exit(not check())
