"""Kernels in the page: equal to the native ones on a thousand problems each, moved by hand and by keyboard."""

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


def signed_problem(rng):
    n = int(rng.integers(2, 8))
    W = np.triu(rng.integers(-2, 3, (n, n)), 1).astype(float)
    return {"W": W + W.T, "n": n, "z": np.zeros(n)}


MAKERS = {
    "rdp_run": rdp_problem,
    "blocks": blocks_problem,
    "obey_run": obey_problem,
    "posterior": posterior_problem,
    "gibbs_walk": walk_problem,
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
    module = {"posterior": "partitions", "signed": "signed"}.get(draw, "points")
    data = {"points": rng.random((6, 2)), "links": [[0, 1, 1, 0.05], [2, 3, -1, 0.9]]}
    sliders = {
        "p": ("share of lies", 0, 0.5, 0.01, 0.0),
        "lam": ("price", 0.01, 0.3, 0.01, 0.05),
        "xi": ("broken", 0, 0.2, 0.01, 0.05),
        "k": ("clusters", 1, 4, 1, 2),
        "same": ("same", 0.5, 0.99, 0.01, 0.9),
        "diff": ("different", 0.5, 0.99, 0.01, 0.9),
        "alpha": ("alpha", 0.1, 5, 0.1, 1),
        "sweep": ("sweeps", 0, 10, 1, 0),
    }
    return Live(module, draw, data=data, sliders=sliders, alt="a trial", **more)


@browser
@pytest.mark.parametrize("draw", ["obey", "rdp", "chain", "posterior", "signed"])
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
