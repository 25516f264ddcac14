"""Molecules as chemists draw them, by RDKit, from nothing but their graphs."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from kgnn.colors import css_color
from kgnn.graphs.drawing import Mark, Sketch, framed, node_notes, text

Floats = NDArray[np.float64]
# What a reader of such a drawing should know.
MOLECULE_NOTE = (
    "Molecules are drawn as their graphs have them: without implicit hydrogens, charges and "
    "stereochemistry. Dashed lines are aromatic bonds."
)
# Edges of `kgnn.graphs.readers.smiles`, and what RDKit draws for them. A dative bond is an arrow,
# but an edge has no direction: it becomes a dotted line.
_BONDS = {
    "SINGLE": "SINGLE",
    "DOUBLE": "DOUBLE",
    "TRIPLE": "TRIPLE",
    "AROMATIC": "AROMATIC",
    "DATIVE": "ZERO",
}
_MOST_BONDS = 2  # for each atom; of a denser graph, RDKit would search rings for minutes
_CHARGES = (0, 1, -1)  # graphs have no charges: a valence is possible if one of these allows it
_BOND_LENGTH = 33.0  # at most
_LETTERS = 14.0
_SCALE = _BOND_LENGTH / 1.5  # bonds of RDKit are 1.5 long
_SMALL = 300.0  # the width of a drawing in which bonds are as long as they may be
_HALO = 0.34  # of a bond
_PADDING = 0.06  # of the drawing, on each side
_SVG = "{http://www.w3.org/2000/svg}"


def draw_molecule(
    graph: Sketch,
    marks: Sequence[Mark] | None = None,
    *,
    numbered: Collection[int] = (),
    width: float = 220.0,
    height: float = 180.0,
) -> Markup | None:
    """Draw a graph as a molecule; return None if it cannot be one, or without RDKit.

    Nodes are labeled by element and edges by type, as from SMILES. Marks are discs behind the
    atoms; an atom that is pointed at tells which node it is. The nodes in ``numbered`` have
    their numbers beside them. Large molecules have the same shape and a finer scale.

    Examples
    --------
    >>> graph = Sketch("ethanol", 3, 2, (0, 1, 2), ((0, 1), (1, 2)), ("C", "C", "O"))
    >>> draw_molecule(graph) is None  # nothing says what bonds the edges are
    True
    """
    if not is_molecule(graph):
        return None
    try:
        molecule = _molecule(graph)
        return None if molecule is None else _drawn(molecule, graph, marks, numbered, width, height)
    except ImportError:  # no RDKit, or one without the system's libraries that it draws with
        return None


def is_molecule(graph: Sketch) -> bool:
    """Tell whether all edges are bonds; whether all nodes are atoms, RDKit knows."""
    return (
        bool(graph.node_labels)
        and len(graph.edge_labels) == len(graph.edges) <= _MOST_BONDS * len(graph.nodes)
        and _BONDS.keys() >= set(graph.edge_labels)
    )


def _molecule(graph: Sketch) -> Any:
    """Return RDKit's molecule with an atom for each node, in their order, laid out in the plane."""
    from rdkit import Chem, rdBase

    table = Chem.GetPeriodicTable()
    numbers = {table.GetElementSymbol(number): number for number in range(119)}
    if not numbers.keys() >= set(graph.node_labels):
        return None
    molecule = Chem.RWMol()
    for label in graph.node_labels:
        molecule.AddAtom(Chem.Atom(numbers[label]))
    for (u, v), label in zip(graph.edges, graph.edge_labels, strict=True):
        molecule.AddBond(u, v, Chem.BondType.names[_BONDS[label]])
    for bond in molecule.GetBonds():
        if bond.GetBondType() == Chem.BondType.AROMATIC:
            for part in (bond, bond.GetBeginAtom(), bond.GetEndAtom()):
                part.SetIsAromatic(True)
    with rdBase.BlockLogs():
        if not all(map(_is_possible, molecule.GetAtoms())):
            return None
        _lay_out(molecule)
    return molecule


def _is_possible(atom: Any) -> bool:
    """Tell whether an atom can have its bonds; its charge stays zero."""
    from rdkit import Chem

    try:
        for charge in _CHARGES:
            atom.SetFormalCharge(charge)
            try:
                atom.UpdatePropertyCache(strict=True)
            except Chem.AtomValenceException:
                continue
            return True
        return False
    finally:
        atom.SetFormalCharge(0)


def _lay_out(molecule: Any) -> None:
    """Give atoms their places, as if missing hydrogens were there; then there are none."""
    from rdkit import Chem
    from rdkit.Chem import rdDepictor

    molecule.UpdatePropertyCache(strict=False)
    rings, angles = Chem.SANITIZE_SYMMRINGS, Chem.SANITIZE_SETHYBRIDIZATION
    Chem.SanitizeMol(molecule, rings | Chem.SANITIZE_SETCONJUGATION | angles)
    rdDepictor.Compute2DCoords(molecule, useRingTemplates=True)
    for atom in molecule.GetAtoms():
        atom.SetNoImplicit(True)
    molecule.UpdatePropertyCache(strict=False)


def _drawn(
    molecule: Any,
    graph: Sketch,
    marks: Sequence[Mark] | None,
    numbered: Collection[int],
    width: float,
    height: float,
) -> Markup:
    zoom = _zoom(molecule, width, height)
    if width > _SMALL:  # a chain would leave most of a large drawing empty
        height = min(height, (_extent(molecule)[1] + 5 * _LETTERS) / zoom)
    pen = _pen(round(zoom * width), round(zoom * height))
    pen.DrawMolecule(molecule)
    pen.FinishDrawing()
    places = [pen.GetDrawCoords(node) for node in range(len(graph.nodes))]
    radius = _HALO * _BOND_LENGTH
    marked: Sequence[Mark | None] = marks or [None] * len(places)
    halos = [
        Markup(
            '<circle class="halo" cx="{:.1f}" cy="{:.1f}" r="{:.1f}" fill="{}" '
            'pointer-events="all"><title>{}</title></circle>'
        ).format(place.x, place.y, radius, mark.fill if mark and mark.strength else "none", note)
        for place, mark, note in zip(places, marked, node_notes(graph), strict=True)
    ]
    bonds, written = _strokes(pen.GetDrawingText())
    atoms = [
        text(at.x, at.y + 0.36 * _LETTERS, name, size=_LETTERS, anchor="middle", halo=True)
        for node, (at, name) in enumerate(zip(places, graph.node_labels, strict=True))
        if node in written
    ]
    numbers = [
        text(
            place.x + 0.6 * radius,
            place.y - 0.6 * radius,
            str(node),
            color="soft",
            size=9,
            halo=True,
        )
        for place, node in zip(places, graph.nodes, strict=True)
        if node in numbered
    ]
    shapes = (*halos, *bonds, *atoms, *numbers)
    return framed(pen.Width(), pen.Height(), shapes, f"graph {graph.name}")


def _extent(molecule: Any) -> Floats:
    """Return how wide and high a molecule is, with bonds as long as they may be."""
    extent: Floats = np.ptp(molecule.GetConformer().GetPositions()[:, :2], axis=0) * _SCALE
    return extent


def _zoom(molecule: Any, width: float, height: float) -> float:
    """Return by how much the scale of a drawing is finer, so that the molecule fits into it."""
    extent = _extent(molecule)
    room = (1 - 2 * _PADDING) * np.array([width, height]) - _LETTERS
    return max(min(1.0, _SMALL / width), float((extent / room).max()))


def _pen(width: int, height: int) -> Any:
    from rdkit.Chem.Draw import rdMolDraw2D

    pen = rdMolDraw2D.MolDraw2DSVG(width, height)
    options: Any = pen.drawOptions()
    options.useBWAtomPalette()
    options.clearBackground = False
    options.prepareMolsBeforeDrawing = False  # which would need hydrogens and charges
    options.fixedBondLength = _SCALE
    options.fixedFontSize = round(_LETTERS)
    options.padding = _PADDING
    return pen


def _strokes(svg: str) -> tuple[list[Markup], set[int]]:
    """Return the lines of bonds of RDKit's drawing, and the atoms whose symbols it writes.

    Its colors and fonts are left behind: a page has its own, and allows no style in elements.
    """
    ways: dict[str, list[str]] = {"": [], "3.5 3": []}  # by their dashes
    written = set()
    for shape in ET.fromstring(svg).iter():
        first, _, rest = shape.get("class", "").partition(" ")
        if first.startswith("atom-") and not rest:
            written.add(int(first.removeprefix("atom-")))
        elif shape.tag == f"{_SVG}path":
            is_dashed = "stroke-dasharray" in shape.get("style", "")
            ways["3.5 3" if is_dashed else ""].append(shape.get("d", ""))
    bond = Markup(
        '<path class="bond" d="{}" fill="none" stroke="{}" stroke-width="1.3" '
        'stroke-linecap="round" stroke-dasharray="{}" pointer-events="none"/>'
    )
    ink = css_color("ink")
    lines = [bond.format(" ".join(d), ink, dashes or "none") for dashes, d in ways.items() if d]
    return lines, written
