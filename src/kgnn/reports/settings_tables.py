"""Tables of other settings of a method than its usual ones."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kgnn.estimator.metrics import METRICS
from kgnn.evaluation.metrics import mean_and_std
from kgnn.reports.comparison import (
    ASSUMPTION,
    Comparison,
    compare_groups,
)
from kgnn.reports.method_tables import MARKS, TEST, terms_in_words
from kgnn.reports.paper import (
    dataset_title,
    method_title,
)
from kgnn.reports.results import (
    Group,
    Results,
    terms_of,
)
from kgnn.reports.table import (
    Cell,
    Row,
    Table,
    counted,
    mean_with_std,
    signed,
)

_NAMED = 2  # settings; of more changes at once, the others are counted


def settings_tables(results: Results) -> list[Table]:
    """Build tables of each method that was run with other settings than its usual ones.

    Where those were run on the same splits the table has differences, else accuracies; a method
    may have one of each.
    """
    changed = [g for g in results.groups if g.parameters != results.usual_parameters(g.method)]
    tables = []
    for method in results.methods:
        for terms in terms_of(changed):
            if own := [g for g in changed if g.method == method and g.terms == terms]:
                tables += _settings_tables(results, own)
    return tables


def _settings_tables(results: Results, groups: Sequence[Group]) -> list[Table]:
    """Build the tables of one method on the same terms."""
    cells: dict[str, dict[str, Cell]] = {}
    apart: dict[str, dict[str, Cell]] = {}
    for dataset in results.datasets:
        there = [group for group in groups if group.dataset == dataset]
        own = results.find(groups[0].method, dataset, groups[0].terms)
        compared = compare_groups(there, own) if own else [None] * len(there)
        for group, each in zip(there, compared, strict=True):
            cell = _difference(group, own, each) if each else accuracy_cell(group)
            column = (cells if each else apart).setdefault(dataset, {})
            column[json.dumps(group.parameters, sort_keys=True)] = cell
    method, is_paper = groups[0].method, groups[0].protocol == "paper"
    over = "seeds" if is_paper else "splits"
    defaults = "its usual ones" if results.usual_parameters(method) else "its defaults"
    title = f"{method_title(method)} with other settings{terms_in_words(groups[0].terms)}"
    name, metric = results.title(method), results.headline
    found = []
    if cells:
        same = any(cell.text == "same" for column in cells.values() for cell in column.values())
        notes = [
            f"{metric} of {name} with these settings minus that with {defaults} on the same "
            f"{over}, in percentage points, ± the standard error of the mean"
            + ("." if is_paper else " with the correction of Nadeau & Bengio."),
            ""
            if is_paper
            else f"▲ and ▼: significantly better or worse ({TEST.format(over='rows')}). "
            f"{ASSUMPTION}",
            f"same: the answers were the same as with {defaults}." if same else "",
            "Last, the mean over the datasets on which a setting was run and changed something."
            if len(cells) > 1
            else "",
        ]
        found.append(_settings_table(title, cells, notes, has_means=len(cells) > 1))
    if apart:
        title = f"{title}: {METRICS[results.metric].title}" if cells else title
        note = (
            f"{metric} on TEST in percent: mean ± standard deviation over {over}. These settings "
            f"have no {over} in common with runs of {name} with {defaults}."
        )
        found.append(_settings_table(title, apart, [note], has_means=False))
    return found


def _settings_table(
    title: str,
    columns: Mapping[str, Mapping[str, Cell]],
    notes: Iterable[str],
    *,
    has_means: bool,
) -> Table:
    settings = sorted({row for cells in columns.values() for row in cells}, key=_order)
    rows = []
    for setting, told in zip(settings, _told(settings), strict=True):
        cells = [own.get(setting, Cell()) for own in columns.values()]
        rows.append(Row(told, (*cells, *([_mean(cells)] if has_means else []))))
    headings = ("setting", *map(dataset_title, columns), *(["mean"] if has_means else []))
    return Table(title, headings, tuple(rows), " ".join(filter(None, notes)))


def _mean(cells: Sequence[Cell]) -> Cell:
    """Average differences over datasets, whose errors are independent."""
    there = [c for c in cells if c.value is not None and c.text != "same"]
    if not there:
        return Cell("same")
    mean = mean_and_std([c.value for c in there if c.value is not None])[0]
    error = math.hypot(*(math.nan if c.std is None else c.std for c in there)) / len(there)
    return Cell(_with_error(mean, error), counted(len(there), "dataset"), value=mean)


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
    every = [
        [f"{k}={_value(v)}" for k, v in json.loads(row).items()] or ["defaults"] for row in rows
    ]
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


def _difference(group: Group, usual: Group | None, found: Comparison) -> Cell:
    return Cell(
        "same" if found.is_same else _with_error(found.difference, found.error),
        _n_runs(group, found.n),
        mark=MARKS[found.verdict],
        value=found.difference,
        std=found.error,
        n=found.n,
        group=group,
        minus=usual,
    )


def _with_error(difference: float, error: float) -> str:
    return signed(difference) if math.isnan(error) else f"{signed(difference)} ± {error:.1f}"


def accuracy_cell(group: Group) -> Cell:
    """Return mean ± deviation of a group, and over how many splits."""
    n = len(group.records)
    text = mean_with_std(group.mean, group.std, n)
    return Cell(text, _n_runs(group, n), value=group.mean, std=group.std, n=n, group=group)


def _n_runs(group: Group, n: int) -> str:
    return counted(n, "seed" if group.protocol == "paper" else "split")
