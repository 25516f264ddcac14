"""Cells that were declined or failed, with their reasons."""

from __future__ import annotations

import json
from collections.abc import Iterable

from kgnn.benchmark.cell import Cell
from kgnn.benchmark.record import Record
from kgnn.reports.paper import dataset_title, method_title
from kgnn.reports.table_data import Table, TableCell


def unfinished_table(records: Iterable[Record]) -> Table:
    """Build a table of what has no number, runs with the same reason together.

    Examples
    --------
    >>> from kgnn.benchmark.cell import Cell
    >>> record = Record(Cell("DD", "a3", "wl"), "failed", reason="out of memory")
    >>> [cell.text for cell in unfinished_table([record]).rows[0]]
    ['WL', 'DD', 'failed', 'split 0', 'out of memory']
    """
    runs: dict[tuple[str, ...], list[int]] = {}
    for record in records:
        cell = record.cell
        unusual = "".join(f"; {term}" for term in unusual_terms(cell))
        terms = (cell.method, cell.dataset, record.outcome, unusual, record.reason)
        runs.setdefault(terms, []).append(cell.seed)
    rows = (
        (method_title(method), dataset_title(dataset), outcome, _splits(seeds) + terms, reason)
        for (method, dataset, outcome, terms, reason), seeds in runs.items()
    )
    return Table(
        "Declined and failed runs",
        ("method", "dataset", "outcome", "runs", "reason"),
        tuple(tuple(map(TableCell, row)) for row in rows),
    )


def unusual_terms(cell: Cell) -> list[str]:
    """Say what sets the terms of a run apart from the usual ones.

    Examples
    --------
    >>> unusual_terms(Cell("DD", "a3", "kgnn", {"hops": 2}, labels=0.025))
    ['2.5 % labels', 'hops = 2']
    """
    told = [f"{cell.protocol} protocol"] if cell.protocol != "fair" else []
    told += [f"{100 * cell.labels:g} % labels"] if cell.labels != 0.1 else []
    return told + [f"{k} = {json.dumps(v)}" for k, v in cell.parameters.items()]


def _splits(seeds: list[int]) -> str:
    several = "s" if len(seeds) > 1 else ""
    return f"split{several} {', '.join(map(str, sorted(seeds)))}"
