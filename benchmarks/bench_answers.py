"""Speed and memory of the answer model: `python benchmarks/bench_answers.py [--quick]`.

Prints CPU seconds, the ratio to scikit-learn's logistic regression on the same rows in the
same run, and the growth with the number of answers. Nothing asserts on time.
"""

import argparse
import resource
import time

import numpy as np
from sklearn.linear_model import LogisticRegression

from csc_nb.answer_model import AnswerClustering, e_step, em_init, make_block, make_setup
from csc_nb.answer_table import Answers


def clock(f):
    "What `f` returns, and its wall and CPU seconds."
    wall, cpu = time.perf_counter(), time.process_time()
    out = f()
    return out, time.perf_counter() - wall, time.process_time() - cpu


def line(name, wall, cpu, more=""):
    print(f"{name:<58s} {wall:7.2f} s wall {cpu:7.2f} s cpu  {more}", flush=True)


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def make_answers(n_questions, n_annotators, n_groups, seed=0, per_question=3):
    "Plain arrays: question, annotator, response, group of each annotator, features, truth."
    rng = np.random.default_rng(seed)
    truth = rng.random(n_questions) < 0.2
    F = rng.normal(size=(n_questions, 3)) + truth[:, None]
    question = np.repeat(np.arange(n_questions), per_question)
    who = rng.integers(0, n_annotators, len(question))
    accuracy = rng.uniform(0.75, 0.98, n_annotators)
    right = rng.random(len(question)) < accuracy[who]
    said = np.where(right, truth[question], ~truth[question]).astype(int)
    group_of = np.arange(n_annotators) % n_groups
    return question, who, said, group_of, F, truth


def one_pass(n_answers):
    "One E step over all answers."
    n = n_answers // 3
    question, who, said, group_of, F, truth = make_answers(n, 1000, 5)
    setup = make_setup(make_block(question, who, said, group_of, n), F)
    state = em_init(setup)
    e_step(state, setup.block, setup.X, setup.teach)
    runs = [
        clock(lambda: e_step(state, setup.block, setup.X, setup.teach)) for _ in range(3)
    ]
    wall, cpu = min(r[1] for r in runs), min(r[2] for r in runs)
    _, w0, c0 = clock(lambda: LogisticRegression().fit(F, truth))
    line(f"logistic regression on {n:,} rows (peer)", w0, c0)
    more = (
        f"{1e9 * cpu / len(said):5.0f} ns an answer, {cpu / c0:5.2f} × peer, "
        f"{peak():,.0f} MB"
    )
    line(f"one pass over {len(said):,} answers, 1 000 annotators", wall, cpu, more)


def whole_fit(n_answers):
    "The whole fit, from a table of answers to chances."
    n = n_answers // 3
    question, who, said, group_of, F, truth = make_answers(n, 1000, 5)
    words = np.array(["different", "same"], dtype=object)[said]
    table = dict(
        a=question, b=question + n, answer=words, annotator=who, group=group_of[who]
    )
    A, wall, cpu = clock(lambda: Answers.from_frame(table, ids=True))
    line(f"a table of {A.n_answers:,} answers", wall, cpu)
    _, w0, c0 = clock(lambda: LogisticRegression().fit(F, truth))
    m = AnswerClustering(n_init=1)
    _, wall, cpu = clock(lambda: m.fit(None, answers=A, question_features=F))
    right = ((m.question_proba_[:, 1] > 0.5) == truth).mean()
    more = f"{m.n_iter_} rounds, {cpu / c0:5.1f} × peer, {100 * right:.1f} % right"
    line(f"fit of {A.n_answers:,} answers", wall, cpu, f"{more}, {peak():,.0f} MB")
    _, wall, cpu = clock(lambda: m.annotators_)
    line("  the table of 1 000 annotators", wall, cpu)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the sizes")
    quick = parser.parse_args().quick
    whole_fit(3000)  # compile
    for n_answers in (10**4, 10**5) if quick else (10**5, 10**6):
        whole_fit(n_answers)
    for n_answers in (10**5, 10**6) if quick else (10**6, 10**7):
        one_pass(n_answers)


if __name__ == "__main__":
    main()
