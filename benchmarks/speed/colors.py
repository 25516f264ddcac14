"""How much message passing is left when nodes of one color are computed once.

    python benchmarks/speed/colors.py [DATASET ...] [-o results/speed-colors.json]

Rows go through the network, entries are summed; both over three layers. *By graph* is what
`kgnn.nn.quotients` does, *by dataset* what it would be if graphs shared their colors.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from peers import PAPER, save, show

from kgnn.graphs.graph import GraphDataset
from kgnn.graphs.loading import load
from kgnn.nn.node_features import NodeFeatures
from kgnn.nn.quotients import ColorBatches

LAYERS = 3


def as_one_graph(graphs: GraphDataset) -> GraphDataset:
    """Return all graphs as a single one, whose parts share their colors."""
    return replace(
        graphs,
        node_offsets=graphs.node_offsets[[0, -1]],
        targets=np.array([-1]),
        graph_names=None,
    )


def work(graphs: GraphDataset) -> dict[str, Any]:
    """Count rows and entries of all layers."""
    features = NodeFeatures.of(graphs)
    result: dict[str, Any] = {
        "dataset": graphs.name,
        "rows by node": LAYERS * graphs.n_nodes,
        "entries by node": LAYERS * graphs.n_arcs,
    }
    for way, each in (("by graph", graphs), ("by dataset", as_one_graph(graphs))):
        shrunk = ColorBatches(each, features.kinds(each), features.vectors, LAYERS)
        result[f"rows {way}"] = int(shrunk.counts.sizes[1:].sum())
        result[f"entries {way}"] = int(shrunk.columns.sizes[::2].sum())
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("datasets", nargs="*", default=PAPER)
    parser.add_argument("-o", "--output", type=Path, default=Path("results/speed-colors.json"))
    chosen = parser.parse_args()
    rows = [work(load(name)) for name in chosen.datasets]
    show(f"Rows and sums of {LAYERS} layers", rows)
    save(chosen.output, {"work": rows})


if __name__ == "__main__":
    main()
