"""Choose the checkpoint of each training by its predictions for held-out graphs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kgnn.engine.calibration import PULL, choose, log_likelihoods
from kgnn.graphs.graph import Floats, Ints


def choose_epochs(
    answers: Sequence[Sequence[Floats]],
    truths: Sequence[Ints],
    pooled: bool,
    default: int = -1,
) -> list[tuple[int, int, list[float]]]:
    """Choose a checkpoint for each training: by all held-out graphs, and without its own.

    Also returns the score of each checkpoint: the mean calibrated log-likelihood of the held-out
    graphs. Accuracy on a hundred graphs is too noisy, and without calibration the likelihood
    prefers networks that have hardly been trained, because the others are overconfident.
    """
    if not pooled:
        return [_best_epoch(own, truth) for own, truth in zip(answers, truths, strict=True)]
    judged = [number for number, own in enumerate(answers) if own]
    if not judged:
        return [(-1, -1, [])] * len(truths)
    last = min(len(answers[number]) for number in judged) - 1

    def by(numbers: Sequence[int]) -> Floats:
        """Return log-likelihoods of held-out graphs, ``(n_checkpoints, n_graphs)``."""
        truth = np.concatenate([truths[number] for number in numbers])
        asked = ([answers[n][checkpoint] for n in numbers] for checkpoint in range(last + 1))
        return np.stack([log_likelihoods(np.concatenate(each), truth, PULL) for each in asked])

    found = by(judged)
    usual = default % len(found)
    chosen, score = choose(found, usual), found.mean(axis=1).tolist()
    choices = []
    for number in range(len(truths)):
        # The other trainings' calibration does not use these graphs either.
        others = [other for other in judged if other != number]
        choices.append((chosen, choose(by(others), usual) if others else usual, score))
    return choices


def _best_epoch(answers: Sequence[Floats], truth: Ints) -> tuple[int, int, list[float]]:
    if not answers or not len(truth):
        return -1, -1, []
    score = [float(log_likelihoods(each, truth).mean()) for each in answers]
    best = int(np.argmax(score))
    return best, best, score
