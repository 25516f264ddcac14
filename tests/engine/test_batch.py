import numpy as np

from kgnn.engine.batch import GraphBatches
from kgnn.engine.node_features import NodeFeatures
from kgnn.graphs.datasets.toy import cycles_and_trees, planted_motifs
from kgnn.graphs.packing import pack


def test_labels_become_one_hot_by_name_whatever_their_numbering():
    train = pack("train", [3], [0], [1], node_labels=["C", "N", "O"])
    new = pack("new", [3], [0], [1], node_labels=["A", "O", "C"])
    features = NodeFeatures.of(train)
    assert features(train).tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    assert features(new).tolist() == [[0, 0, 0], [0, 0, 1], [1, 0, 0]]


def test_without_labels_every_node_is_a_one():
    graphs = cycles_and_trees(3)
    assert NodeFeatures.of(graphs)(graphs).tolist() == [[1.0]] * graphs.n_nodes


def test_attributes_are_read_only_on_request():
    graphs = pack("real", [2], [0], [1], node_labels=[0, 0], node_attributes=[[0.5], [1.5]])
    assert NodeFeatures.of(graphs).width == 1
    assert NodeFeatures.of(graphs, use_attributes=True)(graphs).tolist() == [[1, 0.5], [1, 1.5]]


def test_a_batch_holds_the_rows_that_were_asked_for_in_that_order():
    graphs = planted_motifs(5, n_nodes=10)
    batch = GraphBatches(graphs, NodeFeatures.of(graphs))[np.array([3, 1])]
    assert len(batch) == 2
    assert batch.graph_offsets.tolist() == [0, 10, 20]
    assert batch.neighbors[: len(graphs[3].arcs)].tolist() == graphs[3].arcs[:, 1].tolist()
    assert batch.neighbors.max() < 20
