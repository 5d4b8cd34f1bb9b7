"""Means over folds of the runs of run_ncobras.py, small enough to keep in the
repository."""

import json
from collections import defaultdict
from pathlib import Path
import numpy as np
import pandas as pd

EDGES = [0, 0.5, 0.8, 0.9, 0.95, 1.0]


def numbers(text):
    return np.array([float(x) for x in text.split()])


def summarise(rows, folder):
    "Write ncobras_tasks.csv, ncobras_calibration.csv and ncobras_quality.csv."
    groups, seeds, bins = (
        defaultdict(list),
        defaultdict(list),
        defaultdict(lambda: np.zeros((len(EDGES) - 1, 3))),
    )
    for r in rows:
        (seeds if int(r["fold"]) < 0 else groups)[
            r["task"], r["method"], float(r["noise"])
        ].append(r)
        if int(r["fold"]) >= 0 and json.loads(r["bins"]):
            bins[r["method"], float(r["noise"])] += np.array(json.loads(r["bins"]))
    out, mean = [], lambda g, k: np.mean([float(r[k]) for r in g])
    for (task, method, noise), g in groups.items():
        C = np.array([numbers(r["curve"]) for r in g])
        total = {k: sum(int(r[k]) for r in g) for k in ("tp", "fp", "fn", "events")}
        out.append(
            dict(
                task=task,
                n=int(g[0]["n"]),
                method=method,
                noise=noise,
                folds=len(g),
                **{
                    f"ari{10 * (k + 1)}": round(C[:, k].mean(), 3)
                    for k in range(C.shape[1])
                },
                sd200=round(C[:, -1].std(), 3),
                answers=min(int(r["answers"]) for r in g),
                redundant=round(mean(g, "redundant"), 1),
                seconds=round(np.median([float(r["seconds"]) for r in g]), 2),
                **total,
            )
        )
    pd.DataFrame(out).sort_values(["noise", "method", "n", "task"]).to_csv(
        Path(folder) / "ncobras_tasks.csv", index=False
    )
    cal = [
        dict(
            method=m,
            noise=nu,
            low=EDGES[k],
            high=EDGES[k + 1],
            sets=int(b[k, 0]),
            stated=round(b[k, 1] / b[k, 0], 3),
            right=round(b[k, 2] / b[k, 0], 3),
        )
        for (m, nu), b in bins.items()
        for k in range(len(b))
        if b[k, 0]
    ]
    pd.DataFrame(cal).to_csv(Path(folder) / "ncobras_calibration.csv", index=False)
    quality = []
    for (task, method, noise), g in seeds.items():
        C = np.array([numbers(r["curve"]) for r in g])
        quality.append(
            dict(
                task=task,
                method=method,
                noise=noise,
                seeds=len(g),
                **{
                    f"ari{a}": round(C[:, k].mean(), 3)
                    for k, a in enumerate((25, 53, 75, 100))
                },
                sd100=round(C[:, -1].std(), 3),
                seconds=round(np.median([float(r["seconds"]) for r in g]), 2),
            )
        )
    if quality:
        pd.DataFrame(quality).sort_values(["task", "noise", "method"]).to_csv(
            Path(folder) / "ncobras_quality.csv", index=False
        )
