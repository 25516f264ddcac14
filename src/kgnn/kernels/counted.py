"""Features that are counts: what each graph contains, scaled, with one column per kind of thing.

A kernel that compares graphs by what they contain (subtrees, paths, graphlets) says what to count,
as 64-bit hashes of the content; all else is here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from kgnn.errors import ParameterError
from kgnn.graphs.graph import Floats, GraphDataset, Ints, ShortInts, offsets_of
from kgnn.graphs.interop import as_dataset
from kgnn.kernels.base import Features, Featurizer, gram
from kgnn.kernels.colors import Colors, numbered

COUNTS: dict[str, Callable[[Floats], Floats]] = {
    "raw": lambda counts: counts,
    "log": np.log1p,
    "sqrt": np.sqrt,
    "binary": np.ones_like,
}
NORMALIZE = (None, "graph", "level", "dataset")
UNSEEN = ("drop", "count")
_AFTER_COUNTING = ("counts", "normalize", "min_df", "unseen")
# What `_start` settles; the cells of attributes follow from the graphs and the parameters.
_SETTLED = ("start_", "edge_kinds_", "widths_", "scaling_")
# Nodes counted at a time: what is sorted fits the second-level cache.
_NODES_PER_PIECE = 1 << 14
_COLUMN = np.int64((1 << 32) - 1)


class Counts(NamedTuple):
    """How often each graph has each color."""

    colors: list[Colors]  # of each level, sorted
    matrix: sparse.csr_array  # columns are the colors of the first level, of the second, and so on


class CountedFeatures(TransformerMixin, BaseEstimator):
    """Base of featurizers whose columns are counted things, in one or several levels.

    A subclass implements `_count` and takes those parameters below that make sense for it.

    Parameters
    ----------
    min_df : int
        Keep the things that occur in at least so many of the graphs given to `fit`.
    counts : {"raw", "log", "sqrt", "binary"}
        What becomes of a count.
    normalize : {None, "graph", "level", "dataset"}
        Scale rows to length 1, as a whole or the columns of each level by themselves; or each
        level by one factor for all graphs, so that levels weigh alike and large graphs stay large
        (``dataset``). Things outside the vocabulary count in the length: the result is the
        normalized kernel also for graphs that `fit` did not see.
    unseen : {"drop", "count"}
        With ``count``, one more column per level counts what is not in the vocabulary.

    Attributes
    ----------
    vocabulary_ : list of (n,) uint64
        Things of each level, sorted.
    levels_ : list of slice
        Columns of each level.
    scales_ : list of float
        Factor of each level, with ``normalize="dataset"``.
    """

    min_df: int = 1
    counts: str = "raw"
    normalize: str | None = None
    unseen: str = "drop"

    def fit(self, graphs: GraphDataset, y: Any = None) -> Any:
        """Learn the columns from these graphs."""
        self._fit(as_dataset(graphs))
        return self

    def fit_transform(self, graphs: GraphDataset, y: Any = None) -> sparse.csr_array:
        """Learn the columns from these graphs and return their features."""
        return self._matrix(self._fit(as_dataset(graphs)))

    def transform(self, graphs: GraphDataset) -> sparse.csr_array:
        """Return the features of graphs as a CSR matrix, ``(n_graphs, n_features)``."""
        check_is_fitted(self, "vocabulary_")
        return self._matrix(self._count(as_dataset(graphs)))

    def transform_with_lengths(self, graphs: GraphDataset) -> tuple[sparse.csr_array, Floats]:
        """Return features, and the squared length of each row with what is not in the vocabulary.

        Of features as they are, not normalized.
        """
        check_is_fitted(self, "vocabulary_")
        counted = self._count(as_dataset(graphs))
        squares = COUNTS[self.counts](counted.matrix.data).astype(np.float64) ** 2
        row = np.repeat(np.arange(counted.matrix.shape[0]), np.diff(counted.matrix.indptr))
        lengths = np.bincount(row, weights=squares, minlength=counted.matrix.shape[0])
        return self._matrix(counted), lengths.astype(np.float64)  # of nothing: integers

    def gram(self, graphs: GraphDataset, others: GraphDataset | None = None) -> Floats:
        """Return kernel values between graphs, restricted to the vocabulary."""
        features = self.transform(graphs)
        return gram(features, None if others is None else self.transform(others))

    def require_sound(self) -> None:
        """Refuse columns, read from a file, that are not those of a sorted vocabulary."""
        vocabulary, ends = getattr(self, "vocabulary_", None), [0]
        if vocabulary is None:  # not fitted: a parameter
            return
        for each in vocabulary:
            is_list = isinstance(each, np.ndarray) and (each.dtype, each.ndim) == (np.uint64, 1)
            if not is_list or not (each[1:] > each[:-1]).all():
                raise ValueError(f"the vocabulary of '{type(self).__name__}' is not sorted")
            ends.append(ends[-1] + len(each) + (self.unseen == "count"))
        blocks = [slice(a, b) for a, b in pairwise(ends)]
        scales = getattr(self, "scales_", [1.0] * len(blocks))
        if (
            self.levels_ != blocks
            or self.n_features_out_ != ends[-1]
            or len(scales) != len(blocks)
            or not all(type(each) is float and each > 0 for each in scales)
        ):
            raise ValueError(f"the columns of '{type(self).__name__}' are not its vocabulary's")

    def _count(self, graphs: GraphDataset) -> Counts:
        """Count what each graph contains."""
        raise NotImplementedError

    @property
    def counting(self) -> tuple[str, ...]:
        """Everything that determines the counts: class, parameters, and choices of `fit`."""
        settings = {k: v for k, v in self.get_params().items() if k not in _AFTER_COUNTING}
        settled = {k: v for k, v in vars(self).items() if k in _SETTLED}
        return type(self).__module__, type(self).__qualname__, repr(settings), repr(settled)

    def _start(self, graphs: GraphDataset) -> None:
        """Check parameters and make the choices of `fit` that precede counting."""

    def _fit(self, graphs: GraphDataset, shared: SharedCounts | None = None) -> Counts:
        self._validate()
        self._start(graphs)
        counted = self._count(graphs) if shared is None else shared.counts(self, graphs)
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

    def _matrix(self, counted: Counts) -> sparse.csr_array:
        """Transform and scale counts, and give them the columns of the vocabulary."""
        found = counted.matrix
        values = COUNTS[self.counts](found.data)
        if self.normalize is not None:
            values = values * self._factors(counted, values)
        columns = found.indices
        # While fitting, the columns are those of the counts, unless levels have one more.
        moved = self.vocabulary_ is not counted.colors or self.unseen == "count"
        if moved:
            found_in = [self.columns_of(*each) for each in enumerate(counted.colors)]
            columns = np.concatenate(found_in)[columns]
        shape = (found.shape[0], self.n_features_out_)
        matrix = short_csr(values, columns, found.indptr, shape)
        if moved:
            matrix = _without_negative_columns(matrix)
        if self.unseen == "count":
            matrix.sum_duplicates()
        return matrix

    def columns_of(self, level: int, things: Colors) -> ShortInts:
        """Return the column of each thing of a level; −1 for one that is dropped."""
        block, vocabulary = self.levels_[level], self.vocabulary_[level]
        position = np.searchsorted(vocabulary, things)
        known = np.zeros(len(things), dtype=np.bool_)
        inside = position < len(vocabulary)
        known[inside] = vocabulary[position[inside]] == things[inside]
        other = block.stop - 1 if self.unseen == "count" else -1
        return np.where(known, position + block.start, other).astype(np.int32)

    def _factors(self, counted: Counts, values: Floats) -> Floats:
        """Return the factor of each entry."""
        if self.normalize == "dataset":
            return np.asarray(self.scales_)[_levels(counted)]
        n_graphs, n_levels = counted.matrix.shape[0], len(counted.colors)
        block = np.repeat(np.arange(n_graphs), np.diff(counted.matrix.indptr))
        if self.normalize == "level":
            block = block * n_levels + _levels(counted)
        squares = np.bincount(block, weights=values**2).astype(np.float64)  # of nothing: integers
        lengths = np.sqrt(squares, out=np.ones_like(squares), where=squares > 0)
        return np.asarray(1.0 / lengths[block])

    def _validate(self) -> None:
        name = type(self).__name__
        for parameter, value, allowed in (
            ("counts", self.counts, tuple(COUNTS)),
            ("normalize", self.normalize, NORMALIZE),
            ("unseen", self.unseen, UNSEEN),
        ):
            if value not in allowed:
                raise ParameterError(
                    f"The '{parameter}' parameter of {name} must be one of {allowed}, "
                    f"got {value!r}."
                )
        if self.min_df < 1:
            raise ParameterError(f"{name} needs min_df ≥ 1, got {self.min_df}.")


class SharedCounts:
    """Shares counts between featurizers that differ only in how they transform them.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> from kgnn.kernels.weisfeiler_lehman import WeisfeilerLehman
    >>> graphs, shared = cycles_and_trees(20), SharedCounts()
    >>> raw, logarithmic = WeisfeilerLehman(2), WeisfeilerLehman(2, counts="log")
    >>> (shared.fit_transform(raw, graphs) != shared.fit_transform(logarithmic, graphs)).nnz > 0
    True
    """

    def __init__(self) -> None:
        # Keeping the graphs alive guarantees that no others get their id.
        self._found: dict[Any, tuple[GraphDataset, Counts]] = {}

    def fit_transform(self, featurizer: Featurizer, graphs: GraphDataset) -> Features:
        """Do what the featurizer's own method does."""
        if not isinstance(featurizer, CountedFeatures):
            return featurizer.fit_transform(graphs)
        return featurizer._matrix(featurizer._fit(graphs, self))

    def transform(self, featurizer: Featurizer, graphs: GraphDataset) -> Features:
        """Do what the featurizer's own method does."""
        if not isinstance(featurizer, CountedFeatures):
            return featurizer.transform(graphs)
        return featurizer._matrix(self.counts(featurizer, graphs))

    def counts(self, featurizer: CountedFeatures, graphs: GraphDataset) -> Counts:
        """Return the counts, cached if an equivalent featurizer has counted these graphs."""
        key = (id(graphs), *featurizer.counting)
        if key not in self._found:
            self._found[key] = graphs, featurizer._count(graphs)
        return self._found[key][1]


def _levels(counted: Counts) -> Ints:
    """Return the level of each entry."""
    ends = np.cumsum([len(each) for each in counted.colors])
    return np.searchsorted(ends, counted.matrix.indices, side="right")


def _without_negative_columns(matrix: sparse.csr_array) -> sparse.csr_array:
    kept = matrix.indices >= 0
    offsets = np.concatenate([[0], np.cumsum(kept)])[matrix.indptr]
    return short_csr(matrix.data[kept], matrix.indices[kept], offsets, matrix.shape)


def count_colors(graphs: GraphDataset, colorings: Iterable[Colors]) -> Counts:
    """Count colorings, each with one color per node of the graphs."""
    found: list[Colors] = []
    columns: list[ShortInts] = []  # of each node, by level
    n_columns = 0
    for coloring in colorings:
        distinct, column = numbered(coloring)
        column += np.int32(n_columns)
        n_columns += len(distinct)
        found.append(distinct)
        columns.append(column)
    return Counts(found, _count(graphs, columns, n_columns))


def _count(graphs: GraphDataset, columns: list[ShortInts], n_columns: int) -> sparse.csr_array:
    """Count the columns of each graph's nodes.

    Pairs (graph, column) are sorted as one number each; equal ones are then side by side, and what
    is left of each run is an entry of the matrix, in its place.
    """
    size = graphs.n_nodes * len(columns)
    indices, data = np.empty(size, dtype=np.int32), np.empty(size)
    lengths = np.zeros(len(graphs), dtype=np.int64)
    filled = 0
    for first, last in _runs_of_graphs(graphs):
        nodes = slice(graphs.node_offsets[first], graphs.node_offsets[last])
        graph = graphs.node_graphs[nodes].astype(np.int64) << 32
        pairs = np.concatenate([graph | column[nodes] for column in columns])
        pairs.sort()
        begins = np.flatnonzero(np.concatenate([[True], pairs[1:] != pairs[:-1]]))
        entries = pairs[begins]
        end = filled + len(entries)
        np.subtract(
            np.append(begins[1:], len(pairs)), begins, out=data[filled:end], casting="unsafe"
        )
        np.bitwise_and(entries, _COLUMN, out=indices[filled:end], casting="unsafe")
        lengths[first:last] = np.bincount((entries >> 32) - first, minlength=last - first)
        filled = end
    # Cut to size in place: a copy would hold the counts twice.
    indices.resize(filled, refcheck=False)
    data.resize(filled, refcheck=False)
    return short_csr(data, indices, offsets_of(lengths), (len(graphs), n_columns))


def short_csr(
    data: Floats, indices: ShortInts, offsets: Ints, shape: tuple[int, int]
) -> sparse.csr_array:
    """Return a CSR matrix with 32-bit indices where they suffice: half the memory.

    Much of scikit-learn takes no others.
    """
    if len(data) < np.iinfo(np.int32).max:
        indices, offsets = indices.astype(np.int32, copy=False), offsets.astype(np.int32)
    return sparse.csr_array((data, indices, offsets), shape=shape)


def _runs_of_graphs(graphs: GraphDataset) -> list[tuple[int, int]]:
    """Cut a dataset into runs of graphs ``first:last`` of bounded size that have nodes."""
    run = graphs.node_offsets[:-1] // _NODES_PER_PIECE
    cuts = [0, *(np.flatnonzero(np.diff(run)) + 1).tolist(), len(graphs)]
    return [
        (a, b)
        for a, b in zip(cuts[:-1], cuts[1:], strict=True)
        if graphs.node_offsets[a] < graphs.node_offsets[b]
    ]
