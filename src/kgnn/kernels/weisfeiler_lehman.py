"""Weisfeiler-Lehman subtree features: how often each color occurs in each graph, depth by depth.

References
----------
Shervashidze et al., *Weisfeiler-Lehman graph kernels*, JMLR 12, 2011.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from kgnn.errors import ParameterError
from kgnn.graphs.graph import GraphDataset, Ints
from kgnn.kernels.coarse import coarse_colors
from kgnn.kernels.colors import colors, resolve_start
from kgnn.kernels.counted import CountedFeatures
from kgnn.kernels.counting import Counts, count_colors
from kgnn.kernels.numbering import Colors
from kgnn.kernels.subtrees import subtree


class WeisfeilerLehman(CountedFeatures):
    """Count Weisfeiler-Lehman colors.

    Colors are content hashes (see `kgnn.kernels.colors`), so `fit` learns nothing but the list of
    colors that become columns. Graphs seen later, in any process, get the same columns.

    Parameters
    ----------
    iterations : int
        Depth h; columns are the colors of depths 0 to h.
    start : {"auto", "labels", "degree", "constant"}
        What a node looks like at depth 0; ``auto`` takes labels where there are any, else what
        ``unlabeled`` says.
    unlabeled : {"degree", "constant"}
        Whether nodes without labels start from their degree or all alike, with ``start="auto"``.
    edge_labels : bool
        Whether edges of different labels make a difference.
    coarse : tuple of float
        Widths of coarse colors to count as well, three levels each; see `kgnn.kernels.coarse`.
    min_df : int
        Keep the colors that occur in at least so many of the graphs given to `fit`.
    counts : {"raw", "log", "sqrt", "binary"}
        What becomes of a count.
    normalize : {None, "graph", "level", "dataset"}
        Scale rows to length 1, as a whole or the columns of each level by themselves; or each
        level by one factor for all graphs, so that levels weigh alike and large graphs stay large
        (``dataset``). Colors outside the vocabulary count in the length: the result is the
        normalized kernel also for graphs that `fit` did not see.
    unseen : {"drop", "count"}
        With ``count``, one more column per depth holds the number of nodes whose color is not in
        the vocabulary.

    Attributes
    ----------
    vocabulary_ : list of (n_colors,) uint64
        Colors of each level, sorted; exact levels by depth, then coarse ones.
    levels_ : list of slice
        Columns of each level.
    scales_ : list of float
        Factor of each level, with ``normalize="dataset"``.
    start_ : str
        What ``auto`` turned out to be.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> graphs = cycles_and_trees(20)
    >>> wl = WeisfeilerLehman(iterations=2, normalize="graph").fit(graphs[:10])
    >>> wl.gram(graphs[10:12], graphs[:3]).shape
    (2, 3)
    """

    def __init__(
        self,
        iterations: int = 3,
        *,
        start: str = "auto",
        unlabeled: str = "degree",
        edge_labels: bool = False,
        coarse: tuple[float, ...] = (),
        min_df: int = 1,
        counts: str = "raw",
        normalize: str | None = None,
        unseen: str = "drop",
    ) -> None:
        self.iterations = iterations
        self.start = start
        self.unlabeled = unlabeled
        self.edge_labels = edge_labels
        self.coarse = coarse
        self.min_df = min_df
        self.counts = counts
        self.normalize = normalize
        self.unseen = unseen

    def occurrences(self, feature: int, graphs: GraphDataset) -> Ints:
        """Return the nodes, numbered over all graphs, whose color is a given column."""
        level, color = self._color_of(feature)
        coloring = next(islice(self._colorings(graphs), level, None))
        return np.flatnonzero(coloring == color)

    def describe(self, feature: int, graphs: GraphDataset) -> str:
        """Write out the rooted subtree behind a column, from a node of ``graphs`` that has it."""
        nodes = self.occurrences(feature, graphs)
        if len(nodes) == 0:
            raise ParameterError(f"no node of '{graphs.name}' has the color of feature {feature}")
        depth, _ = self._color_of(feature)
        if depth > self.iterations:
            raise ParameterError(f"feature {feature} is a coarse color, which has no one subtree")
        node = int(nodes[0])
        return subtree(graphs, node, depth, start=self.start_, edge_labels=self.edge_labels)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.str_]:
        """Name the columns by depth and color, such as ``wl1_9f3c…``."""
        check_is_fitted(self, "vocabulary_")
        names: list[str] = []
        for depth, vocabulary in enumerate(self.vocabulary_):
            names += [f"wl{depth}_{color:016x}" for color in vocabulary.tolist()]
            names += [f"wl{depth}_unseen"] * (self.unseen == "count")
        return np.array(names, dtype=np.str_)

    # -- inside -----------------------------------------------------------------------------------

    def _start(self, graphs: GraphDataset) -> None:
        if self.iterations < 0:
            raise ParameterError(f"WeisfeilerLehman needs iterations ≥ 0, got {self.iterations}.")
        self.start_ = resolve_start(graphs, self.start, self.unlabeled)

    def _count(self, graphs: GraphDataset) -> Counts:
        return count_colors(graphs, self._colorings(graphs))

    def _colorings(self, graphs: GraphDataset) -> Iterator[Colors]:
        """Yield the colors of every level: the exact ones by depth, then the coarse ones."""
        yield from colors(graphs, self.iterations, start=self.start_, edge_labels=self.edge_labels)
        for width in self.coarse:
            yield from coarse_colors(graphs, width)

    def _color_of(self, feature: int) -> tuple[int, np.uint64]:
        check_is_fitted(self, "vocabulary_")
        for depth, block in enumerate(self.levels_):
            if block.start <= feature < block.start + len(self.vocabulary_[depth]):
                return depth, self.vocabulary_[depth][feature - block.start]
        raise ParameterError(
            f"feature {feature} is not a color; there are {self.n_features_out_} columns"
        )
