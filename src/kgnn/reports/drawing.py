"""Graphs as drawings: places for nodes, then lines and circles."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, dijkstra

from kgnn.estimator.explanation import Sketch
from kgnn.reports.axes import drawing, text
from kgnn.reports.markup import Markup, element, number

Places = NDArray[np.float64]  # (nodes, 2)
Edges = NDArray[np.int64]  # (edges, 2)

_FAN = 4  # so many leaves on one node are put on rings
_LEAF_GAP = 0.45  # between leaves of a ring; an edge is 1 long
_LEAVES_PER_RING = 28
_RING_GAP = 0.55
_PIVOTS = 80
_MOST_STRESSED = 1500  # nodes; beyond, all pairs take too long
_WORK = 8e6  # pairs of nodes looked at, over all iterations
_SETTLED = 1e-3  # of an edge: the largest move of a step that changes nothing to the eye
_MARGIN = 8.0
_LARGEST_NODE = 7.0
_LONGEST_EDGE = 15.0  # times the root of the number of nodes: two nodes do not fill the drawing
_BETWEEN = 1.5  # from one component to the next


def lay_out(n_nodes: int, edges: ArrayLike) -> Places:
    """Return a place for each node; the same graph always gets the same ones.

    Edges are pairs of nodes; order, repetition and loops do not matter. One is about 1 long.

    References
    ----------
    Gansner, Koren & North, *Graph drawing by stress majorization*, GD 2004.
    Brandes & Pich, *Eigensolver methods for progressive multidimensional scaling of large data*,
    GD 2006.

    Examples
    --------
    >>> square = lay_out(4, [(0, 1), (1, 2), (2, 3), (3, 0)])
    >>> bool(np.ptp(np.hypot(*square.T)) < 0.01)  # all are as far from the middle
    True
    """
    if n_nodes == 0:
        return np.zeros((0, 2))
    pairs = np.sort(np.asarray(edges, dtype=np.int64).reshape(-1, 2), axis=1)
    pairs = np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0)
    links = csr_array((np.ones(len(pairs)), tuple(pairs.T)), shape=(n_nodes, n_nodes))
    n_parts, part = connected_components(links, directed=False)
    order = np.argsort(part, kind="stable")
    members = np.split(order, np.cumsum(np.bincount(part, minlength=n_parts))[:-1])
    position = np.empty(n_nodes, dtype=np.int64)
    for nodes in members:
        position[nodes] = np.arange(len(nodes))
    edge_part = part[pairs[:, 0]]
    drawn = [
        _component(len(nodes), position[pairs[edge_part == number]])
        for number, nodes in enumerate(members)
    ]
    places = np.zeros((n_nodes, 2))
    for nodes, own in zip(members, _packed(drawn), strict=True):
        places[nodes] = own
    return places


def _component(n: int, edges: Edges) -> Places:
    """Lay out a connected graph around (0, 0), its longer side across."""
    degree = np.bincount(edges.ravel(), minlength=n)
    parents = _parents_of_fans(degree, edges)
    core = np.flatnonzero(parents < 0)
    n_leaves = np.bincount(parents[parents >= 0], minlength=n)
    outer = _inner_radius(n_leaves) + _RING_GAP * (_n_rings(n_leaves) - 1)
    radius = np.where(n_leaves > 0, outer, 0.5)
    number = np.full(n, -1)
    number[core] = np.arange(len(core))
    inner = number[edges[(number[edges] >= 0).all(axis=1)]]
    lengths = np.maximum(1.0, radius[core][inner].sum(axis=1))
    places = np.zeros((n, 2))
    places[core] = _stressed(len(core), inner, lengths)
    for parent in np.flatnonzero(n_leaves):
        neighbors = edges[(edges == parent).any(axis=1)].sum(axis=1) - parent
        inside = neighbors[parents[neighbors] < 0]
        directions = np.arctan2(*(places[inside] - places[parent]).T[::-1])
        leaves = np.flatnonzero(parents == parent)
        places[leaves] = places[parent] + _rings(len(leaves), directions)
    return _upright(places)


def _parents_of_fans(degree: NDArray[np.int64], edges: Edges) -> NDArray[np.int64]:
    """Return the node that each leaf of a crowd hangs on; -1 for all other nodes."""
    parents = np.full(len(degree), -1)
    for here, there in (edges.T, edges.T[::-1]):
        is_leaf = (degree[here] == 1) & (degree[there] > 1)
        parents[here[is_leaf]] = there[is_leaf]
    crowd = np.bincount(parents[parents >= 0], minlength=len(degree))
    parents[(parents >= 0) & (crowd[parents] < _FAN)] = -1
    return parents


def _n_rings(n_leaves: NDArray[np.int64] | int) -> NDArray[np.int64]:
    return np.ceil(np.asarray(n_leaves) / _LEAVES_PER_RING).astype(np.int64).clip(1)


def _inner_radius(n_leaves: NDArray[np.int64] | int) -> NDArray[np.float64]:
    on_a_ring = np.asarray(n_leaves) / _n_rings(n_leaves)
    return np.maximum(0.9, on_a_ring * _LEAF_GAP / (2 * math.pi))


def _rings(n: int, taken: NDArray[np.float64]) -> Places:
    """Return places of leaves around (0, 0), in all directions but those that are taken."""
    steps = np.arange(n) + 0.5
    if len(taken):
        turn = np.sort(taken % (2 * math.pi))
        gaps = np.diff(np.append(turn, turn[0] + 2 * math.pi))
        # A little room is left on both sides of each edge; the rest is shared out evenly.
        margin = np.minimum(0.2, gaps / 4)
        ends = np.append(0.0, np.cumsum(gaps - 2 * margin))
        along = steps / n * ends[-1]
        gap = np.searchsorted(ends, along, side="right") - 1
        angles = turn[gap] + margin[gap] + along - ends[gap]
    else:
        angles = 2 * math.pi * steps / n
    rings = int(_n_rings(n))
    radii = _inner_radius(n) + _RING_GAP * (np.arange(n) % rings)
    return np.stack([radii * np.cos(angles), radii * np.sin(angles)], axis=1)


def _stressed(n: int, edges: Edges, lengths: NDArray[np.float64]) -> Places:
    """Return places whose distances are near the lengths of shortest paths."""
    if n < 3:
        return np.stack([np.arange(n) * lengths.sum(), np.zeros(n)], axis=1)
    links = csr_array((lengths, tuple(edges.T)), shape=(n, n))
    pivots = np.linspace(0, n - 1, min(n, _PIVOTS)).astype(np.int64)
    if n > _MOST_STRESSED:
        return _scaled_start(dijkstra(links, directed=False, indices=pivots))
    distances = dijkstra(links, directed=False)
    return _majorized(_scaled_start(distances[pivots]), distances)


def _scaled_start(distances: NDArray[np.float64]) -> Places:
    """Return multidimensional scaling of the distances from some nodes, slightly ruffled."""
    squared = distances.T**2
    centered = squared - squared.mean(axis=0) - squared.mean(axis=1, keepdims=True) + squared.mean()
    _, vectors = np.linalg.eigh(centered.T @ centered)
    places: Places = -0.5 * centered @ vectors[:, -2:][:, ::-1]
    spread = np.abs(places[:, 0]).max()
    places *= 0.5 * distances.max() / spread if spread > 0 else 1.0
    # Nodes that have the same distances would stay at one place for ever.
    turn = np.arange(len(places)) * math.pi * (3 - math.sqrt(5))
    return places + 0.05 * np.stack([np.cos(turn), np.sin(turn)], axis=1)


def _majorized(places: Places, distances: NDArray[np.float64]) -> Places:
    """Lower the stress, each pair weighing as the inverse square of its distance."""
    n = len(places)
    with np.errstate(divide="ignore"):
        weights = np.where(distances > 0, distances**-2.0, 0.0)
    laplacian = np.diag(weights.sum(axis=1)) - weights
    factor = cho_factor(laplacian[1:, 1:], check_finite=False)
    wanted = weights * distances
    for _ in range(int(np.clip(_WORK / n**2, 30, 300))):
        square = (places**2).sum(axis=1)
        apart = np.sqrt(np.maximum(square[:, None] + square - 2 * places @ places.T, 1e-12))
        pull = wanted / apart
        target = pull.sum(axis=1)[:, None] * places - pull @ places
        moved = np.zeros_like(places)  # the first node stays; only differences count
        moved[1:] = cho_solve(factor, target[1:], check_finite=False)
        moved += places.mean(axis=0) - moved.mean(axis=0)
        step, places = np.abs(moved - places).max(), moved
        if step < _SETTLED:
            break
    return places


def _upright(places: Places) -> Places:
    """Center the drawing and turn its longest extent across."""
    centered = places - places.mean(axis=0)
    if len(places) < 3:
        return centered
    _, vectors = np.linalg.eigh(centered.T @ centered)
    turned: Places = centered @ vectors[:, ::-1]
    return turned - (turned.max(axis=0) + turned.min(axis=0)) / 2


def _packed(parts: Sequence[Places]) -> list[Places]:
    """Set components side by side in rows, the largest first, as wide as they are high."""
    boxes = [own.max(axis=0) - own.min(axis=0) + _BETWEEN for own in parts]
    widest = max([math.sqrt(1.3 * sum(w * h for w, h in boxes)), *(w for w, _ in boxes)])
    moved: list[Places] = [np.zeros((0, 2))] * len(parts)
    x = y = row = 0.0
    for i in sorted(range(len(parts)), key=lambda i: (-boxes[i][1], -boxes[i][0])):
        width, height = boxes[i]
        if x > 0 and x + width > widest + 1e-9:
            x, y, row = 0.0, y + row, 0.0
        moved[i] = parts[i] - parts[i].min(axis=0) + (x, y)
        x, row = x + width, max(row, height)
    whole = np.concatenate(moved)
    middle = (whole.max(axis=0) + whole.min(axis=0)) / 2
    return [own - middle for own in moved]


def draw(
    n_nodes: int,
    edges: ArrayLike,
    title: str = "",
    *,
    names: Sequence[str] | None = None,
    numbers: Sequence[str] | None = None,
    notes: Sequence[str] | None = None,
    styles: Sequence[str] | None = None,
    width: float = 220.0,
    height: float = 180.0,
) -> Markup:
    """Draw a graph; the title is for tooltips and for those who cannot see it.

    Names are written into the nodes, numbers, which may be empty, beside them. Notes appear when a
    node is pointed at. Styles are classes of `kgnn.reports.svg`.

    Examples
    --------
    >>> draw(3, [(0, 1), (1, 2)], title="a path").count("<circle")
    3
    """
    pairs = np.asarray(edges, dtype=np.int64).reshape(-1, 2)
    places, scale = _fitted(lay_out(n_nodes, pairs), width, height)
    most = _LARGEST_NODE if names else 0.6 * _LARGEST_NODE
    size = max(1.1, min(most, 0.28 * scale, 40 / math.sqrt(max(n_nodes, 1))))
    label = title or f"a graph of {n_nodes} nodes and {len(pairs)} edges"
    return drawing(
        width,
        height,
        element("title", label),
        _edges(places, pairs),
        *(
            _node(place, size, styles[i] if styles else "", notes[i] if notes else "")
            for i, place in enumerate(places)
        ),
        *(
            text(x, y + size / 2, name, "inside", "middle")
            for (x, y), name in zip(places if names else (), names or (), strict=True)
        ),
        *(
            text(x + 0.8 * size + 1, y - 0.8 * size - 1, words, "number")
            for (x, y), words in zip(places if numbers else (), numbers or (), strict=True)
            if words
        ),
        label=label,
    )


def _fitted(places: Places, width: float, height: float) -> tuple[Places, float]:
    """Return places within the drawing, and how long an edge is there."""
    room = np.array([width, height]) - 2 * _MARGIN
    extent = np.maximum(np.ptp(places, axis=0), 1e-9) if len(places) else np.ones(2)
    scale = min(float((room / extent).min()), _LONGEST_EDGE * math.sqrt(len(places)))
    return places * scale + np.array([width, height]) / 2, scale


def _edges(places: Places, pairs: Edges) -> Markup | None:
    """Draw edges as one path, which is a fraction of the size of many lines."""
    if not len(pairs):
        return None
    ways = (
        f"M{number(places[u, 0])} {number(places[u, 1])}L{number(places[v, 0])} "
        f"{number(places[v, 1])}"
        for u, v in pairs
    )
    return element("path", class_="edge", d="".join(ways))


def _node(place: Places, size: float, style: str, note: str) -> Markup:
    told = element("title", note) if note else None
    return element("circle", told, class_=f"node {style}".strip(), cx=place[0], cy=place[1], r=size)


def node_notes(graph: Sketch) -> list[str]:
    """Return number and label of each node that is drawn."""
    word, labels = graph.words[0], graph.node_labels or ("",) * len(graph.nodes)
    return [
        f"{word} {node}: {label}" if label else f"{word} {node}"
        for node, label in zip(graph.nodes, labels, strict=True)
    ]
