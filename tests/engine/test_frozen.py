import numpy as np
import pytest
import torch
from torch import nn

from kgnn.engine.batch import GraphBatches
from kgnn.engine.fast.quotients import ColorBatches
from kgnn.engine.frozen import frozen_statistics, without_dropout
from kgnn.engine.gin import GIN
from kgnn.engine.node_features import NodeFeatures
from kgnn.graphs.datasets.toy import planted_motifs


def batches(kind):
    graphs = planted_motifs(12)
    features = NodeFeatures.of(graphs)
    if kind == "nodes":
        return GraphBatches(graphs, features)
    return ColorBatches(graphs, features, 3)


def batch(kind, rows=12):
    return batches(kind)[np.arange(rows)]


def network(dropout=0.0):
    torch.manual_seed(0)
    return GIN(3, 2, width=8, dropout=dropout)


def buffers(module):
    return {name: (value, value.clone(), value._version) for name, value in module.named_buffers()}


def assert_untouched(module, before):
    for name, value in module.named_buffers():
        same, copy, version = before[name]
        assert value is same
        assert torch.equal(value, copy), name
        assert value._version == version


KINDS = pytest.mark.parametrize("kind", ["nodes", "colors"])


@KINDS
def test_a_frozen_pass_gives_the_same_logits_and_remembers_nothing(kind):
    gin, graphs = network(), batch(kind)
    before = buffers(gin)
    with frozen_statistics(gin):
        frozen = gin(graphs)
    assert_untouched(gin, before)
    usual = gin(graphs)
    assert torch.equal(frozen, usual)
    for name, value in gin.named_buffers():  # and the usual pass does remember
        assert not torch.equal(value, before[name][1]), name


@KINDS
def test_gradients_of_usual_and_frozen_passes_may_be_taken_afterwards(kind):
    gin, graphs = network(), batch(kind)
    usual = gin(graphs)
    with frozen_statistics(gin):
        frozen = gin(graphs)
    (usual.square().sum() - frozen.square().sum()).backward()
    for parameter in gin.parameters():
        torch.testing.assert_close(parameter.grad, torch.zeros_like(parameter), atol=1e-4, rtol=0)
    gin.zero_grad()
    with frozen_statistics(gin):
        gin(graphs).square().sum().backward()
    assert all(parameter.grad is not None for parameter in gin.parameters())


def test_statistics_are_of_the_batch_even_in_evaluation_mode():
    gin, graphs = network().eval(), batch("nodes")
    with torch.no_grad():
        usual = gin(graphs)
        with frozen_statistics(gin):
            frozen = gin(graphs)
            expected = network()(graphs)
        assert torch.equal(frozen, expected)
        assert not torch.allclose(frozen, usual)
        assert torch.equal(gin(graphs), usual)
    assert not any(module.training for module in gin.modules())


@KINDS
def test_a_batch_of_one_graph_sees_the_statistics_from_before_the_block(kind):
    gin, many, one = network(), batch(kind), batch(kind, 1)
    gin(many)
    with frozen_statistics(gin):
        first = gin(one)
        gin(many)
        assert torch.equal(gin(one), first)


def test_statistics_that_are_not_numbers_stay_out():
    norm = nn.BatchNorm1d(1)
    with frozen_statistics(norm):
        norm(torch.tensor([[np.inf], [1.0]]))
    assert norm.running_mean.item() == 0.0


def test_cumulative_and_missing_statistics_are_fine():
    norms = nn.ModuleList(
        [nn.BatchNorm1d(1, momentum=None), nn.BatchNorm1d(1, track_running_stats=False)]
    )
    before = buffers(norms)
    with frozen_statistics(norms):
        for norm in norms:
            norm(torch.tensor([[5.0], [7.0]]))
    assert_untouched(norms, before)
    assert norms[0].momentum is None


@pytest.mark.parametrize("context", [frozen_statistics, without_dropout])
def test_everything_is_as_before_after_an_exception(context):
    gin = network(0.5)
    gin.layers[0].eval()
    modes = [module.training for module in gin.modules()]
    before = buffers(gin)
    with pytest.raises(ValueError, match="2D or 3D"), context(gin):
        gin.layers[1].norm(torch.randn(8))
    assert_untouched(gin, before)
    assert [module.training for module in gin.modules()] == modes
    assert gin.layers[1].norm.momentum == 0.1


def test_blocks_may_be_nested():
    gin, graphs = network(0.5), batch("nodes")
    before = buffers(gin)
    with frozen_statistics(gin), without_dropout(gin):
        with frozen_statistics(gin), without_dropout(gin):
            inner = gin(graphs)
        assert torch.equal(gin(graphs), inner)
    assert_untouched(gin, before)
    assert gin.classifier[2].training


def test_without_dropout_two_passes_agree_and_still_normalize_by_the_batch():
    gin, graphs = network(0.5), batch("nodes")
    assert not torch.equal(gin(graphs), gin(graphs))  # masks of their own
    with without_dropout(gin):
        assert torch.equal(gin(graphs), gin(graphs))
        assert gin.pooled_norm.training
    assert gin.classifier[2].training


def test_dropout_that_was_off_stays_off():
    layers = nn.Sequential(nn.Dropout(0.5), nn.AlphaDropout(0.5), nn.Dropout1d(0.5))
    layers[1].eval()
    with without_dropout(layers):
        assert [each.training for each in layers] == [False] * 3
    assert [each.training for each in layers] == [True, False, True]
