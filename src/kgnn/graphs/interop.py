"""Lists of graphs of any known kind, as a `GraphDataset`."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from itertools import groupby
from typing import Any

from kgnn.errors import GraphDataError
from kgnn.graphs.graph import Graph, GraphDataset
from kgnn.graphs.nx_graphs import from_networkx
from kgnn.graphs.packing import concatenate
from kgnn.graphs.pyg_data import from_pyg
from kgnn.graphs.readers.smiles import from_smiles


class NotGraphsError(GraphDataError, TypeError):
    """A value that is not a collection of graphs."""


def as_dataset(graphs: Any) -> GraphDataset:
    """Return graphs of any known kind as a dataset.

    Parameters
    ----------
    graphs : GraphDataset, or iterable
        Of `Graph`, ``networkx.Graph``, ``torch_geometric.data.Data``, or SMILES. A dataset is
        returned as it is.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> dataset = cycles_and_trees(10)
    >>> as_dataset([dataset[3], dataset[0]])
    GraphDataset('cycles-and-trees': 2 graphs, 2 classes, 2 labeled)
    """
    if isinstance(graphs, GraphDataset):
        return graphs
    if is_graph(graphs) or not isinstance(graphs, Iterable):
        raise NotGraphsError(
            f"X must be a list of graphs, got a single {type(graphs).__name__}. "
            "Load graphs with kgnn.load(…), or put the graph into a list."
        )
    listed = list(graphs)
    kinds = [_kind(graph) for graph in listed]
    for row, kind in enumerate(kinds):
        if kind is None:
            raise NotGraphsError(
                f"X[{row}] must be a Graph, a networkx graph, a PyG Data or a SMILES text, "
                f"got {type(listed[row]).__name__}. Load graphs with kgnn.load(…)."
            )
        if kind != kinds[0]:
            raise NotGraphsError(f"X[0] is a {kinds[0]}, but X[{row}] a {kind}; do not mix them")
    if not listed:
        raise NotGraphsError("X is an empty list. Load graphs with kgnn.load(…).")
    converters: dict[str | None, Any] = {
        "Graph": _regrouped,
        "networkx graph": from_networkx,
        "PyG Data": from_pyg,
        "SMILES text": from_smiles,
    }
    return converters[kinds[0]](listed)


def is_graph(value: Any) -> bool:
    """Tell whether a value is a single graph of any known kind."""
    return _kind(value) is not None


def _kind(value: Any) -> str | None:
    """Name the kind of a graph; a library that was never imported cannot have made it."""
    if isinstance(value, Graph):
        return "Graph"
    networkx = sys.modules.get("networkx")
    if networkx is not None and isinstance(value, networkx.Graph):
        return "networkx graph"
    pyg_data = sys.modules.get("torch_geometric.data")
    if pyg_data is not None and isinstance(value, pyg_data.Data):
        return "PyG Data"
    return "SMILES text" if isinstance(value, str) else None


def _regrouped(graphs: list[Graph]) -> GraphDataset:
    """Collect views: rows of one dataset if they share it, otherwise joined datasets."""
    parts = []
    for _, run in groupby(graphs, key=lambda graph: id(graph.dataset)):
        views = list(run)
        parts.append(views[0].dataset[[view.row for view in views]])
    return parts[0] if len(parts) == 1 else concatenate(parts)
