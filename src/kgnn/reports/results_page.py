"""All results as one page of HTML that needs nothing but itself."""

from __future__ import annotations

import json
from typing import Any

from threadpoolctl import threadpool_limits

from kgnn.benchmark.record import Record
from kgnn.estimator.metrics import METRICS
from kgnn.evaluation.splits import labels_in_words
from kgnn.reports.cases import shown_cases
from kgnn.reports.page import drawings, render
from kgnn.reports.paper import dataset_title
from kgnn.reports.results import Group, Results, cpu_seconds
from kgnn.reports.summary import (
    how_it_was_made,
    summary_sentences,
    summary_tables,
    what_is_missing,
)
from kgnn.reports.table import counted, listed
from kgnn.reports.tables import report_tables, unfinished_table

TITLE = "Semi-supervised graph classification: results"
_SIZES = ("labeled", "unlabeled", "validation", "test")


def results_page(results: Results, title: str = TITLE) -> str:
    """Return the page.

    Examples
    --------
    >>> from kgnn.benchmark.record import Cell
    >>> page = results_page(Results([Record(Cell("DD", "a3", "wl"), "failed", reason="a < b")]))
    >>> page[:15], "a &lt; b" in page
    ('<!doctype html>', True)
    """
    tables = {_name(table.title): table for table in report_tables(results)}
    figures, why_none = drawings("figures", "result_charts", results)
    with threadpool_limits(1):  # matrices of layouts are small: more threads wait for each other
        cases = list(shown_cases(results))
    parts = {
        "summary": "In short",
        **{name: table.title for name, table in tables.items()},
        **{f"figure-{figure['name']}": figure["title"] for figure in figures},
        **({"figures": "Figures"} if why_none else {}),
        **({"cases": "Case study"} if cases else {}),
        "missing": "What is missing",
        "making": "How it was made",
    }
    return render(
        "results.html",
        title,
        _summary(results),
        parts,
        told=summary_sentences(results),
        short_tables=summary_tables(results),
        tables=list(tables.items()),
        figures=figures,
        without_figures=why_none,
        cases=cases,
        missing=what_is_missing(results),
        unfinished=unfinished_table(results.unfinished),
        made=how_it_was_made(results),
        details=Details(results),
    )


def _summary(results: Results) -> str:
    """Say how much there is, in one line."""
    days = sorted(record.finished[:10] for record in results.records if record.finished)
    names = [dataset_title(dataset) for dataset in results.datasets]
    counts = [
        counted(sum(len(group.records) for group in results.groups), "run"),
        counted(len(results.methods), "method"),
        f"{counted(len(results.datasets), 'dataset')}: {listed(names)}",
        *([f"last run on {days[-1]}"] if days else []),
    ]
    return " · ".join(counts)


def _name(title: str) -> str:
    """Return a title as it can stand in a link: ``Table 2: all methods → table-2-all-methods``."""
    letters = (c if c.isascii() and c.isalnum() else " " for c in title.lower())
    return "-".join("".join(letters).split())


class Details:
    """How each number was made, as words for the page: everything once, cells refer to it."""

    def __init__(self, results: Results) -> None:
        self._results = results
        self._positions = {id(group): i for i, group in enumerate(results.groups)}
        self._shared: dict[str, int] = {}

    def position(self, group: Group | None) -> int | None:
        """Return where the data has a group that a cell of a table is about."""
        return None if group is None else self._positions.get(id(group))

    def data(self) -> dict[str, Any]:
        """Return plain values; what many records have in common is kept once, in ``shared``."""
        groups = [self._told(group) for group in self._results.groups]
        shared = [json.loads(text) for text in self._shared]
        return {"groups": groups, "shared": shared, "headings": list(_OF_A_RUN)}

    def _told(self, group: Group) -> dict[str, Any]:
        first, n = group.records[0], len(group.records)
        labeled, unlabeled, val, test = (first.result.get(name) for name in _SIZES)
        mean = f"{group.mean:.2f}"
        if n > 1:
            mean += (
                f" ± {group.std:.2f} over {n} runs; 95 % interval of the mean ± "
                f"{group.interval:.2f} (t over runs, corrected for the overlap of splits)"
            )
        every = {k: v for k, v in first.all_parameters.items() if k != "random_state"}
        return {
            "title": f"{group.title} on {dataset_title(group.dataset)}",
            "facts": {
                METRICS[group.metric].title: mean,
                "protocol": group.protocol,
                "labels": labels_in_words(group.labels),
                "graphs": f"{labeled} labeled, {unlabeled} unlabeled, {val} VAL, {test} TEST",
            },
            "runs": [_run(record, group.metric) for record in group.records],
            "parameters": group.parameters,
            "all_parameters": self._share(every),
            "commands": [record.cell.command for record in group.records],
            "versions": sorted({self._share(record.versions) for record in group.records}),
            "machines": sorted({self._share(record.machine) for record in group.records}),
        }

    def _share(self, values: dict[str, Any]) -> int:
        return self._shared.setdefault(json.dumps(values), len(self._shared))


# What is told of a run: the headings, and where the numbers come from and how they are written.
_OF_A_RUN = {
    "split": ("seed", ".0f"),
    "TEST %": ("metric", ".1f"),
    "VAL %": ("validation_accuracy", ".1f"),
    "without twins %": ("accuracy_without_twins", ".1f"),
    "in label set %": ("coverage", ".1f"),
    "set size": ("set_size", ".2f"),
    "ECE %": ("ece", ".1f"),
    "Brier": ("brier", ".3f"),
    "CPU s": ("cpu", ".1f"),
    "MiB": ("peak_mib", ".0f"),
    "finished (UTC)": ("finished", ""),
}


def _run(record: Record, metric: str) -> list[str]:
    error = record.result.get("calibration_error")
    values = {
        **record.result,
        "ece": None if error is None else 100 * error,
        "seed": record.cell.seed,
        "metric": record.result[metric],
        "cpu": cpu_seconds(record),
        "finished": record.finished[:16].replace("T", " "),
    }
    told = ((values.get(name), form) for name, form in _OF_A_RUN.values())
    return ["–" if value is None else format(value, form) for value, form in told]
