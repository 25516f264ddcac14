"""The learning curve: expected accuracy against labels, and when more labels hardly help."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

_POINTS = 4  # fits that are looked at
_FEWEST_LABELS = 30
_HELPS = 0.01  # accuracy that half as many labels more should be worth


class Point(NamedTuple):
    """A model on the curve."""

    labels: int
    accuracy: float  # of labels that were predicted without themselves
    low: float  # within these it is with a probability of 95 %
    high: float


def points(models: Sequence[Mapping[str, Any]]) -> list[Point]:
    """Return the curve of models, by what is recorded of each.

    Examples
    --------
    >>> points([{"labels": 4, "accuracy": None}])
    []
    """
    return [
        Point(each["labels"], each["accuracy"], each["low"], each["high"])
        for each in models
        if each.get("accuracy") is not None
    ]


def expected_gain(curve: Sequence[Point]) -> float | None:
    """Return by how much the accuracy would rise with half as many labels more.

    By a line through the latest points, against the logarithm of the labels; each point counts as
    much as there are labels. None if there are too few points to tell.

    Examples
    --------
    >>> rising = [Point(n, 0.5 + n / 200, 0.0, 1.0) for n in (40, 50, 60, 70)]
    >>> level = [Point(n, 0.8, 0.7, 0.9) for n in (40, 50, 60, 70)]
    >>> round(expected_gain(rising), 2), abs(round(expected_gain(level), 2))
    (0.11, 0.0)
    """
    latest = curve[-_POINTS:]
    if len(latest) < _POINTS or latest[-1].labels < _FEWEST_LABELS:
        return None
    labels = np.array([point.labels for point in latest], dtype=np.float64)
    if labels.max() < 1.2 * labels.min():
        return None
    accuracy = np.array([point.accuracy for point in latest])
    slope, _ = np.polyfit(np.log(labels), accuracy, 1, w=np.sqrt(labels))
    return float(slope * np.log(1.5))


def advice(curve: Sequence[Point]) -> str:
    """Say whether more labels are worth it."""
    gain = expected_gain(curve)
    if gain is None:
        return ""
    more = max(1, round(curve[-1].labels / 2))
    if gain < _HELPS:
        return (
            f"The curve is flat: {more:,} more labels would hardly change the accuracy. "
            "This may be enough."
        )
    return f"The curve still rises: {more:,} more labels may be worth {100 * gain:.0f} points."
