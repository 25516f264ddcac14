"""Mean-Teacher: the student should see what the average of its former selves sees."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from kgnn.engine.augment import drop_edges
from kgnn.engine.ema import Teacher
from kgnn.engine.frozen import frozen_statistics
from kgnn.engine.losses import consistency
from kgnn.engine.semi_supervised import Step, Term
from kgnn.engine.task import Task
from kgnn.estimator.parameters import NonNegative, Share, parameters
from kgnn.methods.semi_supervised import SemiSupervisedClassifier


@parameters
class MeanTeacher(SemiSupervisedClassifier):
    """Mean teacher: predictions are drawn to those of a teacher with averaged weights.

    The teacher has noise of its own: dropout, and edges left out at random. Predictions are those
    of averaged weights, as in all neural methods here (``averaging``). See
    `SemiSupervisedClassifier` for the other parameters.

    Parameters
    ----------
    decay : float
        Share of the old in the teacher's weights, per step, in the long run.
    edge_drop : float
        Probability with which an edge is left out.

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
