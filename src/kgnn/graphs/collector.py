"""Gather graphs one by one, as most formats give them, and pack them at the end."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kgnn.errors import GraphDataError
from kgnn.graphs.arcs import ConflictingEdgesError
from kgnn.graphs.graph import Floats, GraphDataset, Ints, offsets_of
from kgnn.graphs.packing import pack


class GraphCollector:
    """Graphs on their way into a `GraphDataset`, each with the place that it comes from.

    Either all graphs have a kind of data or none; graphs without nodes (edges) need no data on
    nodes (edges). Errors begin with the place, such as ``molecules.jsonl, line 3``.

    Examples
    --------
    >>> graphs = GraphCollector()
    >>> graphs.add("line 1", 3, [(0, 1), (1, 2)], node_labels="CCO", target="alcohol")
    >>> graphs.dataset("molecules")
    GraphDataset('molecules': 1 graphs, 1 classes, 1 labeled)
    """

    def __init__(self) -> None:
        self._places: list[str] = []
        self._node_counts: list[int] = []
        self._edges: list[Ints] = []
        self._targets: list[Hashable | None] = []
        self._names = _Column("a name")
        self._place_of_name: dict[str, str] = {}
        self._node_labels = _Column("node labels")
        self._node_attributes = _Column("node attributes")
        self._edge_labels = _Column("edge labels")
        self._edge_weights = _Column("edge weights")

    def __len__(self) -> int:
        return len(self._places)

    def add(
        self,
        place: str,
        n_nodes: int,
        edges: ArrayLike,
        *,
        node_labels: Sequence[Hashable] | None = None,
        node_attributes: ArrayLike | None = None,
        edge_labels: Sequence[Hashable] | None = None,
        edge_weights: ArrayLike | None = None,
        target: Hashable | None = None,
        name: str | None = None,
    ) -> None:
        """Add one graph; its edges are pairs of nodes from 0 to ``n_nodes - 1``."""
        pairs = _checked_pairs(place, n_nodes, edges)
        attributes = _finite(place, "node attributes", node_attributes)
        weights = _finite(place, "edge weights", edge_weights)
        self._node_labels.add(place, n_nodes, node_labels)
        self._node_attributes.add(place, n_nodes, None if attributes is None else _2d(attributes))
        self._edge_labels.add(place, len(pairs), edge_labels)
        self._edge_weights.add(place, len(pairs), weights)
        self._names.add(place, 1, None if name is None else [self._new_name(place, name)])
        self._places.append(place)
        self._node_counts.append(n_nodes)
        self._edges.append(pairs)
        self._targets.append(target)

    def dataset(self, name: str) -> GraphDataset:
        """Pack all graphs that were added."""
        edge_counts = np.array([len(pairs) for pairs in self._edges], dtype=np.int64)
        first_nodes = offsets_of(np.array(self._node_counts, dtype=np.int64))[:-1]
        pairs = np.concatenate([np.empty((0, 2), dtype=np.int64), *self._edges])
        pairs += np.repeat(first_nodes, edge_counts)[:, None]
        try:
            return pack(
                name,
                self._node_counts,
                pairs[:, 0],
                pairs[:, 1],
                targets=self._targets,
                node_labels=self._node_labels.listed(),
                node_attributes=self._node_attributes.stacked(),
                edge_labels=self._edge_labels.listed(),
                edge_weights=self._edge_weights.stacked(),
                graph_names=self._names.listed(),
            )
        except ConflictingEdgesError as error:
            graph = int(np.searchsorted(np.cumsum(edge_counts), error.position, side="right"))
            u, v = pairs[error.position] - first_nodes[graph]
            raise GraphDataError(
                f"{self._places[graph]}: the edge {u}, {v} is there twice, with different labels "
                "or weights; graphs are undirected and keep one edge between two nodes"
            ) from error

    def _new_name(self, place: str, name: str) -> str:
        if name in self._place_of_name:
            other = self._place_of_name[name]
            raise GraphDataError(f"{place}: the name '{name}' is already taken by {other}")
        self._place_of_name[name] = place
        return name


class _Column:
    """Values that every item has, or none."""

    def __init__(self, what: str) -> None:
        self.what = what
        self._parts: list[Any] = []
        self._first: str | None = None  # where the first items came from

    def add(self, place: str, n: int, values: Sequence[Any] | NDArray[Any] | None) -> None:
        if values is not None and len(values) != n:
            raise GraphDataError(f"{place}: expected {n} {self.what}, got {len(values)}")
        if n == 0:
            return
        first = self._first = self._first or place
        if first is not place and bool(self._parts) != (values is not None):
            has, but = (
                ("lacks", f"which {first} has") if self._parts else ("has", f"but not {first}")
            )
            raise GraphDataError(f"{place} {has} {self.what}, {but}; all graphs have it or none")
        if values is not None:
            self._require_width(place, values)
            self._parts.append(values)

    def _require_width(self, place: str, values: Sequence[Any] | NDArray[Any]) -> None:
        if self._parts and isinstance(values, np.ndarray) and values.ndim == 2:
            width, expected = values.shape[1], self._parts[0].shape[1]
            if width != expected:
                raise GraphDataError(
                    f"{place}: {width} {self.what} for each, but {expected} in {self._first}"
                )

    def listed(self) -> list[Any] | None:
        return list(chain.from_iterable(self._parts)) if self._parts else None

    def stacked(self) -> NDArray[Any] | None:
        return np.concatenate(self._parts) if self._parts else None


def _checked_pairs(place: str, n_nodes: int, edges: ArrayLike) -> Ints:
    pairs = np.asarray(edges, dtype=np.int64).reshape(-1, 2)
    stray = (pairs < 0) | (pairs >= n_nodes)
    if stray.any():
        edge, end = np.argwhere(stray)[0]
        raise GraphDataError(
            f"{place}: edge {edge} names node {pairs[edge, end]}, but the {n_nodes} nodes of the "
            "graph are numbered from 0"
        )
    return pairs


def _2d(table: Floats) -> Floats:
    return table.reshape(len(table), -1) if table.size else table


def _finite(place: str, what: str, values: ArrayLike | None) -> Floats | None:
    if values is None:
        return None
    try:
        table = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise GraphDataError(
            f"{place}: {what} must be numbers, as many for each: {error}"
        ) from error
    if not np.isfinite(table).all():
        row = int(np.argwhere(~np.isfinite(table))[0][0])
        raise GraphDataError(f"{place}: {what} must be finite, got {table[row]} for number {row}")
    return table
