"""Molecules are drawn atom by atom, from the graphs alone; other graphs are not."""

import itertools
import math
import re
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from kgnn.graphs.drawing import Mark, Sketch
from kgnn.graphs.molecule_drawing import draw_molecule
from kgnn.graphs.molecules import from_smiles

_SVG = "{http://www.w3.org/2000/svg}"
_MOLECULES = (
    "Oc1cc[nH]c1",
    "Cn1cnc2c1c(=O)n(C)c(=O)n2C",  # caffeine
    "c1ccn2cccc2c1",  # nitrogen shared by two aromatic rings
    "OS(=O)(=O)c1ccsc1",
    "c1ccc2c(c1)ccc1ccccc12",
    "CC=CC#C[N+](=O)[O-]",
    "[N-]=[N+]=NC",
    "CC(=O)[O-].[Na+]",
    "F[P-](F)(F)(F)(F)F.C[n+]1ccccc1",
    "[O-][Cl+3]([O-])([O-])[O-].[K+]",
    "C[C@H](N)C(=O)O",
    "F/C=C/Cl",
    "FC(F)(F)c1ccc(Br)cc1I",
    "[2H]OC",
    "[H][H]",
    "CN1CC[C@]23[C@@H]4[C@H]1CC5=C2C(=C(C=C5)O)O[C@H]3[C@H](C=C4)O",  # morphine
    "N->[Cu]",
    "*c1ccccc1",
    "[O]N1C(C)(C)CCCC1(C)C",  # a radical
    "C",
)


def _sketch(smiles):
    return Sketch.of(from_smiles([smiles])[0])


def _places(drawn, style="halo"):
    """Return the middles of the discs, in the order of the nodes."""
    found = ET.fromstring(drawn).iter(f"{_SVG}circle")
    return [(float(c.get("cx")), float(c.get("cy"))) for c in found if style in c.get("class")]


def _letters(drawn):
    return {
        (float(text.get("x")), float(text.get("y"))): text.text
        for text in ET.fromstring(drawn).iter(f"{_SVG}text")
    }


def _nearest(place, places):
    return min(range(len(places)), key=lambda node: math.dist(place, places[node]))


@pytest.mark.parametrize("smiles", _MOLECULES)
def test_every_molecule_is_drawn_with_its_letters_on_the_right_atoms(smiles):
    graph = _sketch(smiles)
    drawn = draw_molecule(graph, [Mark("s0")] * len(graph.nodes))
    places = _places(drawn)
    assert len(places) == len(graph.nodes)
    written = [""] * len(graph.nodes)
    for (x, y), letter in _letters(drawn).items():
        written[_nearest((x + 4, y - 5), places)] += letter
    for label, letters in zip(graph.node_labels, written, strict=True):
        symbol = re.sub(r"[^A-Za-z]|H", "", label.partition("(")[0].replace(";r", "")) or "H"
        if letters or symbol not in "Cc":
            assert symbol.capitalize() in letters or label == "[*]"
            assert label.count("+") == letters.count("+")
            assert label.count("-") == letters.count("−")


@pytest.mark.parametrize("smiles", _MOLECULES)
def test_every_bond_is_drawn_between_its_atoms(smiles):
    graph = _sketch(smiles)
    drawn = draw_molecule(graph, [Mark("s0")] * len(graph.nodes))
    places = _places(drawn)
    ways = " ".join(path.get("d") for path in ET.fromstring(drawn).iter(f"{_SVG}path"))
    lines = [
        [float(number) for number in re.findall(r"[\d.]+", way)][:4]
        for way in ways.split("M")
        if way.strip()
    ]
    middles = [((x + a) / 2, (y + b) / 2) for x, y, a, b in lines]
    for u, v in graph.edges:
        middle = ((places[u][0] + places[v][0]) / 2, (places[u][1] + places[v][1]) / 2)
        assert min(math.dist(middle, each) for each in middles) < 10


def test_marks_are_on_the_atoms_that_they_are_for():
    graph = _sketch("CCCCCl")
    drawn = draw_molecule(graph, [Mark("s1", 0.0)] * 4 + [Mark("s1")])
    *others, marked = _places(drawn)
    assert drawn.count('fill="var(--s1,#0072b2)"') == 1
    (place, *_), letters = zip(*_letters(drawn).items(), strict=True)
    assert "".join(letters) == "Cl"
    assert math.dist(marked, place) < 12
    assert math.dist(others[0], marked) > 60  # the other end of the chain


def test_atoms_tell_their_numbers_and_those_asked_for_show_them():
    graph = _sketch("CCCCCl")
    drawn = draw_molecule(graph, numbered=[4, 9])
    assert re.findall("<title>(atom.*?)</title>", drawn)[3:] == ["atom 3: [CH2]", "atom 4: [Cl]"]
    assert sorted(_letters(drawn).values()) == ["4", "Cl"]
    [number], [place] = ([at for at, n in _letters(drawn).items() if n == x] for x in ("4", "Cl"))
    assert math.dist(number, place) < 20


def test_aromatic_bonds_are_dashed_and_others_are_not():
    assert 'stroke-dasharray="3.5 3"' in draw_molecule(_sketch("c1ccccc1"))
    assert 'stroke-dasharray="3.5 3"' not in draw_molecule(_sketch("C1=CCCCC1"))


def test_hydrogens_and_charges_are_drawn():
    acid, ion = _sketch("CC(=O)O"), _sketch("CC(=O)[O-]")
    assert sorted(_letters(draw_molecule(acid)).values()) == ["H", "O", "O"]
    assert sorted(_letters(draw_molecule(ion)).values()) == ["O", "O", "−"]


def test_a_drawing_has_nothing_but_shapes_of_its_own():
    graph = replace(_sketch("O=C(O)c1ccccc1"), name='<script>"')
    drawn = draw_molecule(graph)
    root = ET.fromstring(drawn)
    assert {each.tag.removeprefix(_SVG) for each in root.iter()} == {
        *("svg", "title", "circle", "path", "text"),
    }
    assert root.get("aria-label") == 'graph <script>"'
    assert not re.search("<script|style=|#000|href|url", drawn)


def test_large_molecules_keep_the_shape_of_the_drawing_and_stay_within():
    graph = _sketch("CC(N)C(=O)" + "NC(CCC(=O)O)C(=O)" * 12 + "O")
    drawn = draw_molecule(graph, [Mark("s0")] * len(graph.nodes), width=200, height=100)
    width, height = map(float, ET.fromstring(drawn).get("viewBox").split()[2:])
    assert width > 400
    assert width / height == pytest.approx(2, rel=0.01)
    assert all(10 < x < width - 10 and 10 < y < height - 10 for x, y in _places(drawn))


def _chain(labels, bonds):
    edges = tuple((node, node + 1) for node in range(len(bonds)))
    return Sketch("g", len(labels), len(edges), tuple(range(len(labels))), edges, labels, bonds)


def _star(leaves):
    graph = _chain(("[CH]",) * (leaves + 1), ("-",) * leaves)
    return replace(graph, edges=tuple((0, leaf + 1) for leaf in range(leaves)))


def test_a_carbon_has_up_to_four_bonds():
    assert draw_molecule(_star(3))
    assert draw_molecule(_star(4)) is None


@pytest.mark.parametrize(
    "graph",
    [
        _chain(("[C]", "[Q]"), ("-",)),  # no element
        _chain(("[C]", "[c"), ("-",)),
        _chain(("6", "8"), ("-",)),
        _chain(("[C]", "[O]"), ("friend",)),
        _chain(("[C]", "[O]"), ("FRIEND",)),
        _chain(("[C]", "[O]", "[C]"), ("#", "=")),
        replace(_chain(("[C]", "[O]"), ("-",)), edge_labels=()),
        replace(_chain(("[C]", "[O]"), ("-",)), node_labels=()),
        Sketch("nothing", 0, 0, (), (), ()),
    ],
)
def test_other_graphs_are_no_molecules(graph):
    assert draw_molecule(graph) is None


def test_graphs_too_dense_for_molecules_are_refused_at_once():
    edges = tuple(itertools.combinations(range(60), 2))
    bonds = ("-",) * len(edges)
    graph = Sketch("dense", 60, len(edges), tuple(range(60)), edges, ("[*]",) * 60, bonds)
    assert draw_molecule(graph) is None


@pytest.mark.parametrize("missing", ["rdkit", "rdkit.Chem.Draw"])
def test_without_rdkit_there_is_no_molecule(monkeypatch, missing):
    graph = _sketch("CCO")
    monkeypatch.setitem(sys.modules, missing, None)
    assert draw_molecule(graph) is None


def test_the_labels_of_other_graphs_do_not_load_rdkit(monkeypatch):
    monkeypatch.setitem(sys.modules, "rdkit", None)
    monkeypatch.setattr(
        "kgnn.graphs.molecule_drawing._molecule", lambda graph: pytest.fail("looked")
    )
    assert draw_molecule(_chain(("[C]", "[O]"), ("friend",))) is None


def test_the_charges_of_a_salt_are_beside_each_other_and_not_over_each_other():
    letters = {letter: at for at, letter in _letters(draw_molecule(_sketch("[Na+].[Cl-]"))).items()}
    assert letters["Na"][0] + 20 < letters["+"][0] < letters["Cl"][0] - 10 < letters["−"][0]


def test_letters_stand_as_far_apart_as_they_are_wide():
    places = {letter: at[0] for at, letter in _letters(draw_molecule(_sketch("O"))).items()}
    assert places["H"] + 14 * 0.76 <= places["2"]  # of DejaVu Sans, which is wide
