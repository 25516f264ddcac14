"""EntMin: predictions of unlabeled graphs should be confident."""

from __future__ import annotations

from torch import Tensor

from kgnn.engine.task import Task
from kgnn.estimator.parameters import NonNegative, parameters
from kgnn.methods.semi_supervised import SemiSupervisedClassifier, Step, Term


@parameters
class EntMin(SemiSupervisedClassifier):
    """Entropy minimization: moves the decision boundary away from unlabeled graphs.

    See `SemiSupervisedClassifier` for the parameters.

    Parameters
    ----------
    use_edge_labels : bool
        Whether to use labels, directions, weights and attributes of edges.

    References
    ----------
    Grandvalet & Bengio, *Semi-supervised learning by entropy minimization*, NeurIPS 2004.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> graphs = cycles_and_trees(60)
    >>> labels = graphs.targets.copy()
    >>> labels[10:40] = -1
    >>> EntMin(epochs=5).fit(graphs[:40], labels[:40]).predict_proba(graphs[40:]).shape
    (20, 2)
    """

    use_edge_labels: bool = True
    weight: NonNegative | tuple[NonNegative, ...] = (0.1, 0.01, 1.0)

    def _term(self, task: Task) -> Term:
        return _Entropy()


class _Entropy(Term):
    name = "entropy"

    def __call__(self, step: Step) -> Tensor:
        return entropy(step.logits[step.n_labeled :])


def entropy(logits: Tensor) -> Tensor:
    """Return the mean entropy of the predictions, ``−Σ_c p_c log p_c``.

    Examples
    --------
    >>> import torch
    >>> entropy(torch.zeros(3, 2))  # log 2
    tensor(0.6931)
    """
    log_p = logits.log_softmax(dim=1)
    return -(log_p.exp() * log_p).sum(dim=1).mean()
