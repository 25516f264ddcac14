"""Records of structure-data files become graphs of atoms and bonds."""

import gzip

import pytest

from kgnn.errors import GraphDataError, Skipped
from kgnn.graphs.loading import find_format, load, stream
from kgnn.graphs.molecules import from_smiles

Chem = pytest.importorskip("rdkit.Chem")


def record(smiles, title="", **fields):
    molecule = Chem.MolFromSmiles(smiles)
    molecule.SetProp("_Name", title)
    data = "".join(f">  <{name}>\n{value}\n\n" for name, value in fields.items())
    return f"{Chem.MolToMolBlock(molecule)}{data}$$$$\n"


def written(folder, text, name="drugs.sdf"):
    path = folder / name
    path.write_text(text)
    return path


def test_records_are_the_molecules_that_their_smiles_are(tmp_path):
    smiles = ["CCO", "c1ccccc1[N+](=O)[O-]", "C[C@H](N)C(=O)O", "F/C=C/F", "C"]
    from rdkit.Chem import rdDepictor

    text = ""
    for each in smiles:
        molecule = Chem.MolFromSmiles(each)
        rdDepictor.Compute2DCoords(molecule)
        text += f"{Chem.MolToMolBlock(molecule)}$$$$\n"
    graphs, expected = load(written(tmp_path, text)), from_smiles(smiles)
    for graph, other in zip(graphs, expected, strict=True):
        assert graph.node_labels == other.node_labels
        assert graph.node_attributes.tolist() == other.node_attributes.tolist()
        assert graph.edge_labels == other.edge_labels


def test_titles_are_names_and_fields_are_classes(tmp_path):
    text = record("CCO", "a", label="yes", Mass="46") + record("CCN", "b", Mass="45")
    path = written(tmp_path, text)
    graphs = load(path)
    assert [(graph.name, graph.target) for graph in graphs] == [("a", "yes"), ("b", None)]
    named = load(path, target_column="Mass", id_column="Mass")
    assert [(graph.name, graph.target) for graph in named] == [("46", "46"), ("45", "45")]
    assert find_format(path).class_columns(path) == ("label", ["Mass"])
    with pytest.raises(GraphDataError, match="no column 'mass', only label, Mass"):
        load(path, target_column="mass")


def test_compressed_files_and_a_missing_last_separator_are_read(tmp_path):
    path = tmp_path / "drugs.sdf.gz"
    text = (record("CCO") + record("CCN")).removesuffix("$$$$\n")
    path.write_bytes(gzip.compress(text.encode()))
    assert [len(graphs) for graphs in stream(path)] == [2]


def test_bad_records_are_listed_with_their_lines(tmp_path):
    good = record("CCO", "fine")
    bad = record("CCO", "worse").replace(" C   0", " Xx  0")
    path = written(tmp_path, good + bad + good.replace("fine", "good") + bad)
    n_lines = good.count("\n")
    with pytest.raises(GraphDataError, match="2 graphs of 'drugs' cannot be read") as raised:
        load(path)
    assert f"line {n_lines + 1}: not a valid molecule ('worse')" in str(raised.value)
    assert f"line {3 * n_lines + 1}: " in str(raised.value)
    skipped = Skipped()
    assert [graph.name for graph in load(path, on_error=skipped)] == ["fine", "good"]
    assert skipped.n == 2


@pytest.mark.parametrize("text", ["", "\n\n"])
def test_an_empty_file_is_refused(tmp_path, text):
    with pytest.raises(GraphDataError, match="holds no molecules"):
        load(written(tmp_path, text))


def test_a_data_field_that_comes_twice_is_refused_with_both_values(tmp_path):
    twice = record("CCN", "b", label="no").replace("$$$$", ">  <label>\nyes\n\n$$$$")
    path = written(tmp_path, record("CCO", "a", label="yes") + twice)
    with pytest.raises(GraphDataError, match=r"line \d+: .*'label' occurs twice, .*'no'.*'yes'"):
        load(path)
    skipped = Skipped()
    assert [graph.name for graph in load(path, on_error=skipped)] == ["a"]
    assert skipped.n == 1


def test_bytes_that_are_no_text_are_refused_in_a_class_and_bear_no_meaning_elsewhere(tmp_path):
    text = record("CCO", "a", label="x", note="caf\N{LATIN SMALL LETTER E WITH ACUTE}")
    path = tmp_path / "drugs.sdf"
    path.write_bytes(text.encode("latin-1"))
    assert load(path)[0].target == "x"
    assert [cells["note"] for _, cells in find_format(path).cells(path)] == ["caf?"]
    with pytest.raises(GraphDataError, match="line 1: target and name must be text"):
        load(path, target_column="note")
