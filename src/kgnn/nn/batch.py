"""Rows of a `GraphDataset` as the tensors that a network reads."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kgnn.graphs.graph import GraphDataset, Ints
from kgnn.graphs.joining import recode


@dataclass(frozen=True)
class GraphBatch:
    """Several graphs side by side, as one graph without edges between them.

    Attributes
    ----------
    features : (n_nodes, d) float32
    neighbors : (n_arcs,) int32
        Neighbors of node 0, of node 1, and so on; with every arc its reverse is there too.
    arc_offsets : (n_nodes + 1,) int32
        Where the neighbors of each node begin.
    graph_offsets : (n_graphs + 1,) int32
        Where the nodes of each graph begin.
    """

    features: Tensor
    neighbors: Tensor
    arc_offsets: Tensor
    graph_offsets: Tensor

    def __len__(self) -> int:
        return len(self.graph_offsets) - 1

    @cached_property
    def edge_index(self) -> Tensor:
        """All arcs as PyG takes them, ``(2, n_arcs)`` int64."""
        nodes = torch.arange(len(self.features))
        return torch.stack(
            [self.neighbors.long(), nodes.repeat_interleave(self.arc_offsets.diff())]
        )


def batch_of(graphs: GraphDataset, features: Tensor) -> GraphBatch:
    """Turn all graphs of a dataset into one batch."""
    return GraphBatch(
        features,
        torch.from_numpy(graphs.neighbors.copy()),
        torch.from_numpy(graphs.arc_offsets.astype(np.int32)),
        torch.from_numpy(graphs.node_offsets.astype(np.int32)),
    )


@dataclass(frozen=True)
class NodeFeatures:
    """What a node looks like to a network, learned from the training graphs.

    The paper's setting: the node's label, one-hot, where the dataset has labels, else a constant 1
    for every node. A label that the training graphs do not have is a vector of zeros.

    Attributes
    ----------
    label_names : tuple of str
        Labels in the order of the one-hot vector; empty without labels.
    n_attributes : int
        Continuous attributes appended to it; 0 unless they were asked for.
    """

    label_names: tuple[str, ...]
    n_attributes: int = 0

    @classmethod
    def of(cls, graphs: GraphDataset, use_attributes: bool = False) -> NodeFeatures:
        """Read off a training set what its nodes have."""
        attributes = graphs.node_attributes if use_attributes else None
        return cls(graphs.node_label_names, 0 if attributes is None else attributes.shape[1])

    @property
    def width(self) -> int:
        """Length of a node's vector."""
        return (len(self.label_names) + self.n_attributes) or 1

    def __call__(self, graphs: GraphDataset) -> Tensor:
        """Return the vectors of all nodes, ``(n_nodes, width)``."""
        parts: list[Any] = []
        if self.label_names:
            one_hot = np.zeros((graphs.n_nodes, len(self.label_names)), dtype=np.float32)
            if graphs.node_labels is not None:
                codes = recode(graphs.node_labels, graphs.node_label_names, self.label_names)
                known = np.flatnonzero(codes >= 0)
                one_hot[known, codes[known]] = 1
            parts.append(one_hot)
        if self.n_attributes:
            assert graphs.node_attributes is not None
            parts.append(graphs.node_attributes.astype(np.float32))
        if not parts:
            parts.append(np.ones((graphs.n_nodes, 1), dtype=np.float32))
        return torch.from_numpy(np.concatenate(parts, axis=1))


class Batches:
    """Graphs that are ready to be cut into batches, any rows at a time.

    Parameters
    ----------
    graphs : GraphDataset
    node_features : NodeFeatures
    """

    def __init__(self, graphs: GraphDataset, node_features: NodeFeatures) -> None:
        self.graphs = graphs
        self.node_features = node_features

    def __len__(self) -> int:
        return len(self.graphs)

    def __getitem__(self, rows: Ints) -> GraphBatch:
        part = self.graphs[rows]
        return batch_of(part, self.node_features(part))
