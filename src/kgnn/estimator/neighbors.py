"""Labeled graphs beside a graph: how similar they are, how much a memory attends to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kgnn.graphs.graph import Floats, GraphDataset, Ints
from kgnn.kernels.base import Features, gram
from kgnn.kernels.weisfeiler_lehman import WeisfeilerLehman


@dataclass(frozen=True)
class Neighbor:
    """A labeled graph, as seen from another graph.

    Attributes
    ----------
    row : int
        Position among the model's ``labeled_graphs_``.
    name : str
    label : object
        Its class.
    kernel_value : float
        Cosine of the two graphs' Weisfeiler-Lehman features: 1 for graphs that the kernel cannot
        tell apart, 0 for graphs that have nothing in common.
    attention : tuple of float
        Share of the memory's attention at each hop; empty for a model without a memory.
    """

    row: int
    name: str
    label: Any
    kernel_value: float
    attention: tuple[float, ...] = ()


@dataclass(frozen=True, eq=False)
class Surroundings:
    """How some graphs relate to all labeled graphs.

    Attributes
    ----------
    labeled : GraphDataset
    labels : list
        Their classes, as the user calls them.
    kernel_values : (n_graphs, n_labeled)
    attention : (n_hops, n_graphs, n_labeled)
        Without hops for a model without a memory.
    """

    labeled: GraphDataset
    labels: list[Any]
    kernel_values: Floats
    attention: Floats

    def most_similar(self, graph: int, n: int) -> tuple[Neighbor, ...]:
        """Return the labeled graphs with the largest kernel values, largest first."""
        return self._neighbors(graph, np.argsort(-self.kernel_values[graph], kind="stable")[:n])

    def most_attended(self, graph: int, n: int) -> tuple[Neighbor, ...]:
        """Return the graphs that hops attend to most on average; without a memory, similar ones."""
        if not len(self.attention):
            return self.most_similar(graph, n)
        mean = self.attention[:, graph].mean(axis=0)
        # Rounded, so that graphs attended to alike come by their kernel values.
        order = np.lexsort([-self.kernel_values[graph], -mean.round(12)])
        return self._neighbors(graph, order[:n])

    def _neighbors(self, graph: int, rows: Ints) -> tuple[Neighbor, ...]:
        return tuple(
            Neighbor(
                row,
                self.labeled[row].name,
                self.labels[row],
                float(self.kernel_values[graph, row]),
                tuple(self.attention[:, graph, row].tolist()),
            )
            for row in rows.tolist()
        )


def cosines(features: Features, others: Features) -> Floats:
    """Return the cosine of each row with each other row; 0 for rows of zeros.

    Examples
    --------
    >>> cosines(np.array([[3.0, 4.0], [0.0, 0.0]]), np.array([[1.0, 0.0]])).round(2).tolist()
    [[0.6], [0.0]]
    """
    squares = [np.asarray((each * each).sum(axis=1)).ravel() for each in (features, others)]
    inverse = [np.divide(1, np.sqrt(s), out=np.zeros_like(s), where=s > 0) for s in squares]
    # Rounding may lead beyond 1.
    return np.minimum(gram(features, others) * inverse[0][:, None] * inverse[1][None, :], 1.0)


def plain_kernel_values(graphs: GraphDataset, labeled: GraphDataset) -> Floats:
    """Return normalized Weisfeiler-Lehman kernel values, for models that have no kernel.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> graphs = cycles_and_trees(4)
    >>> plain_kernel_values(graphs[:1], graphs).round(2).tolist()
    [[1.0, 0.24, 1.0, 0.06]]
    """
    has_labels = labeled.node_labels is not None and graphs.node_labels is not None
    start = "labels" if has_labels else "degree"
    kernel = WeisfeilerLehman(2, start=start, normalize="graph")
    return np.minimum(kernel.fit(labeled).gram(graphs, labeled), 1.0)
