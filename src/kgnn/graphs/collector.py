"""Collect graphs one by one and pack them, all at once or in batches."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, repeat
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kgnn.errors import (
    ArchiveError,
    ErrorHandler,
    GraphDataError,
    ParameterError,
    Skipped,
    excerpt,
)
from kgnn.graphs.graph import Floats, GraphDataset, Ints, offsets_of
from kgnn.graphs.labels import is_unknown
from kgnn.graphs.packing import MAX_NODES, finite, pack

GRAPHS_AT_ONCE = 1024
# Nodes and edges of a run; a single graph may have more.
SIZE_AT_ONCE = 1 << 18

# Place of a graph and the arguments of `GraphCollector.add`.
Found = Iterator[tuple[str, dict[str, Any]]]
# Yields graphs one by one, and calls the handler for each that cannot be read.
ReadWith = Callable[[ErrorHandler], Found]

# Limit on nodes without edges, labels and attributes in an input: a number in a small file must not
# make kgnn allocate gigabytes.
MAX_BARE_NODES = 1 << 24
_LIMIT = "KGNN_MAX_BARE_NODES"  # environment variable to change it

_SURROGATE = re.compile("[\ud800-\udfff]")


class BareNodes:
    """Counts the nodes of an input without edges, labels and attributes."""

    def __init__(self) -> None:
        self.n = 0

    def check(self, place: str, n: int) -> None:
        """Refuse nodes beyond the limit."""
        told = os.environ.get(_LIMIT, "")
        if told and not (told.isascii() and told.isdecimal()):
            raise ParameterError(f"{_LIMIT} must be a number of nodes, got '{excerpt(told)}'.")
        limit = int(told) if told else MAX_BARE_NODES
        if n and self.n + n > limit:
            before = f" after {self.n:,} in the graphs before" if self.n else ""
            raise GraphDataError(
                f"{place}: {n:,} nodes have no edge, label or attribute{before}; the limit for an "
                f"input is {limit:,} such nodes (the environment variable {_LIMIT} changes it)"
            )


class GraphCollector:
    """Collects graphs for a `GraphDataset`, each with its place in the input for messages.

    Either all graphs have a kind of data or none; graphs without nodes (edges) need no data on
    nodes (edges). With ``directed``, directions of edges are kept. Errors begin with the place,
    such as ``molecules.jsonl, line 3``.

    Examples
    --------
    >>> graphs = GraphCollector()
    >>> graphs.add("line 1", 3, [(0, 1), (1, 2)], node_labels="CCO", target="alcohol")
    >>> graphs.dataset("molecules")
    GraphDataset('molecules': 1 graphs, 1 classes, 1 labeled)
    """

    def __init__(self, directed: bool = False, bare: BareNodes | None = None) -> None:
        self._directed = directed
        self._bare = bare or BareNodes()  # of this input, which may fill several collectors
        self._node_counts: list[int] = []
        self._n_nodes = 0
        self._edges: list[Ints] = []
        self._targets: list[Hashable | None] = []
        self._names = _Column("a name")
        self._place_of_name: dict[str | None, str] = {}
        self._node_labels = _Column("node labels")
        self._node_attributes = _Column("node attributes")
        self._edge_labels = _Column("edge labels")
        self._edge_weights = _Column("edge weights")
        self._edge_attributes = _Column("edge attributes")

    def __len__(self) -> int:
        return len(self._node_counts)

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
        edge_attributes: ArrayLike | None = None,
        target: Hashable | None = None,
        name: str | None = None,
    ) -> None:
        """Add one graph; its edges are pairs of nodes from 0 to ``n_nodes - 1``.

        A target of None, NaN or empty text is unknown. −1 is a class, as in some files.
        """
        pairs = _checked_pairs(place, n_nodes, edges)
        _require_text(place, "node labels", node_labels)
        _require_text(place, "edge labels", edge_labels)
        told = [value for value in (target, name) if value is not None]
        _require_text(place, "target and name", told)
        attributes = finite(node_attributes, f"{place}: node attributes")
        weights = finite(edge_weights, f"{place}: edge weights")
        if weights is not None and weights.ndim != 1:
            raise GraphDataError(f"{place}: an edge takes one weight, got {excerpt(weights[0])}")
        of_edges = finite(edge_attributes, f"{place}: edge attributes")
        columns = (
            (self._node_labels, n_nodes, node_labels),
            (self._node_attributes, n_nodes, None if attributes is None else _2d(attributes)),
            (self._edge_labels, len(pairs), edge_labels),
            (self._edge_weights, len(pairs), weights),
            (self._edge_attributes, len(pairs), None if of_edges is None else _2d(of_edges)),
            (self._names, 1, None if name is None else [name]),
        )
        # Check everything before changing anything, so that a rejected graph leaves no trace.
        for column, n, values in columns:
            column.check(place, n, values)
        _require_consistent(place, pairs, edge_labels, weights, of_edges, self._directed)
        is_bare = node_labels is None and attributes is None
        n_bare = max(0, n_nodes - 2 * len(pairs)) if is_bare else 0
        self._bare.check(place, n_bare)
        if self._n_nodes + n_nodes > MAX_NODES:
            raise GraphDataError(
                f"{place}: a dataset has at most {MAX_NODES} nodes, got {n_nodes} after "
                f"{self._n_nodes}"
            )
        if name in self._place_of_name:
            other = self._place_of_name[name]
            raise GraphDataError(f"{place}: the name '{excerpt(name)}' is already taken by {other}")
        for column, n, values in columns:
            column.add(place, n, values)
        if name is not None:
            self._place_of_name[name] = place
        self._bare.n += n_bare
        self._n_nodes += n_nodes
        self._node_counts.append(n_nodes)
        self._edges.append(pairs)
        self._targets.append(None if is_unknown(target) else target)

    def dataset(self, name: str) -> GraphDataset:
        """Pack all added graphs."""
        edge_counts = np.array([len(pairs) for pairs in self._edges], dtype=np.int64)
        first_nodes = offsets_of(np.array(self._node_counts, dtype=np.int64))[:-1]
        pairs = np.concatenate([np.empty((0, 2), dtype=np.int64), *self._edges])
        pairs += np.repeat(first_nodes, edge_counts)[:, None]
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
            edge_attributes=self._edge_attributes.stacked(),
            graph_names=self._names.listed(),
            directed=self._directed,
        )


def is_directed(directed: bool | str) -> bool:
    """Parse the option ``directed``, which is text on the command line.

    Examples
    --------
    >>> is_directed("true"), is_directed(False)
    (True, False)
    """
    if directed not in (True, False, "true", "false"):
        raise ParameterError(f"'directed' must be true or false, got '{excerpt(directed)}'.")
    return directed in (True, "true")


def require_graphs(graphs: Iterable[Any], kind: type, what: str, argument: str) -> list[Any]:
    """Return graphs as a list, or raise an error if there are none or one is of another kind."""
    listed = list(graphs)
    if not listed:
        raise GraphDataError("there are no graphs: the list is empty")
    for row, graph in enumerate(listed):
        if not isinstance(graph, kind):
            raise GraphDataError(f"{argument}[{row}] must be {what}, got {type(graph).__name__}")
    return listed


def collect_readable(
    name: str, read: ReadWith, on_error: ErrorHandler | None = None, directed: bool = False
) -> GraphDataset:
    """Pack the readable graphs into a dataset; without ``on_error``, all must be readable.

    If one is skipped, graphs without a name are named by their position; see `collect_runs`.
    """
    graphs, positions, skipped = GraphCollector(directed), list[int](), Skipped()
    handle = on_error or skipped
    try:
        for position, place, graph in numbered(read, handle):
            try:
                graphs.add(place, **graph)
            except GraphDataError as error:
                handle(error)
            else:
                positions.append(position)
    except ArchiveError:
        raise
    except GraphDataError as error:
        # The reasons for each graph explain why none is left.
        raise skipped.error(f"'{name}'") if skipped.n else error from error
    if skipped.n:
        raise skipped.error(f"'{name}'")
    dataset = graphs.dataset(name)
    none_skipped = positions == list(range(len(positions)))
    return dataset if none_skipped else _named_by(positions, dataset)


def collect_runs(
    name: str, read: ReadWith, on_error: ErrorHandler, directed: bool = False
) -> Iterator[GraphDataset]:
    """Collect graphs while reading and yield datasets of bounded size.

    ``read`` is called with an error handler and yields graphs one by one. Graphs without a name are
    named by their position; skipped graphs count for it, too.
    """
    # Hashes take little memory; collisions among a hundred million names are very rare.
    names_before = set[int]()
    bare = BareNodes()
    run, size, positions = GraphCollector(directed, bare), 0, list[int]()
    for position, place, graph in numbered(read, on_error):
        try:
            if graph["name"] is not None and hash(graph["name"]) in names_before:
                raise GraphDataError(
                    f"{place}: the name '{excerpt(graph['name'])}' is already taken by another one"
                )
            run.add(place, **graph)
        except GraphDataError as error:
            on_error(error)
            continue
        names_before.add(hash(graph["name"]))
        positions.append(position)
        size += graph["n_nodes"] + len(graph["edges"])
        if len(run) >= GRAPHS_AT_ONCE or size >= SIZE_AT_ONCE:
            yield _named_by(positions, run.dataset(name))
            run, size, positions = GraphCollector(directed, bare), 0, []
    if len(run):
        yield _named_by(positions, run.dataset(name))


def numbered(read: ReadWith, on_error: ErrorHandler) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Yield graphs with their position; unreadable graphs count, too."""
    n_unread = 0

    def count(error: GraphDataError) -> None:
        nonlocal n_unread
        n_unread += 1
        on_error(error)

    for number, (place, graph) in enumerate(read(count)):
        yield number + n_unread, place, graph


def named(graphs: GraphDataset) -> GraphDataset:
    """Name graphs without a name by their position, so that selections keep the name."""
    return _named_by(range(len(graphs)), graphs)


def _named_by(positions: Sequence[int], graphs: GraphDataset) -> GraphDataset:
    if graphs.graph_names is not None:
        return graphs
    return replace(graphs, graph_names=np.array(positions, dtype=np.int64).astype(np.str_))


class _Column:
    """Values that every item has, or none."""

    def __init__(self, what: str) -> None:
        self.what = what
        self._parts: list[Any] = []
        self._first: str | None = None  # where the first items came from

    def check(self, place: str, n: int, values: Sequence[Any] | NDArray[Any] | None) -> None:
        if values is not None and len(values) != n:
            raise GraphDataError(f"{place}: expected {n} {self.what}, got {len(values)}")
        if n == 0 or self._first is None:
            return
        if self._parts and values is None:
            told = f"lacks {self.what}, which {self._first} has"
            raise GraphDataError(f"{place} {told}; all graphs have it or none")
        if not self._parts and values is not None:
            told = f"has {self.what}, but not {self._first}"
            raise GraphDataError(f"{place} {told}; all graphs have it or none")
        if isinstance(values, np.ndarray) and values.ndim == 2:
            width, expected = values.shape[1], self._parts[0].shape[1]
            if width != expected:
                raise GraphDataError(
                    f"{place}: {width} {self.what} for each, but {expected} in {self._first}"
                )

    def add(self, place: str, n: int, values: Sequence[Any] | NDArray[Any] | None) -> None:
        if n == 0:
            return
        self._first = self._first or place
        if values is not None:
            self._parts.append(values)

    def listed(self) -> list[Any] | None:
        return list(chain.from_iterable(self._parts)) if self._parts else None

    def stacked(self) -> NDArray[Any] | None:
        return np.concatenate(self._parts) if self._parts else None


def _require_text(place: str, what: str, values: Iterable[Hashable] | None) -> None:
    """Reject labels and names that cannot be written to a text file."""
    if values is None or _is_plain(values):
        return
    for value in values:
        if isinstance(value, list | dict | set):
            raise GraphDataError(
                f"{place}: {what} must be text or numbers, got {excerpt(repr(value))}"
            )
        if isinstance(value, str) and ("\0" in value or _SURROGATE.search(value)):
            raise GraphDataError(
                f"{place}: {what} must be text, got {excerpt(repr(value))} with a zero byte or "
                "half of a character"
            )


def _is_plain(values: Iterable[Any]) -> bool:
    """Tell quickly whether all values are ASCII text, as nearly all labels are."""
    try:
        text = "".join(values)
    except TypeError:  # numbers, or None
        return False
    return text.isascii() and "\0" not in text


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


def _require_consistent(
    place: str,
    pairs: Ints,
    labels: Sequence[Hashable] | None,
    weights: Floats | None,
    attributes: Floats | None,
    directed: bool,
) -> None:
    """Reject an edge that is given twice with different data."""
    if labels is None and weights is None and attributes is None:
        return
    ends = [(u, v) if u <= v or directed else (v, u) for u, v in pairs.tolist()]
    if len(set(ends)) == len(ends):
        return
    names = repeat("") if labels is None else map(str, labels)
    numbers = repeat(0.0) if weights is None else weights.tolist()
    tables = repeat([]) if attributes is None else attributes.tolist()
    known: dict[tuple[int, int], Any] = {}
    for row, (edge, *data) in enumerate(zip(ends, names, numbers, tables, strict=False)):
        if known.setdefault(edge, data) != data:
            u, v = pairs[row]
            raise GraphDataError(
                f"{place}: the edge {u}, {v} occurs twice, with different labels, weights or "
                "attributes; one edge is kept between two nodes"
                f"{'' if directed else ' (with directed=True one in each direction)'}"
            )


def _2d(table: Floats) -> Floats:
    return table.reshape(len(table), -1) if table.size else table
