"""A memory of bounded size: which graphs are in it, and which a training step attends to."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kgnn.engine.gin import GIN
from kgnn.engine.memory import Memory, _draw_by_class
from kgnn.engine.network import Examples, GraphNetwork, OptimizerConfig, Training, one_hot
from kgnn.engine.node_features import NodeFeatures
from kgnn.graphs.datasets.toy import planted_motifs
from kgnn.kernels.projection import Projection
from kgnn.kernels.weisfeiler_lehman import WeisfeilerLehman
from kgnn.methods.ensemble_self import EnsembleNetwork, JointNetwork
from kgnn.methods.kgnn import MemoryNetwork

GRAPHS = planted_motifs(60, n_nodes=12)
TARGETS = one_hot(GRAPHS.targets, 2)
FAST = OptimizerConfig(epochs=3, batch_size=8, learning_rate=0.01, weight_decay=0.0, averaging=0.5)


class Watched(MemoryNetwork):
    """Keeps what each reading is given, while training and after."""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.read_while = {True: [], False: []}

    def read(self, queries, memory, memory_targets, own=None):
        self.read_while[self.training].append((queries, memory, memory_targets, own))
        return super().read(queries, memory, memory_targets, own)


def memory_of(**bounds):
    return Memory(
        GRAPHS,
        lambda n, sharpness, _: Watched(n, 2, width=8, sharpness=sharpness),
        FAST,
        kernel=WeisfeilerLehman(2),
        projection=Projection(8),
        **bounds,
    )


def joint_of(**bounds):
    gnn = GraphNetwork(
        GRAPHS, lambda n: GIN(n, 2, width=8), FAST, node_features=NodeFeatures.of(GRAPHS), layers=3
    )
    return JointNetwork(gnn, memory_of(**bounds), lambda p, q: EnsembleNetwork(p, q, 2, 8, 0.0))


def train(network, examples, seed=0):
    return network.fit([Training(examples, seed)])[0]


def classes_of(rows):
    return np.bincount(GRAPHS.targets[rows], minlength=2).tolist()


# -- the draw -------------------------------------------------------------------------------------


@given(st.lists(st.integers(1, 30), min_size=1, max_size=4), st.data())
def test_as_many_rows_are_drawn_as_asked_each_class_in_proportion(counts, data):
    n = data.draw(st.integers(len(counts), sum(counts)))
    classes = np.random.default_rng(0).permutation(np.repeat(np.arange(len(counts)), counts))
    rows = _draw_by_class(one_hot(classes, len(counts)), n)
    assert len(rows) == n
    assert (np.diff(rows) > 0).all()
    drawn = np.bincount(classes[rows], minlength=len(counts))
    assert (drawn >= 1).all()
    # Rare classes have one row in any case, which the others make up for.
    assert (drawn <= np.ceil(n * np.array(counts) / sum(counts))).all()


def test_all_rows_of_a_class_are_drawn_equally_often():
    torch.manual_seed(0)
    targets = one_hot(np.repeat([0, 1], [12, 4]), 2)
    drawn = np.concatenate([_draw_by_class(targets, 8) for _ in range(1000)])
    assert np.bincount(drawn) == pytest.approx(np.full(16, 500), abs=75)


def test_a_row_counts_as_one_of_its_most_probable_class():
    soft = torch.tensor([[0.6, 0.4]] * 6 + [[0.3, 0.7]] * 2)
    rows = _draw_by_class(soft, 4)
    assert np.bincount(rows >= 6).tolist() == [3, 1]


# -- the memory -----------------------------------------------------------------------------------


def test_a_memory_has_at_most_so_many_slots_by_class():
    labeled = np.arange(1, 31)
    examples = Examples(labeled, TARGETS)
    fitted = train(memory_of(slots=10), examples)
    assert set(fitted.memory) < set(labeled)
    assert classes_of(fitted.memory) == [5, 5]
    assert torch.equal(fitted.memory_targets, TARGETS[fitted.memory])
    assert train(memory_of(slots=30), examples).memory.tolist() == labeled.tolist()
    assert train(memory_of(), examples).memory.tolist() == labeled.tolist()


def test_labeled_graphs_come_before_annotated_ones():
    labeled, annotated = np.arange(8), np.concatenate([np.arange(10, 50, 2), np.arange(11, 50, 2)])
    examples = Examples(labeled, TARGETS, annotated)
    memory = train(memory_of(slots=20), examples).memory
    assert memory[:8].tolist() == labeled.tolist()
    assert set(memory[8:]) < set(annotated)
    assert classes_of(memory[8:]) == [6, 6]
    fixed = train(memory_of(slots=20, grows=False), examples).memory
    assert fixed.tolist() == labeled.tolist()


@pytest.mark.parametrize("make", [memory_of, joint_of])
def test_a_step_attends_to_at_most_so_many_slots_and_a_prediction_to_all(make):
    labeled = np.arange(40)
    network = make(step_slots=10)
    fitted = train(network, Examples(labeled, TARGETS))
    module = getattr(fitted.module, "memory", fitted.module)
    steps = [(memory, targets) for _, memory, targets, _ in module.read_while[True]]
    assert len(steps) >= 15
    assert {len(memory) for memory, _ in steps} == {len(targets) for _, targets in steps} == {10}
    assert all(targets.sum(dim=0).tolist() == [5, 5] for _, targets in steps)
    assert len({tuple(memory.flatten().tolist()) for memory, _ in steps}) > 10  # drawn anew
    pool = network.memory.pool if make is joint_of else network.pool
    for memory, targets in steps:
        rows = (memory[:, None] == pool).all(dim=2).int().argmax(dim=1)
        assert torch.equal(targets, TARGETS[rows])
    network.logits(network.prepare(GRAPHS[50:]))
    assert [len(memory) for _, memory, *_ in module.read_while[False]] == [40]


@pytest.mark.parametrize("make", [memory_of, joint_of])
def test_a_graph_that_was_drawn_does_not_attend_to_itself(make):
    network = make(step_slots=10)
    fitted = train(network, Examples(np.arange(40), TARGETS))
    module = getattr(fitted.module, "memory", fitted.module)
    n_masked = 0
    for queries, memory, _, own in module.read_while[True]:
        same = (queries[:, None] == memory).all(dim=2)  # no two graphs are alike
        expected = torch.where(same.any(dim=1), same.int().argmax(dim=1), -1)
        assert own.tolist() == expected.tolist()
        n_masked += int(same.sum())
    assert n_masked > 10


@pytest.mark.parametrize("make", [memory_of, joint_of])
def test_the_seed_decides_what_is_drawn(make):
    def weights(seed):
        fitted = train(make(slots=20, step_slots=10), Examples(np.arange(40), TARGETS), seed)
        return fitted.memory.tolist(), torch.nn.utils.parameters_to_vector(
            fitted.module.parameters()
        )

    (slots, first), (again, second), (others, _) = (weights(seed) for seed in (3, 3, 4))
    assert slots == again != others
    assert torch.equal(first, second)


def test_bounds_that_are_not_reached_change_no_bit():
    examples = Examples(np.arange(40), TARGETS)
    free, bounded = (
        train(memory_of(**bounds), examples) for bounds in ({}, {"slots": 40, "step_slots": 40})
    )
    for one, other in zip(free.module.parameters(), bounded.module.parameters(), strict=True):
        assert torch.equal(one, other)


def test_without_bounds_it_is_the_module_on_all_labeled_graphs():
    network = memory_of()
    examples = Examples(np.arange(40), TARGETS)
    fitted = train(network, examples)
    rows, module = np.arange(35, 60), fitted.module.eval()
    with torch.no_grad():
        plain = module(network.pool[rows], network.pool[:40], TARGETS[:40])
        stepped = network._on_batch(module, rows[:5], fitted)
        own = torch.arange(35, 40)
        masked = module(network.pool[rows[:5]], network.pool[:40], TARGETS[:40], own)
    np.testing.assert_allclose(network.logits(network.part(rows)), plain.numpy(), atol=1e-6)
    torch.testing.assert_close(stepped, masked)
    wrong = replace(fitted, memory_targets=TARGETS[:40].flip(1))
    assert not np.allclose(network.logits(network.part(rows), [wrong]), plain.numpy(), atol=1e-3)
