"""Several people and a model on one table, the organiser's page, and the film of a
session."""

import json
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom
from sklearn.datasets import make_moons
from sklearn.metrics import adjusted_rand_score, cohen_kappa_score

from csc_nb.cobras import COBRAS
from csc_nb.film import Film, film_frames, moves_in
from csc_nb.labelling import AskPairs, AskTriplets, Items, mixed_questions
from csc_nb.labelling_view import WORDS, make_session, note_setup, person_page, web_page
from csc_nb.oracles import NoisyOracle, Pair, read_journal, standing_answers
from csc_nb.team import Team, TeamView, cohen, cohen_interval, hire, team_page, team_pages
from csc_nb.team import wilson

X, y = make_moons(60, noise=0.07, random_state=0)
DF = pd.DataFrame(
    {"id": [f"P{i:02}" for i in range(60)], "u": X[:, 0].round(3), "v": X[:, 1].round(3)}
)
ITEMS = Items(DF, id="id")


def person(tmp_path, who, noise, n=30, shared=20, seed=0):
    s = AskPairs(
        ITEMS,
        shared=shared,
        log=tmp_path / f"{who}.jsonl",
        annotator=who,
        learner=COBRAS(random_state=0),
    )
    o = NoisyOracle(y, noise, random_state=seed)
    while s.turn and len(s.said) < n:
        s.answer(s.turn.id, o(s.turn.query), seconds=1.5)
    s.close()
    return s


class Robot:
    name, group, price, kinds = "robot", "models", 0.5, ("pair", "triple")

    def __init__(self, budget=99):
        self.asked, self.budget = [], budget

    def __call__(self, q):
        if len(self.asked) >= self.budget:
            return None
        self.asked.append(q)
        return "same" if y[q.a] == y[q.b] else "different"


def test_everybody_gets_the_shared_questions_first_and_in_the_same_order(tmp_path):
    a, b = (person(tmp_path, w, p) for w, p in (("a", 0.0), ("b", 0.4)))
    want = [Pair(*q).key for q in mixed_questions(ITEMS.X, 20)]
    for s in (a, b):
        assert [x.query.key for x in s.said][:20] == want
        assert len(s.said) == 30 and s.constraints.weight.sum() == 30
    rest = [{x.query.key for x in s.said[20:]} for s in (a, b)]
    assert rest[0] != rest[1]  # afterwards each learner goes its own way
    both = {y[i] == y[j] for i, j in want}
    assert both == {True, False}  # both answers occur


def test_a_shared_question_can_be_skipped_undone_and_given_by_ids(tmp_path):
    make = lambda: AskPairs(
        ITEMS,
        shared=[("P00", "P01"), ("P02", "P03")],
        log=tmp_path / "s.jsonl",
        learner=COBRAS(random_state=0),
    )
    s = make()
    assert s.turn.query.items == (0, 1) and s.turn.unasked
    s.skip(s.turn.id)
    assert s.turn.query.items == (2, 3)
    s.undo()
    assert s.turn.query.items == (0, 1) and not s.said
    s.answer(s.turn.id, "same")
    s.answer(s.turn.id, "different")
    assert not s.turn.unasked and [x.answer for x in s.said] == [1, -1]
    s.close()
    again = make()
    assert [x.answer for x in again.said] == [1, -1] and not again.turn.unasked


def test_wilson_against_its_definition():
    "The bounds are the shares p at which k/n is just z standard deviations of p away."
    for k, n in ((0, 7), (3, 10), (9, 10), (50, 50), (1, 400)):
        low, high = wilson(k, n)
        for p in (low, high):
            if 1e-9 < p < 1 - 1e-9:
                assert abs(abs(k / n - p) / np.sqrt(p * (1 - p) / n) - 1.959964) < 1e-4
        assert low <= k / n <= high
    assert wilson(0, 0) == (0.0, 1.0)
    n, p = 30, 0.8  # exact coverage, from the binomial distribution
    inside = [wilson(k, n)[0] <= p <= wilson(k, n)[1] for k in range(n + 1)]
    assert 0.92 < binom.pmf(np.arange(n + 1), n, p)[inside].sum() < 0.98


def test_kappa_against_scikit_learn_and_its_interval_covers():
    rng = np.random.default_rng(0)
    for _ in range(20):
        T = rng.integers(1, 15, size=(2, 2))
        a = np.repeat([0, 0, 1, 1], T.ravel())
        b = np.repeat([0, 1, 0, 1], T.ravel())
        assert np.isclose(cohen(T), cohen_kappa_score(a, b))
    assert np.isnan(cohen([[5, 0], [0, 0]]))
    true, hit = np.array([[0.3, 0.1], [0.1, 0.5]]), 0
    for _ in range(200):
        low, high = cohen_interval(rng.multinomial(40, true.ravel()).reshape(2, 2), m=300)
        hit += low <= cohen(true) <= high
    assert 0.88 <= hit / 200 <= 1.0


def test_a_team_counts_what_stands_and_finds_who_is_wrong(tmp_path):
    for who, p, seed in (("Ann", 0.0, 0), ("Ben", 0.05, 1), ("Cleo", 0.4, 2)):
        person(tmp_path, who, p, seed=seed)
    logs = {w: tmp_path / f"{w}.jsonl" for w in ("Ann", "Ben", "Cleo", "nobody")}
    team = Team(ITEMS, logs, n_clusters=2)
    people = {p["who"]: p for p in team.people()}
    assert [people[w]["answers"] for w in logs] == [30, 30, 30, 0]
    assert people["Ann"]["seconds"] == 1.5 and people["Ann"]["contradictions"] == 0
    said = {
        w: {
            frozenset(e["items"]): e["answer"]
            for e in standing_answers(read_journal(logs[w])[0])
        }
        for w in ("Ann", "Ben", "Cleo")
    }
    for r in team.agreement():
        if "nobody" in (r["a"], r["b"]):
            assert r["both"] == 0 and r["kappa"] is None and "kappa_low" not in r
            continue
        common = said[r["a"]].keys() & said[r["b"]].keys()
        assert r["both"] == len(common) >= 20
        one, two = ([said[w][k] for k in common] for w in (r["a"], r["b"]))
        assert np.isclose(r["agree"], np.mean([a == b for a, b in zip(one, two)]))
        assert np.isclose(r["kappa"], cohen_kappa_score(one, two))
        assert r["low"] <= r["agree"] <= r["high"]
        assert r["kappa_low"] <= r["kappa"] <= r["kappa_high"]
    for key, votes in team.disputed():
        assert {1, -1} <= set(votes.values()) and len(votes) > 1
    A = team.answers
    assert A.n_answers == 90 and set(A.to_frame().group) == {"people"}


def test_a_model_is_hired_once_and_a_spent_budget_is_no_answer(tmp_path):
    log, questions = tmp_path / "robot.jsonl", [Pair(0, k) for k in range(1, 11)]
    first = Robot(budget=4)
    assert hire(first, ITEMS, questions, log) == 4 and len(first.asked) == 4
    second = Robot()
    assert hire(second, ITEMS, questions, log) == 6
    assert [q.key for q in second.asked] == [q.key for q in questions[4:]]
    assert hire(second, ITEMS, questions, log) == 0 and len(second.asked) == 6
    person(tmp_path, "Ann", 0.0)
    team = Team(ITEMS, {"Ann": tmp_path / "Ann.jsonl", "robot": log})
    assert team.group("robot") == "models" and team.group("Ann") == "people"
    frame = team.answers.to_frame()
    assert (frame.group[frame.annotator == "robot"] == "models").sum() == 10
    wrong = Robot()
    wrong.kinds = ("grade",)
    with pytest.raises(ValueError, match="not pairs"):
        hire(wrong, ITEMS, questions, log)


def test_the_organisers_page_from_first_screen_to_merged_clusters(tmp_path):
    DF.to_csv(tmp_path / "t.csv", index=False)
    plain = dict(table=str(tmp_path / "t.csv"), id="id", log=str(tmp_path / "t.jsonl"))
    plain |= dict(annotator="", learner="cobras", shared=6, out=str(tmp_path / "all.csv"))
    pages = team_pages(plain, ["Ann", "Ben", "Ann"])
    assert list(pages) == ["organiser", "Ann", "Ben"]
    assert len({p["log"] for p in pages.values()}) == 3
    early = person_page(pages["Ann"])
    assert early.session is None and "not begun" in early.widget.screen["title"]
    start = team_page({**pages["organiser"], "links": {"Ann": "http://x/?who=1"}})
    form = {"role:id": "id", "role:u": "used", "role:v": "used", "n_clusters": "2"}
    start.do(dict(action="begin", form={**form, "question": "Same moon?"}))
    view = start.view
    assert view.widget.screen["note"] == "Nobody has answered yet."
    early.widget._handle_custom_msg(dict(action="again"), [])
    assert early.session.question == "Same moon?" and early.session.n_clusters == 2
    ben = person_page(pages["Ben"])
    for page, wrong in ((early, 0.0), (ben, 0.3)):
        s, o = page.session, NoisyOracle(y, wrong, random_state=4)
        for _ in range(8):
            page.view.do({1: "same", -1: "different"}[o(s.turn.query)], page.view.shown_id)
        assert len(s.said) == 8
    view.hire, view.questions = [Robot()], early.session.shared
    view.do("refresh")
    tables = view.widget.screen["tables"]
    assert [t["title"] for t in tables] == [
        WORDS["en"][k] for k in ("people", "agreement", "links")
    ]
    assert [r[:3] for r in tables[0]["rows"]] == [
        ["Ann", "people", 8],
        ["Ben", "people", 8],
    ]
    assert re.fullmatch(r"\d+% \[\d+%, \d+%\]", tables[1]["rows"][0][2])
    assert tables[2]["rows"] == [["Ann", {"link": "http://x/?who=1"}]]
    view.do("hire-0")
    assert "8 questions" in view.widget.message and "robot" in view.team.logs
    view.do("save-merged")
    assert (tmp_path / "all.csv").read_bytes().startswith(b"\xef\xbb\xbfid,cluster,people")
    merged = pd.read_csv(tmp_path / "all.csv")
    assert adjusted_rand_score(y, merged.cluster) > 0.3 and len(merged) == 60
    view.do("hire-7")
    assert "csc-alert" in view.widget.message  # shown, not raised
    for page in (early, ben):
        page.session.close()
    again = team_page(pages["organiser"])  # reopened: no first screen
    assert isinstance(again, TeamView)


def chat_service(y, ids):
    "A model on loopback that knows the truth and errs at every seventh request."
    from test_chat import Server, reply

    def script(number, body):
        text = body["messages"][-1]["content"]
        a, b = (ids.index(i) for i in re.findall(r"P\d\d", text))
        right = (y[a] == y[b]) != (number % 7 == 0)
        return reply("same" if right else "different")

    return Server(script)


def test_people_and_a_chat_model_on_the_same_rows(tmp_path, monkeypatch):
    "The model is asked what people were asked, in their words; its answers stay."
    monkeypatch.chdir(tmp_path)
    DF.assign(name=DF.id).to_csv(tmp_path / "t.csv", index=False)
    server = chat_service(y, DF.id.tolist())
    try:
        model = dict(url=server.url, model="tiny/1", price=0.01, max_calls=99)
        given = dict(table=str(tmp_path / "t.csv"), id="id", shared=12, hire=[model])
        given |= dict(log=str(tmp_path / "t.jsonl"), question="Same {patient}?")
        given |= dict(show=["name", "u", "v"], features=["u", "v"])
        pages = team_pages(given, ["Ann"], first_screen=False)
        assert "hire" not in pages["Ann"] and pages["Ann"]["private"]
        s = make_session(**pages["Ann"])
        truth = NoisyOracle(y)
        for _ in range(15):
            s.answer(s.turn.id, truth(s.turn.query))
        s.close()
        view = team_page(pages["organiser"])
        assert [b["label"] for b in view.widget.screen["more"]][-1] == (
            "Let tiny/1 answer 15 questions (price 0.15)"
        )
        sent = view.widget.screen["tables"][-1]["rows"][0][1]
        assert "on this machine" in sent and "name, u, v of 60 rows" in sent
        view.do("hire-0")
        assert "tiny/1 has answered 15 questions" in view.widget.message
        body = json.loads(server.requests[0][1])["messages"][-1]["content"]
        assert body.startswith("Same (patient)?\n") and body.count("<record>") == 2
        again = team_page(pages["organiser"])  # another day
        assert list(again.team.logs) == ["Ann", "tiny/1"]
        assert not any("hire" in b["action"] for b in again.widget.screen["more"])
        (two,) = again.team.agreement()
        assert two["both"] == 15 and two["agree"] == 13 / 15
        assert two["low"] < 13 / 15 < two["high"]
        assert again.team.answers.n_answers == 30
        assert sorted(set(again.team.answers.groups)) == ["people", "tiny/1"]
        assert len(server.requests) == 15
        again.do("save-merged")
        assert "written" in again.widget.message.lower()
        assert (tmp_path / "clusters.csv").exists()
    finally:
        server.http.shutdown()


def test_a_model_that_fails_half_way_keeps_what_it_said(tmp_path):
    person(tmp_path, "a", 0.0, n=20)

    class Weak(Robot):
        def __call__(self, q):
            if len(self.asked) == 5:
                raise RuntimeError("the service is gone")
            return super().__call__(q)

    helper = Weak()
    view = TeamView(Team(ITEMS, dict(a=tmp_path / "a.jsonl")), hire=[helper])
    view.do("hire-0")
    assert "the service is gone" in view.widget.message
    assert view.team.people()[1]["answers"] == 5
    helper.asked = []
    helper.__class__ = Robot
    view.do("hire-0")
    assert view.team.people()[1]["answers"] == 20 and len(helper.asked) == 15


def test_a_model_on_another_machine_is_said_to_everybody(tmp_path):
    model = dict(url="https://example.org/v1", model="far", allow_remote=True)
    given = dict(table="t.csv", log=str(tmp_path / "t.jsonl"), hire=[model])
    assert team_pages(given, ["Ann"])["Ann"]["private"] is False
    s = AskPairs(ITEMS, log=None, learner=COBRAS(random_state=0))
    assert "nothing leaves" in s.view().screen["note"]
    s.private = False
    assert "nothing leaves" not in s.view().screen["note"]


def test_names_that_are_no_file_names_are_refused(tmp_path):
    with pytest.raises(ValueError, match="cannot be part of a file name"):
        team_pages(dict(log=str(tmp_path / "t.jsonl")), ["../x"])


def test_a_link_without_its_secret_opens_nothing(tmp_path, monkeypatch):
    shown = []
    monkeypatch.setattr("csc_nb.labelling_view.display", shown.append)
    (tmp_path / "pages.json").write_text(json.dumps({"secret": {"language": "de"}}))
    for query in ("token=t", "token=t&who=", "token=t&who=guess", "who=secre"):
        web_page(tmp_path / "pages.json", query)
        assert shown.pop().screen["note"] == WORDS["de"]["wrong link"]


def test_a_film_ends_where_the_session_is_and_shows_every_move(tmp_path):
    s = AskPairs(
        ITEMS, log=tmp_path / "f.jsonl", learner=COBRAS(random_state=3), annotator="A"
    )
    o = NoisyOracle(y)
    for k in range(12):
        t = s.turn
        if k == 4:
            s.skip(t.id)
        else:
            s.answer(t.id, -o(t.query) if k == 2 else o(t.query))
        if k == 8:
            s.undo()
    s.change(2, o(s.said[2].query))
    s.ask_skipped()
    s.answer(s.turn.id, o(s.turn.query))
    whats = [m.what for m in moves_in(s.journal.events)]
    assert whats == ["answer"] * 4 + ["skip"] + ["answer"] * 4 + ["undo"] + [
        "answer"
    ] * 3 + [
        "change",
        "change",
    ]
    frames = film_frames(s)
    assert frames[-1]["labels"] == s.labels.tolist() and len(frames) == len(whats) + 1
    assert len(frames[-1]["links"]) == len(s.said) == 11
    page = Film(s)._repr_html_()
    assert page.count("<script") == 1 and "http" not in page.replace(
        "http://www.w3.org", ""
    )


def test_a_film_shows_hostile_cells_as_text(tmp_path):
    evil = ["</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>"] * 3
    s = AskPairs(
        {"n": [f"<b>{k}" for k in range(6)], "t": evil, "x": np.arange(6.0)},
        id="n",
        learner=[("<b>0", "<b>1"), ("<b>2", "<b>3")],
        log=tmp_path / "e.jsonl",
        question="</script>?",
    )
    for word in ("same", "different"):
        s.answer(s.turn.id, word)
    page = Film(s)._repr_html_()
    assert page.count("</script>") == 1 and "<img" not in page and "alert(1)>" not in page


def test_a_film_of_triples(tmp_path):
    names = [tuple(DF.id[[k, k + 1, k + 2]]) for k in range(0, 9, 3)]
    s = AskTriplets(DF, id="id", learner=names, log=tmp_path / "t.jsonl")
    for word in ("ab", "none", "unsure"):
        s.answer(s.turn.id, word)
    assert film_frames(s)[-1]["labels"] == s.labels.tolist()


@pytest.mark.browser
def test_a_film_plays_without_a_kernel(page, tmp_path):
    s = AskPairs(ITEMS, log=tmp_path / "f.jsonl", learner=COBRAS(random_state=0))
    for _ in range(5):
        s.answer(s.turn.id, NoisyOracle(y)(s.turn.query))
    film = Film(s, pace=0.05)
    text = f"<!doctype html><meta charset=utf-8>{film._repr_html_()}"
    (tmp_path / "film.html").write_text(text, encoding="utf-8")
    page.goto(f"file://{tmp_path}/film.html")
    root = page.locator(".csc-film")
    assert root.get_attribute("data-frame") == "0" and page.locator("circle").count() == 60
    page.get_by_role("button", name="play").click()
    page.wait_for_function("() => document.querySelector('.csc-film').dataset.frame == 5")
    assert page.locator(".csc-map line").count() == 5
    assert page.locator(".csc-question .csc-card").count() == 2
    page.get_by_role("slider").fill("2")
    assert root.get_attribute("data-frame") == "2"
    page.get_by_role("button", name="next").click()
    assert root.get_attribute("data-frame") == "3"
    assert [u for u in page.asked if not u.startswith(("file:", "data:"))] == []
