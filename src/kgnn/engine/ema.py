"""A teacher whose weights are the running average of a student's.

References
----------
Tarvainen and Valpola, *Mean teachers are better role models*, NeurIPS 2017.
"""

from __future__ import annotations

import copy

import torch
from torch import nn


class Teacher:
    """A copy of a module that follows it slowly: ``θ′ ← a_s θ′ + (1 − a_s) θ`` in step s.

    ``a_s = min(1 − 1/(s + 1), decay)``, so that the first steps are a plain mean and the random
    start is soon forgotten.

    Parameters
    ----------
    student : nn.Module
        Copied as it is, with mode and all; later changes reach the copy by `update` alone.
    decay : float
        Share of the old that is kept in the long run; 0 copies the student in every step.

    Attributes
    ----------
    module : nn.Module
        What has been averaged so far; its parameters take no gradient.
    n_steps : int

    Examples
    --------
    >>> student = nn.Linear(1, 1, bias=False)
    >>> _ = nn.init.constant_(student.weight, 0.0)
    >>> teacher = Teacher(student, decay=0.99)
    >>> _ = nn.init.constant_(student.weight, 1.0)
    >>> for _ in range(3):
    ...     teacher.update(student)
    ...     print(round(teacher.module.weight.item(), 4))
    0.5
    0.6667
    0.75
    """

    def __init__(self, student: nn.Module, decay: float) -> None:
        self.module = copy.deepcopy(student).requires_grad_(False)
        self.decay, self.n_steps = decay, 0

    @property
    def kept(self) -> float:
        """The share a_s that the last step has kept of the old."""
        return min(1 - 1 / (self.n_steps + 1), self.decay)

    @torch.no_grad()
    def update(self, student: nn.Module) -> None:
        """Follow the student; to be called after each step of its optimizer.

        Floating-point buffers are averaged like weights: running statistics must fit the weights
        they are used with. Integer buffers are counters and are copied.
        """
        self.n_steps += 1
        old = [*self.module.parameters(), *self.module.buffers()]
        new = [*student.parameters(), *student.buffers()]
        for mine, theirs in zip(old, new, strict=True):
            if mine.is_floating_point():
                mine.lerp_(theirs, 1 - self.kept)
            else:
                mine.copy_(theirs)
