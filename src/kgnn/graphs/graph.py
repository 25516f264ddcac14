"""`GraphDataset`: many graphs packed in flat arrays; `Graph`: a view of one."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property
from types import EllipsisType
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kgnn.errors import GraphDataError

Ints = NDArray[np.int64]
ShortInts = NDArray[np.int32]
Floats = NDArray[np.float64]
Array = TypeVar("Array", bound=NDArray[Any])

# Incremented when the packed layout changes, so that old fingerprints and caches no longer match.
LAYOUT = 1
# For arcs with edges in both directions, along the edge, and against it.
_ARROWS = ("↔", "→", "←")

# What graphs may carry beside nodes and edges, and what people call it.
CARRIED = {
    "node_labels": "node labels",
    "node_attributes": "node attributes",
    "edge_labels": "edge labels",
    "edge_directions": "edge directions",
    "edge_weights": "edge weights",
    "edge_attributes": "edge attributes",
}


def ranges(starts: Ints, lengths: Ints) -> Ints:
    """Concatenate ``arange(start, start + length)`` for every pair, without a loop.

    Examples
    --------
    >>> ranges(np.array([5, 0]), np.array([2, 3]))
    array([5, 6, 0, 1, 2])
    """
    ends = np.cumsum(lengths)
    shift = np.repeat(starts - (ends - lengths), lengths)
    shift += np.arange(len(shift))
    return shift


def offsets_of(lengths: Ints) -> Ints:
    """Turn lengths into offsets: ``[2, 3] → [0, 2, 5]``."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def frozen(array: Array) -> Array:
    """Forbid writing to an array, and return it."""
    array.setflags(write=False)
    return array


@dataclass(frozen=True, eq=False, repr=False)
class GraphDataset:
    """Many graphs, packed in flat arrays with offsets; immutable.

    Nodes are numbered over all graphs; graph ``g`` has the nodes
    ``node_offsets[g]:node_offsets[g + 1]``. An edge {u, v} is two *arcs*, u→v and v→u; a self loop
    is one. For directed graphs, ``edge_directions`` marks the direction of each arc's edge. Arcs
    are sorted by source node, then by neighbor, so that
    ``neighbors[arc_offsets[v]:arc_offsets[v + 1]]`` are the neighbors of node ``v`` and equal
    graphs have equal arrays. Build one with `kgnn.load`, `kgnn.from_networkx`, `kgnn.from_pyg` or
    `kgnn.graphs.packing.pack`.

    Attributes
    ----------
    name : str
        Not part of the content.
    node_offsets : (n_graphs + 1,) int64
    arc_offsets : (n_nodes + 1,) int64
    neighbors : (n_arcs,) int32
        Neighbor of each arc, numbered over the whole dataset.
    targets : (n_graphs,) int64
        Class of each graph as a position in ``class_names``; −1 if unknown.
    class_names : tuple of str
    node_labels : (n_nodes,) int32 or None
        Categorical label of each node as a position in ``node_label_names``.
    node_label_names : tuple of str
    node_attributes : (n_nodes, d) float64 or None
    edge_labels : (n_arcs,) int32 or None
        Categorical label of each arc as a position in ``edge_label_names``.
    edge_label_names : tuple of str
    edge_weights : (n_arcs,) float64 or None
    edge_directions : (n_arcs,) int8 or None
        1 for an arc along its edge, −1 for one against it, 0 if there are edges in both directions;
        None for undirected graphs. An arc against an edge has the edge's label and weight.
    edge_attributes : (n_arcs, d) float64 or None
    graph_names : (n_graphs,) str or None

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> graphs = cycles_and_trees(6, seed=0)
    >>> graphs
    GraphDataset('cycles-and-trees': 6 graphs, 2 classes, 6 labeled)
    >>> len(graphs[graphs.targets == 0]), graphs[0].n_nodes == graphs[0].n_edges
    (3, True)
    """

    name: str
    node_offsets: Ints
    arc_offsets: Ints
    neighbors: ShortInts
    targets: Ints
    class_names: tuple[str, ...] = ()
    node_labels: ShortInts | None = None
    node_label_names: tuple[str, ...] = ()
    node_attributes: Floats | None = None
    edge_labels: ShortInts | None = None
    edge_label_names: tuple[str, ...] = ()
    edge_weights: Floats | None = None
    edge_directions: NDArray[np.int8] | None = None
    edge_attributes: Floats | None = None
    graph_names: NDArray[np.str_] | None = None

    def __post_init__(self) -> None:
        for array in self.arrays().values():
            frozen(array)

    def __reduce__(self) -> tuple[type[GraphDataset], tuple[Any, ...]]:
        # Unpickling calls the constructor, so that the arrays are read-only again.
        return GraphDataset, tuple(getattr(self, field.name) for field in fields(self))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays that are not None, by field name."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return {k: v for k, v in values.items() if isinstance(v, np.ndarray)}

    # -- sizes ------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.node_offsets) - 1

    @property
    def shape(self) -> tuple[int]:
        """``(n_graphs,)``, so that scikit-learn's splitters index the dataset like an array."""
        return (len(self),)

    @property
    def n_nodes(self) -> int:
        """Number of nodes in all graphs."""
        return int(self.node_offsets[-1])

    @property
    def n_arcs(self) -> int:
        """Number of arcs in all graphs."""
        return len(self.neighbors)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.class_names)

    @cached_property
    def graph_sizes(self) -> Ints:
        """Number of nodes of each graph."""
        return frozen(np.diff(self.node_offsets))

    @cached_property
    def degrees(self) -> Ints:
        """Number of neighbors of each node; a self loop counts once."""
        return frozen(np.diff(self.arc_offsets))

    @cached_property
    def node_graphs(self) -> ShortInts:
        """Graph that each node belongs to."""
        return frozen(np.repeat(np.arange(len(self), dtype=np.int32), self.graph_sizes))

    @property
    def arc_sources(self) -> ShortInts:
        """Source node of each arc; not cached, since it takes as much memory as the arcs."""
        return np.repeat(np.arange(self.n_nodes, dtype=np.int32), self.degrees)

    @cached_property
    def edge_counts(self) -> Ints:
        """Number of edges of each graph: distinct pairs, ordered ones in directed graphs.

        A self loop counts once.
        """
        first_arc = self.arc_offsets[self.node_offsets]
        if self.edge_directions is not None:
            along = np.concatenate([[0], np.cumsum(self.edge_directions >= 0)])
            return frozen(np.diff(along[first_arc]))
        is_loop = self.neighbors == self.arc_sources
        loops_before = np.searchsorted(np.flatnonzero(is_loop), first_arc)
        return frozen((np.diff(first_arc) + np.diff(loops_before)) // 2)

    # -- kinds of edges ---------------------------------------------------------------------------

    @property
    def has_edge_kinds(self) -> bool:
        """Whether edges differ by label or direction."""
        return self.edge_labels is not None or self.edge_directions is not None

    @property
    def arc_kinds(self) -> ShortInts | None:
        """Label and direction of each arc as a position in `arc_kind_names`."""
        if self.edge_directions is None:
            return self.edge_labels
        directions = self.edge_directions.astype(np.int32) % len(_ARROWS)
        return directions if self.edge_labels is None else self.edge_labels * 3 + directions

    @property
    def arc_kind_names(self) -> tuple[str, ...]:
        """Labels of arcs, with an arrow in directed graphs."""
        if self.edge_directions is None:
            return self.edge_label_names
        labels = ("",) if self.edge_labels is None else self.edge_label_names
        return tuple(f"{label}{arrow}" for label in labels for arrow in _ARROWS)

    # -- content ----------------------------------------------------------------------------------

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the content, equal for equal graphs from any file."""
        digest = hashlib.blake2b(digest_size=16)
        digest.update(f"kgnn {LAYOUT}".encode())
        for field, value in sorted((f.name, getattr(self, f.name)) for f in fields(self)):
            if isinstance(value, np.ndarray):
                digest.update(f"{field} {value.dtype.kind} {value.shape}".encode())
                if value.dtype.kind == "U":
                    digest.update("\0".join(value.tolist()).encode())
                else:
                    digest.update(np.ascontiguousarray(value).data)
            elif isinstance(value, tuple):
                digest.update(f"{field} {value!r}".encode())
        return digest.hexdigest()

    def __repr__(self) -> str:
        labeled = int((self.targets >= 0).sum())
        return (
            f"GraphDataset('{self.name}': {len(self)} graphs, {self.n_classes} classes, "
            f"{labeled} labeled)"
        )

    def _repr_html_(self) -> str:
        from kgnn.graphs.notebook import dataset_html

        return dataset_html(self)

    # -- selection --------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[Graph]:
        return (Graph(self, row) for row in range(len(self)))

    @overload
    def __getitem__(self, key: int | np.integer[Any]) -> Graph: ...
    @overload
    def __getitem__(
        self, key: slice | ArrayLike | tuple[slice | ArrayLike, EllipsisType]
    ) -> GraphDataset: ...
    def __getitem__(self, key: Any) -> Graph | GraphDataset:
        if isinstance(key, tuple) and len(key) == 2 and key[1] is ...:
            key = key[0]  # scikit-learn indexes arrays this way
        if isinstance(key, (int, np.integer)) and not isinstance(key, bool):
            if not -len(self) <= key < len(self):
                raise IndexError(f"graph {key} of a dataset with {len(self)} graphs")
            return Graph(self, int(key) % len(self))
        return self._take(np.arange(len(self))[key if isinstance(key, slice) else _as_index(key)])

    def _take(self, rows: Ints) -> GraphDataset:
        first_node, n_nodes = self.node_offsets[rows], self.graph_sizes[rows]
        node_offsets = offsets_of(n_nodes)
        nodes = ranges(first_node, n_nodes)
        first_arc = self.arc_offsets[first_node]
        n_arcs = self.arc_offsets[first_node + n_nodes] - first_arc
        arcs = ranges(first_arc, n_arcs)
        renumber = np.repeat((first_node - node_offsets[:-1]).astype(np.int32), n_arcs)
        return replace(
            self,
            node_offsets=node_offsets,
            arc_offsets=offsets_of(self.degrees[nodes]),
            neighbors=self.neighbors[arcs] - renumber,
            targets=self.targets[rows],
            node_labels=None if self.node_labels is None else self.node_labels[nodes],
            node_attributes=None if self.node_attributes is None else self.node_attributes[nodes],
            edge_labels=None if self.edge_labels is None else self.edge_labels[arcs],
            edge_weights=None if self.edge_weights is None else self.edge_weights[arcs],
            edge_directions=None if self.edge_directions is None else self.edge_directions[arcs],
            edge_attributes=None if self.edge_attributes is None else self.edge_attributes[arcs],
            graph_names=None if self.graph_names is None else self.graph_names[rows],
        )

    def with_nodes(self, kept: NDArray[np.bool_]) -> GraphDataset:
        """Return the subgraphs induced by the kept nodes, with new node numbers."""
        between_kept = np.repeat(kept, self.degrees)
        between_kept &= kept.take(self.neighbors)
        thinned = self.with_arcs(between_kept)  # removed nodes have no arcs now
        numbers = np.cumsum(kept, dtype=np.int32) - 1
        return replace(
            thinned,
            node_offsets=np.searchsorted(np.flatnonzero(kept), self.node_offsets),
            arc_offsets=offsets_of(thinned.degrees[kept]),
            neighbors=numbers[thinned.neighbors],
            node_labels=None if self.node_labels is None else self.node_labels[kept],
            node_attributes=None if self.node_attributes is None else self.node_attributes[kept],
        )

    def with_arcs(self, kept: NDArray[np.bool_]) -> GraphDataset:
        """Return the graphs with some of their arcs; keep both arcs of an edge or neither."""
        arcs = np.flatnonzero(kept)  # faster than the mask
        return replace(
            self,
            arc_offsets=np.searchsorted(arcs, self.arc_offsets),
            neighbors=self.neighbors[arcs],
            edge_labels=None if self.edge_labels is None else self.edge_labels[arcs],
            edge_weights=None if self.edge_weights is None else self.edge_weights[arcs],
            edge_directions=None if self.edge_directions is None else self.edge_directions[arcs],
            edge_attributes=None if self.edge_attributes is None else self.edge_attributes[arcs],
        )

    def without_edge_data(self) -> GraphDataset:
        """Return the graphs without labels, weights, directions and attributes of edges."""
        return replace(
            self,
            edge_labels=None,
            edge_label_names=(),
            edge_weights=None,
            edge_directions=None,
            edge_attributes=None,
        )

    def with_targets(self, targets: ArrayLike) -> GraphDataset:
        """Return the same graphs with other targets (positions in ``class_names``, or −1)."""
        array = np.array(targets, dtype=np.int64)
        if array.shape != (len(self),):
            raise GraphDataError(f"expected {len(self)} targets, got an array of {array.shape}")
        if array.size and not -1 <= array.min() <= array.max() < max(self.n_classes, 1):
            raise GraphDataError(
                f"targets must be -1 or below {self.n_classes}, got {array.min()} to {array.max()}"
            )
        return replace(self, targets=array)


def _as_index(key: Any) -> NDArray[Any]:
    """Return rows or a mask as an array; an empty list counts as rows."""
    index = np.asarray(key)
    if index.ndim != 1 or (index.size and index.dtype.kind not in "iub"):
        raise IndexError(
            "graphs are selected by a number, a slice, a mask or a list of numbers, "
            f"got {type(key).__name__} {key!r}"
        )
    return index if index.size or index.dtype.kind == "b" else index.astype(np.int64)


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """A view of one graph of a `GraphDataset`."""

    dataset: GraphDataset
    row: int

    @property
    def _first(self) -> int:
        return int(self.dataset.node_offsets[self.row])

    @property
    def nodes(self) -> slice:
        """Position of the graph's nodes in the arrays of the dataset."""
        return slice(self._first, int(self.dataset.node_offsets[self.row + 1]))

    @property
    def arc_slice(self) -> slice:
        """Position of the graph's arcs in the arrays of the dataset."""
        nodes = self.nodes
        return slice(*map(int, self.dataset.arc_offsets[[nodes.start, nodes.stop]]))

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return self.nodes.stop - self.nodes.start

    @property
    def n_edges(self) -> int:
        """Number of edges; a self loop counts once, directed edges both ways count twice."""
        return len(self.edges)

    @property
    def name(self) -> str:
        """The graph's own name, or its position in the dataset."""
        names = self.dataset.graph_names
        return str(self.row) if names is None else str(names[self.row])

    @property
    def target(self) -> str | None:
        """Name of the graph's class, or None."""
        target = int(self.dataset.targets[self.row])
        return None if target < 0 else self.dataset.class_names[target]

    @cached_property
    def arcs(self) -> Ints:
        """All arcs as an ``(n_arcs, 2)`` array of local node numbers."""
        sources = np.repeat(np.arange(self.n_nodes), self.dataset.degrees[self.nodes])
        return frozen(
            np.column_stack([sources, self.dataset.neighbors[self.arc_slice] - self._first])
        )

    @property
    def _is_edge(self) -> NDArray[np.bool_]:
        directions = self.dataset.edge_directions
        if directions is not None:
            return directions[self.arc_slice] >= 0
        return self.arcs[:, 0] <= self.arcs[:, 1]

    @property
    def edges(self) -> Ints:
        """Edges as an ``(n_edges, 2)`` array of local node numbers.

        The smaller number is first; in directed graphs, the source of the edge.
        """
        return self.arcs[self._is_edge]

    def neighbors(self, node: int) -> Ints:
        """Return the neighbors of one node, by local number."""
        if not 0 <= node < self.n_nodes:
            raise IndexError(f"node {node} of a graph with {self.n_nodes} nodes")
        start, stop = self.dataset.arc_offsets[self._first + node : self._first + node + 2]
        return self.dataset.neighbors[start:stop].astype(np.int64) - self._first

    @property
    def node_labels(self) -> list[str] | None:
        """Label of each node."""
        labels = self.dataset.node_labels
        return None if labels is None else _named(labels[self.nodes], self.dataset.node_label_names)

    @property
    def node_attributes(self) -> Floats | None:
        """Attributes of each node, ``(n_nodes, d)``."""
        attributes = self.dataset.node_attributes
        return None if attributes is None else attributes[self.nodes]

    @property
    def edge_labels(self) -> list[str] | None:
        """Label of each edge, in the order of `edges`."""
        labels = self.dataset.edge_labels
        if labels is None:
            return None
        return _named(labels[self.arc_slice][self._is_edge], self.dataset.edge_label_names)

    @property
    def edge_weights(self) -> Floats | None:
        """Weight of each edge, in the order of `edges`."""
        weights = self.dataset.edge_weights
        return None if weights is None else weights[self.arc_slice][self._is_edge]

    @property
    def edge_attributes(self) -> Floats | None:
        """Attributes of each edge, in the order of `edges`, ``(n_edges, d)``."""
        attributes = self.dataset.edge_attributes
        return None if attributes is None else attributes[self.arc_slice][self._is_edge]

    def __repr__(self) -> str:
        return f"Graph('{self.name}': {self.n_nodes} nodes, {self.n_edges} edges)"

    def _repr_html_(self) -> str:
        from kgnn.graphs.notebook import graph_html

        return graph_html(self)


def _named(codes: ShortInts, names: tuple[str, ...]) -> list[str]:
    return [names[code] for code in codes.tolist()]
