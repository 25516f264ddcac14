"""Read and write JSON Lines: one graph per line.

::

    {"id": "caffeine", "nodes": ["C", "N", "O"], "edges": [[0, 1], [1, 2, "double"]], "target": 1}

``nodes`` is a number of nodes, or a list of labels or of ``{"label": …, "attributes": [numbers]}``;
an edge is two node numbers, from 0, and perhaps a label. ``id``, ``target`` (missing, null
or empty: unlabeled), ``weights`` (one number per edge) and ``edge_attributes`` (a list of numbers
per edge) are optional.
"""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from kgnn.errors import ErrorHandler, GraphDataError, excerpt, raise_error
from kgnn.graphs.collector import Found, collect_readable, collect_runs, is_directed
from kgnn.graphs.graph import Graph, GraphDataset
from kgnn.graphs.readers.archive import MAX_BYTES
from kgnn.graphs.readers.text import (
    RepeatedKeyError,
    numbered_lines,
    stem,
    without_repeats,
    writing_lines,
)

_GRAPH_KEYS = ("id", "nodes", "edges", "weights", "edge_attributes", "target")
_NODE_KEYS = ("label", "attributes")
_OTHER_WORDS_FOR_TARGET = ("label", "class", "category", "activity", "y")


def read(
    path: Path, on_error: ErrorHandler | None = None, directed: bool | str = False
) -> GraphDataset:
    """Read a ``.jsonl`` or ``.ndjson`` file, plain or compressed as ``.gz``.

    With ``directed``, an edge runs from its first node to its second.
    """
    found = partial(_graphs_in, path, MAX_BYTES)
    return collect_readable(stem(path), found, on_error, is_directed(directed))


def stream(
    path: Path, on_error: ErrorHandler = raise_error, directed: bool | str = False
) -> Iterator[GraphDataset]:
    """Read a file as datasets of bounded size."""
    found = partial(_graphs_in, path, None)
    return collect_runs(stem(path), found, on_error, is_directed(directed))


def _graphs_in(path: Path, max_bytes: int | None, on_error: ErrorHandler) -> Found:
    place = None
    for number, line in numbered_lines(path, max_bytes, on_error):
        place = f"{path}, line {number}"
        try:
            graph = graph_of_line(place, line)
        except GraphDataError as error:
            on_error(error)
        else:
            yield place, graph
    if place is None:
        raise GraphDataError(f"{path} holds no graphs; each line must be a JSON object")


def graph_of_line(place: str, line: str) -> dict[str, Any]:
    """Return the arguments of `GraphCollector.add` from a line; errors begin with the place."""
    try:
        return _graph(_parsed(line))
    except RecursionError as error:
        raise GraphDataError(f"{place}: nested too deeply to be a graph") from error
    except _LineError as error:
        raise GraphDataError(f"{place}: {error}") from error


def write(dataset: GraphDataset, path: str | Path) -> None:
    """Write a dataset for `read`; a path that ends in ``.gz`` is compressed.

    Read directed graphs with ``directed=True``.
    """
    has_names = dataset.graph_names is not None
    with writing_lines(Path(path)) as stream:
        for graph in dataset:
            stream.write(json.dumps(_record(graph, has_names), ensure_ascii=False) + "\n")


class _LineError(Exception):
    """An invalid line; the caller adds its number."""


def _parsed(line: str) -> dict[str, Any]:
    try:
        record = json.loads(
            line, parse_constant=_reject_constant, object_pairs_hook=without_repeats
        )
    except json.JSONDecodeError as error:
        raise _LineError(f"not valid JSON: {error.msg} at column {error.colno}") from error
    except RepeatedKeyError as error:
        raise _LineError(str(error)) from error
    except ValueError as error:  # such as a number with thousands of digits
        raise _LineError(f"not valid JSON: {error}") from error
    if not isinstance(record, dict):
        raise _LineError(f"expected an object with nodes and edges, got {_shown(record)}")
    _require_keys(record, _GRAPH_KEYS)
    for key in ("nodes", "edges"):
        if key not in record:
            raise _LineError(f"the key '{key}' is missing; it has the keys {sorted(record)}")
    return record


def _reject_constant(constant: str) -> NoReturn:
    raise _LineError(f"{constant} is not a finite number")


def _require_keys(record: dict[str, Any], known: tuple[str, ...]) -> None:
    for key in record:
        if key not in known:
            near = difflib.get_close_matches(excerpt(key).lower(), known, n=1)
            if "target" in known and key.lower() in _OTHER_WORDS_FOR_TARGET:
                near = ["target"]
            hint = f"did you mean '{near[0]}'?" if near else f"known are {', '.join(known)}"
            raise _LineError(f"unknown key '{excerpt(key)}'; {hint}")


def _graph(record: dict[str, Any]) -> dict[str, Any]:
    """Convert a record to the arguments of `GraphCollector.add`."""
    n_nodes, node_labels, attributes = _nodes(record["nodes"])
    pairs, edge_labels = _edges(record["edges"])
    return {
        "n_nodes": n_nodes,
        "edges": pairs,
        "node_labels": node_labels,
        "node_attributes": attributes,
        "edge_labels": edge_labels,
        "edge_weights": _weights(record.get("weights")),
        "edge_attributes": _edge_attributes(record.get("edge_attributes")),
        "target": None if record.get("target") is None else _label("target", record["target"]),
        "name": None if record.get("id") is None else str(_label("id", record["id"])),
    }


def _nodes(nodes: Any) -> tuple[int, list[Any] | None, list[Any] | None]:
    if _is_integer(nodes) and nodes >= 0:
        return nodes, None, None
    if not isinstance(nodes, list):
        raise _LineError(f"nodes must be a number or a list, got {_shown(nodes)}")
    records = [node if isinstance(node, dict) else {"label": node} for node in nodes]
    for record in records:
        _require_keys(record, _NODE_KEYS)
    labels = _all_or_none(records, "label")
    attributes = _all_or_none(records, "attributes")
    return (
        len(nodes),
        labels and [_label(f"label of node {v}", label) for v, label in enumerate(labels)],
        attributes and _attribute_rows(attributes, "node"),
    )


def _all_or_none(records: list[dict[str, Any]], key: str) -> list[Any] | None:
    values = [record[key] for record in records if record.get(key) is not None]
    if values and len(values) < len(records):
        node = next(v for v, record in enumerate(records) if record.get(key) is None)
        raise _LineError(f"node {node} has no {key}, but other nodes have")
    return values or None


def _attribute_rows(rows: list[Any], what: str) -> list[list[float]]:
    for number, row in enumerate(rows):
        if not isinstance(row, list) or not all(map(_is_number, row)):
            raise _LineError(
                f"attributes of {what} {number} must be a list of numbers, got {_shown(row)}"
            )
        if len(row) != len(rows[0]):
            raise _LineError(
                f"{what} {number} has {len(row)} attributes, but {what} 0 has {len(rows[0])}"
            )
    return rows


def _edges(edges: Any) -> tuple[list[list[int]], list[Any] | None]:
    if not isinstance(edges, list):
        raise _LineError(f"edges must be a list of [u, v] or [u, v, label], got {_shown(edges)}")
    for number, edge in enumerate(edges):
        if not isinstance(edge, list) or len(edge) not in (2, 3):
            raise _LineError(f"edge {number} must be [u, v] or [u, v, label], got {_shown(edge)}")
        if not all(map(_is_integer, edge[:2])):
            raise _LineError(f"edge {number} must join two node numbers, got {_shown(edge)}")
        if len(edge) != len(edges[0]):
            raise _LineError(f"edges 0 and {number} differ: either all have a label or none")
    pairs = [edge[:2] for edge in edges]
    if not edges or len(edges[0]) == 2:
        return pairs, None
    return pairs, [_label(f"label of edge {e}", edge[2]) for e, edge in enumerate(edges)]


def _weights(weights: Any) -> list[float] | None:
    if weights is None or (isinstance(weights, list) and all(map(_is_number, weights))):
        return weights
    raise _LineError(f"weights must be a list of numbers, got {_shown(weights)}")


def _edge_attributes(rows: Any) -> list[list[float]] | None:
    if rows is None or isinstance(rows, list):
        return rows and _attribute_rows(rows, "edge")
    raise _LineError(f"edge_attributes must be a list of lists, got {_shown(rows)}")


def _label(what: str, value: Any) -> str | int | float:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return json.dumps(value)  # true, as in the file
    if isinstance(value, float) and value.is_integer():
        return int(value)  # 1 and 1.0 are the same label
    if isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    raise _LineError(f"{what} must be text or a number, got {_shown(value)}")


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 62


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _shown(value: Any) -> str:
    return excerpt(json.dumps(value, ensure_ascii=False), 60)


def _record(graph: Graph, has_names: bool) -> dict[str, Any]:
    record: dict[str, Any] = {"id": graph.name} if has_names else {}
    labels, attributes = graph.node_labels, graph.node_attributes
    if labels is None and attributes is None:
        record["nodes"] = graph.n_nodes
    elif attributes is None:
        record["nodes"] = labels
    else:
        rows: list[dict[str, Any]] = [{"attributes": row} for row in attributes.tolist()]
        record["nodes"] = rows
        for row, label in zip(rows, labels or (), strict=False):
            row["label"] = label
    record["edges"] = graph.edges.tolist()
    if graph.edge_labels is not None:
        record["edges"] = [
            [*ends, label] for ends, label in zip(record["edges"], graph.edge_labels, strict=True)
        ]
    if graph.edge_weights is not None:
        record["weights"] = graph.edge_weights.tolist()
    if graph.edge_attributes is not None:
        record["edge_attributes"] = graph.edge_attributes.tolist()
    return record if graph.target is None else {**record, "target": graph.target}
