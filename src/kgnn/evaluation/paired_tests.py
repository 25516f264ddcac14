"""Significance tests for paired differences on graphs, splits or datasets; Holm's correction."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import bdtr, ndtr, stdtr

from kgnn.graphs.graph import Floats, Ints

ALPHA = 0.05
# Differences of percentages that are equal on paper differ by this much in floating point.
_EQUAL = 1e-9


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
    return float(min(1.0, 2 * bdtr(min(n_better, n_worse), n, 0.5)))


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


def corrected_paired_t_test(differences: ArrayLike, overlap: float) -> float:
    """Return the two-sided p of paired differences over random splits of the same data.

    Training and test sets of different splits overlap, so their results are not independent, and
    the plain t-test finds differences where there are none. The correction takes the variance of
    the mean as 1 / n + ``overlap`` times that of a difference, where ``overlap`` is the number of
    test graphs by the number of training graphs.

    p is nan with fewer than two splits, and where all differences are the same but not 0: on small
    test sets that is no rare chance, and without any spread there is nothing to judge by. It is 1
    where all are 0.

    References
    ----------
    Nadeau & Bengio, *Inference for the generalization error*, Machine Learning 52, 2003.

    Examples
    --------
    >>> round(corrected_paired_t_test([1.0, 2.0, 3.0], overlap=20 / 70), 3)
    0.126
    """
    values = np.asarray(differences, dtype=np.float64)
    n = len(values)
    if n < 2:
        return math.nan
    if np.ptp(values) < _EQUAL:
        return 1.0 if abs(values[0]) < _EQUAL else math.nan
    variance = values.var(ddof=1) * (1 / n + overlap)
    return float(2 * stdtr(n - 1, -abs(values.mean()) / math.sqrt(variance)))


def average_ranks(scores: ArrayLike) -> Floats:
    """Return the mean rank of each method over datasets; 1 is best, equal scores share ranks.

    Examples
    --------
    >>> average_ranks([[70, 60, 60], [80, 90, 70]])
    array([1.5 , 1.75, 2.75])
    """
    # Equal means of equal numbers may differ in the last bit, which must not rank them.
    rounded = np.round(np.asarray(scores, dtype=np.float64), 9)
    one, other = rounded[:, :, None], rounded[:, None, :]
    ranks: Floats = (0.5 + (other > one).sum(axis=2) + (other == one).sum(axis=2) / 2).mean(axis=0)
    return ranks


def critical_difference(n_methods: int, n_datasets: int) -> float:
    """Return by how much average ranks must differ to tell two methods of many apart (Nemenyi).

    It is a quantile of the range of as many normal values. ``scipy.stats`` has it, too, but is slow
    to import.

    References
    ----------
    Demšar, *Statistical comparisons of classifiers over multiple data sets*, JMLR 7, 2006.

    Examples
    --------
    >>> round(critical_difference(n_methods=5, n_datasets=30), 3)
    1.114
    """
    lowest, step = np.linspace(-8, 8, 1601, retstep=True)
    weight = n_methods * step * np.exp(-(lowest**2) / 2) / math.sqrt(2 * math.pi)
    low, high = 0.0, 20.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        within = weight @ (ndtr(lowest + middle) - ndtr(lowest)) ** (n_methods - 1)
        low, high = (low, middle) if within > 1 - ALPHA else (middle, high)
    return low * math.sqrt(n_methods * (n_methods + 1) / (12 * n_datasets))


def groups_alike(ranks: Sequence[float], critical_difference: float) -> list[list[int]]:
    """Return the largest groups of methods whose ranks all are within a critical difference.

    These are the bars of a critical-difference diagram.

    Examples
    --------
    >>> groups_alike([3.5, 1.0, 2.0, 5.0], critical_difference=1.6)
    [[1, 2], [2, 0], [0, 3]]
    """
    order = sorted(range(len(ranks)), key=lambda i: ranks[i])
    groups: list[list[int]] = []
    end = 0  # where the last group ended
    for start, first in enumerate(order):
        near = sum(ranks[i] - ranks[first] <= critical_difference for i in order[start:])
        if near > 1 and start + near > end:
            groups.append(order[start : start + near])
            end = start + near
    return groups
