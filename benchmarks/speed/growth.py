"""How time and memory of a KGNN fit grow with the number of graphs.

    python benchmarks/speed/growth.py [--data DATASET ...] [--sizes 1000 5000 20000 40000]

A tenth of the graphs are labeled, there are no validation graphs, and all settings are the
defaults. The graphs are those of datasets or files of two classes, taken together, the first of a
random order; or random ones of 20 nodes and random classes. Of these and of several datasets
together, nothing but the time is of interest. Each fit runs in a process of its own, whose peak
memory is shown.
"""

from __future__ import annotations

import argparse
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from peers import save, show

from kgnn.evaluation.protocol import peak_mib
from kgnn.graphs.datasets.toy import random_graphs
from kgnn.graphs.graph import GraphDataset
from kgnn.graphs.loading import load
from kgnn.graphs.packing import concatenate
from kgnn.methods.kgnn import KGNN
from kgnn.threads import limit_threads

LABELED = 0.1


def graphs_of(data: list[str], n_graphs: int) -> GraphDataset:
    if not data:
        graphs = random_graphs(n_graphs, n_nodes=20, n_edges=25, n_node_labels=3)
        return graphs.with_targets(np.random.default_rng(0).integers(0, 2, n_graphs))
    parts = [replace(load(each, on_error=lambda error: None), graph_names=None) for each in data]
    # Each table has other names for its two classes.
    every = concatenate([replace(each, class_names=("0", "1")) for each in parts])
    return every[np.random.default_rng(0).permutation(len(every))[:n_graphs]]


def one_fit(data: list[str], n_graphs: int) -> dict[str, Any]:
    warnings.simplefilter("ignore")  # about molecules that cannot be read
    started = time.process_time()
    graphs = graphs_of(data, n_graphs)
    reading = time.process_time() - started
    labels = graphs.targets.copy()
    labels[round(LABELED * len(graphs)) :] = -1
    before = peak_mib()
    with limit_threads(1):
        started = time.process_time()
        KGNN().fit(graphs, labels)
        seconds = time.process_time() - started
    return {
        "graphs": len(graphs),
        "read (s)": reading,
        "CPU (s)": seconds,
        "ms per graph": 1000 * seconds / len(graphs),
        "peak (MiB)": peak_mib(),
        "of that before the fit (MiB)": before,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="*", default=[], help="names or files, of two classes each")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 5000, 20000, 40000])
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
