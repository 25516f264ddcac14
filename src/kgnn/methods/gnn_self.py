"""GNN-Self: self-training of the graph neural network (§5.3)."""

from __future__ import annotations

from typing import Literal

from kgnn.engine.rounds import self_train
from kgnn.engine.task import OutOfFold, Task
from kgnn.estimator.parameters import parameters
from kgnn.methods.kgnn import PaperSettings
from kgnn.methods.neural import GNNSettings, TrainingSettings
from kgnn.methods.rounds import RoundsClassifier


@parameters
class GNNSelf(PaperSettings, GNNSettings, TrainingSettings, RoundsClassifier):
    """Self-training: KGNN's rounds with the GNN alone, trained on its own annotations.

    See `GNNSettings` and `RoundsClassifier` for the parameters.

    Parameters
    ----------
    gnn_start : {"random", "trained"}
        What annotates before the GNN is taught; see `KGNN`.
    use_edge_labels : bool
        Whether to use labels, directions, weights and attributes of edges.

    References
    ----------
    Ju et al., *KGNN*, WSDM 2022, §5.3.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> graphs = cycles_and_trees(40)
    >>> GNNSelf(epochs=5, rounds=1).fit(graphs).predict_proba(graphs[:3]).shape
    (3, 2)
    """

    gnn_start: Literal["random", "trained"] = "random"
    use_edge_labels: bool = True

    def _fit(self, task: Task) -> OutOfFold | None:
        task = self._without_validation(task)
        gnn = self._gnn(task)
        if self.gnn_start == "random" and self.rounds > 0 and len(task.unlabeled) > 0:
            self._start_untrained(task, gnn)
        course = self_train(gnn, task, self._plan(), self.rank_by)
        return self._finish(task, [gnn], course)
