"""The graphs of a project: their names, drawings, and keys that do not depend on the file."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from markupsafe import Markup
from threadpoolctl import threadpool_limits

from kgnn.graphs.collector import named
from kgnn.graphs.drawing import Sketch, colors_by_frequency
from kgnn.graphs.graph import GraphDataset
from kgnn.graphs.molecules import written_out
from kgnn.graphs.summary import draw_whole, is_hairball
from kgnn.kernels.colors import name_colors

LARGE, SMALL = (520.0, 400.0), (220.0, 170.0)  # width and height of drawings
_KEY_BYTES = 12
_DRAWINGS_KEPT = 2000


class Pool:
    """All graphs of a project, each with a key computed from its content.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> pool = Pool(cycles_and_trees(4))
    >>> pool.row_of[pool.keys[2]], pool.sizes(2)
    (2, ('10 nodes', '10 edges'))
    """

    def __init__(
        self, graphs: GraphDataset, cells: Mapping[str, Mapping[str, str]] | None = None
    ) -> None:
        self.graphs = named(graphs)
        self.keys = list(content_keys(self.graphs))
        self.row_of = {key: row for row, key in enumerate(self.keys)}
        self.names = [graph.name for graph in self.graphs]
        self.cells = cells or {}  # cells of a table of graphs, by name and column
        self._colors = _label_colors(self.graphs)
        self.drawing = lru_cache(maxsize=_DRAWINGS_KEPT)(self._drawing)

    def __len__(self) -> int:
        return len(self.keys)

    def sizes(self, row: int) -> tuple[str, str]:
        """Return the numbers of nodes and edges in words."""
        return Sketch.of(self.graphs[row]).size

    def _drawing(self, row: int, is_large: bool = False) -> Markup:
        """Draw a graph as SVG."""
        width, height = LARGE if is_large else SMALL
        with threadpool_limits(1):  # layout matrices are small; more threads only wait
            return draw_whole(self.graphs[row], colors=self._colors, width=width, height=height)

    def card(self, row: int, is_large: bool = False) -> dict[str, Any]:
        """Return what a page shows of a graph, without predictions."""
        graph = self.graphs[row]
        return {
            "graph": self.keys[row],
            "name": self.names[row],
            "size": ", ".join(self.sizes(row)),
            "summarized": is_hairball(graph),
            "cells": dict(self.cells.get(self.names[row], {})),
            "drawing": str(self.drawing(row, is_large)),
        }


def _label_colors(graphs: GraphDataset) -> dict[str, str]:
    """Assign each node label the same color in all drawings."""
    written = written_out(graphs)
    if written.node_labels is None:
        return {}
    names = written.node_label_names
    counts = np.bincount(written.node_labels, minlength=len(names)).tolist()
    return colors_by_frequency(dict(zip(names, counts, strict=True)))


def content_keys(graphs: GraphDataset) -> Iterator[str]:
    """Yield a key for each graph: a hash of its nodes and edges with their labels and attributes.

    Names, classes and other graphs do not matter. The second of two equal graphs gets the key of
    the first with ``.2`` appended, and so on.
    """
    seen: Counter[str] = Counter()
    labels = _by_name(graphs.node_labels, graphs.node_label_names)
    kinds = _by_name(graphs.arc_kinds, graphs.arc_kind_names)
    of_nodes = [array for array in (labels, graphs.node_attributes) if array is not None]
    of_arcs = [kinds, graphs.edge_weights, graphs.edge_attributes]
    for graph in graphs:
        digest = hashlib.blake2b(digest_size=_KEY_BYTES)
        digest.update(f"{graph.n_nodes} {len(graph.arcs)} ".encode())
        digest.update(np.ascontiguousarray(graph.arcs).data)
        for number, array in enumerate(of_nodes):
            digest.update(f"node {number}".encode())
            digest.update(np.ascontiguousarray(array[graph.nodes]).data)
        for number, array in enumerate(of_arcs):
            if array is not None:
                digest.update(f"arc {number}".encode())
                digest.update(np.ascontiguousarray(array[graph.arc_slice]).data)
        key = digest.hexdigest()
        seen[key] += 1
        yield key if seen[key] == 1 else f"{key}.{seen[key]}"


def _by_name(codes: Any, names: tuple[str, ...]) -> Any:
    """Return numbers for labels that depend on the labels' names, not on their codes."""
    return None if codes is None or not names else name_colors(names, "label")[codes]
