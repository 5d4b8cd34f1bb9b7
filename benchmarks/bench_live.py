"""How fast an explorable redraws at 500 points: `python benchmarks/bench_live.py [N]
[SCENE ...]`.

For every scene on points: the median of fifteen redraws in Chromium (kernels, drawing and
sentence, each after the first slider moved), by the clock and as time of the processor
that the page's thread had (`threadTicks`, which other work on the machine does not
lengthen), and the time of its kernel calls over that of the same calls to the native
functions in the same run. `least` is the quickest of the fifteen. Exact enumerations
(`posterior`, `signed`, `answers`) and the scenes without points have problems of a fixed
size.
"""

import json
import shutil
import statistics
import sys
import time
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright

from csc_nb import play
from csc_nb.widgets import Live

READY = """() => {
  const root = document.querySelector(".csc-live"), s = root.cscState;
  const call = s.kernels.call.bind(s.kernels), bench = window.bench = {calls: []};
  s.kernels.call = (name, values) => {
    const t = performance.now(), out = call(name, values);
    bench.inside += performance.now() - t;
    bench.calls.push([name, values]);
    return out;
  };
}"""
MOVE = """(t) => {
  const root = document.querySelector(".csc-live");
  const input = root.querySelector("input[type=range]");
  Object.assign(window.bench, {inside: 0, calls: []});
  if (t < 0) return;
  input.value = +input.value + (t % 2 ? -input.step : +input.step);
  const start = performance.now();
  input.dispatchEvent(new Event("input"));
  root.querySelector("canvas").getContext("2d").getImageData(0, 0, 1, 1);
  return [performance.now() - start, window.bench.inside];
}"""
CALLS = """() => {
  const listed = v => v && v.length !== undefined ? Array.from(v) : v;
  return window.bench.calls.map(([n, values]) =>
    [n, Object.fromEntries(Object.entries(values).map(([k, v]) => [k, listed(v)]))]);
}"""


def redraws(page, times=15):
    "By the clock, inside kernels and of the processor, in milliseconds; the last calls."
    thread = page.context.new_cdp_session(page)
    thread.send("Performance.enable", {"timeDomain": "threadTicks"})

    def spent():
        told = thread.send("Performance.getMetrics")["metrics"]
        return 1e3 * next(m["value"] for m in told if m["name"] == "TaskDuration")

    def one(t):
        before = spent()
        took = page.evaluate(MOVE, t)
        return took, spent() - before

    page.evaluate(READY)
    idle = statistics.median(one(-1)[1] for _ in range(9))  # asking costs time too
    rows = [(*took, cpu - idle) for took, cpu in (one(t) for t in range(times))]
    calls = page.evaluate(CALLS)
    return *zip(*rows), calls


def scenes(n):
    "Every scene on points with n points."
    big = play._groups(n, 2 * n, 0.13, 0)
    plain = {"lam": ("λ", 0.02, 0.6, 0.01, 0.3), "xi": ("ξ", 0, 0.4, 0.01, 0.1)}
    plain |= {"p": ("p", 0, 0.5, 0.01, 0.1), "k": ("k", 1, 8, 1, 3)}
    sweep = {"sweep": ("sweeps", 0, 16, 1, 9)}
    yield Live("points", "rdp", data=big, sliders=plain | sweep)
    yield Live("points", "obey", data=big, sliders=plain)
    yield Live("points", "chain", data=big, sliders={"p": plain["p"]})
    cold = {"cold": ("log γ", 0, 5, 0.1, 2)} | {k: plain[k] for k in ("lam", "xi", "p")}
    yield Live("partitions", "temperature", data=big, sliders=cold | sweep)
    cloud = {"eps": ("ε", 0.01, 0.4, 0.01, 0.05), "tau": ("τ", 0, 5, 1, 1)}
    asked = {**big, "links": big["links"][:4]}
    yield Live("particles", "particles", data=asked, sliders=cloud)
    yield play.explorable("race", data=big)
    bits = {**big, "middles": [[0.26, 0.3], [0.5, 0.72], [0.74, 0.3]], "ask": [0, 1, 2]}
    yield play.explorable("bits", data={k: v for k, v in bits.items() if k != "truth"})
    who = [[*link, e % 3] for e, link in enumerate(big["links"])]
    yield play.explorable("experts", data={**big, "links": who, "groups": 3})
    held = [[g % 3, (g + 1) % 3] for g in range(n // 5)]
    kinds = [held[i // 5][i % 2] for i in range(n)]
    bags = {"bag": [i // 5 for i in range(n)], "sets": held, "groups": 3, "truth": kinds}
    yield play.explorable("bags", data={"points": big["points"], **bags})
    yield play.explorable("shadow", data={"points": big["points"]})
    yield play.explorable("cobras", data={"points": big["points"], "truth": big["truth"]})


def native(name, values):
    "Milliseconds of one call to the exported function, by the clock and of the processor."
    spec = {n: s for es in play.ENTRIES.values() for n, _, s in es}[name]
    took = []
    for _ in range(6):
        given = {}
        for arg, kind, shape in spec:
            dtype = np.float64 if kind == "f8" else np.int32
            value = values[arg]
            if shape:
                size = [int(values[s]) for s in shape]
                value = np.zeros(size) if value is None else np.reshape(value, size)
                value = np.ascontiguousarray(value, dtype)
            given[arg] = value if shape or kind == "f8" else int(value)
            if not shape and kind == "f8":
                given[arg] = float(value)
        start, spent = time.perf_counter(), time.process_time()
        getattr(play, name)(**given)
        took.append((time.perf_counter() - start, time.process_time() - spent))
    wall, cpu = zip(*took[1:])
    return 1e3 * np.array([statistics.median(wall), statistics.median(cpu)])


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    where = shutil.which("chromium") or "/usr/bin/chromium"
    only = sys.argv[2:]
    columns = "redraw, least, of the processor, its kernels by the clock; "
    columns += "native by the clock, of the processor; ratio of the clocks"
    print(f"{n} points: scene, {columns}")
    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=where, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1000, "height": 900})
        for live in scenes(n):
            if only and live.draw not in only:
                continue
            path = Path("/tmp/bench_live.html")
            live.save(path)
            page.goto(path.as_uri())
            page.wait_for_selector("canvas", timeout=120_000)
            page.wait_for_timeout(3000)
            took, kernel, cpu, calls = redraws(page)
            here, spent = sum(native(name, values) for name, values in calls)
            there = statistics.median(kernel)
            row = f"{statistics.median(took):6.0f} ms {min(took):6.0f} ms "
            row += f"{statistics.median(cpu):6.0f} ms {there:6.1f} ms {here:6.1f} ms "
            row += f"{spent:6.1f} ms {there / here:5.2f}"
            print(f"{live.draw:12} {row}", flush=True)
            path.unlink()
        browser.close()


if __name__ == "__main__":
    main()
