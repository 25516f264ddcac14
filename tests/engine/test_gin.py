import numpy as np
import pytest
import torch

from kgnn.engine.batch import GraphBatches
from kgnn.engine.fast.layers import batch_norm
from kgnn.engine.gin import GIN, GINLayer
from kgnn.engine.node_features import NodeFeatures
from kgnn.engine.sparse import Total
from kgnn.graphs.datasets.toy import planted_motifs, random_graphs
from kgnn.graphs.packing import pack


def batch_and_adjacency(graphs):
    batch = GraphBatches(graphs, NodeFeatures.of(graphs))[np.arange(len(graphs))]
    dense = torch.zeros(graphs.n_nodes, graphs.n_nodes, dtype=torch.float64)
    sources = np.repeat(np.arange(graphs.n_nodes), graphs.degrees)
    dense[sources, graphs.neighbors.astype(np.int64)] = 1
    return batch, dense


def odd_graphs():
    """An empty graph, an isolated node, a self loop, an edge."""
    return pack("odd", [0, 1, 1, 2], [1, 2], [1, 3], node_labels=["a", "b", "a", "a"])


@pytest.mark.parametrize("graphs", [random_graphs(5, seed=1), odd_graphs()], ids=["random", "odd"])
def test_neighbor_sum_and_its_gradient_equal_the_dense_product(graphs):
    batch, dense = batch_and_adjacency(graphs)
    x = torch.randn(graphs.n_nodes, 3, dtype=torch.float64)
    assert torch.allclose(batch.sums(1).forward(x), x + dense @ x)
    assert torch.allclose(batch.sums(1).backward(x), x + dense.T @ x)


def test_graph_sum_and_its_gradient_equal_a_loop():
    graphs = odd_graphs()
    batch, _ = batch_and_adjacency(graphs)
    x = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
    sums = Total.apply(x, batch.graph_sums(0))
    assert torch.allclose(sums, torch.stack([torch.zeros(3), x[0], x[1], x[2] + x[3]]).double())
    (gradient,) = torch.autograd.grad((sums * torch.arange(4.0).double()[:, None]).sum(), x)
    assert gradient[:, 0].tolist() == [1, 2, 3, 3]


def test_gradients_pass_a_finite_difference_check():
    graphs = odd_graphs()
    batch, _ = batch_and_adjacency(graphs)
    x = torch.randn(4, 2, dtype=torch.float64, requires_grad=True)
    torch.autograd.gradcheck(lambda v: Total.apply(v, batch.graph_sums(0)), x)
    layer = GINLayer(2, 3).double()
    inputs = (x, *layer.parameters())
    torch.autograd.gradcheck(lambda v, *_: layer(v, batch, 1), inputs)


def test_layer_is_the_formula():
    graphs = random_graphs(4, seed=2)
    batch, dense = batch_and_adjacency(graphs)
    layer = GINLayer(1, 8).double()
    x = batch.features.double()
    total = x + dense @ x
    hidden = torch.relu(layer.outer(torch.relu(layer.inner(total))))
    expected = (hidden - hidden.mean(0)) / torch.sqrt(hidden.var(0, unbiased=False) + 1e-5)
    assert torch.allclose(layer(x, batch, 1), expected)


def test_the_fast_layer_has_the_numbers_and_gradients_of_the_plain_one():
    graphs = planted_motifs(6)
    batch, _ = batch_and_adjacency(graphs)
    layer = GINLayer(3, 8).double()
    x = torch.randn(graphs.n_nodes, 3, dtype=torch.float64, requires_grad=True)
    weights = torch.randn(graphs.n_nodes, 8, dtype=torch.float64)
    found = []
    for forward in (layer, layer.plain):
        layer.norm.reset_running_stats()
        output = forward(x, batch, 1)
        gradients = torch.autograd.grad((output * weights).sum(), (x, *layer.parameters()))
        found.append([output, *gradients, layer.norm.running_mean.clone()])
    for fast, plain in zip(*found, strict=True):
        torch.testing.assert_close(fast, plain)


def test_layer_equals_pyg():
    geometric = pytest.importorskip("torch_geometric.nn")
    graphs = planted_motifs(6)
    batch, dense = batch_and_adjacency(graphs)
    layer = GINLayer(3, 8).eval()
    peer = geometric.GINConv(torch.nn.Sequential(layer.inner, torch.nn.ReLU(), layer.outer))
    edge_index = dense.nonzero().T
    expected = layer.norm(torch.relu(peer(batch.features, edge_index)))
    assert torch.allclose(layer(batch.features, batch, 1), expected, atol=1e-5)


@pytest.mark.parametrize("readout", ["sum", "log", "both"])
def test_readouts_give_logits_and_reach_every_parameter(readout):
    graphs = planted_motifs(8)
    batch, _ = batch_and_adjacency(graphs)
    gin = GIN(3, 2, width=8, readout=readout, dropout=0.0)
    logits = gin(batch)
    assert logits.shape == (8, 2)
    torch.nn.functional.cross_entropy(logits, torch.arange(8) % 2).backward()
    for name, parameter in gin.named_parameters():
        assert parameter.grad is not None, name


def test_one_row_is_normalized_by_running_statistics():
    norm = torch.nn.BatchNorm1d(2)
    row = torch.tensor([[3.0, 5.0]])
    assert torch.allclose(batch_norm(norm, row), row, atol=1e-4)
    assert norm.num_batches_tracked == 0
