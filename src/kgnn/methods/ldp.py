"""LDP: a random forest on degree profiles, the simplest strong peer (not in the paper)."""

from __future__ import annotations

from kgnn.estimator.parameters import parameters
from kgnn.kernels.base import Featurizer
from kgnn.kernels.degree_profiles import DegreeProfiles
from kgnn.methods.forest import ForestClassifier


@parameters
class LDP(ForestClassifier):
    """Shares of nodes by degree, by their neighbors' degrees and by label, with a random forest.

    See `ForestClassifier` for the parameters.

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

    def _featurizer(self) -> Featurizer:
        return DegreeProfiles()
