"""Draw docs/many-graphs-few-labels.svg, the picture of the home page, with the library itself.

Four graphs have a label, the others get theirs from a model that is fitted on all of them.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import kgnn
from kgnn.colors import LIGHT
from kgnn.files import write_text
from kgnn.graphs.datasets.toy import cycles_and_trees
from kgnn.graphs.drawing import lay_out

TARGET = Path(__file__).with_name("many-graphs-few-labels.svg")
_KNOWN = (1, 6, 11, 16)  # places in the drawing of the graphs with a label
_COLUMNS, _ROWS, _CELL = 5, 4, 64.0
_GAP = 96.0  # between the two halves, where the arrow is
_GRAY = "#8b949e"  # as well seen on white as on black
_CLASS_COLORS = (LIGHT["s0"], LIGHT["s1"])


def render() -> str:
    """Return the picture as SVG."""
    graphs = cycles_and_trees(_COLUMNS * _ROWS, seed=3)
    known = np.full(len(graphs), -1)
    known[[*_KNOWN]] = graphs.targets[[*_KNOWN]]
    told = kgnn.make("wl").fit(graphs, known).predict(graphs)
    left = _COLUMNS * _CELL
    width, height = 2 * left + _GAP, _ROWS * _CELL
    before = [_CLASS_COLORS[t] if t >= 0 else _GRAY for t in known]
    after = [_CLASS_COLORS[t] for t in told]
    drawn = [
        _graph(
            graph, (place % _COLUMNS) * _CELL + start, (place // _COLUMNS) * _CELL, colors[place]
        )
        for start, colors in ((0.0, before), (left + _GAP, after))
        for place, graph in enumerate(graphs)
    ]
    middle, y = left + _GAP / 2, height / 2
    arrow = (
        f'<path d="M{middle - 26} {y}h46m-12 -9l12 9l-12 9" fill="none" stroke="{_GRAY}" '
        f'stroke-width="2.5"/><text x="{middle}" y="{y - 20}" text-anchor="middle" '
        f'font-family="system-ui, sans-serif" font-size="15" fill="{_GRAY}">kgnn</text>'
    )
    title = "Twenty graphs of which four are colored by class, and all twenty colored by a model"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" role="img" '
        f'aria-label="{title}"><title>{title}</title>{arrow}{"".join(drawn)}</svg>\n'
    )


def _graph(graph: kgnn.Graph, left: float, top: float, color: str) -> str:
    """Draw a graph into a cell."""
    edges = graph.edges
    places = lay_out(graph.n_nodes, edges)
    places = places - (places.min(axis=0) + places.max(axis=0)) / 2
    places = places * (0.38 * _CELL / max(1e-9, np.abs(places).max())) + (
        left + _CELL / 2,
        top + _CELL / 2,
    )
    lines = "".join(
        f"M{places[u][0]:.1f} {places[u][1]:.1f}L{places[v][0]:.1f} {places[v][1]:.1f}"
        for u, v in edges
    )
    dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.6"/>' for x, y in places)
    return (
        f'<path d="{lines}" stroke="{color}" stroke-width="1.2" fill="none"/>'
        f'<g fill="{color}">{dots}</g>'
    )


if __name__ == "__main__":
    write_text(TARGET, render())
