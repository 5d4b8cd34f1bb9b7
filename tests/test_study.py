"""The study mode: plan, phases, log, and the tables made from logs."""

import json

import numpy as np
import pytest

from csc_nb.labelling import Items
from csc_nb.oracles import read_journal, true_answer
from csc_nb.study import (
    CHOICES,
    QUESTIONS,
    Study,
    StudyView,
    confusion,
    draw_plan,
    preference_table,
    query_of,
    read_study,
    time_table,
)

TRUTH = {"a": np.arange(30) % 3, "b": np.arange(24) % 4}
SETS = {k: Items({"x": np.arange(float(len(y)))}) for k, y in TRUTH.items()}
NAMES = {k: {str(i): int(v) for i, v in enumerate(y)} for k, y in TRUTH.items()}


def study(path, who="p", **kw):
    return Study(
        SETS,
        TRUTH,
        log=path,
        participant=who,
        **{**dict(n_pairs=6, n_triples=4, n_practice=1), **kw},
    )


def finish(s, answer, seconds=2.0, choice="pairs"):
    if s.phase == "instructions":
        s.begin(s.turn)
    while s.ask:
        s.answer(s.turn, answer(s.ask), seconds)
    s.fill_in(dict.fromkeys(QUESTIONS, choice))
    s.close()


def right(a):
    q = query_of(a)
    return true_answer(q, TRUTH[a.task])


@pytest.mark.parametrize("order", ["blocks", "mixed"])
def test_every_person_gets_every_task_in_a_random_order(order):
    plans = [draw_plan(SETS, 6, 4, order, 0, who) for who in "abcdefgh"]
    for p in plans:
        assert len(p) == 20 and {
            (t, k): sum(a[:2] == (t, k) for a in p)
            for t in "ab"
            for k in ("pair", "triple")
        } == {("a", "pair"): 6, ("a", "triple"): 4, ("b", "pair"): 6, ("b", "triple"): 4}
        changes = sum(x[:2] != y[:2] for x, y in zip(p, p[1:]))
        assert changes == 3 if order == "blocks" else changes > 3
    assert len({tuple(p) for p in plans}) == 8 and len({p[0][:2] for p in plans}) > 1
    assert draw_plan(SETS, 6, 4, order, 0, "a") == plans[0]


def test_phases_resume_and_stale_answers(tmp_path):
    s = study(tmp_path / "s.jsonl")
    assert (
        s.phase == "instructions"
        and s.ask is None
        and not s.answer(s.turn, "same")
        and s.begin(s.turn)
        and not s.begin("instructions:0")
    )
    seen = []
    while s.phase == "practice":
        t = s.turn
        got = s.answer(t, right(s.ask))
        seen.append(got)
        assert s.answer(t, "unsure") is False
    assert seen == ["right", "right"]
    for k in range(20):
        t = s.turn
        assert s.answer(t, "unsure", 1.5) is True and s.answer(t, "unsure") is False
        if k % 6 == 5:
            s.close()
            s = study(tmp_path / "s.jsonl")
            assert s.done == k + 1 and s.phase == (
                "questions" if k < 19 else "questionnaire"
            )
    with pytest.raises(ValueError, match="5 questions have no answer"):
        s.fill_in({})
    assert (
        s.fill_in(dict.fromkeys(QUESTIONS, "triples"), "fine")
        and s.phase == "thanks"
        and not s.fill_in({})
    )
    s.close()
    assert study(tmp_path / "s.jsonl").phase == "thanks"


def test_another_plan_and_nonsense_are_refused(tmp_path):
    s = study(tmp_path / "s.jsonl")
    s.begin(s.turn)
    s.close()
    with pytest.raises(ValueError, match="another plan"):
        study(tmp_path / "s.jsonl", n_pairs=7)
    with open(tmp_path / "s.jsonl", "a") as f:
        f.write('{"event": "answer"}\n')
    with pytest.raises(ValueError, match="line 5"):
        study(tmp_path / "s.jsonl")
    with pytest.raises(ValueError, match="order='zigzag'"):
        draw_plan(SETS, 1, 1, "zigzag")


def test_tables_from_logs_by_hand(tmp_path):
    logs = [tmp_path / "p1.jsonl", tmp_path / "p2.jsonl"]
    finish(study(logs[0], "p1"), right, seconds=2.0)
    finish(
        study(logs[1], "p2"),
        lambda a: (
            "unsure" if a.task == "a" else "different" if a.kind == "pair" else "none"
        ),
        seconds=4.0,
        choice="triples",
    )
    times = {(r["set"], r["kind"]): r for r in time_table(logs)}
    assert (
        times["a", "pair"]["per answer"] == f"3.00 ± {np.std([2, 4], ddof=1):.2f}"
        and len(times) == 4
    )
    assert times["a", "pair"]["positive (same / one odd)"] in (
        "2.00 ± 0.00",
        "–",
    )  # p2 never said “same” about set a
    assert preference_table(logs)[0] == {
        "question": QUESTIONS["performance"],
        "pairs": "1/2",
        "triples": "1/2",
        "no preference": "0/2",
    }
    for task in "ab":
        for kind in ("pair", "triple"):
            data, c = (
                [r for r in read_study(logs) if r["task"] == task and r["kind"] == kind],
                confusion(logs, NAMES, task, kind),
            )
            assert np.isclose(c.table.sum(), len(data) / 2) and c.table[:, -1].sum() == (
                0 if task == "b" else len(data) / 4
            )
            if task == "a":
                assert (
                    c.accuracy == 1
                    and np.count_nonzero(c.table[:, :-1] - np.diag(np.diag(c.table))) == 0
                )
    wrong = [r for r in read_study(logs) if r["task"] == "b" and r["kind"] == "pair"]
    truly = [NAMES["b"][r["items"][0]] == NAMES["b"][r["items"][1]] for r in wrong]
    assert np.isclose(
        confusion(logs, NAMES, "b", "pair").accuracy,
        np.mean([(r["answer"] == "same") == t for r, t in zip(wrong, truly)]),
    )
    with pytest.raises(ValueError, match="no truth for"):
        confusion(logs, {"a": {}}, "a", "pair")


def test_practice_is_not_counted_and_the_screen_walks_through(tmp_path):
    s = study(tmp_path / "v.jsonl")
    v = StudyView(s, reference={"a": [0, 1]}, pause=0.0)
    screen = v.widget.screen
    assert "same class" in screen["note"]
    assert [b["label"] for b in screen["more"]] == ["Begin"] and not screen["answers"]
    v.do("go", s.turn)
    stale = s.turn
    v.do("unsure", stale)
    assert "right answer was" in v.widget.message
    v.do("unsure", stale)
    assert s.practised == 1
    while s.phase != "questionnaire":
        v.do("unsure", s.turn)
    v.do("go", s.turn)
    assert "5 questions have no answer" in v.widget.message
    form = dict.fromkeys(QUESTIONS, CHOICES[2]) | {"comment": "<script>"}
    v.widget._handle_custom_msg(dict(action="go", turn=s.turn, form=form), [])
    assert s.phase == "thanks" and len(read_study([tmp_path / "v.jsonl"])) == 20
    assert [
        e["kind"] for e in read_journal(tmp_path / "v.jsonl")[0] if e["event"] == "note"
    ].count("practice") == 2
