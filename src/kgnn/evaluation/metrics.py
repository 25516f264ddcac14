"""How good predictions are: pure functions of true classes and probabilities."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from kgnn.graphs.graph import Floats, Ints


def accuracy(targets: Ints, predicted: NDArray[np.int64]) -> float:
    """Return the share of graphs whose class is right."""
    return float((targets == predicted).mean())


def majority_share(targets: Ints) -> float:
    """Return the accuracy of always naming the most frequent class."""
    return float(np.bincount(targets).max() / len(targets))


def mean_and_std(values: Floats | list[float]) -> tuple[float, float]:
    """Return mean and sample standard deviation (ddof = 1; 0 for a single value)."""
    array = np.asarray(values, dtype=np.float64)
    return float(array.mean()), float(array.std(ddof=1)) if len(array) > 1 else 0.0


def brier_score(targets: Ints, proba: Floats) -> float:
    """Return the mean squared distance between probabilities and what came true; 0 is best.

    Examples
    --------
    >>> brier_score(np.array([0, 1]), np.array([[1.0, 0.0], [0.5, 0.5]]))
    0.25
    """
    happened = np.eye(proba.shape[1])[targets]
    return float(((proba - happened) ** 2).sum(axis=1).mean())


def calibration_error(targets: Ints, proba: Floats, bins: int = 10) -> float:
    """Return the expected calibration error: how far confidence is from the share that is right.

    Graphs are put into bins of equal width by the confidence of their prediction.

    Examples
    --------
    >>> sure = np.tile([0.9, 0.1], (10, 1))
    >>> round(calibration_error(np.array([0] * 8 + [1] * 2), sure), 3)
    0.1
    """
    confidence, right = proba.max(axis=1), proba.argmax(axis=1) == targets
    place = np.minimum((confidence * bins).astype(np.int64), bins - 1)
    gaps = np.bincount(place, weights=confidence - right, minlength=bins)
    return float(np.abs(gaps).sum() / len(targets))


def binomial_error(accuracy: float, n: int) -> float:
    """Return the standard error that the size of a test set alone explains.

    Examples
    --------
    >>> round(binomial_error(0.7, 222), 3)
    0.031
    """
    return math.sqrt(accuracy * (1 - accuracy) / n)
