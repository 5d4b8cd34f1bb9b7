"""Kernels in the page: equal to the native ones on a thousand problems each, moved by
hand and by keyboard."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from csc_nb import play
from csc_nb.widgets import Live

ROOT = Path(__file__).resolve().parent.parent
STATIC = ROOT / "csc_nb" / "static"
N = 1000
browser = pytest.mark.browser
needs_tools = pytest.mark.skipif(
    not (ROOT / "tools").exists(), reason="needs the repository"
)


def answers(rng, n, m):
    a = rng.integers(n, size=m)
    b = (a + rng.integers(1, n, size=m)) % n
    return {"a": a, "b": b, "value": rng.choice([-1, 1], m), "m": m}


def rdp_problem(rng):
    n, m = int(rng.integers(2, 40)), int(rng.integers(0, 60))
    size = {"n": n, "d": 2, "room": n + 2, "two": 2, "chosen": int(rng.integers(n))}
    how = {
        "lam": rng.uniform(0.01, 0.3),
        "xi0": rng.uniform(0, 0.1),
        "rate": 1.0 + rng.random(),
    }
    rows = {
        "X": rng.random((n, 2)),
        "order": rng.permutation(n),
        "sweeps": int(rng.integers(6)),
    }
    out = {"z": np.zeros(n), "mu": np.zeros((n + 2, 2)), "price": np.zeros(n + 2)}
    return {**rows, **answers(rng, n, m), **size, **how, **out, "tally": np.zeros(2)}


def blocks_problem(rng):
    n = int(rng.integers(2, 40))
    return {**answers(rng, n, int(rng.integers(0, 30))), "n": n, "z": np.zeros(n)}


def obey_problem(rng):
    n = int(rng.integers(4, 40))
    k = int(rng.integers(1, 4))
    rows = {"X": rng.random((n, 2)), "n": n, "d": 2, "k": k, "starts": 3}
    out = {"plain": np.zeros(n), "hard": np.zeros(n), "draws": rng.random((3, k))}
    return {**rows, **answers(rng, n, int(rng.integers(0, 20))), **out}


def model(rng):
    n = int(rng.integers(2, 6))
    how = {
        "alpha": rng.uniform(0.1, 3),
        "p": rng.uniform(0.5, 0.95),
        "q": rng.uniform(0.5, 0.95),
    }
    rows = {"X": rng.random((n, 2)), "n": n, "d": 2, "s2": 0.01, "w0": 0.05}
    return {**rows, **answers(rng, n, int(rng.integers(0, 6))), **how}


def posterior_problem(rng):
    given = model(rng)
    count = {2: 2, 3: 5, 4: 15, 5: 52}[given["n"]]
    return {
        **given,
        "N": count,
        "Z": np.zeros((count, given["n"])),
        "logp": np.zeros(count),
    }


def walk_problem(rng):
    given = model(rng)
    n, sweeps = given["n"], 5
    out = {"u": rng.random((sweeps, n)), "path": np.zeros((sweeps, n)), "sweeps": sweeps}
    return {**given, **out, "room": n + 2}


def frozen_problem(rng):
    n, sweeps = int(rng.integers(2, 30)), int(rng.integers(1, 5))
    how = {
        "gamma": 10 ** rng.uniform(0, 4),
        "lam": rng.uniform(0.01, 0.3),
        "xi": rng.uniform(0, 0.1),
        "v0": 1.0,
    }
    rows = {"X": rng.random((n, 2)), "n": n, "d": 2, "room": n + 2, "sweeps": sweeps}
    out = {"u": rng.random((sweeps, n)), "z": np.zeros(n), "share": np.zeros(n + 2)}
    who = {"chosen": int(rng.integers(n))}
    return {**rows, **answers(rng, n, int(rng.integers(0, 40))), **how, **out, **who}


def signed_problem(rng):
    n = int(rng.integers(2, 8))
    W = np.triu(rng.integers(-2, 3, (n, n)), 1).astype(float)
    return {"W": W + W.T, "n": n, "z": np.zeros(n)}


def sets_problem(rng):
    n = int(rng.integers(2, 7))
    given = answers(rng, n, int(rng.integers(1, 9)))
    m = given["m"]
    each = {"best": np.zeros(m), "wrong": np.zeros(m)}
    pairs = {"says": np.zeros((n, n)), "against": np.zeros((n, n))}
    rate = {"nu": rng.uniform(0.01, 0.4), "tally": np.zeros(3), "three": 3}
    return {**given, **each, **pairs, **rate, "n": n}


def cloud_problem(rng):
    n, S, moves = int(rng.integers(3, 12)), 6, 2
    given = answers(rng, n, int(rng.integers(0, 5)))
    steps, size, tries = given["m"] * moves, S * 6, 1 + 5 * S
    luck = {"V": rng.normal(size=(steps, size)), "u": rng.random((steps, tries))}
    how = {"eps": rng.uniform(0.02, 0.3), "lam": 0.5, "tau": rng.uniform(0, 2)}
    sizes = {"n": n, "d": 2, "S": S, "D": 3, "K": 2}
    sizes |= {"steps": steps, "size": size, "tries": tries}
    out = {"z": np.zeros(n), "Q": np.zeros((n, S, 2)), "tree": np.zeros(n)}
    start = {"X": rng.random((n, 2)), "W": rng.normal(size=(S, 3, 2))}
    return {**given, **start, **luck, **how, **sizes, **out, "info": np.zeros((n, n))}


MAKERS = {
    "answer_sets": sets_problem,
    "particle_run": cloud_problem,
    "rdp_run": rdp_problem,
    "blocks": blocks_problem,
    "obey_run": obey_problem,
    "posterior": posterior_problem,
    "gibbs_walk": walk_problem,
    "frozen_walk": frozen_problem,
    "signed_best": signed_problem,
}
HOME = {name: (module, spec) for module, es in play.ENTRIES.items() for name, _, spec in es}


def native(name, problem):
    "The exported function on the same arrays."
    spec = HOME[name][1]
    given = {}
    for arg, kind, shape in spec:
        dtype = np.float64 if kind == "f8" else np.int32
        value = problem[arg]
        given[arg] = np.array(value, dtype) if shape else value
    value = getattr(play, name)(**given)
    return {"returned": int(value)} | {a: given[a].ravel() for a, _, shape in spec if shape}


def plain(problem):
    listed = {
        k: v.ravel().tolist() for k, v in problem.items() if isinstance(v, np.ndarray)
    }
    scalars = {k: v.item() if isinstance(v, np.generic) else v for k, v in problem.items()}
    return {**scalars, **listed}


@needs_tools
def test_the_modules_are_not_older_than_their_kernels(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    before = dict(os.environ)
    import wasm  # it sets how numba compiles; here nothing is compiled

    os.environ.clear()
    os.environ.update(before)
    assert list(wasm.stale()) == []


def test_every_module_is_small():
    for name in play.ENTRIES:
        assert len((STATIC / "live" / f"{name}.wasm").read_bytes()) < 60_000


def test_every_entry_has_a_maker():
    assert set(MAKERS) == set(HOME)


@browser
@pytest.mark.parametrize("name", MAKERS)
def test_the_page_computes_what_the_package_computes(page, name):
    module, spec = HOME[name]
    rng = np.random.default_rng([7, len(name)])
    problems = [MAKERS[name](rng) for _ in range(N)]
    config = Live(module, "rdp", data={}).config
    page.goto("about:blank")
    page.add_script_tag(content=(STATIC / "live.js").read_text())
    run = """async ([wasm, entries, name, problems]) => {
      const kernels = new cscLive.Kernels(await cscLive.inflate(wasm), entries);
      return problems.map(p => Object.fromEntries(Object.entries(kernels.call(name, p))
        .map(([k, v]) => [k, v.length === undefined ? v : Array.from(v)])));
    }"""
    given = [config["wasm"], config["entries"], name, [plain(p) for p in problems]]
    for problem, there in zip(problems, page.evaluate(run, given)):
        here = native(name, problem)
        assert there["returned"] == here["returned"]
        for arg, kind, shape in spec:
            if not shape:
                continue
            if kind == "i4":
                assert there[arg] == here[arg].tolist(), (name, arg)
            else:
                assert np.allclose(there[arg], here[arg], rtol=1e-9, atol=1e-9), (name, arg)


def small(draw="obey", **more):
    rng = np.random.default_rng(0)
    homes = {"posterior": "partitions", "temperature": "partitions"}
    homes |= {name: name for name in ("signed", "answers", "particles")}
    module = homes.get(draw, "points")
    data = {"points": rng.random((6, 2)), "links": [[0, 1, 1, 0.05], [2, 3, -1, 0.9]]}
    sliders = {
        "p": ("share of lies", 0, 0.5, 0.01, 0.0),
        "lam": ("price", 0.01, 0.3, 0.01, 0.05),
        "xi": ("broken", 0, 0.2, 0.01, 0.05),
        "k": ("clusters", 1, 4, 1, 2),
        "same": ("same", 0.5, 0.99, 0.01, 0.9),
        "diff": ("different", 0.5, 0.99, 0.01, 0.9),
        "alpha": ("alpha", 0.1, 5, 0.1, 1),
        "cold": ("log γ", 0, 5, 0.1, 2),
        "sweep": ("sweeps", 0, 10, 1, 0),
        "nu": ("noise", 0.01, 0.4, 0.01, 0.1),
        "eps": ("wrong answers", 0.01, 0.4, 0.01, 0.05),
        "tau": ("entropy", 0, 5, 0.5, 1),
    }
    return Live(module, draw, data=data, sliders=sliders, alt="a trial", **more)


@browser
@pytest.mark.parametrize(
    "draw",
    [
        "obey",
        "rdp",
        "chain",
        "posterior",
        "temperature",
        "signed",
        "answers",
        "particles",
    ],
)
def test_every_scene_draws_says_and_moves_by_keyboard(page, tmp_path, draw):
    asked = []
    small(draw).save(tmp_path / "live.html")
    page.on("request", lambda r: asked.append(r.url))
    page.goto(f"file://{tmp_path}/live.html")
    page.wait_for_selector("canvas")
    said = page.locator(".csc-live-said")
    assert len(said.inner_text()) > 30
    page.locator("canvas").focus()
    before = page.locator("canvas").evaluate("c => c.toDataURL()")
    for key in ("n", "f", "n", "ArrowRight", "ArrowUp"):
        page.keyboard.press(key)
    assert page.locator("canvas").evaluate("c => c.toDataURL()") != before
    assert page.locator("canvas").get_attribute("aria-label") == "a trial"
    assert all(u.startswith(("file:", "data:")) for u in asked)


@browser
def test_two_clicks_are_an_answer_and_a_slider_tells_a_lie(page, tmp_path):
    small("rdp").save(tmp_path / "live.html")
    page.goto(f"file://{tmp_path}/live.html")
    page.wait_for_selector("canvas")
    state = "() => document.querySelector('.csc-live').cscState"
    page.get_by_role("radio", name="Same").click()
    for i in (4, 5):
        x, y = page.evaluate(f"({state})().at(({state})().points[{i}])")
        page.locator("canvas").click(position={"x": x, "y": y})
    assert page.evaluate(f"({state})().links.at(-1)") == [4, 5, 1, 2]
    said = page.locator(".csc-live-said").inner_text()
    assert "of the 0 wrong ones" in said and "of 3 answers" in said
    page.get_by_label("share of lies").first.fill("0.1")
    assert "of the 1 wrong ones" in page.locator(".csc-live-said").inner_text()
    page.get_by_role("button", name="Start again").click()
    assert "of 2 answers" in page.locator(".csc-live-said").inner_text()


@browser
def test_cold_enough_the_sampler_is_frozen(page, tmp_path):
    small("temperature").save(tmp_path / "live.html")
    page.goto(f"file://{tmp_path}/live.html")
    page.wait_for_selector("canvas")
    page.get_by_label("sweeps").first.fill("6")
    said = page.locator(".csc-live-said")
    page.get_by_label("log γ").first.fill("5")
    cold = said.inner_text()
    assert "agreement 1.00 with the frozen sampler" in cold and "has chance 1.00" in cold
    page.get_by_label("log γ").first.fill("0")
    assert "has chance 1.00" not in said.inner_text()


@browser
def test_lie_now_lowers_the_confidence_and_a_question_raises_it(page, tmp_path):
    turn = 2 * np.pi * np.arange(5) / 5
    points = 0.5 + 0.4 * np.c_[np.cos(turn), np.sin(turn)]
    truth = [0, 0, 0, 1, 1]
    pairs = [(0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (2, 4)]
    links = [[i, j, 1 if truth[i] == truth[j] else -1, 2] for i, j in pairs]
    data = {"points": points, "links": links, "truth": truth}
    sliders = {"nu": ("noise", 0.01, 0.3, 0.01, 0.05), "alpha": ("α", 0.5, 0.99, 0.01, 0.9)}
    Live("answers", "answers", data=data, sliders=sliders, alt="x").save(
        tmp_path / "l.html"
    )
    page.goto(f"file://{tmp_path}/l.html")
    page.wait_for_selector("canvas")
    state = "document.querySelector('.csc-live').cscState"
    chance = lambda: page.evaluate(f"{state}.result.chance")
    first = chance()
    assert abs(first - 0.95**6 / sum_of_sets(pairs, [l[2] for l in links], 0.05)) < 1e-9
    page.get_by_role("button", name="Lie now").press("Enter")
    assert (
        chance() < first and "Lies: none" not in page.locator(".csc-live-said").inner_text()
    )
    for _ in range(3):
        page.get_by_role("button", name="Ask the next question").press("Enter")
    assert page.evaluate(f"{state}.links.length") > 6


def sum_of_sets(pairs, said, nu):
    "Chance of the answers under all partitions of five points, each consistent set once."
    from itertools import product

    seen = set()
    for z in product(range(5), repeat=5):
        seen.add(tuple(1 if z[i] == z[j] else -1 for i, j in pairs))
    flips = [sum(x != y for x, y in zip(w, said)) for w in seen]
    return sum(nu**d * (1 - nu) ** (len(said) - d) for d in flips)


@browser
def test_answers_narrow_the_cloud(page, tmp_path):
    rng = np.random.default_rng(0)
    truth = np.arange(30) % 2
    points = np.clip(
        np.c_[0.3 + 0.4 * truth, np.full(30, 0.5)] + rng.normal(0, 0.1, (30, 2)), 0, 1
    )
    sliders = {"eps": ("wrong", 0.01, 0.4, 0.01, 0.05), "tau": ("entropy", 0, 5, 0.5, 1)}
    data = {"points": points, "links": [], "truth": truth}
    Live("particles", "particles", data=data, sliders=sliders, alt="x").save(
        tmp_path / "l.html"
    )
    page.goto(f"file://{tmp_path}/l.html")
    page.wait_for_selector("canvas")
    state = "document.querySelector('.csc-live').cscState"
    before = page.evaluate(f"{state}.result.bits")
    for _ in range(8):
        page.get_by_role("button", name="Answer truly").press("Enter")
    assert page.evaluate(f"{state}.result.bits") < before
    assert page.evaluate(f"cscLive.agreement({state}.result.z, {state}.truth)") > 0.8
    page.get_by_role("button", name="Undo").press("Enter")
    assert page.evaluate(f"{state}.links.length") == 7


@browser
def test_a_file_of_the_readers_own(page, tmp_path):
    (tmp_path / "own.csv").write_text("name;x;y\na;1,5;2\nb;2,5;3\nc;9;8,5\nd;8;n/a\n")
    small("obey", csv=True).save(tmp_path / "live.html")
    page.goto(f"file://{tmp_path}/live.html")
    page.wait_for_selector("canvas")
    page.locator("input[type=file]").set_input_files(tmp_path / "own.csv")
    page.wait_for_selector("select")
    assert page.evaluate("document.querySelector('.csc-live').cscState.points.length") == 3
    assert "3 of 4 rows" in page.locator(".csc-live-said").inner_text()


@browser
def test_without_webassembly_the_picture_stays(page, tmp_path):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(2, 2))
    figure.subplots().plot([0, 1])
    small("rdp", still=figure).save(tmp_path / "live.html")
    page.add_init_script("delete window.WebAssembly")
    page.goto(f"file://{tmp_path}/live.html")
    page.wait_for_selector(".csc-live-still")
    assert page.locator(".csc-live img").is_visible()
    assert page.locator("canvas").count() == 0


def test_user_text_is_escaped():
    evil = "</script><script>alert(1)</script>"
    text = Live(
        "points", "rdp", data={"points": [[0, 0]], "names": [evil]}, alt=evil
    )._repr_html_()
    assert evil not in text
    assert (
        json.loads(text.split('application/json">')[1].split("</script>")[0])["alt"] == evil
    )


def test_a_wrong_slider_says_how_it_is_given():
    with pytest.raises(ValueError, match="least, most, step, start"):
        Live("points", "rdp", data={}, sliders={"lam": ("x", 1, 0, 1, 3)})
    with pytest.raises(ValueError, match="unknown tools"):
        Live("points", "rdp", data={}, tools=["paint"])
