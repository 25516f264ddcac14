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
from kgnn.graphs.graph import Floats, GraphDataset, Ints, ShortInts
from kgnn.graphs.interop import as_dataset
from kgnn.kernels.base import gram
from kgnn.kernels.coarse import coarse_colors
from kgnn.kernels.colors import colors, resolve_start
from kgnn.kernels.counting import Counts, count_colors
from kgnn.kernels.numbering import Colors
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
        return self._matrix(count_colors(graphs, self._colorings(graphs)))

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

    def _fit(self, graphs: GraphDataset) -> Counts:
        self._validate()
        self.start_ = resolve_start(graphs, self.start)
        counted = count_colors(graphs, self._colorings(graphs))
        self.vocabulary_ = self._frequent(counted)
        extra = int(self.unseen == "count")
        ends = np.cumsum([len(v) + extra for v in self.vocabulary_]).tolist()
        self.levels_ = [slice(a, b) for a, b in zip([0, *ends[:-1]], ends, strict=True)]
        self.n_features_out_ = ends[-1]
        if self.normalize == "dataset":
            self.scales_ = self._scales(counted, max(1, len(graphs)))
        return counted

    def _frequent(self, counted: Counts) -> list[Colors]:
        if self.min_df <= 1:
            return counted.colors
        frequency = np.bincount(counted.matrix.indices, minlength=counted.matrix.shape[1])
        ends = np.cumsum([len(each) for each in counted.colors])[:-1]
        enough = np.split(frequency >= self.min_df, ends)
        return [each[kept] for each, kept in zip(counted.colors, enough, strict=True)]

    def _scales(self, counted: Counts, n_graphs: int) -> list[float]:
        """Return the factors that make the mean squared length of each level's rows 1."""
        squares = COUNTS[self.counts](counted.matrix.data) ** 2
        totals = np.bincount(_levels(counted), weights=squares, minlength=len(counted.colors))
        return [float(np.sqrt(n_graphs / total)) if total > 0 else 1.0 for total in totals]

    def _colorings(self, graphs: GraphDataset) -> Iterator[Colors]:
        """Yield the colors of every level: the exact ones by depth, then the coarse ones."""
        yield from colors(graphs, self.iterations, start=self.start_, edge_labels=self.edge_labels)
        for width in self.coarse:
            yield from coarse_colors(graphs, width)

    def _matrix(self, counted: Counts) -> sparse.csr_array:
        """Transform and scale counts, and give them the columns of the vocabulary."""
        found = counted.matrix
        values = COUNTS[self.counts](found.data)
        if self.normalize is not None:
            values = values * self._factors(counted, values)
        columns = found.indices
        if self.vocabulary_ is not counted.colors:
            columns = self._columns(counted.colors)[columns]
        shape = (found.shape[0], self.n_features_out_)
        matrix = sparse.csr_array((values, columns, found.indptr), shape=shape)
        if self.vocabulary_ is not counted.colors:
            matrix = _without_negative_columns(matrix)
        if self.unseen == "count":
            matrix.sum_duplicates()
        return matrix

    def _columns(self, found: list[Colors]) -> ShortInts:
        """Return the column of each color that was found; −1 for one that is dropped."""
        columns = []
        for block, vocabulary, level in zip(self.levels_, self.vocabulary_, found, strict=True):
            position = np.searchsorted(vocabulary, level)
            known = np.zeros(len(level), dtype=np.bool_)
            inside = position < len(vocabulary)
            known[inside] = vocabulary[position[inside]] == level[inside]
            other = block.stop - 1 if self.unseen == "count" else -1
            columns.append(np.where(known, position + block.start, other).astype(np.int32))
        return np.concatenate(columns)

    def _factors(self, counted: Counts, values: Floats) -> Floats:
        """Return the factor of each entry."""
        if self.normalize == "dataset":
            return np.asarray(self.scales_)[_levels(counted)]
        n_graphs, n_levels = counted.matrix.shape[0], len(counted.colors)
        block = np.repeat(np.arange(n_graphs), np.diff(counted.matrix.indptr))
        if self.normalize == "level":
            block = block * n_levels + _levels(counted)
        squares = np.bincount(block, weights=values**2)
        lengths = np.sqrt(squares, out=np.ones_like(squares), where=squares > 0)
        return np.asarray(1.0 / lengths[block])

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


def _levels(counted: Counts) -> Ints:
    """Return the level of each entry."""
    ends = np.cumsum([len(each) for each in counted.colors])
    return np.searchsorted(ends, counted.matrix.indices, side="right")


def _without_negative_columns(matrix: sparse.csr_array) -> sparse.csr_array:
    kept = matrix.indices >= 0
    offsets = np.concatenate([[0], np.cumsum(kept)])[matrix.indptr]
    return sparse.csr_array((matrix.data[kept], matrix.indices[kept], offsets), shape=matrix.shape)
