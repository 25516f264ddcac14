"""In one function or operation by operation: the same numbers, the same gradients."""

import copy

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import kgnn.engine.fast.fused
from kgnn.engine.batch import GraphBatches
from kgnn.engine.fast.flat import flattened
from kgnn.engine.fast.quotients import ColorBatches
from kgnn.engine.frozen import frozen_statistics
from kgnn.engine.gin import GIN
from kgnn.engine.node_features import NodeFeatures
from kgnn.graphs.datasets.toy import planted_motifs
from kgnn.graphs.packing import pack
from tests.graphs.strategies import datasets

GRAPHS = planted_motifs(8, n_nodes=10)


def batch_of(graphs, colors, rows=None):
    features = NodeFeatures.of(graphs)
    batches = ColorBatches(graphs, features, 3) if colors else GraphBatches(graphs, features)
    batch = batches[np.arange(len(graphs)) if rows is None else rows]
    batch.__dict__["features"] = batch.features.double().requires_grad_()
    return batch


def network(n_features, **options):
    torch.manual_seed(0)
    module = GIN(n_features, 3, width=6, **options).double()
    with torch.no_grad():  # away from sums of exactly zero, where the compressed one has no slope
        for norm in (*(layer.norm for layer in module.layers), module.pooled_norm):
            norm.bias.normal_()
            norm.weight.uniform_(0.5, 1.5)
    return module.train()


def calls(monkeypatch):
    """Count the passes that go through the fused function."""
    seen = []
    forward = kgnn.engine.fast.fused._Pass.forward

    def counted(*given):
        seen.append(given)
        return forward(*given)

    monkeypatch.setattr(kgnn.engine.fast.fused._Pass, "forward", staticmethod(counted))
    return seen


def passed(module, batch, embed=False, is_fused=True):
    """Return all that a training pass leaves: outputs, gradients, running statistics."""
    module = copy.deepcopy(module)
    batch.features.grad = None
    with flattened(module) as flat:
        assert module.fused is not None
        if not is_fused:
            module.fused = None
        torch.manual_seed(1)  # the same dropout
        outputs = module.embed(batch) if embed else module(batch)
        (outputs * torch.linspace(-1, 1, outputs.numel()).view_as(outputs)).sum().backward()
        gradients = {name: each.grad.clone() for name, each in module.named_parameters()}
        assert torch.equal(flat.gradient, torch.cat([g.flatten() for g in gradients.values()]))
    by_features = batch.features.grad
    return {
        "outputs": outputs.detach(),
        "by features": torch.zeros_like(batch.features) if by_features is None else by_features,
        **gradients,
        **{name: buffer.clone() for name, buffer in module.named_buffers()},
    }


def assert_same(module, batch, embed=False):
    one, other = (passed(module, batch, embed, is_fused) for is_fused in (True, False))
    assert one.keys() == other.keys()
    for name, expected in other.items():
        tolerance = 1e-8 * (1 + float(expected.abs().max()))
        torch.testing.assert_close(one[name], expected, rtol=1e-6, atol=tolerance, msg=name)


@pytest.mark.parametrize("colors", [False, True], ids=["nodes", "colors"])
@pytest.mark.parametrize("embed", [False, True], ids=["logits", "vectors"])
@pytest.mark.parametrize("pooling", ["last", "all"])
@pytest.mark.parametrize("readout", ["sum", "log", "both"])
def test_a_fused_pass_is_the_definition(monkeypatch, readout, pooling, embed, colors):
    seen = calls(monkeypatch)
    assert_same(network(3, readout=readout, pooling=pooling), batch_of(GRAPHS, colors), embed)
    assert len(seen) == 1


@settings(max_examples=40, deadline=None)
@given(datasets(), st.booleans(), st.sampled_from(["last", "all"]), st.sampled_from([0.0, 0.5]))
def test_any_graphs_give_the_same_in_one_function(graphs, colors, pooling, dropout):
    """With isolated nodes, self loops, one-node graphs, graphs without nodes, single graphs."""
    if graphs.n_nodes < 2:
        return
    features = NodeFeatures.of(graphs)
    options = {"pooling": pooling, "readout": "both", "edge_kinds": features.n_edge_kinds}
    module = network(features.width, dropout=dropout, **options)
    assert_same(module, batch_of(graphs, colors))


def test_gradients_pass_a_finite_difference_check():
    graphs = pack("odd", [0, 1, 1, 2, 3], [1, 2, 4], [1, 3, 5])
    module = network(1, layers=2, dropout=0.0, readout="log", pooling="all")
    batch = batch_of(graphs, True)
    with flattened(module), frozen_statistics(module):
        fused = module.fused

        def run(features, weights):
            return kgnn.engine.fast.fused._Pass.apply(features, weights, fused, batch, True)

        torch.autograd.gradcheck(run, (batch.features.detach().requires_grad_(), fused.weights))


def test_frozen_statistics_are_left_alone_and_all_passes_agree(monkeypatch):
    seen, module, batch = calls(monkeypatch), network(3, dropout=0.0), batch_of(GRAPHS, True)
    with flattened(module):
        before = {name: (each, each.clone()) for name, each in module.named_buffers()}
        with frozen_statistics(module):
            frozen = module(batch)
        for name, buffer in module.named_buffers():
            assert buffer is before[name][0]
            assert torch.equal(buffer, before[name][1])
        assert torch.equal(module(batch), frozen)
    assert len(seen) == 2


def test_cumulative_statistics_count_each_norm_by_itself():
    module, batches = network(3, dropout=0.0), [batch_of(GRAPHS, True, np.arange(4))]
    batches += [batch_of(GRAPHS, True, rows) for rows in (np.array([5]), np.array([6, 7]))]
    other = copy.deepcopy(module)
    for each in (module, other):
        for norm in (*(layer.norm for layer in each.layers), each.pooled_norm):
            norm.momentum = None
    with flattened(module), torch.no_grad():
        for batch in batches:
            module(batch)
            other(batch)
    assert int(other.pooled_norm.num_batches_tracked) == 2
    for one, same in zip(module.buffers(), other.buffers(), strict=True):
        torch.testing.assert_close(one, same)


def test_two_passes_before_one_gradient_add_up():
    module, batch = network(3, dropout=0.0), batch_of(GRAPHS, True)
    once = passed(module, batch)
    with flattened(module):
        outputs = [module(batch) for _ in range(2)]
        weights = torch.linspace(-1, 1, outputs[0].numel()).view_as(outputs[0])
        sum((each * weights).sum() for each in outputs).backward()
        for name, parameter in module.named_parameters():
            torch.testing.assert_close(parameter.grad, 2 * once[name])


def test_weights_that_change_before_the_gradient_are_an_error():
    module, batch = network(3), batch_of(GRAPHS, True)
    with flattened(module) as flat:
        outputs = module(batch)
        with torch.no_grad():
            flat.weights.mul_(0.9)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            outputs.sum().backward()


def evaluate(module):
    module.eval()


def listen(module):
    module.layers[1].register_forward_hook(lambda *given: None)


@pytest.mark.parametrize("change", [evaluate, listen, copy.deepcopy, torch.nn.Module.float])
def test_otherwise_the_definition_is_taken(monkeypatch, change):
    seen, module, batch = calls(monkeypatch), network(3), batch_of(GRAPHS, True)
    with flattened(module):
        module = change(module) or module
        batch.__dict__["features"] = batch.features.to(module.pooled_norm.weight.dtype)
        module(batch)
    assert not seen


def test_large_batches_single_graphs_changes_and_other_encoders_take_the_definition(monkeypatch):
    seen, module = calls(monkeypatch), network(3)
    with flattened(module):
        module(batch_of(planted_motifs(100), False))
        module(batch_of(GRAPHS, True, np.array([2])))
        batch = batch_of(GRAPHS, False)
        module(batch, torch.zeros(len(batch.features), 6, dtype=torch.float64))
    other = network(3, encoder="gcn")
    with flattened(other):
        other(batch_of(GRAPHS, False))
    assert not seen


def test_after_training_a_network_is_as_before():
    module = network(3)
    with flattened(module):
        assert module.fused is not None
    assert module.fused is None


@pytest.mark.parametrize("first_is_small", [False, True])
def test_a_fused_and_a_composed_pass_may_share_a_step(monkeypatch, first_is_small):
    small, large = batch_of(GRAPHS[:3], True), batch_of(GRAPHS, False)
    monkeypatch.setattr(kgnn.engine.fast.fused, "_FEW", len(small.weights(3).counts))
    seen = calls(monkeypatch)
    gradients = []
    for is_fused in (True, False):
        module = network(small.features.shape[1], dropout=0.0)
        with flattened(module) as flat:
            if not is_fused:
                module.fused = None
            batches = (small, large) if first_is_small else (large, small)
            (module(batches[0]).square().sum() + module(batches[1]).square().sum()).backward()
            gradients.append(flat.gradient.clone())
    assert len(seen) == 1
    torch.testing.assert_close(gradients[0], gradients[1], rtol=1e-6, atol=1e-8)
