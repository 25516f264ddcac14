"""Read graphs in runs of bounded size, so that a source may be larger than memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from kgnn.errors import GraphDataError
from kgnn.graphs.excerpts import excerpt
from kgnn.graphs.graph import GraphDataset
from kgnn.graphs.loading import format_of, load
from kgnn.graphs.readers import jsonl, network_files, smiles
from kgnn.graphs.readers.collector import GraphCollector
from kgnn.graphs.refusal import Refusal, stop

GRAPHS_AT_ONCE = 1024
# Nodes and edges of a run, save where a single graph has more.
SIZE_AT_ONCE = 1 << 18
_FILES_AT_ONCE = 64

_Found = Iterator[tuple[str, dict[str, Any]]]


def stream(
    source: str | os.PathLike[str],
    *,
    has_node_labels: bool | None = None,
    refuse: Refusal = stop,
    **options: Any,
) -> Iterator[GraphDataset]:
    """Yield the graphs of a source, in order, as datasets of bounded size.

    JSON Lines, SMILES in CSV and folders of network files are read as they are consumed; of these,
    no more than a run is in memory, apart from eight bytes or so to tell whether a name was there
    before. Other sources are loaded whole and cut. Graphs without a name are named by their
    position, for which graphs that are left out count, too.

    Parameters
    ----------
    source : str or path
        As for `kgnn.load`.
    has_node_labels : bool, optional
        Whether labels of nodes in GML and GEXF files are labels or names, which one file alone
        cannot tell; see `kgnn.graphs.readers.network_files.read`.
    refuse : callable
        Called with the error of each graph that cannot be read, such as a
        `kgnn.graphs.refusal.Skipped`; default: raise it. What is wrong with a whole file, or with
        a source that is loaded whole, is raised in any case.
    **options
        Passed to the reader.

    Examples
    --------
    >>> [len(graphs) for graphs in stream("cycles-and-trees", n_graphs=2500)]
    [1024, 1024, 452]
    """
    kind, path = format_of(source), Path(source).expanduser()
    if kind == "JSON Lines":
        return _packed(path, partial(jsonl.graphs_in, path), refuse)
    if kind == "SMILES in CSV":
        return _packed(path, partial(smiles.molecules_in, path, **options), refuse)
    if kind == "network files":
        return network_files.read_parts(path, _FILES_AT_ONCE, has_node_labels, refuse)
    return _cut(named(load(source, **options)))


def _packed(path: Path, read: Callable[..., _Found], refuse: Refusal) -> Iterator[GraphDataset]:
    """Collect graphs as they come until a run is full."""
    name, names_before = path.name.partition(".")[0], set[int]()
    counted = _Counted(refuse)
    run, size, positions = GraphCollector(), 0, list[int]()
    for position, (place, graph) in enumerate(read(refuse=counted)):
        left_out = counted.n
        try:
            _refuse_known_name(place, graph["name"], names_before)
            run.add(place, **graph)
        except GraphDataError as error:
            refuse(error)
            continue
        names_before.add(hash(graph["name"]))
        positions.append(position + left_out)
        size += graph["n_nodes"] + len(graph["edges"])
        if len(run) >= GRAPHS_AT_ONCE or size >= SIZE_AT_ONCE:
            yield _named_by(positions, run.dataset(name))
            run, size, positions = GraphCollector(), 0, []
    if len(run):
        yield _named_by(positions, run.dataset(name))


class _Counted:
    """A refusal that counts how often it was called."""

    def __init__(self, refuse: Refusal) -> None:
        self.n, self._refuse = 0, refuse

    def __call__(self, error: GraphDataError) -> None:
        self.n += 1
        self._refuse(error)


def _named_by(positions: list[int], graphs: GraphDataset) -> GraphDataset:
    if graphs.graph_names is not None:
        return graphs
    return replace(graphs, graph_names=np.array(positions).astype(np.str_))


def _refuse_known_name(place: str, name: str | None, before: set[int]) -> None:
    """Look for the hash of a name: two of a hundred million collide once in thousands of files."""
    if name is not None and hash(name) in before:
        raise GraphDataError(
            f"{place}: the name '{excerpt(name)}' is already taken by a graph before it"
        )


def _cut(graphs: GraphDataset) -> Iterator[GraphDataset]:
    sizes = graphs.graph_sizes + graphs.edge_counts
    start, size = 0, 0
    for row, each in zip(count(1), sizes.tolist(), strict=False):
        size += each
        if row - start >= GRAPHS_AT_ONCE or size >= SIZE_AT_ONCE:
            yield graphs[start:row]
            start, size = row, 0
    if start < len(graphs) or len(graphs) == 0:
        yield graphs[start:]


def named(graphs: GraphDataset) -> GraphDataset:
    """Name graphs without a name by their position, so that they keep it wherever they go."""
    return _named_by(list(range(len(graphs))), graphs)
