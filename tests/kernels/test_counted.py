import numpy as np
import pytest

from kgnn.graphs.datasets.toy import planted_motifs, random_graphs
from kgnn.kernels import colors as color_numbers
from kgnn.kernels import counted as counting
from kgnn.kernels.colors import colors, numbered
from kgnn.kernels.counted import SharedCounts, count_colors
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


SPREAD = np.uint64(0x9E3779B97F4A7C15)  # an odd factor, which spreads small numbers over 64 bits


def obvious(graphs, depth):
    levels = list(colors(graphs, depth))
    rows = [
        [
            np.count_nonzero(each[graph.nodes] == color)
            for each in levels
            for color in np.unique(each)
        ]
        for graph in graphs
    ]
    return np.array(rows)


@pytest.mark.parametrize("nodes_per_piece", [1, 30, 100, 1 << 14])
def test_counts_are_what_a_loop_counts(monkeypatch, nodes_per_piece):
    graphs = planted_motifs(25, n_nodes=10)
    monkeypatch.setattr(counting, "_NODES_PER_PIECE", nodes_per_piece)
    counted = count_colors(graphs, colors(graphs, 3))
    assert counted.matrix.has_canonical_format
    assert (counted.matrix.toarray() == obvious(graphs, 3)).all()


@pytest.mark.parametrize("piece", [4, 100, 1 << 16])
@pytest.mark.parametrize("n_distinct", [1, 3, 400, 10**6])
@pytest.mark.parametrize("size", [0, 1, 2, 7, 1000])
def test_numbers_are_those_of_numpy(monkeypatch, size, n_distinct, piece):
    """Short pieces take the ways of long lists: by pieces, and by buckets."""
    monkeypatch.setattr(color_numbers, "_PIECE", piece)
    monkeypatch.setattr(color_numbers, "_COLORS_PER_BUCKET", piece)
    values = np.random.default_rng(size).integers(0, n_distinct, size).astype(np.uint64) * SPREAD
    distinct, inverse = np.unique(values, return_inverse=True)
    found, numbers = numbered(values)
    assert (found == distinct).all()
    assert (numbers == inverse).all()


@pytest.mark.parametrize("piece", [16, 1 << 16])
def test_colors_that_differ_in_low_bits_alone_are_told_apart(monkeypatch, piece):
    monkeypatch.setattr(color_numbers, "_PIECE", piece)
    values = np.random.default_rng(0).integers(0, 50, 500).astype(np.uint64)
    found, numbers = numbered(values)
    assert (found == np.unique(values)).all()
    assert (found[numbers] == values).all()
