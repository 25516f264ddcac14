"""Read molecules from a CSV file with a column of SMILES, through RDKit."""

from __future__ import annotations

import csv
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

from kgnn.errors import GraphDataError, MissingExtraError
from kgnn.graphs.collector import GraphCollector
from kgnn.graphs.graph import GraphDataset
from kgnn.graphs.text_lines import numbered_lines

_SMILES_NAMES = ("smiles", "canonical_smiles", "isomeric_smiles", "smi", "mol", "molecule")
_TARGET_NAMES = ("target", "label", "class", "activity", "y")
_ID_NAMES = ("id", "mol_id", "molecule_id", "compound_id", "chembl_id", "name")


def read(
    path: Path,
    smiles_column: str | None = None,
    target_column: str | None = None,
    id_column: str | None = None,
) -> GraphDataset:
    """Read molecules: atoms are nodes labeled by symbol, bonds are edges labeled by type.

    Parameters
    ----------
    path : Path
        A ``.csv`` file with a header, separated by commas, semicolons or tabs, perhaps ``.gz``.
    smiles_column, target_column, id_column : str, optional
        Default: recognized by their usual names, such as ``smiles``, ``label`` and ``id``. An empty
        target is unlabeled; a file without targets or ids is fine.
    """
    lines = list(numbered_lines(path))
    if len(lines) < 2:
        raise GraphDataError(f"{path} holds no molecules: expected a header and a line for each")
    (_, header), *rows = _cells(path, lines)
    smiles = _column(path, header, smiles_column, _SMILES_NAMES)
    if smiles is None:
        raise GraphDataError(
            f"{path} has no column named {' or '.join(_SMILES_NAMES)}, only {header}; "
            "name it with smiles_column"
        )
    target = _column(path, header, target_column, _TARGET_NAMES)
    identity = _column(path, header, id_column, _ID_NAMES)
    molecules = GraphCollector()
    for place, row in rows:
        _add(
            molecules,
            place,
            row[smiles],
            target=None if target is None else row[target] or None,
            name=None if identity is None else row[identity],
        )
    return molecules.dataset(path.name.partition(".")[0])


def from_smiles(
    smiles: Sequence[str], targets: Sequence[Hashable | None] | None = None, name: str = "smiles"
) -> GraphDataset:
    """Turn SMILES into graphs.

    Examples
    --------
    >>> ethanol = from_smiles(["CCO"])[0]
    >>> ethanol.node_labels, ethanol.edge_labels
    (['C', 'C', 'O'], ['SINGLE', 'SINGLE'])
    """
    if targets is not None and len(targets) != len(smiles):
        raise GraphDataError(f"expected {len(smiles)} targets, got {len(targets)}")
    if not len(smiles):
        raise GraphDataError("there are no molecules: the list of SMILES is empty")
    molecules = GraphCollector()
    for row, text in enumerate(smiles):
        target = None if targets is None else targets[row]
        _add(molecules, f"smiles[{row}]", text, target=target)
    return molecules.dataset(name)


def _cells(path: Path, lines: list[tuple[int, str]]) -> list[tuple[str, list[str]]]:
    """Split lines into cells, with the place of each; all are as many as in the header."""
    header = lines[0][1]
    delimiter = max(",;\t", key=header.count)
    cells: list[tuple[str, list[str]]] = []
    try:
        reader = csv.reader((text for _, text in lines), delimiter=delimiter, strict=True)
        for row in reader:
            place = f"{path}, line {lines[reader.line_num - 1][0]}"
            cells.append((place, [cell.strip() for cell in row]))
            if len(row) != len(cells[0][1]):
                raise GraphDataError(
                    f"{place}: expected {len(cells[0][1])} cells, got {len(row)}: {row}"
                )
    except csv.Error as error:
        number = lines[min(reader.line_num, len(lines)) - 1][0]
        raise GraphDataError(f"{path}, line {number}: not readable as CSV: {error}") from error
    return cells


def _column(path: Path, header: list[str], asked: str | None, usual: Sequence[str]) -> int | None:
    if asked is not None and asked not in header:
        raise GraphDataError(f"{path} has no column '{asked}', only {header}")
    if asked is not None:
        return header.index(asked)
    lower = [name.lower() for name in header]
    return next((lower.index(name) for name in usual if name in lower), None)


def _add(
    molecules: GraphCollector,
    place: str,
    smiles: str,
    *,
    target: Hashable | None = None,
    name: str | None = None,
) -> None:
    molecule = _molecule(smiles)
    if molecule is None:
        raise GraphDataError(f"{place}: '{smiles}' is not valid SMILES")
    bonds = list(molecule.GetBonds())
    molecules.add(
        place,
        molecule.GetNumAtoms(),
        [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in bonds],
        node_labels=[atom.GetSymbol() for atom in molecule.GetAtoms()],
        edge_labels=[bond.GetBondType().name for bond in bonds],
        target=target,
        name=name,
    )


def _molecule(smiles: str) -> Any:
    """Parse SMILES without RDKit's own messages; None where it is not valid."""
    try:
        from rdkit import Chem, rdBase
    except ImportError as error:
        raise MissingExtraError.of("Reading SMILES", "rdkit", "chem") from error
    with rdBase.BlockLogs():
        return Chem.MolFromSmiles(smiles) if isinstance(smiles, str) and smiles.strip() else None
