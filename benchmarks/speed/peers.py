"""What speed benchmarks share: CPU time, the peers' input formats, tables and JSON."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from rich.console import Console
from rich.table import Table

from kgnn.files import write_text
from kgnn.graphs.graph import GraphDataset

T = TypeVar("T")

PAPER = ["PROTEINS", "DD", "IMDB-B", "IMDB-M", "REDDIT-B", "REDDIT-M-5k", "COLLAB"]


def cpu_seconds(work: Callable[[], T], repeats: int) -> tuple[float, T]:
    """Return the least CPU time of several runs, all threads together, and the last result."""
    best = float("inf")
    for _ in range(repeats):
        started = time.process_time()
        result = work()
        best = min(best, time.process_time() - started)
    return best, result


def grakel_graphs(graphs: GraphDataset) -> list[Any]:
    """Return graphs as GraKeL takes them: adjacency dictionaries and node labels."""
    labels = graphs.degrees if graphs.node_labels is None else graphs.node_labels
    peers = []
    for graph in graphs:
        first = int(graphs.node_offsets[graph.row])
        adjacency: dict[int, dict[int, float]] = {v: {} for v in range(graph.n_nodes)}
        for u, v in graph.arcs.tolist():
            adjacency[u][v] = 1.0
        own = labels[first : first + graph.n_nodes].tolist()
        peers.append([adjacency, dict(enumerate(own))])
    return peers


def show(title: str, rows: list[dict[str, Any]]) -> None:
    """Print rows as a table."""
    table = Table(title=title, title_justify="left")
    for heading in rows[0]:
        table.add_column(heading, justify="right")
    for row in rows:
        table.add_row(*(f"{v:.4g}" if isinstance(v, float) else str(v) for v in row.values()))
    Console(width=140).print(table)


def save(path: Path, results: dict[str, Any]) -> None:
    """Write all results as JSON."""
    write_text(path, json.dumps(results, indent=2) + "\n")
    print(f"written to {path}")
