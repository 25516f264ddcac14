"""The only gradient loop: shuffled batches, Adam, averaged weights, the best epoch kept."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel

from kgnn.graphs.graph import Ints
from kgnn.progress import track

# Present in the paper's released code, not in its text.
GRADIENT_NORM = 5.0


@dataclass
class History:
    """What happened, epoch by epoch.

    Attributes
    ----------
    loss : list of float
        Mean training loss.
    score : list of float
        What the epoch was judged by; empty where nothing was asked.
    best_epoch : int
        Epoch whose weights were kept, counted from 0.
    """

    loss: list[float] = field(default_factory=list)
    score: list[float] = field(default_factory=list)
    best_epoch: int = -1


def batches(rows: Ints, size: int, rng: np.random.Generator) -> Iterator[Ints]:
    """Yield the rows in random order, ``size`` at a time; a last single row joins its neighbors."""
    order = rng.permutation(rows)
    n_batches = max(1, len(order) // size + (len(order) % size > 1))
    yield from (order[i * size : (i + 1) * size] for i in range(n_batches - 1))
    yield order[(n_batches - 1) * size :]


def train(
    module: nn.Module,
    loss: Callable[[Ints], Tensor],
    rows: Ints,
    *,
    epochs: int,
    batch_size: int,
    learning_rate: float,
    weight_decay: float,
    averaging: float,
    rng: np.random.Generator,
    finish: Callable[[nn.Module], None] = lambda module: None,
    score: Callable[[nn.Module], float] | None = None,
    what: str = "training",
) -> History:
    """Minimize a loss over batches of rows.

    Parameters
    ----------
    module : nn.Module
        Trained in place; ends with the averaged weights of the best epoch, in evaluation mode.
    loss : callable
        Rows of a batch to the scalar to minimize.
    rows : array of int
    epochs, batch_size, learning_rate, weight_decay
        Weight decay is Adam's own (added to the gradient), as in the paper's code.
    averaging : float
        Share of the old in the running average of the weights, per step; 0 keeps the last ones.
    rng : numpy Generator
        Order of the batches.
    finish : callable
        Makes the averaged module ready to be judged and used.
    score : callable, optional
        Judges the averaged module after each epoch; the best epoch is kept, the earliest of
        equals. Without it, the last one is.
    what : str
        What to call this in reports of progress.
    """
    optimizer = torch.optim.Adam(module.parameters(), lr=learning_rate, weight_decay=weight_decay)
    averaged = AveragedModel(module, avg_fn=_running_average(averaging))
    history = History()
    best = averaged.module
    for epoch in track(range(epochs), what):
        module.train()
        losses = []
        for part in batches(rows, batch_size, rng):
            losses.append(_step(module, optimizer, loss(part)))
            averaged.update_parameters(module)
        history.loss.append(sum(losses) / len(losses))
        if score is not None:
            finish(averaged.module)
            history.score.append(score(averaged.module))
            if history.score[-1] > max(history.score[:-1], default=-np.inf):
                history.best_epoch, best = epoch, copy.deepcopy(averaged.module)
    if score is None:
        finish(best)
        history.best_epoch = epochs - 1
    module.load_state_dict(best.state_dict())
    module.eval()
    return history


def _step(module: nn.Module, optimizer: torch.optim.Optimizer, value: Tensor) -> float:
    optimizer.zero_grad()
    value.backward()
    nn.utils.clip_grad_norm_(module.parameters(), GRADIENT_NORM)
    optimizer.step()
    return float(value.detach())


def _running_average(decay: float) -> Callable[[Tensor, Tensor, Tensor | int], Tensor]:
    """Average with a decay that starts low, so that the first random weights are soon forgotten."""

    def update(average: Tensor, new: Tensor, n_averaged: Tensor | int) -> Tensor:
        share = min(decay, (1 + float(n_averaged)) / (10 + float(n_averaged)))
        return average + (1 - share) * (new - average)

    return update
