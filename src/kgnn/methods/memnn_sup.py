"""MemNN-Sup: the memory network on the labeled graphs alone (§5.3)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from scipy.special import softmax

from kgnn.engine.memory import Memory
from kgnn.engine.network import Fitted, out_of_fold, trainings_of
from kgnn.engine.task import OutOfFold, Task
from kgnn.estimator.classifier import GraphClassifier, Story
from kgnn.estimator.parameters import NonNegative, parameters
from kgnn.graphs.graph import Floats, GraphDataset
from kgnn.methods.kgnn import MemoryNetwork, PaperSettings
from kgnn.methods.memory import MemorySettings
from kgnn.methods.neural import TrainingSettings


@parameters
class MemNNSup(PaperSettings, MemorySettings, TrainingSettings, GraphClassifier):
    """The kernel-based memory network, trained on labeled graphs.

    Unlabeled graphs are only used to fit the projection, as in KGNN. See `KGNN` for the
    parameters.

    References
    ----------
    Ju et al., *KGNN*, WSDM 2022, §5.3.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> graphs = cycles_and_trees(40)
    >>> MemNNSup(epochs=5).fit(graphs).predict_proba(graphs[:3]).shape
    (3, 2)
    """

    memory_labels: bool = True
    memory_learning_rate: NonNegative = 0.01

    _cross_fits: ClassVar[bool] = True

    def _fit(self, task: Task) -> OutOfFold | None:
        rate, labels = self.memory_learning_rate, self.memory_labels
        self.memory_ = self._memory(task, MemoryNetwork, learning_rate=rate, labels=labels)
        members = task.members()
        trainings = trainings_of(self.memory_, task, members)
        fitted = self.memory_.fit(trainings, pooled=task.validation is None)
        return out_of_fold(task, members, fitted)

    def _can_predict(self) -> bool:
        return hasattr(self, "memory_") and self.memory_.is_fitted

    def _predict_proba(self, graphs: GraphDataset) -> Floats:
        return np.asarray(softmax(self.memory_.logits(self.memory_.prepare(graphs)), axis=1))

    def _trained_memory(self) -> tuple[Memory, list[Fitted]] | None:
        return (self.memory_, self.memory_.fitted) if hasattr(self, "memory_") else None

    def story(self) -> Story:
        """Return the history of `fit`."""
        is_trained = hasattr(self, "memory_")
        return Story({"memory": self.memory_.fitted[0].history} if is_trained else {}, [], "")
