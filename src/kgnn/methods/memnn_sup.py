"""MemNN-Sup: the memory network on the labeled graphs alone (§5.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kgnn.engine.network import Network
from kgnn.engine.task import Task
from kgnn.estimator.parameters import CountOrZero, parameters
from kgnn.methods.gnn_self import GNNSelf
from kgnn.methods.kgnn import OF_BOTH, OF_THE_GNN

if TYPE_CHECKING:
    from typing_extensions import Self


@parameters
class MemNNSup(GNNSelf):
    """The kernel-based memory network q_φ, trained on labeled graphs.

    Unlabeled graphs lend their features to the projection, as in KGNN, and nothing else, unless
    ``rounds`` are asked for, in which q_φ then teaches itself. See `KGNN` for the parameters;
    those of the GIN, and of two networks, are refused.

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

    rounds: CountOrZero = 0

    idle_parameters = OF_THE_GNN | OF_BOTH

    @classmethod
    def paper(cls, **settings: Any) -> Self:
        """Return the paper's settings of q_φ; it is trained once."""
        return super().paper(**{"rounds": 0, **settings})

    def _networks(self, task: Task) -> list[Network]:
        return [self._memory(task)]
