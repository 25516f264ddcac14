"""The family of methods that add a term of unlabeled graphs to the loss of labeled ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from torch import nn

from kgnn.engine.loop import n_batches
from kgnn.engine.network import GraphNetwork, OptimizerConfig
from kgnn.engine.semi_supervised import SemiSupervisedNetwork, Term
from kgnn.engine.task import Task
from kgnn.estimator.parameters import Count, NonNegative, Share, parameters
from kgnn.graphs.graph import GraphDataset
from kgnn.methods.neural import CommitteeClassifier


@parameters
class SemiSupervisedClassifier(CommitteeClassifier):
    """A GIN that learns from labeled and unlabeled graphs in the same steps.

    A subclass writes `_term`. See `CommitteeClassifier` for the other parameters.

    Parameters
    ----------
    weight : float or tuple of float
        Of the term of unlabeled graphs against the loss of labeled ones; 0 leaves them out. Of
        several, the trainings of the committee take each in turn: VAL is too small to choose one.
    ramp_up : float
        Share of all steps over which the weight grows to its value.
    epochs : int
        Passes over the unlabeled graphs. The labeled ones, which are fewer, come round more often;
        VAL judges after each pass over them.
    """

    weight: NonNegative | tuple[NonNegative, ...] = 1.0
    # Paper silent: with the full weight from the start the first random predictions would stay.
    ramp_up: Share = 0.4
    epochs: Count = 10

    def _term(self, task: Task) -> Term:
        """Return what is asked of unlabeled graphs."""
        raise NotImplementedError

    def _weights(self) -> tuple[float, ...]:
        """Return the weights of the term once it is fully in force; 0 leaves it out."""
        return self.weight if isinstance(self.weight, tuple) else (self.weight,)

    def _network(
        self,
        task: Task,
        graphs: GraphDataset,
        build: Callable[[int], nn.Module],
        optimizer_config: OptimizerConfig,
        **options: Any,
    ) -> GraphNetwork:
        n_unlabeled = len(task.unlabeled) or len(task.labeled)
        steps = self.epochs * n_batches(n_unlabeled, self.batch_size)
        passes = math.ceil(steps / n_batches(len(task.labeled), self.batch_size))
        return SemiSupervisedNetwork(
            graphs,
            build,
            replace(optimizer_config, epochs=passes),
            unlabeled=task.unlabeled,
            term=self._term(task),
            weight=self._weights()[0],
            ramp_up=self.ramp_up,
            **options,
        )

    def _before_member(self, number: int) -> None:
        assert isinstance(self.gnn_, SemiSupervisedNetwork)
        weights = self._weights()
        self.gnn_.weight = weights[number % len(weights)]
