"""Drawings of graphs that are too large or too dense: groups of nodes instead of nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup
from scipy.sparse import csr_array

from kgnn.colors import css_color
from kgnn.graphs.drawing import DRAWABLE, Places, Sketch, colors_by_frequency, draw, framed, lay_out
from kgnn.graphs.graph import Graph, Ints
from kgnn.seeds import generator

MOST_EDGES = 2500  # with more, the lines of a drawing cannot be distinguished
_GROUPS = 90
_ROUNDS = 24
_LINES = 500
_THICKNESSES = 4
_MARGIN = 26.0
_LARGEST, _SMALLEST = 17.0, 2.5  # radius of a group


@dataclass(frozen=True, eq=False)
class Groups:
    """A partition of the nodes of a graph into connected groups."""

    of_node: Ints  # (n_nodes,), the group of each node
    sizes: Ints  # (n_groups,), nodes of each group
    pairs: Ints  # (n_pairs, 2), groups with edges between them
    weights: Ints  # (n_pairs,), how many edges


def is_hairball(graph: Graph) -> bool:
    """Tell whether a drawing of all nodes and edges would be unreadable."""
    return graph.n_nodes > DRAWABLE or graph.n_edges > MOST_EDGES


def draw_whole(
    graph: Graph, *, colors: Mapping[str, str] | None = None, width: float, height: float
) -> Markup:
    """Draw a graph: its nodes, or groups of nodes if there are too many nodes or edges.

    ``colors`` are those of the labels of nodes.

    Examples
    --------
    >>> from kgnn.graphs.packing import pack
    >>> ring = pack("ring", [900], np.arange(900), (np.arange(900) + 1) % 900)
    >>> draw_whole(ring[0], width=400, height=300).count("<circle") <= 120
    True
    """
    if not is_hairball(graph):
        return draw(Sketch.of(graph), colors=colors, width=width, height=height)
    groups = grouped(graph)
    places = lay_out(len(groups.sizes), groups.pairs)
    extent = np.maximum(np.ptp(places, axis=0), 1e-9)
    room = np.array([width, height]) - 2 * _MARGIN
    places = places * float((room / extent).min()) + np.array([width, height]) / 2
    radii = np.maximum(_SMALLEST, _LARGEST * np.sqrt(groups.sizes / groups.sizes.max()))
    circle = Markup(
        '<circle class="node" cx="{:.1f}" cy="{:.1f}" r="{:.1f}" fill="{}" stroke="{}" '
        'stroke-width="0.8"><title>{}</title></circle>'
    )
    paper = css_color("paper")
    shapes = _lines(places, groups)
    for number, (color, note) in enumerate(_notes(graph, groups, colors)):
        x, y = places[number]
        shapes.append(circle.format(x, y, radii[number], css_color(color), paper, note))
    return framed(width, height, shapes, f"graph {graph.name}, nodes drawn in groups")


def _lines(places: Places, groups: Groups) -> list[Markup]:
    """Draw the edges between groups, thicker for more; of very many, only the strongest."""
    order = np.argsort(-groups.weights, kind="stable")
    strongest: dict[int, int] = {}  # of each group
    for at in order.tolist():
        for group in groups.pairs[at].tolist():
            strongest.setdefault(group, at)
    kept = np.union1d(order[:_LINES], np.array(list(strongest.values()), dtype=np.int64))
    weights = groups.weights[kept] / groups.weights.max(initial=1)
    thickness = np.ceil(np.sqrt(weights) * _THICKNESSES).astype(np.int64)
    line = Markup('<path d="{}" fill="none" stroke="{}" stroke-width="{:g}" opacity="0.7"/>')
    found = []
    for each in np.unique(thickness).tolist():
        ends = places[groups.pairs[kept[thickness == each]]]
        ways = "".join(f"M{x:.1f} {y:.1f}L{a:.1f} {b:.1f}" for (x, y), (a, b) in ends.tolist())
        found.append(line.format(ways, css_color("muted"), each))
    return found


def grouped(graph: Graph, most: int = _GROUPS) -> Groups:
    """Merge neighboring nodes repeatedly until there are at most ``most`` groups.

    In each round about half of the groups, rather the larger ones, are centers, and the others join
    the center that most edges lead to. Components that are left over at the end are put together.
    """
    of_node = np.arange(graph.n_nodes)
    ends = graph.arcs
    for number in range(_ROUNDS):
        n = int(of_node.max(initial=-1)) + 1
        if n <= most:
            break
        of_node = _merged(of_node, ends, n, most, number)
    n = int(of_node.max(initial=-1)) + 1
    if n > most:  # what nothing joins: the smallest are one group
        order = np.argsort(-np.bincount(of_node, minlength=n), kind="stable")
        place = np.empty(n, dtype=np.int64)
        place[order] = np.minimum(np.arange(n), most - 1)
        of_node = place[of_node]
        n = most
    pairs = np.sort(of_node[ends], axis=1)
    pairs, counts = np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0, return_counts=True)
    return Groups(
        of_node, np.bincount(of_node, minlength=n), pairs, np.ceil(counts / 2).astype(int)
    )


def _merged(of_node: Ints, ends: Ints, n: int, most: int, number: int) -> Ints:
    """Merge groups into the neighboring center with which they share the most edges."""
    pairs = of_node[ends]
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    links = csr_array((np.ones(len(pairs)), tuple(pairs.T)), shape=(n, n))
    links.sum_duplicates()
    sizes = np.bincount(of_node, minlength=n)
    noise = generator(number, "groups").random(n)
    importance = np.diff(links.indptr) * (0.5 + noise)
    is_center = importance >= np.median(importance)
    source = np.repeat(np.arange(n), np.diff(links.indptr))
    # Keep large groups from absorbing everything.
    pull = np.where(
        is_center[links.indices] & ~is_center[source], links.data / np.sqrt(sizes[links.indices]), 0
    )
    order = np.lexsort([links.indices, -pull, source])
    joining, first = np.unique(source[order], return_index=True)
    best = order[first]  # the strongest pull on each group that has neighbors
    joining, best = joining[pull[best] > 0], best[pull[best] > 0]
    # Merge the smallest first, and only as many as needed.
    kept = np.argsort(sizes[joining], kind="stable")[: n - most]
    joins = np.arange(n)
    joins[joining[kept]] = links.indices[best[kept]]
    _, place = np.unique(joins, return_inverse=True)
    return np.asarray(place.reshape(-1)[of_node], dtype=np.int64)


def _notes(graph: Graph, groups: Groups, colors: Mapping[str, str] | None) -> list[tuple[str, str]]:
    """Return the color of each group, by its most frequent label, and its description."""
    n, sizes = len(groups.sizes), groups.sizes.tolist()
    labels = graph.node_labels
    if labels is None:
        return [("s1", _counted(size)) for size in sizes]
    counts = [Counter[str]() for _ in range(n)]
    for group, label in zip(groups.of_node.tolist(), labels, strict=True):
        counts[group][label] += 1
    known = colors_by_frequency(Counter(labels)) if colors is None else colors
    found = []
    for size, own in zip(sizes, counts, strict=True):
        label, _ = min(own.items(), key=lambda item: (-item[1], item[0]))
        told = ", ".join(f"{n:,} × {name}" for name, n in own.most_common(5))
        found.append((known[label], f"{_counted(size)}: {told}{' …' * (len(own) > 5)}"))
    return found


def _counted(size: int) -> str:
    return f"{size:,} node{'s' * (size != 1)}"
