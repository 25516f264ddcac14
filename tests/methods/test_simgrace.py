"""SimGRACE: what the noise is, whom it reaches, and what it leaves alone."""

import numpy as np
import pytest
import torch

from kgnn.engine.network import GraphNetwork
from kgnn.engine.pretraining import Projected, contrastive
from kgnn.engine.task import Task
from kgnn.errors import GraphDataError
from kgnn.graphs.datasets.toy import planted_motifs
from kgnn.methods.graphcl import GraphCL
from kgnn.methods.neural import GNNSettings
from kgnn.methods.simgrace import SimGRACE, WeightContrast

TRAIN = planted_motifs(30, n_nodes=12)
ROWS = np.arange(8)


@pytest.fixture
def network() -> GraphNetwork:
    return GNNSettings._gnn(SimGRACE(), Task(TRAIN, np.full(30, -1), 2, None, seed=0))


def contrast(network, magnitude=1.0):
    return WeightContrast(Projected(network, 0), network, magnitude, 0.5, seed=0)


def test_noise_is_in_proportion_to_the_weights_of_each_tensor(network):
    loss = contrast(network, magnitude=0.5)
    loss.perturb()
    perturbed = dict(loss.perturbed.named_parameters())
    n_noisy = 0
    for name, own in loss.module.named_parameters():
        own = own.detach()
        noise = perturbed[name].detach() - own
        if name.startswith("projection.") or own.std(correction=0) == 0:
            assert not noise.any(), name
        elif own.numel() > 500:
            n_noisy += 1
            assert float(noise.std() / own.std()) == pytest.approx(0.5, rel=0.15), name
    assert n_noisy >= 4
    before = {name: value.clone() for name, value in perturbed.items()}
    loss.perturb()
    assert any(not torch.equal(perturbed[name], value) for name, value in before.items())


def test_without_noise_both_see_the_same(network):
    loss = contrast(network, magnitude=0.0)
    seen = loss.module(network.pool[ROWS])
    assert float(loss(ROWS).detach()) == pytest.approx(float(contrastive(seen, seen, 0.5).detach()))
    assert float(contrast(network, 3.0)(ROWS).detach()) > float(loss(ROWS).detach())


def test_the_gradient_reaches_the_encoder_and_not_the_copy(network):
    loss = contrast(network)
    before = {name: value.clone() for name, value in loss.module.named_parameters()}
    loss(ROWS).backward()
    gradients = {name: each.grad for name, each in loss.module.named_parameters()}
    for name, gradient in gradients.items():
        if name.startswith(("encoder.layers.", "projection.")):
            assert gradient is not None, name
            assert gradient.isfinite().all(), name
    assert gradients["encoder.layers.0.inner.weight"].any()
    assert all(each.grad is None for each in loss.perturbed.parameters())
    assert all(torch.equal(value, before[name]) for name, value in loss.module.named_parameters())


def test_training_lowers_the_loss_and_makes_an_encoder_for_any_method(tmp_path):
    saved = SimGRACE(pretrain_epochs=30, pretrain_batch_size=30).pretrain(TRAIN)
    assert saved.loss[-1] < saved.loss[0]
    saved.save(tmp_path)
    model = GraphCL(epochs=2, committee=1, cross_fit=0, pretrained=str(tmp_path)).fit(TRAIN)
    for name, value in saved.weights.items():
        assert torch.equal(model.encoder_[name], value)


def test_a_single_graph_has_nothing_to_be_told_from():
    with pytest.raises(GraphDataError, match="two or more, got 1"):
        SimGRACE().pretrain(TRAIN[:1])
