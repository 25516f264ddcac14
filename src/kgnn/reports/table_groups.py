"""Which groups of records stand in the places of a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from kgnn.reports.results import Group, Results

# By method and dataset.
Groups = dict[tuple[str, str], Group]


def find_groups(
    results: Results,
    methods: Iterable[str],
    datasets: Iterable[str],
    *,
    protocol: str = "fair",
    labels: float = 0.1,
) -> Groups:
    """Return the groups of methods with their defaults; places without records are left out."""
    datasets = list(datasets)
    return {
        (method, dataset): group
        for method in methods
        for dataset in datasets
        if (group := results.find(method, dataset, protocol=protocol, labels=labels))
    }


def usual_splits(groups: Groups, dataset: str) -> int:
    """Return how many splits most methods have on a dataset."""
    counts = Counter(len(group.records) for (_, d), group in groups.items() if d == dataset)
    return max(counts, key=lambda n: (counts[n], n), default=0)
