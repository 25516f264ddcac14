"""Simulate labeling: accuracy with suggested labels and with as many random ones."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from kgnn.errors import KgnnWarning, ParameterError
from kgnn.estimator.classifier import UNLABELED, GraphClassifier
from kgnn.evaluation.metrics import mean_and_std
from kgnn.evaluation.protocol import Builder
from kgnn.evaluation.splits import make_split
from kgnn.graphs.graph import Floats, GraphDataset, Ints
from kgnn.progress import track
from kgnn.seeds import generator

SUGGESTED, RANDOM = "suggested", "random"


class Fit(NamedTuple):
    """One fit of the simulation."""

    seed: int  # of the split and of the method
    choice: str  # how the labels after the first ones were chosen
    labels: int  # number of labels
    accuracy: float  # on TEST, in percent


@dataclass(frozen=True)
class Labeling:
    """Accuracy by number of labels, for suggested and for random ones."""

    dataset: str
    # The first fit of a split is listed for both choices, which share the first labels.
    fits: tuple[Fit, ...]

    @property
    def labels(self) -> list[int]:
        """Numbers of labels, increasing."""
        return sorted({fit.labels for fit in self.fits})

    def accuracies(self, choice: str) -> Floats:
        """Return accuracies in percent, ``(n_splits, n_numbers_of_labels)``."""
        found = [fit for fit in self.fits if fit.choice == choice]
        found.sort(key=lambda fit: (fit.seed, fit.labels))
        return np.array([fit.accuracy for fit in found]).reshape(-1, len(self.labels))

    def mean(self, choice: str) -> Floats:
        """Return the mean accuracies of a choice over splits."""
        return np.asarray(self.accuracies(choice).mean(axis=0))

    def error(self, choice: str) -> Floats:
        """Return the standard errors of these means; 0 for one split."""
        return _standard_errors(self.accuracies(choice))

    def difference(self) -> tuple[Floats, Floats]:
        """Return the mean gain by suggested labels, and its standard error over splits."""
        apart = self.accuracies(SUGGESTED) - self.accuracies(RANDOM)
        return np.asarray(apart.mean(axis=0)), _standard_errors(apart)

    def gain(self) -> tuple[float, float]:
        """Return the mean gain over all numbers of labels but the first, and its standard error."""
        apart = (self.accuracies(SUGGESTED) - self.accuracies(RANDOM))[:, 1:].mean(axis=1)
        return float(apart.mean()), float(_standard_errors(apart[:, None])[0])

    def summary(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        gain, error = self.gain()
        return {
            "dataset": self.dataset,
            "splits": len(self.accuracies(RANDOM)),
            "labels": self.labels,
            **{choice: self.mean(choice).tolist() for choice in (SUGGESTED, RANDOM)},
            "gain": gain,
            "gain_error": error,
            "fits": [fit._asdict() for fit in self.fits],
        }


def simulate_labeling(
    build: Builder,
    graphs: GraphDataset,
    *,
    start: int = 20,
    step: int = 20,
    rounds: int = 4,
    splits: int = 3,
    seed: int = 0,
) -> Labeling:
    """Label a dataset step by step, by suggestion and at random, and score after each step.

    In each split a stratified fifth of the graphs is TEST. Of the others, ``start`` random ones are
    labeled at first; then either choice adds ``step`` labels, ``rounds`` times. The method, built
    by ``build`` from a seed, is fitted on the labeled and all unlabeled graphs, without VAL. The
    splits have the seeds ``seed``, ``seed + 1``, and so on.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> from kgnn.methods.ldp import LDP
    >>> build = lambda seed: LDP(trees=10, random_state=seed)
    >>> done = simulate_labeling(build, cycles_and_trees(50), start=4, step=4, rounds=2, splits=1)
    >>> done.labels, done.accuracies("suggested").shape
    ([4, 8, 12], (1, 3))
    """
    for name, value in (("start", start), ("step", step), ("rounds", rounds), ("splits", splits)):
        if value < 1:
            raise ParameterError(f"The '{name}' of a simulation must be at least 1, got {value}.")
    seeds = range(seed, seed + splits)
    n_pool = len(graphs) - len(make_split(graphs, seed=seed).test)
    if start >= n_pool:
        raise ParameterError(
            f"The 'start' must leave graphs to choose from: '{graphs.name}' has {n_pool} outside "
            f"TEST, got {start}."
        )
    sizes = sorted({min(start + step * number, n_pool) for number in range(rounds + 1)})
    fits = chain.from_iterable(_fits(build, graphs, each, sizes) for each in seeds)
    n_fits = splits * (2 * len(sizes))
    return Labeling(graphs.name, tuple(track(fits, "labeling and fitting", n_fits)))


def _fits(build: Builder, graphs: GraphDataset, seed: int, sizes: list[int]) -> Iterator[Fit]:
    """Yield the fits of one split, of both choices."""
    test = make_split(graphs, seed=seed).test
    order = generator(seed, "labeling").permutation(np.setdiff1d(np.arange(len(graphs)), test))
    pool, judged = graphs[order], graphs[test]
    beginning = np.arange(sizes[0])
    first = _fitted(build(seed), _known(pool, beginning))
    score = 100 * first.score(judged)
    for choice in (SUGGESTED, RANDOM):
        model, labeled = first, beginning
        yield Fit(seed, choice, sizes[0], score)
        for size in sizes[1:]:
            if choice == SUGGESTED:
                found = model.suggest(_known(pool, labeled), size - len(labeled))
                new = np.array([suggestion.row for suggestion in found], dtype=np.int64)
                labeled = np.concatenate([labeled, new])
            # Random choice takes the next graphs of the shuffled pool. They also complete
            # suggestions that are too few, because the remaining graphs look alike.
            free = np.setdiff1d(np.arange(len(pool)), labeled)
            labeled = np.concatenate([labeled, free[: size - len(labeled)]])
            model = _fitted(build(seed), _known(pool, labeled))
            yield Fit(seed, choice, size, 100 * model.score(judged))


def _known(pool: GraphDataset, labeled: Ints) -> GraphDataset:
    targets = np.full(len(pool), UNLABELED)
    targets[labeled] = pool.targets[labeled]
    return pool.with_targets(targets)


def _fitted(model: GraphClassifier, graphs: GraphDataset) -> GraphClassifier:
    with warnings.catch_warnings():
        # The first labels may be of one class, by bad luck, which is the same for both choices.
        warnings.simplefilter("ignore", KgnnWarning)
        return model.fit(graphs)


def _standard_errors(values: Floats) -> Floats:
    """Return the standard error of the mean of each column."""
    return np.array([mean_and_std(column)[1] / np.sqrt(len(column)) for column in values.T])
