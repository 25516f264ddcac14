"""Node attributes, edge labels and other data of graphs that only some methods can use.

A method that can use such data has a parameter to switch them off, and uses them by default. For
other methods the data are dropped, and `fit` warns.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

from kgnn.errors import KgnnWarning
from kgnn.graphs.graph import GraphDataset

# Field of the graphs: its name in messages, and the parameter that switches it off.
_CARRIED = {
    "node_attributes": ("node attributes", "use_node_attributes"),
    "edge_labels": ("edge labels", "use_edge_labels"),
    "edge_directions": ("edge directions", "use_edge_labels"),
    "edge_weights": ("edge weights", "use_edge_labels"),
    "edge_attributes": ("edge attributes", "use_edge_labels"),
}


def used_by(method: Any, graphs: GraphDataset) -> GraphDataset:
    """Return the graphs without the data that a method cannot use or has switched off."""
    dropped: dict[str, Any] = {
        name: None
        for name, (_, switch) in _CARRIED.items()
        if getattr(graphs, name) is not None and not (switch and getattr(method, switch, False))
    }
    if "edge_labels" in dropped:
        dropped["edge_label_names"] = ()
    return replace(graphs, **dropped) if dropped else graphs


def unused_by(method: Any, graphs: GraphDataset) -> tuple[str, ...]:
    """Name the data of the graphs that a method cannot use."""
    return tuple(
        words
        for name, (words, switch) in _CARRIED.items()
        if getattr(graphs, name) is not None and not _can_use(method, name, switch)
    )


def unused_in_words(unused: tuple[str, ...]) -> str:
    """Say which data are not used; empty if all are.

    Examples
    --------
    >>> unused_in_words(("node attributes", "edge labels"))
    'the method does not use the node attributes and edge labels'
    """
    return f"the method does not use the {' and '.join(unused)}" if unused else ""


def _can_use(method: Any, name: str, switch: str) -> bool:
    return hasattr(method, switch) and not {name, switch} & set(method._idle_switches())


def warn_of_unused(method: Any, unused: tuple[str, ...], graphs: GraphDataset) -> None:
    """Warn about data that the method does not use."""
    if unused:
        warnings.warn(
            f"{type(method).__name__} does not use the {' and '.join(unused)} of '{graphs.name}'.",
            KgnnWarning,
            stacklevel=4,
        )
