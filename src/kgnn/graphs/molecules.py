"""Molecules as graphs and back, through RDKit: atoms are nodes, bonds are edges.

An atom is labeled by its element and has the attributes of `ATTRIBUTES`, so that what all carbons
have in common can be learned as well as what a single kind of them has. The label of a bond is
``-``, ``=``, ``#`` or ``:`` as in SMARTS, with ``;@`` in a ring that is not aromatic, and with
``(E)`` or ``(Z)``. Nothing of it depends on the order of atoms: chirality is that of Cahn, Ingold
and Prelog.

Written out, an atom is ``[CH2;r]``: a carbon with two hydrogens in a ring that is not aromatic;
``[nH]`` is an aromatic nitrogen with a hydrogen, ``[NH3+]`` an ammonium, ``[CH](S)`` a center of
chirality. Within the brackets this is SMARTS, and without ``;r`` an atom of SMILES.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np

from kgnn.errors import (
    ErrorHandler,
    GraphDataError,
    MissingExtraError,
    ParameterError,
    excerpt,
)
from kgnn.graphs.collector import Found, collect_readable
from kgnn.graphs.graph import GraphDataset
from kgnn.graphs.labels import ordered, require_length, targets_by_position

# RDKit takes seconds for this many characters, and minutes for ten times as many.
MAX_SMILES = 10_000
Choice = Literal["keep", "strip"]
MEANINGS = ("salts", "stereo")  # options of all readers of molecules, see `Meaning`

ATTRIBUTES = ("hydrogens", "charge", "aromatic", "in a ring", "chirality", "isotope")
_CHIRALITY = {"R": 1.0, "S": -1.0, "r": 0.5, "s": -0.5}
_BONDS = {"SINGLE": "-", "DOUBLE": "=", "TRIPLE": "#", "QUADRUPLE": "$", "AROMATIC": ":",
          "DATIVE": "->"}  # fmt: skip
_GEOMETRY = {"STEREOE": "(E)", "STEREOZ": "(Z)"}
_ELEMENT = re.compile(r"[A-Z][a-z]?|\*")
_ATOM = re.compile(
    r"\[(?P<isotope>\d*)(?P<symbol>[A-Z][a-z]?|[a-z][a-z]?|\*)(?P<hydrogens>H\d*)?"
    r"(?P<charge>[+-]\d*)?(?P<ring>;r)?\](\((?P<chirality>[A-Za-z]+)\))?"
)
_BOND = re.compile(r"(?P<order>->|[-=#$:]|[A-Z]+)(?P<ring>;@)?(\((?P<geometry>[EZ])\))?")


class Meaning(NamedTuple):
    """How to read molecules.

    ``salts="strip"`` leaves the largest of the parts that no bond joins, which is without
    counterions and solvents; ``stereo="strip"`` forgets chirality and the geometry of double bonds.
    """

    salts: Choice = "keep"
    stereo: Choice = "keep"

    @classmethod
    def of(cls, **options: str | None) -> Meaning:
        """Check options; None is the default."""
        for key, value in options.items():
            if value not in ("keep", "strip", None):
                raise ParameterError(f"'{key}' must be keep or strip, got '{excerpt(value)}'.")
        return cls(**{key: value for key, value in options.items() if value is not None})  # type: ignore[arg-type]


def from_smiles(
    smiles: Iterable[str],
    targets: Iterable[Hashable | None] | None = None,
    name: str = "smiles",
    *,
    salts: Choice = "keep",
    stereo: Choice = "keep",
) -> GraphDataset:
    """Turn SMILES into graphs.

    Parameters
    ----------
    smiles : iterable of str
    targets : iterable, optional
        Class of each molecule, by position; None, −1, NaN or empty text for unlabeled.
    name : str
    salts : {"keep", "strip"}
        Whether all parts of a molecule are kept, or the largest alone.
    stereo : {"keep", "strip"}
        Whether chirality and the geometry of double bonds make a difference.

    Examples
    --------
    >>> ethanol = from_smiles(["CCO"])[0]
    >>> ethanol.node_labels, ethanol.node_attributes[:, 0].tolist(), ethanol.edge_labels
    (['C', 'C', 'O'], [3.0, 2.0, 1.0], ['-', '-'])
    """
    smiles = list(smiles)
    classes = None if targets is None else targets_by_position(targets)
    require_length(classes, len(smiles), "targets")
    if not smiles:
        raise GraphDataError("there are no molecules: the list of SMILES is empty")
    meaning = Meaning.of(salts=salts, stereo=stereo)
    rows = [(f"smiles[{row}]", text) for row, text in enumerate(smiles)]

    def graphs(on_error: ErrorHandler) -> Found:
        for (place, text), target in zip(rows, classes or [None] * len(rows), strict=True):
            try:
                yield place, {**graph_of_smiles(place, text, meaning), "target": target}
            except GraphDataError as error:
                on_error(error)

    return collect_readable(name, graphs)


def graph_of_smiles(place: str, smiles: str, meaning: Meaning) -> dict[str, Any]:
    """Return the arguments of `GraphCollector.add`; errors begin with the place."""
    if isinstance(smiles, str) and len(smiles) > MAX_SMILES:
        raise GraphDataError(
            f"{place}: '{excerpt(smiles)}' has {len(smiles)} characters; SMILES may have "
            f"{MAX_SMILES}"
        )
    chem, is_text = rdkit("Reading SMILES"), isinstance(smiles, str) and smiles.strip()
    with quiet():
        molecule = chem.MolFromSmiles(smiles) if is_text else None
    if molecule is None:
        raise GraphDataError(f"{place}: '{excerpt(smiles)}' is not valid SMILES")
    return graph_of(molecule, meaning)


def graph_of(molecule: Any, meaning: Meaning) -> dict[str, Any]:
    """Return the arguments of `GraphCollector.add` from an RDKit molecule."""
    if meaning.salts == "strip":
        molecule = _largest_part(molecule)
    keeps_stereo = meaning.stereo == "keep"
    atoms, bonds = list(molecule.GetAtoms()), list(molecule.GetBonds())
    return {
        "n_nodes": molecule.GetNumAtoms(),
        "edges": [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in bonds],
        "node_labels": [atom.GetSymbol() for atom in atoms],
        "node_attributes": [
            (
                atom.GetTotalNumHs(),
                atom.GetFormalCharge(),
                atom.GetIsAromatic(),
                atom.IsInRing(),
                _CHIRALITY.get(_cip(atom), 0.0) if keeps_stereo else 0.0,
                atom.GetIsotope(),
            )
            for atom in atoms
        ],
        "edge_labels": [
            _bond_label(
                bond.GetBondType().name,
                bond.IsInRing(),
                bond.GetStereo().name if keeps_stereo else "",
            )
            for bond in bonds
        ],
    }


def _cip(atom: Any) -> str:
    return str(atom.GetProp("_CIPCode")) if atom.HasProp("_CIPCode") else ""


@lru_cache(maxsize=4096)
def _bond_label(order: str, is_in_ring: bool, geometry: str) -> str:
    ring = ";@" if is_in_ring and order != "AROMATIC" else ""
    return _BONDS.get(order, order) + ring + _GEOMETRY.get(geometry, "")


def _largest_part(molecule: Any) -> Any:
    """Return the fragment with the most atoms, without salts and solvents."""
    chem = rdkit("Reading molecules")
    parts = chem.GetMolFrags(molecule, asMols=True, sanitizeFrags=False)
    if len(parts) < 2:
        return molecule
    # Of two fragments of the same size, the choice does not depend on their order.
    return max(parts, key=lambda part: (part.GetNumHeavyAtoms(), chem.MolToSmiles(part)))


# -- back to molecules ----------------------------------------------------------------------------


def written_out(graphs: GraphDataset) -> GraphDataset:
    """Return molecules with complete atom descriptions as node labels; other graphs unchanged.

    Examples
    --------
    >>> written_out(from_smiles(["C[NH3+]"]))[0].node_labels
    ['[CH3]', '[NH3+]']
    """
    attributes, codes = graphs.node_attributes, graphs.node_labels
    if (
        codes is None
        or attributes is None
        or attributes.shape[1] != len(ATTRIBUTES)
        or not all(map(_ELEMENT.fullmatch, graphs.node_label_names))
        or not all(map(_BOND.fullmatch, graphs.edge_label_names))
    ):
        return graphs
    kinds, kind_of_node = np.unique(
        np.column_stack([codes, attributes]), axis=0, return_inverse=True
    )
    texts = [
        _written(graphs.node_label_names[int(code)], *values) for code, *values in kinds.tolist()
    ]
    names = ordered(texts)  # attributes that are none of an atom may look alike
    place = np.array([names.index(text) for text in texts], dtype=np.int32)
    return replace(
        graphs,
        node_labels=place[kind_of_node.ravel()],
        node_label_names=names,
        node_attributes=None,
    )


def _written(
    element: str,
    hydrogens: float,
    charge: float,
    is_aromatic: float,
    is_in_ring: float,
    chirality: float,
    isotope: float,
) -> str:
    counted = {"H": int(hydrogens), "+": int(charge), "-": -int(charge)}
    told = [f"{sign}{n if n > 1 else ''}" for sign, n in counted.items() if n > 0]
    marks = {value: f"({name})" for name, value in _CHIRALITY.items()}
    return "".join(
        [
            f"[{int(isotope) or ''}{element.lower() if is_aromatic else element}",
            *told,
            ";r]" if is_in_ring and not is_aromatic else "]",
            marks.get(chirality, ""),
        ]
    )


class Labeled(Protocol):
    """A graph with complete atom descriptions, or a sketch of one."""

    @property
    def node_labels(self) -> Sequence[str] | None:
        """Label of each node."""

    @property
    def edge_labels(self) -> Sequence[str] | None:
        """Label of each edge."""


def is_molecule(graph: Labeled) -> bool:
    """Tell whether labels are those of atoms that are written out, and of bonds.

    Examples
    --------
    >>> is_molecule(written_out(from_smiles(["CCN"]))[0])
    True
    """
    atoms, bonds = graph.node_labels, graph.edge_labels
    return (
        bool(atoms)
        and all(map(_ATOM.fullmatch, set(atoms or ())))
        and all(map(_BOND.fullmatch, set(bonds or ())))
    )


def are_molecules(graphs: GraphDataset) -> bool:
    """Tell whether all labels of a dataset are those of atoms that are written out, and of bonds.

    Examples
    --------
    >>> are_molecules(written_out(from_smiles(["CCN"])))
    True
    """
    names = graphs.node_label_names
    return (
        bool(names)
        and all(map(_ATOM.fullmatch, names))
        and all(map(_BOND.fullmatch, graphs.edge_label_names))
    )


def molecule_of(
    node_labels: Sequence[str], edges: Iterable[tuple[int, int]], edge_labels: Iterable[str]
) -> Any | None:
    """Build RDKit's molecule from atoms that are written out, not sanitized; None if it cannot be.

    The atoms have the order of the nodes, the hydrogens and the charges that their labels say.
    """
    chem = rdkit("Drawing molecules")
    orders = {own: name for name, own in _BONDS.items()}
    # A dative bond has a direction, but an edge has none.
    orders["->"] = "ZERO"
    table = chem.GetPeriodicTable()
    symbols = {table.GetElementSymbol(number): number for number in range(119)}
    molecule = chem.RWMol()
    for label in node_labels:
        read = _ATOM.fullmatch(label)
        if read is None or (symbol := read["symbol"].capitalize()) not in symbols:
            return None
        atom = chem.Atom(symbols[symbol])
        atom.SetIsAromatic(read["symbol"].islower())
        atom.SetIsotope(int(read["isotope"] or 0))
        atom.SetNumExplicitHs(_counted(read["hydrogens"]))
        atom.SetFormalCharge(_counted(read["charge"]))
        atom.SetNoImplicit(True)
        molecule.AddAtom(atom)
    for (u, v), label in zip(edges, edge_labels, strict=True):
        read = _BOND.fullmatch(label)
        order = read and orders.get(read["order"], read["order"])
        if u == v or order not in chem.BondType.names:
            return None
        molecule.AddBond(u, v, chem.BondType.names[order])
        molecule.GetBondBetweenAtoms(u, v).SetIsAromatic(order == "AROMATIC")
    return molecule


def fragment(
    node_labels: Sequence[str],
    edges: Sequence[tuple[int, int]],
    edge_labels: Sequence[str],
    atom: int,
    depth: int,
) -> str | None:
    """Write an atom and all within ``depth`` bonds as SMARTS; None without RDKit.

    Examples
    --------
    >>> alcohol = written_out(from_smiles(["OCC1CC1"]))[0]
    >>> fragment(alcohol.node_labels, alcohol.edges.tolist(), alcohol.edge_labels, 0, 2)
    '[OH]-[CH2]-[CH;r]'
    """
    reached, bonds = [atom], list[int]()
    for _ in range(depth):
        bonds = [n for n, (u, v) in enumerate(edges) if u in reached or v in reached]
        reached = list(dict.fromkeys([*reached, *(end for bond in bonds for end in edges[bond])]))
    # SMARTS cannot express chirality independently of the order of neighbors.
    atoms = [node_labels[each].partition("(")[0] for each in reached]
    kinds = [edge_labels[bond].partition("(")[0] for bond in bonds]
    pairs = [(reached.index(u), reached.index(v)) for u, v in (edges[bond] for bond in bonds)]
    try:
        chem = rdkit("Writing SMARTS")
    except ImportError:
        return None
    skeleton = chem.RWMol()  # what atoms and bonds are called is all that is written of them
    for _ in atoms:
        skeleton.AddAtom(chem.Atom(0))
    for u, v in pairs:
        skeleton.AddBond(u, v, chem.BondType.SINGLE)
    written: str = chem.MolFragmentToSmiles(
        skeleton,
        list(range(len(reached))),
        list(range(len(bonds))),
        atomSymbols=atoms,
        bondSymbols=kinds,
        rootedAtAtom=0,
    )
    return written


def _counted(text: str | None) -> int:
    """Parse ``H``, ``H3``, ``+`` or ``-2``; None is zero."""
    if not text:
        return 0
    return (-1 if text[0] == "-" else 1) * int(text[1:] or 1)


def rdkit(what: str) -> Any:
    """Import RDKit, or say how to install it."""
    try:
        from rdkit import Chem
    except ImportError as error:
        raise MissingExtraError.of(what, "rdkit", "chem") from error
    return Chem


def quiet() -> Any:
    """Return a context without RDKit's own messages."""
    from rdkit import rdBase

    return rdBase.BlockLogs()
