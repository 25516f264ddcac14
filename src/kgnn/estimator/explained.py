"""What every method can say about one graph: why it gets its class, what it is similar to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from kgnn.errors import ParameterError
from kgnn.estimator.evidence import PREDICTION, measure
from kgnn.estimator.explanation import Explanation, Sketch
from kgnn.estimator.held_out import HeldOut
from kgnn.estimator.neighbors import Neighbor, Surroundings, plain_kernel_values
from kgnn.estimator.novelty import Novelty
from kgnn.graphs.graph import Floats, Graph, GraphDataset
from kgnn.graphs.interop import as_dataset
from kgnn.progress import track

_AT_ONCE = 1024  # graphs whose similarities to all labeled ones are in memory


class Explained:
    """Adds `explain` and `similar` to a classifier.

    A method that knows more than probabilities overrides `predict_proba_all`, `_kernel_values` and
    `attention_to_labeled`.
    """

    classes_: NDArray[Any]
    labeled_graphs_: GraphDataset
    held_out_: HeldOut | None
    predict_proba_all: Callable[[Any], dict[str, Floats]]
    sets_of: Callable[..., list[list[Any]]]
    novelty: Callable[[Any], list[Novelty]]

    def explain(self, graph: Any, *, neighbors: int = 5, error: float = 0.1) -> Explanation:
        """Say why a graph gets its class: what in it speaks for and against, what it is like.

        Parameters
        ----------
        graph : Graph
            Or one of another library, or a list with one.
        neighbors : int
            Labeled graphs to show beside it.
        error : float
            That the set of labels may have; see `predict_sets`.
        """
        one = _one_graph(graph)
        around = self._surroundings(one, neighbors)
        proba = self.predict_proba_all(one)
        best = int(proba[PREDICTION][0].argmax())
        evidence = measure(self.predict_proba_all, one, best)
        found = around.most_attended(0, neighbors)
        can_promise = self.held_out_ is not None or len(self.classes_) == 1
        return Explanation(
            type(self).__name__,
            Sketch.of(one[0], evidence.nodes),
            tuple(self.classes_.tolist()),
            self.classes_.tolist()[best],
            {who: tuple(each[0].tolist()) for who, each in proba.items()},
            tuple(self.sets_of(proba[PREDICTION], error=error)[0]) if can_promise else None,
            error,
            self.novelty(one)[0],
            evidence,
            found,
            tuple(Sketch.of(self.labeled_graphs_[each.row]) for each in found),
            tuple(np.maximum(0.0, 1 - around.attention[:, 0].sum(axis=1)).tolist()),
        )

    def similar(self, X: GraphDataset | Sequence[Any], n: int = 5) -> list[tuple[Neighbor, ...]]:
        """Return for each graph the labeled graphs that are most similar to it.

        By the model's own kernel features where it has some, else by plain Weisfeiler-Lehman ones.
        """
        graphs = as_dataset(X)
        runs = [slice(at, at + _AT_ONCE) for at in range(0, len(graphs), _AT_ONCE)]
        found = []
        for run in track(runs or [slice(0)], "comparing"):
            around = self._surroundings(graphs[run], n)
            found += [around.most_similar(row, n) for row in range(len(around.kernel_values))]
        return found

    def _surroundings(self, graphs: GraphDataset, n: int) -> Surroundings:
        check_is_fitted(self, "classes_")
        if n < 1:
            raise ParameterError(f"At least one similar graph must be asked for, got {n}.")
        labels = [self.classes_.tolist()[target] for target in self.labeled_graphs_.targets]
        attention, values = self.attention_to_labeled(graphs), self._kernel_values(graphs)
        return Surroundings(self.labeled_graphs_, labels, values, attention)

    def _kernel_values(self, graphs: GraphDataset) -> Floats:
        """Return how similar graphs are to the labeled ones, ``(n_graphs, n_labeled)``."""
        return plain_kernel_values(graphs, self.labeled_graphs_)

    def attention_to_labeled(self, graphs: GraphDataset) -> Floats:
        """Return attention to the labeled graphs, ``(n_hops, n_graphs, n_labeled)``, if any."""
        return np.zeros((0, len(graphs), len(self.labeled_graphs_)))


def _one_graph(graph: Any) -> GraphDataset:
    graphs = as_dataset(graph if isinstance(graph, (GraphDataset, list, tuple)) else [graph])
    if len(graphs) != 1:
        raise ParameterError(f"One graph is explained at a time, got {len(graphs)}.")
    # Taken out of its dataset, a graph without a name would be called by another number.
    is_named = not isinstance(graph, Graph) or graphs.graph_names is not None
    return graphs if is_named else replace(graphs, graph_names=np.array([graph.name]))
