import networkx as nx
import numpy as np
import pytest
from scipy import sparse

from kgnn.errors import ParameterError
from kgnn.graphs.datasets.toy import planted_motifs, random_graphs
from kgnn.graphs.interop import as_dataset
from kgnn.graphs.packing import concatenate, pack
from kgnn.kernels.base import gram
from kgnn.kernels.colors import colors
from kgnn.kernels.graphlets import Graphlets
from kgnn.kernels.shortest_paths import ShortestPaths
from kgnn.kernels.weisfeiler_lehman import WeisfeilerLehman
from kgnn.methods.dgk import DeepKernel, by_information, by_skip_grams, cooccurrences
from kgnn.testing.methods import _renumbered

GRAPHS = planted_motifs(24, n_nodes=10, n_node_labels=2)
BASES = {"wl": WeisfeilerLehman(2), "sp": ShortestPaths(), "graphlet": Graphlets()}


@pytest.mark.parametrize("base", BASES)
def test_without_vectors_it_is_the_base_kernel_bit_for_bit(base):
    plain = DeepKernel(base, embedding=None).fit_transform(GRAPHS)
    assert (gram(plain) == gram(BASES[base].fit_transform(GRAPHS))).all()


def test_new_graphs_are_as_long_as_all_that_they_have():
    known, new = GRAPHS[:6], random_graphs(8, n_nodes=12, n_node_labels=2)
    kernel = DeepKernel(embedding=None, normalize="graph").fit(known)
    base = WeisfeilerLehman(2, normalize="graph").fit(known)
    found = gram(kernel.transform(new), kernel.transform(known))
    np.testing.assert_allclose(found, base.gram(new, known), atol=1e-12)
    soft = DeepKernel(dimensions=4, normalize="graph").fit(known)
    lengths = np.sqrt((soft.transform(new) ** 2).sum(axis=1))
    assert lengths.max() < 0.99
    np.testing.assert_allclose((soft.transform(known) ** 2).sum(axis=1), 1)


@pytest.mark.parametrize("embedding", ["ppmi", "word2vec"])
@pytest.mark.parametrize("base", BASES)
def test_kernels_are_sound(base, embedding):
    kernel = DeepKernel(base, embedding=embedding, dimensions=8).fit(GRAPHS[:16])
    features = kernel.transform(GRAPHS)
    values = gram(features)
    assert np.linalg.eigvalsh(values).min() > -1e-6 * values.max()
    assert (kernel.transform(GRAPHS[[20]]) != features[[20]]).nnz == 0
    again = DeepKernel(base, embedding=embedding, dimensions=8).fit(GRAPHS[:16])
    assert (again.transform(GRAPHS) != features).nnz == 0
    mirrored = kernel.transform(_renumbered(GRAPHS))
    np.testing.assert_allclose(mirrored.toarray(), features.toarray(), atol=1e-12)


def test_the_kernel_is_counts_times_similarities_times_counts():
    kernel = DeepKernel("wl", dimensions=8).fit(GRAPHS)
    counts = WeisfeilerLehman(2).fit_transform(GRAPHS).toarray()
    similar = np.eye(counts.shape[1])
    where = np.flatnonzero(kernel.with_vector_)
    similar[np.ix_(where, where)] = kernel.vectors_ @ kernel.vectors_.T
    np.testing.assert_allclose(gram(kernel.transform(GRAPHS)), counts @ similar @ counts.T)
    rare = ~kernel.with_vector_
    assert rare.any()
    np.testing.assert_allclose(np.linalg.norm(kernel.vectors_, axis=1), 1)


def test_graphs_without_a_common_color_match_if_similarities_link_them():
    graphs = as_dataset([nx.cycle_graph(n) for n in (5, 6, 7)] + [nx.path_graph(n) for n in (5, 6)])
    base = WeisfeilerLehman(0, start="degree").fit(graphs)
    star = as_dataset([nx.star_graph(1)])  # two nodes of degree 1
    ring = as_dataset([nx.cycle_graph(4)])  # four of degree 2
    assert base.gram(star, ring)[0, 0] == 0
    kernel = DeepKernel("wl", iterations=0, dimensions=1).fit(graphs)
    assert (kernel.transform(star) @ kernel.transform(ring).T).toarray()[0, 0] != 0


def test_contexts_of_colors_are_counted_as_a_loop_counts_them():
    graphs = random_graphs(6, n_nodes=7, n_edges=9, n_node_labels=2)
    featurizer = WeisfeilerLehman(2).fit(graphs)
    expected = np.zeros((featurizer.n_features_out_,) * 2)
    levels = [featurizer.columns_of(*each) for each in enumerate(colors(graphs, 2))]
    for graph in graphs:
        first = graph.nodes.start
        for level, columns in enumerate(levels):
            for u, v in graph.edges[graph.edges[:, 0] != graph.edges[:, 1]].tolist():
                a, b = columns[first + u], columns[first + v]
                expected[a, b] += 1
                expected[b, a] += 1
            if level:
                for node in range(graph.n_nodes):
                    a, b = levels[level - 1][first + node], columns[first + node]
                    expected[a, b] += 1
                    expected[b, a] += 1
    assert (cooccurrences(featurizer, graphs).toarray() == expected).all()


def test_contexts_of_colors_know_labels_and_directions_of_edges():
    chain = [
        pack("chain", [4], [0, 1, 2], [1, 2, 3], edge_labels=names) for names in ("aab", "abb")
    ]
    way = [pack("way", [4], [0, 1, 2], ends, directed=True) for ends in ([1, 2, 3], [1, 2, 3])]
    for graphs in (concatenate(chain), concatenate(way)):
        featurizer = WeisfeilerLehman(2, attributes=()).fit(graphs)
        together = cooccurrences(featurizer, graphs)
        assert (together.sum(axis=1) > 0).all()  # every color has a color above or below


def test_contexts_of_paths_are_graphs_and_of_graphlets_windows():
    graphs = as_dataset([nx.path_graph(4), nx.complete_graph(6)])
    paths = cooccurrences(ShortestPaths().fit(graphs), graphs).toarray()
    assert sorted(paths.diagonal().tolist()) == [2, 2, 4]  # lengths 3, 2 in one graph, 1 in both
    cliques = cooccurrences(Graphlets().fit(graphs[1:]), graphs[1:]).toarray()
    assert np.flatnonzero(cliques.diagonal()).tolist() == [3, 14]
    assert (cliques == cliques.T).all()
    tiny = pack("tiny", [2], [0], [1])
    assert cooccurrences(Graphlets().fit(tiny), tiny).nnz == 0


def test_words_with_the_same_contexts_have_the_same_vector():
    together = np.array([[0, 0, 9, 1], [0, 0, 9, 1], [9, 9, 0, 0], [1, 1, 0, 8]])
    assert (together == together.T).all()
    vectors = by_information(sparse.csr_array(together), 3, seed=0)
    np.testing.assert_allclose(vectors[0], vectors[1], atol=1e-9)
    assert not np.allclose(vectors[0], vectors[3])
    many = sparse.csr_array(together * 500)
    learned = by_skip_grams(many, 4, seed=0)
    unit = learned / np.linalg.norm(learned, axis=1, keepdims=True)
    assert unit[0] @ unit[1] > unit[0] @ unit[2]
    assert (by_skip_grams(many, 4, seed=0) == learned).all()
    nothing = sparse.csr_array((3, 3))
    assert (by_information(nothing, 2, seed=0) == 0).all()
    assert (by_skip_grams(nothing, 2, seed=0) == 0).all()


def test_misuse_is_refused():
    for wrong in ({"base": "walks"}, {"embedding": "glove"}, {"normalize": "level"}):
        with pytest.raises(ParameterError, match="DeepKernel must be one of"):
            DeepKernel(**wrong).fit(GRAPHS)
