"""What a release must stand: `python tools/release.py [CHECK ...]`, or `make
release-check`.

pythons   the wheel with its newest dependencies in a fresh environment, for every Python
          of 3.11, 3.12, 3.13 that this machine has
lowest    the same with the lowest versions that settings.ini allows
nbdev3    nbdev 3 exports the same modules, but for the line that names it
What is not here is said, not skipped in silence.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from configparser import ConfigParser
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VERSIONS = ("3.11", "3.12", "3.13")
SMOKE = ROOT / "tools" / "smoke.py"


def settings():
    parser = ConfigParser(delimiters=["="], interpolation=None)
    parser.read(ROOT / "settings.ini", encoding="utf-8")
    return parser["DEFAULT"]


def lowest(requirements):
    "Constraints that hold every requirement at its lower bound (its newest patch)."
    found = []
    for one in requirements.split():
        match = re.fullmatch(r"([\w-]+)(?:\[\w+\])?>=([\d.]+)", one)
        if not match:
            raise ValueError(f"settings.ini: {one} has no lower bound.")
        name, version = match.groups()
        found.append(f"{name}=={version}" + (".*" if version.count(".") == 1 else ""))
    return found


def interpreters():
    "Version → program, for the versions that this machine has."
    homes = sorted((Path.home() / ".pyenv" / "versions").glob("*/bin"))
    folders = [*os.environ.get("PATH", "").split(os.pathsep), *map(str, homes)]
    found = {}
    for version in VERSIONS:
        programs = (shutil.which(f"python{version}", path=f) for f in folders)
        first = next((p for p in programs if p and starts(p)), None)
        if first:
            found[version] = first
    return found


def starts(program):
    "Some programs of that name only say that their version is not switched on."
    return subprocess.run([program, "-c", ""], capture_output=True).returncode == 0


def alone():
    "The variables of a new user: no folder of ours is looked at by Python or pip."
    return {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}


def run(*cmd, env=None, **kwargs):
    cmd, env = [str(c) for c in cmd], env or alone()
    done = subprocess.run(cmd, capture_output=True, text=True, env=env, **kwargs)
    if done.returncode:
        print(done.stdout[-3000:], done.stderr[-3000:], sep="\n")
    return done


def environment(program, folder, *requirements):
    "A fresh environment with these requirements; its Python, or None."
    run(program, "-m", "venv", folder)
    python = folder / "bin" / "python"
    install = (python, "-m", "pip", "install", "-q", "--disable-pip-version-check")
    return python if run(*install, *requirements).returncode == 0 else None


def smoke(python, folder):
    "The smoke test outside of the repository; True when it passes."
    env = {**alone(), "NUMBA_CACHE_DIR": str(folder / "kernels")}
    return run(python, SMOKE, folder, cwd=folder, env=env).returncode == 0


def wheel(folder):
    how = ("--no-deps", "--no-build-isolation", "-q", "-w", folder)
    run(sys.executable, "-m", "pip", "wheel", *how, ROOT)
    return next(folder.glob("*.whl"))


def pythons(tmp):
    "The newest dependencies on every Python that is here."
    built, here, ok = wheel(tmp), interpreters(), True
    for version in VERSIONS:
        if version not in here:
            print(f"Python {version}: not on this machine, not tried")
            continue
        folder = tmp / version
        python = environment(here[version], folder, built)
        passed = bool(python) and smoke(python, folder)
        print(f"Python {version}: {'ok' if passed else 'FAILED'}", flush=True)
        ok = ok and passed
    return ok


def lowest_versions(tmp):
    "The lowest versions that settings.ini allows, on the oldest Python."
    pins, first = lowest(settings()["requirements"]), settings()["min_python"]
    program = interpreters().get(first)
    if program is None:
        print(f"lowest versions: Python {first} is not on this machine, not tried")
        return True
    python = environment(program, tmp / "low", wheel(tmp), *pins)
    passed = bool(python) and smoke(python, tmp / "low")
    print(f"lowest versions ({' '.join(pins)}): {'ok' if passed else 'FAILED'}", flush=True)
    return passed


def without_banner(text):
    "A module without its first docstring, marks of cells, directives and blank lines."
    marks = ("# %% ", "#|")
    lines = [line for line in text.splitlines() if not line.startswith(marks)]
    code = "\n".join(line.rstrip() for line in lines if line.strip())
    return re.sub(r'\A""".*?"""\n', "", code, flags=re.S)


def nbdev3(tmp):
    "nbdev 3, which reads pyproject.toml, exports what nbdev 2 exported."
    program = interpreters().get("3.12") or interpreters().get("3.13") or sys.executable
    python = environment(program, tmp / "nb3", "nbdev>=3")
    if python is None:
        print("nbdev 3: could not be installed here, not tried")
        return True
    tree = tmp / "tree"
    skip = shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints")
    for name in ("nbs", "csc_nb"):
        shutil.copytree(ROOT / name, tree / name, symlinks=True, ignore=skip)
    for name in ("pyproject.toml", "settings.ini", "_quarto.yml", "README.md"):
        shutil.copy(ROOT / name, tree)
    here = Path(python).parent
    program = next(p for p in (here / "nbdev-export", here / "nbdev_export") if p.exists())
    if run(program, cwd=tree).returncode:
        print("nbdev 3: FAILED")
        return False
    run(sys.executable, ROOT / "tools" / "export.py", "--docstrings-only", tree)
    differ = []
    for path in sorted((ROOT / "csc_nb").rglob("*.py")):
        other = tree / path.relative_to(ROOT)
        ours = path.read_text(encoding="utf-8")
        if "AUTOGENERATED" in ours and path.name != "_modidx.py":
            theirs = other.read_text(encoding="utf-8") if other.exists() else ""
            if without_banner(ours) != without_banner(theirs):
                differ.append(path.name)
    print(f"nbdev 3: {'the same modules' if not differ else f'other modules: {differ}'}")
    return not differ


CHECKS = {"pythons": pythons, "lowest": lowest_versions, "nbdev3": nbdev3}


def main():
    wanted, failed = sys.argv[1:] or list(CHECKS), []
    for name in wanted:
        with tempfile.TemporaryDirectory() as tmp:
            if not CHECKS[name](Path(tmp)):
                failed.append(name)
    sys.exit(f"failed: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
