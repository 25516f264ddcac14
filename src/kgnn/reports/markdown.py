"""Tables and sentences as Markdown that GitHub shows well."""

from __future__ import annotations

import re
from collections.abc import Iterable

from kgnn.reports.table_data import Table, TableCell

# A bare & or < is harmless; one that begins an entity or an element is not.
_SPECIAL = re.compile(r"([\\`*_|\[\]$~]|<(?=[A-Za-z/!?])|&(?=#?\w+;))")


def escape_markdown(text: str) -> str:
    r"""Return text so that Markdown shows it as it is, also inside a table.

    Examples
    --------
    >>> print(escape_markdown("PTC_MR | <b> & p < 0.05"))
    PTC\_MR \| \<b> & p < 0.05
    """
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def code(text: str) -> str:
    """Return a command in a code block of its own."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}bash\n{text}\n{fence}\n"


def table_markdown(table: Table) -> str:
    """Return a table, with its notes below; the title is left to the page.

    Examples
    --------
    >>> rows = ((TableCell("KGNN"), TableCell("73.2 ± 2.0", "70.9 ± 0.5", is_best=True)),)
    >>> print(table_markdown(Table("Accuracy", ("method", "DD"), rows, ("In percent.",))))
    | method | DD |
    | --- | ---: |
    | KGNN | **73.2 ± 2.0**<br><sub>70.9 ± 0.5</sub> |
    <BLANKLINE>
    In percent.
    <BLANKLINE>
    """
    lines = [_row(map(escape_markdown, table.headings))]
    lines.append(_row(["---", *["---:"] * (len(table.headings) - 1)]))
    lines += [_row(map(_cell, row)) for row in table.rows]
    notes = " ".join(map(escape_markdown, table.notes))
    return "\n".join([*lines, "", *([notes, ""] if notes else [])])


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(cell: TableCell) -> str:
    text = escape_markdown(cell.text)
    if cell.is_best:
        text = f"**{text}**"
    if cell.mark:
        text = f"{text} {cell.mark}"
    aside = f"<sub>{escape_markdown(cell.aside)}</sub>" if cell.aside else ""
    # Without a number of ours, the line stays empty, so that nobody takes the other for ours.
    return f"{text}<br>{aside}" if aside else text
