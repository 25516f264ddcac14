import numpy as np
import pytest

from kgnn.graphs.datasets.toy import planted_motifs, random_graphs
from kgnn.graphs.packing import pack
from kgnn.kernels import coarse
from kgnn.kernels.coarse import coarse_colors, neighbor_max, neighbor_mean
from kgnn.kernels.colors import colors
from kgnn.kernels.weisfeiler_lehman import WeisfeilerLehman


def test_means_and_maxima_are_those_of_a_loop(monkeypatch):
    graphs = random_graphs(6, n_nodes=9, n_edges=12, seed=4)
    values = np.random.default_rng(0).integers(0, 1000, graphs.n_nodes).astype(np.uint64)
    monkeypatch.setattr(coarse, "CHUNK", 5)
    mean, largest = neighbor_mean(graphs, values), neighbor_max(graphs, values)
    for node in range(graphs.n_nodes):
        around = values[graphs.neighbors[graphs.arc_offsets[node] : graphs.arc_offsets[node + 1]]]
        assert mean[node] == (int(around.sum()) // len(around) if len(around) else 0)
        assert largest[node] == (around.max() if len(around) else 0)


def test_coarse_colors_recur_where_exact_ones_do_not():
    graphs = random_graphs(40, n_nodes=30, n_edges=60, seed=0)
    exact = list(colors(graphs, 2))[-1]
    rough = list(coarse_colors(graphs, 1.0))[-1]
    assert len(np.unique(rough)) < 0.1 * len(np.unique(exact))


def test_wider_bins_make_fewer_colors_and_labels_matter():
    graphs = planted_motifs(30)
    counts = [len(np.unique(next(coarse_colors(graphs, width)))) for width in (0.1, 0.5, 2.0)]
    assert counts == sorted(counts, reverse=True)
    ends = np.repeat(np.arange(graphs.n_nodes), graphs.degrees), graphs.neighbors
    plain = pack("plain", graphs.graph_sizes, *ends)
    assert len(np.unique(next(coarse_colors(plain, 0.5)))) < counts[1]


def test_coarse_colors_do_not_depend_on_numbering_or_company():
    graphs = random_graphs(5, n_nodes=12, n_edges=20, seed=2)
    together = np.stack(list(coarse_colors(graphs, 0.5)))
    apart = np.concatenate(
        [np.stack(list(coarse_colors(graphs[[i]], 0.5))) for i in range(5)], axis=1
    )
    assert (together == apart).all()
    graph = graphs[0]
    order = np.random.default_rng(0).permutation(12)
    renumbered = pack("again", [12], order[graph.edges[:, 0]], order[graph.edges[:, 1]])
    for before, after in zip(together[:, :12], coarse_colors(renumbered, 0.5), strict=True):
        assert (after[order] == before).all()


def test_levels_of_both_kinds_stand_side_by_side():
    graphs = planted_motifs(12)
    wl = WeisfeilerLehman(1, coarse=(0.5, 1.0), counts="log", normalize="dataset")
    features = wl.fit_transform(graphs)
    assert len(wl.levels_) == 2 + 3 + 3
    for level in wl.levels_:
        assert (features[:, level].power(2).sum() / 12) == pytest.approx(1)
    nodes = wl.occurrences(wl.levels_[3].start, graphs)
    assert len(nodes) > 0
