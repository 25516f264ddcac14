"""Give BatchNorm the statistics of the whole training set before a network is judged."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn


@torch.no_grad()
def settle(module: nn.Module, forward_all: Callable[[nn.Module], object]) -> None:
    """Replace running statistics, a blur of recent batches, by those of one pass over everything.

    Graphs vary so much in size that the running averages of a few small batches are far off, and
    with them the accuracy on new graphs jumps from epoch to epoch.

    Parameters
    ----------
    module : nn.Module
        Left in evaluation mode.
    forward_all : callable
        Runs the module over the training graphs.
    """
    norms = [m for m in module.modules() if isinstance(m, nn.BatchNorm1d)]
    momenta = [norm.momentum for norm in norms]
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None  # average over the passes, all alike
    module.train()
    forward_all(module)
    module.eval()
    for norm, momentum in zip(norms, momenta, strict=True):
        norm.momentum = momentum
