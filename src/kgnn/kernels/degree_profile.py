"""Degree profiles: how degrees are spread over a graph and around its nodes; nothing is learned.

References
----------
Cai & Wang, *A simple yet effective baseline for non-attributed graph classification*, 2018.
"""

from __future__ import annotations

import numpy as np

from kgnn.graphs.graph import Floats, GraphDataset
from kgnn.graphs.joining import recode
from kgnn.kernels.weisfeiler_lehman import FIXED_POINT, log_degrees, neighbor_max, neighbor_mean

# Bins of half a doubling each, up to degrees of two million.
_WIDTH, _BINS = 0.5, 42


def degree_profile(graphs: GraphDataset, label_names: tuple[str, ...] = ()) -> Floats:
    """Return one row per graph: shares of nodes by degree and by neighbors' degrees, and sizes.

    Parameters
    ----------
    graphs : GraphDataset
    label_names : tuple of str
        Node labels whose shares are added; others are left out.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> degree_profile(cycles_and_trees(4)).shape
    (4, 171)
    """
    degree = log_degrees(graphs)
    lowest = np.uint64(64 * FIXED_POINT) - neighbor_max(
        graphs, np.uint64(64 * FIXED_POINT) - degree
    )
    lowest[graphs.degrees == 0] = 0
    around = (neighbor_mean(graphs, degree), neighbor_max(graphs, degree), lowest)
    bins = [
        np.minimum(value // round(_WIDTH * FIXED_POINT), _BINS - 1) for value in (degree, *around)
    ]
    shares = [_shares(graphs, each.astype(np.int64), _BINS) for each in bins]
    if label_names and graphs.node_labels is not None:
        codes = recode(graphs.node_labels, graphs.node_label_names, label_names)
        shares.append(_shares(graphs, codes.astype(np.int64), len(label_names)))
    elif label_names:
        shares.append(np.zeros((len(graphs), len(label_names))))
    nodes, edges = np.log1p(graphs.graph_sizes), np.log1p(graphs.edge_counts)
    return np.column_stack([*shares, nodes, edges, edges - 2 * nodes])


def _shares(graphs: GraphDataset, values: np.ndarray, n_values: int) -> Floats:
    """Return the share of each value among the nodes of each graph; −1 counts nowhere."""
    known = values >= 0
    cells = graphs.node_graphs[known].astype(np.int64) * n_values + values[known]
    counts = np.bincount(cells, minlength=len(graphs) * n_values).reshape(len(graphs), n_values)
    return np.asarray(counts / np.maximum(graphs.graph_sizes, 1)[:, None])
