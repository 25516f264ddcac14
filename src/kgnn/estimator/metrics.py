"""Metrics by name, most of them computed by scikit-learn."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kgnn.errors import UnknownNameError
from kgnn.estimator.parameters import fields_of
from kgnn.graphs.graph import Floats, Ints


def accuracy(targets: Ints, predicted: NDArray[np.int64]) -> float:
    """Return the share of correct predictions."""
    return float((targets == predicted).mean())


def brier_score(targets: Ints, proba: Floats) -> float:
    """Return the mean squared distance between probabilities and one-hot targets; 0 is best.

    Examples
    --------
    >>> brier_score(np.array([0, 1]), np.array([[1.0, 0.0], [0.5, 0.5]]))
    0.25
    """
    one_hot = np.eye(proba.shape[1])[targets]
    return float(((proba - one_hot) ** 2).sum(axis=1).mean())


def balanced_accuracy(targets: Ints, proba: Floats) -> float:
    """Return the mean recall over the classes in ``targets``."""
    from sklearn.metrics import recall_score  # imported late: reports do not need it

    present, predicted = np.unique(targets), proba.argmax(axis=1)
    return float(
        recall_score(targets, predicted, labels=present, average="macro", zero_division=0.0)
    )


def macro_f1(targets: Ints, proba: Floats) -> float:
    """Return the mean F1 over the classes in ``targets`` or among the predictions."""
    from sklearn.metrics import f1_score

    return float(f1_score(targets, proba.argmax(axis=1), average="macro", zero_division=0.0))


def matthews(targets: Ints, proba: Floats) -> float:
    """Return Matthews' correlation, from -1 to 1; 0 for uninformative predictions."""
    from sklearn.metrics import matthews_corrcoef

    predicted = proba.argmax(axis=1)
    if len(np.union1d(targets, predicted)) == 1:  # no variance, so no correlation
        return 0.0
    return float(matthews_corrcoef(targets, predicted))


def roc_auc(targets: Ints, proba: Floats) -> float:
    """Return the area under the ROC curve: one-vs-rest, mean over classes."""
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(np.eye(proba.shape[1])[targets], proba))


def average_precision(targets: Ints, proba: Floats) -> float:
    """Return the area under the precision-recall curve: one-vs-rest, mean over classes.

    For two classes, it is that of the rarer one; of the second if both are equally frequent.
    """
    from sklearn.metrics import average_precision_score

    n_classes = proba.shape[1]
    if n_classes > 2:
        return float(average_precision_score(np.eye(n_classes)[targets], proba))
    rarer = int(2 * (targets == 1).sum() <= len(targets))
    return float(average_precision_score(targets == rarer, proba[:, rarer]))


def log_loss(targets: Ints, proba: Floats) -> float:
    """Return the mean negative log-probability of the true class; 0 is best."""
    from sklearn import metrics

    n_classes = proba.shape[1]
    if n_classes == 1:
        return 0.0
    return float(metrics.log_loss(targets, proba, labels=np.arange(n_classes)))


class Metric(NamedTuple):
    """How to compute and format a metric.

    Most metrics are computed as shares from 0 to 1, and shown and recorded in percent.
    """

    title: str
    judge: Callable[[Ints, Floats], float]  # of targets and probabilities, ``(n, n_classes)``
    # Whether every class must have graphs and be known to the model.
    needs_all_classes: bool = False
    is_percent: bool = True  # shown and recorded in percent
    is_best_high: bool = True
    bounds: tuple[float, float] = (0.0, 1.0)  # of the share

    @property
    def unit(self) -> str:
        """What follows a written value."""
        return " %" if self.is_percent else ""

    def in_units(self, share: float | None) -> float | None:
        """Return a share in the unit in which it is written."""
        return 100 * share if share is not None and self.is_percent else share

    def written(self, value: float | None) -> str:
        """Format a value in this unit; a dash for None."""
        return "–" if value is None else f"{value:.{1 if self.is_percent else 3}f}"

    def in_words(self, share: float | None) -> str:
        """Format a share with its unit; a dash for None."""
        return "–" if share is None else f"{self.written(self.in_units(share))}{self.unit}"


MetricName = Literal[
    "accuracy",
    "balanced_accuracy",
    "macro_f1",
    "matthews",
    "roc_auc",
    "average_precision",
    "log_loss",
    "brier",
]
METRICS = {
    "accuracy": Metric("accuracy", lambda targets, proba: accuracy(targets, proba.argmax(axis=1))),
    "balanced_accuracy": Metric("balanced accuracy", balanced_accuracy),
    "macro_f1": Metric("macro F1", macro_f1),
    "matthews": Metric("Matthews correlation", matthews, bounds=(-1.0, 1.0)),
    "roc_auc": Metric("ROC AUC", roc_auc, needs_all_classes=True),
    "average_precision": Metric("average precision", average_precision, needs_all_classes=True),
    "log_loss": Metric(
        "log loss", log_loss, is_percent=False, is_best_high=False, bounds=(0.0, math.inf)
    ),
    "brier": Metric(
        "Brier score", brier_score, is_percent=False, is_best_high=False, bounds=(0.0, 2.0)
    ),
}


def require_metric(name: str) -> str:
    """Return the name of a metric as it is in ``METRICS``; ``roc-auc`` is fine, too."""
    known = name.strip().lower().replace("-", "_")
    if known not in METRICS:
        raise UnknownNameError.of("metric", name, METRICS)
    return known


def choosing_by(cls: type, metric: str) -> dict[str, Any]:
    """Return the setting that makes a method select hyperparameters by a metric, if it has one.

    Neural methods have none: they select by likelihood, whatever is reported. It rewards calibrated
    probabilities and is more informative than accuracy on a handful of graphs.

    Examples
    --------
    >>> from kgnn.estimator.registry import method_class
    >>> choosing_by(method_class("wl"), "roc_auc"), choosing_by(method_class("kgnn"), "roc_auc")
    ({'choose_by': 'roc_auc'}, {})
    """
    return {"choose_by": metric} if "choose_by" in fields_of(cls) else {}
