"""TU datasets are read as they are, and refused with file and line where they are wrong."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgnn.errors import GraphDataError
from kgnn.graphs.readers import tu
from kgnn.graphs.readers.archive import TextFiles
from kgnn.graphs.readers.tu import read_pieces, read_table
from tests.graphs.mutations import mutated
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

    def test_more_are_attributes(self, write):
        dataset = tu.read(write(edge_attributes="1, 2\n" * 6))
        assert dataset[0].edge_attributes.tolist() == [[1, 2]] * 2
        assert dataset.edge_weights is None


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
        with pytest.raises(GraphDataError, match="has 2 files named NAME_A.txt"):
            tu.read(path)

    def test_a_folder_without_dataset_is_refused(self, tmp_path):
        with pytest.raises(GraphDataError, match="has 0 files named NAME_A.txt"):
            tu.read(tmp_path)


@pytest.mark.parametrize("number", [2**21, 2**31, 2**32 + 1, 2**62])
def test_a_graph_id_beyond_all_nodes_is_refused_before_memory_is_taken(tmp_path, number):
    indicator = f"1\n1\n1\n2\n2\n{number}\n"  # the last node has no edge
    bare = dict.fromkeys(("graph_labels", "node_labels", "node_attributes", "edge_labels"))
    path = folder(tmp_path / "x", graph_indicator=indicator, **bare)
    message = f"graph_indicator.txt, line 6: graph id {number} is too large for 6 nodes"
    with pytest.raises(GraphDataError, match=message):
        tu.read(path)


def table(folder, text, dtype=np.int64, columns=None):
    (folder / "t.txt").write_text(text)
    return read_table(TextFiles(folder), "t.txt", dtype, columns)


_INTEGERS = st.integers(-(2**63) + 2, 2**63 - 2)
_FLOATS = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(st.tuples(_INTEGERS, _INTEGERS), min_size=1))
def test_integers_are_read_exactly(tmp_path_factory, rows):
    text = "".join(f"{u}, {v}\n" for u, v in rows)
    assert table(tmp_path_factory.getbasetemp(), text).tolist() == [list(row) for row in rows]


@given(st.lists(st.lists(_FLOATS, min_size=3, max_size=3), min_size=1))
def test_floats_are_read_exactly(tmp_path_factory, rows):
    text = "".join(",".join(map(repr, row)) + "\n" for row in rows)
    assert table(tmp_path_factory.getbasetemp(), text, np.float64).tolist() == rows


def test_line_ends_of_windows_and_blank_lines_at_the_end_do_no_harm(tmp_path):
    assert table(tmp_path, "1,2\r\n3,4\r\n\r\n").tolist() == [[1, 2], [3, 4]]


def test_an_empty_file_is_an_empty_table(tmp_path):
    assert table(tmp_path, "", columns=2).shape == (0, 2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1\nx\n", "line 2: expected an integer, got 'x'"),
        ("1\n2.5\n", "line 2: expected an integer, got '2.5'"),
        ("1\n\n2\n", "line 2: expected an integer, got ''"),
        ("1\n1 2\n", "line 2: expected an integer, got '1 2'"),
        ("1\n2, 3\n", "line 2: expected 1 value, got 2 in '2, 3'"),
        ("1, 2\n3\n", "line 2: expected 2 values, got 1 in '3'"),
        ("1, 2\n3, 4,\n", "line 2: expected 2 values, got 3"),
        ("1\n99999999999999999999\n", "line 2: expected an integer, got '99999999999999999999'"),
        ("1\n0x10\n", "line 2: expected an integer, got '0x10'"),
        ("1\n-\n", "line 2: expected an integer, got '-'"),
        ("+\n1\n\n", r"line 1: expected an integer, got '\+'"),
        ("1\n- 2\n", "line 2: expected an integer, got '- 2'"),
    ],
)
def test_a_bad_line_is_named(tmp_path, text, message):
    with pytest.raises(GraphDataError, match=message):
        table(tmp_path, text)


@pytest.mark.parametrize("bad", ["nan", "inf", "-inf", "1e999", "one"])
def test_numbers_that_are_not_finite_are_refused(tmp_path, bad):
    with pytest.raises(GraphDataError, match=f"line 2: expected a finite number, got '{bad}'"):
        table(tmp_path, f"1.5, 2\n3, {bad}\n", np.float64)


def test_lines_are_counted_across_pieces(tmp_path, monkeypatch):
    whole = TextFiles.chunks
    monkeypatch.setattr(TextFiles, "chunks", lambda self, name: whole(self, name, 8))
    (tmp_path / "t.txt").write_text("1\n2\n3\n4\n5\n6\n7\n8\nx\n")
    with pytest.raises(GraphDataError, match="line 9"):
        list(read_pieces(TextFiles(tmp_path), "t.txt", np.int64))


def test_a_missing_number_is_not_made_up_for_by_another(tmp_path):
    for text, columns in (("1 2\n\n3\n", 1), ("1 2,\n3, 4\n", 2), ("1,2,3\n4 5, ,6\n", 3)):
        with pytest.raises(GraphDataError, match="line"):
            table(tmp_path, text, columns=columns)


def test_a_byte_order_mark_does_no_harm(tmp_path):
    assert table(tmp_path, "\ufeff1,2\n3,4\n").tolist() == [[1, 2], [3, 4]]


_PLAIN = re.compile(r"[ \t\v\f\r]*[+-]?\d{1,19}[ \t\v\f\r]*", re.ASCII)


@settings(max_examples=300)
@given(mutated(b"1, 2\n30, -4\n5, 6\n"))
def test_a_damaged_table_is_refused_or_read_as_a_slow_reader_would(tmp_path_factory, content):
    folder = tmp_path_factory.getbasetemp()
    (folder / "t.txt").write_bytes(content)
    try:
        found = read_table(TextFiles(folder), "t.txt", np.int64, 2)
    except GraphDataError as error:
        told = str(error)
        assert "t.txt" in told
        return
    text = content.removeprefix(b"\xef\xbb\xbf").rstrip().decode()
    lines = [line.split(",") for line in text.split("\n")] if text else []
    assert all(_PLAIN.fullmatch(cell) for line in lines for cell in line)
    assert found.tolist() == [[int(cell) for cell in line] for line in lines]
