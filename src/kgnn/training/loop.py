"""The only gradient loop: shuffled batches, Adam, and the best epoch kept."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor, nn

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
    rng: np.random.Generator,
    score: Callable[[], float] | None = None,
    what: str = "training",
) -> History:
    """Minimize a loss over batches of rows.

    Parameters
    ----------
    module : nn.Module
        Trained in place, left in evaluation mode.
    loss : callable
        Rows of a batch to the scalar to minimize.
    rows : array of int
    epochs, batch_size, learning_rate, weight_decay
        Weight decay is Adam's own (added to the gradient), as in the paper's code.
    rng : numpy Generator
        Order of the batches.
    score : callable, optional
        Judges the module after each epoch; the weights of the best epoch are kept, the earliest
        of equals. Without it, the last ones are.
    what : str
        What to call this in reports of progress.
    """
    optimizer = torch.optim.Adam(module.parameters(), lr=learning_rate, weight_decay=weight_decay)
    history = History()
    best_state = None
    for epoch in track(range(epochs), what):
        module.train()
        losses = [_step(module, optimizer, loss(part)) for part in batches(rows, batch_size, rng)]
        history.loss.append(sum(losses) / len(losses))
        module.eval()
        if score is not None:
            history.score.append(score())
            if history.score[-1] > max(history.score[:-1], default=-np.inf):
                history.best_epoch, best_state = epoch, copy.deepcopy(module.state_dict())
    if best_state is not None:
        module.load_state_dict(best_state)
    return history


def _step(module: nn.Module, optimizer: torch.optim.Optimizer, value: Tensor) -> float:
    optimizer.zero_grad()
    value.backward()
    nn.utils.clip_grad_norm_(module.parameters(), GRADIENT_NORM)
    optimizer.step()
    return float(value.detach())
