from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csgraph, csr_array

from kgnn.graphs.datasets.toy import planted_motifs, random_graphs
from kgnn.graphs.packing import pack
from kgnn.kernels import distances
from kgnn.kernels.distances import levels, node_sets, pieces, set_sizes
from tests.graphs.strategies import datasets
from tests.reference.shortest_paths_loop import distances_from


def bits(graphs, source, row):
    """Members of a set, as nodes numbered in the dataset."""
    first = graphs.node_offsets[graphs.node_graphs[source]]
    words = [int(word) for word in row]
    return {
        int(first) + 64 * place + bit
        for place, word in enumerate(words)
        for bit in range(64)
        if word >> bit & 1
    }


def found(graphs, max_distance=None):
    """What the search finds: {source: {distance: nodes}}, and the weight of every source."""
    by_source: dict = {}
    weights: dict = {}
    for level in levels(graphs, max_distance):
        assert (set_sizes(level.reached) == level.sizes).all()
        for source, weight, row in zip(level.sources, level.weights, level.reached, strict=True):
            assert level.distance not in by_source.setdefault(int(source), {})
            by_source[int(source)][level.distance] = bits(graphs, source, row)
            assert weights.setdefault(int(source), int(weight)) == weight
    return by_source, weights


def expected(graphs, source, max_distance=None):
    graph = graphs[int(graphs.node_graphs[source])]
    first = int(graphs.node_offsets[graph.row])
    nodes: dict = {}
    for node, distance in distances_from(graph, source - first).items():
        if distance and (max_distance is None or distance <= max_distance):
            nodes.setdefault(distance, set()).add(first + node)
    return nodes


def check(graphs, max_distance=None):
    by_source, weights = found(graphs, max_distance)
    for source, by_distance in by_source.items():
        reached = {distance: nodes for distance, nodes in by_distance.items() if nodes}
        assert reached == expected(graphs, source, max_distance)
    assert sum(weights.values()) == graphs.n_nodes


@given(datasets(), st.none() | st.integers(1, 3))
def test_every_source_reaches_what_a_queue_reaches(graphs, max_distance):
    check(graphs, max_distance)


@given(datasets())
def test_a_source_stands_for_nodes_with_its_label_and_its_distances(graphs):
    by_source, weights = found(graphs)
    profile = [
        (
            int(graphs.node_graphs[node]),
            label,
            {d: len(n) for d, n in expected(graphs, node).items()},
        )
        for node, label in enumerate(
            [0] * graphs.n_nodes if graphs.node_labels is None else graphs.node_labels.tolist()
        )
    ]
    stood_for = [profile[source] for source in by_source for _ in range(weights[source])]
    assert sorted(map(repr, stood_for)) == sorted(map(repr, profile))


def test_leaves_of_a_post_share_a_source_unless_their_labels_differ():
    ends = [0] * 70, range(1, 71)
    alike = next(levels(pack("star", [71], *ends)))
    assert alike.weights.tolist() == [1, 70]
    labels = ["hub"] + ["red"] * 30 + ["blue"] * 40
    mixed = next(levels(pack("star", [71], *ends, node_labels=labels)))
    assert sorted(mixed.weights.tolist()) == [1, 30, 40]


def twin_heavy():
    """Stars, cliques and complete bipartite graphs of up to 150 nodes, in one dataset."""
    sizes, edges, first = [], [], 0

    def add(n, pairs):
        nonlocal first
        sizes.append(n)
        edges.extend((first + u, first + v) for u, v in pairs)
        first += n

    for n in (2, 3, 65, 150):
        add(n, [(0, v) for v in range(1, n)])
        add(n, combinations(range(n), 2))
    add(140, [(u, v) for u in range(10) for v in range(10, 140)])
    add(130, [(0, v) for v in range(1, 65)] + [(65, v) for v in range(66, 130)] + [(0, 65)])
    add(70, [*combinations(range(30), 2), *((u, 29 + u) for u in range(1, 41))])
    return pack("twins", sizes, *zip(*edges, strict=True))


def test_twin_heavy_graphs_are_searched_exactly():
    check(twin_heavy())


@pytest.mark.parametrize("n_nodes", [63, 64, 65, 128, 129, 200])
def test_sets_of_several_words(n_nodes):
    path = [(v, v + 1) for v in range(n_nodes - 1)]
    check(pack("path", [n_nodes], *zip(*path, strict=True)))
    check(random_graphs(3, n_nodes=n_nodes, n_edges=int(1.2 * n_nodes), seed=n_nodes))


def test_a_hub_among_nodes_of_low_degree():
    """One row with many neighbors is united apart from the others."""
    spokes = [(0, 2 * leg - 1) for leg in range(1, 60)]
    legs = [(2 * leg - 1, 2 * leg) for leg in range(1, 60)]
    tail = [(v, v + 1) for v in range(118, 130)]
    check(pack("spider", [131], *zip(*spokes, *legs, *tail, strict=True)))


def test_unions_stop_where_the_end_spreads(monkeypatch):
    united = []

    def counting(sets, around, rows, unions=distances._unions):
        united.append(len(rows))
        return unions(sets, around, rows)

    monkeypatch.setattr(distances, "_unions", counting)
    list(levels(pack("wheel", [6], [0] * 5 + [1, 2, 3], [1, 2, 3, 4, 5, 2, 3, 4])))
    assert united == [0]
    united.clear()
    list(levels(pack("P7", [7], range(6), range(1, 7))))
    assert united == [7, 7, 4, 2, 0]


def test_self_loops_and_lone_nodes_add_nothing():
    graphs = pack("odd", [0, 1, 1, 3, 0, 4], [1, 2, 3, 5, 6], [1, 3, 2, 6, 6])
    assert [level.sizes.sum() for level in levels(graphs)][0] == 4
    check(graphs)
    assert all(len(level.sources) == 0 for level in levels(pack("none", [0, 0], [], [])))
    assert list(levels(pack("alone", [1], [], [])))[0].sizes.tolist() == [0]


def test_distances_agree_with_scipy():
    graphs = random_graphs(4, n_nodes=100, n_edges=130, seed=3)
    shape = (graphs.n_nodes, graphs.n_nodes)
    ends, offsets = (each.astype(np.int32) for each in (graphs.neighbors, graphs.arc_offsets))
    matrix = csr_array((np.ones(graphs.n_arcs), ends, offsets), shape=shape)
    by_scipy = csgraph.shortest_path(matrix, unweighted=True)
    by_source, _ = found(graphs)
    for source, by_distance in by_source.items():
        ours = np.full(graphs.n_nodes, np.inf)
        ours[source] = 0
        for distance, nodes in by_distance.items():
            ours[list(nodes)] = distance
        assert (ours == by_scipy[source]).all()


def test_pieces_hold_every_graph_with_nodes_once_and_few_words_too_many(monkeypatch):
    monkeypatch.setattr(distances, "_WORDS_PER_PIECE", 500)
    sizes = [0, 5, 900, 64, 65, 70, 400, 390, 3, 0, 130]
    graphs = pack("sizes", sizes, [], [])
    cut = list(pieces(graphs))
    assert sorted(np.concatenate([rows for rows, _ in cut]).tolist()) == [
        1,
        2,
        3,
        4,
        5,
        6,
        7,
        8,
        10,
    ]
    for rows, part in cut:
        assert (part.graph_sizes == graphs.graph_sizes[rows]).all()
        n_words = -(-part.graph_sizes // 64)
        assert n_words.max() <= 1.2 * n_words.min()
    assert len(cut) > 5
    assert list(pieces(pack("none", [0, 0], [], []))) == []
    assert list(pieces(pack("nothing", [], [], []))) == []


def test_node_sets_are_relative_to_the_graph():
    graphs = pack("two", [70, 70], [], [])
    sets = node_sets(graphs, np.array([0, 0, 1]), np.array([0, 69, 70 + 64]), 2)
    assert sets.tolist() == [[1, 32], [0, 1]]
    assert set_sizes(sets).tolist() == [2, 1]


def test_the_dataset_is_left_as_it_was():
    graphs = planted_motifs(5)
    before = graphs.fingerprint
    list(levels(graphs))
    del graphs.__dict__["fingerprint"]
    assert graphs.fingerprint == before
