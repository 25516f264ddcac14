"""DGK: a support vector machine on a deep graph kernel.

The kernel is ``Φ M Φᵀ`` with counts Φ of substructures and learned similarities M of them:
substructures that occur in similar contexts match, even if they are not equal.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from itertools import product
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.extmath import randomized_svd
from sklearn.utils.validation import check_is_fitted

from kgnn.errors import MissingExtraError
from kgnn.estimator.parameters import Count, CountOrZero, check, parameters
from kgnn.graphs.graph import Floats, GraphDataset
from kgnn.graphs.interop import as_dataset
from kgnn.kernels.base import Featurizer
from kgnn.kernels.colors import Numbers
from kgnn.kernels.counted import CountedFeatures
from kgnn.kernels.graphlet_counts import classes, n_classes
from kgnn.kernels.graphlets import Adjacency, Graphlets, distinct, patterns_of
from kgnn.kernels.shortest_paths import ShortestPaths
from kgnn.kernels.weisfeiler_lehman import WeisfeilerLehman
from kgnn.methods.featurized import EmbeddedClassifier, Width
from kgnn.seeds import derive, for_sklearn, generator

# Moves of the window over a graph, from which contexts of graphlets are counted.
_MOVES = 200
_GRAPHS_AT_ONCE = 256
# Pairs of substructures that skip-grams are trained on, drawn as often as they co-occur.
_PAIRS = 500_000


@parameters
class DGK(EmbeddedClassifier):
    """The deep graph kernel: substructures match by how similar their contexts are.

    Similarities of substructures are learned from labeled and unlabeled graphs.

    Parameters
    ----------
    base : {"wl", "sp", "graphlet"}
        What substructures are: Weisfeiler-Lehman colors, shortest paths or graphlets.
    iterations : int
        Depth of the colors, with ``wl``.
    embedding : {"ppmi", "word2vec"}
        How vectors of substructures are learned: as singular vectors of the mutual information of
        substructures and their contexts, or by skip-grams (extra ``embeddings``).
    dimensions : tuple of int
        Lengths of vectors to choose from.
    counts : tuple of {"raw", "log", "sqrt", "binary"}
        Count transforms to choose from.
    normalize : tuple of {"graph", None}
        Normalizations to choose from; substructures that `fit` has not seen count in the length.
    use_edge_labels : bool
        Whether labels and directions of edges are read, where the graphs have them.

    References
    ----------
    Yanardag & Vishwanathan, *Deep graph kernels*, KDD 2015.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> graphs = cycles_and_trees(60)
    >>> model = DGK().fit(graphs[:40], graphs.targets[:40])
    >>> model.score(graphs[40:], graphs.targets[40:])
    1.0
    """

    base: Literal["wl", "sp", "graphlet"] = "wl"
    iterations: CountOrZero = 2
    # Paper silent: it names the method alone. Mutual information needs no gradients.
    embedding: Literal["ppmi", "word2vec"] = "ppmi"
    dimensions: tuple[Count, ...] = (16, 32, 64)
    counts: tuple[Literal["raw", "log", "sqrt", "binary"], ...] = ("raw", "log")
    normalize: tuple[Literal["graph", None], ...] = ("graph", None)
    widths: tuple[Width, ...] = (None,)
    use_edge_labels: bool = True

    def _unread(self) -> tuple[str, ...]:
        if self.base == "wl":
            return ("edge_weights", "edge_attributes")
        return ("use_edge_labels",) if self.base == "sp" else ("use_edge_labels", "node_labels")

    def _featurizers(self) -> list[Featurizer]:
        return [
            DeepKernel(
                self.base,
                iterations=self.iterations,
                embedding=self.embedding,
                dimensions=dimensions,
                counts=counts,
                normalize=normalize,
                seed=self.random_state,
            )
            for dimensions, counts, normalize in product(
                self.dimensions, self.counts, self.normalize
            )
        ]


@dataclass(eq=False, repr=False)
class DeepKernel(TransformerMixin, BaseEstimator):
    """Features whose inner products are ``Φ M Φᵀ``, with learned similarities M of substructures.

    ``M = V Vᵀ`` for unit vectors V of substructures that occur in several graphs. The others keep
    a column of their own, which is ``M = I`` among them. M itself is never formed.

    Parameters are those of `DGK`, with one value each, and ``min_df``: substructures that occur in
    fewer graphs have no vector. An ``embedding`` of None gives the base kernel.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import planted_motifs
    >>> graphs = planted_motifs(20)
    >>> DeepKernel(dimensions=8).fit(graphs).transform(graphs).shape[0]
    20
    """

    base: Literal["wl", "sp", "graphlet"] = "wl"
    _: KW_ONLY
    iterations: int = 2
    embedding: Literal["ppmi", "word2vec", None] = "ppmi"
    dimensions: int = 32
    min_df: int = 2
    counts: str = "raw"
    normalize: Literal["graph", None] = None
    seed: int = 0

    def fit(self, graphs: GraphDataset, y: Any = None) -> DeepKernel:
        """Learn vectors of substructures from graphs; labels are not used."""
        check(self)
        graphs = as_dataset(graphs)
        self.base_ = self._base().fit(graphs)
        present = self.base_.transform(graphs)
        frequency = np.bincount(present.indices, minlength=present.shape[1])
        self.with_vector_ = frequency >= self.min_df
        if self.embedding is not None:
            together = cooccurrences(self.base_, graphs)[self.with_vector_][:, self.with_vector_]
            learn = by_information if self.embedding == "ppmi" else by_skip_grams
            self.vectors_: Floats = _unit_rows(learn(together, self.dimensions, self.seed))
        return self

    def require_sound(self) -> None:
        """Refuse vectors, read from a file, that are not those of the base's columns."""
        there, vectors = self.with_vector_, getattr(self, "vectors_", None)
        is_sound = (
            isinstance(self.base_, CountedFeatures)
            and isinstance(there, np.ndarray)
            and there.dtype == np.bool_
            and there.shape == (self.base_.n_features_out_,)
            and (vectors is None) == (self.embedding is None)
        )
        if vectors is not None:
            is_sound = is_sound and vectors.dtype == np.float64 and vectors.ndim == 2
            is_sound = is_sound and len(vectors) == there.sum()
        if not is_sound:
            raise ValueError("the vectors of substructures do not belong together")

    def transform(self, graphs: GraphDataset) -> sparse.csr_array:
        """Return features: coordinates of substructures with vectors, then other counts."""
        check_is_fitted(self, "base_")
        counts, squares = self.base_.transform_with_lengths(as_dataset(graphs))
        if self.embedding is None:
            features = counts
        else:
            soft = sparse.csr_array(counts[:, self.with_vector_] @ self.vectors_)
            features = sparse.csr_array(sparse.hstack([soft, counts[:, ~self.with_vector_]]))
        if self.normalize is None:
            return features
        # What `fit` has not seen matches nothing here, but it is a part of the graph.
        unseen = np.maximum(0.0, squares - _squares(counts))
        lengths = np.sqrt(_squares(features) + unseen)
        inverse = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
        return sparse.csr_array(sparse.diags_array(inverse) @ features)

    def _base(self) -> CountedFeatures:
        if self.base == "wl":
            return WeisfeilerLehman(self.iterations, counts=self.counts, attributes=())
        if self.base == "sp":
            return ShortestPaths(counts=self.counts)
        # Shares of graphlets as they are: logarithms of shares would be of no use.
        return Graphlets(seed=self.seed)


def _unit_rows(vectors: Floats) -> Floats:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)


def _squares(features: sparse.csr_array) -> Floats:
    return np.asarray((features * features).sum(axis=1))


# -- contexts -------------------------------------------------------------------------------------


def cooccurrences(featurizer: CountedFeatures, graphs: GraphDataset) -> sparse.csr_array:
    """Count how often two columns of a fitted featurizer are in context, both ways.

    The context of a substructure is what is near it in a graph: of a color, the colors that the
    same node has one level further and those of its neighbors; of a path, all paths of the same
    graph; of a graphlet, the graphlets that share all but one of its nodes.
    """
    if isinstance(featurizer, WeisfeilerLehman):
        one_way = _of_colors(featurizer, graphs)
    elif isinstance(featurizer, Graphlets):
        one_way = _of_graphlets(featurizer, graphs)
    else:
        present = featurizer.transform(graphs)
        present.data = np.ones_like(present.data)
        one_way = sparse.csr_array(present.T @ present)
    return sparse.csr_array(one_way + one_way.T)


def _of_colors(featurizer: WeisfeilerLehman, graphs: GraphDataset) -> sparse.csr_array:
    adjacency = sparse.csr_array(
        (np.ones(graphs.n_arcs), graphs.neighbors, graphs.arc_offsets),
        shape=(graphs.n_nodes, graphs.n_nodes),
    )
    adjacency.setdiag(0)  # a node is not its own context
    total = sparse.csr_array((featurizer.n_features_out_,) * 2)
    above: sparse.csr_array | None = None
    for level, coloring in enumerate(featurizer.colorings(graphs)):
        columns = featurizer.columns_of(level, coloring)
        has = _indicator(columns, featurizer.n_features_out_)
        total = total + has.T @ (adjacency @ has) / 2  # an edge is two arcs
        if above is not None:
            total = total + above.T @ has
        above = has
    return sparse.csr_array(total)


def _of_graphlets(featurizer: Graphlets, graphs: GraphDataset) -> sparse.csr_array:
    """Draw k + 1 nodes in random order; the first k and the last k share all but one."""
    n_columns = sum(n_classes(size) for size in featurizer.sizes)
    total = np.zeros(n_columns * n_columns)
    first = 0
    for size in featurizer.sizes:
        rng = generator(featurizer.seed, "moves", size)
        draws, order = rng.random((_MOVES, size + 1)), rng.random((_MOVES, size + 1)).argsort(1)
        large = np.flatnonzero(graphs.graph_sizes > size)
        for rows in np.array_split(large, len(large) // _GRAPHS_AT_ONCE + 1):
            part = graphs[rows]
            nodes = distinct(part.graph_sizes, draws) + part.node_offsets[:-1, None]
            nodes = np.take_along_axis(nodes, order.T[:, None, :], axis=0)
            joined = Adjacency(part)
            here, there = (
                classes(size)[patterns_of(nodes[window], joined)].ravel().astype(np.int64) + first
                for window in (slice(0, size), slice(1, size + 1))
            )
            total += np.bincount(here * n_columns + there, minlength=len(total))
        first += n_classes(size)
    return sparse.csr_array(total.reshape(n_columns, n_columns))


def _indicator(columns: Numbers, n_columns: int) -> sparse.csr_array:
    """Return the column of each node; nodes with −1 have none."""
    nodes = np.flatnonzero(columns >= 0)
    values = np.ones(len(nodes))
    return sparse.csr_array((values, (nodes, columns[nodes])), shape=(len(columns), n_columns))


# -- vectors --------------------------------------------------------------------------------------


def by_information(together: sparse.csr_array, dimensions: int, seed: int) -> Floats:
    """Return the leading singular vectors of the positive pointwise mutual information.

    Vectors are ``U S^(1/2)``; those of substructures that never occur with another are zero.

    Examples
    --------
    >>> together = sparse.csr_array([[0, 9, 1], [9, 0, 1], [1, 1, 8]])
    >>> by_information(together, 2, seed=0).shape
    (3, 2)
    """
    pairs = sparse.coo_array(together.astype(np.float64))
    totals = np.asarray(together.sum(axis=1), dtype=np.float64)
    expected = totals[pairs.row] * totals[pairs.col] / max(totals.sum(), 1.0)
    information = np.maximum(np.log(pairs.data / expected), 0.0)
    matrix = sparse.csr_array((information, (pairs.row, pairs.col)), shape=together.shape)
    matrix.eliminate_zeros()
    vectors = np.zeros((together.shape[0], dimensions))
    n_vectors = min(dimensions, together.shape[0])
    if matrix.nnz and n_vectors:
        left, strength, _ = randomized_svd(
            matrix, n_vectors, n_iter=4, random_state=for_sklearn(seed)
        )
        vectors[:, :n_vectors] = left * np.sqrt(strength)
    return vectors


def by_skip_grams(together: sparse.csr_array, dimensions: int, seed: int) -> Floats:
    """Return vectors of gensim's word2vec, trained on pairs drawn as often as they co-occur."""
    try:
        from gensim.models import Word2Vec
    except ImportError as error:
        raise MissingExtraError.of("Skip-grams", "gensim", "embeddings") from error
    pairs = sparse.coo_array(together)
    vectors = np.zeros((together.shape[0], dimensions))
    if not pairs.nnz:
        return vectors
    rng = generator(seed, "pairs")
    cumulated = np.cumsum(pairs.data, dtype=np.float64)
    n_pairs = int(min(_PAIRS, cumulated[-1]))
    drawn = np.searchsorted(cumulated, rng.random(n_pairs) * cumulated[-1], side="right")
    one, other = pairs.row[drawn].astype(str), pairs.col[drawn].astype(str)
    model: Any = Word2Vec(
        np.column_stack([one, other]).tolist(),
        vector_size=dimensions,
        window=1,
        sg=1,
        negative=5,
        sample=0,
        min_count=1,
        epochs=10,
        workers=1,
        seed=derive(seed, "words"),
        hashfxn=_hash,
    )
    words = np.array([int(word) for word in model.wv.index_to_key])
    vectors[words] = model.wv.vectors
    return vectors


def _hash(text: str) -> int:
    return derive(0, text)
