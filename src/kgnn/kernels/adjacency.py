"""Ask of many pairs of nodes at once whether they are joined."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kgnn.graphs.graph import GraphDataset, Ints, offsets_of

# Bytes of the table of all pairs of nodes, beyond which pairs are searched for instead.
_LARGEST_TABLE = 1 << 26


class Adjacency:
    """Which nodes of one graph are joined, for the graphs of a dataset.

    A table of all pairs, one byte each, where the graphs are small enough for it; else a search in
    the sorted list of arcs.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> ring = Adjacency(cycles_and_trees(1))
    >>> ring(np.array([0, 0]), np.array([1, 2]))
    array([ True, False])
    """

    def __init__(self, graphs: GraphDataset) -> None:
        sources = graphs.arc_sources
        sizes = graphs.graph_sizes
        self._table: NDArray[np.bool_] | None = None
        if int((sizes * sizes).sum()) <= _LARGEST_TABLE:
            # Entry of the pair (u, v): row[u] + v, with u and v numbered over all graphs.
            starts = offsets_of(sizes * sizes)[:-1] - graphs.node_offsets[:-1] * (sizes + 1)
            nodes = np.arange(graphs.n_nodes)
            self._row = starts[graphs.node_graphs] + nodes * sizes[graphs.node_graphs]
            self._table = np.zeros(int((sizes * sizes).sum()), dtype=np.bool_)
            self._table[self._row[sources] + graphs.neighbors] = True
        else:
            self._n_nodes = graphs.n_nodes
            self._arcs = sources.astype(np.int64) * self._n_nodes + graphs.neighbors

    def __call__(self, u: Ints, v: Ints) -> NDArray[np.bool_]:
        """Tell for each pair of nodes, numbered over all graphs, whether they are joined."""
        if self._table is not None:
            return self._table[self._row[u] + v]
        pairs = u * self._n_nodes + v
        places = np.searchsorted(self._arcs, pairs)
        found = places < len(self._arcs)
        found[found] = self._arcs[places[found]] == pairs[found]
        return found
