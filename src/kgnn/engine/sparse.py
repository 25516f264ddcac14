"""Sums over neighbors and over graphs: sparse matrices times node vectors, with gradients."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import _sparsetools
from torch import Tensor

from kgnn.graphs.graph import ShortInts

Rows = TypeVar("Rows", Tensor, NDArray[Any])


class Product(NamedTuple):
    """A sparse matrix to multiply with: rows as bags of columns.

    Attributes
    ----------
    columns : (n_entries,) int32
    starts : (n_rows,) int32
        Where the entries of each row begin.
    values : (n_entries,) float32 or None
        None for all ones.
    """

    columns: ShortInts
    starts: ShortInts
    values: NDArray[np.float32] | None = None

    def __call__(self, x: Rows) -> Rows:
        """Return the product with ``(n_columns, d)``.

        ``embedding_bag`` is torch's fastest sparse product; on a hundred rows, what scipy's
        ``csr_array`` calls takes a third of the time (see docs/decisions.md).
        """
        return self._of_tensor(x) if isinstance(x, Tensor) else self._of_array(x)

    def _of_tensor(self, x: Tensor) -> Tensor:
        weights = None if self.values is None else torch.from_numpy(self.values).to(x.dtype)
        columns, starts = torch.from_numpy(self.columns), torch.from_numpy(self.starts)
        sums: Tensor = torch.embedding_bag(
            x.contiguous(), columns, starts, False, 0, False, weights
        )[0]
        return sums

    def _of_array(self, x: NDArray[Any]) -> NDArray[Any]:
        n_rows, n_entries, width = len(self.starts), len(self.columns), x.shape[1]
        values = np.ones(n_entries, x.dtype) if self.values is None else self.values
        offsets = np.empty(n_rows + 1, dtype=np.int32)
        offsets[:-1], offsets[-1] = self.starts, n_entries
        sums = np.zeros((n_rows, width), dtype=x.dtype)
        _sparsetools.csr_matvecs(
            n_rows,
            len(x),
            width,
            offsets,
            self.columns,
            values.astype(x.dtype, copy=False),
            x.ravel(),
            sums.ravel(),
        )
        return sums


class Sums(Protocol):
    """What a layer adds up for each of its rows, and the transpose, which gradients take."""

    def there(self, x: Rows) -> Rows:
        """Return the sums of rows of x."""
        ...

    def back(self, grad: Rows) -> Rows:
        """Return the gradient by x, given the one by the sums."""
        ...


class WithNeighbors(NamedTuple):
    """Each node and its neighbors: ``(1 + A) x``, with a symmetric A."""

    adjacency: Product

    def there(self, x: Rows) -> Rows:
        """Return the sums of rows of x."""
        return x + self.adjacency(x)

    def back(self, grad: Rows) -> Rows:
        """Return the same sums: the matrix is its own transpose."""
        return self.there(grad)


class Weighted(NamedTuple):
    """Any matrix M, given with its transpose."""

    matrix: Product
    transpose: Product

    def there(self, x: Rows) -> Rows:
        """Return ``M x``."""
        return self.matrix(x)

    def back(self, grad: Rows) -> Rows:
        """Return ``Mᵀ g``."""
        return self.transpose(grad)


class Weights(NamedTuple):
    """How many nodes each row of a batch stands for.

    Attributes
    ----------
    counts : (n_rows,) float32
    total : int
        Their sum.
    """

    counts: Tensor
    total: int


class OverGraphs(NamedTuple):
    """All rows of each graph, weighted or not; without rows the sum is zero.

    Attributes
    ----------
    offsets : (n_graphs + 1,) int32
        Where the rows of each graph begin.
    counts : (n_rows,) float32 or None
        What to multiply each row with; None for all ones.
    """

    offsets: ShortInts
    counts: NDArray[np.float32] | None = None

    @property
    def graph_of_rows(self) -> ShortInts:
        """The graph that each row belongs to."""
        return np.repeat(np.arange(len(self.offsets) - 1, dtype=np.int32), np.diff(self.offsets))

    def there(self, x: Rows) -> Rows:
        """Return ``(n_graphs, d)``."""
        return Product(np.arange(len(x), dtype=np.int32), self.offsets[:-1], self.counts)(x)

    def back(self, grad: Rows) -> Rows:
        """Give every row its graph's gradient."""
        graphs = self.graph_of_rows
        return Product(graphs, np.arange(len(graphs), dtype=np.int32), self.counts)(grad)


class Total(torch.autograd.Function):
    """Sums with their gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, sums: Sums) -> Tensor:
        """Return the sums of rows of x."""
        ctx.sums = sums
        return sums.there(x)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        """Return the gradient by x."""
        return ctx.sums.back(grads[0]), None
