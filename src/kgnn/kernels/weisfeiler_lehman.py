"""Weisfeiler-Lehman subtree features: how often each color occurs in each graph, depth by depth.

References
----------
Shervashidze et al., *Weisfeiler-Lehman graph kernels*, JMLR 12, 2011.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from kgnn.errors import ParameterError
from kgnn.graphs.graph import Floats, GraphDataset, Ints, ShortInts, offsets_of, ranges
from kgnn.graphs.interop import as_dataset
from kgnn.kernels.base import gram
from kgnn.kernels.coarse import coarse_colors
from kgnn.kernels.colors import Colors, colors, resolve_start
from kgnn.kernels.counting import Level, count_colors
from kgnn.kernels.subtrees import subtree

COUNTS: dict[str, Callable[[Floats], Floats]] = {
    "raw": lambda counts: counts,
    "log": np.log1p,
    "sqrt": np.sqrt,
    "binary": np.ones_like,
}
NORMALIZE = (None, "graph", "level", "dataset")
UNSEEN = ("drop", "count")


class WeisfeilerLehman(TransformerMixin, BaseEstimator):
    """Count Weisfeiler-Lehman colors.

    Colors are content hashes (see `kgnn.kernels.colors`), so `fit` learns nothing but the list of
    colors that become columns. Graphs seen later, in any process, get the same columns.

    Parameters
    ----------
    iterations : int
        Depth h; columns are the colors of depths 0 to h.
    start : {"auto", "labels", "degree", "constant"}
        What a node looks like at depth 0; ``auto`` takes labels where there are any, else degrees.
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
    >>> from kgnn.graphs.toy import cycles_and_trees
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
        edge_labels: bool = False,
        coarse: tuple[float, ...] = (),
        min_df: int = 1,
        counts: str = "raw",
        normalize: str | None = None,
        unseen: str = "drop",
    ) -> None:
        self.iterations = iterations
        self.start = start
        self.edge_labels = edge_labels
        self.coarse = coarse
        self.min_df = min_df
        self.counts = counts
        self.normalize = normalize
        self.unseen = unseen

    def fit(self, graphs: GraphDataset, y: Any = None) -> WeisfeilerLehman:
        """Keep the colors of these graphs as columns."""
        self._fit(as_dataset(graphs))
        return self

    def fit_transform(self, graphs: GraphDataset, y: Any = None) -> sparse.csr_array:
        """Keep the colors of these graphs as columns and return the features."""
        graphs = as_dataset(graphs)
        return self._matrix(self._fit(graphs))

    def transform(self, graphs: GraphDataset) -> sparse.csr_array:
        """Return the features of graphs as a CSR matrix, ``(n_graphs, n_features)``."""
        check_is_fitted(self, "vocabulary_")
        graphs = as_dataset(graphs)
        return self._matrix(count_colors(graphs, self._colorings))

    def gram(self, graphs: GraphDataset, others: GraphDataset | None = None) -> Floats:
        """Return kernel values between graphs, over the colors in the vocabulary."""
        features = self.transform(graphs)
        return gram(features, None if others is None else self.transform(others))

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

    def _fit(self, graphs: GraphDataset) -> list[Level]:
        self._validate()
        self.start_ = resolve_start(graphs, self.start)
        levels = count_colors(graphs, self._colorings)
        self.vocabulary_ = [self._frequent(level) for level in levels]
        extra = int(self.unseen == "count")
        ends = np.cumsum([len(v) + extra for v in self.vocabulary_]).tolist()
        self.levels_ = [slice(a, b) for a, b in zip([0, *ends[:-1]], ends, strict=True)]
        self.n_features_out_ = ends[-1]
        self.scales_ = [self._scale(level, max(1, len(graphs))) for level in levels]
        return levels

    def _scale(self, level: Level, n_graphs: int) -> float:
        """Return the factor that makes the mean squared length of a level's rows 1."""
        square = float((COUNTS[self.counts](level.counts) ** 2).sum())
        return float(np.sqrt(n_graphs / square)) if square > 0 else 1.0

    def _frequent(self, level: Level) -> Colors:
        if self.min_df <= 1:
            return level.colors
        frequency = np.bincount(level.columns, minlength=len(level.colors))
        return level.colors[frequency >= self.min_df]

    def _colorings(self, graphs: GraphDataset) -> Iterator[Colors]:
        """Yield the colors of every level: the exact ones by depth, then the coarse ones."""
        yield from colors(graphs, self.iterations, start=self.start_, edge_labels=self.edge_labels)
        for width in self.coarse:
            yield from coarse_colors(graphs, width)

    def _matrix(self, levels: list[Level]) -> sparse.csr_array:
        """Put the levels side by side, with counts transformed and rows scaled."""
        values = [COUNTS[self.counts](level.counts) for level in levels]
        lengths = [np.diff(level.offsets) for level in levels]
        if self.normalize == "dataset":
            values = [value * scale for value, scale in zip(values, self.scales_, strict=True)]
        elif self.normalize is not None:
            scales = self._scales(levels, values)
            values = [v * np.repeat(s, n) for v, s, n in zip(values, scales, lengths, strict=True)]
        columns = [self._columns(depth, level) for depth, level in enumerate(levels)]
        matrix = side_by_side(columns, values, lengths, self.n_features_out_)
        if any((column < 0).any() for column in columns):
            matrix = _without_negative_columns(matrix)
        if self.unseen == "count":
            matrix.sum_duplicates()
        return matrix

    def _columns(self, depth: int, level: Level) -> ShortInts:
        """Return the column of each entry; −1 for a color that is dropped."""
        block, vocabulary = self.levels_[depth], self.vocabulary_[depth]
        if vocabulary is level.colors:
            return level.columns + np.int32(block.start)
        position = np.searchsorted(vocabulary, level.colors)
        known = np.zeros(len(level.colors), dtype=np.bool_)
        inside = position < len(vocabulary)
        known[inside] = vocabulary[position[inside]] == level.colors[inside]
        other = block.stop - 1 if self.unseen == "count" else -1
        return np.where(known, position + block.start, other).astype(np.int32)[level.columns]

    def _scales(self, levels: list[Level], values: list[Floats]) -> list[Floats]:
        """Return one factor per graph and depth that makes rows, or their blocks, length 1."""
        n_graphs = len(levels[0].offsets) - 1
        squares = [
            np.bincount(level.rows, weights=value**2, minlength=n_graphs)
            for level, value in zip(levels, values, strict=True)
        ]
        if self.normalize == "graph":
            squares = [np.sum(squares, axis=0)] * len(levels)
        return [
            np.divide(1.0, np.sqrt(s), out=np.zeros_like(s, dtype=np.float64), where=s > 0)
            for s in squares
        ]

    def _color_of(self, feature: int) -> tuple[int, np.uint64]:
        check_is_fitted(self, "vocabulary_")
        for depth, block in enumerate(self.levels_):
            if block.start <= feature < block.start + len(self.vocabulary_[depth]):
                return depth, self.vocabulary_[depth][feature - block.start]
        raise ParameterError(
            f"feature {feature} is not a color; there are {self.n_features_out_} columns"
        )

    def _validate(self) -> None:
        for parameter, value, allowed in (
            ("counts", self.counts, tuple(COUNTS)),
            ("normalize", self.normalize, NORMALIZE),
            ("unseen", self.unseen, UNSEEN),
        ):
            if value not in allowed:
                raise ParameterError(
                    f"The '{parameter}' parameter of WeisfeilerLehman must be one of {allowed}, "
                    f"got {value!r}."
                )
        if self.iterations < 0 or self.min_df < 1:
            raise ParameterError(
                "WeisfeilerLehman needs iterations ≥ 0 and min_df ≥ 1, "
                f"got {self.iterations} and {self.min_df}."
            )


def side_by_side(
    columns: list[ShortInts], values: list[Floats], lengths: list[Ints], n_columns: int
) -> sparse.csr_array:
    """Join matrices, each given by the columns, values and lengths of its rows, row by row."""
    offsets = offsets_of(np.sum(lengths, axis=0))
    indices = np.empty(offsets[-1], dtype=np.int32)
    data = np.empty(offsets[-1])
    begin = offsets[:-1].copy()
    for column, value, length in zip(columns, values, lengths, strict=True):
        place = ranges(begin, length)
        indices[place] = column
        data[place] = value
        begin += length
    return sparse.csr_array((data, indices, offsets), shape=(len(offsets) - 1, n_columns))


def _without_negative_columns(matrix: sparse.csr_array) -> sparse.csr_array:
    kept = matrix.indices >= 0
    offsets = np.concatenate([[0], np.cumsum(kept)])[matrix.indptr]
    return sparse.csr_array((matrix.data[kept], matrix.indices[kept], offsets), shape=matrix.shape)
