"""Graphs in runs: the same graphs, in the same order, never too many at a time."""

import gzip

import networkx as nx
import numpy as np
import pytest

from kgnn.errors import GraphDataError
from kgnn.graphs.datasets.toy import cycles_and_trees, planted_motifs
from kgnn.graphs.joining import concatenate
from kgnn.graphs.loading import load
from kgnn.graphs.readers import jsonl, streaming
from kgnn.graphs.readers.streaming import named, stream
from kgnn.graphs.refusal import Skipped
from tests.graphs import tu_files


@pytest.fixture(autouse=True)
def small_runs(monkeypatch):
    monkeypatch.setattr(streaming, "GRAPHS_AT_ONCE", 4)
    monkeypatch.setattr(streaming, "_FILES_AT_ONCE", 4)


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
    monkeypatch.setattr(streaming, "SIZE_AT_ONCE", 60)
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
    found = concatenate(list(stream(path, refuse=skipped)))
    assert found.graph_names.tolist() == ["1", "3", "4", "5", "7", "8"]
    assert skipped.n == 3


def test_a_refused_name_is_not_taken(tmp_path):
    path = tmp_path / "x.jsonl"
    lines = ['{"id": "a", "nodes": 1, "edges": [[0, 9]]}', '{"id": "a", "nodes": 2, "edges": []}']
    path.write_text("\n".join(lines))
    skipped = Skipped()
    (found,) = stream(path, refuse=skipped)
    assert (found.graph_names.tolist(), found.n_nodes, skipped.n) == (["a"], 2, 1)


def test_a_folder_of_which_nothing_can_be_read_gives_no_run(tmp_path):
    (tmp_path / "a.graphml").write_text("<graphml>")
    skipped = Skipped()
    assert list(stream(tmp_path, refuse=skipped)) == []
    assert skipped.n == 1
