"""Views: graphs with random changes, for methods that compare a graph with its changed copy.

All graphs are changed at once; nothing here loops over graphs, nodes or edges. Self loops stay
with their nodes, and no view adds or removes one by itself.

References
----------
You et al., *Graph contrastive learning with augmentations*, NeurIPS 2020, Table 1.
You et al., *Graph contrastive learning automated*, ICML 2021.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor

from kgnn.engine.batch import GraphBatch, batch_of
from kgnn.engine.node_features import NodeFeatures
from kgnn.engine.random_parts import choose, choose_missing_pairs, order_of_growth
from kgnn.errors import ParameterError
from kgnn.graphs.graph import GraphDataset, Ints, frozen, ranges
from kgnn.graphs.packing import concatenate, plain_arcs

Mask = NDArray[np.bool_]
Augmentation: TypeAlias = "Callable[[GraphDataset, float, np.random.Generator], View]"


@dataclass(frozen=True, eq=False)
class View:
    """Randomly changed copies of graphs."""

    graphs: GraphDataset  # as many as there were, in the same order
    masked: Mask  # nodes of ``graphs`` whose features a network must not see

    def __post_init__(self) -> None:
        frozen(self.masked)

    @classmethod
    def unmasked(cls, graphs: GraphDataset) -> View:
        """Return a view without masked nodes."""
        return cls(graphs, np.zeros(graphs.n_nodes, dtype=np.bool_))


def view_batch(view: View, node_features: NodeFeatures) -> GraphBatch:
    """Turn a view into one batch, node by node, with the features of masked nodes replaced.

    A masked node has the mean vector of its graph's nodes. Where all of these have the same vector,
    the mean would hide nothing, and a masked node has zeros.

    Examples
    --------
    >>> from kgnn.graphs.packing import pack
    >>> graphs = pack("path", [3], [0, 1], [1, 2])
    >>> view = View(graphs, np.array([False, True, False]))
    >>> view_batch(view, NodeFeatures.of(graphs)).features.tolist()
    [[1.0], [0.0], [1.0]]
    """
    features = node_features(view.graphs)
    if view.masked.any():
        features = _masked(features, view)
    return batch_of(view.graphs, features)


def _masked(features: Tensor, view: View) -> Tensor:
    graphs = view.graphs
    sizes = torch.tensor(np.maximum(1, graphs.graph_sizes), dtype=features.dtype)
    means = batch_of(graphs, features).pool(features, 0) / sizes[:, None]
    first = features[torch.from_numpy(graphs.node_offsets[:-1][graphs.node_graphs])]
    differs = (features != first).any(dim=1).numpy()
    means[np.bincount(graphs.node_graphs[differs], minlength=len(graphs)) == 0] = 0
    own = torch.from_numpy(graphs.node_graphs[view.masked])
    return features.index_put((torch.tensor(view.masked),), means[own])


def identity(graphs: GraphDataset, share: float, rng: np.random.Generator) -> View:
    """Change nothing."""
    return View.unmasked(graphs)


def drop_nodes(graphs: GraphDataset, share: float, rng: np.random.Generator) -> View:
    """Delete ``⌊share · n⌋`` nodes of each graph, uniformly, but never the last one.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import random_graphs
    >>> graphs = random_graphs(3, n_nodes=10)
    >>> drop_nodes(graphs, 0.2, np.random.default_rng(0)).graphs.graph_sizes
    array([8, 8, 8])
    """
    dropped = choose(graphs.graph_sizes, _n_dropped(graphs, share), rng)
    kept = np.ones(graphs.n_nodes, dtype=np.bool_)
    kept[dropped] = False
    return View.unmasked(graphs.with_nodes(kept))


def subgraph(graphs: GraphDataset, share: float, rng: np.random.Generator) -> View:
    """Keep ``⌈(1 − share) n⌉`` connected nodes of each graph.

    From a node drawn at random, the set grows by one node of its frontier at a time, drawn
    uniformly: a neighbor of many of the set's nodes is as likely as a neighbor of one. When a
    component is used up, the set grows on from another node, drawn from all that are left.

    Examples
    --------
    >>> from kgnn.graphs.packing import pack
    >>> cycle = pack("cycle", [10], range(10), [*range(1, 10), 0])
    >>> subgraph(cycle, 0.2, np.random.default_rng(0)).graphs[0]  # a path
    Graph('0': 8 nodes, 7 edges)
    """
    n_kept = graphs.graph_sizes - _n_dropped(graphs, share)
    first_kept = ranges(graphs.node_offsets[:-1], n_kept)
    kept = np.zeros(graphs.n_nodes, dtype=np.bool_)
    kept[order_of_growth(graphs, rng)[first_kept]] = True
    return View.unmasked(graphs.with_nodes(kept))


def perturb_edges(graphs: GraphDataset, share: float, rng: np.random.Generator) -> View:
    """Remove ``⌊share · m⌋`` edges of each graph and add as many others that were not there.

    Removed and added edges are drawn uniformly. A graph that has fewer pairs of nodes without an
    edge gets all of these. Labels and weights of edges are dropped because an added edge has none.

    Examples
    --------
    >>> from kgnn.graphs.packing import pack
    >>> graphs = pack("cycle", [6], range(6), [1, 2, 3, 4, 5, 0])
    >>> perturb_edges(graphs, 0.5, np.random.default_rng(0)).graphs[0]
    Graph('0': 6 nodes, 6 edges)
    """
    sources = graphs.arc_sources
    kept = sources <= graphs.neighbors  # edges, each once, and loops
    edges = np.flatnonzero(sources < graphs.neighbors)
    n_edges = np.diff(np.searchsorted(edges, graphs.arc_offsets[graphs.node_offsets]))
    n_removed = _part_of(n_edges, share)
    kept[edges[choose(n_edges, n_removed, rng)]] = False
    added = choose_missing_pairs(graphs, sources[edges], graphs.neighbors[edges], n_removed, rng)
    arc_offsets, neighbors = plain_arcs(
        np.concatenate([sources[kept], added[0]]),
        np.concatenate([graphs.neighbors[kept], added[1]]),
        graphs.n_nodes,
    )
    changed = replace(_without_edge_data(graphs), arc_offsets=arc_offsets, neighbors=neighbors)
    return View.unmasked(changed)


def mask_nodes(graphs: GraphDataset, share: float, rng: np.random.Generator) -> View:
    """Hide the features of ``⌊share · n⌋`` nodes of each graph, drawn uniformly."""
    masked = np.zeros(graphs.n_nodes, dtype=np.bool_)
    masked[choose(graphs.graph_sizes, _part_of(graphs.graph_sizes, share), rng)] = True
    return View(graphs, masked)


def drop_edges(graphs: GraphDataset, probability: float, rng: np.random.Generator) -> View:
    """Remove each edge with a probability, independently of the others."""
    _require_share(probability)
    is_edge = graphs.arc_sources < graphs.neighbors
    kept = np.ones(graphs.n_arcs, dtype=np.bool_)
    kept[is_edge] = rng.random(np.count_nonzero(is_edge)) >= probability
    # The draw fell on one arc of each edge: the other one follows, a loop is its own reverse. The
    # values of all reverses are those of the matrix, transposed in linear time.
    shape = (graphs.n_nodes, graphs.n_nodes)
    kept &= sparse.csr_array((kept, graphs.neighbors, graphs.arc_offsets), shape=shape).tocsc().data
    return View.unmasked(graphs.with_arcs(kept))


AUGMENTATIONS: dict[str, Augmentation] = {
    "node_drop": drop_nodes,
    "subgraph": subgraph,
    "edge_pert": perturb_edges,
    "attr_mask": mask_nodes,
    "identity": identity,
}


def augment(graphs: GraphDataset, choices: Ints, share: float, rng: np.random.Generator) -> View:
    """Change each graph in its own way; labels and weights of edges are dropped.

    ``choices`` are positions in `AUGMENTATIONS`; ``share`` says how much of a graph is changed.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import random_graphs
    >>> graphs = random_graphs(4, n_nodes=10)
    >>> choices = np.array([4, 0, 3, 1])  # identity, node_drop, attr_mask, subgraph
    >>> view = augment(graphs, choices, 0.2, np.random.default_rng(0))
    >>> view.graphs.graph_sizes, int(view.masked.sum())
    (array([10,  8, 10,  8]), 2)
    """
    functions = list(AUGMENTATIONS.values())
    bare = _without_edge_data(graphs)
    views = [functions[way](bare[choices == way], share, rng) for way in np.unique(choices)]
    if not views:
        return View.unmasked(bare)
    joined = concatenate([view.graphs for view in views])
    masked = np.concatenate([view.masked for view in views])
    back = np.argsort(np.argsort(choices, kind="stable"))
    return View(joined[back], masked[ranges(joined.node_offsets[back], joined.graph_sizes[back])])


def _require_share(share: float) -> None:
    if not 0 <= share <= 1:
        raise ParameterError(f"The share of a graph to change must be from 0 to 1, got {share}.")


def _part_of(sizes: Ints, share: float) -> Ints:
    _require_share(share)
    # 0.29 · 100 is a little less than 29 in floating point.
    return np.floor(share * sizes + 1e-9).astype(np.int64)


def _n_dropped(graphs: GraphDataset, share: float) -> Ints:
    sizes = graphs.graph_sizes
    return np.minimum(_part_of(sizes, share), np.maximum(0, sizes - 1))


def _without_edge_data(graphs: GraphDataset) -> GraphDataset:
    return graphs.without_edge_data()
