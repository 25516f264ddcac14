from itertools import combinations
from math import comb

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from scipy import sparse

from kgnn.errors import ParameterError
from kgnn.graphs.datasets.toy import random_graphs
from kgnn.graphs.interop import as_dataset
from kgnn.graphs.loading import load
from kgnn.graphs.packing import concatenate, pack
from kgnn.kernels.graphlet_counts import (
    classes,
    count_four,
    count_three,
    is_connected,
    n_classes,
    representatives,
    work_of_four,
)
from kgnn.kernels.graphlets import Adjacency, Graphlets, distinct, sample_shares, sample_size
from tests.graphs.strategies import datasets
from tests.reference.graphlet_enumeration import as_networkx, count_graphlets

EXACT = {3: count_three, 4: count_four}


def graph_of(peer):
    return as_dataset([nx.convert_node_labels_to_integers(peer)])


def enumerated(graphs, size):
    rows = []
    for graph in graphs:
        found = count_graphlets(graph, size)
        rows.append([found.get(pattern, 0) for pattern in representatives(size)])
    return np.array(rows, dtype=float).reshape(len(graphs), -1)


@pytest.mark.parametrize("size", [3, 4, 5])
def test_patterns_are_of_one_class_exactly_if_they_are_isomorphic(size):
    smallest = representatives(size)
    assert len(smallest) == {3: 4, 4: 11, 5: 34}[size]
    assert sum(is_connected(size, pattern) for pattern in smallest) == {3: 2, 4: 6, 5: 21}[size]
    for a, b in combinations(smallest, 2):
        assert not nx.is_isomorphic(as_networkx(size, a), as_networkx(size, b))
    rng = np.random.default_rng(0)
    for pattern in rng.choice(1 << size * (size - 1) // 2, 30):
        peer = as_networkx(size, smallest[classes(size)[pattern]])
        assert nx.is_isomorphic(as_networkx(size, int(pattern)), peer)
        assert is_connected(size, int(pattern)) == nx.is_connected(peer)


@pytest.mark.parametrize(
    ("peer", "counts"),
    [
        (nx.complete_graph(4), [0, 0, 0, 4]),
        (nx.path_graph(4), [0, 2, 2, 0]),
        (nx.cycle_graph(4), [0, 0, 4, 0]),
        (nx.star_graph(3), [1, 0, 3, 0]),
        (nx.cycle_graph(5), [0, 5, 5, 0]),
        (nx.complete_graph(5), [0, 0, 0, 10]),
        (nx.petersen_graph(), [30, 60, 30, 0]),
    ],
)
def test_known_counts_of_three_nodes(peer, counts):
    assert count_three(graph_of(peer)).tolist() == [counts]


def test_known_counts_of_four_nodes():
    def count(peer):
        names = {
            "empty": nx.empty_graph(4),
            "edge": nx.from_edgelist([(0, 1)]),
            "two edges": nx.from_edgelist([(0, 1), (2, 3)]),
            "wedge": nx.path_graph(3),
            "claw": nx.star_graph(3),
            "path": nx.path_graph(4),
            "clique": nx.complete_graph(4),
        }
        for small in names.values():
            small.add_nodes_from(range(4))
        found = {}
        for number, amount in enumerate(count_four(graph_of(peer))[0].tolist()):
            known = as_networkx(4, representatives(4)[number])
            name = next((n for n, g in names.items() if nx.is_isomorphic(g, known)), "other")
            found[name] = found.get(name, 0) + amount
        return {name: amount for name, amount in found.items() if amount}

    assert count(nx.complete_graph(4)) == {"clique": 1}
    assert count(nx.cycle_graph(5)) == {"path": 5}
    assert count(nx.petersen_graph()) == {
        "path": 60,
        "claw": 10,
        "wedge": 60,
        "two edges": 15,
        "edge": 60,
        "empty": 5,
    }


@settings(deadline=None, max_examples=60)
@given(datasets(max_graphs=4))
def test_exact_counts_equal_enumeration(graphs):
    for size, count in EXACT.items():
        assert (count(graphs) == enumerated(graphs, size)).all()


@pytest.mark.parametrize("n_edges", [5, 12, 20, 30, 36])
def test_exact_counts_equal_enumeration_at_every_density(n_edges):
    graphs = random_graphs(8, n_nodes=9, n_edges=n_edges, seed=n_edges)
    for size, count in EXACT.items():
        found = count(graphs)
        assert (found == enumerated(graphs, size)).all()
        assert (found.sum(axis=1) == comb(9, size)).all()


def test_many_small_pieces_count_the_same(monkeypatch):
    graphs = random_graphs(30, n_nodes=20, n_edges=80)
    whole = count_four(graphs)
    monkeypatch.setattr("kgnn.kernels.graphlet_counts._PATHS_AT_ONCE", 50)
    assert (count_four(graphs) == whole).all()


def test_dense_and_sparse_ways_to_count_triangles_agree(monkeypatch):
    graphs = concatenate(
        [random_graphs(5, n_nodes=30, n_edges=m) for m in (40, 400)]
        + [pack("loops", [3, 0, 1], [0, 1, 2, 0, 3], [0, 1, 0, 1, 3])]
        + [random_graphs(3, n_nodes=200, n_edges=m) for m in (150, 3000)]
    )
    found = [count_three(graphs)]
    # Sets everywhere, paths everywhere, and sets for what is more than small.
    for small, cost in ((1 << 20, 0), (0, 0), (50, 1e9)):
        monkeypatch.setattr("kgnn.kernels.graphlet_counts._SMALL", small)
        monkeypatch.setattr("kgnn.kernels.graphlet_counts._WORDS_PER_PATH", cost)
        monkeypatch.setattr("kgnn.kernels.graphlet_counts._WORDS_AT_ONCE", 100)
        found.append(count_three(graphs))
    assert all((each == found[0]).all() for each in found)
    assert found[0][:, 3].min() == 0 < found[0][:, 3].max()
    assert (found[0] >= 0).all()


def test_work_is_a_bound_of_what_is_looked_at():
    star, clique = graph_of(nx.star_graph(500)), graph_of(nx.complete_graph(30))
    assert work_of_four(star)[0] < 1000  # hubs are not walked through
    assert work_of_four(clique)[0] >= comb(30, 4)


def test_sample_sizes_keep_the_bound():
    assert [sample_size(size, 0.05, 0.05) for size in (3, 4, 5)] == [4615, 8497, 21251]
    assert [sample_size(size, 0.1, 0.1) for size in (3, 4, 5)] == [1016, 1986, 5174]


@pytest.mark.parametrize("size", [3, 4])
def test_sampled_shares_are_as_close_as_promised(size):
    graphs = random_graphs(20, n_nodes=14, n_edges=35)
    exact = enumerated(graphs[:20], size) / comb(14, size)
    n_samples = sample_size(size, 0.1, 0.1)
    near = [
        np.abs(sample_shares(graphs, size, n_samples, seed) - exact).sum(axis=1) < 0.1
        for seed in range(10)
    ]
    assert np.mean(near) >= 0.9


def test_all_sets_of_nodes_are_equally_probable():
    draws = np.random.default_rng(0).random((20_000, 3))
    nodes = distinct(np.array([5]), draws)[:, 0]
    sets, counts = np.unique(np.sort(nodes, axis=0).T, axis=0, return_counts=True)
    assert len(sets) == 10
    chi_square = ((counts - 2000) ** 2 / 2000).sum()
    assert chi_square < 27.9  # 0.999 quantile of 9 degrees of freedom


def test_five_nodes_are_estimated_without_bias():
    graphs = random_graphs(5, n_nodes=9, n_edges=18)
    exact = enumerated(graphs, 5) / comb(9, 5)
    sampled = np.mean([sample_shares(graphs, 5, 4000, seed) for seed in range(5)], axis=0)
    assert np.abs(sampled - exact).sum(axis=1).max() < 0.06


def test_samples_depend_on_the_seed_and_on_nothing_else():
    graphs = random_graphs(10, n_nodes=30, n_edges=60)
    whole = sample_shares(graphs, 4, 500, 0)
    alone = np.concatenate([sample_shares(graphs[[row]], 4, 500, 0) for row in range(10)])
    assert (whole == alone).all()
    assert (whole != sample_shares(graphs, 4, 500, 1)).any()


def test_features_are_shares_of_all_sets_and_renumbering_changes_nothing():
    peer = nx.gnm_random_graph(12, 25, seed=1)
    shuffled = nx.relabel_nodes(peer, dict(zip(range(12), [*range(5, 12), *range(5)], strict=True)))
    ordered = nx.Graph()
    ordered.add_nodes_from(range(12))
    ordered.add_edges_from(shuffled.edges)
    features = Graphlets().fit_transform(as_dataset([peer, ordered])).toarray()
    assert (features[0] == features[1]).all()
    assert features[:, :4].sum(axis=1).tolist() == [1, 1]
    assert features[:, 4:].sum(axis=1) == pytest.approx([1, 1])


def test_graphs_that_are_too_small_have_no_graphlets():
    graphs = pack("small", [0, 1, 2, 3, 4], [1, 3, 6], [2, 4, 7])
    for method in ("auto", "exact", "sample"):
        features = Graphlets(method=method, normalize="graph").fit_transform(graphs).toarray()
        assert np.isfinite(features).all()
        assert (features[:3] == 0).all()
        assert (features[3, 4:] == 0).all()
        assert features[3, :4].any()


def test_counts_instead_of_shares_and_connected_ones_only():
    clique = graph_of(nx.complete_graph(6))
    counts = Graphlets(shares=False).fit_transform(clique).toarray()
    assert counts[0, 3] == comb(6, 3)
    assert counts[0, 14] == comb(6, 4)
    path = graph_of(nx.path_graph(6))
    connected = Graphlets((3,), connected_only=True).fit_transform(path)
    assert connected.toarray().tolist() == [[1.0, 0.0]]
    names = Graphlets((3,), connected_only=True).fit(path).get_feature_names_out()
    assert names.tolist() == ["graphlet3_0b11", "graphlet3_0b111"]
    assert len(Graphlets((3, 4, 5)).get_feature_names_out()) == 4 + 11 + 34


def test_dense_graphs_are_sampled_and_the_others_counted(monkeypatch):
    graphs = concatenate([random_graphs(3, n_nodes=30, n_edges=m) for m in (30, 400)])
    assert (work_of_four(graphs)[3:] > 3000).all()
    exact = Graphlets((4,), method="exact").fit_transform(graphs).toarray()
    assert (Graphlets((4,)).fit_transform(graphs).toarray() == exact).all()
    monkeypatch.setattr("kgnn.kernels.graphlets._AFFORDABLE", 3000)
    mixed = Graphlets((4,)).fit_transform(graphs).toarray()
    assert (mixed[:3] == exact[:3]).all()
    assert (mixed[3:] != exact[3:]).any()
    assert np.abs(mixed - exact).sum(axis=1).max() < 0.1


def test_pairs_of_large_graphs_are_searched_for(monkeypatch):
    graphs = random_graphs(4, n_nodes=25, n_edges=60)
    sources = np.repeat(np.arange(graphs.n_nodes), graphs.degrees)
    dense = sparse.csr_array((np.ones(graphs.n_arcs), (sources, graphs.neighbors))).toarray() > 0
    u, v = (each.ravel() for each in np.meshgrid(np.arange(25), np.arange(25)))
    u, v = u + 50, v + 50
    assert (Adjacency(graphs)(u, v) == dense[u, v]).all()
    monkeypatch.setattr("kgnn.kernels.graphlets._LARGEST_TABLE", 0)
    assert (Adjacency(graphs)(u, v) == dense[u, v]).all()
    assert not Adjacency(pack("none", [3], [], []))(np.array([0, 1]), np.array([1, 2])).any()


def test_misuse_is_refused():
    graphs = random_graphs(2, n_nodes=5, n_edges=5)
    with pytest.raises(ParameterError, match="3, 4 and 5, got \\(6,\\)"):
        Graphlets((6,)).fit(graphs)
    with pytest.raises(ParameterError, match="'method'.*got 'guess'"):
        Graphlets(method="guess").fit(graphs)
    with pytest.raises(ParameterError, match="only estimated"):
        Graphlets((5,), method="exact").fit(graphs)


@pytest.mark.data
def test_real_graphs_are_counted_as_enumeration_counts_them():
    graphs = load("MUTAG")
    small = graphs[graphs.graph_sizes <= 14]
    assert len(small) > 20
    for size, count in EXACT.items():
        assert (count(small) == enumerated(small, size)).all()
    assert n_classes(4) == 11
