"""What a model says of graphs whose labels it was not taught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from kgnn.graphs.graph import Floats, Ints
from kgnn.progress import track, without_messages
from kgnn.seeds import derive

if TYPE_CHECKING:
    from kgnn.engine.task import Task
    from kgnn.estimator.classifier import GraphClassifier


@dataclass(frozen=True, eq=False)
class HeldOut:
    """What a model says of graphs whose labels it was not taught.

    Attributes
    ----------
    proba : (n, n_classes) float
    targets : (n,) int
        Their classes.
    """

    proba: Floats
    targets: Ints


def cross_fitted(model: GraphClassifier, task: Task, folds: int) -> HeldOut | None:
    """Fit without each part of the labels in turn, and predict it; None with too few labels."""
    labeled, targets = task.labeled, task.targets[task.labeled]
    n_folds = min(folds, int(np.bincount(targets).min()))
    if n_folds < 2:
        return None
    splitter = StratifiedKFold(n_folds, shuffle=True, random_state=derive(task.seed, "cross-fit"))
    proba = np.zeros((len(labeled), task.n_classes))
    parts = track(list(splitter.split(targets, targets)), "cross-fitting")
    for _, part in parts:
        known = task.targets.copy()
        known[labeled[part]] = -1
        with without_messages():
            other = clone(model).set_params(cross_fit=0).fit(task.graphs, known)
        if other.interrupted_:
            raise KeyboardInterrupt  # which was not for this part alone
        proba[part] = other.predict_proba(task.graphs[labeled[part]])
    return HeldOut(proba, targets)
