"""Sums over neighbors and over graphs: sparse matrices times node vectors, with gradients."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import _sparsetools
from torch import Tensor

from kgnn.graphs.graph import ShortInts

Rows = TypeVar("Rows", Tensor, NDArray[Any])


class Product(NamedTuple):
    """A sparse matrix to multiply with: each row is a bag of columns."""

    columns: ShortInts  # (n_entries,)
    starts: ShortInts  # (n_rows,), where the entries of each row begin
    values: NDArray[np.float32] | None = None  # (n_entries,); None for all ones

    @classmethod
    def of(cls, matrix: sparse.csr_array) -> Product:
        """Return the product with a matrix of scipy."""
        columns, starts = (each.astype(np.int32) for each in (matrix.indices, matrix.indptr[:-1]))
        return cls(columns, starts, matrix.data)

    def __call__(self, x: Rows) -> Rows:
        """Return the product with ``(n_columns, d)``.

        ``embedding_bag`` is torch's fastest sparse product; on a hundred rows, what scipy's
        ``csr_array`` calls takes a third of the time (see docs/decisions.md).
        """
        if isinstance(x, Tensor):
            weights = None if self.values is None else torch.from_numpy(self.values).to(x.dtype)
            columns, starts = torch.from_numpy(self.columns), torch.from_numpy(self.starts)
            of_tensor: Tensor = torch.embedding_bag(
                x.contiguous(), columns, starts, False, 0, False, weights
            )[0]
            return of_tensor
        n_rows, n_entries, width = len(self.starts), len(self.columns), x.shape[1]
        values = np.ones(n_entries, x.dtype) if self.values is None else self.values
        values = values.astype(x.dtype, copy=False)
        offsets = np.empty(n_rows + 1, dtype=np.int32)
        offsets[:-1], offsets[-1] = self.starts, n_entries
        sums = np.zeros((n_rows, width), dtype=x.dtype)
        _sparsetools.csr_matvecs(
            n_rows, len(x), width, offsets, self.columns, values, x.ravel(), sums.ravel()
        )
        return sums


class WithNeighbors(NamedTuple):
    """Sums over each node and its neighbors: ``(1 + A) x``, with a symmetric A."""

    adjacency: Product

    def forward(self, x: Rows) -> Rows:
        """Return the sums of rows of x."""
        return x + self.adjacency(x)

    def backward(self, grad: Rows) -> Rows:
        """Return the same sums: the matrix is its own transpose."""
        return self.forward(grad)


class Weighted(NamedTuple):
    """Sums given by any matrix M and its transpose."""

    matrix: Product
    transpose: Product

    def forward(self, x: Rows) -> Rows:
        """Return ``M x``."""
        return self.matrix(x)

    def backward(self, grad: Rows) -> Rows:
        """Return ``Mᵀ g``."""
        return self.transpose(grad)


class OverGraphs(NamedTuple):
    """Sums over all rows of each graph, weighted or not; zero for a graph without rows."""

    offsets: ShortInts  # (n_graphs + 1,), where the rows of each graph begin
    counts: NDArray[np.float32] | None = None  # (n_rows,), weight of each row; None for all ones

    @property
    def graph_of_rows(self) -> ShortInts:
        """The graph that each row belongs to."""
        return np.repeat(np.arange(len(self.offsets) - 1, dtype=np.int32), np.diff(self.offsets))

    def forward(self, x: Rows) -> Rows:
        """Return ``(n_graphs, d)``."""
        return Product(np.arange(len(x), dtype=np.int32), self.offsets[:-1], self.counts)(x)

    def backward(self, grad: Rows) -> Rows:
        """Give every row its graph's gradient."""
        graphs = self.graph_of_rows
        return Product(graphs, np.arange(len(graphs), dtype=np.int32), self.counts)(grad)


Sums = WithNeighbors | Weighted | OverGraphs


class Weights(NamedTuple):
    """How many nodes each row of a batch stands for."""

    counts: Tensor  # (n_rows,) float32
    total: int


class Total(torch.autograd.Function):
    """Sums with their gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, sums: Sums) -> Tensor:
        """Return the sums of rows of x."""
        ctx.sums = sums
        return sums.forward(x)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        """Return the gradient by x."""
        return ctx.sums.backward(grads[0]), None
