import math

import numpy as np
import pytest
import torch

from kgnn.engine.augment import drop_edges
from kgnn.engine.batch import GraphBatch, GraphBatches
from kgnn.engine.fast.quotients import ColorBatch
from kgnn.engine.gin import GIN
from kgnn.engine.network import Examples, OptimizerConfig, one_hot
from kgnn.engine.node_features import NodeFeatures
from kgnn.engine.semi_supervised import SemiSupervisedNetwork, Term, endlessly
from kgnn.graphs.datasets.toy import planted_motifs

GRAPHS = planted_motifs(40, n_nodes=10)
LABELED, UNLABELED = np.arange(9), np.arange(9, 40)
EXAMPLES = Examples(LABELED, one_hot(GRAPHS.targets, 2))
PLAN = OptimizerConfig(epochs=6, batch_size=4, learning_rate=0.01, weight_decay=0.0, averaging=0.5)
STEPS_PER_EPOCH = 2  # nine labeled graphs, four at a time; the last joins its neighbors


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
        GRAPHS,
        lambda n: GIN(n, 2, width=8, dropout=dropout),
        PLAN,
        node_features=NodeFeatures.of(GRAPHS),
        layers=layers,
        unlabeled=unlabeled,
        term=term,
        weight=weight,
        ramp_up=ramp_up,
    )


def fit(term, **options):
    network = network_with(term, **options)
    network.fit(EXAMPLES, None, seed=0)
    return network


def losses(term, n_steps, **options):
    """The parts of the loss of the first steps, without changing any weight."""
    network = network_with(term, **options)
    module = network._build(EXAMPLES)
    objective = network._objective(module, EXAMPLES, None, np.random.default_rng(0))
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
    network.fit(EXAMPLES, None, seed=0)
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
    assert term.begun == [network.fitted.module]
    assert term.followed == len(term.steps)
    network.fit(EXAMPLES, None, seed=1)
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
    history = network.fitted.history
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
    assert network.fitted.history.parts == {}
    other = fit(Recording({"x": 1.0}), weight=0.0)
    for a, b in zip(
        network.fitted.module.parameters(), other.fitted.module.parameters(), strict=True
    ):
        assert torch.equal(a, b)


def test_targets_of_unlabeled_graphs_are_not_read():
    garbage = EXAMPLES.targets.clone()
    garbage[UNLABELED] = torch.nan
    clean, poisoned = (network_with(Recording()) for _ in range(2))
    clean.fit(EXAMPLES, None, seed=0)
    poisoned.fit(Examples(LABELED, garbage), None, seed=0)
    for a, b in zip(
        clean.fitted.module.parameters(), poisoned.fitted.module.parameters(), strict=True
    ):
        assert torch.equal(a, b)


# Statistics


@pytest.mark.parametrize(("weight", "n_graphs"), [(2.0, 40), (0.0, 9)])
def test_statistics_are_those_of_all_graphs_that_are_trained_on(weight, n_graphs):
    network = fit(Recording(), weight=weight)
    layer = network.fitted.module.layers[0]
    batch = GraphBatches(GRAPHS, network.node_features)[np.arange(n_graphs)]
    with torch.no_grad():
        total = batch.sums(1).there(batch.features)
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
