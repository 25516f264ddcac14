"""How fast features and kernels are: against GraKeL, and as graphs grow.

    python benchmarks/speed/kernels.py [DATASET ...] [-o build/speed-kernels.json]

Each ratio is CPU time of the peer over ours, on the same graphs in the same run, both from their
own graph format to the finished Gram matrix; nothing is cached in between. Times are the least of
several runs (ours) and of one or more (the peer's).
"""

from __future__ import annotations

import argparse
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from peers import PAPER, cpu_seconds, grakel_graphs, save, show

from kgnn.graphs.datasets.toy import random_graphs
from kgnn.graphs.graph import GraphDataset
from kgnn.graphs.loading import load
from kgnn.kernels.base import gram
from kgnn.kernels.graphlets import Graphlets
from kgnn.kernels.shortest_paths import ShortestPaths
from kgnn.kernels.weisfeiler_lehman import WeisfeilerLehman
from kgnn.threads import limit_threads

ITERATIONS = 3
# Where GraKeL's shortest paths and graphlets end within a minute or so.
SMALL = ("PROTEINS", "IMDB-B", "IMDB-BINARY", "IMDB-M", "IMDB-MULTI")


def fresh(graphs: GraphDataset) -> GraphDataset:
    """Return the same graphs without anything that an earlier run has derived from them."""
    return replace(graphs)


def against_grakel(name: str) -> dict[str, Any]:
    from grakel.kernels import VertexHistogram
    from grakel.kernels import WeisfeilerLehman as Peer

    graphs = load(name)
    peer_graphs = grakel_graphs(graphs)
    peer, expected = cpu_seconds(
        lambda: Peer(n_iter=ITERATIONS, base_graph_kernel=VertexHistogram).fit_transform(
            peer_graphs
        ),
        repeats=2 if graphs.n_arcs < 1_000_000 else 1,
    )
    ours, products = cpu_seconds(
        lambda: gram(WeisfeilerLehman(ITERATIONS).fit_transform(fresh(graphs))),
        repeats=15 if graphs.n_arcs < 1_000_000 else 3,
    )
    scale = np.abs(expected).max()
    return {
        "dataset": graphs.name,
        "graphs": len(graphs),
        "arcs": graphs.n_arcs,
        "ours (s)": ours,
        "GraKeL (s)": peer,
        "ratio": peer / ours,
        "largest difference": float(np.abs(products - expected).max() / scale),
    }


def paths_against_grakel(name: str) -> dict[str, Any]:
    from grakel.kernels import ShortestPath as Peer

    graphs = load(name)
    peer_graphs = grakel_graphs(graphs)
    has_labels = graphs.node_labels is not None
    peer, expected = cpu_seconds(
        lambda: Peer(with_labels=has_labels).fit_transform(peer_graphs), repeats=1
    )
    ours, products = cpu_seconds(
        lambda: gram(ShortestPaths().fit_transform(fresh(graphs))), repeats=5
    )
    # Without labels GraKeL counts every pair from both ends; with labels, those of equal ends do
    # so twice as often as the others, and the two matrices differ (tests compare them).
    difference = float(np.abs(4 * products - expected).max() / expected.max())
    return {
        "dataset": graphs.name,
        "ours (s)": ours,
        "GraKeL (s)": peer,
        "ratio": peer / ours,
        "largest difference": "" if has_labels else difference,
    }


def graphlets_against_grakel(name: str, n_samples: int = 200) -> dict[str, Any]:
    from grakel.kernels import GraphletSampling as Peer

    graphs = load(name)
    peer_graphs = grakel_graphs(graphs)
    peer, _ = cpu_seconds(
        lambda: Peer(k=4, sampling={"n_samples": n_samples}, random_state=0).fit_transform(
            peer_graphs
        ),
        repeats=1,
    )
    row: dict[str, Any] = {"dataset": graphs.name, "samples per graph": n_samples}
    for method in ("sample", "exact"):
        featurizer = Graphlets((4,), method=method, samples=n_samples)
        ours, _ = cpu_seconds(
            lambda each=featurizer: gram(each.fit_transform(fresh(graphs))), repeats=5
        )
        row[f"{method} (s)"] = ours
        row[f"GraKeL / {method}"] = peer / ours
    return {**row, "GraKeL (s)": peer}


def growth(n_graphs: int) -> dict[str, Any]:
    graphs = random_graphs(n_graphs, n_nodes=20, n_edges=50, n_node_labels=3)
    seconds, _ = cpu_seconds(
        lambda: WeisfeilerLehman(ITERATIONS).fit_transform(fresh(graphs)), repeats=2
    )
    tracemalloc.start()
    WeisfeilerLehman(ITERATIONS).fit_transform(fresh(graphs))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    n_edges = int(graphs.edge_counts.sum())
    return {
        "edges": n_edges,
        "features (s)": seconds,
        "ns per edge": 1e9 * seconds / n_edges,
        "peak memory / dataset": peak / graphs.nbytes,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("datasets", nargs="*", default=PAPER)
    parser.add_argument("-o", "--output", type=Path, default=Path("build/speed-kernels.json"))
    chosen = parser.parse_args()
    with limit_threads(1):
        peer = [against_grakel(name) for name in chosen.datasets]
        show(f"Weisfeiler-Lehman, {ITERATIONS} iterations: features and Gram matrix", peer)
        small = [name for name in chosen.datasets if name in SMALL]
        paths = [paths_against_grakel(name) for name in small]
        show("Shortest paths: features and Gram matrix", paths)
        graphlets = [graphlets_against_grakel(name) for name in small]
        show("Graphlets of four nodes: features and Gram matrix", graphlets)
        grown = [growth(n) for n in (2_200, 22_000, 220_000)]
        show("Growth: features of random graphs of 20 nodes", grown)
    save(
        chosen.output,
        {
            "against GraKeL": peer,
            "shortest paths": paths,
            "graphlets": graphlets,
            "growth": grown,
        },
    )


if __name__ == "__main__":
    main()
