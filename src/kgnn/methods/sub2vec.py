"""Sub2Vec: vectors that predict degrees along random walks, with a support vector machine.

A graph is a document whose sentences are the degrees that random walks pass.
"""

from __future__ import annotations

from collections import deque
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from kgnn.estimator.parameters import Count, parameters
from kgnn.graphs.graph import Floats, GraphDataset, Ints
from kgnn.graphs.interop import as_dataset
from kgnn.kernels.base import Featurizer
from kgnn.kernels.colors import colors
from kgnn.kernels.paragraph_vectors import ParagraphVectors
from kgnn.methods.featurized import EmbeddedClassifier
from kgnn.seeds import generator

# Right edges of the classes of a node's degree over the number of nodes.
DEGREE_CLASSES = (0.05, 0.10, 0.15, 0.20, 0.25, 0.50, 0.75, 1.00)
# Neighborhoods of this depth decide the order in which nodes are numbered for walking.
_DEPTH = 8


@parameters
class Sub2Vec(EmbeddedClassifier):
    """Paragraph vectors of graphs, whose words are degrees along random walks.

    Vectors are learned from labeled and unlabeled graphs. Node labels are ignored. Needs the
    extra ``embeddings``.

    Parameters
    ----------
    walks : int
        Random walks on each graph.
    length : int
        Nodes of a walk.
    dimensions : int
        Length of vectors.
    window : int
        Words on each side from which a word is predicted.
    epochs : int
        Passes over the graphs.

    References
    ----------
    Adhikari et al., *Sub2Vec: feature learning for subgraphs*, PAKDD 2018.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> graphs = cycles_and_trees(60)
    >>> model = Sub2Vec(walks=5).fit(graphs[:40], graphs.targets[:40])
    >>> model.score(graphs[40:], graphs.targets[40:])
    1.0
    """

    # Paper silent: twenty short walks stand for the original's single one of 100,000 steps.
    walks: Count = 20
    length: Count = 100
    dimensions: Count = 64
    window: Count = 2
    epochs: Count = 5

    def _unread(self) -> tuple[str, ...]:
        return ("node_labels",)

    def _featurizers(self) -> list[Featurizer]:
        return [
            WalkVectors(
                walks=self.walks,
                length=self.length,
                dimensions=self.dimensions,
                window=self.window,
                epochs=self.epochs,
                seed=self.random_state,
            )
        ]


@dataclass(eq=False, repr=False)
class WalkVectors(TransformerMixin, BaseEstimator):
    """Vectors that predict the degrees along random walks (the method's structural property).

    Parameters are those of `Sub2Vec`, and ``negatives``: words of noise for each word.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> graphs = cycles_and_trees(30)
    >>> WalkVectors(walks=2, dimensions=4).fit(graphs[:20]).transform(graphs[20:]).shape
    (10, 4)
    """

    _: KW_ONLY
    walks: int = 20
    length: int = 100
    dimensions: int = 64
    window: int = 2
    epochs: int = 5
    negatives: int = 5
    seed: int = 0

    def fit(self, graphs: GraphDataset, y: Any = None) -> WalkVectors:
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


def random_walks(graphs: GraphDataset, draws: Floats) -> Ints:
    """Return the nodes that walks visit, ``(n_graphs, n_walks, length)``; −1 without an edge.

    A walk starts at a random node that has neighbors, and goes on to a random neighbor. The same
    random numbers serve every graph, and they choose among nodes in the order of their colors
    rather than of their numbers. So a graph's walks do not depend on the graphs beside it, nor, as
    long as only degrees are read from them, on how its nodes are numbered. ``draws`` are uniform
    numbers in [0, 1), ``(n_walks, length)``.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> ring = cycles_and_trees(1)
    >>> visited = random_walks(ring, np.random.default_rng(0).random((2, 5)))[0]
    >>> set(np.abs(np.diff(visited)).ravel().tolist()) <= {1, ring.n_nodes - 1}
    True
    """
    last = deque(colors(graphs, _DEPTH, start="degree"), maxlen=1)[0]
    by_color = graphs.neighbors[np.lexsort((last[graphs.neighbors], graphs.arc_sources))].astype(
        np.int64
    )
    walkable = graphs.degrees > 0
    starts = np.lexsort((last, ~walkable, graphs.node_graphs))
    n_starts = np.bincount(graphs.node_graphs[walkable], minlength=len(graphs))

    walks = np.full((len(graphs), *draws.shape), -1, dtype=np.int64)
    has_edges = np.flatnonzero(n_starts)
    place = (draws[None, :, 0] * n_starts[has_edges, None]).astype(np.int64)
    node = starts[graphs.node_offsets[has_edges, None] + place]
    walks[has_edges, :, 0] = node
    for step in range(1, draws.shape[1]):
        place = (draws[None, :, step] * graphs.degrees[node]).astype(np.int64)
        node = by_color[graphs.arc_offsets[node] + place]
        walks[has_edges, :, step] = node
    return walks
