"""Significance tests for differences on the same graphs, with correction for several tests."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.stats import binom

from kgnn.graphs.graph import Ints

ALPHA = 0.05


def sign_test(n_better: int, n_worse: int) -> float:
    """Return the two-sided p-value of McNemar's exact test.

    ``n_better`` counts the graphs on which only the one method is right, ``n_worse`` those on which
    only the other is. Graphs on which both or neither are right carry no information.

    Examples
    --------
    >>> sign_test(8, 1), sign_test(3, 3)
    (0.0390625, 1.0)
    """
    n = n_better + n_worse
    return float(min(1.0, 2 * binom.cdf(min(n_better, n_worse), n, 0.5)))


def fewest_apart(n_tests: int) -> int:
    """Return how many more graphs a method must get right to differ significantly in n tests.

    They suffice only if the other method is right on no graph on which this one is wrong.

    Examples
    --------
    >>> fewest_apart(1), fewest_apart(45)
    (6, 11)
    """
    return math.floor(math.log2(2 * n_tests / ALPHA)) + 1


def resamples(targets: Ints, n: int, random: np.random.Generator) -> Ints:
    """Return ``n`` stratified bootstrap samples, ``(n, n_graphs)`` rows.

    Examples
    --------
    >>> rows = resamples(np.array([0, 1, 1]), 2, np.random.default_rng(0))
    >>> rows.shape, rows[:, 0].tolist()
    ((2, 3), [0, 0])
    """
    drawn = np.empty((n, len(targets)), dtype=np.int64)
    for target in np.unique(targets):
        own = np.flatnonzero(targets == target)
        drawn[:, own] = random.choice(own, size=(n, len(own)))
    return drawn


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust the p-values of several comparisons by Holm's method; nan stays and does not count.

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
