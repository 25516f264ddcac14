"""Graphs of networkx and PyG come in and go out unchanged."""

from __future__ import annotations

import sys

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given
from torch_geometric.data import Batch, Data

from kgnn.errors import GraphDataError, KgnnWarning, MissingExtraError
from kgnn.graphs.datasets.toy import cycles_and_trees, planted_motifs
from kgnn.graphs.interop import as_dataset, from_networkx, to_networkx
from kgnn.graphs.molecules import from_smiles
from kgnn.graphs.packing import pack
from kgnn.graphs.pyg_data import from_pyg, to_pyg
from tests.graphs.strategies import datasets


class TestNetworkx:
    @given(datasets())
    def test_a_dataset_survives_the_way_out_and_back(self, dataset):
        assert from_networkx(to_networkx(dataset)).fingerprint == dataset.fingerprint

    @given(datasets(directed=True))
    def test_directions_survive_the_way_out_and_back(self, dataset):
        back = from_networkx(to_networkx(dataset), directed=True)
        assert back.fingerprint == dataset.fingerprint

    def test_directions_are_kept_on_request(self):
        graphs = [nx.DiGraph([(0, 1), (1, 2), (2, 1)]), nx.Graph([(0, 1)])]
        with pytest.warns(KgnnWarning, match="directed=True keeps directions"):
            assert from_networkx(graphs).edge_directions is None
        kept = from_networkx(graphs, directed=True)
        assert kept[0].edges.tolist() == [[0, 1], [1, 2], [2, 1]]
        assert kept[1].edges.tolist() == [[0, 1], [1, 0]]
        assert kept.edge_counts.tolist() == [3, 2]

    def test_data_go_out_as_plain_values(self):
        dataset = pack("x", [2], [0], [1], node_attributes=[[1.5], [2]], edge_weights=[0.5])
        graph = to_networkx(dataset)[0]
        values = [graph.nodes[0]["attributes"], graph.edges[0, 1]["weight"]]
        assert (values, [type(value) for value in values]) == ([[1.5], 0.5], [list, float])

    def test_nodes_of_any_name_are_numbered_in_their_order(self):
        graph = nx.Graph([("b", "a"), ("a", "c")])
        assert from_networkx([graph])[0].edges.tolist() == [[0, 1], [1, 2]]

    def test_a_key_that_no_graph_has_is_an_error_with_those_there_are(self):
        graphs = [nx.Graph(), nx.path_graph(2)]
        graphs[1].nodes[0]["type"] = graphs[1].nodes[1]["type"] = "C"
        with pytest.raises(GraphDataError, match="node_label='typ': the nodes .* are: 'type'"):
            from_networkx(graphs, node_label="typ")
        with pytest.raises(GraphDataError, match="edge_weight='w': .* there are: none"):
            from_networkx(graphs, edge_weight="w")
        assert from_networkx(graphs, node_label="type")[1].node_labels == ["C", "C"]
        assert from_networkx([nx.empty_graph(2)], edge_label="bond").edge_labels is None

    @pytest.mark.parametrize("key", ["target", "label", "y"])
    def test_the_target_is_found_in_the_graph(self, key):
        dataset = from_networkx([nx.Graph(**{key: "a"}), nx.Graph()])
        assert [graph.target for graph in dataset] == ["a", None]

    def test_given_targets_win(self):
        assert from_networkx([nx.Graph(target="a")], targets=["b"]).class_names == ("b",)

    def test_data_are_found_by_the_asked_keys(self):
        graph = nx.Graph()
        graph.add_nodes_from(
            [(0, {"element": "C", "charge": 1.5}), (1, {"element": "O", "charge": 0})]
        )
        graph.add_edge(0, 1, bond="double", order=2)
        found = from_networkx(
            [graph],
            node_label="element",
            node_attributes="charge",
            edge_label="bond",
            edge_weight="order",
        )[0]
        assert found.node_labels == ["C", "O"]
        assert found.node_attributes.tolist() == [[1.5], [0]]
        assert (found.edge_labels, found.edge_weights.tolist()) == (["double"], [2])

    def test_what_is_not_asked_for_is_left_out(self):
        graph = nx.Graph()
        graph.add_node(0, label="C")
        assert from_networkx([graph], node_label=None).node_labels is None

    def test_directed_graphs_are_read_as_undirected_with_one_warning(self):
        graphs = [nx.DiGraph([(0, 1), (1, 0), (1, 2)]), nx.DiGraph([(0, 1)]), nx.Graph()]
        with pytest.warns(KgnnWarning, match="2 of 3 graphs are directed") as warned:
            dataset = from_networkx(graphs)
        assert len(warned) == 1
        assert warned[0].filename == __file__
        assert dataset.edge_counts.tolist() == [2, 1, 0]

    def test_parallel_edges_collapse(self):
        graph = nx.MultiGraph([(0, 1, {"label": "a"}), (0, 1, {"label": "a"})])
        assert from_networkx([graph])[0].edge_labels == ["a"]

    def test_parallel_edges_that_disagree_are_refused(self):
        graph = nx.MultiGraph([(0, 1, {"label": "a"}), (0, 1, {"label": "b"})])
        with pytest.raises(GraphDataError, match=r"graphs\[1\]: the edge 0, 1 occurs twice"):
            from_networkx([nx.Graph(), graph])

    def test_nodes_with_and_without_labels_are_refused(self):
        graph = nx.Graph()
        graph.add_node("a", label="C")
        graph.add_node("b")
        with pytest.raises(GraphDataError, match=r"graphs\[0\]: node 'b' has no 'label'"):
            from_networkx([graph])

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"graphs": []}, "the list is empty"),
            ({"graphs": [3]}, r"graphs\[0\] must be a networkx graph, got int"),
            ({"targets": ["a", "b"]}, "expected 1 targets"),
            ({"graph_names": []}, "expected 1 graph_names"),
        ],
    )
    def test_what_does_not_fit_is_refused(self, arguments, message):
        with pytest.raises(GraphDataError, match=message):
            from_networkx(**({"graphs": [nx.path_graph(2)]} | arguments))

    def test_a_weight_that_is_no_number_is_refused(self):
        with pytest.raises(GraphDataError, match=r"graphs\[0\]: edge weights must be numbers"):
            from_networkx([nx.Graph([(0, 1, {"weight": "heavy"})])])

    def test_a_missing_extra_is_named(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "networkx", None)
        with pytest.raises(MissingExtraError, match=r"pip install 'kgnn\[networkx\]'"):
            to_networkx(cycles_and_trees(2))


def data(**fields):
    return Data(edge_index=torch.tensor([[0, 1], [1, 0]]), num_nodes=2, **fields)


class TestPyg:
    @given(datasets())
    def test_a_dataset_survives_the_way_out_and_back(self, dataset):
        assert from_pyg(to_pyg(dataset)).fingerprint == dataset.fingerprint

    @given(datasets(directed=True))
    def test_directions_survive_the_way_out_and_back(self, dataset):
        assert from_pyg(to_pyg(dataset), directed=True).fingerprint == dataset.fingerprint

    def test_what_goes_out_can_be_batched(self):
        batch = Batch.from_data_list(to_pyg(planted_motifs(4)))
        assert batch.num_graphs == 4
        assert batch.x.shape == (80, 3)
        assert batch.y.tolist() == [1, 0, 1, 0]

    def test_one_hot_rows_are_node_labels(self):
        dataset = from_pyg([data(x=torch.eye(3)[[2, 0]])])
        assert dataset[0].node_labels == ["2", "0"]
        assert dataset.node_attributes is None

    def test_a_column_of_integers_are_node_labels(self):
        assert from_pyg([data(x=torch.tensor([[6], [8]]))])[0].node_labels == ["6", "8"]

    @pytest.mark.parametrize(
        "x", [[[1.0], [1.0]], [[1.0, 1.0], [0.0, 1.0]], [[0.0, 0.0], [0.0, 1.0]], [[2.0, 0.0]] * 2]
    )
    def test_any_other_numbers_are_node_attributes(self, x):
        dataset = from_pyg([data(x=torch.tensor(x))])
        assert dataset.node_labels is None
        assert dataset.node_attributes.tolist() == x

    def test_one_graph_that_is_not_one_hot_decides_for_all(self):
        dataset = from_pyg([data(x=torch.eye(2)), data(x=torch.ones(2, 2))])
        assert dataset.node_labels is None

    @pytest.mark.parametrize(
        ("edge_attr", "labels"),
        [
            (torch.tensor([3, 3]), ["3"]),
            (torch.tensor([[3], [3]]), ["3"]),
            (torch.eye(4)[[1, 1]], ["1"]),
        ],
    )
    def test_categories_of_edges_are_edge_labels(self, edge_attr, labels):
        assert from_pyg([data(edge_attr=edge_attr)])[0].edge_labels == labels

    @pytest.mark.parametrize("field", ["edge_attr", "edge_weight"])
    def test_a_column_of_floats_is_a_weight(self, field):
        assert from_pyg([data(**{field: torch.tensor([0.5, 0.5])})])[0].edge_weights.tolist() == [
            0.5
        ]

    def test_more_columns_of_edges_are_attributes(self):
        numbers = torch.full((2, 2), 0.5)
        dataset = from_pyg([data(edge_attr=numbers)])
        assert dataset[0].edge_attributes.tolist() == [[0.5, 0.5]]
        with pytest.raises(GraphDataError, match="edge_attributes stand beside an edge_attr"):
            from_pyg([data(edge_attr=numbers, edge_attributes=numbers)])

    @pytest.mark.parametrize(
        ("y", "target"),
        [(torch.tensor([1]), "1"), (torch.tensor(2.0), "2"), (3, "3"), (torch.tensor([-1]), None)],
    )
    def test_y_is_the_target(self, y, target):
        assert from_pyg([data(y=y), data()])[0].target == target

    def test_given_targets_win(self):
        assert from_pyg([data(y=1)], targets=["a"])[0].target == "a"

    def test_a_graph_of_edges_alone_has_the_nodes_that_they_name(self):
        assert from_pyg([Data(edge_index=torch.tensor([[0, 4], [4, 0]]))])[0].n_nodes == 5

    def test_edges_in_one_direction_alone_are_read_as_undirected_with_one_warning(self):
        both_ways = torch.tensor([[0, 1, 1], [1, 0, 0]])
        graphs = [Data(edge_index=pairs, num_nodes=2) for pairs in (both_ways, both_ways[:, :1])]
        with pytest.warns(KgnnWarning, match="1 of 2 graphs have edges in one direct") as warned:
            dataset = from_pyg(graphs)
        assert len(warned) == 1
        assert warned[0].filename == __file__
        assert dataset.edge_counts.tolist() == [1, 1]

    def test_a_graph_without_edges_is_a_graph(self):
        assert from_pyg([Data(x=torch.ones(3, 1))])[0].n_edges == 0

    @pytest.mark.parametrize(
        ("graph", "message"),
        [
            (data(y=torch.tensor([1, 0])), r"data_list\[0\]: y must be the one class"),
            (Data(edge_index=torch.tensor([[0, 5], [5, 0]]), num_nodes=2), "edge 0 names node 5"),
            (Data(edge_index=torch.zeros(2, 1), num_nodes=2), "edge_index must be integers"),
            (Data(edge_index=torch.zeros(3, 1).long(), num_nodes=2), r"shape \(2, n\)"),
            (data(x=torch.full((2, 1), torch.nan)), "node attributes must be finite"),
            (data(x=torch.ones(2, 1), node_attributes=torch.ones(2, 1)), "join the two"),
            (data(edge_weight=torch.tensor([1.0, 2.0])), "the edge 1, 0 occurs twice"),
            ("graph", r"data_list\[0\] must be a PyG Data, got str"),
        ],
    )
    def test_what_is_no_graph_is_refused(self, graph, message):
        with pytest.raises(GraphDataError, match=message):
            from_pyg([graph])

    def test_a_missing_extra_is_named(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "torch_geometric.data", None)
        with pytest.raises(MissingExtraError, match=r"pip install 'kgnn\[pyg\]'"):
            to_pyg(cycles_and_trees(2))


class TestAsDataset:
    def test_a_dataset_is_returned_as_it_is(self):
        dataset = cycles_and_trees(4)
        assert as_dataset(dataset) is dataset

    def test_views_of_one_dataset_are_its_rows(self):
        dataset = planted_motifs(6)
        views = [dataset[4], dataset[0], dataset[4]]
        assert as_dataset(views).fingerprint == dataset[[4, 0, 4]].fingerprint

    def test_views_of_several_datasets_are_joined(self):
        one, two = cycles_and_trees(4), cycles_and_trees(4, seed=1)
        joined = as_dataset([one[0], one[1], two[3], one[2]])
        expected = [one[0], one[1], two[3], one[2]]
        assert [g.edges.tolist() for g in joined] == [g.edges.tolist() for g in expected]

    def test_an_array_of_views_will_do(self):
        dataset = cycles_and_trees(4)
        views = np.empty(2, dtype=object)
        views[:] = [dataset[1], dataset[2]]
        assert len(as_dataset(views)) == 2

    def test_graphs_of_other_libraries_are_converted(self):
        dataset = planted_motifs(4)
        for graphs in (to_networkx(dataset), to_pyg(dataset)):
            assert as_dataset(graphs).fingerprint == dataset.fingerprint

    @pytest.mark.parametrize("kind", [list, tuple, np.array])
    def test_smiles_are_molecules(self, kind):
        found = as_dataset(kind(["CCO", "c1ccccc1"]))
        assert found.fingerprint == from_smiles(["CCO", "c1ccccc1"]).fingerprint

    @pytest.mark.parametrize(
        ("graphs", "message"),
        [
            ([nx.Graph(), 3], r"X\[1\] must be a Graph, .* or a SMILES text, got int"),
            (["CCO", nx.Graph()], r"X\[0\] is a SMILES text, but X\[1\] a networkx graph"),
            ([None], r"X\[0\] must be a Graph.*got NoneType\. Load graphs with kgnn\.load"),
            ([nx.Graph(), data()], r"X\[0\] is a networkx graph, but X\[1\] a PyG Data"),
            (np.zeros((3, 2)), r"X\[0\] must be a Graph.*got ndarray"),
            ([], "X is an empty list"),
            (5, "X must be a list of graphs, got a single int"),
            ("MUTAG", "X must be a list of graphs, got a single str"),
            (nx.path_graph(3), "got a single Graph"),
            (cycles_and_trees(2)[0], "got a single Graph"),
        ],
    )
    def test_anything_else_is_an_error_of_type_and_of_value(self, graphs, message):
        with pytest.raises(GraphDataError, match=message) as caught:
            as_dataset(graphs)
        assert isinstance(caught.value, TypeError)


def path_of(labels):
    graph = nx.path_graph(len(labels))
    nx.set_node_attributes(graph, dict(enumerate(labels)), "label")
    return graph


def test_labels_of_nodes_are_the_same_in_whatever_they_are_kept():
    several = [[6, 8], [6.0, 8.0], np.array([6, 8]), torch.tensor([6, 8]), ["6", "8"]]
    made = from_networkx([path_of(labels) for labels in several])
    assert made.node_label_names == ("6", "8")
    assert made.node_labels.tolist() == [0, 1] * 5


def test_a_label_that_is_no_number_is_none():
    with pytest.raises(GraphDataError, match="node 0 has no 'label', but others have"):
        from_networkx([path_of([float("nan"), 6])])


def test_two_weights_of_an_edge_are_refused():
    pair = torch.tensor([[0, 1], [1, 0]])
    values = torch.tensor([[0.5], [0.5]])
    with pytest.raises(GraphDataError, match="edge_weight stands beside an edge_attr"):
        from_pyg([Data(num_nodes=2, edge_index=pair, edge_attr=values, edge_weight=values[:, 0])])
