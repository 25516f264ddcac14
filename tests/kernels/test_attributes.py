"""Continuous attributes as colors."""

import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from kgnn.graphs.datasets.toy import random_graphs
from kgnn.graphs.packing import pack
from kgnn.kernels.attributes import Scaling, cell_ranges, learn_cells, nearest
from kgnn.kernels.weisfeiler_lehman import WeisfeilerLehman

_NUMBERS = st.floats(allow_nan=False, allow_infinity=False)


def attributed(n=12, seed=0):
    graphs = random_graphs(n, n_nodes=6)
    values = np.random.default_rng(seed).normal(size=(graphs.n_nodes, 2))
    return replace(graphs, node_attributes=values)


@settings(max_examples=100, deadline=None)
@given(arrays(np.float64, st.tuples(st.integers(1, 20), st.integers(1, 3)), elements=_NUMBERS))
def test_any_numbers_are_scaled_to_numbers_in_the_same_order(values):
    graphs = pack("any", [len(values)], [], [], node_attributes=values)
    scaling = Scaling.of(values)
    scaled = scaling(graphs)
    assert np.isfinite(scaled).all()
    for column, found in zip(values.T, scaled.T, strict=True):
        order = np.argsort(column, kind="stable")
        assert (np.diff(found[order]) >= 0).all()
    cells = learn_cells(scaled, 4)
    assert len(cells) <= 4
    assert np.isfinite(cells).all()


def test_the_nearest_center_is_that_of_the_definition():
    random = np.random.default_rng(0)
    values, centers = random.normal(size=(200, 3)), random.normal(size=(7, 3))
    expected = [np.linalg.norm(centers - value, axis=1).argmin() for value in values]
    assert nearest(values, centers).tolist() == expected


def test_cells_hold_what_is_near():
    values = np.concatenate([np.full((30, 1), 1.0), np.full((5, 1), 9.0)])
    values += np.random.default_rng(0).normal(scale=0.01, size=values.shape)
    centers = learn_cells(values, 2)
    cells = nearest(values, centers)
    assert cells.tolist() == [0] * 30 + [1] * 5
    low, high = cell_ranges(values, cells, 2)[1, 0]
    assert (low, high) == (values[30:].min(), values[30:].max())


def test_colors_of_attributed_graphs_are_the_same_in_parts():
    graphs = attributed()
    kernel = WeisfeilerLehman(2).fit(graphs)
    whole = kernel.transform(graphs).toarray()
    parts = [kernel.transform(graphs[i : i + 5]).toarray() for i in range(0, 12, 5)]
    np.testing.assert_array_equal(np.concatenate(parts), whole)


_ELSEWHERE = """
from tests.kernels.test_attributes import attributed
from kgnn.kernels.weisfeiler_lehman import WeisfeilerLehman
kernel = WeisfeilerLehman(1).fit(attributed())
print([int(c) for v in kernel.vocabulary_ for c in v[:3]], kernel.transform(attributed(4)).sum())
"""


def test_colors_of_attributed_graphs_are_the_same_in_other_processes():
    def run(seed):
        env = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", _ELSEWHERE], capture_output=True, text=True, env=env, check=True
        )
        return done.stdout

    assert run("1") == run("2")


def test_attributes_alone_tell_classes_apart_by_default():
    import kgnn

    graphs = random_graphs(60, n_nodes=6)
    targets = np.arange(60) % 2
    noise = np.random.default_rng(0).normal(scale=0.2, size=(graphs.n_nodes, 2))
    noise[:, 0] += targets[graphs.node_graphs]
    graphs = replace(graphs, node_attributes=noise, targets=targets, class_names=("a", "b"))
    for method in ("wl", "wl-linear", "gnn-sup", "kgnn"):
        model = kgnn.make(method).fit(graphs[:30])
        assert model.score(graphs[30:]) > 0.9, method
        blind = kgnn.make(method, use_node_attributes=False).fit(graphs[:30])
        assert blind.score(graphs[30:]) < 0.8, method


def test_a_subtree_is_told_by_the_ranges_of_its_cells():
    graphs = pack(
        "two",
        [2, 2],
        [0, 2],
        [1, 3],
        node_attributes=[[0.0], [0.1], [5.0], [5.25]],
        node_labels="abab",
    )
    kernel = WeisfeilerLehman(1, attributes=(2,)).fit(graphs)
    told = {
        kernel.describe(f, graphs) for f in range(kernel.levels_[3].start, kernel.n_features_out_)
    }
    assert "a x0 5 … 5.25(b x0 5 … 5.25)" in told


@pytest.mark.parametrize("edge_labels", [False, True])
def test_edge_labels_count_where_there_are_some(edge_labels):
    graphs = pack("bonds", [2, 2], [0, 2], [1, 3], edge_labels=["-", "="])
    features = WeisfeilerLehman(1, edge_labels=edge_labels).fit_transform(graphs).toarray()
    assert (features[0] == features[1]).all() == (not edge_labels)
