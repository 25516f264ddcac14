"""Which tables a report has, and which methods and datasets are in them."""

from __future__ import annotations

from collections.abc import Sequence

from kgnn.reports.choices_table import choices_tables, told_terms
from kgnn.reports.comparison_table import comparison_table
from kgnn.reports.measure_tables import calibration_table, cost_table, label_sets_table
from kgnn.reports.paper import TABLE_2, TABLE_3
from kgnn.reports.results import Results
from kgnn.reports.table_data import Table
from kgnn.reports.tables import accuracy_table, paper_protocol_table, without_twins_table

_LABELS = 0.1  # share of all graphs, in the tables of the paper


def table_datasets(results: Results) -> list[str]:
    """Return the datasets that have a number for the tables; others are those of figures alone."""
    return [d for d in results.datasets if any(results.find(m, d) for m in results.methods)]


def usual_methods(results: Results) -> list[str]:
    """Return the methods that were run with their defaults; others have tables of their own."""
    usual = {group.method for group in results.groups if not group.parameters}
    return [method for method in results.methods if method in usual]


def main_methods(results: Results) -> list[str]:
    """Return the methods of Table 2 that there are, those that the paper has not last but KGNN."""
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
    against_parts = "KGNN against its own parts"
    tables = [
        accuracy_table(results, others, datasets, title="Table 2: all methods", printed=TABLE_2),
        accuracy_table(results, parts, datasets, title="Table 3: ablations", printed=TABLE_3),
        paper_protocol_table(results, every, results.datasets, printed=printed),
        without_twins_table(results, every, datasets),
        comparison_table(results, main, datasets),  # the same tests as the marks of Table 2
        comparison_table(results, parts, datasets, title=against_parts),  # and of Table 3
        calibration_table(results, every, datasets),
        label_sets_table(results, every, datasets),
        cost_table(results, every, datasets),
        *_other_shares(results, every),
        *choices_tables(results),
    ]
    return [table for table in tables if not table.is_empty]


def _other_shares(results: Results, methods: Sequence[str]) -> list[Table]:
    """Build tables of accuracy with fewer or more labels, one for each share and protocol."""
    there = [group for group in results.groups if not group.parameters and group.labels != _LABELS]
    tables = []
    for protocol, labels in sorted({(group.protocol, group.labels) for group in there}):
        own = [group for group in there if (group.protocol, group.labels) == (protocol, labels)]
        run = {group.method for group in own}, {group.dataset for group in own}
        tables.append(
            accuracy_table(
                results,
                [method for method in methods if method in run[0]],
                [dataset for dataset in results.datasets if dataset in run[1]],
                title=f"Accuracy{told_terms(protocol, labels)}",
                protocol=protocol,
                labels=labels,
            )
        )
    return tables
