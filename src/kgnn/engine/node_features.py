"""What a node looks like to a network before the first layer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kgnn.errors import GraphDataError
from kgnn.graphs.graph import GraphDataset, ShortInts
from kgnn.graphs.labels import recode

# Half-octaves of the degree: 0, 1, 2, 3, 4–5, 6–7, 8–11, … up to a million.
_DEGREE_BINS = 40


@dataclass(frozen=True)
class NodeFeatures:
    """Vectors of nodes by their *kind*, read off the training graphs.

    The paper's setting: the node's label, one-hot, where the dataset has labels, else a constant 1
    for every node. A label that is not in the dataset's list is a vector of zeros.
    """

    label_names: tuple[str, ...]  # in the order of the one-hot vector; empty without labels
    n_attributes: int = 0  # continuous attributes appended to it
    degrees: bool = False  # whether nodes without labels get their degree, to half an octave

    @classmethod
    def of(
        cls, graphs: GraphDataset, use_attributes: bool = False, degrees: bool = False
    ) -> NodeFeatures:
        """Describe the nodes of a training set."""
        attributes = graphs.node_attributes if use_attributes else None
        n_attributes = 0 if attributes is None else attributes.shape[1]
        return cls(graphs.node_label_names, n_attributes, degrees and not graphs.node_label_names)

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
        found = 0 if graphs.node_attributes is None else graphs.node_attributes.shape[1]
        if graphs.node_attributes is None or found != self.n_attributes:
            raise GraphDataError(
                f"nodes of '{graphs.name}' have {found} attributes, but the model was trained with "
                f"use_attributes=True on nodes with {self.n_attributes}; give all of these, in the "
                "same order"
            )
        attributes = torch.from_numpy(graphs.node_attributes.astype(np.float32))
        return torch.cat([vectors, attributes], dim=1)

    @property
    def _table(self) -> Any:
        """Vectors by kind; the last one is that of an unknown label, or of every node."""
        if self.degrees:
            return np.eye(_DEGREE_BINS, dtype=np.float32)
        if n_labels := len(self.label_names):
            return np.eye(n_labels + 1, n_labels, dtype=np.float32)
        return np.ones((1, 0 if self.n_attributes else 1), dtype=np.float32)
