"""Every screen of labelling in Chromium, as wide as a desk and a phone, light and dark.

The component draws what Python says; here Python's words go to it without a kernel, so that
a screen takes a second. `CSC_NB_SHOTS=folder/` keeps the pictures, to be looked at.
"""

import itertools, json, os
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from csc_nb.cobras import COBRAS
from csc_nb.labelling import AskPairs, AskTriplets, Items, random_questions
from csc_nb.labelling_view import AskView, StartView, in_use_screen, static, words_of
from csc_nb.oracles import Pair
from csc_nb.team import Team, TeamView, hire

pytestmark = pytest.mark.browser
pytest.importorskip("anywidget")
SIZES = {"desk": 1280, "phone": 390}

PAGE = """<!doctype html><html><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>body {{ margin: 8px }} {css}</style></head>
<body><div id="here"></div><script type="module">
{js}
const state = {state};
const send = (m) => (window.sent ||= []).push(m);
const model = {{ get: (k) => state[k], on: () => {{}}, send }};
render({{ model, el: document.getElementById("here") }});
</script></body></html>"""


def patients(n=40):
    "What a clinic has: long headers, gaps, words, dates, a remark."
    rng = np.random.default_rng(0)
    kind = rng.integers(3, size=n)
    words = ["cough since three days, no fever", "ankle swollen after a fall on the stairs"]
    words.append("headache in the morning, light hurts, has to lie down")
    return pd.DataFrame(
        {
            "Patient": [f"M. Müller-Lüdenscheidt {i:02}" for i in range(n)],
            "Age (years)": rng.integers(20, 90, n),
            "Systolic blood pressure (mmHg)": (
                120 + 15 * kind + rng.normal(0, 5, n)
            ).round(),
            "CRP": np.where(rng.random(n) < 0.2, np.nan, (5 + 40 * kind).astype(float)),
            "Sex": rng.choice(["female", "male"], n),
            "Smoker": rng.choice(["yes", "no"], n),
            "Admitted": [f"2026-0{1 + i % 9}-1{i % 10}" for i in range(n)],
            "Complaint": [words[k] for k in kind],
        }
    )


def asked(n, language="en", **kw):
    "A session with some answers."
    more = dict(id="Patient", log=None, learner=COBRAS(random_state=0), language=language)
    s = AskPairs(patients(), question="Same illness?", **{**more, **kw})
    for _ in range(n):
        a, b = (s.items.columns["Complaint"][i] for i in s.turn.query.items)
        s.answer(s.turn.id, "same" if a == b else "different")
    return s


def first(folder, language):
    return StartView(patients(), None, id="Patient", language=language)


def question(folder, language):
    return AskView(asked(14, language))


def contradiction(folder, language):
    s = asked(6, language)
    a, b, c = s.items.ids[:3]
    for x, y, v in ((a, b, 1), (b, c, 1), (a, c, -1)):
        s.hear(x, y, v)
    return AskView(s)


def results(folder, language):
    s = asked(14, language)
    s.name_cluster(0, "migraine")
    v = AskView(s)
    v.do("results", v.shown_id)
    return v


def triples(folder, language):
    data = patients()[["Patient", "Complaint", "Sex"]]
    s = AskTriplets(data, id="Patient", log=None, language=language)
    return AskView(s)


def organiser(folder, language):
    items = Items(patients(), id="Patient")
    pairs = [Pair(*q) for q in random_questions(items.n, 30)]
    logs = {}
    for seed, name in enumerate(["Dr. Ann Baumgärtner", "Ben", "tiny-model-1"]):
        logs[name] = folder / f"{seed}{language}.jsonl"
        rng = np.random.default_rng(seed)

        class Helper:
            kinds, group, price = ("pair",), "people" if seed < 2 else "models", 0.01

            def __call__(self, q):
                a, b = (items.columns["Complaint"][i] for i in q.items)
                return "same" if (a == b) != (rng.random() < 0.15) else "different"

        Helper.name = name
        hire(Helper(), items, pairs, logs[name])
    links = {k: f"http://127.0.0.1:8888/?token={'x' * 32}&who={'y' * 32}" for k in logs}
    v = TeamView(Team(items, logs, language=language), links=links, hire=[Helper()])
    v.do("merge-all")
    return v


def in_use(folder, language):
    error = SimpleNamespace(holder=dict(annotator="Ann", since="14:05"))

    class Shown:
        class widget:
            screen = in_use_screen(error, words_of(language), language)
            panel, message, heard = {}, "", 0

    return Shown


SCREENS = [first, question, contradiction, results, triples, organiser, in_use]

# text that is cut, text too pale, anything wider than the page
LOOK = """() => {
  const seen = (n) => n.offsetParent && getComputedStyle(n).visibility != "hidden";
  const light = (c) => {
    const linear = (x) => x <= .03928 ? x / 12.92 : ((x + .055) / 1.055) ** 2.4;
    const v = c.map((x) => linear(x / 255));
    return .2126 * v[0] + .7152 * v[1] + .0722 * v[2];
  };
  const rgba = (text) => {
    const v = text.match(/[\\d.]+/g).map(Number);
    if (text.startsWith("color(")) return [v[0] * 255, v[1] * 255, v[2] * 255, v[3] ?? 1];
    return [v[0], v[1], v[2], v[3] ?? 1];
  };
  const over = (top, below) =>
    [0, 1, 2].map((k) => top[k] * top[3] + below[k] * (1 - top[3]));
  const ground = (n) => {
    if (!n) return [255, 255, 255];
    return over(rgba(getComputedStyle(n).backgroundColor), ground(n.parentElement));
  };
  const wide = document.documentElement.scrollWidth - innerWidth;
  const out = { wide, cut: [], pale: [], small: [] };
  const parts = ["button", "th", "h3", "h4"].map((tag) => ".csc-ask " + tag).join(", ");
  const scrolls = ".csc-scroll, .csc-cluster .csc-cards";
  for (const n of document.querySelectorAll(parts)) {
    if (!seen(n)) continue;
    const tight = n.scrollWidth > n.clientWidth + 1 || n.scrollHeight > n.clientHeight + 3;
    if (tight) out.cut.push(n.innerText);
    const outside = n.getBoundingClientRect().right > innerWidth + 1;
    if (outside && !n.closest(scrolls)) out.cut.push("outside: " + n.innerText);
  }
  const pen = document.createElement("canvas").getContext("2d");
  for (const n of document.querySelectorAll(".csc-ask select")) {
    pen.font = getComputedStyle(n).font;
    const words = n.selectedOptions[0].label;
    const tight = pen.measureText(words).width + 38 > n.clientWidth;
    const outside = n.getBoundingClientRect().right > innerWidth + 1;
    if (seen(n) && (tight || outside)) out.cut.push(words);
  }
  for (const n of document.querySelectorAll(".csc-ask *")) {
    const own = [...n.childNodes].some((t) => t.nodeType == 3 && t.data.trim());
    if (!own || !seen(n) || n.closest("option")) continue;
    const style = getComputedStyle(n);
    const ink = light(over(rgba(style.color), ground(n))), paper = light(ground(n));
    const ratio = (Math.max(ink, paper) + .05) / (Math.min(ink, paper) + .05);
    const what = `${n.className} ${n.innerText.slice(0, 30)} ${ratio.toFixed(1)}`;
    if (ratio < 4.4) out.pale.push(what);
    if (parseFloat(style.fontSize) < 12) out.small.push(n.innerText.slice(0, 30));
  }
  if (innerWidth < 500) for (const n of document.querySelectorAll(".csc-answer, .csc-main"))
    if (n.getBoundingClientRect().height < 44) out.small.push("finger: " + n.innerText);
  return out;
}"""


def draw(page, view, path):
    w = view.widget
    state = dict(screen=w.screen, panel=w.panel, message=w.message, heard=w.heard)
    js = static("ask.js").replace("export default { render };", "")
    text = json.dumps(state).replace("</", "<\\/")
    path.write_text(PAGE.format(css=static("ask.css"), js=js, state=text), encoding="utf-8")
    page.goto(f"file://{path}")
    page.wait_for_selector(".csc-ask[data-keys=on]")
    page.wait_for_timeout(50)


@pytest.mark.parametrize("language", ["en", "de", "ar"])
@pytest.mark.parametrize("make", SCREENS, ids=lambda f: f.__name__)
def test_nothing_is_cut_pale_or_wider_than_the_page(page, tmp_path, make, language):
    view = make(tmp_path, language)
    browser = page.context.browser
    for (size, width), theme in itertools.product(SIZES.items(), ("light", "dark")):
        room = browser.new_context(
            viewport=dict(width=width, height=800),
            color_scheme=theme,
            is_mobile=width < 500,
            has_touch=width < 500,
        )
        tab = room.new_page()
        errors = []
        tab.on("pageerror", lambda e: errors.append(str(e)))
        draw(tab, view, tmp_path / "screen.html")
        if os.environ.get("CSC_NB_SHOTS"):
            name = f"{make.__name__}-{language}-{size}-{theme}.png"
            tab.screenshot(path=os.environ["CSC_NB_SHOTS"] + name, full_page=True)
        found = tab.evaluate(LOOK)
        where = f"{make.__name__}, {language}, {size}, {theme}"
        assert not errors, (where, errors)
        assert found["wide"] <= 1, where
        assert not (found["cut"] or found["pale"] or found["small"]), (where, found)
        assert tab.locator(".csc-ask").get_attribute("dir") == (
            "rtl" if language == "ar" else "ltr"
        )
        room.close()


def test_a_contradiction_below_the_fold_is_announced_above_it(page, tmp_path):
    "A person in a hurry looks at the question; the link leads to what is to be settled."
    tab = page.context.browser.new_context(viewport=dict(width=390, height=800)).new_page()
    draw(tab, contradiction(tmp_path, "en"), tmp_path / "screen.html")
    top = lambda: tab.locator(".csc-conflict").bounding_box()["y"]
    jump = tab.locator(".csc-do-jump")
    assert "These answers cannot all be right" in jump.inner_text()
    assert jump.bounding_box()["y"] < 200 and top() > 800
    jump.click()
    tab.wait_for_function(
        "() => document.querySelector('.csc-conflict').getBoundingClientRect().top < 300"
    )
    draw(tab, question(tmp_path, "en"), tmp_path / "screen.html")
    assert not tab.locator(".csc-do-jump").count()
