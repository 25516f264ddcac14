"""JSON Lines come back as they were written, and bad lines are refused by number."""

from __future__ import annotations

import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgnn.errors import ArchiveError, DatasetUnavailableError, GraphDataError, ParameterError
from kgnn.graphs.datasets.toy import planted_motifs
from kgnn.graphs.readers import jsonl, text
from tests.graphs.strategies import datasets


def read(folder, *lines):
    path = folder / "data.jsonl"
    path.write_text("\n".join(x if isinstance(x, str) else json.dumps(x) for x in lines))
    return jsonl.read(path)


class TestRoundTrip:
    @given(datasets(), st.sampled_from(["x.jsonl", "x.ndjson", "x.jsonl.gz"]))
    def test_what_was_written_is_read(self, tmp_path_factory, dataset, name):
        path = tmp_path_factory.getbasetemp() / name
        jsonl.write(dataset, path)
        assert jsonl.read(path).fingerprint == dataset.fingerprint

    @given(datasets(directed=True))
    def test_directions_are_read_on_request(self, tmp_path_factory, dataset):
        path = tmp_path_factory.getbasetemp() / "directed.jsonl"
        jsonl.write(dataset, path)
        assert jsonl.read(path, directed=True).fingerprint == dataset.fingerprint
        with pytest.raises(ParameterError, match="'directed' must be true or false, got 'yes'"):
            jsonl.read(path, directed="yes")

    @pytest.mark.parametrize("name", ["x.jsonl", "x.jsonl.gz"])
    def test_equal_graphs_give_equal_bytes(self, tmp_path, name):
        jsonl.write(planted_motifs(4), tmp_path / name)
        jsonl.write(planted_motifs(4), tmp_path / f"again-{name}")
        assert (tmp_path / name).read_bytes() == (tmp_path / f"again-{name}").read_bytes()

    @pytest.mark.parametrize("name", ["x.jsonl", "x.jsonl.gz"])
    def test_failing_to_write_leaves_the_old_file(self, tmp_path, monkeypatch, name):
        jsonl.write(planted_motifs(4), tmp_path / name)
        before = (tmp_path / name).read_bytes()
        monkeypatch.setattr(jsonl, "_record", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            jsonl.write(planted_motifs(6), tmp_path / name)
        assert (tmp_path / name).read_bytes() == before
        assert [path.name for path in tmp_path.iterdir()] == [name]


class TestReading:
    def test_the_short_form_is_read(self, tmp_path):
        dataset = read(
            tmp_path,
            {"nodes": 3, "edges": [[0, 1], [1, 0], [2, 2]], "target": 1},
            "",
            {"nodes": 0, "edges": [], "target": None},
            {"nodes": 1, "edges": []},
        )
        assert dataset.name == "data"
        assert dataset.graph_sizes.tolist() == [3, 0, 1]
        assert dataset.edge_counts.tolist() == [2, 0, 0]
        assert dataset.targets.tolist() == [0, -1, -1]
        assert dataset.class_names == ("1",)

    def test_the_long_form_is_read(self, tmp_path):
        nodes = [{"label": "C", "attributes": [1, 2.5]}, {"label": 7, "attributes": [0, -1]}]
        record = {"id": 5, "nodes": nodes, "edges": [[1, 0, "double"]], "weights": [2]}
        graph = read(tmp_path, record)[0]
        assert graph.name == "5"
        assert graph.node_labels == ["C", "7"]
        assert graph.node_attributes.tolist() == [[1, 2.5], [0, -1]]
        assert graph.edge_labels == ["double"]
        assert graph.edge_weights.tolist() == [2]

    def test_graphs_without_edges_need_no_edge_labels(self, tmp_path):
        dataset = read(tmp_path, {"nodes": 2, "edges": []}, {"nodes": 2, "edges": [[0, 1, "a"]]})
        assert dataset[1].edge_labels == ["a"]

    def test_a_byte_order_mark_does_no_harm(self, tmp_path):
        assert len(read(tmp_path, '\ufeff{"nodes": 1, "edges": []}')) == 1


_OK = {"nodes": 2, "edges": [[0, 1]]}


class TestRefusals:
    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ('{"nodes": 2,', "not valid JSON"),
            ("[" * 100_000, "nested too deeply"),
            ("[1, 2]", r"expected an object with nodes and edges, got \[1, 2\]"),
            ({"edges": []}, "the key 'nodes' is missing"),
            ({"nodes": 2}, "the key 'edges' is missing"),
            (_OK | {"Target": 1}, "unknown key 'Target'; did you mean 'target'?"),
            (_OK | {"zzz": 1}, "unknown key 'zzz'; known are id, nodes"),
            ({"nodes": [{"name": "C"}], "edges": []}, "unknown key 'name'"),
            ({"nodes": -1, "edges": []}, "nodes must be a number or a list, got -1"),
            ({"nodes": True, "edges": []}, "nodes must be a number or a list, got true"),
            ({"nodes": 2.0, "edges": []}, "nodes must be a number or a list, got 2.0"),
            ({"nodes": 2, "edges": 3}, "edges must be a list"),
            ({"nodes": 2, "edges": [[0]]}, r"edge 0 must be \[u, v\]"),
            ({"nodes": 2, "edges": [[0, 1], 5]}, r"edge 1 must be \[u, v\]"),
            ({"nodes": 2, "edges": [[0, 2]]}, "edge 0 names node 2, but the 2 nodes"),
            ({"nodes": 2, "edges": [[-1, 0]]}, "edge 0 names node -1"),
            ({"nodes": 2, "edges": [[0, True]]}, r"two node numbers, got \[0, true\]"),
            ({"nodes": 2, "edges": [[0, 1.0]]}, r"two node numbers, got \[0, 1.0\]"),
            ({"nodes": 2, "edges": [[0, "1"]]}, "two node numbers"),
            ({"nodes": 2, "edges": [[0, 10**30]]}, "two node numbers"),
            ({"nodes": 2, "edges": [[0, 1], [1, 1, "a"]]}, "either all have a label or none"),
            ({"nodes": 2, "edges": [[0, 1, ["a"]]]}, "label of edge 0 must be text or a number"),
            ({"nodes": ["C", {}], "edges": []}, "node 1 has no label, but other nodes have"),
            ({"nodes": ["C", None], "edges": []}, "node 1 has no label"),
            ({"nodes": [["C"]], "edges": []}, r"label of node 0 must be .* got \[\"C\"\]"),
            ({"nodes": [{"attributes": 1}], "edges": []}, "must be a list of numbers, got 1"),
            ({"nodes": [{"attributes": ["1"]}], "edges": []}, "must be a list of numbers"),
            (
                {"nodes": [{"attributes": [1]}, {"attributes": [1, 2]}], "edges": []},
                "node 1 has 2 attributes, but node 0 has 1",
            ),
            ('{"nodes": [{"attributes": [NaN]}], "edges": []}', "NaN is not a finite number"),
            ('{"nodes": [{"attributes": [-Infinity]}], "edges": []}', "-Infinity is not a finite"),
            (
                '{"nodes": [{"attributes": [1e999]}], "edges": []}',
                "must be finite numbers, got",
            ),
            ('{"nodes": [1e999], "edges": []}', "label of node 0 must be text or a number"),
            (_OK | {"weights": [1, 2]}, "expected 1 edge weights, got 2"),
            (_OK | {"weights": ["a"]}, "weights must be a list of numbers"),
            (_OK | {"target": ["a"]}, r"target must be text or a number, got \[\"a\"\]"),
            (_OK | {"id": {}}, "id must be text or a number"),
            ({"nodes": ["C"], "edges": []}, "has node labels, but not .*, line 1"),
            (_OK | {"id": "b"}, "has a name, but not .*, line 1"),
        ],
    )
    def test_a_bad_line_is_refused_by_number(self, tmp_path, line, message):
        with pytest.raises(GraphDataError, match=rf"data\.jsonl, line 2:? .*{message}"):
            read(tmp_path, _OK, line)

    def test_repeats_of_an_edge_that_disagree_are_refused(self, tmp_path):
        with pytest.raises(GraphDataError, match="line 1: the edge 1, 0 occurs twice"):
            read(tmp_path, {"nodes": 2, "edges": [[0, 1, "a"], [1, 0, "b"]]})

    def test_an_id_that_is_taken_is_refused(self, tmp_path):
        with pytest.raises(GraphDataError, match=r"line 2: the name 'a' .* taken by .*line 1"):
            read(tmp_path, _OK | {"id": "a"}, _OK | {"id": "a"})

    def test_attributes_that_differ_between_graphs_are_refused(self, tmp_path):
        one, two = ({"nodes": [{"attributes": [1] * n}], "edges": []} for n in (1, 2))
        with pytest.raises(GraphDataError, match="line 2: 2 node attributes for each, but 1 in"):
            read(tmp_path, one, two)

    @pytest.mark.parametrize("lines", [[], ["", "  ", ""]])
    def test_an_empty_file_is_refused(self, tmp_path, lines):
        with pytest.raises(GraphDataError, match="holds no graphs"):
            read(tmp_path, *lines)

    def test_a_file_that_is_not_there_is_said_so(self, tmp_path):
        with pytest.raises(DatasetUnavailableError, match="There is no file"):
            jsonl.read(tmp_path / "none.jsonl")

    def test_bytes_that_are_no_text_are_refused(self, tmp_path):
        (tmp_path / "x.jsonl").write_bytes(b'{"nodes": 1, "edges": []}\n\xff\xfe\n')
        with pytest.raises(GraphDataError, match="line 2: not UTF-8"):
            jsonl.read(tmp_path / "x.jsonl")

    @pytest.mark.parametrize("cut", [1, 5, 20, -1, -9])
    def test_a_truncated_gzip_is_refused(self, tmp_path, cut):
        content = gzip.compress(json.dumps(_OK).encode() * 3)
        (tmp_path / "x.jsonl.gz").write_bytes(content[:cut])
        with pytest.raises(ArchiveError, match=r"x\.jsonl\.gz is damaged or truncated"):
            jsonl.read(tmp_path / "x.jsonl.gz")

    def test_a_line_that_unpacks_without_end_is_refused(self, tmp_path, monkeypatch):
        monkeypatch.setattr(text, "MAX_LINE_BYTES", 1000)
        (tmp_path / "x.jsonl.gz").write_bytes(gzip.compress(b" " * 100_000))
        with pytest.raises(GraphDataError, match="line 1: the line or file exceeds"):
            jsonl.read(tmp_path / "x.jsonl.gz")


def test_labels_that_json_writes_in_two_ways_are_one(tmp_path):
    path = tmp_path / "labels.jsonl"
    path.write_text(
        '{"nodes": [1, 1.0], "edges": [], "target": true}\n'
        '{"nodes": ["1", 2.5], "edges": [], "target": "true"}\n'
    )
    graphs = jsonl.read(path)
    assert graphs.class_names == ("true",)
    assert graphs.node_label_names == ("1", "2.5")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"nodes": 2147483647, "edges": []}', "2,147,483,647 nodes have no edge"),
        ('{"nodes": 16777219, "edges": [[0, 1]]}', "16,777,217 nodes have no edge"),
        (f'{{"nodes": 2, "edges": [[0, 1]], "weights": [{"9" * 400}]}}', "too large to convert"),
        ('{"id": "a\\ud800", "nodes": 1, "edges": []}', "half of a character"),
        ('{"id": "a\\u0000", "nodes": 1, "edges": []}', "with a zero byte"),
        (f'{{"nodes": 1, "edges": [], "{"k" * 99_999}": 1}}', "unknown key 'k{80}…'; known are"),
    ],
)
def test_a_line_that_would_cost_too_much_is_refused_by_number(tmp_path, line, message):
    path = tmp_path / "x.jsonl"
    path.write_text(line)
    with pytest.raises(GraphDataError, match=f"x.jsonl, line 1: .*{message}"):
        jsonl.read(path)


def test_no_depth_is_too_deep_to_be_refused(tmp_path):
    path = tmp_path / "x.jsonl"
    for depth in (10, *range(880, 1000, 1), 100_000):  # some are read, but cannot be shown
        path.write_text(f'{{"nodes": {"[" * depth}{"]" * depth}, "edges": []}}')
        with pytest.raises(GraphDataError, match="x.jsonl, line 1: "):
            jsonl.read(path)
