"""Rows of a `GraphDataset` as the tensors that a network reads."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from kgnn.engine.node_features import NodeFeatures
from kgnn.engine.sparse import OverGraphs, Product, Sums, Total, Weights, WithNeighbors
from kgnn.graphs.graph import GraphDataset, Ints


class Batch(Protocol):
    """Several graphs as a network sees them: vectors for rows that stand for nodes.

    There may be one row per node (`GraphBatch`), or one per color at each depth
    (`kgnn.engine.fast.quotients.ColorBatch`); a GIN gives the same result on both.
    """

    @property
    def features(self) -> Tensor:
        """Vectors before the first layer, ``(n_rows, d)``."""
        ...

    def __len__(self) -> int:
        """Return the number of graphs."""
        ...

    def sums(self, depth: int) -> Sums:
        """Return what adds up, for each row of a depth, its node and the neighbors."""
        ...

    def weights(self, depth: int) -> Weights | None:
        """Return how many nodes each row of a depth stands for; None for one each."""
        ...

    def graph_of_rows(self, depth: int) -> Tensor:
        """Return the graph that each row of a depth belongs to."""
        ...

    def graph_sums(self, depth: int) -> Sums:
        """Return what adds up the nodes of each graph, given the rows of a depth."""
        ...

    def pool(self, x: Tensor, depth: int) -> Tensor:
        """Return the sum of x over the nodes of each graph, ``(n_graphs, d)``."""
        ...


class Batches(Protocol):
    """Graphs that are ready to be cut into batches, any rows at a time."""

    @property
    def sizes(self) -> Ints:
        """Number of nodes of each graph."""
        ...

    def __len__(self) -> int:
        """Return the number of graphs."""
        ...

    def __getitem__(self, rows: Ints) -> Batch:
        """Return some graphs as a batch."""
        ...


@dataclass(frozen=True)
class GraphBatch:
    """Several graphs side by side, as one graph without edges between them: one row per node.

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

    def sums(self, depth: int) -> WithNeighbors:
        """Return the sums over each node and its neighbors."""
        return WithNeighbors(Product(self.neighbors.numpy(), self.arc_offsets.numpy()[:-1]))

    def weights(self, depth: int) -> None:
        """Say that a row is a node."""

    def graph_of_rows(self, depth: int) -> Tensor:
        """Return the graph that each node belongs to."""
        return torch.from_numpy(self.graph_sums(depth).graph_of_rows).long()

    def graph_sums(self, depth: int) -> OverGraphs:
        """Return the sums over the nodes of each graph."""
        return OverGraphs(self.graph_offsets.numpy())

    def pool(self, x: Tensor, depth: int) -> Tensor:
        """Return the sum over the nodes of each graph."""
        total: Tensor = Total.apply(x, self.graph_sums(depth))
        return total

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


class GraphBatches:
    """Graphs as they are, node by node; see `Batches`.

    Parameters
    ----------
    graphs : GraphDataset
    node_features : NodeFeatures
    """

    def __init__(self, graphs: GraphDataset, node_features: NodeFeatures) -> None:
        self.graphs, self.sizes = graphs, graphs.graph_sizes
        self.node_features = node_features

    def __len__(self) -> int:
        return len(self.graphs)

    def __getitem__(self, rows: Ints) -> GraphBatch:
        part = self.graphs[rows]
        return batch_of(part, self.node_features(part))


class SomeBatches:
    """Some of the graphs that have been prepared; see `Batches`.

    Parameters
    ----------
    prepared : Batches
    rows : (n_graphs,) int64
    """

    def __init__(self, prepared: Batches, rows: Ints) -> None:
        self.prepared, self.rows, self.sizes = prepared, rows, prepared.sizes[rows]

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, rows: Ints) -> Batch:
        return self.prepared[self.rows[rows]]
