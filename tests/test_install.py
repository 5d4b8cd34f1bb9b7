"""What a first user meets: a line while compiling, a read-only install, old names."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import csc_nb


def at_the_prompt(code, *before, cwd=None, **env):
    "Output and errors of a fresh Python that runs `code`."
    plain = {k: v for k, v in os.environ.items() if k != "CSC_NB_QUIET"}
    return subprocess.run(
        [*before, sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**plain, **env},
    )


def test_the_first_fit_says_that_it_compiles_and_the_second_is_silent(tmp_path):
    code = (
        "import csc_nb.estimators, csc_nb.graph as g; "
        "g.blocks(3, [0, 1], [1, 2]); g.closure(3, must=[(0, 1)])"
    )
    first = at_the_prompt(code, NUMBA_CACHE_DIR=str(tmp_path))
    assert first.stderr.count("csc_nb: compiling") == 1, first.stderr
    assert "csc-nb warm" in first.stderr and first.stdout == ""
    assert at_the_prompt(code, NUMBA_CACHE_DIR=str(tmp_path)).stderr == ""
    quiet = at_the_prompt(code, NUMBA_CACHE_DIR=str(tmp_path / "new"), CSC_NB_QUIET="1")
    assert quiet.stderr == ""


def test_an_install_that_nobody_may_write_to_works(tmp_path):
    "No folder of the package and no home to keep kernels in: a private one is made."
    skip = shutil.ignore_patterns("__pycache__", "data")
    shutil.copytree(Path(csc_nb.__file__).parent, tmp_path / "lib" / "csc_nb", ignore=skip)
    for folder in ("home", "tmp"):
        (tmp_path / folder).mkdir()
    closed = [tmp_path / "home", tmp_path / "lib", *(tmp_path / "lib").rglob("*")]
    for path in closed:
        path.chmod(0o555)
    without_root = ()
    if hasattr(os, "getuid") and os.getuid() == 0:  # root may write everywhere
        if not shutil.which("setpriv"):
            pytest.skip("root may write everywhere, and setpriv is not there")
        without_root = ("setpriv", "--bounding-set=-dac_override,-dac_read_search")
    code = (
        "import os, csc_nb, csc_nb.graph as g; g.blocks(3, [0, 1], [1, 2]); "
        "d = os.environ['NUMBA_CACHE_DIR']; print(d, oct(os.stat(d).st_mode)[-3:])"
    )
    env = {"PYTHONPATH": str(tmp_path / "lib"), "HOME": str(tmp_path / "home")}
    env |= {"TMPDIR": str(tmp_path / "tmp"), "XDG_CACHE_HOME": "", "NUMBA_CACHE_DIR": ""}
    done = at_the_prompt(code, *without_root, cwd=tmp_path, **env)
    for path in closed:
        path.chmod(0o755)
    assert done.returncode == 0, done.stderr
    folder, mode = done.stdout.split()
    assert folder.startswith(str(tmp_path / "tmp")) and mode == "700"


def test_names_that_went_still_work_and_say_so():
    "`max_worlds` and `suspect_prob_` of 0.1.0."
    from csc_nb.ncobras import ConstraintVerifier

    for cls in (csc_nb.NCOBRAS, ConstraintVerifier):
        with pytest.warns(FutureWarning, match="max_worlds=...* has no effect any more"):
            cls(max_worlds=10)
    iris = csc_nb.load("iris")
    oracle = csc_nb.NoisyOracle(iris.target, noise=0.2, random_state=1)
    learner = csc_nb.NCOBRAS(random_state=0).fit(iris.data, oracle=oracle, budget=40)
    assert len(learner.suspects_)
    with pytest.warns(FutureWarning, match="suspicion_"):
        chances = learner.suspect_prob_
    np.testing.assert_array_equal(chances, learner.suspicion_[learner.suspects_])
