"""The learning curve: expected accuracy by number of labels, and whether more labels help."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

_POINTS = 4  # latest fits to consider
_FEWEST_LABELS = 30
_HELPS = 0.01  # gain in accuracy by 50 % more labels that is worth the work


class Point(NamedTuple):
    """A model on the curve."""

    labels: int
    accuracy: float  # estimated by cross-validation
    low: float  # ends of the 95 % confidence interval
    high: float


def points(models: Sequence[Mapping[str, Any]]) -> list[Point]:
    """Return the learning curve from the recorded facts about models.

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
    """Return the expected gain in accuracy by 50 % more labels; None with too few points.

    Extrapolates a line through the latest points over the logarithm of the number of labels, each
    point weighted by that number.

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
    """Say how much more labels would help; empty if unknown."""
    gain = expected_gain(curve)
    if gain is None:
        return ""
    more = max(1, round(curve[-1].labels / 2))
    if gain < _HELPS:
        return (
            f"The curve is flat: {more:,} more labels would hardly change the accuracy. "
            "You may have enough."
        )
    return f"The curve still rises: {more:,} more labels may add {100 * gain:.0f} points."
