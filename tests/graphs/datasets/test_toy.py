"""Generated datasets are what their names say, for every seed and size."""

from __future__ import annotations

import pytest

from kgnn.errors import ParameterError
from kgnn.graphs.datasets.toy import cycles_and_trees, planted_motifs, random_graphs


def test_cycles_have_as_many_edges_as_nodes_and_trees_one_less():
    dataset = cycles_and_trees(30, seed=1)
    surplus = dataset.graph_sizes - dataset.edge_counts
    assert surplus.tolist() == [row % 2 for row in range(30)]
    assert dataset.targets.tolist() == [row % 2 for row in range(30)]


def test_motifs_are_in_the_first_five_nodes():
    dataset = planted_motifs(4)
    counts = [sum(v < 5 for _, v in graph.edges) for graph in dataset]
    assert counts == [4, 6, 4, 6]
    assert [graph.target for graph in dataset] == ["star", "fan"] * 2
    assert all(graph.node_labels[:5] == ["0"] * 5 for graph in dataset)


@pytest.mark.parametrize("make", [cycles_and_trees, planted_motifs, random_graphs])
def test_the_seed_decides(make):
    assert make(20, seed=3).fingerprint == make(20, seed=3).fingerprint
    assert make(20, seed=3).fingerprint != make(20, seed=4).fingerprint


@pytest.mark.parametrize("make", [cycles_and_trees, planted_motifs, random_graphs])
@pytest.mark.parametrize("n_graphs", [0, 1])
def test_any_size_will_do(make, n_graphs):
    assert len(make(n_graphs)) == n_graphs


def test_motifs_need_room():
    with pytest.raises(ParameterError, match="at least 8, got 7"):
        planted_motifs(n_nodes=7)
