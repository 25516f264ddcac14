"""Random-GIN: a kernel machine on a GIN that is never trained (not in the paper)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from scipy.special import softmax

from kgnn.engine.batch import SomeBatches
from kgnn.engine.fast.quotients import batches_of
from kgnn.engine.linear import KernelMachine
from kgnn.engine.node_features import NodeFeatures, is_dense
from kgnn.engine.task import OutOfFold, Task
from kgnn.engine.untrained import UntrainedGNN, fit_machine
from kgnn.estimator.classifier import GraphClassifier
from kgnn.estimator.parameters import Count, parameters
from kgnn.graphs.graph import Floats, GraphDataset, Ints


@parameters
class RandomGIN(GraphClassifier):
    """A GIN with random weights, and a strongly penalized kernel machine on its graph vectors.

    What KGNN's GNN annotates with before it is taught. Like WL-Linear it chooses nothing, and with
    few labels it is hard to beat by a GIN that is trained on them. Unlabeled graphs count in the
    coordinates.

    Parameters
    ----------
    layers : int
        Rounds of message passing.
    use_node_attributes, use_edge_labels : bool
        Whether what nodes and edges carry is read, where the graphs have it.

    Attributes
    ----------
    gnn_ : UntrainedGNN
    node_features_ : NodeFeatures
    machine_ : KernelMachine

    References
    ----------
    Xu et al., *How powerful are graph neural networks?*, ICLR 2019, for the GIN; Rahimi & Recht,
    *Random features for large-scale kernel machines*, NeurIPS 2007, for random features; Gallicchio
    & Micheli, *Fast and deep graph neural networks*, AAAI 2020, for graph vectors without training.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> graphs = cycles_and_trees(60)
    >>> model = RandomGIN().fit(graphs[:40], graphs.targets[:40])
    >>> model.score(graphs[40:], graphs.targets[40:])
    1.0
    """

    layers: Count = 3
    use_node_attributes: bool = True
    use_edge_labels: bool = True

    _cross_fits: ClassVar[bool] = True

    def _fit(self, task: Task) -> OutOfFold | None:
        self.node_features_ = NodeFeatures.of(task.graphs, is_dense(task.graphs))
        pool = batches_of(task.graphs, self.node_features_, self.layers)
        self.gnn_ = UntrainedGNN.of(task, pool, self.node_features_, layers=self.layers)
        coordinates = self.gnn_.coordinates(SomeBatches(pool, np.arange(len(pool))))

        def fit(labeled: Ints) -> KernelMachine:
            targets = task.targets[labeled]
            weights = None if task.class_weights is None else task.class_weights[targets]
            return fit_machine(coordinates[labeled], targets, task.n_classes, weights)

        self.machine_ = fit(task.labeled)
        members = [each for each in task.members() if len(each.held_out)]
        if task.validation is not None or not members:
            return None
        answers = [fit(each.labeled).scores(coordinates[each.held_out]) for each in members]
        rows = np.concatenate([each.held_out for each in members])
        return OutOfFold(rows, np.asarray(softmax(np.concatenate(answers), axis=1)))

    def require_sound(self) -> None:
        """Refuse a machine, read from a file, that does not fit the GNN before it."""
        if len(self.classes_) > 1:
            n_features = self.machine_.coefficients.shape[1]
            if n_features != self.gnn_.n_coordinates:
                raise ValueError("the machine reads other coordinates than the GNN gives")

    def _predict_proba(self, graphs: GraphDataset) -> Floats:
        prepared = batches_of(graphs, self.node_features_, self.layers)
        return np.asarray(softmax(self.machine_.scores(self.gnn_.coordinates(prepared)), axis=1))
