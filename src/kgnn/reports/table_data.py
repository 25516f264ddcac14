"""A table as plain data, before anybody decides how it looks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from kgnn.reports.comparison import Comparison
from kgnn.reports.paper import Printed, method_title


@dataclass(frozen=True)
class TableCell:
    """What stands in one place of a table, and where it comes from.

    Attributes
    ----------
    text : str
        To be read, without any markup; empty where there is nothing.
    aside : str
        A second number that belongs to the first, smaller; may have several lines.
    is_best : bool
        Whether nothing in the column is better, as printed.
    method, dataset : str
        What it is about, where it is about one.
    parameters : dict
        Of the method, where they are not the defaults.
    mean, std, interval : float or None
        The numbers behind the text; ``interval`` is half the width of the 95 % interval.
    n : int
        Splits behind the number.
    paper : Printed or None
        What the paper printed here.
    comparison : Comparison or None
        With KGNN on the same splits.
    minus : str
        Where the number is a difference, the method, with its defaults, that was subtracted.
    """

    text: str = ""
    aside: str = ""
    is_best: bool = False
    method: str = ""
    dataset: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    mean: float | None = None
    std: float | None = None
    interval: float | None = None
    n: int = 0
    paper: Printed | None = None
    comparison: Comparison | None = None
    minus: str = ""

    @property
    def mark(self) -> str:
        """▲ where significantly better than KGNN, ▼ where worse."""
        verdict = self.comparison.verdict if self.comparison else ""
        return {"better": "▲", "worse": "▼", "": ""}[verdict]


@dataclass(frozen=True)
class Table:
    """Headings and rows; the first column names the row.

    Attributes
    ----------
    title : str
    headings : tuple of str
    rows : tuple of tuple of TableCell
        Each as long as the headings.
    notes : tuple of str
        What a reader has to know; sentences.
    protocol : str
    labels : float
        On which terms the runs of its cells were made.
    """

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[TableCell, ...], ...]
    notes: tuple[str, ...] = ()
    protocol: str = "fair"
    labels: float = 0.1

    @property
    def is_empty(self) -> bool:
        """Whether no cell besides the names of rows says anything of ours."""
        return not any(cell.text for row in self.rows for cell in row[1:])


def method_column(
    methods: Sequence[str], dataset: str, cell: Callable[[str, str], TableCell]
) -> list[TableCell]:
    """Return a cell for each method, which says of what it is."""
    return [replace(cell(m, dataset), method=m, dataset=dataset) for m in methods]


def with_best(
    column: list[TableCell], decimals: int, *, lowest: bool = False, fewest: int = 0
) -> list[TableCell]:
    """Say which cells are best; those that are printed with the same number all are.

    Cells of fewer than ``fewest`` splits do not count.
    """
    means = [
        None if cell.mean is None or cell.n < fewest else round(cell.mean, decimals)
        for cell in column
    ]
    there = [mean for mean in means if mean is not None]
    if not there:
        return column
    best = min(there) if lowest else max(there)
    return [replace(cell, is_best=mean == best) for cell, mean in zip(column, means, strict=True)]


def method_table(
    title: str,
    methods: Sequence[str],
    columns: Sequence[tuple[str, list[TableCell]]],
    notes: Iterable[str] = (),
) -> Table:
    """Put columns, each with its heading, side by side; empty notes are left out."""
    names = [TableCell(method_title(method), method=method) for method in methods]
    return Table(
        title,
        ("method", *(heading for heading, _ in columns)),
        tuple(zip(names, *(column for _, column in columns), strict=True)),
        tuple(filter(None, notes)),
    )
