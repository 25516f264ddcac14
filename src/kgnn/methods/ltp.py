"""LTP: a random forest on degree profiles and on profiles of edges (not in the paper)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from kgnn.estimator.parameters import parameters
from kgnn.graphs.graph import Floats, GraphDataset, Ints, ranges
from kgnn.graphs.interop import as_dataset
from kgnn.kernels.base import Featurizer
from kgnn.kernels.degree_profiles import DegreeProfiles, shares_of
from kgnn.kernels.distances import pieces
from kgnn.methods.forest import ForestClassifier

# Bins of a twentieth, and of half a doubling up to four million pairs.
_TWENTIETHS, _HALF_DOUBLINGS = 20, 42
_SCORES = {
    "betweenness": _HALF_DOUBLINGS,
    "jaccard": _TWENTIETHS,
    "local_degree": _TWENTIETHS,
}
_ROUNDING = 1e-6  # of sums that should be an integer
_CELLS = 1 << 20  # of tables of paths


@parameters
class LTP(ForestClassifier):
    """The features of LDP and profiles of edges, with a random forest.

    Edges count by how many shortest paths pass them, by how many neighbors their ends share and by
    how high their ends rank among each other's neighbors. See `ForestClassifier` for the
    parameters.

    References
    ----------
    Adamczyk & Czech, *Strengthening structural baselines for graph classification using Local
    Topological Profile*, ICCS 2023.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> graphs = cycles_and_trees(60)
    >>> LTP().fit(graphs[:40]).score(graphs[40:])
    1.0
    """

    def _featurizer(self) -> Featurizer:
        return EdgeProfiles()


class EdgeProfiles(DegreeProfiles):
    """Degree profiles, and shares of edges by betweenness, Jaccard index and local degree score.

    Paper silent: the released code gives each graph 50 bins between its own extremes; here a bin
    means the same in all graphs.
    """

    def transform(self, graphs: GraphDataset) -> Floats:
        """Return the features of graphs, ``(n_graphs, n_features)``."""
        graphs = as_dataset(graphs)
        shares = np.zeros((len(graphs), sum(_SCORES.values())))
        for rows, part in pieces(graphs):
            shares[rows] = _edge_shares(part)
        return np.concatenate([super().transform(graphs), shares], axis=1)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.str_]:
        """Name the columns: those of degree profiles, then a score and its bin."""
        own = [f"{score}_{number}" for score, n_bins in _SCORES.items() for number in range(n_bins)]
        return np.array([*super().get_feature_names_out(), *own])


def _edge_shares(graphs: GraphDataset) -> Floats:
    edges = Edges(graphs)
    values = (
        2 * np.log2(np.maximum(edges.betweenness(), 1.0)),
        _TWENTIETHS * edges.jaccard(),
        _TWENTIETHS * edges.local_degree(),
    )
    graph = graphs.node_graphs[edges.ends[0]]
    return np.concatenate(
        [
            shares_of(graph, np.minimum((each + _ROUNDING).astype(np.int64), n - 1), n, len(graphs))
            for each, n in zip(values, _SCORES.values(), strict=True)
        ],
        axis=1,
    )


class Edges:
    """The edges of some graphs, without self loops, and scores of them.

    Examples
    --------
    >>> from kgnn.graphs.packing import pack
    >>> edges = Edges(pack("triangle with a tail", [4], [0, 0, 1, 2], [1, 2, 2, 3]))
    >>> edges.betweenness().tolist(), edges.jaccard().round(2).tolist()
    ([1.0, 2.0, 2.0, 3.0], [0.33, 0.25, 0.25, 0.0])
    """

    def __init__(self, graphs: GraphDataset) -> None:
        sources, self.n_nodes = graphs.arc_sources, graphs.n_nodes
        once = sources < graphs.neighbors
        pairs = np.unique(sources[once].astype(np.int64) * self.n_nodes + graphs.neighbors[once])
        u, v = np.divmod(pairs, max(1, self.n_nodes))
        self.ends = np.stack([u, v])
        self.degrees = np.bincount(self.ends.ravel(), minlength=self.n_nodes)
        self.adjacency = _symmetric(u, v, self.n_nodes)

    def jaccard(self) -> Floats:
        """Return the share of the neighbors of both ends that are neighbors of each of them."""
        u, v = self.ends
        common, joined = np.zeros(len(u)), self.adjacency
        closable = np.flatnonzero((self.degrees[self.ends] > 1).all(axis=0))
        work = np.cumsum(self.degrees[self.ends[:, closable]].sum(axis=0)) // _CELLS
        for some in np.split(closable, np.flatnonzero(np.diff(work)) + 1):
            common[some] = joined[u[some]].multiply(joined[v[some]]).sum(axis=1)
        return common / np.maximum(self.degrees[u] + self.degrees[v] - common, 1)

    def local_degree(self) -> Floats:
        """Return ``1 − log(rank) / log(degree)``, of the end where it is more.

        The rank of an edge at one of its ends is one more than the number of neighbors there that
        have a higher degree than the other end (Hamann et al., *Structure-preserving sparsification
        methods for social networks*, 2016).
        """
        here, there = np.concatenate([self.ends, self.ends[::-1]], axis=1)
        order = np.lexsort((-self.degrees[there], here))
        keys = here[order] * self.n_nodes + self.degrees[there[order]]
        place = np.arange(len(order))
        is_first = np.ones(len(order), dtype=np.bool_)  # of those with one degree
        is_first[1:] = keys[1:] != keys[:-1]
        begins = np.cumsum(self.degrees) - self.degrees
        higher = np.maximum.accumulate(np.where(is_first, place, 0)) - begins[here[order]]
        score = np.empty(len(order))
        score[order] = 1 - np.log1p(higher) / np.log(np.maximum(self.degrees[here[order]], 2))
        return np.maximum(*np.split(score, 2))

    def betweenness(self) -> Floats:
        """Return how many pairs of nodes each edge connects, in shares of their shortest paths.

        An edge that leads to a tree connects all inside it with all outside. What is left without
        trees is searched from all nodes, those of all components side by side (Brandes, *A faster
        algorithm for betweenness centrality*, 2001); a node stands for itself and its trees.
        """
        found, weights, inner = self._peeled()
        nodes, ends = np.unique(self.ends[:, inner], return_inverse=True)
        if not len(nodes):
            return found
        (u, v), weights = ends.reshape(2, -1), weights[nodes]
        joined = _symmetric(u, v, len(nodes))
        _, component = csgraph.connected_components(joined, directed=False)
        sizes = np.bincount(component)
        column = np.empty_like(component)
        column[np.argsort(component, kind="stable")] = ranges(np.zeros_like(sizes), sizes)
        width = min(int(sizes.max()), max(1, _CELLS // max(len(nodes), len(u))))
        for begin in range(0, int(sizes.max()), width):
            sources = np.flatnonzero((column >= begin) & (column < begin + width))
            at = column[sources] - begin
            start, own = np.zeros((len(nodes), width)), np.zeros((len(sizes), width))
            start[sources, at], own[component[sources], at] = 1.0, weights[sources]
            paths, pairs = _paths(joined, start), own[component] * weights[:, None]
            through = np.zeros_like(start)  # pairs whose paths come here or go on, for each path
            for nearer, here in zip(paths[-2::-1], paths[:0:-1], strict=True):
                beyond, is_here = joined @ through, here > 0
                through = np.zeros_like(start)
                np.divide(pairs, here, out=through, where=is_here)
                np.add(through, beyond, out=through, where=is_here)
                found[inner] += np.einsum("ij,ij->i", nearer[u], through[v]) / 2
                found[inner] += np.einsum("ij,ij->i", nearer[v], through[u]) / 2
        return found

    def _peeled(self) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """Remove leaves while there are any.

        Returns the betweenness of their edges, how many nodes each node that is left stands for,
        and which edges are left.
        """
        (u, v), every = self.ends, np.arange(self.ends.shape[1])
        found, weights = np.zeros(len(every)), np.ones(self.n_nodes)
        is_left, degrees = np.ones(len(every), dtype=np.bool_), self.degrees.copy()
        # Sums over what is left around a node: of a leaf, its only neighbor and its only edge.
        neighbor, edge = np.zeros((2, self.n_nodes), dtype=np.int64)
        for here, there in ((u, v), (v, u)):
            np.add.at(neighbor, here, there)
            np.add.at(edge, here, every)
        _, component = csgraph.connected_components(self.adjacency, directed=False)
        all_nodes = np.bincount(component)[component]
        leaves = np.flatnonzero(degrees == 1)
        while len(leaves):
            # Of two leaves that are joined, the first one goes.
            leaves = leaves[(degrees[neighbor[leaves]] > 1) | (leaves < neighbor[leaves])]
            posts, own = neighbor[leaves], edge[leaves]
            found[own] = weights[leaves] * (all_nodes[leaves] - weights[leaves])
            is_left[own], degrees[leaves] = False, 0
            np.add.at(weights, posts, weights[leaves])
            np.subtract.at(degrees, posts, 1)
            np.subtract.at(neighbor, posts, leaves)
            np.subtract.at(edge, posts, own)
            posts = np.unique(posts)
            leaves = posts[degrees[posts] == 1]
        return found, weights, is_left


def _symmetric(u: Ints, v: Ints, n_nodes: int) -> sparse.csr_array:
    places = np.concatenate([u, v]), np.concatenate([v, u])
    joined = sparse.coo_array((np.ones(2 * len(u)), places), shape=(n_nodes, n_nodes))
    return sparse.csr_array(joined)


def _paths(joined: sparse.csr_array, start: Floats) -> list[Floats]:
    """Return how many shortest paths lead from the start to each node, by length."""
    paths, reached = [start], start > 0
    while True:
        new = joined @ paths[-1]
        new[reached] = 0.0
        if not new.any():
            return paths
        reached |= new > 0
        paths.append(new)
