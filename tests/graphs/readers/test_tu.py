"""TU datasets are read as they are, and refused with file and line where they are wrong."""

from __future__ import annotations

import pytest

from kgnn.errors import GraphDataError, KgnnWarning
from kgnn.graphs.readers import tu
from tests.graphs.tu_files import folder, zipped


@pytest.fixture
def write(tmp_path):
    return lambda **changes: folder(tmp_path / "TINY", **changes)


class TestReading:
    def test_everything_of_a_dataset_is_read(self, write):
        dataset = tu.read(write())
        assert dataset.name == "TINY"
        assert dataset.class_names == ("-1", "1")
        assert [graph.target for graph in dataset] == ["1", "-1"]
        assert [graph.edges.tolist() for graph in dataset] == [[[0, 1], [1, 2]], [[0, 1]]]
        assert [graph.node_labels for graph in dataset] == [["6", "7", "6"], ["6", "10"]]
        assert dataset[0].node_attributes.tolist() == [[0.5, 1], [1, 2], [-1000, 0]]
        assert [graph.edge_labels for graph in dataset] == [["0", "1"], ["0"]]

    def test_a_zip_reads_like_the_folder(self, write, tmp_path):
        (tmp_path / "TINY.zip").write_bytes(zipped())
        assert tu.read(tmp_path / "TINY.zip").fingerprint == tu.read(write()).fingerprint

    def test_repeated_edges_and_single_directions_are_one_edge(self, write):
        once = write(A="1, 2\n2, 1\n2, 3\n3, 2\n4, 5\n5, 4\n", edge_labels=None)
        expected = tu.read(once).fingerprint
        assert (
            tu.read(write(A="2, 3\n1, 2\n1, 2\n5, 4\n", edge_labels=None)).fingerprint == expected
        )

    def test_self_loops_are_edges(self, write):
        dataset = tu.read(write(A="1, 1\n1, 2\n", edge_labels=None))
        assert dataset[0].edges.tolist() == [[0, 0], [0, 1]]
        assert dataset.edge_counts.tolist() == [2, 0]

    def test_nodes_without_edges_are_nodes(self, write):
        dataset = tu.read(write(A="", edge_labels=None))
        assert dataset.graph_sizes.tolist() == [3, 2]

    def test_graphs_without_nodes_are_graphs(self, write):
        dataset = tu.read(write(graph_labels="1\n1\n2\n2\n"))
        assert dataset.graph_sizes.tolist() == [3, 2, 0, 0]

    def test_graphs_of_one_node_are_graphs(self, write):
        dataset = tu.read(
            write(A="", edge_labels=None, graph_indicator="1\n2\n3\n4\n5\n", graph_labels="1\n" * 5)
        )
        assert dataset.graph_sizes.tolist() == [1] * 5

    def test_nodes_need_not_be_sorted_by_graph(self, write):
        dataset = tu.read(
            write(
                graph_indicator="2\n1\n2\n1\n2\n", A="1, 3\n3, 5\n2, 4\n", edge_labels="0\n1\n2\n"
            )
        )
        assert dataset.graph_sizes.tolist() == [2, 3]
        assert dataset[1].node_labels == ["6", "6", "10"]
        assert dataset[1].edges.tolist() == [[0, 1], [1, 2]]
        assert dataset[1].edge_labels == ["0", "1"]
        assert dataset[0].node_attributes.tolist() == [[1, 2], [0, 0]]

    def test_a_dataset_without_classes_is_unlabeled(self, write):
        dataset = tu.read(write(graph_labels=None))
        assert dataset.targets.tolist() == [-1, -1]
        assert dataset.n_classes == 0

    def test_labels_in_several_columns_become_one(self, write):
        dataset = tu.read(write(node_labels="1, 2\n1, 3\n1, 2\n1, 2\n1, 2\n"))
        assert dataset[0].node_labels == ["1,2", "1,3", "1,2"]

    def test_one_edge_attribute_is_a_weight(self, write):
        dataset = tu.read(write(edge_attributes="1\n1\n2.5\n2.5\n3\n3\n"))
        assert dataset[0].edge_weights.tolist() == [1, 2.5]

    def test_more_edge_attributes_are_left_out_with_a_warning(self, write):
        with pytest.warns(KgnnWarning, match="2 attributes per edge"):
            assert tu.read(write(edge_attributes="1, 2\n" * 6)).edge_weights is None


class TestRefusals:
    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"A": "1, 2\n0, 1\n"}, r"TINY_A.txt, line 2: node id 0 is not between 1 and 5"),
            ({"A": "1, 2\n1, 6\n"}, r"TINY_A.txt, line 2: node id 6 is not between 1 and 5"),
            ({"A": "1, 99999999999\n"}, r"TINY_A.txt, line 1: node id 99999999999 is not"),
            (
                {"A": "1, 2\n3, 4\n"},
                r"TINY_A.txt, line 2: the edge 3, 4 joins graph 1 with graph 2",
            ),
            ({"A": "1, 2\n2\n"}, r"TINY_A.txt, line 2: expected 2 values, got 1"),
            ({"A": "1, 2\n1, two\n"}, r"TINY_A.txt, line 2: expected an integer, got 'two'"),
            ({"graph_indicator": "1\n1\n1\n2\n3\n"}, r"indicator.txt, line 5: graph id 3"),
            ({"graph_indicator": "0\n1\n1\n2\n2\n"}, r"indicator.txt, line 1: graph id 0"),
            ({"graph_indicator": None}, r"has no file TINY_graph_indicator.txt"),
            ({"graph_indicator": "", "graph_labels": ""}, r"holds no graphs"),
            ({"graph_labels": "1\n0.5\n"}, r"graph_labels.txt, line 2: expected an integer"),
            ({"graph_labels": "1\nyes\n"}, r"graph_labels.txt, line 2: expected an integer"),
            ({"graph_labels": "1\n"}, r"indicator.txt, line 4: graph id 2 is not between 1 and 1"),
            ({"node_labels": "6\n7\n"}, r"node_labels.txt has 2 lines, expected 5"),
            ({"node_labels": "6\n7\nC\n6\n6\n"}, r"node_labels.txt, line 3: .* got 'C'"),
            ({"node_attributes": "1\n2\nnan\n4\n5\n"}, r"attributes.txt, line 3: .* got 'nan'"),
            ({"node_attributes": "1\n2, 3\n3\n4\n5\n"}, r"attributes.txt, line 2: expected 1"),
            ({"edge_labels": "0\n0\n"}, r"edge_labels.txt has 2 lines, expected 6"),
            ({"edge_labels": "0\n1\n1\n1\n0\n0\n"}, r"A.txt: lines 1 and 2 are the same edge"),
            ({"edge_attributes": "1\n1\n2\n2\n3\n4\n"}, r"A.txt: lines 5 and 6 are the same edge"),
        ],
    )
    def test_a_wrong_file_is_refused_by_name_and_line(self, write, changes, message):
        with pytest.raises(GraphDataError, match=message):
            tu.read(write(edge_labels=changes.pop("edge_labels", None), **changes))

    def test_a_folder_with_two_datasets_is_refused(self, write):
        path = write()
        (path / "OTHER_A.txt").write_text("")
        with pytest.raises(GraphDataError, match="holds 2 files named NAME_A.txt"):
            tu.read(path)

    def test_a_folder_without_dataset_is_refused(self, tmp_path):
        with pytest.raises(GraphDataError, match="holds 0 files named NAME_A.txt"):
            tu.read(tmp_path)


@pytest.mark.parametrize("number", [2**21, 2**31, 2**32 + 1, 2**62])
def test_a_graph_id_beyond_all_nodes_is_refused_before_memory_is_taken(tmp_path, number):
    indicator = f"1\n1\n1\n2\n2\n{number}\n"  # the last node has no edge
    bare = dict.fromkeys(("graph_labels", "node_labels", "node_attributes", "edge_labels"))
    path = folder(tmp_path / "x", graph_indicator=indicator, **bare)
    message = f"graph_indicator.txt, line 6: graph id {number} is too large for 6 nodes"
    with pytest.raises(GraphDataError, match=message):
        tu.read(path)
