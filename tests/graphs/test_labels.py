"""Labels and names come in any container, and one rule says which labels are not known."""

from __future__ import annotations

import datetime

import networkx as nx
import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from kgnn.errors import GraphDataError, ParameterError
from kgnn.graphs.interop import from_networkx
from kgnn.graphs.labels import by_position, is_unknown, known_or_none
from kgnn.graphs.molecules import from_smiles
from kgnn.graphs.pyg_data import from_pyg
from kgnn.graphs.readers import jsonl
from kgnn.graphs.readers.tu import read as read_tu
from tests.graphs.like_pandas import NA, Series, Table

SMILES = ["C", "CC", "CCC", "CCCC"]


def by_smiles(targets):
    return from_smiles(SMILES, targets)


def by_networkx(targets):
    return from_networkx([nx.path_graph(n) for n in (1, 2, 3, 4)], targets=targets)


def by_pyg(targets):
    return from_pyg([Data(num_nodes=n) for n in (1, 2, 3, 4)], targets=targets)


def by_graphs_of_networkx(targets):
    return from_networkx([nx.Graph(target=target) for target in targets])


def by_data_of_pyg(targets):
    return from_pyg([Data(num_nodes=1, y=target) for target in targets])


DOORS = [by_smiles, by_networkx, by_pyg]


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    "targets",
    [
        (7, 8, 8, 7),
        np.array([7, 8, 8, 7]),
        np.array([[7], [8], [8], [7]]),
        torch.tensor([7, 8, 8, 7]),
        [torch.tensor([7]), torch.tensor(8), np.int64(8), np.array(7)],
        Series([7, 8, 8, 7], index=[3, 2, 1, 0]),
        Series([7, 8, 8, 7], index=[10, 11, 12, 13]),
        Table("label", [7, 8, 8, 7]),
    ],
    ids=lambda targets: type(targets).__name__,
)
def test_targets_are_taken_by_position_from_any_container(door, targets):
    assert [graph.target for graph in door(targets)] == ["7", "8", "8", "7"]


@pytest.mark.parametrize("values", [list("abcd"), Series("abcd", index=[1, 0, 3, 2])])
def test_names_are_taken_by_position_from_any_container(values):
    expected = [("a", 1), ("b", 2), ("c", 3), ("d", 4)]
    graphs = [nx.path_graph(n) for n in (1, 2, 3, 4)]
    dataset = from_networkx(graphs, graph_names=values)
    assert [(graph.name, graph.n_nodes) for graph in dataset] == expected
    dataset = from_pyg([Data(num_nodes=n) for n in (1, 2, 3, 4)], graph_names=values)
    assert [(graph.name, graph.n_nodes) for graph in dataset] == expected


def test_smiles_are_taken_by_position_as_well():
    dataset = from_smiles(Series(SMILES, index=[3, 2, 1, 0]), Series("abcd", index=[0, 2, 1, 3]))
    assert [(g.n_nodes, g.target) for g in dataset] == [(1, "a"), (2, "b"), (3, "c"), (4, "d")]


@pytest.mark.parametrize("door", [*DOORS, by_graphs_of_networkx, by_data_of_pyg])
@pytest.mark.parametrize(
    "unknown", [-1, -1.0, np.int64(-1), None, float("nan"), np.float32("nan"), "", np.str_(""), NA]
)
def test_what_is_not_known_is_no_class(door, unknown):
    dataset = door([unknown, "a", "-1", "nan"])
    assert [graph.target for graph in dataset] == [None, "a", "-1", "nan"]
    assert dataset.class_names == ("-1", "a", "nan")


@pytest.mark.parametrize("unknown", [-1, np.nan])
def test_what_is_not_known_in_a_tensor_is_no_class(unknown):
    targets = torch.tensor([unknown, 2, 3, 3])
    expected = by_pyg([None, *targets[1:].tolist()]).class_names
    for door in DOORS:
        assert door(targets).targets.tolist() == [-1, 0, 1, 1]
        assert door(targets).class_names == expected
    assert by_data_of_pyg(list(targets)).class_names == ("2", "3")


def test_a_class_called_minus_one_in_a_file_stays_one(tmp_path):
    path = tmp_path / "graphs.jsonl"
    targets = ("-1", '"-1"', "1", '""', "null")
    path.write_text("".join(f'{{"nodes": 1, "edges": [], "target": {t}}}\n' for t in targets))
    assert [graph.target for graph in jsonl.read(path)] == ["-1", "-1", "1", None, None]
    folder = tmp_path / "TU"
    folder.mkdir()
    (folder / "TU_A.txt").write_text("1, 2\n3, 4\n")
    (folder / "TU_graph_indicator.txt").write_text("1\n1\n2\n2\n")
    (folder / "TU_graph_labels.txt").write_text("-1\n1\n")
    assert read_tu(folder).class_names == ("-1", "1")


def test_a_masked_value_is_not_known():
    masked = np.ma.array([5, 6, 5, 6], mask=[0, 0, 1, 0])
    assert [graph.target for graph in by_networkx(masked)] == ["5", "6", None, "6"]


@pytest.mark.parametrize("label", [0, False, "0", " ", "None", 0.0, datetime.date(2020, 1, 1)])
def test_any_other_label_is_known(label):
    assert not is_unknown(label)
    assert known_or_none(label) is label


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.eye(3), r"y\[0\] must be one value, got array.* one-hot rows .* \.argmax\(axis=1\)"),
        (torch.eye(3), r"y\[0\] must be one value, got tensor"),
        ([3, [0, 1]], r"y\[1\] must be one value, got \[0, 1\]"),
        ({0: "a", 1: "b"}, "y must be in the order of the graphs, got a dict"),
        ({"a", "b"}, "y must be in the order of the graphs, got a set"),
        (5, "y must hold one value for each graph, got 5"),
        (np.array(5), r"y must hold one value for each graph, got array\(5\)"),
    ],
)
def test_what_is_not_one_value_for_each_graph_is_refused(values, message):
    with pytest.raises(ParameterError, match=message):
        by_position(values, "y", ParameterError)


def test_a_graph_whose_own_target_is_many_values_is_named():
    with pytest.raises(GraphDataError, match=r"the target of graphs\[1\] must be one value"):
        by_graphs_of_networkx(["a", [0, 1]])


@pytest.mark.parametrize("door", [*DOORS, by_graphs_of_networkx])
@pytest.mark.parametrize("whole", [[1.0, 10.0, None, 2.0], np.array([1, 10, np.nan, 2])])
def test_numbers_that_a_missing_one_made_real_are_the_same_classes(door, whole):
    made = door(whole)
    assert made.class_names == ("1", "2", "10")
    assert made.targets.tolist() == [0, 2, -1, 1]


@pytest.mark.parametrize("door", DOORS)
def test_too_few_targets_are_refused(door):
    with pytest.raises(GraphDataError, match="expected 4 targets, got 3"):
        door(Series("abc", index=[0, 1, 2]))
