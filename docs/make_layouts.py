"""Draw graphs by our layout and by two of networkx, side by side: docs/layouts.png.

Above each drawing are the processor time that the layout took and how close its nearest nodes are,
as a share of the mean length of an edge. ``python docs/make_layouts.py``
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
from scipy.spatial.distance import pdist

from kgnn.graphs.drawing import lay_out

Places = np.ndarray


def ours(graph: nx.Graph) -> Places:
    """Lay out by kgnn."""
    return lay_out(len(graph), list(graph.edges))


def kamada_kawai(graph: nx.Graph) -> Places:
    """Lay out by networkx, by distances as ours."""
    return np.array([place for _, place in sorted(nx.kamada_kawai_layout(graph).items())])


def spring(graph: nx.Graph) -> Places:
    """Lay out by networkx, by springs."""
    return np.array([place for _, place in sorted(nx.spring_layout(graph, seed=0).items())])


_LAYOUTS: dict[str, Callable[[nx.Graph], Places]] = {
    "kgnn": ours,
    "networkx, Kamada and Kawai": kamada_kawai,
    "networkx, spring": spring,
}


def graphs() -> dict[str, nx.Graph]:
    """Return graphs of the kinds that people have."""
    caves = nx.connected_caveman_graph(8, 6)
    return {
        "a tree of 300 nodes": nx.random_labeled_tree(300, seed=1),
        "rings in a row": nx.convert_node_labels_to_integers(nx.hexagonal_lattice_graph(2, 6)),
        "communities": nx.convert_node_labels_to_integers(caves),
    }


def draw() -> plt.Figure:
    """Return a figure with a row for each graph and a column for each layout."""
    figure, grid = plt.subplots(3, len(_LAYOUTS), figsize=(11, 10.5), layout="constrained")
    for row, (what, graph) in zip(grid, graphs().items(), strict=True):
        for axes, (name, layout) in zip(row, _LAYOUTS.items(), strict=True):
            layout(nx.path_graph(5))  # imports
            start = time.process_time()
            places = layout(graph)
            seconds = time.process_time() - start
            ends = places[np.array(graph.edges)]
            lengths = np.hypot(*(ends[:, 0] - ends[:, 1]).T)
            nearest = pdist(places).min() / lengths.mean()
            axes.plot(*ends.transpose(2, 1, 0), color="#8a939b", linewidth=0.8, zorder=1)
            axes.scatter(*places.T, s=600 / (len(places) + 40), color="#0072b2", zorder=2)
            axes.set_title(f"{name}: {seconds:.2f} s, nearest {nearest:.2f}", fontsize=9)
            axes.set_aspect("equal")
            axes.set_axis_off()
            print(f"{what}, {name}: {seconds:.2f} s, nearest nodes {nearest:.2f}")
    return figure


if __name__ == "__main__":
    draw().savefig(Path(__file__).with_name("layouts.png"), dpi=80)
