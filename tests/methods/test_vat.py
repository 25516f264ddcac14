from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn
from torch.autograd import gradcheck

from kgnn.engine.batch import GraphBatches
from kgnn.engine.fast.quotients import ColorBatches
from kgnn.engine.frozen import frozen_statistics, without_dropout
from kgnn.engine.gin import GIN
from kgnn.engine.node_features import NodeFeatures
from kgnn.graphs.datasets.toy import planted_motifs
from kgnn.methods.vat import VAT, adversarial_direction, divergences, local_smoothness
from kgnn.seeds import seeded_torch
from tests.methods.stepping import gradients, one_step
from tests.tensors import asking, normal

GRAPH_OF_NODE = torch.tensor([0, 0, 0, 1, 2, 2, 4, 4, 4, 4])  # graph 3 has no nodes
N_GRAPHS = 5


def test_smoothness_leaves_no_gradient_behind_and_reaches_the_network():
    term, step = one_step(VAT)
    value = term(step)
    assert all(gradient is None for gradient in gradients(step.module))
    assert value > 0
    value.backward()
    assert any((gradient != 0).any() for gradient in gradients(step.module) if gradient is not None)


def test_smoothness_grows_with_the_change():
    values = []
    for eps in (0.0, 0.3, 3.0):
        term, step = one_step(VAT, eps=eps)
        with seeded_torch(0):
            values.append(term(step).item())
    assert values[0] == pytest.approx(0, abs=1e-6)
    assert values[0] < values[1] < values[2]


@pytest.mark.parametrize("norm", ["graph", "rms"])
def test_smoothness_is_the_same_by_color_and_node_by_node(norm, monkeypatch):
    term, step = one_step(VAT, norm=norm, power_iterations=2)
    by_node = replace(step, batch=step.nodes)
    counts = step.batch.weights(1).counts
    assert counts.max() > 2

    def alike_for_all_nodes(shape, **_):
        start = torch.linspace(-1, 1, shape[1]).expand(shape)
        # Of n nodes that are alike, the mean of n random vectors: divided by √n in the search.
        return start * counts.sqrt()[:, None] if shape[0] == len(counts) else start

    monkeypatch.setattr(torch, "randn", alike_for_all_nodes)
    assert term(step).item() == pytest.approx(term(by_node).item(), rel=1e-3)


# The direction


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def sums(rows):
    return rows.new_zeros(N_GRAPHS, rows.shape[1]).index_add(0, GRAPH_OF_NODE, rows)


def lengths(rows, graph_of_row=GRAPH_OF_NODE, n_graphs=N_GRAPHS):
    squares = rows.square().sum(1).double()
    return squares.new_zeros(n_graphs).index_add(0, graph_of_row, squares).sqrt()


class SmallNetwork(nn.Module):
    """Nodes through a layer, added up, through another; graph by graph."""

    def __init__(self, n_classes=3, scale=1.0):
        super().__init__()
        torch.manual_seed(1)
        self.inner, self.outer = nn.Linear(4, 16), nn.Linear(16, n_classes)
        self.nodes = torch.randn(10, 4)
        self.scale = scale

    def forward(self, change):
        hidden = torch.tanh(self.inner(self.nodes + change))
        return self.scale * self.outer(sums(hidden))


def untouched_gradients(module):
    """Give all parameters a gradient, and return a claim that it is still there."""
    for parameter in module.parameters():
        parameter.grad = torch.full_like(parameter, 7.0)
    return lambda: all((parameter.grad == 7).all() for parameter in module.parameters())


@pytest.mark.parametrize("power_iterations", [0, 1, 3])
def test_each_graph_has_a_direction_of_length_one(power_iterations):
    network = SmallNetwork()
    direction = adversarial_direction(
        network, network.nodes, GRAPH_OF_NODE, power_iterations=power_iterations
    )
    expected = torch.tensor([1, 1, 1, 0, 1], dtype=torch.float64)
    torch.testing.assert_close(lengths(direction), expected, atol=1e-5, rtol=0)
    assert not direction.requires_grad
    # A block is normalized as a whole, not row by row.
    assert (direction[GRAPH_OF_NODE == 4].norm(dim=1) < 0.999).all()


def test_directions_come_from_the_generator():
    network = SmallNetwork()
    a, b, c = (
        adversarial_direction(network, network.nodes, GRAPH_OF_NODE, generator=seeded(seed))
        for seed in (0, 0, 1)
    )
    assert torch.equal(a, b)
    assert not torch.equal(a, c)


def test_no_gradient_is_left_in_the_parameters():
    network = SmallNetwork()
    untouched = untouched_gradients(network)
    adversarial_direction(network, network.nodes, GRAPH_OF_NODE, power_iterations=2)
    assert untouched()


def test_it_works_where_gradients_are_off():
    network = SmallNetwork()
    with torch.no_grad():
        direction = adversarial_direction(
            network, network.nodes, GRAPH_OF_NODE, generator=seeded(3)
        )
    assert torch.equal(
        direction,
        adversarial_direction(network, network.nodes, GRAPH_OF_NODE, generator=seeded(3)),
    )


@pytest.mark.parametrize("seed", range(5))
def test_for_a_linear_network_of_two_classes_one_iteration_is_exact(seed):
    nodes, weights = torch.randn(10, 4), torch.randn(2, 4)
    start, direction = (
        adversarial_direction(
            lambda change: sums((nodes + change) @ weights.T),
            nodes,
            GRAPH_OF_NODE,
            power_iterations=iterations,
            generator=seeded(seed),
        )
        for iterations in (0, 1)
    )
    steepest = weights[0] - weights[1]
    for graph in (0, 1, 2, 4):
        block = direction[graph == GRAPH_OF_NODE]
        exact = (steepest / steepest.norm()).expand_as(block) / len(block) ** 0.5
        sign = torch.sign((start[graph == GRAPH_OF_NODE] * exact).sum())  # up, not down
        torch.testing.assert_close(block, sign * exact, atol=1e-4, rtol=0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_tiny_gradients_are_scaled_before_they_are_squared(dtype):
    nodes, weights = torch.randn(10, 4, dtype=dtype), torch.randn(2, 4, dtype=dtype)
    clean = torch.tensor([[30.0, -30.0]] * N_GRAPHS, dtype=dtype)  # a softmax of 1 and 1e-26
    direction = adversarial_direction(
        lambda change: clean + sums((nodes + change) @ weights.T),
        nodes,
        GRAPH_OF_NODE,
        clean_logits=clean + 1,
        generator=seeded(),
    )
    torch.testing.assert_close(lengths(direction)[0].item(), 1.0, atol=1e-5, rtol=0)


def test_a_saturated_graph_keeps_its_random_direction():
    network = SmallNetwork()

    def logits_of(change):
        logits = network(change)
        certain = torch.tensor([1e4, -1e4, -1e4])
        saturated = torch.arange(N_GRAPHS)[:, None] == 2
        return torch.where(saturated, logits + certain, logits)

    start, found = (
        adversarial_direction(
            logits_of,
            network.nodes,
            GRAPH_OF_NODE,
            power_iterations=iterations,
            generator=seeded(),
        )
        for iterations in (0, 1)
    )
    is_saturated = GRAPH_OF_NODE == 2
    assert torch.equal(start[is_saturated], found[is_saturated])
    assert not torch.allclose(start[~is_saturated], found[~is_saturated], atol=1e-2)
    assert found.isfinite().all()


# The loss


def recorded(network, **options):
    """Return the loss and all changes that the network was asked about."""
    changes = []

    def logits_of(change):
        changes.append(change.detach().clone())
        return network(change)

    loss = local_smoothness(logits_of, network.nodes, GRAPH_OF_NODE, generator=seeded(), **options)
    return loss, changes


@pytest.mark.parametrize(
    ("norm", "expected"), [("graph", [1, 1, 1, 0, 1]), ("rms", [3**0.5, 1, 2**0.5, 0, 2])]
)
def test_the_change_has_the_length_eps(norm, expected):
    for eps in (0.3, 3.0):
        _, changes = recorded(SmallNetwork(), eps=eps, norm=norm)
        wanted = eps * torch.tensor(expected, dtype=torch.float64)
        torch.testing.assert_close(lengths(changes[-1]), wanted, atol=1e-5, rtol=1e-5)


def test_a_pass_is_clean_one_per_iteration_probes_and_one_is_perturbed():
    network = SmallNetwork()
    loss, changes = recorded(network, xi=0.1, power_iterations=2)
    assert len(changes) == 4
    assert (changes[0] == 0).all()
    for probe in changes[1:3]:
        torch.testing.assert_close(lengths(probe)[0].item(), 0.1, atol=1e-6, rtol=0)
    torch.testing.assert_close(loss, divergences(network(0.0), network(changes[-1])).mean())
    known, changes = recorded(network, xi=0.1, power_iterations=2, clean_logits=network(0.0))
    assert len(changes) == 3
    torch.testing.assert_close(known, loss)


def test_no_change_is_no_loss():
    assert recorded(SmallNetwork(), eps=0.0)[0].item() == 0.0


def test_the_adversarial_direction_is_worse_than_a_random_one():
    network = SmallNetwork()
    adversarial, random = (
        np.array(
            [
                local_smoothness(
                    network,
                    network.nodes,
                    GRAPH_OF_NODE,
                    power_iterations=iterations,
                    generator=seeded(seed),
                ).item()
                for seed in range(30)
            ]
        )
        for iterations in (1, 0)
    )
    assert (random > -1e-7).all()
    assert adversarial.mean() > 1.5 * random.mean()
    assert (adversarial > random).mean() > 0.9


def test_the_loss_reaches_all_parameters_and_not_the_clean_prediction():
    network = SmallNetwork()
    clean = network(0.0)
    clean.retain_grad()
    local_smoothness(network, network.nodes, GRAPH_OF_NODE, clean_logits=clean).backward()
    assert clean.grad is None
    for name, parameter in network.named_parameters():
        assert (parameter.grad != 0).any(), name


def test_the_gradient_is_that_of_the_divergence_at_a_fixed_change():
    network = SmallNetwork()
    loss, changes = recorded(network)
    found = torch.autograd.grad(loss, list(network.parameters()))
    fixed = divergences(network(0.0), network(changes[-1])).mean()
    for one, other in zip(
        found, torch.autograd.grad(fixed, list(network.parameters())), strict=True
    ):
        torch.testing.assert_close(one, other)


def test_a_step_down_makes_predictions_smoother():
    network = SmallNetwork()
    optimizer = torch.optim.SGD(network.parameters(), lr=0.05)
    before = recorded(network)[0].item()
    for _ in range(10):
        optimizer.zero_grad()
        recorded(network)[0].backward()
        optimizer.step()
    assert recorded(network)[0].item() < 0.9 * before


def test_vectors_inside_the_network_can_be_changed():
    """The first layer runs once: probes leave its gradient to the loss."""
    network = SmallNetwork()
    first = torch.tanh(network.inner(network.nodes))
    local_smoothness(
        lambda change: network.outer(sums(first + change)), first, GRAPH_OF_NODE, power_iterations=2
    ).backward()
    assert (network.inner.weight.grad != 0).any()
    assert (network.outer.weight.grad != 0).any()


# With a GIN


def prepared(kind):
    graphs = planted_motifs(12)
    features = NodeFeatures.of(graphs)
    rows = np.arange(12)
    if kind == "nodes":
        batch = GraphBatches(graphs, features)[rows]
        return batch, batch.graph_offsets, None
    batch = ColorBatches(graphs, features, 3)[rows]
    return batch, batch.graph_offsets[0], batch.counts[0]


@pytest.mark.parametrize("kind", ["nodes", "colors"])
def test_a_gin_is_left_as_it_was(kind):
    torch.manual_seed(0)
    gin = GIN(3, 2, width=8, dropout=0.5)
    batch, offsets, counts = prepared(kind)
    graph_of_row = torch.arange(12).repeat_interleave(offsets.diff())
    before = {name: value.clone() for name, value in gin.state_dict().items()}
    untouched = untouched_gradients(gin)
    with frozen_statistics(gin), without_dropout(gin):
        loss = local_smoothness(
            lambda change: gin(replace(batch, features=batch.features + change)),
            batch.features,
            graph_of_row,
            counts=counts,
        )
    assert untouched()
    for name, value in gin.state_dict().items():
        assert torch.equal(value, before[name]), name
    assert loss > 0
    gin.zero_grad()
    loss.backward()
    for name, parameter in gin.named_parameters():
        assert parameter.grad is not None, name
    assert (gin.layers[0].inner.weight.grad != 0).any()


def test_random_directions_favor_no_row_whatever_it_stands_for():
    counts = torch.tensor([1.0, 4.0, 25.0])
    directions = torch.stack(
        [
            adversarial_direction(
                lambda change: torch.zeros(1, 2),
                torch.zeros(3, 2),
                torch.zeros(3, dtype=torch.int64),
                counts=counts,
                power_iterations=0,
                generator=seeded(seed),
            )
            for seed in range(400)
        ]
    )
    shares = (counts * directions.square().sum(dim=2)).mean(dim=0)
    assert shares.tolist() == pytest.approx([1 / 3] * 3, abs=0.05)


@pytest.mark.parametrize("norm", ["graph", "rms"])
def test_rows_that_stand_for_several_nodes_count_as_often(norm):
    """Equal nodes as one row or one by one: the same direction, the same loss."""
    counts = torch.tensor([3.0, 1.0, 2.0, 5.0])
    graph_of_row = torch.tensor([0, 0, 1, 1])
    rows, weights = torch.randn(4, 3, generator=seeded()), torch.randn(2, 3, generator=seeded(1))
    node_row = torch.arange(4).repeat_interleave(counts.long())

    def by_row(change):
        return torch.zeros(2, 2).index_add(
            0, graph_of_row, counts[:, None] * ((rows + change) @ weights.T)
        )

    def by_node(change):
        each = (rows[node_row] + change) @ weights.T
        return torch.zeros(2, 2).index_add(0, graph_of_row[node_row], each)

    short = adversarial_direction(by_row, rows, graph_of_row, counts=counts, generator=seeded(2))
    long = adversarial_direction(
        by_node, rows[node_row], graph_of_row[node_row], generator=seeded(3)
    )
    for graph in (0, 1):
        a, b = (x[graph_of_row[node_row] == graph] for x in (short[node_row], long))
        torch.testing.assert_close(a * torch.sign((a * b).sum()), b, atol=1e-4, rtol=0)
    torch.testing.assert_close(
        lengths(short[node_row], graph_of_row[node_row], 2), torch.ones(2).double()
    )
    stretched = []
    local_smoothness(
        lambda change: stretched.append(change) or by_row(change),
        rows,
        graph_of_row,
        counts=counts,
        norm=norm,
        eps=0.5,
    )
    expected = [0.5, 0.5] if norm == "graph" else [0.5 * 4**0.5, 0.5 * 7**0.5]
    found = lengths(stretched[-1][node_row], graph_of_row[node_row], 2)
    assert found.tolist() == pytest.approx(expected, abs=1e-5)


# The divergence


def test_divergence_is_clean_against_other():
    clean, other = normal(5, 3), normal(5, 3, seed=1)
    p, q = clean.softmax(1), other.softmax(1)
    expected = (p * (p / q).log()).sum(1)
    torch.testing.assert_close(divergences(clean, other), expected)
    assert not torch.allclose(divergences(clean, other), divergences(other, clean))


def test_divergence_is_not_negative_and_zero_for_equal():
    clean = normal(50, 4)
    assert divergences(clean, clean + 3).mean().item() == pytest.approx(0, abs=1e-15)
    assert (divergences(clean, clean + normal(50, 4, scale=1e-4, seed=1)) >= 0).all()


def test_divergence_is_finite_for_huge_logits():
    clean, other = torch.tensor([[1e4, -1e4]]), torch.tensor([[-1e4, 1e4]], requires_grad=True)
    value = divergences(clean, other).sum()
    value.backward()
    assert value.item() == pytest.approx(2e4)
    assert other.grad.isfinite().all()


def test_divergence_moves_the_other_and_not_the_clean():
    clean, other = asking(4, 3), asking(4, 3, seed=1)
    divergences(clean, other).sum().backward()
    assert (other.grad != 0).any()
    assert clean.grad is None


def test_gradients_pass_a_finite_difference_check():
    assert gradcheck(lambda z: divergences(normal(2, 3, seed=1), z), asking(2, 3, seed=2))
