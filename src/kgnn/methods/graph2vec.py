"""Graph2Vec: vectors that predict a graph's colors, with a support vector machine.

A graph is a document whose words are its Weisfeiler-Lehman colors.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from itertools import product
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.preprocessing import StandardScaler
from sklearn.utils.extmath import randomized_svd
from sklearn.utils.validation import check_is_fitted

from kgnn.estimator.parameters import Count, CountOrZero, check, parameters
from kgnn.graphs.graph import Floats, GraphDataset
from kgnn.graphs.interop import as_dataset
from kgnn.kernels.base import Featurizer
from kgnn.kernels.paragraph_vectors import ParagraphVectors
from kgnn.kernels.weisfeiler_lehman import WeisfeilerLehman
from kgnn.methods.featurized import EmbeddedClassifier
from kgnn.seeds import for_sklearn


@parameters
class Graph2Vec(EmbeddedClassifier):
    """Paragraph vectors of graphs, whose words are Weisfeiler-Lehman colors.

    Vectors are learned from labeled and unlabeled graphs; new graphs get theirs with the colors'
    vectors as they are.

    Parameters
    ----------
    iterations : tuple of int
        Depths of the colors to choose from.
    dimensions : tuple of int
        Lengths of vectors to choose from.
    embedding : {"doc2vec", "ppmi"}
        Paragraph vectors (PV-DBOW, by gensim: extra ``embeddings``), or the leading singular
        vectors of the positive pointwise mutual information of graphs and colors, which need no
        gradients.
    epochs : int
        Passes over the graphs.
    negatives : int
        Colors of noise for each color.
    use_edge_labels : bool
        Whether labels and directions of edges are read, where the graphs have them.

    References
    ----------
    Narayanan et al., *graph2vec: learning distributed representations of graphs*, 2017.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> graphs = cycles_and_trees(60)
    >>> model = Graph2Vec(epochs=5).fit(graphs[:40], graphs.targets[:40])
    >>> model.score(graphs[40:], graphs.targets[40:])
    1.0
    """

    # Paper silent: deep colors hardly recur in some datasets and are the most useful in others.
    iterations: tuple[CountOrZero, ...] = (2, 1, 0)
    dimensions: tuple[Count, ...] = (128,)
    embedding: Literal["doc2vec", "ppmi"] = "doc2vec"
    epochs: Count = 10
    negatives: Count = 5
    use_edge_labels: bool = True

    def _unread(self) -> tuple[str, ...]:
        return ("edge_weights", "edge_attributes")

    def _featurizers(self) -> list[Featurizer]:
        return [
            GraphVectors(
                depth,
                dimensions=dimensions,
                embedding=self.embedding,
                epochs=self.epochs,
                negatives=self.negatives,
                seed=self.random_state,
            )
            for depth, dimensions in product(self.iterations, self.dimensions)
        ]


@dataclass(eq=False, repr=False)
class GraphVectors(TransformerMixin, BaseEstimator):
    """Vectors that predict which colors a graph has.

    Vectors of new graphs are found in the same way as those of the graphs given to `fit`, with the
    colors' vectors fixed, so equal graphs have equal vectors.

    Parameters are those of `Graph2Vec`, with one value each, and ``min_df``: colors that occur in
    fewer graphs are left out.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> graphs = cycles_and_trees(30)
    >>> GraphVectors(dimensions=4, embedding="ppmi").fit(graphs[:20]).transform(graphs[20:]).shape
    (10, 4)
    """

    iterations: int = 2
    _: KW_ONLY
    dimensions: int = 128
    embedding: Literal["doc2vec", "ppmi"] = "doc2vec"
    epochs: int = 20
    negatives: int = 5
    min_df: int = 2
    seed: int = 0

    def fit(self, graphs: GraphDataset, y: Any = None) -> GraphVectors:
        """Learn vectors of colors from graphs; labels are not used."""
        self.fit_transform(graphs)
        return self

    def fit_transform(self, graphs: GraphDataset, y: Any = None) -> Floats:
        """Learn from graphs and return their vectors."""
        check(self)
        self.colors_ = WeisfeilerLehman(self.iterations, min_df=self.min_df, attributes=())
        counts = self.colors_.fit_transform(as_dataset(graphs))
        if self.embedding == "doc2vec":
            self.paragraphs_ = ParagraphVectors(
                self.dimensions,
                window=None,
                negatives=self.negatives,
                epochs=self.epochs,
                min_count=1,
                seed=self.seed,
            ).fit(documents(counts))
        else:
            self.information_ = GraphInformation(self.dimensions, self.seed)
            self.information_.fit(counts)
        vectors = self._vectors(counts)
        # Singular vectors are ordered by importance, which equal scaling would destroy.
        self.scaler_ = StandardScaler(with_std=self.embedding == "doc2vec").fit(vectors)
        return np.asarray(self.scaler_.transform(vectors))

    def transform(self, graphs: GraphDataset) -> Floats:
        """Return the vectors of graphs, centered (``doc2vec``: standardized) as those of `fit`."""
        check_is_fitted(self, "colors_")
        vectors = self._vectors(self.colors_.transform(as_dataset(graphs)))
        return np.asarray(self.scaler_.transform(vectors))

    def _vectors(self, counts: sparse.csr_array) -> Floats:
        if self.embedding == "doc2vec":
            return self.paragraphs_.infer(documents(counts))
        return self.information_.transform(counts)


def documents(counts: sparse.csr_array) -> list[list[list[str]]]:
    """Write every row as one sentence: each column's number as often as it was counted."""
    names: NDArray[np.object_] = np.array([str(c) for c in range(counts.shape[1])], dtype=object)
    written = []
    for start, stop in zip(counts.indptr[:-1], counts.indptr[1:], strict=True):
        columns = np.repeat(counts.indices[start:stop], counts.data[start:stop].astype(np.int64))
        written.append([names[columns].tolist()])
    return written


class GraphInformation:
    """Coordinates of graphs by how much more often than expected they have each color."""

    def __init__(self, dimensions: int, seed: int) -> None:
        self.dimensions, self.seed = dimensions, seed

    def fit(self, counts: sparse.csr_array) -> GraphInformation:
        """Find the coordinates that explain most of the rows."""
        totals = np.asarray(counts.sum(axis=0), dtype=np.float64)
        self.shares = totals / max(totals.sum(), 1.0)
        information = self._information(counts)
        n_vectors = min(self.dimensions, *information.shape)
        basis = np.zeros((information.shape[1], self.dimensions))
        if n_vectors and information.nnz:
            _, strength, vectors = randomized_svd(
                information, n_vectors, n_iter=4, random_state=for_sklearn(self.seed)
            )
            inverse = np.divide(1, np.sqrt(strength), where=strength > 1e-9, out=0 * strength)
            basis[:, :n_vectors] = vectors.T * inverse
        self.basis = basis
        return self

    def require_sound(self) -> None:
        """Refuse values read from a file that are not coordinates of colors."""
        shares, basis = self.shares, self.basis
        is_sound = (
            all(type(each) is int and each >= 0 for each in (self.dimensions, self.seed))
            and isinstance(shares, np.ndarray)
            and isinstance(basis, np.ndarray)
            and shares.dtype == basis.dtype == np.float64
            and shares.ndim == 1
            and basis.shape == (len(shares), self.dimensions)
        )
        if not is_sound:
            raise ValueError("the coordinates of colors do not belong together")

    def transform(self, counts: sparse.csr_array) -> Floats:
        """Return the coordinates of rows."""
        return np.asarray(self._information(counts) @ self.basis)

    def _information(self, counts: sparse.csr_array) -> sparse.csr_array:
        """Return max(0, log p(color | graph) / p(color))."""
        sizes = np.asarray(counts.sum(axis=1), dtype=np.float64)
        rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
        ratio = counts.data / sizes[rows] / np.maximum(self.shares[counts.indices], 1e-300)
        values = np.maximum(np.log(ratio), 0.0)
        return sparse.csr_array((values, counts.indices, counts.indptr), shape=counts.shape)
