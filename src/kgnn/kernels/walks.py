"""Random walks on all graphs at once."""

from __future__ import annotations

from collections import deque

import numpy as np

from kgnn.graphs.graph import Floats, GraphDataset, Ints
from kgnn.kernels.colors import colors

# Neighborhoods of this depth decide the order in which nodes are numbered for walking.
_DEPTH = 8


def random_walks(graphs: GraphDataset, draws: Floats) -> Ints:
    """Return the nodes that walks visit, ``(n_graphs, n_walks, length)``; −1 without an edge.

    A walk starts at a random node that has neighbors, and goes on to a random neighbor. The same
    random numbers serve every graph, and they choose among nodes in the order of their colors
    rather than of their numbers. So a graph's walks do not depend on the graphs beside it, nor, as
    long as only degrees are read from them, on how its nodes are numbered.

    Parameters
    ----------
    graphs : GraphDataset
    draws : (n_walks, length) array
        Uniform numbers in [0, 1).

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> ring = cycles_and_trees(1)
    >>> visited = random_walks(ring, np.random.default_rng(0).random((2, 5)))[0]
    >>> set(np.abs(np.diff(visited)).ravel().tolist()) <= {1, ring.n_nodes - 1}
    True
    """
    last = deque(colors(graphs, _DEPTH, start="degree"), maxlen=1)[0]
    by_color = graphs.neighbors[np.lexsort((last[graphs.neighbors], graphs.arc_sources))].astype(
        np.int64
    )
    walkable = graphs.degrees > 0
    starts = np.lexsort((last, ~walkable, graphs.node_graphs))
    n_starts = np.bincount(graphs.node_graphs[walkable], minlength=len(graphs))

    walks = np.full((len(graphs), *draws.shape), -1, dtype=np.int64)
    has_edges = np.flatnonzero(n_starts)
    place = (draws[None, :, 0] * n_starts[has_edges, None]).astype(np.int64)
    node = starts[graphs.node_offsets[has_edges, None] + place]
    walks[has_edges, :, 0] = node
    for step in range(1, draws.shape[1]):
        place = (draws[None, :, step] * graphs.degrees[node]).astype(np.int64)
        node = by_color[graphs.arc_offsets[node] + place]
        walks[has_edges, :, step] = node
    return walks
