"""GNN-Self: the graph neural network teaches itself (§5.3)."""

from __future__ import annotations

from kgnn.engine.network import Network
from kgnn.engine.selection import Selection, most_confident
from kgnn.engine.task import Task
from kgnn.estimator.parameters import parameters
from kgnn.graphs.graph import Floats
from kgnn.methods.kgnn import KGNN, OF_BOTH, OF_THE_MEMORY


@parameters
class GNNSelf(KGNN):
    """Self-training: KGNN's rounds with p_θ alone, which annotates for itself.

    See `KGNN` for the parameters; those of the memory network, and of two networks, are refused.

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

    idle_parameters = OF_THE_MEMORY | OF_BOTH

    def _networks(self, task: Task) -> list[Network]:
        return [self._gnn(task)]

    def _select(self, proba: list[Floats], k: int) -> list[Selection]:
        return [most_confident(proba[0], k, self._quotas())]
