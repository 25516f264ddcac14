"""One model out of two: the graph vector of a GIN beside the vector of a memory network."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from kgnn.engine.batch import Batch
from kgnn.engine.configured import configured
from kgnn.engine.gin import GIN
from kgnn.engine.memory import MemoryNetwork, Rows


@configured
class EnsembleNetwork(nn.Module):
    """Classify the concatenation of H(G) and qᴷ⁺¹, both trained jointly.

    Parameters
    ----------
    gin : GIN
    memory : MemoryNetwork
    n_classes : int
    width, dropout
        Of the classifier on top.
    """

    def __init__(
        self, gin: GIN, memory: MemoryNetwork, n_classes: int, width: int, dropout: float
    ) -> None:
        super().__init__()
        self.gin, self.memory = gin, memory
        n_read = gin.pooled_norm.num_features + memory.norm.num_features
        self.classifier = nn.Sequential(
            nn.Linear(n_read, width), nn.ReLU(), nn.Dropout(dropout), nn.Linear(width, n_classes)
        )

    def forward(
        self,
        batch: Batch,
        queries: Rows,
        memory: Rows,
        memory_targets: Tensor,
        own: Tensor | None = None,
    ) -> Tensor:
        """Return logits, ``(n_graphs, n_classes)``."""
        read, _ = self.memory.read(queries, memory, memory_targets, own)
        logits: Tensor = self.classifier(torch.cat([self.gin.embed(batch), read], dim=1))
        return logits
