"""``kgnn datasets``: which datasets have a name, and what is in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from kgnn.cli.show import err, out, print_json, progress_bars, table
from kgnn.progress import track


@dataclass(frozen=True)
class _Row:
    name: str
    kind: str
    graphs: int
    avg_nodes: float
    avg_edges: float
    classes: int
    here: bool


def datasets(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for machines.")] = False,
) -> None:
    """List the datasets; what is on this machine is measured, the rest as the catalog has it."""
    with progress_bars():
        rows = _rows()
    if as_json:
        shown = ("name", "graphs", "avg_nodes", "avg_edges", "classes")
        print_json([{key: getattr(row, key) for key in shown} for row in rows])
        return
    grid = table(
        "Datasets (nodes and edges: averages per graph)",
        ("name", "left"),
        ("kind", "left"),
        ("graphs", "right"),
        ("nodes", "right"),
        ("edges", "right"),
        ("classes", "right"),
        ("here", "left"),
    )
    for row in rows:
        grid.add_row(
            row.name,
            row.kind,
            str(row.graphs),
            f"{row.avg_nodes:.2f}",
            f"{row.avg_edges:.2f}",
            str(row.classes),
            "yes" if row.here else "no",
        )
    out().print(grid)
    err().print(
        "What is not here is downloaded on first use; set KGNN_DATASETS to a folder of TU zips to "
        "use your own copies. Paths work as well: kgnn run wl graphs.jsonl",
        highlight=False,
    )


def _rows() -> list[_Row]:
    from kgnn.graphs.datasets import python_functions
    from kgnn.graphs.datasets.catalog import ENTRIES
    from kgnn.graphs.datasets.sources import local_path, open_entry
    from kgnn.graphs.graph import GraphDataset

    def measured(dataset: GraphDataset, kind: str) -> _Row:
        return _Row(
            name=dataset.name,
            kind=kind,
            graphs=len(dataset),
            avg_nodes=round(float(dataset.graph_sizes.mean()), 2),
            avg_edges=round(float(dataset.edge_counts.mean()), 2),
            classes=dataset.n_classes,
            here=True,
        )

    rows = []
    for entry in track(ENTRIES, "reading datasets"):
        if local_path(entry) is not None:
            rows.append(measured(open_entry(entry), entry.kind))
        else:
            sizes = (entry.graphs, entry.avg_nodes, entry.avg_edges, entry.classes)
            rows.append(_Row(entry.name, entry.kind, *sizes, here=False))
    return [*rows, measured(python_functions.build(), "source code")]
