"""Convert from and to lists of PyG ``Data``.

PyG has no place for labels, only for numbers. ``x`` with one-hot rows, or with one column of
integers, is read as node labels, any other ``x`` as node attributes; ``edge_attr`` by the same rule
as edge labels, or with one column of floats as edge weights, else as edge attributes. `to_pyg`
writes labels one-hot and attributes to ``node_attributes`` and ``edge_attributes``, with the names
of labels and classes beside them, so that `from_pyg` gives the same dataset back.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kgnn.errors import GraphDataError, KgnnWarning, MissingExtraError, excerpt
from kgnn.graphs.collector import GraphCollector, require_graphs
from kgnn.graphs.graph import Graph, GraphDataset
from kgnn.graphs.labels import by_position, known_or_none, require_length, targets_by_position

if TYPE_CHECKING:
    from torch_geometric.data import Data

Table = NDArray[Any]

# Keys of a ``Data`` that are read, including those that describe others.
_READ = ("x", "node_attributes", "edge_index", "edge_attr", "edge_weight", "edge_attributes", "y")
_ABOUT = ("name", "num_nodes", "node_label_names", "edge_label_names", "class_names")


def from_pyg(
    data_list: Iterable[Data],
    *,
    targets: Iterable[Hashable | None] | None = None,
    name: str = "pyg",
    graph_names: Iterable[str] | None = None,
    directed: bool = False,
) -> GraphDataset:
    """Pack PyG ``Data`` objects into a dataset; see the module for how tensors are read.

    Directed graphs are read as undirected, with a warning, unless ``directed`` says what is meant.
    Data under other keys, such as ``pos``, are not used; a warning names them.

    Parameters
    ----------
    data_list : iterable of torch_geometric.data.Data
        Also a PyG dataset.
    targets : iterable, optional
        Class of each graph, by position; None, −1, NaN or empty text for unlabeled. Default:
        ``data.y``, read in the same way.
    name : str
    graph_names : iterable of str, optional
    directed : bool
        Whether directions of edges are kept.
    """
    graphs = require_graphs(data_list, torch_geometric().data.Data, "a PyG Data", "data_list")
    classes = None if targets is None else targets_by_position(targets)
    names = None if graph_names is None else by_position(graph_names, "graph_names")
    require_length(classes, len(graphs), "targets")
    require_length(names, len(graphs), "graph_names")
    node_labels, node_attributes = _node_data(graphs)
    edge_labels, edge_weights, edge_attributes = _edge_data(graphs)
    pairs = [_pairs(f"data_list[{row}]", data) for row, data in enumerate(graphs)]
    n_directed = 0 if directed else _count_directed(pairs)
    if n_directed:
        warnings.warn(
            f"{n_directed} of {len(pairs)} graphs have edges in one direction alone; they are read "
            "as undirected ones (directed=True keeps directions).",
            KgnnWarning,
            stacklevel=2,
        )
    _warn_of_unread(graphs)
    collector = GraphCollector(directed)
    for row, data in enumerate(graphs):
        place = f"data_list[{row}]"
        collector.add(
            place,
            _n_nodes(data),
            pairs[row],
            node_labels=node_labels[row],
            node_attributes=node_attributes[row],
            edge_labels=edge_labels[row],
            edge_weights=edge_weights[row],
            edge_attributes=edge_attributes[row],
            target=_y_of(place, data) if classes is None else classes[row],
            name=data.get("name") if names is None else names[row],
        )
    return collector.dataset(name)


def to_pyg(dataset: GraphDataset) -> list[Data]:
    """Convert a dataset to PyG ``Data``; `from_pyg` restores the dataset.

    Each has ``edge_index`` (both directions of every edge), ``y`` (−1: unlabeled) and
    ``class_names``; where the dataset has them, ``x`` (node labels, one-hot), ``node_attributes``,
    ``edge_attr`` (edge labels, one-hot), ``edge_weight``, ``edge_attributes`` and ``name``.
    """
    data_class = torch_geometric().data.Data
    return [data_class(**_fields(graph)) for graph in dataset]


def torch_geometric() -> Any:
    """Import PyG, or say how to install it."""
    try:
        import torch_geometric.data
    except ImportError as error:
        raise MissingExtraError.of("PyG Data", "torch-geometric", "pyg") from error
    return torch_geometric


def _warn_of_unread(graphs: list[Any]) -> None:
    keys = dict.fromkeys(key for data in graphs for key in data.keys())  # noqa: SIM118
    if others := [key for key in keys if key not in (*_READ, *_ABOUT)]:
        listed = excerpt(", ".join(map(repr, others)), 100)
        warnings.warn(
            f"The graphs have unused data under {listed}; the keys used are {', '.join(_READ)}.",
            KgnnWarning,
            stacklevel=3,
        )


def _node_data(graphs: list[Any]) -> tuple[list[Any], list[Any]]:
    """Return labels and attributes of the nodes of each graph, or None."""
    x, attributes = _tables(graphs, "x"), _tables(graphs, "node_attributes")
    labels = _labels(x, [data.get("node_label_names") for data in graphs])
    if labels is not None:
        return labels, attributes
    if any(table is not None for table in attributes):
        raise GraphDataError("node_attributes stand beside an x that is not one-hot; join the two")
    return [None] * len(graphs), x


def _edge_data(graphs: list[Any]) -> tuple[list[Any], list[Any], list[Any]]:
    """Return labels, weights and attributes of the edges of each graph, or None."""
    attributes = _tables(graphs, "edge_attributes")
    tables, weights = _tables(graphs, "edge_attr"), _tables(graphs, "edge_weight")
    labels = _labels(tables, [data.get("edge_label_names") for data in graphs])
    if labels is None:
        width = max(table.shape[1] for table in tables if table is not None)
        if width == 1:
            if any(weight is not None for weight in weights):
                raise GraphDataError(
                    "edge_weight stands beside an edge_attr with a single column that is not "
                    "one-hot and so is a weight, too; leave one of them out"
                )
            weights = tables
        else:
            if any(table is not None for table in attributes):
                raise GraphDataError(
                    "edge_attributes stand beside an edge_attr that is not one-hot; join the two"
                )
            attributes = tables
    for row, weight in enumerate(weights):
        if weight is not None and weight.shape[1:] != (1,):
            raise GraphDataError(
                f"data_list[{row}]: an edge has one weight, got edge_weight of shape "
                f"{weight.shape}; several numbers belong into edge_attr"
            )
    weights = [None if w is None else w[:, 0] for w in weights]
    return labels or [None] * len(graphs), weights, attributes


def _tables(graphs: list[Any], key: str) -> list[Table | None]:
    """Return a tensor of each graph as an array with columns, or None."""
    tensors = [data.get(key) for data in graphs]
    arrays = [None if t is None else t.detach().cpu().numpy() for t in tensors]
    return [a[:, None] if a is not None and a.ndim == 1 else a for a in arrays]


def _labels(tables: list[Table | None], names: list[Any]) -> list[list[str] | None] | None:
    """Return the labels in tables, or None if the tables hold something else."""
    there = [table for table in tables if table is not None]
    if all(table.shape[1] == 1 and table.dtype.kind in "iu" for table in there):
        return [None if table is None else table[:, 0].tolist() for table in tables]
    has_names = all(n is not None for n, t in zip(names, tables, strict=True) if t is not None)
    if not has_names and not all(_is_one_hot(table) for table in there):
        return None
    return [
        None if t is None else [str(n[c]) if n else str(c) for c in t.argmax(axis=1).tolist()]
        for t, n in zip(tables, names, strict=True)
    ]


def _is_one_hot(table: Table) -> bool:
    is_one = table == 1
    return bool(
        table.shape[1] >= 2 and (is_one | (table == 0)).all() and (is_one.sum(axis=1) == 1).all()
    )


def _n_nodes(data: Any) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyG warns if it must infer the number of nodes
        return int(data.num_nodes or 0)


def _pairs(place: str, data: Any) -> Table:
    if data.edge_index is None:
        return np.empty((0, 2), dtype=np.int64)
    edges = data.edge_index.detach().cpu().numpy()
    if edges.ndim != 2 or len(edges) != 2 or edges.dtype.kind not in "iu":
        raise GraphDataError(
            f"{place}: edge_index must be integers of shape (2, n), got {edges.dtype} {edges.shape}"
        )
    return edges.T


def _count_directed(pairs: list[Table]) -> int:
    """Count the graphs with an arc whose reverse is missing, all graphs at once."""
    owner = np.repeat(np.arange(len(pairs)), [len(each) for each in pairs])
    ends = np.concatenate(pairs).astype(np.int64)
    shift = int(ends.max(initial=0)) + 1
    there, back = ((owner * shift + a) * shift + b for a, b in (ends.T, ends.T[::-1]))
    return len(np.unique(owner[~np.isin(there, back)]))


def _y_of(place: str, data: Any) -> Hashable | None:
    if data.y is None:
        return None
    values = by_position(np.asarray(data.y).reshape(-1), f"y of {place}")
    if len(values) != 1:
        raise GraphDataError(f"{place}: y must be the one class of the graph, got {data.y}")
    target = known_or_none(values[0])
    if isinstance(target, float) and target.is_integer():
        target = int(target)
    names = data.get("class_names")
    return names[target] if names and target is not None else target


def _fields(graph: Graph) -> dict[str, Any]:
    """Return the fields of the ``Data`` of one graph."""
    import torch

    def one_hot(codes: NDArray[np.int32], names: tuple[str, ...]) -> Any:
        return torch.nn.functional.one_hot(torch.tensor(codes).long(), len(names)).float()

    dataset, values = graph.dataset, dict[str, Any]()
    arcs, ends = np.arange(graph.arc_slice.start, graph.arc_slice.stop), graph.arcs
    if dataset.edge_directions is not None:
        is_edge = dataset.edge_directions[graph.arc_slice] >= 0
        arcs, ends = arcs[is_edge], graph.edges
    if dataset.node_labels is not None:
        values["x"] = one_hot(dataset.node_labels[graph.nodes], dataset.node_label_names)
        values["node_label_names"] = dataset.node_label_names
    if dataset.node_attributes is not None:
        values["node_attributes"] = torch.tensor(dataset.node_attributes[graph.nodes])
    if dataset.edge_labels is not None:
        values["edge_attr"] = one_hot(dataset.edge_labels[arcs], dataset.edge_label_names)
        values["edge_label_names"] = dataset.edge_label_names
    if dataset.edge_weights is not None:
        values["edge_weight"] = torch.tensor(dataset.edge_weights[arcs])
    if dataset.edge_attributes is not None:
        values["edge_attributes"] = torch.tensor(dataset.edge_attributes[arcs])
    if dataset.graph_names is not None:
        values["name"] = graph.name
    return values | {
        "edge_index": torch.tensor(ends.T),
        "num_nodes": graph.n_nodes,
        "y": torch.tensor([int(dataset.targets[graph.row])]),
        "class_names": dataset.class_names,
    }
