"""A kernel killed under the hands of a person: no answer is lost, and work goes on."""

import os
import signal

import pytest

from csc_nb.oracles import read_journal, standing_answers
from test_browser_labelling import ASK, LINK, Person, begin, command, write_table

pytestmark = pytest.mark.browser


def kernels(p):
    "The notebook kernels that a server has started."
    psutil = pytest.importorskip("psutil")
    family = psutil.Process(p.pid).children(recursive=True)
    return [c for c in family if any("ipykernel" in part for part in c.cmdline())]


def test_a_killed_kernel_loses_no_answer(page, tmp_path):
    pytest.importorskip("voila")
    pytest.importorskip("anywidget")
    write_table(tmp_path)
    ask = [
        *ASK,
        "--id",
        "id",
        "--show",
        "pressure,flow",
        "--annotator",
        "A",
        "--goal",
        "40",
    ]
    with command(*ask, cwd=tmp_path, ready=LINK) as (url, p):
        page.goto(url, timeout=240_000)
        page.wait_for_selector(".csc-ask[data-keys=on]", timeout=180_000)
        begin(page)
        who = Person(page)
        who.run(0, 6)
        log = tmp_path / "moons.A.jsonl"
        before = log.read_bytes()
        for kernel in kernels(p):
            kernel.kill()
        assert log.read_bytes() == before
        page.goto(url, timeout=240_000)
        page.wait_for_selector(".csc-ask[data-keys=on]", timeout=180_000)
        page.wait_for_selector(".csc-do-same", timeout=180_000)
        assert "6 of 40 answers" in page.locator(".csc-ask").inner_text()
        who.run(6, 9)
        os.kill(p.pid, signal.SIGINT)
        p.wait(240)
    said = standing_answers(read_journal(log)[0])
    assert [(sorted(e["items"]), e["answer"]) for e in said] == who.given
    assert log.read_bytes().startswith(before) and len(said) == 9
