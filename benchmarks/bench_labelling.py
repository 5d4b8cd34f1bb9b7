"""How long until the next question is on the screen? Session and view, by number of
rows, in the same run as the bare learner."""

import argparse, tempfile, time
from pathlib import Path

import numpy as np
from sklearn.datasets import make_blobs

from csc_nb.cobras import COBRAS
from csc_nb.labelling import AskPairs
from csc_nb.labelling_view import AskView
from csc_nb.ncobras import NCOBRAS
from csc_nb.oracles import NoisyOracle

ap = argparse.ArgumentParser()
ap.add_argument("--rows", type=int, nargs="+", default=[500, 1000, 2000])
ap.add_argument("--answers", type=int, default=60)
args = ap.parse_args()
print(
    f"{'learner':9}{'rows':>6} | bare learner: median, 95 %, max | question on the "
    f"screen | with panel | undo | change (s), {args.answers} answers, 10 % wrong"
)
for make in (NCOBRAS, COBRAS):
    NCOBRAS(random_state=0).fit(
        np.random.default_rng(0).normal(size=(60, 2)),
        oracle=NoisyOracle(np.arange(60) % 3, 0.2, random_state=0),
        budget=30,
    )  # compiled before anything is timed
    for n in args.rows:
        X, y = make_blobs(n, 8, centers=6, cluster_std=3.0, random_state=0)
        person, bare, shown, full = (
            NoisyOracle(y, 0.1, persistent=True, random_state=0),
            [],
            [],
            [],
        )
        L = make(random_state=0).start(X)
        for _ in range(args.answers):
            q = L.ask()
            t = time.perf_counter()
            L.tell(q, person(q))
            L.ask()
            bare.append(time.perf_counter() - t)
        with tempfile.TemporaryDirectory() as d:
            s = AskPairs(
                {f"x{j}": X[:, j] for j in range(8)},
                learner=make(random_state=0),
                log=Path(d) / "b.jsonl",
            )
            v = AskView(s, pause=0.0)
            draw = v._panel
            for _ in range(args.answers):
                at = []
                v._panel = lambda t: (at.append(time.perf_counter()), draw(t))[1]
                q = s.turn.query
                a = {1: "same", -1: "different", 0: "unsure"}[person(q)]
                t = time.perf_counter()
                v.do(a, v.shown_id)
                full.append(time.perf_counter() - t)
                shown.append(at[0] - t)
            t = time.perf_counter()
            s.undo()
            undo = time.perf_counter() - t
            t = time.perf_counter()
            s.change(10, -(s.said[10].answer or 1))
            change = time.perf_counter() - t
            s.close()
        f = lambda x: f"{np.median(x):.3f} {np.quantile(x, 0.95):.3f} {max(x):.3f}"
        print(
            f"{make.__name__:9}{n:6} | {f(bare)} | {f(shown)} | {f(full)} | {undo:.3f} | "
            f"{change:.3f}",
            flush=True,
        )
