"""Mean-Teacher: predictions should agree with those of a network with averaged weights."""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn

from kgnn.engine.frozen import frozen_statistics
from kgnn.engine.task import Task
from kgnn.engine.views import drop_edges
from kgnn.estimator.parameters import NonNegative, Share, parameters
from kgnn.methods.semi_supervised import SemiSupervisedClassifier, Step, Term, consistency


@parameters
class MeanTeacher(SemiSupervisedClassifier):
    """Mean teacher: consistency with the predictions of a teacher with averaged weights.

    The teacher has its own noise: dropout, and edges dropped at random. Predictions are those
    of averaged weights, as in all neural methods here (``averaging``). See
    `SemiSupervisedClassifier` for the other parameters.

    Parameters
    ----------
    decay : float
        Decay of the moving average of the teacher's weights, per step, in the long run.
    edge_drop : float
        Probability of dropping an edge.

    References
    ----------
    Tarvainen & Valpola, *Mean teachers are better role models*, NeurIPS 2017.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> graphs = cycles_and_trees(60)
    >>> labels = graphs.targets.copy()
    >>> labels[10:40] = -1
    >>> MeanTeacher(epochs=5).fit(graphs[:40], labels[:40]).predict_proba(graphs[40:]).shape
    (20, 2)
    """

    weight: NonNegative | tuple[NonNegative, ...] = (3.0, 1.0, 10.0)
    decay: Share = 0.99
    edge_drop: Share = 0.1

    def _term(self, task: Task) -> Term:
        return _FollowTeacher(self.decay, self.edge_drop)


class _FollowTeacher(Term):
    name = "consistency"

    def __init__(self, decay: float, edge_drop: float) -> None:
        self.decay, self.edge_drop = decay, edge_drop

    def begin(self, module: nn.Module) -> None:
        self.teacher = Teacher(module, self.decay)

    def __call__(self, step: Step) -> Tensor:
        teacher = self.teacher.module.train()
        with torch.no_grad(), frozen_statistics(teacher):
            target = teacher(step.view(drop_edges, self.edge_drop))
        return consistency(step.logits, target)

    def after_step(self, module: nn.Module) -> None:
        self.teacher.update(module)


class Teacher:
    """A copy of a module that follows it slowly: ``θ′ ← a_s θ′ + (1 − a_s) θ`` in step s.

    ``a_s = min(1 − 1/(s + 1), decay)``, so that the first steps are a plain mean and the random
    start is soon forgotten.

    Parameters
    ----------
    student : nn.Module
        Copied with its mode; later changes reach the copy only through `update`.
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
