"""A random forest on kernel features, which predicts beside networks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse
from torch import Tensor

from kgnn.engine.loop import History
from kgnn.engine.network import Fitted, Learner, Training
from kgnn.engine.trees import Forest
from kgnn.graphs.graph import Floats, GraphDataset, Ints
from kgnn.kernels.base import Featurizer
from kgnn.progress import track
from kgnn.seeds import derive

# Share of each probability that is spread over all classes, so that no leaf is certain.
_DOUBT = 0.02


class KernelForest(Learner):
    """A random forest on the kernel features of a pool of graphs.

    It learns from labeled graphs alone: trees trained on their own predictions only repeat them.

    Parameters
    ----------
    pool : GraphDataset
    kernel : Featurizer
        Fitted on the pool.
    trees : int
        Of each member.
    """

    name = "forest"
    needed = ("kernel", "fitted")

    def __init__(self, pool: GraphDataset, kernel: Featurizer, trees: int) -> None:
        self.kernel, self.trees = kernel, trees
        fit_transform = getattr(
            kernel, "fit_transform", lambda pool: kernel.fit(pool).transform(pool)
        )
        self.pool = sparse.csr_array(fit_transform(pool))

    def prepare(self, graphs: GraphDataset) -> sparse.csr_array:
        """Compute kernel features."""
        return sparse.csr_array(self.kernel.transform(graphs))

    def part(self, rows: Ints) -> sparse.csr_array:
        """Return some of the training graphs, prepared."""
        return self.pool[rows]

    def fit(
        self, trainings: Sequence[Training], *, what: str = "training", **options: Any
    ) -> list[Fitted]:
        """Grow a forest for each of ``trainings``; there is no epoch to choose."""
        self.fitted = [self._grow(training) for training in track(trainings, what)]
        return self.fitted

    def _grow(self, training: Training) -> Fitted:
        examples = training.examples
        targets = examples.targets[examples.labeled].argmax(dim=1).numpy()
        weights = None
        if examples.class_weights is not None:
            weights = examples.class_weights.numpy()[targets]
        forest = Forest.grow(
            self.part(examples.labeled),
            targets,
            examples.targets.shape[1],
            trees=self.trees,
            seed=derive(training.seed, self.name),
            weights=weights,
        )
        fitted = Fitted(forest, History())
        if training.judges is not None:
            fitted.answers = self._outputs(forest, training.judges, fitted)
        return fitted

    def _outputs(
        self, module: Any, prepared: Any, fitted: Fitted, own: Tensor | None = None
    ) -> Floats:
        proba = module.predict_proba(prepared)
        return np.asarray(np.log((1 - _DOUBT) * proba + _DOUBT / proba.shape[1]))
