"""Check that the arrays of a dataset from a file are consistent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgnn.errors import GraphDataError
from kgnn.graphs.graph import GraphDataset, Ints

_KINDS = {
    "node_offsets": "i",
    "arc_offsets": "i",
    "neighbors": "i",
    "targets": "i",
    "node_labels": "i",
    "node_attributes": "f",
    "edge_labels": "i",
    "edge_weights": "f",
    "edge_directions": "i",
    "edge_attributes": "f",
    "graph_names": "U",
}
_REQUIRED = ("node_offsets", "arc_offsets", "neighbors", "targets")


def require_sound(graphs: GraphDataset) -> None:
    """Raise an error if the arrays of a dataset are inconsistent.

    `pack` builds consistent arrays; those of a damaged file could make compiled code read foreign
    memory. A hundred million arcs take less than a second.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> graphs = cycles_and_trees(3)
    >>> require_sound(graphs)
    >>> require_sound(replace(graphs, neighbors=graphs.neighbors + 1))
    Traceback (most recent call last):
      ...
    kgnn.errors.GraphDataError: 'cycles-and-trees' is damaged: neighbors
    """
    for field, is_sound in _checks(graphs):
        if not is_sound:
            raise GraphDataError(f"'{graphs.name}' is damaged: {field}")


def _checks(graphs: GraphDataset) -> Iterator[tuple[str, bool]]:
    """Yield each field and whether it is sound; checks rely on the earlier ones."""
    for field, kind in _KINDS.items():
        array = getattr(graphs, field)
        if array is None:
            yield field, field not in _REQUIRED
        else:
            is_native = isinstance(array, np.ndarray) and array.dtype.isnative
            yield field, is_native and array.dtype.kind == kind
    names = (graphs.class_names, graphs.node_label_names, graphs.edge_label_names)
    yield "names", isinstance(graphs.name, str) and all(map(_are_texts, names))
    n_graphs, n_nodes = len(graphs.targets), len(graphs.arc_offsets) - 1
    n_arcs = len(graphs.neighbors)
    yield "node_offsets", _are_offsets(graphs.node_offsets, n_graphs, n_nodes)
    yield "arc_offsets", _are_offsets(graphs.arc_offsets, n_nodes, n_arcs)
    yield "neighbors", _stay_within(graphs)
    yield "targets", _are_codes(graphs.targets, n_graphs, graphs.class_names, least=-1)
    yield "node_labels", _are_codes(graphs.node_labels, n_nodes, graphs.node_label_names)
    yield "edge_labels", _are_codes(graphs.edge_labels, n_arcs, graphs.edge_label_names)
    yield "node_attributes", _are_numbers(graphs.node_attributes, n_nodes, n_dimensions=2)
    yield "edge_weights", _are_numbers(graphs.edge_weights, n_arcs, n_dimensions=1)
    yield "edge_attributes", _are_numbers(graphs.edge_attributes, n_arcs, n_dimensions=2)
    yield "edge_directions", _are_directions(graphs.edge_directions, n_arcs)
    yield "graph_names", graphs.graph_names is None or _are_names(graphs.graph_names, n_graphs)


def _are_texts(names: object) -> bool:
    """Tell whether names are distinct texts."""
    if not isinstance(names, tuple) or not all(isinstance(name, str) for name in names):
        return False
    return len(set(names)) == len(names)


def _are_offsets(offsets: Ints, n: int, end: int) -> bool:
    return (
        offsets.shape == (n + 1,)
        and offsets[0] == 0
        and offsets[-1] == end
        and bool((offsets[1:] >= offsets[:-1]).all())
    )


def _stay_within(graphs: GraphDataset) -> bool:
    """Tell whether each node's neighbors are in its own graph."""
    if graphs.neighbors.ndim != 1:
        return False
    first_arc = graphs.arc_offsets[graphs.node_offsets]
    has_arcs = np.flatnonzero(np.diff(first_arc))
    if not len(has_arcs):
        return True
    lowest = np.minimum.reduceat(graphs.neighbors, first_arc[has_arcs])
    highest = np.maximum.reduceat(graphs.neighbors, first_arc[has_arcs])
    return bool(
        (lowest >= graphs.node_offsets[has_arcs]).all()
        and (highest < graphs.node_offsets[has_arcs + 1]).all()
    )


def _are_codes(codes: NDArray[Any] | None, n: int, names: tuple[str, ...], least: int = 0) -> bool:
    if codes is None or codes.shape != (n,):
        return codes is None
    return n == 0 or (int(codes.min()) >= least and int(codes.max()) < len(names))


def _are_directions(directions: NDArray[Any] | None, n: int) -> bool:
    return directions is None or (directions.shape == (n,) and bool((abs(directions) <= 1).all()))


def _are_numbers(values: NDArray[Any] | None, n: int, n_dimensions: int) -> bool:
    return values is None or (
        values.ndim == n_dimensions and len(values) == n and bool(np.isfinite(values).all())
    )


def _are_names(names: NDArray[Any], n: int) -> bool:
    if names.shape != (n,):
        return False
    if not names.dtype.itemsize or not n:
        return True
    points = np.ascontiguousarray(names).view(np.uint32)
    return bool(((points < 0xD800) | ((points > 0xDFFF) & (points < 0x110000))).all())
