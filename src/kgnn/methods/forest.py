"""The family of random forests: features of graphs, trees on those of the labeled ones."""

from __future__ import annotations

from kgnn.engine.task import Task
from kgnn.engine.trees import Forest
from kgnn.estimator.classifier import GraphClassifier
from kgnn.estimator.parameters import Count, parameters
from kgnn.graphs.graph import Floats, GraphDataset
from kgnn.kernels.base import Featurizer


@parameters
class ForestClassifier(GraphClassifier):
    """A random forest on the features of a featurizer, which a subclass names.

    Parameters
    ----------
    trees : int

    Attributes
    ----------
    forest_ : Forest
    kernel_ : featurizer
        Fitted on all training graphs, labeled or not.
    """

    trees: Count = 300

    def _featurizer(self) -> Featurizer:
        """Return what turns graphs into features, not yet fitted."""
        raise NotImplementedError

    def _fit(self, task: Task) -> None:
        self.kernel_ = self._featurizer().fit(task.graphs)
        features = self.kernel_.transform(task.graphs[task.labeled])
        targets = task.targets[task.labeled]
        weights = None if task.class_weights is None else task.class_weights[targets]
        self.forest_ = Forest.grow(
            features, targets, task.n_classes, trees=self.trees, seed=task.seed, weights=weights
        )

    def _predict_proba(self, graphs: GraphDataset) -> Floats:
        return self.forest_.predict_proba(self.kernel_.transform(graphs))
