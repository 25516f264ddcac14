"""Tables as HTML; each number of ours is a button that tells how it was made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from kgnn.reports.comparison import REFERENCE
from kgnn.reports.markup import Markup, element, joined
from kgnn.reports.table_data import Table, TableCell

# A cell to where the data of the page tells of it, if it does.
Positions = Callable[[TableCell], "int | None"]

_MARKS = {"▲": "significantly better", "▼": "significantly worse"}


def html_table(table: Table, positions: Positions) -> Markup:
    """Return a table in a box that scrolls by itself, with its notes below.

    Examples
    --------
    >>> rows = ((TableCell("KGNN"), TableCell("73.2", method="kgnn", dataset="DD")),)
    >>> shown = html_table(Table("Accuracy", ("method", "DD"), rows), lambda cell: 7)
    >>> shown.count("<button"), 'data-group="7"' in shown
    (1, True)
    """
    body = [_row(row, positions) for row in table.rows]
    notes = " ".join(note for note in table.notes if note)
    return joined(
        scrolling(table.title, table.headings, body),
        element("p", notes, class_="note") if notes else None,
    )


def scrolling(title: str, headings: Sequence[str], rows: Iterable[Markup]) -> Markup:
    """Return rows under headings, in a box that scrolls by itself, with keys too."""
    head = element("tr", *(element("th", heading, scope="col") for heading in headings))
    grid = element("table", element("thead", head), element("tbody", *rows))
    return element("div", grid, class_="scroll", tabindex=0, role="region", aria_label=title)


def _row(cells: Sequence[TableCell], positions: Positions) -> Markup:
    name, *others = cells
    return element(
        "tr",
        element("th", name.text, scope="row"),
        *(_cell(cell, positions) for cell in others),
        class_="ours" if name.method == REFERENCE else None,
    )


def _cell(cell: TableCell, positions: Positions) -> Markup:
    # Without a number of ours, nobody shall take the other for ours.
    text = cell.text or ("–" if cell.aside else "")
    number = element("b", text) if cell.is_best else text
    position = positions(cell)
    if position is not None and cell.text:
        other = replace(cell, method=cell.minus, parameters={})
        minus = positions(other) if cell.minus else None
        number = element("button", number, type="button", data_group=position, data_minus=minus)
    mark = element("abbr", cell.mark, title=_MARKS[cell.mark]) if cell.mark else None
    aside = element("small", cell.aside) if cell.aside else None
    return element("td", number, mark, aside)
