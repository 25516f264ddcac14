"""How much message passing is left when nodes of one color are computed once.

    python benchmarks/speed/colors.py [DATASET ...] [-o build/speed-colors.json]

Rows go through the network, entries are summed; both over three layers. *By graph* is what
`kgnn.engine.fast.quotients` does. *By batch* and *by dataset* is what it would be if the graphs
of a random batch of 32, or all graphs, shared their colors.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from peers import PAPER, save, show

from kgnn.engine.fast.quotients import ColorBatches
from kgnn.engine.node_features import NodeFeatures
from kgnn.graphs.graph import GraphDataset
from kgnn.graphs.loading import load

LAYERS = 3


def joined(graphs: GraphDataset, size: int) -> GraphDataset:
    """Return as one graph each ``size`` graphs, in random order, so that they share colors."""
    shuffled = graphs[np.random.default_rng(0).permutation(len(graphs))]
    offsets = np.append(shuffled.node_offsets[:-1:size], shuffled.n_nodes)
    unknown = np.full(len(offsets) - 1, -1)
    return replace(shuffled, node_offsets=offsets, targets=unknown, graph_names=None)


def work(graphs: GraphDataset) -> dict[str, Any]:
    """Count rows and entries of all layers."""
    features = NodeFeatures.of(graphs)
    result: dict[str, Any] = {
        "dataset": graphs.name,
        "rows by node": LAYERS * graphs.n_nodes,
        "entries by node": LAYERS * graphs.n_arcs,
    }
    for way, size in (("by graph", 1), ("by batch", 32), ("by dataset", len(graphs))):
        each = joined(graphs, size)
        shrunk = ColorBatches(each, features.kinds(each), features.vectors, LAYERS)
        result[f"rows {way}"] = int(shrunk.n_rows[:, 1:].sum())
        result[f"entries {way}"] = int(shrunk.n_entries.sum())
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("datasets", nargs="*", default=PAPER)
    parser.add_argument("-o", "--output", type=Path, default=Path("build/speed-colors.json"))
    chosen = parser.parse_args()
    rows = [work(load(name)) for name in chosen.datasets]
    show(f"Rows and sums of {LAYERS} layers", rows)
    save(chosen.output, {"work": rows})


if __name__ == "__main__":
    main()
