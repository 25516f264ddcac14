"""A dataset out of a damaged file is refused before anything computes with it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from kgnn.errors import GraphDataError
from kgnn.graphs.packing import pack
from kgnn.graphs.soundness import require_sound
from tests.graphs.strategies import datasets

GRAPHS = pack(
    "x",
    [2, 3],
    [0, 2, 3],
    [1, 3, 4],
    targets=["a", None],
    node_labels="CCOON",
    node_attributes=np.eye(5),
    edge_labels="sds",
    edge_weights=[1, 2, 3],
    graph_names=["g", "h"],
)


@given(datasets(min_graphs=0))
def test_every_dataset_is_sound(dataset):
    require_sound(dataset)


@given(datasets(min_graphs=0, directed=True))
def test_every_directed_dataset_is_sound(dataset):
    require_sound(dataset)


def changed(field, position, value):
    array = getattr(GRAPHS, field).copy()
    array[position] = value
    return {field: array}


@pytest.mark.parametrize(
    "changes",
    [
        changed("neighbors", 0, 4),  # a node of another graph
        changed("neighbors", 0, -1),
        changed("neighbors", -1, 5),
        changed("node_offsets", 1, 6),
        changed("node_offsets", 0, 1),
        changed("arc_offsets", 2, 99),
        changed("targets", 0, 1),
        changed("targets", 0, -2),
        changed("node_labels", 0, 3),
        changed("edge_labels", 0, -1),
        changed("node_attributes", (0, 0), np.nan),
        changed("edge_weights", 0, np.inf),
        {"edge_directions": np.full(len(GRAPHS.neighbors), 2, dtype=np.int8)},
        {"edge_directions": np.zeros(1, dtype=np.int8)},
        {"neighbors": GRAPHS.neighbors.view(np.float32)},
        {"targets": GRAPHS.targets.astype(">i8")},
        {"targets": None},
        {"node_labels": GRAPHS.node_labels[:-1]},
        {"node_attributes": GRAPHS.node_attributes[0]},
        {"edge_weights": GRAPHS.edge_weights[:, None]},
        {"graph_names": np.array(["g"])},
        {"graph_names": np.array([0xD800, 0], dtype=np.uint32).view("<U1")},
        {"graph_names": np.array([0x110000, 0], dtype=np.uint32).view("<U1")},
        {"class_names": ["a"]},
        {"node_label_names": ("C", "N", 8)},
        {"name": None},
    ],
)
def test_an_array_that_does_not_belong_is_refused(changes):
    require_sound(GRAPHS)
    with pytest.raises(GraphDataError, match="is damaged"):
        require_sound(replace(GRAPHS, **changes))
