"""A scripted person at the screen in a real browser: `csc-nb ask` (Voilà) and
JupyterLab."""

import contextlib, json, os, re, signal, socket, subprocess, sys, time
import urllib.error, urllib.request
from pathlib import Path

import nbformat
import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_moons

from csc_nb.constraints import Constraints
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
    """Answers what is on the screen, wrong one time in ten, with the habits of a
    hurried hand."""

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
            "o => { const e = document.querySelector('[data-turn]'); "
            "return e && e.dataset.turn != o }",
            arg=old,
            timeout=240_000,
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
                "keys => keys.forEach(k => document.activeElement.dispatchEvent("
                "new KeyboardEvent('keydown', {key: k, bubbles: true, cancelable: true})))",
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
    """The log holds exactly what was given.

    The clusters are those of a simulated run with the same answers, and better than
    k-means.
    """
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
        end = time.time() + 300
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


def begin(page, **fields):
    "The first screen: everything may stay as it is."
    page.wait_for_selector(".csc-do-begin", timeout=180_000)
    page.wait_for_timeout(250)
    page.locator(".csc-do-begin").click()
    page.wait_for_selector(".csc-do-same", timeout=180_000)


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
        page.goto(url, timeout=240_000)
        page.wait_for_selector(".csc-ask[data-keys=on]", timeout=180_000)
        begin(page)
        forged = page.context.request.post(base + f"voila/api/shutdown/{'0' * 8}")
        assert forged.status == 403  # a request without the token against forgery
        who = Person(page)
        who.run(0, 22, undo_at=(4, 13))
        shot(page, "voila")
        page.reload(timeout=240_000)  # a new kernel; the old one may still have the log
        page.wait_for_selector(".csc-ask[data-keys=on]", timeout=180_000)
        if page.locator(".csc-do-take-over").count():
            page.locator(".csc-do-take-over").click()
        page.wait_for_selector(".csc-do-same", timeout=180_000)
        assert "22 of 40 answers" in page.locator(".csc-ask").inner_text()
        who.run(22, 40, undo_at=(30,))
        assert "nothing leaves this machine" in page.locator(".csc-ask").inner_text()
        two = (
            page.context.new_page()
        )  # a second tab is refused, in words, and breaks nothing
        two.goto(url, timeout=240_000)
        two.get_by_text("This log is open elsewhere").wait_for(timeout=180_000)
        assert "A has it open since" in two.locator(".csc-ask").inner_text()
        two.close()
        os.kill(p.pid, signal.SIGINT)
        p.wait(240)  # Ctrl-C ends it and writes the clusters
    text = (tmp_path / "out.txt").read_text()
    assert p.returncode == 0 and "40 answers" in text and "clusters written to" in text, (
        text
    )
    judge(tmp_path / "moons.A.jsonl", who.given, tmp_path / "moons.A.clusters.csv")
    page.wait_for_timeout(100)
    foreign = [
        u for u in page.asked if u.startswith(("http", "ws")) and not u.startswith(base)
    ]
    # fonts are named by Voilà's template; the page's own policy blocks them
    assert all("font" in u for u in foreign), foreign


ASK = [sys.executable, "-m", "csc_nb", "ask", "moons.csv", "--no-browser"]
LINK = r"http://127\.0\.0\.1:\d+/\?token=\S+"


def left_behind(url, folder):
    "Does anything still answer, or lie about?"
    try:
        urllib.request.urlopen(url, timeout=2)
        answers = True
    except urllib.error.HTTPError:
        answers = True
    except OSError:
        answers = False
    return answers or folder.exists()


@pytest.mark.parametrize("name", ["SIGHUP", "SIGTERM", "SIGKILL"])
def test_a_closed_terminal_leaves_no_server_no_token_and_no_folder(tmp_path, name):
    pytest.importorskip("voila")
    pytest.importorskip("anywidget")
    write_table(tmp_path)
    (tmp_path / "tmp").mkdir()
    ENV["TMPDIR"] = str(tmp_path / "tmp")
    try:
        with command(*ASK, cwd=tmp_path, ready=LINK) as (url, p):
            (folder,) = (tmp_path / "tmp").glob("csc-nb-ask-*")
            assert left_behind(url, folder) and folder.stat().st_mode & 0o777 == 0o700
            os.kill(p.pid, getattr(signal, name))
            p.wait(240)
            left = lambda: list((tmp_path / "tmp").glob("voila_*"))
            end = time.time() + 90  # a busy machine takes its time
            while (left_behind(url, folder) or left()) and time.time() < end:
                time.sleep(0.5)
            assert not left_behind(url, folder)
            assert not left()
    finally:
        del ENV["TMPDIR"]


CELLS = """
import pandas as pd
from csc_nb.labelling import AskPairs
from csc_nb.ncobras import NCOBRAS
more = dict(learner=NCOBRAS(random_state=0), log="lab.jsonl", annotator="A", goal=40)
more |= dict(show=["pressure", "flow", "remark"], features=["pressure", "flow"])
session = AskPairs(pd.read_csv("moons.csv"), id="id", **more)
session
""".strip()


ELSEWHERE = [".jp-MarkdownCell", ".jp-DirListing-content", ".jp-Notebook .jp-InputPrompt"]


def run_cell(page):
    "Click into the first cell and press Shift+Enter, as a newcomer does."
    page.get_by_text("| Idle").wait_for(
        timeout=240_000
    )  # before that, JupyterLab drops the key
    page.locator(".jp-Notebook .jp-CodeCell .cm-content").first.click(timeout=180_000)
    page.keyboard.press("Shift+Enter")
    try:
        page.wait_for_selector(".csc-ask[data-keys=on]", timeout=240_000)
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
        page.goto(f"http://127.0.0.1:{port}/lab/tree/x.ipynb?token=t", timeout=240_000)
        run_cell(page)
        who = Person(page)
        who.run(0, 20, undo_at=(5,))
        shot(page, "lab")
        page.reload(timeout=240_000)
        run_cell(page)  # running the cell again resumes
        assert "20 of 40 answers" in page.locator(".csc-ask").inner_text()
        for k, place in enumerate(ELSEWHERE, 20):  # the focus is anywhere in Lab
            page.locator(place).last.click()
            away = "() => !document.activeElement.closest('.csc-ask')"
            assert page.evaluate(away), place
            who.answer(6 * k)  # by its key
        who.run(20 + len(ELSEWHERE), 40, undo_at=(33,))
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


def test_two_people_at_once_and_the_organiser(page, tmp_path):
    "Really at once: two contexts, two kernels, two logs; the organiser sees both."
    pytest.importorskip("voila")
    pytest.importorskip("anywidget")
    write_table(tmp_path)
    more = ["--people", "Ann,Ben", "--shared", "6", "--show", "pressure,flow"]
    last = r"Ben +http://127\.0\.0\.1:\d+/\?token=\S+"
    with command(*ASK, *more, cwd=tmp_path, ready=last) as (_, p):
        text = (tmp_path / "out.txt").read_text()
        links = dict(re.findall(r"(\w+) +(http://127\S+)", text))
        assert list(links) == ["organiser", "Ann", "Ben"]
        base, secret = links["Ann"].split("&who=")
        pages = {}
        for who in ("Ann", "Ben"):
            pages[who] = page.context.browser.new_context().new_page()
            pages[who].goto(links[who], timeout=240_000)
        page.goto(links["organiser"], timeout=240_000)
        pages["Ann"].get_by_text("The organiser has not begun yet").wait_for(
            timeout=180_000
        )
        page.wait_for_selector(".csc-do-begin", timeout=180_000)
        page.wait_for_timeout(250)
        page.locator(".csc-do-begin").click()
        page.get_by_text("Nobody has answered yet").wait_for(timeout=180_000)
        people = {}
        for who in ("Ann", "Ben"):
            tab = pages[who]
            tab.locator(".csc-do-again").click(timeout=180_000)
            tab.wait_for_selector(".csc-do-same", timeout=180_000)
            people[who] = Person(tab)
        people["Ben"].truth = NoisyOracle(y, 0.4, persistent=True, random_state=5)
        for k in range(10):  # in turns, both pages open all the time
            people["Ann"].answer(2 * k)
            people["Ben"].answer(2 * k + 1)
        page.locator(".csc-do-refresh").click()
        cell = page.locator(".csc-tables section").nth(0).locator("tbody tr")
        page.wait_for_function(
            "() => document.querySelectorAll('.csc-tables section').length >= 3"
        )
        assert [r.inner_text().split()[:3] for r in cell.all()] == [
            ["Ann", "people", "10"],
            ["Ben", "people", "10"],
        ]
        two = page.locator(".csc-tables section").nth(1).inner_text()
        assert "Ann – Ben" in two and re.search(r"\d+% \[\d+%, \d+%\]", two)
        other = page.context.browser.new_context().new_page()
        other.goto(f"{base}&who={secret[:-4]}aaaa", timeout=240_000)
        other.get_by_text("This link is not complete").wait_for(timeout=180_000)
        os.kill(p.pid, signal.SIGINT)
        p.wait(90)
    for who in ("Ann", "Ben"):
        said = standing_answers(read_journal(tmp_path / f"moons.{who}.jsonl")[0])
        got = [(sorted(e["items"]), e["answer"]) for e in said]
        assert got == people[who].given and len(got) == 10
        assert {e["annotator"] for e in said} == {who}
        assert (tmp_path / f"moons.{who}.clusters.csv").exists()
    shared = [{tuple(i) for i, _ in people[w].given[:6]} for w in ("Ann", "Ben")]
    assert shared[0] == shared[1] and people["Ann"].given != people["Ben"].given


def test_two_people_and_a_model_on_the_organisers_page(page, tmp_path):
    "The model answers what people were asked; agreement and intervals are on the page."
    from test_chat import Server, reply

    pytest.importorskip("voila")
    pytest.importorskip("anywidget")
    write_table(tmp_path)
    rows = {(f"{a:g}", f"{b:g}"): i for i, (a, b) in enumerate(X.round(3))}

    def script(number, body):
        text = body["messages"][-1]["content"]
        found = map(json.loads, re.findall(r"<record>(.*?)</record>", text))
        named = [(f"{float(r['pressure']):g}", f"{float(r['flow']):g}") for r in found]
        i, j = (rows[pair] for pair in named)
        right = (y[i] == y[j]) != (number % 5 == 0)
        return reply("same" if right else "different")

    server = Server(script)
    more = ["--people", "Ann,Ben", "--shared", "8", "--show", "pressure,flow"]
    more += [
        "--id",
        "id",
        "--no-first-screen",
        "--model-url",
        server.url,
        "--model",
        "tiny-1",
    ]
    last = r"Ben +http://127\.0\.0\.1:\d+/\?token=\S+"
    with command(*ASK, *more, cwd=tmp_path, ready=last) as (_, p):
        text = (tmp_path / "out.txt").read_text()
        links = dict(re.findall(r"(\w+) +(http://127\S+)", text))
        for who in ("Ann", "Ben"):
            tab = page.context.browser.new_context().new_page()
            tab.goto(links[who], timeout=240_000)
            tab.wait_for_selector(".csc-do-same", timeout=240_000)
            one = Person(tab)
            one.truth = NoisyOracle(y)
            for _ in range(8):
                one.answer(0)
        page.goto(links["organiser"], timeout=240_000)
        page.get_by_role("button", name="Let tiny-1 answer 8 questions").click(
            timeout=240_000
        )
        page.get_by_text("tiny-1 has answered 8 questions").wait_for(timeout=120_000)
        two = page.locator(".csc-tables section").nth(1)
        shown = {r.split("\t")[0]: r for r in two.inner_text().splitlines() if " – " in r}
        assert "on this machine" in page.locator(".csc-ask").inner_text()
        page.locator(".csc-do-save-merged").click()
        page.get_by_text("Written").or_(page.get_by_text("written")).first.wait_for(
            timeout=120_000
        )
        shot(page, "model")
        os.kill(p.pid, signal.SIGINT)
        p.wait(90)
    server.http.shutdown()
    said = {}
    for who in ("Ann", "Ben", "tiny-1"):
        (log,) = tmp_path.glob(f"moons*{who}.jsonl")
        events = standing_answers(read_journal(log)[0])
        said[who] = {tuple(sorted(e["items"])): e["answer"] for e in events}
        assert len(said[who]) == 8
    for a, b in (("Ann", "Ben"), ("Ann", "tiny-1"), ("Ben", "tiny-1")):
        same = sum(said[a][k] == said[b][k] for k in said[a])
        assert f"{same / 8:.0%} [" in shown[f"{a} – {b}"], shown
    merged = pd.read_csv(tmp_path / "moons.clusters.csv")
    assert len(merged) == 100 and merged.people.max() == 3


def change(page, k, word):
    "Look back, change answer `k`."
    page.wait_for_timeout(230)
    row = page.locator(".csc-old li", has_text=re.compile(rf"^{k + 1}\. "))
    row.get_by_role("button", name=word, exact=True).click()
    page.get_by_text(f"Answer {k + 1} is now “{word}”").wait_for(timeout=30_000)


def test_thirty_answers_on_a_phone_two_lies_each_corrected_at_any_position(page, tmp_path):
    "Close the tab, reopen, go on; whatever is corrected, 30 answers remain everywhere."
    pytest.importorskip("voila")
    pytest.importorskip("anywidget")
    write_table(tmp_path)
    more = ["--show", "pressure,flow", "--id", "id", "--no-first-screen"]
    with command(*ASK, *more, cwd=tmp_path, ready=LINK) as (url, p):
        phone = page.context.browser.new_context(
            viewport=dict(width=390, height=800), has_touch=True, is_mobile=True
        )
        tab = phone.new_page()
        tab.goto(url, timeout=240_000)
        tab.wait_for_selector(".csc-do-same", timeout=180_000)
        who = Person(tab)
        who.truth = NoisyOracle(y)
        lies = (4, 21)
        for k in range(30):
            if k == 15:  # the tab is closed and opened again
                tab.close(run_before_unload=True)
                tab = phone.new_page()
                tab.goto(url, timeout=240_000)
                tab.wait_for_selector(".csc-do-same, .csc-do-take-over", timeout=180_000)
                if tab.locator(".csc-do-take-over").count():
                    tab.locator(".csc-do-take-over").click()
                tab.wait_for_selector(".csc-do-same", timeout=180_000)
                assert "15 answers" in tab.locator(".csc-ask").inner_text()
                who.page = tab
            tab.wait_for_timeout(700)  # two taps in half a second are one answer
            old, ids = who.turn(), who.shown()
            value = who.truth(Pair(*map(IDS.index, ids))) * (-1 if k in lies else 1)
            tab.locator(f".csc-do-{WORDS[value]}").tap()
            who.moved(old)
            who.given.append([sorted(ids), WORDS[value]])
        wide = "document.documentElement.scrollWidth - window.innerWidth"
        assert tab.evaluate(wide) <= 1
        tab.locator(".csc-panel summary").click()
        flip = {"same": "different", "different": "same"}
        for k in (*lies, *range(0, 30, 3)):
            twice = 1 if k in lies and who.given[k][1] != truth_of(who.given[k][0]) else 2
            for _ in range(twice):  # a lie is corrected; what is right becomes one first
                who.given[k][1] = flip[who.given[k][1]]
                change(tab, k, who.given[k][1])
                assert "30 answers" in tab.locator(".csc-ask > .csc-head").inner_text()
        assert tab.locator(".csc-old li").count() == 30
        os.kill(p.pid, signal.SIGINT)
        p.wait(90)
    said = standing_answers(read_journal(tmp_path / "moons.jsonl")[0])
    assert [[sorted(e["items"]), e["answer"]] for e in said] == who.given
    assert all(w == truth_of(ids) for ids, w in who.given)
    table = pd.read_csv(tmp_path / "moons.clusters.csv")
    assert table.answers.sum() == 60 and not table.broken.any()
    assert Constraints.from_log(tmp_path / "moons.jsonl").weight.sum() == 30


def truth_of(ids):
    i, j = map(IDS.index, ids)
    return "same" if y[i] == y[j] else "different"
