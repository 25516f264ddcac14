"""MemNN-Sup: the memory network on the labeled graphs alone (§5.3)."""

from __future__ import annotations

import numpy as np
from scipy.special import softmax

from kgnn.engine.memory import Memory
from kgnn.engine.network import Examples, Fitted, one_hot
from kgnn.engine.task import Task
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

    def _fit(self, task: Task) -> None:
        rate, labels = self.memory_learning_rate, self.memory_labels
        self.memory_ = self._memory(task, MemoryNetwork, learning_rate=rate, labels=labels)
        if self.memory_.is_fitted:  # to choose a kernel
            return
        validation = None
        if task.validation is not None:
            validation = (self.memory_.prepare(task.validation[0]), task.validation[1])
        examples = Examples(task.labeled, one_hot(task.targets, task.n_classes))
        self.memory_.fit(examples, validation, task.seed)

    def _can_predict(self) -> bool:
        return hasattr(self, "memory_") and self.memory_.is_fitted

    def _predict_proba(self, graphs: GraphDataset) -> Floats:
        return np.asarray(softmax(self.memory_.logits(self.memory_.prepare(graphs)), axis=1))

    def _trained_memory(self) -> tuple[Memory, list[Fitted]] | None:
        return (self.memory_, [self.memory_.fitted]) if hasattr(self, "memory_") else None

    def story(self) -> Story:
        """Return what happened in `fit`."""
        is_trained = hasattr(self, "memory_")
        return Story({"memory": self.memory_.fitted.history} if is_trained else {}, [], "")
