"""Packing keeps every edge once and rejects what does not fit; joining keeps every graph."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgnn.errors import GraphDataError
from kgnn.graphs.labels import encode, ordered, recode
from kgnn.graphs.molecules import from_smiles
from kgnn.graphs.packing import ConflictingEdgesError, concatenate, pack
from tests.graphs.strategies import datasets


class TestEdges:
    @pytest.mark.parametrize("with_data", [False, True])
    @given(edges=st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=30))
    def test_each_edge_is_stored_once_whatever_its_direction_and_number(self, with_data, edges):
        weights = [1.0] * len(edges) if with_data else None
        dataset = pack("x", [7], [u for u, _ in edges], [v for _, v in edges], edge_weights=weights)
        expected = sorted({(min(edge), max(edge)) for edge in edges})
        assert list(map(tuple, dataset[0].edges.tolist())) == expected
        assert dataset.edge_counts.tolist() == [len(expected)]
        assert dataset.n_arcs == sum(1 if u == v else 2 for u, v in expected)

    def test_data_of_edges_follow_them(self):
        dataset = pack(
            "x", [3], [2, 0, 1], [1, 2, 0], edge_labels=[7, 8, 9], edge_weights=[1, 2, 3]
        )
        assert dataset[0].edges.tolist() == [[0, 1], [0, 2], [1, 2]]
        assert dataset[0].edge_labels == ["9", "8", "7"]
        assert dataset[0].edge_weights.tolist() == [3, 2, 1]
        by_arc = {
            tuple(arc): weight
            for arc, weight in zip(dataset[0].arcs.tolist(), dataset.edge_weights, strict=True)
        }
        assert by_arc == {(0, 1): 3, (1, 0): 3, (0, 2): 2, (2, 0): 2, (1, 2): 1, (2, 1): 1}

    def test_an_edge_repeated_often_is_still_there(self):
        assert pack("x", [2], [0] * 256, [1] * 256).edge_counts.tolist() == [1]

    @pytest.mark.parametrize("data", [{"edge_labels": ["a", "b"]}, {"edge_weights": [1, 2]}])
    def test_repeats_that_disagree_are_refused(self, data):
        with pytest.raises(GraphDataError, match="edge 1 repeats edge 0"):
            pack("x", [2], [0, 1], [1, 0], **data)


class TestNothing:
    def test_no_graphs_make_an_empty_dataset(self):
        dataset = pack("none", [], [], [])
        assert (len(dataset), dataset.n_nodes, dataset.n_arcs) == (0, 0, 0)
        assert len(dataset[:]) == 0

    def test_graphs_without_nodes_or_edges_are_graphs(self):
        dataset = pack("bare", [0, 1, 0], [], [], node_attributes=[[1.0, 2.0]], edge_labels=[])
        assert dataset.graph_sizes.tolist() == [0, 1, 0]
        assert dataset.edge_counts.tolist() == [0, 0, 0]
        assert dataset[[2, 1]].node_attributes.tolist() == [[1, 2]]

    def test_attributes_of_no_nodes_are_no_problem(self):
        assert pack("bare", [0], [], [], node_attributes=np.empty((0, 3))).node_attributes.size == 0


class TestRefusals:
    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"node_labels": [1]}, "expected 3 node labels, got 1"),
            ({"node_attributes": [[1.0]] * 4}, "expected 3 node attributes, got 4"),
            ({"node_attributes": [[1.0], [2.0, 3.0], [4.0]]}, "as many for each"),
            ({"node_attributes": [[1.0], [np.nan], [4.0]]}, "finite numbers, got .nan. in row 1"),
            ({"edge_labels": [1, 2]}, "expected 1 edge labels, got 2"),
            ({"edge_weights": []}, "expected 1 edge weights, got 0"),
            ({"edge_weights": [np.inf]}, "finite"),
            ({"edge_weights": ["heavy"]}, "must be numbers"),
            ({"targets": ["a", "b"]}, "expected 1 targets, got 2"),
            ({"targets": ["a"], "class_names": ["b"]}, "target 'a' is not one of the classes"),
            ({"graph_names": []}, "expected 1 graph names, got 0"),
            ({"sources": [3]}, "edge 0 names node 3, which is not below 3"),
            ({"destinations": [-1]}, "edge 0 names node -1"),
            ({"sources": [0, 1]}, "2 sources but 1 destinations"),
            ({"sources": [0.5]}, "flat list of integers"),
            ({"node_counts": [-1, 4]}, "≥ 0"),
            ({"node_counts": [1 << 40]}, "at most 2147483647 nodes"),
            ({"node_counts": [1, 2]}, "edge 0 joins node 0 of graph 0 with node 1 of graph 1"),
            ({"node_counts": []}, "edge 0 names node 0"),
        ],
    )
    def test_what_does_not_fit_is_refused(self, arguments, message):
        plain = {"name": "x", "node_counts": [3], "sources": [0], "destinations": [1]}
        with pytest.raises(GraphDataError, match=message):
            pack(**(plain | arguments))


class TestNames:
    def test_numbers_come_by_value_before_text(self):
        assert ordered(["b", "10", "9", "a", "-1", "9"]) == ("-1", "9", "10", "a", "b")

    def test_an_integer_of_any_size_is_a_label(self):
        assert ordered([str(10**400), "1"])[0] == "1"

    def test_integers_and_their_text_are_one_label(self):
        assert pack("x", [2], [], [], node_labels=[1, "1"]).node_label_names == ("1",)

    @pytest.mark.parametrize("kind", [list, np.array])
    def test_labels_are_coded_in_the_order_of_their_names(self, kind):
        dataset = pack("x", [3], [], [], node_labels=kind([10, -1, 10]))
        assert dataset.node_label_names == ("-1", "10")
        assert dataset.node_labels.tolist() == [1, 0, 1]

    def test_missing_targets_are_minus_one(self):
        codes, names = encode(["b", None, "a"])
        assert (codes.tolist(), names) == ([1, -1, 0], ("a", "b"))

    def test_a_class_with_one_member_is_a_class(self):
        dataset = pack("x", [1, 1, 1], [], [], targets=["a", "a", "rare"])
        assert dataset.class_names == ("a", "rare")


@given(datasets(min_graphs=2))
def test_parts_join_to_the_whole(dataset):
    parts = [dataset[:1], dataset[1:1], dataset[1:]]
    assert concatenate(parts).fingerprint == dataset.fingerprint


def test_names_are_merged_and_codes_follow():
    one = pack("one", [2], [0], [1], targets=["b"], node_labels=["C", "O"], edge_labels=["x"])
    two = pack("two", [2], [0], [1], targets=["a"], node_labels=["O", "N"], edge_labels=["w"])
    both = concatenate([one, two], name="both")
    assert [graph.target for graph in both] == ["b", "a"]
    assert [graph.node_labels for graph in both] == [["C", "O"], ["O", "N"]]
    assert [graph.edge_labels for graph in both] == [["x"], ["w"]]
    assert both.class_names == ("a", "b")
    assert both.name == "both"


def test_unlabeled_graphs_stay_unlabeled():
    joined = concatenate([pack("a", [1], [], [], targets=["x"]), pack("b", [1], [], [])])
    assert joined.targets.tolist() == [0, -1]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, "only one of them has node_labels"),
        ({"node_labels": [1], "node_attributes": [[1.0]]}, "they have 2 and 1 node_attributes"),
    ],
)
def test_datasets_that_do_not_match_are_refused(data, message):
    one = pack("one", [1], [], [], node_labels=[1], node_attributes=[[1.0, 2.0]])
    with pytest.raises(GraphDataError, match=f"cannot join 'one' and 'two': {message}"):
        concatenate([one, pack("two", [1], [], [], **data)])


def test_nothing_cannot_be_joined():
    with pytest.raises(GraphDataError, match="empty"):
        concatenate([])


def test_a_name_that_is_missing_becomes_minus_one():
    codes = pack("x", [1, 1, 1], [], [], targets=["a", "b", None]).targets
    assert recode(codes, ("a", "b"), ("b", "c")).tolist() == [-1, 0, -1]


def test_a_part_without_edges_need_not_have_labels_of_edges():
    joined = concatenate([from_smiles(["C"]), from_smiles(["CC", "C=C"])])
    assert joined.fingerprint == from_smiles(["C", "CC", "C=C"]).fingerprint


@given(datasets(directed=True))
def test_directions_are_those_of_a_plain_loop(dataset):
    for graph in dataset:
        edges = [(u, v) for u, v in graph.edges.tolist()]
        arcs = [(u, v) for u, v in graph.arcs.tolist()]
        assert set(arcs) == {*edges, *((v, u) for u, v in edges)}
        for (u, v), kind in zip(arcs, dataset.arc_kinds[graph.arc_slice], strict=True):
            arrow = "→" if (v, u) not in edges else "↔" if (u, v) in edges else "←"
            given_as = (u, v) if (u, v) in edges else (v, u)
            labels = graph.edge_labels
            label = "" if labels is None else labels[edges.index(given_as)]
            assert dataset.arc_kind_names[kind] == f"{label}{arrow}"
    assert dataset.edge_counts.tolist() == [graph.n_edges for graph in dataset]
    assert concatenate([dataset[:1], dataset[1:]]).fingerprint == dataset.fingerprint


def test_edges_that_differ_may_run_in_two_directions():
    def packed(ends, directed):
        u, v = zip(*ends, strict=True)
        return pack("g", [2], u, v, edge_labels=["a", "b"], directed=directed)

    assert packed([(0, 1), (1, 0)], True)[0].edge_labels == ["a", "b"]
    for ends, directed in (([(0, 1), (1, 0)], False), ([(0, 1), (0, 1)], True)):
        with pytest.raises(ConflictingEdgesError):
            packed(ends, directed)
