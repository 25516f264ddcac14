"""How many splits the numbers of a figure share: others are easier or harder, not better."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kgnn.reports.numbers import listed
from kgnn.reports.paper import dataset_title
from kgnn.reports.results import Group


def n_shared(groups: Sequence[Group]) -> int:
    """Return the number of splits of each group; 0 where they are not the same of all."""
    seeds = {tuple(group.seeds) for group in groups}
    return len(seeds.pop()) if len(seeds) == 1 else 0


def told_splits(by_dataset: Mapping[str, Sequence[Group]], whose: str) -> str:
    """Say over how many splits the numbers of each dataset are means.

    Parameters
    ----------
    by_dataset : dict of str to sequence of Group
        As they are drawn, see `kgnn.reports.results.on_common_splits`.
    whose : str
        What shares the splits: ``methods``.

    Examples
    --------
    >>> told_splits({"DD": [Group("wl", "DD", "fair", 0.1, {}, ())]}, "methods")
    'On DD no split is common to all methods: their differences may be those of the splits.'
    """
    names: dict[int, list[str]] = {}
    for dataset, groups in by_dataset.items():
        names.setdefault(n_shared(groups), []).append(dataset_title(dataset))
    apart = names.pop(0, [])
    sentences = []
    if names:
        counts = "; ".join(f"{n} on {listed(names[n])}" for n in sorted(names, reverse=True))
        sentences.append(f"Means are over the splits that all {whose} have: {counts}.")
    if apart:
        sentences.append(
            f"On {listed(apart)} no split is common to all {whose}: their differences may be "
            "those of the splits."
        )
    return " ".join(sentences)
