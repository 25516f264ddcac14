"""How time and memory grow with the number of graphs: features, fit and prediction.

    python benchmarks/speed/scaling.py [--largest 1000000] [-o build/speed-scaling.json]

Random graphs of 20 nodes. Features are computed as a user would stream them: the vocabulary comes
from 1,000 graphs, the rest passes in chunks. The model is KGNN with one round, fitted on 1,000
labeled and 1,000 unlabeled graphs, then asked about all. Memory is the peak of the process above
where it stood before, the graphs themselves not counted.
"""

from __future__ import annotations

import argparse
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from peers import cpu_seconds, save, show

from kgnn.graphs.datasets.toy import random_graphs
from kgnn.graphs.graph import GraphDataset
from kgnn.kernels.weisfeiler_lehman import WeisfeilerLehman
from kgnn.methods.kgnn import KGNN
from kgnn.threads import limit_threads

SMALLEST, CHUNK = 1_000, 50_000


def resident_mib() -> float:
    """Return the memory that this process occupies now."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096 / 2**20


def with_peak(work: Callable[[], Any]) -> tuple[float, float]:
    """Return CPU seconds, and by how many MiB memory rose meanwhile."""
    before = highest = resident_mib()
    done = threading.Event()

    def watch() -> None:
        nonlocal highest
        while not done.wait(0.02):
            highest = max(highest, resident_mib())

    watcher = threading.Thread(target=watch)
    watcher.start()
    seconds, _ = cpu_seconds(work, 1)
    done.set()
    watcher.join()
    return seconds, highest - before


def features_in_chunks(graphs: GraphDataset, features: WeisfeilerLehman) -> int:
    """Return the number of entries of all chunks."""
    return sum(features.transform(graphs[a : a + CHUNK]).nnz for a in range(0, len(graphs), CHUNK))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--largest", type=int, default=1_000_000)
    parser.add_argument("-o", "--output", type=Path, default=Path("build/speed-scaling.json"))
    chosen = parser.parse_args()
    rows = []
    with limit_threads(1):
        train = random_graphs(2 * SMALLEST, n_nodes=20, n_edges=25, n_node_labels=3, seed=1)
        labels = np.random.default_rng(0).integers(0, 2, len(train))
        labels[SMALLEST:] = -1
        started = time.process_time()
        model = KGNN(rounds=1).fit(train, labels)
        print(f"fit on {SMALLEST} labels: {time.process_time() - started:.1f} s of CPU time")
        features = WeisfeilerLehman(3).fit(train[:SMALLEST])
        n_graphs = SMALLEST
        while n_graphs <= chosen.largest:
            graphs = random_graphs(n_graphs, n_nodes=20, n_edges=25, n_node_labels=3)
            featured, features_peak = with_peak(lambda g=graphs: features_in_chunks(g, features))
            predicted, predict_peak = with_peak(lambda g=graphs: model.predict_proba(g))
            rows.append(
                {
                    "graphs": n_graphs,
                    "dataset (MiB)": graphs.nbytes / 2**20,
                    "features (µs per graph)": 1e6 * featured / n_graphs,
                    "peak (MiB)": features_peak,
                    "prediction (µs per graph)": 1e6 * predicted / n_graphs,
                    "peak of prediction (MiB)": predict_peak,
                }
            )
            n_graphs *= 10
    show("Growth: Weisfeiler-Lehman features and predictions of KGNN", rows)
    save(chosen.output, {"scaling": rows})


if __name__ == "__main__":
    main()
