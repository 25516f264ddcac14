"""From and to lists of networkx graphs."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from kgnn.errors import GraphDataError, KgnnWarning, MissingExtraError
from kgnn.graphs.excerpts import excerpt
from kgnn.graphs.given_values import by_position, require_length, targets_by_position
from kgnn.graphs.graph import Graph, GraphDataset
from kgnn.graphs.readers.collector import GraphCollector
from kgnn.graphs.refusal import Refusal, stop

if TYPE_CHECKING:
    import networkx as nx

_TARGET_KEYS = ("target", "label", "y")


def from_networkx(
    graphs: Iterable[nx.Graph],
    *,
    node_label: str | None = "label",
    node_attributes: str | None = "attributes",
    edge_label: str | None = "label",
    edge_weight: str | None = "weight",
    targets: Iterable[Hashable | None] | None = None,
    name: str = "networkx",
    graph_names: Iterable[str] | None = None,
) -> GraphDataset:
    """Pack networkx graphs into a dataset.

    Directed graphs are read as undirected ones, with a warning; parallel edges collapse.

    Parameters
    ----------
    graphs : iterable of networkx.Graph
    node_label, node_attributes, edge_label, edge_weight : str or None
        Keys of the data of nodes and edges; either all have a key or none. None: leave it out.
    targets : iterable, optional
        Class of each graph, by position; None, −1, NaN or empty text for unlabeled. Default:
        ``graph.graph["target"]``, or else ``["label"]`` or ``["y"]``.
    name : str
    graph_names : iterable of str, optional
        Default: the names of the graphs, where all have one.

    Examples
    --------
    >>> import networkx as nx
    >>> from_networkx([nx.path_graph(3), nx.cycle_graph(4)], targets=["path", "cycle"])
    GraphDataset('networkx': 2 graphs, 2 classes, 2 labeled)
    """
    graphs = list(graphs)
    places = [f"graphs[{row}]" for row in range(len(graphs))]
    _require_graphs(graphs, places)
    if targets is None:
        own = [_target(graph) for graph in graphs]
        classes = targets_by_position(own, "the target of graphs")
    else:
        classes = targets_by_position(targets)
    names = None if graph_names is None else by_position(graph_names, "graph_names")
    if names is None and all(graph.name for graph in graphs):
        names = [str(graph.name) for graph in graphs]
    keys = Keys(node_label, node_attributes, edge_label, edge_weight)
    return collected(graphs, places, classes, names, name=name, keys=keys)


class Keys(NamedTuple):
    """Keys under which nodes and edges have their data; None for what is to be left out."""

    node_label: str | None = "label"
    node_attributes: str | None = "attributes"
    edge_label: str | None = "label"
    edge_weight: str | None = "weight"


_USUAL_KEYS = Keys()


def collected(
    graphs: Sequence[nx.Graph],
    places: Sequence[str],
    targets: list[Hashable | None],
    graph_names: list[str] | None,
    *,
    name: str,
    keys: Keys = _USUAL_KEYS,
    refuse: Refusal = stop,
) -> GraphDataset:
    """Pack networkx graphs, each with the place that messages are to name."""
    _warn_of_directions(graphs)
    require_length(targets, len(graphs), "targets")
    require_length(graph_names, len(graphs), "graph_names")
    collector = GraphCollector()
    for row, (graph, place) in enumerate(zip(graphs, places, strict=True)):
        own_name = None if graph_names is None else graph_names[row]
        try:
            found = _parts(place, graph, keys)
            collector.add(place, **found, target=targets[row], name=own_name)
        except GraphDataError as error:
            refuse(error)
    return collector.dataset(name)


def _parts(place: str, graph: nx.Graph, keys: Keys) -> dict[str, Any]:
    """Return what `GraphCollector.add` takes of a graph."""
    number = {node: position for position, node in enumerate(graph)}
    nodes = list(graph.nodes(data=True))
    edges = [((u, v), data) for u, v, data in graph.edges(data=True)]
    return {
        "n_nodes": len(number),
        "edges": [(number[u], number[v]) for (u, v), _ in edges],
        "node_labels": _values(place, "node", nodes, keys.node_label),
        "node_attributes": _values(place, "node", nodes, keys.node_attributes),
        "edge_labels": _values(place, "edge", edges, keys.edge_label),
        "edge_weights": _values(place, "edge", edges, keys.edge_weight),
    }


def to_networkx(dataset: GraphDataset) -> list[nx.Graph]:
    """Turn a dataset into networkx graphs, from which `from_networkx` makes the same dataset.

    Nodes are numbered from 0; labels are under the key ``label``, node attributes ``attributes``,
    edge weights ``weight``; the graph's own ``target`` and ``name`` are in ``graph.graph``.
    """
    return [_to_networkx(graph) for graph in dataset]


def networkx() -> Any:
    """Import networkx, or say how to install it."""
    try:
        import networkx as nx
    except ImportError as error:
        raise MissingExtraError.of("A networkx graph", "networkx", "networkx") from error
    return nx


def _require_graphs(graphs: list[Any], places: list[str]) -> None:
    if not graphs:
        raise GraphDataError("there are no graphs: the list is empty")
    nx = networkx()
    for place, graph in zip(places, graphs, strict=True):
        if not isinstance(graph, nx.Graph):
            raise GraphDataError(f"{place} must be a networkx graph, got {type(graph).__name__}")


def _warn_of_directions(graphs: Sequence[Any]) -> None:
    if n_directed := sum(graph.is_directed() for graph in graphs):
        warnings.warn(
            f"{n_directed} of {len(graphs)} graphs are directed; they are read as undirected ones.",
            KgnnWarning,
            stacklevel=4,
        )


def _target(graph: Any) -> Hashable | None:
    found = (graph.graph.get(key) for key in _TARGET_KEYS)
    return next((target for target in found if target is not None), None)


def _values(
    place: str, what: str, items: list[tuple[Any, dict[str, Any]]], key: str | None
) -> list[Any] | None:
    """Return what all nodes or edges of a graph have under a key, or None if none has it."""
    values = [None if key is None else data.get(key) for _, data in items]
    # NaN is what pandas has for nothing.
    values = [None if isinstance(v, float) and v != v else v for v in values]
    missing = [item for (item, _), value in zip(items, values, strict=True) if value is None]
    if missing and len(missing) < len(items):
        first = excerpt(repr(missing[0]))
        raise GraphDataError(f"{place}: {what} {first} has no '{key}', but others have")
    return None if missing else values


def _to_networkx(graph: Graph) -> nx.Graph:
    result = networkx().Graph()
    result.add_nodes_from(range(graph.n_nodes))
    result.add_edges_from(graph.edges.tolist())
    nodes = [result.nodes[node] for node in range(graph.n_nodes)]
    edges = [result.edges[u, v] for u, v in graph.edges.tolist()]
    _set(nodes, "label", graph.node_labels)
    _set(nodes, "attributes", graph.node_attributes)
    _set(edges, "label", graph.edge_labels)
    _set(edges, "weight", graph.edge_weights)
    if graph.target is not None:
        result.graph["target"] = graph.target
    if graph.dataset.graph_names is not None:
        result.graph["name"] = graph.name
    return result


def _set(records: list[dict[str, Any]], key: str, values: Any) -> None:
    if values is not None:
        listed = values if isinstance(values, list) else values.tolist()
        for record, value in zip(records, listed, strict=True):
            record[key] = value
