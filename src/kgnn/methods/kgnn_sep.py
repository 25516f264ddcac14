"""KGNN-Sep: each network is taught what the other is sure of, agreed or not (§5.3)."""

from __future__ import annotations

from kgnn.engine.selection import Selection, most_confident
from kgnn.estimator.parameters import parameters
from kgnn.graphs.graph import Floats
from kgnn.methods.kgnn import KGNN


@parameters
class KGNNSep(KGNN):
    """KGNN without the check that both networks agree.

    The k graphs that q_φ is most confident of teach p_θ, with q's classes, and the other way
    round. See `KGNN` for the parameters.

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

    idle_parameters = frozenset({"candidates"})  # no lists are compared

    def _select(self, proba: list[Floats], k: int) -> list[Selection]:
        p, q = proba
        return [most_confident(q, k, self._quotas()), most_confident(p, k, self._quotas())]
