"""The family of methods that add a term of unlabeled graphs to the loss of labeled ones."""

from __future__ import annotations

from typing import Any

from kgnn.methods.base import Task
from kgnn.methods.neural import NeuralClassifier
from kgnn.methods.parameters import Count, NonNegative, Share, parameters
from kgnn.training.graph_network import GraphNetwork
from kgnn.training.semi_supervised import SemiSupervisedNetwork, Term


@parameters
class SemiSupervisedClassifier(NeuralClassifier):
    """A GIN that learns from labeled and unlabeled graphs in the same steps.

    A subclass writes `_term`. See `NeuralClassifier` for the other parameters.

    Parameters
    ----------
    weight : float
        Of the term of unlabeled graphs against the loss of labeled ones; 0 leaves them out.
    ramp_up : float
        Share of all steps over which the weight grows to its value.
    epochs : int
        Passes over the unlabeled graphs.
    """

    weight: NonNegative = 1.0
    # Paper silent: with the full weight from the start the first random predictions would stay.
    ramp_up: Share = 0.4
    epochs: Count = 20

    def _term(self, task: Task) -> Term:
        """Return what is asked of unlabeled graphs."""
        raise NotImplementedError

    def _full_weight(self) -> float:
        """Return the weight of the term once it is fully in force; 0 leaves it out."""
        return self.weight

    def _network(self, task: Task, *args: Any, **options: Any) -> GraphNetwork:
        return SemiSupervisedNetwork(
            *args,
            unlabeled=task.unlabeled,
            term=self._term(task),
            weight=self._full_weight(),
            ramp_up=self.ramp_up,
            **options,
        )
