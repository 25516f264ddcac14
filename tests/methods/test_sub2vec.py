import networkx as nx
import numpy as np

from kgnn.graphs.datasets.toy import planted_motifs, random_graphs
from kgnn.graphs.interop import as_dataset
from kgnn.graphs.packing import pack
from kgnn.methods.sub2vec import WalkVectors, degree_classes, random_walks
from kgnn.testing.methods import _renumbered


def draws(n_walks=5, length=20, seed=0):
    return np.random.default_rng(seed).random((n_walks, length))


def test_every_step_goes_to_a_neighbor_of_the_same_graph():
    graphs = random_graphs(10, n_nodes=12, n_edges=20)
    walks = random_walks(graphs, draws())
    sources = np.repeat(np.arange(graphs.n_nodes), graphs.degrees)
    arcs = set(zip(sources.tolist(), graphs.neighbors.tolist(), strict=True))
    for row, on_graph in enumerate(walks):
        assert (graphs.node_graphs[on_graph] == row).all()
        for walk in on_graph.tolist():
            assert set(zip(walk[:-1], walk[1:], strict=True)) <= arcs


def test_isolated_nodes_are_never_walked_on_and_edgeless_graphs_have_no_walk():
    graphs = pack("odd", [4, 3, 0, 2], [1, 7], [2, 8])
    walks = random_walks(graphs, draws())
    assert set(walks[0].ravel().tolist()) == {1, 2}
    assert (walks[1:3] == -1).all()
    assert set(walks[3].ravel().tolist()) == {7, 8}
    documents = WalkVectors(walks=5, length=20).documents(graphs)
    assert documents[1] == [["0"]] == documents[2]


def test_neighbors_are_chosen_uniformly():
    star = as_dataset([nx.star_graph(4)])
    walks = random_walks(star, draws(400, 51))[0]
    leaves = walks[walks > 0]
    counts = np.bincount(leaves, minlength=5)[1:]
    expected = counts.sum() / 4
    assert ((counts - expected) ** 2 / expected).sum() < 16.3  # 0.999 quantile, 3 degrees


def test_walks_do_not_depend_on_company_nor_degrees_on_node_numbers():
    graphs = planted_motifs(8, n_nodes=14)
    alone = [random_walks(graphs[[row]], draws())[0] for row in range(8)]
    together = random_walks(graphs, draws())
    for row in range(8):
        assert (alone[row] == together[row] - graphs.node_offsets[row]).all()
    mirrored = _renumbered(graphs)
    walked = graphs.degrees[together]
    assert (walked == mirrored.degrees[random_walks(mirrored, draws())]).all()


def test_degree_classes():
    assert degree_classes(as_dataset([nx.complete_graph(30)])).tolist() == [7] * 30
    assert degree_classes(pack("none", [2], [], [])).tolist() == [0, 0]
    ring = degree_classes(as_dataset([nx.cycle_graph(40)]))
    assert ring.tolist() == [0] * 40  # 2 / 40 is 0.05, the right edge of the first class
    assert degree_classes(as_dataset([nx.cycle_graph(20)])).tolist() == [1] * 20
    every = degree_classes(random_graphs(20, n_nodes=10, n_edges=20))
    assert 0 <= every.min() <= every.max() <= 7


def test_a_regular_graph_is_a_constant_sentence():
    sentences = WalkVectors(walks=3, length=10).documents(as_dataset([nx.petersen_graph()]))[0]
    assert {word for sentence in sentences for word in sentence} == {"5"}
    assert [len(sentence) for sentence in sentences] == [10, 10, 10]
