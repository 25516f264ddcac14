"""One graph as a drawing."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import ArrayLike

from kgnn.reports.frame import drawing, text
from kgnn.reports.layout import Places, lay_out
from kgnn.reports.markup import Markup, element, joined, number

_MARGIN = 8.0
_LARGEST_NODE = 7.0
_LONGEST_EDGE = 15.0  # times the root of the number of nodes: two nodes do not fill the drawing


def draw(
    n_nodes: int,
    edges: ArrayLike,
    marked: Collection[int] | None = None,
    title: str = "",
    *,
    names: Sequence[str] | None = None,
    numbers: Sequence[str] | None = None,
    notes: Sequence[str] | None = None,
    styles: Sequence[str] | None = None,
    width: float = 220.0,
    height: float = 180.0,
) -> Markup:
    """Draw a graph.

    Parameters
    ----------
    n_nodes : int
    edges : array of shape (n_edges, 2)
    marked : collection of int, optional
        Nodes to stress; so are the edges between two of them.
    title : str
        What it is, for tooltips and for those who cannot see it.
    names : sequence of str, optional
        Written into the nodes, such as elements of atoms.
    numbers : sequence of str, optional
        Written beside the nodes; empty for those that need none.
    notes : sequence of str, optional
        What a node tells when it is pointed at.
    styles : sequence of str, optional
        Classes of `kgnn.reports.palette`, one for each node.
    width, height : float

    Examples
    --------
    >>> drawn = draw(3, [(0, 1), (1, 2)], marked=[1], title="a path")
    >>> drawn.count("<circle"), drawn.count("stressed")
    (3, 1)
    """
    pairs = np.asarray(edges, dtype=np.int64).reshape(-1, 2)
    places, scale = _fitted(lay_out(n_nodes, pairs), width, height)
    stressed = np.isin(np.arange(n_nodes), list(marked or ()))
    size = _node_size(n_nodes, scale, bool(names))
    label = title or f"a graph of {n_nodes} nodes and {len(pairs)} edges"
    return drawing(
        width,
        height,
        element("title", label),
        _edges(places, pairs[~stressed[pairs].all(axis=1)], "edge"),
        _edges(places, pairs[stressed[pairs].all(axis=1)], "edge stressed-edge"),
        *(
            _node(places[i], size, _kind(i, stressed[i], styles), notes[i] if notes else "")
            for i in range(n_nodes)
        ),
        _written(places, names, size) if names else None,
        _numbered(places, numbers, size) if numbers else None,
        label=label,
    )


def _fitted(places: Places, width: float, height: float) -> tuple[Places, float]:
    """Return places within the drawing, and how long an edge is there."""
    room = np.array([width, height]) - 2 * _MARGIN
    extent = np.maximum(np.ptp(places, axis=0), 1e-9) if len(places) else np.ones(2)
    scale = min(float((room / extent).min()), _LONGEST_EDGE * math.sqrt(len(places)))
    return places * scale + np.array([width, height]) / 2, scale


def _node_size(n_nodes: int, scale: float, has_names: bool) -> float:
    most = _LARGEST_NODE if has_names else 0.6 * _LARGEST_NODE
    return max(1.1, min(most, 0.28 * scale, 40 / math.sqrt(max(n_nodes, 1))))


def _edges(places: Places, pairs: np.ndarray, kind: str) -> Markup | None:
    """Draw edges as one path, which is a fraction of the size of many lines."""
    if not len(pairs):
        return None
    ways = (
        f"M{number(places[u, 0])} {number(places[u, 1])}L{number(places[v, 0])} "
        f"{number(places[v, 1])}"
        for u, v in pairs
    )
    return element("path", class_=kind, d="".join(ways))


def _kind(node: int, is_stressed: bool, styles: Sequence[str] | None) -> str:
    return " ".join(
        ["node", *([styles[node]] if styles else []), *(["stressed"] if is_stressed else [])]
    )


def _node(place: Places, size: float, kind: str, note: str) -> Markup:
    told = element("title", note) if note else None
    return element("circle", told, class_=kind, cx=place[0], cy=place[1], r=size)


def _written(places: Places, names: Sequence[str], size: float) -> Markup:
    return joined(
        *(
            text(x, y + size / 2, name, "inside", "middle")
            for (x, y), name in zip(places, names, strict=True)
        )
    )


def _numbered(places: Places, numbers: Sequence[str], size: float) -> Markup:
    """Write beside nodes, above them at their right."""
    return joined(
        *(
            text(x + 0.8 * size + 1, y - 0.8 * size - 1, number, "number")
            for (x, y), number in zip(places, numbers, strict=True)
            if number
        )
    )
