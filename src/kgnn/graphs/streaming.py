"""Read graphs in runs of bounded size, so that a source may be larger than memory."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from kgnn.errors import GraphDataError
from kgnn.graphs import jsonl, network_files, smiles
from kgnn.graphs.collector import GraphCollector
from kgnn.graphs.graph import GraphDataset
from kgnn.graphs.loading import format_of, load

GRAPHS_AT_ONCE = 1024
# Nodes and edges of a run, save where a single graph has more.
SIZE_AT_ONCE = 1 << 18
_FILES_AT_ONCE = 64


def stream(
    source: str | os.PathLike[str], *, has_node_labels: bool | None = None, **options: Any
) -> Iterator[GraphDataset]:
    """Yield the graphs of a source, in order, as datasets of bounded size.

    JSON Lines, SMILES in CSV and folders of network files are read as they are consumed; of these,
    no more than a run is in memory, apart from eight bytes or so to tell whether a name was there
    before. Other sources are loaded whole and cut. Graphs without a name are named by their
    position.

    Parameters
    ----------
    source : str or path
        As for `kgnn.load`.
    has_node_labels : bool, optional
        Whether labels of nodes in GML and GEXF files are labels or names, which one file alone
        cannot tell; see `kgnn.graphs.network_files.read`.
    **options
        Passed to the reader.

    Examples
    --------
    >>> [len(graphs) for graphs in stream("cycles-and-trees", n_graphs=2500)]
    [1024, 1024, 452]
    """
    first = 0
    for run in _runs_of(source, has_node_labels, options):
        yield named(run, first)
        first += len(run)


def _runs_of(
    source: str | os.PathLike[str], has_node_labels: bool | None, options: dict[str, Any]
) -> Iterator[GraphDataset]:
    kind, path = format_of(source), Path(source).expanduser()
    name = path.name.partition(".")[0]
    if kind == "JSON Lines":
        return _packed(jsonl.graphs_in(path), name)
    if kind == "SMILES in CSV":
        return _packed(smiles.molecules_in(path, **options), name)
    if kind == "network files":
        return network_files.read_parts(path, _FILES_AT_ONCE, has_node_labels)
    return _cut(load(source, **options))


def _packed(found: Iterable[tuple[str, dict[str, Any]]], name: str) -> Iterator[GraphDataset]:
    """Collect graphs as they come until a run is full."""
    names_before: set[int] = set()
    run, size = GraphCollector(), 0
    for place, graph in found:
        _refuse_known_name(place, graph["name"], names_before)
        run.add(place, **graph)
        size += graph["n_nodes"] + len(graph["edges"])
        if len(run) >= GRAPHS_AT_ONCE or size >= SIZE_AT_ONCE:
            yield run.dataset(name)
            run, size = GraphCollector(), 0
    if len(run):
        yield run.dataset(name)


def _refuse_known_name(place: str, name: str | None, before: set[int]) -> None:
    """Remember a name by its hash: two of a hundred million collide once in thousands of files."""
    if name is None:
        return
    if hash(name) in before:
        raise GraphDataError(f"{place}: the name '{name}' is already taken by a graph before it")
    before.add(hash(name))


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


def named(graphs: GraphDataset, first: int = 0) -> GraphDataset:
    """Name graphs without a name by their position, so that they keep it wherever they go."""
    if graphs.graph_names is not None:
        return graphs
    return replace(graphs, graph_names=np.arange(first, first + len(graphs)).astype(np.str_))
