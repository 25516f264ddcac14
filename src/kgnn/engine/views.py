"""Views: graphs with parts left out or hidden, as a network reads them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from kgnn.engine.batch import GraphBatch, batch_of
from kgnn.engine.node_features import NodeFeatures
from kgnn.graphs.graph import GraphDataset, frozen, offsets_of

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class View:
    """Graphs that differ a little from those they came from.

    Attributes
    ----------
    graphs : GraphDataset
        As many as there were, in the same order.
    masked : (n_nodes,) bool
        Nodes of ``graphs`` whose features a network must not see.
    """

    graphs: GraphDataset
    masked: Mask

    def __post_init__(self) -> None:
        frozen(self.masked)

    @classmethod
    def unmasked(cls, graphs: GraphDataset) -> View:
        """Return a view in which all features are seen."""
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


def with_nodes(graphs: GraphDataset, kept: Mask) -> GraphDataset:
    """Return the subgraphs that the kept nodes induce; the nodes are numbered anew.

    Parameters
    ----------
    graphs : GraphDataset
    kept : (n_nodes,) bool

    Examples
    --------
    >>> from kgnn.graphs.packing import pack
    >>> path = pack("path", [4], [0, 1, 2], [1, 2, 3])
    >>> with_nodes(path, np.array([True, False, True, True]))[0].edges.tolist()
    [[1, 2]]
    """
    between_kept = np.repeat(kept, graphs.degrees)
    between_kept &= kept.take(graphs.neighbors)
    thinned = with_arcs(graphs, between_kept)  # what goes has no arcs any more
    numbers = np.cumsum(kept, dtype=np.int32) - 1
    return replace(
        thinned,
        node_offsets=np.searchsorted(np.flatnonzero(kept), graphs.node_offsets),
        arc_offsets=offsets_of(thinned.degrees[kept]),
        neighbors=numbers[thinned.neighbors],
        node_labels=None if graphs.node_labels is None else graphs.node_labels[kept],
        node_attributes=None if graphs.node_attributes is None else graphs.node_attributes[kept],
    )


def with_arcs(graphs: GraphDataset, kept: Mask) -> GraphDataset:
    """Return the graphs with some of their arcs; an arc and its reverse must share their fate.

    Parameters
    ----------
    graphs : GraphDataset
    kept : (n_arcs,) bool
    """
    arcs = np.flatnonzero(kept)  # both uses are faster than with the mask
    return replace(
        graphs,
        arc_offsets=np.searchsorted(arcs, graphs.arc_offsets),
        neighbors=graphs.neighbors[arcs],
        edge_labels=None if graphs.edge_labels is None else graphs.edge_labels[arcs],
        edge_weights=None if graphs.edge_weights is None else graphs.edge_weights[arcs],
    )
