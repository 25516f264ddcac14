"""Methods compared on the same splits: pair by pair on one dataset, by rank over datasets."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from kgnn.benchmark.record import Record
from kgnn.evaluation.metrics import mean_and_std
from kgnn.reports.results import Group, Results, are_comparable, on_common_splits, overlap
from kgnn.reports.significance import (
    Friedman,
    average_ranks,
    corrected_paired_t_test,
    friedman_test,
    groups_alike,
    holm,
    nemenyi_critical_difference,
)

REFERENCE = "kgnn"
ALPHA = 0.05
# What the tests take for granted, to be said wherever they are shown.
ASSUMPTION = (
    "The correction counts labeled and unlabeled graphs as training graphs, as every method is "
    "given both; with the labeled alone, fewer differences would be significant."
)
# Two differences that happen to be nearly equal would look like certainty.
_FEWEST_SPLITS = 3


@dataclass(frozen=True)
class Comparison:
    """A method against a reference on the splits of one dataset that both have.

    Attributes
    ----------
    method, reference, dataset : str
    n : int
        Number of these splits.
    difference : float
        Mean accuracy of the method minus that of the reference, in percentage points.
    error : float
        Standard error of that mean, corrected as in the test; nan of a single split. On the
        paper's one split, that over seeds.
    p, holm_p : float
        Two-sided, of the corrected paired t-test; alone, and after Holm's correction for all the
        methods that were compared. nan where the splits do not allow a test.
    is_same : bool
        Whether the answers were the same on all splits, as far as the records tell.
    """

    method: str
    reference: str
    dataset: str
    n: int
    difference: float
    error: float = math.nan
    p: float = math.nan
    holm_p: float = math.nan
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
    *,
    reference: str = REFERENCE,
    protocol: str = "fair",
    labels: float = 0.1,
) -> dict[str, Comparison]:
    """Compare methods with a reference on one dataset; those without common splits are left out."""
    theirs = results.find(reference, dataset, protocol=protocol, labels=labels)
    ours = [
        group
        for method in methods
        if method != reference
        and (group := results.find(method, dataset, protocol=protocol, labels=labels))
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
    differences = [a.result["accuracy"] - b.result["accuracy"] for a, b in pairs]
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
    """Methods by their accuracy on the datasets that all of them have.

    Attributes
    ----------
    methods : tuple of str
        Those that have any dataset, as they were listed.
    datasets : tuple of str
        Those on which each of these methods has been run, on about as many splits.
    scores : tuple of tuple of float
        Mean accuracy, by dataset and method.
    """

    methods: tuple[str, ...]
    datasets: tuple[str, ...]
    scores: tuple[tuple[float, ...], ...]

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
    *,
    protocol: str = "fair",
    labels: float = 0.1,
) -> Ranking:
    """Rank methods over the datasets that all of them have, by the splits that all have there.

    Datasets on which these are few do not count, see `kgnn.reports.results.are_comparable`.
    """
    found = {
        dataset: [
            group
            for method in methods
            if (group := results.find(method, dataset, protocol=protocol, labels=labels))
        ]
        for dataset in datasets
    }
    run = {group.method for groups in found.values() for group in groups}
    there = tuple(method for method in methods if method in run)
    shared = tuple(
        dataset
        for dataset, groups in found.items()
        if there and len(groups) == len(there) and are_comparable(groups)
    )
    scores = (tuple(group.mean for group in on_common_splits(found[d])) for d in shared)
    return Ranking(there, shared, tuple(scores))
