"""Selection, pseudo-labels and the rounds in which a network teaches itself."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import softmax

from kgnn.engine.calibration import combine
from kgnn.engine.loop import History
from kgnn.engine.network import Fitted
from kgnn.engine.rounds import Plan, PseudoLabels, confidence, most_confident, self_train
from kgnn.engine.task import Task
from kgnn.graphs.datasets.toy import planted_motifs
from kgnn.progress import listening

PLAN = Plan(rounds=4, growth=0.25, patience=9, weight=1.0)
GRAPHS = planted_motifs(6)
TARGETS = np.array([0, 1, -1, -1, -1, -1])


class Scripted:
    """A network that believes what it is told to, training by training."""

    def __init__(self, name, beliefs, validation=None):
        self.name, self.beliefs, self.on_validation = name, beliefs, validation
        self.taught, self.warm, self.seeds = [], [], []

    @property
    def is_fitted(self):
        return hasattr(self, "fitted")

    def prepare(self, graphs):
        return "validation"

    def fit(self, examples, validation, seed, *, warm_start, what):
        self.taught.append(examples)
        self.warm.append(warm_start)
        self.seeds.append(seed)
        self.fitted = Fitted(None, History(), memory=np.array([len(self.taught) - 1]))

    def annotate(self, rows):
        return softmax(self.logits(rows), axis=1)

    def logits(self, prepared, fitted=None):
        table = self.on_validation if isinstance(prepared, str) else self.beliefs
        number = int((fitted or self.fitted).memory[0])
        return np.log(np.array(table[min(number, len(table) - 1)]))


def two(*first):
    return [[p, 1 - p] for p in first]


def task(validation=None, targets=TARGETS):
    return Task(GRAPHS, targets, 2, None if validation is None else (GRAPHS, validation), seed=0)


def run(network, plan=PLAN, validation=None, targets=TARGETS, shares=None):
    return self_train(network, task(validation, targets), plan, shares)


def test_the_most_confident_are_taken_whatever_their_class():
    chosen = most_confident(np.array(two(0.9, 0.55, 0.02, 0.6)), 2)
    assert chosen.rows.tolist() == [0, 2]
    assert chosen.targets.tolist() == [0, 1]


def test_quotas_take_from_every_class():
    proba = np.array(two(0.99, 0.98, 0.97, 0.4, 0.3))
    assert most_confident(proba, 2).targets.tolist() == [0, 0]
    assert most_confident(proba, 2, np.array([0.5, 0.5])).rows.tolist() == [0, 4]


def test_quotas_round_up_so_that_no_class_is_left_out():
    chosen = most_confident(np.array(two(0.99, 0.98, 0.4)), 1, np.array([0.5, 0.5]))
    assert chosen.rows.tolist() == [0, 2]


def test_margins_tell_apart_what_probabilities_cannot():
    rounded = np.array([[1.0, 1e-20], [1.0, 1e-30], [0.5, 0.5]])
    margin = confidence(rounded)
    assert margin[1] > margin[0] > margin[2] == pytest.approx(0)
    assert most_confident(rounded, 1).rows.tolist() == [1]
    assert most_confident(rounded, 1, rank_by="probability").rows.tolist() == [0]


def test_of_three_classes_the_margin_and_the_probability_rank_otherwise():
    proba = np.array([[0.50, 0.49, 0.01], [0.48, 0.26, 0.26]])
    assert most_confident(proba, 1, rank_by="probability").rows.tolist() == [0]
    assert most_confident(proba, 1, rank_by="margin").rows.tolist() == [1]


@pytest.mark.parametrize("soft", [False, True])
def test_pseudo_labels_are_classes_or_the_annotators_probabilities(soft):
    proba = np.array(two(0.9, 0.4, 0.7))
    labels = PseudoLabels.of(most_confident(proba, 2), proba, np.array([5, 6, 8]), soft)
    assert labels.selection.rows.tolist() == [5, 8]
    expected = [[0.9, 0.1], [0.7, 0.3]] if soft else [[1, 0], [1, 0]]
    np.testing.assert_allclose(labels.targets.numpy(), expected, atol=1e-6)


def test_k_grows_and_the_network_learns_labeled_and_selected_graphs():
    p = Scripted("gnn", [two(0.99, 0.9, 0.8, 0.3)])
    course = run(p)
    assert [len(examples.annotated) for examples in p.taught] == [0, 1, 2, 3, 4]
    assert p.taught[3].annotated.tolist() == [2, 3, 4]
    assert p.taught[3].targets[[0, 1, 2, 3, 4]].tolist() == [[1, 0], [0, 1], [1, 0], [1, 0], [1, 0]]
    assert (p.taught[3].labeled == [0, 1]).all()
    assert [each.n_selected for each in course.rounds] == [0, 1, 2, 3, 4]


def test_every_round_has_a_seed_of_its_own_and_the_first_that_of_the_task():
    p = Scripted("gnn", [two(0.99, 0.9, 0.8, 0.7)])
    run(p)
    assert p.seeds[0] == 0
    assert len(set(p.seeds)) == len(p.seeds) == 5


@pytest.mark.parametrize(
    ("beliefs", "plan", "validation", "targets", "ending", "n_rounds"),
    [
        ([two(0.9, 0.8, 0.7, 0.6)], {"growth": 1.0}, None, TARGETS, "exhausted", 2),
        ([two(0.9, 0.8, 0.7, 0.6)], {"growth": 0.0}, None, TARGETS, "no_change", 1),
        ([two(0.9, 0.8, 0.7, 0.6)], {"growth": 0.2}, None, TARGETS, "rounds", 5),
        ([two(0.9, 0.8, 0.7, 0.6)], {}, None, np.array([0, 1, 0, 1, 0, 1]), "no_unlabeled", 1),
        ([two(0.9, 0.8, 0.7, 0.6)], {"growth": 0.2, "patience": 2}, [0, 1], TARGETS, "patience", 3),
    ],
)
def test_it_ends_when_there_is_reason_to(beliefs, plan, validation, targets, ending, n_rounds):
    p = Scripted("gnn", beliefs, [two(0.9, 0.1), two(0.6, 0.6)])
    course = run(p, replace(PLAN, **plan), validation and np.array(validation), targets)
    assert course.termination_condition == ending
    assert len(course.rounds) == n_rounds == len(p.taught)


def test_the_same_annotations_again_end_it():
    p = Scripted("gnn", [two(0.9, 0.8, 0.7, 0.6)])
    quotas = np.array([0.5, 0.5])  # of the second class there is none: two graphs at most
    course = run(p, replace(PLAN, growth=1.0), shares=quotas)
    assert course.termination_condition == "converged"
    assert [each.n_selected for each in course.rounds] == [0, 2]


def test_validation_keeps_the_best_round():
    good, bad = two(0.9, 0.1), two(0.6, 0.6)
    p = Scripted("gnn", [two(0.9, 0.8, 0.7, 0.6)], [bad, good, bad, bad, bad])
    plan = replace(PLAN, growth=0.2, patience=None, average=False)
    course = run(p, plan, np.array([0, 1]))
    assert course.best_round == 1
    assert course.used == [course.rounds[1]]
    np.testing.assert_allclose(course.logits([p], ["validation"])[0], np.log(good))
    assert course.rounds[1].accuracy == {"gnn": 1.0, "both": 1.0}
    assert len(course.rounds) == 5
    without = run(Scripted("gnn", [two(0.9, 0.8, 0.7, 0.6)]), plan)
    assert without.best_round == 4


def test_all_rounds_together_predict_the_mean_of_their_log_probabilities():
    tables = [two(0.9, 0.1), two(0.6, 0.6)]
    p = Scripted("gnn", [two(0.9, 0.8, 0.7, 0.6)], tables)
    course = run(p, replace(PLAN, rounds=1), np.array([0, 1]))
    assert len(course.used) == 2
    np.testing.assert_allclose(course.logits([p], ["validation"])[0], np.log(tables).mean(axis=0))


@pytest.mark.parametrize("warm", [False, True])
def test_warm_starts_begin_with_the_second_round(warm):
    p = Scripted("gnn", [two(0.9, 0.8, 0.7, 0.6)])
    run(p, replace(PLAN, rounds=2, warm_start=warm))
    assert p.warm == [False, warm, warm]


def test_each_round_is_told_as_it_ends():
    told = []
    with listening(lambda *_: None, told.append):
        run(Scripted("gnn", [two(0.9, 0.8, 0.7, 0.6)]), replace(PLAN, rounds=1))
    assert [line.split(":")[0] for line in told] == ["round 0", "round 1"]
    assert "1 graph annotated" in told[1]


def test_after_ctrl_c_the_finished_rounds_predict():
    class Stopped(Scripted):
        def annotate(self, rows):
            if len(self.taught) == 2:
                raise KeyboardInterrupt
            return super().annotate(rows)

    course = run(Stopped("gnn", [two(0.9, 0.8, 0.7, 0.6)]))
    assert course.termination_condition == "interrupted"
    assert len(course.used) == 2


def test_combined_logits_are_the_mean_of_log_probabilities():
    a, b = np.log(np.array(two(0.9))), np.log(np.array(two(0.5)))
    expected = np.sqrt(np.array([[0.45, 0.05]]))
    np.testing.assert_allclose(np.exp(combine([a + 3, b])), expected)
