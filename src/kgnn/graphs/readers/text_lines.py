"""Read and write text files line by line, plain or compressed with gzip."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from kgnn.errors import ArchiveError, DatasetUnavailableError, GraphDataError
from kgnn.files import replacing
from kgnn.graphs.readers.archive import MAX_BYTES, MAX_LINE_BYTES
from kgnn.graphs.refusal import Refusal, stop


def numbered_lines(
    path: Path, max_bytes: int | None = MAX_BYTES, refuse: Refusal = stop
) -> Iterator[tuple[int, str]]:
    """Yield all lines that are not blank, with their numbers from 1.

    More than ``max_bytes`` end it; None is for readers that keep little of what they read.
    """
    limit = float("inf") if max_bytes is None else max_bytes
    n_bytes = 0
    with opened(path) as stream:
        for number, line in enumerate(iter(lambda: stream.readline(MAX_LINE_BYTES + 1), b""), 1):
            n_bytes += len(line)
            if len(line) > MAX_LINE_BYTES or n_bytes > limit:
                raise GraphDataError(f"{path}, line {number}: larger than any graph data may be")
            try:
                text = line.decode("utf-8-sig").rstrip("\r\n")
            except UnicodeDecodeError as error:
                refuse(GraphDataError(f"{path}, line {number}: not UTF-8 text: {error}"))
                continue
            if "\0" in text:
                refuse(GraphDataError(f"{path}, line {number}: not text: it holds a zero byte"))
            elif text.strip():
                yield number, text


@contextmanager
def opened(path: Path) -> Iterator[io.BufferedIOBase]:
    """Open a file for reading, through gzip where its name says so."""
    try:
        with path.open("rb") as file:
            yield gzip.GzipFile(fileobj=file) if path.suffix == ".gz" else file
    except FileNotFoundError as error:
        raise DatasetUnavailableError(f"There is no file {path}.") from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ArchiveError(f"{path} is damaged or truncated: {error}. Get it again.") from error
    except OSError as error:
        raise GraphDataError(f"{path} cannot be read: {error.strerror or error}") from error


@contextmanager
def writing_lines(path: Path) -> Iterator[TextIO]:
    """Open a file for writing, through gzip where its name says so; it appears when complete."""
    with replacing(path) as aside, aside.open("wb") as file:
        if path.suffix != ".gz":
            with io.TextIOWrapper(file, encoding="utf-8", newline="\n") as stream:
                yield stream
            return
        # No time stamp and no name: equal graphs give equal files.
        with (
            gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed,
            io.TextIOWrapper(packed, encoding="utf-8", newline="\n") as stream,
        ):
            yield stream
