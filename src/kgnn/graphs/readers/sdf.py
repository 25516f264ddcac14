"""Read molecules from a structure-data file (``.sdf``) of MDL, perhaps ``.gz``, through RDKit.

``target_column`` names the data field with the classes; it is otherwise recognized by its usual
names, such as ``label``. ``id_column`` names the field with the names; they are otherwise the first
lines of the records, if all have one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from kgnn.errors import ErrorHandler, GraphDataError, excerpt
from kgnn.graphs.molecules import MEANINGS, Meaning, graph_of, quiet, rdkit
from kgnn.graphs.readers.molecule_files import TARGET_NAMES, Molecule, MoleculeFile
from kgnn.graphs.readers.text import find_column, raw_lines

OPTIONS = ("target_column", "id_column", *MEANINGS)
MAX_LINES = 100_000  # of a record

_LOOKED_AT = 100  # records to search for names of data fields
_FIELD = re.compile(r">.*<(?P<name>[^>]*)>")


def class_columns(
    path: Path,
    *,
    target_column: str | None = None,
    id_column: str | None = None,
    salts: str | None = None,
    stereo: str | None = None,
) -> tuple[str | None, list[str]]:
    """Return the data field that holds the classes, if any, and the unused fields."""
    fields = columns(path)
    target = _target_field(path, fields, target_column)
    return target, [name for name in fields if name not in (target, id_column)]


def columns(path: Path, **options: str | None) -> list[str]:
    """Return the data fields of the first records, which may differ between records."""
    first = islice(_records(path, None), _LOOKED_AT)
    return list(dict.fromkeys(name for record in first for name, _ in record.fields))


class _Record(NamedTuple):
    place: str
    block: str
    title: str
    fields: list[tuple[str, str]]  # may have duplicate names


def _records(path: Path, max_bytes: int | None) -> Iterator[_Record]:
    first, lines = 1, list[str]()
    for number, line in raw_lines(path, max_bytes):
        if len(lines) >= MAX_LINES:
            raise GraphDataError(f"{path}, line {number}: the record is too long for a molecule")
        text = line.decode("utf-8", "surrogateescape").rstrip("\r\n")
        if text.startswith("$$$$"):
            yield _record(f"{path}, line {first}", lines)
            lines, first = [], number + 1
        else:
            lines.append(text)
    if any(line.strip() for line in lines):  # the last separator is often missing
        yield _record(f"{path}, line {first}", lines)


def _record(place: str, lines: list[str]) -> _Record:
    end = next((n for n, line in enumerate(lines, 1) if line.startswith("M  END")), len(lines))
    fields: list[tuple[str, str]] = []
    rest = iter(lines[end:])
    for line in rest:
        if found := _FIELD.match(line):
            value = "\n".join(iter(lambda: next(rest, "").strip(), ""))
            fields.append((_printable(found["name"]), value))
    title = lines[0].strip() if lines else ""
    return _Record(place, _printable("\n".join(lines[:end]) + "\n"), title, fields)


def _rows(
    path: Path,
    on_error: ErrorHandler,
    max_bytes: int | None,
    *,
    target_column: str | None = None,
    id_column: str | None = None,
) -> Iterator[Molecule]:
    fields = columns(path)
    target = _target_field(path, fields, target_column)
    if id_column is not None:
        find_column(path, fields, id_column, ())
    is_empty = True
    for record in _records(path, max_bytes):
        is_empty = False
        try:
            cells = _cells(record)
        except GraphDataError as error:
            on_error(error)
            continue
        named = record.title if id_column is None else cells.get(id_column)
        label = None if target is None else cells.get(target)
        told = {name: _printable(value) for name, value in cells.items()}
        yield Molecule(record.place, record.block, label or None, named or None, told)
    if is_empty:
        raise GraphDataError(f"{path} holds no molecules")


def _cells(record: _Record) -> dict[str, str]:
    cells: dict[str, str] = {}
    for name, value in record.fields:
        if name in cells:
            raise GraphDataError(
                f"{record.place}: the data field '{excerpt(name)}' occurs twice, as "
                f"'{excerpt(cells[name])}' and as '{excerpt(value)}'"
            )
        cells[name] = value
    return cells


def _printable(text: str) -> str:
    """Replace bytes that are not UTF-8; in a class or a name, they are refused instead."""
    return text.encode("utf-8", "replace").decode()


def _target_field(path: Path, fields: list[str], wanted: str | None) -> str | None:
    place = find_column(path, fields, wanted, TARGET_NAMES, "--read target_column")
    return None if place is None else fields[place]


def _graph_of(row: Molecule, meaning: Meaning) -> dict[str, Any]:
    chem = rdkit("Reading SDF")
    with quiet():
        molecule = chem.MolFromMolBlock(row.text)
    if molecule is None:
        title = row.text.partition("\n")[0].strip()
        named = f" ('{excerpt(title)}')" if title else ""
        raise GraphDataError(f"{row.place}: not a valid molecule{named}")
    return graph_of(molecule, meaning)


_FILE = MoleculeFile(_rows, _graph_of)
read, stream, cells = _FILE.read, _FILE.stream, _FILE.cells
