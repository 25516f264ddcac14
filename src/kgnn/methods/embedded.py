"""The family of embedding methods: vectors learned from all training graphs, then a machine."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from kgnn.engine.task import Task
from kgnn.estimator.parameters import Bounds, parameters
from kgnn.graphs.graph import GraphDataset
from kgnn.kernels.base import Features, Featurizer
from kgnn.kernels.counted import SharedCounts
from kgnn.methods.featurized import FeaturizedClassifier

Width: TypeAlias = Annotated[float, Bounds(1e-9)] | None


@parameters
class EmbeddedClassifier(FeaturizedClassifier):
    """A support vector machine on vectors that are learned from labeled and unlabeled graphs.

    Choices are made as in `FeaturizedClassifier`.

    Parameters
    ----------
    widths : tuple of float or None
        Kernels to choose from: a Gaussian whose width is so many times the mean squared distance,
        or None for the inner product.
    """

    widths: tuple[Width, ...] = (None, 1.0, 0.3)

    def _widths(self) -> tuple[float | None, ...]:
        return self.widths

    def _learn(
        self, featurizer: Featurizer, task: Task, labeled: GraphDataset, shared: SharedCounts
    ) -> Features:
        return featurizer.fit(task.graphs).transform(labeled)
