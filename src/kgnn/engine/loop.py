"""The only gradient loop: shuffled batches, Adam, averaged weights, the best epoch kept."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import reduce
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn

from kgnn.engine.fast.flat import Adam, Flat, flattened
from kgnn.graphs.graph import Ints
from kgnn.progress import track

# Present in the paper's released code, not in its text.
CLIP = 5.0


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
    parts : dict of str to list of float
        Mean of each part of the loss, where it has several.
    interrupted : bool
        Whether training was stopped by hand; the best epoch until then was kept.
    """

    loss: list[float] = field(default_factory=list)
    score: list[float] = field(default_factory=list)
    best_epoch: int = -1
    parts: dict[str, list[float]] = field(default_factory=dict)
    interrupted: bool = False

    def record(self, steps: list[dict[str, float]]) -> None:
        """Write down the mean losses of an epoch's steps."""
        names = steps[0] if len(steps[0]) > 1 else ()
        for name in names:
            mean = sum(step[name] for step in steps) / len(steps)
            self.parts.setdefault(name, []).append(mean)
        self.loss.append(sum(sum(step.values()) for step in steps) / len(steps))


def batches(rows: Ints, size: int, rng: np.random.Generator) -> Iterator[Ints]:
    """Yield the rows in random order, ``size`` at a time; a last single row joins its neighbors."""
    order = rng.permutation(rows)
    last = n_batches(len(order), size) - 1
    yield from (order[i * size : (i + 1) * size] for i in range(last))
    yield order[last * size :]


def n_batches(n_rows: int, size: int) -> int:
    """Return how many batches make an epoch."""
    return max(1, n_rows // size + (n_rows % size > 1))


def train(
    module: nn.Module,
    loss: Callable[[Ints], Tensor | dict[str, Tensor]],
    rows: Ints,
    *,
    epochs: int,
    batch_size: int,
    learning_rate: float,
    weight_decay: float,
    averaging: float,
    clip: float | None = CLIP,
    statistics: Literal["recomputed", "running"] = "recomputed",
    rng: np.random.Generator,
    finish: Callable[[nn.Module], None] = lambda module: None,
    score: Callable[[nn.Module], float] | None = None,
    after_step: Callable[[], None] = lambda: None,
    what: str = "training",
) -> History:
    """Minimize a loss over batches of rows.

    Ctrl-C ends training with the best weights so far, if an epoch has ended.

    Parameters
    ----------
    module : nn.Module
        Trained in place; ends with the averaged weights of the best epoch, in evaluation mode.
    loss : callable
        Rows of a batch to the scalar to minimize, or to the parts of it by name.
    rows : array of int
    epochs, batch_size, learning_rate, weight_decay
        Weight decay is Adam's own (added to the gradient), as in the paper's code.
    averaging : float
        Share of the old in the running average of the weights, per step; 0 keeps the last ones.
    clip : float or None
        Longest gradient; longer ones are shortened to it.
    statistics : {"recomputed", "running"}
        Whether BatchNorm gets the statistics that ``finish`` computes, or keeps the running
        averages of the batches.
    rng : numpy Generator
        Order of the batches.
    finish : callable
        Makes the averaged module ready to be judged and used.
    score : callable, optional
        Judges the averaged module after each epoch; the best epoch is kept, the earliest of
        equals. Without it, the last one is.
    after_step : callable
        Called after each change of the weights.
    what : str
        What to call this in reports of progress.
    """
    averaged = copy.deepcopy(module)
    history = History()

    def make_ready() -> None:
        if statistics == "recomputed":
            finish(averaged)
        else:
            for ours, theirs in zip(averaged.buffers(), module.buffers(), strict=True):
                ours.copy_(theirs)

    best = averaged.state_dict()
    with flattened(module) as flat, flattened(averaged) as average:
        optimizer = Adam(flat, learning_rate, weight_decay)
        n_steps = 0
        try:
            for epoch in track(range(epochs), what):
                module.train()
                steps = []
                for part in batches(rows, batch_size, rng):
                    steps.append(_step(flat, optimizer, loss(part), clip))
                    n_steps += 1
                    _average(average, flat, averaging, n_steps)
                    after_step()
                history.record(steps)
                if score is not None:
                    make_ready()
                    history.score.append(score(averaged))
                    if history.score[-1] > max(history.score[:-1], default=-np.inf):
                        history.best_epoch, best = epoch, copy.deepcopy(averaged.state_dict())
        except KeyboardInterrupt:
            if not history.loss:
                raise
            history.interrupted = True
        if score is None or history.best_epoch < 0:
            make_ready()
            history.best_epoch, best = len(history.loss) - 1, averaged.state_dict()
        module.load_state_dict(best)
    module.eval()
    return history


def _step(
    flat: Flat, optimizer: Adam, value: Tensor | dict[str, Tensor], clip: float | None
) -> dict[str, float]:
    """Go one step down, and return the parts of the loss before it."""
    parts = value if isinstance(value, dict) else {"loss": value}
    optimizer.zero_grad()
    reduce(torch.add, parts.values()).backward()
    if clip is not None:
        _shorten(flat.gradient, clip)
    optimizer.step()
    return {name: float(part.detach()) for name, part in parts.items()}


def _shorten(gradient: Tensor, norm: float) -> None:
    """Shorten a gradient that is too long: torch's ``clip_grad_norm_`` for one vector."""
    gradient.mul_((norm / (torch.linalg.vector_norm(gradient) + 1e-6)).clamp_(max=1.0))


@torch.no_grad()
def _average(average: Flat, new: Flat, decay: float, n_steps: int) -> None:
    """Move the average towards new weights.

    The decay starts low, so that the first random weights are soon forgotten.
    """
    share = min(decay, n_steps / (9 + n_steps)) if n_steps > 1 else 0.0
    average.weights.lerp_(new.weights, 1 - share)


@torch.no_grad()
def recompute_bn_stats(module: nn.Module, forward_all: Callable[[nn.Module], object]) -> None:
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
