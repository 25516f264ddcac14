"""How other settings of a method compare with its defaults, as tables."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from kgnn.evaluation.metrics import METRICS, mean_and_std
from kgnn.evaluation.splits import Labels, labels_in_words
from kgnn.reports.comparison import ASSUMPTION, Comparison, compare_groups
from kgnn.reports.numbers import counted, mean_with_std, signed
from kgnn.reports.paper import dataset_title, method_title
from kgnn.reports.results import Group, Results, terms_of
from kgnn.reports.table import Table, TableCell

_NAMED = 2  # parameters; of more changes at once, the others are counted
_DIFFERENCES = (
    "{metric} of {name} with these settings minus that with its defaults on the same splits, in "
    "percentage points, ± the standard error of the mean with the correction of Nadeau & Bengio. "
    "▲ and ▼ mark what is significantly better or worse (paired t-test with the same correction, "
    f"Holm over the rows). {ASSUMPTION}"
)
_SAME = "Where it says same, the answers were the same as with the defaults."
_MEAN = "Last, the mean over the datasets on which a setting was run and changed something."
_SEEDS = (
    "{metric} of {name} with these settings minus that with its defaults and the same seeds on "
    "one split, in percentage points, ± the standard error of the mean."
)
_ACCURACIES = (
    "{metric} on TEST in percent: mean ± standard deviation over {over}. These settings have no "
    "{over} in common with runs of {name} with its defaults, so there are no differences."
)


def choices_tables(results: Results) -> list[Table]:
    """Build tables of each method that was run with other settings than its defaults.

    Where the defaults were run on the same splits the table has differences, else accuracies; a
    method may have one of each.
    """
    changed = [group for group in results.groups if group.parameters]
    tables = []
    for method in results.methods:
        for protocol, labels in terms_of(changed):
            own = [
                g for g in changed if (g.method, g.protocol, g.labels) == (method, protocol, labels)
            ]
            tables += _tables(results, own) if own else []
    return tables


def terms_in_words(protocol: str, labels: Labels) -> str:
    """Name the terms of runs in a title, where they are not the usual ones."""
    if protocol == "budget":
        return f", {labels_in_words(labels)} and no VAL"
    labels = float(labels)
    split = " on the split of the paper's code" if protocol == "paper" else ""
    # The paper counts in TRAIN-L, which is a fifth of all graphs.
    share = f", {100 * labels:g} % labeled ({500 * labels:g} % of TRAIN-L)"
    return split + ("" if labels == 0.1 else share)


def _tables(results: Results, groups: Sequence[Group]) -> list[Table]:
    """Build the tables of one method on the same terms."""
    cells: dict[str, dict[str, TableCell]] = {}
    apart: dict[str, dict[str, TableCell]] = {}
    for dataset in results.datasets:
        there = [group for group in groups if group.dataset == dataset]
        for group, compared in zip(there, _compared(results, there), strict=True):
            column = (cells if compared else apart).setdefault(dataset, {})
            column[json.dumps(group.parameters, sort_keys=True)] = (
                _difference(group, compared) if compared else _accuracy(group)
            )
    name, is_paper = groups[0].title, groups[0].protocol == "paper"
    over = "seeds" if is_paper else "splits"
    terms = terms_in_words(groups[0].protocol, groups[0].labels)
    title = f"{method_title(groups[0].method)} with other settings{terms}"
    differences = (_SEEDS if is_paper else _DIFFERENCES).format(name=name, metric=results.headline)
    accuracies = _ACCURACIES.format(name=name, over=over, metric=results.headline)
    found = []
    if cells:
        found.append(_with_means(_table(title, cells, (differences,), groups[0])))
    if apart:
        title = f"{title}: {METRICS[results.metric].title}" if cells else title
        found.append(_table(title, apart, (accuracies,), groups[0]))
    return found


def _compared(results: Results, groups: Sequence[Group]) -> list[Comparison | None]:
    """Compare groups of one method and dataset with its defaults; None where that cannot be."""
    if not groups:
        return []
    like = groups[0]
    own = results.find(like.method, like.dataset, protocol=like.protocol, labels=like.labels)
    return compare_groups(groups, own) if own else [None] * len(groups)


def _table(
    title: str,
    columns: Mapping[str, Mapping[str, TableCell]],
    notes: tuple[str, ...],
    of: Group,
) -> Table:
    rows = sorted({row for cells in columns.values() for row in cells}, key=_order)
    return Table(
        title,
        ("setting", *map(dataset_title, columns)),
        tuple(
            (TableCell(told), *(cells.get(row, TableCell()) for cells in columns.values()))
            for row, told in zip(rows, _told(rows), strict=True)
        ),
        notes,
        of.protocol,
        of.labels,
    )


def _with_means(table: Table) -> Table:
    """Add the mean over datasets, where there are several."""
    if len(table.headings) < 3:
        return table
    same = any(cell.text == "same" for row in table.rows for cell in row)
    return replace(
        table,
        headings=(*table.headings, "mean"),
        rows=tuple((*row, _mean(row[1:])) for row in table.rows),
        notes=(*table.notes, *([_SAME] if same else []), _MEAN),
    )


def _mean(cells: Sequence[TableCell]) -> TableCell:
    """Average differences over datasets, whose errors are independent."""
    compared = [c.comparison for c in cells if c.comparison and not c.comparison.is_same]
    if not compared:
        return TableCell("same")
    mean = mean_and_std([each.difference for each in compared])[0]
    error = math.hypot(*(each.error for each in compared)) / len(compared)
    return TableCell(_with_error(mean, error), counted(len(compared), "dataset"), mean=mean)


def _order(row: str) -> tuple[bool, list[tuple[str, bool, list[float], str]]]:
    """Sort single changes first, by name and then by value."""
    parameters = json.loads(row)
    return len(parameters) > 1, [_place(name, value) for name, value in parameters.items()]


def _place(name: str, value: Any) -> tuple[str, bool, list[float], str]:
    values = value if isinstance(value, list) else [value]
    are_numbers = all(isinstance(each, (int, float)) for each in values)
    return name, not are_numbers, list(map(float, values)) if are_numbers else [], str(value)


def _told(rows: Iterable[str]) -> list[str]:
    """Write settings as ``--set`` takes them, in short where that tells them apart."""
    every = [[f"{k}={_value(v)}" for k, v in json.loads(row).items()] for row in rows]
    short = [_shortened(each) for each in every]
    times = Counter(short)
    return [", ".join(e) if times[s] > 1 else s for e, s in zip(every, short, strict=True)]


def _shortened(settings: Sequence[str]) -> str:
    more = len(settings) - _NAMED
    return ", ".join(settings[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def _value(value: Any) -> str:
    if isinstance(value, list) and len(value) != 1:
        return f"({', '.join(map(str, value))})"
    return str(value[0] if isinstance(value, list) else value)


def _difference(group: Group, compared: Comparison) -> TableCell:
    told = _with_error(compared.difference, compared.error)
    return TableCell(
        "same" if compared.is_same else told,
        _n_runs(group, compared.n),
        method=group.method,
        dataset=group.dataset,
        parameters=group.parameters,
        mean=compared.difference,
        n=compared.n,
        comparison=compared,
        minus=group.method,
    )


def _with_error(difference: float, error: float) -> str:
    return signed(difference) if math.isnan(error) else f"{signed(difference)} ± {error:.1f}"


def _accuracy(group: Group) -> TableCell:
    n = len(group.records)
    return TableCell(
        mean_with_std(group.mean, group.std, n),
        _n_runs(group, n),
        method=group.method,
        dataset=group.dataset,
        parameters=group.parameters,
        mean=group.mean,
        std=group.std,
        interval=group.interval,
        n=n,
    )


def _n_runs(group: Group, n: int) -> str:
    return counted(n, "seed" if group.protocol == "paper" else "split")
