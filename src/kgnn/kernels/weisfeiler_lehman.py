"""Weisfeiler-Lehman subtree features: how often each color occurs in each graph, depth by depth.

Beside the exact colors there are coarse ones, for neighborhoods that need only be roughly alike.

References
----------
Shervashidze et al., *Weisfeiler-Lehman graph kernels*, JMLR 12, 2011.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from kgnn.errors import GraphDataError, ParameterError
from kgnn.graphs.graph import Floats, GraphDataset, Ints
from kgnn.kernels.attributes import (
    Scaling,
    cell_ranges,
    edge_numbers,
    learn_cells,
    means_at_nodes,
    name_cells,
    nearest,
)
from kgnn.kernels.colors import (
    CHUNK,
    Colors,
    mix,
    name_colors,
    neighbor_sums,
    refine,
    resolve_start,
    row_chunks,
    start_colors,
)
from kgnn.kernels.counted import CountedFeatures, Counts, count_colors
from kgnn.kernels.edge_kinds import EdgeKinds

# Fixed-point unit of logarithms.
FIXED_POINT = 1 << 16
_COARSE_LEVELS = 3
# A domain of the hash, as those in `kgnn.kernels.colors`.
_CELL = np.uint64(0xA24BAED4963EE407)


@dataclass(eq=False, repr=False)
class WeisfeilerLehman(CountedFeatures):
    """Count Weisfeiler-Lehman colors.

    Colors are content hashes (see `kgnn.kernels.colors`), so `fit` learns nothing but the list of
    colors that become columns. Graphs seen later, in any process, get the same columns.

    Parameters
    ----------
    iterations : int
        Depth h; columns are the colors of depths 0 to h.
    start : {"auto", "labels", "degree", "constant"}
        What a node looks like at depth 0; ``auto`` takes labels where there are any, else what
        ``unlabeled`` says.
    unlabeled : {"degree", "constant"}
        Whether nodes without labels start from their degree or all alike, with ``start="auto"``.
    edge_labels : bool
        Whether edges of different labels and directions make a difference, and means of their
        weights and attributes at nodes, where the graphs given to `fit` have them.
    attributes : tuple of int
        Numbers of cells that nodes are put into by their continuous attributes, where the graphs
        given to `fit` have some; the cells of each resolution are colors to start from, beside
        those of ``start``. See `kgnn.kernels.attributes`.
    coarse : tuple of float
        Widths of coarse colors to count as well, three levels each; see `coarse_colors`.
    min_df, counts, normalize, unseen
        See `CountedFeatures`. Levels are depths, then coarse levels, then the depths of each
        number of cells.

    Attributes
    ----------
    vocabulary_, levels_, scales_
        See `CountedFeatures`.
    start_ : str
        What ``auto`` turned out to be.
    edge_kinds_ : EdgeKinds
        What distinguishes edges, see `kgnn.kernels.edge_kinds`.
    widths_ : tuple of int
        How many attributes of nodes, and weights and attributes of edges, are put into cells.
    scaling_ : tuple of tuple of float
        Middles and distances of the attributes, see `kgnn.kernels.attributes.Scaling`.
    cells_ : list of (n_cells, n_attributes) float64
        Centers of the cells of each resolution; empty where there are no attributes.
    ranges_ : list of (n_cells, n_attributes, 2) float64
        Smallest and largest attributes of the training nodes in each cell, as measured.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> graphs = cycles_and_trees(20)
    >>> wl = WeisfeilerLehman(iterations=2, normalize="graph").fit(graphs[:10])
    >>> wl.gram(graphs[10:12], graphs[:3]).shape
    (2, 3)
    """

    iterations: int = 3
    _: KW_ONLY
    start: str = "auto"
    unlabeled: str = "degree"
    edge_labels: bool = True
    attributes: tuple[int, ...] = (4, 16, 64)
    coarse: tuple[float, ...] = ()
    min_df: int = 1
    counts: str = "raw"
    normalize: str | None = None
    unseen: str = "drop"

    def occurrences(self, feature: int, graphs: GraphDataset) -> Ints:
        """Return the nodes, numbered over all graphs, whose color is a given column."""
        level, color = self._color_of(feature)
        coloring = next(islice(self.colorings(graphs), level, None))
        return np.flatnonzero(coloring == color)

    def describe(self, feature: int, graphs: GraphDataset) -> str:
        """Write out the rooted subtree behind a column, from a node of ``graphs`` that has it."""
        nodes = self.occurrences(feature, graphs)
        if len(nodes) == 0:
            raise ParameterError(f"no node of '{graphs.name}' has the color of feature {feature}")
        level, _ = self._color_of(feature)
        node, names = int(nodes[0]), None
        if level > self.iterations:
            level -= self.iterations + 1 + _COARSE_LEVELS * len(self.coarse)
            if level < 0:
                raise ParameterError(
                    f"feature {feature} is a coarse color, which has no one subtree"
                )
            resolution, level = divmod(level, self.iterations + 1)
            names = self._cell_names(graphs, resolution)
        start, edge_labels = self.start_, bool(self.edge_kinds_.names)
        return subtree(graphs, node, level, start=start, edge_labels=edge_labels, names=names)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.str_]:
        """Name the columns by depth and color, such as ``wl1_9f3c…``."""
        check_is_fitted(self, "vocabulary_")
        names: list[str] = []
        for depth, vocabulary in enumerate(self.vocabulary_):
            names += [f"wl{depth}_{color:016x}" for color in vocabulary.tolist()]
            names += [f"wl{depth}_unseen"] * (self.unseen == "count")
        return np.array(names, dtype=np.str_)

    def require_sound(self) -> None:
        """Refuse what a file says of attributes, if it does not belong together."""
        super().require_sound()
        if not hasattr(self, "vocabulary_"):
            return
        cells, scaling, n = self.cells_, self.scaling_, sum(self.widths_)
        is_counted = isinstance(self.widths_, tuple) and list(map(type, self.widths_)) == [int, int]
        expected = [(len(each), n) for each in cells]
        if (
            not is_counted
            or not isinstance(self.edge_kinds_, EdgeKinds)
            or not isinstance(scaling, tuple)
            or len(cells) != (len(self.attributes) if n else 0)
            or [len(each) for each in scaling] != ([n, n] if cells else [])
            or not all(type(number) is float for each in scaling for number in each)
            or [each.shape for each in cells] != expected
            or any(each.dtype != np.float64 for each in cells)
            or (cells and [each.shape for each in self.ranges_] != [(*s, 2) for s in expected])
            or (cells and any(each.dtype != np.float64 for each in self.ranges_))
        ):
            raise ValueError("the cells of attributes do not belong together")

    # -- inside -----------------------------------------------------------------------------------

    def _start(self, graphs: GraphDataset) -> None:
        if self.iterations < 0:
            raise ParameterError(f"WeisfeilerLehman needs iterations ≥ 0, got {self.iterations}.")
        self.start_ = resolve_start(graphs, self.start, self.unlabeled)
        self.edge_kinds_ = EdgeKinds()
        if self.edge_labels:
            self.edge_kinds_ = EdgeKinds.of(graphs, numbers=False)
        self.scaling_: tuple[tuple[float, ...], ...] = ()
        self.cells_: list[Floats] = []
        found = graphs.node_attributes, edge_numbers(graphs) if self.edge_labels else None
        self.widths_ = tuple(0 if each is None else each.shape[1] for each in found)
        if self.attributes and any(self.widths_):
            numbers = self._numbers(graphs)
            scaling = Scaling.of(numbers)
            self.scaling_ = scaling.middles, scaling.distances
            scaled = scaling.scaled(numbers)
            self.cells_ = [learn_cells(scaled, n_cells) for n_cells in self.attributes]
            self.ranges_ = [
                cell_ranges(numbers, nearest(scaled, centers), len(centers))
                for centers in self.cells_
            ]

    def _numbers(self, graphs: GraphDataset) -> Floats:
        """Return attributes of nodes beside the means of what their edges have."""
        parts, (n_of_nodes, n_of_edges) = [], self.widths_
        if n_of_nodes and graphs.node_attributes is not None:
            parts.append(graphs.node_attributes)
        of_edges = edge_numbers(graphs)
        if n_of_edges and of_edges is not None:
            parts.append(means_at_nodes(graphs, of_edges))
        elif n_of_edges and graphs.n_arcs == 0:
            parts.append(np.zeros((graphs.n_nodes, n_of_edges)))
        return np.concatenate([np.empty((graphs.n_nodes, 0)), *parts], axis=1)

    def _count(self, graphs: GraphDataset) -> Counts:
        return count_colors(graphs, self.colorings(graphs))

    def colorings(self, graphs: GraphDataset) -> Iterator[Colors]:
        """Yield the colors of every level: the exact ones by depth, then the coarse ones."""
        arcs = self.edge_kinds_.colors(graphs) if self.edge_kinds_ else None
        yield from refine(graphs, start_colors(graphs, self.start_), self.iterations, arcs)
        for width in self.coarse:
            yield from coarse_colors(graphs, width)
        for cells in self._cells(graphs):
            start = _combined(_label_colors(graphs), cells.astype(np.uint64), _CELL)
            yield from refine(graphs, start, self.iterations, arcs)

    def _cells(self, graphs: GraphDataset) -> Iterator[Ints]:
        """Yield the cell of each node, for each resolution."""
        if self.cells_:
            scaling, numbers = Scaling(*self.scaling_), self._numbers(graphs)
            if graphs.n_nodes and numbers.shape[1] != len(scaling):
                what, switch = "nodes", "use_node_attributes"
                if self.widths_[1]:
                    what, switch = "nodes and edges", f"{switch}=False, use_edge_labels"
                raise GraphDataError(
                    f"{what} of '{graphs.name}' have {numbers.shape[1] or 'no'} attributes, but "
                    f"the model was trained on {what} with {len(scaling)}; give all of these, in "
                    f"the same order, or train without ({switch}=False)"
                )
            scaled = scaling.scaled(numbers.reshape(-1, len(scaling)))
            yield from (nearest(scaled, centers) for centers in self.cells_)

    def _cell_names(self, graphs: GraphDataset, resolution: int) -> list[str]:
        """Name every node by its label and by what tells its cell from others."""
        cells = next(islice(self._cells(graphs), resolution, None))
        names = name_cells(self.ranges_[resolution])
        if graphs.node_labels is None:
            return [names[cell] for cell in cells]
        labels = (graphs.node_label_names[code] for code in graphs.node_labels)
        return [f"{label} {names[cell]}" for label, cell in zip(labels, cells, strict=True)]

    def _color_of(self, feature: int) -> tuple[int, np.uint64]:
        check_is_fitted(self, "vocabulary_")
        for depth, block in enumerate(self.levels_):
            if block.start <= feature < block.start + len(self.vocabulary_[depth]):
                return depth, self.vocabulary_[depth][feature - block.start]
        raise ParameterError(
            f"feature {feature} is not a color; there are {self.n_features_out_} columns"
        )


def coarse_colors(graphs: GraphDataset, width: float) -> Iterator[Colors]:
    """Yield coarse colors of every node, at three levels.

    Exact Weisfeiler-Lehman colors soon become unique: hardly any node of a new protein has a
    depth-3 color that a labeled protein has. A coarse color keeps a node's label and, rounded, the
    logarithms of its own degree and of its neighbors' degrees, so that it recurs from graph to
    graph:

        level 0: label, degree    1: … and mean and largest degree of the neighbors
                                  2: … and mean degree of the neighbors and of their neighbors

    Logarithms are fixed-point integers, so sums and means are exact: like the exact colors, these
    are the same in every dataset, process and machine, however the nodes are numbered. ``width`` is
    how much the binary logarithms of two degrees may differ within one color.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> ring = cycles_and_trees(1)
    >>> [len(np.unique(level)) for level in coarse_colors(ring, 0.5)]
    [1, 1, 1]
    """
    step = max(1, round(width * FIXED_POINT))
    degree = log_degrees(graphs)
    mean = neighbor_mean(graphs, degree)
    start = _combined(_label_colors(graphs), degree // step, np.uint64(step))
    yield start
    yield _combined(start, mean // step, neighbor_max(graphs, degree) // step)
    yield _combined(start, mean // step, neighbor_mean(graphs, mean) // step, np.uint64(1))


def log_degrees(graphs: GraphDataset) -> Colors:
    """Return ``log2(1 + degree)`` of every node, in fixed point."""
    return np.rint(np.log2(1.0 + graphs.degrees) * FIXED_POINT).astype(np.uint64)


def _label_colors(graphs: GraphDataset) -> Colors:
    if graphs.node_labels is None:
        return np.zeros(graphs.n_nodes, dtype=np.uint64)
    return name_colors(graphs.node_label_names, "node")[graphs.node_labels]


def _combined(*parts: Colors | np.uint64) -> Colors:
    """Hash several values per node into one, in order."""
    color = np.asarray(parts[0])
    for part in parts[1:]:
        color = mix(color * np.uint64(0x9E3779B97F4A7C15) + part + np.uint64(1))
    return color


def neighbor_mean(graphs: GraphDataset, values: Colors) -> Colors:
    """Return the mean over the neighbors, rounded down; 0 without neighbors."""
    return neighbor_sums(graphs, values) // np.maximum(graphs.degrees, 1).astype(np.uint64)


def neighbor_max(graphs: GraphDataset, values: NDArray[np.uint64]) -> Colors:
    """Return the largest value among the neighbors; 0 without neighbors."""
    largest = np.zeros(graphs.n_nodes, dtype=np.uint64)
    for first, last in row_chunks(graphs, CHUNK):
        nodes = first + np.flatnonzero(graphs.degrees[first:last])
        if len(nodes):
            begin, end = graphs.arc_offsets[first], graphs.arc_offsets[last]
            around = values[graphs.neighbors[begin:end]]
            largest[nodes] = np.maximum.reduceat(around, graphs.arc_offsets[nodes] - begin)
    return largest


def subtree(
    graphs: GraphDataset,
    node: int,
    depth: int,
    *,
    start: str,
    edge_labels: bool = False,
    names: Sequence[str] | None = None,
) -> str:
    """Write the unfolding of a node to a depth: its label, then its neighbors' unfoldings.

    Two nodes have the same color at a depth exactly if they have the same text. Neighbors are
    sorted, equal ones counted; the node that one came from is among them, as in the definition of
    the colors. Nodes are numbered over all graphs; ``names`` are what they are called, by default
    what they start from.

    Examples
    --------
    >>> from kgnn.graphs.packing import pack
    >>> water = pack("water", [3], [0, 0], [1, 2], node_labels=["O", "H", "H"])
    >>> subtree(water, 0, 1, start="labels"), subtree(water, 1, 2, start="labels")
    ('O(2 H)', 'H(O(2 H))')
    """
    label = _label(graphs, node, start) if names is None else names[node]
    if depth == 0:
        return label
    branches: dict[str, int] = {}
    kinds = graphs.arc_kinds
    for arc in range(int(graphs.arc_offsets[node]), int(graphs.arc_offsets[node + 1])):
        neighbor = int(graphs.neighbors[arc])
        branch = subtree(
            graphs, neighbor, depth - 1, start=start, edge_labels=edge_labels, names=names
        )
        if edge_labels and kinds is not None:
            branch = f"-{graphs.arc_kind_names[kinds[arc]]}-{branch}"
        branches[branch] = branches.get(branch, 0) + 1
    inside = ", ".join(f"{n} {b}" if n > 1 else b for b, n in sorted(branches.items()))
    return f"{label}({inside})" if inside else label


def _label(graphs: GraphDataset, node: int, start: str) -> str:
    if start == "labels":
        assert graphs.node_labels is not None
        return graphs.node_label_names[graphs.node_labels[node]]
    return f"deg{graphs.degrees[node]}" if start == "degree" else "•"
