"""What the records say about KGNN, in plain sentences."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from kgnn.reports.comparison import ALPHA, REFERENCE, Comparison, compare, rank_methods
from kgnn.reports.numbers import listed, mean_with_std, p_value, signed
from kgnn.reports.paper import TABLE_2, dataset_title, method_title
from kgnn.reports.results import Group, Results, are_comparable, on_common_splits
from kgnn.reports.table_data import Table, TableCell

_NAME = method_title(REFERENCE)
_MOST_NAMES = 3


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
    """

    dataset: str
    own: Group
    groups: tuple[Group, ...]
    compared: dict[str, Comparison]
    is_even: bool = True

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
            others = [group for group in groups if group.method != REFERENCE]
            own, *others = on_common_splits([own, *others])
            in_order = sorted([own, *others], key=lambda group: -group.mean)
            compared = compare(results, methods, dataset, labels=labels)
            found.append(Standing(dataset, own, tuple(in_order), compared, is_even))
    return found


def headline(
    results: Results, methods: Sequence[str], datasets: Sequence[str], *, labels: float = 0.1
) -> list[str]:
    """Say in sentences where KGNN stands among methods."""
    there = standings(results, methods, datasets, labels=labels)
    if not there:
        share = f"{100 * labels:g} % of all graphs labeled"
        return [f"There are no records of {_NAME} with its defaults and {share}."]
    found = complete(there)
    if not found:
        return [_left_out(there, found)]
    sentences = [
        _first(found),
        _left_out(there, found),
        *(_not_first(each) for each in found if not each.is_first),
        _near(found),
        _ranks(results, methods, datasets, labels),
        _tests(found),
        _paper(found) if labels == 0.1 else "",
    ]
    return [sentence for sentence in sentences if sentence]


def about_parts(
    results: Results, parts: Sequence[str], datasets: Sequence[str], *, labels: float = 0.1
) -> list[str]:
    """Say which of KGNN's own parts, its ablations, do better without the rest of it, and where."""
    found = complete(standings(results, parts, datasets, labels=labels))
    found = [each for each in found if len(each.groups) > 1]
    if not found:
        return []
    where: dict[str, list[str]] = {}
    for each in found:
        for group in each.above:
            gap = signed(group.mean - each.own.mean)
            where.setdefault(group.method, []).append(f"{dataset_title(each.dataset)} ({gap})")
    over = f"on {_datasets(found)}" if len(found) > 1 else f"on {dataset_title(found[0].dataset)}"
    if not where:
        return [f"None of its own parts is above it {over}."]
    words = [f"{method_title(m)} on {listed(where[m])}" for m in parts if m in where]
    compared = [each.compared[g.method] for each in found for g in each.above]
    significant = sum(each.verdict == "better" for each in compared)
    tail = f"{significant} of these significantly" if significant else "none significantly"
    return [f"Of its own parts, compared {over}, above it are {'; '.join(words)}; {tail}."]


def complete(found: Sequence[Standing]) -> list[Standing]:
    """Return the datasets that all methods have about as many splits of: others give no places."""
    most = max((len(each.groups) for each in found), default=0)
    return [each for each in found if len(each.groups) == most and each.is_even]


def _left_out(there: list[Standing], found: list[Standing]) -> str:
    names = [dataset_title(each.dataset) for each in there if each not in found]
    if not names:
        return ""
    return f"Some methods have no or few records on {listed(names)} yet; these do not count here."


def headline_table(
    results: Results, methods: Sequence[str], datasets: Sequence[str], *, labels: float = 0.1
) -> Table:
    """Build a short table: for each dataset KGNN, what the paper printed for it, and the first."""
    rows = []
    for each in complete(standings(results, methods, datasets, labels=labels)):
        printed = TABLE_2[REFERENCE].get(each.dataset)
        names = listed([method_title(group.method) for group in each.first])
        mean = each.own.mean
        own = TableCell(
            _accuracy(each.own),
            is_best=each.is_first,
            method=REFERENCE,
            dataset=each.dataset,
            mean=mean,
            std=each.own.std,
            interval=each.own.interval,
            n=len(each.own.records),
            paper=printed,
        )
        paper = TableCell(mean_with_std(*printed, n=5) if printed else "")
        first = TableCell(f"{names}, {_accuracy(each.first[0])}")
        rows.append((TableCell(dataset_title(each.dataset)), own, paper, first))
    return Table(
        f"{_NAME} and the best method",
        ("dataset", _NAME, f"{_NAME} in the paper", f"best of {len(methods)}"),
        tuple(rows),
        ("Accuracy on TEST in percent: mean ± standard deviation over splits.",),
    )


def _accuracy(group: Group) -> str:
    return mean_with_std(group.mean, group.std, len(group.records))


def _first(found: list[Standing]) -> str:
    names = [dataset_title(each.dataset) for each in found if each.is_first]
    where = f": {listed(names)}" if 0 < len(names) < len(found) else ""
    n_methods = max(len(each.groups) for each in found)
    if n_methods < 2:
        return f"{_NAME} is the only method with records."
    return f"{_NAME} is first of {n_methods} methods on {len(names)} of {_datasets(found)}{where}."


def _datasets(found: Sequence[object]) -> str:
    return f"{len(found)} dataset{'s' if len(found) != 1 else ''}"


def _not_first(each: Standing) -> str:
    """Name those that are above KGNN on a dataset, and say whether significantly."""
    own = f"{each.own.mean:.1f}"
    named = each.above[:_MOST_NAMES]
    rest = len(each.above) - len(named)
    verb = "is" if len(each.above) == 1 else "are"
    if len(each.above) == 1:
        who = method_title(named[0].method)
        numbers = f"({named[0].mean:.1f} against {own})"
    else:
        words = [f"{method_title(group.method)} ({group.mean:.1f})" for group in named]
        who = listed([*words, f"{rest} more"] if rest else words)
        numbers = f"({own})"
    where = dataset_title(each.dataset)
    return f"On {where}, {who} {verb} above it {numbers}{_significance(each)}."


def _significance(each: Standing) -> str:
    tested = [
        each.compared[group.method]
        for group in each.above
        if group.method in each.compared and not math.isnan(each.compared[group.method].p)
    ]
    better = [method_title(c.method) for c in tested if c.verdict == "better"]
    if not tested:
        return "; there are too few splits for a test"
    if not better:
        return ", not significantly" if len(each.above) == 1 else ", none significantly"
    if len(each.above) == 1:
        return ", significantly"
    more = [f"{len(better) - _MOST_NAMES} more"] if len(better) > _MOST_NAMES else []
    return f", significantly so {listed([*better[:_MOST_NAMES], *more])}"


def _near(found: list[Standing]) -> str:
    names = [dataset_title(s.dataset) for s in found if not s.is_first and s.is_near]
    if not names:
        return ""
    return f"On {listed(names)} the first is within the 95 % interval of its mean."


def _ranks(results: Results, methods: Sequence[str], datasets: Sequence[str], labels: float) -> str:
    ranking = rank_methods(results, methods, datasets, labels=labels)
    ranks = ranking.ranks
    if REFERENCE not in ranks or len(ranks) < 2:
        return ""
    own = ranks[REFERENCE]
    better = sorted((rank, method) for method, rank in ranks.items() if rank < own)
    place = "the best" if not better else f"number {len(better) + 1}"
    rest = sorted((rank, method) for method, rank in ranks.items() if method != REFERENCE)
    word = "next" if not better else "the best"
    p = ranking.friedman.p
    friedman = "" if math.isnan(p) else f"; p of the Friedman test: {p_value(p)}"
    return (
        f"Its average rank over {_datasets(ranking.datasets)} is {own:.1f}, {place} of "
        f"{len(ranks)}; {word} is {method_title(rest[0][1])} with {rest[0][0]:.1f}. Ranks that "
        f"differ by less than {ranking.critical_difference:.1f} cannot be told apart "
        f"(Nemenyi, α = {ALPHA:g}{friedman})."
    )


def _tests(found: list[Standing]) -> str:
    compared = [c for each in found for c in each.compared.values() if not math.isnan(c.p)]
    if not compared:
        return ""
    verdicts = Counter(each.verdict for each in compared)
    return (
        f"In {len(compared)} comparisons with one method on one dataset it is significantly better "
        f"{verdicts['worse']} times and significantly worse {verdicts['better']} times."
    )


def _paper(found: list[Standing]) -> str:
    """Compare with the numbers that the paper printed for KGNN itself."""
    printed = TABLE_2[REFERENCE]
    gaps = {e.dataset: e.own.mean - printed[e.dataset].mean for e in found if e.dataset in printed}
    if not gaps:
        return ""
    low, high = min(gaps, key=lambda d: gaps[d]), max(gaps, key=lambda d: gaps[d])
    mean = sum(gaps.values()) / len(gaps)
    if len(gaps) == 1:
        own = f"{printed[low].mean} for it on {dataset_title(low)}"
        return f"The paper printed {own}; ours is {signed(mean)} points."
    return (
        f"Against the numbers that the paper printed for it, ours are {signed(mean)} points on "
        f"average over {_datasets(list(gaps))}, from {signed(gaps[low])} on {dataset_title(low)} "
        f"to {signed(gaps[high])} on {dataset_title(high)}."
    )
