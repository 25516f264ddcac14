"""Classify networkx graphs of which only a few have a label."""

from __future__ import annotations

import networkx as nx

import kgnn


def main() -> None:
    # Rings with a few shortcuts, and networks with hubs.
    rings = [nx.watts_strogatz_graph(20, 4, 0.2, seed=seed) for seed in range(60)]
    hubs = [nx.barabasi_albert_graph(20, 2, seed=seed) for seed in range(60)]
    graphs = [graph for pair in zip(rings, hubs, strict=True) for graph in pair]
    truth = ["ring", "hubs"] * 60

    labels = [name if row < 10 else None for row, name in enumerate(truth[:60])]
    validation = (graphs[60:80], truth[60:80])  # optional; for model selection only
    for method in ("gnn-sup", "wl"):
        model = kgnn.make(method).fit(graphs[:60], labels, validation=validation)
        print(f"{method}: accuracy {model.score(graphs[80:], truth[80:]):.2f} with 10 labels")

    new = nx.watts_strogatz_graph(25, 4, 0.3, seed=1000)
    for label, p in zip(model.classes_, model.predict_proba([new])[0], strict=True):
        print(f"new graph: {label} with probability {p:.2f}")


if __name__ == "__main__":
    main()
