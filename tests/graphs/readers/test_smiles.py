"""Molecules become graphs of atoms and bonds."""

from __future__ import annotations

import gzip

import pytest

from kgnn.errors import GraphDataError
from kgnn.graphs.molecules import from_smiles
from kgnn.graphs.readers import smiles


def read(folder, text, **columns):
    (folder / "mols.csv").write_text(text)
    return smiles.read(folder / "mols.csv", **columns)


class TestReading:
    def test_atoms_are_nodes_and_bonds_are_edges(self, tmp_path):
        dataset = read(tmp_path, "id,smiles,label\nw,C#N,1\nx,C=O,0\ny,c1ccccc1,\n")
        assert [graph.name for graph in dataset] == ["w", "x", "y"]
        assert [graph.target for graph in dataset] == ["1", "0", None]
        assert dataset[0].node_labels == ["C", "N"]
        assert [set(graph.edge_labels) for graph in dataset] == [
            {"#"},
            {"="},
            {":"},
        ]
        assert dataset.name == "mols"

    @pytest.mark.parametrize("header", ["SMILES", "canonical_smiles", "mol", "Smiles"])
    def test_usual_names_of_the_column_are_known(self, tmp_path, header):
        assert len(read(tmp_path, f"{header}\nCCO\n")) == 1

    @pytest.mark.parametrize("header", ["target", "Class", "activity", "y"])
    def test_usual_names_of_the_target_are_known(self, tmp_path, header):
        assert read(tmp_path, f"smiles,{header}\nCCO,a\n")[0].target == "a"

    def test_columns_can_be_named(self, tmp_path):
        dataset = read(
            tmp_path,
            "smiles,structure,p_np,key\nbad,CCO,yes,k\n",
            smiles_column="structure",
            target_column="p_np",
            id_column="key",
        )
        assert (dataset[0].target, dataset[0].name) == ("yes", "k")

    @pytest.mark.parametrize("delimiter", [";", "\t"])
    def test_other_separators_are_recognized(self, tmp_path, delimiter):
        dataset = read(tmp_path, f"smiles{delimiter}target\nCCO{delimiter}a\nCC{delimiter}\n")
        assert [graph.target for graph in dataset] == ["a", None]

    def test_quoted_cells_and_compressed_files_are_read(self, tmp_path):
        (tmp_path / "m.csv.gz").write_bytes(gzip.compress(b'smiles,name\n"CCO","a, b"\n'))
        assert smiles.read(tmp_path / "m.csv.gz")[0].name == "a, b"

    def test_an_atom_alone_is_a_graph(self, tmp_path):
        dataset = read(tmp_path, "smiles\n[Na+]\nCC\n")
        assert (dataset[0].n_nodes, dataset[0].n_edges, dataset[0].node_labels) == (1, 0, ["Na"])


class TestColumns:
    """Which column the classes are read from, and which could be."""

    @pytest.mark.parametrize(
        ("header", "options", "found"),
        [
            ("id,smiles,label", {}, ("label", [])),
            ("name,SMILES,Class,weight", {}, ("Class", ["weight"])),
            ("id,smiles,toxic", {}, (None, ["toxic"])),
            ("id,smiles,toxic,label", {"target_column": "toxic"}, ("toxic", ["label"])),
        ],
    )
    def test_they_are_told_from_the_header(self, tmp_path, header, options, found):
        path = tmp_path / "mols.csv"
        path.write_text(f"{header}\n")
        assert smiles.class_columns(path, **options) == found


class TestRefusals:
    @pytest.mark.parametrize("bad", ["C1CC", "C(C", "xyz", "CN(C)(C)(C)C", '""'])
    def test_bad_smiles_are_refused_by_line_without_noise(self, tmp_path, capfd, bad):
        shown = bad.strip('"').replace("(", r"\(").replace(")", r"\)")
        with pytest.raises(
            GraphDataError, match=rf"mols\.csv, line 4: '{shown}' is not valid SMILES"
        ):
            read(tmp_path, f"smiles,label\n\nCCO,1\n{bad},0\n")
        assert capfd.readouterr().err == ""

    @pytest.mark.parametrize(
        ("text", "columns", "message"),
        [
            ("", {}, "holds no molecules"),
            ("smiles\n", {}, "holds no molecules"),
            (
                "a,b\nCCO,1\n",
                {},
                r"no column named smiles or .* only a, b; choose one with smiles_column",
            ),
            ("smiles\nCCO\n", {"target_column": "t"}, "no column 't', only smiles"),
            ("smiles,y\nCCO,1\nCC\n", {}, "line 3: expected 2 cells, got 1"),
            ("smiles,y\nCCO,1,2\n", {}, "line 2: expected 2 cells, got 3"),
            ('smiles\nCC\n"CCO\n', {}, "line 3: not readable as CSV"),
            ("smiles,id\nCCO,a\nCC,a\n", {}, "line 3: the name 'a' is already taken"),
        ],
    )
    def test_a_bad_table_is_refused(self, tmp_path, text, columns, message):
        with pytest.raises(GraphDataError, match=message):
            read(tmp_path, text, **columns)


class TestFromSmiles:
    def test_a_list_of_smiles_is_a_dataset(self):
        dataset = from_smiles(["CCO", "CC"], targets=["a", None])
        assert [graph.target for graph in dataset] == ["a", None]

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ((["CC", "C("],), r"smiles\[1\]: 'C\(' is not valid"),
            (([None],), r"smiles\[0\]: 'None' is not valid"),
            (([],), "empty"),
            ((["C"], [1, 2]), "expected 1 targets, got 2"),
        ],
    )
    def test_what_does_not_fit_is_refused(self, arguments, message):
        with pytest.raises(GraphDataError, match=message):
            from_smiles(*arguments)


class TestSmiFiles:
    def test_each_line_is_a_molecule_and_perhaps_its_name(self, tmp_path):
        path = tmp_path / "mols.smi"
        path.write_text("CCO ethyl alcohol\nCC\tethane\n")
        assert [graph.name for graph in smiles.read(path)] == ["ethyl alcohol", "ethane"]
        path.write_text("smiles name\nCCO\nCC\n")
        assert [graph.n_nodes for graph in smiles.read(path)] == [3, 2]

    def test_bad_lines_are_listed(self, tmp_path):
        path = tmp_path / "mols.smi"
        path.write_text("CCO\nC(\nC\nxyz\n")
        with pytest.raises(GraphDataError, match=r"line 2: 'C\(' is(.|\n)*line 4: 'xyz' is"):
            smiles.read(path)

    @pytest.mark.parametrize("text", ["", "SMILES Name\n"])
    def test_empty_files_and_names_of_columns_are_refused(self, tmp_path, text):
        path = tmp_path / "mols.smi"
        path.write_text(text)
        with pytest.raises(GraphDataError, match="holds no molecules"):
            smiles.read(path)
        with pytest.raises(GraphDataError, match="has no columns; target_column cannot"):
            smiles.read(path, target_column="y")


def test_salts_are_stripped_in_files_too(tmp_path):
    dataset = read(tmp_path, "smiles\nCC(=O)[O-].[Na+]\n", salts="strip")
    assert dataset[0].n_nodes == 4


def test_a_line_on_which_rdkit_would_hang_is_refused(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text(f"smiles\nCCO\n{'C1CC1' * 20_000}\n")
    with pytest.raises(GraphDataError, match=r"line 3: 'C1CC1.*…' has 100000 characters; SMILES"):
        smiles.read(path)


def test_a_long_line_is_not_repeated_in_full(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text(f"smiles\nC{'(' * 9000}\n")
    with pytest.raises(GraphDataError, match=r"line 2: 'C\(+…' is not valid SMILES") as raised:
        smiles.read(path)
    assert len(str(raised.value)) < 400
