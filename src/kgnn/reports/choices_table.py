"""What single choices in KGNN are worth, as a table."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from kgnn.reports.comparison import REFERENCE, Comparison, compare_groups
from kgnn.reports.numbers import signed
from kgnn.reports.paper import dataset_title, method_title
from kgnn.reports.results import Group, Results
from kgnn.reports.table_data import Table, TableCell

_NAME = method_title(REFERENCE)
_NAMED = 2  # parameters; of more changes at once, the others are counted
_NOTES = (
    f"Accuracy of {_NAME} with these settings minus that with its defaults on the same splits, in "
    "percentage points, ± the standard error of the mean. What is less than twice its error may "
    "be chance. ▲ and ▼ mark what is significantly better or worse (paired t-test with the "
    "correction of Nadeau & Bengio, Holm over the rows).",
)


def choices_table(results: Results, *, labels: float = 0.1) -> Table:
    """Build a table of KGNN with other settings against KGNN with its defaults."""
    changed = [
        group
        for group in results.groups
        if (group.method, group.protocol, group.labels) == (REFERENCE, "fair", labels)
        and group.parameters
    ]
    rows = sorted({_key(group.parameters) for group in changed}, key=_order)
    columns = {}
    for dataset in results.datasets:
        own = results.find(REFERENCE, dataset, labels=labels)
        there = [group for group in changed if group.dataset == dataset]
        if own and there:
            compared = zip(there, compare_groups(there, own), strict=True)
            columns[dataset] = {_key(g.parameters): _cell(g, each) for g, each in compared if each}
    return Table(
        f"{_NAME} with other settings",
        ("setting", *map(dataset_title, columns)),
        tuple(
            (
                TableCell(_told(json.loads(row))),
                *(cells.get(row, TableCell()) for cells in columns.values()),
            )
            for row in rows
        ),
        _NOTES,
    )


def _key(parameters: Mapping[str, Any]) -> str:
    return json.dumps(parameters, sort_keys=True)


def _order(row: str) -> tuple[bool, list[tuple[str, bool, float, str]]]:
    """Sort single changes first, by name and then by value."""
    parameters = json.loads(row)
    return len(parameters) > 1, [_place(name, value) for name, value in parameters.items()]


def _place(name: str, value: Any) -> tuple[str, bool, float, str]:
    is_number = isinstance(value, (int, float))
    return name, not is_number, float(value) if is_number else 0.0, str(value)


def _told(parameters: Mapping[str, Any]) -> str:
    """Write settings as ``--set`` takes them."""
    every = [f"{name}={_value(value)}" for name, value in parameters.items()]
    more = len(every) - _NAMED
    return ", ".join(every[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def _value(value: Any) -> str:
    return f"({', '.join(map(str, value))})" if isinstance(value, list) else str(value)


def _cell(group: Group, compared: Comparison) -> TableCell:
    difference, error = signed(compared.difference), compared.error
    return TableCell(
        difference if math.isnan(error) else f"{difference} ± {error:.1f}",
        f"{compared.n} split{'s' if compared.n > 1 else ''}",
        method=group.method,
        dataset=group.dataset,
        parameters=group.parameters,
        mean=compared.difference,
        n=compared.n,
        comparison=compared,
    )
