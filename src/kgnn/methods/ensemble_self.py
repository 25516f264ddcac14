"""Ensemble-Self: both networks as one model that teaches itself (§5.3)."""

from __future__ import annotations

from torch import nn

from kgnn.engine.ensemble import EnsembleNetwork
from kgnn.engine.joint import JointNetwork
from kgnn.engine.network import Network
from kgnn.engine.task import Task
from kgnn.estimator.parameters import parameters
from kgnn.methods.gnn_self import GNNSelf
from kgnn.methods.kgnn import OF_BOTH


@parameters
class EnsembleSelf(GNNSelf):
    """Self-training of one model on the vectors of p_θ and q_φ side by side.

    See `KGNN` for the parameters. As one model, both parts learn at ``learning_rate``, and one
    classifier reads them both, so that ``memory_labels`` and ``memory_learning_rate`` have no say.

    References
    ----------
    Ju et al., *KGNN*, WSDM 2022, §5.3.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> graphs = cycles_and_trees(40)
    >>> EnsembleSelf(epochs=5, rounds=1).fit(graphs).predict_proba(graphs[:3]).shape
    (3, 2)
    """

    idle_parameters = OF_BOTH | {"memory_labels", "memory_learning_rate"}

    def _networks(self, task: Task) -> list[Network]:
        def build(gin: nn.Module, memory: nn.Module) -> EnsembleNetwork:
            return EnsembleNetwork(gin, memory, task.n_classes, self.width, self.dropout)  # type: ignore[arg-type]

        return [JointNetwork(self._gnn(task), self._memory(task), build)]
