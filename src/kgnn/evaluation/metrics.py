"""How good predictions are on graphs whose classes are known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kgnn.graphs.graph import Floats, GraphDataset, Ints
from kgnn.kernels.colors import looks


def accuracy(targets: Ints, predicted: NDArray[np.int64]) -> float:
    """Return the share of graphs whose class is right."""
    return float((targets == predicted).mean())


def majority_share(targets: Ints) -> float:
    """Return the accuracy of always naming the most frequent class."""
    return float(np.bincount(targets).max() / len(targets))


def mean_and_std(values: Floats | list[float]) -> tuple[float, float]:
    """Return mean and sample standard deviation (ddof = 1; 0 for a single value)."""
    array = np.asarray(values, dtype=np.float64)
    return float(array.mean()), float(array.std(ddof=1)) if len(array) > 1 else 0.0


def brier_score(targets: Ints, proba: Floats) -> float:
    """Return the mean squared distance between probabilities and what came true; 0 is best.

    Examples
    --------
    >>> brier_score(np.array([0, 1]), np.array([[1.0, 0.0], [0.5, 0.5]]))
    0.25
    """
    happened = np.eye(proba.shape[1])[targets]
    return float(((proba - happened) ** 2).sum(axis=1).mean())


def calibration_error(targets: Ints, proba: Floats, bins: int = 10) -> float:
    """Return the expected calibration error: how far confidence is from the share that is right.

    Graphs are put into bins of equal width by the confidence of their prediction.

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


def binomial_error(accuracy: float, n: int) -> float:
    """Return the standard error that the size of a test set alone explains."""
    return math.sqrt(accuracy * (1 - accuracy) / n)


_BINS = 10


class Met(NamedTuple):
    """Which graphs a model has seen before, so that they do not test how it generalizes."""

    # Whether a graph of the same name and the same look was trained on, with its label.
    trained_on: NDArray[np.bool_]
    # Whether a graph of the same look was, whatever its name; true for the former, too.
    alike: NDArray[np.bool_]

    @classmethod
    def among(cls, labeled: GraphDataset, graphs: GraphDataset) -> Met:
        """Compare graphs with the labeled ones of a model."""
        own, theirs = looks(graphs).tolist(), looks(labeled).tolist()
        alike = np.isin(own, theirs)
        if labeled.graph_names is None:  # numbers say nothing: those of a model are its own
            return cls(np.zeros(len(graphs), dtype=np.bool_), alike)
        known = set(zip(labeled.graph_names.tolist(), theirs, strict=True))
        pairs = zip((graph.name for graph in graphs), own, strict=True)
        return cls(np.array([pair in known for pair in pairs], dtype=np.bool_), alike)


class SetQuality(NamedTuple):
    """How often label sets hold the true label, and how large they are."""

    error: float  # share of graphs whose true label may be missing, as promised
    coverage: float  # share of graphs whose true label is in the set
    mean_size: float  # labels in a set


class Bin(NamedTuple):
    """Graphs whose predictions are about equally confident: how many, how sure, how often right."""

    n: int
    confidence: float
    share_right: float


@dataclass(frozen=True)
class Quality:
    """How good predictions are."""

    n: int  # graphs
    # Share that is right, and its standard error.
    accuracy: float
    accuracy_error: float
    # Within which the accuracy on all such graphs is with a probability of 95 % (Wilson), also
    # where every answer or none is right and the standard error is 0.
    interval: tuple[float, float]
    # Of the probabilities; see `kgnn.evaluation.metrics`.
    calibration_error: float
    brier: float
    # Rows and columns of the confusion: classes that the graphs have, those that the model knows.
    true_classes: tuple[str, ...]
    classes: tuple[str, ...]
    confusion: tuple[tuple[int, ...], ...]  # graphs by true and predicted class
    bins: tuple[Bin, ...]  # for a reliability diagram; bins without graphs are left out
    sets: tuple[SetQuality, ...] = ()  # empty where the model promises nothing

    def in_words(self) -> str:
        """Say how often the answers are right, and how sure that is."""
        low, high = (100 * end for end in self.interval)
        return (
            f"{100 * self.accuracy:.1f} ± {100 * self.accuracy_error:.1f} % of {self.n:,} graphs "
            f"right ({low:.0f} to {high:.0f} % with 95 % confidence), calibration error "
            f"{100 * self.calibration_error:.1f} %"
        )

    def short_record(self) -> dict[str, Any]:
        """Return the numbers without tables."""
        kept = ("n", "accuracy", "accuracy_error", "interval", "calibration_error", "brier")
        return {key: value for key, value in self.record().items() if key in kept}

    def record(self) -> dict[str, Any]:
        """Return all of it as plain values for JSON."""
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
) -> Quality:
    """Judge predictions, ``(n, n_classes)``, by the true classes of n graphs.

    A class that the model does not know is never right. Sets of labels come with the error that
    they promise.

    Examples
    --------
    >>> found = quality(["a", "b", "c"], np.array([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]]), ["a", "b"])
    >>> found.confusion, found.true_classes, round(found.accuracy, 2)
    (((1, 0), (1, 0), (0, 1)), ('a', 'b', 'c'), 0.33)
    """
    known = [str(each) for each in classes]
    true_classes = known + sorted(set(map(str, labels)) - set(known))
    rows = np.array([true_classes.index(str(label)) for label in labels], dtype=np.int64)
    targets = np.where(rows < len(known), rows, -1)
    predicted = proba.argmax(axis=1)
    confusion = np.zeros((len(true_classes), len(known)), dtype=np.int64)
    np.add.at(confusion, (rows, predicted), 1)
    accuracy = float((predicted == targets).mean())
    judged = []
    for error, each in sets:
        holds = [str(label) in map(str, own) for own, label in zip(each, labels, strict=True)]
        size = float(np.mean([len(own) for own in each]))
        judged.append(SetQuality(error, float(np.mean(holds)), size))
    happened = np.eye(proba.shape[1] + 1)[targets, :-1]  # all zero for a class that is not known
    return Quality(
        len(labels),
        accuracy,
        binomial_error(accuracy, len(labels)),
        wilson_interval(accuracy, len(labels)),
        calibration_error(targets, proba),
        float(((proba - happened) ** 2).sum(axis=1).mean()),
        tuple(true_classes),
        tuple(known),
        tuple(tuple(row) for row in confusion.tolist()),
        tuple(_bins(targets, proba)),
        tuple(judged),
    )


def wilson_interval(share: float, n: int, z: float = 1.96) -> tuple[float, float]:
    """Return where the true share is, with a probability of 95 %, if so many of ``n`` are right.

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
