"""Random tensors for tests of losses."""

import torch


def normal(*shape, scale=1.0, seed=0):
    values = torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    return scale * values


def asking(*shape, **options):
    return normal(*shape, **options).requires_grad_()
