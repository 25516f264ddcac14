"""Sparse matrices times node vectors, with gradients: sums over neighbors and over graphs."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn


class Product(NamedTuple):
    """A sparse matrix to multiply with: rows as bags of columns.

    Attributes
    ----------
    columns : (n_entries,) int32
    offsets : (n_rows + 1,) int32
    values : (n_entries,) float32 or None
        None for all ones.
    """

    columns: Tensor
    offsets: Tensor
    values: Tensor | None = None

    def __call__(self, x: Tensor) -> Tensor:
        """Return the product with ``(n_columns, d)``.

        ``embedding_bag`` is torch's fastest sparse product (see docs/decisions.md).
        """
        return nn.functional.embedding_bag(
            self.columns,
            x.contiguous(),
            self.offsets,
            mode="sum",
            per_sample_weights=None if self.values is None else self.values.to(x.dtype),
            include_last_offset=True,
        )


class Products(NamedTuple):
    """A sparse matrix and its transpose, which is what the gradient is multiplied with."""

    there: Product
    back: Product

    def __call__(self, x: Tensor) -> Tensor:
        """Return the product, which can be differentiated by x."""
        product: Tensor = _Multiply.apply(x, self)
        return product


class _Multiply(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, products: Products) -> Tensor:
        ctx.back = products.back
        return products.there(x)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        return ctx.back(grads[0]), None


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
        return Product(rows, graph_offsets, weights)(x)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        """Give every row its graph's gradient."""
        (graph_offsets,) = ctx.saved_tensors
        grad = grads[0].repeat_interleave(graph_offsets.diff(), dim=0)
        return (grad if ctx.weights is None else grad * ctx.weights[:, None]), None, None
