"""GK: a support vector machine on graphlet counts."""

from __future__ import annotations

from itertools import product
from typing import Literal

from kgnn.estimator.parameters import Count, parameters
from kgnn.kernels.base import Featurizer
from kgnn.kernels.graphlets import Graphlets
from kgnn.methods.featurized import FeaturizedClassifier


@parameters
class GK(FeaturizedClassifier):
    """The graphlet kernel with a support vector machine.

    Node labels are ignored. Sizes, scaling and C are chosen by `FeaturizedClassifier`;
    unlabeled graphs are not used.

    Parameters
    ----------
    sizes : tuple of {3, 4, 5}
        Largest graphlets to choose from; smaller ones count as well.
    scaling : tuple of {"share", "log"}
        Shares among all sets of nodes, as in the kernel's paper, or logarithms of counts, to
        choose from.
    normalize : tuple of {"graph", "level", None}
        Normalizations to choose from.
    connected_only : bool
        Leave out graphlets that are not connected.
    samples : int or None
        Sets of nodes to draw where counting is too costly; None for an error of the shares of at
        most 0.1 in nine graphs of ten.

    References
    ----------
    Shervashidze et al., *Efficient graphlet kernels for large graph comparison*, AISTATS 2009.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> graphs = cycles_and_trees(60)
    >>> model = GK().fit(graphs[:40], graphs.targets[:40])
    >>> model.score(graphs[40:], graphs.targets[40:]) > 0.9
    True
    """

    sizes: tuple[Literal[3, 4, 5], ...] = (3, 4)
    # Paper silent: it names the kernel alone. In sparse graphs nearly all sets of nodes are
    # without an edge, so that shares hardly differ; logarithms of counts do.
    scaling: tuple[Literal["share", "log"], ...] = ("share", "log")
    normalize: tuple[Literal["graph", "level", None], ...] = ("graph", None)
    connected_only: bool = False
    samples: Count | None = None

    def _unread(self) -> tuple[str, ...]:
        return ("node_labels",)

    def _featurizers(self) -> list[Featurizer]:
        return [
            Graphlets(
                tuple(range(3, largest + 1)),
                samples=self.samples,
                connected_only=self.connected_only,
                shares=scaling == "share",
                counts="raw" if scaling == "share" else "log",
                normalize=normalize,
                seed=self.random_state,
            )
            for largest, scaling, normalize in product(self.sizes, self.scaling, self.normalize)
        ]
