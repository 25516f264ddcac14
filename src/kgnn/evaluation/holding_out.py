"""How the labels of one's own graphs are used: some to learn from, some to calibrate on."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from sklearn.model_selection import StratifiedShuffleSplit

from kgnn.errors import GraphDataError, ParameterError
from kgnn.graphs.graph import GraphDataset, Ints
from kgnn.seeds import derive

USUAL_SHARE = 0.2
FOLDS = 5
# With fewer, every label is needed to learn from, and fitting again is cheap.
_ENOUGH, _ENOUGH_OF_A_CLASS = 60, 5


@dataclass(frozen=True)
class LabelUse:
    """Which graphs are trained on, which are held out, and how often fitting is repeated."""

    # Rows; graphs without a label are trained on.
    training: Ints
    validation: Ints
    cross_fit: int  # see `kgnn.estimator.classifier.GraphClassifier`
    reason: str  # in words


def plan_labels(graphs: GraphDataset, share: float | None = None, seed: int = 0) -> LabelUse:
    """Decide how to use the labels of graphs.

    ``share`` of the labeled graphs are held out; 0 means cross-fitting. Default: a fifth where
    there are 60 labels and 5 of each class, else cross-fitting.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> plan = plan_labels(cycles_and_trees(80))
    >>> len(plan.training), len(plan.validation), plan.cross_fit
    (64, 16, 0)
    >>> plan_labels(cycles_and_trees(20)).cross_fit
    5
    """
    counts = check_labels(graphs)
    n, rarest = sum(counts.values()), min(counts.values())
    if share is not None and not 0 <= share <= 0.5:
        raise ParameterError(f"The share to hold out must be from 0 to 0.5, got {share}.")
    if share is None:
        share = USUAL_SHARE if n >= _ENOUGH and rarest >= _ENOUGH_OF_A_CLASS else 0.0
    if share == 0:
        return _cross_fitting(len(graphs), n, rarest)
    return _holding_out(graphs, counts, share, seed)


def check_labels(graphs: GraphDataset) -> Counter[str]:
    """Count the graphs of each class; refuse labels from which nothing can be learned."""
    codes = graphs.targets[graphs.targets >= 0].tolist()
    counts = Counter(graphs.class_names[code] for code in codes)
    if not counts:
        raise GraphDataError(
            f"none of the {len(graphs)} graphs has a label: give targets in the data, or a CSV "
            "file with the columns id and label (--labels)"
        )
    if len(counts) == 1:
        only, n = next(iter(counts.items()))
        raise GraphDataError(
            f"all {n} labeled graphs are of one class, '{only}': label graphs of another one, too"
        )
    return counts


def _cross_fitting(n_graphs: int, n_labels: int, rarest: int) -> LabelUse:
    every, none = np.arange(n_graphs), np.empty(0, dtype=np.int64)
    if rarest < 2:
        told = "a class has a single labeled graph, so nothing can be held out and probabilities "
        return LabelUse(every, none, 0, told + "are not calibrated")
    folds = min(FOLDS, rarest)
    told = (
        f"all {n_labels:,} labels are learned from; fitting {folds} times more, each time without "
        "a part of them, calibrates the probabilities"
    )
    return LabelUse(every, none, FOLDS, told)


def _holding_out(graphs: GraphDataset, counts: Counter[str], share: float, seed: int) -> LabelUse:
    labeled = np.flatnonzero(graphs.targets >= 0)
    n, n_held = len(labeled), round(share * len(labeled))
    if min(counts.values()) < 2:
        alone = min(counts, key=lambda name: counts[name])
        raise ParameterError(
            f"Class {alone} has a single labeled graph, so that none can be held out. Label "
            "another one, or use --validation 0, which learns from all and calibrates nothing."
        )
    if not len(counts) <= n_held <= n - len(counts):
        raise ParameterError(
            f"{share:.0%} of {n} labels cannot be held out with graphs of all {len(counts)} "
            "classes on both sides; use --validation 0 for cross-fitting."
        )
    splitter = StratifiedShuffleSplit(
        1, test_size=n_held, random_state=derive(seed, "held out of fitting")
    )
    _, held = next(splitter.split(labeled, np.array(graphs.class_names)[graphs.targets[labeled]]))
    validation = np.sort(labeled[held])
    told = (
        f"{n_held:,} of {n:,} labels are held out, to choose on and to calibrate the "
        "probabilities with"
    )
    return LabelUse(np.setdiff1d(np.arange(len(graphs)), validation), validation, 0, told)
