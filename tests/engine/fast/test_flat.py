import pytest
import torch
from torch import nn

from kgnn.engine.fast.flat import Adam, Flat
from kgnn.engine.loop import CLIP, _shorten


@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
def test_adam_is_that_of_torch(weight_decay):
    torch.manual_seed(0)
    module, peer = nn.Linear(5, 3), nn.Linear(5, 3)
    peer.load_state_dict(module.state_dict())
    ours = Adam(Flat(module), 0.01, weight_decay)
    theirs = torch.optim.Adam(peer.parameters(), lr=0.01, weight_decay=weight_decay)
    for _ in range(20):
        x = torch.randn(4, 5)
        for each, optimizer in ((module, ours), (peer, theirs)):
            optimizer.zero_grad()
            each(x).square().sum().backward()
            optimizer.step()
    for one, other in zip(module.parameters(), peer.parameters(), strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("size", [0.0, 0.1, 100.0, float("nan")])
def test_long_gradients_are_shortened_as_torch_does(size):
    weights = nn.Parameter(torch.zeros(30))
    gradient = torch.linspace(-1, 1, 30)
    gradient[3] *= size
    gradient *= 100.0 if size == 100.0 else 1.0
    weights.grad = gradient.clone()
    nn.utils.clip_grad_norm_([weights], CLIP)
    _shorten(gradient, CLIP)
    torch.testing.assert_close(gradient, weights.grad, rtol=0, atol=0, equal_nan=True)
