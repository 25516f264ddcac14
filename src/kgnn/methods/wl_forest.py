"""WL-Forest: a random forest on Weisfeiler-Lehman counts (not in the paper)."""

from __future__ import annotations

from typing import Literal

from kgnn.estimator.parameters import Count, CountOrZero, parameters
from kgnn.kernels.base import Featurizer
from kgnn.kernels.weisfeiler_lehman import WeisfeilerLehman
from kgnn.methods.forest import ForestClassifier


@parameters
class WLForest(ForestClassifier):
    """How often each Weisfeiler-Lehman color occurs in a graph, with a random forest.

    The features of `kgnn.methods.wl.WL` without a kernel: a tree asks for one color at a time, so
    that colors which tell nothing do not blur those that do. Unlabeled graphs say which colors
    there are. See `ForestClassifier` for the other parameters.

    Parameters
    ----------
    iterations : int
        Depth of the colors.
    start : {"auto", "labels", "degree", "constant"}
        What a node looks like at depth 0.
    min_df : int
        Colors that fewer training graphs have are left out.
    use_node_attributes, use_edge_labels : bool
        Whether what nodes and edges carry makes a difference, where the graphs have it.

    References
    ----------
    Shervashidze et al., *Weisfeiler-Lehman graph kernels*, JMLR 12, 2011; Breiman, *Random
    forests*, Machine Learning 45, 2001.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> graphs = cycles_and_trees(60)
    >>> WLForest().fit(graphs[:40]).score(graphs[40:])
    1.0
    """

    iterations: CountOrZero = 3
    start: Literal["auto", "labels", "degree", "constant"] = "auto"
    # Paper silent: neither paper has this pair. A color of one or two graphs cannot split a forest
    # usefully, and most deep colors are such. The shape of counts does not matter to a tree.
    min_df: Count = 3
    use_node_attributes: bool = True
    use_edge_labels: bool = True

    def _featurizer(self) -> Featurizer:
        return WeisfeilerLehman(self.iterations, start=self.start, min_df=self.min_df)
