"""The graph isomorphism network p_θ: three rounds of neighbor sums, a readout, a classifier.

References
----------
Xu et al., *How powerful are graph neural networks?*, ICLR 2019.
Ju et al., *KGNN*, WSDM 2022, §4.2.
"""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor, nn

from kgnn.nn.batch import GraphBatch

Readout = Literal["sum", "log", "both"]


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


class GIN(nn.Module):
    """Graphs to class logits.

    Parameters
    ----------
    n_features : int
        Length of a node's vector.
    n_classes : int
    width : int
        Length of hidden vectors.
    layers : int
    dropout : float
        In the classifier.
    readout : {"sum", "log", "both"}
        The sum of the last layer's node vectors as it is, compressed by ``sign(x) log(1 + |x|)``,
        or both side by side. Sums grow with the size of a graph; their logarithm keeps large
        graphs within reach of the classifier.
    """

    def __init__(
        self,
        n_features: int,
        n_classes: int,
        *,
        width: int = 64,
        layers: int = 3,
        dropout: float = 0.5,
        readout: Readout = "sum",
    ) -> None:
        super().__init__()
        sizes = [n_features] + [width] * layers
        self.layers = nn.ModuleList(
            GINLayer(a, b) for a, b in zip(sizes[:-1], sizes[1:], strict=True)
        )
        self.readout = readout
        n_pooled = width * (2 if readout == "both" else 1)
        self.pooled_norm = nn.BatchNorm1d(n_pooled)
        self.classifier = nn.Sequential(
            nn.Linear(n_pooled, width), nn.ReLU(), nn.Dropout(dropout), nn.Linear(width, n_classes)
        )

    def embed(self, batch: GraphBatch) -> Tensor:
        """Return one vector per graph, ``(n_graphs, n_pooled)``."""
        x = batch.features
        for layer in self.layers:
            x = layer(x, batch)
        total: Tensor = GraphSum.apply(x, batch.graph_offsets)
        compressed = total.sign() * total.abs().log1p()
        parts = {"sum": [total], "log": [compressed], "both": [total, compressed]}[self.readout]
        return batch_norm(self.pooled_norm, torch.cat(parts, dim=1))

    def forward(self, batch: GraphBatch) -> Tensor:
        """Return logits, ``(n_graphs, n_classes)``."""
        logits: Tensor = self.classifier(self.embed(batch))
        return logits


def batch_norm(norm: nn.BatchNorm1d, x: Tensor) -> Tensor:
    """Normalize; a batch of one row, which has no variance, takes the running statistics."""
    if norm.training and len(x) < 2:
        return nn.functional.batch_norm(
            x, norm.running_mean, norm.running_var, norm.weight, norm.bias, False, 0.0, norm.eps
        )
    result: Tensor = norm(x)
    return result
