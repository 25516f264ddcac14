"""Graph2Vec: vectors that predict a graph's colors, with a support vector machine."""

from __future__ import annotations

from itertools import product
from typing import Literal

from kgnn.estimator.parameters import Count, CountOrZero, parameters
from kgnn.kernels.base import Featurizer
from kgnn.kernels.graph2vec import Graph2Vec as Embedding
from kgnn.methods.embedded import EmbeddedClassifier


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
        How vectors are found; see `kgnn.kernels.graph2vec.Graph2Vec`. ``doc2vec`` needs the
        extra ``embeddings``.
    epochs : int
        Passes over the graphs.
    negatives : int
        Colors of noise for each color.

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

    # Paper silent: deep colors hardly recur in some datasets, and tell most in others.
    iterations: tuple[CountOrZero, ...] = (2, 1, 0)
    dimensions: tuple[Count, ...] = (128,)
    embedding: Literal["doc2vec", "ppmi"] = "doc2vec"
    epochs: Count = 10
    negatives: Count = 5

    def _featurizers(self) -> list[Featurizer]:
        return [
            Embedding(
                depth,
                dimensions=dimensions,
                embedding=self.embedding,
                epochs=self.epochs,
                negatives=self.negatives,
                seed=self.random_state,
            )
            for depth, dimensions in product(self.iterations, self.dimensions)
        ]
