"""Coarse colors: rooted neighborhoods that need only be roughly alike.

Exact Weisfeiler-Lehman colors soon become unique: hardly any node of a new protein has a depth-3
color that a labeled protein has. A coarse color keeps a node's label and, rounded, the logarithms
of its own degree and of its neighbors' degrees, so that it recurs from graph to graph:

    level 0: label, degree    1: … and mean and largest degree of the neighbors
                              2: … and mean degree of the neighbors and of their neighbors

Logarithms are fixed-point integers, so that sums and means are exact: like the exact colors these
are the same in every dataset, process and machine, whatever the numbering of the nodes.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from kgnn.graphs.graph import GraphDataset
from kgnn.kernels.colors import CHUNK, mix, name_colors, neighbor_sums, row_chunks
from kgnn.kernels.numbering import Colors

# Fixed-point unit of logarithms.
FIXED_POINT = 1 << 16


def coarse_colors(graphs: GraphDataset, width: float) -> Iterator[Colors]:
    """Yield the color of every node at the three levels.

    Parameters
    ----------
    graphs : GraphDataset
    width : float
        How much the binary logarithms of two degrees may differ within one color.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> ring = cycles_and_trees(1)
    >>> [len(np.unique(level)) for level in coarse_colors(ring, 0.5)]
    [1, 1, 1]
    """
    step = max(1, round(width * FIXED_POINT))
    degree = log_degrees(graphs)
    mean = neighbor_mean(graphs, degree)
    start = _combined(_label_colors(graphs), degree // step, np.uint64(step))
    yield start
    yield _combined(start, mean // step, neighbor_max(graphs, degree) // step)
    yield _combined(start, mean // step, neighbor_mean(graphs, mean) // step, np.uint64(1))


def log_degrees(graphs: GraphDataset) -> Colors:
    """Return ``log2(1 + degree)`` of every node, in fixed point."""
    return np.rint(np.log2(1.0 + graphs.degrees) * FIXED_POINT).astype(np.uint64)


def _label_colors(graphs: GraphDataset) -> Colors:
    if graphs.node_labels is None:
        return np.zeros(graphs.n_nodes, dtype=np.uint64)
    return name_colors(graphs.node_label_names, "node")[graphs.node_labels]


def _combined(*parts: Colors | np.uint64) -> Colors:
    """Hash several values per node into one, in order."""
    color = np.asarray(parts[0])
    for part in parts[1:]:
        color = mix(color * np.uint64(0x9E3779B97F4A7C15) + part + np.uint64(1))
    return color


def neighbor_mean(graphs: GraphDataset, values: Colors) -> Colors:
    """Return the mean over the neighbors, rounded down; 0 without neighbors."""
    return neighbor_sums(graphs, values) // np.maximum(graphs.degrees, 1).astype(np.uint64)


def neighbor_max(graphs: GraphDataset, values: NDArray[np.uint64]) -> Colors:
    """Return the largest value among the neighbors; 0 without neighbors."""
    largest = np.zeros(graphs.n_nodes, dtype=np.uint64)
    for first, last in row_chunks(graphs, CHUNK):
        nodes = first + np.flatnonzero(graphs.degrees[first:last])
        if len(nodes):
            begin, end = graphs.arc_offsets[first], graphs.arc_offsets[last]
            around = values[graphs.neighbors[begin:end]]
            largest[nodes] = np.maximum.reduceat(around, graphs.arc_offsets[nodes] - begin)
    return largest
