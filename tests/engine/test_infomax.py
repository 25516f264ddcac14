import math

import numpy as np
import pytest
import torch
from torch.nn.functional import softplus

from kgnn.engine.batch import GraphBatches
from kgnn.engine.fast.quotients import ColorBatches
from kgnn.engine.gin import GIN
from kgnn.engine.infomax import Discriminator, InfoMax
from kgnn.engine.node_features import NodeFeatures
from kgnn.graphs.datasets.toy import planted_motifs, random_graphs
from kgnn.graphs.packing import pack

GRAPHS = planted_motifs(6, n_nodes=10)
FEATURES = NodeFeatures.of(GRAPHS)


def nodes_of(graphs=GRAPHS, rows=None):
    rows = np.arange(len(graphs)) if rows is None else np.array(rows)
    return GraphBatches(graphs, NodeFeatures.of(graphs))[rows]


def module_for(graphs=GRAPHS, **options):
    torch.manual_seed(0)
    n_features = NodeFeatures.of(graphs).width
    phi = GIN(n_features, 2, width=8, layers=3, readout="both", pooling="all")
    return InfoMax(phi, n_features, width=8, layers=3, **options).train()


def has_gradient(module):
    return [p.grad is not None and bool((p.grad != 0).any()) for p in module.parameters()]


def by_double_loop(left, right, own):
    """The estimate from its definition, score by score."""
    n_rows, n_graphs = len(left), len(right)
    positive = negative = 0.0
    for row in range(n_rows):
        for graph in range(n_graphs):
            score = sum(a * b for a, b in zip(left[row], right[graph], strict=True))
            if own[row] == graph:
                positive += (math.log(2) - softplus(-score)) / n_rows
            else:
                negative += (softplus(score) - math.log(2)) / (n_rows * (n_graphs - 1))
    return negative - positive


# What is computed


def test_predictions_are_those_of_phi_alone():
    module, batch = module_for().eval(), nodes_of()
    assert torch.equal(module(batch), module.phi(batch))
    before = module(batch)
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if not name.startswith("phi."):
                parameter.fill_(9.0)
    assert torch.equal(module(batch), before)


def test_a_change_of_nodes_reaches_phi():
    module, batch = module_for().eval(), nodes_of()
    change = torch.ones(len(batch.features), 8)
    assert torch.equal(module(batch, change), module.phi(batch, change))
    assert not torch.equal(module(batch, change), module(batch))


def test_a_discriminator_is_three_blocks_and_a_shortcut():
    torch.manual_seed(0)
    discriminator, x = Discriminator(5, 3), torch.randn(4, 5)
    expected = x
    for linear in (discriminator.blocks[0], discriminator.blocks[2], discriminator.blocks[4]):
        expected = (expected @ linear.weight.T + linear.bias).clamp(min=0)
    expected = expected + x @ discriminator.shortcut.weight.T + discriminator.shortcut.bias
    torch.testing.assert_close(discriminator(x), expected)


@pytest.mark.parametrize("separate", [True, False])
def test_a_patch_is_all_layers_and_a_graph_their_sum(separate):
    module, nodes = module_for(separate=separate), nodes_of()
    patches = module.patches(nodes)
    x, every = nodes.features, []
    for depth, layer in enumerate(module.psi if separate else module.phi.layers, start=1):
        x = layer(x, nodes, depth)
        every.append(x)
    torch.testing.assert_close(patches.nodes, torch.cat(every, dim=1))
    sums = torch.stack([torch.cat(every, dim=1)[g * 10 : g * 10 + 10].sum(0) for g in range(6)])
    expected = sums.sign() * sums.abs().log1p()
    expected = (expected - expected.mean(0)) / (expected.var(0, correction=0) + 1e-5).sqrt()
    torch.testing.assert_close(patches.graphs, expected, rtol=1e-4, atol=1e-4)
    assert patches.graph_of_node.tolist() == np.repeat(np.arange(6), 10).tolist()


def test_losses_equal_a_double_loop():
    module, nodes = module_for(), nodes_of()
    patches = module.patches(nodes)
    left, right = module.of_node(patches.nodes), module.of_graph(patches.graphs)
    torch.testing.assert_close(
        module.infomax(patches), by_double_loop(left, right, patches.graph_of_node)
    )
    left, right = module.of_phi(module.phi.embed(nodes)), module.of_psi(patches.graphs)
    torch.testing.assert_close(
        module.tie(nodes, patches), by_double_loop(left, right, torch.arange(6))
    )


def test_discriminators_that_say_nothing_know_nothing():
    module, nodes = module_for(), nodes_of()
    with torch.no_grad():
        for discriminator in (module.of_node, module.of_phi):
            for parameter in discriminator.parameters():
                parameter.zero_()
    patches = module.patches(nodes)
    assert module.infomax(patches).item() == pytest.approx(0, abs=1e-6)
    assert module.tie(nodes, patches).item() == pytest.approx(0, abs=1e-6)


def test_the_order_of_graphs_does_not_matter():
    module = module_for()
    one, other = nodes_of(), nodes_of(rows=[4, 0, 5, 2, 1, 3])
    first, second = module.patches(one), module.patches(other)
    torch.testing.assert_close(module.infomax(first), module.infomax(second), atol=1e-5, rtol=0)
    torch.testing.assert_close(module.tie(one, first), module.tie(other, second), atol=1e-5, rtol=0)


def test_the_tie_is_the_same_by_color_and_node_by_node():
    module, nodes = module_for(), nodes_of()
    colors = ColorBatches(GRAPHS, FEATURES.kinds(GRAPHS), FEATURES.vectors, 3)[np.arange(6)]
    patches = module.patches(nodes)
    torch.testing.assert_close(
        module.tie(colors, patches), module.tie(nodes, patches), atol=1e-4, rtol=0
    )


# Who learns what


def test_what_psi_is_asked_does_not_reach_phi():
    module = module_for()
    module.infomax(module.patches(nodes_of())).backward()
    assert all(parameter.grad is None for parameter in module.phi.parameters())
    assert all(parameter.grad is None for parameter in module.of_phi.parameters())
    for part in (module.psi, module.of_node, module.of_graph):
        assert sum(has_gradient(part)) > len(has_gradient(part)) / 2


def test_the_tie_reaches_both_encoders():
    module, nodes = module_for(), nodes_of()
    module.tie(nodes, module.patches(nodes)).backward()
    for part in (module.phi.layers, module.psi, module.of_phi, module.of_psi):
        assert sum(has_gradient(part)) > len(has_gradient(part)) / 2
    # Graph vectors are tied, not predictions.
    assert all(parameter.grad is None for parameter in module.phi.classifier.parameters())


def test_a_single_encoder_is_asked_itself_and_tied_to_nothing():
    module = module_for(separate=False)
    assert {name.partition(".")[0] for name, _ in module.named_parameters()} == {
        "phi",
        "patch_norm",
        "of_node",
        "of_graph",
    }
    module.infomax(module.patches(nodes_of())).backward()
    assert any(has_gradient(module.phi.layers))
    assert not any(has_gradient(module.phi.classifier))


@pytest.mark.parametrize("separate", [True, False])
def test_passes_of_the_term_leave_no_trace_in_phi(separate):
    module, nodes = module_for(separate=separate), nodes_of()
    module(nodes)
    before = {name: buffer.clone() for name, buffer in module.phi.named_buffers()}
    patches = module.patches(nodes)
    module.infomax(patches)
    if separate:
        module.tie(nodes, patches)
    assert all(torch.equal(before[name], now) for name, now in module.phi.named_buffers())


def test_a_few_steps_down_make_nodes_and_graphs_known_to_each_other():
    module, nodes = module_for(), nodes_of()
    optimizer = torch.optim.Adam(module.parameters(), lr=0.01)
    values = []
    for _ in range(60):
        patches = module.patches(nodes)
        parts = module.infomax(patches), module.tie(nodes, patches)
        optimizer.zero_grad()
        sum(parts).backward()
        optimizer.step()
        values.append([part.item() for part in parts])
    assert values[-1][0] < values[0][0] - 0.3
    assert -2 * math.log(2) < values[-1][1] < values[0][1] - 0.3


# Odd batches


@pytest.mark.parametrize("separate", [True, False])
def test_a_single_graph_has_no_other_to_be_told_from(separate):
    module, nodes = module_for(separate=separate), nodes_of(rows=[3])
    patches = module.patches(nodes)
    value = module.infomax(patches)
    if separate:
        value = value + module.tie(nodes, patches)
    value.backward()
    assert value.item() == 0.0
    assert not any(has_gradient(module))


@pytest.mark.parametrize("sizes", [[0, 1, 1, 2], [0, 0], [1]])
def test_graphs_with_few_nodes_or_none_are_no_problem(sizes):
    graphs = pack("odd", sizes, [], [])
    module, nodes = module_for(graphs), nodes_of(graphs)
    patches = module.patches(nodes)
    value = module.infomax(patches) + module.tie(nodes, patches)
    value.backward()
    assert value.isfinite()
    assert all(p.grad is None or p.grad.isfinite().all() for p in module.parameters())


def test_vectors_and_scores_do_not_grow_with_graphs():
    star = pack("star", [3000] + [5] * 5, [0] * 2999, range(1, 3000))
    large = random_graphs(6, n_nodes=500, n_edges=5000)
    for graphs in (star, large):
        module, nodes = module_for(graphs), nodes_of(graphs)
        patches = module.patches(nodes)
        assert patches.graphs.abs().max() <= math.sqrt(len(graphs))
    scores = module.of_node(patches.nodes) @ module.of_graph(patches.graphs).T
    assert scores.abs().max() < 20
