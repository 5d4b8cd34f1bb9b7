"""Named mutants: `python tools/mutants.py [NAME ...]`. Each breaks one place of a module; a test it names must notice.

The list is in `tests/mutants_*.toml`: module, the text to replace (it stands there once), the new text, the tests.
The package is copied to a temporary folder, so the tree is never changed.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def mutants():
    "Every mutant of the lists."
    for path in sorted((ROOT / "tests").glob("mutants_*.toml")):
        with open(path, "rb") as f:
            for m in tomllib.load(f)["mutant"]:
                yield path.stem.removeprefix("mutants_"), m


def survives(m):
    "None when the mutant is noticed, else why not."
    with tempfile.TemporaryDirectory() as tmp:
        tmp = Path(tmp)
        skip = shutil.ignore_patterns("__pycache__")
        for name in ("csc_nb", "tests", "tools", "nbs"):
            if name == "nbs":
                (tmp / name).symlink_to(ROOT / name)
            else:
                shutil.copytree(ROOT / name, tmp / name, ignore=skip)
        target = tmp / m["module"]
        text = target.read_text()
        if text.count(m["old"]) != 1:
            return f"the text to replace stands {text.count(m['old'])} times"
        target.write_text(text.replace(m["old"], m["new"]))
        env = {**os.environ, "PYTHONPATH": str(tmp), "NUMBA_CACHE_DIR": str(tmp / "cache")}
        cmd = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-x",
            "-p",
            "no:cacheprovider",
            *m["tests"],
        ]
        try:
            done = subprocess.run(cmd, cwd=tmp, env=env, capture_output=True, timeout=600)
        except subprocess.TimeoutExpired:
            return None
        return "no test failed" if done.returncode == 0 else None


def main():
    wanted, killed, total = set(sys.argv[1:]), 0, 0
    for room, m in mutants():
        if wanted and m["name"] not in wanted and room not in wanted:
            continue
        total += 1
        why = survives(m)
        killed += why is None
        print(
            f"{room:10} {m['name']:50} {'killed' if why is None else 'SURVIVES: ' + why}",
            flush=True,
        )
    print(f"{killed} of {total} mutants killed ({killed / max(total, 1):.0%})")
    sys.exit(killed < 0.9 * total)


if __name__ == "__main__":
    main()
