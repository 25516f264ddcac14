"""Where KGNN stands among methods, dataset by dataset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from kgnn.reports.comparison import REFERENCE, Comparison, compare
from kgnn.reports.results import Group, Results, are_comparable, on_common_splits


@dataclass(frozen=True)
class Standing:
    """Where KGNN stands on one dataset; accuracies count as they are printed, to a tenth.

    Attributes
    ----------
    dataset : str
    own : Group
        KGNN's.
    groups : tuple of Group
        All methods', best first.
    compared : dict of str to Comparison
    is_even : bool
        Whether all methods have about as many splits.
    counts : dict of str to int
        How many splits each method has, also those that others lack.
    """

    dataset: str
    own: Group
    groups: tuple[Group, ...]
    compared: dict[str, Comparison]
    is_even: bool = True
    counts: dict[str, int] = field(default_factory=dict)

    @property
    def first(self) -> list[Group]:
        """The best, several if they are level."""
        return [g for g in self.groups if round(g.mean, 1) == round(self.groups[0].mean, 1)]

    @property
    def above(self) -> list[Group]:
        """Those that are better than KGNN."""
        return [g for g in self.groups if round(g.mean, 1) > round(self.own.mean, 1)]

    @property
    def is_first(self) -> bool:
        """Whether nothing is above KGNN."""
        return not self.above

    @property
    def is_near(self) -> bool:
        """Whether the first is within the 95 % interval of KGNN's mean."""
        return self.groups[0].mean - self.own.mean <= self.own.interval


def standings(
    results: Results, methods: Sequence[str], datasets: Sequence[str], *, labels: float = 0.1
) -> list[Standing]:
    """Return where KGNN stands on each dataset, by the splits that all methods there have."""
    found = []
    for dataset in datasets:
        groups = [g for m in methods if (g := results.find(m, dataset, labels=labels))]
        own = results.find(REFERENCE, dataset, labels=labels)
        if own:
            is_even = are_comparable(groups)
            counts = {group.method: len(group.records) for group in groups}
            others = [group for group in groups if group.method != REFERENCE]
            own, *others = on_common_splits([own, *others])
            in_order = sorted([own, *others], key=lambda group: -group.mean)
            compared = compare(results, methods, dataset, labels=labels)
            found.append(Standing(dataset, own, tuple(in_order), compared, is_even, counts))
    return found


def complete(found: Sequence[Standing]) -> list[Standing]:
    """Return the datasets that all methods have about as many splits of: others give no places."""
    most = max((len(each.groups) for each in found), default=0)
    return [each for each in found if len(each.groups) == most and each.is_even]
