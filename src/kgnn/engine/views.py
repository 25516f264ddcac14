"""Views: graphs with parts left out or hidden, as a network reads them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from kgnn.engine.batch import GraphBatch, batch_of
from kgnn.engine.node_features import NodeFeatures
from kgnn.graphs.graph import GraphDataset, frozen

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
