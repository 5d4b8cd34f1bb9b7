"""Named mutants: `python tools/mutants.py [--sample N] [--jobs N] [NAME or LIST ...]`.

Each breaks one place of a module; a test it names must notice. The list is in
`tests/mutants_*.toml`: module, the text to replace (it stands there once), the new text,
the tests. The package is copied to temporary folders, so the tree is never changed. A
folder serves one mutant after the other: kernels that a mutant leaves alone stay compiled.
`--sample N` takes N of them at random (`--seed` says which).
"""

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIMIT = 600  # seconds; a mutant that hangs is noticed


def mutants():
    "Every mutant of the lists."
    for path in sorted((ROOT / "tests").glob("mutants_*.toml")):
        with open(path, "rb") as f:
            for m in tomllib.load(f)["mutant"]:
                yield path.stem.removeprefix("mutants_"), m


def chosen(wanted, sample, seed):
    "The mutants that were asked for by name or list, or a random sample."
    found = [(r, m) for r, m in mutants() if not wanted or {r, m["name"]} & wanted]
    if sample and sample < len(found):
        found = random.Random(seed).sample(found, sample)
    return sorted(found, key=lambda x: x[1]["module"])  # neighbours share kernels


def workplace(tmp):
    "A copy of what the tests need."
    skip = shutil.ignore_patterns("__pycache__", "*.nbc", "*.nbi")
    for name in ("csc_nb", "tests", "tools"):
        shutil.copytree(ROOT / name, tmp / name, ignore=skip)
    (tmp / "nbs").symlink_to(ROOT / "nbs")
    return tmp


def survives(m, tmp):
    "None when the mutant is noticed, else why not. The module is put back afterwards."
    target = tmp / m["module"]
    text = target.read_text(encoding="utf-8")
    if text.count(m["old"]) != 1:
        return f"the text to replace stands {text.count(m['old'])} times"
    target.write_text(text.replace(m["old"], m["new"]), encoding="utf-8")
    env = {**os.environ, "PYTHONPATH": str(tmp), "NUMBA_CACHE_DIR": str(tmp / "kernels")}
    env |= {"PYTHONDONTWRITEBYTECODE": "1", "CSC_NB_QUIET": "1"}
    cmd = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"]
    try:
        done = subprocess.run(
            [*cmd, *m["tests"]], cwd=tmp, env=env, capture_output=True, timeout=LIMIT
        )
        return "no test failed" if done.returncode == 0 else None
    except subprocess.TimeoutExpired:
        return None
    finally:
        target.write_text(text, encoding="utf-8")


def run(found, jobs):
    "(list, mutant, why it survives or None, seconds) as they end."
    here = threading.local()
    with tempfile.TemporaryDirectory() as tmp, ThreadPoolExecutor(jobs) as pool:

        def one(item):
            if not hasattr(here, "place"):
                here.place = workplace(Path(tempfile.mkdtemp(dir=tmp)))
            start = time.time()
            return *item, survives(item[1], here.place), time.time() - start

        yield from pool.map(one, found)


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("names", nargs="*")
    ap.add_argument("--sample", type=int, default=0)
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--jobs", type=int, default=os.cpu_count())
    args = ap.parse_args()
    found = chosen(set(args.names), args.sample, args.seed)
    killed = 0
    for room, m, why, seconds in run(found, args.jobs):
        killed += why is None
        word = "killed" if why is None else f"SURVIVES: {why}"
        print(f"{room:10} {m['name']:50} {seconds:4.0f} s {word}", flush=True)
    print(f"{killed} of {len(found)} mutants killed ({killed / max(len(found), 1):.0%})")
    sys.exit(killed < 0.9 * len(found))


if __name__ == "__main__":
    main()
