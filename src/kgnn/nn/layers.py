"""Sums over neighbors and over graphs, and the layer of a GIN that is made of them."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from kgnn.nn.batch import GraphBatch


class NeighborSum(torch.autograd.Function):
    """Sum of the neighbors' vectors of every node.

    ``embedding_bag`` is torch's fastest sparse product (see docs/decisions.md). Adjacency is
    symmetric, so the gradient is the same sum over the same neighbors.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, neighbors: Tensor, arc_offsets: Tensor) -> Tensor:
        """Return ``A x``."""
        ctx.save_for_backward(neighbors, arc_offsets)
        return bag_sums(neighbors, x, arc_offsets)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        """Return ``Aᵀ g = A g``."""
        neighbors, arc_offsets = ctx.saved_tensors
        return bag_sums(neighbors, grads[0], arc_offsets), None, None


class GraphSum(torch.autograd.Function):
    """Sum of the vectors of each graph's nodes; a graph without nodes gets zeros."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, graph_offsets: Tensor) -> Tensor:
        """Return ``(n_graphs, d)``."""
        ctx.save_for_backward(graph_offsets)
        nodes = torch.arange(len(x), dtype=graph_offsets.dtype)
        return bag_sums(nodes, x, graph_offsets)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        """Give every node its graph's gradient."""
        (graph_offsets,) = ctx.saved_tensors
        return grads[0].repeat_interleave(graph_offsets.diff(), dim=0), None


def bag_sums(rows: Tensor, x: Tensor, offsets: Tensor) -> Tensor:
    """Return, for each bag of rows between two offsets, the sum of these rows of x."""
    return nn.functional.embedding_bag(
        rows, x.contiguous(), offsets, mode="sum", include_last_offset=True
    )


class GINLayer(nn.Module):
    """``x ← BN(ReLU(W₂ ReLU(W₁ (x + Σ_neighbors x))))``, with ε = 0."""

    def __init__(self, n_in: int, width: int) -> None:
        super().__init__()
        self.inner = nn.Linear(n_in, width)
        self.outer = nn.Linear(width, width)
        self.norm = nn.BatchNorm1d(width)

    def forward(self, x: Tensor, batch: GraphBatch) -> Tensor:
        """Map node vectors ``(n_nodes, n_in)`` to ``(n_nodes, width)``."""
        total = x + NeighborSum.apply(x, batch.neighbors, batch.arc_offsets)
        return batch_norm(self.norm, torch.relu(self.outer(torch.relu(self.inner(total)))))


def batch_norm(norm: nn.BatchNorm1d, x: Tensor) -> Tensor:
    """Normalize; a batch of one row, which has no variance, takes the running statistics."""
    if norm.training and len(x) < 2:
        return nn.functional.batch_norm(
            x, norm.running_mean, norm.running_var, norm.weight, norm.bias, False, 0.0, norm.eps
        )
    result: Tensor = norm(x)
    return result
