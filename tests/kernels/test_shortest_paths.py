import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from kgnn.errors import GraphDataError, ParameterError
from kgnn.graphs.datasets.toy import cycles_and_trees, planted_motifs, random_graphs
from kgnn.graphs.loading import load
from kgnn.graphs.packing import concatenate, pack
from kgnn.kernels import distances
from kgnn.kernels.base import gram, normalize_gram
from kgnn.kernels.shortest_paths import ShortestPaths
from tests.graphs.strategies import datasets
from tests.kernels.test_distances import twin_heavy
from tests.reference.shortest_paths_loop import path_counts, sp_gram

P4 = pack("P4", [4], [0, 1, 2], [1, 2, 3])
C4 = pack("C4", [4], [0, 1, 2, 3], [1, 2, 3, 0])
K4 = pack("K4", [4], [0, 0, 0, 1, 1, 2], [1, 2, 3, 2, 3, 3])
STAR = pack("K1,3", [4], [0, 0, 0], [1, 2, 3])
TWO_EDGES = pack("2K2", [4], [0, 2], [1, 3])


def named(graphs, **parameters):
    """Counts of one graph's features, by name."""
    paths = ShortestPaths(**parameters)
    row = paths.fit_transform(graphs).toarray()[0]
    return dict(zip(paths.get_feature_names_out().tolist(), row.tolist(), strict=True))


def kernel(a, b, **parameters):
    return ShortestPaths(**parameters).fit(concatenate([a, b])).gram(a, b)[0, 0]


def test_histograms_of_small_graphs():
    assert named(P4) == {"sp1": 3, "sp2": 2, "sp3": 1}
    assert named(C4) == {"sp1": 4, "sp2": 2}
    assert named(K4) == {"sp1": 6}
    assert named(STAR) == {"sp1": 3, "sp2": 3}
    assert named(TWO_EDGES) == {"sp1": 2}
    assert named(P4, max_distance=2) == {"sp1": 3, "sp2": 2}


def test_hand_computed_kernel_values():
    assert kernel(P4, P4) == 14
    assert kernel(P4, C4) == 16
    assert kernel(C4, C4) == 20
    assert kernel(P4, C4, normalize="graph") == pytest.approx(0.95618, abs=1e-5)


def test_labels_are_named_in_either_order():
    alcohol = pack("C-C-O", [3], [0, 1], [1, 2], node_labels=["C", "C", "O"])
    assert named(alcohol) == {"sp1_C_C": 1, "sp1_C_O": 1, "sp2_C_O": 1}
    assert named(alcohol, start="constant") == {"sp1": 2, "sp2": 1}


@given(datasets(), st.none() | st.integers(1, 3), st.sampled_from(["auto", "constant"]))
def test_counts_equal_plain_loops(graphs, max_distance, start):
    paths = ShortestPaths(start=start, max_distance=max_distance)
    features = paths.fit_transform(graphs).toarray()
    labels = start == "auto" and graphs.node_labels is not None
    loops = [path_counts(graph, labels=labels, max_distance=max_distance) for graph in graphs]
    expected = [{"_".join([f"sp{d}", *ends]): n for (d, *ends), n in c.items()} for c in loops]
    names = paths.get_feature_names_out().tolist()
    by_sorted_name = {"_".join([n.split("_")[0], *sorted(n.split("_")[1:])]): n for n in names}
    for row, counts in zip(features, expected, strict=True):
        ours = dict(zip(names, row.tolist(), strict=True))
        assert {key: ours[by_sorted_name[key]] for key in counts} == counts
        assert row.sum() == sum(counts.values())


@pytest.mark.parametrize("labeled", [True, False])
def test_gram_equals_plain_loops_on_larger_graphs(labeled):
    for n_nodes in (20, 70, 140):
        graphs = random_graphs(
            6, n_nodes=n_nodes, n_edges=int(1.3 * n_nodes), n_node_labels=5, seed=n_nodes
        )
        ours = gram(ShortestPaths(start="labels" if labeled else "constant").fit_transform(graphs))
        assert (ours == sp_gram(graphs, labels=labeled)).all()


def test_gram_equals_plain_loops_on_twin_heavy_graphs():
    graphs = twin_heavy()
    assert (gram(ShortestPaths().fit_transform(graphs)) == sp_gram(graphs, labels=False)).all()
    sources = np.repeat(np.arange(graphs.n_nodes), graphs.degrees)
    labels = [["red", "green", "blue"][v * v % 7 % 3] for v in range(graphs.n_nodes)]
    colored = pack("c", graphs.graph_sizes, sources, graphs.neighbors, node_labels=labels)
    assert (gram(ShortestPaths().fit_transform(colored)) == sp_gram(colored)).all()


@given(datasets())
def test_counts_sum_to_the_number_of_connected_pairs(graphs):
    totals = ShortestPaths().fit_transform(graphs).sum(axis=1)
    assert totals.tolist() == [sum(path_counts(g, labels=False).values()) for g in graphs]


@given(datasets(min_graphs=2))
def test_gram_is_symmetric_and_positive_semidefinite(graphs):
    products = normalize_gram(gram(ShortestPaths().fit_transform(graphs)))
    np.testing.assert_allclose(products, products.T)
    assert np.linalg.eigvalsh(products).min() > -1e-9


def renumbered(graphs, seed):
    """The same graphs with their nodes in another order."""
    rng = np.random.default_rng(seed)
    new = np.concatenate(
        [g.nodes.start + rng.permutation(g.n_nodes) for g in graphs] + [np.empty(0, np.int64)]
    ).astype(np.int64)
    sources = np.repeat(np.arange(graphs.n_nodes), graphs.degrees)
    labels = None
    if graphs.node_labels is not None:
        labels = np.empty(graphs.n_nodes, dtype=object)
        labels[new] = [graphs.node_label_names[code] for code in graphs.node_labels]
    ends = new[sources], new[graphs.neighbors]
    return pack("renumbered", graphs.graph_sizes, *ends, node_labels=labels)


@given(datasets(), st.integers(0, 9))
def test_the_order_of_nodes_does_not_matter(graphs, seed):
    paths = ShortestPaths()
    assert (paths.fit_transform(graphs) != paths.transform(renumbered(graphs, seed))).nnz == 0


def test_reversing_every_path_changes_nothing():
    forth = pack("forth", [4], [0, 1, 2], [1, 2, 3], node_labels=["a", "b", "a", "c"])
    back = pack("back", [4], [0, 1, 2], [1, 2, 3], node_labels=["c", "a", "b", "a"])
    assert named(forth) == named(back)
    other = pack("other", [4], [0, 1, 2], [1, 2, 3], node_labels=["a", "a", "b", "c"])
    assert named(forth) != named(other)


def test_the_name_of_a_label_counts_not_its_number():
    few = pack("few", [2], [0], [1], node_labels=["N", "O"])
    many = pack("many", [2, 2], [0, 2], [1, 3], node_labels=["C", "C", "O", "N"])
    assert ShortestPaths().fit(few).transform(many).toarray().tolist() == [[0], [1]]


def test_hashes_are_the_same_in_another_process():
    code = (
        "from kgnn.graphs.datasets.toy import planted_motifs\n"
        "from kgnn.kernels.shortest_paths import ShortestPaths\n"
        "print(ShortestPaths().fit(planted_motifs(5)).vocabulary_[0].tolist())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    ours = ShortestPaths().fit(planted_motifs(5)).vocabulary_[0].tolist()
    assert done.stdout.strip() == str(ours)


def test_features_in_shards_equal_features_at_once(monkeypatch):
    graphs = planted_motifs(30)
    paths = ShortestPaths(normalize="graph", counts="log").fit(graphs)
    at_once = paths.transform(graphs)
    shards = sparse.vstack([paths.transform(graphs[i : i + 7]) for i in range(0, 30, 7)])
    assert (at_once != shards).nnz == 0
    parts = [clone(paths).fit(graphs[i : i + 7]).vocabulary_[0] for i in range(0, 30, 7)]
    assert (np.unique(np.concatenate(parts)) == paths.vocabulary_[0]).all()
    monkeypatch.setattr(distances, "_WORDS_PER_PIECE", 50)
    assert (at_once != paths.transform(graphs)).nnz == 0


def test_fitting_on_a_part_gives_the_block_of_fitting_on_everything():
    graphs = planted_motifs(30)
    for normalize in (None, "graph"):
        paths = ShortestPaths(normalize=normalize)
        whole = gram(paths.fit_transform(graphs))
        part = paths.fit(graphs[:10]).gram(graphs[10:], graphs[:10])
        np.testing.assert_allclose(part, whole[10:, :10], rtol=1e-12)


def test_rare_paths_leave_the_vocabulary():
    graphs = random_graphs(20, n_node_labels=6)
    rare = ShortestPaths(min_df=5)
    features = rare.fit_transform(graphs)
    assert (np.bincount(features.indices, minlength=features.shape[1]) >= 5).all()
    assert len(rare.get_feature_names_out()) == features.shape[1]
    assert features.shape[1] < ShortestPaths().fit_transform(graphs).shape[1]


def test_graphs_without_paths_have_no_features():
    graphs = pack("tiny", [0, 1, 3, 2], [1, 4], [1, 5])  # nothing, a loop, three nodes, an edge
    features = ShortestPaths(normalize="graph").fit_transform(graphs)
    assert features.toarray().tolist() == [[0], [0], [0], [1]]
    nothing = ShortestPaths().fit(pack("nothing", [0, 1], [], []))
    assert nothing.transform(graphs).shape == (4, 0)
    assert nothing.get_feature_names_out().shape == (0,)


def test_misuse_is_refused_with_what_came():
    plain, labeled = cycles_and_trees(4), planted_motifs(4)
    with pytest.raises(NotFittedError):
        ShortestPaths().transform(plain)
    with pytest.raises(ParameterError, match=r"'start'.*got 'degrees'"):
        ShortestPaths(start="degrees").fit(plain)
    with pytest.raises(ParameterError, match="max_distance ≥ 1, got 0"):
        ShortestPaths(max_distance=0).fit(plain)
    with pytest.raises(GraphDataError, match="no node labels"):
        ShortestPaths(start="labels").fit(plain)
    fitted = ShortestPaths().fit(labeled)
    assert fitted.start_ == "labels"
    with pytest.raises(GraphDataError, match="no node labels"):
        fitted.transform(plain)
    assert ShortestPaths().fit(plain).transform(labeled).nnz > 0


@pytest.mark.data
@pytest.mark.parametrize("name", ["MUTAG", "PROTEINS"])
@pytest.mark.parametrize("with_labels", [True, False])
def test_gram_equals_grakel_on_real_data(name, with_labels):
    grakel = pytest.importorskip("grakel")
    graphs = load(name)[:100]
    peers = []
    for graph in graphs:
        adjacency: dict = {v: {} for v in range(graph.n_nodes)}
        for u, v in graph.arcs.tolist():
            adjacency[u][v] = 1.0
        peers.append([adjacency, dict(enumerate(graph.node_labels))])
    expected = grakel.ShortestPath(with_labels=with_labels).fit_transform(peers)
    paths = ShortestPaths(start="labels" if with_labels else "constant")
    features = paths.fit_transform(graphs).toarray()
    # GraKeL counts ordered pairs: equal ends twice in one column, others once in each of two.
    ends = [name.split("_")[1:] for name in paths.get_feature_names_out().tolist()]
    factor = [2.0 if len(set(each)) == 2 else 4.0 for each in ends]
    assert (features * factor @ features.T == expected).all()


def test_graphs_without_edges_have_no_features_however_scaled():
    edgeless = pack("edgeless", [2, 1], [], [])
    for normalize in (None, "graph", "level", "dataset"):
        assert ShortestPaths(normalize=normalize).fit_transform(edgeless).nnz == 0


def test_ends_may_be_told_apart_by_their_rounded_degrees():
    star = pack("star", [8], [0] * 7, range(1, 8))
    paths = ShortestPaths(start="degree")
    features = paths.fit_transform(star).toarray()[0]
    found = dict(zip(paths.get_feature_names_out().tolist(), features.tolist(), strict=True))
    assert found == {"sp1_degree 1_degree 6": 7, "sp2_degree 1_degree 1": 21}
    larger = pack("star", [7], [0] * 6, range(1, 7))  # six and seven are one half-octave
    assert paths.transform(larger).toarray().sum() == 6 + 15
    hub = pack("star", [9], [0] * 8, range(1, 9))
    assert paths.transform(hub).toarray().sum() == 28
