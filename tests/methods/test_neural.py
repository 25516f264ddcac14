import numpy as np
import torch

from kgnn.engine.batch import GraphBatches
from kgnn.graphs.datasets.toy import cycles_and_trees, planted_motifs, random_graphs
from kgnn.methods.gnn_sup import GNNSup


def test_different_seeds_give_different_networks():
    graphs = planted_motifs(20)
    a, b = (GNNSup(epochs=1, random_state=s).fit(graphs).predict_proba(graphs) for s in (0, 1))
    assert (a != b).any()


def test_training_lowers_the_loss():
    graphs = planted_motifs(64)
    history = GNNSup(epochs=25).fit(graphs).history_
    assert np.mean(history.loss[-5:]) < 0.7 * history.loss[0]
    assert len(history.loss) == 25


def test_the_calibrated_likelihood_on_val_chooses_the_epoch():
    graphs = planted_motifs(60)
    model = GNNSup(epochs=8).fit(
        graphs[:40], graphs.targets[:40], validation=(graphs[40:], graphs.targets[40:])
    )
    history = model.history_
    assert history.best_epoch == int(np.argmax(history.score))
    proba = model.predict_proba(graphs[40:])
    likelihood = np.log(proba[np.arange(20), graphs.targets[40:]]).mean()
    assert np.isclose(likelihood, max(history.score), atol=1e-5)


def test_batch_statistics_are_those_of_the_training_graphs():
    graphs = planted_motifs(30)
    model = GNNSup(epochs=2, batch_size=4, cross_fit=0).fit(graphs)
    layer = model.gnn_.fitted[0].module.layers[0]
    batch = GraphBatches(graphs, model.gnn_.node_features)[np.arange(30)]
    with torch.no_grad():
        total = batch.sums(1).forward(batch.features)
        hidden = torch.relu(layer.outer(torch.relu(layer.inner(total))))
    torch.testing.assert_close(layer.norm.running_mean, hidden.mean(0), rtol=1e-4, atol=1e-5)


def _network(graphs, **settings):
    gnn = GNNSup(epochs=1, cross_fit=0, **settings).fit(graphs).gnn_
    return gnn.node_features.degrees, gnn.fitted[0].module.pooling


def test_dense_graphs_without_labels_have_degrees_for_features():
    rng = np.random.default_rng(0)
    dense = random_graphs(12, n_nodes=12, n_edges=40).with_targets(rng.integers(0, 2, 12))
    sparse = cycles_and_trees(12)
    labeled = random_graphs(12, n_nodes=12, n_edges=40, n_node_labels=2)
    labeled = labeled.with_targets(rng.integers(0, 2, 12))
    assert _network(dense) == (True, "last")
    assert _network(sparse) == (False, "all")
    assert _network(labeled) == (False, "all")
    assert _network(dense, features="paper") == (False, "all")
    assert _network(sparse, features="degree", pooling="all") == (True, "all")
    assert _network(labeled, features="degree", pooling="last") == (False, "last")
