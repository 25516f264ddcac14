"""One page of HTML about one graph: what a model says of it, and why."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TypedDict

from threadpoolctl import threadpool_limits

from kgnn.estimator.evidence import COMBINED, MOST_EVIDENCE, PREDICTION, Substructure
from kgnn.estimator.explanation import (
    Explanation,
    Neighbor,
    Sketch,
    familiarity,
    node_list,
    promised,
    signed,
)
from kgnn.reports.axes import drawing, text
from kgnn.reports.drawing import draw, node_notes
from kgnn.reports.markup import Markup, Part, document, element, joined, scrolling
from kgnn.reports.molecule import MOLECULE_NOTE, draw_molecule
from kgnn.reports.paper import network_style, network_title


class _Size(TypedDict):
    width: float
    height: float


_LARGE, _SMALL = _Size(width=460.0, height=360.0), _Size(width=220.0, height=180.0)
_STEPS = 4  # shades of evidence
_WIDTH, _LEFT, _FULL = 340.0, 100.0, 124.0  # of bars
_MOST_CLASSES = 8
_LONGEST_CLASS = 12  # letters of its name
_PER_NAME = 8.0  # width of a drawing for each node, so that names fit into nodes
_LONGEST_NAME = 2  # letters that fit into a node
_MOST_NUMBERED = 150  # nodes of a graph in which numbers beside nodes can be read
_NAMED = 8  # nodes of a substructure, of more the others are counted
_METHOD = (
    "Evidence is measured: nodes and their edges are removed, the model predicts again, and the "
    "evidence is the drop of the log-odds of the predicted class. +1 means that the odds are 2.7 "
    "times as high with these nodes as without. Values beyond ±20 are cut, since probabilities so "
    "near 0 or 1 are not exact. A substructure is all nodes that have the same neighborhood up to "
    "a distance, written as a node's label with its neighbors in parentheses, of molecules as "
    "SMARTS; all of its nodes are removed together. Sets of more than half of the nodes are not "
    "tried. Evidence cannot show what a graph lacks: a class that is recognized by something "
    "missing has little of it."
)


def explanation_page(explanation: Explanation) -> str:
    """Return the page; it needs nothing but itself.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> from kgnn.methods.wl import WL
    >>> graphs = cycles_and_trees(20)
    >>> page = explanation_page(WL().fit(graphs).explain(graphs[0]))
    >>> page[:15], page.count("<svg")
    ('<!doctype html>', 7)
    """
    graph = explanation.graph
    with threadpool_limits(1):  # matrices of layouts are small: more threads wait for each other
        parts = list(_page_parts(explanation))
    return document(
        f"Graph {graph.name}: class {explanation.predicted}",
        " · ".join(
            [f"{explanation.method}, probability {explanation.confidence:.1%}", *graph.size]
        ),
        parts,
        "explanation.css",
    )


def _page_parts(explanation: Explanation) -> Iterator[Part]:
    yield Part("prediction", "Prediction", _prediction(explanation))
    yield Part("evidence", "Evidence for and against", _evidence(explanation))
    has_memory = any(near.attention for near in explanation.neighbors)
    told = "Labeled graphs that the memory attends to" if has_memory else "Similar labeled graphs"
    yield Part("neighbors", told, _neighbors(explanation))
    yield Part("reading", "How to read this", element("p", _METHOD, class_="note"))


def _prediction(explanation: Explanation) -> Markup:
    novel = explanation.novelty.is_novel
    return joined(
        element("div", _bars(explanation), class_="bars"),
        element("p", promised(explanation)),
        element("p", familiarity(explanation), class_="warning" if novel else None),
    )


def _bars(explanation: Explanation) -> Markup:
    """Draw the probability of each class, by the model and by its networks."""
    own = explanation.proba[PREDICTION]
    order = sorted(range(len(own)), key=lambda c: -own[c])
    kept = sorted(order[:_MOST_CLASSES])
    who = [key for key in explanation.proba if key != COMBINED]
    row = 14.0 * len(who) + 10
    marks = []
    for place, c in enumerate(kept):
        name, top = str(explanation.classes[c]), place * row
        kind = "heading" if explanation.classes[c] == explanation.predicted else "tick"
        short = name if len(name) <= _LONGEST_CLASS else name[: _LONGEST_CLASS - 1] + "…"
        marks.append(text(0, top + row / 2 + 2, short, kind))
        marks += [_bar(explanation, key, c, top + 14 * n) for n, key in enumerate(who)]
    left_out = len(own) - len(kept)
    more = f"and {left_out} less probable classes" if left_out else ""
    return joined(
        drawing(_WIDTH, row * len(kept), *marks, label="Probabilities of the classes"),
        element("p", more, class_="note") if more else None,
    )


def _bar(explanation: Explanation, key: str, column: int, top: float) -> Markup:
    value = explanation.proba[key][column]
    is_whole = key == PREDICTION
    title, kind = ("model", "s6") if is_whole else (network_title(key), network_style(key))
    width = max(0.8, _FULL * value)
    note = element("title", f"{title}: {value:.1%}")
    bar = element("rect", note, class_="share", x=_LEFT, y=top, width=width, height=10)
    told = text(_LEFT + 6 + width, top + 9, f"{value:.1%} {title}", "tick")
    return element("g", bar, told, class_=kind)


def _evidence(explanation: Explanation) -> Markup:
    notes = [element("p", note, class_="note") for note in explanation.evidence.notes]
    return element(
        "div",
        element("figure", _marked(explanation), _scale(), *notes, class_="drawn"),
        element(
            "div",
            _parts(explanation, f"Evidence for class {explanation.predicted}", against=False),
            _parts(explanation, f"Evidence against class {explanation.predicted}", against=True),
        ),
        class_="beside",
    )


def _marked(explanation: Explanation) -> Markup:
    graph, evidence = explanation.graph, explanation.evidence.nodes
    most = max(map(abs, evidence), default=0.0)
    kinds = [shade(evidence[node], most) for node in graph.nodes]
    parts = (*explanation.speaking(), *explanation.speaking(against=True))
    named = {node for part in parts for node in part.nodes[:_NAMED]}
    molecule = draw_molecule(graph, kinds, numbered=named, **_LARGE)
    word = graph.words[0]
    told = [f"Hover over {'an atom' if word == 'atom' else 'a node'} for its number and label."]
    if molecule or len(graph.nodes) <= _MOST_NUMBERED:
        told[0] = f"The number beside each {word} is its number in the graph. {told[0]}"
    if len(graph.nodes) < graph.n_nodes:
        few = f"{len(graph.nodes):,} of {graph.n_nodes:,}"
        told.append(f"{few} {word}s are drawn, around those with the most evidence.")
    if molecule:
        told.append(MOLECULE_NOTE)
    notes = (element("p", note, class_="note") for note in told)
    return joined(molecule or _diagram(graph, kinds, named, **_LARGE), *notes)


def shade(evidence: float, most: float) -> str:
    """Return the style of a node by its evidence, relative to the most of any node."""
    step = min(_STEPS, int(_STEPS * abs(evidence) / most + 0.8)) if most > 0 else 0
    return f"{'for' if evidence > 0 else 'against'}-{step}" if step else "silent"


def _diagram(
    graph: Sketch,
    kinds: Sequence[str],
    named: Collection[int] | None = None,
    *,
    width: float,
    height: float,
) -> Markup:
    """Draw a graph; all of its nodes are numbered if it is small, else those that are named."""
    is_small = len(graph.nodes) * _PER_NAME <= width
    fits = is_small and 0 < max(map(len, graph.node_labels), default=0) <= _LONGEST_NAME
    numbers = None
    if named is not None and len(graph.nodes) <= _MOST_NUMBERED:
        numbers = [str(node) if is_small or node in named else "" for node in graph.nodes]
    return draw(
        len(graph.nodes),
        list(graph.edges),
        title=f"graph {graph.name}",
        names=graph.node_labels if fits else None,
        numbers=numbers,
        notes=node_notes(graph),
        styles=kinds,
        width=width,
        height=height,
    )


def _scale() -> Markup:
    def dots(side: str) -> Markup:
        return joined(*(element("span", class_=f"{side}-{step}") for step in range(1, _STEPS + 1)))

    return element(
        "ul",
        element("li", dots("for"), " evidence for"),
        element("li", dots("against"), " evidence against"),
        element("li", element("span", class_="silent"), " hardly any evidence"),
        class_="scale",
    )


def _parts(explanation: Explanation, title: str, *, against: bool) -> Markup:
    found = explanation.speaking(against=against)
    if not found:
        return joined(element("h3", title), element("p", "Nothing was found.", class_="note"))
    items = (_part(part, explanation.graph.words[0]) for part in found)
    return joined(element("h3", title), element("ul", *items, class_="parts"))


def _part(part: Substructure, word: str) -> Markup:
    each = [
        f"{network_title(who)} {_bounded(value)}"
        for who, value in part.evidence.items()
        if who not in (PREDICTION, COMBINED)
    ]
    reach = f"distance {part.depth}" if part.depth else "the label alone"
    nodes = node_list(part.nodes, _NAMED, word)
    told = "; ".join([reach, nodes, *each, f"{part.without:.1%} without"])
    shown = _bounded(part.evidence[PREDICTION])
    return element("li", element("b", shown), element("code", part.text), element("small", told))


def _bounded(evidence: float) -> str:
    """Write evidence; where it reaches the bound, the bound alone."""
    if abs(evidence) < MOST_EVIDENCE:
        return signed(evidence)
    return f"≥ +{MOST_EVIDENCE:g}" if evidence > 0 else f"≤ −{MOST_EVIDENCE:g}"


def _neighbors(explanation: Explanation) -> Markup:
    pairs = zip(explanation.neighbors, explanation.neighbor_graphs, strict=True)
    figures = [_neighbor(near, graph, explanation) for near, graph in pairs]
    return joined(
        element("div", *figures, class_="neighbors"),
        element("p", "Graphs of the predicted class are green.", class_="note"),
        _hops(explanation) if explanation.elsewhere else None,
    )


def _neighbor(near: Neighbor, graph: Sketch, explanation: Explanation) -> Markup:
    is_same = near.label == explanation.predicted
    kinds = ["silent"] * len(graph.nodes)
    drawn = draw_molecule(graph, kinds, **_SMALL) or _diagram(graph, kinds, **_SMALL)
    mean = sum(near.attention) / len(near.attention) if near.attention else 0.0
    weight = f", attention {mean:.1%}" if near.attention else ""
    told = f"Graph {near.name}, class {near.label}. Kernel value {near.kernel_value:.2f}{weight}."
    size = f" {', '.join(graph.size)}."
    return element(
        "figure", drawn, element("figcaption", told, size), class_="same" if is_same else "other"
    )


def _hops(explanation: Explanation) -> Markup:
    """Return the attention hop by hop as a table."""
    hops = [f"hop {hop + 1}" for hop in range(len(explanation.elsewhere))]
    rows = [
        _hop_row(f"{near.name}, class {near.label}", near.attention, f"{near.kernel_value:.2f}")
        for near in explanation.neighbors
    ]
    shown = [sum(w) for w in zip(*(near.attention for near in explanation.neighbors), strict=True)]
    rest = [1 - a - b for a, b in zip(shown, explanation.elsewhere, strict=True)]
    rows.append(_hop_row("other labeled graphs", rest))
    if max(explanation.elsewhere) > 0.0005:
        rows.append(_hop_row("graphs it labeled itself", explanation.elsewhere))
    title = "Attention at each hop"
    return joined(
        element("h3", title), scrolling(title, ["labeled graph", "kernel value", *hops], rows)
    )


def _hop_row(name: str, weights: Sequence[float], kernel_value: str = "") -> Markup:
    cells = [element("td", f"{max(weight, 0.0):.1%}") for weight in weights]
    return element("tr", element("th", name, scope="row"), element("td", kernel_value), *cells)
