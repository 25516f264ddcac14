"""Read molecules from a CSV file with a column of SMILES, or from a ``.smi`` file.

A ``.csv`` file has a header and is separated by commas, semicolons or tabs. Its columns are named
by ``smiles_column``, ``target_column`` and ``id_column``, or recognized by their usual names, such
as ``smiles``, ``label`` and ``id``; an empty target is unlabeled, targets and ids are optional.
Each line of a ``.smi`` file is a SMILES and perhaps a name. Both may be compressed as ``.gz``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, count
from pathlib import Path
from typing import Any, NamedTuple

from kgnn.errors import ErrorHandler, GraphDataError, excerpt
from kgnn.graphs.molecules import MEANINGS, Meaning, graph_of_smiles
from kgnn.graphs.readers.molecule_files import (
    TARGET_NAMES,
    Molecule,
    MoleculeFile,
    without_meanings,
)
from kgnn.graphs.readers.text import Row, csv_rows, find_column, numbered_lines

OPTIONS = ("smiles_column", "target_column", "id_column", *MEANINGS)

_SMILES_NAMES = ("smiles", "canonical_smiles", "isomeric_smiles", "smi", "mol", "molecule")
_ID_NAMES = ("id", "mol_id", "molecule_id", "compound_id", "chembl_id", "name")


def columns(path: Path, **options: str | None) -> list[str]:
    """Return the columns of a table, without ``id`` if it holds the names of the graphs."""
    if not _is_csv(path):
        return ["smiles", "name"]
    header = next(csv_rows(path, None), Row(0, [])).cells
    named = _find_columns(path, header, **without_meanings(options)).identity
    return [each for place, each in enumerate(_distinct(header)) if (place, each) != (named, "id")]


def _distinct(header: Sequence[str]) -> list[str]:
    """Return names of columns, of which one that comes again gets a number.

    Examples
    --------
    >>> _distinct(["smiles", "note", "note", ""])
    ['smiles', 'note', 'note_2', '']
    """
    names: dict[str, None] = {}
    for name in header:
        spellings = chain([name], (f"{name}_{number}" for number in count(2)))
        names[next(each for each in spellings if each not in names)] = None
    return list(names)


def _rows(
    path: Path, on_error: ErrorHandler, max_bytes: int | None, **columns: str | None
) -> Iterator[Molecule]:
    return (_csv_rows if _is_csv(path) else _smi_rows)(path, on_error, max_bytes, **columns)


def _is_csv(path: Path) -> bool:
    return Path(path.name.removesuffix(".gz")).suffix.lower() == ".csv"


class Columns(NamedTuple):
    """Positions of the columns that are read; targets and ids are optional."""

    smiles: int
    target: int | None
    identity: int | None


def class_columns(path: Path, **options: str | None) -> tuple[str | None, list[str]]:
    """Return the column that holds the classes, if any, and the unused columns."""
    header = next(csv_rows(path, None), Row(0, [])).cells
    found = _find_columns(path, header, **without_meanings(options))
    unused = [name for place, name in enumerate(header) if place not in found]
    return None if found.target is None else header[found.target], unused


def _find_columns(
    path: Path,
    header: Sequence[str],
    *,
    smiles_column: str | None = None,
    target_column: str | None = None,
    id_column: str | None = None,
) -> Columns:
    smiles = find_column(path, header, smiles_column, _SMILES_NAMES)
    if smiles is None:
        raise GraphDataError(
            f"{path} has no column named {' or '.join(_SMILES_NAMES)}, only "
            f"{excerpt(', '.join(header), 300)}; choose one with smiles_column (on the command "
            "line, --read smiles_column=NAME)"
        )
    option = "--read target_column"
    target = find_column(path, header, target_column, TARGET_NAMES, option)
    return Columns(smiles, target, find_column(path, header, id_column, _ID_NAMES))


def _csv_rows(
    path: Path, on_error: ErrorHandler, max_bytes: int | None, **columns: str | None
) -> Iterator[Molecule]:
    rows = csv_rows(path, max_bytes, on_error)
    header = next(rows, Row(0, [])).cells
    first = next(rows, None)
    if first is None:
        raise GraphDataError(f"{path} holds no molecules; it needs a header and one line for each")
    smiles, target, identity = _find_columns(path, header, **columns)
    names = _distinct(header)
    for line, cells in chain([first], rows):
        yield Molecule(
            f"{path}, line {line}",
            cells[smiles],
            None if target is None else cells[target] or None,
            None if identity is None else cells[identity],
            dict(zip(names, cells, strict=True)),
        )


def _smi_rows(
    path: Path, on_error: ErrorHandler, max_bytes: int | None, **columns: str | None
) -> Iterator[Molecule]:
    if given := [key for key, value in columns.items() if value is not None]:
        raise GraphDataError(f"{path} has no columns; {', '.join(given)} cannot be used")
    is_empty = True
    for number, line in numbered_lines(path, max_bytes, on_error):
        smiles, *rest = line.split(maxsplit=1)
        if is_empty and smiles.lower() in _SMILES_NAMES:
            continue
        is_empty = False
        name = rest[0].strip() if rest else None
        cells = {"smiles": smiles} | ({"name": name} if name else {})
        yield Molecule(f"{path}, line {number}", smiles, None, name, cells)
    if is_empty:
        raise GraphDataError(f"{path} holds no molecules; it needs a SMILES on each line")


def _graph_of(row: Molecule, meaning: Meaning) -> dict[str, Any]:
    return graph_of_smiles(row.place, row.text, meaning)


_FILE = MoleculeFile(_rows, _graph_of)
read, stream, cells = _FILE.read, _FILE.stream, _FILE.cells
