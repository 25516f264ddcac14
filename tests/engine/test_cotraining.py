from dataclasses import replace

import numpy as np
import pytest
from scipy.special import softmax

from kgnn.engine.calibration import combine
from kgnn.engine.cotraining import Plan, cotrain
from kgnn.engine.loop import History
from kgnn.engine.network import Fitted
from kgnn.engine.selection import Selection, agreed, most_confident
from kgnn.progress import listening

PLAN = Plan(rounds=4, growth=0.25, patience=9, weight=1.0, soft=False, warm_start=False)
LABELED, UNLABELED = np.array([0, 1]), np.array([2, 3, 4, 5])
TARGETS = np.array([0, 1, -1, -1, -1, -1])


class Scripted:
    """A network that believes what it is told to, round by round."""

    def __init__(self, name, beliefs, validation=None):
        self.name, self.beliefs, self.on_validation = name, beliefs, validation
        self.taught, self.warm = [], []
        self.pool = None

    def prepare(self, graphs):
        return "validation"

    def part(self, rows):
        return rows

    def fit(self, examples, validation, seed, *, warm_start, what):
        self.taught.append(examples)
        self.warm.append(warm_start)
        self.fitted = Fitted(None, History(), memory=np.array([len(self.taught) - 1]))

    def annotate(self, rows):
        return softmax(self.logits(rows), axis=1)

    def logits(self, prepared, fitted=None):
        table = self.on_validation if isinstance(prepared, str) else self.beliefs
        number = int((fitted or self.fitted).memory[0])
        return np.log(np.array(table[min(number, len(table) - 1)]))


def two(*first):
    return [[p, 1 - p] for p in first]


def run(networks, select, plan=PLAN, validation=None, unlabeled=UNLABELED):
    return cotrain(
        networks,
        labeled=LABELED,
        unlabeled=unlabeled,
        targets=TARGETS,
        n_classes=2,
        validation=validation,
        select=select,
        plan=plan,
        seed=0,
    )


def agree(proba, k):
    return [agreed(*proba, k)] * 2


def test_both_networks_learn_what_they_agree_on_and_k_grows():
    p = Scripted("gnn", [two(0.99, 0.9, 0.8, 0.3)])
    q = Scripted("memory", [two(0.98, 0.9, 0.8, 0.7)])
    course = run([p, q], agree)
    assert [len(examples.annotated) for examples in p.taught] == [0, 1, 2, 3]
    assert p.taught[3].annotated.tolist() == [2, 3, 4] == q.taught[3].annotated.tolist()
    assert p.taught[3].targets[[2, 3, 4]].tolist() == [[1, 0]] * 3
    assert (p.taught[3].labeled == LABELED).all()
    assert course.termination_condition == "converged"  # round 4 would select the same three
    assert [s.rows.tolist() for s in course.rounds[1].selections] == [[2], [2]]


def test_soft_targets_are_the_other_networks_probabilities():
    p, q = Scripted("gnn", [two(0.9, 0.6, 0.6, 0.6)]), Scripted("memory", [two(0.7, 0.6, 0.6, 0.6)])
    run([p, q], agree, Plan(1, 0.25, 9, 1.0, True, False))
    assert p.taught[1].targets[2, 0] == pytest.approx(0.7)
    assert q.taught[1].targets[2, 0] == pytest.approx(0.9)


def test_separate_selections_go_to_the_other_network():
    p, q = Scripted("gnn", [two(0.9, 0.5, 0.5, 0.4)]), Scripted("memory", [two(0.5, 0.1, 0.5, 0.4)])
    cross = lambda proba, k: [most_confident(proba[1], k), most_confident(proba[0], k)]  # noqa: E731
    run([p, q], cross, Plan(1, 0.25, 9, 1.0, False, False))
    assert p.taught[1].annotated.tolist() == [3]
    assert p.taught[1].targets[3].tolist() == [0, 1]
    assert q.taught[1].annotated.tolist() == [2]


def test_nothing_selected_ends_it():
    p, q = Scripted("gnn", [two(0.9, 0.9, 0.9, 0.9)]), Scripted("memory", [two(0.1, 0.1, 0.1, 0.1)])
    course = run([p, q], agree)
    assert course.termination_condition == "no_change"
    assert len(course.rounds) == 1


def test_all_selected_ends_it():
    p = Scripted("gnn", [two(0.9, 0.8, 0.7, 0.6), two(0.1, 0.2, 0.7, 0.6)])
    course = run([p], lambda proba, k: [most_confident(proba[0], 4)])
    assert course.termination_condition == "exhausted"
    assert len(course.rounds) == 2


def test_it_goes_on_while_one_network_has_graphs_to_learn():
    p = Scripted("gnn", [two(0.99, 0.9, 0.8, 0.7)])
    q = Scripted("memory", [two(0.99, 0.9, 0.8, 0.7)])
    every, first = np.arange(4), np.arange(1)

    def select(proba, k):
        return [Selection(every, every % 2), Selection(first[: k - 1], first[: k - 1])]

    course = run([p, q], select)
    assert course.termination_condition == "converged"
    assert [each.n_selected for each in course.rounds] == [0, 4, 4]


def test_rounds_tell_how_much_the_networks_agree():
    p = Scripted("gnn", [two(0.9, 0.9, 0.9, 0.9)])
    q = Scripted("memory", [two(0.8, 0.8, 0.8, 0.2)])
    course = run([p, q], agree, replace(PLAN, rounds=1))
    assert [each.agreement for each in course.rounds] == [None, 0.75]
    assert course.rounds[1].in_words() == "1 graph annotated; networks agree on 75.0 %"
    alone = run(
        [Scripted("gnn", [two(0.9, 0.8, 0.7, 0.6)])], lambda proba, k: [agree([*proba] * 2, k)[0]]
    )
    assert {each.agreement for each in alone.rounds} == {None}


def test_a_network_that_val_likes_better_weighs_more():
    targets = np.arange(100) % 2
    often = np.where(np.arange(100) < 85, targets, 1 - targets)
    right = softmax(2 * np.eye(2)[often], axis=1)
    guess = softmax(2 * np.eye(2)[np.arange(100) // 2 % 2], axis=1)
    p = Scripted("gnn", [two(0.9, 0.8, 0.7, 0.6)], [right.tolist()])
    q = Scripted("memory", [two(0.9, 0.8, 0.7, 0.6)], [guess.tolist()])
    course = run([p, q], agree, replace(PLAN, rounds=0), validation=(None, targets))
    assert course.weights[0] > 0.7
    assert sum(course.weights) == pytest.approx(1)


def test_news_of_each_round_come_as_it_ends():
    p = Scripted("gnn", [two(0.9, 0.8, 0.7, 0.6)])
    q = Scripted("memory", [two(0.9, 0.8, 0.7, 0.6)])
    told = []
    with listening(lambda *_: None, told.append):
        run([p, q], agree, replace(PLAN, rounds=1))
    assert [line.split(":")[0] for line in told] == ["round 0", "round 1"]


def test_all_rounds_done_ends_it():
    flips = [two(0.9, 0.8, 0.7, 0.6), two(0.6, 0.7, 0.8, 0.9)] * 3
    course = run([Scripted("gnn", flips)], lambda proba, k: [most_confident(proba[0], 1)])
    assert course.termination_condition == "rounds"
    assert len(course.rounds) == 5
    assert course.best_round == 4  # without VAL, the last


def test_val_keeps_the_best_round_and_patience_ends_it():
    truth = np.array([0, 1])
    good, bad = two(0.9, 0.1), two(0.6, 0.6)
    p = Scripted("gnn", [two(0.9, 0.8, 0.7, 0.6)] * 9, [bad, good, bad, bad, bad])
    plan = Plan(4, 0.2, 2, 1.0, average=False)
    course = run([p], lambda proba, k: [most_confident(proba[0], k)], plan, (None, truth))
    assert course.best_round == 1
    assert course.used == [course.rounds[1]]
    np.testing.assert_allclose(course.logits([p], ["validation"])[0], np.log(good))
    assert course.termination_condition == "patience"
    assert course.rounds[1].accuracy == {"gnn": 1.0, "both": 1.0}
    assert len(course.rounds) == 4


def test_rounds_are_judged_by_whoever_predicts():
    truth, select = np.array([0, 1]), lambda proba, k: [most_confident(each, k) for each in proba]
    good, bad = two(0.9, 0.1), two(0.6, 0.6)
    beliefs = [two(0.9, 0.8, 0.7, 0.6)] * 3
    best = {}
    for judge in ("gnn", "memory"):
        networks = [Scripted("gnn", beliefs, [bad, good]), Scripted("memory", beliefs, [good, bad])]
        plan = Plan(1, 0.2, 2, 1.0, average=False, judge=judge)
        best[judge] = run(networks, select, plan, (None, truth)).best_round
    assert best == {"gnn": 1, "memory": 0}


def test_all_rounds_together_predict_the_mean_of_their_log_probabilities():
    tables = [two(0.9, 0.1), two(0.6, 0.6)]
    p = Scripted("gnn", [two(0.9, 0.8, 0.7, 0.6)], tables)
    plan = Plan(1, 0.25, 2, 1.0)
    course = run(
        [p], lambda proba, k: [most_confident(proba[0], k)], plan, (None, np.array([0, 1]))
    )
    assert len(course.used) == 2
    np.testing.assert_allclose(course.logits([p], ["validation"])[0], np.log(tables).mean(axis=0))


def test_no_unlabeled_graphs_means_one_training():
    p = Scripted("gnn", [two()])
    course = run([p], agree, unlabeled=UNLABELED[:0])
    assert course.termination_condition == "no_unlabeled"
    assert len(p.taught) == 1


def test_warm_starts_begin_with_the_second_round():
    p = Scripted("gnn", [two(0.9, 0.8, 0.7, 0.6)])
    run(
        [p],
        lambda proba, k: [Selection(np.array([k - 1]), np.array([0]))],
        Plan(2, 0.25, 9, 1.0, False, True),
    )
    assert p.warm == [False, True, True]


def test_combined_logits_are_the_mean_of_log_probabilities():
    a, b = np.log(np.array(two(0.9))), np.log(np.array(two(0.5)))
    expected = np.sqrt(np.array([[0.45, 0.05]]))
    np.testing.assert_allclose(np.exp(combine([a + 3, b])), expected)
