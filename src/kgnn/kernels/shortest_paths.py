"""Shortest-path features: how many pairs of nodes have given labels and a given distance.

References
----------
Borgwardt & Kriegel, *Shortest-path kernels on graphs*, ICDM 2005.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, replace
from itertools import count, takewhile
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from kgnn.errors import GraphDataError, ParameterError
from kgnn.graphs.graph import Floats, GraphDataset, Ints, ShortInts
from kgnn.kernels.colors import Colors, mix, name_colors, numbered
from kgnn.kernels.counted import CountedFeatures, Counts
from kgnn.kernels.distances import Level, Sets, levels, node_sets, pieces, set_sizes

STARTS = ("auto", "labels", "degree", "constant")

# Domains of the hash: a label and a distance must differ.
_LABEL = np.uint64(0xA0761D6478BD642F)
_DISTANCE = np.uint64(0xE7037ED1A0B428DB)
_UNLABELED = np.uint64(0x8EBC6AF09C88C6E3)


@dataclass(eq=False, repr=False)
class ShortestPaths(CountedFeatures):
    """Count pairs of nodes by their labels and their distance.

    Each unordered pair of different nodes of one component counts once. Pairs without a path and
    self loops count nothing, so that a graph without edges has no features.

    Parameters
    ----------
    start : {"auto", "labels", "degree", "constant"}
        What tells the ends of a path apart; ``auto`` takes labels where there are any, else
        ``constant``: only distances count. With ``degree``, degrees in half-octaves (1, 2, 3, 4–5,
        6–7, 8–11, …) do.
    max_distance : int or None
        Leave out pairs that are farther apart.
    min_df, counts, normalize
        See `CountedFeatures`. There is one level.

    Attributes
    ----------
    start_ : str
        What ``auto`` turned out to be.
    node_label_names_ : tuple of str
        Labels of the graphs given to `fit`; none if only distances count.

    Examples
    --------
    >>> from kgnn.graphs.packing import pack
    >>> water = pack("water", [3], [0, 0], [1, 2], node_labels=["O", "H", "H"])
    >>> paths = ShortestPaths()
    >>> features = paths.fit_transform(water).toarray()[0]
    >>> sorted(zip(paths.get_feature_names_out().tolist(), features.tolist()))
    [('sp1_H_O', 2.0), ('sp2_H_H', 1.0)]
    """

    reads: ClassVar[tuple[str, ...]] = ("node_labels",)

    _: KW_ONLY
    start: str = "auto"
    max_distance: int | None = None
    min_df: int = 1
    counts: str = "raw"
    normalize: str | None = None

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.str_]:
        """Name the columns by distance and labels, such as ``sp3_C_N``."""
        check_is_fitted(self, "vocabulary_")
        vocabulary, labels = self.vocabulary_[0], self.node_label_names_
        ends = _ends(labels)
        low, high = np.triu_indices(len(ends))
        names: dict[int, str] = {}
        # A hash cannot be read: try all pairs of labels, distance by distance.
        for distance in takewhile(lambda _: len(names) < len(vocabulary), count(1)):
            hashes = _hashes(distance, ends[low], ends[high])
            for pair in np.flatnonzero(np.isin(hashes, vocabulary)).tolist():
                between = [labels[low[pair]], labels[high[pair]]] if labels else []
                names[int(hashes[pair])] = "_".join([f"sp{distance}", *between])
        return np.array([names[each] for each in vocabulary.tolist()], dtype=np.str_)

    # -- inside -----------------------------------------------------------------------------------

    def _start(self, graphs: GraphDataset) -> None:
        if self.start not in STARTS:
            raise ParameterError(
                f"The 'start' parameter of ShortestPaths must be one of {STARTS}, "
                f"got {self.start!r}."
            )
        if self.max_distance is not None and self.max_distance < 1:
            raise ParameterError(f"ShortestPaths needs max_distance ≥ 1, got {self.max_distance}.")
        # Paper silent: it names the kernel alone. Degrees in place of labels, as for WL, would make
        # a feature of every pair of degrees, and hardly one would occur in two graphs.
        auto = "constant" if graphs.node_labels is None else "labels"
        self.start_ = auto if self.start == "auto" else self.start
        self.node_label_names_ = {"labels": graphs.node_label_names, "degree": _DEGREE_NAMES}.get(
            self.start_, ()
        )

    def _count(self, graphs: GraphDataset) -> Counts:
        if self.start_ == "constant":
            graphs = replace(graphs, node_labels=None, node_label_names=())
        elif self.start_ == "degree":
            codes = _half_octaves(graphs.degrees)
            graphs = replace(graphs, node_labels=codes, node_label_names=_DEGREE_NAMES)
        elif graphs.node_labels is None:
            raise GraphDataError(
                f"'{graphs.name}' has no node labels, which these features compare; "
                "use start='constant' for distances alone."
            )
        parts = [_NOTHING, *_found(graphs, self.max_distance)]
        rows, hashes, n_pairs = (np.concatenate(each) for each in zip(*parts, strict=True))
        colors, columns = numbered(hashes)
        shape = (len(graphs), len(colors))
        return Counts([colors], sparse.coo_array((n_pairs, (rows, columns)), shape=shape).tocsr())


# Half-octaves of degrees, by the smallest degree in each.
_DEGREE_NAMES = ("degree 0", *(f"degree {math.ceil(2 ** (half / 2))}" for half in range(62)))


def _half_octaves(degrees: Ints) -> ShortInts:
    halves = np.floor(2 * np.log2(np.maximum(1, degrees))).astype(np.int32)
    return (halves + (degrees > 0)).astype(np.int32)


_Found = tuple[Ints, Colors, Floats]  # rows of graphs, hashes, numbers of pairs
_NOTHING: _Found = (np.empty(0, np.int64), np.empty(0, np.uint64), np.empty(0, np.float64))


def _found(graphs: GraphDataset, max_distance: int | None) -> Iterator[_Found]:
    """Yield how many unordered pairs each graph has of each kind, no kind twice."""
    ends = _ends(graphs.node_label_names)
    for rows, part in pieces(graphs):
        labels = None if part.node_labels is None else _Labels.of(part)
        for level in levels(part, max_distance):
            if labels is not None:
                for graph, one, two, n_pairs in _by_labels(level, labels):
                    hashes = _hashes(level.distance, ends[one], ends[two])
                    yield rows[graph], hashes, n_pairs
            else:
                of_source = part.node_graphs[level.sources]
                n_ordered = np.bincount(of_source, weights=level.weights * level.sizes)
                graph = np.flatnonzero(n_ordered)
                hashes = np.repeat(_hashes(level.distance, ends, ends), len(graph))
                yield rows[graph], hashes, n_ordered[graph] / 2


class _Labels(NamedTuple):
    """The labels of each graph: one *group* per graph and label that occurs in it.

    Groups of one graph are side by side, small ones first.
    """

    graph: Ints  # of each group
    label: Ints  # of each group
    members: Sets  # of each group
    end: Ints  # of each group, where the groups of its graph end
    group: Ints  # of each node

    @classmethod
    def of(cls, graphs: GraphDataset) -> _Labels:
        assert graphs.node_labels is not None
        n_labels = len(graphs.node_label_names)
        keys = graphs.node_graphs.astype(np.int64) * n_labels + graphs.node_labels
        found, group, sizes = np.unique(keys, return_inverse=True, return_counts=True)
        order = np.lexsort([sizes, found // n_labels])
        position = np.empty_like(order)
        position[order] = np.arange(len(order))
        group = position[group]
        graph, label = np.divmod(found[order], n_labels)
        members = node_sets(graphs, group, np.arange(graphs.n_nodes), len(order))
        return cls(graph, label, members, np.cumsum(np.bincount(graph))[graph], group)


def _by_labels(level: Level, labels: _Labels) -> Iterator[tuple[Ints, Ints, Ints, Floats]]:
    """Yield graphs, labels of both ends and numbers of pairs at one distance.

    Every source looks for its own group, then for the next, to the last of its graph. Each pair of
    groups is met once, and members of large groups, which come last, look for little.
    """
    group = labels.group[level.sources]
    n_groups = labels.end[group] - group
    order = np.argsort(-n_groups, kind="stable")
    group, n_groups = group[order], n_groups[order]
    weights, reached = level.weights[order], level.reached.take(order, axis=0)
    for step in range(int(n_groups.max(initial=0))):
        looking = slice(int(np.searchsorted(-n_groups, -step)))
        sets = reached[looking] & labels.members.take(group[looking] + step, axis=0)
        totals = np.bincount(group[looking], weights=weights[looking] * set_sizes(sets))
        one = np.flatnonzero(totals)
        # Pairs within a group were met from both ends.
        n_pairs = totals[one] / (1 if step else 2)
        yield labels.graph[one], labels.label[one], labels.label[one + step], n_pairs


def _ends(names: tuple[str, ...]) -> Colors:
    """Hash the labels of ends; without labels, all ends are alike."""
    return mix(name_colors(names, "node") + _LABEL) if names else np.array([_UNLABELED])


def _hashes(distance: int, one: Colors, two: Colors) -> Colors:
    """Hash a distance and both ends, in either order."""
    return mix(one + two + mix(np.array([distance], dtype=np.uint64) + _DISTANCE))
