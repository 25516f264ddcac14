import math

import numpy as np
import pytest
import torch
from scipy.special import log_softmax, softmax
from torch.autograd import gradcheck

from kgnn.engine.batch import GraphBatch, GraphBatches
from kgnn.engine.fast.quotients import ColorBatch
from kgnn.engine.gin import GIN
from kgnn.engine.network import Examples, OptimizerConfig, Training, one_hot
from kgnn.engine.node_features import NodeFeatures
from kgnn.engine.views import drop_edges
from kgnn.errors import KgnnWarning
from kgnn.graphs.datasets.toy import planted_motifs
from kgnn.methods.entmin import EntMin
from kgnn.methods.gnn_sup import GNNSup
from kgnn.methods.infograph import InfoGraph
from kgnn.methods.kgnn import KGNN
from kgnn.methods.mean_teacher import MeanTeacher
from kgnn.methods.pi_model import PiModel
from kgnn.methods.semi_supervised import SemiSupervisedNetwork, Term, consistency, endlessly, ramp
from kgnn.methods.vat import VAT
from tests.methods.stepping import FAST, GRAPHS, LABELS, NEW, fitted, one_step, stop_at
from tests.tensors import asking, normal

METHODS = [EntMin, PiModel, MeanTeacher, VAT, InfoGraph]
TERMS = {
    EntMin: "entropy",
    PiModel: "consistency",
    MeanTeacher: "consistency",
    VAT: "smoothness",
    InfoGraph: "infomax",
}
FAST_KGNN = {"epochs": 4, "width": 8, "batch_size": 8, "cross_fit": 0, "committee": 1}
every_method = pytest.mark.parametrize("cls", METHODS)
POOL = planted_motifs(40, n_nodes=10)
LABELED, UNLABELED = np.arange(9), np.arange(9, 40)
EXAMPLES = Examples(LABELED, one_hot(POOL.targets, 2))
PLAN = OptimizerConfig(epochs=6, batch_size=4, learning_rate=0.01, weight_decay=0.0, averaging=0.5)
STEPS_PER_EPOCH = 2  # nine labeled graphs, four at a time; the last joins its neighbors


# All of them


def test_without_weight_all_methods_are_one_to_the_bit():
    proba = [fitted(cls, weight=0.0).predict_proba(NEW) for cls in METHODS]
    assert all((each == proba[0]).all() for each in proba)
    assert len(np.unique(proba[0])) > 2


@every_method
def test_the_term_is_there_finite_and_not_zero(cls):
    parts = fitted(cls).history_.parts
    assert list(parts)[:2] == ["labeled", TERMS[cls]]
    assert np.isfinite(parts[TERMS[cls]]).all()
    assert all(value != 0 for value in parts[TERMS[cls]])


@every_method
def test_the_term_changes_what_is_learned(cls):
    assert (fitted(cls).predict_proba(NEW) != fitted(cls, weight=0.0).predict_proba(NEW)).any()


@every_method
def test_the_ramp_is_applied(cls):
    slow, fast = (fitted(cls, ramp_up=r, epochs=1).history_.parts for r in (1.0, 0.0))
    name = "tie" if cls is InfoGraph else TERMS[cls]  # ψ learns its own task from the beginning
    assert 0 < abs(slow[name][0]) < 0.8 * abs(fast[name][0])


@every_method
def test_an_extra_pass_is_not_counted_in_the_statistics(cls):
    term, step = one_step(cls)
    module = getattr(step.module, "phi", step.module)
    before = {name: buffer.clone() for name, buffer in module.named_buffers()}
    term(step)
    assert all(torch.equal(before[name], now) for name, now in module.named_buffers())


@every_method
def test_hidden_labels_change_no_bit(cls):
    garbage = np.where(LABELS >= 0, LABELS, 1 - GRAPHS.targets[:40])
    states = [
        fitted(cls, graphs=graphs).gnn_.fitted[0].module.state_dict()
        for graphs in (GRAPHS[:40], GRAPHS[:40].with_targets(garbage))
    ]
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])


@every_method
def test_no_unlabeled_graphs_are_no_problem(cls):
    model = fitted(cls, GRAPHS.targets[:40])
    assert np.isfinite(model.history_.loss).all()
    assert np.isfinite(model.predict_proba(NEW)).all()


# The committee


def test_trainings_take_the_weights_in_turn_and_predict_together():
    model = fitted(EntMin, committee=3, weight=(0.5, 0.0))
    alone = fitted(EntMin, weight=0.5)
    members = model.gnn_.fitted
    assert [bool(member.history.parts) for member in members] == [True, False, True]
    prepared = model.gnn_.prepare(NEW)
    first = model.gnn_.logits(prepared, members[:1])
    np.testing.assert_allclose(first, alone.gnn_.logits(prepared))
    logs = [log_softmax(model.gnn_.logits(prepared, [each]), axis=1) for each in members]
    expected = softmax(np.mean(logs, axis=0), axis=1)
    np.testing.assert_allclose(model.predict_proba(NEW), expected)


def test_without_weight_and_committee_it_is_supervised_training_on_the_same_steps():
    # Four steps for the 30 unlabeled graphs, two for the ten labeled ones: twice the epochs.
    supervised = GNNSup(**{**FAST, "epochs": 8}).fit(GRAPHS[:40], LABELS)
    without = fitted(EntMin, weight=0.0)
    assert (without.predict_proba(NEW) == supervised.predict_proba(NEW)).all()


def test_ctrl_c_keeps_the_trainings_that_are_complete():
    with stop_at(3, "training, 2 of 3"), pytest.warns(KgnnWarning, match="stopped by hand"):
        model = fitted(EntMin, committee=3)
    assert len(model.gnn_.fitted) == 1
    assert not model.gnn_.fitted[0].history.interrupted
    assert (model.predict_proba(NEW) == fitted(EntMin).predict_proba(NEW)).all()


# What is minimized


def test_the_ramp_has_the_numbers_of_the_paper_and_never_falls():
    assert [ramp(t, 10) for t in (0, 5, 10, 11)] == pytest.approx(
        [0.0067379, 0.2865048, 1, 1], abs=1e-6
    )
    values = [ramp(t, 10) for t in range(15)]
    assert values == sorted(values)


def test_a_ramp_of_no_length_is_full_weight():
    assert ramp(0, 0) == 1.0


def test_consistency_is_the_formula():
    z1, z2 = normal(5, 3), normal(5, 3, seed=1)
    p, q = z1.softmax(1), z2.softmax(1)
    expected = sum(((p[i] - q[i]) ** 2).sum() / 3 for i in range(5)) / 5
    torch.testing.assert_close(consistency(z1, z2), expected)
    torch.testing.assert_close(consistency(z2, z1), expected)  # symmetric in value


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_consistency_is_zero_for_equal_and_at_most_two_over_c(n_classes):
    z = normal(8, n_classes)
    assert consistency(z, z.clone()).item() == 0.0
    certain = 1e4 * torch.eye(n_classes)
    furthest = consistency(certain, certain.roll(1, 0)).item()
    assert furthest == pytest.approx(2 / n_classes)
    assert 0 < consistency(z, normal(8, n_classes, seed=1)).item() < 2 / n_classes


def test_consistency_moves_the_student_and_not_its_target():
    student, target = asking(4, 3), asking(4, 3, seed=1)
    consistency(student, target).backward()
    assert (student.grad != 0).any()
    assert target.grad is None


def test_gradients_pass_a_finite_difference_check():
    assert gradcheck(lambda z: consistency(z, normal(2, 3, seed=1)), asking(2, 3, seed=2))


class Recording(Term):
    """A term of 1 that keeps the steps it is shown."""

    name = "one"

    def __init__(self, parts=None):
        self.steps, self.begun, self.followed, self.parts = [], [], 0, parts

    def begin(self, module):
        self.begun.append(module)

    def __call__(self, step):
        self.steps.append(step)
        one = 1 + 0 * step.logits.sum()
        return one if self.parts is None else {name: k * one for name, k in self.parts.items()}

    def after_step(self, module):
        self.followed += 1


def network_with(term, *, unlabeled=UNLABELED, weight=2.0, ramp_up=0.5, dropout=0.5, layers=3):
    return SemiSupervisedNetwork(
        POOL,
        lambda n: GIN(n, 2, width=8, dropout=dropout),
        PLAN,
        node_features=NodeFeatures.of(POOL),
        layers=layers,
        unlabeled=unlabeled,
        term=term,
        weights=(weight,),
        ramp_up=ramp_up,
    )


def fit(term, **options):
    network = network_with(term, **options)
    network.fit([Training(EXAMPLES, seed=0)])
    return network


def losses(term, n_steps, **options):
    """The parts of the loss of the first steps, without changing any weight."""
    network = network_with(term, **options)
    module = network._build(EXAMPLES)
    objective = network._objective(module, Training(EXAMPLES, 0), None, np.random.default_rng(0))
    return [objective(objective.rows[:4]) for _ in range(n_steps)]


# Steps


def test_an_epoch_is_a_pass_over_the_labeled_graphs():
    term = Recording()
    fit(term)
    assert len(term.steps) == PLAN.epochs * STEPS_PER_EPOCH
    orders = []
    for epoch in range(PLAN.epochs):
        steps = term.steps[epoch * STEPS_PER_EPOCH : (epoch + 1) * STEPS_PER_EPOCH]
        orders.append(np.concatenate([step.rows[: step.n_labeled] for step in steps]).tolist())
        assert sorted(orders[-1]) == LABELED.tolist()
    assert orders[0] != orders[1]
    assert {step.n_labeled for step in term.steps} == {4, 5}


def test_unlabeled_graphs_all_get_their_turn_before_any_comes_again():
    term = Recording()
    fit(term)
    rows = np.concatenate([step.rows[step.n_labeled :] for step in term.steps])
    assert len(rows) > len(UNLABELED)
    assert sorted(rows[:31].tolist()) == UNLABELED.tolist()


def test_batches_go_on_for_ever():
    parts = endlessly(np.arange(5), 2, np.random.default_rng(0))
    assert sorted(len(next(parts)) for _ in range(20)) == [2] * 10 + [3] * 10


def test_labeled_and_unlabeled_graphs_go_through_the_network_in_one_batch():
    network = network_with(term := Recording())
    passed = []
    build = network.build

    def listened_to(n_features):
        module = build(n_features)
        module.register_forward_hook(
            lambda module, inputs, logits: module.training and passed.append(len(inputs[0]))
        )
        return module

    network.build = listened_to
    network.fit([Training(EXAMPLES, seed=0)])
    steps = [len(step.rows) for step in term.steps]
    # The last pass is that of the statistics.
    assert passed == [*steps, 40]
    for step in term.steps:
        assert len(step.batch) == len(step.logits) == len(step.rows) > step.n_labeled
        assert (step.rows[: step.n_labeled] < 9).all()
        assert (step.graphs.graph_sizes == 10).all()


def test_a_term_begins_with_the_module_and_follows_each_step():
    term = Recording()
    network = fit(term)
    assert term.begun == [network.fitted[0].module]
    assert term.followed == len(term.steps)
    network.fit([Training(EXAMPLES, seed=1)])
    assert len(term.begun) == 2


def test_without_unlabeled_graphs_the_labeled_ones_take_their_place():
    term = Recording()
    fit(term, unlabeled=UNLABELED[:0])
    assert len(term.steps) == PLAN.epochs * 2
    rows = np.concatenate([step.rows[step.n_labeled :] for step in term.steps[:2]])
    assert sorted(rows.tolist()) == LABELED.tolist()


# Weights


def test_the_weight_grows_to_its_value():
    n_steps = PLAN.epochs * STEPS_PER_EPOCH
    found = [parts["one"].item() for parts in losses(Recording(), n_steps)]
    assert found[0] == pytest.approx(2 * math.exp(-5))
    assert found[n_steps // 4] == pytest.approx(2 * math.exp(-5 / 4))
    assert found[n_steps // 2 - 1] < 2
    assert found[n_steps // 2 :] == [2.0] * (n_steps // 2)
    assert found == sorted(found)


def test_without_ramp_up_the_weight_is_there_at_once():
    assert losses(Recording(), 1, ramp_up=0.0)[0]["one"].item() == 2.0


def test_the_history_has_the_mean_of_each_part():
    network = fit(Recording(), ramp_up=0.0)
    history = network.fitted[0].history
    assert list(history.parts) == ["labeled", "one"]
    assert history.parts["one"] == [2.0] * PLAN.epochs
    total = np.add(history.parts["labeled"], 2.0)
    np.testing.assert_allclose(history.loss, total, rtol=1e-6)


def test_a_term_may_have_several_parts():
    parts = losses(Recording({"a": 1.0, "b": 0.5}), 1, ramp_up=0.0)[0]
    assert list(parts) == ["labeled", "a", "b"]
    assert (parts["a"].item(), parts["b"].item()) == (2.0, 1.0)


def test_with_weight_zero_unlabeled_graphs_only_count_the_steps():
    term = Recording()
    network = fit(term, weight=0.0)
    assert term.steps == []
    assert term.followed == 0
    assert network.fitted[0].history.parts == {}
    other = fit(Recording({"x": 1.0}), weight=0.0)
    for a, b in zip(
        network.fitted[0].module.parameters(), other.fitted[0].module.parameters(), strict=True
    ):
        assert torch.equal(a, b)


def test_targets_of_unlabeled_graphs_are_not_read():
    garbage = EXAMPLES.targets.clone()
    garbage[UNLABELED] = torch.nan
    clean, poisoned = (network_with(Recording()) for _ in range(2))
    clean.fit([Training(EXAMPLES, seed=0)])
    poisoned.fit([Training(Examples(LABELED, garbage), seed=0)])
    for a, b in zip(
        clean.fitted[0].module.parameters(), poisoned.fitted[0].module.parameters(), strict=True
    ):
        assert torch.equal(a, b)


# Statistics


@pytest.mark.parametrize(("weight", "n_graphs"), [(2.0, 40), (0.0, 9)])
def test_statistics_are_those_of_all_graphs_that_are_trained_on(weight, n_graphs):
    network = fit(Recording(), weight=weight)
    layer = network.fitted[0].module.layers[0]
    batch = GraphBatches(POOL, network.node_features)[np.arange(n_graphs)]
    with torch.no_grad():
        total = batch.sums(1).forward(batch.features)
        hidden = torch.relu(layer.outer(torch.relu(layer.inner(total))))
    torch.testing.assert_close(layer.norm.running_mean, hidden.mean(0), rtol=1e-4, atol=1e-5)


# What a term can see of a step


@pytest.mark.parametrize(("layers", "kind"), [(3, ColorBatch), (0, GraphBatch)])
def test_a_step_can_be_seen_node_by_node(layers, kind):
    term = Recording()
    losses(term, 1, layers=layers, dropout=0.0)
    (step,) = term.steps
    assert isinstance(step.batch, kind)
    assert isinstance(step.nodes, GraphBatch)
    assert len(step.nodes.features) == step.graphs.n_nodes
    torch.testing.assert_close(step.module(step.nodes), step.logits, rtol=1e-4, atol=1e-4)


def test_a_view_has_changes_and_none_with_a_share_of_zero():
    term = Recording()
    losses(term, 1)
    (step,) = term.steps
    view = step.view(drop_edges, 0.5)
    assert len(view) == len(step.rows)
    assert 0 < len(view.neighbors) < step.graphs.n_arcs
    assert step.view(drop_edges, 0.0) is step.batch


# Stopped by hand


@every_method
def test_training_that_is_stopped_leaves_a_model(cls):
    with stop_at(3), pytest.warns(KgnnWarning, match="stopped by hand"):
        model = fitted(cls)
    assert model.interrupted_
    assert model.history_.interrupted
    assert len(model.history_.loss) == 3
    assert np.isfinite(model.predict_proba(NEW)).all()
    assert not model.gnn_.fitted[0].module.training


def test_the_model_of_a_stopped_training_is_the_best_until_then():
    validation = (NEW, NEW.targets)
    with stop_at(3), pytest.warns(KgnnWarning):
        model = EntMin(**FAST).fit(GRAPHS[:40], LABELS, validation=validation)
    assert model.history_.best_epoch == int(np.argmax(model.history_.score))
    # The ramp knows how many epochs were planned, so without it the first ones are the same.
    shorter = EntMin(**{**FAST, "epochs": 2}, ramp_up=0.0).fit(GRAPHS[:40], LABELS)
    with stop_at(4), pytest.warns(KgnnWarning):
        stopped = EntMin(**FAST, ramp_up=0.0).fit(GRAPHS[:40], LABELS)
    assert (stopped.predict_proba(NEW) == shorter.predict_proba(NEW)).all()


@every_method
def test_before_the_first_epoch_has_ended_there_is_no_model(cls):
    model = cls(**FAST)
    with stop_at(0), pytest.raises(KeyboardInterrupt):
        model.fit(GRAPHS[:40], LABELS)
    # Nor is an earlier model taken for the new one.
    model.fit(GRAPHS[:40], LABELS)
    with stop_at(0), pytest.raises(KeyboardInterrupt):
        model.fit(GRAPHS[:40], LABELS)


def test_a_fit_after_a_stopped_one_is_as_any_other():
    model = MeanTeacher(**FAST)
    with stop_at(2), pytest.warns(KgnnWarning):
        model.fit(GRAPHS[:40], LABELS)
    model.fit(GRAPHS[:40], LABELS)
    assert not model.interrupted_
    assert (model.predict_proba(NEW) == fitted(MeanTeacher).predict_proba(NEW)).all()


@pytest.mark.parametrize("network", ["gnn", "memory"])
def test_co_training_that_is_stopped_in_round_one_keeps_round_zero(network):
    settings = {**FAST_KGNN, "kernel": "wl", "gnn_start": "trained"}
    with stop_at(2, f"round 1, {network}"), pytest.warns(KgnnWarning, match="stopped by hand"):
        stopped = KGNN(**settings, rounds=2).fit(GRAPHS[:40], LABELS)
    assert stopped.interrupted_
    assert stopped.termination_condition_ == "interrupted"
    assert stopped.n_iter_ == 0
    first = KGNN(**settings, rounds=0).fit(GRAPHS[:40], LABELS)
    assert (stopped.predict_proba(NEW) == first.predict_proba(NEW)).all()


def test_co_training_that_is_stopped_between_rounds_keeps_those_that_have_ended():
    settings = {**FAST_KGNN, "kernel": "wl"}
    with stop_at(2, "rounds"), pytest.warns(KgnnWarning, match="stopped by hand"):  # 0 and 1
        stopped = KGNN(**settings, rounds=2).fit(GRAPHS[:40], LABELS)
    assert stopped.termination_condition_ == "interrupted"
    assert stopped.n_iter_ == 1


@pytest.mark.parametrize("network", ["gnn", "memory"])
def test_the_papers_training_stopped_in_round_one_predicts_with_the_gnn(network):
    with stop_at(1, f"round 1, {network}"), pytest.warns(KgnnWarning, match="stopped by hand"):
        stopped = KGNN.paper(epochs=3, width=8).fit(GRAPHS[:40], LABELS)
    assert stopped.n_iter_ == 0
    assert stopped.predict_proba(NEW).shape == (len(NEW), 2)
    assert stopped.predict_proba_each(NEW) == {}


def test_co_training_that_is_stopped_in_round_zero_is_no_model():
    with stop_at(2, "round 0, memory"), pytest.raises(KeyboardInterrupt):
        KGNN(**FAST_KGNN, kernel="wl").fit(GRAPHS[:40], LABELS)
