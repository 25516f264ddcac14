import numpy as np
import pytest

from kgnn.graphs.datasets.toy import random_graphs
from kgnn.kernels.counted import SharedCounts
from kgnn.kernels.graphlets import Graphlets
from kgnn.kernels.optimal_assignment import OptimalAssignment
from kgnn.kernels.shortest_paths import ShortestPaths
from kgnn.kernels.weisfeiler_lehman import WeisfeilerLehman

GRAPHS = random_graphs(20, n_nodes=8, n_edges=12, n_node_labels=2)


@pytest.mark.parametrize("kind", [WeisfeilerLehman, ShortestPaths, Graphlets])
def test_shared_counts_change_no_feature_and_are_counted_once(kind, monkeypatch):
    counted = []
    count = kind._count
    monkeypatch.setattr(
        kind, "_count", lambda self, graphs: counted.append(len(graphs)) or count(self, graphs)
    )
    training, new, shared = GRAPHS[:12], GRAPHS[12:], SharedCounts()
    for counts in ("raw", "log"):
        for normalize in ("graph", None, "dataset"):
            featurizer = kind(counts=counts, normalize=normalize)
            alone = kind(counts=counts, normalize=normalize)
            features = shared.fit_transform(featurizer, training)
            assert (features != alone.fit_transform(training)).nnz == 0
            assert (shared.transform(featurizer, new) != alone.transform(new)).nnz == 0
    assert counted.count(12) == 1 + 6  # all six featurizers together, and each alone
    assert counted.count(8) == 1 + 6


def test_featurizers_that_count_otherwise_do_not_share():
    shared = SharedCounts()
    shapes = {
        shared.fit_transform(WeisfeilerLehman(depth, start=start), GRAPHS).shape
        for depth in (0, 2)
        for start in ("labels", "degree")
    }
    assert len(shapes) == 4
    wl, paths = WeisfeilerLehman(1), ShortestPaths()
    features = [shared.fit_transform(each, GRAPHS) for each in (wl, paths)]
    assert not np.array_equal(features[0].toarray(), features[1].toarray())


@pytest.mark.parametrize("kind", [WeisfeilerLehman, OptimalAssignment])
@pytest.mark.parametrize("unseen", ["drop", "count"])
@pytest.mark.parametrize("min_df", [1, 2])
def test_training_graphs_have_the_same_features_when_they_come_again(kind, unseen, min_df):
    for normalize in ("graph", "level", "dataset", None):
        features = kind(unseen=unseen, min_df=min_df, normalize=normalize)
        assert (features.fit_transform(GRAPHS) != features.transform(GRAPHS)).nnz == 0
