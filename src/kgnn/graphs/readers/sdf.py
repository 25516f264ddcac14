"""Read molecules from a structure-data file (``.sdf``) of MDL, through RDKit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from kgnn.errors import ErrorHandler, GraphDataError, excerpt, raise_error
from kgnn.graphs.collector import Found, ReadWith, collect_readable, collect_runs
from kgnn.graphs.graph import GraphDataset
from kgnn.graphs.molecules import MEANINGS, Meaning, graph_of, quiet, rdkit
from kgnn.graphs.readers.archive import MAX_BYTES, MAX_LINE_BYTES
from kgnn.graphs.readers.text import find_column, opened, stem

OPTIONS = ("target_column", "id_column", *MEANINGS)
MAX_LINES = 100_000  # of a record

_TARGET_NAMES = ("target", "label", "class", "activity", "y")
_LOOKED_AT = 100  # records, for the names of data fields
_FIELD = re.compile(r">.*<(?P<name>[^>]*)>")


def read(path: Path, on_error: ErrorHandler | None = None, **options: str | None) -> GraphDataset:
    """Read molecules as graphs; see `kgnn.graphs.molecules`.

    Parameters
    ----------
    path : Path
        A ``.sdf`` file, perhaps ``.gz``.
    on_error : callable, optional
        Called with the error of each record that cannot be read; default: an error that lists them.
    target_column : str, optional
        The data field with the classes; default: recognized by its usual names, such as ``label``.
    id_column : str, optional
        The data field with the names; default: the first line of each record, if all have one.
    salts, stereo : {"keep", "strip"}, optional
        As for `kgnn.from_smiles`.
    """
    return collect_readable(stem(path), _reader(path, MAX_BYTES, **options), on_error)


def stream(
    path: Path, on_error: ErrorHandler = raise_error, **options: str | None
) -> Iterator[GraphDataset]:
    """Read a file in runs of bounded size."""
    return collect_runs(stem(path), _reader(path, None, **options), on_error)


def class_columns(
    path: Path,
    *,
    target_column: str | None = None,
    id_column: str | None = None,
    salts: str | None = None,
    stereo: str | None = None,
) -> tuple[str | None, list[str]]:
    """Return the data field that the classes are read from, if any, and those without a use yet."""
    fields = _known_fields(path)
    target = _target_field(path, fields, target_column)
    return target, [name for name in fields if name not in (target, id_column)]


def columns(path: Path, **options: str | None) -> list[str]:
    """Name the data fields of the first records."""
    return _known_fields(path)


def cells(path: Path, **options: str | None) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the name of each graph, and the data fields of its record."""
    for position, record in enumerate(records(path)):
        yield _name(record, options.get("id_column")) or str(position), record.fields


class Record(NamedTuple):
    """A record before its molecule is looked at."""

    place: str
    block: str
    title: str
    fields: dict[str, str]


def records(path: Path, max_bytes: int | None = None) -> Iterator[Record]:
    """Yield the records of a file."""
    limit = float("inf") if max_bytes is None else max_bytes
    n_bytes, first = 0, 1
    lines: list[str] = []
    with opened(path) as stream:
        for number, line in enumerate(iter(lambda: stream.readline(MAX_LINE_BYTES + 1), b""), 1):
            n_bytes += len(line)
            if n_bytes > limit or len(line) > MAX_LINE_BYTES or len(lines) >= MAX_LINES:
                raise GraphDataError(f"{path}, line {number}: larger than any molecule may be")
            text = line.decode("utf-8", "replace").rstrip("\r\n")
            if text.startswith("$$$$"):
                yield _record(f"{path}, line {first}", lines)
                lines, first = [], number + 1
            else:
                lines.append(text)
    if any(line.strip() for line in lines):  # the last separator is often left out
        yield _record(f"{path}, line {first}", lines)


def _record(place: str, lines: list[str]) -> Record:
    end = next((n for n, line in enumerate(lines, 1) if line.startswith("M  END")), len(lines))
    fields: dict[str, str] = {}
    rest = iter(lines[end:])
    for line in rest:
        if found := _FIELD.match(line):
            fields[found["name"]] = "\n".join(iter(lambda: next(rest, "").strip(), ""))
    title = lines[0].strip() if lines else ""
    return Record(place, "\n".join(lines[:end]) + "\n", title, fields)


def _reader(
    path: Path,
    max_bytes: int | None,
    *,
    target_column: str | None = None,
    id_column: str | None = None,
    salts: str | None = None,
    stereo: str | None = None,
) -> ReadWith:
    meaning = Meaning.of(salts=salts, stereo=stereo)

    def molecules(on_error: ErrorHandler) -> Found:
        fields = _known_fields(path)
        target = _target_field(path, fields, target_column)
        if id_column is not None:
            find_column(path, fields, id_column, ())
        is_empty = True
        for record in records(path, max_bytes):
            is_empty = False
            try:
                graph = _graph(record, meaning)
            except GraphDataError as error:
                on_error(error)
                continue
            graph["target"] = record.fields.get(target or "") or None
            graph["name"] = _name(record, id_column)
            yield record.place, graph
        if is_empty:
            raise GraphDataError(f"{path} holds no molecules")

    return molecules


def _known_fields(path: Path) -> list[str]:
    """Return the data fields of the first records, which need not all have the same."""
    first = islice(records(path), _LOOKED_AT)
    return list(dict.fromkeys(name for record in first for name in record.fields))


def _name(record: Record, id_column: str | None) -> str | None:
    return (record.title if id_column is None else record.fields.get(id_column)) or None


def _target_field(path: Path, fields: list[str], wanted: str | None) -> str | None:
    place = find_column(path, fields, wanted, _TARGET_NAMES)
    return None if place is None else fields[place]


def _graph(record: Record, meaning: Meaning) -> dict[str, object]:
    chem = rdkit("Reading SDF")
    with quiet():
        molecule = chem.MolFromMolBlock(record.block)
    if molecule is None:
        title = f" ('{excerpt(record.title)}')" if record.title else ""
        raise GraphDataError(f"{record.place}: not a valid molecule{title}")
    return graph_of(molecule, meaning)
