"""DGK: a support vector machine on a deep graph kernel."""

from __future__ import annotations

from itertools import product
from typing import Literal

from kgnn.estimator.parameters import Count, CountOrZero, parameters
from kgnn.kernels.base import Featurizer
from kgnn.kernels.deep_kernel import DeepKernel
from kgnn.methods.embedded import EmbeddedClassifier, Width


@parameters
class DGK(EmbeddedClassifier):
    """The deep graph kernel: substructures match by how like their contexts are.

    Similarities of substructures are learned from labeled and unlabeled graphs.

    Parameters
    ----------
    base : {"wl", "sp", "graphlet"}
        What substructures are; see `kgnn.kernels.deep_kernel.DeepKernel`.
    iterations : int
        Depth of the colors, with ``wl``.
    embedding : {"ppmi", "word2vec"}
        How vectors of substructures are learned; ``word2vec`` needs the extra ``embeddings``.
    dimensions : tuple of int
        Lengths of vectors to choose from.
    counts : tuple of {"raw", "log", "sqrt", "binary"}
        Count transforms to choose from.
    normalize : tuple of {"graph", None}
        Normalizations to choose from.

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
