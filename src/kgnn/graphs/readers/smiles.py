"""Read molecules from a CSV file with a column of SMILES, through RDKit."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from kgnn.errors import ErrorHandler, GraphDataError, MissingExtraError, excerpt, raise_error
from kgnn.graphs.collector import Found, ReadWith, collect, collect_readable, collect_runs
from kgnn.graphs.graph import GraphDataset
from kgnn.graphs.labels import require_length, targets_by_position
from kgnn.graphs.readers.archive import MAX_BYTES
from kgnn.graphs.readers.text import Row, csv_rows, find_column, stem

# RDKit takes seconds for so many characters, and minutes for ten times as many.
MAX_SMILES = 10_000
OPTIONS = ("smiles_column", "target_column", "id_column")

_SMILES_NAMES = ("smiles", "canonical_smiles", "isomeric_smiles", "smi", "mol", "molecule")
_TARGET_NAMES = ("target", "label", "class", "activity", "y")
_ID_NAMES = ("id", "mol_id", "molecule_id", "compound_id", "chembl_id", "name")


def read(path: Path, on_error: ErrorHandler = raise_error, **columns: str | None) -> GraphDataset:
    """Read molecules: atoms are nodes labeled by symbol, bonds are edges labeled by type.

    Parameters
    ----------
    path : Path
        A ``.csv`` file with a header, separated by commas, semicolons or tabs, perhaps ``.gz``.
    on_error : callable
        Called with the error of each line that cannot be read; default: raise it.
    smiles_column, target_column, id_column : str, optional
        Default: recognized by their usual names, such as ``smiles``, ``label`` and ``id``. An empty
        target is unlabeled; targets and ids are optional.
    """
    return collect_readable(stem(path), _reader(path, MAX_BYTES, columns), on_error)


def stream(
    path: Path, on_error: ErrorHandler = raise_error, **columns: str | None
) -> Iterator[GraphDataset]:
    """Read a file in runs of bounded size."""
    return collect_runs(stem(path), _reader(path, None, columns), on_error)


def _reader(path: Path, max_bytes: int | None, columns: Mapping[str, str | None]) -> ReadWith:
    return lambda on_error: _molecules_in(path, max_bytes, on_error, **columns)


class Columns(NamedTuple):
    """Places of the columns that are read; targets and ids are optional."""

    smiles: int
    target: int | None
    identity: int | None


def class_columns(path: Path, **columns: str | None) -> tuple[str | None, list[str]]:
    """Return the column that the classes are read from, if any, and those that have no use yet."""
    header = next(csv_rows(path, None), Row(0, [])).cells
    found = _find_columns(path, header, **columns)
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
            f"{excerpt(', '.join(header), 300)}; name it with smiles_column (on the command line, "
            "--read smiles_column=NAME)"
        )
    option = "--read target_column"
    target = find_column(path, header, target_column, _TARGET_NAMES, option)
    return Columns(smiles, target, find_column(path, header, id_column, _ID_NAMES))


def _molecules_in(
    path: Path, max_bytes: int | None, on_error: ErrorHandler, **columns: str | None
) -> Found:
    rows = csv_rows(path, max_bytes, on_error)
    header = next(rows, Row(0, [])).cells
    first = next(rows, None)
    if first is None:
        raise GraphDataError(f"{path} holds no molecules: expected a header and a line for each")
    smiles, target, identity = _find_columns(path, header, **columns)
    for line, cells in chain([first], rows):
        place = f"{path}, line {line}"
        try:
            graph = _graph(place, cells[smiles])
        except GraphDataError as error:
            on_error(error)
            continue
        graph["target"] = None if target is None else cells[target] or None
        graph["name"] = None if identity is None else cells[identity]
        yield place, graph


def from_smiles(
    smiles: Iterable[str], targets: Iterable[Hashable | None] | None = None, name: str = "smiles"
) -> GraphDataset:
    """Turn SMILES into graphs.

    Parameters
    ----------
    smiles : iterable of str
    targets : iterable, optional
        Class of each molecule, by position; None, −1, NaN or empty text for unlabeled.
    name : str

    Examples
    --------
    >>> ethanol = from_smiles(["CCO"])[0]
    >>> ethanol.node_labels, ethanol.edge_labels
    (['C', 'C', 'O'], ['SINGLE', 'SINGLE'])
    """
    smiles = list(smiles)
    classes = None if targets is None else targets_by_position(targets)
    require_length(classes, len(smiles), "targets")
    if not smiles:
        raise GraphDataError("there are no molecules: the list of SMILES is empty")
    places = [f"smiles[{row}]" for row in range(len(smiles))]
    rows = zip(places, smiles, classes or [None] * len(smiles), strict=True)
    graphs = ((place, {**_graph(place, text), "target": target}) for place, text, target in rows)
    return collect(name, graphs)


def _graph(place: str, smiles: str) -> dict[str, Any]:
    if isinstance(smiles, str) and len(smiles) > MAX_SMILES:
        raise GraphDataError(
            f"{place}: '{excerpt(smiles)}' has {len(smiles)} characters; SMILES may have "
            f"{MAX_SMILES}"
        )
    molecule = _molecule(smiles)
    if molecule is None:
        raise GraphDataError(f"{place}: '{excerpt(smiles)}' is not valid SMILES")
    bonds = list(molecule.GetBonds())
    return {
        "n_nodes": molecule.GetNumAtoms(),
        "edges": [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in bonds],
        "node_labels": [atom.GetSymbol() for atom in molecule.GetAtoms()],
        "edge_labels": [bond.GetBondType().name for bond in bonds],
    }


def _molecule(smiles: str) -> Any:
    """Parse SMILES without RDKit's own messages; None if it is not valid."""
    try:
        from rdkit import Chem, rdBase
    except ImportError as error:
        raise MissingExtraError.of("Reading SMILES", "rdkit", "chem") from error
    with rdBase.BlockLogs():
        return Chem.MolFromSmiles(smiles) if isinstance(smiles, str) and smiles.strip() else None
