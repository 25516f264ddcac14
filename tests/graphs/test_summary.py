"""Graphs too large to draw are drawn in groups of nodes that belong together."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgnn.graphs.packing import pack
from kgnn.graphs.summary import draw_whole, grouped, is_hairball


def _graph(n, pairs, **more):
    pairs = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return pack("g", [n], pairs[:, 0], pairs[:, 1], **more)[0]


@settings(max_examples=40)
@given(st.integers(1, 90), st.data())
def test_groups_cover_all_nodes_and_count_all_edges_between_them(n, data):
    ends = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1))
    pairs = data.draw(st.lists(ends, max_size=150))
    graph = _graph(n, pairs)
    groups = grouped(graph, most=10)
    assert len(groups.sizes) <= 10
    assert groups.sizes.sum() == n
    assert np.array_equal(np.bincount(groups.of_node), groups.sizes)
    u, v = groups.of_node[graph.edges].T
    assert groups.weights.sum() == (u != v).sum()


def test_leaves_join_their_hub():
    star = _graph(600, [(0, leaf) for leaf in range(1, 600)])
    groups = grouped(star, most=20)
    assert groups.sizes.max() >= 580
    assert (groups.pairs == groups.of_node[0]).any(axis=1).all()


def test_communities_are_told_apart():
    rng = np.random.default_rng(0)
    pairs = [tuple(rng.integers(0, 200, 2) + 200 * part) for part in range(4) for _ in range(1500)]
    graph = _graph(800, [*pairs, (0, 200), (200, 400), (400, 600)])
    groups = grouped(graph, most=40)
    mixed = 0
    for group in range(len(groups.sizes)):
        parts = np.bincount(np.flatnonzero(groups.of_node == group) // 200, minlength=4)
        mixed += parts.sum() - parts.max()
    assert mixed < 40


@pytest.mark.parametrize("n", [450, 3000])
def test_nodes_without_edges_are_drawn_too(n):
    drawn = draw_whole(_graph(n, []), width=300, height=200)
    assert 1 < drawn.count("<circle") <= 120


def test_a_small_graph_is_drawn_node_by_node():
    path = _graph(30, [(v, v + 1) for v in range(29)])
    assert not is_hairball(path)
    assert draw_whole(path, width=300, height=200).count("<circle") == 30
