"""WL: a support vector machine on Weisfeiler-Lehman subtree features."""

from __future__ import annotations

from itertools import product
from typing import Literal

from kgnn.estimator.parameters import CountOrZero, parameters
from kgnn.kernels.base import Featurizer
from kgnn.kernels.optimal_assignment import OptimalAssignment
from kgnn.kernels.weisfeiler_lehman import WeisfeilerLehman
from kgnn.methods.featurized import FeaturizedClassifier


@parameters
class WL(FeaturizedClassifier):
    """The Weisfeiler-Lehman subtree kernel with a support vector machine.

    Depth, count transform, normalization and C are selected by `FeaturizedClassifier`; unlabeled
    graphs are not used.

    Parameters
    ----------
    iterations : tuple of int
        Depths to choose from.
    counts : tuple of {"raw", "log", "sqrt", "binary"}
        Count transforms to choose from.
    normalize : tuple of {"graph", "level", None}
        Normalizations to choose from.
    start : {"auto", "labels", "degree", "constant"}
        Color of a node at depth 0.
    use_node_attributes, use_edge_labels : bool
        Whether to use node attributes, and labels and other data of edges.
    kernel : {"subtree", "assignment"}
        The subtree kernel, or the optimal assignment kernel (Kriege et al., NeurIPS 2016).

    References
    ----------
    Shervashidze et al., *Weisfeiler-Lehman graph kernels*, JMLR 12, 2011.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> graphs = cycles_and_trees(60)
    >>> model = WL().fit(graphs[:40], graphs.targets[:40])
    >>> model.score(graphs[40:], graphs.targets[40:])
    1.0
    """

    iterations: tuple[CountOrZero, ...] = (0, 1, 2, 3)
    # Paper silent: it names the kernel alone. Counts of a few large graphs dominate raw features.
    counts: tuple[Literal["raw", "log", "sqrt", "binary"], ...] = ("raw", "log", "sqrt")
    normalize: tuple[Literal["graph", "level", None], ...] = ("graph", None)
    start: Literal["auto", "labels", "degree", "constant"] = "auto"
    use_node_attributes: bool = True
    use_edge_labels: bool = True
    kernel: Literal["subtree", "assignment"] = "subtree"

    def _featurizers(self) -> list[Featurizer]:
        is_assignment = self.kernel == "assignment"
        featurizer = OptimalAssignment if is_assignment else WeisfeilerLehman
        transforms = ("raw",) if is_assignment else self.counts
        return [
            featurizer(
                depth,
                counts=counts,
                normalize=normalize,
                start=self.start,
            )
            for depth, counts, normalize in product(self.iterations, transforms, self.normalize)
        ]
