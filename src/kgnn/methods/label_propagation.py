"""Label propagation: labels spread between graphs that a kernel finds similar."""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
from scipy import sparse

from kgnn.engine.task import OutOfFold, Task
from kgnn.estimator.classifier import GraphClassifier
from kgnn.estimator.parameters import Bounds, Count, parameters
from kgnn.graphs.graph import Floats, GraphDataset, Ints
from kgnn.kernels import make_kernel
from kgnn.kernels.base import Features, cosines
from kgnn.methods.memory import DEFAULT_KERNELS

_ROWS_AT_ONCE = 512  # of the table of all similarities
_ROUNDING = 1e-9  # of a similarity; neighbors that tie are all neighbors
_MOST_STEPS, _PRECISION = 2000, 1e-8  # of the iteration


@parameters
class LabelPropagation(GraphClassifier):
    """Label spreading on the graph of nearest neighbors among all training graphs.

    With W the similarities of each graph with its nearest neighbors, made symmetric, S = D⁻¹ᐟ² W
    D⁻¹ᐟ² and Y the labels, one column a class, F = (1 − α) (I − α S)⁻¹ Y. A new graph gets the mean
    of its neighbors in F, weighted by similarity (Delalleau et al., AISTATS 2005).

    Parameters
    ----------
    kernel : str or featurizer
        See `kgnn.kernels.make_kernel`. Similarities are cosines of its features.
    neighbors : int
        Of each graph.
    alpha : float
        How far labels spread: the share of a graph's answer that comes from its neighbors.
    use_node_attributes, use_edge_labels : bool
        Whether what nodes and edges carry is read, where the graphs have it.

    Attributes
    ----------
    kernel_ : featurizer
    features_ : array
        Of the training graphs, labeled or not.
    spread_ : array
        F, ``(n_graphs, n_classes)``, with rows that sum to 1.

    References
    ----------
    Zhu & Ghahramani, *Learning from labeled and unlabeled data with label propagation*, 2002; Zhou
    et al., *Learning with local and global consistency*, NeurIPS 2003.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> graphs = cycles_and_trees(60)
    >>> labels = graphs.targets.copy()
    >>> labels[10:40] = -1
    >>> LabelPropagation().fit(graphs[:40], labels[:40]).score(graphs[40:]) > 0.9
    True
    """

    # Paper silent: the originals put a Gaussian on vectors and tune its width. The cosines of the
    # features that KGNN's memory and WL-Linear start from need none.
    kernel: object = DEFAULT_KERNELS[0]
    # Paper silent: of 5, 10 and 20, and of 0.5, 0.9 and 0.99, what suits held-out labels of MUTAG,
    # PROTEINS and IMDB-BINARY; neighbors hardly matter, and 0.99, the original's, is too far.
    neighbors: Count = 10
    alpha: Annotated[float, Bounds(0, 0.99)] = 0.5
    use_node_attributes: bool = True
    use_edge_labels: bool = True

    _cross_fits: ClassVar[bool] = True

    def _fit(self, task: Task) -> OutOfFold | None:
        self.kernel_ = make_kernel(self.kernel)
        self.features_ = self.kernel_.fit(task.graphs).transform(task.graphs)
        near = self._nearest(self.features_, is_training=True)
        edges = spreading(near.maximum(near.T))
        one_hot = np.eye(task.n_classes)
        if task.class_weights is not None:
            one_hot = one_hot * task.class_weights

        def spread(labeled: Ints) -> Floats:
            labels = np.zeros((len(task.targets), task.n_classes))
            labels[labeled] = one_hot[task.targets[labeled]]
            shares = labels.sum(axis=0)
            return _to_shares(propagate(edges, labels, self.alpha), shares / shares.sum())

        self.spread_ = spread(task.labeled)
        members = [each for each in task.members() if len(each.held_out)]
        if task.validation is not None or not members:
            return None
        answers = [_answers(near[each.held_out], spread(each.labeled)) for each in members]
        rows = np.concatenate([each.held_out for each in members])
        return OutOfFold(rows, np.concatenate(answers))

    def _nearest(self, features: Features, *, is_training: bool = False) -> sparse.csr_array:
        """Return the similarities of graphs with their nearest training graphs, and no others."""
        n = self.features_.shape[0]
        if is_training:
            n -= 1  # no graph is its own neighbor
        if n < 1:
            return sparse.csr_array((features.shape[0], self.features_.shape[0]))
        parts = []
        for first in range(0, features.shape[0], _ROWS_AT_ONCE):
            found = cosines(features[first : first + _ROWS_AT_ONCE], self.features_)
            if is_training:
                every = np.arange(len(found))
                found[every, first + every] = 0.0
            last = -min(self.neighbors, n)
            least = np.partition(found, last, axis=1)[:, [last]] - _ROUNDING
            parts.append(sparse.csr_array(np.where(found >= least, found, 0.0)))
        return sparse.csr_array(sparse.vstack(parts))

    def require_sound(self) -> None:
        """Refuse answers, read from a file, that are not those of the training graphs."""
        if len(self.classes_) > 1 and self.spread_.shape != (
            self.features_.shape[0],
            len(self.classes_),
        ):
            raise ValueError("there is not one answer for each training graph")

    def _predict_proba(self, graphs: GraphDataset) -> Floats:
        return _answers(self._nearest(self.kernel_.transform(graphs)), self.spread_)


def spreading(weights: sparse.csr_array) -> sparse.csr_array:
    """Return S = D⁻¹ᐟ² W D⁻¹ᐟ², with 0 / 0 = 0."""
    degrees = np.asarray(weights.sum(axis=1), dtype=np.float64)
    scale = np.divide(1.0, np.sqrt(degrees), out=np.zeros_like(degrees), where=degrees > 0)
    scaled = sparse.diags_array(scale)
    return sparse.csr_array(scaled @ weights @ scaled)


def propagate(edges: sparse.csr_array, labels: Floats, alpha: float) -> Floats:
    """Return (1 − α) (I − α S)⁻¹ Y, by iterating F ← α S F + (1 − α) Y.

    Examples
    --------
    >>> pair = sparse.csr_array(np.array([[0.0, 1.0], [1.0, 0.0]]))
    >>> propagate(pair, np.array([[1.0], [0.0]]), 0.5).round(3)
    array([[0.667],
           [0.333]])
    """
    found = given = (1 - alpha) * labels
    for _ in range(_MOST_STEPS):
        before, found = found, alpha * (edges @ found) + given
        if np.abs(found - before).max() <= _PRECISION * (1 - alpha):
            break
    return found


def _answers(near: sparse.csr_array, spread: Floats) -> Floats:
    """Return the mean answer of neighbors, weighted by similarity; without any, that of all."""
    return _to_shares(np.asarray(near @ spread), spread.mean(axis=0))


def _to_shares(amounts: Floats, default: Floats) -> Floats:
    totals = amounts.sum(axis=1, keepdims=True)
    # Rows that nothing has reached, or only traces of rounding, tell nothing.
    return np.where(totals > 1e-12, amounts / np.maximum(totals, 1e-12), default)
