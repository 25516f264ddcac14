import torch
from torch import nn

from kgnn.engine.batch_statistics import settle


def test_statistics_become_those_of_the_data_and_training_goes_on_as_before():
    module = nn.Sequential(nn.BatchNorm1d(2))
    data = torch.randn(100, 2) * 3 + 5
    settle(module, lambda m: m(data))
    norm = module[0]
    torch.testing.assert_close(norm.running_mean, data.mean(0))
    torch.testing.assert_close(norm.running_var, data.var(0))
    assert norm.momentum == 0.1
    assert not module.training


def test_several_passes_are_averaged():
    module = nn.Sequential(nn.BatchNorm1d(1))
    parts = [torch.randn(50, 1) + shift for shift in (0, 4)]
    settle(module, lambda m: [m(part) for part in parts])
    expected = torch.stack([part.mean(0) for part in parts]).mean(0)
    torch.testing.assert_close(module[0].running_mean, expected)
