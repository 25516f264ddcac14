"""Kinds of edges, by all that edges carry."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

import kgnn
from kgnn.errors import GraphDataError, KgnnWarning
from kgnn.graphs.datasets.toy import random_graphs
from kgnn.graphs.packing import pack
from kgnn.kernels.edge_kinds import EdgeKinds
from tests.graphs.strategies import datasets


def weighted(n=60, columns=0, seed=0):
    """Graphs of two classes whose edges differ in nothing but their numbers."""
    graphs = random_graphs(n, n_nodes=6)
    targets = np.arange(n) % 2
    ends = np.sort(np.stack([graphs.arc_sources, graphs.neighbors]), axis=0)
    _, edge = np.unique(ends, axis=1, return_inverse=True)  # both arcs have the same numbers
    noise = np.random.default_rng(seed).normal(scale=0.2, size=(graphs.n_arcs, max(1, columns)))
    numbers = noise[edge.ravel()]
    numbers[:, 0] += targets[graphs.node_graphs[graphs.arc_sources]]
    graphs = replace(graphs, targets=targets, class_names=("a", "b"))
    if columns:
        return replace(graphs, edge_attributes=numbers)
    return replace(graphs, edge_weights=numbers[:, 0])


@given(datasets(directed=True))
def test_kinds_are_alike_where_all_of_an_edge_is(dataset):
    kinds = EdgeKinds.of(dataset)
    codes, colors = kinds.codes(dataset), kinds.colors(dataset)
    assert len(codes) == 0 or (codes.min() >= 1 and codes.max() <= len(kinds))
    # One to one, whatever the order of names.
    pairs = set(zip(codes.tolist(), colors.tolist(), strict=True))
    assert len(pairs) == len(set(codes.tolist())) == len(set(colors.tolist()))


@pytest.mark.parametrize("columns", [0, 2])
def test_kinds_of_a_part_are_those_of_the_whole(columns):
    graphs = weighted(12, columns)
    kinds = EdgeKinds.of(graphs)
    first = graphs.arc_offsets[graphs.node_offsets[5]]
    assert kinds.codes(graphs[:5]).tolist() == kinds.codes(graphs)[:first].tolist()
    assert kinds.colors(graphs[:5]).tolist() == kinds.colors(graphs)[:first].tolist()


@pytest.mark.parametrize("columns", [0, 2])
@pytest.mark.parametrize("method", ["wl", "wl-linear", "gnn-sup", "kgnn"])
def test_numbers_of_edges_alone_tell_classes_apart(method, columns):
    graphs = weighted(60, columns)
    model = kgnn.make(method).fit(graphs[:30])
    assert model.score(graphs[30:]) > 0.9
    assert model.unused_ == ()
    bare = graphs.without_edge_data()
    assert kgnn.make(method, use_edge_labels=False).fit(graphs[:30]).score(graphs[30:]) < 0.8
    with pytest.raises(GraphDataError, match="have no .*attributes"):
        model.predict(bare)


def test_methods_that_read_labels_alone_say_so():
    with pytest.warns(KgnnWarning, match="DGK does not use the edge weights of"):
        assert kgnn.make("dgk").fit(weighted(20)).unused_ == ("edge weights",)


def test_nodes_without_edges_need_no_numbers_of_edges():
    graphs = weighted(20)
    lonely = pack("lonely", [1, 2], [], [])
    model = kgnn.make("wl").fit(graphs)
    assert model.predict_proba(lonely).shape == (2, 2)


def test_an_edge_whose_label_is_new_is_of_a_kind_of_its_own():
    known = pack("known", [2], [0], [1], edge_labels=["a"], edge_weights=[2.0])
    other = pack("other", [2], [0], [1], edge_labels=["b"], edge_weights=[2.0])
    kinds = EdgeKinds.of(known)
    assert (len(kinds), kinds.codes(other).tolist()) == (1, [2, 2])
    assert (kinds.colors(known) != kinds.colors(other)).all()
