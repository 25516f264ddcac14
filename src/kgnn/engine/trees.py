"""Random forests as plain arrays, so that they can be saved; without torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from kgnn.graphs.graph import Floats, Ints
from kgnn.seeds import for_sklearn

_CELLS = 1 << 24  # of the dense features in one pass


@dataclass(frozen=True, eq=False)
class Forest:
    """Fitted decision trees, all their nodes in the same arrays; `grow` makes one."""

    columns: Ints  # features that any tree asks for
    roots: Ints  # the first node of each tree
    # Of each node: where to go next; a leaf points to itself.
    left: Ints
    right: Ints
    feature: Ints  # that it asks for, as a position in ``columns``
    threshold: Floats  # values up to it go left
    shares: Floats  # (n_nodes, n_classes), of the classes among the training graphs that came here

    @classmethod
    def grow(
        cls,
        features: Any,
        targets: Ints,
        n_classes: int,
        *,
        trees: int,
        seed: int,
        weights: Floats | None = None,
    ) -> Forest:
        """Grow a forest on dense or sparse features, as scikit-learn does."""
        from sklearn.ensemble import RandomForestClassifier  # not needed to predict

        forest = RandomForestClassifier(trees, random_state=for_sklearn(seed))
        grown = [tree.tree_ for tree in forest.fit(features, targets, weights).estimators_]
        firsts = np.cumsum([0] + [tree.node_count for tree in grown])
        own = np.arange(firsts[-1])
        offsets = np.repeat(firsts[:-1], np.diff(firsts))
        left = np.concatenate([tree.children_left for tree in grown])
        right = np.concatenate([tree.children_right for tree in grown])
        asked = np.concatenate([tree.feature for tree in grown])
        is_leaf = left < 0
        columns, place = np.unique(asked[~is_leaf], return_inverse=True)
        feature = np.zeros_like(own)
        feature[~is_leaf] = place
        shares = np.zeros((len(own), n_classes))
        known = forest.classes_.astype(np.int64)
        shares[:, known] = np.concatenate([tree.value[:, 0, :] for tree in grown])
        return cls(
            columns.astype(np.int64),
            firsts[:-1],
            np.where(is_leaf, own, left + offsets),
            np.where(is_leaf, own, right + offsets),
            feature,
            np.concatenate([tree.threshold for tree in grown]),
            shares / shares.sum(axis=1, keepdims=True),
        )

    def require_sound(self) -> None:
        """Refuse trees, read from a file, with invalid features or children."""
        n_nodes = len(self.left)
        shapes = {each.shape for each in (self.left, self.right, self.feature, self.threshold)}
        if shapes != {(n_nodes,)} or self.shares.shape[:1] != (n_nodes,) or self.shares.ndim != 2:
            raise ValueError("the nodes of a forest do not have one of each")
        limits = {"left": n_nodes, "right": n_nodes, "roots": n_nodes}
        for name, limit in {**limits, "feature": max(1, len(self.columns))}.items():
            places = getattr(self, name)
            if places.ndim != 1 or not len(places):
                raise ValueError(f"the trees of a forest have no '{name}'")
            if not 0 <= int(places.min()) <= int(places.max()) < limit:
                raise ValueError(f"the trees of a forest have '{name}' beyond {limit}")
        if self.columns.ndim != 1 or (len(self.columns) and int(self.columns.min()) < 0):
            raise ValueError("the trees of a forest ask for features that there are not")

    def predict_proba(self, features: Any) -> Floats:
        """Return the mean over the trees, ``(n_rows, n_classes)``."""
        n_rows = features.shape[0]
        size = max(1, _CELLS // max(1, len(self.columns), len(self.roots)))
        proba = np.empty((n_rows, self.shares.shape[1]))
        for first in range(0, n_rows, size):
            rows = features[first : first + size][:, self.columns]
            dense = rows.toarray() if sparse.issparse(rows) else rows
            leaves = self._leaves(np.asarray(dense, dtype=np.float32))  # as when it was grown
            proba[first : first + size] = self.shares[leaves].mean(axis=1)
        return proba

    def _leaves(self, features: np.ndarray) -> Ints:
        """Return the leaf that each row reaches in each tree."""
        at = np.tile(self.roots, (len(features), 1))  # (n_rows, n_trees)
        if not features.shape[1]:  # all trees are single leaves
            return at
        every = np.arange(len(features))[:, None]
        for _ in range(len(self.left)):  # no way down is longer, even in a damaged file
            goes_left = features[every, self.feature[at]] <= self.threshold[at]
            then = np.where(goes_left, self.left[at], self.right[at])
            if np.array_equal(then, at):
                break
            at = then
        return at
