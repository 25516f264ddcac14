"""The HTML page that explains the prediction for one graph."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup
from threadpoolctl import threadpool_limits

from kgnn.estimator.evidence import ALL, MOST_EVIDENCE, PREDICTION, Substructure
from kgnn.estimator.explanation import (
    Explanation,
    Neighbor,
    evidence_marks,
    familiarity,
    node_list,
    promised,
    signed,
)
from kgnn.graphs.drawing import Mark, Sketch, draw, size_in_words
from kgnn.graphs.molecule_drawing import MOLECULE_NOTE, is_drawn_as_molecule
from kgnn.reports.colors import network_color
from kgnn.reports.page import render, render_part
from kgnn.reports.paper import network_title

_MOST_CLASSES = 8
_NAMED = 8  # nodes of a substructure to list; the rest are counted


def explanation_page(explanation: Explanation) -> str:
    """Return the page; it is self-contained.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> from kgnn.methods.wl import WL
    >>> graphs = cycles_and_trees(20)
    >>> page = explanation_page(WL().fit(graphs).explain(graphs[0]))
    >>> page[:15], page.count('<svg xmlns')
    ('<!doctype html>', 6)
    """
    graph, values = explanation.graph, _values(explanation)
    return render(
        "explanation.html",
        f"Graph {graph.name}: class {explanation.predicted}",
        f"{explanation.method}, probability {explanation.confidence:.1%} · {size_in_words(graph)}",
        **values,
    )


def explanation_parts(explanation: Explanation) -> Markup:
    """Return the content of the page as a fragment."""
    return render_part("explanation_parts.html", **_values(explanation))


def _values(explanation: Explanation) -> dict[str, Any]:
    """Return the values for the templates."""
    _graph, word = explanation.graph, explanation.graph.words[0]
    own = explanation.proba[PREDICTION]
    kept = sorted(sorted(range(len(own)), key=lambda c: -own[c])[:_MOST_CLASSES])
    has_memory = bool(explanation.elsewhere)
    hops = range(len(explanation.elsewhere))
    near = "Labeled graphs with the most attention" if has_memory else "Similar labeled graphs"
    with threadpool_limits(1):  # layout matrices are small; more threads only wait
        drawn, notes = _marked(explanation)
        shown = zip(explanation.neighbors, explanation.neighbor_graphs, strict=True)
        neighbors = [_neighbor(each, sketch, explanation) for each, sketch in shown]
    return {
        "parts": {
            "prediction": "Prediction",
            "evidence": "Evidence for and against",
            "neighbors": near,
            "reading": "How to read this",
        },
        "explanation": explanation,
        "classes": [
            (str(explanation.classes[c]), explanation.classes[c] == explanation.predicted)
            for c in kept
        ],
        "networks": [
            ("model", "s6", [proba[c] for c in kept])
            if who == PREDICTION
            else (network_title(who), network_color(who), [proba[c] for c in kept])
            for who, proba in explanation.proba.items()
            if who != ALL
        ],
        "left_out": len(own) - len(kept),
        "promised": promised(explanation),
        "familiarity": familiarity(explanation),
        "drawn": drawn,
        "notes": [*notes, *explanation.evidence.notes],
        "evidence_for": [_part(each, word) for each in explanation.speaking()],
        "evidence_against": [_part(each, word) for each in explanation.speaking(against=True)],
        "neighbors": neighbors,
        "hop_headings": ["labeled graph", "kernel value", *(f"hop {hop + 1}" for hop in hops)],
        "hops": _hops(explanation) if has_memory else [],
    }


def _marked(explanation: Explanation) -> tuple[Any, list[str]]:
    """Draw the graph with the evidence of its nodes, and return notes on the drawing."""
    graph = explanation.graph
    parts = (*explanation.speaking(), *explanation.speaking(against=True))
    numbered = {node for part in parts for node in part.nodes[:_NAMED]}
    drawn = draw(graph, evidence_marks(explanation), numbered=numbered, width=460, height=360)
    word = graph.words[0]
    notes = [f"Numbers are positions of {word}s. Point at one for its number and label."]
    if len(graph.nodes) < graph.n_nodes:
        few = f"{len(graph.nodes):,} of {graph.n_nodes:,}"
        notes.append(f"{few} {word}s are drawn, around those with the most evidence.")
    return drawn, [*notes, *([MOLECULE_NOTE] if is_drawn_as_molecule(graph) else [])]


def _part(part: Substructure, word: str) -> dict[str, str]:
    each = [
        f"{network_title(who)} {_bounded(value)}"
        for who, value in part.evidence.items()
        if who not in (PREDICTION, ALL)
    ]
    reach = f"distance {part.depth}" if part.depth else "the label alone"
    nodes = node_list(part.nodes, _NAMED, word)
    told = "; ".join([reach, nodes, *each, f"{part.without:.1%} without"])
    return {"evidence": _bounded(part.evidence[PREDICTION]), "text": part.text, "told": told}


def _bounded(evidence: float) -> str:
    """Format evidence; a clipped value as its bound."""
    if abs(evidence) < MOST_EVIDENCE:
        return signed(evidence)
    return f"≥ +{MOST_EVIDENCE:g}" if evidence > 0 else f"≤ −{MOST_EVIDENCE:g}"


def _neighbor(near: Neighbor, graph: Sketch, explanation: Explanation) -> dict[str, Any]:
    is_same = near.label == explanation.predicted
    marks = [Mark("s2", 0.4 if is_same else 0.0)] * len(graph.nodes)
    mean = sum(near.attention) / len(near.attention) if near.attention else 0.0
    weight = f", attention {mean:.1%}" if near.attention else ""
    told = f"class {near.label}, kernel value {near.kernel_value:.2f}{weight}; "
    return {
        "name": f"Graph {near.name}",
        "told": f"{told}{size_in_words(graph)}.",
        "drawn": draw(graph, marks),
    }


def _hops(explanation: Explanation) -> list[tuple[str, str, list[float]]]:
    """Return the attention at each hop to the shown graphs, other graphs and annotated graphs."""
    rows = [
        (f"{near.name}, class {near.label}", f"{near.kernel_value:.2f}", list(near.attention))
        for near in explanation.neighbors
    ]
    shown = [sum(weights) for weights in zip(*(row[2] for row in rows), strict=True)]
    rest = [max(0.0, 1 - a - b) for a, b in zip(shown, explanation.elsewhere, strict=True)]
    rows.append(("other labeled graphs", "", rest))
    if max(explanation.elsewhere) > 0.0005:
        rows.append(("graphs annotated by the model", "", list(explanation.elsewhere)))
    return rows
