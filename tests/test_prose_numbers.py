"""Numbers in the pages' prose are those of the result files: each is computed here
again."""

from pathlib import Path

import nbformat
import numpy as np
import pandas as pd
import pytest

ROOT = Path(__file__).resolve().parent.parent
pytestmark = pytest.mark.skipif(not (ROOT / "nbs").exists(), reason="needs the repository")
RESULTS = ROOT / "nbs" / "experiments" / "results"


def prose(page):
    nb = nbformat.read(ROOT / "nbs" / f"{page}.ipynb", 4)
    text = " ".join(c.source for c in nb.cells if c.cell_type == "markdown")
    return " ".join(text.split())


def short(x, digits=2):
    "A number as the prose writes it: .95, not 0.95."
    return f"{x:.{digits}f}".removeprefix("0")


def file(name):
    return pd.read_csv(RESULTS / f"{name}.csv")


def rules_gain(noise):
    "Gain of the kept representatives and cuts by doubt over the paper's rules, paired."
    g = file("ncobras_rules")
    A = g[g.noise == noise].pivot(
        index="set", columns=["split_by", "speaker"], values="ari100"
    )
    d = A["doubt", "kept"] - A["largest", "centre"]
    return f"{short(d.mean(), 3)} ± {short(d.std() / np.sqrt(len(d)), 3)}"


def calibration(noise):
    c = file("ncobras_calibration")
    top = c[(c.method == "NCOBRAS") & (c.noise == noise) & (c.low == 0.95)]
    return float(top.right.iloc[0])


def super_instances():
    return file("ncobras_loss").its_super_instances.mean()


def mean_ari(method, noise):
    c = file("comparison")
    c = c[(c.method == method) & (c.noise == noise)]
    return c.groupby("dataset").ari.mean().mean()


def with_defaults():
    "Rows of the comparison that are not of a paper's own form."
    c = file("comparison")
    return c[~c.method.str.endswith(":published")]


def grouped(n):
    return f"{n:,}".replace(",", " ")


def distance_gain():
    t = file("ncobras_tuning")
    r = t[t.variant.str.startswith("kind and distance")].iloc[0]
    return f"{short(r.gain100, 3)} ± {short(r.se, 3)}"


STATEMENTS = [
    ("17_ncobras", lambda: f"gained {distance_gain()} ARI"),
    ("17_ncobras", lambda: f"gained {rules_gain(0.1)} at 10 % noise "
                           f"and {rules_gain(0.05)} at 5 %"),
    ("17_ncobras", lambda: f"ends with {super_instances():.0f} super-instances"),
    ("experiments/17_ncobras", lambda: f"{short(calibration(0.05))} of these sets were all "
                                       "right at 5 % noise"),
    ("experiments/17_ncobras", lambda: f"{short(calibration(0.1))} at 10 %"),
    ("experiments/17_ncobras", lambda: f"only {100 * calibration(0.2):.0f} % "
                                       "were all right"),
    ("experiments/claims", lambda: f"has {short(mean_ari('ncobras', 0.1))} at 10 % where "
                                   f"COBRAS has {short(mean_ari('cobras', 0.1))}"),
    ("experiments/claims", lambda: f"all {grouped(len(with_defaults()))} tasks"),
]  # fmt: skip


@pytest.mark.parametrize("k", range(len(STATEMENTS)))
def test_the_sentence_says_what_the_file_says(k):
    page, sentence = STATEMENTS[k]
    assert sentence() in prose(page), f"{page} should say: {sentence()}"
