"""Graphs that only the memory gets right, beside those that it attended to (§5.5)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kgnn.benchmark.record import Record
from kgnn.graphs.drawing import DRAWABLE, Mark, Sketch, draw
from kgnn.progress import track
from kgnn.reports.colors import network_color
from kgnn.reports.paper import PAPER_DATASETS, dataset_title, network_title
from kgnn.reports.results import Results, revision_title

_MOST_CASES = 2  # of a dataset
_MOST_CLASSES = 8


def case_records(results: Results) -> list[Record]:
    """Return one record with cases for each dataset, that of the first split."""
    found: dict[str, Record] = {}
    for record in results.records:
        if record.outcome == "done" and record.result.get("cases"):
            best = found.setdefault(record.cell.dataset, record)
            if record.cell.seed < best.cell.seed:
                found[record.cell.dataset] = record
    known = [found.pop(name) for name in PAPER_DATASETS if name in found]
    return known + list(found.values())


def shown_cases(results: Results) -> Iterator[dict[str, Any]]:
    """Yield each case as a page shows it: drawings, and the probabilities of both networks."""
    chosen = [
        (record, case)
        for record in case_records(results)
        for case in record.result["cases"][:_MOST_CASES]
    ]
    for record, case in track(chosen, "drawing cases"):
        cell, true_class = record.cell, str(case["class"])
        who = [name for name in ("gnn", "memory") if name in case]
        columns = list(zip(*([float(p) for p in case[name]] for name in who), strict=True))
        most = sorted(range(len(columns)), key=lambda c: -max(columns[c]))[:_MOST_CLASSES]
        kept = [(c, str(case["classes"][c])) for c in sorted(most)]
        method = revision_title(cell.method, cell.revision)
        yield {
            "title": f"{dataset_title(cell.dataset)}, {method}, split {cell.seed}",
            "card": _card(case, true_class, f"class {true_class}"),
            "classes": [(name, name == true_class) for _, name in kept],
            "networks": [
                (network_title(w), network_color(w), [columns[c][k] for c, _ in kept])
                for k, w in enumerate(who)
            ],
            "attended": [
                _card(
                    each,
                    true_class,
                    f"class {each['class']}, weight {100 * float(each['weight']):.1f} %",
                )
                for each in case["attended"]
            ],
        }


def _card(graph: Mapping[str, Any], true_class: str, told: str) -> dict[str, Any]:
    """Draw a graph; those of the true class have the color of the case."""
    n, edges = int(graph["nodes"]), graph["edges"]
    size = f"{n:,} nodes, {len(edges):,} edges"
    drawn: Any = "Too large to draw."
    if n <= 2 * DRAWABLE:
        pairs = tuple((int(u), int(v)) for u, v in edges)
        sketch = Sketch(str(graph["graph"]), n, len(pairs), tuple(range(n)), pairs, ())
        color = "s2" if str(graph["class"]) == true_class else "muted"
        drawn = draw(sketch, [Mark(color)] * n)
    return {
        "name": f"Graph {graph['graph']}",
        "told": f"{told}; {size}.",
        "drawn": drawn,
    }
