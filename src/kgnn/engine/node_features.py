"""What a node, and an edge, looks like to a network before the first layer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kgnn.graphs.graph import GraphDataset, ShortInts
from kgnn.graphs.labels import recode
from kgnn.kernels.attributes import Scaling
from kgnn.kernels.edge_kinds import EdgeKinds

# Half-octaves of the degree: 0, 1, 2, 3, 4–5, 6–7, 8–11, … up to a million.
_DEGREE_BINS = 40
_DENSE = 4  # neighbors on average


def is_dense(graphs: GraphDataset) -> bool:
    """Tell whether graphs have so many edges that degrees tell more of nodes than a constant."""
    return graphs.n_arcs >= _DENSE * graphs.n_nodes


@dataclass(frozen=True)
class NodeFeatures:
    """Vectors of nodes and kinds of edges, read off the training graphs.

    A node's label, one-hot, where the dataset has labels, else a constant 1 for every node, as in
    the paper; then its attributes, scaled. A label that is not in the dataset's list is a vector of
    zeros, and an edge with such a label is of a separate kind.
    """

    label_names: tuple[str, ...]  # in the order of the one-hot vector; empty without labels
    # Middles and distances of the continuous attributes; see `kgnn.kernels.attributes.Scaling`.
    middles: tuple[float, ...] = ()
    distances: tuple[float, ...] = ()
    degrees: bool = False  # whether nodes without labels get their degree, to half an octave
    edges: EdgeKinds = EdgeKinds()

    @classmethod
    def of(cls, graphs: GraphDataset, degrees: bool = False) -> NodeFeatures:
        """Describe the nodes and edges of a training set, with all that they carry."""
        attributes, labels = graphs.node_attributes, graphs.node_label_names
        scaling = Scaling((), ()) if attributes is None else Scaling.of(attributes)
        return cls(
            labels,
            scaling.middles,
            scaling.distances,
            degrees and not labels,
            EdgeKinds.of(graphs),
        )

    @property
    def n_attributes(self) -> int:
        """Continuous attributes at the end of a node's vector."""
        return len(self.middles)

    @property
    def n_edge_kinds(self) -> int:
        """Kinds of edges that a network learns to tell apart; 0 if it need not."""
        return len(self.edges)

    @property
    def width(self) -> int:
        """Length of a node's vector."""
        return self._table.shape[1] + self.n_attributes

    def kinds(self, graphs: GraphDataset) -> ShortInts:
        """Return the kind of each node, a row of the table; attributes do not count."""
        if self.degrees:
            halves = np.floor(2 * np.log2(np.maximum(1, graphs.degrees))).astype(np.int32)
            return np.minimum(halves + (graphs.degrees > 0), _DEGREE_BINS - 1).astype(np.int32)
        unknown = len(self.label_names)
        if not self.label_names or graphs.node_labels is None:
            return np.full(graphs.n_nodes, unknown, dtype=np.int32)
        codes = recode(graphs.node_labels, graphs.node_label_names, self.label_names)
        return np.where(codes >= 0, codes, unknown).astype(np.int32)

    def vectors(self, kinds: ShortInts) -> Tensor:
        """Return the vectors of nodes of these kinds, without attributes."""
        return torch.from_numpy(self._table[kinds]).to(torch.get_default_dtype())

    def __call__(self, graphs: GraphDataset) -> Tensor:
        """Return the vectors of all nodes, ``(n_nodes, width)``."""
        vectors = self.vectors(self.kinds(graphs))
        if not self.n_attributes:
            return vectors
        scaled = Scaling(self.middles, self.distances)(graphs)
        return torch.cat([vectors, torch.from_numpy(scaled).to(vectors.dtype)], dim=1)

    def arc_kinds(self, graphs: GraphDataset) -> ShortInts | None:
        """Return the kind of each arc, from 1 on, the last for unknown labels; None without."""
        return self.edges.codes(graphs) if self.edges else None

    @property
    def _table(self) -> Any:
        """Vectors by kind; the last one is that of an unknown label, or of every node."""
        if self.degrees:
            return np.eye(_DEGREE_BINS, dtype=np.float32)
        if n_labels := len(self.label_names):
            return np.eye(n_labels + 1, n_labels, dtype=np.float32)
        return np.ones((1, 0 if self.n_attributes else 1), dtype=np.float32)
