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


def binomial_error(accuracy: float, n: int) -> float:
    """Return the standard error that the size of a test set alone explains.

    Examples
    --------
    >>> round(binomial_error(0.7, 222), 3)
    0.031
    """
    return math.sqrt(accuracy * (1 - accuracy) / n)
