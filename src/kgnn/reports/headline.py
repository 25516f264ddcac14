"""What the records say about KGNN, in plain sentences."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from statistics import median_low

from kgnn.reports.comparison import ALPHA, REFERENCE, rank_methods
from kgnn.reports.numbers import counted, listed, mean_with_std, p_value, signed
from kgnn.reports.paper import TABLE_2, TABLE_3, dataset_title, method_title
from kgnn.reports.results import Group, Results
from kgnn.reports.standing import Standing, complete, standings
from kgnn.reports.table_data import Table, TableCell

_NAME = method_title(REFERENCE)
_MOST_NAMES = 3
_NO_TEST = "these splits allow no test"


def headline(
    results: Results, methods: Sequence[str], datasets: Sequence[str], *, labels: float = 0.1
) -> list[str]:
    """Say in sentences where KGNN stands among methods."""
    found = complete(standings(results, methods, datasets, labels=labels))
    sentences = places(results, methods, datasets, labels=labels)
    if found:
        sentences += [
            *_ranks(results, methods, datasets, labels, among="Its"),
            _tests(found),
            _paper(found) if labels == 0.1 else "",
        ]
    return [sentence for sentence in sentences if sentence]


def places(
    results: Results, methods: Sequence[str], datasets: Sequence[str], *, labels: float = 0.1
) -> list[str]:
    """Say on which datasets KGNN is first, and on the others who is above it."""
    there = standings(results, methods, datasets, labels=labels)
    if not there:
        return [_no_records(results, labels)]
    found = complete(there)
    without = [dataset for dataset in datasets if dataset not in {s.dataset for s in there}]
    run = {group.method for each in there for group in each.groups}
    left_out = _left_out(there, found, without, [method for method in methods if method in run])
    if not found:
        return [left_out]
    sentences = [
        _first(found),
        left_out,
        *(_not_first(each) for each in found if not each.is_first),
        _near(found),
    ]
    return [sentence for sentence in sentences if sentence]


def _no_records(results: Results, labels: float) -> str:
    share = f"{100 * labels:g} % of all graphs labeled"
    told = f"There are no records of {_NAME} with its defaults, {share} and new splits."
    if any((g.method, g.protocol) == (REFERENCE, "paper") for g in results.groups):
        told += " Those on the split of the paper's code have a table of their own."
    return told


def about_parts(
    results: Results, parts: Sequence[str], datasets: Sequence[str], *, labels: float = 0.1
) -> list[str]:
    """Say how KGNN stands among its own parts, its ablations, and which are above it, and where."""
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
    ranks = _ranks(results, parts, datasets, labels, among="Among its own parts, its")
    if not where:
        return [f"None of its own parts is above it {over}.", *ranks]
    words = [f"{method_title(m)} on {listed(where[m])}" for m in parts if m in where]
    compared = [each.compared[g.method] for each in found for g in each.above]
    significant = sum(each.verdict == "better" for each in compared)
    tail = f"{significant} of these significantly" if significant else "none significantly"
    if all(math.isnan(each.p) for each in compared):
        tail = _NO_TEST
    return [f"Of its own parts, compared {over}, above it are {'; '.join(words)}; {tail}.", *ranks]


def _left_out(
    there: list[Standing], found: list[Standing], without: Sequence[str], methods: Sequence[str]
) -> str:
    """Name the datasets that give no places, those without KGNN first, and say why."""
    told = [f"{dataset_title(dataset)} (no runs of {_NAME})" for dataset in without]
    told += [
        f"{dataset_title(each.dataset)} ({_why_left_out(each, methods)})"
        for each in there
        if each not in found
    ]
    return f"Not counted here: {listed(told)}." if told else ""


def _why_left_out(each: Standing, methods: Sequence[str]) -> str:
    none = [method for method in methods if method not in {g.method for g in each.groups}]
    if none:
        return f"no runs of {_shortened([method_title(method) for method in none])}"
    usual = median_low(each.counts.values())
    few = [f"{method_title(m)} has {n}" for m, n in each.counts.items() if n < usual]
    return f"of {usual} splits, {_shortened(few)}" if few else "the methods have other splits"


def _shortened(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMES
    return listed([*names[:_MOST_NAMES], f"{more} more"] if more > 0 else names)


def headline_table(
    results: Results, methods: Sequence[str], datasets: Sequence[str], *, labels: float = 0.1
) -> Table:
    """Build a short table: for each dataset KGNN, what the paper printed for it, and the first."""
    rows = []
    found = complete(standings(results, methods, datasets, labels=labels))
    n_methods = max((len(each.groups) for each in found), default=0)
    has_parts = bool(set(TABLE_3) & set(results.methods) - set(methods))
    for each in found if n_methods > 1 else []:  # a method alone has no place
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
        rows.append(
            (TableCell(dataset_title(each.dataset)), own, _interval(each.own), paper, first)
        )
    return Table(
        f"{_NAME} and the best method",
        ("dataset", _NAME, "95 % interval", f"{_NAME} in the paper", f"best of {n_methods}"),
        tuple(rows),
        (
            "Accuracy on TEST in percent: mean ± standard deviation over splits; the interval is "
            f"of {_NAME}'s mean, corrected for overlapping splits.",
            *([f"The own parts of {_NAME} are not among the {n_methods}."] if has_parts else []),
        ),
    )


def _interval(group: Group) -> TableCell:
    if len(group.records) < 2:
        return TableCell("")
    low, high = group.mean - group.interval, group.mean + group.interval
    return TableCell(f"{low:.1f} to {high:.1f}")


def _accuracy(group: Group) -> str:
    return mean_with_std(group.mean, group.std, len(group.records))


def _first(found: list[Standing]) -> str:
    names = [dataset_title(each.dataset) for each in found if each.is_first]
    where = f": {listed(names)}" if 0 < len(names) < len(found) else ""
    n_methods = max(len(each.groups) for each in found)
    if n_methods < 2:
        return f"{_NAME} is the only method with records."
    level = [
        f"level with {listed(others)} on {dataset_title(each.dataset)}"
        for each in found
        if each.is_first
        and (others := [method_title(g.method) for g in each.first if g.method != REFERENCE])
    ]
    tied = f" ({'; '.join(level)})" if level else ""
    return (
        f"{_NAME} is first of {n_methods} methods on {len(names)} of {_datasets(found)}"
        f"{where}{tied}."
    )


def _datasets(found: Sequence[object]) -> str:
    return counted(len(found), "dataset")


def _not_first(each: Standing) -> str:
    """Name those that are above KGNN on a dataset, and say whether significantly."""
    own = f"{each.own.mean:.1f}"
    verb = "is" if len(each.above) == 1 else "are"
    if len(each.above) == 1:
        who = method_title(each.above[0].method)
        numbers = f"({each.above[0].mean:.1f} against {own})"
    else:
        who = _shortened([f"{method_title(g.method)} ({g.mean:.1f})" for g in each.above])
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
        return f"; {_NO_TEST}"
    if not better:
        return ", not significantly" if len(each.above) == 1 else ", none significantly"
    if len(each.above) == 1:
        return ", significantly"
    return f", significantly so {_shortened(better)}"


def _near(found: list[Standing]) -> str:
    names = [dataset_title(s.dataset) for s in found if not s.is_first and s.is_near]
    if not names:
        return ""
    return (
        f"On {listed(names)} the first is within the 95 % interval of its mean (Student's t over "
        "splits, with the correction of Nadeau & Bengio for their overlap)."
    )


def _ranks(
    results: Results,
    methods: Sequence[str],
    datasets: Sequence[str],
    labels: float,
    *,
    among: str,
) -> list[str]:
    """Say how KGNN ranks over datasets, if it does."""
    ranking = rank_methods(results, methods, datasets, labels=labels)
    ranks = ranking.ranks
    if REFERENCE not in ranks or len(ranks) < 2:
        return []
    own = ranks[REFERENCE]
    others = sorted((rank, method) for method, rank in ranks.items() if method != REFERENCE)
    level = [method_title(method) for rank, method in others if math.isclose(rank, own)]
    better = [rank for rank, _ in others if rank < own and not math.isclose(rank, own)]
    rest = [each for each in others if not math.isclose(each[0], own)]
    place = "the best" if not better else f"number {len(better) + 1}"
    tied = f", level with {_shortened(level)}" if level else ""
    word = "next" if not better else "the best"
    other = f"; {word} is {method_title(rest[0][1])} with {rest[0][0]:.1f}" if rest else ""
    p = ranking.friedman.p
    friedman = "" if math.isnan(p) else f"; p of the Friedman test: {p_value(p)}"
    return [
        f"{among} average rank over {_datasets(ranking.datasets)} is {own:.1f}, {place} of "
        f"{len(ranks)}{tied}{other}. Ranks that differ by less than "
        f"{ranking.critical_difference:.1f} cannot be told apart "
        f"(Nemenyi, α = {ALPHA:g}{friedman})."
    ]


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
