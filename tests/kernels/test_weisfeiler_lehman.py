import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from kgnn.errors import GraphDataError, ParameterError
from kgnn.graphs.datasets.toy import cycles_and_trees, planted_motifs, random_graphs
from kgnn.graphs.loading import load
from kgnn.graphs.packing import concatenate, pack
from kgnn.kernels.base import gram, normalize_gram
from kgnn.kernels.colors import colors
from kgnn.kernels.weisfeiler_lehman import (
    WeisfeilerLehman,
    coarse_colors,
    neighbor_max,
    neighbor_mean,
)
from tests.reference.wl_dictionary import wl_gram


def path(n):
    return pack(f"P{n}", [n], range(n - 1), range(1, n))


def cycle(n):
    return pack(f"C{n}", [n], range(n), [*range(1, n), 0])


def star(leaves):
    return pack("star", [leaves + 1], [0] * leaves, range(1, leaves + 1))


TWO_TRIANGLES = pack("2C3", [6], [0, 1, 2, 3, 4, 5], [1, 2, 0, 4, 5, 3])


def kernel(a, b, iterations, start="constant"):
    return WeisfeilerLehman(iterations, start=start).fit(concatenate([a, b])).gram(a, b)[0, 0]


def test_hand_computed_kernel_values():
    assert kernel(path(3), path(3), 1) == 14
    assert kernel(path(3), cycle(3), 1) == 12
    assert kernel(cycle(3), cycle(3), 1) == 18
    assert [kernel(path(4), star(3), h) for h in range(4)] == [16, 22, 22, 22]
    assert [kernel(path(4), path(4), h) for h in range(4)] == [16, 24, 32, 40]
    assert [kernel(star(3), star(3), h) for h in range(4)] == [16, 26, 36, 46]
    both = WeisfeilerLehman(1, start="constant", normalize="graph")
    features = both.fit_transform(concatenate([path(3), cycle(3)]))
    assert gram(features)[0, 1] == pytest.approx(0.75593, abs=1e-5)


def test_what_weisfeiler_lehman_cannot_tell_apart_stays_equal():
    assert kernel(cycle(6), TWO_TRIANGLES, 3) == 144 == kernel(cycle(6), cycle(6), 3)


def test_unlabeled_nodes_start_from_their_degree_or_all_alike():
    unlabeled, labeled = random_graphs(6), random_graphs(6, n_node_labels=2)
    alike = WeisfeilerLehman(1, unlabeled="constant")
    assert alike.fit(unlabeled).start_ == "constant"
    assert alike.fit(labeled).start_ == "labels"
    assert WeisfeilerLehman(1).fit(unlabeled).start_ == "degree"
    with pytest.raises(ParameterError, match="'unlabeled'.*got 'labels'"):
        WeisfeilerLehman(1, unlabeled="labels").fit(unlabeled)


@pytest.mark.parametrize("start", ["labels", "degree", "constant"])
def test_gram_equals_the_dictionary_version(start):
    graphs = planted_motifs(20, n_node_labels=2)
    assert (
        gram(WeisfeilerLehman(3, start=start).fit_transform(graphs)) == wl_gram(graphs, 3, start)
    ).all()


def test_fitting_on_a_part_gives_the_block_of_fitting_on_everything():
    graphs = planted_motifs(30)
    for normalize in (None, "graph", "level"):
        wl = WeisfeilerLehman(3, normalize=normalize)
        whole = gram(wl.fit_transform(graphs))
        part = wl.fit(graphs[:10]).gram(graphs[10:], graphs[:10])
        np.testing.assert_allclose(part, whole[10:, :10], rtol=1e-12)


def test_features_in_shards_equal_features_at_once():
    graphs = planted_motifs(30)
    wl = WeisfeilerLehman(2, normalize="graph", counts="log").fit(graphs)
    at_once = wl.transform(graphs)
    shards = sparse.vstack([wl.transform(graphs[i : i + 7]) for i in range(0, 30, 7)])
    assert (at_once != shards).nnz == 0
    union = [
        np.unique(np.concatenate(colors))
        for colors in zip(
            *(clone(wl).fit(graphs[i : i + 7]).vocabulary_ for i in range(0, 30, 7)), strict=True
        )
    ]
    assert all((a == b).all() for a, b in zip(union, wl.vocabulary_, strict=True))


def test_every_level_of_raw_counts_sums_to_the_number_of_nodes():
    graphs = random_graphs(15, n_node_labels=4)
    wl = WeisfeilerLehman(3)
    features = wl.fit_transform(graphs)
    for level in wl.levels_:
        assert (features[:, level].sum(axis=1) == graphs.graph_sizes).all()


def test_unseen_colors_are_dropped_or_counted():
    train, new = cycles_and_trees(10), planted_motifs(4)
    plain = pack("plain", [20] * 4, *_ends(new))
    dropped = WeisfeilerLehman(2).fit(train)
    counted = WeisfeilerLehman(2, unseen="count").fit(train)
    assert counted.n_features_out_ == dropped.n_features_out_ + 3
    lost = 20 - dropped.transform(plain)[:, dropped.levels_[2]].sum(axis=1)
    assert (lost > 0).all()
    found = counted.transform(plain)[:, [level.stop - 1 for level in counted.levels_]].toarray()
    assert (found[:, 2] == lost).all()
    assert (counted.transform(train)[:, [level.stop - 1 for level in counted.levels_]].sum()) == 0


def _ends(graphs):
    sources = np.repeat(np.arange(graphs.n_nodes), graphs.degrees)
    return sources, graphs.neighbors


def test_rare_colors_leave_the_vocabulary_but_not_the_length():
    graphs = planted_motifs(20)
    rare = WeisfeilerLehman(3, min_df=2, normalize="graph")
    features = rare.fit_transform(graphs)
    whole = gram(WeisfeilerLehman(3, normalize="graph").fit_transform(graphs))
    off_diagonal = ~np.eye(20, dtype=bool)
    np.testing.assert_allclose(gram(features)[off_diagonal], whole[off_diagonal])
    assert (np.bincount(features.indices, minlength=features.shape[1]) >= 2).all()


def test_normalized_rows_have_length_one_also_for_new_graphs():
    graphs = planted_motifs(20)
    wl = WeisfeilerLehman(3, normalize="graph").fit(graphs)
    np.testing.assert_allclose(sparse.linalg.norm(wl.transform(graphs), axis=1), 1)
    new = planted_motifs(5, seed=9)
    assert (sparse.linalg.norm(wl.transform(new), axis=1) < 1).all()
    levels = WeisfeilerLehman(3, normalize="level").fit_transform(graphs)
    np.testing.assert_allclose(sparse.linalg.norm(levels, axis=1), 2)


def test_counts_are_transformed_before_normalization():
    graphs = planted_motifs(6)
    raw = WeisfeilerLehman(1).fit_transform(graphs).toarray()
    for counts, function in {"log": np.log1p, "sqrt": np.sqrt, "binary": np.sign}.items():
        np.testing.assert_allclose(
            WeisfeilerLehman(1, counts=counts).fit_transform(graphs).toarray(), function(raw)
        )


def test_descriptions_lead_back_to_the_nodes():
    water = pack("water", [3, 2], [0, 0, 3], [1, 2, 4], node_labels=["O", "H", "H", "O", "H"])
    wl = WeisfeilerLehman(1).fit(water)
    texts = {
        wl.describe(f, water): wl.occurrences(f, water).tolist() for f in range(wl.n_features_out_)
    }
    assert texts == {"O": [0, 3], "H": [1, 2, 4], "O(2 H)": [0], "O(H)": [3], "H(O)": [1, 2, 4]}


def test_empty_and_single_node_graphs_have_features():
    graphs = pack("tiny", [0, 1, 2], [1], [2])
    features = WeisfeilerLehman(2, normalize="graph").fit_transform(graphs)
    assert features.shape[0] == 3
    assert np.isfinite(features.data).all()
    assert features[[0]].nnz == 0
    assert gram(features)[1, 1] == pytest.approx(1)


def test_misuse_is_refused_with_what_came():
    graphs = cycles_and_trees(4)
    with pytest.raises(NotFittedError):
        WeisfeilerLehman().transform(graphs)
    with pytest.raises(ParameterError, match="'counts'.*got 'cube'"):
        WeisfeilerLehman(counts="cube").fit(graphs)
    with pytest.raises(ParameterError, match="iterations ≥ 0, got -1"):
        WeisfeilerLehman(-1).fit(graphs)
    with pytest.raises(ParameterError, match="feature 99 is not a color"):
        WeisfeilerLehman(1).fit(graphs).describe(99, graphs)
    labeled = planted_motifs(4)
    with pytest.raises(GraphDataError, match="no node labels"):
        WeisfeilerLehman(1).fit(labeled).transform(graphs)


@pytest.mark.data
@pytest.mark.parametrize("name", ["MUTAG", "PROTEINS", "IMDB-BINARY"])
def test_gram_equals_grakel_on_real_data(name):
    grakel = pytest.importorskip("grakel")
    graphs = load(name)[:150]
    labels = graphs.degrees if graphs.node_labels is None else graphs.node_labels
    peers = []
    for graph in graphs:
        adjacency: dict = {v: {} for v in range(graph.n_nodes)}
        for u, v in graph.arcs.tolist():
            adjacency[u][v] = 1.0
        first = int(graphs.node_offsets[graph.row])
        own = labels[first : first + graph.n_nodes].tolist()
        peers.append([adjacency, dict(enumerate(own))])
    peer = grakel.WeisfeilerLehman(n_iter=3, base_graph_kernel=grakel.VertexHistogram)
    expected = peer.fit_transform(peers)
    blind = WeisfeilerLehman(3, edge_labels=False, attributes=())
    ours = gram(blind.fit_transform(graphs))
    assert (ours == expected).all()
    np.testing.assert_allclose(normalize_gram(ours).diagonal(), 1)


def test_memory_stays_within_eight_times_the_dataset():
    graphs = random_graphs(20_000, n_nodes=20, n_edges=60, seed=0)
    list(graphs.node_graphs[:1]), graphs.degrees[:1]
    tracemalloc.start()
    WeisfeilerLehman(3).fit_transform(graphs)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    size = sum(array.nbytes for array in graphs.arrays().values())
    assert peak <= 8 * size, f"{peak / size:.1f} times the packed dataset"


def test_means_and_maxima_are_those_of_a_loop(monkeypatch):
    graphs = random_graphs(6, n_nodes=9, n_edges=12, seed=4)
    values = np.random.default_rng(0).integers(0, 1000, graphs.n_nodes).astype(np.uint64)
    monkeypatch.setattr("kgnn.kernels.weisfeiler_lehman.CHUNK", 5)
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
