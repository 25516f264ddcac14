"""Calibrated probabilities and conformal label sets, both from held-out graphs.

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

from kgnn.engine.calibration import PULL, calibrate
from kgnn.engine.task import OutOfFold, Task
from kgnn.errors import KgnnWarning, ParameterError
from kgnn.graphs.graph import Floats, Ints
from kgnn.kernels.colors import looks
from kgnn.progress import track, without_messages

if TYPE_CHECKING:
    from kgnn.estimator.classifier import GraphClassifier

_TINY = 1e-12  # smallest probability before taking logarithms


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Predictions for labeled graphs by models that were not trained on their labels."""

    proba: Floats  # (n, n_classes)
    targets: Ints  # (n,), their true classes
    rows: Ints  # (n,), positions in the validation set or, out of fold, in the graphs fitted on

    def is_sound(self, n_classes: int) -> bool:
        """Tell whether values read from a file are probabilities and classes of graphs."""
        n = len(self.targets)
        return (
            self.proba.shape == (n, n_classes)
            and self.targets.shape == self.rows.shape == (n,)
            and bool((self.proba >= 0).all() and np.allclose(self.proba.sum(axis=1), 1))
            and bool(((self.targets >= 0) & (self.targets < n_classes) & (self.rows >= 0)).all())
        )


def calibrate_model(
    model: GraphClassifier, task: Task, answers: OutOfFold | None, judging: Ints | None = None
) -> None:
    """Set ``held_out_`` and ``sharpness_`` of a model from VAL or from out-of-fold predictions.

    ``judging`` are the positions of the task's validation graphs in the given validation set.
    Without either, a model cannot be calibrated. But if graphs that look alike have different
    labels, its probabilities on the training graphs are softened to fit these labels. After Ctrl-C
    the model predicts without calibration.
    """
    try:
        held_out = _hold_out(model, task, answers, judging)
        if held_out is None and _contradict_each_other(task):
            known = task.labeled
            scores = np.log(np.maximum(model.predict_proba(task.graphs[known]), _TINY))
            model.sharpness_ = min(1.0, calibrate(scores, task.targets[known]).sharpness)
        elif held_out is not None:
            scores = np.log(np.maximum(held_out.proba, _TINY))
            pull = PULL if task.validation is None else 0.0
            sharpness = calibrate(scores, held_out.targets, pull).sharpness
            model.held_out_ = replace(held_out, proba=sharpen(held_out.proba, sharpness))
            model.sharpness_ = sharpness
    except KeyboardInterrupt:
        model.interrupted_, model.held_out_, model.sharpness_ = True, None, 1.0
        warnings.warn(
            "Calibration was stopped by hand; the probabilities are not calibrated.",
            KgnnWarning,
            stacklevel=4,
        )


def _contradict_each_other(task: Task) -> bool:
    """Tell whether graphs that look alike have different labels."""
    known = task.labeled
    different, copies = np.unique(looks(task.graphs[known]), return_inverse=True)
    pairs = np.column_stack([copies.reshape(-1), task.targets[known]])
    return len(np.unique(pairs, axis=0)) > len(different)


def sharpen(proba: Floats, sharpness: float) -> Floats:
    """Multiply log-probabilities by a factor: below 1 for overconfident models, otherwise above.

    Examples
    --------
    >>> sharpen(np.array([[0.8, 0.2]]), 2).round(2).tolist()
    [[0.94, 0.06]]
    """
    if sharpness == 1.0:
        return proba
    return np.asarray(softmax(sharpness * np.log(np.maximum(proba, _TINY)), axis=1))


def _hold_out(
    model: GraphClassifier, task: Task, answers: OutOfFold | None, judging: Ints | None
) -> HeldOut | None:
    if task.validation is not None:
        assert judging is not None
        graphs, targets = task.validation
        return HeldOut(model.predict_proba(graphs), targets, judging)
    if answers is None and any(map(len, task.folds)):
        answers = refit_for_each_fold(model, task)
    if answers is None:
        return None
    # A graph that several members hold out, as it happens with few labels, gets their mean.
    rows, first = np.unique(answers.rows, return_inverse=True)
    total = np.zeros((len(rows), task.n_classes))
    np.add.at(total, first, answers.proba)
    return HeldOut(total / np.bincount(first)[:, None], task.targets[rows], rows)


def refit_for_each_fold(model: GraphClassifier, task: Task) -> OutOfFold:
    """Fit without each fold in turn, and predict it: for methods that know nothing of folds."""
    proba = []
    for fold in track(task.folds, "cross-fitting"):
        known = task.targets.copy()
        known[fold] = -1
        # The graphs themselves are left out as well: unlabeled graphs are learned from, too.
        kept = np.setdiff1d(np.arange(len(known)), fold, assume_unique=True)
        with without_messages():
            other = clone(model).set_params(cross_fit=0).fit(task.graphs[kept], known[kept])
        if other.interrupted_:
            raise KeyboardInterrupt  # which was not for this fold alone
        proba.append(other.predict_proba(task.graphs[fold]))
    return OutOfFold(np.concatenate(task.folds), np.concatenate(proba))


def labels_in_sets(
    proba: Floats, classes: list[Any], held_out: HeldOut | None, error: float
) -> list[list[Any]]:
    """Return the label set of each row, most probable first."""
    least = 0.0
    if held_out is not None:
        least = threshold(held_out.proba, held_out.targets, error)
    elif len(classes) > 1:
        raise ParameterError(
            "Label sets need graphs that were held out of training: fit with validation graphs, "
            "or with cross_fit=5 and several labeled graphs of a class."
        )
    order = np.argsort(-proba, axis=1, kind="stable")
    return [
        [classes[column] for column in row if chosen[column]]
        for row, chosen in zip(order.tolist(), label_sets(proba, least), strict=True)
    ]


def threshold(proba: Floats, targets: Ints, error: float) -> float:
    """Return the smallest probability with which a label is in a label set.

    For new graphs from the same source, the true label has a smaller probability in at most a share
    of ``error``, on average over held-out samples and for any model. ``proba`` and ``targets`` are
    those of held-out graphs.

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
