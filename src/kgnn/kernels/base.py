"""Shared by kernels: the featurizer protocol and Gram matrices of sparse features."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kgnn.graphs.graph import CARRIED, Floats, GraphDataset

Features: TypeAlias = sparse.csr_array | Floats


class Featurizer(Protocol):
    """Graphs in, one row of numbers per graph out; scikit-learn's transformer verbs.

    Counts are sparse rows, coordinates are plain arrays.
    """

    def fit(self, graphs: GraphDataset, y: Any = None) -> Featurizer:
        """Learn the columns."""

    def transform(self, graphs: GraphDataset) -> Features:
        """Return features, ``(n_graphs, n_features)``."""

    def fit_transform(self, graphs: GraphDataset, y: Any = None) -> Features:
        """Learn the columns and return the features of the same graphs."""


def unread_by(kernel: Any, graphs: GraphDataset) -> tuple[str, ...]:
    """Name what graphs carry that a kernel does not read, as its ``reads`` says.

    Examples
    --------
    >>> from kgnn.graphs.packing import pack
    >>> from kgnn.kernels.graphlets import Graphlets
    >>> unread_by(Graphlets(), pack("water", [3], [0, 0], [1, 2], node_labels="OHH"))
    ('node labels',)
    """
    reads = getattr(kernel, "reads", CARRIED)  # one of others does not say
    return tuple(
        words
        for name, words in CARRIED.items()
        if name not in reads and getattr(graphs, name) is not None
    )


def gram(features: Features, others: Features | None = None) -> Floats:
    """Return all inner products of feature rows, ``(n, m)``.

    Of the columns of one matrix with itself, three kinds need three ways: a column with one entry
    (most deep Weisfeiler-Lehman colors) only adds to the diagonal; a column that nearly all rows
    share is cheapest as dense algebra; a sparse product is left with the rest.

    Examples
    --------
    >>> gram(sparse.csr_array([[1.0, 2.0, 0.0], [0.0, 1.0, 3.0]]))
    array([[ 5.,  2.],
           [ 2., 10.]])
    """
    if isinstance(features, np.ndarray):
        return np.asarray(features @ (features if others is None else others).T)
    if others is not None:
        return np.asarray((features @ others.T).toarray(), dtype=np.float64)
    n_rows, n_columns = features.shape
    indices, data = features.indices, features.data.astype(np.float64, copy=False)
    rows = np.repeat(np.arange(n_rows, dtype=np.int32), np.diff(features.indptr))
    frequency = np.bincount(indices, minlength=n_columns)
    # A multiply-add of the sparse product costs about 30 times one of the dense product.
    shared = frequency > max(8, n_rows // 30)

    entries, columns = _chosen(indices, shared)
    dense = np.zeros((n_rows, int(shared.sum())))
    dense[rows[entries], columns] = data[entries]
    products = dense @ np.ascontiguousarray(dense.T)  # a copy: numpy's own symmetric path is slower

    entries, columns = _chosen(indices, (frequency > 1) & ~shared)
    offsets = np.searchsorted(rows[entries], np.arange(n_rows + 1)).astype(np.int32)
    part = sparse.csr_array((data[entries], columns, offsets), shape=(n_rows, n_columns))
    _add(products, part @ part.T)

    np.fill_diagonal(products, np.bincount(rows, weights=data * data, minlength=n_rows))
    return products


def normalize_gram(products: Floats) -> Floats:
    """Scale to a unit diagonal: ``K_ij / sqrt(K_ii K_jj)``, with 0 / 0 = 0."""
    norms = np.sqrt(products.diagonal())
    inverse = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)
    return products * inverse[:, None] * inverse[None, :]


def cosines(features: Features, others: Features) -> Floats:
    """Return the cosine of each row with each other row; 0 for rows of zeros."""
    squares = [np.asarray((each * each).sum(axis=1)).ravel() for each in (features, others)]
    inverse = [np.divide(1, np.sqrt(s), out=np.zeros_like(s), where=s > 0) for s in squares]
    # Rounding may exceed 1.
    return np.minimum(gram(features, others) * inverse[0][:, None] * inverse[1][None, :], 1.0)


def _chosen(
    indices: NDArray[Any], columns: NDArray[np.bool_]
) -> tuple[NDArray[np.bool_], NDArray[np.int32]]:
    """Return which entries lie in the chosen columns, and those columns numbered anew."""
    entries = columns[indices]
    position = np.cumsum(columns, dtype=np.int32)
    position -= 1
    return entries, position[indices[entries]]


def _add(dense: Floats, part: sparse.csr_array) -> None:
    rows = np.repeat(np.arange(part.shape[0]), np.diff(part.indptr))
    dense[rows, part.indices] += part.data  # a product has every entry once
