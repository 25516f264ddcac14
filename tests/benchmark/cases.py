"""A case study as a record keeps it, made up."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kgnn.benchmark.record import Record
from tests.benchmark.stores import record as done
from tests.benchmark.stores import records


def graph(number: Any, name: str, n_nodes: int = 6, **more: Any) -> dict[str, Any]:
    """A ring of nodes with a class."""
    edges = [[i, (i + 1) % n_nodes] for i in range(n_nodes)]
    return {"graph": number, "class": name, "nodes": n_nodes, "edges": edges, **more}


def case(name: str = "ring", **more: Any) -> dict[str, Any]:
    """One case: p says the second class, q rightly the first."""
    attended = [graph(i, name if i else "other", weight=0.5 / (i + 1)) for i in range(3)]
    found = graph(7, name, gnn=[0.2, 0.8], memory=[0.7, 0.3], attended=attended)
    return {**found, "classes": [name, "other"], **more}


def record_with_cases(*cases: dict[str, Any], dataset: str = "DD", seed: int = 0) -> Record:
    """A record of KGNN that kept these cases."""
    [like] = records(["kgnn"], [dataset], [seed])
    own = done(replace(like.cell, cases=len(cases)))
    return replace(own, result={**own.result, "cases": list(cases)})
