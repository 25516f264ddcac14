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
    graphs.add("second", 3, [(2, 1), (1, 2)], edge_labels="ab", node_labels="CCC", name="two")
    with pytest.raises(GraphDataError, match="second: the edge 1, 2 is there twice"):
        graphs.dataset("x")
