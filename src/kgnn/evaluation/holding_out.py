"""How the labels of one's own graphs are used: to learn from, and to tell how good a model is."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from sklearn.model_selection import StratifiedShuffleSplit

from kgnn.errors import GraphDataError, ParameterError
from kgnn.estimator.labels import require_classes
from kgnn.graphs.graph import GraphDataset, Ints
from kgnn.seeds import derive


@dataclass(frozen=True)
class LabelUse:
    """Which graphs are trained on, and which are held out or left out in turn."""

    # Rows; graphs without a label are trained on.
    training: Ints
    validation: Ints
    reason: str  # in words


def plan_labels(
    graphs: GraphDataset, share: float = 0.0, seed: int = 0, folds: int = 5
) -> LabelUse:
    """Decide how to use the labels of graphs.

    All are learned from, and each is predicted once by a model that did not know it: they are dealt
    into ``folds``, each of which is left out in turn. If a ``share`` is asked for, so many labeled
    graphs are held out instead and not learned from.

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
    told = _leaving_out(counts, folds)
    return LabelUse(np.arange(len(graphs)), np.empty(0, dtype=np.int64), told)


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


def _leaving_out(counts: Counter[str], folds: int) -> str:
    """Say what becomes of labels that are all learned from."""
    told = f"all {counts.total():,} labels are learned from"
    if not folds or max(counts.values()) < 2:
        return f"{told}; none is left out to tell how accurate the model is"
    each = "each" if min(counts.values()) > 1 else "each of a class with two or more"
    return (
        f"{told}; {each} is also predicted by a model that did not see it, to calibrate the "
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
