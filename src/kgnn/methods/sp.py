"""SP: a support vector machine on shortest-path features."""

from __future__ import annotations

from itertools import product
from typing import Literal

from kgnn.estimator.parameters import Count, parameters
from kgnn.kernels.base import Featurizer
from kgnn.kernels.shortest_paths import ShortestPaths
from kgnn.methods.featurized import FeaturizedClassifier


@parameters
class SP(FeaturizedClassifier):
    """The shortest-path kernel with a support vector machine.

    Labels of ends, count transform, normalization and C are chosen by `FeaturizedClassifier`;
    unlabeled graphs are not used.

    Parameters
    ----------
    counts : tuple of {"raw", "log", "sqrt", "binary"}
        Count transforms to choose from.
    normalize : tuple of {"graph", None}
        Normalizations to choose from.
    max_distance : tuple of int or None
        Longest distances to choose from; None for no limit.
    start : tuple of {"auto", "labels", "degree", "constant"}
        What tells the ends of a path apart, to choose from; see `ShortestPaths`.

    References
    ----------
    Borgwardt & Kriegel, *Shortest-path kernels on graphs*, ICDM 2005.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> graphs = cycles_and_trees(60)
    >>> model = SP().fit(graphs[:40], graphs.targets[:40])
    >>> model.score(graphs[40:], graphs.targets[40:]) > 0.9
    True
    """

    # Paper silent: it names the kernel alone. The number of pairs grows with the square of the
    # number of nodes, so raw counts mostly compare sizes.
    counts: tuple[Literal["raw", "log", "sqrt", "binary"], ...] = ("raw", "log", "sqrt")
    normalize: tuple[Literal["graph", None], ...] = ("graph", None)
    max_distance: tuple[Count | None, ...] = (None,)
    # Paper silent: without labels, distances alone say little of dense graphs.
    start: tuple[Literal["auto", "labels", "degree", "constant"], ...] = ("auto", "degree")

    def _featurizers(self) -> list[Featurizer]:
        return [
            ShortestPaths(start=start, counts=counts, normalize=normalize, max_distance=distance)
            for start, distance, counts, normalize in product(
                self.start, self.max_distance, self.counts, self.normalize
            )
        ]
