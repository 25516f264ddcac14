"""Batches of graphs as tensors for a network."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from kgnn.engine.messages import Messages, Received, received
from kgnn.engine.node_features import NodeFeatures
from kgnn.engine.sparse import OverGraphs, Product, Sums, Total, Weighted, Weights, WithNeighbors
from kgnn.graphs.graph import GraphDataset, Ints, ShortInts, offsets_of

# Bound of one forward pass without gradients, so that predictions need bounded memory.
_NODES_PER_PASS = 1 << 16


class Batch(ABC):
    """Several graphs as input of a network: vectors for rows that represent nodes.

    There may be one row per node (`GraphBatch`), or one per color at each depth
    (`kgnn.engine.fast.quotients.ColorBatch`); a GIN gives the same result on both.
    """

    features: Tensor  # (n_rows, d), before the first layer

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def sums(self, depth: int) -> Sums:
        """Return the sums over each row's node and its neighbors."""

    @abstractmethod
    def graph_sums(self, depth: int) -> OverGraphs:
        """Return the sums over the nodes of each graph."""

    def messages(self, depth: int) -> Messages | None:
        """Return the messages of rows into a depth, for `sums`; None for the rows themselves."""
        return None

    def weights(self, depth: int) -> Weights | None:
        """Return how many nodes each row of a depth stands for; None for one each."""
        return None

    def graph_of_rows(self, depth: int) -> Tensor:
        """Return the graph that each row of a depth belongs to."""
        return torch.from_numpy(self.graph_sums(depth).graph_of_rows).long()

    def pool(self, x: Tensor, depth: int) -> Tensor:
        """Return the sum of x over the nodes of each graph, ``(n_graphs, d)``."""
        total: Tensor = Total.apply(x, self.graph_sums(depth))
        return total


class Batches(Protocol):
    """Graphs from which batches are taken, any rows at a time."""

    sizes: Ints  # (n_graphs,), number of nodes

    def __len__(self) -> int: ...

    def __getitem__(self, rows: Ints) -> Batch: ...


@dataclass(frozen=True)
class GraphBatch(Batch):
    """Several graphs as one graph without edges between them: one row per node."""

    features: Tensor  # (n_nodes, d) float32
    neighbors: Tensor  # (n_arcs,) int32, of node 0, of node 1, …; every arc has its reverse
    arc_offsets: Tensor  # (n_nodes + 1,) int32, where the neighbors of each node begin
    graph_offsets: Tensor  # (n_graphs + 1,) int32, where the nodes of each graph begin
    received: Received | None = None  # the messages of each node, where edges have kinds

    def __len__(self) -> int:
        return len(self.graph_offsets) - 1

    def sums(self, depth: int) -> Sums:
        """Return the sums over each node and its neighbors."""
        if self.received is not None:
            matrix = self.received.matrix
            return Weighted(Product.of(matrix), Product.of(matrix.T.tocsr()))
        return WithNeighbors(Product(self.neighbors.numpy(), self.arc_offsets.numpy()[:-1]))

    def messages(self, depth: int) -> Messages | None:
        """Return the messages of nodes along edges of each kind, the same at each depth."""
        return None if self.received is None else self.received.messages

    def graph_sums(self, depth: int) -> OverGraphs:
        """Return the sums over the nodes of each graph."""
        return OverGraphs(self.graph_offsets.numpy())

    @cached_property
    def edge_index(self) -> Tensor:
        """All arcs as PyG takes them, ``(2, n_arcs)`` int64."""
        targets = torch.arange(len(self.features)).repeat_interleave(self.arc_offsets.diff())
        return torch.stack([self.neighbors.long(), targets])


def batch_of(
    graphs: GraphDataset, features: Tensor, arc_kinds: ShortInts | None = None
) -> GraphBatch:
    """Turn all graphs of a dataset into one batch."""
    nodes = np.arange(graphs.n_nodes)
    return GraphBatch(
        features,
        torch.from_numpy(graphs.neighbors.copy()),
        torch.from_numpy(graphs.arc_offsets.astype(np.int32)),
        torch.from_numpy(graphs.node_offsets.astype(np.int32)),
        None if arc_kinds is None else received(graphs, arc_kinds, nodes, nodes),
    )


class GraphBatches:
    """`Batches` of graphs node by node."""

    def __init__(self, graphs: GraphDataset, node_features: NodeFeatures) -> None:
        self.graphs, self.sizes, self.node_features = graphs, graphs.graph_sizes, node_features

    def __len__(self) -> int:
        return len(self.graphs)

    def __getitem__(self, rows: Ints) -> GraphBatch:
        part = self.graphs[rows]
        return batch_of(part, self.node_features(part), self.node_features.arc_kinds(part))


class SomeBatches:
    """`Batches` of some rows of others."""

    def __init__(self, prepared: Batches, rows: Ints) -> None:
        self.prepared, self.rows, self.sizes = prepared, rows, prepared.sizes[rows]

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, rows: Ints) -> Batch:
        return self.prepared[self.rows[rows]]


def passes(graphs: Batches) -> Iterator[Ints]:
    """Split graphs into runs of rows with a bounded number of nodes each."""
    run = offsets_of(graphs.sizes)[:-1] // _NODES_PER_PASS
    yield from np.split(np.arange(len(graphs)), np.flatnonzero(np.diff(run)) + 1)
