"""Labels from a table, matched with graphs."""

import contextlib
import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgnn.errors import GraphDataError, KgnnError
from kgnn.graphs.datasets.toy import cycles_and_trees
from kgnn.graphs.packing import pack
from kgnn.graphs.readers.labels_csv import (
    Label,
    label_graphs,
    merge_labels,
    read_labels,
)

NAMED = pack("named", [1, 1, 1], [], [], graph_names=["mol1", "mol2", "sub/mol3"])
# What survives a table: neither control characters, nor spaces at the ends, which are cut.
_TEXT = (
    st.text(st.characters(exclude_categories=["C", "Z"]) | st.just(" "), min_size=1, max_size=6)
    .map(str.strip)
    .filter(bool)
)


def read(tmp_path, text, **columns):
    path = tmp_path / "labels.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return {name: label.text for name, label in read_labels(path, **columns).items()}


def test_other_columns_are_ignored_and_an_empty_label_is_unknown(tmp_path):
    text = "when,Label,ID\n2020,toxic,a\n2021,,b\n"
    assert read(tmp_path, text) == {"a": "toxic", "b": None}


def test_columns_can_be_named(tmp_path):
    found = read(tmp_path, "mol,y\na,1\n", id_column="mol", label_column="y")
    assert found == {"a": "1"}


def test_a_repeated_id_is_fine_as_long_as_it_says_the_same(tmp_path):
    assert read(tmp_path, "id,label\na,x\na,x\n") == {"a": "x"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "labels.csv is empty: expected a header such as id,label"),
        (
            "a,x\nb,y\n",
            "line 1: expected a header with the columns id and label, got a, x; choose other "
            "columns with --id-column NAME and --label-column NAME",
        ),
        ("id,active\na,x\n", "got id, active; choose other columns with --label-column active"),
        ("mol,label\na,x\n", "got mol, label; choose other columns with --id-column mol"),
        ("id,label\na,x\nb,y\na,z\n", "line 4: 'a' is z here, but x in line 2; a graph can"),
        ("id,label\na,x\na,\n", "line 3: 'a' is unlabeled here, but x in line 2"),
        ("id,label\n,x\n", "line 2: the id of label 'x' is missing"),
        ("id,label\na,x,1\n", "line 2: expected 2 cells, got 3"),
        (b"id,label\na,\xff\xfe\n", "labels.csv, line 2: not UTF-8 text"),
    ],
)
def test_a_bad_table_is_refused_by_line(tmp_path, text, message):
    with pytest.raises(GraphDataError, match=message):
        read(tmp_path, text)


def test_a_missing_or_truncated_file_is_said_so(tmp_path):
    with pytest.raises(KgnnError, match="There is no file"):
        read_labels(tmp_path / "none.csv")
    (tmp_path / "cut.csv.gz").write_bytes(b"\x1f\x8b\x08\x00")
    with pytest.raises(KgnnError, match="damaged or truncated"):
        read_labels(tmp_path / "cut.csv.gz")


@given(st.dictionaries(_TEXT, st.none() | _TEXT, max_size=6), st.sampled_from(",;\t"))
def test_what_csv_writes_is_read(tmp_path_factory, table, separator):
    written = io.StringIO()
    writer = csv.writer(written, delimiter=separator)
    writer.writerows([("id", "label"), *((name, label or "") for name, label in table.items())])
    assert read(tmp_path_factory.mktemp("csv"), written.getvalue()) == table


@given(st.binary(max_size=80))
def test_any_bytes_are_read_or_refused_with_an_error_of_ours(tmp_path_factory, data):
    with contextlib.suppress(KgnnError):
        found = read(tmp_path_factory.mktemp("csv"), b"id,label\n" + data)
        assert all(found)  # no empty id


def labels_of(graphs, table, **options):
    labeled, _ = label_graphs(graphs, table, **options)
    return [graph.target for graph in labeled]


class TestMatching:
    def test_ids_are_names_and_file_names_may_keep_their_ending(self):
        table = {"mol2": Label("x", 2), "sub/mol3.graphml.gz": Label("y", 3)}
        assert labels_of(NAMED, table) == [None, "x", "y"]

    def test_ids_are_positions_only_where_graphs_have_no_names(self):
        assert labels_of(cycles_and_trees(3), {"1": Label("x", 2)}) == [None, "x", None]
        with pytest.raises(GraphDataError, match="there is no graph '1'"):
            labels_of(NAMED, {"1": Label("x", 2)})

    def test_unknown_ids_are_named_with_the_nearest(self):
        table = {"mol1": Label("x", 2), "Mol2": Label("x", 3, "labels.csv"), **_strangers(5)}
        message = (
            r"labels.csv, line 3: there is no graph 'Mol2' \(nearest: mol2.*\); 5 more are "
            r"unknown: s0, s1, s2, …\. Correct the ids"
        )
        with pytest.raises(GraphDataError, match=message):
            labels_of(NAMED, table)
        assert labels_of(NAMED, table, ignore_unknown=True) == ["x", None, None]
        _, unknown = label_graphs(NAMED, table, ignore_unknown=True)
        assert unknown == ["Mol2", "s0", "s1", "s2", "s3", "s4"]

    def test_two_ids_of_one_graph_must_agree(self):
        table = {"mol1": Label("x", 2), "mol1.gml": Label("y", 3)}
        with pytest.raises(GraphDataError, match="'mol1.gml' and 'mol1' are the same graph"):
            labels_of(NAMED, table)

    def test_two_ids_of_one_graph_may_know_more_and_less(self):
        table = {"mol1": Label(None, 2), "mol1.gml": Label("y", 3), "mol1.gexf": Label(None, 4)}
        assert labels_of(NAMED, table) == ["y", None, None]

    def test_targets_are_kept_if_asked_for_and_must_agree(self):
        graphs, table = cycles_and_trees(2), {"0": Label("ring", 2)}
        assert labels_of(graphs[1:], table, keep_targets=False) == ["ring"]
        assert labels_of(graphs.with_targets([-1, 1]), table, keep_targets=True) == ["ring", "tree"]
        with pytest.raises(GraphDataError, match="'0' is ring in --labels, but cycle in the data"):
            labels_of(graphs, table, keep_targets=True)


class TestMerging:
    def test_another_table_may_know_what_one_does_not(self, tmp_path):
        tables = []
        for name, text in (("a", "id,label\n1,x\n2,\n3,\n"), ("b", "label,id\nx,1\ny,2\n,3\n")):
            (tmp_path / name).write_text(text)
            tables.append(read_labels(tmp_path / name))
        for order in (tables, tables[::-1]):
            merged = merge_labels(order)
            assert {name: label.text for name, label in merged.items()} == {
                "1": "x", "2": "y", "3": None
            }  # fmt: skip

    def test_contradictions_are_named_by_both_files(self):
        tables = [{"1": Label("x", 2, "a.csv")}, {"1": Label("y", 5, "b.csv")}]
        message = "b.csv, line 5: '1' is y here, but x in a.csv, line 2; a graph can have only one"
        with pytest.raises(GraphDataError, match=message):
            merge_labels(tables)


def _strangers(n):
    return {f"s{i}": Label("x", 4 + i) for i in range(n)}
