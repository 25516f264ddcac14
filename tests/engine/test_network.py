from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.special import softmax

from kgnn.engine import batch as batch_module
from kgnn.engine import memory as memory_module
from kgnn.engine import network as network_module
from kgnn.engine.batch import GraphBatches, passes
from kgnn.engine.gin import GIN
from kgnn.engine.loop import History
from kgnn.engine.memory import Memory
from kgnn.engine.network import (
    Examples,
    Fitted,
    GraphNetwork,
    OptimizerConfig,
    Training,
    one_hot,
)
from kgnn.engine.node_features import NodeFeatures
from kgnn.graphs.datasets.toy import planted_motifs, random_graphs
from kgnn.kernels.projection import Projection
from kgnn.kernels.weisfeiler_lehman import WeisfeilerLehman
from kgnn.methods import ensemble_self
from kgnn.methods.ensemble_self import EnsembleNetwork, JointNetwork
from kgnn.methods.kgnn import MemoryNetwork

GRAPHS = planted_motifs(30, n_nodes=10)
FAST = OptimizerConfig(epochs=3, batch_size=8, learning_rate=0.01, weight_decay=0.0, averaging=0.5)


def both_networks(pool=GRAPHS, dimensions=8):
    return [
        GraphNetwork(
            pool,
            lambda n: GIN(n, 2, width=8),
            FAST,
            node_features=NodeFeatures.of(pool),
            layers=3,
        ),
        Memory(
            pool,
            lambda n, s, _: MemoryNetwork(
                n, 2, width=8, sharpness=s, identity=dimensions is not None
            ),
            FAST,
            kernel=WeisfeilerLehman(1, normalize="dataset"),
            projection=None if dimensions is None else Projection(dimensions),
        ),
    ]


def train(network, examples, seed=0, **options):
    """Train a network once, without graphs to judge it."""
    return network.fit([Training(examples, seed)], **options)[0]


def weights_of(fitted):
    return torch.nn.utils.parameters_to_vector(fitted.module.parameters()).detach()


def test_passes_cover_all_rows_in_order_within_the_bound(monkeypatch):
    graphs = random_graphs(50, n_nodes=20)
    monkeypatch.setattr(batch_module, "_NODES_PER_PASS", 100)
    parts = list(passes(GraphBatches(graphs, NodeFeatures.of(graphs))))
    assert np.concatenate(parts).tolist() == list(range(50))
    assert max(graphs.graph_sizes[rows].sum() for rows in parts) <= 120


def test_slots_are_found_for_rows_in_memory_and_only_for_them():
    fitted = Fitted(None, History(), memory=np.array([7, 2, 9]))
    assert fitted.slots_of(np.array([9, 1, 7, 2])).tolist() == [2, -1, 0, 1]


@pytest.mark.parametrize("which", [0, 1])
def test_what_is_prepared_once_equals_what_is_prepared_anew(which):
    network = both_networks()[which]
    train(network, Examples(np.arange(12), one_hot(GRAPHS.targets, 2)))
    rows = np.array([3, 20, 25])
    anew = network.logits(network.prepare(GRAPHS[rows]))
    np.testing.assert_allclose(network.logits(network.part(rows)), anew, atol=1e-5)


def test_small_passes_give_the_same_predictions(monkeypatch):
    for network in both_networks():
        train(network, Examples(np.arange(12), one_hot(GRAPHS.targets, 2)))
        whole = network.logits(network.prepare(GRAPHS))
        monkeypatch.setattr(batch_module, "_NODES_PER_PASS", 30)
        monkeypatch.setattr(memory_module, "ATTENTION_PER_PASS", 50)
        np.testing.assert_allclose(network.logits(network.prepare(GRAPHS)), whole, atol=1e-5)


@pytest.mark.parametrize("dimensions", [8, None])
def test_annotated_graphs_are_taught_with_their_weight(dimensions):
    targets = one_hot(GRAPHS.targets, 2)
    rows, rng = np.arange(8), np.random.default_rng(0)
    examples = Examples(rows, targets, np.arange(8, 20), weight=0.0)

    def loss(network, taught):
        (fitted,) = network.fitted
        parts = network._objective(fitted.module.eval(), Training(taught, 0), fitted, rng)(rows)
        return sum(part.item() for part in parts.values())

    for network in both_networks(dimensions=dimensions):
        train(network, examples)
        free = loss(network, examples)
        assert free == pytest.approx(loss(network, Examples(rows, targets)), abs=1e-5)
        assert loss(network, Examples(rows, targets, np.arange(8, 20), weight=2.0)) > free


def test_another_seed_gives_other_weights_and_a_warm_start_goes_on():
    for network in both_networks():
        examples = Examples(np.arange(12), one_hot(GRAPHS.targets, 2))
        one, two = (train(network, examples, seed) for seed in (0, 1))
        again = train(network, examples)
        first, second, third = map(weights_of, (one, two, again))
        assert (first == third).all()
        assert (first != second).any()
        moved = weights_of(train(network, examples, 5, warm_start=True)) - third
        assert 0 < moved.norm() < (first - second).norm() * 2
        assert (weights_of(again) == third).all()


def test_no_graph_attends_to_itself_when_it_is_annotated():
    gnn, memory = both_networks()
    taught, others = np.arange(8), np.arange(8, 30)
    targets = one_hot(np.maximum(GRAPHS.targets, 0), 2)
    for network in (gnn, memory):
        train(network, Examples(taught, targets))
        seen = softmax(network.logits(network.part(others)), axis=1)
        np.testing.assert_allclose(network.annotate(others), [seen])
    wrong = targets.flip(1)
    known = softmax(memory.logits(memory.part(taught)), axis=1)
    (without,) = memory.annotate(taught)
    assert (np.abs(known - without) > 1e-3).any()
    # What the memory says of a graph itself does not count; what it says of the others does.
    (fitted,) = memory.fitted
    for row in taught[:3]:
        fitted.memory_targets[row] = wrong[row]
        np.testing.assert_array_equal(memory.annotate(taught)[0][row], without[row])
        fitted.memory_targets[row] = targets[row]


@pytest.mark.parametrize("bound", [None, 20])
def test_while_training_no_graph_attends_to_itself(monkeypatch, bound):
    gnn, memory = both_networks()
    joint = JointNetwork(gnn, memory, lambda p, q: EnsembleNetwork(p, q, 2, 8, 0.0))
    if bound is not None:
        monkeypatch.setattr(memory_module, "ATTENTION_PER_PASS", bound)
        monkeypatch.setattr(ensemble_self, "ATTENTION_PER_PASS", bound)
    taught = np.arange(8)
    for network in (memory, joint):
        fitted = train(network, Examples(taught, one_hot(GRAPHS.targets, 2)))
        module = fitted.module.eval()
        batch = network._on_batch(module, taught, fitted).detach()
        (annotated,) = network.annotate(taught)
        for row in taught[:3]:
            kept = np.delete(taught, row)
            without = fitted.with_slots(kept)
            one = network._on_batch(module, taught[row : row + 1], without).detach()
            np.testing.assert_allclose(batch[row], one[0], atol=1e-5)
            alone = softmax(network.logits(network.part(taught[row : row + 1]), [without]), axis=1)
            np.testing.assert_allclose(annotated[row], alone[0], atol=1e-5)


def test_a_memory_of_100_000_graphs_takes_bounded_passes():
    _, network = both_networks()
    n = 100_000
    network.pool = torch.rand(n, 8)
    everyone = np.arange(n)
    module = network._build(Examples(everyone, torch.zeros(n, 2)))  # all pairs would be 40 GB
    assert 0 < float(module.log_sharpness[0].detach().exp()) < 1000
    sizes = []

    def answer(queries, memory, targets, own):
        sizes.append(len(queries) * len(memory))
        return torch.zeros(len(queries), 2)

    fitted = Fitted(module, History(), memory=everyone, memory_targets=torch.zeros(n, 2))
    assert network._on_all(answer, network.pool[:500], fitted).shape == (500, 2)
    assert max(sizes) <= 1 << 20


def test_copies_of_one_graph_do_not_make_the_attention_infinitely_sharp():
    _, network = both_networks()
    network.pool = torch.zeros(20, 8)
    network.pool[15:] = torch.eye(8)[:5]
    module = network._build(Examples(np.arange(20), torch.zeros(20, 2)))
    assert float(module.log_sharpness[0].detach().exp()) == pytest.approx(4.0, rel=0.5)


def test_merged_batches_pass_over_labeled_and_annotated_graphs_alike():
    gnn, _ = both_networks()
    targets = one_hot(GRAPHS.targets, 2)
    examples = Examples(np.arange(8), targets, np.arange(8, 20), weight=0.5, merged=True)
    fitted = train(gnn, examples)
    rng = np.random.default_rng(0)
    objective = gnn._objective(fitted.module.eval(), Training(examples, 0), fitted, rng)
    assert objective.rows.tolist() == list(range(20))
    rows = np.array([2, 5, 9, 17])
    (loss,) = objective(rows).values()
    each = torch.nn.functional.cross_entropy(
        gnn._on_batch(fitted.module, rows, fitted), targets[rows], reduction="none"
    )
    expected = (each * torch.tensor([1.0, 1.0, 0.5, 0.5])).sum() / 4
    torch.testing.assert_close(loss, expected)


def test_statistics_are_those_of_labeled_and_annotated_graphs():
    """BatchNorm of new graphs: one pass over everything that was taught, not over the labels."""
    gnn, _ = both_networks()
    few, many = np.arange(4), np.arange(4, 30)
    fitted = train(gnn, Examples(few, one_hot(GRAPHS.targets, 2), many, weight=0.0))
    norm = fitted.module.layers[0].norm
    every = gnn.pool[np.arange(30)]
    layer = fitted.module.layers[0]
    hidden = layer.outer(layer.inner(every.sums(1).forward(every.features)).relu()).relu()
    counts = every.weights(1)
    shares = torch.ones(len(hidden)) if counts is None else counts.counts
    mean = (shares[:, None] * hidden).sum(0) / shares.sum()
    torch.testing.assert_close(norm.running_mean, mean.detach(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("statistics", ["recomputed", "running"])
def test_statistics_can_be_the_running_averages(statistics):
    network = GraphNetwork(
        GRAPHS,
        lambda n: GIN(n, 2, width=8, dropout=0.0),
        replace(FAST, statistics=statistics, averaging=0.0),
        node_features=NodeFeatures.of(GRAPHS),
    )
    fitted = train(network, Examples(np.arange(30), one_hot(GRAPHS.targets, 2)))
    steps = 3 * 4  # epochs of 30 graphs, 8 at a time
    n_batches = int(fitted.module.layers[0].norm.num_batches_tracked)
    assert n_batches == (steps if statistics == "running" else 1)


def test_long_gradients_are_clipped_unless_they_are_not_to_be():
    """A rate of 0 for Adam's first moments would hide it: compare what one step does."""
    moved = {}
    for clip in (1e-8, None):
        network = GraphNetwork(
            GRAPHS,
            lambda n: GIN(n, 2, width=8, dropout=0.0),
            replace(FAST, epochs=1, batch_size=30, averaging=0.0, weight_decay=1.0, clip=clip),
            node_features=NodeFeatures.of(GRAPHS),
        )
        moved[clip] = weights_of(
            train(network, Examples(np.arange(30), one_hot(GRAPHS.targets, 2)))
        )
    # Weight decay is not clipped: with no gradient left, it alone gives the direction.
    assert (moved[1e-8] - moved[None]).abs().max() > 1e-3


# -- which epoch is kept --------------------------------------------------------------------------


def test_what_was_chosen_is_what_is_kept(monkeypatch):
    """The weights of the chosen epoch, and the answers of the one that others have chosen."""

    def made(epochs):
        config = replace(FAST, epochs=epochs, checkpoints=epochs)
        nodes = NodeFeatures.of(GRAPHS)
        return GraphNetwork(
            GRAPHS, lambda n: GIN(n, 2, width=8, dropout=0.0), config, node_features=nodes
        )

    examples, held = Examples(np.arange(12), one_hot(GRAPHS.targets, 2)), np.arange(12, 20)
    # Without dropout a training of one epoch is the beginning of a longer one.
    shorter = [made(epochs) for epochs in (1, 2, 3)]
    weights = [weights_of(train(network, examples)) for network in shorter]
    told = [network.logits(network.part(held)) for network in shorter]
    for chosen, by_others in ((0, 2), (1, 0), (2, 1)):
        monkeypatch.setattr(
            network_module,
            "choose_epochs",
            lambda *_, default, kept=(chosen, by_others): [(*kept, [0.1, 0.2, 0.3])],
        )
        network = made(3)
        judge = Training(examples, 0, network.part(held), GRAPHS.targets[held])
        (fitted,) = network.fit([judge], pooled=True)
        assert torch.equal(weights_of(fitted), weights[chosen])
        np.testing.assert_allclose(fitted.answers, told[by_others], atol=1e-6)
        np.testing.assert_allclose(network.logits(network.part(held)), told[chosen], atol=1e-6)
        assert fitted.history.best_epoch == chosen
        assert fitted.history.score == [0.1, 0.2, 0.3]
        assert len(fitted.history.loss) == 3
