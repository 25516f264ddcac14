"""LDP: a random forest on degree profiles, the simplest strong peer (not in the paper)."""

from __future__ import annotations

from kgnn.engine.task import Task
from kgnn.estimator.classifier import GraphClassifier
from kgnn.estimator.machines import Forest
from kgnn.estimator.parameters import Count, parameters
from kgnn.graphs.graph import Floats, GraphDataset
from kgnn.kernels.degree_profile import degree_profile


@parameters
class LDP(GraphClassifier):
    """Shares of nodes by degree, by their neighbors' degrees and by label, with a random forest.

    Parameters
    ----------
    trees : int

    Attributes
    ----------
    forest_ : Forest
    label_names_ : tuple of str
        Node labels of the training graphs.

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
        self.label_names_ = task.graphs.node_label_names
        profile = degree_profile(task.graphs[task.labeled], self.label_names_)
        self.forest_ = Forest.fit(profile, task.targets[task.labeled], self.trees, task.seed)

    def _predict_proba(self, graphs: GraphDataset) -> Floats:
        return self.forest_.predict_proba(degree_profile(graphs, self.label_names_))
