"""Calibrated probabilities and sets of labels, both learned from held-out graphs.

References
----------
Sadinle, Lei & Wasserman, *Least ambiguous set-valued classifiers with bounded error levels*,
JASA 2019.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from kgnn.engine.calibration import calibrate
from kgnn.engine.task import Task
from kgnn.errors import KgnnWarning, ParameterError
from kgnn.graphs.graph import Floats, Ints
from kgnn.progress import track, without_messages
from kgnn.seeds import derive

if TYPE_CHECKING:
    from kgnn.estimator.classifier import GraphClassifier

_TINY = 1e-12  # probability, where a logarithm is needed


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Predictions for graphs whose labels were not trained on."""

    proba: Floats  # (n, n_classes)
    targets: Ints  # (n,), their true classes


def calibrate_model(model: GraphClassifier, task: Task) -> None:
    """Set ``held_out_`` and ``sharpness_`` of a fitted model from VAL, or by cross-fitting.

    After Ctrl-C the model predicts, but without calibration.
    """
    try:
        held_out = _hold_out(model, task)
        if held_out is not None:
            scores = np.log(np.maximum(held_out.proba, _TINY))
            sharpness = calibrate(scores, held_out.targets).sharpness
            model.held_out_ = replace(held_out, proba=sharpen(held_out.proba, sharpness))
            model.sharpness_ = sharpness
    except KeyboardInterrupt:
        model.interrupted_, model.held_out_, model.sharpness_ = True, None, 1.0
        warnings.warn(
            "Calibration was stopped by hand; the model predicts as it is.",
            KgnnWarning,
            stacklevel=4,
        )


def sharpen(proba: Floats, sharpness: float) -> Floats:
    """Multiply log-probabilities by a factor: below 1 for overconfident models, else above.

    Examples
    --------
    >>> sharpen(np.array([[0.8, 0.2]]), 2).round(2).tolist()
    [[0.94, 0.06]]
    """
    if sharpness == 1.0:
        return proba
    return np.asarray(softmax(sharpness * np.log(np.maximum(proba, _TINY)), axis=1))


def _hold_out(model: GraphClassifier, task: Task) -> HeldOut | None:
    if task.validation is not None:
        graphs, targets = task.validation
        return HeldOut(model.predict_proba(graphs), targets)
    if model.cross_fit < 2:
        return None
    held_out = cross_fit(model, task, model.cross_fit)
    if held_out is None:
        warnings.warn(
            "A class has a single labeled graph, so that no label can be held out: the "
            "probabilities are not calibrated, and there are no sets of labels.",
            KgnnWarning,
            stacklevel=5,
        )
    return held_out


def cross_fit(model: GraphClassifier, task: Task, folds: int) -> HeldOut | None:
    """Fit without each part of the labels in turn, and predict it; None with too few labels."""
    labeled, targets = task.labeled, task.targets[task.labeled]
    n_folds = min(folds, int(np.bincount(targets).min()))
    if n_folds < 2:
        return None
    splitter = StratifiedKFold(n_folds, shuffle=True, random_state=derive(task.seed, "cross-fit"))
    proba = np.zeros((len(labeled), task.n_classes))
    for _, part in track(list(splitter.split(targets, targets)), "cross-fitting"):
        known = task.targets.copy()
        known[labeled[part]] = -1
        with without_messages():
            other = clone(model).set_params(cross_fit=0).fit(task.graphs, known)
        if other.interrupted_:
            raise KeyboardInterrupt  # which was not for this part alone
        proba[part] = other.predict_proba(task.graphs[labeled[part]])
    return HeldOut(proba, targets)


def labels_in_sets(
    proba: Floats, classes: list[Any], held_out: HeldOut | None, error: float
) -> list[list[Any]]:
    """Return for each row the labels that the graph may have, most probable first."""
    least = 0.0
    if held_out is not None:
        least = threshold(held_out.proba, held_out.targets, error)
    elif len(classes) > 1:
        raise ParameterError(
            "Sets of labels need graphs that were held out of training: fit with validation "
            "graphs, or with cross_fit=5 and at least two labeled graphs of each class."
        )
    order = np.argsort(-proba, axis=1, kind="stable")
    return [
        [classes[column] for column in row if chosen[column]]
        for row, chosen in zip(order.tolist(), label_sets(proba, least), strict=True)
    ]


def threshold(proba: Floats, targets: Ints, error: float) -> float:
    """Return the least probability that a label must have to be in the set.

    For new graphs from the same source, the true label has less in at most a share of ``error``,
    on average over such samples and for any model. Probabilities and classes are those of graphs
    that the model was not fitted on.

    Examples
    --------
    >>> proba = np.column_stack([np.linspace(0.5, 1, 19), np.linspace(0.5, 0, 19)])
    >>> threshold(proba, np.zeros(19, dtype=int), 0.1)
    0.5277777777777778
    """
    if not 0 < error < 1:
        raise ParameterError(f"The 'error' must be between 0 and 1, got {error}.")
    n = len(targets)
    allowed = math.floor(error * (n + 1))  # how many of these may fall below
    if allowed == 0:
        return 0.0  # too few graphs to leave any label out
    of_truth = np.sort(proba[np.arange(n), targets])
    return float(of_truth[allowed - 1])


def label_sets(proba: Floats, least: float) -> NDArray[np.bool_]:
    """Mark the labels in the set of each graph; the most probable one is always in it."""
    chosen = proba >= least
    chosen[np.arange(len(proba)), proba.argmax(axis=1)] = True
    return chosen
