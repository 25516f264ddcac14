"""HTML for graphs and datasets in notebooks: drawings with descriptions."""

from __future__ import annotations

from collections.abc import Iterable

from markupsafe import Markup

from kgnn.graphs.description import describe
from kgnn.graphs.drawing import Sketch, draw, label_colors, size_in_words
from kgnn.graphs.graph import Graph, GraphDataset

_DRAWN = 6  # graphs of a dataset


def graph_html(graph: Graph) -> str:
    """Return a drawing of a graph, with its class and size."""
    sketch = Sketch.of(graph)
    return card(draw(sketch, width=320, height=240), sketch, class_in_words(graph.target), 320)


def dataset_html(graphs: GraphDataset) -> str:
    """Return the contents of a dataset in words, and drawings of its first graphs."""
    few = [graphs[row] for row in range(min(_DRAWN, len(graphs)))]
    sketches = [Sketch.of(graph) for graph in few]
    colors = label_colors(sketches)
    cards = [
        card(draw(sketch, colors=colors), sketch, class_in_words(graph.target))
        for graph, sketch in zip(few, sketches, strict=True)
    ]
    told = Markup("<br>").join(describe(graphs))
    return Markup("<div><b>{}</b><br>{}{}</div>").format(graphs.name, told, side_by_side(cards))


def class_in_words(target: str | None) -> str:
    """Say which class a graph has."""
    return "no label" if target is None else f"class {target}"


def card(drawn: Markup, sketch: Sketch, told: str, width: int = 220) -> Markup:
    """Return a drawing with the name of a graph, its size and a note."""
    figure = Markup(
        '<figure style="margin:0;width:{}px;max-width:100%">{}<figcaption><b>{}</b><br>'
        "<small>{}; {}</small></figcaption></figure>"
    )
    return figure.format(width, drawn, sketch.name, told, size_in_words(sketch))


def side_by_side(cards: Iterable[Markup]) -> Markup:
    """Return cards in rows that wrap."""
    row = Markup(
        '<div style="display:flex;flex-wrap:wrap;align-items:start;gap:12px 20px;'
        'margin-top:8px">{}</div>'
    )
    return row.format(Markup("").join(cards))


def html_table(headings: Iterable[str], rows: Iterable[Iterable[str]]) -> Markup:
    """Return a table in the style of notebooks."""
    line = Markup("<tr>{}</tr>")
    head = line.format(Markup("").join(map(Markup("<th>{}</th>").format, headings)))
    cell = Markup('<td style="text-align:left">{}</td>')
    body = (line.format(Markup("").join(map(cell.format, row))) for row in rows)
    return Markup("<table><thead>{}</thead><tbody>{}</tbody></table>").format(
        head, Markup("").join(body)
    )
