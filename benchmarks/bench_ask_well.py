"""Whom to ask: replays on real answers, simulated panels, times; one part at a time:

`python benchmarks/bench_ask_well.py PART [--first SEED] [--repeats N] [--seconds S]`, where
PART is products, coverage, rows, items, panels or speed. What a result file has is not
run again.
"""

import argparse
import time
from pathlib import Path

import numpy as np

from csc_nb.sweeps import experiment

RESULTS = Path(__file__).resolve().parent.parent / "nbs" / "experiments" / "results"
MODEL, PERSON = 1.0, 50.0  # prices of the replay


class Known:
    "Answers of one seat, by question: what a replay knows."

    def __init__(self):
        self.known = {}

    def __call__(self, q):
        return self.known[(q.kind, *sorted(q.items))]


def seats_of(d, pairs, seed):
    "Prompts keep their names; the people of a pair take three seats in random order."
    from csc_nb.ask_well import Annotator

    rng = np.random.default_rng(seed)
    items = np.unique(pairs)
    row = {i: k for k, i in enumerate(items.tolist())}
    wanted = set(map(tuple, pairs.tolist()))
    seats, of_people = {}, {}
    columns = d[["a", "b", "annotator", "group", "answer"]]
    for a, b, who, group, said in columns.itertuples(index=False):
        if tuple(sorted((a, b))) not in wanted:
            continue
        key = ("pair", *sorted((row[a], row[b])))
        if group == "people":
            of_people.setdefault(key, []).append(said)
        else:
            seats.setdefault(who, Known()).known.setdefault(key, said)
    for key in sorted(of_people):
        said = of_people[key][:3]
        for k, s in enumerate(rng.permutation(len(said))):
            seats.setdefault(f"person {k + 1}", Known()).known[key] = said[s]
    panel = []
    for name, oracle in seats.items():
        human = name.startswith("person")
        group, price = ("people", PERSON) if human else ("model", MODEL)
        panel.append(Annotator(name, oracle, group=group, price=price))
    return items, panel


def product_panel(most=None, seed=0):
    "Items, questions, looks, panel and truth of the 1 019 shared pairs, or of some."
    from csc_nb.answers import read_answers, read_items, text_similarity

    d = read_answers("products")
    first = d.drop_duplicates(["a", "b"])
    F = text_similarity(read_items("products"), first.a.tolist(), first.b.tolist())
    truth = (first.truth == "same").to_numpy().astype(int)
    pairs = np.sort(first[["a", "b"]].to_numpy(), axis=1)
    if most is not None:
        rng = np.random.default_rng(seed)
        keep = np.sort(rng.choice(len(pairs), most, replace=False))
        pairs, F, truth = pairs[keep], F[keep], truth[keep]
    items, panel = seats_of(d, pairs, seed)
    return items, pairs, F, panel, truth


def realistic_panel(n=400, seed=0):
    "The same from the generator of chapter 40, whose truth is known."
    from csc_nb.answers import realistic_answers

    d = realistic_answers(n, ["people", "model"], random_state=seed)
    number = {v: k for k, v in enumerate(dict.fromkeys([*d.a, *d.b]))}
    d = d.assign(a=d.a.map(number), b=d.b.map(number))
    first = d.drop_duplicates(["a", "b"])
    pairs = np.sort(first[["a", "b"]].to_numpy(), axis=1)
    truth = (first.truth == "same").to_numpy().astype(int)
    items, panel = seats_of(d, pairs, seed)
    return items, pairs, first[["alike"]].to_numpy(), panel, truth


def start_learner(data, **how):
    from csc_nb.answer_model import AnswerClustering
    from csc_nb.ask_well import AskWell

    items, pairs, F, panel, _ = data
    model = AnswerClustering(random_state=0)
    kw = dict(questions=pairs, question_features=F, batch_size=10, random_state=0) | how
    return AskWell(model, panel, **kw).start(items.tolist())


def scores(learner, told, truth):
    "F1 and Brier of everything that was told."
    from csc_nb.answers import answer_scores
    from csc_nb.ask_well import AskState

    state = AskState(rng=np.random.default_rng(0), told=list(told))
    state.belief = None
    if len(told) < 10:
        p = np.full(len(truth), 0.5)
    else:
        p = learner._question_chances(state)[:, 1]
    s = answer_scores(p, truth)
    return s["F1"], s["Brier"], s["log-loss"], float(((p > 0.5) == truth).mean())


CHECKS = (500, 1000, 2000, 4076, 6000, 9000, 14000, 20000, 30000, 42000)  # a quarter


def at_checks(told, price, checks=CHECKS):
    "The answers that each sum of money paid for, in order."
    bill = np.cumsum(price)
    return {c: told[: int(np.searchsorted(bill, c, side="right"))] for c in checks}


def order_of(strategy, data, seed):
    "Answers of a simple strategy, in the order in which they are bought."
    _, pairs, _, panel, _ = data
    rng = np.random.default_rng(seed)
    rows = [tuple(sorted(k[1:])) for k in panel[0].oracle.known]
    rows = rng.permutation(np.array(rows)).tolist()
    people = [e for e, m in enumerate(panel) if m.group == "people"]
    models = [e for e, m in enumerate(panel) if m.group != "people"]
    by_model = [(tuple(q), e) for e in models for q in rows]
    by_people = [(tuple(q), e) for q in rows for e in people]
    shuffled = [by_people[k] for k in rng.permutation(len(by_people))]
    if strategy == "model only":
        return by_model
    if strategy == "people only":
        return shuffled
    if strategy == "random":
        return by_model + shuffled
    if strategy == "where prompts disagree":
        said = {
            tuple(q): {panel[e].oracle.known.get(("pair", *q)) for e in models}
            for q in rows
        }
        split = [x for x in by_people if len(said[x[0]] - {None}) > 1]
        return by_model + split + [x for x in shuffled if x not in set(split)]
    raise ValueError(strategy)


CODE = {"different": 0, "same": 1, "unsure": 2}


def as_told(order, panel):
    told, price = [], []
    for q, e in order:
        said = panel[e].oracle.known.get(("pair", *q))
        if said is not None:
            told.append(("pair", q, e, CODE[said]))
            price.append(panel[e].price)
    return told, price


def uncertainty(data, learner, most, seed, step=50):
    "All prompts, then a person for the pair whose chance is nearest to one half."
    from csc_nb.ask_well import AskState

    _, pairs, _, panel, _ = data
    told, price = as_told(order_of("model only", data, seed), panel)
    people = [e for e, m in enumerate(panel) if m.group == "people"]
    used, place = {}, learner._asked_list
    while sum(price) + PERSON <= most:
        state = AskState(rng=np.random.default_rng(0), told=told)
        p = learner._question_chances(state)[:, 1]
        taken = 0
        for n in np.argsort(np.abs(p - 0.5), kind="stable"):
            q = tuple(place[n].tolist())
            e = next(
                (e for e in people if (q, e) not in used
                 and ("pair", *q) in panel[e].oracle.known), None)  # fmt: skip
            if e is None:
                continue
            used[q, e] = True
            told.append(("pair", q, e, CODE[panel[e].oracle.known[("pair", *q)]]))
            price.append(PERSON)
            taken += 1
            if taken == step or sum(price) + PERSON > most:
                break
        if not taken:
            break
    return told, price


STRATEGIES = (
    "ask well", "model only", "people only", "where prompts disagree", "random",
    "uncertainty", "everybody",
)  # fmt: skip


def run_products(seed, strategy):
    "One strategy on all pairs: a row for each sum of money."
    data = product_panel(seed=seed)
    learner = start_learner(data, random_state=seed)
    panel, truth = data[3], data[4]
    if strategy == "ask well":
        learner.set_params(budget=max(CHECKS))
        learner.consult()
        told = learner.state_.told
        price = [panel[t[2]].price for t in told]
    elif strategy == "uncertainty":
        told, price = uncertainty(data, learner, max(CHECKS), seed)
    elif strategy == "everybody":
        everyone = order_of("random", data, seed)
        told, price = as_told(everyone, panel)
        s = scores(learner, told, truth)
        return [
            (seed, strategy, sum(price), len(told), sum(p == PERSON for p in price), *s)
        ]
    else:
        told, price = as_told(order_of(strategy, data, seed), panel)
    out = []
    for money, part in at_checks(told, price).items():
        n_people = sum(panel[t[2]].group == "people" for t in part)
        out.append(
            (seed, strategy, money, len(part), n_people, *scores(learner, part, truth))
        )
        if len(part) == len(told):
            break
    return out


PRODUCTS_HEAD = "seed strategy money answers people F1 Brier log_loss accuracy".split()


def run_coverage(seed, case):
    "A run with a goal: what it says at the end, and what is true."
    where, goal = case.split()
    made = product_panel(500, seed) if where == "products" else realistic_panel(400, seed)
    how = dict(goal=float(goal), budget=40_000, batch_size=10, random_state=seed)
    learner = start_learner(made, **how)
    learner.consult()
    truth, st = made[4], learner.statement_
    p = learner.state_.belief.chance[:, 1]
    right = float(((p > 0.5) == truth).mean())
    n_people = sum(made[3][t[2]].group == "people" for t in learner.state_.told)
    return [(seed, case, st.share, st.low, st.high, right, int(st.low <= right <= st.high),
             st.spent, st.n_answers, n_people, learner.why_stopped_)]  # fmt: skip


COVERAGE_HEAD = "seed case share low high right covered spent answers people why".split()


def rows_with_features(name, seed, most):
    "Some rows of a set, scaled; or two to five blobs that overlap more or less."
    from sklearn.datasets import make_blobs

    from csc_nb.datasets import load

    rng = np.random.default_rng([7, seed])
    if name == "blobs":
        overlap, K = rng.uniform(1.5, 5.0), int(rng.integers(2, 6))
        n = min(most, 120)
        X, y = make_blobs(n, 4, centers=K, cluster_std=overlap, random_state=seed)
        return X, y, rng
    b = load(name)
    X, y = np.asarray(b.data, float), np.unique(b.target, return_inverse=True)[1]
    X = (X - X.mean(0)) / np.where(X.std(0) > 1e-12, X.std(0), 1)
    keep = np.sort(rng.choice(len(X), min(most, len(X)), replace=False))
    return X[keep], y[keep], rng


def two_models_and_ann(y, seed, rng):
    "Two models of one group, right in 70 to 90 % of all cases, and a person: 90 to 100 %."
    from csc_nb.ask_well import Annotator
    from csc_nb.oracles import NoisyOracle

    wrong = [*(1 - rng.uniform(0.7, 0.9, 2)), 1 - rng.uniform(0.9, 1.0)]
    says = [
        NoisyOracle(y, w, random_state=seed + 1000 * k, persistent=True)
        for k, w in enumerate(wrong)
    ]
    cheap = [Annotator(f"m{k}", says[k], group="model", price=1) for k in (0, 1)]
    return [*cheap, Annotator("ann", says[2], price=10)]


def stated_and_true(learner, X, y, most):
    "Ask until it is enough; what is said at the end, and the share of pairs that is right."
    learner.start(X).consult(most)
    st, z = learner.statement_, learner.labels_
    i, j = np.triu_indices(len(y), 1)
    right = float(((z[i] == z[j]) == (y[i] == y[j])).mean())
    holds = int(st.low <= right <= st.high)
    return (st.share, st.low, st.high, right, holds, st.spent, st.n_answers,
            learner.why_stopped_)  # fmt: skip


def run_rows(seed, case):
    "A run on rows with features; K: the number of clusters is known, or learned."
    from csc_nb.answer_model import AnswerClustering
    from csc_nb.ask_well import AskWell

    name, goal, known, n = case.split()
    X, y, rng = rows_with_features(name, seed, int(n))
    panel = two_models_and_ann(y, seed, rng)
    K = len(np.unique(y)) if known == "known" else None
    model = AnswerClustering(K, random_state=0)
    learner = AskWell(model, panel, goal=float(goal), budget=2000, random_state=seed)
    return [(seed, case, *stated_and_true(learner, X, y, 100 if n == "150" else 60))]


def run_items(seed, case):
    "A run on items without features: up to nine (listed), or more (sampled)."
    from csc_nb.answer_model import AnswerClustering
    from csc_nb.ask_well import AskWell

    n, goal = case.split()
    rng = np.random.default_rng([8, seed])
    y = rng.integers(int(rng.integers(2, 6)), size=int(n))
    panel = two_models_and_ann(y, seed, rng)
    model = AnswerClustering(random_state=0)
    learner = AskWell(model, panel, goal=float(goal), random_state=seed)
    items = [f"i{k}" for k in range(int(n))]
    return [(seed, case, *stated_and_true(learner, items, y, 5 * int(n)))]


ROWS_HEAD = "seed case share low high right covered spent answers why".split()
FEATURED = "blobs iris wine glass newthyroid ecoli".split()  # the interval was set on these
FEATURED += "ionosphere sonar parkinsons column_3C dermatology".split()


def resume(name, head, tasks, run, seconds):
    "Run what the file does not have yet, by the laboratory of chapter 31."
    words = head[: 1 if name == "speed" else 2]  # these name a task
    whole = {task[: len(words)]: task for task in tasks}
    rows = lambda **task: [dict(zip(head, r)) for r in run(*whole[tuple(task.values())])]
    experiment(
        rows,
        [dict(zip(words, task)) for task in whole],
        RESULTS / f"ask_well_{name}.csv",
        columns=head,
        cell=lambda v: f"{v:.5f}" if isinstance(v, float) else str(v),
        seconds=seconds,
        n_jobs=1,
    )


def run_speed(n, questions):
    "Seconds of the thread that asks, from an answer to the next question; five annotators."
    from sklearn.datasets import make_blobs

    X, y = make_blobs(n, 10, centers=6, cluster_std=5, random_state=0)
    speed_of(X[:300], y[:300], 14, 0.0)  # everything is compiled and loaded
    start, busy, clock = speed_of(X, y, questions, THINKING)
    found = np.median(busy), max(busy), np.median(clock), max(clock)
    return [(n, 5, questions, start, *map(float, found))]


def speed_of(X, y, questions, thinking):
    "Seconds to start, and seconds for each question: of the thread, and by the clock."
    from csc_nb.answer_model import AnswerClustering
    from csc_nb.ask_well import Annotator, AskWell
    from csc_nb.oracles import NoisyOracle

    panel = []
    for k in range(5):
        oracle = NoisyOracle(y, 0.2 - 0.03 * k, random_state=k, persistent=True)
        group = "m" if k < 3 else f"p{k}"
        panel.append(Annotator(f"m{k}", oracle, group=group, price=1 + k))
    began = time.process_time()
    learner = AskWell(AnswerClustering(6), panel, random_state=0).start(X)
    start, busy, clock = time.process_time() - began, [], []
    for _ in range(questions):
        q = learner.ask()
        said = learner.ask_panel(q)
        time.sleep(thinking)  # a person looks at it; a fit may run meanwhile
        began, wall = time.thread_time(), time.perf_counter()
        learner.tell(q, said)
        learner.ask()
        busy.append(time.thread_time() - began)
        clock.append(time.perf_counter() - wall)
    return start, busy, clock


THINKING = 2.0  # seconds before an answer comes
SPEED_HEAD = "rows annotators questions start median largest clock clock_largest".split()


def set_panel(name, seed=0, n=150):
    "Questions about rows of a data set, answered by the crews of chapter 40."
    from csc_nb.answers import realistic_answers
    from csc_nb.ask_well import near_pairs
    from csc_nb.datasets import load

    b, rng = load(name), np.random.default_rng(seed)
    X, y = np.asarray(b.data, float), np.asarray(b.target)
    X = (X - X.mean(0)) / np.where(X.std(0) > 1e-12, X.std(0), 1.0)
    pairs = near_pairs(X, 4, rng)  # four neighbours of each row, and two rows at random
    pairs = pairs[np.sort(rng.choice(len(pairs), n, replace=False))]
    truth = (y[pairs[:, 0]] == y[pairs[:, 1]]).astype(int)
    far = np.sqrt(((X[pairs[:, 0]] - X[pairs[:, 1]]) ** 2).sum(1))
    alike = -(far - far.mean()) / far.std()
    crews = ["people", "model"]
    d = realistic_answers(
        crews=crews, truth=truth, alike=alike, pairs=pairs, random_state=seed
    )
    first = d.drop_duplicates(["a", "b"])
    asked = np.sort(first[["a", "b"]].to_numpy(), axis=1)
    truth = (first.truth == "same").to_numpy().astype(int)
    items, panel = seats_of(d, asked, seed)
    return items, asked, first[["alike"]].to_numpy(), panel, truth


def run_panels(seed, case):
    "One way of asking on one set: a row for each sum of money."
    name, strategy = case.split("/")
    data = set_panel(name, seed)
    learner = start_learner(data, random_state=seed)
    panel, truth = data[3], data[4]
    if strategy == "ask well":
        learner.set_params(budget=max(SUMS))
        learner.consult()
        told = learner.state_.told
        price = [panel[t[2]].price for t in told]
    elif strategy == "uncertainty":
        told, price = uncertainty(data, learner, max(SUMS), seed, step=10)
    else:
        told, price = as_told(order_of(strategy, data, seed), panel)
    out = []
    for money, part in at_checks(told, price, SUMS).items():
        n_people = sum(panel[t[2]].group == "people" for t in part)
        row = (seed, case, money, len(part), n_people)
        out.append((*row, *scores(learner, part, truth)))
    return out


SUMS = (300, 600, 1500, 3000)
PANELS_HEAD = "seed case money answers people F1 Brier log_loss accuracy".split()
WAYS = (
    "ask well", "model only", "people only", "where prompts disagree", "random",
    "uncertainty",
)  # fmt: skip
SETS = "iris wine glass ecoli newthyroid ionosphere sonar parkinsons".split()
SETS += ["column_3C", "dermatology"]


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("part", choices="products coverage rows items panels speed".split())
    p.add_argument("--first", type=int, default=0, help="first seed")
    p.add_argument("--repeats", type=int, default=5)
    p.add_argument("--seconds", type=float, default=1e9)
    a = p.parse_args()
    seeds = range(a.first, a.first + a.repeats)
    if a.part == "products":
        first = [(s, t) for s in seeds for t in ("ask well", "everybody")]
        rest = [(s, t) for s in seeds for t in STRATEGIES]
        tasks = first + [t for t in rest if t not in first]
        resume("products", PRODUCTS_HEAD, tasks, run_products, a.seconds)
    elif a.part == "coverage":
        cases = ("realistic 0.94", "realistic 0.97", "products 0.94", "products 0.97")
        tasks = [(s, c) for s in seeds for c in cases]
        resume("coverage", COVERAGE_HEAD, tasks, run_coverage, a.seconds)
    elif a.part == "rows":
        cases = [
            f"{name} 0.9 {how} 60" for how in ("learned", "known") for name in FEATURED
        ]
        tasks = [(s, c) for s in seeds for c in cases]
        tasks += [(s, f"{name} 0.9 known 150") for s in seeds[:1] for name in FEATURED]
        resume("rows", ROWS_HEAD, tasks, run_rows, a.seconds)
    elif a.part == "items":
        tasks = [(s, f"{n} 0.95") for s in seeds for n in (8, 15, 30)]
        resume("items", ROWS_HEAD, tasks, run_items, a.seconds)
    elif a.part == "speed":
        tasks = [(2000, 25), (100_000, 14)]
        resume("speed", SPEED_HEAD, tasks, run_speed, a.seconds)
    elif a.part == "panels":
        tasks = [(s, f"{name}/{way}") for s in seeds for name in SETS for way in WAYS]
        resume("panels", PANELS_HEAD, tasks, run_panels, a.seconds)


if __name__ == "__main__":
    main()
