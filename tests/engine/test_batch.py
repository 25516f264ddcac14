import numpy as np
import pytest

from kgnn.engine.batch import GraphBatches
from kgnn.engine.node_features import NodeFeatures
from kgnn.errors import GraphDataError
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


def test_attributes_are_scaled_and_stand_after_the_label():
    values = [[0.0, 7.0], [1.0, 7.0], [2.0, 7.0], [3.0, 7.0], [1e9, 7.0]]
    graphs = pack("real", [5], [0], [1], node_labels=[0] * 5, node_attributes=values)
    features = NodeFeatures.of(graphs)
    label, scaled, constant = features(graphs).T.tolist()
    assert label == [1.0] * 5
    assert scaled[2] == 0.0  # the median
    assert scaled == sorted(scaled)
    assert abs(scaled[1]) < 1 < scaled[4] < 30  # an extreme value neither squeezes nor dominates
    assert constant == [0.0] * 5
    with pytest.raises(GraphDataError, match="no attributes"):
        features(pack("bare", [2], [0], [1], node_labels=[0, 0]))


def test_a_batch_holds_the_rows_that_were_asked_for_in_that_order():
    graphs = planted_motifs(5, n_nodes=10)
    batch = GraphBatches(graphs, NodeFeatures.of(graphs))[np.array([3, 1])]
    assert len(batch) == 2
    assert batch.graph_offsets.tolist() == [0, 10, 20]
    assert batch.neighbors[: len(graphs[3].arcs)].tolist() == graphs[3].arcs[:, 1].tolist()
    assert batch.neighbors.max() < 20
