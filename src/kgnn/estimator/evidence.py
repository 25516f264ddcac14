"""Evidence: how much each part of a graph raises the odds of its predicted class.

The *evidence* of a set S of nodes for a class is

    log-odds of the class, given the graph  −  log-odds of the class, given the graph without S

where the graph without S lacks these nodes and their edges. +1 means that S multiplies the odds by
e ≈ 2.7. Evidence is computed exactly, not approximated: remove the nodes, predict again, and you
get the same number. It is clipped to ±20, because probabilities beyond may have been rounded to 0
or 1. Something that a graph lacks has no evidence, although it may decide the class.

Evidence is computed for single nodes and for the *rooted substructures* of the graph: all nodes
with the same Weisfeiler-Lehman color of some depth, that is, with the same neighborhood up to that
distance. Sets of more than half of the nodes are skipped, because too little of the graph would be
left. Substructures of molecules are written as SMARTS.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kgnn.engine.calibration import ALL as ALL
from kgnn.graphs.graph import Floats, GraphDataset, Ints
from kgnn.graphs.molecules import fragment, is_molecule, written_out
from kgnn.kernels.colors import colors, neighbor_sums, numbered, resolve_start
from kgnn.kernels.weisfeiler_lehman import subtree

# Maps graphs to probabilities, (n_graphs, n_classes), by name: of the model (`PREDICTION`) and, if
# it has several networks, of each of them and of all together.
Predict = Callable[[GraphDataset], Mapping[str, Floats]]
PREDICTION = "prediction"

# Limits the cost of an explanation: nodes of all graphs to predict.
_MOST_NODES = 1 << 17
_FEWEST_SETS = 16
_LONGEST_WALKS = 2000  # largest unfolded neighborhood that is written out, in nodes
_LONGEST_TEXT = 300
# Odds that change by a factor of 500 million; beyond, probabilities may have been rounded.
MOST_EVIDENCE = 20.0
_TINY = np.finfo(np.float64).tiny


@dataclass(frozen=True)
class Substructure:
    """Nodes with the same neighborhood, and their evidence."""

    # The rooted subtree: a node's label, then its neighbors in parentheses; SMARTS for molecules.
    text: str
    depth: int  # radius of the neighborhood
    nodes: tuple[int, ...]
    # For the predicted class, from −20 to 20: of the model (``prediction``) and, if it has several
    # networks, of each of them.
    evidence: dict[str, float]
    without: float  # probability of the predicted class without these nodes


@dataclass(frozen=True)
class Evidence:
    """Evidence for and against the predicted class."""

    # Evidence of each node; in large graphs, its share of that of its smallest substructure.
    nodes: tuple[float, ...]
    substructures: tuple[Substructure, ...]  # most evidence first
    notes: tuple[str, ...]  # what was skipped


@dataclass(frozen=True)
class _Part:
    depth: int | None  # None for a node by itself
    nodes: Ints


def measure(predict: Predict, graph: GraphDataset, target: int, *, depth: int = 2) -> Evidence:
    """Compute the evidence of the parts of one graph for the class in column ``target``.

    Examples
    --------
    >>> from kgnn.graphs.packing import pack
    >>> water = pack("water", [3], [0, 0], [1, 2], node_labels=["O", "H", "H"])
    >>> def by_oxygen(graphs):
    ...     oxygen = np.bincount(graphs.node_graphs[graphs.node_labels == 1], minlength=len(graphs))
    ...     return {"prediction": np.where(oxygen > 0, 0.9, 0.5)[:, None] * [[1, -1]] + [[0, 1]]}
    >>> np.round(measure(by_oxygen, water, 0).nodes, 2).tolist()
    [2.2, 0.0, 0.0]
    """
    written = written_out(graph)
    parts, notes = _affordable(written, depth)
    if not parts:
        return Evidence((0.0,) * graph.n_nodes, (), notes)
    proba = predict(without(graph, [np.empty(0, dtype=np.int64), *(part.nodes for part in parts)]))
    odds = {who: log_odds(each, target) for who, each in proba.items()}
    falls = {
        who: np.clip(each[0] - each[1:], -MOST_EVIDENCE, MOST_EVIDENCE)
        for who, each in odds.items()
    }
    start = resolve_start(written, "auto")
    found = [
        Substructure(
            _text(written, int(part.nodes[0]), part.depth, start),
            part.depth,
            tuple(part.nodes.tolist()),
            {who: float(fall[row]) for who, fall in falls.items()},
            float(proba[PREDICTION][1 + row, target]),
        )
        for row, part in enumerate(parts)
        if part.depth is not None
    ]
    found.sort(key=lambda each: -each.evidence[PREDICTION])
    return Evidence(_of_nodes(graph, parts, falls[PREDICTION]), tuple(found), notes)


def without(graph: GraphDataset, sets: Sequence[Ints]) -> GraphDataset:
    """Return copies of a graph, each without some of its nodes and their edges."""
    copies = graph[np.zeros(len(sets), dtype=np.int64)]
    kept = np.ones(copies.n_nodes, dtype=np.bool_)
    for first, nodes in zip(copies.node_offsets[:-1], sets, strict=True):
        kept[first + np.asarray(nodes, dtype=np.int64)] = False
    return copies.with_nodes(kept)


def log_odds(proba: Floats, target: int) -> Floats:
    """Return the log-odds of a class; finite even for probabilities 0 and 1."""
    others = np.delete(proba, target, axis=1).sum(axis=1)
    own = proba[:, target]
    return np.asarray(np.log(np.maximum(own, _TINY)) - np.log(np.maximum(others, _TINY)))


def _affordable(graph: GraphDataset, depth: int) -> tuple[list[_Part], tuple[str, ...]]:
    """Return the sets of nodes to remove, shallow and common substructures first."""
    n = graph.n_nodes
    if n < 2:
        return [], ("A graph with one node has no parts to remove.",)
    parts = _substructures(graph, depth)
    found = {int(part.nodes[0]) for part in parts if len(part.nodes) == 1}
    alone = [_Part(None, np.array([node])) for node in range(n) if node not in found]
    most = max(_FEWEST_SETS, _MOST_NODES // n)
    if len(parts) + len(alone) <= most:
        return parts + alone, ()
    note = f"The graph is too large to remove each of its {n:,} nodes separately."
    if len(parts) > most:
        note += f" Of {len(parts):,} substructures the {most} simplest and most common were tried."
    return parts[:most], (note,)


def _substructures(graph: GraphDataset, depth: int) -> list[_Part]:
    """Return the sets of nodes that look alike; equal sets once, at the smallest depth."""
    parts: dict[bytes, _Part] = {}
    for level, coloring in enumerate(colors(graph, depth, edge_labels=graph.has_edge_kinds)):
        _, number = numbered(coloring)
        order = np.argsort(number, kind="stable")
        classes = np.split(order, np.cumsum(np.bincount(number))[:-1])
        for nodes in sorted(classes, key=lambda each: -len(each)):
            if 2 * len(nodes) <= graph.n_nodes:
                parts.setdefault(nodes.tobytes(), _Part(level, nodes))
    return list(parts.values())


def _of_nodes(graph: GraphDataset, parts: list[_Part], falls: Floats) -> tuple[float, ...]:
    evidence = np.zeros(graph.n_nodes)
    for row in sorted(range(len(parts)), key=lambda row: -len(parts[row].nodes)):
        evidence[parts[row].nodes] = falls[row] / len(parts[row].nodes)  # smaller ones come later
    return tuple(evidence.tolist())


def _text(graph: GraphDataset, node: int, depth: int, start: str) -> str:
    """Format a subtree, as deep as is readable."""
    one = graph[0]
    if is_molecule(one):
        edges = [(u, v) for u, v in one.edges.tolist()]
        found = fragment(one.node_labels or [], edges, one.edge_labels or [], node, depth)
        if found is not None:
            return found
    written = depth
    while written > 1 and _n_walks(graph, written)[node] > _LONGEST_WALKS:
        written -= 1
    text = subtree(graph, node, written, start=start, edge_labels=graph.has_edge_kinds)
    if depth > 0 and graph.degrees[node] == 0:
        return f"{text}()"  # an isolated node, unlike other nodes with that label
    if len(text) > _LONGEST_TEXT:
        return text[:_LONGEST_TEXT] + "…"
    return text if written == depth else text + "…"


def _n_walks(graph: GraphDataset, length: int) -> NDArray[np.uint64]:
    walks = np.ones(graph.n_nodes, dtype=np.uint64)
    for _ in range(length):
        walks = neighbor_sums(graph, walks)
    return walks
