"""A GIN with heads for tasks that need no class of a graph: nodes, pairs of nodes, clusters.

References
----------
Hao et al., *ASGN: An active semi-supervised graph neural network for molecular property
prediction*, KDD 2020, §4.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from kgnn.engine.batch import Batch
from kgnn.engine.gin import GIN
from kgnn.engine.random_parts import choose, choose_missing_pairs
from kgnn.graphs.graph import GraphDataset, Ints

# Higher degrees are one kind of node; their exact number tells little.
_HIGHEST_DEGREE = 15
_ENCODER = "gin.layers."


class MultitaskGIN(nn.Module):
    """A GIN whose node vectors are read by three more heads; its own classifier is the fourth.

    The heads are linear: what they need to know must be in the vectors.

    Parameters
    ----------
    gin : GIN
    width : int
        Length of its node vectors.
    n_kinds : int
        Kinds of nodes, see `node_kinds`.
    n_clusters : int
        Clusters of graphs.
    """

    def __init__(self, gin: GIN, width: int, n_kinds: int, n_clusters: int) -> None:
        super().__init__()
        self.gin = gin
        self.node_head = nn.Linear(width, n_kinds)
        self.edge_head = nn.Linear(width, 1)
        self.cluster_head = nn.Linear(width, n_clusters)

    def node_vectors(self, batch: Batch) -> Tensor:
        """Return the rows of the last layer, ``(n_rows, width)``."""
        return self.gin.rows(batch)[-1]

    def means(self, vectors: Tensor, batch: Batch) -> Tensor:
        """Return the mean vector of the nodes of each graph, zeros for a graph without nodes."""
        depth = len(self.gin.layers)
        n_nodes = batch.pool(torch.ones(len(vectors), 1), depth)
        return batch.pool(vectors, depth) / n_nodes.clamp(min=1)

    def edge_logits(self, vectors: Tensor, u: Tensor, v: Tensor) -> Tensor:
        """Return for each pair of nodes how sure it is that an edge joins them."""
        difference = vectors.index_select(0, u) - vectors.index_select(0, v)
        logits: Tensor = self.edge_head(difference.abs())
        return logits.flatten()

    def forward(self, batch: Batch) -> Tensor:
        """Return class logits, ``(n_graphs, n_classes)``."""
        logits: Tensor = self.gin(batch)
        return logits

    def encoder(self) -> dict[str, Tensor]:
        """Return a copy of what another GIN needs to have the same node vectors, by its names."""
        return {
            name.removeprefix("gin."): weights.clone()
            for name, weights in self.state_dict().items()
            if name.startswith(_ENCODER)
        }

    def load_encoder(self, weights: Mapping[str, Tensor]) -> None:
        """Take over what `encoder` of another one has returned."""
        unknown = self.gin.load_state_dict(dict(weights), strict=False).unexpected_keys
        assert not unknown, f"no such weights: {unknown}"


def n_node_kinds(graphs: GraphDataset) -> int:
    """Return how many kinds `node_kinds` may tell apart."""
    return len(graphs.node_label_names) if _labels_tell(graphs) else _HIGHEST_DEGREE + 1


def node_kinds(graphs: GraphDataset) -> Ints:
    """Return what there is to guess of each node: its label, else its degree up to 15.

    Examples
    --------
    >>> from kgnn.graphs.packing import pack
    >>> node_kinds(pack("star", [4], [0, 0, 0], [1, 2, 3]))
    array([3, 1, 1, 1])
    """
    if graphs.node_labels is not None and _labels_tell(graphs):
        return graphs.node_labels.astype(np.int64)
    return np.minimum(graphs.degrees, _HIGHEST_DEGREE)


def _labels_tell(graphs: GraphDataset) -> bool:
    return len(graphs.node_label_names) > 1


class Pairs(NamedTuple):
    """Pairs of nodes, each within a graph.

    Attributes
    ----------
    u, v : (n_pairs,) int64
    joined : (n_pairs,) float32
        1 where an edge joins them, else 0.
    """

    u: Tensor
    v: Tensor
    joined: Tensor


def sample_pairs(graphs: GraphDataset, most: int, rng: np.random.Generator) -> Pairs:
    """Choose from each graph as many pairs with an edge as without, at most ``most`` of both.

    A graph without edges, or with all of them, has no pairs. Loops are no pairs.

    Examples
    --------
    >>> from kgnn.graphs.packing import pack
    >>> path = pack("path", [4], [0, 1, 2], [1, 2, 3])
    >>> sample_pairs(path, 2, np.random.default_rng(0)).joined
    tensor([1., 1., 0., 0.])
    """
    sources = graphs.arc_sources
    edges = np.flatnonzero(sources < graphs.neighbors)
    u, v = sources[edges], graphs.neighbors[edges]
    sizes, n_edges = graphs.graph_sizes, np.diff(np.searchsorted(u, graphs.node_offsets))
    n_free = sizes * (sizes - 1) // 2 - n_edges
    counts = np.minimum(most, np.minimum(n_edges, n_free))
    joined = choose(n_edges, counts, rng)
    apart_u, apart_v = choose_missing_pairs(graphs, u, v, counts, rng)
    return Pairs(
        torch.from_numpy(np.concatenate([u[joined], apart_u]).astype(np.int64)),
        torch.from_numpy(np.concatenate([v[joined], apart_v]).astype(np.int64)),
        torch.cat([torch.ones(len(joined)), torch.zeros(len(apart_u))]),
    )
