"""Forward passes that do not change BatchNorm's statistics, and passes without dropout.

Second views, teachers and adversarial directions are computed by extra passes, whose graphs must
not be counted again in the running statistics of BatchNorm.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd


@contextmanager
def frozen_statistics(module: nn.Module) -> Iterator[None]:
    """Let BatchNorm normalize by the batch inside the block, without updating its statistics.

    All passes of a block see the same running statistics, which batches of one row fall back to.
    Gradients may be taken inside the block or after it.

    Examples
    --------
    >>> import torch
    >>> norm = nn.BatchNorm1d(1)
    >>> with frozen_statistics(norm):
    ...     normalized = norm(torch.tensor([[4.0], [6.0]]))
    >>> normalized.flatten().tolist(), norm.running_mean.item()  # doctest: +ELLIPSIS
    ([-0.99..., 0.99...], 0.0)
    """
    norms = [each for each in module.modules() if isinstance(each, _BatchNorm)]
    before = [(n.training, n.momentum, dict(n.named_buffers(recurse=False))) for n in norms]
    for norm, (_, _, buffers) in zip(norms, before, strict=True):
        # Copies to write to: counters move whatever the momentum, and a buffer that is restored
        # in place could no longer be used by gradients.
        for name, buffer in buffers.items():
            setattr(norm, name, buffer.clone())
        norm.training, norm.momentum = True, 0.0
    try:
        yield
    finally:
        for norm, (training, momentum, buffers) in zip(norms, before, strict=True):
            for name, buffer in buffers.items():
                setattr(norm, name, buffer)
            norm.training, norm.momentum = training, momentum


@contextmanager
def without_dropout(module: nn.Module) -> Iterator[None]:
    """Switch dropout off inside the block; everything else, BatchNorm too, stays in its mode.

    Examples
    --------
    >>> import torch
    >>> network = nn.Sequential(nn.BatchNorm1d(1), nn.Dropout(0.5))
    >>> with without_dropout(network):
    ...     [each.training for each in network]
    [True, False]
    >>> network[1].training
    True
    """
    layers = [each for each in module.modules() if isinstance(each, _DropoutNd)]
    before = [each.training for each in layers]
    for each in layers:
        each.training = False
    try:
        yield
    finally:
        for each, training in zip(layers, before, strict=True):
            each.training = training
