"""Which graphs have a copy elsewhere: one that was trained on tests memory, not judgment."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from kgnn.graphs.graph import GraphDataset, Ints
from kgnn.kernels.colors import Colors, colors, graph_colors

# Some rounds more than any method of ours looks.
_DEPTH = 6


@lru_cache(maxsize=2)  # every split of a dataset asks
def looks(graphs: GraphDataset) -> Colors:
    """Return a number for each graph, the same for those that colors of nodes cannot tell apart.

    Isomorphic graphs always look alike. Graphs that look alike need not be isomorphic, but no
    method here that looks at colors could classify them differently, unless it is told to read
    attributes or labels of edges, too; `kgnn.kernels.colors` sees these.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> found = looks(cycles_and_trees(4)[[0, 1, 0]])
    >>> bool(found[0] == found[2]), bool(found[0] == found[1])
    (True, False)
    """
    *_, last = colors(graphs, _DEPTH)
    return graph_colors(graphs, last)


def has_twin(graphs: GraphDataset, rows: Ints, among: Ints) -> NDArray[np.bool_]:
    """Tell for each of ``rows`` whether a graph of ``among`` looks alike."""
    found = looks(graphs)
    return np.isin(found[rows], found[among])
