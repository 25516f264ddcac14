"""Methods compared on the same splits, with significance tests, and ranked over datasets."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import friedmanchisquare, rankdata, studentized_range
from scipy.stats import t as student_t

from kgnn.benchmark.record import Record
from kgnn.evaluation.metrics import mean_and_std
from kgnn.evaluation.paired_tests import ALPHA, holm
from kgnn.graphs.graph import Floats
from kgnn.reports.results import (
    USUAL,
    Group,
    Results,
    Terms,
    are_comparable,
    on_common_splits,
    overlap,
)

# What the tests take for granted, to be said wherever they are shown.
ASSUMPTION = (
    "The correction counts labeled and unlabeled graphs as training graphs, as every method is "
    "given both; with the labeled alone, fewer differences would be significant."
)
# Two differences that happen to be nearly equal would look like certainty.
_FEWEST_SPLITS = 3
# Differences of percentages that are equal on paper differ by this much in floating point.
_EQUAL = 1e-9


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
    return float(2 * student_t.sf(abs(values.mean()) / math.sqrt(variance), n - 1))


def average_ranks(scores: ArrayLike) -> Floats:
    """Return the mean rank of each method over datasets; 1 is best, equal scores share ranks.

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

    References
    ----------
    Demšar, *Statistical comparisons of classifiers over multiple data sets*, JMLR 7, 2006.
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


@dataclass(frozen=True)
class Comparison:
    """A method against a reference on the splits of one dataset that both have."""

    method: str
    reference: str
    dataset: str
    n: int  # number of these splits
    # Mean accuracy, or another headline, of the method minus that of the reference, in points.
    difference: float
    # Standard error of that mean, corrected as in the test; nan of a single split. On the paper's
    # one split, that over seeds.
    error: float = math.nan
    # Two-sided, of the corrected paired t-test; alone, and after Holm's correction for all the
    # methods that were compared. nan where the splits do not allow a test.
    p: float = math.nan
    holm_p: float = math.nan
    # Whether the answers were the same on all splits, as far as the records tell.
    is_same: bool = False

    @property
    def verdict(self) -> str:
        """``better`` or ``worse`` than the reference, or nothing where that is not significant."""
        if not self.holm_p < ALPHA:  # nan too
            return ""
        return "better" if self.difference > 0 else "worse"


def compare(
    results: Results,
    methods: Iterable[str],
    dataset: str,
    terms: Terms = USUAL,
) -> dict[str, Comparison]:
    """Compare methods with the reference on one dataset, where both have common splits."""
    theirs = results.find(results.reference, dataset, terms)
    ours = [
        group
        for method in methods
        if method != results.reference and (group := results.find(method, dataset, terms))
    ]
    found = compare_groups(ours, theirs) if theirs else []
    return {each.method: each for each in found if each}


def compare_groups(ours: Sequence[Group], theirs: Group) -> list[Comparison | None]:
    """Compare groups with another one, on the same dataset; None where no split is common."""
    found = [_compare_pair(group, theirs) if _common(group, theirs) else None for group in ours]
    adjusted = iter(holm([each.p for each in found if each]))
    return [each and replace(each, holm_p=next(adjusted)) for each in found]


def _compare_pair(ours: Group, theirs: Group) -> Comparison:
    pairs = _common(ours, theirs)
    differences = [a.result[ours.metric] - b.result[ours.metric] for a, b in pairs]
    mean, std = mean_and_std(differences)
    shared = overlap(record for record, _ in pairs)
    error = std * math.sqrt(1 / len(pairs) + shared) if len(pairs) > 1 else math.nan
    # The paper's protocol has one split for all seeds: a test would speak of the seeds alone.
    is_testable = len(pairs) >= _FEWEST_SPLITS and ours.protocol != "paper"
    p = corrected_paired_t_test(differences, shared) if is_testable else math.nan
    is_same = all(
        a.result.get(name) == b.result.get(name) for a, b in pairs for name in ("accuracy", "brier")
    )
    names = ours.method, theirs.method, ours.dataset
    return Comparison(*names, len(pairs), mean, error, p, is_same=is_same)


def _common(ours: Group, theirs: Group) -> list[tuple[Record, Record]]:
    """Return the records of both for each split that both have."""
    by_seed = {record.cell.seed: record for record in theirs.records}
    return [(r, by_seed[r.cell.seed]) for r in ours.records if r.cell.seed in by_seed]


@dataclass(frozen=True)
class Ranking:
    """Methods by their accuracy on the datasets that all of them have."""

    methods: tuple[str, ...]  # those that have any dataset, as they were listed
    # Those on which each of these methods has been run, on about as many splits.
    datasets: tuple[str, ...]
    scores: tuple[tuple[float, ...], ...]  # mean accuracy, by dataset and method

    @cached_property
    def ranks(self) -> dict[str, float]:
        """Average rank of each method, 1 is best; empty without common datasets."""
        if not self.datasets:
            return {}
        return dict(zip(self.methods, average_ranks(self.scores).tolist(), strict=True))

    @cached_property
    def friedman(self) -> Friedman:
        """Whether the methods rank alike."""
        return friedman_test(self.scores) if self.datasets else Friedman(math.nan, math.nan)

    @cached_property
    def critical_difference(self) -> float:
        """By how much average ranks must differ (Nemenyi); nan where there is nothing to rank."""
        if len(self.methods) < 2 or not self.datasets:
            return math.nan
        return nemenyi_critical_difference(len(self.methods), len(self.datasets), ALPHA)

    @property
    def alike(self) -> list[list[str]]:
        """Groups of methods that do not differ, best first."""
        groups = groups_alike(list(self.ranks.values()), self.critical_difference)
        return [[self.methods[i] for i in group] for group in groups]


def rank_methods(
    results: Results,
    methods: Sequence[str],
    datasets: Sequence[str],
    terms: Terms = USUAL,
) -> Ranking:
    """Rank methods over the datasets that all of them have, by the splits that all have there.

    Datasets on which these are few do not count, see `kgnn.reports.results.are_comparable`.
    """
    every = results.find_all(methods, datasets, terms)
    found = {dataset: [g for g in every.values() if g.dataset == dataset] for dataset in datasets}
    run = {group.method for groups in found.values() for group in groups}
    there = tuple(method for method in methods if method in run)
    shared = tuple(
        dataset
        for dataset, groups in found.items()
        if there and len(groups) == len(there) and are_comparable(groups)
    )
    scores = (tuple(group.mean for group in on_common_splits(found[d])) for d in shared)
    return Ranking(there, shared, tuple(scores))
