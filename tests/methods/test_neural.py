import numpy as np
import torch

from kgnn.graphs.toy import planted_motifs, random_graphs
from kgnn.methods import neural
from kgnn.methods.gnn_sup import GNNSup
from kgnn.methods.neural import passes


def test_passes_cover_all_rows_in_order_within_the_bound(monkeypatch):
    graphs = random_graphs(50, n_nodes=20)
    monkeypatch.setattr(neural, "_NODES_PER_PASS", 100)
    parts = list(passes(graphs))
    assert np.concatenate(parts).tolist() == list(range(50))
    assert max(graphs.graph_sizes[rows].sum() for rows in parts) <= 120


def test_different_seeds_give_different_networks():
    graphs = planted_motifs(20)
    a, b = (GNNSup(epochs=1, random_state=s).fit(graphs).predict_proba(graphs) for s in (0, 1))
    assert (a != b).any()


def test_training_lowers_the_loss():
    graphs = planted_motifs(64)
    history = GNNSup(epochs=25).fit(graphs).history_
    assert np.mean(history.loss[-5:]) < 0.7 * history.loss[0]
    assert len(history.loss) == 25


def test_val_likelihood_chooses_the_epoch():
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
    model = GNNSup(epochs=2, batch_size=4).fit(graphs)
    norm = model.gnn_.layers[0].norm
    batch = neural.Batches(graphs, model.node_features_)[np.arange(30)]
    with torch.no_grad():
        layer = model.gnn_.layers[0]
        total = batch.features + neural_sum(batch)
        hidden = torch.relu(layer.outer(torch.relu(layer.inner(total))))
    torch.testing.assert_close(norm.running_mean, hidden.mean(0), rtol=1e-4, atol=1e-5)


def neural_sum(batch):
    from kgnn.nn.gin import NeighborSum

    return NeighborSum.apply(batch.features, batch.neighbors, batch.arc_offsets)
