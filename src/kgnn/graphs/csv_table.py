"""Read a table of text with a header, row by row, whatever its separator."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from kgnn.errors import GraphDataError
from kgnn.graphs.archive import MAX_BYTES
from kgnn.graphs.text_lines import numbered_lines

_SEPARATORS = ",;\t"


class Row(NamedTuple):
    """Cells of a table, without the spaces around them, and the line that they end in."""

    line: int
    cells: list[str]


def table_rows(path: Path, max_bytes: int | None = MAX_BYTES) -> Iterator[Row]:
    """Yield the rows of a CSV file, the header first; all have as many cells as the header.

    Nothing is yielded for an empty file. The separator is the comma, semicolon or tab that the
    header has most of; a path in ``.gz`` is unpacked. More than ``max_bytes`` are refused; None is
    for readers that keep little of what they read.
    """
    lines = numbered_lines(path, max_bytes)
    first = next(lines, None)
    if first is None:
        return
    line, width = 0, 0

    def texts() -> Iterator[str]:
        nonlocal line
        for line, text in chain([first], lines):  # noqa: B007
            yield text

    separator = max(_SEPARATORS, key=first[1].count)
    try:
        for cells in csv.reader(texts(), delimiter=separator, strict=True):
            width = width or len(cells)
            if len(cells) != width:
                raise GraphDataError(
                    f"{path}, line {line}: expected {width} cells, got {len(cells)}: {cells}"
                )
            yield Row(line, [cell.strip() for cell in cells])
    except csv.Error as error:
        raise GraphDataError(f"{path}, line {line}: not readable as CSV: {error}") from error


def column(
    path: Path, header: Sequence[str], asked: str | None, usual: Sequence[str]
) -> int | None:
    """Return where a column is: the one asked for, else the first of its usual names, or None."""
    if asked is not None and asked not in header:
        raise GraphDataError(f"{path} has no column '{asked}', only {list(header)}")
    if asked is not None:
        return list(header).index(asked)
    lower = [name.lower() for name in header]
    return next((lower.index(name) for name in usual if name in lower), None)
