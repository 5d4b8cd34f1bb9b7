"""csc_nb.widgets: frames, live sliders and the stepper, all without a browser."""

import html
import io
import json
import re
from html.parser import HTMLParser
from typing import NamedTuple

import matplotlib

matplotlib.use("agg")
import ipywidgets as W
import matplotlib.pyplot as plt
import numpy as np
import pytest
from PIL import Image

from csc_nb import widgets as V


def figure(a=0, b=0, **_):
    fig, ax = plt.subplots(figsize=(2, 1.5))
    ax.bar([0, 1], [a, b])
    ax.set_ylim(0, 5)
    return fig


@pytest.fixture(autouse=True)
def nothing_left_open():
    plt.close("all")
    yield
    assert plt.get_fignums() == []


class Page(HTMLParser):
    "Tags and attributes of a piece of HTML."

    def __init__(self, text):
        super().__init__()
        self.tags = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def all(self, tag):
        return [a for t, a in self.tags if t == tag]


def data(f):
    return json.loads(
        next(
            a["data-frames"] for a in Page(f._repr_html_()).all("div") if "data-frames" in a
        )
    )


@pytest.mark.parametrize(
    "spec,values",
    [
        ((0, 0.3, 0.1), [0, 0.1, 0.2, 0.3]),
        ((0, 3), [0, 1, 2, 3]),
        ((1, 8, 3), [1, 4, 7]),
        ((0.0, 1.0), [i / 10 for i in range(11)]),
        ([3, 1], [3, 1]),
        (np.array([0.5, 1.0]), [0.5, 1.0]),
        (range(3), [0, 1, 2]),
        (True, [False, True]),
        (7, [7]),
        ("word", ["word"]),
        (("a", "b"), ["a", "b"]),
        ((1, 1), [1]),
        ((2, 2, 0.5), [2.0]),
    ],
)
def test_slider_values(spec, values):
    assert V.slider_values(spec) == values


def test_slider_values_of_widgets():
    assert V.slider_values(W.FloatSlider(min=0, max=1, step=0.5)) == [0, 0.5, 1]
    assert V.slider_values(W.Dropdown(options=[("one", 1), ("two", 2)])) == [1, 2]
    assert V.slider_values(W.Dropdown(options=["x", "y"])) == ["x", "y"]
    assert V.slider_values(W.Checkbox()) == [False, True]
    with pytest.raises(ValueError, match="Text has no finite list"):
        V.slider_values(W.Text())
    for bad in ((1, 0), (0, 1, 0), (0, 1, -1)):
        with pytest.raises(ValueError, match="is empty"):
            V.slider_values(bad)
    with pytest.raises(ValueError, match="at least one value"):
        V.slider_values([])


def test_render_closes_figures_also_after_errors_and_leaves_others():
    keep = plt.figure()
    V.render(figure, {})

    def fails():
        plt.figure()
        plt.figure()
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        V.render(fails, {})
    assert plt.get_fignums() == [keep.number]
    plt.close(keep)


def test_render_takes_figures_axes_and_displays():
    class Display:
        pass

    d = Display()

    def display():
        d.figure_ = figure()
        return d

    want = V.render(figure, {})
    assert V.render(lambda: figure().axes[0], {}) == want == V.render(display, {})
    for bad in (None, 3, "x"):
        with pytest.raises(TypeError, match="must return one matplotlib figure"):
            V.render(lambda: bad, {})


def test_shrink_keeps_size_and_colours():
    from csc_nb.plotting import PALETTE

    def bars():
        fig, ax = plt.subplots(figsize=(3, 2))
        ax.bar(range(8), range(1, 9), color=PALETTE)
        return fig

    png = V.render(bars, {})
    small = V.shrink(png)
    A, B = [np.asarray(Image.open(io.BytesIO(b)).convert("RGB"), int) for b in (png, small)]
    assert A.shape == B.shape and len(small) < len(png)
    for c in PALETTE:
        here = (A == np.round(np.array(matplotlib.colors.to_rgb(c)) * 255)).all(2)
        assert here.sum() > 30 and abs(A[here] - B[here]).max() <= 4
    assert (B[0, 0] == 255).all()


def test_frames_order_and_pictures():
    f = V.Frames(figure, a=[1, 2], b=[3, 4, 5])
    assert f.n_frames == 6 and len(f.frames) == 6
    want = [V.shrink(V.render(figure, {"a": a, "b": b})) for a in (1, 2) for b in (3, 4, 5)]
    assert [f.frames[i] for i in f.index] == want
    assert f.nbytes == len(f._repr_html_()) and "6 pictures" in repr(f)


def test_frames_grid_and_keywords_are_one():
    one, two = V.Frames(figure, {"a": (1, 2)}), V.Frames(figure, a=(1, 2))
    assert one._repr_html_() == two._repr_html_()


def test_three_sliders_and_deduplication():
    f = V.Frames(lambda a, b, c: figure(a, b), a=[1, 2], b=[1, 2], c=[True, False])
    assert f.n_frames == 8 and f.index == [0, 0, 1, 1, 2, 2, 3, 3]
    assert data(f)["texts"][2] == ["on", "off"]
    assert len(Page(f._repr_html_()).all("input")) == 3


def test_start_is_shown_first_and_stored_once():
    f = V.Frames(figure, {"a": [1, 2], "b": [3, 4]}, start={"a": 2})
    page, d = Page(f._repr_html_()), data(f)
    assert [i["value"] for i in page.all("input")] == ["1", "0"]
    assert [x is None for x in d["frames"]] == [False, False, True, False]
    (img,) = page.all("img")
    import base64

    assert base64.b64decode(img["src"].split(",")[1]) == f.frames[2]
    assert img["alt"] == "figure: a = 2, b = 3"
    with pytest.raises(ValueError, match=r"start a=9 is not among its values \[1, 2\]"):
        V.Frames(figure, {"a": [1, 2]}, start={"a": 9})


def test_frames_refuse_nonsense():
    with pytest.raises(ValueError, match="2 × 200 = 400 frames, more than max_frames=200"):
        V.Frames(figure, a=[1, 2], b=list(range(200)))
    with pytest.raises(ValueError, match="at least one slider"):
        V.Frames(figure)


def test_frames_html_fetches_nothing_has_no_ids_and_hides_dead_controls():
    h = V.Frames(figure, a=[1, 2])._repr_html_()
    page = Page(h)
    assert not [a for _, a in page.tags if "id" in a or "href" in a]
    assert (
        all(a["src"].startswith("data:") for _, a in page.tags if "src" in a)
        and "http" not in h
    )
    (controls,) = [a for a in page.all("div") if a.get("class") == "csc-controls"]
    assert "hidden" in controls  # the script shows them
    assert {"width", "height", "alt"} <= set(page.all("img")[0])
    assert all(
        "data-lm-suppress-shortcuts" in a for a in page.all("input")
    )  # on the input itself, else JupyterLab takes the arrow keys
    assert "\n\n" not in h  # a blank line would end an HTML block in Markdown


def test_user_text_is_escaped_everywhere():
    bad = "\"'><script>alert(1)</script>&lt;"
    f = V.Frames(figure, {bad: [bad, bad + "2"]}, alt=bad)
    h = f._repr_html_()
    page = Page(h)
    assert [t for t, _ in page.tags] == [
        "div",
        "img",
        "div",
        "label",
        "span",
        "input",
        "output",
        "script",
    ]
    assert (
        h.count("<script>") == 1
        and data(f)["names"] == [bad]
        and data(f)["texts"] == [[bad, bad + "2"]]
    )
    assert (
        page.all("img")[0]["alt"] == f"{bad}: {bad} = {bad}"
        and page.all("input")[0]["aria-valuetext"] == bad
    )


def test_save_writes_a_page(tmp_path):
    f = V.Frames(figure, a=[1, 2])
    f.save(tmp_path / "x.html", title="<t>")
    text = (tmp_path / "x.html").read_text(encoding="utf-8")
    assert (
        text.startswith("<!doctype html>")
        and "&lt;t&gt;" in text
        and f._repr_html_() in text
    )


def test_controls():
    c = V.explore(
        figure, a=(0, 1, 0.25), b=(1, 5), c=[1, "x"], d=True, e=W.Text("ready")
    ).controls
    assert [type(w).__name__ for w in c.values()] == [
        "FloatSlider",
        "IntSlider",
        "SelectionSlider",
        "Checkbox",
        "Text",
    ]
    assert not any(w.continuous_update for w in list(c.values())[:3])
    assert (c["a"].min, c["a"].max, c["a"].step, c["a"].readout_format) == (
        0,
        1,
        0.25,
        ".2f",
    )
    assert c["d"].value is True and c["e"].value == "ready"


def test_explore_draws_what_the_function_draws():
    calls = []

    def fn(a, b):
        calls.append((a, b))
        return figure(a, b)

    e = V.explore(fn, a=(0, 4), b=[1, 2])
    assert calls == [(0, 1)]
    e.set(a=3)
    assert calls == [(0, 1), (3, 1)] and e.image.value == V.render(figure, {"a": 3, "b": 1})
    e.set(a=3)
    assert len(calls) == 2  # nothing moved, nothing drawn
    image = e.image
    e.set(b=2)
    assert (
        e.image is image and image in e.widget.children
    )  # the same widget all along: no flicker


def test_explore_raises_at_first_and_shows_errors_later():
    def fn(a):
        return figure() if a else 1 / 0

    with pytest.raises(ZeroDivisionError):
        V.explore(fn, a=[0, 1])

    def evil(a):
        if a:
            raise ValueError("<b>")
        return figure()

    e = V.explore(evil, a=[0, 1, 2])
    picture = e.image.value
    e.set(a=1)
    assert (
        e.image.value == picture
        and html.escape("ValueError: <b>") in e.message.value
        and "<b>" not in e.message.value
    )
    e.set(a=0)
    assert e.message.value == ""


class State(NamedTuple):
    x: np.ndarray
    n: int = 0


def halve(s):
    return State(s.x // 2, s.n) if s.x.any() else s


def draw(s):
    return figure(*s.x[:2])


def test_stepper_against_a_plain_loop():
    start = State(np.array([5, 2]))
    want = [start]
    for _ in range(3):
        want.append(halve(want[-1]))
    s = V.Stepper(start, halve, draw)
    s.run()
    assert (
        s.done
        and s.t == 3
        and all(V.same_state(a, b) for a, b in zip(s.history, want, strict=True))
    )


def test_stepper_random_walk_over_the_buttons():
    "Any sequence of presses ends where counting says it must."
    rng = np.random.default_rng(0)
    s, t = V.Stepper(0, lambda k: k + 1 if k < 5 else None, None), 0
    for name in rng.choice(
        ["step", "back", "run", "restart"], 300, p=[0.5, 0.35, 0.1, 0.05]
    ):
        getattr(s, name)()
        t = {"step": min(5, t + 1), "back": max(0, t - 1), "run": 5, "restart": 0}[name]
        assert s.state == s.t == t
        assert not s.done or t == 5


def test_stepper_retraces_a_random_method_and_stops():
    rng = np.random.default_rng(0)
    s = V.Stepper(lambda: 0.0, lambda x: x + rng.normal(), None, max_steps=50)
    s.run()
    seen = s.history[:]
    assert s.t == 50 and not s.done
    s.back(20)
    s.step(20)
    assert s.history == seen and s.state == seen[-1]


def test_same_state():
    a = State(np.array([1.0, np.nan]), 1)
    assert V.same_state(a, State(np.array([1.0, np.nan]), 1)) and not V.same_state(
        a, State(np.array([1.0, 2]), 1)
    )
    assert not V.same_state(State(np.array([1])), (np.array([1]), 0))
    assert V.same_state({"k": [np.arange(2)]}, {"k": [np.arange(2)]}) and not V.same_state(
        {"k": 1}, {"j": 1}
    )
    assert not V.same_state(np.arange(3), np.arange(4)) and V.same_state(
        np.array(["a"]), np.array(["a"])
    )


def test_stepper_frames():
    s = V.Stepper(State(np.array([5, 2])), halve, draw)
    f = s.frames(20)
    assert f.n_frames == 4 and s.t == 0 and len(s.history) == 1  # its own states
    assert f.frames[2] == V.shrink(V.render(draw, {"s": State(np.array([1, 0]))}))
    assert s.frames(1, alt="x").n_frames == 2


def test_stepper_view_forwards_clicks():
    s = V.Stepper(State(np.array([5, 2])), halve, draw)
    v = s.view()
    off = lambda: [n for n, b in v.buttons.items() if b.disabled]
    assert off() == ["back", "restart"]
    v.buttons["step"].click()
    assert s.t == 1 and off() == [] and v.image.value == V.render(draw, {"s": s.state})
    v.buttons["run"].click()
    assert v.status.value == "step 3, finished" and off() == ["step", "run"]
    v.buttons["back"].click()
    v.buttons["restart"].click()
    assert s.t == 0 and v.status.value == "step 0"


def test_stepper_view_shows_errors():
    def fails(s):
        raise RuntimeError("<i>stuck")

    v = V.StepperView(V.Stepper(State(np.array([1, 1])), fails, draw))
    v.buttons["step"].click()
    assert "RuntimeError: &lt;i&gt;stuck" in v.message.value and v.stepper.t == 0


def test_script_marks_boxes_and_is_short():
    assert len(V._SCRIPT) < 1200 and not re.search(r"https?:|getElementById", V._SCRIPT)


def test_explore_opens_at_the_defaults_of_the_function():
    def f(a=2, b=3.0, c="x", d=True, e=9, g=1):
        return plt.subplots()[0]

    live = V.explore(f, a=(1, 4), b=[1.0, 3.0], c=["y", "x"], d=False, e=(0, 5), g=(1, 3))
    assert live.values == dict(
        a=2, b=3.0, c="x", d=False, e=0, g=1
    )  # what a slider does not reach starts at its first value
