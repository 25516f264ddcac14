"""What graphs carry beside labels of nodes and edges, and whether a method uses it.

All that graphs carry is used unless it is switched off. A method that can use something has a
parameter that switches it off; for all others it is as if the graphs did not have it, and `fit`
says so.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

from kgnn.errors import KgnnWarning
from kgnn.graphs.graph import GraphDataset

# What graphs may carry, what people call it, and the parameter that switches it off.
_CARRIED = {
    "node_attributes": ("node attributes", "use_node_attributes"),
    "edge_labels": ("edge labels", "use_edge_labels"),
    "edge_directions": ("edge directions", "use_edge_labels"),
    "edge_weights": ("edge weights", "use_edge_labels"),
    "edge_attributes": ("edge attributes", "use_edge_labels"),
}


def used_by(method: Any, graphs: GraphDataset) -> GraphDataset:
    """Return graphs without what a method cannot use or shall not."""
    dropped: dict[str, Any] = {
        name: None
        for name, (_, switch) in _CARRIED.items()
        if getattr(graphs, name) is not None and not (switch and getattr(method, switch, False))
    }
    if "edge_labels" in dropped:
        dropped["edge_label_names"] = ()
    return replace(graphs, **dropped) if dropped else graphs


def unused_by(method: Any, graphs: GraphDataset) -> tuple[str, ...]:
    """Name what graphs carry that a method cannot use."""
    return tuple(
        words
        for name, (words, switch) in _CARRIED.items()
        if getattr(graphs, name) is not None and not _can_use(method, name, switch)
    )


def unused_in_words(unused: tuple[str, ...]) -> str:
    """Write what is not used; empty where nothing is left out.

    Examples
    --------
    >>> unused_in_words(("node attributes", "edge labels"))
    'the method does not use the node attributes and edge labels'
    """
    return f"the method does not use the {' and '.join(unused)}" if unused else ""


def _can_use(method: Any, name: str, switch: str) -> bool:
    return hasattr(method, switch) and not {name, switch} & set(method._idle_switches())


def warn_of_unused(method: Any, unused: tuple[str, ...], graphs: GraphDataset) -> None:
    """Say what is not used, if anything."""
    if unused:
        warnings.warn(
            f"{type(method).__name__} does not use the {' and '.join(unused)} of '{graphs.name}'.",
            KgnnWarning,
            stacklevel=4,
        )
