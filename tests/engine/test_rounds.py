"""Selection, pseudo-labels and the rounds in which a network teaches itself."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import softmax

from kgnn.engine.calibration import PULL, calibrate, combine
from kgnn.engine.loop import History
from kgnn.engine.network import Fitted
from kgnn.engine.rounds import (
    Plan,
    PseudoLabels,
    RoundTrainer,
    confidence,
    most_confident,
    self_train,
)
from kgnn.engine.task import Task
from kgnn.graphs.datasets.toy import planted_motifs
from kgnn.methods.kgnn import co_train
from kgnn.progress import listening

PLAN = Plan(rounds=4, growth=0.25, patience=9, weight=1.0)
GRAPHS = planted_motifs(6)
TARGETS = np.array([0, 1, -1, -1, -1, -1])


class Scripted:
    """A network that believes what it is told to, training by training.

    ``beliefs`` and ``judged`` are probabilities of the unlabeled graphs and of those that judge,
    round by round; with members, a list of these for each.
    """

    def __init__(self, name, beliefs, judged=None):
        self.name, self.beliefs, self.judged = name, beliefs, judged
        self.trainings, self.warm = [], []

    @property
    def is_fitted(self):
        return hasattr(self, "fitted")

    @property
    def taught(self):
        return [each[0].examples for each in self.trainings]

    def prepare(self, graphs):
        return "validation"

    def part(self, rows):
        return rows

    def fit(self, trainings, *, pooled, changes, warm_start, what):
        self.trainings.append(trainings)
        self.warm.append(warm_start)
        number = len(self.trainings) - 1
        self.fitted = [
            Fitted(
                None,
                History(),
                memory=np.array([number, place]),
                answers=np.empty((0, 0)) if not len(each.truth) else self.told(number, place, True),
            )
            for place, each in enumerate(trainings)
        ]

    def annotate(self, rows):
        return [softmax(self.told(*each.memory, False), axis=1) for each in self.fitted]

    def logits(self, prepared, fitted):
        return combine([self.told(*each.memory, isinstance(prepared, str)) for each in fitted])

    def told(self, number, place, is_judged):
        table = self.judged if is_judged else self.beliefs
        table = np.array(table[min(number, len(table) - 1)])
        return np.log(table if table.ndim == 2 else table[place])


def two(*first):
    return [[p, 1 - p] for p in first]


def task(validation=None, targets=TARGETS):
    return Task(GRAPHS, targets, 2, None if validation is None else (GRAPHS, validation), seed=0)


def run(network, plan=PLAN, validation=None, targets=TARGETS):
    return self_train(network, task(validation, targets), plan)


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
    seeds = [each.seed for (each,) in p.trainings]
    assert seeds[0] == 0
    assert len(set(seeds)) == len(seeds) == 5


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
    assert len(course.rounds) == n_rounds == len(p.trainings)


def test_the_same_annotations_again_end_it():
    p = Scripted("gnn", [two(0.9, 0.8, 0.7, 0.6)])
    # There are quotas, and of the second class there is none: two graphs at most.
    course = run(p, replace(PLAN, growth=1.0, balanced=True))
    assert course.termination_condition == "converged"
    assert [each.n_selected for each in course.rounds] == [0, 2]


def test_validation_keeps_the_best_round():
    good, bad = two(0.9, 0.1), two(0.6, 0.6)
    p = Scripted("gnn", [two(0.9, 0.8, 0.7, 0.6)], [bad, good, bad, bad, bad])
    plan = replace(PLAN, growth=0.2, patience=None, average=False)
    course = run(p, plan, np.array([0, 1]))
    assert course.best_round == 1
    assert course.used == [course.rounds[1]]
    expected = course.mixing.sharpness[0] * np.log(good)
    np.testing.assert_allclose(course.logits([p], ["validation"])[0], expected)
    assert course.rounds[1].accuracy == {"gnn": 1.0, "all": 1.0}
    assert len(course.rounds) == 5
    without = run(Scripted("gnn", [two(0.9, 0.8, 0.7, 0.6)]), plan)
    assert without.best_round == 4


def test_the_last_round_predicts_unless_an_earlier_one_is_clearly_better():
    hardly = two(0.9, 0.3, 0.4, 0.6, 0.6), two(0.6, 0.4, 0.4, 0.6, 0.6)
    plan = replace(PLAN, rounds=1, average=False)
    p = Scripted("gnn", [two(0.9, 0.8, 0.7, 0.6)], hardly)
    course = run(p, plan, np.array([0, 1, 1, 0, 1]))
    assert course.best_round == 0
    assert course.used == [course.rounds[1]]


def test_all_rounds_together_predict_the_mean_of_their_log_probabilities():
    tables = [two(0.9, 0.1), two(0.6, 0.6)]
    p = Scripted("gnn", [two(0.9, 0.8, 0.7, 0.6)], tables)
    course = run(p, replace(PLAN, rounds=1), np.array([0, 1]))
    assert len(course.used) == 2
    expected = course.mixing.sharpness[0] * np.log(tables).mean(axis=0)
    np.testing.assert_allclose(course.logits([p], ["validation"])[0], expected)


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
            if len(self.trainings) == 2:
                raise KeyboardInterrupt
            return super().annotate(rows)

    course = run(Stopped("gnn", [two(0.9, 0.8, 0.7, 0.6)]))
    assert course.termination_condition == "interrupted"
    assert len(course.used) == 2


def test_combined_logits_are_the_mean_of_log_probabilities():
    a, b = np.log(np.array(two(0.9))), np.log(np.array(two(0.5)))
    expected = np.sqrt(np.array([[0.45, 0.05]]))
    np.testing.assert_allclose(np.exp(combine([a + 3, b])), expected)


# -- members --------------------------------------------------------------------------------------

FOLDED = Task(
    GRAPHS,
    np.array([0, 1, 0, 1, -1, -1]),
    2,
    None,
    seed=0,
    folds=(np.array([0, 3]), np.array([1, 2])),
)
# What two members say of the unlabeled graphs, rows 4 and 5, and of those held out of each.
SAID = [[two(0.9, 0.6), two(0.4, 0.2)]]
JUDGED = [[two(0.9, 0.2), two(0.3, 0.4)]]


def test_every_member_is_trained_without_its_fold_and_judged_on_it():
    p = Scripted("gnn", SAID, JUDGED)
    self_train(p, FOLDED, replace(PLAN, rounds=1, growth=0.5))
    for trainings in p.trainings:
        assert [each.examples.labeled.tolist() for each in trainings] == [[1, 2], [0, 3]]
        assert [each.judges.tolist() for each in trainings] == [[0, 3], [1, 2]]
        assert [each.truth.tolist() for each in trainings] == [[0, 1], [1, 0]]
        assert [each.number for each in trainings] == [0, 1]


def test_no_two_trainings_of_all_rounds_and_members_have_one_seed():
    p = Scripted("gnn", SAID, JUDGED)
    self_train(p, FOLDED, replace(PLAN, rounds=1, growth=0.5))
    seeds = [each.seed for trainings in p.trainings for each in trainings]
    assert seeds[0] == FOLDED.seed
    assert len(set(seeds)) == len(seeds) == 4


def test_a_member_is_taught_by_itself_alone():
    p = Scripted("gnn", SAID, JUDGED)
    self_train(p, FOLDED, replace(PLAN, rounds=1, growth=0.5))
    first, second = (each.examples for each in p.trainings[1])
    assert (first.annotated.tolist(), second.annotated.tolist()) == ([4], [5])
    assert (first.targets[4].tolist(), second.targets[5].tolist()) == ([1, 0], [0, 1])


def test_a_member_of_one_network_is_taught_by_its_own_member_of_the_other():
    said = [[two(0.9, 0.6), two(0.1, 0.4)]], [[two(0.8, 0.6), two(0.2, 0.4)]]
    p, q = (Scripted(name, own, JUDGED) for name, own in zip("pq", said, strict=True))

    def select(first, second, k, shares):
        agreed = most_confident(first, k)
        assert (agreed.targets == most_confident(second, k).targets).all()
        return agreed, agreed

    co_train(p, q, FOLDED, replace(PLAN, rounds=1, growth=0.5), select)
    for network in (p, q):
        assert [each.examples.targets[4].tolist() for each in network.trainings[1]] == [
            [1, 0],
            [0, 1],
        ]


def test_quotas_are_the_shares_of_a_members_own_labels():
    folds = (np.array([0]), np.array([1, 3]))
    trainer = RoundTrainer([], replace(FOLDED, folds=folds), replace(PLAN, balanced=True))
    np.testing.assert_allclose(trainer.shares, [[1 / 3, 2 / 3], [1, 0]])
    assert RoundTrainer([], FOLDED, PLAN).shares == [None, None]


def test_rounds_are_judged_by_all_held_out_graphs_together():
    worse = [two(0.9, 0.9), two(0.9, 0.9)]
    p = Scripted("gnn", SAID, [worse, JUDGED[0]])
    plan = replace(PLAN, rounds=1, growth=0.5, average=False)
    course = self_train(p, FOLDED, plan)
    assert course.best_round == 1
    # Of rows 0, 3, 1 and 2, which are of classes 0, 1, 1 and 0, the last is called 1.
    assert course.rounds[1].accuracy["gnn"] == 0.75
    said, truth = np.log(np.concatenate(JUDGED[0])), np.array([0, 1, 1, 0])
    assert course.mixing.sharpness == pytest.approx([calibrate(said, truth, PULL).sharpness])
    assert course.rounds[1].log_likelihood == pytest.approx(calibrate(said, truth).log_likelihood)


def test_held_out_answers_are_calibrated_by_the_other_folds():
    course = self_train(Scripted("gnn", SAID, JUDGED), FOLDED, replace(PLAN, rounds=0))
    said, truth = np.log(np.concatenate(JUDGED[0])), np.array([0, 1, 1, 0])
    first, second = (calibrate(said[at], truth[at], PULL).sharpness for at in np.s_[:2, 2:])
    assert first != second
    expected = np.concatenate([second * said[:2], first * said[2:]])
    np.testing.assert_allclose(course.held_out[0], expected)


def test_a_graph_held_out_of_several_members_has_no_say_in_its_own_answer():
    """Row 0 is in both folds, so only row 2 advises the first, and row 3 the second."""
    task = replace(FOLDED, folds=(np.array([0, 3]), np.array([0, 2])))
    course = self_train(Scripted("gnn", SAID, JUDGED), task, replace(PLAN, rounds=0))
    said, truth = np.log(np.concatenate(JUDGED[0])), np.array([0, 1, 0, 0])
    by_2, by_3 = (calibrate(said[[at]], truth[[at]], PULL).sharpness for at in (3, 1))
    np.testing.assert_allclose(course.held_out[0][1], by_2 * said[1])
    np.testing.assert_allclose(course.held_out[0][3], by_3 * said[3])


def test_all_members_of_all_rounds_predict_together():
    p = Scripted("gnn", SAID, JUDGED)
    course = self_train(p, FOLDED, replace(PLAN, rounds=1, growth=0.5))
    assert [each.memory.tolist() for each in course.trained(0)] == [[0, 0], [0, 1], [1, 0], [1, 1]]
    told = np.log([SAID[0][0], SAID[0][1]] * 2).mean(axis=0)
    np.testing.assert_allclose(course.logits([p], [None])[0], course.mixing.sharpness[0] * told)


def test_a_fold_without_graphs_judges_nothing_and_its_member_learns_all_labels():
    task = replace(FOLDED, folds=(np.array([0, 3]), np.array([], dtype=np.int64)))
    p = Scripted("gnn", SAID, JUDGED)
    course = self_train(p, task, replace(PLAN, rounds=0))
    assert p.trainings[0][1].examples.labeled.tolist() == [0, 1, 2, 3]
    assert p.trainings[0][1].judges is None
    np.testing.assert_allclose(course.held_out[0], np.log(JUDGED[0][0]))


def test_annotators_are_weighed_by_the_graphs_of_other_members():
    """A member whose own held-out graphs praise the GNN is still taught by the memory."""
    folds = (np.array([0, 1]), np.array([2, 3]), np.array([4, 5]))
    targets = np.array([0, 1, 0, 1, 0, 1, -1, -1])
    graphs = planted_motifs(8)
    divided = Task(graphs, targets, 2, None, 0, folds)
    right, wrong = two(0.99, 0.01), two(0.01, 0.99)
    gnn = Scripted("gnn", [], [[right, wrong, wrong]])
    memory = Scripted("memory", [], [[wrong, right, right]])
    trainer = RoundTrainer([gnn, memory], divided, PLAN)
    trainer.fit(gnn)
    trainer.fit(memory)
    trainer.end_round()
    says = [np.array(two(0.99, 0.99))] * 3, [np.array(two(0.02, 0.02))] * 3
    mixed = trainer.mix(*says)
    assert mixed[0][0, 0] < 0.5  # by the second and third member alone
    assert mixed[0][0, 0] < mixed[1][0, 0]
