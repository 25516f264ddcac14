"""Classes of k nodes drawn at random, where there are too many to count them all."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from kgnn.graphs.graph import Floats, GraphDataset, Ints
from kgnn.kernels.adjacency import Adjacency
from kgnn.kernels.patterns import classes, n_classes, pairs
from kgnn.seeds import generator

# Samples classified at a time, and bytes of the table of node pairs that go with them.
_SAMPLES_AT_ONCE = 1 << 18
_TABLE = 1 << 24


def sample_size(size: int, epsilon: float, delta: float) -> int:
    """Return how many samples keep the L1 error of all shares below epsilon, but for delta.

    The bound of Shervashidze et al. (2009), with the natural logarithm and the number of classes.

    Examples
    --------
    >>> [sample_size(size, 0.1, 0.1) for size in (3, 4, 5)]
    [1016, 1986, 5174]
    """
    bound = 2 * (n_classes(size) * math.log(2) + math.log(1 / delta)) / epsilon**2
    return math.ceil(bound)


def sample_shares(graphs: GraphDataset, size: int, n_samples: int, seed: int) -> Floats:
    """Return the share of each class among random sets of nodes, ``(n_graphs, n_classes)``.

    The same random numbers serve every graph, so that a graph's shares do not depend on the graphs
    beside it. A graph with fewer nodes has no sets, and zeros.
    """
    draws = generator(seed, "graphlets").random((n_samples, size))
    shares = np.zeros((len(graphs), n_classes(size)))
    large = np.flatnonzero(graphs.graph_sizes >= size)
    for rows in _runs(large, graphs.graph_sizes[large], n_samples):
        part = graphs[rows]
        nodes = distinct(part.graph_sizes, draws) + part.node_offsets[:-1, None]
        patterns = patterns_of(nodes, Adjacency(part))
        cells = np.arange(len(rows))[:, None] * n_classes(size) + classes(size)[patterns]
        counts = np.bincount(cells.ravel(), minlength=len(rows) * n_classes(size))
        shares[rows] = counts.reshape(len(rows), -1) / n_samples
    return shares


def patterns_of(nodes: Ints, joined: Adjacency) -> Ints:
    """Return the edge pattern of every column of k nodes, ``(k, …)`` to ``(…)``."""
    patterns = np.zeros(nodes.shape[1:], dtype=np.int64)
    for bit, (a, b) in enumerate(pairs(len(nodes))):
        patterns |= joined(nodes[a], nodes[b]).astype(np.int64) << bit
    return patterns


def distinct(sizes: Ints, draws: Floats) -> Ints:
    """Turn uniform numbers into distinct nodes, ``(size, n_graphs, n_samples)``, by Floyd's way.

    The i-th node is drawn from the first ``n − k + i + 1`` nodes; if it is taken already, the last
    of these is taken instead. All sets of k nodes are equally probable.
    """
    n_samples, size = draws.shape
    chosen = np.empty((size, len(sizes), n_samples), dtype=np.int64)
    for i in range(size):
        last = (sizes - size + i)[:, None]
        node = np.minimum((draws[None, :, i] * (last + 1)).astype(np.int64), last)
        taken: NDArray[np.bool_] = (chosen[:i] == node).any(axis=0)
        chosen[i] = np.where(taken, last, node)
    return chosen


def _runs(rows: Ints, sizes: Ints, n_samples: int) -> list[Ints]:
    """Cut rows so that the samples and the node pairs of each piece are not too many."""
    cost = np.maximum(n_samples / _SAMPLES_AT_ONCE, sizes.astype(np.float64) ** 2 / _TABLE)
    run = np.cumsum(cost).astype(np.int64)
    cuts = [0, *(np.flatnonzero(np.diff(run)) + 1), len(rows)]
    return [rows[a:b] for a, b in pairwise(cuts) if b > a]
