"""The collector names the place of whatever does not fit."""

from __future__ import annotations

import pytest

from kgnn.errors import GraphDataError
from kgnn.graphs.collector import GraphCollector


@pytest.fixture
def graphs():
    collector = GraphCollector()
    collector.add("first", 2, [(0, 1)], edge_labels=["a"], node_labels="CO", name="one")
    return collector


def test_edges_are_numbered_within_each_graph(graphs):
    graphs.add("second", 3, [(0, 2)], edge_labels=["b"], node_labels="CCN", name="two")
    dataset = graphs.dataset("x")
    assert [graph.edges.tolist() for graph in dataset] == [[[0, 1]], [[0, 2]]]
    assert [graph.name for graph in dataset] == ["one", "two"]
    assert len(graphs) == 2


def test_a_graph_without_nodes_needs_no_labels(graphs):
    graphs.add("second", 0, [], name="two")
    assert graphs.dataset("x").graph_sizes.tolist() == [2, 0]


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        ({"edges": [(0, 2)]}, "second: edge 0 names node 2, but the 2 nodes"),
        ({"node_labels": "C"}, "second: expected 2 node labels, got 1"),
        ({"node_labels": None}, "second lacks node labels, which first has"),
        ({"edge_labels": None}, "second lacks edge labels, which first has"),
        ({"node_attributes": [1, 2]}, "second has node attributes, but not first"),
        ({"node_attributes": [1, "x"]}, "second: node attributes must be numbers"),
        ({"edge_weights": [float("nan")]}, "second: edge weights must be finite"),
        ({"name": "one"}, "second: the name 'one' is already taken by first"),
    ],
)
def test_what_does_not_fit_is_refused_by_place(graphs, graph, message):
    plain = {"edges": [(0, 1)], "node_labels": "CC", "edge_labels": ["a"], "name": "two"}
    with pytest.raises(GraphDataError, match=message):
        graphs.add("second", 2, **(plain | graph))


def test_a_conflict_is_named_by_the_graphs_own_numbers(graphs):
    graphs.add("bare", 0, [], name="bare")
    with pytest.raises(GraphDataError, match="second: the edge 1, 2 occurs twice"):
        graphs.add("second", 3, [(2, 1), (1, 2)], edge_labels="ab", node_labels="CCC", name="two")


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        ({"edge_weights": [10**400]}, "edge weights must be numbers"),
        ({"node_attributes": [[10**400], [1]]}, "node attributes must be numbers"),
        ({"node_labels": ["C", "\ud800"]}, r"node labels must be text, got '\\ud800' with"),
        ({"edge_labels": ["a\0"]}, "edge labels must be text"),
        ({"node_labels": ["C", ["O"]]}, r"node labels must be text or numbers, got \['O'\]"),
        ({"target": {}}, "target and name must be text or numbers"),
        ({"name": "\udfff"}, "target and name must be text"),
    ],
)
def test_what_could_not_be_written_again_is_refused(graph, message):
    with pytest.raises(GraphDataError, match=f"line 1: {message}"):
        GraphCollector().add("line 1", 2, [(0, 1)], **graph)


def test_too_many_nodes_are_named_by_place(monkeypatch):
    monkeypatch.setenv("KGNN_MAX_BARE_NODES", str(2**40))
    graphs = GraphCollector()
    graphs.add("line 1", 2**31 - 2, [])
    with pytest.raises(GraphDataError, match="line 2: a dataset has at most 2147483647 nodes"):
        graphs.add("line 2", 2, [])


@pytest.mark.parametrize(
    "bad",
    [
        {"node_labels": "CN"},
        {"node_labels": "CN", "name": "a"},
        {"node_labels": "CN", "name": "b", "edge_weights": [1]},
        {"node_labels": "C", "name": "b"},
        {"node_labels": "CN", "name": "b", "target": []},
    ],
)
def test_a_graph_that_is_refused_leaves_no_trace(bad):
    graphs, same = GraphCollector(), GraphCollector()
    for each in (graphs, same):
        each.add("line 1", 2, [(0, 1)], node_labels="CO", name="a")
    with pytest.raises(GraphDataError):
        graphs.add("line 2", 2, [(0, 1)], **bad)
    for each in (graphs, same):
        each.add("line 3", 2, [(0, 1)], node_labels="NN", name="b")
    assert graphs.dataset("x").fingerprint == same.dataset("x").fingerprint
