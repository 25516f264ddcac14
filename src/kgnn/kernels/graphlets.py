"""Graphlet features: how often each small graph occurs as an induced subgraph.

References
----------
Shervashidze et al., *Efficient graphlet kernels for large graph comparison*, AISTATS 2009.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import binom

from kgnn.errors import ParameterError
from kgnn.graphs.graph import Floats, GraphDataset, Ints
from kgnn.kernels.counted import CountedFeatures
from kgnn.kernels.counting import Counts
from kgnn.kernels.graphlet_counts import count_four, count_three, work_of_four
from kgnn.kernels.graphlet_samples import sample_shares, sample_size
from kgnn.kernels.patterns import SIZES, is_connected, representatives

# Steps of exact counting that are worth having no error: some ten milliseconds a graph.
_AFFORDABLE = 100_000


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
        Leave out what does not hang together.
    shares : bool
        Shares among all sets of so many nodes instead of counts.
    counts : {"raw", "log", "sqrt", "binary"}
        What becomes of a count or share.
    normalize : {None, "graph", "level", "dataset"}
        How rows are scaled; see `CountedFeatures`. A level is a size.
    seed : int
        Of the random sets.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> graphs = cycles_and_trees(20)
    >>> Graphlets(sizes=(3,)).fit_transform(graphs).shape
    (20, 4)
    """

    def __init__(
        self,
        sizes: tuple[int, ...] = (3, 4),
        *,
        method: str = "auto",
        samples: int | None = None,
        epsilon: float = 0.1,
        delta: float = 0.1,
        connected_only: bool = False,
        shares: bool = True,
        counts: str = "raw",
        normalize: str | None = None,
        seed: int = 0,
    ) -> None:
        self.sizes = sizes
        self.method = method
        self.samples = samples
        self.epsilon = epsilon
        self.delta = delta
        self.connected_only = connected_only
        self.shares = shares
        self.counts = counts
        self.normalize = normalize
        self.seed = seed

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
