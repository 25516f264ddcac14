"""The graph isomorphism network p_θ: three rounds of neighbor sums, a readout, a classifier.

References
----------
Xu et al., *How powerful are graph neural networks?*, ICLR 2019.
Ju et al., *KGNN*, WSDM 2022, §4.2.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from kgnn.nn.batch import GraphBatch
from kgnn.nn.encoders import Encoder, make_layer
from kgnn.nn.layers import GraphSum, batch_norm

Readout = Literal["sum", "log", "both"]


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
    encoder : {"gin", "gcn", "sage", "gat", "gin-pyg"}
        Kind of the layers; all but the first come from PyG.
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
        encoder: Encoder = "gin",
    ) -> None:
        super().__init__()
        sizes = [n_features] + [width] * layers
        self.layers = nn.ModuleList(
            make_layer(encoder, a, b) for a, b in zip(sizes[:-1], sizes[1:], strict=True)
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
