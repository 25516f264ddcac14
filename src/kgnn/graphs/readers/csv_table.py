"""Read a table of text with a header, row by row, whatever its separator."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from kgnn.errors import GraphDataError
from kgnn.graphs.excerpts import excerpt
from kgnn.graphs.readers.archive import MAX_BYTES
from kgnn.graphs.readers.text_lines import numbered_lines
from kgnn.graphs.refusal import Refusal, stop

_SEPARATORS = ",;\t"


class Row(NamedTuple):
    """Cells of a table, without the spaces around them, and the line that they end in."""

    line: int
    cells: list[str]


def table_rows(
    path: Path, max_bytes: int | None = MAX_BYTES, refuse: Refusal = stop
) -> Iterator[Row]:
    """Yield the rows of a CSV file, the header first; all have as many cells as the header.

    Nothing is yielded for an empty file. The separator is the comma, semicolon or tab that the
    header has most of; a path in ``.gz`` is unpacked. More than ``max_bytes`` end it; None is for
    readers that keep little of what they read.
    """
    width = 0

    def refuse_row(error: GraphDataError) -> None:
        refuse(error) if width else stop(error)  # without a header there is nothing to go on with

    lines = _Lines(numbered_lines(path, max_bytes, refuse_row))
    if lines.first is None:
        return
    separator = max(_SEPARATORS, key=lines.first.count)
    rows = csv.reader(lines, delimiter=separator, strict=True)
    while True:
        lines.start = None
        try:
            cells = next(rows, None)
        except csv.Error as error:
            # It begins with the next line anew, whatever was open in this one.
            refuse_row(GraphDataError(f"{path}, {lines.read}: not readable as CSV: {error}"))
            continue
        if cells is None:
            return
        width = width or len(cells)
        if len(cells) == width:
            yield Row(lines.line, [cell.strip() for cell in cells])
        else:
            found = f"expected {width} cells, got {len(cells)}: {excerpt(cells)}"
            refuse(GraphDataError(f"{path}, {lines.read}: {found}"))


class _Lines:
    """Lines of text that remember which of them made up a row."""

    def __init__(self, lines: Iterator[tuple[int, str]]) -> None:
        head = next(lines, None)
        self.first = None if head is None else head[1]
        self.start: int | None = None
        self.line = 0
        self._lines = lines if head is None else chain([head], lines)

    def __iter__(self) -> Iterator[str]:
        for number, text in self._lines:
            self.line = number
            self.start = self.start or number
            yield text

    @property
    def read(self) -> str:
        """The lines of a row, for messages; a quote that is not closed may run through many."""
        start = self.start or self.line
        return f"line {self.line}" if start == self.line else f"lines {start} to {self.line}"


def column(
    path: Path, header: Sequence[str], asked: str | None, usual: Sequence[str]
) -> int | None:
    """Return where a column is: the one asked for, else the first of its usual names, or None."""
    if asked is not None and asked not in header:
        raise GraphDataError(f"{path} has no column '{asked}', only {excerpt(list(header), 300)}")
    if asked is not None:
        return list(header).index(asked)
    lower = [name.lower() for name in header]
    return next((lower.index(name) for name in usual if name in lower), None)
