"""What a memory network tells about a graph: whom it attends to, what it compares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kgnn.engine.cotraining import CoTraining
from kgnn.engine.kernel_network import KernelNetwork
from kgnn.engine.network import Network
from kgnn.errors import ParameterError
from kgnn.estimator.classifier import GraphClassifier
from kgnn.estimator.explanation import cosines
from kgnn.graphs.graph import Floats, GraphDataset
from kgnn.graphs.interop import as_dataset


class Attending(GraphClassifier):
    """Explains by the attention and the features of q_φ, where one of the networks is such."""

    hops: int
    networks_: list[Network]
    course_: CoTraining

    def attended(self, X: GraphDataset | Sequence[Any]) -> Floats:
        """Return how much q_φ attends to each training graph, ``(n_hops, n_graphs, n_training)``.

        The mean over the rounds that predict. Rows sum to 1; graphs that are in no round's memory
        have 0. Not for `GNN-Self` and `Ensemble-Self`, which have no q_φ by itself.
        """
        check_is_fitted(self, "classes_")
        if not self._memory_networks():
            one = len(self.classes_) == 1
            why = "it was fitted on one class" if one else "it has no memory network by itself"
            raise ParameterError(f"{type(self).__name__} attends to no graphs: {why}.")
        place, q = self._memory_networks()[0]
        prepared = q.prepare(as_dataset(X))
        mean = np.zeros((self.hops, len(prepared), len(q.pool)))
        for each in self.course_.used:
            fitted = each.fitted[place]
            mean[:, :, fitted.memory] += q.attention(prepared, fitted) / len(self.course_.used)
        return mean

    def _memory_networks(self) -> list[tuple[int, KernelNetwork]]:
        """Return q_φ with its place, if there is one by itself."""
        networks = enumerate(getattr(self, "networks_", ()))
        return [(place, each) for place, each in networks if isinstance(each, KernelNetwork)]

    def attention_to_labeled(self, graphs: GraphDataset) -> Floats:
        """Return attention to the labeled graphs, ``(n_hops, n_graphs, n_labeled)``, if any."""
        if not self._memory_networks():
            return super().attention_to_labeled(graphs)
        place, q = self._memory_networks()[0]
        prepared, n_labeled = q.prepare(graphs), len(self.labeled_graphs_)
        mean = np.zeros((self.hops, len(graphs), n_labeled))
        for each in self.course_.used:
            # A memory begins with the labeled graphs; annotated ones follow.
            mean += q.attention(prepared, each.fitted[place])[:, :, :n_labeled]
        return mean / len(self.course_.used)

    def similarity_to_labeled(self, graphs: GraphDataset) -> Floats:
        """Return cosines of kernel features with the labeled graphs, ``(n_graphs, n_labeled)``."""
        if not self._memory_networks():
            return super().similarity_to_labeled(graphs)
        features = self._memory_networks()[0][1].features
        return cosines(features.transform(graphs), features.transform(self.labeled_graphs_))
