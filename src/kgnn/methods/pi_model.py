"""Π-Model: two passes over a graph, each with its own noise, should predict the same class."""

from __future__ import annotations

from torch import Tensor

from kgnn.engine.frozen import frozen_statistics
from kgnn.engine.task import Task
from kgnn.engine.views import drop_edges
from kgnn.estimator.parameters import NonNegative, Share, parameters
from kgnn.methods.semi_supervised import SemiSupervisedClassifier, Step, Term, consistency


@parameters
class PiModel(SemiSupervisedClassifier):
    """The Π-model: predictions under noise are drawn to predictions under other noise.

    Noise is dropout and, in the second pass, edges dropped at random. See
    `SemiSupervisedClassifier` for the other parameters.

    Parameters
    ----------
    edge_drop : float
        Probability of dropping an edge.

    References
    ----------
    Laine & Aila, *Temporal ensembling for semi-supervised learning*, ICLR 2017.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> graphs = cycles_and_trees(60)
    >>> labels = graphs.targets.copy()
    >>> labels[10:40] = -1
    >>> PiModel(epochs=5).fit(graphs[:40], labels[:40]).predict_proba(graphs[40:]).shape
    (20, 2)
    """

    weight: NonNegative | tuple[NonNegative, ...] = (3.0, 1.0, 10.0)
    edge_drop: Share = 0.1

    def _term(self, task: Task) -> Term:
        return _TwoPasses(self.edge_drop)


class _TwoPasses(Term):
    name = "consistency"

    def __init__(self, edge_drop: float) -> None:
        self.edge_drop = edge_drop

    def __call__(self, step: Step) -> Tensor:
        # Paper silent: the pass with missing edges learns from the pass with all of them.
        with frozen_statistics(step.module):
            second = step.module(step.view(drop_edges, self.edge_drop))
        return consistency(second, step.logits)
