import networkx as nx
import numpy as np
import pytest

from kgnn.evaluation.twins import has_twin, looks
from kgnn.graphs.datasets.toy import random_graphs
from kgnn.graphs.interop import as_dataset


def renumbered(graph, rng):
    order = rng.permutation(len(graph)).tolist()
    return nx.relabel_nodes(graph, dict(zip(graph, order, strict=True)))


def test_isomorphic_graphs_are_alike_and_no_others_of_a_random_sample():
    rng = np.random.default_rng(0)
    originals = [nx.gnp_random_graph(9, 0.35, seed=seed) for seed in range(40)]
    copies = [renumbered(graph, rng) for graph in originals]
    numbers = looks(as_dataset(originals + copies))
    for i, one in enumerate(originals):
        for j, other in enumerate(originals):
            assert (numbers[i] == numbers[40 + j]) == nx.is_isomorphic(one, other)


def test_labels_and_sizes_make_a_difference():
    plain, colored = nx.path_graph(3), nx.path_graph(3)
    for graph, end in ((plain, "a"), (colored, "b")):
        nx.set_node_attributes(graph, "a", "label")
        graph.nodes[2]["label"] = end
    numbers = looks(as_dataset([plain, colored, plain]))
    assert numbers[0] == numbers[2] != numbers[1]
    # Isolated nodes, which all look the same: the number of them counts.
    assert len(set(looks(as_dataset([nx.empty_graph(n) for n in (1, 2, 3)])))) == 3


def test_twins_are_looked_for_among_the_given_graphs_only():
    graphs = random_graphs(6, seed=1)[[0, 1, 2, 0, 1]]
    assert has_twin(graphs, np.array([3, 4, 2]), np.array([0, 2])).tolist() == [True, False, True]
    assert not has_twin(graphs, np.array([3]), np.array([], dtype=int)).any()


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "share"), [("IMDB-BINARY", 0.46), ("IMDB-MULTI", 0.74), ("DD", 0.0)]
)
def test_the_share_of_copies_in_real_datasets(name, share):
    from kgnn.graphs.loading import load

    numbers = looks(load(name))
    assert 1 - len(np.unique(numbers)) / len(numbers) == pytest.approx(share, abs=0.01)
