"""Records put in order: what was run on the same terms belongs together."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from statistics import median_low
from typing import TYPE_CHECKING, Any, NamedTuple

from scipy.special import stdtrit

from kgnn.benchmark.record import Cell, Record, best_of, newest_revisions
from kgnn.benchmark.store import Store
from kgnn.errors import DatasetUnavailableError, UnknownNameError
from kgnn.estimator.metrics import METRICS
from kgnn.estimator.registry import entries
from kgnn.evaluation.metrics import mean_and_std
from kgnn.evaluation.splits import Labels, labels_in_words
from kgnn.graphs.datasets.catalog import ENTRIES
from kgnn.reports.paper import PAPER_DATASETS, dataset_title, method_title

if TYPE_CHECKING:
    import pandas as pd

_CONFIDENCE = 0.95
_FEWEST_COMMON = 3
_SHARE_IN_COMMON = 0.6


class Terms(NamedTuple):
    """On which terms runs were made; by default, those of the paper's tables."""

    protocol: str = "fair"
    labels: Labels = 0.1  # share of all graphs

    @property
    def in_words(self) -> str:
        """What a title says of them; nothing of the usual ones."""
        if self.protocol == "budget":
            return f", {labels_in_words(self.labels)} and no VAL"
        labels = float(self.labels)
        split = " on the split of the paper's code" if self.protocol == "paper" else ""
        # The paper counts in TRAIN-L, which is a fifth of all graphs.
        share = f", {100 * labels:g} % labeled ({500 * labels:g} % of TRAIN-L)"
        return split + ("" if labels == USUAL.labels else share)


USUAL = Terms()


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
    def name(self) -> str:
        """Title, with the settings that are not the method's defaults."""
        return self.title + settings_in_words(self.parameters)

    @property
    def terms(self) -> Terms:
        """The terms that its records share."""
        return Terms(self.protocol, self.labels)

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
        return float(stdtrit(n - 1, (1 + _CONFIDENCE) / 2) * self.error) if n > 1 else 0.0


# Groups by method and dataset.
Groups = dict[tuple[str, str], Group]


class Results:
    """All groups of a store.

    Of each method only the newest revision that has results counts: older ones are counted in
    ``outdated`` and left out, so that no number mixes revisions. So are records that lack the
    ``metric``, the headline of tables and figures, in ``without_metric``: older ones have accuracy
    and the Brier score alone. Methods are compared with the ``reference``.
    """

    def __init__(
        self, records: Iterable[Record], metric: str = "accuracy", reference: str = "kgnn"
    ) -> None:
        self.metric = metric
        self.reference = reference
        self.given = list(records)
        every = [r for r in self.given if r.outcome != "done" or r.result.get(metric) is not None]
        self.without_metric = len(self.given) - len(every)  # records that are done and lack it
        self.revisions = newest_revisions(every)
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
            key = _key(cell.method, dataset, Terms(cell.protocol, cell.labels), cell.parameters)
            # A cell that was run for its cases has the same accuracy as one that was not.
            found.setdefault(key, {}).setdefault(cell.seed, record)
        self._groups: dict[str, Group] = {}
        for key, by_seed in found.items():
            method, dataset, (protocol, labels), parameters = json.loads(key)
            in_order = tuple(by_seed[seed] for seed in sorted(by_seed))
            self._groups[key] = Group(
                method, dataset, protocol, labels, parameters, in_order, metric
            )
        self.groups = list(self._groups.values())
        self._usual = _usual_parameters(self.groups)
        counts = Counter(group.terms for group in self.groups)
        # Those of the main tables and figures: the usual ones, or else those of most groups.
        self.terms = USUAL if USUAL in counts or not counts else counts.most_common(1)[0][0]

    @classmethod
    def read(
        cls, *folders: str | Path, metric: str = "accuracy", reference: str = "kgnn"
    ) -> Results:
        """Read stores of records; where several have the same cell, the best record counts."""
        records = best_of(record for folder in folders for record in Store(folder))
        if not records:
            where = " and ".join(map(str, folders))
            raise DatasetUnavailableError(
                f"There are no records in {where}. "
                f"Make some with: kgnn bench quick -o {folders[0] if folders else 'out'}"
            )
        results = cls(records, metric, reference)
        if reference != "kgnn" and results.methods and reference not in results.methods:
            raise UnknownNameError.of("method with records", reference, results.methods)
        return results

    def on(self, protocol: str, labels: Labels) -> Results:
        """Return the same results with tables and figures of runs on other terms."""
        other = copy(self)
        other.terms = Terms(protocol, labels)
        return other

    def find(
        self, method: str, dataset: str, parameters: Mapping[str, Any] | None = None
    ) -> Group | None:
        """Return the group on the main terms, if there is one; by default, of usual settings."""
        settings = self.usual_parameters(method) if parameters is None else parameters
        return self._groups.get(_key(method, dataset, self.terms, settings))

    def find_all(self, methods: Iterable[str], datasets: Sequence[str]) -> Groups:
        """Return the groups of methods in their usual settings, where there are any."""
        return {
            (method, dataset): group
            for method in methods
            for dataset in datasets
            if (group := self.find(method, dataset))
        }

    def usual_parameters(self, method: str) -> dict[str, Any]:
        """Return the settings that stand for a method in tables: its defaults, if they were run.

        Else those with the most records.
        """
        return self._usual.get(method, {})

    @property
    def headline(self) -> str:
        """Name of the metric at the beginning of a sentence or title."""
        title = METRICS[self.metric].title
        return f"{title[:1].upper()}{title[1:]}"

    def title(self, method: str) -> str:
        """Name a method, with its revision and settings where they are not the usual ones."""
        known = self.revisions.get(method)
        title = method_title(method) if known is None else revision_title(method, known)
        return title + settings_in_words(self.usual_parameters(method))

    @cached_property
    def datasets(self) -> list[str]:
        """Datasets that there are, ordered as in the paper, others after them."""
        there = {group.dataset for group in self.groups}
        known = [name for name in PAPER_DATASETS if name in there]
        return known + sorted(there - set(known))

    @cached_property
    def methods(self) -> list[str]:
        """Methods that there are, ordered as they are listed."""
        there = {group.method for group in self.groups}
        known = [name for name in entries() if name in there]
        return known + sorted(there - set(known))

    def table2(self) -> pd.DataFrame:
        """Return the paper's Table 2, all methods, as numbers in a frame."""
        from kgnn.reports.tables import table_2

        return table_2(self).frame()

    def table3(self) -> pd.DataFrame:
        """Return the paper's Table 3, the ablations, as numbers in a frame."""
        from kgnn.reports.tables import table_3

        return table_3(self).frame()

    def frame(self) -> pd.DataFrame:
        """Return every record that counts as a row of one frame."""
        from kgnn.benchmark.records_csv import row
        from kgnn.reports.table import data_frame

        return data_frame(list(map(row, self.records)))


def _key(method: str, dataset: str, terms: Terms, parameters: Mapping[str, Any]) -> str:
    return json.dumps((method, dataset, terms, parameters), sort_keys=True)


def _usual_parameters(groups: Iterable[Group]) -> dict[str, dict[str, Any]]:
    """Return the settings of each method that stand for it."""
    counts: dict[str, Counter[str]] = {}
    for group in groups:
        told = json.dumps(group.parameters, sort_keys=True)
        # The defaults, if there are any records of them, before all else.
        weight = len(group.records) if group.parameters else 10**9
        counts.setdefault(group.method, Counter())[told] += weight
    return {method: json.loads(own.most_common(1)[0][0]) for method, own in counts.items()}


def settings_in_words(parameters: Mapping[str, Any]) -> str:
    """Write settings behind the name of a method; nothing where all are the defaults.

    Examples
    --------
    >>> settings_in_words({"rounds": 0}), settings_in_words({})
    (' (rounds=0)', '')
    """
    told = ", ".join(f"{name}={value}" for name, value in parameters.items())
    return f" ({told})" if told else ""


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


def terms_of(groups: Iterable[Group]) -> list[Terms]:
    """Return the protocols and labels that there are, in order; numbers per class come last."""

    def order(terms: Terms) -> tuple[str, bool, float]:
        protocol, labels = terms
        if isinstance(labels, str):
            return protocol, True, float(labels.partition("/")[0])
        return protocol, False, labels

    return sorted({group.terms for group in groups}, key=order)


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
