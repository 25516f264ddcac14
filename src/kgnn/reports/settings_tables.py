"""Tables of other settings of a method than its usual ones."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from kgnn.estimator.metrics import METRICS
from kgnn.evaluation.metrics import mean_and_std
from kgnn.reports.comparison import ASSUMPTION, MARKS, TEST, Comparison, compare_groups
from kgnn.reports.paper import dataset_title, method_title
from kgnn.reports.results import Group, Results, terms_of
from kgnn.reports.table import Cell, Row, Table, counted, mean_with_std, signed

_NAMED = 2  # settings; of more changes at once, the others are counted
# By dataset and settings, as JSON.
_Columns = dict[str, dict[str, Cell]]


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
                tables += _settings_tables(results.on(*terms), method, own)
    return tables


def _settings_tables(results: Results, method: str, groups: Sequence[Group]) -> list[Table]:
    """Build the tables of one method on the same terms."""
    compared: _Columns = {}
    apart: _Columns = {}
    for dataset in results.datasets:
        there = [group for group in groups if group.dataset == dataset]
        own = results.find(method, dataset)
        found = compare_groups(there, own) if own else [None] * len(there)
        for group, each in zip(there, found, strict=True):
            cell = _difference(group, own, each) if each else _accuracy(group)
            column = (compared if each else apart).setdefault(dataset, {})
            column[json.dumps(group.parameters, sort_keys=True)] = cell
    is_paper = results.terms.protocol == "paper"
    over = "seeds" if is_paper else "splits"
    defaults = "its usual ones" if results.usual_parameters(method) else "its defaults"
    title = f"{method_title(method)} with other settings{results.terms.in_words}"
    name, metric = results.title(method), results.headline
    tables = []
    if compared:
        same = any(cell.text == "same" for column in compared.values() for cell in column.values())
        notes = [
            f"{metric} of {name} with these settings minus that with {defaults} on the same "
            f"{over}, in percentage points, ± the standard error of the mean"
            + ("." if is_paper else " with the correction of Nadeau & Bengio."),
            *([] if is_paper else [f"{_marked()} {ASSUMPTION}"]),
            *([f"same: the answers were the same as with {defaults}."] if same else []),
            *([_LAST] if len(compared) > 1 else []),
        ]
        tables.append(_table(title, compared, " ".join(notes), has_means=len(compared) > 1))
    if apart:
        title = f"{title}: {METRICS[results.metric].title}" if compared else title
        note = (
            f"{metric} on TEST in percent: mean ± standard deviation over {over}. These settings "
            f"have no {over} in common with runs of {name} with {defaults}."
        )
        tables.append(_table(title, apart, note, has_means=False))
    return tables


_LAST = "Last, the mean over the datasets on which a setting was run and changed something."


def _marked() -> str:
    return f"▲ and ▼: significantly better or worse ({TEST.format(over='rows')})."


def _table(title: str, columns: _Columns, note: str, *, has_means: bool) -> Table:
    every = {row for cells in columns.values() for row in cells}
    # Single changes first, by name and then by value: numbers as such.
    settings = sorted(every, key=lambda row: (len(json.loads(row)) > 1, _by_number(row)))
    rows = []
    for setting, told in zip(settings, _told(settings), strict=True):
        cells = [own.get(setting, Cell()) for own in columns.values()]
        rows.append(Row(told, (*cells, *([_mean(cells)] if has_means else []))))
    headings = ("setting", *map(dataset_title, columns), *(["mean"] if has_means else []))
    return Table(title, headings, tuple(rows), note)


def _mean(cells: Sequence[Cell]) -> Cell:
    """Average differences over datasets, whose errors are independent."""
    there = [c for c in cells if c.value is not None and c.text != "same"]
    if not there:
        return Cell("same")
    mean = mean_and_std([c.value for c in there if c.value is not None])[0]
    error = math.hypot(*(math.nan if c.std is None else c.std for c in there)) / len(there)
    return Cell(_with_error(mean, error), counted(len(there), "dataset"), value=mean)


def _by_number(text: str) -> list[tuple[float, str]]:
    parts = re.split(r"(\d+(?:\.\d+)?(?:e-?\d+)?)", text)
    return [(float(part), "") if at % 2 else (0.0, part) for at, part in enumerate(parts)]


def _told(rows: Sequence[str]) -> list[str]:
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


def _accuracy(group: Group) -> Cell:
    """Return mean ± deviation of a group, and over how many splits."""
    n = len(group.records)
    text = mean_with_std(group.mean, group.std, n)
    return Cell(text, _n_runs(group, n), value=group.mean, std=group.std, n=n, group=group)


def _n_runs(group: Group, n: int) -> str:
    return counted(n, "seed" if group.protocol == "paper" else "split")
