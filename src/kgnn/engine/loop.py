"""The training loop: shuffled batches, Adam, averaged weights, checkpoints."""

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
    """Losses and scores by epoch."""

    loss: list[float] = field(default_factory=list)  # mean over the training steps
    score: list[float] = field(default_factory=list)  # of each checkpoint; empty if not judged
    best_epoch: int = -1  # whose weights were kept, counted from 0
    parts: dict[str, list[float]] = field(default_factory=dict)  # of the loss, if it has several
    interrupted: bool = False  # by Ctrl-C; the epochs until then count

    def require_sound(self) -> None:
        """Refuse a history, read from a file, in which epochs have different entries."""
        n = len(self.loss)
        if any(len(each) != n for each in self.parts.values()) or not -1 <= self.best_epoch <= n:
            raise ValueError("the history of a training does not belong together")

    def record(self, steps: list[dict[str, float]]) -> None:
        """Add the mean losses of an epoch's steps."""
        for name in steps[0] if len(steps[0]) > 1 else ():
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
    checkpoints: int = 1,
    show_start: bool = False,
    at_checkpoint: Callable[[nn.Module], None] = lambda module: None,
    after_step: Callable[[], None] = lambda: None,
    what: str = "training",
) -> History:
    """Minimize a loss over batches of rows, in place.

    The module ends with the averaged weights of the last epoch, in evaluation mode. Ctrl-C ends
    training with the weights so far, once an epoch is complete.

    Parameters
    ----------
    loss : callable
        Maps the rows of a batch to the scalar to minimize, or to its parts by name.
    weight_decay : float
        Adam's own (added to the gradient), as in the paper's code.
    averaging : float
        Decay of the running average of the weights, per step; 0 keeps the last weights.
    clip : float or None
        Largest norm of the gradient.
    statistics : {"recomputed", "running"}
        Whether BatchNorm gets the statistics that ``finish`` computes, or keeps its running ones.
    finish : callable
        Prepares the averaged module for evaluation.
    checkpoints, show_start, at_checkpoint : int, bool, callable
        How often the averaged module is shown to ``at_checkpoint``, at equal distances; the last
        time is after the last epoch. With ``show_start`` also before the first one.
    what : str
        Name of this training in progress reports.
    """
    averaged = copy.deepcopy(module)
    history = History()

    def finish_average() -> None:
        if statistics == "recomputed":
            finish(averaged)
        else:
            for ours, theirs in zip(averaged.buffers(), module.buffers(), strict=True):
                ours.copy_(theirs)

    shown = set(checkpoint_epochs(epochs, checkpoints))
    with flattened(module) as flat, flattened(averaged) as average:
        optimizer = Adam(flat, learning_rate, weight_decay)
        n_steps = 0
        if show_start:
            finish_average()
            at_checkpoint(averaged)
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
                if epoch in shown:
                    finish_average()
                    at_checkpoint(averaged)
        except KeyboardInterrupt:
            if not history.loss:
                raise
            history.interrupted = True
            finish_average()
            at_checkpoint(averaged)
        history.best_epoch = len(history.loss) - 1
        module.load_state_dict(averaged.state_dict())
    module.eval()
    return history


def checkpoint_epochs(epochs: int, checkpoints: int) -> list[int]:
    """Return after which epochs, counted from 0, a checkpoint is taken.

    Examples
    --------
    >>> checkpoint_epochs(40, 5), checkpoint_epochs(3, 10)
    ([7, 15, 23, 31, 39], [0, 1, 2])
    """
    ends = np.ceil(np.linspace(0, epochs, checkpoints + 1)[1:] - 1e-9).astype(int)
    return sorted({int(end) - 1 for end in ends})


def _step(
    flat: Flat, optimizer: Adam, value: Tensor | dict[str, Tensor], clip: float | None
) -> dict[str, float]:
    """Take a gradient step, and return the parts of the loss before it."""
    parts = value if isinstance(value, dict) else {"loss": value}
    optimizer.zero_grad()
    reduce(torch.add, parts.values()).backward()
    if clip is not None:
        _shorten(flat.gradient, clip)
    optimizer.step()
    return {name: float(part.detach()) for name, part in parts.items()}


def _shorten(gradient: Tensor, norm: float) -> None:
    """Clip the norm of a gradient: torch's ``clip_grad_norm_`` for one vector."""
    gradient.mul_((norm / (torch.linalg.vector_norm(gradient) + 1e-6)).clamp_(max=1.0))


@torch.no_grad()
def _average(average: Flat, new: Flat, decay: float, n_steps: int) -> None:
    """Update the average; the decay starts low, so that the initial weights soon fade."""
    share = min(decay, n_steps / (9 + n_steps)) if n_steps > 1 else 0.0
    average.weights.lerp_(new.weights, 1 - share)


@torch.no_grad()
def recompute_bn_stats(module: nn.Module, forward_all: Callable[[nn.Module], object]) -> None:
    """Replace BatchNorm's running statistics by those of one pass over all training graphs.

    Graphs vary so much in size that running averages over a few small batches are far off, and the
    accuracy on new graphs jumps from epoch to epoch. Leaves the module in evaluation mode.
    """
    norms = [m for m in module.modules() if isinstance(m, nn.BatchNorm1d)]
    momenta = [norm.momentum for norm in norms]
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None  # plain average over the batches
    module.train()
    forward_all(module)
    module.eval()
    for norm, momentum in zip(norms, momenta, strict=True):
        norm.momentum = momentum
