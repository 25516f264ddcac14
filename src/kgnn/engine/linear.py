"""Logistic regression with a strong penalty, which is hard to beat with few labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.spatial.distance import cdist, pdist

from kgnn.engine.task import Task
from kgnn.graphs.graph import Floats, Ints
from kgnn.kernels.projection import Projection
from kgnn.seeds import generator

# C, for coordinates of a mean squared length of 8. Found on splits that no table of results has.
PENALTY = 3 / 16
_NEVER = -20.0  # logit of a class that no labeled graph has
# Value of the Gaussian at its center, beside inner products that are 8 on average; as PENALTY.
_HEIGHT = 16.0
MOST_CENTERS = 256  # Gaussians
_FEWEST_AND_MOST = 64, 256  # coordinates
_MOST_COMPARED = 1000  # rows, for their typical distance
_SAME = 1e-6  # squared distance
_NEGLIGIBLE = 1e-6  # share of the largest eigenvalue


def make_projection(dimensions: int | Literal["auto"] | None, task: Task) -> Projection | None:
    """Return what turns kernel features into coordinates, not yet fitted."""
    if dimensions is None:
        return None
    if dimensions == "auto":
        dimensions = int(np.clip(len(task.labeled) // 2, *_FEWEST_AND_MOST))
    # A squared length of eight suits the learning rate of the memory, and the penalty of a linear
    # machine.
    return Projection(dimensions, length=8.0, seed=task.seed)


def fit_linear(
    features: Any,
    classes: Ints,
    n_classes: int,
    *,
    penalty: float = PENALTY,
    weights: Floats | None = None,
) -> tuple[Floats, Floats]:
    """Fit a logistic regression: coefficients, ``(n_classes, n_features)``, and biases.

    Examples
    --------
    >>> coefficients, biases = fit_linear(np.array([[-1.0], [1.0]]), np.array([0, 2]), 3)
    >>> (np.array([[2.0]]) @ coefficients.T + biases).argmax()
    np.int64(2)
    """
    from sklearn.linear_model import LogisticRegression  # not needed to predict

    known = np.unique(classes)
    coefficients, biases = np.zeros((n_classes, features.shape[1])), np.full(n_classes, _NEVER)
    if len(known) == 1:  # nothing to tell apart
        biases[known] = 0.0
        return coefficients, biases
    machine = LogisticRegression(C=penalty, max_iter=1000).fit(features, classes, weights)
    found, bias = machine.coef_, machine.intercept_
    if len(known) == 2:  # one row, for the second class
        found, bias = np.concatenate([-found, found]) / 2, np.concatenate([-bias, bias]) / 2
    coefficients[known], biases[known] = found, bias
    return coefficients, biases


@dataclass(frozen=True, eq=False)
class KernelMachine:
    """A logistic regression by the kernel ``⟨x, y⟩ + h exp(−s |x − y|²)``.

    The inner product captures directions in which classes differ; the Gaussian captures
    neighborhoods, for classes that no hyperplane separates.
    """

    coefficients: Floats  # (n_classes, n_features)
    biases: Floats  # (n_classes,)
    centers: Floats  # (n_centers, n_features)
    heights: Floats  # (n_classes, n_centers), of the Gaussians
    sharpness: float  # s

    @classmethod
    def fit(
        cls,
        features: Floats,
        classes: Ints,
        n_classes: int,
        *,
        n_centers: int = MOST_CENTERS,
        typical: float | None = None,
        penalty: float = PENALTY,
        weights: Floats | None = None,
    ) -> KernelMachine:
        """Fit on rows of features.

        The Gaussian kernel is approximated by Nyström's method from ``n_centers`` random rows; it
        is exact if there are no more rows than that. It falls to 1/e at the squared distance
        ``typical``, by default the median one.

        Examples
        --------
        >>> rings = np.array([[0.0], [0.1], [3.0], [-3.0]])
        >>> machine = KernelMachine.fit(
        ...     rings, np.array([0, 0, 1, 1]), 2, typical=4.0, penalty=10.0
        ... )
        >>> machine.scores(np.array([[0.2], [2.5], [-2.5]])).argmax(axis=1).tolist()
        [0, 1, 1]
        """
        n_features = features.shape[1]
        sharpness = 1 / (typical or typical_distance(features))
        chosen = generator(len(features), "centers").permutation(len(features))[:n_centers]
        centers = features[np.sort(chosen)]
        values, vectors = np.linalg.eigh(_gaussian(centers, centers, sharpness))
        kept = values > _NEGLIGIBLE * values.max(initial=0)
        basis = vectors[:, kept] * np.sqrt(_HEIGHT / values[kept])
        near = _gaussian(features, centers, sharpness) @ basis
        found, biases = fit_linear(
            np.hstack([features, near]), classes, n_classes, penalty=penalty, weights=weights
        )
        heights = found[:, n_features:] @ basis.T
        return cls(found[:, :n_features], biases, centers, heights, sharpness)

    def require_sound(self) -> None:
        """Refuse arrays, read from a file, that do not belong together."""
        n_classes, n_features = self.coefficients.shape if self.coefficients.ndim == 2 else (0, 0)
        is_sound = (
            n_classes > 0
            and self.biases.shape == (n_classes,)
            and self.centers.ndim == 2
            and self.centers.shape[1] == n_features
            and self.heights.shape == (n_classes, len(self.centers))
        )
        if not is_sound:
            raise ValueError("the arrays of a kernel machine do not belong together")

    def scores(self, features: Floats) -> Floats:
        """Return logits, ``(n_rows, n_classes)``."""
        near = _gaussian(features, self.centers, self.sharpness)
        return np.asarray(features @ self.coefficients.T + near @ self.heights.T + self.biases)


def typical_distance(features: Floats) -> float:
    """Return the median squared distance of two rows that differ; 1 if none do."""
    every = -(-len(features) // _MOST_COMPARED) or 1
    distances = pdist(features[::every], "sqeuclidean")
    if len(distances) and np.median(distances) < _SAME:  # most graphs are copies of each other
        distances = distances[distances >= _SAME]
    return float(np.median(distances)) if len(distances) else 1.0


def _gaussian(rows: Floats, centers: Floats, sharpness: float) -> Floats:
    return np.asarray(np.exp(-sharpness * cdist(rows, centers, "sqeuclidean")))
