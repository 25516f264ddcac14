from collections import Counter
from dataclasses import replace
from itertools import combinations, product
from math import ceil, floor

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from kgnn.engine.batch import GraphBatches
from kgnn.engine.gin import GIN
from kgnn.engine.node_features import NodeFeatures
from kgnn.engine.random_parts import choose, order_of_growth
from kgnn.engine.views import (
    AUGMENTATIONS,
    View,
    augment,
    drop_edges,
    drop_nodes,
    identity,
    mask_nodes,
    perturb_edges,
    subgraph,
    view_batch,
)
from kgnn.errors import ParameterError
from kgnn.graphs.datasets.toy import cycles_and_trees, planted_motifs, random_graphs
from kgnn.graphs.graph import GraphDataset
from kgnn.graphs.interop import to_networkx
from kgnn.graphs.packing import pack
from kgnn.seeds import seeded_torch
from tests.graphs.strategies import datasets

ALL = {**AUGMENTATIONS, "edge_drop": drop_edges}
SHARES = st.sampled_from([0.0, 0.1, 0.2, 0.5, 0.8, 1.0]) | st.floats(0, 1)
SEEDS = st.integers(0, 2**32 - 1)
relaxed = settings(max_examples=50, deadline=None)  # the first call is slow
every_view = pytest.mark.parametrize("change", ALL.values(), ids=ALL)

PATH = pack("path", [4], [0, 1, 2], [1, 2, 3])
CYCLE = pack("cycle", [6], range(6), [1, 2, 3, 4, 5, 0])
COMPLETE = pack("complete", [5], *zip(*combinations(range(5), 2), strict=True))
# A hub with its own loop, a triangle on it, a tail; and a second component with a loop.
MIXED = pack("mixed", [7], [0, 0, 0, 0, 2, 3, 5, 6], [0, 1, 2, 3, 3, 4, 6, 6])


def rng(seed=0):
    return np.random.default_rng(seed)


def numbered(graphs):
    """The same graphs, each node with its number as an attribute that follows it."""
    numbers = np.arange(graphs.n_nodes) - np.repeat(graphs.node_offsets[:-1], graphs.graph_sizes)
    return replace(graphs, node_attributes=numbers[:, None].astype(np.float64))


def numbers_of(graph):
    return tuple(graph.node_attributes[:, 0].astype(int).tolist())


def copies(graphs, n):
    return graphs[np.zeros(n, dtype=np.int64)]


def edges_of(graph):
    return [(u, v) for u, v in graph.edges.tolist()]


def edge_set(graph):
    return frozenset(edges_of(graph))


def proper(edges):
    return {(u, v) for u, v in edges if u != v}


def is_as_likely_as(outcomes, probabilities):
    """Whether outcomes come as often as they should; chi-square."""
    counts = Counter(outcomes)
    assert set(counts) <= set(probabilities)
    total = sum(counts.values())
    expected = [total * p for p in probabilities.values()]
    return stats.chisquare([counts[o] for o in probabilities], expected).pvalue > 0.001


def same_content(one: GraphDataset, two: GraphDataset):
    """Whether nodes, arcs and all that hangs on nodes and graphs are the same."""
    bare = [g.without_edge_data() for g in (one, two)]
    return bare[0].fingerprint == bare[1].fingerprint


def require_valid(graphs: GraphDataset):
    """Pack the arcs again: what is sorted, symmetric and without repeats stays as it is."""
    sources = np.repeat(np.arange(graphs.n_nodes), graphs.degrees)
    again = pack("again", graphs.graph_sizes, sources, graphs.neighbors)
    np.testing.assert_array_equal(again.arc_offsets, graphs.arc_offsets)
    np.testing.assert_array_equal(again.neighbors, graphs.neighbors)
    for name in ("node_offsets", "arc_offsets", "neighbors"):
        assert getattr(graphs, name).dtype == getattr(again, name).dtype
    for values, n in (
        (graphs.node_labels, graphs.n_nodes),
        (graphs.node_attributes, graphs.n_nodes),
        (graphs.edge_labels, graphs.n_arcs),
        (graphs.edge_weights, graphs.n_arcs),
    ):
        assert values is None or len(values) == n


# -- what all views promise ------------------------------------------------------------------------


@every_view
@relaxed
@given(graphs=datasets(), share=SHARES, seed=SEEDS)
def test_a_view_is_valid_and_leaves_the_original_alone(change, graphs, share, seed):
    before = graphs.fingerprint
    view = change(graphs, share, rng(seed))
    require_valid(view.graphs)
    assert len(view.graphs) == len(graphs)
    assert view.graphs.targets.tolist() == graphs.targets.tolist()
    assert view.masked.shape == (view.graphs.n_nodes,)
    assert ((view.graphs.graph_sizes > 0) == (graphs.graph_sizes > 0)).all()
    assert replace(graphs).fingerprint == before


@every_view
@relaxed
@given(graphs=datasets(), seed=SEEDS)
def test_a_share_of_zero_changes_nothing(change, graphs, seed):
    view = change(graphs, 0.0, rng(seed))
    assert same_content(view.graphs, graphs)
    assert not view.masked.any()


@every_view
def test_the_same_state_gives_the_same_view_and_another_draw_a_different_one(change):
    graphs = planted_motifs(10)
    generator = rng(3)
    one, two = change(graphs, 0.3, generator), change(graphs, 0.3, generator)
    again = change(graphs, 0.3, rng(3))
    assert one.graphs.fingerprint == again.graphs.fingerprint
    assert one.masked.tolist() == again.masked.tolist()
    differs = one.graphs.fingerprint != two.graphs.fingerprint or (one.masked != two.masked).any()
    assert differs == (change is not identity)


@every_view
def test_nothing_to_change_is_no_problem(change):
    for sizes in ([], [0], [1], [1, 0, 3]):
        graphs = pack("no edges", sizes, [], [])
        view = change(graphs, 0.5, rng())
        require_valid(view.graphs)
        assert view.graphs.n_arcs == 0
    lone_loop = change(pack("loop", [1], [0], [0]), 0.9, rng())
    assert lone_loop.graphs[0].edges.tolist() == [[0, 0]]


@pytest.mark.parametrize("share", [-0.1, 1.5, float("nan")])
@pytest.mark.parametrize("change", [c for n, c in ALL.items() if n != "identity"])
def test_a_share_is_between_zero_and_one(change, share):
    with pytest.raises(ParameterError, match="from 0 to 1, got"):
        change(PATH, share, rng())


# -- nodes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("change", [drop_nodes, subgraph])
@relaxed
@given(graphs=datasets(), share=st.sampled_from([0.1, 0.2, 0.25, 0.5, 0.9]), seed=SEEDS)
def test_as_many_nodes_go_as_should_and_their_data_with_them(change, graphs, share, seed):
    labeled = replace(
        numbered(graphs),
        node_labels=np.arange(graphs.n_nodes, dtype=np.int32),
        node_label_names=tuple(map(str, range(graphs.n_nodes))),
    )
    view = change(labeled, share, rng(seed)).graphs
    sizes = graphs.graph_sizes.tolist()
    assert view.graph_sizes.tolist() == [n - floor(share * n) for n in sizes]
    assert view.graph_sizes.tolist() == [ceil((1 - share) * n) for n in sizes]
    for row in range(len(graphs)):
        kept = numbers_of(view[row])
        assert [kept[i] + graphs.node_offsets[row] for i in range(len(kept))] == [
            int(name) for name in view[row].node_labels
        ]
        local = {node: i for i, node in enumerate(kept)}
        whole = {e for e in edge_set(graphs[row]) if e[0] in local and e[1] in local}
        assert edge_set(view[row]) == {(local[u], local[v]) for u, v in whole}


def test_the_number_of_nodes_is_not_off_by_one_in_floating_point():
    assert floor(0.29 * 100) == 28  # what must not happen
    graphs = pack("hundred", [100], [], [])
    assert drop_nodes(graphs, 0.29, rng()).graphs.n_nodes == 71


def test_one_node_is_always_kept():
    for change in (drop_nodes, subgraph):
        assert change(planted_motifs(5), 1.0, rng()).graphs.graph_sizes.tolist() == [1] * 5


def test_all_sets_of_nodes_are_dropped_equally_often():
    view = drop_nodes(copies(numbered(PATH), 6000), 0.5, rng(1)).graphs
    pairs = dict.fromkeys(combinations(range(4), 2), 1 / 6)
    assert is_as_likely_as([numbers_of(graph) for graph in view], pairs)


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_all_subsets_are_equally_likely(count):
    n = 8000
    items = choose(np.full(n, 5), np.full(n, count), rng(count)).reshape(n, count)
    subsets = [tuple(row) for row in (items % 5).tolist()]
    assert (items // 5 == np.arange(n)[:, None]).all()
    likely = list(combinations(range(5), count))
    assert is_as_likely_as(subsets, dict.fromkeys(likely, 1 / len(likely)))


# -- subgraphs that hang together ------------------------------------------------------------------


@relaxed
@given(seed=SEEDS, share=st.sampled_from([0.1, 0.2, 0.5, 0.9]))
def test_what_was_connected_stays_connected(seed, share):
    view = subgraph(cycles_and_trees(20, seed=seed), share, rng(seed)).graphs
    assert all(nx.is_connected(graph) for graph in to_networkx(view))


@relaxed
@given(graphs=datasets(), seed=SEEDS)
def test_a_set_leaves_a_component_only_when_it_is_used_up(graphs, seed):
    order = order_of_growth(graphs, rng(seed))
    assert sorted(order[: graphs.n_nodes].tolist()) == list(range(graphs.n_nodes))
    for row, graph in enumerate(graphs):
        start = int(graphs.node_offsets[row])
        nodes = (order[start : start + graph.n_nodes] - start).tolist()
        taken = set()
        for node in nodes:
            frontier = neighborhood(graph, taken)
            assert node in (frontier or set(nodes) - taken)
            taken.add(node)


def neighborhood(graph, taken):
    return {int(v) for u in taken for v in graph.neighbors(u)} - taken


def growth_probabilities(graph, size):
    """Each set that can grow, with its probability: the definition, step by step."""
    level = {frozenset(): 1.0}
    for _ in range(size):
        following = Counter()
        for taken, probability in level.items():
            candidates = neighborhood(graph, taken) or set(range(graph.n_nodes)) - taken
            for node in candidates:
                following[taken | {node}] += probability / len(candidates)
        level = following
    return {tuple(sorted(taken)): probability for taken, probability in level.items()}


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 6])
def test_sets_grow_as_defined(size):
    share = 1 - size / 7
    view = subgraph(copies(numbered(MIXED), 12000), share, rng(size)).graphs
    outcomes = [numbers_of(graph) for graph in view]
    assert is_as_likely_as(outcomes, growth_probabilities(MIXED[0], size))


# -- edges -----------------------------------------------------------------------------------------


@relaxed
@given(graphs=datasets(), share=st.sampled_from([0.1, 0.2, 0.5, 0.8, 1.0]), seed=SEEDS)
def test_edges_move_to_where_there_was_none(graphs, share, seed):
    view = perturb_edges(graphs, share, rng(seed)).graphs
    assert view.graph_sizes.tolist() == graphs.graph_sizes.tolist()
    assert view.edge_labels is None
    assert view.edge_weights is None
    for graph, after in zip(graphs, map(edge_set, view), strict=True):
        before = edge_set(graph)
        n_free = graph.n_nodes * (graph.n_nodes - 1) // 2 - len(proper(before))
        assert before - proper(before) == after - proper(after)  # loops stay
        assert len(before - after) == floor(share * len(proper(before)) + 1e-9)
        assert len(after - before) == min(len(before - after), n_free)


def test_the_number_of_edges_stays():
    graphs = random_graphs(50, n_nodes=12, n_edges=30)
    view = perturb_edges(graphs, 0.2, rng()).graphs
    assert view.edge_counts.tolist() == graphs.edge_counts.tolist()
    assert (view.neighbors[: len(graphs[0].arcs)] != graphs.neighbors[: len(graphs[0].arcs)]).any()


def test_a_complete_graph_only_loses_edges():
    view = perturb_edges(COMPLETE, 0.2, rng()).graphs
    assert edge_set(view[0]) < edge_set(COMPLETE[0])
    assert view[0].n_edges == 8


def test_all_edges_move_equally_often_to_all_free_pairs():
    view = perturb_edges(copies(CYCLE, 27000), 0.2, rng(5)).graphs
    there = edge_set(CYCLE[0])
    free = set(combinations(range(6), 2)) - there
    moves = [(*(there - edge_set(graph)), *(edge_set(graph) - there)) for graph in view]
    assert is_as_likely_as(moves, dict.fromkeys(product(there, free), 1 / 54))


def test_edges_are_dropped_independently():
    view = drop_edges(copies(PATH, 8000), 0.3, rng(2)).graphs
    edges = edges_of(PATH[0])
    sets = [frozenset(c) for k in range(4) for c in combinations(edges, k)]
    likely = {kept: 0.7 ** len(kept) * 0.3 ** (3 - len(kept)) for kept in sets}
    assert is_as_likely_as([edge_set(graph) for graph in view], likely)


@relaxed
@given(graphs=datasets(), share=SHARES, seed=SEEDS)
def test_dropping_edges_adds_none_and_keeps_loops_and_data(graphs, share, seed):
    view = drop_edges(graphs, share, rng(seed)).graphs
    for before, after in zip(graphs, view, strict=True):
        lost = edge_set(before) - edge_set(after)
        assert edge_set(after) <= edge_set(before)
        assert lost == proper(lost)
        if before.edge_labels is not None:
            labels = dict(zip(edges_of(before), before.edge_labels, strict=True))
            assert after.edge_labels == [labels[edge] for edge in edges_of(after)]


def test_certainty_drops_every_edge():
    assert edge_set(drop_edges(MIXED, 1.0, rng()).graphs[0]) == {(0, 0), (6, 6)}


# -- a way of its own for each graph ---------------------------------------------------------------


@relaxed
@given(graphs=datasets(), seed=SEEDS, data=st.data())
def test_each_graph_is_changed_as_chosen_and_stays_in_its_place(graphs, seed, data):
    choices = np.array([data.draw(st.integers(0, 4)) for _ in range(len(graphs))])
    view = augment(numbered(graphs), choices, 0.5, rng(seed))
    require_valid(view.graphs)
    names = list(AUGMENTATIONS)
    offsets = view.graphs.node_offsets
    for row, (before, after) in enumerate(zip(graphs, view.graphs, strict=True)):
        way, n = names[choices[row]], before.n_nodes
        dropped = floor(0.5 * n) if way in ("node_drop", "subgraph") else 0
        assert after.n_nodes == n - dropped
        n_masked = view.masked[offsets[row] : offsets[row + 1]].sum()
        assert n_masked == (floor(0.5 * n) if way == "attr_mask" else 0)
        if way in ("attr_mask", "identity"):
            assert edge_set(before) == edge_set(after)
        if way == "edge_pert":
            n_proper = len(proper(edge_set(before)))
            assert len(edge_set(before) - edge_set(after)) == floor(0.5 * n_proper)
        assert after.name == before.name
        assert after.target == before.target


def test_masks_follow_their_graphs_back_into_place():
    graphs = planted_motifs(40)
    choices = rng().integers(0, 5, 40)
    view = augment(graphs, choices, 0.25, rng(1))
    masks = np.split(view.masked, view.graphs.node_offsets[1:-1])
    masks_way = list(AUGMENTATIONS).index("attr_mask")
    assert [m.sum() for m in masks] == [5 if way == masks_way else 0 for way in choices]


def test_no_graphs_have_no_views():
    view = augment(PATH[:0], np.empty(0, dtype=np.int64), 0.2, rng())
    assert len(view.graphs) == len(view.masked) == 0


# -- what a network sees ---------------------------------------------------------------------------


@pytest.mark.parametrize("training", [False, True])
@every_view
def test_a_network_sees_a_view_as_the_graphs_it_holds(change, training):
    graphs = planted_motifs(12)
    view = View.unmasked(change(graphs, 0.3, rng()).graphs)
    packed = view.graphs
    parts = [graph.edges + start for graph, start in zip(packed, packed.node_offsets, strict=False)]
    edges = np.concatenate(parts)
    labels = [label for graph in packed for label in graph.node_labels]
    again = pack("again", packed.graph_sizes, edges[:, 0], edges[:, 1], node_labels=labels)
    features = NodeFeatures.of(graphs)
    with seeded_torch(0):
        gin = GIN(features.width, 2, width=8, dropout=0.0).train(training)
    expected = gin(GraphBatches(again, features)[np.arange(12)])
    torch.testing.assert_close(gin(view_batch(view, features)), expected)


def test_masked_nodes_have_the_mean_of_their_graph():
    graphs = pack("two", [2, 4], [0], [1], node_labels=list("ABAABB"))
    view = View(graphs, np.array([True, False, False, True, False, True]))
    features = view_batch(view, NodeFeatures.of(graphs)).features
    assert features.tolist() == [[0.5, 0.5], [0, 1], [1, 0], [0.5, 0.5], [0, 1], [0.5, 0.5]]


def test_masked_nodes_are_zeros_where_all_nodes_are_alike():
    graphs = random_graphs(3, n_nodes=10)
    view = mask_nodes(graphs, 0.2, rng())
    features = view_batch(view, NodeFeatures.of(graphs)).features
    assert features[:, 0].tolist() == (1.0 - view.masked).tolist()
    assert view.masked.reshape(3, 10).sum(axis=1).tolist() == [2, 2, 2]


def test_a_graph_of_equal_nodes_is_masked_whatever_is_beside_it():
    graphs = pack("two", [2, 3], [0], [1], node_labels=list("AABAB"))
    view = View(graphs, np.array([True, False, True, False, False]))
    features = view_batch(view, NodeFeatures.of(graphs)).features
    torch.testing.assert_close(features[:2], torch.tensor([[0.0, 0.0], [1.0, 0.0]]))
    torch.testing.assert_close(features[2], torch.tensor([1 / 3, 2 / 3]))


@pytest.mark.parametrize("n_node_labels", [0, 3])
def test_masking_reaches_the_network(n_node_labels):
    graphs = random_graphs(8, n_node_labels=n_node_labels)
    features = NodeFeatures.of(graphs)
    with seeded_torch(0):
        gin = GIN(features.width, 2, width=8).eval()
    plain = gin(view_batch(View.unmasked(graphs), features))
    masked = gin(view_batch(mask_nodes(graphs, 0.5, rng()), features))
    assert ((plain - masked).abs().amax(dim=1) > 1e-6).all()


@relaxed
@given(graphs=datasets(), seed=SEEDS)
def test_any_view_becomes_a_batch(graphs, seed):
    features = NodeFeatures.of(graphs)
    batch = view_batch(mask_nodes(graphs, 0.5, rng(seed)), features)
    assert batch.features.shape == (graphs.n_nodes, features.width)
    assert batch.features.isfinite().all()
