"""How the command line writes: consoles, tables, progress, JSON and CSV; nothing else prints."""

from __future__ import annotations

import csv
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, TextIO

import typer
from rich import box
from rich.console import Console, RenderableType
from rich.progress import Progress
from rich.table import Table

from kgnn.bars import progress_bars as bars_on
from kgnn.errors import KgnnError
from kgnn.files import replacing

# Names of others' graphs and files are no markup; who wants some says so.
_PLAIN: dict[str, Any] = {"markup": False, "emoji": False}


def out() -> Console:
    """Console for results."""
    return Console(**_PLAIN)


def err() -> Console:
    """Console for progress and messages."""
    return Console(stderr=True, **_PLAIN)


def say(*lines: str) -> None:
    """Print messages, each as one line however long it is."""
    for line in lines:
        err().print(line, highlight=False, soft_wrap=True)


def print_json(value: Any) -> None:
    """Print JSON and nothing else."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))


def table(title: str, *headings: str) -> Table:
    """Start a table; the first column is not wrapped, a heading with ``>`` is aligned right."""
    grid = Table(
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
    """Show a bar on standard error for each long thing that the library reports on.

    With ``news``, also lines that tell what has come out so far. ``above`` is asked again and again
    for what a terminal shows above the bars.
    """
    with bars_on(news=news, above=above, console=err()) as shown:
        yield shown


def csv_line(cells: list[str]) -> str:
    """Return a line of CSV, with its end."""
    line = _Line()
    csv.writer(line, lineterminator="\n").writerow(cells)
    return line.text


def json_line(record: dict[str, Any]) -> str:
    """Return a line of JSON, with its end."""
    return json.dumps(record, ensure_ascii=False) + "\n"


@contextmanager
def writing(output: str) -> Iterator[TextIO]:
    """Open a file for writing, or standard output for ``-``; a file appears when complete."""
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
    except KgnnError:  # of what is being written, not of the file
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise KgnnError(f"The predictions cannot be written to {path}: {reason}") from error


@contextmanager
def _standard_output() -> Iterator[TextIO]:
    stream = sys.stdout
    try:
        yield stream
        stream.flush()
    except BrokenPipeError:
        # Whoever read, such as `head`, has enough; nothing is left to be said at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        raise typer.Exit(1) from None


class _Line:
    text = ""

    def write(self, text: str) -> None:
        self.text += text
