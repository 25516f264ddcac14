"""Which tables a report has, and which methods and datasets are in them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence

from kgnn.benchmark.record import Cell, Record
from kgnn.evaluation.splits import labels_in_words
from kgnn.reports.choices_table import choices_tables, terms_in_words
from kgnn.reports.method_tables import (
    accuracy_table,
    calibration_table,
    comparison_table,
    cost_table,
    expected_table,
    label_sets_table,
    paper_protocol_table,
    recalls_table,
    without_twins_table,
)
from kgnn.reports.paper import TABLE_2, TABLE_3, dataset_title, method_title
from kgnn.reports.results import Results, terms_of
from kgnn.reports.table import Table, TableCell

_LABELS = 0.1  # share of all graphs, in the tables of the paper
_OF_A_BUDGET: dict[str, Callable[..., Table]] = {
    "Recall": recalls_table,
    "Expected and actual accuracy": expected_table,
    "Label sets for 90 % coverage": label_sets_table,
}


def table_datasets(results: Results) -> list[str]:
    """Return the datasets that have a number for the tables; others are only in figures."""
    return [d for d in results.datasets if any(results.find(m, d) for m in results.methods)]


def usual_methods(results: Results) -> list[str]:
    """Return the methods that were run with their defaults; others have tables of their own."""
    usual = {group.method for group in results.groups if not group.parameters}
    return [method for method in results.methods if method in usual]


def main_methods(results: Results) -> list[str]:
    """Return the methods of Table 2 that there are, then others, then KGNN."""
    usual = usual_methods(results)
    there = [method for method in usual if method not in TABLE_3]
    in_paper = [method for method in there if method in TABLE_2]
    others = [method for method in there if method not in TABLE_2]
    return [*in_paper, *others, *(["kgnn"] if "kgnn" in usual else [])]


def ablations(results: Results) -> list[str]:
    """Return the methods of Table 3 that there are; none where KGNN is the only one."""
    usual = usual_methods(results)
    there = [method for method in TABLE_3 if method in usual]
    return [] if there == ["kgnn"] else there


def report_tables(results: Results) -> list[Table]:
    """Build all tables that have something to say."""
    datasets, main, parts = table_datasets(results), main_methods(results), ablations(results)
    every = list(dict.fromkeys([*main, *parts]))
    printed = {**TABLE_3, **TABLE_2}
    others = [] if set(main) <= set(parts) else main  # KGNN alone is a row of Table 3 already
    tables = [
        accuracy_table(results, others, datasets, title="Table 2: all methods", printed=TABLE_2),
        accuracy_table(results, parts, datasets, title="Table 3: ablations", printed=TABLE_3),
        paper_protocol_table(results, every, results.datasets, printed),
        without_twins_table(results, every, datasets),
        recalls_table(results, every, datasets),
        # The same tests as the marks of Tables 2 and 3.
        comparison_table(results, main, datasets),
        comparison_table(results, parts, datasets, "its ablations"),
        calibration_table(results, every, datasets),
        label_sets_table(results, every, datasets),
        cost_table(results, every, datasets),
        *_other_shares(results, every),
        *choices_tables(results),
    ]
    return [table for table in tables if not table.is_empty]


def _other_shares(results: Results, methods: Sequence[str]) -> list[Table]:
    """Build tables of other labels than the usual ones, for each number of them and protocol.

    A budget, which has no VAL, also has tables of what the methods know of themselves.
    """
    there = [
        group
        for group in results.groups
        if not group.parameters and (group.labels != _LABELS or group.protocol == "budget")
    ]
    tables = []
    for protocol, labels in terms_of(there):
        own = [group for group in there if (group.protocol, group.labels) == (protocol, labels)]
        run = {group.method for group in own}, {group.dataset for group in own}
        chosen = (
            [method for method in methods if method in run[0]],
            [dataset for dataset in results.datasets if dataset in run[1]],
        )
        terms = terms_in_words(protocol, labels)
        builders = {results.headline: accuracy_table}
        if protocol == "budget":
            builders |= _OF_A_BUDGET
        tables += [
            build(results, *chosen, title=f"{name}{terms}", protocol=protocol, labels=labels)
            for name, build in builders.items()
        ]
    return tables


def unfinished_table(records: Iterable[Record]) -> Table:
    """Build a table of what has no number, runs with the same reason together."""
    runs: dict[tuple[str, ...], list[int]] = {}
    for record in records:
        cell = record.cell
        unusual = "".join(f"; {term}" for term in unusual_terms(cell))
        told_of = (cell.method, cell.dataset, record.outcome, unusual, record.reason)
        runs.setdefault(told_of, []).append(cell.seed)
    rows = []
    for (method, dataset, outcome, terms, reason), seeds in runs.items():
        splits = "splits" if len(seeds) > 1 else "split"
        told = f"{splits} {', '.join(map(str, sorted(seeds)))}{terms}"
        rows.append((method_title(method), dataset_title(dataset), outcome, told, reason))
    return Table(
        "Declined and failed runs",
        ("method", "dataset", "outcome", "runs", "reason"),
        tuple(tuple(map(TableCell, row)) for row in rows),
    )


def unusual_terms(cell: Cell) -> list[str]:
    """Say what sets the terms of a run apart from the usual ones."""
    told = [f"{cell.protocol} protocol"] if cell.protocol != "fair" else []
    is_usual = cell.labels == _LABELS and cell.protocol != "budget"
    told += [] if is_usual else [labels_in_words(cell.labels)]
    return told + [f"{k} = {json.dumps(v)}" for k, v in cell.parameters.items()]
