"""The quality of predictions for graphs of known class."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kgnn.estimator.metrics import METRICS
from kgnn.graphs.graph import Floats, GraphDataset, Ints
from kgnn.kernels.colors import looks

# Out-of-fold predictions worth one independent prediction; found on splits that no table of results
# has.
_DEPENDENCE = 1.5
_BINS = 10
_APART = 10.0  # points; recalls this far from the headline are reported
_MOST_RECALLS = 4
_IMBALANCE = 0.05  # smallest gap to accuracy at which balanced accuracy is reported


def majority_share(targets: Ints) -> float:
    """Return the accuracy of always predicting the most frequent class."""
    return float(np.bincount(targets).max() / len(targets))


def mean_and_std(values: Floats | list[float]) -> tuple[float, float]:
    """Return mean and sample standard deviation (ddof = 1; 0 for a single value)."""
    array = np.asarray(values, dtype=np.float64)
    return float(array.mean()), float(array.std(ddof=1)) if len(array) > 1 else 0.0


def calibration_error(targets: Ints, proba: Floats, bins: int = 10) -> float:
    """Return the expected calibration error: the mean gap between confidence and accuracy.

    Predictions are put into bins of equal width by confidence.

    Examples
    --------
    >>> sure = np.tile([0.9, 0.1], (10, 1))
    >>> round(calibration_error(np.array([0] * 8 + [1] * 2), sure), 3)
    0.1
    """
    confidence, right = proba.max(axis=1), proba.argmax(axis=1) == targets
    place = np.minimum((confidence * bins).astype(np.int64), bins - 1)
    gaps = np.bincount(place, weights=confidence - right, minlength=bins)
    return float(np.abs(gaps).sum() / len(targets))


class Scores(NamedTuple):
    """The values of all metrics, as shares from 0 to 1 where they are shares."""

    accuracy: float
    balanced_accuracy: float
    macro_f1: float
    matthews: float
    # None if a class has no graphs or is unknown to the model.
    roc_auc: float | None
    average_precision: float | None
    log_loss: float
    brier: float

    def in_units(self) -> dict[str, Any]:
        """Return the scores by name in the units of records, mostly percent."""
        return {name: METRICS[name].in_units(value) for name, value in self._asdict().items()}


def scores(targets: Ints, proba: Floats) -> Scores:
    """Evaluate probabilities, ``(n, n_classes)``, by all metrics.

    The column of a class that the model does not know must be zero.

    Examples
    --------
    >>> proba = np.array([[0.9, 0.1], [0.6, 0.4], [0.3, 0.7], [0.7, 0.3]])
    >>> found = scores(np.array([0, 0, 1, 1]), proba)
    >>> found.accuracy, found.roc_auc, round(found.matthews, 3)
    (0.75, 0.75, 0.577)
    """
    n_classes = proba.shape[1]
    is_complete = n_classes > 1 and len(np.unique(targets)) == n_classes
    is_complete &= bool(proba.any(axis=0).all())
    found: dict[str, Any] = {
        name: metric.judge(targets, proba) if is_complete or not metric.needs_all_classes else None
        for name, metric in METRICS.items()
    }
    return Scores(**found)


def recalls(targets: Ints, predicted: Ints, names: Sequence[str]) -> dict[str, float]:
    """Return the recall of each class by name; classes without graphs are left out.

    Examples
    --------
    >>> recalls(np.array([0, 0, 1]), np.array([0, 1, 1]), ["a", "b", "c"])
    {'a': 0.5, 'b': 1.0}
    """
    return {
        names[target]: float((predicted[targets == target] == target).mean())
        for target in np.unique(targets)
    }


def recalls_apart(recalls: Mapping[str, float], headline: float) -> dict[str, float]:
    """Return the recalls that are ten points or more from the headline; both are percentages."""
    return {
        name: recall
        for name, recall in recalls.items()
        if round(abs(recall - headline), 9) >= _APART
    }


def recalls_in_words(apart: Mapping[str, float], middle: float) -> str:
    """Format recalls in percent; of many, only those furthest from ``middle``.

    Examples
    --------
    >>> recalls_in_words({"active": 52.1, "inactive": 96.0}, middle=86.0)
    'recall 52 % of active, 96 % of inactive'
    """
    furthest = sorted(apart, key=lambda name: -abs(apart[name] - middle))[:_MOST_RECALLS]
    told = ", ".join(
        f"{recall:.0f} % of {name}" for name, recall in apart.items() if name in furthest
    )
    return f"recall {told}" + (", …" if len(apart) > len(furthest) else "")


def binomial_error(accuracy: float, n: int) -> float:
    """Return the standard error of an accuracy due to the size of the test set."""
    return math.sqrt(accuracy * (1 - accuracy) / n)


class Met(NamedTuple):
    """Which graphs a model was trained on, so that they do not test how it generalizes."""

    # Whether a labeled training graph has the same name and looks the same.
    trained_on: NDArray[np.bool_]
    # Whether a labeled training graph looks the same, whatever its name.
    alike: NDArray[np.bool_]

    @classmethod
    def among(cls, labeled: GraphDataset, graphs: GraphDataset) -> Met:
        """Compare graphs with the labeled ones of a model."""
        own, theirs = looks(graphs).tolist(), looks(labeled).tolist()
        alike = np.isin(own, theirs)
        if labeled.graph_names is None:  # positions in two datasets are not comparable
            return cls(np.zeros(len(graphs), dtype=np.bool_), alike)
        known = set(zip(labeled.graph_names.tolist(), theirs, strict=True))
        pairs = zip((graph.name for graph in graphs), own, strict=True)
        return cls(np.array([pair in known for pair in pairs], dtype=np.bool_), alike)


class SetQuality(NamedTuple):
    """Coverage and size of label sets."""

    error: float  # allowed share of sets without the true label
    coverage: float  # share of sets with the true label
    mean_size: float  # labels in a set


class Bin(NamedTuple):
    """Predictions of similar confidence: their number, mean confidence and accuracy."""

    n: int
    confidence: float
    share_right: float


@dataclass(frozen=True)
class Quality:
    """The quality of predictions."""

    n: int  # graphs
    accuracy: float
    accuracy_error: float  # standard error
    # 95 % confidence interval of the accuracy (Wilson); not empty even for 0 or 100 %, where the
    # standard error is 0.
    interval: tuple[float, float]
    majority_share: float  # accuracy of always predicting the most frequent class
    # See `Scores`.
    balanced_accuracy: float
    macro_f1: float
    matthews: float
    roc_auc: float | None
    average_precision: float | None
    log_loss: float
    brier: float
    calibration_error: float
    # Rows and columns of the confusion matrix: classes of the graphs, classes of the model.
    true_classes: tuple[str, ...]
    classes: tuple[str, ...]
    confusion: tuple[tuple[int, ...], ...]  # graphs by true and predicted class
    bins: tuple[Bin, ...]  # for a reliability diagram; bins without graphs are left out
    sets: tuple[SetQuality, ...] = ()  # empty if the model has no label sets

    def in_words(self, headline: str = "accuracy") -> str:
        """Describe the accuracy with its uncertainty, and metrics that differ notably from it.

        A headline other than accuracy comes first.
        """
        low, high = (100 * end for end in self.interval)
        return (
            f"{'' if headline == 'accuracy' else f'{self._told(headline)}; '}"
            f"{100 * self.accuracy:.1f} ± {100 * self.accuracy_error:.1f} % of {self.n:,} graphs "
            f"right ({low:.0f} to {high:.0f} % with 95 % confidence; the largest class alone is "
            f"{100 * self.majority_share:.1f} %){self._hidden_by_accuracy(headline)}, calibration "
            f"error {100 * self.calibration_error:.1f} %"
        )

    def _told(self, name: str) -> str:
        metric, value = METRICS[name], getattr(self, name)
        if value is None:
            return f"no {metric.title}, as a class has no graphs or is unknown to the model"
        return f"{metric.title} {metric.in_words(value)}"

    def _hidden_by_accuracy(self, headline: str) -> str:
        """Name balanced accuracy, ROC AUC and recalls if they differ notably from accuracy."""
        names = []
        if abs(self.balanced_accuracy - self.accuracy) >= _IMBALANCE:
            names = ["balanced_accuracy"] + ["roc_auc"] * (self.roc_auc is not None)
        told = "".join(f", {self._told(name)}" for name in names if name != headline)
        apart = recalls_apart(self.recalls, 100 * self.accuracy)
        return told + (f", {recalls_in_words(apart, 100 * self.accuracy)}" if apart else "")

    @property
    def recalls(self) -> dict[str, float]:
        """Recall of each class in percent; classes without graphs are left out."""
        column = {name: place for place, name in enumerate(self.classes)}
        return {
            name: 100 * counts[column[name]] / sum(counts) if name in column else 0.0
            for name, counts in zip(self.true_classes, self.confusion, strict=True)
            if sum(counts)
        }

    def short_record(self) -> dict[str, Any]:
        """Return the plain values without tables."""
        tables = ("true_classes", "classes", "confusion", "bins", "sets")
        return {key: value for key, value in self.record().items() if key not in tables}

    def record(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            **asdict(self),
            "bins": [each._asdict() for each in self.bins],
            "sets": [each._asdict() for each in self.sets],
        }


def quality(
    labels: Sequence[str],
    proba: Floats,
    classes: Sequence[str],
    sets: Sequence[tuple[float, Sequence[Sequence[str]]]] = (),
    out_of_fold: bool = False,
) -> Quality:
    """Evaluate predictions, ``(n, n_classes)``, against the true classes of n graphs.

    Graphs of a class that the model does not know always count as wrong. ``sets`` are pairs of an
    allowed error and a label set for each graph. ``out_of_fold`` tells that each prediction is of a
    model trained on the other graphs.

    Examples
    --------
    >>> found = quality(["a", "b", "c"], np.array([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]]), ["a", "b"])
    >>> found.confusion, found.true_classes, round(found.accuracy, 2)
    (((1, 0), (1, 0), (0, 1)), ('a', 'b', 'c'), 0.33)
    """
    known = [str(each) for each in classes]
    true_classes = known + sorted(set(map(str, labels)) - set(known))
    place = {name: at for at, name in enumerate(true_classes)}
    targets = np.array([place[str(label)] for label in labels], dtype=np.int64)
    unknown = np.zeros((len(proba), len(true_classes) - len(known)))
    found = scores(targets, np.hstack([proba, unknown]))
    confusion = np.zeros((len(true_classes), len(known)), dtype=np.int64)
    np.add.at(confusion, (targets, proba.argmax(axis=1)), 1)
    judged = []
    for error, each in sets:
        holds = [str(label) in map(str, own) for own, label in zip(each, labels, strict=True)]
        size = float(np.mean([len(own) for own in each]))
        judged.append(SetQuality(error, float(np.mean(holds)), size))
    return Quality(
        n=len(labels),
        accuracy_error=binomial_error(found.accuracy, len(labels)),
        interval=(out_of_fold_interval if out_of_fold else wilson_interval)(
            found.accuracy, len(labels)
        ),
        majority_share=majority_share(targets),
        **found._asdict(),
        calibration_error=calibration_error(targets, proba),
        true_classes=tuple(true_classes),
        classes=tuple(known),
        confusion=tuple(tuple(row) for row in confusion.tolist()),
        bins=tuple(_bins(targets, proba)),
        sets=tuple(judged),
    )


def out_of_fold_interval(accuracy: float, n: int) -> tuple[float, float]:
    """Return the 95 % interval of the accuracy on new graphs, from ``n`` out-of-fold predictions.

    These are not independent: every graph is also trained on, and other labels would have led to
    another model (Bates, Hastie & Tibshirani, *Cross-validation: what does it estimate and how well
    does it do it?*, JASA 2024). So they count as fewer.
    """
    return wilson_interval(accuracy, n / _DEPENDENCE)


def wilson_interval(share: float, n: float, z: float = 1.96) -> tuple[float, float]:
    """Return the Wilson confidence interval of a ``share`` of ``n``; 95 % with the default ``z``.

    Examples
    --------
    >>> [round(end, 2) for end in wilson_interval(1.0, 20)]
    [0.84, 1.0]
    """
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return max(0.0, middle - half), min(1.0, middle + half)


def _bins(targets: Ints, proba: Floats) -> list[Bin]:
    confidence, is_right = proba.max(axis=1), proba.argmax(axis=1) == targets
    place = np.minimum((confidence * _BINS).astype(np.int64), _BINS - 1)
    return [
        Bin(
            int((place == each).sum()),
            float(confidence[place == each].mean()),
            float(is_right[place == each].mean()),
        )
        for each in np.unique(place)
    ]
