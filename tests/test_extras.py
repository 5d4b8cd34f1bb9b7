"""Each extra, alone in a clean environment, does what README says of it.

The environment is made by `python -m venv`; what is installed here is not downloaded again: the folders of the
requirements of one extra (and of what they require) are linked into it, and nothing else.
"""

import configparser
import importlib.metadata as meta
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
pytestmark = pytest.mark.skipif(
    not (ROOT / "settings.ini").exists(), reason="needs the repository"
)


def requirements(extra):
    cfg = configparser.ConfigParser(delimiters=["="], interpolation=None)
    cfg.read(ROOT / "settings.ini", encoding="utf-8")
    own = cfg["DEFAULT"]["requirements"].split()
    return own + (cfg["DEFAULT"][f"{extra}_requirements"].split() if extra else [])


def closure(names):
    "Installed distributions that these need, and theirs."
    from packaging.requirements import Requirement

    todo, found = [Requirement(n) for n in names], {}
    while todo:
        r = todo.pop()
        key = re.sub(r"[-_.]+", "-", r.name).lower()
        extras = tuple(sorted(r.extras))
        if (key, extras) in found:
            continue
        try:
            d = meta.distribution(r.name)
        except meta.PackageNotFoundError:
            pytest.skip(f"{r.name} is not installed here")
        found[key, extras] = d
        for text in d.requires or []:
            q = Requirement(text)
            wanted = [dict(extra=e) for e in ("", *extras)]
            if q.marker is None or any(q.marker.evaluate(e) for e in wanted):
                todo.append(q)
    return {k[0]: d for k, d in found.items()}.values()


@pytest.fixture
def python(tmp_path):
    "A function: extra → the Python of an environment that has only that extra."

    def make(extra):
        env = tmp_path / (extra or "plain")
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", env], check=True)
        place = next((env / "lib").glob("python*/site-packages"))
        for d in closure(requirements(extra)):
            home = Path(d.locate_file(""))
            tops = {
                f.parts[0]
                for f in d.files or []
                if f.parts and f.parts[0] not in ("..", "__pycache__")
            }
            for top in tops:
                if not (place / top).exists() and (home / top).exists():
                    os.symlink(home / top, place / top)
        (place / "csc_nb").symlink_to(ROOT / "csc_nb")
        return env / "bin" / "python"

    return make


def run(python, code, folder):
    keep = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    return subprocess.run(
        [python, "-c", code],
        cwd=folder,
        capture_output=True,
        text=True,
        env=keep,
        timeout=300,
    )


def test_nothing_but_the_package_clusters_a_table(python, tmp_path):
    (tmp_path / "t.csv").write_text(
        "id,x\n" + "".join(f"r{i},{i % 2 * 9 + i / 50}\n" for i in range(20))
    )
    (tmp_path / "p.csv").write_text("r0,r2,same\nr0,r1,different\n")
    code = (
        "from csc_nb.cli import main; import sys;"
        "assert main(['cluster', 't.csv', '--pairs', 'p.csv', '--n-clusters', '2']) == 0;"
        "assert main(['predict', 'labels.json', 't.csv']) == 0;"
        "assert main(['ask', 't.csv', '--no-browser']) == 2;"
        "assert 'pandas' not in sys.modules"
    )
    done = run(python(""), code, tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "csc-nb[web]" in done.stderr and "http" not in done.stdout


CODE = {
    "web": "from csc_nb.page import Site; import voila, ipykernel, anywidget",
    "frames": "from csc_nb import read_table; print(read_table({'x': [1, 2, 4]}).frame())",
    "dask": "import dask.distributed, csc_nb.sweeps",
    "docs": "import sphinx, myst_nb, sphinx_book_theme",
}


@pytest.mark.parametrize("extra", list(CODE))
def test_an_extra_alone(python, tmp_path, extra):
    done = run(python(extra), CODE[extra], tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
