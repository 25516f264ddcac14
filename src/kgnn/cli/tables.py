"""Write rows as they come, as CSV or JSON Lines, to a file that appears when complete."""

from __future__ import annotations

import csv
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import typer

from kgnn.errors import KgnnError
from kgnn.files import replacing


def csv_line(cells: list[str]) -> str:
    """Return a line of CSV, with its end.

    Examples
    --------
    >>> csv_line(["a", "b, c"]).split()
    ['a,"b,', 'c"']
    """
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
