"""csc_nb.plotting: what the marks mean; displays show the numbers they were given."""

import re
import subprocess
import sys
from types import SimpleNamespace

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp
import pytest
from matplotlib.collections import LineCollection

from csc_nb import plotting as P


@pytest.fixture(autouse=True)
def closed():
    plt.close("all")
    with P.use_style():
        yield
    plt.close("all")


@pytest.fixture
def toy():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 10)
    X = rng.normal(size=(30, 2)) + 5 * np.c_[y % 2, y // 2]
    return X, y


def lines(ax):
    return [c for c in ax.collections if isinstance(c, LineCollection)]


def colour(c):
    return matplotlib.colors.to_hex(c.get_edgecolor()[0]).upper()


def test_import_of_the_package_loads_no_plotting():
    heavy = "('matplotlib', 'ipywidgets')"
    code = f"import csc_nb, sys; print([m for m in {heavy} if m in sys.modules])"
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.strip()
        == "[]"
    )


def test_style_is_put_back_even_after_an_error():
    plt.rcdefaults()
    before = matplotlib.rcParams["figure.figsize"][:]
    with pytest.raises(RuntimeError):
        with P.use_style():
            assert list(matplotlib.rcParams["figure.figsize"]) == [5, 3.5]
            raise RuntimeError
    assert list(matplotlib.rcParams["figure.figsize"]) == list(before)


def test_label_keeps_its_colour_when_others_vanish(toy):
    X, y = toy
    ax = P.plot_clusters(X[y != 1], y[y != 1])
    shown = [matplotlib.colors.to_hex(c.get_facecolor()[0]).upper() for c in ax.collections]
    assert shown == [P.PALETTE[0], P.PALETTE[2]]


def test_string_labels_and_minus_one(toy):
    X, y = toy
    ax = P.plot_clusters(X, np.array(["b", "a", "c"])[y], legend=True)
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["a", "b", "c"]
    ax = P.plot_clusters(X, np.where(y == 0, -1, y))
    assert matplotlib.colors.to_hex(ax.collections[0].get_facecolor()[0]).upper() == P.GREY


def test_wrong_number_of_labels(toy):
    with pytest.raises(ValueError, match="30 points but 29 labels"):
        P.plot_clusters(toy[0], toy[1][:-1])


@pytest.mark.parametrize("d", [1, 2, 5])
def test_any_number_of_columns(d):
    X = np.random.default_rng(1).normal(size=(20, d))
    ax = P.plot_clusters(X, np.arange(20) % 3, centers=X[:3])
    assert sum(len(c.get_offsets()) for c in ax.collections) == 23
    assert bool(ax.get_xlabel()) == (d > 2)


def test_plane_is_pca():
    X = np.random.default_rng(2).normal(size=(50, 6)) * [5, 1, 3, 1, 1, 1]
    plane = P.best_plane(X)
    s = np.linalg.svd(X - X.mean(0), compute_uv=False)
    assert plane.share == pytest.approx((s[:2] ** 2).sum() / (s**2).sum())
    assert np.allclose(plane(X).var(0, ddof=0) * 50, s[:2] ** 2)
    assert P.best_plane(X[:2])(X[:2]).shape == (2, 2)  # too few rows for PCA


def test_links_colours_dashes_and_places(toy):
    X, _ = toy
    ax = P.plot_links(X, ([(0, 1), (0, 2), (3, 4), (5, 6)], [1, -1, 0, -1]))
    must, cannot, unsure = lines(ax)
    assert [colour(c) for c in (must, cannot, unsure)] == ["#1A8F3C", "#D7191C", P.GREY]
    assert (
        must.get_linestyle()[0][1] is None
        and cannot.get_linestyle()[0][1]
        and unsure.get_linestyle()[0][1]
    )
    assert np.allclose(must.get_segments()[0], X[[0, 1]])
    assert np.allclose(cannot.get_segments(), [X[[0, 2]], X[[5, 6]]])


def test_wrong_answers_are_crossed_at_the_middle(toy):
    X, y = toy
    links = [(0, 1), (0, 11), (2, 3)], [1, 1, -1]
    wrong = P.disagrees(links, y)
    assert wrong.tolist() == [False, True, True]
    for which in (wrong, [1, 2]):
        (cross,) = P.plot_links(X, links, wrong=which).lines
        assert cross.get_marker() == "x"
        assert np.allclose(cross.get_xydata(), [(X[0] + X[11]) / 2, (X[2] + X[3]) / 2])


def test_broken_links_are_thick_and_the_rest_pale(toy):
    X, _ = toy
    (must,) = lines(P.plot_links(X, ([(0, 1), (0, 2)], [1, 1]), broken=[False, True]))
    w, alpha = must.get_linewidths(), must.get_edgecolor()[:, 3]
    assert w[1] > w[0] and alpha[1] == 1 and alpha[0] < 0.5


def test_suspects_and_belief(toy):
    X, _ = toy
    halo, must = lines(
        P.plot_links(X, ([(0, 1), (0, 2)], [1, 1]), suspect=[1], belief=[0, 1], legend=True)
    )
    assert np.allclose(halo.get_segments()[0], X[[0, 2]])
    assert must.get_edgecolor()[0, 3] < 0.2 < 0.9 < must.get_edgecolor()[1, 3]


def test_many_links_are_sampled_and_it_is_said(toy):
    X, _ = toy
    pairs = np.array([(i, j) for i in range(30) for j in range(i)])
    m = len(pairs)
    one, two = [
        P.plot_links(X, (pairs, np.ones(m, int)), max_links=50, wrong=np.ones(m, bool))
        for _ in range(2)
    ]
    assert len(lines(one)[0].get_segments()) == 50 and len(one.lines[0].get_xdata()) == 50
    assert np.array_equal(lines(one)[0].get_segments(), lines(two)[0].get_segments())
    assert one.texts[0].get_text() == "50 of 435 links drawn"
    assert not P.plot_links(X, (pairs, np.ones(m, int)), max_links=None).texts


def test_no_links_and_bad_masks(toy):
    X, _ = toy
    assert not lines(P.plot_links(X, None))
    with pytest.raises(ValueError, match="1 links but `wrong` has 2"):
        P.plot_links(X, ([(0, 1)], [1]), wrong=[True, False])


def test_mask_follows_merged_links(toy):
    X, y = toy
    links = [(0, 1), (1, 0), (0, 11)], [1, 1, 1]
    wrong = P.disagrees(links, y)
    assert wrong.tolist() == [False, True]
    P.plot_links(X, links, wrong=wrong)
    with pytest.raises(
        ValueError, match="2 links but `wrong` has 3 entries. Equal answers"
    ):
        P.plot_links(X, links, wrong=[False, False, True])


def test_links_by_id_follow_their_rows(toy):
    from csc_nb.constraints import Constraints

    X, _ = toy
    ids = np.array([f"r{i}" for i in range(30)])
    c = Constraints(["r3"], ["r7"], [1])
    order = np.random.default_rng(0).permutation(30)
    (must,) = lines(P.plot_links(X[order], c, sample_id=ids[order]))
    assert {tuple(p) for p in must.get_segments()[0]} == {tuple(X[3]), tuple(X[7])}


def test_circles():
    C = np.array([[0.0, 0], [3, 1]])
    ax = P.plot_circles(C, [1, 2])
    assert np.allclose([p.center for p in ax.patches], C) and [
        p.radius for p in ax.patches
    ] == [1, 2]
    assert ax.get_aspect() == 1
    lo, hi = ax.get_xlim()
    assert lo <= -1 and hi >= 5


DISPLAYS = [
    lambda X, y: P.ConstraintGraphDisplay(X, ([(0, 1)], [1]), labels=y),
    lambda X, y: P.ExpertWeightsDisplay([0.9, 0.6], [0.8, 0.5]),
    lambda X, y: P.QueryCurveDisplay([0, 1, 2], {"a": [[0, 0.5, 1], [0, 0.4, 0.9]]}),
    lambda X, y: P.ObjectiveDisplay([3, 2, 1]),
    lambda X, y: P.LabelTreeDisplay([-1, 0, 0], cooccurrence=np.eye(3)),
    lambda X, y: P.PairEntropyDisplay(np.eye(4), chosen=(0, 1)),
]


@pytest.mark.parametrize("make", DISPLAYS)
def test_displays_follow_scikit_learn(make, toy):
    d = make(*toy)
    assert d.plot() is d and d.figure_ is d.ax_.figure
    fig, ax = plt.subplots()
    assert d.plot(ax).ax_ is ax and d.figure_ is fig
    fig.canvas.draw()


@pytest.mark.parametrize(
    "cls",
    [
        P.ConstraintGraphDisplay,
        P.ExpertWeightsDisplay,
        P.ObjectiveDisplay,
        P.LabelTreeDisplay,
    ],
)
def test_unfitted_estimators_are_named(cls, toy):
    with pytest.raises(ValueError, match=r"SimpleNamespace has no `\w+_`.*fitted"):
        cls.from_estimator(SimpleNamespace(), toy[0])


def test_constraint_graph_from_estimator(toy):
    X, y = toy
    links = [(0, 1), (0, 11)], [-1, -1]
    d = P.ConstraintGraphDisplay.from_estimator(
        SimpleNamespace(labels_=y, constraints_=links), X, y=1 - (y == 0)
    )
    assert d.broken.tolist() == [True, False] and d.wrong.tolist() == [True, False]
    names = [t.get_text() for t in d.ax_.get_legend().get_texts()]
    assert names == ["cannot-link", "broken link", "wrong answer"]


def test_expert_weights_from_estimator():
    est = SimpleNamespace(
        sensitivity_=[0.9, 0.6], specificity_=[0.8, 0.5], expert_weights_=[3.5, 0.1]
    )
    d = P.ExpertWeightsDisplay.from_estimator(
        est, true_sensitivity=[0.95, 0.5], names=["Ann", "Bob"]
    )
    got = {ln.get_label(): ln.get_xdata() for ln in d.ax_.lines}
    assert (
        np.allclose(got["sensitivity"], [0.9, 0.6])
        and np.allclose(got["true sensitivity"], [0.95, 0.5])
        and "true specificity" not in got
    )
    assert [t.get_text() for t in d.ax_.get_yticklabels()] == ["Ann", "Bob"]
    assert {"3.50", "0.10"} <= {t.get_text() for t in d.ax_.texts}


@pytest.mark.parametrize("band,half", [("sd", 0.5**0.5), ("se", 0.5), ("range", 0.5)])
def test_query_curve_band(band, half):
    d = P.QueryCurveDisplay([0, 1], {"a": [[0, 0], [1, 1]]}).plot(band=band)
    edge = d.ax_.collections[0].get_paths()[0].vertices[:, 1]
    assert (edge.min(), edge.max()) == pytest.approx((0.5 - half, 0.5 + half))
    with pytest.raises(ValueError, match="'a' has 2 scores but there are 3"):
        P.QueryCurveDisplay([0, 1, 2], {"a": [0, 1]})


class Learner:
    "Learns one true label per question, and stops after `stop` of them."

    def __init__(self, stop=4):
        self.stop = stop

    def get_params(self, deep=False):
        return {"stop": self.stop}

    def start(self, X):
        self.labels_, self.t = np.zeros(len(X), int), 0
        return self

    def ask(self):
        return self.t if self.t < self.stop else None

    def tell(self, q, answer):
        self.labels_[q], self.t = answer, self.t + 1


def test_query_curve_runs_a_learner():
    y, asked = np.array([1, 1, 0, 0]), []
    oracle = lambda q: asked.append(q) or y[q]
    share = lambda y, z: (y == z).mean()
    assert P.query_curve(Learner(), np.zeros((4, 1)), y, oracle, 2, share).tolist() == [
        0.5,
        0.75,
        1,
    ]
    assert asked == [0, 1]  # not one question above the budget
    assert (
        P.query_curve(Learner(1), np.zeros((4, 1)), y, oracle, 4, share).tolist()
        == [0.5] + [0.75] * 4
    )
    leaves = lambda q: None
    assert (
        P.query_curve(Learner(), np.zeros((4, 1)), y, leaves, 3, share).tolist()
        == [0.5] * 4
    )
    d = P.QueryCurveDisplay.from_estimator(
        Learner(), np.zeros((4, 1)), y, oracles=[oracle] * 3, budget=2, score=share
    )
    assert d.curves["Learner"].shape == (3, 3)


def test_objective_from_estimator_and_wrong_steps():
    d = P.ObjectiveDisplay.from_estimator(SimpleNamespace(elbo_history_=[1, 2, 1.5]))
    assert d.name == "ELBO" and d.wrong_steps()[0].tolist() == [2]
    d = P.ObjectiveDisplay.from_estimator(
        SimpleNamespace(objective_history_=[3, 2, 2 + 1e-12]), sense=-1
    )
    assert d.name == "objective" and d.wrong_steps()[0].tolist() == []
    assert P.ObjectiveDisplay([]).plot().ax_.lines


def test_tree_order_against_recursion():
    rng = np.random.default_rng(0)

    def walk(parents, p, t):
        return [
            x
            for c in range(len(parents))
            if parents[c] == p
            for x in [(c, t), *walk(parents, c, t + 1)]
        ]

    for _ in range(20):
        parents = [int(rng.integers(-1, c)) if c else -1 for c in range(9)]
        assert list(zip(*[a.tolist() for a in P.tree_order(parents)])) == walk(
            parents, -1, 0
        )
    assert P.tree_order([0, 0, 3])[1].tolist() == [
        0,
        1,
        0,
    ]  # itself, or beyond the last: under the root


def test_label_tree_from_estimator():
    Z = np.array([[1, 1], [1, 0], [1, 1], [0, 0]])
    d = P.LabelTreeDisplay.from_estimator(
        SimpleNamespace(parents_=[-1, 0]), Z=Z, names=["$a", "b<"]
    )
    assert np.allclose(d.cooccurrence, [[1, 1], [2 / 3, 1]])
    assert [t.get_text() for t in d.ax_.texts] == ["$a", "b<"]
    d.figure_.canvas.draw()  # a lone dollar is not mathematics
    named = P.LabelTreeDisplay.from_estimator(
        SimpleNamespace(parents_=[-1, 0], label_names_=["top", "leaf"]), Z=sp.csr_array(Z)
    )
    assert np.allclose(named.cooccurrence, d.cooccurrence) and [
        t.get_text() for t in named.ax_.texts
    ] == ["top", "leaf"]


def test_pair_entropy(toy):
    X, y = toy
    soft = np.random.default_rng(0).dirichlet([1, 1, 1], 30)
    H = P.pair_bits(soft)
    pi = sum(soft[3, k] * soft[8, k] for k in range(3))
    assert H[3, 8] == pytest.approx(
        -pi * np.log2(pi) - (1 - pi) * np.log2(1 - pi)
    ) and np.allclose(H, H.T)
    est = SimpleNamespace(labels_=y, predict_proba=lambda X: soft[: len(X)])
    d = P.PairEntropyDisplay.from_estimator(est, X, chosen=(3, 8))
    assert np.allclose(d.entropy, H)
    est = SimpleNamespace(labels_=y, coclustering_=soft @ soft.T)
    d = P.PairEntropyDisplay.from_estimator(est, X, chosen=(3, 29), max_rows=8)
    assert len(d.entropy) <= 10 and d.entropy[d.chosen] == pytest.approx(H[3, 29])


def test_table_text_html_markdown():
    t = P.table(
        [
            {"method": "a|<b>", "ARI": P.spread([0.5, 0.7]), "printed": 0.61},
            {"method": "c", "ARI": None, "printed": float("nan")},
        ],
        digits=2,
        caption="T & U",
    )
    assert repr(t).splitlines() == [
        "T & U",
        "method          ARI  printed",
        "a|<b>   0.60 ± 0.14     0.61",
        "c                 –        –",
    ]
    h = t._repr_html_()
    assert (
        "<b>" not in h
        and "a|&lt;b&gt;" in h
        and "T &amp; U" in h
        and len(re.findall("<td", h)) == 6
    )
    assert t.markdown().splitlines()[1:3] == [
        "| :-- | --: | --: |",
        "| a\\|&lt;b&gt; | 0.60 ± 0.14 | 0.61 |",
    ]


def test_table_odds_and_ends():
    assert repr(P.table([(1, True)], ["n", "ok"])).split() == ["n", "ok", "1", "yes"]
    assert P.table([], ["a"])._repr_html_().count("<td") == 0
    with pytest.raises(ValueError, match="Row 1 has 1 cells but there are 2"):
        P.table([(1, 2), (3,)])
    s = P.spread([1, 2, 3])
    assert (s.mean, s.sd, s.n) == (2, 1, 3) and repr(
        P.table([(P.spread([2.0]),)])
    ).endswith("2.000")
    with pytest.raises(ValueError, match="No repeats"):
        P.spread([])


def test_few_shades_keeps_the_picture_and_never_grows():
    import io
    from PIL import Image

    out = io.BytesIO()
    P.plot_clusters(
        np.random.default_rng(0).normal(size=(80, 2)), np.arange(80) % 8
    ).figure.savefig(out, format="png")
    full, small = out.getvalue(), P.few_shades(out.getvalue())
    A, B = [
        np.asarray(Image.open(io.BytesIO(b)).convert("RGB"), int) for b in (full, small)
    ]
    assert (
        len(small) < len(full) / 2
        and (abs(A - B).max(2) > 24).mean() < 0.01
        and (B[0, 0] == 255).all()
    )
    assert len(P.few_shades(small)) <= len(small)


def test_a_haze_keeps_its_shades_and_dots_do_not_need_them():
    "Forty shades for a scatter; as many as a palette holds where colours blend."
    import io

    from PIL import Image

    def shades(draw):
        fig, ax = plt.subplots()
        draw(ax)
        out = io.BytesIO()
        fig.savefig(out)
        plt.close(fig)
        small = P.enough_shades(out.getvalue())
        return len(Image.open(io.BytesIO(small)).convert("RGB").getcolors(1 << 20))

    rng = np.random.default_rng(0)
    assert shades(lambda ax: ax.plot(*rng.random((2, 50)), "o")) <= 40
    a, b = np.meshgrid(*2 * [np.linspace(0, 1, 90)])
    haze = np.stack([a, b, 1 - a], -1)
    assert shades(lambda ax: ax.imshow(haze, interpolation="bilinear")) > 200
