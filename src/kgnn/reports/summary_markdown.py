"""The page of results, ``docs/results.md``: sentences, tables, and how they were made."""

from __future__ import annotations

from collections.abc import Iterable

from kgnn.reports.headline import about_parts, headline, headline_table, places
from kgnn.reports.markdown import code, escape_markdown, table_markdown
from kgnn.reports.paper import TABLE_2, TABLE_3
from kgnn.reports.provenance import has_most_of, how_it_was_made, what_is_missing
from kgnn.reports.report_tables import ablations, main_methods, report_tables, table_datasets
from kgnn.reports.results import PAPER_DATASETS, Results
from kgnn.reports.table_data import Table

_REPORTS = (
    "kgnn report results --format markdown -o docs/results.md",
    "kgnn report results -o page.html",
)
_LABELS = 0.1  # share of all graphs, in the tables of the paper


def summary_markdown(results: Results, commands: str | None = None) -> str:
    """Return the whole page.

    Parameters
    ----------
    results : Results
    commands : str, optional
        Those that make the records and the page, one a line. Unless given, those of the paper's
        tables where the records are of these; nobody knows how others were made.
    """
    commands = _commands(results) if commands is None else commands
    parts = [
        "# Results",
        _headline(results),
        *map(_section, report_tables(results)),
        "## What is missing",
        _bullets(what_is_missing(results)) or "Nothing of these tables.",
        "## How it was made",
        code(commands) if commands else "",
        _bullets(how_it_was_made(results)),
        _single_run(results),
    ]
    return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"


def readme_markdown(results: Results) -> str:
    """Return the short version: a table, and where KGNN is not first."""
    methods, datasets = main_methods(results), table_datasets(results)
    parts = about_parts(results, ablations(results), datasets)[:1]  # how they rank is left out
    sentences = _bullets([*places(results, methods, datasets), *parts])
    return f"{_headline_table(results)}\n\n{sentences}".strip()


def _headline(results: Results) -> str:
    """Say where KGNN stands, in sentences and a table."""
    methods, datasets = main_methods(results), table_datasets(results)
    parts = about_parts(results, ablations(results), datasets)
    sentences = _bullets([*headline(results, methods, datasets), *parts])
    return f"{sentences}\n\n{_headline_table(results)}".strip()


def _headline_table(results: Results) -> str:
    table = headline_table(results, main_methods(results), table_datasets(results))
    return "" if table.is_empty else table_markdown(table).strip()


def _commands(results: Results) -> str:
    """Return the commands that make the paper's tables, as far as the records are of these."""
    if not set(results.datasets) & set(PAPER_DATASETS):
        return ""
    grids = {"table2": TABLE_2, "table3": TABLE_3}
    made = [
        f"kgnn bench {g} -o results" for g, table in grids.items() if has_most_of(results, table)
    ]
    return "\n".join([*made, *_other_grids(results), *_REPORTS]) if made else ""


def _other_grids(results: Results) -> list[str]:
    """Return the commands of what is there beside the paper's tables."""
    settings = [set(group.parameters) for group in results.groups if group.parameters]
    is_there = {
        "fig-label-ratio": any(group.labels != _LABELS for group in results.groups),
        "fig-dimensions": {"width"} in settings,
        "fig-hops": {"hops"} in settings,
        "choices": any(each not in ({"width"}, {"hops"}) for each in settings),
    }
    return [f"kgnn bench {grid} -o results" for grid, is_run in is_there.items() if is_run]


def _bullets(sentences: Iterable[str]) -> str:
    return "\n".join(f"- {escape_markdown(sentence)}" for sentence in sentences)


def _section(table: Table) -> str:
    return f"## {escape_markdown(table.title)}\n\n{table_markdown(table)}"


def _single_run(results: Results) -> str:
    if not results.groups:
        return ""
    return f"A single run, such as the first:\n\n{code(results.groups[0].records[0].cell.command)}"
