"""How a graph differs from the training graphs: a score and reasons.

A model assigns a class to every graph, even one unlike all training graphs. Three checks do not
depend on the model: node labels, sizes, and neighborhoods (Weisfeiler-Lehman colors of depth 1)
that no training graph has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from kgnn.graphs.graph import Floats, GraphDataset, Ints
from kgnn.graphs.molecules import are_molecules, written_out
from kgnn.kernels.colors import Colors, colors

_RARE = 0.99  # quantile of the shares of unique neighborhoods among training graphs
_FACTOR = 1.5  # by which a size may exceed those of the training graphs


class Novelty(NamedTuple):
    """How a graph differs from the training graphs."""

    # Share of the graph's nodes whose neighborhood, or own label, no training graph has.
    score: float
    reasons: tuple[str, ...]  # what differs; empty for a graph like the training graphs
    unknown_labels: int  # nodes with a label that no training graph has

    @property
    def is_novel(self) -> bool:
        """Whether a prediction should be checked by hand."""
        return bool(self.reasons)


@dataclass(frozen=True, eq=False)
class Familiar:
    """Summary of the training graphs."""

    label_names: tuple[str, ...]  # labels that nodes of training graphs have
    has_labels: bool
    sizes: Ints  # (2,), fewest and most nodes
    neighborhoods: Colors  # (n,), colors of depth 1 of all training graphs, sorted
    # 99 % of the training graphs have at most this share of neighborhoods found in no other graph.
    usual: float

    @classmethod
    def of(cls, graphs: GraphDataset) -> Familiar:
        """Summarize training graphs.

        Examples
        --------
        >>> from kgnn.graphs.datasets.toy import cycles_and_trees, planted_motifs
        >>> familiar = Familiar.of(cycles_and_trees(40))
        >>> [n.is_novel for n in familiar.compare(cycles_and_trees(3, seed=1))]
        [False, False, False]
        >>> [n.is_novel for n in familiar.compare(planted_motifs(2))]
        [True, True]
        """
        graphs = written_out(graphs)
        coloring = _neighborhoods(graphs)
        known, place = np.unique(coloring, return_inverse=True)
        pairs = np.unique(np.column_stack([graphs.node_graphs, place.reshape(-1)]), axis=0)
        n_graphs = np.bincount(pairs[:, 1], minlength=len(known))
        own_share = _mean_by_graph(graphs, n_graphs[place.reshape(-1)] == 1)
        used = [] if graphs.node_labels is None else np.unique(graphs.node_labels).tolist()
        return cls(
            tuple(graphs.node_label_names[label] for label in used),
            graphs.node_labels is not None,
            np.array([graphs.graph_sizes.min(), graphs.graph_sizes.max()]),
            known,
            float(np.quantile(own_share, _RARE)),
        )

    def is_sound(self) -> bool:
        """Tell whether values read from a file form a summary that `of` could have made."""
        return (
            self.sizes.shape == (2,)
            and 0 <= self.sizes[0] <= self.sizes[1]
            and self.neighborhoods.ndim == 1
            and bool((self.neighborhoods[1:] > self.neighborhoods[:-1]).all())
            and len(set(self.label_names)) == len(self.label_names)
            and 0 <= self.usual <= 1
        )

    def knows(self, graphs: GraphDataset) -> bool:
        """Tell whether graphs may be among the summarized ones."""
        graphs = written_out(graphs)
        return (
            (graphs.node_labels is not None) == self.has_labels
            and not self._unknown_labels(graphs).any()
            and self.sizes[0] <= graphs.graph_sizes.min()
            and graphs.graph_sizes.max() <= self.sizes[1]
            and bool(np.isin(_neighborhoods(graphs), self.neighborhoods).all())
        )

    def compare(self, graphs: GraphDataset) -> list[Novelty]:
        """Return for each graph how it differs from the training graphs."""
        graphs = written_out(graphs)
        strange = _mean_by_graph(graphs, ~np.isin(_neighborhoods(graphs), self.neighborhoods))
        unknown = self._unknown_labels(graphs)
        sizes = graphs.graph_sizes.tolist()
        return [
            Novelty(float(share), self._reasons(share, n_unknown, size, graphs), n_unknown)
            for share, n_unknown, size in zip(strange, unknown.tolist(), sizes, strict=True)
        ]

    def _unknown_labels(self, graphs: GraphDataset) -> Ints:
        if graphs.node_labels is None:
            return np.zeros(len(graphs), dtype=np.int64)
        known = np.isin(np.array(graphs.node_label_names), np.array(self.label_names))
        is_unknown = ~known[graphs.node_labels]
        return np.bincount(graphs.node_graphs[is_unknown], minlength=len(graphs))

    def _reasons(
        self, share: float, n_unknown: int, size: int, graphs: GraphDataset
    ) -> tuple[str, ...]:
        nodes, of_kind = "nodes", "have a label that no training graph has"
        if are_molecules(graphs):
            nodes, of_kind = "atoms", "are of a kind that no training molecule has"
        reasons = []
        if (graphs.node_labels is not None) != self.has_labels:
            had, has = ("labels", "none") if self.has_labels else ("no labels", "some")
            reasons.append(f"nodes of the training graphs have {had}, these have {has}")
        if n_unknown:
            reasons.append(f"{n_unknown} of {size} {nodes} {of_kind}")
        least, most = self.sizes.tolist()
        if size > _FACTOR * most or size * _FACTOR < least:
            reasons.append(f"it has {size} {nodes}, training graphs have {least} to {most}")
        if share > self.usual:
            reasons.append(
                f"{share:.0%} of its {nodes} have neighborhoods that no training graph has; "
                f"{self.usual:.0%} would be usual"
            )
        return tuple(reasons)


def _neighborhoods(graphs: GraphDataset) -> Colors:
    return list(colors(graphs, 1))[-1]


def _mean_by_graph(graphs: GraphDataset, values: np.ndarray) -> Floats:
    totals = np.bincount(graphs.node_graphs, weights=values, minlength=len(graphs))
    return totals / np.maximum(graphs.graph_sizes, 1)
