"""Joined datasets hold the same graphs, whatever their labels are called."""

from __future__ import annotations

import pytest
from hypothesis import given

from kgnn.errors import GraphDataError
from kgnn.graphs.joining import concatenate, recode
from kgnn.graphs.packing import pack
from kgnn.graphs.readers.smiles import from_smiles
from tests.graphs.strategies import datasets


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
