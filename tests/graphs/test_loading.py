"""`load` takes a name or a path and says what it can read."""

from __future__ import annotations

import subprocess
import sys

import networkx as nx
import pytest

from kgnn.errors import DatasetUnavailableError, GraphDataError, UnknownNameError
from kgnn.graphs.datasets import sources
from kgnn.graphs.datasets.catalog import ENTRIES
from kgnn.graphs.datasets.toy import cycles_and_trees
from kgnn.graphs.loading import dataset_names, load
from kgnn.graphs.readers import jsonl
from tests.graphs.tu_files import folder, zipped


class TestPaths:
    def test_a_tu_folder_or_zip(self, tmp_path):
        (tmp_path / "TINY.zip").write_bytes(zipped())
        folder(tmp_path / "TINY")
        assert load(tmp_path / "TINY.zip").fingerprint == load(str(tmp_path / "TINY")).fingerprint

    @pytest.mark.parametrize("name", ["x.jsonl", "x.ndjson", "x.jsonl.gz", "X.JSONL"])
    def test_json_lines(self, tmp_path, name):
        jsonl.write(cycles_and_trees(4), tmp_path / name)
        assert len(load(tmp_path / name)) == 4

    def test_a_table_of_smiles_with_options(self, tmp_path):
        (tmp_path / "m.csv").write_text("structure,kind\nCCO,a\n")
        dataset = load(tmp_path / "m.csv", smiles_column="structure", target_column="kind")
        assert dataset[0].target == "a"

    def test_a_folder_of_graph_files(self, tmp_path):
        nx.write_graphml(nx.path_graph(3), tmp_path / "a.graphml")
        assert load(tmp_path)[0].n_edges == 2

    def test_a_home_folder_may_be_abbreviated(self, tmp_path, monkeypatch):
        monkeypatch.setenv("HOME", str(tmp_path))
        folder(tmp_path / "TINY")
        assert len(load("~/TINY")) == 2


class TestNames:
    def test_generated_datasets_take_options(self):
        assert len(load("cycles-and-trees", n_graphs=8, seed=1)) == 8
        assert load("Planted-Motifs").name == "planted-motifs"

    def test_the_catalog_is_asked(self, monkeypatch):
        monkeypatch.setattr(sources, "open_entry", lambda entry: entry.name)
        assert load("imdb-b") == "IMDB-BINARY"

    def test_a_name_wins_over_a_file_of_that_name(self, monkeypatch, tmp_path):
        monkeypatch.setattr(sources, "open_entry", lambda entry: entry.name)
        monkeypatch.chdir(tmp_path)
        folder(tmp_path / "MUTAG")
        assert load("MUTAG") == "MUTAG"
        assert len(load("./MUTAG")) == 2

    def test_all_names_are_listed(self):
        assert set(dataset_names()) > {entry.name for entry in ENTRIES}
        assert "python-functions" in dataset_names()


class TestRefusals:
    def test_an_unknown_name_suggests_the_nearest(self):
        with pytest.raises(UnknownNameError, match=r"'REDIT-BINARY'\. Did you mean REDDIT-BINARY"):
            load("REDIT-BINARY")

    @pytest.mark.parametrize("source", ["some/folder/none", "none.jsonl", "none.zip"])
    def test_a_path_that_is_not_there_is_said_so(self, source):
        with pytest.raises(DatasetUnavailableError, match=f"There is no file or folder {source}"):
            load(source)

    def test_another_format_is_refused_with_those_that_are_known(self, tmp_path):
        (tmp_path / "x.parquet").write_text("")
        with pytest.raises(GraphDataError, match=r"no known format\. Readable are a TU folder"):
            load(tmp_path / "x.parquet")

    def test_a_folder_without_graphs_is_refused(self, tmp_path):
        with pytest.raises(GraphDataError, match="holds no graphs"):
            load(tmp_path)


def test_loading_needs_none_of_the_heavy_libraries(tmp_path):
    jsonl.write(cycles_and_trees(4), tmp_path / "x.jsonl")
    program = (
        "import sys; from kgnn.graphs import load, as_dataset, from_networkx, from_pyg; "
        f"as_dataset(load({str(tmp_path / 'x.jsonl')!r})); "
        "print({'torch', 'networkx', 'rdkit', 'torch_geometric', 'sklearn'} & set(sys.modules))"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "set()"
