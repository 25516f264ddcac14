"""Continuous node attributes: scaling them, and discretizing them into codes to count.

Kernels compare colors for equality, and no two measured numbers are equal. So nodes are put into
cells, coarse and fine ones side by side: nodes that are alike share a fine cell, nodes that are
roughly alike at least a coarse one. The cells are learned once, from training graphs; after that,
the code of a node depends on its attributes alone, in any dataset and process.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kgnn.errors import GraphDataError
from kgnn.graphs.graph import Floats, GraphDataset, Ints

# Nodes to learn cells from; more only take longer.
_SAMPLE = 4096
_ROUNDS = 20
_CHUNK = 1 << 14
_DECIMALS = 6  # of scaled values; smaller differences do not count
_ROUNDING = 1e-12  # relative spread of a column that is constant up to rounding
_FAR = 1e30
_QUARTILES = 1.349  # between the quartiles of a normal distribution, in standard deviations


@dataclass(frozen=True)
class Scaling:
    """Columns of attributes on one scale: about 0 in the middle, about ±1 for a usual distance.

    Middle and distance are the median and the quartiles, which a few extreme values do not move;
    these are pulled in by ``arcsinh``, a logarithm that is linear around 0. A column that never
    changes becomes 0.
    """

    middles: tuple[float, ...]
    distances: tuple[float, ...]  # 0 for a constant column

    @classmethod
    def of(cls, values: Floats) -> Scaling:
        """Learn from ``(n_nodes, n_attributes)``."""
        if len(values) == 0:
            return cls((0.0,) * values.shape[1], (0.0,) * values.shape[1])
        # In units of the largest, so that no number is too large to be squared.
        units = np.maximum(np.abs(values).max(axis=0), np.finfo(np.float64).tiny)
        values = values / units
        low, middle, high = np.quantile(values, (0.25, 0.5, 0.75), axis=0)
        # If most values are equal, so are the quartiles; the other values still differ.
        distances = (high - low) / _QUARTILES
        spread = np.abs(values - middle).max(axis=0)
        distances = np.where(distances > 1e-9 * spread, distances, values.std(axis=0))
        distances = np.where(spread > _ROUNDING, distances, 0.0)
        return cls(tuple((middle * units).tolist()), tuple((distances * units).tolist()))

    def __len__(self) -> int:
        return len(self.middles)

    def __call__(self, graphs: GraphDataset) -> Floats:
        """Return the attributes of all nodes, scaled; refuse others than those learned from."""
        found = 0 if graphs.node_attributes is None else graphs.node_attributes.shape[1]
        if graphs.n_nodes == 0:
            return np.empty((0, len(self)))
        if graphs.node_attributes is None or found != len(self):
            raise GraphDataError(
                f"nodes of '{graphs.name}' have {found or 'no'} attributes, but the model was "
                f"trained on nodes with {len(self)}; provide the same ones in the same order"
            )
        return self.scaled(graphs.node_attributes)

    def scaled(self, values: Floats) -> Floats:
        """Return values in the same columns, scaled."""
        distances = np.array(self.distances)
        is_constant = distances == 0
        distances[is_constant] = 1.0
        with np.errstate(over="ignore"):
            scaled = values / distances - np.array(self.middles) / distances
        return np.where(is_constant, 0.0, np.arcsinh(np.clip(scaled, -_FAR, _FAR)))


def edge_numbers(graphs: GraphDataset) -> Floats | None:
    """Return weights and attributes of all arcs side by side; None if edges have neither."""
    weights, attributes = graphs.edge_weights, graphs.edge_attributes
    parts = [] if weights is None else [weights[:, None]]
    parts += [] if attributes is None else [attributes]
    return np.concatenate(parts, axis=1) if parts else None


def means_at_nodes(graphs: GraphDataset, numbers: Floats) -> Floats:
    """Return the mean of each number over the edges of each node; 0 without edges.

    Examples
    --------
    >>> from kgnn.graphs.packing import pack
    >>> chain = pack("chain", [3], [0, 1], [1, 2], edge_weights=[1, 5])
    >>> means_at_nodes(chain, chain.edge_weights[:, None]).ravel().tolist()
    [1.0, 3.0, 5.0]
    """
    sources, degrees = graphs.arc_sources, np.maximum(graphs.degrees, 1)
    means = [
        np.bincount(sources, column / degrees[sources], graphs.n_nodes) for column in numbers.T
    ]
    return np.stack(means, axis=1)


def learn_cells(values: Floats, n_cells: int, seed: int = 0) -> Floats:
    """Return the centers of at most ``n_cells`` k-means cells; fewer if values recur.

    Examples
    --------
    >>> learn_cells(np.array([[0.0], [0.1], [5.0], [5.1]]), 2).round(2).tolist()
    [[0.05], [5.05]]
    """
    random = np.random.default_rng(seed)
    values = values.round(_DECIMALS)
    if len(values) > _SAMPLE:
        values = values[np.sort(random.choice(len(values), _SAMPLE, replace=False))]
    distinct = np.unique(values, axis=0)
    if len(distinct) <= n_cells:
        return np.asarray(distinct)
    centers = _spread_out(distinct, n_cells, random)
    for _ in range(_ROUNDS):
        cells = nearest(values, centers)
        counts = np.bincount(cells, minlength=n_cells)
        sums = np.stack(
            [np.bincount(cells, weights=column, minlength=n_cells) for column in values.T], axis=1
        )
        moved = np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], centers)
        if np.allclose(moved, centers, atol=1e-6):
            break
        centers = moved
    return np.asarray(centers[np.lexsort(centers.T[::-1])])


def _spread_out(values: Floats, n: int, random: np.random.Generator) -> Floats:
    """Choose first centers far from each other (k-means++)."""
    chosen = [int(random.integers(len(values)))]
    distances = np.full(len(values), np.inf)
    for _ in range(n - 1):
        distances = np.minimum(distances, ((values - values[chosen[-1]]) ** 2).sum(axis=1))
        chosen.append(int(random.choice(len(values), p=distances / distances.sum())))
    return values[chosen]


def nearest(values: Floats, centers: Floats) -> Ints:
    """Return the row of the center nearest to each value; of several, the first."""
    rows = np.empty(len(values), dtype=np.int64)
    # |v - c|² = |v|² - 2⟨v, c⟩ + |c|², of which |v|² decides nothing.
    lengths = (centers**2).sum(axis=1)
    for start in range(0, len(values), _CHUNK):
        part = slice(start, start + _CHUNK)
        rows[part] = (lengths - 2 * values[part] @ centers.T).argmin(axis=1)
    return rows


def cell_ranges(values: Floats, cells: Ints, n_cells: int) -> Floats:
    """Return the smallest and the largest values in each cell, ``(n_cells, n_attributes, 2)``."""
    ranges = np.empty((n_cells, values.shape[1], 2))
    ranges[..., 0], ranges[..., 1] = np.inf, -np.inf
    np.minimum.at(ranges[..., 0], cells, values)
    np.maximum.at(ranges[..., 1], cells, values)
    # A cell without any node has no bounds.
    ranges[ranges[:, 0, 0] > ranges[:, 0, 1]] = np.stack(
        [values.min(axis=0), values.max(axis=0)], 1
    )
    return ranges


def name_cells(ranges: Floats) -> list[str]:
    """Name cells by the attributes that they confine most, at most two each.

    Examples
    --------
    >>> name_cells(np.array([[[0.0, 0.25], [0.0, 9.0]], [[0.5, 1.0], [0.0, 9.0]]]))
    ['x0 0 … 0.25', 'x0 0.5 … 1']
    """
    whole = ranges[..., 1].max(axis=0) - ranges[..., 0].min(axis=0)
    shares = (ranges[..., 1] - ranges[..., 0]) / np.where(whole > 0, whole, 1.0)
    shares[:, whole == 0] = 1.0
    names = []
    for cell, confined in zip(ranges, shares, strict=True):
        narrowest = [i for i in np.argsort(confined, kind="stable")[:2] if confined[i] < 1]
        told = [f"x{i} {cell[i, 0]:.3g} … {cell[i, 1]:.3g}" for i in sorted(narrowest)]
        names.append(", ".join(told) or "any")
    return names
