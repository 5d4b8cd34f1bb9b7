"""The fuzzer finds nothing in a short run, and would find what it is there to find."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))


def fuzz(calls, seed, *more):
    return subprocess.run(
        [sys.executable, ROOT / "tools" / "fuzz.py", "--calls", str(calls), "--seed",
         str(seed), *more],
        capture_output=True, text=True, cwd=ROOT,
    )  # fmt: skip


@pytest.mark.slow
def test_a_short_run_finds_nothing_raw_and_nothing_silent():
    out = fuzz(200, 11)
    assert out.returncode == 0, out.stdout[-3000:] + out.stderr[-2000:]
    assert "raw" in out.stdout and "silent" in out.stdout


@pytest.mark.slow
def test_six_thousand_calls_find_nothing_raw_and_nothing_silent():
    out = fuzz(6000, 12)
    assert out.returncode == 0, out.stdout[-3000:] + out.stderr[-2000:]


def test_what_is_raw_is_decided_by_the_traceback():
    import fuzz as tool
    from csc_nb.constraints import Constraints

    def silent():
        raise tool.Silent("two results")

    assert tool.outcome(lambda: Constraints([0], [1], ["nonsense"]))[0] == "clear"
    assert tool.outcome(lambda: [][3])[0] == "raw"
    assert tool.outcome(lambda: Constraints([0], [1], [1]).nothing)[0] == "raw"
    assert tool.outcome(lambda: Constraints([0], [1], [1]))[0] == "fine"
    assert tool.outcome(silent)[0] == "silent"


def test_every_promise_of_the_safety_page_names_tests_that_exist():
    page = json.loads((ROOT / "nbs" / "00b_safety.ipynb").read_text(encoding="utf-8"))
    text = "".join("".join(c["source"]) for c in page["cells"])
    named = re.findall(r"`(test_\w+\.py)::(test_\w+)`", text)
    assert len(named) > 40
    for file, test in named:
        source = (ROOT / "tests" / file).read_text(encoding="utf-8")
        assert f"def {test}(" in source, f"{file}::{test}"
    rows = [
        line for line in text.splitlines() if line.startswith("| ") and "`test_" in line
    ]
    promises = [
        line for line in text.splitlines() if line.startswith("| ") and line.count("|") == 3
    ]
    told = [
        p
        for p in promises
        if "promise" not in p and not p.startswith(("| |", "| `make", "| `python"))
    ]
    assert len(rows) == len(told), "a promise without a test"
