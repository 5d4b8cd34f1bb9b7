"""Named mutants: `python tools/mutants.py [--sample N] [--jobs N] [NAME or LIST ...]`.

Each breaks one place of a module; a test it names must notice. The list is in
`tests/mutants_*.toml`: module, the text to replace (it stands there once), the new text,
the tests. A mutant counts as killed only when its tests pass on the code as it is.

The package is copied to folders of `.mutants`, so the tree is never changed. Compiled
kernels are kept from mutant to mutant. When a kernel itself is broken, those of its module
and of every module that imports it are compiled again: it may be part of them.

Results are kept in `.mutants/results.jsonl`: a run that was cut off goes on where it was,
and what changed since (the mutant, its module, its tests) runs again. `--again` forgets.
`--sample N` takes N of them at random (`--seed` says which).
"""

import argparse
import ast
import functools
import hashlib
import json
import multiprocessing as mp
import os
import random
import re
import shutil
import signal
import sys
import time
import tomllib
from multiprocessing.connection import wait
from pathlib import Path

from machine import plain_arithmetic

ROOT = Path(__file__).resolve().parent.parent
PLACES = ROOT / ".mutants"
RESULTS = PLACES / "results.jsonl"
LIMIT = 600  # seconds; a mutant that hangs is noticed
NOTICED = (1, 2)  # what pytest says when a test fails, or cannot even be loaded
HEAVY = """
numpy scipy.sparse.linalg scipy.stats scipy.optimize scipy.spatial pandas polars numba
joblib sklearn.cluster sklearn.datasets sklearn.ensemble sklearn.linear_model
sklearn.metrics sklearn.mixture sklearn.model_selection sklearn.neighbors sklearn.pipeline
sklearn.utils.estimator_checks matplotlib.pyplot ipywidgets hypothesis nbformat
"""


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


@functools.cache
def meaning(path, name=""):
    "A file of tests, or one test in it, without its layout and comments."
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    named = [node for node in tree.body if getattr(node, "name", None) == name]
    return "".join(map(ast.dump, named or tree.body))


def key(m):
    "What a result depends on: the mutant, its module and its tests (not their helpers)."
    tests = [without_case(t).split("::") for t in m["tests"]]
    parts = [json.dumps(m, sort_keys=True), (ROOT / m["module"]).read_text()]
    parts += [meaning(*test) for test in tests]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def known():
    "Key → why the mutant survived, or None; of the runs so far."
    if not RESULTS.exists():
        return {}
    rows = map(json.loads, RESULTS.read_text().splitlines())
    return {row["key"]: row["why"] for row in rows}


# What must not come from the cache of compiled kernels


def imported(path, root):
    "The modules of the package that a module imports, as paths from the root."
    here, found = path.relative_to(root).parts, set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.ImportFrom):
            continue
        base = here[: len(here) - node.level] if node.level else ()
        name = [*base, *(node.module.split(".") if node.module else ())]
        found.add("/".join(name) + ".py")
        found |= {"/".join([*name, a.name]) + ".py" for a in node.names}
    return found


def touched(module, root):
    "The module, and every module that imports it, however far away."
    graph = {}
    for path in (root / "csc_nb").rglob("*.py"):
        graph[path.relative_to(root).as_posix()] = imported(path, root)
    found, before = {module}, None
    while found != before:
        before = set(found)
        found |= {p for p, needs in graph.items() if needs & found}
    return found


def breaks_a_kernel(text, m):
    "Is the change inside a compiled function, or outside of every function?"
    start = text.index(m["old"])
    at_start = os.path.commonprefix([m["old"], m["new"]])
    first = text.count("\n", 0, start + len(at_start)) + 1
    last = text.count("\n", 0, start + len(m["old"].rstrip())) + 1
    for node in ast.parse(text).body:
        if not node.lineno <= first <= last <= node.end_lineno:
            continue
        if isinstance(node, ast.FunctionDef):
            return any("njit" in ast.unparse(d) for d in node.decorator_list)
        return not isinstance(node, ast.ClassDef)
    return True


def mutated(text, m):
    "The broken module, no shorter than before: kernels below keep their lines."
    before, after = text.split(m["old"])
    missing = m["old"].count("\n") - m["new"].count("\n")
    rest, end, below = after.partition("\n")
    return before + m["new"] + rest + end + "\n" * max(missing, 0) + below


# One process that has imported the heavy libraries; each run of pytest is forked from it


class Judge:
    "A copy of what the tests need, and pytest in it."

    def __init__(self, place):
        self.place, self.plain = place, place / "plain"
        skip = shutil.ignore_patterns("*.nbc", "*.nbi")
        for name in ("csc_nb", "tests", "tools"):
            shutil.rmtree(place / name, ignore_errors=True)
            shutil.copytree(ROOT / name, place / name, ignore=skip)
        for name in ("nbs", "settings.ini", "_quarto.yml", "CHANGELOG.md"):
            (place / name).unlink(missing_ok=True)
            (place / name).symlink_to(ROOT / name)
        self.plain.mkdir(exist_ok=True)
        os.chdir(place)
        here = {"PYTHONPATH": str(place), "NUMBA_CACHE_DIR": str(place / "kernels")}
        os.environ.update(here, CSC_NB_QUIET="1", MPLBACKEND="agg")
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        sys.dont_write_bytecode = False
        sys.path.insert(0, str(place))
        for name in [*HEAVY.split(), "pytest"]:
            __import__(name)
        self._kernels()

    def _kernels(self, broken=(), stamp=None):
        "The kernels of the code as it is, those of broken modules left out."
        from numba.core.caching import _SourceFileBackedLocatorMixin as Locator

        fresh = self.place / "kernels"
        shutil.rmtree(fresh, ignore_errors=True)
        shutil.copytree(self.plain, fresh, copy_function=os.link)
        stems = {Path(m).stem for m in broken}
        for path in fresh.rglob("*.nb[ic]"):
            if path.name.split(".")[0] in stems:
                path.unlink()
        target, when = stamp or (None, None)
        plain = vars(self).setdefault("_stamp", Locator.get_source_stamp)
        theirs = lambda loc: when if loc._py_file == target else plain(loc)
        Locator.get_source_stamp = theirs if stamp else plain

    def pytest(self, tests, *flags):
        "pytest's exit code (None: it hung) and the tests that failed."
        told, theirs = mp.Pipe(duplex=False)
        pid = os.fork()
        if not pid:
            os.setsid()
            self._child(tests, flags, theirs)
        theirs.close()
        deadline = time.time() + LIMIT
        try:
            while not told.poll(0.2):
                if time.time() > deadline:
                    return None, []
            return told.recv()
        except EOFError:
            return 1, []  # the process died: noticed
        finally:
            os.killpg(pid, signal.SIGKILL)
            os.waitpid(pid, 0)

    def _child(self, tests, flags, pipe):
        import pytest

        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        bad = []

        class Watch:
            def pytest_runtest_logreport(self, report):
                if report.failed:
                    bad.append(report.nodeid)

        cmd = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", *flags, *tests]
        code = int(pytest.main(cmd, plugins=[Watch()]))
        import csc_nb

        if Path(csc_nb.__file__).parent.parent != self.place:
            code, bad = 4, [f"another csc_nb was tested: {csc_nb.__file__}"]
        pipe.send((code, bad))
        pipe.close()
        os._exit(0)

    def as_it_is(self, tests):
        "The tests that fail without any mutant; the kernels they need are compiled."
        code, bad = self.pytest(sorted(tests))
        shutil.rmtree(self.plain)
        shutil.copytree(self.place / "kernels", self.plain)
        if code and not bad:
            return sorted(tests)
        return bad

    def survives(self, m):
        "None when the mutant is noticed, else why not. The module is put back afterwards."
        target = self.place / m["module"]
        text, times = target.read_text(encoding="utf-8"), target.stat()
        if text.count(m["old"]) != 1:
            return f"the text to replace stands {text.count(m['old'])} times"
        if breaks_a_kernel(text, m):
            self._kernels(broken=touched(m["module"], self.place))
        else:
            self._kernels(stamp=(str(target), (times.st_mtime, times.st_size)))
        self._write(target, mutated(text, m))
        try:
            code, _ = self.pytest(m["tests"], "-x")
        finally:
            self._write(target, text)
            os.utime(target, ns=(times.st_atime_ns, times.st_mtime_ns))
        if code is None or code in NOTICED:
            return None
        return f"pytest ended with {code}" if code else "no test failed"

    def _write(self, target, text):
        target.write_text(text, encoding="utf-8")
        for old in (target.parent / "__pycache__").glob(f"{target.stem}.*"):
            old.unlink()


def without_case(test):
    return re.sub(r"\[.*", "", test)


def judge(share, place, pipe, trust):
    "Run a share of the mutants; sends (list, mutant, why it survives or None, seconds)."
    here = Judge(place)
    bad = [] if trust else here.as_it_is({t for _, m in share for t in m["tests"]})
    for room, m in share:
        named = {*m["tests"], *map(without_case, m["tests"])}
        broken = [b for b in bad if {b, without_case(b), b.split("::")[0]} & named]
        start = time.time()
        why = f"fails without it: {broken[0]}" if broken else here.survives(m)
        pipe.send((room, m, why, time.time() - start))
    pipe.close()


def run(found, jobs, trust=False):
    "(list, mutant, why it survives or None, seconds) as they end."
    spawn = mp.get_context("spawn")
    size = -(-len(found) // jobs) or 1
    shares = [found[i : i + size] for i in range(0, len(found), size)]
    pipes = {}
    for i, share in enumerate(shares):
        place = PLACES / str(i)
        place.mkdir(parents=True, exist_ok=True)
        ours, theirs = spawn.Pipe(duplex=False)
        process = spawn.Process(target=judge, args=(share, place, theirs, trust))
        process.start()
        theirs.close()
        pipes[ours] = process
    while pipes:
        for pipe in wait(list(pipes)):
            try:
                yield pipe.recv()
            except EOFError:
                pipes.pop(pipe).join()


def line(room, m, why, seconds):
    word = "killed" if why is None else f"SURVIVES: {why}"
    return f"{room:10} {m['name']:60} {seconds:4.0f} s {word}"


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("names", nargs="*")
    ap.add_argument("--sample", type=int, default=0)
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--jobs", type=int, default=os.cpu_count())
    ap.add_argument("--again", action="store_true", help="forget the results so far")
    ap.add_argument(
        "--trust", action="store_true", help="the tests pass as it is: not seen"
    )
    args = ap.parse_args()
    plain_arithmetic()
    if args.again:
        RESULTS.unlink(missing_ok=True)
    PLACES.mkdir(exist_ok=True)
    found, seen = chosen(set(args.names), args.sample, args.seed), known()
    judged = {m["name"]: seen[key(m)] for _, m in found if key(m) in seen}
    rest = [(room, m) for room, m in found if m["name"] not in judged]
    if judged:
        print(f"{len(judged)} are known from earlier runs", flush=True)
    for room, m, why, seconds in run(rest, args.jobs, args.trust):
        judged[m["name"]] = why
        with open(RESULTS, "a") as f:
            print(json.dumps({"key": key(m), "name": m["name"], "why": why}), file=f)
        print(line(room, m, why, seconds), flush=True)
    rooms = {}
    for room, m in found:
        rooms.setdefault(room, []).append(judged.get(m["name"], "not run") is None)
    for room, kills in rooms.items():
        print(f"{room:10} {sum(kills):3} of {len(kills):3}")
    for room, m in found:
        why = judged.get(m["name"], "not run")
        if why:
            print(f"survives: {m['name']} ({why})")
    killed = sum(map(sum, rooms.values()))
    print(f"{killed} of {len(found)} mutants killed ({killed / max(len(found), 1):.0%})")
    sys.exit(killed < 0.9 * len(found))


if __name__ == "__main__":
    main()
