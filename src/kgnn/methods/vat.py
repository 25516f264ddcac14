"""VAT: the worst small change of a graph's nodes should not change its class."""

from __future__ import annotations

from typing import Any, Literal

from torch import Tensor

from kgnn.engine.adversarial import local_smoothness
from kgnn.engine.frozen import frozen_statistics, without_dropout
from kgnn.engine.semi_supervised import Step, Term
from kgnn.engine.task import Task
from kgnn.estimator.parameters import Count, NonNegative, parameters
from kgnn.methods.semi_supervised import SemiSupervisedClassifier


@parameters
class VAT(SemiSupervisedClassifier):
    """Virtual adversarial training, on the nodes' vectors after the first layer.

    Graphs are discrete and nodes without labels all alike, so that what is changed is what the
    first layer makes of nodes. See `SemiSupervisedClassifier` for the other parameters.

    Parameters
    ----------
    eps : float
        Length of the change of a graph.
    norm : {"graph", "rms"}
        Whether a graph changes by ``eps``, or by ``eps √n`` for n nodes.
    xi : float
        Length at which the worst direction is looked for.
    power_iterations : int
        Steps of that search.

    References
    ----------
    Miyato et al., *Virtual adversarial training*, TPAMI 2019.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> graphs = cycles_and_trees(60)
    >>> labels = graphs.targets.copy()
    >>> labels[10:40] = -1
    >>> VAT(epochs=5).fit(graphs[:40], labels[:40]).predict_proba(graphs[40:]).shape
    (20, 2)
    """

    weight: NonNegative | tuple[NonNegative, ...] = (0.3, 0.1, 1.0)
    eps: NonNegative = 1.0
    norm: Literal["graph", "rms"] = "graph"
    xi: NonNegative = 0.1
    power_iterations: Count = 1

    def _term(self, task: Task) -> Term:
        return _Smoothness(
            self.width,
            eps=self.eps,
            norm=self.norm,
            xi=self.xi,
            power_iterations=self.power_iterations,
        )


class _Smoothness(Term):
    name = "smoothness"

    def __init__(self, width: int, **settings: Any) -> None:
        self.width, self.settings = width, settings

    def __call__(self, step: Step) -> Tensor:
        rows, weights = step.batch.graph_of_rows(1), step.batch.weights(1)
        with frozen_statistics(step.module), without_dropout(step.module):
            return local_smoothness(
                lambda change: step.module(step.batch, change),
                step.logits.new_zeros(len(rows), self.width),
                rows,
                counts=None if weights is None else weights.counts,
                **self.settings,
            )
