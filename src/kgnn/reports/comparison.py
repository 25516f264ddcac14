"""Methods compared on the same splits, with significance tests, and ranked over datasets."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from kgnn.benchmark.record import Record
from kgnn.evaluation.metrics import mean_and_std
from kgnn.evaluation.paired_tests import (
    ALPHA,
    average_ranks,
    corrected_paired_t_test,
    critical_difference,
    groups_alike,
    holm,
)
from kgnn.reports.results import Group, Results, are_comparable, on_common_splits, overlap

# What the tests take for granted, to be said wherever they are shown.
ASSUMPTION = (
    "The correction counts labeled and unlabeled graphs as training graphs, as every method is "
    "given both; with the labeled alone, fewer differences would be significant."
)
# By a verdict.
MARKS = {"better": "▲", "worse": "▼", "": ""}
TEST = (
    "paired t-test over the same splits with the correction of Nadeau & Bengio, then Holm's over "
    "the {over}, α = " + f"{ALPHA:g}"
)
# Two differences that happen to be nearly equal would look like certainty.
_FEWEST_SPLITS = 3


@dataclass(frozen=True)
class Comparison:
    """A method against a reference on the splits of one dataset that both have."""

    method: str
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


def compare(results: Results, methods: Iterable[str], dataset: str) -> dict[str, Comparison]:
    """Compare methods with the reference on one dataset, where both have common splits."""
    theirs = results.find(results.reference, dataset)
    others = [method for method in methods if method != results.reference]
    ours = list(results.find_all(others, [dataset]).values())
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
    return Comparison(ours.method, len(pairs), mean, error, p, is_same=is_same)


def _common(ours: Group, theirs: Group) -> list[tuple[Record, Record]]:
    """Return the records of both for each split that both have."""
    by_seed = {record.cell.seed: record for record in theirs.records}
    return [(r, by_seed[r.cell.seed]) for r in ours.records if r.cell.seed in by_seed]


class Ranking(NamedTuple):
    """Methods by their accuracy on the datasets that all of them have."""

    methods: tuple[str, ...]  # those that have any dataset, as they were listed
    # Those on which each of these methods has been run, on about as many splits.
    datasets: tuple[str, ...]
    scores: tuple[tuple[float, ...], ...]  # mean accuracy, by dataset and method
    ranks: dict[str, float]  # average of each method, 1 is best; empty without common datasets
    # By how much average ranks must differ (Nemenyi); nan where there is nothing to rank.
    critical_difference: float

    @property
    def alike(self) -> list[list[str]]:
        """Groups of methods that do not differ, best first."""
        groups = groups_alike(list(self.ranks.values()), self.critical_difference)
        return [[self.methods[i] for i in group] for group in groups]

    def best(self, dataset: str) -> list[str]:
        """Return the methods with the highest accuracy as printed, to a tenth."""
        scores = [round(score, 1) for score in self.scores[self.datasets.index(dataset)]]
        return [m for m, score in zip(self.methods, scores, strict=True) if score == max(scores)]


def rank_methods(results: Results, methods: Sequence[str], datasets: Sequence[str]) -> Ranking:
    """Rank methods over the datasets that all of them have, by the splits that all have there.

    Datasets on which these are few do not count, see `kgnn.reports.results.are_comparable`.
    """
    every = results.find_all(methods, datasets)
    there = tuple(m for m in methods if any(m == method for method, _ in every))
    found = {d: [every[m, d] for m in there if (m, d) in every] for d in datasets}
    whole = {d: own for d, own in found.items() if len(own) == len(there) and are_comparable(own)}
    scores = tuple(tuple(g.mean for g in on_common_splits(own)) for own in whole.values())
    ranks = dict(zip(there, average_ranks(scores).tolist(), strict=True)) if whole else {}
    difference = critical_difference(len(there), len(whole)) if len(ranks) > 1 else math.nan
    return Ranking(there, tuple(whole), scores, ranks, difference)
