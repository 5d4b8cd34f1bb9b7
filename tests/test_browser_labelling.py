"""A scripted person at the labelling screen in a real browser: `csc-nb ask` (Voilà) and JupyterLab."""

import contextlib, os, re, signal, socket, subprocess, sys, time, urllib.error, urllib.request
from pathlib import Path

import nbformat
import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_moons

from csc_nb.labelling import AskPairs
from csc_nb.metrics import ari
from csc_nb.ncobras import NCOBRAS
from csc_nb.oracles import NoisyOracle, Pair, read_journal, standing_answers

pytestmark = pytest.mark.browser
X, y = make_moons(100, noise=0.07, random_state=0)
IDS = [f"P{i:02}" for i in range(100)]
ROOT = Path(__file__).resolve().parent.parent
ENV = {
    **os.environ,
    "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])),
}
KEYS = {1: "s", -1: "d", 0: "u"}
WORDS = {1: "same", -1: "different", 0: "unsure"}


def write_table(folder):
    note = [
        "<script>document.title='hacked'</script>",
        "\"'><img src=x onerror=\"document.title='hacked'\">",
        "=1+1",
        "שלום",
        "plain",
    ]
    pd.DataFrame(
        {
            "id": IDS,
            "pressure": X[:, 0].round(3),
            "flow": X[:, 1].round(3),
            "remark": [note[i % 5] for i in range(100)],
        }
    ).to_csv(folder / "moons.csv", index=False)


class Person:
    "Answers what is on the screen, wrong one time in ten, with every bad habit of a hurried hand."

    def __init__(self, page):
        self.page, self.truth, self.given = (
            page,
            NoisyOracle(y, 0.1, persistent=True, random_state=2),
            [],
        )
        self.seen = set()

    def turn(self):
        return self.page.locator("[data-turn]").get_attribute("data-turn")

    def shown(self):
        return [
            c.get_attribute("data-id")
            for c in self.page.locator(".csc-question .csc-card").all()
        ]

    def moved(self, old):
        self.page.wait_for_function(
            "o => { const e = document.querySelector('[data-turn]'); return e && e.dataset.turn != o }",
            arg=old,
            timeout=20_000,
        )

    def act(self, habit, value):
        "One answer; each habit must count once."
        page, button = self.page, self.page.locator(f".csc-do-{WORDS[value]}")
        if habit == "double click":
            button.dblclick()
        elif habit == "slow double click":
            button.click()
            page.wait_for_timeout(120)
            page.mouse.down(click_count=2)
            page.mouse.up(click_count=2)
        elif habit == "click":
            button.click()
        elif habit == "held key":
            [page.keyboard.down(KEYS[value]) for _ in range(4)]
            page.keyboard.up(KEYS[value])
        elif habit == "hasty keys":
            page.evaluate(
                "keys => keys.forEach(k => document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: k, bubbles: true, cancelable: true})))",
                [KEYS[value], "d", "s"],
            )  # at once, before the screen can change
        else:
            page.keyboard.press(KEYS[value])

    def answer(self, k):
        self.page.wait_for_timeout(230)  # no answer counts in the first fifth of a second
        old, ids = self.turn(), self.shown()
        self.seen.add(self.page.locator(".csc-question").inner_text())
        value = 0 if k % 13 == 6 else self.truth(Pair(*map(IDS.index, ids)))
        self.act(
            ("key", "double click", "held key", "click", "hasty keys", "slow double click")[
                k % 6
            ],
            value,
        )
        self.moved(old)
        self.given.append((sorted(ids), WORDS[value]))

    def undo(self):
        self.page.wait_for_timeout(230)
        old = self.turn()
        self.page.keyboard.press("z")
        self.moved(old)
        self.given.pop()

    def run(self, start, stop, undo_at=()):
        for k in range(start, stop):
            self.answer(k)
            if k in undo_at:
                self.undo()
                self.answer(k)


def judge(log, given, clusters, columns=("pressure", "flow")):
    "The log holds exactly what was given; the clusters are those of a simulated run with the same answers, and better than k-means."
    said = standing_answers(read_journal(log)[0])
    assert [(sorted(e["items"]), e["answer"]) for e in said] == given and len(given) == 40
    table = pd.read_csv(clusters)
    copy = Path(log).with_suffix(".copy.jsonl")  # a kernel may still have the log
    copy.write_bytes(Path(log).read_bytes())
    again = AskPairs(
        pd.read_csv(Path(clusters).parent / "moons.csv", keep_default_na=False, dtype=str),
        id="id",
        show=list(columns),
        log=copy,
        annotator="A",
        learner=NCOBRAS(random_state=0),
    )
    assert table.cluster.tolist() == (again.labels + 1).tolist()
    assert again.constraints.weight.sum() == 40
    kmeans = KMeans(2, n_init=10, random_state=0).fit(again.items.X).labels_
    assert ari(y, table.cluster) > ari(y, kmeans)
    again.close()
    assert all(e["seconds"] > 0.15 for e in said)


@contextlib.contextmanager
def command(*args, cwd, ready):
    "A program in its own session; gives the text that matches `ready`."
    out = open(cwd / "out.txt", "w+")
    p = subprocess.Popen(
        args, cwd=cwd, stdout=out, stderr=subprocess.STDOUT, env=ENV, start_new_session=True
    )
    try:
        end = time.time() + 120
        while not (m := re.search(ready, (cwd / "out.txt").read_text())):
            assert p.poll() is None and time.time() < end, (cwd / "out.txt").read_text()[
                -3000:
            ]
            time.sleep(0.2)
        yield m.group(0), p
    finally:
        if p.poll() is None:
            os.killpg(p.pid, signal.SIGTERM)
            try:
                p.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(p.pid, signal.SIGKILL)
                p.wait()
        out.close()


def shot(page, name):
    if os.environ.get("CSC_NB_SHOTS"):
        page.screenshot(path=f"{os.environ['CSC_NB_SHOTS']}{name}.png", full_page=True)


def test_a_person_at_csc_nb_ask(page, tmp_path):
    pytest.importorskip("voila")
    pytest.importorskip("anywidget")
    write_table(tmp_path)
    cli = [
        sys.executable,
        "-c",
        "import sys; from csc_nb.cli import main; sys.exit(main())",
        "ask",
        "moons.csv",
        "--id",
        "id",
        "--show",
        "pressure,flow",
        "--annotator",
        "A",
        "--goal",
        "40",
        "--no-browser",
    ]
    with command(*cli, cwd=tmp_path, ready=r"http://127\.0\.0\.1:\d+/\?token=\S+") as (
        url,
        p,
    ):
        base, token = url.split("?token=")
        for wrong in (
            "",
            "?token=",
            "?token=wrong" + token[5:],
        ):  # without the token there is only a login form
            with urllib.request.urlopen(base + wrong) as r:
                assert "/login" in r.url and b"csc" not in r.read(), wrong
        page.goto(url, timeout=90_000)
        page.wait_for_selector(".csc-ask[data-keys=on]", timeout=60_000)
        who = Person(page)
        who.run(0, 22, undo_at=(4, 13))
        shot(page, "voila")
        page.reload(timeout=90_000)  # a new kernel; the old one may still have the log
        page.wait_for_selector(".csc-ask[data-keys=on]", timeout=60_000)
        if page.locator(".csc-do-take-over").count():
            page.locator(".csc-do-take-over").click()
        page.wait_for_selector(".csc-do-same", timeout=60_000)
        assert "22 of 40 answers" in page.locator(".csc-ask").inner_text()
        who.run(22, 40, undo_at=(30,))
        assert "nothing leaves this machine" in page.locator(".csc-ask").inner_text()
        two = (
            page.context.new_page()
        )  # a second tab is refused, in words, and breaks nothing
        two.goto(url, timeout=90_000)
        two.get_by_text("This log is open elsewhere").wait_for(timeout=60_000)
        assert "A has it open since" in two.locator(".csc-ask").inner_text()
        two.close()
        os.kill(p.pid, signal.SIGINT)
        p.wait(60)  # Ctrl-C ends it and writes the clusters
    text = (tmp_path / "out.txt").read_text()
    assert p.returncode == 0 and "40 answers" in text and "clusters written to" in text, (
        text
    )
    judge(tmp_path / "moons.A.jsonl", who.given, tmp_path / "moons.A.clusters.csv")
    page.wait_for_timeout(100)
    foreign = [
        u for u in page.asked if u.startswith(("http", "ws")) and not u.startswith(base)
    ]
    assert all("font" in u for u in foreign), (
        foreign
    )  # named by Voilà's template; the page's own policy blocks them


CELLS = """
import pandas as pd
from csc_nb.labelling import AskPairs
from csc_nb.ncobras import NCOBRAS
session = AskPairs(pd.read_csv("moons.csv"), id="id", show=["pressure", "flow", "remark"], features=["pressure", "flow"], learner=NCOBRAS(random_state=0), log="lab.jsonl", annotator="A", goal=40)
session
""".strip()


def run_cell(page):
    "Click into the first cell and press Shift+Enter, as a newcomer does."
    page.get_by_text("| Idle").wait_for(
        timeout=90_000
    )  # before that, JupyterLab drops the key
    page.locator(".jp-Notebook .jp-CodeCell .cm-content").first.click(timeout=60_000)
    page.keyboard.press("Shift+Enter")
    try:
        page.wait_for_selector(".csc-ask[data-keys=on]", timeout=90_000)
    finally:
        shot(page, "cell")


def test_a_person_in_jupyterlab(page, tmp_path):
    pytest.importorskip("jupyterlab")
    pytest.importorskip("anywidget")
    write_table(tmp_path)
    spec = {"display_name": "python3", "language": "python", "name": "python3"}
    nbformat.write(
        nbformat.v4.new_notebook(
            cells=[
                nbformat.v4.new_code_cell(CELLS),
                nbformat.v4.new_code_cell("session.to_csv('lab.csv')"),
                nbformat.v4.new_markdown_cell("last"),
            ],
            metadata={"kernelspec": spec},
        ),
        tmp_path / "x.ipynb",
    )
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    args = [
        sys.executable,
        "-m",
        "jupyterlab",
        "--no-browser",
        "--ServerApp.ip=127.0.0.1",
        f"--ServerApp.port={port}",
        "--IdentityProvider.token=t",
        "--allow-root",
        "--LabApp.news_url=None",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ]
    with command(*args, cwd=tmp_path, ready=r"http://127\.0\.0\.1:\d+/lab\S*"):
        page.goto(f"http://127.0.0.1:{port}/lab/tree/x.ipynb?token=t", timeout=90_000)
        run_cell(page)
        who = Person(page)
        who.run(0, 20, undo_at=(5,))
        shot(page, "lab")
        page.reload(timeout=90_000)
        run_cell(page)  # running the cell again resumes
        assert "20 of 40 answers" in page.locator(".csc-ask").inner_text()
        who.run(20, 40, undo_at=(33,))
        assert (
            "hacked" not in page.title()
            and not page.locator(".csc-question img, .csc-question script").count()
            and any("<script>" in t or "onerror" in t or "=1+1" in t for t in who.seen)
        )  # shown, inert
        assert (
            page.locator(".jp-Notebook .jp-Cell").count() == 3
        )  # no key reached the notebook: a stray d d deletes a cell
        page.locator(".jp-Notebook .jp-CodeCell .cm-content").nth(1).click()
        page.keyboard.press("Shift+Enter")
        end = time.time() + 30
        while not (tmp_path / "lab.csv").exists():
            assert time.time() < end
            page.wait_for_timeout(200)
        judge(tmp_path / "lab.jsonl", who.given, tmp_path / "lab.csv")
