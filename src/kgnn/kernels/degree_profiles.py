"""Degree profiles: how a graph's nodes are distributed over degrees and over those of neighbors.

References
----------
Cai & Wang, *A simple yet effective baseline for non-attributed graph classification*, 2018.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from kgnn.graphs.graph import Floats, GraphDataset, Ints
from kgnn.graphs.interop import as_dataset
from kgnn.graphs.labels import recode
from kgnn.kernels.weisfeiler_lehman import FIXED_POINT, log_degrees, neighbor_max, neighbor_mean

# Bins of half a doubling each, up to degrees of two million.
_WIDTH, _BINS = 0.5, 42
_PARTS = ("degree", "mean", "largest", "smallest")
_SIZES = ("log_nodes", "log_edges", "log_density")


class DegreeProfiles(TransformerMixin, BaseEstimator):
    """Shares of nodes by degree, by their neighbors' degrees and by label, and sizes.

    Neighbors count with the mean, the largest and the smallest of their degrees. Degrees fall into
    bins of half a doubling.

    Attributes
    ----------
    node_label_names_ : tuple of str
        Labels of the graphs given to `fit`; others are left out.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> DegreeProfiles().fit_transform(cycles_and_trees(4)).shape
    (4, 171)
    """

    reads: ClassVar[tuple[str, ...]] = ("node_labels",)

    def fit(self, graphs: GraphDataset, y: Any = None) -> DegreeProfiles:
        """Learn the labels of nodes."""
        self.node_label_names_ = as_dataset(graphs).node_label_names
        return self

    def require_sound(self) -> None:
        """Refuse values read from a file that are not names of labels."""
        names = vars(self).get("node_label_names_", ())
        if vars(self).keys() - {"node_label_names_"} or not isinstance(names, tuple):
            raise ValueError("degree profiles have other attributes than labels of nodes")

    def transform(self, graphs: GraphDataset) -> Floats:
        """Return the features of graphs, ``(n_graphs, n_features)``."""
        check_is_fitted(self, "node_label_names_")
        graphs, names = as_dataset(graphs), self.node_label_names_
        bins = [np.minimum(each // round(_WIDTH * FIXED_POINT), _BINS - 1) for each in _of(graphs)]
        nodes = graphs.node_graphs
        shares = [shares_of(nodes, each.astype(np.int64), _BINS, len(graphs)) for each in bins]
        if names and graphs.node_labels is not None:
            codes = recode(graphs.node_labels, graphs.node_label_names, names).astype(np.int64)
            shares.append(shares_of(nodes, codes, len(names), len(graphs)))
        elif names:
            shares.append(np.zeros((len(graphs), len(names))))
        n_nodes, n_edges = np.log1p(graphs.graph_sizes), np.log1p(graphs.edge_counts)
        return np.column_stack([*shares, n_nodes, n_edges, n_edges - 2 * n_nodes])

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.str_]:
        """Name the columns: a part and its bin, a label, a size."""
        check_is_fitted(self, "node_label_names_")
        bins = [f"{part}_{number}" for part in _PARTS for number in range(_BINS)]
        labels = [f"label_{name}" for name in self.node_label_names_]
        return np.array([*bins, *labels, *_SIZES])


def _of(graphs: GraphDataset) -> tuple[NDArray[np.uint64], ...]:
    """Return for each node its own degree, and the mean, largest and smallest of its neighbors."""
    most = np.uint64(64 * FIXED_POINT)
    degree = log_degrees(graphs)
    smallest = most - neighbor_max(graphs, most - degree)
    smallest[graphs.degrees == 0] = 0
    return degree, neighbor_mean(graphs, degree), neighbor_max(graphs, degree), smallest


def shares_of(graph_of: NDArray[Any], values: Ints, n_values: int, n_graphs: int) -> Floats:
    """Return the share of each value among the things of each graph; −1 counts nowhere."""
    known = values >= 0
    cells = graph_of[known].astype(np.int64) * n_values + values[known]
    counts = np.bincount(cells, minlength=n_graphs * n_values).reshape(n_graphs, n_values)
    totals = np.bincount(graph_of, minlength=n_graphs)
    return np.asarray(counts / np.maximum(totals, 1)[:, None])
