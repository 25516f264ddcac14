"""The kernel-based network q_φ: a query graph is compared with every graph in a memory.

With feature vectors z of the query and z_i of the M graphs in memory, K hops and matrices B and
A¹ … Aᴷ⁺¹ (Ju et al., WSDM 2022, Eqs. 10 to 12):

    q¹ = B z
    pᵏ = softmax_i ⟨qᵏ, Aᵏ z_i⟩                  attention over the memory
    oᵏ = Σ_i pᵏ_i Aᵏ⁺¹ z_i                       adjacent hops share a matrix
    qᵏ⁺¹ = qᵏ + oᵏ
    q_φ(y | G) = softmax(MLP(r)),  r = oᴷ (paper) or qᴷ⁺¹

References
----------
Sukhbaatar et al., *End-to-end memory networks*, NeurIPS 2015.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from scipy import sparse
from torch import Tensor, nn

from kgnn.engine.configured import configured
from kgnn.engine.fast.layers import batch_norm

Attention = Literal["distance", "dot"]
Reading = Literal["query", "output"]


@dataclass(frozen=True)
class SparseRows:
    """Rows of a CSR matrix as tensors.

    Attributes
    ----------
    columns : (n_entries,) int32
    values : (n_entries,) float32
    offsets : (n_rows + 1,) int32
    """

    columns: Tensor
    values: Tensor
    offsets: Tensor

    @classmethod
    def of(cls, matrix: sparse.csr_array) -> SparseRows:
        """Take over a scipy matrix."""
        return cls(
            torch.from_numpy(matrix.indices.astype(np.int32)),
            torch.from_numpy(matrix.data.astype(np.float32)),
            torch.from_numpy(matrix.indptr.astype(np.int32)),
        )

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, rows: Tensor) -> SparseRows:
        lengths = self.offsets.diff()[rows].long()
        ends = lengths.cumsum(0)
        place = torch.arange(int(ends[-1]) if len(ends) else 0)
        place += (self.offsets[rows].long() - (ends - lengths)).repeat_interleave(lengths)
        offsets = torch.cat([ends.new_zeros(1), ends]).int()
        return SparseRows(self.columns[place], self.values[place], offsets)


Rows = Tensor | SparseRows


class RowEmbedding(nn.Module):
    """``rows @ weight`` for dense rows or sparse ones, of which it is one sparse product."""

    def __init__(self, n_features: int, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(n_features, width) / np.sqrt(n_features))

    def forward(self, rows: Rows) -> Tensor:
        """Return ``(n_rows, width)``."""
        if isinstance(rows, Tensor):
            return rows @ self.weight
        return nn.functional.embedding_bag(
            rows.columns,
            self.weight,
            rows.offsets,
            per_sample_weights=rows.values,
            mode="sum",
            include_last_offset=True,
        )


@configured
class MemoryNetwork(nn.Module):
    """Queries and a memory of graphs, labeled or annotated, to class logits.

    Parameters
    ----------
    n_features, n_classes : int
    width : int
        Length of embedded vectors.
    hops : int
    dropout : float
        In the classifier.
    attention : {"distance", "dot"}
        Compare by ``2⟨q, a⟩ − |a|²``, which ranks the memory by distance to the query, or by the
        paper's ⟨q, a⟩; either times a learned sharpness for each hop.
    reading : {"query", "output"}
        What the classifier reads: qᴷ⁺¹, or the paper's oᴷ.
    labels : bool
        Whether the logarithm of the classes that the first hop attends to is added to the logits:
        a kernel regression whose weight is learned.
    sharpness : float
        Factor of the comparisons at the start.
    identity : bool
        Start all matrices as the identity, for features that are coordinates already.

    References
    ----------
    Ju et al., *KGNN*, WSDM 2022, §4.3, Eqs. 10 to 12.
    """

    def __init__(
        self,
        n_features: int,
        n_classes: int,
        *,
        width: int = 64,
        hops: int = 3,
        dropout: float = 0.5,
        attention: Attention = "distance",
        reading: Reading = "query",
        labels: bool = True,
        sharpness: float = 1.0,
        identity: bool = True,
    ) -> None:
        super().__init__()
        self.n_classes, self.attention, self.reading, self.labels = (
            n_classes,
            attention,
            reading,
            labels,
        )
        self.query = RowEmbedding(n_features, width)  # B
        self.slots = nn.ModuleList(RowEmbedding(n_features, width) for _ in range(hops + 1))  # A
        if identity:
            with torch.no_grad():
                for embedding in (self.query, *self.slots):
                    embedding.weight.copy_(torch.eye(n_features, width))
        self.log_sharpness = nn.Parameter(torch.full((hops,), float(np.log(sharpness))))
        self.norm = nn.BatchNorm1d(width)
        self.classifier = nn.Sequential(
            nn.Linear(width, width), nn.ReLU(), nn.Dropout(dropout), nn.Linear(width, n_classes)
        )
        self.label_weight = nn.Parameter(torch.ones(()))

    def forward(
        self, queries: Rows, memory: Rows, memory_targets: Tensor, own: Tensor | None = None
    ) -> Tensor:
        """Return logits, ``(n_queries, n_classes)``.

        Parameters
        ----------
        queries, memory : (n_queries, n_features), (n_slots, n_features)
        memory_targets : (n_slots, n_classes)
            Class probabilities of the graphs in memory; read only with ``labels``.
        own : (n_queries,) int64, optional
            Slot that holds the query itself, which is then not attended to; −1 for none.
        """
        read, votes = self.read(queries, memory, memory_targets, own)
        logits: Tensor = self.classifier(read)
        if self.labels:
            # Never log 0: one percent is what the memory may be wrong about.
            logits = logits + self.label_weight * torch.log(votes + 0.01)
        return logits

    def read(
        self, queries: Rows, memory: Rows, memory_targets: Tensor, own: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return what the classifier reads, and the classes that the first hop attends to."""
        votes = read = memory_targets.new_zeros(())
        for hop, (weights, output, vector) in enumerate(self.hops(queries, memory, own)):
            read = vector if self.reading == "query" else output
            if hop == 0:
                votes = weights @ memory_targets
        return batch_norm(self.norm, read), votes

    def hops(
        self, queries: Rows, memory: Rows, own: Tensor | None = None
    ) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """Yield for each hop the attention weights, what was read, and the query after it."""
        vector = self.query(queries)  # (n_queries, width)
        slots = [embedding(memory) for embedding in self.slots]  # each (n_slots, width)
        for hop, factor in enumerate(self.log_sharpness.exp()):
            weights = self.attend(vector, slots[hop], factor, own)  # (n_queries, n_slots)
            output = weights @ slots[hop + 1]
            vector = vector + output
            yield weights, output, vector

    def attend(
        self, vector: Tensor, slots: Tensor, factor: Tensor | float, own: Tensor | None = None
    ) -> Tensor:
        """Return attention weights, ``(n_queries, n_slots)``; rows sum to 1."""
        scores = vector @ slots.T
        if self.attention == "distance":
            scores = 2 * scores - (slots * slots).sum(dim=1)
        scores = scores * factor
        if own is not None and len(slots) > 1:
            is_own = own[:, None] == torch.arange(len(slots))
            scores = scores.masked_fill(is_own, -torch.inf)
        return scores.softmax(dim=1)
