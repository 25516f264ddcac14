import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgnn.errors import GraphDataError, ParameterError
from kgnn.graphs.datasets.toy import cycles_and_trees, planted_motifs, random_graphs
from kgnn.graphs.packing import pack
from kgnn.kernels import colors as colors_module
from kgnn.kernels.colors import colors, mix, neighbor_sums
from tests.reference.wl_dictionary import wl_gram


def all_colors(graphs, iterations=3, **options):
    return np.concatenate(list(colors(graphs, iterations, **options)))


@st.composite
def small_datasets(draw):
    """Up to five graphs of up to six nodes, with loops, repeats, isolated nodes and labels."""
    sizes = draw(st.lists(st.integers(0, 6), min_size=1, max_size=5))
    sources, destinations, first = [], [], 0
    for n in sizes:
        if n:
            ends = st.integers(first, first + n - 1)
            pairs = draw(st.lists(st.tuples(ends, ends), max_size=8))
            sources += [u for u, _ in pairs]
            destinations += [v for _, v in pairs]
        first += n
    labels = draw(st.lists(st.sampled_from("abc"), min_size=first, max_size=first))
    return pack("drawn", sizes, sources, destinations, node_labels=np.array(labels, dtype=str))


@given(small_datasets(), st.sampled_from(["labels", "degree", "constant"]))
@settings(max_examples=60, deadline=None)
def test_colors_are_equal_exactly_where_the_dictionary_says_so(graphs, start):
    found = list(colors(graphs, 3, start=start))
    offsets = graphs.node_offsets
    for depth in range(4):
        kernel = np.zeros((len(graphs), len(graphs)))
        for level in found[: depth + 1]:
            rows = [level[a:b] for a, b in zip(offsets[:-1], offsets[1:], strict=True)]
            kernel += [[(a[:, None] == b[None, :]).sum() for b in rows] for a in rows]
        assert (kernel == wl_gram(graphs, depth, start)).all()


def test_edge_labels_refine_colors_as_the_dictionary_does():
    rng = np.random.default_rng(0)
    pairs = np.array(
        [
            [g * 6 + u, g * 6 + v]
            for g in range(8)
            for u, v in [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0), (1, 4)]
        ]
    )
    graphs = pack(
        "hexagons",
        [6] * 8,
        pairs[:, 0],
        pairs[:, 1],
        edge_labels=rng.choice(["x", "y"], len(pairs)),
    )
    found = list(colors(graphs, 2, start="constant", edge_labels=True))
    kernel = sum(
        (level[:, None] == level[None, :]).reshape(8, 6, 8, 6).sum(axis=(1, 3)) for level in found
    )
    assert (kernel == wl_gram(graphs, 2, "constant", edge_labels=True)).all()
    assert (kernel != wl_gram(graphs, 2, "constant")).any()


def test_colors_do_not_depend_on_the_dataset_around_a_graph():
    graphs = planted_motifs(12)
    together = np.stack(list(colors(graphs, 3)))
    apart = np.concatenate([np.stack(list(colors(graphs[[i]], 3))) for i in range(12)], axis=1)
    assert (together == apart).all()


def test_colors_follow_label_names_not_their_numbering():
    ends = ([0, 1], [1, 2])
    few = pack("few", [3], *ends, node_labels=["C", "O", "C"])
    many = pack("many", [3, 2], *ends, node_labels=["C", "O", "C", "A", "B"])
    assert (all_colors(few) == np.concatenate([c[:3] for c in colors(many, 3)])).all()


def test_colors_are_the_same_in_another_process():
    code = (
        "from kgnn.graphs.datasets.toy import planted_motifs; "
        "from kgnn.kernels.colors import colors; "
        "print([int(c.sum()) for c in colors(planted_motifs(5), 3)])"
    )
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert other.stdout.strip() == str([int(c.sum()) for c in colors(planted_motifs(5), 3)])


def test_colors_never_change_between_versions():
    # A stored vocabulary is only worth something as long as these values stay.
    path = pack("path", [3], [0, 1], [1, 2], node_labels=["C", "O", "C"])
    assert [f"{c[0]:016x} {c[1]:016x}" for c in colors(path, 1)] == PINNED


PINNED = ["9a3f11d39188b86f d0d42745021183bf", "b3756fe4be7f4807 1a5c3046981f71db"]


def test_renumbering_nodes_permutes_colors():
    graphs = random_graphs(1, n_nodes=30, n_edges=60, n_node_labels=3, seed=1)
    order = np.random.default_rng(0).permutation(30)
    graph = graphs[0]
    labels = np.empty(30, dtype=object)
    labels[order] = graph.node_labels
    renumbered = pack(
        "renumbered", [30], order[graph.edges[:, 0]], order[graph.edges[:, 1]], node_labels=labels
    )
    for before, after in zip(colors(graphs, 3), colors(renumbered, 3), strict=True):
        assert (after[order] == before).all()


@pytest.mark.parametrize("chunk", [1, 7, 10**9])
def test_neighbor_sums_do_not_depend_on_the_chunk(monkeypatch, chunk):
    graphs = random_graphs(20, seed=3)
    values = mix(np.arange(graphs.n_nodes, dtype=np.uint64))
    expected = np.zeros(graphs.n_nodes, dtype=np.uint64)
    sources = np.repeat(np.arange(graphs.n_nodes), graphs.degrees)
    np.add.at(expected, sources, values[graphs.neighbors])
    monkeypatch.setattr(colors_module, "CHUNK", chunk)
    assert (neighbor_sums(graphs, values) == expected).all()


def test_isolated_nodes_and_self_loops_differ():
    graphs = pack("both", [1, 1], [1], [1])
    isolated, loop = list(colors(graphs, 1, start="constant"))[1]
    assert isolated != loop


def test_mix_does_not_collide_on_a_million_small_numbers():
    assert len(np.unique(mix(np.arange(1_000_000, dtype=np.uint64)))) == 1_000_000


def test_continuous_attributes_are_refused_with_advice():
    graphs = pack("real", [2], [0], [1], node_attributes=[[0.5], [1.5]])
    with pytest.raises(
        GraphDataError, match=r"'real' has continuous node attributes.*start='degree'"
    ):
        next(colors(graphs, 1, start="labels"))


def test_missing_labels_and_unknown_starts_are_refused():
    graphs = cycles_and_trees(2)
    with pytest.raises(GraphDataError, match="has no node labels"):
        next(colors(graphs, 1, start="labels"))
    with pytest.raises(GraphDataError, match="has no edge labels"):
        list(colors(graphs, 1, edge_labels=True))
    with pytest.raises(ParameterError, match="got 'color'"):
        next(colors(graphs, 1, start="color"))
