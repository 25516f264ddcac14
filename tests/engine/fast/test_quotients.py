"""By color or node by node: the same numbers, the same gradients."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings

from kgnn.engine.batch import GraphBatches
from kgnn.engine.fast.layers import batch_norm
from kgnn.engine.fast.quotients import ColorBatches, batches_of
from kgnn.engine.gin import GIN, GINLayer
from kgnn.engine.node_features import NodeFeatures
from kgnn.errors import GraphDataError
from kgnn.graphs.datasets.toy import cycles_and_trees, planted_motifs, random_graphs
from kgnn.graphs.loading import load
from kgnn.graphs.packing import pack
from tests.graphs.strategies import datasets


def both_ways(graphs, layers=3, degrees=False):
    features = NodeFeatures.of(graphs, degrees=degrees)
    plain = GraphBatches(graphs, features)
    return plain, ColorBatches(graphs, features, layers)


def passed(module, batch, weights):
    """Return what a training pass gives: outputs, gradients, running statistics."""
    module.train()
    module.zero_grad()
    batch.__dict__["features"] = batch.features.double()
    outputs = module(batch)
    (outputs * weights).sum().backward()
    gradients = [parameter.grad.clone() for parameter in module.parameters()]
    return [outputs.detach(), *gradients, *(b.clone() for b in module.buffers())]


def assert_same(graphs, rows, degrees=False):
    plain, colored = both_ways(graphs, degrees=degrees)
    torch.manual_seed(0)
    features = plain.node_features
    options = {"readout": "both", "pooling": "all", "edge_kinds": features.n_edge_kinds}
    module = GIN(features.width, 3, width=8, dropout=0.0, **options)
    module.double()
    with torch.no_grad():  # away from sums of exactly zero, where the compressed one has no slope
        for norm in (*(layer.norm for layer in module.layers), module.pooled_norm):
            norm.bias.normal_()
    state = {name: value.clone() for name, value in module.state_dict().items()}
    weights = torch.randn(len(rows), 3, dtype=torch.float64)
    expected = passed(module, plain[rows], weights)
    module.load_state_dict(state)
    found = passed(module, colored[rows], weights)
    for one, other in zip(expected, found, strict=True):
        torch.testing.assert_close(other, one, rtol=1e-6, atol=1e-8 * (1 + float(one.abs().max())))
    module.eval()
    with torch.no_grad():
        judged = [module(_double(each[rows])) for each in (plain, colored)]
    torch.testing.assert_close(*judged, rtol=1e-6, atol=1e-6)


def _double(batch):
    batch.__dict__["features"] = batch.features.double()
    return batch


@pytest.mark.parametrize("degrees", [False, True])
@pytest.mark.parametrize(
    "graphs",
    [cycles_and_trees(12), planted_motifs(9, n_nodes=15), random_graphs(7, n_node_labels=2)],
    ids=lambda graphs: graphs.name,
)
def test_outputs_gradients_and_statistics_are_those_of_plain_message_passing(graphs, degrees):
    rows = np.random.default_rng(0).permutation(len(graphs))
    assert_same(graphs, rows, degrees)


@settings(max_examples=40, deadline=None)
@given(datasets())
def test_any_graphs_give_the_same_both_ways(graphs):
    """With isolated nodes, self loops, one-node graphs and graphs without nodes among them."""
    if graphs.n_nodes < 2:
        return
    assert_same(graphs, np.arange(len(graphs))[::-1])


def test_directed_input_is_symmetrized_before_it_is_shrunk():
    one_way = pack("one way", [3, 2], [0, 1, 3], [1, 2, 4])
    assert_same(one_way, np.array([1, 0]))


@pytest.mark.data
@pytest.mark.parametrize("name", ["PROTEINS", "IMDB-BINARY", "MUTAG", "ENZYMES"])
def test_real_datasets_give_the_same_both_ways(name):
    graphs = load(name)
    assert_same(graphs, np.random.default_rng(1).permutation(len(graphs))[:64])


def test_pygs_gin_convolution_agrees():
    from torch_geometric.nn import GINConv

    graphs = planted_motifs(6, n_nodes=12)
    plain, colored = both_ways(graphs, layers=1)
    rows = np.arange(6)
    module = GIN(plain.node_features.width, 2, width=8, layers=1).eval()
    layer = module.layers[0]
    peer = GINConv(torch.nn.Sequential(layer.inner, torch.nn.ReLU(), layer.outer))
    batch = plain[rows]
    nodes = torch.relu(peer(batch.features, batch.edge_index))
    expected = batch.pool(batch_norm(layer.norm, nodes), 1)
    color_batch = colored[rows]
    found = color_batch.pool(layer(color_batch.features, color_batch, 1), 1)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


def test_gradients_by_color_pass_a_finite_difference_check():
    _, colored = both_ways(random_graphs(3, n_nodes=6, n_edges=5), layers=1)
    batch = colored[np.arange(3)]
    layer = GINLayer(2, 3).double()
    x = torch.randn(len(batch.features), 2, dtype=torch.float64, requires_grad=True)
    inputs = (x, *layer.parameters())
    torch.autograd.gradcheck(lambda v, *_: batch.pool(layer(v, batch, 1), 1), inputs)


def test_a_star_has_two_colors_from_the_first_depth_on():
    star = pack("star", [6], [0] * 5, [1, 2, 3, 4, 5])
    _, colored = both_ways(star)
    assert colored.n_rows[0].tolist() == [1, 2, 2, 2]
    batch = colored[np.array([0])]
    assert sorted(batch.weights(1).counts.tolist()) == [1, 5]
    assert batch.weights(1).total == 6


def test_what_does_not_shrink_stays_as_it_is():
    unlike = random_graphs(4, n_nodes=20, n_node_labels=20)
    alike = cycles_and_trees(4)
    assert isinstance(batches_of(unlike, NodeFeatures.of(unlike), 3), GraphBatches)
    assert isinstance(batches_of(alike, NodeFeatures.of(alike), 3), ColorBatches)
    assert isinstance(batches_of(alike, NodeFeatures.of(alike), 0), GraphBatches)


def test_attributes_with_many_values_are_passed_node_by_node():
    values = np.random.default_rng(0).normal(size=(60, 2))
    graphs = replace(random_graphs(3, n_nodes=20), node_attributes=values)
    assert isinstance(batches_of(graphs, NodeFeatures.of(graphs), 3), GraphBatches)


def test_attributes_with_few_values_are_passed_by_color():
    star = pack("star", [6], [0] * 5, [1, 2, 3, 4, 5], node_attributes=[[0.0]] + [[1.5]] * 5)
    batches = batches_of(star, NodeFeatures.of(star), 3)
    assert batches.n_rows[0].tolist() == [2, 2, 2, 2]
    assert_same(star, np.array([0]))


def test_messages_along_edges_of_kinds_are_those_of_a_plain_loop():
    labels = ["a", "b", "a", "c"]
    graphs = pack("kinds", [4, 1], [0, 0, 0, 2], [1, 2, 3, 2], edge_labels=labels)
    features = NodeFeatures.of(graphs)
    x = torch.randn(5, 3, dtype=torch.float64)
    layer = GINLayer(3, 4, features.n_edge_kinds).double().eval()
    sums = x.clone()
    for node in range(5):
        for arc in range(graphs.arc_offsets[node], graphs.arc_offsets[node + 1]):
            edge = layer.edges[graphs.edge_labels[arc]]
            sums[node] = sums[node] + torch.relu(x[graphs.neighbors[arc]] + edge)
    expected = layer.norm(layer.outer(layer.inner(sums).relu()).relu())
    batch = GraphBatches(graphs, features)[np.arange(2)]
    torch.testing.assert_close(layer.plain(x, batch, 1), expected)
    torch.testing.assert_close(layer(x, batch, 1), expected)
    inputs = (x.requires_grad_(), *layer.parameters())
    torch.autograd.gradcheck(lambda v, *_: layer(v, batch, 1), inputs)


def test_an_edge_label_that_training_did_not_know_adds_nothing():
    known = pack("known", [2, 2], [0, 2], [1, 3], edge_labels=["a", "b"])
    other = pack("other", [2], [0], [1], edge_labels=["c"])
    features = NodeFeatures.of(known)
    layer = GINLayer(1, 4, features.n_edge_kinds).eval()
    batch = GraphBatches(other, features)[np.arange(1)]
    x = torch.tensor([[2.0], [-3.0]])
    assert batch.sums(1).forward(layer.send(x, batch, 1)).tolist() == [[2.0], [-1.0]]
    with pytest.raises(GraphDataError, match="no labels"):
        features.arc_kinds(pack("bare", [2], [0], [1]))
