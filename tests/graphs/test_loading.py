"""`load` and `stream` take a name or a path, give the same graphs, and say what they can read."""

from __future__ import annotations

import gzip
import subprocess
import sys

import networkx as nx
import numpy as np
import pytest

from kgnn.errors import DatasetUnavailableError, GraphDataError, Skipped, UnknownNameError
from kgnn.graphs import collector
from kgnn.graphs.collector import named
from kgnn.graphs.datasets import sources
from kgnn.graphs.datasets.catalog import ENTRIES
from kgnn.graphs.datasets.toy import cycles_and_trees, planted_motifs
from kgnn.graphs.loading import dataset_names, load, stream
from kgnn.graphs.packing import concatenate
from kgnn.graphs.readers import jsonl, network_files
from tests.graphs import tu_files
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
        with pytest.raises(
            GraphDataError, match=r"no known format\. Readable are TU \(\.zip, folders\)"
        ):
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


@pytest.fixture(autouse=True)
def small_runs(monkeypatch):
    monkeypatch.setattr(collector, "GRAPHS_AT_ONCE", 4)
    monkeypatch.setattr(network_files, "FILES_AT_ONCE", 4)


def joined(source, **options):
    runs = list(stream(source, **options))
    assert all(0 < len(run) <= 4 for run in runs)
    return concatenate(runs)


@pytest.mark.parametrize("name", ["graphs.jsonl", "graphs.ndjson.gz"])
def test_json_lines_come_in_runs(tmp_path, name):
    jsonl.write(planted_motifs(10), tmp_path / name)
    found = joined(tmp_path / name)
    assert found.fingerprint == named(load(tmp_path / name)).fingerprint
    assert found.graph_names.tolist() == [str(row) for row in range(10)]


def test_smiles_come_in_runs_and_columns_can_be_named(tmp_path):
    path = tmp_path / "molecules.csv"
    path.write_text("key,s\n" + "".join(f"m{i},{'C' * (i + 1)}O\n" for i in range(9)))
    columns = {"smiles_column": "s", "id_column": "key"}
    assert joined(path, **columns).fingerprint == load(path, **columns).fingerprint


def test_folders_come_in_runs(tmp_path):
    for number in range(6):
        nx.write_graphml(nx.path_graph(number + 1), tmp_path / f"p{number}.graphml")
    (tmp_path / "labels.csv").write_text("id,label\np0,short\np5,long\n")
    found = joined(tmp_path)
    assert found.fingerprint == load(tmp_path).fingerprint
    assert [graph.target for graph in found] == ["short", None, None, None, None, "long"]


def test_labels_in_gml_are_kept_where_they_are_known_to_be_labels(tmp_path):
    graph = nx.path_graph(2)
    nx.set_node_attributes(graph, {0: "C", 1: "O"}, "label")
    nx.write_gml(nx.relabel_nodes(graph, str), tmp_path / "a.gml")
    assert next(stream(tmp_path)).node_labels is None
    assert next(stream(tmp_path, has_node_labels=True)).node_labels is not None


def test_other_sources_are_cut(tmp_path):
    tu_files.folder(tmp_path / "TINY")
    assert joined(tmp_path / "TINY").fingerprint == named(load(tmp_path / "TINY")).fingerprint
    assert [len(run) for run in stream("cycles-and-trees", n_graphs=9)] == [4, 4, 1]


def test_a_large_graph_is_a_run_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setattr(collector, "SIZE_AT_ONCE", 60)
    jsonl.write(planted_motifs(4, n_nodes=40), tmp_path / "large.jsonl")
    assert [len(run) for run in stream(tmp_path / "large.jsonl")] == [1, 1, 1, 1]


def test_a_name_of_an_earlier_run_is_refused(tmp_path):
    path = tmp_path / "twice.jsonl"
    lines = [f'{{"id": "g{i % 6}", "nodes": 1, "edges": []}}\n' for i in range(7)]
    path.write_text("".join(lines))
    runs = stream(path)
    assert len(next(runs)) == 4
    with pytest.raises(GraphDataError, match=r"line 7: the name 'g0' is already taken"):
        list(runs)


def test_graphs_before_a_bad_line_have_come_already(tmp_path):
    path = tmp_path / "cut.jsonl.gz"
    good = '{"nodes": 1, "edges": []}\n' * 8
    path.write_bytes(gzip.compress((good + '{"nodes": 2, "ed').encode()))
    runs = stream(path)
    assert [len(next(runs)), len(next(runs))] == [4, 4]
    with pytest.raises(GraphDataError, match="line 9: not valid JSON"):
        next(runs)


def test_an_empty_file_is_refused(tmp_path):
    (tmp_path / "empty.jsonl").write_text("\n")
    with pytest.raises(GraphDataError, match="holds no graphs"):
        list(stream(tmp_path / "empty.jsonl"))


def test_names_are_kept_by_position_in_any_selection():
    graphs = named(cycles_and_trees(5))
    assert graphs[np.array([3, 1])].graph_names.tolist() == ["3", "1"]
    assert named(graphs) is graphs


def test_graphs_that_are_left_out_count_for_the_positions_of_others(tmp_path):
    path = tmp_path / "x.jsonl"
    good, bad = '{"nodes": 1, "edges": []}', '{"nodes": 1, "edges": [[0, 9]]}'
    path.write_text("\n".join([bad, good, "{", good, good, good, bad, good, good]))
    skipped = Skipped()
    found = concatenate(list(stream(path, on_error=skipped)))
    assert found.graph_names.tolist() == ["1", "3", "4", "5", "7", "8"]
    assert skipped.n == 3


def test_a_refused_name_is_not_taken(tmp_path):
    path = tmp_path / "x.jsonl"
    lines = ['{"id": "a", "nodes": 1, "edges": [[0, 9]]}', '{"id": "a", "nodes": 2, "edges": []}']
    path.write_text("\n".join(lines))
    skipped = Skipped()
    (found,) = stream(path, on_error=skipped)
    assert (found.graph_names.tolist(), found.n_nodes, skipped.n) == (["a"], 2, 1)


def test_a_folder_of_which_nothing_can_be_read_gives_no_run(tmp_path):
    (tmp_path / "a.graphml").write_text("<graphml>")
    skipped = Skipped()
    assert list(stream(tmp_path, on_error=skipped)) == []
    assert skipped.n == 1


def test_a_source_that_is_loaded_whole_leaves_out_the_same_graphs(tmp_path):
    path = tmp_path / "x.jsonl"
    good, bad = '{"nodes": 1, "edges": []}', '{"nodes": 1, "edges": [[0, 9]]}'
    path.write_text("\n".join([bad, good, "{", good, good]))
    skipped = Skipped()
    found = load(path, on_error=skipped)
    assert found.graph_names.tolist() == ["1", "3", "4"]
    assert [reason.partition(":")[0][-6:] for reason in skipped.reasons] == ["line 1", "line 3"]
    path.write_text("\n".join([good, good, bad]))
    assert load(path, on_error=skipped).graph_names is None  # positions are right as they are


def test_molecules_and_files_that_cannot_be_read_are_left_out(tmp_path):
    (tmp_path / "x.csv").write_text("id,smiles\na,CCO\nb,C(\nc,CC\n")
    (tmp_path / "nets").mkdir()
    (tmp_path / "nets" / "a.graphml").write_text("<graphml>")
    nx.write_graphml(nx.path_graph(3), tmp_path / "nets" / "b.graphml")
    for source, names in (("x.csv", ["a", "c"]), ("nets", ["b"])):
        skipped = Skipped()
        assert load(tmp_path / source, on_error=skipped).graph_names.tolist() == names
        assert skipped.n == 1
    with pytest.raises(GraphDataError, match="line 3: 'C\\(' is not valid SMILES"):
        load(tmp_path / "x.csv")
