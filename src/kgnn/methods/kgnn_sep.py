"""KGNN-Sep: each network is trained on the other's confident annotations, agreed or not (§5.3)."""

from __future__ import annotations

from typing import Literal

from kgnn.engine.calibration import ALL
from kgnn.engine.memory import Memory
from kgnn.engine.network import Fitted
from kgnn.engine.rounds import Selection, most_confident
from kgnn.engine.task import OutOfFold, Task
from kgnn.estimator.parameters import NonNegative, parameters
from kgnn.graphs.graph import Floats
from kgnn.methods.kgnn import MemoryNetwork, PaperSettings, co_train, memory_in
from kgnn.methods.memory import MemorySettings
from kgnn.methods.neural import GNNSettings, TrainingSettings
from kgnn.methods.rounds import RoundsClassifier


@parameters
class KGNNSep(PaperSettings, GNNSettings, MemorySettings, TrainingSettings, RoundsClassifier):
    """KGNN without the check that both networks agree.

    The GNN is trained on the k graphs that the memory is most confident of, with the memory's
    classes, and vice versa. See `KGNN` for the parameters.

    References
    ----------
    Ju et al., *KGNN*, WSDM 2022, §5.3.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> graphs = cycles_and_trees(40)
    >>> KGNNSep(epochs=5, rounds=1).fit(graphs).predict_proba(graphs[:3]).shape
    (3, 2)
    """

    memory_labels: bool = True
    memory_learning_rate: NonNegative = 0.01
    memory_grows: bool = True
    gnn_start: Literal["random", "trained"] = "random"
    start_memory: bool = True
    order: Literal["alternate", "together"] = "alternate"
    predict_with: Literal["all", "gnn", "memory"] = "all"
    average_rounds: bool = False  # the first GNN is weak with few labels

    def _fit(self, task: Task) -> OutOfFold | None:
        task = self._without_validation(task)
        gnn = self._gnn(task)
        if self.gnn_start == "random" and self.rounds > 0 and len(task.unlabeled) > 0:
            self._start_untrained(task, gnn)
        rate, labels, grows = self.memory_learning_rate, self.memory_labels, self.memory_grows
        memory = self._memory(task, MemoryNetwork, learning_rate=rate, labels=labels, grows=grows)
        plan = self._plan(judge=self.predict_with)

        def select(
            p: Floats, q: Floats, k: int, shares: Floats | None
        ) -> tuple[Selection, Selection]:
            for_gnn = most_confident(q, k, shares, self.rank_by)
            return for_gnn, most_confident(p, k, shares, self.rank_by)

        start, order = self.start_memory, self.order
        course = co_train(gnn, memory, task, plan, select, start_memory=start, order=order)
        return self._finish(task, [gnn, memory], course)

    def _predictor(self) -> str:
        return self.predict_with if len(self.networks_) > 1 else ALL

    def _trained_memory(self) -> tuple[Memory, list[Fitted]] | None:
        return memory_in(self)
