"""The Weisfeiler-Lehman optimal assignment kernel, as explicit features.

The kernel pairs the nodes of two graphs so that paired nodes share as many colors, from depth 0 on,
as possible. Because deeper colors refine the earlier ones, the best pairing is worth the sum over
all colors of the smaller of the two counts, and the smaller of two counts is the inner product of
their unary codes. So the features are colors that are numbered through within each graph: the
first node of a color, the second, and so on.

References
----------
Kriege, Giscard & Wilson, *On valid optimal assignment kernels and applications to graph
classification*, NeurIPS 2016.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kgnn.graphs.graph import GraphDataset
from kgnn.kernels.colors import Colors, mix
from kgnn.kernels.weisfeiler_lehman import WeisfeilerLehman

_STEP = np.uint64(0xA0761D6478BD642F)


class OptimalAssignment(WeisfeilerLehman):
    """Count which nodes of each color there are: the first, the second, and so on.

    Inner products of the features are values of the kernel. See `WeisfeilerLehman` for the
    parameters; ``counts`` has nothing to transform here.

    Examples
    --------
    >>> from kgnn.graphs.packing import pack
    >>> path = pack("path", [3], [0, 1], [1, 2])
    >>> triangle = pack("triangle", [3], [0, 1, 2], [1, 2, 0])
    >>> kernel = OptimalAssignment(1, start="constant").fit(path)
    >>> kernel.gram(path, triangle)  # three nodes at depth 0, one at depth 1
    array([[4.]])
    """

    def colorings(self, graphs: GraphDataset) -> Iterator[Colors]:
        """Yield the colors of every level, numbered through within each graph."""
        for coloring in super().colorings(graphs):
            yield mix(coloring + _STEP * _number_within(graphs, coloring))


def _number_within(graphs: GraphDataset, coloring: Colors) -> Colors:
    """Return the place of each node among the nodes of its color in its graph, from 0."""
    order = np.lexsort((coloring, graphs.node_graphs))
    color, graph = coloring[order], graphs.node_graphs[order]
    begins = np.ones(len(order), dtype=np.bool_)
    begins[1:] = (color[1:] != color[:-1]) | (graph[1:] != graph[:-1])
    place = np.arange(len(order))
    place -= np.maximum.accumulate(np.where(begins, place, 0))
    number = np.empty(len(order), dtype=np.uint64)
    number[order] = place
    return number
