"""Convert lists of graphs of any known kind to a `GraphDataset`; from and to networkx."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Hashable, Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from kgnn.errors import (
    ErrorHandler,
    GraphDataError,
    KgnnWarning,
    MissingExtraError,
    excerpt,
    raise_error,
)
from kgnn.graphs.collector import GraphCollector, require_graphs
from kgnn.graphs.graph import Graph, GraphDataset
from kgnn.graphs.labels import (
    by_position,
    class_name,
    is_unknown,
    require_length,
    targets_by_position,
)
from kgnn.graphs.molecules import from_smiles
from kgnn.graphs.packing import concatenate
from kgnn.graphs.pyg_data import from_pyg

if TYPE_CHECKING:
    import networkx as nx


# Keys of data on nodes, then on edges.
_USUAL = ("label", "attributes", "label", "weight", "attributes")
# Keys that GML, GEXF and drawing programs add to nodes and edges; they carry no information.
_OF_FORMATS = ("id", "viz", "graphics", "key")
# The same of graphs.
_OF_GRAPHS = (
    *("name", "id", "directed", "multigraph", "mode", "start", "end", "node_default"),
    *("edge_default", "hierarchic", "Creator", "Version", "version", "comment"),
)
_CLASSES = ("target", "label", "y")


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


# -- networkx -------------------------------------------------------------------------------------


def from_networkx(
    graphs: Iterable[nx.Graph],
    *,
    node_label: str | None = "label",
    node_attributes: str | None = "attributes",
    edge_label: str | None = "label",
    edge_weight: str | None = "weight",
    edge_attributes: str | None = "attributes",
    targets: Iterable[Hashable | None] | None = None,
    name: str = "networkx",
    graph_names: Iterable[str] | None = None,
    directed: bool = False,
) -> GraphDataset:
    """Pack networkx graphs into a dataset.

    Directed graphs are read as undirected, with a warning, unless ``directed`` says what is meant;
    parallel edges collapse.

    Parameters
    ----------
    graphs : iterable of networkx.Graph
    node_label, node_attributes, edge_label, edge_weight, edge_attributes : str or None
        Keys of the data of nodes and edges; either all have a key or none. None: leave it out. A
        key of your own that no graph has is an error.
    targets : iterable, optional
        Class of each graph, by position; None, −1, NaN or empty text for unlabeled. Default:
        ``graph.graph["target"]``, ``["label"]`` or ``["y"]``.
    name : str
    graph_names : iterable of str, optional
        Default: the names of the graphs, if all have one.
    directed : bool
        Whether directions of edges are kept; an edge of an undirected graph runs both ways.

    Examples
    --------
    >>> import networkx as nx
    >>> from_networkx([nx.path_graph(3), nx.cycle_graph(4)], targets=["path", "cycle"])
    GraphDataset('networkx': 2 graphs, 2 classes, 2 labeled)
    """
    graphs = require_graphs(graphs, networkx().Graph, "a networkx graph", "graphs")
    _require_known_keys(
        graphs,
        {"node_label": node_label, "node_attributes": node_attributes},
        {"edge_label": edge_label, "edge_weight": edge_weight, "edge_attributes": edge_attributes},
    )
    warn_of_unread_of_graphs(graphs, _CLASSES)
    if targets is None:
        own = [_target_of(graph) for graph in graphs]
        classes = targets_by_position(own, "the target of graphs")
    else:
        classes = targets_by_position(targets)
    names = None if graph_names is None else by_position(graph_names, "graph_names")
    if names is None and all(graph.name for graph in graphs):
        names = [str(graph.name) for graph in graphs]
    places = [f"graphs[{row}]" for row in range(len(graphs))]
    return pack_networkx(
        graphs,
        places,
        classes,
        names,
        name=name,
        keys=(node_label, node_attributes, edge_label, edge_weight, edge_attributes),
        directed=directed,
    )


def pack_networkx(
    graphs: Sequence[nx.Graph],
    places: Sequence[str],
    targets: list[Hashable | None],
    graph_names: list[str] | None,
    *,
    name: str,
    keys: Sequence[str | None] = _USUAL,
    on_error: ErrorHandler = raise_error,
    directed: bool = False,
) -> GraphDataset:
    """Pack networkx graphs, each with the place that messages name."""
    n_directed = sum(graph.is_directed() for graph in graphs)
    if n_directed and not directed:
        warnings.warn(
            f"{n_directed} of {len(graphs)} graphs are directed; they are read as undirected ones "
            "(directed=True keeps directions).",
            KgnnWarning,
            stacklevel=3,
        )
    require_length(targets, len(graphs), "targets")
    require_length(graph_names, len(graphs), "graph_names")
    _warn_of_unread(graphs, keys)
    collector = GraphCollector(directed)
    for row, (graph, place) in enumerate(zip(graphs, places, strict=True)):
        own_name = None if graph_names is None else graph_names[row]
        try:
            # An undirected edge becomes two directed ones.
            found = _parts(place, graph.to_directed(as_view=True) if directed else graph, keys)
            collector.add(place, **found, target=targets[row], name=own_name)
        except GraphDataError as error:
            on_error(error)
    return collector.dataset(name)


def to_networkx(dataset: GraphDataset) -> list[nx.Graph]:
    """Convert a dataset to networkx graphs; `from_networkx` restores the dataset.

    Nodes are numbered from 0; labels have the key ``label``, attributes ``attributes``, weights of
    edges ``weight``; ``target`` and ``name`` are in ``graph.graph``.
    """
    return [_to_networkx(graph) for graph in dataset]


def networkx() -> Any:
    """Import networkx, or say how to install it."""
    try:
        import networkx as nx
    except ImportError as error:
        raise MissingExtraError.of("A networkx graph", "networkx", "networkx") from error
    return nx


def _parts(place: str, graph: nx.Graph, keys: Sequence[str | None]) -> dict[str, Any]:
    """Return the arguments of `GraphCollector.add`."""
    number = {node: position for position, node in enumerate(graph)}
    nodes = list(graph.nodes(data=True))
    edges = [((u, v), data) for u, v, data in graph.edges(data=True)]
    return {
        "n_nodes": len(number),
        "edges": [(number[u], number[v]) for (u, v), _ in edges],
        "node_labels": _values(place, "node", nodes, keys[0], is_label=True),
        "node_attributes": _values(place, "node", nodes, keys[1]),
        "edge_labels": _values(place, "edge", edges, keys[2], is_label=True),
        "edge_weights": _values(place, "edge", edges, keys[3]),
        "edge_attributes": _values(place, "edge", edges, keys[4]),
    }


def _warn_of_unread(graphs: Sequence[nx.Graph], keys: Sequence[str | None]) -> None:
    """Warn about data of nodes and edges under keys that are not read."""
    for what, read in (("node", keys[:2]), ("edge", keys[2:])):
        others: dict[Any, None] = {}
        for graph in graphs:
            items = graph.nodes(data=True) if what == "node" else graph.edges(data=True)
            for *_, data in items:
                others.update(dict.fromkeys(key for key in data if key not in read))
        # Do not warn about usual keys that the caller has excluded.
        if others := {key: None for key in others if key not in (*_USUAL, *_OF_FORMATS)}:
            listed = excerpt(", ".join(map(repr, others)), 100)
            used = " and ".join(repr(key) for key in read if key is not None) or "nothing"
            warnings.warn(
                f"The {what}s have unused data under {listed}; the keys used are {used}.",
                KgnnWarning,
                stacklevel=4,
            )


def warn_of_unread_of_graphs(graphs: Sequence[nx.Graph], read: Sequence[str]) -> None:
    """Name the data of graphs as a whole that are under other keys than those that are read."""
    keys = dict.fromkeys(key for graph in graphs for key in graph.graph)
    if others := [key for key in keys if key not in (*read, *_OF_GRAPHS)]:
        warnings.warn(
            f"The graphs have data that are not used, under "
            f"{excerpt(', '.join(map(repr, others)), 100)}; read are "
            f"{' and '.join(map(repr, read)) or 'nothing'}.",
            KgnnWarning,
            stacklevel=3,
        )


def _require_known_keys(
    graphs: Sequence[nx.Graph],
    of_nodes: dict[str, str | None],
    of_edges: dict[str, str | None],
) -> None:
    """Refuse keys that no graph has, unless they are the usual ones, which graphs may lack."""
    for wanted, what in ((of_nodes, "nodes"), (of_edges, "edges")):
        unusual = {name: key for name, key in wanted.items() if key not in (None, *_USUAL)}
        if not unusual:
            continue
        listed = (item for graph in graphs for item in getattr(graph, what)(data=True))
        found = {key: None for *_, data in listed for key in data}
        has_any = any(len(getattr(graph, what)) for graph in graphs)
        for name, key in unusual.items():
            if has_any and key not in found:
                told = ", ".join(map(repr, found)) or "none"
                raise GraphDataError(
                    f"{name}='{key}': the {what} of no graph have this key; the keys that there "
                    f"are: {excerpt(told, 300)}"
                )


def _target_of(graph: Any) -> Hashable | None:
    told = {key: graph.graph.get(key) for key in _CLASSES}
    found = {key: target for key, target in told.items() if not is_unknown(target)}
    if len({class_name(target) for target in found.values()}) > 1:
        both = " and ".join(f"{key}={excerpt(repr(own), 40)}" for key, own in found.items())
        raise GraphDataError(f"a graph has two classes: {both}; keep one of them")
    return next(iter(found.values()), None)


def _values(
    place: str,
    what: str,
    items: list[tuple[Any, dict[str, Any]]],
    key: str | None,
    is_label: bool = False,
) -> list[Any] | None:
    """Return the values of a key for all nodes or edges of a graph; None if none has it."""
    values = [None if key is None else data.get(key) for _, data in items]
    if is_label:  # pandas has NaN for a missing one
        values = [None if isinstance(v, float) and v != v else v for v in values]
    missing = [item for (item, _), value in zip(items, values, strict=True) if value is None]
    if missing and len(missing) < len(items):
        first = excerpt(repr(missing[0]))
        raise GraphDataError(f"{place}: {what} {first} has no '{key}', but others have")
    return None if missing else values


def _to_networkx(graph: Graph) -> nx.Graph:
    nx = networkx()
    result = nx.Graph() if graph.dataset.edge_directions is None else nx.DiGraph()
    result.add_nodes_from(range(graph.n_nodes))
    edges = graph.edges.tolist()
    result.add_edges_from(edges)
    nodes = [result.nodes[node] for node in range(graph.n_nodes)]
    _set_data(nodes, "label", graph.node_labels)
    _set_data(nodes, "attributes", graph.node_attributes)
    _set_data([result.edges[edge] for edge in edges], "label", graph.edge_labels)
    _set_data([result.edges[edge] for edge in edges], "weight", graph.edge_weights)
    _set_data([result.edges[edge] for edge in edges], "attributes", graph.edge_attributes)
    if graph.target is not None:
        result.graph["target"] = graph.target
    if graph.dataset.graph_names is not None:
        result.graph["name"] = graph.name
    return result


def _set_data(records: list[dict[str, Any]], key: str, values: Any) -> None:
    if values is not None:
        listed = values if isinstance(values, list) else values.tolist()
        for record, value in zip(records, listed, strict=True):
            record[key] = value
