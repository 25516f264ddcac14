"""Which graphs have a copy elsewhere: one that was trained on tests memory, not judgment."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kgnn.graphs.graph import GraphDataset, Ints
from kgnn.kernels.colors import colors, mix

# Some rounds more than any method of ours looks.
_DEPTH = 6


def alike(graphs: GraphDataset) -> Ints:
    """Return numbers of graphs, the same for those that Weisfeiler-Lehman colors cannot tell apart.

    Isomorphic graphs are always alike. Graphs that are alike need not be isomorphic, but no method
    here that looks at colors could classify them differently.

    Examples
    --------
    >>> from kgnn.graphs.toy import cycles_and_trees
    >>> graphs = cycles_and_trees(4)
    >>> alike(graphs[[0, 1, 0]]).tolist()[::2] == [alike(graphs[[0, 1, 0]])[0]] * 2
    True
    """
    last = list(colors(graphs, _DEPTH))[-1]
    totals = np.zeros(len(graphs), dtype=np.uint64)
    np.add.at(totals, graphs.node_graphs, mix(last))
    described = np.column_stack([totals, graphs.graph_sizes.astype(np.uint64)])
    return np.unique(described, axis=0, return_inverse=True)[1].reshape(-1)


def has_twin(graphs: GraphDataset, rows: Ints, among: Ints) -> NDArray[np.bool_]:
    """Tell for each of ``rows`` whether a graph of ``among`` is alike."""
    numbers = alike(graphs)
    return np.isin(numbers[rows], numbers[among])
