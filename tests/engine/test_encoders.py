import sys

import numpy as np
import pytest
import torch

from kgnn.engine.batch import GraphBatches
from kgnn.engine.gin import GINLayer, PygLayer, make_layer
from kgnn.engine.node_features import NodeFeatures
from kgnn.errors import MissingExtraError
from kgnn.graphs.datasets.toy import cycles_and_trees
from kgnn.graphs.packing import pack
from kgnn.methods.gnn_sup import GNNSup

PYG = ("gcn", "sage", "gat", "gin-pyg")


def test_arcs_are_as_pyg_takes_them():
    graphs = pack("path and loop", [3, 1], [0, 1, 3], [1, 2, 3])
    batch = GraphBatches(graphs, NodeFeatures.of(graphs))[np.arange(2)]
    pairs = sorted(map(tuple, batch.edge_index.T.tolist()))
    assert pairs == [(0, 1), (1, 0), (1, 2), (2, 1), (3, 3)]


def test_ours_and_pygs_gin_are_the_same_layer():
    graphs = cycles_and_trees(6)
    batch = GraphBatches(graphs, NodeFeatures.of(graphs))[np.arange(6)]
    ours, theirs = GINLayer(1, 8).eval(), PygLayer("gin-pyg", 1, 8).eval()
    theirs.convolution.nn[0].load_state_dict(ours.inner.state_dict())
    theirs.convolution.nn[2].load_state_dict(ours.outer.state_dict())
    expected = ours(batch.features, batch, 1)
    torch.testing.assert_close(theirs(batch.features, batch, 1), expected)


@pytest.mark.parametrize("encoder", PYG)
def test_every_encoder_can_be_trained(encoder):
    graphs = cycles_and_trees(60)
    model = GNNSup(encoder=encoder, epochs=8, width=16, cross_fit=0).fit(graphs[:40])
    assert type(model.gnn_.fitted[0].module.layers[0]) is PygLayer
    assert model.history_.loss[-1] < model.history_.loss[0]
    assert np.isfinite(model.predict_proba(graphs[40:])).all()


def test_a_missing_extra_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch_geometric", None)
    with pytest.raises(MissingExtraError, match=r"encoder='gcn' needs.*kgnn\[pyg\]"):
        make_layer("gcn", 1, 2)
