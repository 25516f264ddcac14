"""Which tables a report has, and which methods and datasets are in them."""

from __future__ import annotations

from kgnn.reports.choices_table import choices_table
from kgnn.reports.comparison_table import comparison_table
from kgnn.reports.paper import TABLE_2, TABLE_3
from kgnn.reports.results import Results
from kgnn.reports.table_data import Table
from kgnn.reports.tables import (
    accuracy_table,
    calibration_table,
    cost_table,
    label_sets_table,
    paper_protocol_table,
    without_twins_table,
)


def table_datasets(results: Results) -> list[str]:
    """Return the datasets that have a number for the tables; others are those of figures alone."""
    return [d for d in results.datasets if any(results.find(m, d) for m in results.methods)]


def main_methods(results: Results) -> list[str]:
    """Return the methods of Table 2 that there are, those that the paper has not last but KGNN."""
    there = [method for method in results.methods if method not in TABLE_3]
    in_paper = [method for method in there if method in TABLE_2]
    others = [method for method in there if method not in TABLE_2]
    return [*in_paper, *others, *(["kgnn"] if "kgnn" in results.methods else [])]


def ablations(results: Results) -> list[str]:
    """Return the methods of Table 3 that there are."""
    return [method for method in TABLE_3 if method in results.methods]


def report_tables(results: Results) -> list[Table]:
    """Build all tables that have something to say."""
    datasets, main, parts = table_datasets(results), main_methods(results), ablations(results)
    every = list(dict.fromkeys([*main, *parts]))
    printed = {**TABLE_3, **TABLE_2}
    tables = [
        accuracy_table(results, main, datasets, title="Table 2: all methods", printed=TABLE_2),
        accuracy_table(results, parts, datasets, title="Table 3: ablations", printed=TABLE_3),
        paper_protocol_table(results, every, results.datasets, printed=printed),
        without_twins_table(results, every, datasets),
        comparison_table(results, main, datasets),  # the same tests as the marks of Table 2
        calibration_table(results, every, datasets),
        label_sets_table(results, every, datasets),
        cost_table(results, every, datasets),
        choices_table(results),
    ]
    return [table for table in tables if not table.is_empty]
