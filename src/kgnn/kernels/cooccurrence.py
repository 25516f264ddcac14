"""Which substructures stand in each other's context, counted over all graphs.

The context of a substructure is what is near it in a graph: of a color, the colors that the same
node has one level further and those of its neighbors; of a path, all paths of the same graph; of
a graphlet, the graphlets that share all but one of its nodes.

References
----------
Yanardag & Vishwanathan, *Deep graph kernels*, KDD 2015.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from kgnn.graphs.graph import GraphDataset
from kgnn.kernels.colors import Numbers, colors
from kgnn.kernels.counted import CountedFeatures
from kgnn.kernels.graphlet_counts import classes, n_classes
from kgnn.kernels.graphlets import Adjacency, Graphlets, distinct, patterns_of
from kgnn.kernels.weisfeiler_lehman import WeisfeilerLehman
from kgnn.seeds import generator

# Moves of the window over a graph, from which contexts of graphlets are counted.
_MOVES = 200
_GRAPHS_AT_ONCE = 256


def cooccurrences(featurizer: CountedFeatures, graphs: GraphDataset) -> sparse.csr_array:
    """Count how often two columns of a fitted featurizer are in context, both ways."""
    if isinstance(featurizer, WeisfeilerLehman):
        one_way = _of_colors(featurizer, graphs)
    elif isinstance(featurizer, Graphlets):
        one_way = _of_graphlets(featurizer, graphs)
    else:
        present = featurizer.transform(graphs)
        present.data = np.ones_like(present.data)
        one_way = sparse.csr_array(present.T @ present)
    return sparse.csr_array(one_way + one_way.T)


def _of_colors(featurizer: WeisfeilerLehman, graphs: GraphDataset) -> sparse.csr_array:
    adjacency = sparse.csr_array(
        (np.ones(graphs.n_arcs), graphs.neighbors, graphs.arc_offsets),
        shape=(graphs.n_nodes, graphs.n_nodes),
    )
    adjacency.setdiag(0)  # a node is not its own context
    total = sparse.csr_array((featurizer.n_features_out_,) * 2)
    above: sparse.csr_array | None = None
    for level, coloring in enumerate(
        colors(graphs, featurizer.iterations, start=featurizer.start_)
    ):
        columns = featurizer.columns_of(level, coloring)
        has = _indicator(columns, featurizer.n_features_out_)
        total = total + has.T @ (adjacency @ has) / 2  # an edge is two arcs
        if above is not None:
            total = total + above.T @ has
        above = has
    return sparse.csr_array(total)


def _of_graphlets(featurizer: Graphlets, graphs: GraphDataset) -> sparse.csr_array:
    """Draw k + 1 nodes in random order; the first k and the last k share all but one."""
    n_columns = sum(n_classes(size) for size in featurizer.sizes)
    total = np.zeros(n_columns * n_columns)
    first = 0
    for size in featurizer.sizes:
        rng = generator(featurizer.seed, "moves", size)
        draws, order = rng.random((_MOVES, size + 1)), rng.random((_MOVES, size + 1)).argsort(1)
        large = np.flatnonzero(graphs.graph_sizes > size)
        for rows in np.array_split(large, len(large) // _GRAPHS_AT_ONCE + 1):
            part = graphs[rows]
            nodes = distinct(part.graph_sizes, draws) + part.node_offsets[:-1, None]
            nodes = np.take_along_axis(nodes, order.T[:, None, :], axis=0)
            joined = Adjacency(part)
            here, there = (
                classes(size)[patterns_of(nodes[window], joined)].ravel().astype(np.int64) + first
                for window in (slice(0, size), slice(1, size + 1))
            )
            total += np.bincount(here * n_columns + there, minlength=len(total))
        first += n_classes(size)
    return sparse.csr_array(total.reshape(n_columns, n_columns))


def _indicator(columns: Numbers, n_columns: int) -> sparse.csr_array:
    """Return which column each node has; none for −1."""
    nodes = np.flatnonzero(columns >= 0)
    values = np.ones(len(nodes))
    return sparse.csr_array((values, (nodes, columns[nodes])), shape=(len(columns), n_columns))
