"""Layers of other graph neural networks, from PyG, behind the same call as our own."""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor, nn

from kgnn.engine.batch import GraphBatch
from kgnn.engine.layers import GINLayer, batch_norm
from kgnn.errors import MissingExtraError

Encoder = Literal["gin", "gcn", "sage", "gat", "gin-pyg"]


def make_layer(encoder: Encoder, n_in: int, width: int) -> nn.Module:
    """Return one round of message passing: ``layer(x, batch, depth)``, ``(n_nodes, width)``."""
    return GINLayer(n_in, width) if encoder == "gin" else PygLayer(encoder, n_in, width)


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

    def saved_state(self) -> dict[str, Any]:
        """Return how to make the layer anew, and its weights; PyG's classes are not saved."""
        made = {"encoder": self.encoder, "n_in": self.n_in, "width": self.width}
        return {**made, "weights": dict(self.state_dict())}

    @classmethod
    def from_saved(cls, state: dict[str, Any]) -> PygLayer:
        """Make a layer of what `saved_state` returned."""
        with torch.device("meta"):  # takes no memory, however large it says it is
            layer = cls(state["encoder"], state["n_in"], state["width"])
        layer.load_state_dict(state["weights"], assign=True)  # which have to fit
        return layer


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
