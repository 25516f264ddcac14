"""How `kgnn fit` uses the labels of your graphs: for training, validation or cross-validation."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from sklearn.model_selection import StratifiedShuffleSplit

from kgnn.engine.folds import deal_folds
from kgnn.errors import GraphDataError, ParameterError
from kgnn.estimator.labels import encode_labels, require_classes
from kgnn.graphs.graph import GraphDataset, Ints
from kgnn.kernels.colors import looks
from kgnn.seeds import derive


@dataclass(frozen=True)
class LabelUse:
    """The split of the graphs into a training and a validation set."""

    # Rows; unlabeled graphs are in the training set.
    training: Ints
    validation: Ints
    reason: str  # a sentence about the use of the labels
    unjudged: tuple[str, ...] = ()  # one sentence for each class whose accuracy is unknown


def plan_labels(
    graphs: GraphDataset, share: float = 0.0, seed: int = 0, folds: int = 5
) -> LabelUse:
    """Decide how to use the labels of graphs.

    With ``share`` 0, all labels are used for training, and for cross-validation with this number of
    ``folds``, unless that is 0. Otherwise this share of the labeled graphs is the validation set.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> plan = plan_labels(cycles_and_trees(80))
    >>> len(plan.training), len(plan.validation)
    (80, 0)
    >>> plan = plan_labels(cycles_and_trees(80), 0.2)
    >>> len(plan.training), len(plan.validation)
    (64, 16)
    """
    counts = check_labels(graphs)
    if not 0 <= share <= 0.5:
        raise ParameterError(f"The share for validation must be from 0 to 0.5, got {share}.")
    if share:
        return _holding_out(graphs, counts, share, seed)
    rows = left_out_rows(graphs, folds, seed)
    told = _leaving_out(counts.total(), len(rows), folds)
    judged = {graphs.class_names[code] for code in graphs.targets[rows].tolist()}
    unjudged = [why_unjudged(name, n) for name, n in counts.items() if name not in judged]
    everything, nothing = np.arange(len(graphs)), np.empty(0, dtype=np.int64)
    return LabelUse(everything, nothing, told, tuple(unjudged if folds else ()))


def left_out_rows(
    graphs: GraphDataset, folds: int, seed: int, labels: ArrayLike | None = None
) -> Ints:
    """Return the labeled graphs that are in one of the folds of `fit`.

    They are the same for all methods: folds depend only on graphs, labels and seed. A graph is in
    no fold if it looks exactly like all others of its class.
    """
    codes, _ = encode_labels(graphs, labels)
    labeled = np.flatnonzero(codes >= 0)
    if not folds:
        return labeled[:0]
    dealt = deal_folds(codes[labeled], looks(graphs[labeled]), max(2, folds), seed)
    return labeled[np.unique(np.concatenate(dealt))]


def why_unjudged(name: str, n: int) -> str:
    """Say why none of the ``n`` labeled graphs of a class is in a fold."""
    if n == 1:
        return f"class {name} has a single labeled graph"
    return (
        f"the {n:,} labeled graphs of class {name} look exactly like each other or like those of "
        "another class"
    )


def check_labels(graphs: GraphDataset) -> Counter[str]:
    """Count the labeled graphs of each class; require at least two classes."""
    codes = graphs.targets[graphs.targets >= 0].tolist()
    counts = Counter(graphs.class_names[code] for code in codes)
    if not counts:
        raise GraphDataError(
            f"none of the {len(graphs):,} graphs has a label: add classes to the data, or pass a "
            "CSV file with the columns id and label (--labels)"
        )
    require_classes(list(counts), counts.total())
    if len(counts) == 1:
        only, n = next(iter(counts.items()))
        raise GraphDataError(
            f"all {n} labeled graphs are of one class, '{only}': label graphs of another class, too"
        )
    return counts


def _leaving_out(n: int, n_left_out: int, folds: int) -> str:
    told = f"all {n:,} labels are used for training"
    if not folds:
        return f"{told}; without cross-validation, the accuracy of the model is not known"
    if not n_left_out:
        return f"{told}; cross-validation is not possible, so the accuracy is not known"
    some = "they" if n_left_out == n else f"{n_left_out:,} of them"
    return (
        f"{told}; {some} are also predicted by cross-validation, to calibrate the probabilities "
        "and to estimate the accuracy"
    )


def _holding_out(graphs: GraphDataset, counts: Counter[str], share: float, seed: int) -> LabelUse:
    labeled = np.flatnonzero(graphs.targets >= 0)
    n, n_held = len(labeled), round(share * len(labeled))
    if min(counts.values()) < 2:
        alone = min(counts, key=lambda name: counts[name])
        raise ParameterError(
            f"Class {alone} has a single labeled graph, which cannot be in both sets. Label "
            "another one, or omit --validation to train on all labels."
        )
    if not len(counts) <= n_held <= n - len(counts):
        raise ParameterError(
            f"A validation set of {share:.0%} of {n} labels leaves one of the {len(counts)} "
            "classes out of one of the sets; omit --validation to train on all labels."
        )
    splitter = StratifiedShuffleSplit(
        1, test_size=n_held, random_state=derive(seed, "held out of fitting")
    )
    _, held = next(splitter.split(labeled, np.array(graphs.class_names)[graphs.targets[labeled]]))
    validation = np.sort(labeled[held])
    told = (
        f"{n_held:,} of {n:,} labels are the validation set, for model selection and to calibrate "
        "the probabilities"
    )
    return LabelUse(np.setdiff1d(np.arange(len(graphs)), validation), validation, told)
