"""Graphlet features: how often each small graph occurs as an induced subgraph.

Exact counts are in `kgnn.kernels.graphlet_counts`; where they cost too much, shares are estimated
from random sets of nodes.

References
----------
Shervashidze et al., *Efficient graphlet kernels for large graph comparison*, AISTATS 2009.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import binom

from kgnn.errors import ParameterError
from kgnn.graphs.graph import Floats, GraphDataset, Ints, offsets_of
from kgnn.kernels.counted import CountedFeatures, Counts
from kgnn.kernels.graphlet_counts import (
    SIZES,
    classes,
    count_four,
    count_three,
    is_connected,
    n_classes,
    pairs,
    representatives,
    work_of_four,
)
from kgnn.seeds import generator

# Steps of exact counting that are acceptable to avoid sampling: some ten milliseconds per graph.
_AFFORDABLE = 100_000
# Samples classified at a time, and bytes of the table of node pairs that go with them.
_SAMPLES_AT_ONCE = 1 << 18
_TABLE = 1 << 24
# Bytes of the table of all pairs of nodes, beyond which pairs are searched for instead.
_LARGEST_TABLE = 1 << 26


@dataclass(eq=False, repr=False)
class Graphlets(CountedFeatures):
    """Count induced subgraphs of three, four or five nodes, up to isomorphism.

    Labels are not looked at. Three nodes are always counted exactly. Four nodes are counted exactly
    in graphs where that is affordable, and estimated from random sets of nodes in the others; five
    nodes are always estimated.

    Parameters
    ----------
    sizes : tuple of int
        Numbers of nodes.
    method : {"auto", "exact", "sample"}
        ``exact`` counts four nodes in all graphs, ``sample`` estimates all sizes.
    samples : int or None
        Sets of nodes to draw from each graph; None for as many as ``epsilon`` and ``delta`` ask.
    epsilon, delta : float
        The L1 error of the shares is at most epsilon, with a probability of 1 − delta.
    connected_only : bool
        Leave out graphlets that are not connected.
    shares : bool
        Shares among all sets of so many nodes instead of counts.
    counts, normalize
        See `CountedFeatures`. A level is a size.
    seed : int
        Of the random sets.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> graphs = cycles_and_trees(20)
    >>> Graphlets(sizes=(3,)).fit_transform(graphs).shape
    (20, 4)
    """

    reads: ClassVar[tuple[str, ...]] = ()

    sizes: tuple[int, ...] = (3, 4)
    _: KW_ONLY
    method: str = "auto"
    samples: int | None = None
    epsilon: float = 0.1
    delta: float = 0.1
    connected_only: bool = False
    shares: bool = True
    counts: str = "raw"
    normalize: str | None = None
    seed: int = 0

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.str_]:
        """Name the columns by size and by the pattern of edges, such as ``graphlet4_0b111``."""
        names = [
            f"graphlet{size}_{representatives(size)[number]:#b}"
            for size in self.sizes
            for number in self._numbers(size)
        ]
        return np.array(names, dtype=np.str_)

    def _start(self, graphs: GraphDataset) -> None:
        if not self.sizes or not set(self.sizes) <= set(SIZES):
            raise ParameterError(f"The sizes of graphlets are 3, 4 and 5, got {self.sizes!r}.")
        if self.method not in ("auto", "exact", "sample"):
            raise ParameterError(
                "The 'method' parameter of Graphlets must be one of ('auto', 'exact', 'sample'), "
                f"got {self.method!r}."
            )
        if self.method == "exact" and 5 in self.sizes:
            raise ParameterError("Graphlets of five nodes are only estimated; use method='auto'.")

    def _count(self, graphs: GraphDataset) -> Counts:
        blocks = []
        for size in self.sizes:
            block = self._shares(graphs, size)[:, self._numbers(size)]
            if not self.shares:
                block = block * binom(graphs.graph_sizes, size)[:, None]
            elif self.connected_only:
                block = _to_shares(block)
            blocks.append(block)
        columns = [
            np.uint64(size << 8) | self._numbers(size).astype(np.uint64) for size in self.sizes
        ]
        return Counts(columns, sparse.csr_array(np.column_stack(blocks)))

    def _numbers(self, size: int) -> Ints:
        """Return the numbers of the classes that are columns."""
        kept = [is_connected(size, p) or not self.connected_only for p in representatives(size)]
        return np.flatnonzero(kept)

    def _shares(self, graphs: GraphDataset, size: int) -> Floats:
        """Return the share of each class among all sets of so many nodes."""
        if self.method != "sample" and size == 3:
            return _to_shares(count_three(graphs))
        exact = np.full(len(graphs), self.method == "exact")
        if self.method == "auto" and size == 4:
            exact = work_of_four(graphs) <= _AFFORDABLE
        shares = np.zeros((len(graphs), len(representatives(size))))
        shares[exact] = _to_shares(count_four(graphs[exact])) if exact.any() else 0
        if not exact.all():
            n_samples = self.samples or sample_size(size, self.epsilon, self.delta)
            shares[~exact] = sample_shares(graphs[~exact], size, n_samples, self.seed)
        return shares


def _to_shares(counts: Floats) -> Floats:
    totals = counts.sum(axis=1, keepdims=True)
    return np.divide(counts, totals, out=np.zeros_like(counts), where=totals > 0)


def sample_size(size: int, epsilon: float, delta: float) -> int:
    """Return the number of samples for an L1 error below epsilon with probability 1 − delta.

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
    """Turn uniform numbers into distinct nodes, ``(size, n_graphs, n_samples)``, as Floyd does.

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
