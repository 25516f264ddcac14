"""Sub2Vec: a graph as a document whose sentences are the degrees that random walks come by.

References
----------
Adhikari et al., *Sub2Vec: feature learning for subgraphs*, PAKDD 2018.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from kgnn.graphs.graph import Floats, GraphDataset, Ints
from kgnn.graphs.interop import as_dataset
from kgnn.kernels.paragraph_vectors import ParagraphVectors
from kgnn.kernels.walks import random_walks
from kgnn.seeds import generator

# Right edges of the classes of a node's degree over the number of nodes.
DEGREE_CLASSES = (0.05, 0.10, 0.15, 0.20, 0.25, 0.50, 0.75, 1.00)


class Sub2Vec(TransformerMixin, BaseEstimator):
    """Vectors that predict the degrees along random walks (the method's structural property).

    Parameters
    ----------
    walks : int
        Random walks on each graph.
    length : int
        Nodes of a walk.
    dimensions : int
    window : int
        Words on each side from which a word is predicted.
    epochs : int
        Passes over the graphs.
    negatives : int
        Words of noise for each word.
    seed : int

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> graphs = cycles_and_trees(30)
    >>> Sub2Vec(walks=2, dimensions=4).fit(graphs[:20]).transform(graphs[20:]).shape
    (10, 4)
    """

    def __init__(
        self,
        *,
        walks: int = 20,
        length: int = 100,
        dimensions: int = 64,
        window: int = 2,
        epochs: int = 5,
        negatives: int = 5,
        seed: int = 0,
    ) -> None:
        self.walks = walks
        self.length = length
        self.dimensions = dimensions
        self.window = window
        self.epochs = epochs
        self.negatives = negatives
        self.seed = seed

    def fit(self, graphs: GraphDataset, y: Any = None) -> Sub2Vec:
        """Learn vectors of words from graphs; labels are not used."""
        self.fit_transform(graphs)
        return self

    def fit_transform(self, graphs: GraphDataset, y: Any = None) -> Floats:
        """Learn from graphs and return their vectors."""
        documents = self.documents(as_dataset(graphs))
        self.paragraphs_ = ParagraphVectors(
            self.dimensions,
            window=self.window,
            negatives=self.negatives,
            epochs=self.epochs,
            min_count=1,
            seed=self.seed,
        ).fit(documents)
        vectors = self.paragraphs_.infer(documents)
        self.scaler_ = StandardScaler().fit(vectors)
        return np.asarray(self.scaler_.transform(vectors))

    def transform(self, graphs: GraphDataset) -> Floats:
        """Return the vectors of graphs, each coordinate standardized over the graphs of `fit`."""
        check_is_fitted(self, "paragraphs_")
        vectors = self.paragraphs_.infer(self.documents(as_dataset(graphs)))
        return np.asarray(self.scaler_.transform(vectors))

    def documents(self, graphs: GraphDataset) -> list[list[list[str]]]:
        """Write every walk as a sentence of degree classes; a graph without edges is one word."""
        draws = generator(self.seed, "walks").random((self.walks, self.length))
        visited = random_walks(graphs, draws)
        words = np.append(degree_classes(graphs), 0)[visited].astype("U1")  # −1 is the last
        return [
            walks.tolist() if on_graph[0, 0] >= 0 else [["0"]]
            for walks, on_graph in zip(words, visited, strict=True)
        ]


def degree_classes(graphs: GraphDataset) -> Ints:
    """Return the class of every node's degree over the number of nodes, 0 to 7."""
    share = graphs.degrees / np.maximum(graphs.graph_sizes[graphs.node_graphs], 1)
    return np.searchsorted(np.array(DEGREE_CLASSES[:-1]), share, side="left")
