"""Everything CI needs: `python tools/test.py [--slow] [STEP ...]`.

Each step prints its seconds and CPU seconds; the first failures are shown in full.
"""

import argparse
import filecmp
import os
import re
import resource
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

import attributes
import longlines as long_lines
from execute import notebooks, source_hash
from machine import plain_arithmetic

ROOT = Path(__file__).resolve().parent.parent
STEPS = {}
LIMIT = 3000  # seconds for one command; a hang is a failure, not a wait
BESIDE = [["site"], ["package", "types"]]  # each uses one core, so they run side by side


def step(f):
    STEPS[f.__name__] = f
    return f


def run(*cmd, cwd=ROOT, **env):
    "Run a command; on failure its output is shown."
    try:
        done = subprocess.run(
            [str(c) for c in cmd],
            cwd=cwd,
            env={**os.environ, **env},
            capture_output=True,
            text=True,
            timeout=LIMIT,
        )
    except subprocess.TimeoutExpired as e:
        print(
            f"{cmd[0]} did not end within {LIMIT} s.",
            (e.stdout or b"")[-5000:].decode(errors="replace"),
            sep="\n",
        )
        return False
    if done.returncode:
        print(done.stdout[-15000:], done.stderr[-15000:], sep="\n", flush=True)
    return done.returncode == 0


def differences(a, b, suffix):
    names = {
        p.relative_to(x)
        for x in (a, b)
        for p in x.rglob(f"*{suffix}")
        if "__pycache__" not in p.parts
    }
    return sorted(
        str(n)
        for n in names
        if not (
            (a / n).exists()
            and (b / n).exists()
            and filecmp.cmp(a / n, b / n, shallow=False)
        )
    )


@step
def export(slow=False):
    "The exported package and the cleaned notebooks are what nbdev would write."
    with tempfile.TemporaryDirectory() as tmp:
        tmp = Path(tmp)
        for d in ("nbs", "csc_nb"):
            shutil.copytree(
                ROOT / d,
                tmp / d,
                symlinks=True,
                ignore=shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints"),
            )
        for f in ("settings.ini", "_quarto.yml"):
            shutil.copy(ROOT / f, tmp)
        bin = Path(sys.executable).parent
        ok = run(sys.executable, ROOT / "tools" / "export.py", tmp)
        ok = ok and run(bin / "nbdev_clean", cwd=tmp)
        stale = differences(ROOT / "csc_nb", tmp / "csc_nb", ".py")
        dirty = differences(ROOT / "nbs", tmp / "nbs", ".ipynb")
    for f in stale:
        print(f"csc_nb/{f} is not what its notebook exports: run `make notebooks`.")
    for f in dirty:
        print(f"nbs/{f} is not clean: run `make notebooks`.")
    return ok and not stale and not dirty


@step
def outputs(slow=False):
    "Every notebook was executed as it stands, and no saved output is an error."
    import nbformat

    bad = []
    for p in notebooks():
        nb = nbformat.read(p, 4)
        if nb.metadata.get("executed") != source_hash(nb):
            bad.append(f"{p.name}: outputs are older than the code: run `make notebooks`.")
        if any(o.output_type == "error" for c in nb.cells for o in c.get("outputs", [])):
            bad.append(f"{p.name}: a saved output is an error.")
    print(*bad, sep="\n", end="\n" if bad else "")
    return not bad


@step
def readme(slow=False):
    "README.md says what the landing page says."
    return run(sys.executable, "tools/readme.py", "--check")


@step
def notebook_cells(slow=False):
    "Every cell of every notebook runs, and says what its saved output says."
    flags = ["--slow"] if slow else []
    cmd = [sys.executable, "tools/cells.py", *flags]
    try:
        return subprocess.run(cmd, cwd=ROOT, timeout=LIMIT).returncode == 0
    except subprocess.TimeoutExpired:
        print(f"the notebooks did not end within {LIMIT} s.")
        return False


@step
def site(slow=False):
    "The site builds, has no broken link and fetches nothing."
    return run(sys.executable, "tools/site.py")


@step
def tests(slow=False):
    "pytest; browser tests need Chromium, `CSC_NB_BROWSER=1` makes them obligatory."
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-n",
            str(os.cpu_count() + 1),  # a browser's tests wait most of the time
            "--dist",
            "loadfile",
            "--no-loadscope-reorder",  # conftest.py puts long files first
            "-m",
            "" if slow else "not slow",
        ],
        cwd=ROOT,
    )
    return done.returncode == 0


def borrowed_environment(folder):
    "An empty environment that sees the packages of this one, but not our own package."
    run(sys.executable, "-m", "venv", "--without-pip", folder)
    python = folder / "bin" / "python"
    ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
    own = subprocess.check_output([python, "-c", ask], text=True).strip()
    (Path(own) / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python


@step
def package(slow=False):
    "Source distribution, wheel and editable install: the same names, the same smoke test."
    with tempfile.TemporaryDirectory() as tmp:
        tmp = Path(tmp)
        skip = shutil.ignore_patterns(
            ".git", ".venv", "_docs", "_proc", "__pycache__", "nbs"
        )
        shutil.copytree(ROOT, tmp / "tree", symlinks=True, ignore=skip)
        make = "import setuptools.build_meta as b; b.build_sdist('../sdist')"
        if not run(sys.executable, "-c", make, cwd=tmp / "tree"):
            return False
        pip = (sys.executable, "-m", "pip", "--disable-pip-version-check")
        how = ("--no-deps", "--no-build-isolation", "-q")
        if not run(*pip, "wheel", *how, "-w", tmp / "wheel", tmp / "tree"):
            return False
        kinds = {
            "sdist": [next((tmp / "sdist").glob("*.tar.gz"))],
            "wheel": [next((tmp / "wheel").glob("*.whl"))],
            "editable": ["-e", tmp / "tree"],
        }
        said = {}
        for kind, what in kinds.items():
            python = borrowed_environment(tmp / kind)
            into = (*pip, "--python", python, "install", "--force-reinstall", *how, *what)
            if not run(*into):
                return False
            home = tmp / "tree" if kind == "editable" else tmp / kind
            env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
            env["NUMBA_CACHE_DIR"] = str(tmp / "kernels")
            done = subprocess.run(
                [python, ROOT / "tools" / "smoke.py", home],
                capture_output=True,
                text=True,
                cwd=tmp,
                env=env,
            )
            if done.returncode:
                print(kind, done.stdout[-3000:], done.stderr[-3000:], sep="\n")
                return False
            said[kind] = done.stdout
        if len(set(said.values())) > 1:
            print("the installs differ:", *said.items(), sep="\n")
        return len(set(said.values())) == 1


@step
def lint(slow=False):
    """Everything is formatted, one statement a line, no unknown name (`make format`
    repairs)."""
    ruff = Path(sys.executable).parent / "ruff"
    return run(ruff, "format", "--check", ".") and run(ruff, "check", ".")


@step
def longlines(slow=False):
    "No line is wider than the page, but those that are on the list."
    return long_lines.check()


@step
def types(slow=False):
    "A type checker knows every attribute of our own classes (pyright)."
    return attributes.check()


def cpu_seconds():
    "CPU time of the steps so far, with their processes."
    used = [resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def run_step(name, slow):
    "Run one step and print its seconds; True when it is well."
    start, cpu = time.time(), cpu_seconds()
    ok = STEPS[name](slow)
    word, took, used = "ok" if ok else "FAILED", time.time() - start, cpu_seconds() - cpu
    print(f"{name:15} {word:7} {took:5.0f} s {used:5.0f} CPU s", flush=True)
    return ok


def side_by_side(groups, slow):
    "Groups of steps in a process each; the names of those that failed."
    flags = ["--slow"] if slow else []
    how = dict(cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    command = [sys.executable, __file__, *flags]
    running = [subprocess.Popen([*command, *group], **how) for group in groups]
    failed = []
    for group, process in zip(groups, running):
        said, _ = process.communicate()
        print(said, end="", flush=True)
        well = re.findall(r"^(\w+) +ok ", said, re.M)
        failed += [name for name in group if name not in well]
    return failed


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("steps", nargs="*", choices=[[], *STEPS], default=[])
    ap.add_argument("--slow", action="store_true")
    args = ap.parse_args()
    plain_arithmetic()
    os.environ["CSC_NB_QUIET"] = "1"
    failed, beside = [], [name for group in BESIDE for name in group]
    for name in args.steps or STEPS:
        if args.steps or name not in beside:
            failed += [name] * (not run_step(name, args.slow))
        elif name == beside[0]:
            failed += side_by_side(BESIDE, args.slow)
    sys.exit(f"failed: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
