"""``kgnn datasets``: the named datasets and their sizes."""

from __future__ import annotations

from typing import Any

from kgnn.cli.own_graphs import JsonOption
from kgnn.cli.show import err, out, print_json, progress_bars, table
from kgnn.progress import track


def datasets(as_json: JsonOption = False) -> None:
    """List the named datasets: measured if on this machine, otherwise from the catalog.

    For example: kgnn datasets --json
    """
    with progress_bars():
        rows = _rows()
    if as_json:
        print_json([{k: v for k, v in row.items() if k not in ("kind", "here")} for row in rows])
        return
    headings = ("name", "kind", ">graphs", ">nodes", ">edges", ">classes", "here")
    grid = table("Datasets (nodes and edges: averages per graph)", *headings)
    for row in rows:
        sizes = (f"{row['avg_nodes']:.2f}", f"{row['avg_edges']:.2f}", str(row["classes"]))
        here = "yes" if row["here"] else "no"
        grid.add_row(row["name"], row["kind"], str(row["graphs"]), *sizes, here)
    out().print(grid)
    err().print(
        "Missing datasets are downloaded on first use, except for tables of molecules. To use "
        "your own copies, set KGNN_DATASETS to a folder of TU zips and tables. Paths work, too: "
        "kgnn run wl graphs.jsonl",
        highlight=False,
    )


def _rows() -> list[dict[str, Any]]:
    from kgnn.graphs.datasets import python_functions
    from kgnn.graphs.datasets.catalog import ENTRIES
    from kgnn.graphs.datasets.sources import local_path, open_entry
    from kgnn.graphs.graph import GraphDataset

    def measured(dataset: GraphDataset, kind: str) -> dict[str, Any]:
        return {
            "name": dataset.name,
            "kind": kind,
            "graphs": len(dataset),
            "avg_nodes": round(float(dataset.graph_sizes.mean()), 2),
            "avg_edges": round(float(dataset.edge_counts.mean()), 2),
            "classes": dataset.n_classes,
            "here": True,
        }

    rows = []
    for entry in track(ENTRIES, "reading datasets"):
        if local_path(entry) is not None:
            rows.append(measured(open_entry(entry), entry.kind))
        else:
            told = ("name", "kind", "graphs", "avg_nodes", "avg_edges", "classes")
            rows.append({**{key: getattr(entry, key) for key in told}, "here": False})
    return [*rows, measured(python_functions.build(), "source code")]
