"""Is a difference more than chance: tests over the splits of one dataset, and over datasets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import friedmanchisquare, rankdata, studentized_range
from scipy.stats import t as student_t

from kgnn.graphs.graph import Floats

# Differences of percentages that are equal on paper differ by this much in floating point.
_EQUAL = 1e-9


def corrected_paired_t_test(differences: ArrayLike, overlap: float) -> float:
    """Return the two-sided p of paired differences over random splits of the same data.

    Training and test sets of different splits overlap, so their results are not independent, and
    the plain t-test finds differences where there are none. The correction takes the variance of
    the mean as 1 / n + ``overlap`` times that of a difference.

    Parameters
    ----------
    differences : array of shape (n,)
        One for each split.
    overlap : float
        Number of test graphs by number of training graphs.

    Returns
    -------
    float
        nan with fewer than two splits, and where all differences are the same but not 0: on small
        test sets that is no rare chance, and without any spread there is nothing to judge by. 1
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
    return float(2 * student_t.sf(abs(values.mean()) / math.sqrt(variance), n - 1))


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


def average_ranks(scores: ArrayLike) -> Floats:
    """Return the mean rank of each method over datasets; 1 is best, equal scores share ranks.

    Parameters
    ----------
    scores : array of shape (n_datasets, n_methods)
        Higher is better.

    Examples
    --------
    >>> average_ranks([[70, 60, 60], [80, 90, 70]])
    array([1.5 , 1.75, 2.75])
    """
    # Equal means of equal numbers may differ in the last bit, which must not rank them.
    rounded = np.round(np.asarray(scores, dtype=np.float64), 9)
    ranks: Floats = rankdata(-rounded, axis=1).mean(axis=0)
    return ranks


class Friedman(NamedTuple):
    """Chi-square statistic and its p."""

    statistic: float
    p: float


def friedman_test(scores: ArrayLike) -> Friedman:
    """Test whether all methods rank alike over datasets.

    Parameters
    ----------
    scores : array of shape (n_datasets, n_methods)

    Returns
    -------
    Friedman
        nan with fewer than three methods or two datasets.

    References
    ----------
    Demšar, *Statistical comparisons of classifiers over multiple data sets*, JMLR 7, 2006.

    Examples
    --------
    >>> found = friedman_test([[3, 2, 1], [3, 2, 1], [3, 2, 1]])
    >>> found.statistic, round(found.p, 4)
    (6.0, 0.0498)
    """
    table = np.round(np.asarray(scores, dtype=np.float64), 9)
    n_datasets, n_methods = table.shape
    if n_methods < 3 or n_datasets < 2:
        return Friedman(math.nan, math.nan)
    if (table == table[:, :1]).all():  # no ranks to speak of
        return Friedman(0.0, 1.0)
    found = friedmanchisquare(*table.T)
    return Friedman(float(found.statistic), float(found.pvalue))


def nemenyi_critical_difference(n_methods: int, n_datasets: int, alpha: float = 0.05) -> float:
    """Return by how much average ranks must differ to tell two methods of many apart.

    References
    ----------
    Demšar, *Statistical comparisons of classifiers over multiple data sets*, JMLR 7, 2006.

    Examples
    --------
    >>> round(nemenyi_critical_difference(n_methods=5, n_datasets=30), 3)
    1.114
    """
    q = studentized_range.ppf(1 - alpha, n_methods, np.inf) / math.sqrt(2)
    return float(q * math.sqrt(n_methods * (n_methods + 1) / (6 * n_datasets)))


def groups_alike(ranks: Sequence[float], critical_difference: float) -> list[list[int]]:
    """Return the largest groups of methods whose ranks all are within a critical difference.

    These are the bars of a critical-difference diagram.

    Returns
    -------
    list of list of int
        Positions of methods, best rank first; groups of one and parts of others are left out.

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
