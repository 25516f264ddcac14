"""What a model may promise: probabilities that mean what they say, and sets of labels."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from kgnn.engine.calibration import calibrate
from kgnn.errors import KgnnWarning, ParameterError
from kgnn.estimator.conformal import label_sets, threshold
from kgnn.estimator.held_out import HeldOut, cross_fitted
from kgnn.graphs.graph import Floats, GraphDataset

if TYPE_CHECKING:
    from kgnn.engine.task import Task
    from kgnn.estimator.classifier import GraphClassifier

_TINY = 1e-12  # probability, where a logarithm is needed


class Promising:
    """Adds calibration, on VAL or by cross-fitting, and `predict_sets` to a classifier."""

    classes_: NDArray[Any]
    held_out_: HeldOut | None
    sharpness_: float
    interrupted_: bool
    cross_fit: int
    predict_proba: Callable[[Any], Floats]

    def _learn_what_to_promise(self, task: Task) -> None:
        """Keep what the model says of graphs whose labels it has not been taught."""
        if task.validation is not None:
            graphs, targets = task.validation
            self.held_out_ = HeldOut(self.predict_proba(graphs), targets)
        elif self.cross_fit > 1:
            self.held_out_ = cross_fitted(cast("GraphClassifier", self), task, self.cross_fit)
            if self.held_out_ is None:
                warnings.warn(
                    "A class has a single labeled graph, so that no label can be held out: the "
                    "probabilities are not calibrated, and there are no sets of labels.",
                    KgnnWarning,
                    stacklevel=5,
                )
        if self.held_out_ is not None:
            scores = np.log(np.maximum(self.held_out_.proba, _TINY))
            self.sharpness_ = calibrate(scores, self.held_out_.targets).sharpness
            self.held_out_ = replace(self.held_out_, proba=self._sharpened(self.held_out_.proba))

    def _calibrate_until_stopped(self, task: Task) -> None:
        """Learn what to promise; after Ctrl-C the model predicts, but promises nothing."""
        try:
            self._learn_what_to_promise(task)
        except KeyboardInterrupt:
            self.interrupted_, self.held_out_, self.sharpness_ = True, None, 1.0
            warnings.warn(
                "Calibration was stopped by hand; the model predicts as it is.",
                KgnnWarning,
                stacklevel=3,
            )

    def _sharpened(self, proba: Floats) -> Floats:
        if self.sharpness_ == 1.0:
            return proba
        return np.asarray(softmax(self.sharpness_ * np.log(np.maximum(proba, _TINY)), axis=1))

    def predict_sets(
        self, X: GraphDataset | Sequence[Any], *, error: float = 0.1
    ) -> list[list[Any]]:
        """Return for each graph the labels that it may have, most probable first.

        On average over graphs like those held out, the true label is missing in at most a share
        of ``error``. Needs validation graphs, or ``cross_fit``.
        """
        return self.sets_of(self.predict_proba(X), error=error)

    def sets_of(self, proba: Floats, *, error: float = 0.1) -> list[list[Any]]:
        """Return the labels that graphs with such probabilities may have; see `predict_sets`."""
        if len(self.classes_) > 1 and self.held_out_ is None:
            raise ParameterError(
                "Sets of labels need graphs that were held out of training: fit with validation "
                "graphs, or with cross_fit=5 and at least two labeled graphs of each class."
            )
        least = 0.0
        if self.held_out_ is not None:
            least = threshold(self.held_out_.proba, self.held_out_.targets, error)
        order = np.argsort(-proba, axis=1, kind="stable")
        return [
            [self.classes_.tolist()[column] for column in row if chosen[column]]
            for row, chosen in zip(order.tolist(), label_sets(proba, least), strict=True)
        ]
