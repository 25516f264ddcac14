"""LDP: a random forest on degree profiles, the simplest strong peer (not in the paper)."""

from __future__ import annotations

from kgnn.engine.task import Task
from kgnn.engine.trees import Forest
from kgnn.estimator.classifier import GraphClassifier
from kgnn.estimator.parameters import Count, parameters
from kgnn.graphs.graph import Floats, GraphDataset
from kgnn.kernels.degree_profiles import DegreeProfiles


@parameters
class LDP(GraphClassifier):
    """Shares of nodes by degree, by their neighbors' degrees and by label, with a random forest.

    Parameters
    ----------
    trees : int

    Attributes
    ----------
    forest_ : Forest
    kernel_ : DegreeProfiles

    References
    ----------
    Cai & Wang, *A simple yet effective baseline for non-attributed graph classification*, 2018.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> graphs = cycles_and_trees(60)
    >>> LDP().fit(graphs[:40]).score(graphs[40:])
    1.0
    """

    trees: Count = 300

    def _fit(self, task: Task) -> None:
        self.kernel_ = DegreeProfiles().fit(task.graphs)
        profile = self.kernel_.transform(task.graphs[task.labeled])
        targets = task.targets[task.labeled]
        weights = None if task.class_weights is None else task.class_weights[targets]
        self.forest_ = Forest.grow(
            profile, targets, task.n_classes, trees=self.trees, seed=task.seed, weights=weights
        )

    def _predict_proba(self, graphs: GraphDataset) -> Floats:
        return self.forest_.predict_proba(self.kernel_.transform(graphs))
