"""Node attributes, edge labels and other data of graphs that only some methods can use.

A method that can use such data has a parameter to switch them off, and uses them by default. For
other methods the data are dropped, and `fit` warns.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from kgnn.errors import KgnnError, KgnnWarning, excerpt
from kgnn.graphs.graph import CARRIED, GraphDataset
from kgnn.kernels import make_kernel
from kgnn.kernels.base import unread_by

# The parameters that switch something off.
_SWITCHES = {
    "node_attributes": "use_node_attributes",
    "edge_labels": "use_edge_labels",
    "edge_directions": "use_edge_labels",
    "edge_weights": "use_edge_labels",
    "edge_attributes": "use_edge_labels",
}


def used_by(method: Any, graphs: GraphDataset) -> GraphDataset:
    """Return the graphs without the data that a method cannot use or has switched off."""
    dropped = [
        name
        for name, switch in _SWITCHES.items()
        if getattr(graphs, name) is not None and not getattr(method, switch, False)
    ]
    return _without(graphs, dropped)


def comparable(*parts: GraphDataset) -> list[GraphDataset]:
    """Return graphs without the data that not all of them have in the same number.

    Examples
    --------
    >>> from kgnn.graphs.packing import pack
    >>> weighted, plain = pack("a", [2], [0], [1], edge_weights=[2]), pack("b", [2], [0], [1])
    >>> [each.edge_weights for each in comparable(weighted, plain)]
    [None, None]
    """
    shapes = {name: {_shape(getattr(part, name)) for part in parts} for name in _SWITCHES}
    return [_without(part, [name for name in shapes if len(shapes[name]) > 1]) for part in parts]


def _shape(values: np.ndarray | None) -> tuple[int, ...] | None:
    return None if values is None else values.shape[1:]


def _without(graphs: GraphDataset, dropped: list[str]) -> GraphDataset:
    changes: dict[str, Any] = dict.fromkeys(dropped)
    if "edge_labels" in dropped:
        changes["edge_label_names"] = ()
    return replace(graphs, **changes) if changes else graphs


def unused_by(method: Any, graphs: GraphDataset) -> tuple[str, ...]:
    """Name the data of the graphs that a method cannot use."""
    unread = () if _has_gnn(method) else _unread_by_kernel(method, graphs)
    return tuple(
        words
        for name, words in CARRIED.items()
        if getattr(graphs, name) is not None and (words in unread or not _can_use(method, name))
    )


def unused_in_words(unused: tuple[str, ...]) -> str:
    """Write what is not used; empty where nothing is left out.

    Examples
    --------
    >>> unused_in_words(("node attributes", "edge labels"))
    'the method does not use the node attributes and edge labels'
    """
    return f"the method does not use the {' and '.join(unused)}" if unused else ""


def _can_use(method: Any, name: str) -> bool:
    switch = _SWITCHES.get(name)
    has_switch = switch is None or hasattr(method, switch)
    return has_switch and not {name, switch} & set(method._unread())


def _has_gnn(method: Any) -> bool:
    return hasattr(method, "encoder")


def _unread_by_kernel(method: Any, graphs: GraphDataset) -> tuple[str, ...]:
    """Name the data that the kernel given to a method does not read."""
    try:
        kernel = make_kernel(method.kernel)
    except (AttributeError, KgnnError):  # none, "auto", or what a method calls a kernel itself
        return ()
    return unread_by(kernel, used_by(method, graphs))


def warn_of_more(model: Any, graphs: GraphDataset) -> None:
    """Warn about data that the graphs of the fit did not have, so that the model ignores them.

    `kgnn.estimator.novelty.Novelty` reports labels of nodes.
    """
    known = model.labeled_graphs_
    more = [
        CARRIED[name]
        for name, switch in _SWITCHES.items()
        if getattr(graphs, name) is not None
        and getattr(known, name) is None
        and _can_use(model, name)
        and getattr(model, switch)
    ]
    if more:
        warnings.warn(
            f"The {' and '.join(more)} of '{graphs.name}' are not used: the graphs that the model "
            "was fitted on had none.",
            KgnnWarning,
            stacklevel=4,
        )


def warn_of_new_labels(model: Any, graphs: GraphDataset) -> None:
    """Warn about edge labels that no graph of the fit had."""
    known = model.labeled_graphs_
    reads = getattr(model, "use_edge_labels", False) and "edge labels" not in model.unused_
    if not reads or graphs.edge_labels is None or known.edge_labels is None:
        return
    used = [graphs.edge_label_names[code] for code in np.unique(graphs.edge_labels)]
    if new := set(used) - {*known.edge_label_names}:
        told = excerpt(", ".join(map(repr, sorted(new))), 100)
        warnings.warn(
            f"Edges of '{graphs.name}' have labels that no graph of the fit had: {told}.",
            KgnnWarning,
            stacklevel=4,
        )


def warn_of_unused(method: Any, unused: tuple[str, ...], graphs: GraphDataset) -> None:
    """Warn about data that the method, or its kernel alone, does not use."""
    told = {type(method).__name__: unused}
    if _has_gnn(method) and (unread := _unread_by_kernel(method, graphs)):
        told[f"The kernel {excerpt(str(method.kernel))} of {type(method).__name__}"] = unread
    for who, what in told.items():
        if what:
            warnings.warn(
                f"{who} does not use the {' and '.join(what)} of '{graphs.name}'.",
                KgnnWarning,
                stacklevel=4,
            )
