"""Several datasets → one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgnn.errors import GraphDataError
from kgnn.graphs.graph import GraphDataset, Ints, offsets_of
from kgnn.graphs.packing import ordered


def concatenate(datasets: Sequence[GraphDataset], name: str | None = None) -> GraphDataset:
    """Join datasets into one; label and class names are merged, a part without them is refused.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> graphs = cycles_and_trees(6)
    >>> concatenate([graphs[:2], graphs[2:]]).fingerprint == graphs.fingerprint
    True
    """
    if not datasets:
        raise GraphDataError("there is nothing to concatenate: the list of datasets is empty")
    _require_alike(datasets)
    node_shifts = offsets_of(np.array([d.n_nodes for d in datasets]))
    arc_shifts = offsets_of(np.array([d.n_arcs for d in datasets]))
    targets, class_names = _recoded(datasets, "targets", "class_names")
    node_labels, node_label_names = _recoded(datasets, "node_labels", "node_label_names")
    edge_labels, edge_label_names = _recoded(datasets, "edge_labels", "edge_label_names")
    return GraphDataset(
        name=name or datasets[0].name,
        node_offsets=_joined_offsets([d.node_offsets for d in datasets], node_shifts),
        arc_offsets=_joined_offsets([d.arc_offsets for d in datasets], arc_shifts),
        neighbors=np.concatenate(
            [d.neighbors + np.int32(s) for d, s in zip(datasets, node_shifts[:-1], strict=True)]
        ),
        targets=targets,
        class_names=class_names,
        node_labels=node_labels,
        node_label_names=node_label_names,
        node_attributes=_joined(datasets, "node_attributes"),
        edge_labels=edge_labels,
        edge_label_names=edge_label_names,
        edge_weights=_joined(datasets, "edge_weights"),
        graph_names=_joined(datasets, "graph_names"),
    )


def merged_names(lists: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Union of name lists, in label order; equal lists are returned as they are."""
    if all(names == lists[0] for names in lists):
        return lists[0]
    return ordered(name for names in lists for name in names)


def recode(codes: NDArray[Any], names: tuple[str, ...], merged: tuple[str, ...]) -> NDArray[Any]:
    """Express codes in another list of names; −1 stays −1, a name that is missing becomes −1."""
    if names == merged:
        return codes
    position = {name: code for code, name in enumerate(merged)}
    table = np.array([position.get(name, -1) for name in names] + [-1], dtype=codes.dtype)
    return table[codes]


def _require_alike(datasets: Sequence[GraphDataset]) -> None:
    for field in ("node_labels", "node_attributes", "edge_labels", "edge_weights"):
        parts = _with_any(datasets, field)
        for other in parts[1:]:
            one, two = getattr(parts[0], field), getattr(other, field)
            if (one is None) != (two is None):
                reason = f"only one of them has {field}"
            elif one is not None and one.shape[1:] != two.shape[1:]:
                reason = f"they have {one.shape[1]} and {two.shape[1]} {field}"
            else:
                continue
            raise GraphDataError(f"cannot join '{parts[0].name}' and '{other.name}': {reason}")
    if (n_nodes := sum(d.n_nodes for d in datasets)) > np.iinfo(np.int32).max:
        raise GraphDataError(f"a dataset holds at most 2147483647 nodes, got {n_nodes}")


def _with_any(datasets: Sequence[GraphDataset], field: str) -> list[GraphDataset]:
    """Return the parts that have what a field is about: without nodes, there are no labels."""
    if field.startswith("node_"):
        return [d for d in datasets if d.n_nodes > 0] or list(datasets)
    if field.startswith("edge_"):
        return [d for d in datasets if d.n_arcs > 0] or list(datasets)
    return list(datasets)


def _joined(datasets: Sequence[GraphDataset], field: str) -> Any:
    parts = [getattr(d, field) for d in _with_any(datasets, field)]
    return None if any(part is None for part in parts) else np.concatenate(parts)


def _recoded(
    datasets: Sequence[GraphDataset], field: str, names_field: str
) -> tuple[Any, tuple[str, ...]]:
    with_any = _with_any(datasets, field)
    merged = merged_names([getattr(d, names_field) for d in with_any])
    parts = [
        recode(codes, getattr(d, names_field), merged)
        for d in with_any
        if (codes := getattr(d, field)) is not None
    ]
    return np.concatenate(parts) if parts else None, merged


def _joined_offsets(parts: Sequence[Ints], shifts: Ints) -> Ints:
    pieces = [part[:-1] + shift for part, shift in zip(parts, shifts[:-1], strict=True)]
    return np.concatenate([*pieces, shifts[-1:]])
