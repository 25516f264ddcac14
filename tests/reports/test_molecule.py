"""Molecules are drawn atom by atom, from the graphs alone; other graphs are not."""

import itertools
import math
import re
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

import kgnn
from kgnn.estimator.explanation import Sketch
from kgnn.graphs.molecules import from_smiles
from kgnn.methods.wl import WL
from kgnn.reports.explanation_page import explanation_page
from kgnn.reports.molecule import MOLECULE_NOTE, draw_molecule

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
    drawn = draw_molecule(graph, ["silent"] * len(graph.nodes))
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
    drawn = draw_molecule(graph, ["silent"] * len(graph.nodes))
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
    drawn = draw_molecule(graph, ["silent"] * 4 + ["for-4"])
    [marked] = _places(drawn, "for-4")
    (place, *_), letters = zip(*_letters(drawn).items(), strict=True)
    assert "".join(letters) == "Cl"
    assert math.dist(marked, place) < 12
    [first] = _places(draw_molecule(graph, ["against-1"] + ["silent"] * 4), "against-1")
    assert math.dist(first, marked) > 60  # the other end of the chain


def test_atoms_tell_their_numbers_and_those_asked_for_show_them():
    graph = _sketch("CCCCCl")
    drawn = draw_molecule(graph, ["silent"] * 5, numbered=[4, 9])
    assert re.findall("<title>(atom.*?)</title>", drawn)[3:] == ["atom 3: [CH2]", "atom 4: [Cl]"]
    [number] = [t for t in ET.fromstring(drawn).iter() if t.get("class") == "number"]
    [place] = [at for at, letter in _letters(drawn).items() if letter == "l"]
    assert number.text == "4"
    assert math.dist((float(number.get("x")), float(number.get("y"))), place) < 20
    assert 'class="number"' not in draw_molecule(graph, ["silent"] * 5)


def test_aromatic_bonds_are_dashed_and_others_are_not():
    assert 'class="bond dashed"' in draw_molecule(_sketch("c1ccccc1"))
    assert 'class="bond dashed"' not in draw_molecule(_sketch("C1=CCCCC1"))


def test_hydrogens_and_charges_are_drawn():
    acid, ion = _sketch("CC(=O)O"), _sketch("CC(=O)[O-]")
    assert sorted(_letters(draw_molecule(acid)).values()) == ["H", "O", "O"]
    assert sorted(_letters(draw_molecule(ion)).values()) == ["O", "O", "−"]


def test_a_drawing_has_nothing_but_shapes_of_its_own():
    graph = replace(_sketch("O=C(O)c1ccccc1"), name='<script>"')
    drawn = draw_molecule(graph, ["silent"] * len(graph.nodes))
    root = ET.fromstring(drawn)
    assert {each.tag.removeprefix(_SVG) for each in root.iter()} == {
        *("svg", "title", "circle", "path", "text"),
    }
    used = set().union(*(each.keys() for each in root.iter()))
    assert used <= {
        *("viewBox", "width", "height", "class", "role", "aria-label"),
        *("cx", "cy", "r", "d", "x", "y", "text-anchor"),
    }
    assert root.get("aria-label") == root.find(f"{_SVG}title").text == 'graph <script>"'
    assert not re.search("<script|style=|#000|href|url", drawn)


def test_large_molecules_keep_the_shape_of_the_drawing_and_stay_within():
    graph = _sketch("CC(N)C(=O)" + "NC(CCC(=O)O)C(=O)" * 12 + "O")
    drawn = draw_molecule(graph, ["silent"] * len(graph.nodes), width=200, height=100)
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
    monkeypatch.setattr("kgnn.reports.molecule._molecule", lambda graph: pytest.fail("looked"))
    assert draw_molecule(_chain(("[C]", "[O]"), ("friend",))) is None


@pytest.fixture(scope="module")
def explanation(tmp_path_factory):
    alcohols = ["CCO", "CCCO", "CC(C)O", "OCCO", "OC1CCCC1"]
    amines = ["CCN", "CCCN", "CC(C)N", "NCCN", "NC1CCCC1"]
    drugs = from_smiles(alcohols + amines, ["alcohol"] * 5 + ["amine"] * 5)
    folder = tmp_path_factory.mktemp("model") / "model"
    WL().fit(drugs).save(folder)
    return kgnn.open_model(folder).explain(from_smiles(["OCCc1ccccc1"])[0], neighbors=3)


def test_the_page_of_a_saved_model_shows_molecules(explanation):
    page = explanation_page(explanation)
    drawings = re.findall(r"<svg.*?</svg>", page)[1:]  # the first one has the probabilities
    assert len(drawings) == 4
    assert all('class="bond"' in drawn and '<circle class="node' not in drawn for drawn in drawings)
    assert page.count(MOLECULE_NOTE) == 1
    assert not re.search(r"<script|src=|href=.[^#]|url\(|@import|style=", page)


def test_without_rdkit_the_page_has_its_usual_drawings(monkeypatch, explanation):
    monkeypatch.setitem(sys.modules, "rdkit", None)
    page = explanation_page(explanation)
    assert MOLECULE_NOTE not in page
    assert page.count('<circle class="node') == sum(
        len(graph.nodes) for graph in (explanation.graph, *explanation.neighbor_graphs)
    )
