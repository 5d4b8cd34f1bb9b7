"""Whom to ask: replays on real answers, simulated panels, times. One part at a time, resumable:

`python benchmarks/bench_ask_well.py products|coverage|panels|speed [--repeats N] [--seconds S]`
"""

import argparse
import csv
import time
from pathlib import Path

import numpy as np

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
    "Items, questions, looks, panel and truth of the 1 019 shared pairs; or of some of them."
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


CHECKS = (500, 1000, 2000, 4076, 6000, 9000, 14000, 20000, 30000, 42000, 60000, 90000)


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


def done_keys(path, width):
    if not path.exists():
        return set()
    with open(path, newline="") as f:
        return {tuple(r[:width]) for r in list(csv.reader(f))[1:]}


def append(path, head, rows):
    new = not path.exists()
    with open(path, "a", newline="") as f:
        w = csv.writer(f)
        if new:
            w.writerow(head)
        for r in rows:
            w.writerow([f"{v:.5f}" if isinstance(v, float) else v for v in r])


def resume(name, head, tasks, run, seconds):
    "Run what the file does not have yet."
    path, began = RESULTS / f"ask_well_{name}.csv", time.monotonic()
    done = {k[:1] if name == "speed" else k for k in done_keys(path, 2)}
    for task in tasks:
        if tuple(map(str, task[: 1 if name == "speed" else 2])) in done:
            continue
        if time.monotonic() - began > seconds:
            print("time is up; the same command goes on")
            return
        rows = run(*task)
        append(path, head, rows)
        print(task, rows[-1], flush=True)


def run_speed(n, questions):
    "Processor seconds between an answer and the next question; five annotators."
    from sklearn.datasets import make_blobs

    from csc_nb.answer_model import AnswerClustering
    from csc_nb.ask_well import Annotator, AskWell
    from csc_nb.oracles import NoisyOracle

    X, y = make_blobs(n, 10, centers=6, cluster_std=5, random_state=0)
    panel = []
    for k in range(5):
        oracle = NoisyOracle(y, 0.2 - 0.03 * k, random_state=k, persistent=True)
        group = "m" if k < 3 else f"p{k}"
        panel.append(Annotator(f"m{k}", oracle, group=group, price=1 + k))
    began = time.process_time()
    learner = AskWell(AnswerClustering(6), panel, random_state=0).start(X)
    start, seconds = time.process_time() - began, []
    for _ in range(questions):
        q = learner.ask()
        began = time.process_time()
        learner.tell(q, learner.ask_panel(q))
        learner.ask()
        seconds.append(time.process_time() - began)
    found = np.median(seconds), np.mean(seconds), max(seconds)
    return [(n, 5, questions, start, *map(float, found))]


SPEED_HEAD = "rows annotators questions start median mean largest".split()


def run_panels(seed, case):
    "One way of asking on one set, 120 units of money: adjusted Rand index of the labels."
    from sklearn.metrics import adjusted_rand_score

    from csc_nb.answer_model import AnswerClustering
    from csc_nb.answer_table import Answers
    from csc_nb.ask_well import Annotator, AskWell
    from csc_nb.datasets import load
    from csc_nb.oracles import NoisyOracle, Pair

    name, way = case.split("/")
    b, rng = load(name), np.random.default_rng(seed)
    keep = np.sort(rng.choice(b.n, min(b.n, 150), replace=False))
    X, y = np.asarray(b.data, float)[keep], np.asarray(b.target)[keep]
    K = len(np.unique(y))
    model = NoisyOracle(y, 0.2, persistent=True, random_state=seed)
    person = NoisyOracle(y, 0.02, random_state=seed + 1000)
    seats = {
        "model": Annotator("model", model, price=1),
        "person": Annotator("person", person, group="people", price=6),
    }
    money = 120
    if way.startswith("random"):
        who = seats[way.split()[1]]
        pairs = [
            rng.choice(len(X), 2, replace=False) for _ in range(int(money / who.price))
        ]
        said = [who(Pair(*map(int, p), number=k)) for k, p in enumerate(pairs)]
        words = ["same" if s == 1 else "different" for s in said]
        A = Answers(*np.array(pairs).T, words, ids=False, n_samples=len(X))
        z = AnswerClustering(K, random_state=0).fit(X, answers=A).labels_
        n = len(pairs)
    else:
        panel = list(seats.values()) if way == "ask well" else [seats[way.split()[1]]]
        learner = AskWell(AnswerClustering(K), panel, budget=money, random_state=seed)
        z = learner.fit(X).labels_
        n = learner.n_queries_
    return [(seed, case, n, float(adjusted_rand_score(y, z)))]


PANELS_HEAD = "seed case answers ari".split()
WAYS = ("ask well", "ask model", "ask person", "random model", "random person")
SETS = "iris wine glass ecoli newthyroid ionosphere sonar parkinsons column_3C dermatology".split()


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("part", choices=["products", "coverage", "panels", "speed"])
    p.add_argument("--repeats", type=int, default=5)
    p.add_argument("--seconds", type=float, default=1e9)
    a = p.parse_args()
    seeds = range(a.repeats)
    if a.part == "products":
        tasks = [(s, t) for s in seeds for t in STRATEGIES]
        resume("products", PRODUCTS_HEAD, tasks, run_products, a.seconds)
    elif a.part == "coverage":
        cases = ("realistic 0.94", "realistic 0.97", "products 0.94", "products 0.97")
        tasks = [(s, c) for s in seeds for c in cases]
        resume("coverage", COVERAGE_HEAD, tasks, run_coverage, a.seconds)
    elif a.part == "speed":
        tasks = [(2000, 30), (100_000, 12)]
        resume("speed", SPEED_HEAD, tasks, run_speed, a.seconds)
    elif a.part == "panels":
        tasks = [(s, f"{name}/{way}") for s in seeds for name in SETS for way in WAYS]
        resume("panels", PANELS_HEAD, tasks, run_panels, a.seconds)


if __name__ == "__main__":
    main()
