"""LDP: a random forest on degree profiles, the simplest strong peer (not in the paper)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from kgnn.engine.task import Task
from kgnn.estimator.classifier import GraphClassifier
from kgnn.estimator.parameters import Count, parameters
from kgnn.graphs.graph import Floats, GraphDataset, Ints
from kgnn.graphs.labels import recode
from kgnn.kernels.weisfeiler_lehman import FIXED_POINT, log_degrees, neighbor_max, neighbor_mean
from kgnn.seeds import for_sklearn

# Bins of half a doubling each, up to degrees of two million.
_WIDTH, _BINS = 0.5, 42


@parameters
class LDP(GraphClassifier):
    """Shares of nodes by degree, by their neighbors' degrees and by label, with a random forest.

    Parameters
    ----------
    trees : int

    Attributes
    ----------
    forest_ : Forest
    label_names_ : tuple of str
        Node labels of the training graphs.

    References
    ----------
    Cai & Wang, *A simple yet effective baseline for non-attributed graph classification*, 2018.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> graphs = cycles_and_trees(60)
    >>> LDP().fit(graphs[:40]).score(graphs[40:])
    1.0
    """

    trees: Count = 300

    def _fit(self, task: Task) -> None:
        self.label_names_ = task.graphs.node_label_names
        profile = degree_profile(task.graphs[task.labeled], self.label_names_)
        targets = task.targets[task.labeled]
        weights = None if task.class_weights is None else dict(enumerate(task.class_weights))
        self.forest_ = Forest.fit(profile, targets, self.trees, task.seed, weights)

    def _predict_proba(self, graphs: GraphDataset) -> Floats:
        return self.forest_.predict_proba(degree_profile(graphs, self.label_names_))


def degree_profile(graphs: GraphDataset, label_names: tuple[str, ...] = ()) -> Floats:
    """Return one row per graph: shares of nodes by degree and by neighbors' degrees, and sizes.

    Shares of the node labels ``label_names`` are added; other labels are left out.

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


@dataclass(frozen=True, eq=False)
class Forest:
    """A fitted forest of decision trees, all nodes in the same arrays, which can be saved."""

    roots: Ints  # (n_trees,)
    left: Ints  # (n_nodes,), where to go next; a leaf points to itself
    right: Ints
    feature: Ints  # which feature is compared: left where it is at most the threshold
    threshold: Floats
    shares: Floats  # (n_nodes, n_classes) of the classes among the training graphs that came here

    @classmethod
    def fit(
        cls,
        features: Floats,
        targets: Ints,
        trees: int,
        seed: int,
        class_weight: dict[int, float] | None = None,
    ) -> Forest:
        """Grow a forest."""
        forest = RandomForestClassifier(
            trees, random_state=for_sklearn(seed), class_weight=class_weight
        )
        fitted = forest.fit(features, targets)
        grown = [tree.tree_ for tree in fitted.estimators_]
        firsts = np.cumsum([0] + [tree.node_count for tree in grown])
        own = np.arange(firsts[-1])
        offsets = np.repeat(firsts[:-1], np.diff(firsts))
        left = np.concatenate([tree.children_left for tree in grown])
        right = np.concatenate([tree.children_right for tree in grown])
        shares = np.concatenate([tree.value[:, 0, :] for tree in grown])
        is_leaf = left < 0
        return cls(
            firsts[:-1],
            np.where(is_leaf, own, left + offsets),
            np.where(is_leaf, own, right + offsets),
            np.maximum(np.concatenate([tree.feature for tree in grown]), 0).astype(np.int64),
            np.concatenate([tree.threshold for tree in grown]),
            shares / shares.sum(axis=1, keepdims=True),
        )

    def predict_proba(self, features: Floats) -> Floats:
        """Return the mean over the trees, ``(n_rows, n_classes)``."""
        asked = features.astype(np.float32)  # as when it was grown
        at = np.tile(self.roots, (len(asked), 1))  # (n_rows, n_trees)
        every = np.arange(len(asked))[:, None]
        for _ in range(len(self.left)):  # no way down is longer, even in a damaged file
            goes_left = asked[every, self.feature[at]] <= self.threshold[at]
            then = np.where(goes_left, self.left[at], self.right[at])
            if np.array_equal(then, at):
                break
            at = then
        return np.asarray(self.shares[at].mean(axis=1))
