"""Sub2Vec: vectors that predict degrees along random walks, with a support vector machine."""

from __future__ import annotations

from kgnn.estimator.parameters import Count, parameters
from kgnn.kernels.base import Featurizer
from kgnn.kernels.sub2vec import Sub2Vec as Embedding
from kgnn.methods.embedded import EmbeddedClassifier


@parameters
class Sub2Vec(EmbeddedClassifier):
    """Paragraph vectors of graphs, whose words are degrees along random walks.

    Vectors are learned from labeled and unlabeled graphs. Node labels are not looked at. Needs the
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

    def _featurizers(self) -> list[Featurizer]:
        return [
            Embedding(
                walks=self.walks,
                length=self.length,
                dimensions=self.dimensions,
                window=self.window,
                epochs=self.epochs,
                seed=self.random_state,
            )
        ]
