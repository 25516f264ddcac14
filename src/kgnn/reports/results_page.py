"""All results as one page of HTML that needs nothing but itself."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from kgnn.benchmark.record import Record
from kgnn.evaluation.metrics import METRICS
from kgnn.evaluation.splits import Labels, labels_in_words
from kgnn.reports.case_study import CAPTION, case_study
from kgnn.reports.figures import all_figures
from kgnn.reports.markup import Markup, Part, document, element, joined
from kgnn.reports.numbers import counted, listed
from kgnn.reports.paper import dataset_title
from kgnn.reports.provenance import empty_places, how_it_was_made
from kgnn.reports.report_tables import report_tables, unfinished_table
from kgnn.reports.results import Group, Results, cpu_seconds
from kgnn.reports.summary import summary_sentences, summary_table
from kgnn.reports.svg import Figure
from kgnn.reports.table import Table, TableCell, html_table

TITLE = "Semi-supervised graph classification: results"
_LABELS = 0.1
_MOST_ROWS = 12  # of failed runs that are shown without asking
_PERCENT = ("validation_accuracy", "accuracy_without_twins", "coverage")  # after the headline
_SHARES = ("set_size", "calibration_error", "brier")
_SIZES = ("labeled", "unlabeled", "validation", "test")


def build_page(records: Iterable[Record], title: str = TITLE, metric: str = "accuracy") -> str:
    """Return the page, with a metric as its headline.

    Examples
    --------
    >>> from kgnn.benchmark.record import Cell
    >>> page = build_page([Record(Cell("DD", "a3", "wl"), "failed", reason="a < b")])
    >>> page[:15], "a &lt; b" in page
    ('<!doctype html>', True)
    """
    results = Results(records, metric)
    details = Details(results)
    parts = list(_parts(results, details))
    return document(title, _summary(results), parts, data=details.data())


def _parts(results: Results, details: Details) -> Iterator[Part]:
    summary = summary_table(results)
    shown = None if summary.is_empty else _table(summary, details)
    yield Part("summary", "In short", joined(_list(summary_sentences(results)), shown))
    for table in report_tables(results):
        yield Part(_name(table.title), table.title, _table(table, details))
    protocol, labels = _figure_terms(results)
    for figure in all_figures(results, protocol=protocol, labels=labels):
        yield Part(f"figure-{figure.name}", figure.title, _figure(figure))
    cases = case_study(results)
    if cases:
        yield Part("cases", "Case study", joined(element("p", CAPTION, class_="note"), cases))
    yield Part("missing", "What is missing", _missing(results, details))
    yield Part("making", "How it was made", _list(how_it_was_made(results)))


def _figure_terms(results: Results) -> tuple[str, Labels]:
    """Return the terms that figures are drawn of: the usual ones where there are any such runs."""
    for protocol in ("fair", "paper"):
        if any(group.protocol == protocol for group in results.groups):
            return protocol, _LABELS
    budgets = Counter(group.labels for group in results.groups)
    return "budget", max(budgets, key=lambda labels: budgets[labels], default=_LABELS)


def _table(table: Table, details: Details) -> Markup:
    return html_table(table, lambda cell: details.position(cell, table.protocol, table.labels))


def _figure(figure: Figure) -> Markup:
    panels = [element("div", panel, class_="panel") for panel in figure.panels.values()]
    return element(
        "figure",
        element("div", *panels, class_="panels"),
        element("figcaption", figure.caption, class_="note"),
    )


def _missing(results: Results, details: Details) -> Markup:
    """Name the empty places of the tables, then every run without a result, with its reason."""
    table, lines = unfinished_table(results.unfinished), empty_places(results)
    if not table.rows:
        return _list(lines or ["Nothing of these tables."])
    shown = _table(table, details)
    if len(table.rows) > _MOST_ROWS:
        told = f"{len(table.rows)} reasons why runs were declined or failed"
        shown = element("details", element("summary", told), shown)
    return joined(_list(lines), shown)


def _list(sentences: Iterable[str]) -> Markup:
    return element("ul", *(element("li", sentence) for sentence in sentences), class_="sentences")


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
    """How each number was made, as data for the page: everything once, cells refer to it."""

    def __init__(self, results: Results) -> None:
        self._results = results
        self._positions = {id(group): i for i, group in enumerate(results.groups)}
        self._shared: dict[str, int] = {}

    def position(self, cell: TableCell, protocol: str, labels: Labels) -> int | None:
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
            "title": f"{group.title} on {dataset_title(group.dataset)}",
            "protocol": group.protocol,
            "labels": group.labels,
            "labels_in_words": labels_in_words(group.labels),
            "metric": METRICS[group.metric].title,
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
            *(_rounded(result.get(name)) for name in (self._results.metric, *_PERCENT)),
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
