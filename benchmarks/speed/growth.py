"""How time and memory of a KGNN fit grow with the number of graphs.

    python benchmarks/speed/growth.py [--data molecules.csv] [--sizes 1000 4000 16000 40000]

A tenth of the graphs are labeled, there are no validation graphs, and all settings are the
defaults. The graphs are those of a file, the first of a random order, or random ones of 20 nodes
and random classes, of which nothing but the time is of interest. Each fit runs in a process of its
own, whose peak memory is shown.
"""

from __future__ import annotations

import argparse
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from peers import save, show

from kgnn.evaluation.protocol import peak_mib
from kgnn.graphs.datasets.toy import random_graphs
from kgnn.graphs.graph import GraphDataset
from kgnn.graphs.loading import load
from kgnn.methods.kgnn import KGNN
from kgnn.threads import limit_threads

LABELED = 0.1


def graphs_of(data: str | None, n_graphs: int) -> GraphDataset:
    if data is None:
        graphs = random_graphs(n_graphs, n_nodes=20, n_edges=25, n_node_labels=3)
        return graphs.with_targets(np.random.default_rng(0).integers(0, 2, n_graphs))
    every = load(data, on_error="skip")
    return every[np.random.default_rng(0).permutation(len(every))[:n_graphs]]


def one_fit(data: str | None, n_graphs: int) -> dict[str, Any]:
    warnings.simplefilter("ignore")  # about molecules that cannot be read
    graphs = graphs_of(data, n_graphs)
    labels = graphs.targets.copy()
    labels[round(LABELED * len(graphs)) :] = -1
    before = peak_mib()
    with limit_threads(1):
        started = time.process_time()
        KGNN().fit(graphs, labels)
        seconds = time.process_time() - started
    return {
        "graphs": len(graphs),
        "CPU (s)": seconds,
        "ms per graph": 1000 * seconds / len(graphs),
        "peak (MiB)": peak_mib(),
        "of that before the fit (MiB)": before,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="a file of labeled graphs")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 4000, 16000, 40000])
    parser.add_argument("-o", "--output", type=Path, default=Path("build/speed-growth.json"))
    chosen = parser.parse_args()
    rows = []
    for size in chosen.sizes:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as alone:
            rows.append(alone.submit(one_fit, chosen.data, size).result())
        print(rows[-1], flush=True)
    show("Growth of a fit of KGNN, 10 % labels", rows)
    save(chosen.output, {"growth": rows})


if __name__ == "__main__":
    main()
