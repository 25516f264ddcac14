"""Output of the command line: consoles, tables, progress, JSON and CSV; nothing else prints."""

from __future__ import annotations

import csv
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, TextIO

import typer
from rich import box
from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import Progress
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from kgnn.bars import progress_bars as bars_on
from kgnn.errors import KgnnError, visible
from kgnn.files import replacing
from kgnn.graphs.readers.text import harmless

_UNSEEN = re.compile("[\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
# Names of graphs and files may look like markup, so it is off by default.
_PLAIN: dict[str, Any] = {"markup": False, "emoji": False}


class _Console(Console):
    """A console that shows control characters in text from files instead of obeying them."""

    def render_str(self, text: str, **options: Any) -> Text:
        """Escape a text before its width is measured."""
        return super().render_str(visible(text), **options)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Escape segments that other renderables, such as tables, have built."""
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else visible(text), style, control)


class _Table(Table):
    """A table whose cells have no line breaks, so that rows cannot be confused."""

    def add_row(self, *cells: RenderableType | None, **options: Any) -> None:
        """Add a row."""
        super().add_row(*(_on_one_line(cell) for cell in cells), **options)

    def add_column(self, header: RenderableType = "", *rest: Any, **options: Any) -> None:
        """Add a column."""
        super().add_column(_on_one_line(header) or "", *rest, **options)


def _on_one_line(cell: RenderableType | None) -> RenderableType | None:
    return cell.replace("\n", r"\n") if isinstance(cell, str) else cell


def out() -> Console:
    """Console for results."""
    return _Console(**_PLAIN)


def err() -> Console:
    """Console for progress and messages."""
    return _Console(stderr=True, **_PLAIN)


def say(*lines: str) -> None:
    """Print messages, each as one line however long it is."""
    for line in lines:
        err().print(line, highlight=False, soft_wrap=True)


def print_json(value: Any) -> None:
    """Print JSON."""
    typer.echo(_json(value, indent=2))


def _json(value: Any, **options: Any) -> str:
    """Return JSON in which all control characters are escaped, not only those that must be."""
    return _UNSEEN.sub(
        lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False, **options)
    )


def table(title: str, *headings: str) -> Table:
    """Start a table; the first column is not wrapped, a heading with ``>`` is aligned right."""
    grid = _Table(
        title=title,
        title_justify="left",
        title_style="bold",
        header_style="bold",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )
    for position, heading in enumerate(headings):
        justify: Literal["left", "right"] = "right" if heading.startswith(">") else "left"
        grid.add_column(heading.removeprefix(">"), justify=justify, no_wrap=position == 0)
    return grid


@contextmanager
def progress_bars(
    news: bool = False, above: Callable[[], RenderableType] | None = None
) -> Iterator[Progress]:
    """Show a progress bar on standard error for each long task that the library reports.

    With ``news``, also print messages about results so far. A terminal shows the result of
    ``above``, called at each refresh, above the bars.
    """
    with bars_on(news=news, above=above, console=err()) as shown:
        yield shown


def csv_line(cells: list[str], for_spreadsheets: bool = False) -> str:
    """Return a line of CSV, with its end.

    With ``for_spreadsheets``, put an apostrophe before text that would be run as a formula.

    Examples
    --------
    >>> print(csv_line(["=1+1", "-1.5", "-x"], for_spreadsheets=True), end="")
    '=1+1,-1.5,'-x
    """
    if for_spreadsheets:
        cells = [harmless(cell) for cell in cells]
    line = _Line()
    csv.writer(line, lineterminator="\n").writerow(cells)
    return line.text


def json_line(record: dict[str, Any]) -> str:
    """Return a line of JSON, with its end."""
    return _json(record) + "\n"


@contextmanager
def writing(output: str) -> Iterator[TextIO]:
    """Open a file for writing, or standard output for ``-``; the file appears when complete."""
    if output == "-":
        with _standard_output() as stream:
            yield stream
        return
    path = Path(output)
    try:
        with (
            replacing(path) as aside,
            aside.open("w", encoding="utf-8", newline="") as stream,
        ):
            yield stream
    except KgnnError:  # raised by the caller's block, not by the file
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise KgnnError(f"The predictions cannot be written to {path}: {reason}") from error


@contextmanager
def _standard_output() -> Iterator[TextIO]:
    stream = sys.stdout
    try:
        yield _Visible(stream) if stream.isatty() else stream  # type: ignore[misc]
        stream.flush()
    except BrokenPipeError:
        # The reader, such as `head`, has closed the pipe; avoid a second error at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        raise typer.Exit(1) from None


class _Visible:
    """A stream that escapes control characters."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> None:
        self._stream.write(visible(text))


class _Line:
    text = ""

    def write(self, text: str) -> None:
        self.text += text
