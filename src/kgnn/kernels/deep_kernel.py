"""The deep graph kernel: substructures that occur in like contexts match, even if not equal.

References
----------
Yanardag & Vishwanathan, *Deep graph kernels*, KDD 2015.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from kgnn.errors import ParameterError
from kgnn.graphs.graph import Floats, GraphDataset
from kgnn.graphs.interop import as_dataset
from kgnn.kernels.cooccurrence import cooccurrences
from kgnn.kernels.counted import CountedFeatures
from kgnn.kernels.graphlets import Graphlets
from kgnn.kernels.shortest_paths import ShortestPaths
from kgnn.kernels.weisfeiler_lehman import WeisfeilerLehman
from kgnn.kernels.word_vectors import by_information, by_skip_grams

EMBEDDINGS = ("ppmi", "word2vec", None)
BASES = ("wl", "sp", "graphlet")


class DeepKernel(TransformerMixin, BaseEstimator):
    """Features whose inner products are ``Φ M Φᵀ``, with learned similarities M of substructures.

    ``M = V Vᵀ`` for unit vectors V of substructures that occur in several graphs. The others keep
    a column of their own, which is ``M = I`` among them. M itself is never formed.

    Parameters
    ----------
    base : {"wl", "sp", "graphlet"}
        What substructures are: Weisfeiler-Lehman colors, shortest paths or graphlets.
    iterations : int
        Depth of the colors, with ``wl``.
    embedding : {"ppmi", "word2vec", None}
        How vectors are learned: singular vectors of the mutual information of substructures and
        their contexts; skip-grams (extra ``embeddings``); or not at all, for the base kernel.
    dimensions : int
        Length of a substructure's vector.
    min_df : int
        Substructures that occur in fewer graphs have no vector.
    counts : {"raw", "log", "sqrt", "binary"}
        What becomes of a count.
    normalize : {None, "graph"}
        Whether rows are scaled to length 1, substructures that `fit` has not seen included.
    seed : int

    Attributes
    ----------
    base_ : CountedFeatures
        Counts substructures.
    vectors_ : (n_with_vector, dimensions) array
    with_vector_ : (n_features,) array of bool
        Which columns of the base have a vector.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import planted_motifs
    >>> graphs = planted_motifs(20)
    >>> DeepKernel(dimensions=8).fit(graphs).transform(graphs).shape[0]
    20
    """

    def __init__(
        self,
        base: str = "wl",
        *,
        iterations: int = 2,
        embedding: str | None = "ppmi",
        dimensions: int = 32,
        min_df: int = 2,
        counts: str = "raw",
        normalize: str | None = None,
        seed: int = 0,
    ) -> None:
        self.base = base
        self.iterations = iterations
        self.embedding = embedding
        self.dimensions = dimensions
        self.min_df = min_df
        self.counts = counts
        self.normalize = normalize
        self.seed = seed

    def fit(self, graphs: GraphDataset, y: Any = None) -> DeepKernel:
        """Learn vectors of substructures from graphs; labels are not used."""
        self._fit(as_dataset(graphs))
        return self

    def fit_transform(self, graphs: GraphDataset, y: Any = None) -> sparse.csr_array:
        """Learn from graphs and return their features."""
        graphs = as_dataset(graphs)
        self._fit(graphs)
        return self.transform(graphs)

    def transform(self, graphs: GraphDataset) -> sparse.csr_array:
        """Return features: coordinates of what has a vector, then counts of what has none."""
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
        return _scaled(features, np.sqrt(_squares(features) + unseen))

    def _fit(self, graphs: GraphDataset) -> None:
        self._validate()
        self.base_ = self._base().fit(graphs)
        present = self.base_.transform(graphs)
        frequency = np.bincount(present.indices, minlength=present.shape[1])
        self.with_vector_ = frequency >= self.min_df
        if self.embedding is None:
            return
        together = cooccurrences(self.base_, graphs)[self.with_vector_][:, self.with_vector_]
        learn = by_information if self.embedding == "ppmi" else by_skip_grams
        self.vectors_: Floats = _unit_rows(learn(together, self.dimensions, self.seed))

    def _base(self) -> CountedFeatures:
        if self.base == "wl":
            return WeisfeilerLehman(self.iterations, counts=self.counts)
        if self.base == "sp":
            return ShortestPaths(counts=self.counts)
        # Shares of graphlets as they are: logarithms of shares would be of no use.
        return Graphlets(seed=self.seed)

    def _validate(self) -> None:
        for parameter, value, allowed in (
            ("base", self.base, BASES),
            ("embedding", self.embedding, EMBEDDINGS),
            ("normalize", self.normalize, (None, "graph")),
        ):
            if value not in allowed:
                raise ParameterError(
                    f"The '{parameter}' parameter of DeepKernel must be one of {allowed}, "
                    f"got {value!r}."
                )


def _unit_rows(vectors: Floats) -> Floats:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)


def _squares(features: sparse.csr_array) -> Floats:
    return np.asarray((features * features).sum(axis=1))


def _scaled(features: sparse.csr_array, lengths: Floats) -> sparse.csr_array:
    inverse = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    return sparse.csr_array(sparse.diags_array(inverse) @ features)
