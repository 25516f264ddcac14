"""Whether differences on the same graphs are beyond noise, where many are looked at."""

from __future__ import annotations

import math
from collections.abc import Sequence

ALPHA = 0.05


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p-values of several comparisons; one below α then holds with all the others.

    Comparisons whose p is nan stay so, and do not count.

    References
    ----------
    Holm, *A simple sequentially rejective multiple test procedure*, Scand. J. Statist. 6, 1979.

    Examples
    --------
    >>> holm([0.01, 0.5, 0.02])
    [0.03, 0.5, 0.04]
    """
    adjusted = [math.nan] * len(p_values)
    there = [i for i, p in enumerate(p_values) if not math.isnan(p)]
    largest = 0.0
    for step, i in enumerate(sorted(there, key=lambda i: p_values[i])):
        # A smaller p never ends above a larger one.
        largest = max(largest, min(1.0, (len(there) - step) * p_values[i]))
        adjusted[i] = largest
    return adjusted
