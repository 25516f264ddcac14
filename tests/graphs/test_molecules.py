"""Molecules become graphs that say what chemists would, and graphs become molecules again."""

import random
import sys

import numpy as np
import pytest

from kgnn.errors import GraphDataError, MissingExtraError, ParameterError
from kgnn.graphs.molecules import fragment, from_smiles, is_molecule, molecule_of, written_out
from kgnn.graphs.packing import pack
from kgnn.kernels.colors import looks

Chem = pytest.importorskip("rdkit.Chem")

MOLECULES = (
    "Oc1cc[nH]c1",
    "Cn1cnc2c1c(=O)n(C)c(=O)n2C",
    "CC=CC#C[N+](=O)[O-]",
    "CC(=O)[O-].[Na+]",
    "F[P-](F)(F)(F)(F)F.C[n+]1ccccc1",
    "[O-][Cl+3]([O-])([O-])[O-].[K+]",
    "C[C@H](N)C(=O)O",
    "F/C=C/Cl",
    "[2H]OC",
    "[H][H]",
    "CN1CC[C@]23[C@@H]4[C@H]1CC5=C2C(=C(C=C5)O)O[C@H]3[C@H](C=C4)O",
    "N->[Cu]",
    "*c1ccccc1",
    "[O]N1C(C)(C)CCCC1(C)C",
    "[13CH4]",
    "C",
)


def one(smiles, **options):
    return written_out(from_smiles([smiles], **options))[0]


def parts(graph):
    return graph.node_labels, [(u, v) for u, v in graph.edges.tolist()], graph.edge_labels or []


@pytest.mark.parametrize(
    ("smiles", "atoms", "bonds"),
    [
        ("C=O", ["[CH2]", "[O]"], ["="]),
        ("C[NH3+]", ["[CH3]", "[NH3+]"], ["-"]),
        ("[Fe+2]", ["[Fe+2]"], []),
        ("[2H]C", ["[2H]", "[CH3]"], ["-"]),
        ("[H]C([H])([H])[H]", ["[CH4]"], []),
        ("C1CC1", ["[CH2;r]"] * 3, ["-;@"] * 3),
        ("c1cc[se]c1", ["[cH]", "[cH]", "[cH]", "[se]", "[cH]"], [":"] * 5),
        ("C[C@H](O)F", ["[CH3]", "[CH](R)", "[OH]", "[F]"], ["-"] * 3),
        ("F/C=C/Cl", ["[F]", "[CH]", "[CH]", "[Cl]"], ["-", "=(E)", "-"]),
        ("F/C=C\\Cl", ["[F]", "[CH]", "[CH]", "[Cl]"], ["-", "=(Z)", "-"]),
        ("N->[Cu]", ["[NH3]", "[Cu]"], ["->"]),
    ],
)
def test_labels_say_what_atoms_and_bonds_are(smiles, atoms, bonds):
    graph = one(smiles)
    assert graph.node_labels == atoms
    assert (graph.edge_labels or []) == bonds


@pytest.mark.parametrize("smiles", MOLECULES)
def test_the_order_of_atoms_makes_no_difference(smiles):
    molecule = Chem.MolFromSmiles(smiles)
    order = list(range(molecule.GetNumAtoms()))
    random.Random(1).shuffle(order)
    other = Chem.MolToSmiles(Chem.RenumberAtoms(molecule, order), canonical=False)
    graphs = from_smiles([smiles, other])
    written = written_out(graphs)
    assert sorted(written[0].node_labels) == sorted(written[1].node_labels)
    assert len(np.unique(looks(graphs))) == 1


@pytest.mark.parametrize("smiles", MOLECULES)
def test_a_graph_is_the_molecule_that_it_was_made_from(smiles):
    graph = one(smiles)
    assert is_molecule(graph)
    molecule = molecule_of(*parts(graph))
    molecule.UpdatePropertyCache(strict=True)
    assert molecule.GetNumAtoms() == graph.n_nodes
    if "->" in smiles or "[O]" in smiles:  # an arrow has lost its direction, a radical its electron
        return
    read = Chem.MolFromSmiles(Chem.MolToSmiles(molecule))
    flat = Chem.MolToSmiles(Chem.MolFromSmiles(smiles), isomericSmiles=False)
    assert Chem.MolToSmiles(read, isomericSmiles=False) == flat


@pytest.mark.parametrize("smiles", [each for each in MOLECULES if "->" not in each])
@pytest.mark.parametrize("depth", [0, 1, 2])
def test_fragments_are_smarts_that_match_where_they_were_found(smiles, depth):
    graph, molecule = one(smiles), Chem.MolFromSmiles(smiles)
    for atom in range(graph.n_nodes):
        query = Chem.MolFromSmarts(fragment(*parts(graph), atom, depth))
        matches = molecule.GetSubstructMatches(query, uniquify=False)
        assert any(match[0] == atom for match in matches)


def test_salts_and_stereo_are_stripped_on_request():
    salt = "[Na+].C[C@H](N)C(=O)[O-].O"
    assert one(salt).n_nodes == 8
    assert "[Na+]" not in one(salt, salts="strip").node_labels
    assert one(salt, salts="strip").n_nodes == 6
    assert "[CH](S)" in one(salt).node_labels
    assert "[CH]" in one(salt, stereo="strip").node_labels
    assert one("F/C=C/F", stereo="strip").edge_labels == ["-", "=", "-"]
    with pytest.raises(ParameterError, match="'salts' must be keep or strip, got 'drop'"):
        one(salt, salts="drop")


def test_all_molecules_that_cannot_be_read_are_listed():
    with pytest.raises(GraphDataError) as raised:
        from_smiles(["CC", "C(", "C", None, "xyz"])
    assert all(f"smiles[{row}]: " in str(raised.value) for row in (1, 3, 4))


def test_other_graphs_are_no_molecules():
    assert not is_molecule(pack("g", [2], [0], [1], node_labels=["C", "N"], edge_labels="-")[0])
    assert not is_molecule(pack("g", [2], [0], [1])[0])
    for columns in (5, 6):
        other = pack(
            "g", [2], [0], [1], node_labels=["C", "a"], node_attributes=np.ones((2, columns))
        )
        assert written_out(other) is other
    assert molecule_of(["[Q]"], [], []) is None
    assert molecule_of(["[CH3]", "[CH3]"], [(0, 1)], ["FRIEND"]) is None


def test_a_missing_extra_is_named(monkeypatch):
    graph = one("CC")
    monkeypatch.setitem(sys.modules, "rdkit", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'kgnn\[chem\]'"):
        one("CC")
    assert fragment(*parts(graph), 0, 1) is None
