"""The graph isomorphism network p_θ: three rounds of neighbor sums, a readout, a classifier.

References
----------
Xu et al., *How powerful are graph neural networks?*, ICLR 2019.
Ju et al., *KGNN*, WSDM 2022, §4.2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor, nn

from kgnn.engine.batch import Batch, GraphBatch
from kgnn.engine.configured import configured, drawn
from kgnn.engine.fast.layers import batch_norm, gin_layer
from kgnn.engine.messages import Sent
from kgnn.engine.sparse import Total
from kgnn.errors import MissingExtraError

if TYPE_CHECKING:
    from kgnn.engine.fast.fused import Fused

Encoder = Literal["gin", "gcn", "sage", "gat", "gin-pyg"]
Readout = Literal["sum", "log", "both"]
Pooling = Literal["last", "all"]

_EDGE_SCALE = 0.3  # of random vectors of edges, beside node vectors of about 1


class GINLayer(nn.Module):
    """``x ← BN(ReLU(W₂ ReLU(W₁ (x + Σ_neighbors x))))``, with ε = 0.

    Where edges have kinds, a neighbor's x is ``ReLU(x + e)`` with the vector e of its edge.
    """

    def __init__(self, n_in: int, width: int, edge_kinds: int = 0) -> None:
        super().__init__()
        self.edges: nn.Parameter | None = None
        if edge_kinds:
            shape = (edge_kinds, n_in)
            self.edges = nn.Parameter(drawn(shape, lambda: torch.randn(shape) * _EDGE_SCALE))
        self.inner = nn.Linear(n_in, width)
        self.outer = nn.Linear(width, width)
        self.norm = nn.BatchNorm1d(width)

    def forward(self, x: Tensor, batch: Batch, depth: int) -> Tensor:
        """Map the vectors of one depth, ``(n_rows, n_in)``, to the next, ``(n_rows, width)``."""
        return gin_layer(self, x, batch, depth)

    def plain(self, x: Tensor, batch: Batch, depth: int) -> Tensor:
        """Return the same in plain torch, for batches with one row per node."""
        total = Total.apply(self.send(x, batch, depth), batch.sums(depth))
        return batch_norm(self.norm, self.outer(self.inner(total).relu()).relu())

    def send(self, x: Tensor, batch: Batch, depth: int) -> Tensor:
        """Return what rows send along edges of each kind; without kinds, x itself."""
        messages = batch.messages(depth)
        if self.edges is None or messages is None:
            return x
        sent: Tensor = Sent.apply(x, self.edges, messages)
        return sent


@configured
class GIN(nn.Module):
    """Graphs to class logits.

    Parameters
    ----------
    n_features, width : int
        Length of a node's vector, and of hidden ones.
    n_classes, layers : int
    dropout : float
        In the classifier.
    readout : {"sum", "log", "both"}
        The sum of node vectors as it is, compressed by ``sign(x) log(1 + |x|)``, or both side by
        side. Sums grow with the size of a graph; their logarithm keeps large graphs within reach
        of the classifier.
    pooling : {"last", "all"}
        Sum the vectors of the last layer, or those of every depth, the input included.
    encoder : {"gin", "gcn", "sage", "gat", "gin-pyg"}
        Kind of the layers; all but the first come from PyG.
    norm : bool
        Whether the readout is normalized before the classifier.
    edge_kinds : int
        Kinds of edges, each with a vector in every layer; 0 if all edges are alike.
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
        pooling: Pooling = "last",
        encoder: Encoder = "gin",
        norm: bool = True,
        edge_kinds: int = 0,
    ) -> None:
        super().__init__()
        sizes = [n_features] + [width] * layers
        self.layers = nn.ModuleList(
            make_layer(encoder, a, b, edge_kinds)
            for a, b in zip(sizes[:-1], sizes[1:], strict=True)
        )
        self.readout, self.pooling = readout, pooling
        self.fused: Fused | None = None  # set while all parameters are in one vector
        n_pooled = (width if pooling == "last" else sum(sizes)) * (2 if readout == "both" else 1)
        self.n_pooled = n_pooled
        self.pooled_norm = nn.BatchNorm1d(n_pooled) if norm else None
        self.classifier = nn.Sequential(
            nn.Linear(n_pooled, width), nn.ReLU(), nn.Dropout(dropout), nn.Linear(width, n_classes)
        )

    def rows(self, batch: Batch, change: Tensor | None = None) -> list[Tensor]:
        """Return the vectors of every depth; ``change`` is added to those after the first layer."""
        vectors = [batch.features]
        for depth, layer in enumerate(self.layers, start=1):
            vectors.append(layer(vectors[-1], batch, depth))  # Eq. 8: hˡ = U(hˡ⁻¹, A(hˡ⁻¹))
            if depth == 1 and change is not None:
                vectors[-1] = vectors[-1] + change
        return vectors

    def embed(self, batch: Batch, change: Tensor | None = None) -> Tensor:
        """Return one vector per graph, ``(n_graphs, n_pooled)``; for ``change`` see `rows`."""
        if self.fused is not None and change is None:
            vectors = self.fused(batch, classify=False)
            if vectors is not None:
                return vectors
        return self._embed(batch, change)

    def forward(self, batch: Batch, change: Tensor | None = None) -> Tensor:
        """Return logits, ``(n_graphs, n_classes)``; for ``change`` see `rows`."""
        if self.fused is not None and change is None:
            logits = self.fused(batch, classify=True)
            if logits is not None:
                return logits
        result: Tensor = self.classifier(self._embed(batch, change))  # Eq. 8: MLP_θ(H(G))
        return result

    def _embed(self, batch: Batch, change: Tensor | None) -> Tensor:
        """Return H(G), the READOUT of Eq. 8, compressed and normalized if so configured."""
        vectors = self.rows(batch, change)
        first = len(self.layers) if self.pooling == "last" else 0
        sums = [batch.pool(x, depth) for depth, x in enumerate(vectors) if depth >= first]
        total = torch.cat(sums, dim=1) if len(sums) > 1 else sums[0]
        if self.readout != "sum":
            compressed = total.sign() * total.abs().log1p()
            total = torch.cat([total, compressed], 1) if self.readout == "both" else compressed
        return total if self.pooled_norm is None else batch_norm(self.pooled_norm, total)


def make_layer(encoder: Encoder, n_in: int, width: int, edge_kinds: int = 0) -> nn.Module:
    """Return one round of message passing: ``layer(x, batch, depth)``, ``(n_nodes, width)``."""
    if encoder == "gin":
        return GINLayer(n_in, width, edge_kinds)
    return PygLayer(encoder, n_in, width)


class PygLayer(nn.Module):
    """``BN(ReLU(convolution of PyG))``."""

    def __init__(self, encoder: Encoder, n_in: int, width: int) -> None:
        super().__init__()
        self.encoder, self.n_in, self.width = encoder, n_in, width
        self.convolution = _convolution(encoder, n_in, width)
        self.norm = nn.BatchNorm1d(width)

    def forward(self, x: Tensor, batch: GraphBatch, depth: int) -> Tensor:
        """Map node vectors ``(n_nodes, n_in)`` to ``(n_nodes, width)``."""
        return batch_norm(self.norm, torch.relu(self.convolution(x, batch.edge_index)))


def _convolution(encoder: Encoder, n_in: int, width: int) -> Any:
    try:
        from torch_geometric import nn as geometric
    except ImportError as error:
        raise MissingExtraError.of(f"encoder='{encoder}'", "torch_geometric", "pyg") from error
    if encoder == "gin-pyg":
        perceptron = nn.Sequential(nn.Linear(n_in, width), nn.ReLU(), nn.Linear(width, width))
        return geometric.GINConv(perceptron)
    kind = {"gcn": geometric.GCNConv, "sage": geometric.SAGEConv, "gat": geometric.GATConv}
    return kind[encoder](n_in, width)
