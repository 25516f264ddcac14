"""What bonds and attributes add to the time of a fit.

    python benchmarks/speed/carried.py [DATASET ...] [--methods gnn-sup kgnn] [--graphs 1000]

The first graphs of a random order, a tenth of them labeled, no validation graphs, all settings the
defaults. Each method is fitted with and without what edges and nodes carry, one way after the other
and in opposite order the next time; the least CPU time of each counts. Labels of nodes are always
used.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
from peers import save, show

from kgnn.estimator.registry import make
from kgnn.graphs.graph import GraphDataset
from kgnn.graphs.loading import load
from kgnn.threads import limit_threads

LABELED = 0.1
WAYS = {
    "neither": {"use_edge_labels": False, "use_node_attributes": False},
    "bonds": {"use_node_attributes": False},
    "attributes": {"use_edge_labels": False},
    "both": {},
}


def seconds_of(method: str, graphs: GraphDataset, way: str) -> float:
    """Return the CPU time of a fit."""
    labels = graphs.targets.copy()
    labels[round(LABELED * len(graphs)) :] = -1
    started = time.process_time()
    make(method, random_state=0, **WAYS[way]).fit(graphs, labels)
    return time.process_time() - started


def compare(name: str, method: str, n_graphs: int, repeats: int) -> dict[str, Any]:
    """Return one line of the table."""
    every = load(name)
    graphs = every[np.random.default_rng(0).permutation(len(every))[:n_graphs]]
    seconds_of(method, graphs[:100], "both")  # what is imported and computed once
    best = dict.fromkeys(WAYS, float("inf"))
    for turn in range(repeats):
        for way in list(WAYS)[:: -1 if turn % 2 else 1]:
            best[way] = min(best[way], seconds_of(method, graphs, way))
    return {
        "dataset": graphs.name,
        "method": method,
        "graphs": len(graphs),
        **{f"{way} (s)": seconds for way, seconds in best.items()},
        "bonds / neither": best["bonds"] / best["neither"],
        "both / attributes": best["both"] / best["attributes"],
        "both / neither": best["both"] / best["neither"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("datasets", nargs="*", default=["fgfr1"])
    parser.add_argument("--methods", nargs="+", default=["gnn-sup", "kgnn"])
    parser.add_argument("--graphs", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("-o", "--output", type=Path, default=Path("build/speed-carried.json"))
    chosen = parser.parse_args()
    with limit_threads(1):
        rows = [
            compare(name, method, chosen.graphs, chosen.repeats)
            for name in chosen.datasets
            for method in chosen.methods
        ]
    show("A fit with and without what edges and nodes carry, 10 % labels", rows)
    save(chosen.output, {"carried": rows})


if __name__ == "__main__":
    main()
