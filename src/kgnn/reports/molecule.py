"""Molecules as chemists draw them, by RDKit, from nothing but their graphs."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from kgnn.estimator.explanation import Sketch
from kgnn.graphs.molecules import is_molecule, molecule_of, quiet
from kgnn.reports.axes import drawing, text
from kgnn.reports.drawing import node_notes
from kgnn.reports.markup import Markup, element

# What a reader of such a drawing should know.
MOLECULE_NOTE = (
    "Molecules are drawn as their graphs have them, with hydrogens and charges. Dashed lines are "
    "aromatic bonds. Point at an atom to see what else the model knows of it: r is a ring, R and S "
    "are chirality."
)
_MOST_BONDS = 2  # for each atom; of a denser graph, RDKit would search rings for minutes
_BOND_LENGTH = 33.0  # at most
_LETTERS = 14.0  # as in figures.css
_SCALE = _BOND_LENGTH / 1.5  # bonds of RDKit are 1.5 long
_HALO = 0.34  # of a bond
_PADDING = 0.06  # of the drawing, on each side
_SVG = "{http://www.w3.org/2000/svg}"


def draw_molecule(
    graph: Sketch,
    styles: Sequence[str] | None = None,
    *,
    numbered: Collection[int] = (),
    width: float = 220.0,
    height: float = 180.0,
) -> Markup | None:
    """Draw a graph as a molecule; return None if it cannot be one, or without RDKit.

    Labels are those of `kgnn.graphs.molecules`. Styles are classes of discs behind the atoms; one
    that is pointed at tells which atom it is. The atoms in ``numbered`` have their numbers beside
    them. Large molecules have the same shape and a finer scale.

    Examples
    --------
    >>> graph = Sketch("ethanol", 3, 2, (0, 1, 2), ((0, 1), (1, 2)), ("C", "C", "O"))
    >>> draw_molecule(graph) is None  # nothing says what bonds the edges are
    True
    """
    if not _may_be_molecule(graph):
        return None
    try:
        molecule = _molecule(graph)
        return (
            None if molecule is None else _drawn(molecule, graph, styles, numbered, width, height)
        )
    except ImportError:  # no RDKit, or one without the system's libraries that it draws with
        return None


def _may_be_molecule(graph: Sketch) -> bool:
    """Tell whether a graph is worth a closer look; for most, RDKit need not be loaded."""
    return len(graph.edge_labels) == len(graph.edges) <= _MOST_BONDS * len(graph.nodes) and (
        is_molecule(graph)
    )


def _molecule(graph: Sketch) -> Any:
    """Return RDKit's molecule with an atom for each node, in their order, laid out in the plane."""
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
    return molecule


def _drawn(
    molecule: Any,
    graph: Sketch,
    styles: Sequence[str] | None,
    numbered: Collection[int],
    width: float,
    height: float,
) -> Markup:
    zoom = _zoom(molecule, width, height)
    pen = _pen(round(zoom * width), round(zoom * height))
    pen.DrawMolecule(molecule)
    pen.FinishDrawing()
    places = [pen.GetDrawCoords(node) for node in range(len(graph.nodes))]
    radius = _HALO * _BOND_LENGTH
    halos = [
        element(
            "circle",
            element("title", note),
            class_=f"halo {style}",
            cx=place.x,
            cy=place.y,
            r=radius,
        )
        for place, style, note in (
            zip(places, styles, node_notes(graph), strict=True) if styles else ()
        )
    ]
    bonds, letters = _strokes(pen.GetDrawingText())
    numbers = [
        text(place.x + 0.6 * radius, place.y - 0.6 * radius, str(node), "number")
        for place, node in zip(places, graph.nodes, strict=True)
        if node in numbered
    ]
    label = f"graph {graph.name}"
    shapes = (*halos, *bonds, *letters, *numbers)
    return drawing(pen.Width(), pen.Height(), element("title", label), *shapes, label=label)


def _zoom(molecule: Any, width: float, height: float) -> float:
    """Return by how much the scale of a drawing is finer, so that the molecule fits into it."""
    extent = np.ptp(molecule.GetConformer().GetPositions()[:, :2], axis=0) * _SCALE
    room = (1 - 2 * _PADDING) * np.array([width, height]) - _LETTERS
    return max(1.0, float((extent / room).max()))


def _pen(width: int, height: int) -> Any:
    from rdkit.Chem.Draw import rdMolDraw2D

    # Letters as text, not as shapes.
    pen = rdMolDraw2D.MolDraw2DSVG(width, height, -1, -1, True)
    options: Any = pen.drawOptions()
    options.useBWAtomPalette()
    options.clearBackground = False
    options.prepareMolsBeforeDrawing = False  # aromatic bonds are to stay dashed
    options.fixedBondLength = _SCALE
    options.fixedFontSize = round(_LETTERS)
    options.padding = _PADDING
    return pen


def _strokes(svg: str) -> tuple[list[Markup], list[Markup]]:
    """Return the lines of bonds and the letters of atoms of RDKit's drawing.

    Its colors and fonts are left behind: a page has its own, and allows no style in elements.
    """
    ways: dict[str, list[str]] = {"bond": [], "bond dashed": []}
    letters = []
    for shape in ET.fromstring(svg).iter():
        if shape.tag == f"{_SVG}text":
            x, y = float(shape.get("x", 0)), float(shape.get("y", 0))
            is_small = f"font-size:{round(_LETTERS)}px" not in shape.get("style", "")
            letter = (shape.text or "").replace("-", "−")
            letters.append(text(x, y, letter, "atom small" if is_small else "atom"))
        elif shape.tag == f"{_SVG}path":
            is_dashed = "stroke-dasharray" in shape.get("style", "")
            ways["bond dashed" if is_dashed else "bond"].append(shape.get("d", ""))
    lines = [element("path", class_=kind, d=" ".join(d)) for kind, d in ways.items() if d]
    return lines, letters
