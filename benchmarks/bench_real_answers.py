"""The answer models on real answers, beside the rivals: tables of the Laboratory page 41.

    python benchmarks/bench_real_answers.py WHAT

WHAT is halves, variations, words, word_limits, person, eggs or sbc. Each writes scores
(never answers) into `nbs/experiments/results/answers_*.csv` and goes on where it stopped.
The real answers are needed for all but `sbc`. Nothing is chosen by truth except in
`halves`, which says so, and in `word_limits`, which tells the truth on purpose.
"""

import argparse
import csv
import warnings
from functools import lru_cache
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from numba import njit
from scipy.optimize import minimize
from scipy.special import expit, log_expit
from scipy.stats import beta
from sklearn.feature_extraction.text import TfidfVectorizer

from csc_nb.answer_items import central_partition, fit_items
from csc_nb.answer_model import AnswerClustering, Priors, accuracy_beta
from csc_nb.answer_model import cast_answers, e_step
from csc_nb.answer_table import Answers
from csc_nb.answers import CREWS, answer_scores, read_answers, read_items
from csc_nb.answers import realistic_answers, rivals, text_similarity
from csc_nb.correlation import CorrelationClustering, grade_weights
from csc_nb.metrics import ari
from csc_nb.sweeps import RowFile

RESULTS = Path(__file__).resolve().parent.parent / "nbs" / "experiments" / "results"
REAL = ("products", "products_people", "products_model", "restaurants")
SCORES = ["F1", "Brier", "log-loss", "calibration"]
GRID = {
    "defaults": {},
    "less shared": dict(misled=(5.0, 95.0), misled_blind=(1.0, 99.0)),
    "more shared": dict(misled=(20.0, 80.0), misled_blind=(5.0, 95.0)),
    "never together": dict(together=0.01, together_blind=0.005),
    "often together": dict(together=0.1, together_blind=0.04),
    "no hedge": dict(hedge=0.0),
}


class Rows(RowFile):
    "A growing table that knows which keys it has."

    def has(self, key):
        with open(self.path, newline="", encoding="utf-8") as f:
            return any(all(r[k] == v for k, v in key.items()) for r in csv.DictReader(f))


def rounded(row):
    "Numbers with five digits."
    return {k: f"{v:.5f}" if isinstance(v, float) else str(v) for k, v in row.items()}


def half_of(d, seed, side):
    "One half of the questions of a set, with all their answers."
    key = d.a.astype(str) + "|" + d.b.astype(str)
    names = np.unique(key)
    first = np.random.default_rng(seed).permutation(len(names)) < len(names) // 2
    return d[np.isin(key, names[first == (side == 0)])].reset_index(drop=True)


def halves(repeats=3):
    "Rivals and our model on both halves of each set, the model with other priors too."
    out = Rows(RESULTS / "answers_halves.csv", ["set", "seed", "side", "method", *SCORES])
    for seed, name, side in product(range(repeats), REAL, (0, 1)):
        key = {"set": name, "seed": str(seed), "side": str(side)}
        if out.has(key):
            continue
        d = half_of(read_answers(name), seed, side)
        A = Answers.from_frame(d)
        t = (d.drop_duplicates(["a", "b"]).truth == "same").to_numpy()
        F = None
        if name != "restaurants":
            q = A.questions
            F = text_similarity(read_items(name), q.a, q.b, ["name", "description"])
        said = A.question, A.annotator, A.response, A.group_of, A.n_questions
        chances = rivals(*said, F)
        for prior, change in GRID.items():
            m = AnswerClustering(priors=Priors(**change), random_state=seed)
            m.fit(None, answers=A, question_features=F)
            chances[f"this page, {prior}"] = m.question_proba_[:, 1]
        rows = [key | {"method": k} | answer_scores(p, t) for k, p in chances.items()]
        out.append(*map(rounded, rows))


def any_seed(rng):
    "A seed for pandas."
    return int(rng.integers(2**31))


def only(d, questions):
    "The answers to these questions."
    kept = set(zip(questions.a, questions.b))
    return d[[q in kept for q in zip(d.a, d.b)]]


def at_most(d, k, rng):
    "At most k answers a question."
    mixed = d.sample(frac=1, random_state=any_seed(rng))
    return mixed[mixed.groupby(["a", "b"]).cumcount() < k].sort_index()


def with_rate(d, share, rng):
    "Matches or others are left out until matches are this share."
    first = d.drop_duplicates(["a", "b"])
    match, other = first[first.truth == "same"], first[first.truth != "same"]
    if len(match) / len(first) > share:
        keep = max(5, int(len(other) * share / (1 - share)))
        match = match.sample(keep, random_state=any_seed(rng))
    else:
        keep = min(len(other), int(len(match) * (1 - share) / share))
        other = other.sample(keep, random_state=any_seed(rng))
    return only(d, pd.concat([match, other]))


def some(d, n, rng):
    "The answers to n of the questions."
    first = d.drop_duplicates(["a", "b"])
    return only(d, first.sample(min(n, len(first)), random_state=any_seed(rng)))


def variations_of(name, half, rng):
    "(what, answers, which looks) for one half of a set."
    looks = name != "restaurants"
    both = ("all looks", "none") if looks else ("none",)
    base = some(half, 1500, rng) if name == "products_people" else half
    for kind in (*both, *(("one look", "noise") if looks else ())):
        yield "as it is", base, kind
    for share in (0.03, 0.5):
        for kind in both:
            yield f"{share:.0%} matches", with_rate(base, share, rng), kind
    for kind in both:
        yield "200 questions", some(base, 200, rng), kind
    people = half[half.group == "people"]
    prompts = half[half.group != "people"]
    names = sorted(prompts.annotator.unique())
    if name in ("products_people", "restaurants"):
        for k, kind in product((1, 2), both):
            yield f"{k} answers a question", at_most(base, k, rng), kind
        who = rng.permutation(half.annotator.unique())
        for kind in both:
            few = half[half.annotator.isin(who[: len(who) // 2])]
            yield "half of the people", few, kind
        top = half.annotator.value_counts().index
        for k in (1, 3):
            yield f"{k} busiest people", half[half.annotator.isin(top[:k])], both[0]
    if name == "products_model":
        for prompt, kind in product(names, both):
            yield f"only {prompt}", half[half.annotator == prompt], kind
        for kind in both:
            two = half[half.annotator.isin(rng.permutation(names)[:2])]
            yield "two prompts", two, kind
    if name == "products":
        for k, kind in product((1, 2), both):
            few = pd.concat([at_most(people, k, rng), prompts], ignore_index=True)
            yield f"{k} people and the model", few, kind
        for k in (1, 2, 3):
            one = prompts[prompts.annotator == names[rng.integers(len(names))]]
            few = pd.concat([at_most(people, k, rng), one], ignore_index=True)
            yield f"{k} people and a prompt", few, "all looks"
        for kind in both:
            yield "people alone", people, kind
            yield "everybody a group", half.assign(group=half.annotator), kind


@lru_cache(maxsize=1)
def whole_set(name):
    "Answers, questions, and how alike their texts look."
    whole = read_answers(name)
    q = whole.drop_duplicates(["a", "b"]).reset_index(drop=True)
    if name == "restaurants":
        return whole, q, None
    return whole, q, text_similarity(read_items(name), q.a, q.b, ["name", "description"])


def variations():
    "Each half of each set in many ways: the rivals and the defaults."
    columns = ["set", "side", "what", "looks", "questions", "method", *SCORES]
    out = Rows(RESULTS / "answers_variations.csv", columns)
    for name, side in product(REAL, (0, 1)):
        key = {"set": name, "side": str(side)}
        if out.has(key):
            continue
        whole, q, F = whole_set(name)
        rng, rows = np.random.default_rng([0, side]), []
        place = {pair: i for i, pair in enumerate(zip(q.a, q.b))}
        noise = np.random.default_rng(5).normal(size=(len(q), 2))
        for what, d, kind in variations_of(name, half_of(whole, 11, side), rng):
            d = d.reset_index(drop=True)
            first = d.drop_duplicates(["a", "b"])
            if len(first) < 150:
                continue
            A = Answers.from_frame(d)
            at = [place[pair] for pair in zip(first.a, first.b)]
            views = {"none": None, "noise": noise[at]}
            if F is not None:
                views |= {"all looks": F[at], "one look": F[at, :1]}
            t = (first.truth == "same").to_numpy()
            said = A.question, A.annotator, A.response, A.group_of, A.n_questions
            chances = rivals(*said, views[kind])
            m = AnswerClustering().fit(None, answers=A, question_features=views[kind])
            chances["this page, defaults"] = m.question_proba_[:, 1]
            case = key | {"what": what, "looks": kind, "questions": len(t)}
            rows += [case | {"method": k} | answer_scores(p, t) for k, p in chances.items()]
        out.append(*map(rounded, rows))


def windows(uses, width=80):
    "The letters before and after the word itself."
    out = []
    for text, target in zip(uses.text, uses.target):
        a, b = map(int, target.split(":"))
        out.append(text[max(0, a - width) : a] + " " + text[b : b + width])
    return out


def word_tables():
    "(word, uses, features of the texts, grades) of every word."
    grades, uses = read_answers("word_uses"), read_items("word_uses")
    for word, own in uses.groupby("word"):
        own = own.reset_index(drop=True)
        letters = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), sublinear_tf=True)
        mine = grades[grades.word == word].reset_index(drop=True)
        yield word, own, letters.fit_transform(windows(own)), mine


def seen_part(d, share, seed):
    "All grades of a share of the judged pairs."
    key = [tuple(sorted(p)) for p in zip(d.a, d.b)]
    names = sorted(set(key))
    rng = np.random.default_rng(seed)
    k = max(1, round(share * len(names)))
    pick = {tuple(names[i]) for i in rng.choice(len(names), k, replace=False)}
    return np.array([k in pick for k in key])


def agreement(published, labels):
    "ARI over the uses that the published clustering places."
    placed = np.asarray(published) >= 0
    return float(ari(np.asarray(published)[placed], np.asarray(labels)[placed]))


def words(seeds=(0, 1)):
    "A quarter and a tenth of the judged pairs, K not given."
    columns = ["half", "word", "share", "seed", "method", "clusters", "ari"]
    out = Rows(RESULTS / "answers_words.csv", columns)
    for number, (word, uses, X, d) in enumerate(word_tables()):
        ids, z = uses.item.tolist(), uses.published_cluster.to_numpy()
        for share, seed in product((0.25, 0.1), seeds):
            key = {"word": word, "share": f"{share:g}", "seed": str(seed)}
            if out.has(key):
                continue
            part = d[seen_part(d, share, seed)]
            A = Answers.from_frame(part.drop(columns="word"))
            labels = {"all in one": np.zeros(len(z), int)}
            m = AnswerClustering(random_state=0).fit(X, answers=A, sample_id=ids)
            labels["AnswerClustering"] = m.labels_
            c = CorrelationClustering("given").fit(
                Answers.from_frame(grade_weights(part), ids=True)
            )
            found = dict(zip(c.items_, c.labels_))
            labels["correlation clustering"] = [
                found.get(i, -1 - k) for k, i in enumerate(ids)
            ]
            key |= {"half": str(number % 2), "clusters": len(set(z[z >= 0]))}
            rows = [key | {"method": k, "ari": agreement(z, v)} for k, v in labels.items()]
            out.append(*map(rounded, rows))


@njit(cache=True)
def walk(W, fresh, discount, sweeps, kept_from, thin, seed):
    "Partitions drawn by Gibbs: log-odds `W` of every two uses, Pitman and Yor's prior."
    np.random.seed(seed)
    n = len(W)
    z = np.arange(n) % 2
    size = np.zeros(n + 1, np.int64)
    for i in range(n):
        size[z[i]] += 1
    kept = []
    score = np.zeros(n + 1)
    for s in range(sweeps):
        heat = min(1.0, 0.2 + 4e-3 * s)  # answers count little at first
        for i in range(n):
            size[z[i]] -= 1
            empty = int(np.argmin(size))
            score[:] = -np.inf
            for k in range(n + 1):
                if size[k] > 0:
                    score[k] = np.log(size[k] - discount)
            score[empty] = np.log(fresh + discount * (size > 0).sum())
            for j in range(n):
                if j != i:
                    score[z[j]] += heat * W[i, j]
            sums = np.cumsum(np.exp(score - score.max()))
            z[i] = min(int(np.searchsorted(sums, np.random.random() * sums[n])), n)
            size[z[i]] += 1
        if s >= kept_from and (s - kept_from) % thin == 0:
            kept.append(z.copy())
    return kept


def drawn_partitions(W, chains, seed):
    "Several chains together; half a cluster is expected to be fresh, discount one quarter."
    runs = [walk(W, 0.5, 0.25, 700, 300, 16, 100 * seed + c) for c in range(chains)]
    return np.array([z for run in runs for z in run])


def true_tables(words):
    "Table of every person, published clusters against grades, over these words."
    tables = {}
    for _, uses, _, d in words:
        place = dict(zip(uses.item, uses.published_cluster))
        for a, b, who, grade in zip(d.a, d.b, d.annotator, d.grade):
            same = int(place[a] == place[b] >= 0)
            tables.setdefault(who, np.full((2, 5), 0.5))[same, int(grade)] += 1
    return {who: t / t.sum(1, keepdims=True) for who, t in tables.items()}


def pair_worths(tables, part):
    "Log-odds that each grade speaks for the same cluster."
    rows = zip(part.annotator, part.grade.astype(int))
    return np.array([np.log(tables[w][1, g] / tables[w][0, g]) for w, g in rows])


def best_partition(worth, a, b, n, chains, seed):
    "The central partition, and the chance of same of the pairs asked."
    W = np.zeros((n, n))
    np.add.at(W, (a, b), worth)
    np.add.at(W, (b, a), worth)
    drawn = drawn_partitions(W, chains, seed)
    return central_partition(drawn), (drawn[:, a] == drawn[:, b]).mean(0)


def word_limits(seeds=(0, 1)):
    """What the pairs seen would give to somebody who knows more than any method may.

    The tables of the people are those of the words of the other half, by the truth; or the
    answers themselves have no error at all.
    """
    columns = ["half", "word", "share", "seed", "method", "clusters", "ari"]
    out = Rows(RESULTS / "answers_word_limits.csv", columns)
    words = list(word_tables())
    others = [true_tables(words[1 - h :: 2]) for h in (0, 1)]
    for number, (word, uses, _, d) in enumerate(words):
        z, known = uses.published_cluster.to_numpy(), others[number % 2]
        row = {name: k for k, name in enumerate(uses.item)}
        for share, seed in product((0.25, 0.1), seeds):
            key = {"word": word, "share": f"{share:g}", "seed": str(seed)}
            if out.has(key):
                continue
            part = d[seen_part(d, share, seed)]
            a, b = part.a.map(row).to_numpy(), part.b.map(row).to_numpy()
            right = np.where((z[a] == z[b]) & (z[a] >= 0), 8.0, -8.0)
            labels, n = {}, len(uses)
            labels["answers without error"] = best_partition(right, a, b, n, 4, seed)[0]
            worth = pair_worths(known, part)
            labels["tables told"] = best_partition(worth, a, b, n, 4, seed)[0]
            tables, grade = known, part.grade.to_numpy().astype(int)
            for _ in range(3):  # ten pseudo-answers of what was told, then what was seen
                p = best_partition(pair_worths(tables, part), a, b, n, 2, seed)[1]
                seen = np.zeros((2, 5))
                np.add.at(seen[1], grade, p)
                np.add.at(seen[0], grade, 1 - p)
                tables = {who: seen + 10 * t for who, t in known.items()}
                tables = {w: t / t.sum(1, keepdims=True) for w, t in tables.items()}
            worth = pair_worths(tables, part)
            labels["tables told and learned"] = best_partition(worth, a, b, n, 4, seed)[0]
            key |= {"half": str(number % 2), "clusters": len(set(z[z >= 0]))}
            rows = [key | {"method": k, "ari": agreement(z, v)} for k, v in labels.items()]
            out.append(*map(rounded, rows))


def person(step=3):
    "Two people's grades of half of the pairs foresee the third on the other half."
    columns = ["word", "left_out", "clusters", "pairs", "model", "others", "certain"]
    out = Rows(RESULTS / "answers_person.csv", columns)
    for word, uses, X, d in list(word_tables())[::step]:
        ids, z = uses.item.tolist(), uses.published_cluster
        for who in sorted(d.annotator.unique()):
            key = {"word": word, "left_out": who}
            if out.has(key):
                continue
            shown = seen_part(d, 0.5, 0)
            part = d[shown & (d.annotator != who)]
            m = AnswerClustering(random_state=0)
            A = Answers.from_frame(part.drop(columns="word"))
            m.fit(X, answers=A, sample_id=ids)
            rest = d[~shown & (d.grade > 0)]
            rest = rest.assign(pair=[tuple(sorted(p)) for p in zip(rest.a, rest.b)])
            peers = rest[rest.annotator != who].groupby("pair").grade.median()
            mine = rest[(rest.annotator == who) & rest.pair.isin(peers.index)]
            peer = peers.reindex(mine.pair).to_numpy()
            clear = peer != 2.5
            mine, peer = mine[clear], peer[clear]
            if len(mine) < 5:
                continue
            said = mine.grade.to_numpy() > 2.5
            label = dict(zip(ids, m.labels_))
            same = np.array([label[a] == label[b] for a, b in zip(mine.a, mine.b)])
            p = m.pair_proba(mine.a.tolist(), mine.b.tolist())
            row = key | {"clusters": z[z >= 0].nunique(), "pairs": len(mine)}
            row |= {"model": float((same == said).mean())}
            row |= {"others": float(((peer > 2.5) == said).mean())}
            row |= {"certain": float(np.where(said, p, 1 - p).mean())}
            out.append(rounded(row))


def embed(items, heads, near, far, dim, seed, ridge=1e-3):
    "A plain ordinal embedding: logistic in the difference of squared distances."
    n = items

    def cost(flat):
        Z = flat.reshape(n, dim)
        to_far, to_near = Z[heads] - Z[far], Z[heads] - Z[near]
        gap = (to_far**2).sum(1) - (to_near**2).sum(1)
        pull = (1 - expit(gap))[:, None] * 2
        G = 2 * ridge * len(gap) * Z / n
        np.add.at(G, heads, -pull * (to_far - to_near))
        np.add.at(G, far, pull * to_far)
        np.add.at(G, near, -pull * to_near)
        loss = -log_expit(gap).sum() + ridge * len(gap) / n * (Z**2).sum()
        return loss, G.ravel()

    best = None
    for start in range(3):
        first = np.random.default_rng([seed, start]).normal(size=n * dim)
        run = minimize(cost, first, jac=True, method="L-BFGS-B", options={"maxiter": 200})
        if best is None or run.fun < best.fun:
            best = run
    return best.x.reshape(n, dim)


def eggs(seeds=range(3)):
    "Held-out questions: a plain ordinal embedding, and our model with its distances."
    columns = ["dim", "seed", "method", "answers", "right", "log-loss"]
    out = Rows(RESULTS / "answers_eggs.csv", columns)
    d = read_answers("eggs")
    names = np.unique(d[["a", "b", "c"]].to_numpy().ravel())
    a, b, c = (np.searchsorted(names, d[k]) for k in "abc")
    left = (d.answer == "left").to_numpy()
    near, far = np.where(left, b, c), np.where(left, c, b)
    A = Answers.from_frame(d.drop(columns=[k for k in d if k.endswith("seconds")]))
    for seed, dim in product(seeds, (1, 2, 3)):
        key = {"dim": str(dim), "seed": str(seed)}
        if out.has(key):
            continue
        hidden = (np.random.default_rng(seed).random(A.n_questions) < 0.2)[A.question]
        train = ~hidden
        Z = embed(len(names), a[train], near[train], far[train], dim, seed)
        gap = ((Z[a] - Z[c]) ** 2).sum(1) - ((Z[a] - Z[b]) ** 2).sum(1)
        first = np.unique(A.question, return_index=True)[1]
        F = np.c_[gap, np.tanh(gap / 2)][first]
        split = {}
        for part, use in (("train", train), ("test", hidden)):
            weighed = d.assign(weight=use.astype(float))
            split[part] = Answers.from_frame(weighed[[*"abc", "answer", "kind",
                                                      "annotator", "group", "weight"]])  # fmt: skip
        m = AnswerClustering(random_state=0)
        m.fit(None, answers=split["train"], question_features=F)
        _, setup, fit, chance = m.fits_["comparison"]
        test = cast_answers(split["test"], F, m.group_of_)[0].block
        loss = -e_step(fit.state, test, setup.X, np.ones(len(setup.X))).loglik.sum()
        said = left[hidden]
        p = m.question_proba_[A.question[hidden], 0]
        m_hidden = int(hidden.sum())
        plain = -log_expit(np.where(said, gap[hidden], -gap[hidden])).mean()
        rows = [
            ("plain embedding", ((gap[hidden] > 0) == said).mean(), plain),
            ("answer model on it", ((p > 0.5) == said).mean(), loss / m_hidden),
        ]
        for method, right, log_loss in rows:
            row = key | {"method": method, "answers": m_hidden, "right": float(right)}
            out.append(rounded(row | {"log-loss": float(log_loss)}))


def sbc(draws=40):
    "Where the true accuracy of simulated annotators lies in what is stated of it."
    out = Rows(RESULTS / "answers_sbc.csv", ["model", "seed", "annotator", "place"])
    for seed in range(draws):
        key = {"model": "questions", "seed": str(seed)}
        if out.has(key):
            continue
        crews = [CREWS["people"]._replace(size=10), CREWS["model"]._replace(unsure=0.0)]
        d = realistic_answers(3300, crews, random_state=1000 + seed)
        real = (d.answer == d.truth).groupby(d.annotator).mean()
        few = d[d.a < "a00300"]
        F = few.drop_duplicates(["a", "b"])[["alike"]].to_numpy()
        m = AnswerClustering().fit(None, answers=few, question_features=F)
        t = m.annotators_.set_index("annotator")
        sure = ~np.isnan(m.answer_proba_)
        p, who = np.where(sure, m.answer_proba_, 0), m.answers_.annotator
        sums = np.bincount(who, sure), np.bincount(who, p), np.bincount(who, p * (1 - p))
        place = beta.cdf(real[t.index], *accuracy_beta(*sums))
        rows = [key | {"annotator": w, "place": float(v)} for w, v in zip(t.index, place)]
        out.append(*map(rounded, rows))
    for seed in range(draws):
        key = {"model": "items", "seed": str(seed)}
        if out.has(key):
            continue
        rng = np.random.default_rng([7, seed])
        y = rng.integers(3, size=90)
        X = 1.5 * np.eye(3)[y] * rng.uniform(1, 2) + rng.normal(size=(90, 3))
        right = rng.beta(6, 1, 5)  # the prior of the tables: six in seven
        pair = np.array([rng.choice(90, 2, replace=False) for _ in range(300)])
        who = rng.integers(5, size=300)
        same = y[pair[:, 0]] == y[pair[:, 1]]
        said = np.where(rng.random(300) < right[who], same, ~same).astype(int)
        fit = fit_items(
            X, pair, np.zeros(300, int), said, who, n_clusters=3, random_state=seed
        )
        sums = (fit.annotators[k] for k in ("said", "right", "doubt"))
        place = beta.cdf(right, *accuracy_beta(*sums))
        rows = [key | {"annotator": e, "place": float(v)} for e, v in enumerate(place)]
        out.append(*map(rounded, rows))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    tables = dict(halves=halves, variations=variations, words=words, person=person)
    tables |= dict(eggs=eggs, sbc=sbc, word_limits=word_limits)
    parser.add_argument("what", choices=list(tables))
    warnings.simplefilter("ignore")
    tables[parser.parse_args().what]()
