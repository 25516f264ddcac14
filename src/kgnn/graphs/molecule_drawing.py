"""Draw graphs of molecules as chemists do, with RDKit."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from kgnn.colors import css_color
from kgnn.graphs.drawing import Mark, Sketch, framed, node_notes, text
from kgnn.graphs.molecules import is_molecule, molecule_of, quiet

Floats = NDArray[np.float64]
# Note for readers of such a drawing.
MOLECULE_NOTE = (
    "Molecules are drawn as their graphs have them, with hydrogens and charges. Dashed lines are "
    "aromatic bonds. Point at an atom to see what else the model knows of it: r is a ring, R and S "
    "are chirality."
)
_MOST_BONDS = 2  # per atom; in denser graphs, RDKit would search rings for minutes
_BOND_LENGTH = 33.0  # at most
_LETTERS = 14.0
_ROOM = 17  # font size for which RDKit leaves room; fonts of a page are wider than its own
_SMALL_LETTERS = 9.0  # counts of hydrogens, charges and isotopes
_SCALE = _BOND_LENGTH / 1.5  # bonds of RDKit are 1.5 long
_GAP = 2.5  # between the parts of a salt, in the units of RDKit
_SMALL = 300.0  # width of a drawing up to which bonds have their full length
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

    Labels are those of `kgnn.graphs.molecules`. Marks are discs behind the atoms; one that is
    pointed at tells which atom it is. The atoms in ``numbered`` have their numbers beside them.
    Large molecules have the same shape and a finer scale.

    Examples
    --------
    >>> graph = Sketch("ethanol", 3, 2, (0, 1, 2), ((0, 1), (1, 2)), ("C", "C", "O"))
    >>> draw_molecule(graph) is None  # the edges have no bond types
    True
    """
    if not _may_be_molecule(graph):
        return None
    try:
        molecule = _molecule(graph)
        return None if molecule is None else _drawn(molecule, graph, marks, numbered, width, height)
    except ImportError:  # no RDKit, or system libraries for drawing are missing
        return None


def is_drawn_as_molecule(graph: Sketch) -> bool:
    """Tell whether `draw_molecule` draws a graph, for which it needs RDKit."""
    return draw_molecule(graph) is not None


def _may_be_molecule(graph: Sketch) -> bool:
    """Tell quickly whether a graph may be a molecule, so that RDKit is rarely imported."""
    return len(graph.edge_labels) == len(graph.edges) <= _MOST_BONDS * len(graph.nodes) and (
        is_molecule(graph)
    )


def _molecule(graph: Sketch) -> Any:
    """Return an RDKit molecule with one atom per node, in order, with 2D coordinates."""
    from rdkit import Chem
    from rdkit.Chem import rdDepictor

    molecule = molecule_of(graph.node_labels, graph.edges, graph.edge_labels)
    if molecule is None:
        return None
    with quiet():
        try:
            molecule.UpdatePropertyCache(strict=True)
        except Chem.AtomValenceException:
            return None
        rings, angles = Chem.SANITIZE_SYMMRINGS, Chem.SANITIZE_SETHYBRIDIZATION
        Chem.SanitizeMol(molecule, rings | Chem.SANITIZE_SETCONJUGATION | angles)
        rdDepictor.Compute2DCoords(molecule, useRingTemplates=True)
        _set_apart(molecule.GetConformer(), Chem.GetMolFrags(molecule))
    return molecule


def _set_apart(conformer: Any, parts: Sequence[tuple[int, ...]]) -> None:
    """Put the parts of a salt side by side, with room for their charges."""
    places, right = conformer.GetPositions(), 0.0
    for part in parts if len(parts) > 1 else ():
        own = places[list(part)]
        own[:, 0] += right - own[:, 0].min()
        own[:, 1] -= own[:, 1].mean()
        right = own[:, 0].max() + _GAP
        for atom, place in zip(part, own.tolist(), strict=True):
            conformer.SetAtomPosition(atom, place)


def _drawn(
    molecule: Any,
    graph: Sketch,
    marks: Sequence[Mark] | None,
    numbered: Collection[int],
    width: float,
    height: float,
) -> Markup:
    zoom = _zoom(molecule, width, height)
    if width > _SMALL:  # otherwise a chain leaves most of a large drawing empty
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
    bonds, letters = _strokes(pen.GetDrawingText())
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
    shapes = (*halos, *bonds, *letters, *numbers)
    return framed(pen.Width(), pen.Height(), shapes, f"graph {graph.name}")


def _extent(molecule: Any) -> Floats:
    """Return width and height of a molecule with bonds of full length."""
    extent: Floats = np.ptp(molecule.GetConformer().GetPositions()[:, :2], axis=0) * _SCALE
    return extent


def _zoom(molecule: Any, width: float, height: float) -> float:
    """Return the factor by which to shrink a molecule so that it fits into the drawing."""
    extent = _extent(molecule)
    room = (1 - 2 * _PADDING) * np.array([width, height]) - _LETTERS
    return max(min(1.0, _SMALL / width), float((extent / room).max()))


def _pen(width: int, height: int) -> Any:
    from rdkit.Chem.Draw import rdMolDraw2D

    # Letters as text, not as shapes.
    pen = rdMolDraw2D.MolDraw2DSVG(width, height, -1, -1, True)
    options: Any = pen.drawOptions()
    options.useBWAtomPalette()
    options.clearBackground = False
    options.prepareMolsBeforeDrawing = False  # aromatic bonds are to stay dashed
    options.fixedBondLength = _SCALE
    options.fixedFontSize = _ROOM
    options.padding = _PADDING
    return pen


def _strokes(svg: str) -> tuple[list[Markup], list[Markup]]:
    """Return the lines of bonds and the letters of atoms of RDKit's drawing.

    Its colors and fonts are left behind: a page has its own, and allows no style in elements.
    """
    ways: dict[str, list[str]] = {"": [], "3.5 3": []}  # by their dashes
    letters: list[tuple[float, float, str, float]] = []
    for shape in ET.fromstring(svg).iter():
        if shape.tag == f"{_SVG}text":
            x, y = float(shape.get("x", 0)), float(shape.get("y", 0))
            is_small = f"font-size:{_ROOM}px" not in shape.get("style", "")
            letter = (shape.text or "").replace("-", "−")
            size, up = (_SMALL_LETTERS, 0.0) if is_small else (_LETTERS, (_ROOM - _LETTERS) / 3)
            if letter.islower() and letters:  # the second of a symbol, at its usual distance
                letter = letters[-1][2] + letter
                x, y, *_ = letters.pop()
                up = 0.0
            letters.append((x, y - up, letter, size))
        elif shape.tag == f"{_SVG}path":
            is_dashed = "stroke-dasharray" in shape.get("style", "")
            ways["3.5 3" if is_dashed else ""].append(shape.get("d", ""))
    bond = Markup(
        '<path class="bond" d="{}" fill="none" stroke="{}" stroke-width="1.3" '
        'stroke-linecap="round" stroke-dasharray="{}" pointer-events="none"/>'
    )
    ink = css_color("ink")
    lines = [bond.format(" ".join(d), ink, dashes or "none") for dashes, d in ways.items() if d]
    return lines, [text(x, y, each, size=size, halo=True) for x, y, each, size in letters]
