"""Kinds of edges: by label, by direction, and by cells of their weights and attributes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kgnn.errors import GraphDataError
from kgnn.graphs.graph import GraphDataset, ShortInts
from kgnn.graphs.labels import recode
from kgnn.kernels.attributes import Scaling, edge_numbers, learn_cells, nearest
from kgnn.kernels.colors import Colors, mix, name_colors

# Few, so that each occurs in many graphs.
_CELLS = 12
# A domain of the hash, as those in `kgnn.kernels.colors`.
_CELL = np.uint64(0xD6E8FEB86659FD93)


@dataclass(frozen=True)
class EdgeKinds:
    """Kinds of edges, learned from the training graphs.

    Continuous weights and attributes are scaled and put into cells, as `kgnn.kernels.attributes`
    does with those of nodes; a kind is a label, perhaps with a direction, and a cell.

    Examples
    --------
    >>> from kgnn.graphs.packing import pack
    >>> chain = pack("chain", [3], [0, 1], [1, 2], edge_labels="ab", edge_weights=[1, 5])
    >>> EdgeKinds.of(chain).codes(chain).tolist()
    [1, 1, 4, 4]
    """

    names: tuple[str, ...] = ()  # of labels and directions; empty if edges have neither
    directed: bool = False
    # Of weights and attributes, see `kgnn.kernels.attributes.Scaling`; empty without.
    middles: tuple[float, ...] = ()
    distances: tuple[float, ...] = ()
    centers: tuple[tuple[float, ...], ...] = ()  # of the cells

    @classmethod
    def of(cls, graphs: GraphDataset, *, numbers: bool = True) -> EdgeKinds:
        """Describe the edges of a training set, with or without their weights and attributes."""
        names = graphs.arc_kind_names if graphs.has_edge_kinds else ()
        directed = graphs.edge_directions is not None
        values = edge_numbers(graphs) if numbers else None
        if values is None:
            return cls(names, directed)
        scaling = Scaling.of(values)
        centers = learn_cells(scaling.scaled(values), _CELLS)
        return cls(
            *(names, directed, scaling.middles, scaling.distances),
            tuple(tuple(center) for center in centers.tolist()),
        )

    def __bool__(self) -> bool:
        return len(self) > 0

    def __len__(self) -> int:
        """Return how many kinds there are; 0 if all edges are alike."""
        is_any = bool(self.names or self.centers)
        return is_any * max(1, len(self.names)) * max(1, len(self.centers))

    def codes(self, graphs: GraphDataset) -> ShortInts:
        """Return the kind of each arc, from 1 on, the last for labels that are not known."""
        labels, cells = self._labels(graphs), self._cells(graphs)
        codes = recode(labels, graphs.arc_kind_names, self.names) if self.names else labels
        kinds = codes * max(1, len(self.centers)) + cells + 1
        return np.where(codes >= 0, kinds, len(self) + 1).astype(np.int32)

    def colors(self, graphs: GraphDataset) -> Colors:
        """Return the color of each arc, by the name of its kind."""
        labels, cells = self._labels(graphs), self._cells(graphs)
        colors = name_colors(graphs.arc_kind_names if self.names else ("",), "edge")[labels]
        return mix(colors + cells.astype(np.uint64) * _CELL) if self.centers else colors

    def _labels(self, graphs: GraphDataset) -> ShortInts:
        """Return the label and direction of each arc; refuse graphs that lack or have them."""
        if graphs.n_arcs == 0:
            return np.empty(0, dtype=np.int32)
        if (graphs.edge_directions is not None) != self.directed:
            has, had = ("no", "with") if self.directed else ("its", "without")
            raise GraphDataError(
                f"'{graphs.name}' has {has} directions of edges, but the model was trained on "
                f"graphs {had} them; read all graphs with directed={self.directed}, or train "
                "without (use_edge_labels=False)"
            )
        if not self.names:
            return np.zeros(graphs.n_arcs, dtype=np.int32)
        if graphs.arc_kinds is None:
            raise GraphDataError(
                f"edges of '{graphs.name}' have no labels, but the model was trained on graphs "
                "whose edges have; give them labels, or train without (use_edge_labels=False)"
            )
        return graphs.arc_kinds

    def _cells(self, graphs: GraphDataset) -> ShortInts:
        if not self.centers or graphs.n_arcs == 0:
            return np.zeros(graphs.n_arcs, dtype=np.int32)
        values = edge_numbers(graphs)
        if values is None or values.shape[1] != len(self.middles):
            n = 0 if values is None else values.shape[1]
            raise GraphDataError(
                f"edges of '{graphs.name}' have {n or 'no'} weights and attributes, but the model "
                f"was trained on edges with {len(self.middles)}; give all of these, in the same "
                "order, or train without (use_edge_labels=False)"
            )
        scaled = Scaling(self.middles, self.distances).scaled(values)
        return nearest(scaled, np.array(self.centers)).astype(np.int32)
