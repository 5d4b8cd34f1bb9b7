"""Each extra, alone in a clean environment, does what README says of it.

The environment is made by `python -m venv`; what is installed here is not downloaded again:
the folders of the
requirements of one extra (and of what they require) are linked into it, and nothing else.
"""

import configparser
import importlib.metadata as meta
import os
import re
import signal
import subprocess
import sys
import urllib.request
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
            for f in d.files or []:  # templates and kernels beside the packages
                source = Path(os.path.normpath(home / f))
                if "share" in f.parts and f.parts[0] == ".." and source.is_file():
                    target = env / source.relative_to(sys.prefix)
                    target.parent.mkdir(parents=True, exist_ok=True)
                    if not target.exists():
                        os.symlink(source, target)
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


TABLE = "id,x\n" + "".join(f"r{i},{i % 2 * 9 + i / 50}\n" for i in range(20))


def absent(python, modules, folder):
    "What the environment must not have, or the test would prove nothing."
    code = (
        f"from importlib.util import find_spec as f; print([m for m in {modules} if f(m)])"
    )
    assert run(python, code, folder).stdout.strip() == "[]"


def test_web_alone_serves_the_labelling_page(python, tmp_path):
    "The address that `csc-nb ask` prints answers with the first screen, not with an error."
    alone = python("web")
    absent(alone, ["pandas", "dask", "sphinx", "pytest"], tmp_path)
    (tmp_path / "t.csv").write_text(TABLE)
    code = "from csc_nb.cli import main; main(['ask', 't.csv', '--no-browser'])"
    keep = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    keep |= dict(HOME=str(tmp_path), JUPYTER_CONFIG_DIR=str(tmp_path / "none"))
    ours = subprocess.Popen(
        [alone, "-c", code], cwd=tmp_path, text=True, env=keep,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        first = ours.stdout.readline()
        assert first.startswith("Open http://127.0.0.1"), first + ours.stderr.read()
        address = first.split()[1]
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        with opener.open(address, timeout=240) as answer:
            page = answer.read().decode()
        assert answer.status == 200 and "Internal Server Error" not in page
        assert "rows here" in page or "What is compared" in page or "csc" in page
        assert "anywidget" in page and "Traceback" not in page
    finally:
        ours.send_signal(signal.SIGINT)
        ours.communicate(timeout=60)


CODE = {
    "frames": """
import numpy as np
import pandas as pd
from csc_nb import AnswerClustering, Constraints, read_table
from csc_nb.report import cluster_table
t = read_table(pd.DataFrame({'x': [1, 2, 9, 10], 'y': ['a', 'b', 'a', 'b']}))
assert t.frame().shape == (4, 2)
run = cluster_table('t.csv', n_clusters=2)
assert list(run.frame().columns)[:2] == ['id', 'cluster'] or run.frame().shape[0] == 20
""",
    "dask": """
from dask.distributed import Client, LocalCluster
from csc_nb.sweeps import sweep
if __name__ == '__main__':
    one = dict(n_workers=1, threads_per_worker=1, dashboard_address=None)
    with LocalCluster(processes=False, **one) as c:
        with Client(c) as client:
            assert client.submit(sum, [1, 2]).result() == 3
            import joblib
            with joblib.parallel_backend('dask'):
                study = sweep(['k-means'], ['iris'], noise=[0.0], seeds=1, out='s.csv',
                              n_jobs=2, progress=False)
    assert len(study) == 1
""",
    "docs": "import sphinx, myst_nb, sphinx_book_theme, sphinx_copybutton, sphinx_design",
}
OTHERS = {
    "frames": ["voila", "dask", "sphinx"],
    "dask": ["voila", "pandas", "sphinx"],
    "docs": ["voila", "dask"],
}


def test_readme_names_every_extra_that_users_have():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for extra in ("web", "frames", "dask"):
        assert f"`csc-nb[{extra}]`" in readme
    assert "slider" not in readme.split("## Learn and teach")[0]  # there is none on GitHub


@pytest.mark.parametrize("extra", list(CODE))
def test_an_extra_alone(python, tmp_path, extra):
    alone = python(extra)
    absent(alone, OTHERS[extra], tmp_path)
    (tmp_path / "t.csv").write_text(TABLE)
    done = run(alone, CODE[extra], tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
