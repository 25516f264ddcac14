"""One page of HTML with everything that records say; it needs nothing but itself."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from string import Template

from kgnn.benchmark.record import Record
from kgnn.reports.case_study import CAPTION, case_study
from kgnn.reports.details import Details
from kgnn.reports.figure_data import Figure
from kgnn.reports.figures import all_figures
from kgnn.reports.headline import about_parts, headline, headline_table
from kgnn.reports.html_tables import html_table
from kgnn.reports.markup import Markup, element, escaped, joined, script_json
from kgnn.reports.numbers import counted, listed
from kgnn.reports.palette import DARK, LIGHT, variables
from kgnn.reports.paper import dataset_title
from kgnn.reports.provenance import empty_places, how_it_was_made
from kgnn.reports.report_tables import ablations, main_methods, report_tables, table_datasets
from kgnn.reports.results import Results
from kgnn.reports.table_data import Table, TableCell
from kgnn.reports.unfinished import unfinished_table

TITLE = "Semi-supervised graph classification: results"
_LABELS = 0.1
_MOST_ROWS = 12  # of failed runs that are shown without asking


@dataclass(frozen=True)
class Section:
    """A part of the page, with its entry in the contents."""

    name: str
    title: str
    content: Markup


def build_page(records: Iterable[Record], title: str = TITLE) -> str:
    """Return the page.

    Parameters
    ----------
    records : iterable of Record
    title : str

    Examples
    --------
    >>> from kgnn.benchmark.cell import Cell
    >>> page = build_page([Record(Cell("DD", "a3", "wl"), "failed", reason="a < b")])
    >>> page[:15], "a &lt; b" in page
    ('<!doctype html>', True)
    """
    every = list(records)
    results = Results(every)
    details = Details(results)
    sections = list(_sections(every, results, details))
    style, script = _style(), _template("page.js")
    return Template(_template("page.html")).substitute(
        title=escaped(title),
        policy=escaped(_policy(style, script)),
        style=style,
        script=script,
        summary=_summary(every, results),
        contents=joined(*map(_entry, sections)),
        sections=joined(*map(_section, sections)),
        data=script_json(details.data()),
    )


def _sections(records: Sequence[Record], results: Results, details: Details) -> Iterator[Section]:
    yield Section("headline", "In short", _headline(results, details))
    for table in report_tables(results):
        yield Section(_name(table.title), table.title, _table(table, details))
    protocol = "fair" if any(g.protocol == "fair" for g in results.groups) else "paper"
    for figure in all_figures(results, protocol=protocol, labels=_LABELS):
        yield Section(f"figure-{figure.name}", figure.title, _figure(figure))
    cases = case_study(records)
    if cases:
        yield Section("cases", "Case study", joined(element("p", CAPTION, class_="note"), cases))
    yield Section("missing", "What is missing", _missing(results, details))
    yield Section("making", "How it was made", _list(how_it_was_made(results)))


def _headline(results: Results, details: Details) -> Markup:
    methods, datasets = main_methods(results), table_datasets(results)
    table = headline_table(results, methods, datasets)
    parts = about_parts(results, ablations(results), datasets)
    return joined(
        _list([*headline(results, methods, datasets), *parts]),
        None if table.is_empty else _table(table, details),
    )


def _table(table: Table, details: Details) -> Markup:
    def position(cell: TableCell) -> int | None:
        return details.position(cell, table.protocol, table.labels)

    return html_table(table, position)


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


def _summary(records: Sequence[Record], results: Results) -> Markup:
    """Say how much there is, in one line."""
    days = sorted(record.finished[:10] for record in records if record.finished)
    names = [dataset_title(dataset) for dataset in results.datasets]
    told = [
        counted(sum(len(group.records) for group in results.groups), "run"),
        counted(len(results.methods), "method"),
        f"{counted(len(results.datasets), 'dataset')}: {listed(names)}",
        *([f"last run on {days[-1]}"] if days else []),
    ]
    return escaped(" · ".join(told))


def _entry(section: Section) -> Markup:
    return element("li", element("a", section.title, href=f"#{section.name}"))


def _section(section: Section) -> Markup:
    return element(
        "section", element("h2", section.title), section.content, id=section.name, class_="part"
    )


def _name(title: str) -> str:
    """Return a title as it can stand in a link: ``Table 2: all methods → table-2-all-methods``."""
    letters = (c if c.isascii() and c.isalnum() else " " for c in title.lower())
    return "-".join("".join(letters).split())


def _style() -> str:
    colors = {"light": variables(LIGHT), "dark": variables(DARK)}
    return Template(_template("page.css")).substitute(colors) + _template("figures.css")


def _policy(style: str, script: str) -> str:
    """Allow the page its own style and script, and nothing else: no network, no other code."""
    return (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _template(name: str) -> str:
    folder = files("kgnn.reports").joinpath("templates")
    return folder.joinpath(name).read_text(encoding="utf-8")
