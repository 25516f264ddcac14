"""Fitted classifiers as plain arrays, which can be saved and opened anywhere."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.svm import SVC

from kgnn.graphs.graph import Floats, Ints
from kgnn.seeds import for_sklearn


@dataclass(frozen=True, eq=False)
class Machine:
    """A support vector machine on kernel values.

    Attributes
    ----------
    penalty : float
    support : (n_support,) int
        Training graphs that count, class by class.
    class_ends : (n_classes + 1,) int
        Where each class begins among them.
    coefficients : (n_classes − 1, n_support)
    intercepts : (n_pairs,)
        One for each pair of classes.
    """

    penalty: float
    support: Ints
    class_ends: Ints
    coefficients: Floats
    intercepts: Floats

    @classmethod
    def fit(cls, penalty: float, kernel: Floats, targets: Ints) -> Machine:
        """Fit a machine to kernel values of labeled graphs with each other."""
        svm = SVC(
            C=penalty,
            kernel="precomputed",
            decision_function_shape="ovo",
            random_state=0,  # changes nothing, but numpy's global generator is left alone
        )
        svm.fit(kernel, targets)
        return cls(
            penalty,
            svm.support_.astype(np.int64),
            np.concatenate([[0], np.cumsum(svm.n_support_)]).astype(np.int64),
            np.asarray(svm.dual_coef_),
            np.asarray(svm.intercept_),
        )

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.class_ends) - 1

    def decide(self, kernel: Floats) -> Floats:
        """Return how clearly the first class of each pair is preferred, ``(n_graphs, n_pairs)``.

        Of two classes, positive values are for the second, as scikit-learn has it.
        """
        values = kernel[:, self.support]
        if self.n_classes == 2:
            return np.asarray(values @ self.coefficients.T + self.intercepts)
        decided = []
        for pair, (one, other) in enumerate(combinations(range(self.n_classes), 2)):
            ones = slice(self.class_ends[one], self.class_ends[one + 1])
            others = slice(self.class_ends[other], self.class_ends[other + 1])
            decided.append(
                values[:, ones] @ self.coefficients[other - 1, ones]
                + values[:, others] @ self.coefficients[one, others]
                + self.intercepts[pair]
            )
        return np.column_stack(decided)


@dataclass(frozen=True, eq=False)
class Forest:
    """A forest of decision trees, all nodes in the same arrays.

    Attributes
    ----------
    roots : (n_trees,) int
    left, right : (n_nodes,) int
        Where to go next; a leaf points to itself.
    feature : (n_nodes,) int
        Which feature is asked; go left where it is at most the threshold.
    threshold : (n_nodes,) float
    shares : (n_nodes, n_classes) float
        Shares of the classes among the training graphs that came here.
    """

    roots: Ints
    left: Ints
    right: Ints
    feature: Ints
    threshold: Floats
    shares: Floats

    @classmethod
    def fit(cls, features: Floats, targets: Ints, trees: int, seed: int) -> Forest:
        """Grow a forest."""
        fitted = RandomForestClassifier(trees, random_state=for_sklearn(seed)).fit(
            features, targets
        )
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
