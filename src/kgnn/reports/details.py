"""How each number was made, as data for the page: everything once, cells refer to it."""

from __future__ import annotations

import json
from typing import Any

from kgnn.benchmark.record import Record
from kgnn.reports.paper import dataset_title, method_title
from kgnn.reports.results import Group, Results, cpu_seconds
from kgnn.reports.table_data import TableCell

_PERCENT = ("accuracy", "validation_accuracy", "accuracy_without_twins", "coverage")
_SHARES = ("set_size", "calibration_error", "brier")
_SIZES = ("labeled", "unlabeled", "validation", "test")


class Details:
    """Groups of records as they are told in the page.

    Parameters
    ----------
    results : Results
    """

    def __init__(self, results: Results) -> None:
        self._results = results
        self._positions = {id(group): i for i, group in enumerate(results.groups)}
        self._shared: dict[str, int] = {}

    def position(self, cell: TableCell, protocol: str, labels: float) -> int | None:
        """Return where the data has the group that a cell of a table is about, on these terms."""
        group = self._results.find(
            cell.method,
            cell.dataset,
            protocol=protocol,
            labels=labels,
            parameters=cell.parameters,
        )
        return self._positions[id(group)] if group else None

    def data(self) -> dict[str, Any]:
        """Return plain values; what many records have in common is kept once, in ``shared``."""
        groups = [self._told(group) for group in self._results.groups]
        return {"groups": groups, "shared": [json.loads(text) for text in self._shared]}

    def _told(self, group: Group) -> dict[str, Any]:
        first = group.records[0]
        every = {k: v for k, v in first.all_parameters.items() if k != "random_state"}
        return {
            "title": f"{method_title(group.method)} on {dataset_title(group.dataset)}",
            "protocol": group.protocol,
            "labels": group.labels,
            "mean": _rounded(group.mean),
            "std": _rounded(group.std),
            "interval": _rounded(group.interval),
            "sizes": [first.result.get(name) for name in _SIZES],
            "parameters": group.parameters,
            "all_parameters": self._share(every),
            "splits": [self._split(record) for record in group.records],
        }

    def _split(self, record: Record) -> list[Any]:
        result = record.result
        return [
            record.cell.seed,
            *(_rounded(result.get(name)) for name in _PERCENT),
            *(_rounded(result.get(name), 4) for name in _SHARES),
            _rounded(cpu_seconds(record)),
            _rounded(result.get("peak_mib"), 0),
            record.finished,
            record.cell.command,
            self._share(record.versions),
            self._share(record.machine),
        ]

    def _share(self, values: dict[str, Any]) -> int:
        return self._shared.setdefault(json.dumps(values), len(self._shared))


def _rounded(value: float | None, digits: int = 2) -> float | None:
    return None if value is None else round(float(value), digits)
