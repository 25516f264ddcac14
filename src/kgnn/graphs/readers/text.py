"""Read possibly damaged text files line by line or as CSV tables, plain or gzipped."""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from kgnn.errors import (
    ArchiveError,
    DatasetUnavailableError,
    ErrorHandler,
    GraphDataError,
    excerpt,
    raise_error,
)
from kgnn.files import replacing
from kgnn.graphs.readers.archive import MAX_BYTES, MAX_LINE_BYTES
from kgnn.progress import report

_FORMULA = re.compile(r"[=+\-@\t\r]")
_NUMBER = re.compile(r"[+-]?[0-9.]+([eE][+-]?[0-9]+)?")
_LINES_AT_ONCE = 256  # between reports of progress
_SEPARATORS = ",;\t"


def stem(path: Path) -> str:
    """Return the name of a file without suffixes, as the name of its dataset."""
    return path.name.partition(".")[0]


def numbered_lines(
    path: Path,
    max_bytes: int | None = MAX_BYTES,
    on_error: ErrorHandler = raise_error,
    has_blank: bool = False,
) -> Iterator[tuple[int, str]]:
    """Yield all lines with their numbers from 1; blank ones only with ``has_blank``.

    A file larger than ``max_bytes`` is an error; None is for readers that keep little in memory.
    """
    for number, line in raw_lines(path, max_bytes):
        try:
            text = line.decode("utf-8-sig").rstrip("\r\n")
        except UnicodeDecodeError as error:
            on_error(GraphDataError(f"{path}, line {number}: not UTF-8 text: {error}"))
            continue
        if "\0" in text:
            on_error(GraphDataError(f"{path}, line {number}: not text: it has a zero byte"))
        elif has_blank or text.strip():
            yield number, text


def raw_lines(path: Path, max_bytes: int | None = MAX_BYTES) -> Iterator[tuple[int, bytes]]:
    """Yield all lines as bytes, with their numbers from 1, and report how much has been read."""
    limit = float("inf") if max_bytes is None else max_bytes
    n_bytes, size = 0, max(1, path.stat().st_size >> 10 if path.exists() else 0)
    what = f"reading {path.name} (KiB)"
    with opened(path) as stream:
        file: Any = stream.fileobj if isinstance(stream, gzip.GzipFile) else stream
        try:
            for number, line in enumerate(
                iter(lambda: stream.readline(MAX_LINE_BYTES + 1), b""), 1
            ):
                n_bytes += len(line)
                if len(line) > MAX_LINE_BYTES or n_bytes > limit:
                    raise GraphDataError(
                        f"{path}, line {number}: the line or file exceeds the size limit"
                    )
                if number % _LINES_AT_ONCE == 0:
                    report(what, min(file.tell() >> 10, size - 1), size)
                yield number, line
        finally:
            if n_bytes and number >= _LINES_AT_ONCE:
                report(what, size, size)


@contextmanager
def opened(path: Path) -> Iterator[io.BufferedIOBase]:
    """Open a file for reading, through gzip if its name ends in ``.gz``."""
    try:
        with path.open("rb") as file:
            yield gzip.GzipFile(fileobj=file) if path.suffix == ".gz" else file
    except FileNotFoundError as error:
        raise DatasetUnavailableError(f"There is no file {path}.") from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ArchiveError(
            f"{path} is damaged or truncated: {error}. Download it again."
        ) from error
    except OSError as error:
        raise GraphDataError(f"{path} cannot be read: {error.strerror or error}") from error


@contextmanager
def writing_lines(path: Path) -> Iterator[TextIO]:
    """Open a file for writing, through gzip for ``.gz``; it appears when complete."""
    with replacing(path) as aside, aside.open("wb") as file:
        if path.suffix != ".gz":
            with io.TextIOWrapper(file, encoding="utf-8", newline="\n") as stream:
                yield stream
            return
        # Without time stamp and name, so that equal graphs give equal files.
        with (
            gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed,
            io.TextIOWrapper(packed, encoding="utf-8", newline="\n") as stream,
        ):
            yield stream


def is_formula(cell: str) -> bool:
    """Tell whether a spreadsheet may run a cell of text as a formula."""
    return _FORMULA.match(cell) is not None and _NUMBER.fullmatch(cell) is None


def harmless(cell: Any) -> Any:
    """Put an apostrophe before a cell that a spreadsheet may run as a formula.

    Examples
    --------
    >>> [harmless(each) for each in ("=1+1", "-1.5", "-x", -1.5)]
    ["'=1+1", '-1.5', "'-x", -1.5]
    """
    return f"'{cell}" if isinstance(cell, str) and is_formula(cell) else cell


class Row(NamedTuple):
    """Cells of a row of a CSV table, stripped, and the line where the row ends."""

    line: int
    cells: list[str]


def csv_rows(
    path: Path, max_bytes: int | None = MAX_BYTES, on_error: ErrorHandler = raise_error
) -> Iterator[Row]:
    """Yield the rows of a CSV file, header first; all must have as many cells as the header.

    Nothing is yielded for an empty file. The separator is the comma, semicolon or tab that is the
    most frequent in the header. A quoted cell keeps its line breaks.
    """
    width, is_whole = 0, True

    def handle(error: GraphDataError) -> None:
        nonlocal is_whole
        is_whole = False  # a line of a quoted cell may be missing
        on_error(error) if width else raise_error(error)  # no row can be read without a header

    lines = _Lines(numbered_lines(path, max_bytes, handle, has_blank=True))
    if lines.first is None:
        return
    separator = max(_SEPARATORS, key=lines.first.count)
    rows = csv.reader(lines, delimiter=separator, strict=True)
    while True:
        lines.start, is_whole = None, True
        try:
            cells = next(rows, None)
        except csv.Error as error:
            # The csv reader forgets an open quote and continues with the next line.
            handle(GraphDataError(f"{path}, {lines.read}: not readable as CSV: {error}"))
            continue
        if cells is None:
            return
        if len(cells) <= 1 and not "".join(cells).strip():  # a blank line
            continue
        is_part = not is_whole and lines.is_joined
        width = width or len(cells)
        if is_part:
            continue
        if len(cells) == width:
            yield Row(lines.line, [cell.strip() for cell in cells])
        else:
            found = f"expected {width} cells, got {len(cells)}: {excerpt(cells)}"
            on_error(GraphDataError(f"{path}, {lines.read}: {found}"))


class _Lines:
    """An iterator over lines that tracks which lines made up a row."""

    def __init__(self, lines: Iterator[tuple[int, str]]) -> None:
        head = next((each for each in lines if each[1].strip()), None)
        self.first = None if head is None else head[1]
        self.start: int | None = None
        self.line = 0
        self._lines = lines if head is None else chain([head], lines)

    def __iter__(self) -> Iterator[str]:
        for number, text in self._lines:
            self.line = number
            self.start = self.start or number
            yield f"{text}\n"

    @property
    def is_joined(self) -> bool:
        """Whether the row spans several lines."""
        return self.start != self.line

    @property
    def read(self) -> str:
        """The lines of a row, for messages; an unclosed quote may span many."""
        start = self.start or self.line
        return f"line {self.line}" if start == self.line else f"lines {start} to {self.line}"


def find_column(
    path: Path,
    header: Sequence[str],
    wanted: str | None,
    usual: Sequence[str],
    option: str | None = None,
) -> int | None:
    """Return the position of a column: the wanted one, or the first of its usual names, or None.

    A name that comes twice is refused. With ``option``, which names a column, so are two of the
    usual names.
    """
    if wanted is not None and wanted not in header:
        there = excerpt(", ".join(header), 300)
        raise GraphDataError(f"{path} has no column '{wanted}', only {there}")
    lower = [name.lower() for name in header]
    places = [place for place, name in enumerate(header) if name == wanted]
    if wanted is None:
        found = [name for name in usual if name in lower]
        names = found if option else found[:1]
        places = [place for name in names for place, own in enumerate(lower) if own == name]
    if len(places) > 1:
        told = " and ".join(f"'{excerpt(header[place])}' ({place + 1})" for place in places)
        hint = f"; choose one with {option}=NAME" if option else ""
        raise GraphDataError(f"{path}, header line: the columns {told} are ambiguous{hint}")
    return places[0] if places else None


def without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make a dict from the pairs of a JSON object; raise `RepeatedKeyError` for duplicate keys.

    Examples
    --------
    >>> import json
    >>> json.loads('{"a": 1, "a": 2}', object_pairs_hook=without_repeats)
    Traceback (most recent call last):
      ...
    kgnn.graphs.readers.text.RepeatedKeyError: the key 'a' occurs twice, with 1 and with 2
    """
    made = dict(pairs)
    if len(made) < len(pairs):
        seen: dict[str, Any] = {}
        for key, value in pairs:
            if key in seen:
                both = f"{excerpt(repr(seen[key]), 40)} and with {excerpt(repr(value), 40)}"
                raise RepeatedKeyError(f"the key '{excerpt(key)}' occurs twice, with {both}")
            seen[key] = value
    return made


class RepeatedKeyError(GraphDataError):
    """A JSON object with a duplicate key."""
