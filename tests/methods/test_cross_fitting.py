"""What a fit without validation graphs leaves: members, their answers, and what is saved."""

import numpy as np
import pytest
import torch
from scipy.special import softmax

from kgnn.engine.calibration import combine, learn_mixing
from kgnn.engine.folds import deal_folds
from kgnn.engine.gin import GIN
from kgnn.engine.linear import KernelMachine
from kgnn.engine.task import Task
from kgnn.errors import KgnnWarning
from kgnn.estimator.calibration import sharpen
from kgnn.estimator.saving import open_model
from kgnn.graphs.datasets.toy import planted_motifs
from kgnn.graphs.packing import concatenate
from kgnn.kernels.colors import looks
from kgnn.methods.gnn_sup import GNNSup
from kgnn.methods.kgnn import KGNN
from kgnn.methods.memnn_sup import MemNNSup
from kgnn.methods.wl import WL
from tests.methods.stepping import stop_at

GRAPHS = planted_motifs(60, n_nodes=12)
KNOWN = np.arange(5, 35)
LABELS = np.full(50, -1)
LABELS[KNOWN] = GRAPHS.targets[KNOWN]
NEW = GRAPHS[50:]
# One epoch leaves no epoch to choose.
ONE = {"epochs": 1, "width": 8, "cross_fit": 3}
KERNEL = {"kernel": "wl(iterations=2)"}


def fitted(cls, **settings):
    return cls(**{**ONE, **settings}).fit(GRAPHS[:50], LABELS)


def network_of(model):
    return model.gnn_ if hasattr(model, "gnn_") else model.memory_


def folds():
    """What each of three members holds out."""
    dealt = deal_folds(LABELS[KNOWN], looks(GRAPHS[KNOWN]), 3, seed=0)
    return [KNOWN[fold] for fold in dealt]


def weights(member):
    return torch.nn.utils.parameters_to_vector(member.module.parameters())


# -- answers --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("cls", "settings"), [(GNNSup, {}), (MemNNSup, KERNEL)])
def test_the_answer_for_a_label_is_that_of_the_member_without_it(cls, settings):
    model = fitted(cls, **settings)
    network, held = network_of(model), model.held_out_
    assert len(network.fitted) == 3
    assert held.rows.tolist() == KNOWN.tolist()
    assert held.targets.tolist() == LABELS[KNOWN].tolist()
    for member, fold in zip(network.fitted, folds(), strict=True):
        logits = network.logits(network.prepare(GRAPHS[fold]), [member])
        expected = sharpen(softmax(logits, axis=1), model.sharpness_)
        np.testing.assert_allclose(held.proba[np.isin(held.rows, fold)], expected, atol=1e-6)


@pytest.mark.parametrize("average", [True, False])
def test_the_answer_of_all_is_that_of_their_members_in_the_rounds_used(average):
    model = fitted(KGNN, **KERNEL, rounds=1, growth=0.3, average_rounds=average)
    course, held = model.course_, model.held_out_
    assert (len(course.rounds), len(course.used)) == (2, 1 + average)
    said = []  # by each network, of the graphs held out of its members, fold by fold
    for which, network in enumerate(model.networks_):
        pairs = [(fold, number) for number, fold in enumerate(folds())]
        members = [[each.fitted[which][number] for each in course.used] for _, number in pairs]
        asked = [network.prepare(GRAPHS[fold]) for fold, _ in pairs]
        said.append([network.logits(*each) for each in zip(asked, members, strict=True)])
    for number, fold in enumerate(folds()):
        others = [place for place in range(len(said[0])) if place != number]
        truth = np.concatenate([LABELS[folds()[place]] for place in others])
        mixing = learn_mixing([np.concatenate([own[n] for n in others]) for own in said], truth)
        proba = softmax(mixing.together([own[number] for own in said]), axis=1)
        expected = sharpen(proba, model.sharpness_)
        np.testing.assert_allclose(held.proba[np.isin(held.rows, fold)], expected, atol=1e-5)


def test_before_it_is_taught_the_gnn_of_a_fold_is_a_machine_on_random_weights():
    first, second = fitted(KGNN, **KERNEL, rounds=1).course_.rounds
    assert all(isinstance(member.module, KernelMachine) for member in first.fitted[0])
    assert all(isinstance(member.module, GIN) for member in second.fitted[0])
    first, second = fitted(KGNN, **KERNEL, rounds=1, gnn_start="trained").course_.rounds
    assert all(isinstance(member.module, GIN) for member in [*first.fitted[0], *second.fitted[0]])


@pytest.mark.parametrize("settings", [{"rounds": 0}, {"growth": 1e-9}])
def test_where_nothing_is_annotated_the_gnn_that_predicts_can_be_saved(tmp_path, settings):
    model = fitted(KGNN, **KERNEL, **settings)
    kind = GIN if "rounds" in settings else (GIN, KernelMachine)
    assert all(isinstance(member.module, kind) for member in model.course_.trained(0))
    model.save(tmp_path / "model")
    opened = open_model(tmp_path / "model")
    np.testing.assert_array_equal(opened.predict_proba(NEW), model.predict_proba(NEW))


def test_without_unlabeled_graphs_the_gnn_is_trained():
    model = KGNN(**ONE, **KERNEL).fit(GRAPHS[KNOWN], LABELS[KNOWN])
    assert all(isinstance(member.module, GIN) for member in model.course_.trained(0))


def test_all_members_predict_together():
    model = fitted(GNNSup)
    each = [model.gnn_.logits(model.gnn_.prepare(NEW), [member]) for member in model.gnn_.fitted]
    expected = sharpen(softmax(combine(each), axis=1), model.sharpness_)
    np.testing.assert_allclose(model.predict_proba(NEW), expected)


def test_members_have_seeds_of_their_own_and_the_first_that_of_the_model():
    first, second, _ = (weights(member) for member in fitted(GNNSup, learning_rate=0.0).gnn_.fitted)
    alone = fitted(GNNSup, learning_rate=0.0, cross_fit=0).gnn_.fitted[0]
    assert torch.equal(first, weights(alone))
    assert not torch.equal(first, second)


def test_a_committee_is_for_fits_without_folds():
    assert len(fitted(GNNSup, committee=2).gnn_.fitted) == 3
    assert len(fitted(GNNSup, committee=2, cross_fit=0).gnn_.fitted) == 2


def test_two_labels_of_a_class_are_each_held_out_and_a_single_one_is_not():
    labels = np.full(50, -1)
    labels[[0, 2, 4, 6, 7]] = [0, 0, 1, 1, 2]
    model = GNNSup(**{**ONE, "cross_fit": 5}).fit(GRAPHS[:50], labels)
    assert model.held_out_.rows.tolist() == [0, 2, 4, 6]
    assert model.predict_proba(NEW).shape == (10, 3)


def test_with_one_label_of_each_class_all_members_learn_both():
    labels = np.full(50, -1)
    labels[[0, 1]] = [0, 1]
    model = GNNSup(**ONE).fit(GRAPHS[:50], labels)
    assert model.held_out_ is None
    assert model.sharpness_ == 1
    assert len(model.gnn_.fitted) == 3


def test_graphs_that_look_alike_are_held_out_together():
    twice = concatenate([GRAPHS[:20], GRAPHS[:20]])
    labels = np.concatenate([np.full(4, -1), GRAPHS.targets[4:20], 1 - GRAPHS.targets[:20]])
    for cross_fit, n_folds in ((1, 2), (2, 2), (5, 5)):
        task = Task(twice, labels, 2, None, seed=0)
        dealt = GNNSup(cross_fit=cross_fit)._folds(task)
        assert len(dealt) == n_folds
        assert np.unique(np.concatenate(dealt)).tolist() == list(range(4, 40))
        for fold in dealt:
            again = np.isin((fold + 20) % 40, fold)
            assert again[fold % 20 >= 4].all()


# -- Ctrl-C ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("cls", "settings"), [(GNNSup, {}), (MemNNSup, KERNEL)])
def test_after_ctrl_c_complete_members_predict(cls, settings):
    whole = network_of(fitted(cls, **settings)).fitted
    with stop_at(0, "training, 3 of 3"), pytest.warns(KgnnWarning, match="stopped by hand"):
        model = fitted(cls, **settings)
    assert model.interrupted_
    assert model.held_out_ is None
    network = network_of(model)
    assert len(network.fitted) == 2
    assert all(map(torch.equal, map(weights, network.fitted), map(weights, whole)))
    expected = softmax(network.logits(network.prepare(NEW), whole[:2]), axis=1)
    np.testing.assert_allclose(model.predict_proba(NEW), expected, atol=1e-6)


def test_a_member_that_is_stopped_halfway_is_left_out_unless_it_is_the_first():
    with stop_at(2, "training, 2 of 3"), pytest.warns(KgnnWarning):
        second = fitted(GNNSup, epochs=4)
    assert [len(each.history.loss) for each in second.gnn_.fitted] == [4]
    with stop_at(2, "training, 1 of 3"), pytest.warns(KgnnWarning):
        first = fitted(GNNSup, epochs=4)
    assert [len(each.history.loss) for each in first.gnn_.fitted] == [2]
    assert np.isfinite(first.predict_proba(NEW)).all()


@pytest.mark.parametrize(("cls", "settings"), [(GNNSup, {}), (MemNNSup, KERNEL)])
def test_ctrl_c_before_the_first_epoch_leaves_no_model(cls, settings):
    model = fitted(cls, **settings)
    with stop_at(0, "training, 1 of 3"), pytest.raises(KeyboardInterrupt):
        model.fit(GRAPHS[:50], LABELS)
    assert not hasattr(model, "classes_")


@pytest.mark.parametrize("network", ["gnn", "memory"])
def test_after_ctrl_c_in_a_later_round_all_members_of_the_finished_ones_predict(network):
    settings = {**KERNEL, "growth": 0.3, "gnn_start": "trained"}
    place = f"round 1, {network}, 2 of 3"
    with stop_at(0, place), pytest.warns(KgnnWarning, match="stopped by hand"):
        stopped = fitted(KGNN, **settings, rounds=1)
    assert stopped.termination_condition_ == "interrupted"
    assert [len(each) for each in stopped.course_.used[0].fitted] == [3, 3, 3]
    whole = fitted(KGNN, **settings, rounds=0)
    expected = whole.predict_proba(NEW)
    np.testing.assert_allclose(
        sharpen(stopped.predict_proba(NEW), whole.sharpness_), expected, atol=1e-6
    )


@pytest.mark.parametrize("place", ["round 0, gnn, 2 of 3", "round 0, memory, 1 of 3"])
def test_ctrl_c_in_the_first_round_leaves_no_model(place):
    with stop_at(0, place), pytest.raises(KeyboardInterrupt):
        fitted(KGNN, **KERNEL, gnn_start="trained")


# -- saving ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cls", "settings"),
    [(GNNSup, ONE), (MemNNSup, {**ONE, **KERNEL}), (KGNN, {**ONE, **KERNEL}), (WL, {})],
)
def test_members_and_what_was_held_out_are_saved_but_not_each_members_answers(
    cls, settings, tmp_path
):
    model = cls(**settings).fit(GRAPHS[:50], LABELS)
    opened = open_model(model.save(tmp_path))
    assert np.array_equal(opened.predict_proba(NEW), model.predict_proba(NEW))
    for name in ("rows", "targets", "proba"):
        assert np.array_equal(getattr(opened.held_out_, name), getattr(model.held_out_, name))
    assert opened.predict_sets(NEW, error=0.2) == model.predict_sets(NEW, error=0.2)
    assert answers_in(model) > 0
    assert answers_in(opened) == 0


def answers_in(model):
    """How many numbers a model has of members' answers for held-out graphs."""
    if isinstance(model, KGNN):
        members = [one for each in model.course_.rounds for own in each.fitted for one in own]
        return sum(map(np.size, [*model.course_.held_out, *(one.answers for one in members)]))
    members = model.members_ if isinstance(model, WL) else network_of(model).fitted
    return sum(member.answers.size for member in members)
