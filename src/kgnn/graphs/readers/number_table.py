"""Text files of comma-separated numbers → arrays, at the speed of numpy's own parser."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from kgnn.errors import GraphDataError
from kgnn.graphs.readers.archive import TextFiles

# Integers beyond are not read exactly but as these.
_EXTREMES = (np.iinfo(np.int64).min, np.iinfo(np.int64).max)


def read_table(files: TextFiles, file: str, dtype: Any, columns: int | None = None) -> NDArray[Any]:
    """Read a whole file as an ``(n_lines, columns)`` array of int64 or float64."""
    pieces = [piece for _, piece in read_pieces(files, file, dtype, columns)]
    return np.concatenate(pieces) if pieces else np.empty((0, columns or 1), dtype=dtype)


def read_pieces(
    files: TextFiles, file: str, dtype: Any, columns: int | None = None
) -> Iterator[tuple[int, NDArray[Any]]]:
    """Yield a file in pieces, with the number of lines before each, in bounded memory."""
    before = 0
    for text in files.chunks(file):
        columns = columns or text.partition(b"\n")[0].count(b",") + 1
        values = _parse(text, dtype, columns)
        if values is None:
            _raise_bad_line(files.where(file), text, before, dtype, columns)
        yield before, values
        before += len(values)


def _parse(text: bytes, dtype: Any, columns: int) -> NDArray[Any] | None:
    """Parse a run of lines, or return None where any line is not ``columns`` finite numbers."""
    raw = np.frombuffer(text, dtype=np.uint8)
    places = np.flatnonzero((raw == ord(",")) | (raw == ord("\n")))
    separators = raw[places]
    if len(separators) % columns:
        return None
    by_line = separators.reshape(-1, columns)
    if (by_line[:, -1] != ord("\n")).any() or (by_line[:, :-1] != ord(",")).any():
        return None
    if _has_empty_cell(text, raw[places - 1]) or (dtype is np.int64 and _has_lone_sign(text)):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # numpy only warns where it meets something unreadable
        try:
            values = np.fromstring(text.replace(b",", b" "), dtype=dtype, sep=" ")
        except (DeprecationWarning, ValueError):
            return None
    if len(values) != by_line.size or not _is_exact(values):
        return None
    return values.reshape(-1, columns)


def _has_empty_cell(text: bytes, ends: NDArray[Any]) -> bool:
    """Tell whether a number is missing, which two in another cell would make up for."""
    if not ((ends <= ord(" ")) | (ends == ord(","))).any():  # last bytes of all cells
        return False
    tight = b"\n" + text.translate(None, b" \t\r\v\f")
    return any(empty in tight for empty in (b"\n\n", b"\n,", b",,", b",\n"))


def _has_lone_sign(text: bytes) -> bool:
    """Tell whether a sign has no number, which numpy takes for 0 or for the sign of the next."""
    return (b"-" in text or b"+" in text) and re.search(rb"[+-](?!\d)", text) is not None


def _is_exact(values: NDArray[Any]) -> bool:
    if values.dtype.kind == "f":
        return bool(np.isfinite(values).all())
    return bool(values.min() > _EXTREMES[0] and values.max() < _EXTREMES[1])


def _raise_bad_line(where: str, text: bytes, before: int, dtype: Any, columns: int) -> NoReturn:
    """Find the line that cannot be read, slowly, and say what is wrong with it."""
    expected = "an integer" if dtype is np.int64 else "a finite number"
    for number, line in enumerate(text.decode("utf-8", "replace").split("\n"), start=before + 1):
        parts = line.split(",")
        if len(parts) != columns:
            raise GraphDataError(
                f"{where}, line {number}: expected {columns} value{'s' * (columns > 1)}, "
                f"got {len(parts)} in '{line[:80]}'"
            )
        for part in parts:
            if not _is_readable(part, dtype):
                raise GraphDataError(
                    f"{where}, line {number}: expected {expected}, got '{part.strip()[:80]}'"
                )
    raise GraphDataError(f"{where}: the lines from {before + 1} on are not {columns} numbers each")


def _is_readable(text: str, dtype: Any) -> bool:
    try:
        value = int(text) if dtype is np.int64 else float(text)
    except ValueError:
        return False
    return bool(np.isfinite(value)) if isinstance(value, float) else abs(value) < _EXTREMES[1]
