"""Records put in order: what was run on the same terms belongs together."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from statistics import median_low
from typing import Any

from scipy.stats import t as student_t

from kgnn.benchmark.record import Cell, Record
from kgnn.estimator.registry import entries
from kgnn.evaluation.metrics import METRICS, mean_and_std
from kgnn.evaluation.splits import Labels
from kgnn.graphs.datasets.catalog import ENTRIES
from kgnn.reports.paper import PAPER_DATASETS, dataset_title, method_title

_CONFIDENCE = 0.95
_FEWEST_COMMON = 3
_SHARE_IN_COMMON = 0.6


@dataclass(frozen=True)
class Group:
    """One method on one dataset on the same terms, over several splits."""

    method: str
    dataset: str
    protocol: str
    labels: Labels
    parameters: dict[str, Any]  # those that differ from the method's defaults
    # All done, of the same revision of the method, ordered by seed.
    records: tuple[Record, ...] = field(repr=False)
    metric: str = "accuracy"  # the headline, which all records have

    @property
    def title(self) -> str:
        """Name of the method, with its revision where that is not the one of this code."""
        return revision_title(self.method, self.records[0].cell.revision)

    @property
    def seeds(self) -> list[int]:
        """Splits that there are."""
        return [record.cell.seed for record in self.records]

    def values(self, name: str) -> list[float]:
        """Return a number of each split, such as ``brier``; splits without it are left out."""
        found = (record.result.get(name) for record in self.records)
        return [float(value) for value in found if value is not None]

    @property
    def recalls(self) -> dict[str, float]:
        """Recall of each class in percent, mean over the splits that have it; else empty."""
        found = [record.result.get("recalls") or {} for record in self.records]
        names = dict.fromkeys(name for each in found for name in each)
        return {
            name: mean_and_std([each[name] for each in found if name in each])[0] for name in names
        }

    @cached_property
    def cpu_seconds(self) -> list[float]:
        """What each split would take alone; splits without a time are left out."""
        found = map(cpu_seconds, self.records)
        return [seconds for seconds in found if seconds is not None]

    @cached_property
    def mean(self) -> float:
        """Mean of the headline over splits; accuracy in percent unless chosen otherwise."""
        return mean_and_std(self.values(self.metric))[0]

    @cached_property
    def std(self) -> float:
        """Standard deviation over splits."""
        return mean_and_std(self.values(self.metric))[1]

    @cached_property
    def error(self) -> float:
        """Standard error of the mean over splits that overlap; see `overlap`."""
        return self.std * math.sqrt(1 / len(self.records) + overlap(self.records))

    @cached_property
    def interval(self) -> float:
        """Half the width of the 95 % interval of the mean, by Student's t; 0 for a single split."""
        n = len(self.records)
        return float(student_t.ppf((1 + _CONFIDENCE) / 2, n - 1) * self.error) if n > 1 else 0.0


# Groups by method and dataset.
Groups = dict[tuple[str, str], Group]


class Results:
    """All groups of a store.

    Of each method only the newest revision that has results counts: older ones are counted in
    ``outdated`` and left out, so that no number mixes revisions. So are records that lack the
    ``metric``, the headline of tables and figures, in ``without_metric``: older ones have accuracy
    and the Brier score alone.
    """

    def __init__(self, records: Iterable[Record], metric: str = "accuracy") -> None:
        self.metric = metric
        given = list(records)
        every = [r for r in given if r.outcome != "done" or r.result.get(metric) is not None]
        self.without_metric = len(given) - len(every)  # records that are done and lack it
        self.revisions: dict[str, int] = {}  # of the methods that have results
        for record in every:
            cell = record.cell
            if record.outcome == "done":
                self.revisions[cell.method] = max(cell.revision, self.revisions.get(cell.method, 0))
        self.records: list[Record] = []  # those that count
        self.unfinished: list[Record] = []  # declined and failed ones
        # How many done records are left out, by method and revision.
        self.outdated: Counter[tuple[str, int]] = Counter()
        for record in every:
            cell = record.cell
            if cell.revision >= self.revisions.get(cell.method, 0):
                self.records.append(record)
            elif record.outcome == "done":
                self.outdated[cell.method, cell.revision] += 1
        names = _dataset_names(record.cell for record in self.records)
        found: dict[str, dict[int, Record]] = {}
        for record in self.records:
            cell = record.cell
            dataset = names[cell.fingerprint]
            if record.outcome != "done":
                self.unfinished.append(replace(record, cell=replace(cell, dataset=dataset)))
                continue
            terms = (cell.method, dataset, cell.protocol, cell.labels, cell.parameters)
            # A cell that was run for its cases has the same accuracy as one that was not.
            found.setdefault(json.dumps(terms, sort_keys=True), {}).setdefault(cell.seed, record)
        self.groups: list[Group] = []
        for text, by_seed in found.items():
            method, dataset, protocol, labels, parameters = json.loads(text)
            in_order = tuple(by_seed[seed] for seed in sorted(by_seed))
            terms = (method, dataset, protocol, labels, parameters)
            self.groups.append(Group(*terms, in_order, metric))

    def find(
        self,
        method: str,
        dataset: str,
        *,
        protocol: str = "fair",
        labels: Labels = 0.1,
        parameters: Mapping[str, Any] | None = None,
    ) -> Group | None:
        """Return the group on these terms, if there is one."""
        wanted = (method, dataset, protocol, labels, parameters or {})
        for g in self.groups:
            if (g.method, g.dataset, g.protocol, g.labels, g.parameters) == wanted:
                return g
        return None

    @property
    def headline(self) -> str:
        """Name of the metric at the beginning of a sentence or title."""
        title = METRICS[self.metric].title
        return f"{title[:1].upper()}{title[1:]}"

    def title(self, method: str) -> str:
        """Name a method, with its revision where the numbers are not of the one of this code."""
        known = self.revisions.get(method)
        return method_title(method) if known is None else revision_title(method, known)

    @property
    def datasets(self) -> list[str]:
        """Datasets that there are, ordered as in the paper, others after them."""
        there = {group.dataset for group in self.groups}
        known = [name for name in PAPER_DATASETS if name in there]
        return known + sorted(there - set(known))

    @property
    def methods(self) -> list[str]:
        """Methods that there are, ordered as they are listed."""
        there = {group.method for group in self.groups}
        known = [name for name in entries() if name in there]
        return known + sorted(there - set(known))


def revision_title(method: str, revision: int) -> str:
    """Name a method, with its revision where that is not the one of this code."""
    return method_title(method) + (
        "" if code_revision(method) in (None, revision) else f" revision {revision}"
    )


@cache  # asking the installed packages takes a while
def code_revision(method: str) -> int | None:
    """Return the revision of a method in this code; None if it is not installed."""
    entry = entries().get(method)
    return entry.revision if entry else None


def find_groups(
    results: Results,
    methods: Iterable[str],
    datasets: Iterable[str],
    *,
    protocol: str = "fair",
    labels: Labels = 0.1,
) -> Groups:
    """Return the groups of methods with their defaults; places without records are left out."""
    datasets = list(datasets)
    return {
        (method, dataset): group
        for method in methods
        for dataset in datasets
        if (group := results.find(method, dataset, protocol=protocol, labels=labels))
    }


def terms_of(groups: Iterable[Group]) -> list[tuple[str, Labels]]:
    """Return the protocols and labels that there are, in order; numbers per class come last."""

    def order(terms: tuple[str, Labels]) -> tuple[str, bool, float]:
        protocol, labels = terms
        if isinstance(labels, str):
            return protocol, True, float(labels.partition("/")[0])
        return protocol, False, labels

    return sorted({(group.protocol, group.labels) for group in groups}, key=order)


def usual_splits(groups: Groups, dataset: str) -> int:
    """Return how many splits most methods have on a dataset."""
    counts = Counter(len(group.records) for (_, d), group in groups.items() if d == dataset)
    return max(counts, key=lambda n: (counts[n], n), default=0)


def overlap(records: Iterable[Record]) -> float:
    """Return what the overlap of splits adds to 1 / n in the variance of a mean over n of them.

    Nadeau & Bengio take n_test / (n_train + n_test) for the correlation between splits, which adds
    n_test / n_train. Training graphs here are labeled and unlabeled ones, which every method is
    given alike: then the correlation is 0.25, near the 0.2 by which two test sets overlap. With the
    labeled alone it would be 0.67, though labeled sets of two splits overlap by a tenth only. The
    paper's protocol has one split for all seeds: its means speak of the seeds alone.
    """
    each = [r.result for r in records if r.cell.protocol != "paper"]
    n_train = sum(result["labeled"] + result["unlabeled"] for result in each)
    return sum(result["test"] for result in each) / n_train if n_train else 0.0


def cpu_seconds(record: Record) -> float | None:
    """Return what a run would take alone; older ones found a part of it on disk."""
    seconds = record.result.get("cpu_seconds")
    return None if seconds is None else float(seconds + (record.result.get("seconds_saved") or 0))


def on_common_splits(groups: Sequence[Group]) -> list[Group]:
    """Return groups with the splits that all of them have, so that their means can be compared.

    Where there is no such split, they are returned as they are.
    """
    common = _common_seeds(groups)
    if not common:
        return list(groups)
    return [
        replace(group, records=tuple(r for r in group.records if r.cell.seed in common))
        for group in groups
    ]


def are_comparable(groups: Sequence[Group]) -> bool:
    """Tell whether the splits that all groups have are nearly as many as most of them have.

    Otherwise a group with a split or two would leave the places of all to chance.
    """
    if not groups:
        return False
    usual = median_low(len(group.records) for group in groups)
    wanted = max(_FEWEST_COMMON, math.ceil(_SHARE_IN_COMMON * usual))
    return len(_common_seeds(groups)) >= min(usual, wanted)


def _common_seeds(groups: Sequence[Group]) -> set[int]:
    return set.intersection(*(set(group.seeds) for group in groups)) if groups else set()


def _dataset_names(cells: Iterable[Cell]) -> dict[str, str]:
    """Give each content one name: that of the catalog, or the one it was first run by.

    Another content that was run by the same name, or by a file of that name, is another dataset
    and is marked as such.
    """
    names = {entry.fingerprint: entry.name for entry in ENTRIES}
    taken = {title for name in names.values() for title in (name, dataset_title(name))}
    for cell in cells:
        if cell.fingerprint not in names:
            title = dataset_title(cell.dataset)
            mark = f" ({cell.fingerprint[:6]})" if title in taken else ""
            names[cell.fingerprint] = f"{cell.dataset}{mark}"
            taken.add(title)
    return names
