"""Sums over neighbors and over graphs: sparse matrices times node vectors, with gradients."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor


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

    columns: Tensor
    starts: Tensor
    values: Tensor | None = None

    def __call__(self, x: Tensor) -> Tensor:
        """Return the product with ``(n_columns, d)``.

        ``embedding_bag`` is torch's fastest sparse product (see docs/decisions.md).
        """
        weights = None if self.values is None else self.values.to(x.dtype)
        sums: Tensor = torch.embedding_bag(
            x.contiguous(), self.columns, self.starts, False, 0, False, weights
        )[0]
        return sums


class Sums(Protocol):
    """What a layer adds up for each of its rows, and the transpose, which gradients take."""

    def there(self, x: Tensor) -> Tensor:
        """Return the sums of rows of x."""
        ...

    def back(self, grad: Tensor) -> Tensor:
        """Return the gradient by x, given the one by the sums."""
        ...


class WithNeighbors(NamedTuple):
    """Each node and its neighbors: ``(1 + A) x``, with a symmetric A."""

    adjacency: Product

    def there(self, x: Tensor) -> Tensor:
        """Return the sums of rows of x."""
        return x + self.adjacency(x)

    def back(self, grad: Tensor) -> Tensor:
        """Return the same sums: the matrix is its own transpose."""
        return self.there(grad)


class Weighted(NamedTuple):
    """Any matrix M, given with its transpose."""

    matrix: Product
    transpose: Product

    def there(self, x: Tensor) -> Tensor:
        """Return ``M x``."""
        return self.matrix(x)

    def back(self, grad: Tensor) -> Tensor:
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


class GraphSum(torch.autograd.Function):
    """Sum of the vectors of each graph's rows, weighted or not; without rows it is zero."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, graph_offsets: Tensor, weights: Tensor | None = None
    ) -> Tensor:
        """Return ``(n_graphs, d)``."""
        ctx.save_for_backward(graph_offsets)
        ctx.weights = weights
        rows = torch.arange(len(x), dtype=graph_offsets.dtype)
        return Product(rows, graph_offsets[:-1], weights)(x)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        """Give every row its graph's gradient."""
        (graph_offsets,) = ctx.saved_tensors
        grad = grads[0].repeat_interleave(graph_offsets.diff(), dim=0)
        return (grad if ctx.weights is None else grad * ctx.weights[:, None]), None, None
