"""Profiles of edges: each score against a slow one, and what the forest is given."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kgnn
from kgnn.graphs.datasets.toy import cycles_and_trees
from kgnn.graphs.packing import concatenate, pack
from kgnn.kernels.degree_profiles import DegreeProfiles
from kgnn.methods import ltp
from kgnn.methods.ltp import EdgeProfiles, Edges


def drawn(seed, n_nodes, n_edges):
    """Return a random graph, which may have self loops, trees and several components."""
    ends = np.random.default_rng(seed).integers(n_nodes, size=(2, n_edges))
    return pack("drawn", [n_nodes], *ends)


def as_networkx(graphs):
    found = nx.Graph()
    found.add_nodes_from(range(graphs.n_nodes))
    found.add_edges_from(zip(graphs.arc_sources.tolist(), graphs.neighbors.tolist(), strict=True))
    found.remove_edges_from(list(nx.selfloop_edges(found)))
    return found


def local_degree(graph, u, v):
    """Follow the definition: the largest exponent with which the edge is still left out."""
    scores = []
    for here, there in ((u, v), (v, u)):
        degree = graph.degree(here)
        rank = 1 + sum(graph.degree(w) > graph.degree(there) for w in graph.neighbors(here))
        scores.append(1.0 if degree == 1 else 1 - np.log(rank) / np.log(degree))
    return max(scores)


@pytest.mark.parametrize("cells", [1 << 20, 8])
@given(st.integers(0, 2**20), st.integers(2, 14), st.integers(1, 24))
def test_scores_of_edges_are_those_of_slow_definitions(cells, seed, n_nodes, n_edges):
    graphs = concatenate([drawn(seed, n_nodes, n_edges), drawn(seed + 1, n_nodes, n_edges)])
    graph = as_networkx(graphs)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(ltp, "_CELLS", cells)
        edges = Edges(graphs)
        ends = list(map(tuple, edges.ends.T.tolist()))
        assert sorted(ends) == sorted(tuple(sorted(edge)) for edge in graph.edges)
        between = nx.edge_betweenness_centrality(graph, normalized=False)
        between = {tuple(sorted(edge)): value for edge, value in between.items()}
        np.testing.assert_allclose(edges.betweenness(), [between[edge] for edge in ends])
        jaccard = [value for *_, value in nx.jaccard_coefficient(graph, ends)]
        np.testing.assert_allclose(edges.jaccard(), jaccard)
    expected = [local_degree(graph, *edge) for edge in ends]
    np.testing.assert_allclose(edges.local_degree(), expected, atol=1e-12)


def test_profiles_are_those_of_degrees_and_shares_of_edges():
    bridge = pack("bridge", [6], [0, 0, 1, 2, 3, 3, 4], [1, 2, 2, 3, 4, 5, 5])
    both = concatenate([cycles_and_trees(3), pack("none", [0, 2], [], []), bridge])
    profiles = EdgeProfiles().fit(both)
    names = profiles.get_feature_names_out().tolist()
    found = profiles.transform(both)
    degrees = DegreeProfiles().fit(both)
    np.testing.assert_array_equal(found[:, : 42 * 4 + 3], degrees.transform(both))
    assert len(names) == found.shape[1] == 42 * 4 + 3 + 42 + 20 + 20
    assert not found[3:5, 42 * 4 + 3 :].any()  # without edges
    row = dict(zip(names, found[-1].tolist(), strict=True))
    # The bridge connects 9 pairs, four edges connect 4 each, two a single one.
    shares = {0: 2 / 7, 4: 4 / 7, 6: 1 / 7}
    assert {n: row[f"betweenness_{n}"] for n in shares} == pytest.approx(shares)
    assert row["jaccard_0"] == pytest.approx(1 / 7)
    np.testing.assert_allclose(found[[0, 1, 2, 5], 42 * 4 + 3 :].sum(axis=1), 3)


def test_graphs_of_any_size_are_described_alone_as_among_others():
    graphs = concatenate([drawn(seed, 5 * seed + 3, 9 * seed + 4) for seed in range(9)])
    profiles = EdgeProfiles().fit(graphs)
    together = profiles.transform(graphs)
    alone = np.concatenate([profiles.transform(graphs[[row]]) for row in range(9)])
    np.testing.assert_array_equal(together, alone)


def test_a_saved_forest_has_its_profiles(tmp_path):
    graphs = cycles_and_trees(30)
    model = kgnn.make("ltp", trees=5, cross_fit=0).fit(graphs)
    opened = kgnn.open_model(model.save(tmp_path / "ltp"))
    assert type(opened.kernel_) is EdgeProfiles
    np.testing.assert_array_equal(opened.predict_proba(graphs), model.predict_proba(graphs))
