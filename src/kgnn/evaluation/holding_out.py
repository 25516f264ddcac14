"""How the labels of one's own graphs are used: to learn from, and to tell how good a model is."""

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
    """Which graphs are trained on, and which labels judge the model."""

    # Rows; graphs without a label are trained on.
    training: Ints
    validation: Ints
    reason: str  # in words
    unjudged: tuple[str, ...] = ()  # why nothing tells how well a class is recognized, for each


def plan_labels(
    graphs: GraphDataset, share: float = 0.0, seed: int = 0, folds: int = 5
) -> LabelUse:
    """Decide how to use the labels of graphs.

    All are learned from. They are also dealt into ``folds``, each of which is left out in turn and
    predicted by a model that did not know it; none is with 0 folds. If a ``share`` is asked for, so
    many labeled graphs are held out instead and not learned from.

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
        raise ParameterError(f"The share to hold out must be from 0 to 0.5, got {share}.")
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
    """Return the labeled graphs that `fit` leaves out in turn, with so many folds.

    They are the same for all methods: folds depend on graphs, labels and seed alone. A graph that
    looks exactly like the only others of its class is never left out.
    """
    codes, _ = encode_labels(graphs, labels)
    labeled = np.flatnonzero(codes >= 0)
    if not folds:
        return labeled[:0]
    dealt = deal_folds(codes[labeled], looks(graphs[labeled]), max(2, folds), seed)
    return labeled[np.unique(np.concatenate(dealt))]


def why_unjudged(name: str, n: int) -> str:
    """Say why none of the n labeled graphs of a class can be left out."""
    if n == 1:
        return f"class {name} has a single labeled graph"
    return (
        f"the {n:,} labeled graphs of class {name} look exactly like each other or like those of "
        "another class"
    )


def check_labels(graphs: GraphDataset) -> Counter[str]:
    """Count the graphs of each class; refuse labels from which nothing can be learned."""
    codes = graphs.targets[graphs.targets >= 0].tolist()
    counts = Counter(graphs.class_names[code] for code in codes)
    if not counts:
        raise GraphDataError(
            f"none of the {len(graphs):,} graphs has a label: give classes in the data, or a CSV "
            "file with the columns id and label (--labels)"
        )
    require_classes(list(counts), counts.total())
    if len(counts) == 1:
        only, n = next(iter(counts.items()))
        raise GraphDataError(
            f"all {n} labeled graphs are of one class, '{only}': label graphs of another one, too"
        )
    return counts


def _leaving_out(n: int, n_left_out: int, folds: int) -> str:
    """Say what becomes of n labels that are all learned from."""
    told = f"all {n:,} labels are learned from"
    if not folds:
        return f"{told}; none is left out to tell how accurate the model is"
    if not n_left_out:
        return f"{told}; none can be left out to tell how accurate the model is"
    some = "each" if n_left_out == n else f"each of {n_left_out:,}"
    return (
        f"{told}; {some} is also predicted by a model that did not see it, to calibrate the "
        "probabilities and to tell how accurate the model is"
    )


def _holding_out(graphs: GraphDataset, counts: Counter[str], share: float, seed: int) -> LabelUse:
    labeled = np.flatnonzero(graphs.targets >= 0)
    n, n_held = len(labeled), round(share * len(labeled))
    if min(counts.values()) < 2:
        alone = min(counts, key=lambda name: counts[name])
        raise ParameterError(
            f"Class {alone} has a single labeled graph, so that none can be held out. Label "
            "another one, or leave out --validation, which learns from all labels."
        )
    if not len(counts) <= n_held <= n - len(counts):
        raise ParameterError(
            f"{share:.0%} of {n} labels cannot be held out with graphs of all {len(counts)} "
            "classes on both sides; leave out --validation, which learns from all labels."
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
    return LabelUse(np.setdiff1d(np.arange(len(graphs)), validation), validation, told)
