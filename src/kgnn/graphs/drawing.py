"""Draw graphs: choose what to draw, lay out the nodes, and write SVG."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from markupsafe import Markup
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, dijkstra

from kgnn.colors import N_SERIES, css_color
from kgnn.graphs.molecules import is_molecule, written_out

if TYPE_CHECKING:
    from kgnn.graphs.graph import Graph

Places = NDArray[np.float64]  # (nodes, 2)
Edges = NDArray[np.int64]  # (edges, 2)

DRAWABLE = 400  # nodes; larger graphs are drawn in part
_FAN = 4  # from this many leaves of a node on, put them on rings
_LEAF_GAP = 0.45  # between leaves of a ring; an edge is 1 long
_LEAVES_PER_RING = 28
_RING_GAP = 0.55
_PIVOTS = 80
_MOST_STRESSED = 1500  # nodes; beyond, all pairs take too long
_WORK = 8e6  # pairs of nodes over all iterations
_SETTLED = 1e-3  # of an edge; smaller moves are invisible
_MARGIN = 8.0
_LARGEST_NODE = 7.0
_LONGEST_EDGE = 15.0  # times the root of the number of nodes, so that few nodes stay close
_BETWEEN = 1.5  # gap between components


_LONGEST_NAME = 2  # letters that fit into a node
_MOST_NAMED = 60  # nodes; names do not fit into the nodes of larger graphs
_MOST_NUMBERED = 150  # nodes; in larger graphs, numbers beside nodes are unreadable
_ALL_NUMBERED = 45  # nodes; in larger graphs, only some nodes are numbered


@dataclass(frozen=True)
class Sketch:
    """A graph to draw: whole, or its most important part."""

    name: str
    n_nodes: int  # of the whole graph
    n_edges: int  # of the whole graph
    nodes: tuple[int, ...]  # nodes to draw, by their numbers in the graph
    edges: tuple[tuple[int, int], ...]  # between these, as positions in ``nodes``
    node_labels: tuple[str, ...]  # of the nodes to draw; empty where they have none
    edge_labels: tuple[str, ...] = ()  # of the edges to draw; empty where they have none

    @property
    def words(self) -> tuple[str, str]:
        """Words for a node and an edge, such as ``atom`` and ``bond``."""
        return ("atom", "bond") if is_molecule(self) else ("node", "edge")

    @property
    def size(self) -> tuple[str, str]:
        """Numbers of nodes and edges in words, such as ``3 atoms`` and ``2 bonds``."""
        counts = zip((self.n_nodes, self.n_edges), self.words, strict=True)
        nodes, edges = (f"{n:,} {word}{'s' * (n != 1)}" for n, word in counts)
        return nodes, edges

    @classmethod
    def of(cls, graph: Graph, importance: tuple[float, ...] = ()) -> Sketch:
        """Sketch a graph; of a large one, the neighborhoods of its most important nodes.

        Examples
        --------
        >>> from kgnn.graphs.datasets.toy import cycles_and_trees
        >>> Sketch.of(cycles_and_trees(1, max_nodes=5)[0]).edges
        ((0, 1), (0, 3), (1, 2), (2, 3))
        """
        nodes = list(range(graph.n_nodes))
        if graph.n_nodes > DRAWABLE:
            nodes = _surroundings(graph, importance)
        place = np.full(graph.n_nodes, -1)
        place[nodes] = np.arange(len(nodes))
        edges = place[graph.edges]
        drawn = np.flatnonzero((edges >= 0).all(axis=1)).tolist()
        written = written_out(graph.dataset[[graph.row]])[0]
        labels, edge_labels = written.node_labels or [], written.edge_labels or []
        return cls(
            graph.name,
            graph.n_nodes,
            graph.n_edges,
            tuple(nodes),
            tuple((u, v) for u, v in edges[drawn].tolist()),
            tuple(labels[node] for node in nodes) if labels else (),
            tuple(edge_labels[edge] for edge in drawn) if edge_labels else (),
        )


def _surroundings(graph: Graph, importance: tuple[float, ...]) -> list[int]:
    """Return nodes around the most important ones, as many as can be drawn."""
    weights = np.abs(importance) if importance else np.zeros(graph.n_nodes)
    chosen: dict[int, None] = {}  # in the order found
    for start in np.argsort(-weights, kind="stable").tolist():
        for node in (start, *graph.neighbors(start).tolist()):
            chosen.setdefault(node)
        if len(chosen) >= DRAWABLE:
            break
    return sorted(list(chosen)[:DRAWABLE])


class Mark(NamedTuple):
    """The mark of a node: a color and its strength, from 0 to 1."""

    color: str
    strength: float = 1.0

    @property
    def fill(self) -> str:
        """The color as CSS."""
        mixed = f"{css_color(self.color)} {100 * self.strength:.0f}%"
        whole = self.strength >= 1
        return css_color(self.color) if whole else f"color-mix(in srgb,{mixed},{css_color('rule')})"


def label_colors(sketches: Iterable[Sketch]) -> dict[str, str]:
    """Assign colors to node labels; labels beyond the number of colors are muted."""
    return colors_by_frequency(Counter(lb for sketch in sketches for lb in sketch.node_labels))


def colors_by_frequency(counts: Mapping[str, int]) -> dict[str, str]:
    """Assign colors to labels, the most frequent first, as far as there are colors.

    Examples
    --------
    >>> colors_by_frequency({"C": 7, "O": 9})
    {'O': 's1', 'C': 's0'}
    """
    often = sorted(counts, key=lambda label: (-counts[label], label))
    # The second color is that of drawings without labels.
    order = [1, 0, *range(2, len(often))]
    colors = (f"s{place}" if place < N_SERIES else "muted" for place in order)
    return dict(zip(often, colors, strict=False))


def draw(
    sketch: Sketch,
    marks: Sequence[Mark] | None = None,
    *,
    colors: Mapping[str, str] | None = None,
    numbered: Collection[int] | None = None,
    width: float = 220.0,
    height: float = 180.0,
) -> Markup:
    """Draw a graph as SVG, standalone or with the colors of the surrounding page.

    A graph of atoms and bonds is drawn as a molecule, where RDKit is installed. Nodes have their
    ``marks``, else the ``colors`` of their labels. The nodes in ``numbered`` have their numbers
    beside them, in small graphs all. Each node tells its number and label when it is pointed at.

    Examples
    --------
    >>> path = Sketch("a path", 3, 2, (0, 1, 2), ((0, 1), (1, 2)), ())
    >>> draw(path).count("<circle")
    3
    """
    from kgnn.graphs.molecule_drawing import draw_molecule

    molecule = draw_molecule(sketch, marks, numbered=numbered or (), width=width, height=height)
    if molecule is not None:
        return molecule
    n = len(sketch.nodes)
    pairs = np.asarray(sketch.edges, dtype=np.int64).reshape(-1, 2)
    margin = _MARGIN if numbered is None else 2 * _MARGIN
    places, scale = _fitted(lay_out(n, pairs), width, height, margin)
    has_names = is_named(sketch) and n <= width / 5
    most = _LARGEST_NODE if has_names else 0.6 * _LARGEST_NODE
    size = max(1.1, min(most, 0.28 * scale, 40 / math.sqrt(max(n, 1))))
    if marks is None:
        known = label_colors([sketch]) if colors is None else colors
        marks = [Mark(known[label]) for label in sketch.node_labels] or [Mark("s1")] * n
    is_shaded = any(mark.strength < 1 for mark in marks)
    shapes = [_edges(places, pairs)]
    for (x, y), mark, note in zip(places, marks, node_notes(sketch), strict=True):
        rim = css_color("soft" if is_shaded else "paper")
        shapes.append(
            Markup(
                '<circle class="node" cx="{:.1f}" cy="{:.1f}" r="{:.1f}" fill="{}" stroke="{}" '
                'stroke-width="0.6"><title>{}</title></circle>'
            ).format(x, y, size, mark.fill, rim, note)
        )
    for (x, y), name in zip(places, sketch.node_labels if has_names else (), strict=False):
        color = "ink" if is_shaded else "paper"
        shapes.append(text(x, y + 2.8, name, color=color, size=8, anchor="middle", halo=is_shaded))
    if numbered is not None and n <= _MOST_NUMBERED:
        for (x, y), node in zip(places, sketch.nodes, strict=True):
            if node in numbered or n <= _ALL_NUMBERED:
                at = 0.8 * size + 1
                shapes.append(text(x + at, y - at, str(node), color="soft", size=8, halo=True))
    return framed(width, height, shapes, f"graph {sketch.name}")


def is_named(sketch: Sketch) -> bool:
    """Tell whether the labels fit into the nodes."""
    longest = max(map(len, sketch.node_labels), default=0)
    return 0 < longest <= _LONGEST_NAME and len(sketch.nodes) <= _MOST_NAMED


def size_in_words(sketch: Sketch) -> str:
    """Describe the size of a graph; for molecules in atoms and bonds."""
    n = len(sketch.nodes)
    drawn = "" if n == sketch.n_nodes else f" ({n:,} {sketch.words[0]}{'s' * (n != 1)} drawn)"
    return ", ".join(sketch.size) + drawn


def framed(width: float, height: float, shapes: Iterable[Markup | None], label: str) -> Markup:
    """Return a drawing that scales with its container; ``label`` is the alternative text."""
    return Markup(
        '<svg xmlns="http://www.w3.org/2000/svg" class="chart" viewBox="0 0 {:g} {:g}" '
        'width="{:g}" height="{:g}" font-family="system-ui, sans-serif" role="img" '
        'aria-label="{}">{}</svg>'
    ).format(width, height, width, height, label, Markup("").join(filter(None, shapes)))


def text(
    x: float,
    y: float,
    words: str,
    *,
    color: str = "ink",
    size: float = 12,
    anchor: str = "start",
    halo: bool = False,
) -> Markup:
    """Return text at a place, with a halo for readability."""
    around = Markup(
        ' stroke="{}" stroke-width="1.8" stroke-linejoin="round" paint-order="stroke"'
    ).format(css_color("paper"))
    return Markup(
        '<text x="{:.1f}" y="{:.1f}" font-size="{:g}" fill="{}" text-anchor="{}" '
        'pointer-events="none"{}>{}</text>'
    ).format(x, y, size, css_color(color), anchor, around if halo else "", words)


def node_notes(sketch: Sketch) -> list[str]:
    """Return number and label of each drawn node."""
    word, labels = sketch.words[0], sketch.node_labels or ("",) * len(sketch.nodes)
    return [
        f"{word} {node}: {label}" if label else f"{word} {node}"
        for node, label in zip(sketch.nodes, labels, strict=True)
    ]


def _fitted(places: Places, width: float, height: float, margin: float) -> tuple[Places, float]:
    """Return places within the drawing, and the length of an edge there."""
    room = np.array([width, height]) - 2 * margin
    extent = np.maximum(np.ptp(places, axis=0), 1e-9) if len(places) else np.ones(2)
    scale = min(float((room / extent).min()), _LONGEST_EDGE * math.sqrt(len(places)))
    return places * scale + np.array([width, height]) / 2, scale


def _edges(places: Places, pairs: Edges) -> Markup | None:
    """Draw edges as one path, which is much smaller than many lines."""
    if not len(pairs):
        return None
    ways = "".join(
        f"M{x:.1f} {y:.1f}L{a:.1f} {b:.1f}"
        for (x, y), (a, b) in zip(places[pairs[:, 0]], places[pairs[:, 1]], strict=True)
    )
    return Markup('<path d="{}" fill="none" stroke="{}" stroke-width="0.8"/>').format(
        ways, css_color("muted")
    )


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
    links = _links(np.ones(len(pairs)), pairs, n_nodes)
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


def _links(lengths: NDArray[np.float64], edges: Edges, n: int) -> csr_array:
    """Return the lengths of edges by both ends; for paths, scipy 1.13 wants 32-bit ones."""
    ends = edges.astype(np.int32)
    return csr_array((lengths, (ends[:, 0], ends[:, 1])), shape=(n, n))


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
    """Return the node that each leaf of a large fan belongs to; -1 for all other nodes."""
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
    """Return places of leaves around (0, 0), in all free directions."""
    steps = np.arange(n) + 0.5
    if len(taken):
        turn = np.sort(taken % (2 * math.pi))
        gaps = np.diff(np.append(turn, turn[0] + 2 * math.pi))
        # Keep some room on both sides of each edge, and divide the rest evenly.
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
    links = _links(lengths, edges, n)
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
    # Nodes with the same distances would stay at the same place forever.
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
    """Arrange components in rows, the largest first, in a roughly square area."""
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
