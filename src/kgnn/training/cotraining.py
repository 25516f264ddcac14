"""Rounds in which networks annotate unlabeled graphs for each other, as EM does.

Round 0 trains every network on the labeled graphs. Each further round annotates the unlabeled
graphs with what the networks now believe, selects the annotations to trust, and trains every
network on the labeled and the selected graphs (E-step for q_φ, M-step for p_θ). The result is the
average of what all rounds predict, or the round that VAL likes best.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from scipy.special import log_softmax

from kgnn.graphs.graph import Floats, Ints
from kgnn.progress import track
from kgnn.seeds import derive
from kgnn.training.calibration import calibrate
from kgnn.training.networks import Examples, Fitted, Network, Validation, one_hot
from kgnn.training.selection import Selection

_logger = logging.getLogger(__name__)

# Class probabilities of the unlabeled graphs, one array per network, and k, to what each network
# is taught next.
Select = Callable[[list[Floats], int], list[Selection]]


@dataclass(frozen=True)
class Rounds:
    """How co-training goes on.

    Attributes
    ----------
    rounds : int
        At most so many after round 0.
    growth : float
        k grows by this share of the unlabeled graphs each round.
    patience : int
        Stop after so many rounds without a gain on VAL.
    weight : float
        Of annotated against labeled graphs in the loss.
    soft : bool
        Teach the other network's probabilities rather than its most probable class.
    warm_start : bool
        Go on from the last round's weights rather than from new ones.
    average : bool
        Predict with all rounds rather than with the best one.
    judge : str
        Whose likelihood on VAL tells rounds apart: a network's, or that of ``both``.
    """

    rounds: int
    growth: float
    patience: int
    weight: float
    soft: bool = False
    warm_start: bool = False
    average: bool = True
    judge: str = "both"


@dataclass
class Round:
    """What one round did.

    Attributes
    ----------
    selections : list of Selection
        Annotations that each network was taught, as rows of the pool.
    agreement : float or None
        Share of the unlabeled graphs that all networks gave the same class when these annotations
        were made; None in round 0, which has none.
    accuracy : dict of str to float
        On VAL, of each network and of ``both``; empty without VAL.
    log_likelihood : float
        Calibrated, on VAL, of all networks together, or of the one that is the judge.
    fitted : list of Fitted
        The networks as this round left them.
    """

    selections: list[Selection]
    fitted: list[Fitted]
    agreement: float | None = None
    accuracy: dict[str, float] = field(default_factory=dict)
    log_likelihood: float = -math.inf

    def saved_state(self) -> dict[str, Any]:
        """Return what predictions need; the annotated graphs themselves are not kept."""
        return {**vars(self), "selections": []}


@dataclass
class CoTraining:
    """The course of co-training and its result.

    Attributes
    ----------
    rounds : list of Round
    best_round : int
    termination_condition : str
        ``rounds`` (all done), ``converged`` (nothing changed), ``no_change`` (nothing selected),
        ``patience`` (no gain on VAL), ``exhausted`` (no unlabeled graph is left),
        ``no_unlabeled``, or ``interrupted`` (by Ctrl-C; the rounds that have ended predict).
    used : list of Round
        Rounds that predict.
    sharpness : float
        Calibrates the combination of all that predict.
    """

    rounds: list[Round] = field(default_factory=list)
    best_round: int = 0
    termination_condition: str = "rounds"
    used: list[Round] = field(default_factory=list)
    sharpness: float = 1.0

    def logits(self, networks: Sequence[Network], prepared: Sequence[Any]) -> list[Floats]:
        """Return the logits of each network over the rounds that predict."""
        return [
            combine([network.logits(data, each.fitted[j]) for each in self.used])
            for j, (network, data) in enumerate(zip(networks, prepared, strict=True))
        ]


def combine(logits: Sequence[Floats]) -> Floats:
    """Return logits of all together: the mean of their log-probabilities."""
    return np.asarray(np.mean([log_softmax(each, axis=1) for each in logits], axis=0))


def cotrain(
    networks: Sequence[Network],
    labeled: Ints,
    unlabeled: Ints,
    targets: Ints,
    n_classes: int,
    validation: Validation | None,
    select: Select,
    plan: Rounds,
    seed: int,
) -> CoTraining:
    """Train networks in rounds, on what they select for each other."""
    judged = (
        None
        if validation is None
        else [(n.prepare(validation[0]), validation[1]) for n in networks]
    )
    known = one_hot(targets, n_classes)
    course = CoTraining()
    nothing = Selection(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
    selections, proba = [nothing] * len(networks), [np.empty((0, n_classes))] * len(networks)
    agreement = None
    try:
        for number in track(range(1 + plan.rounds), "co-training"):
            for j, network in enumerate(networks):
                teacher = proba[(j + 1) % len(networks)]
                examples = _examples(labeled, known, selections[j], teacher, unlabeled, plan)
                network.fit(
                    examples,
                    None if judged is None else judged[j],
                    derive(seed, number) if number else seed,  # round 0 is the supervised network
                    warm_start=plan.warm_start and number > 0,
                    what=f"round {number}, {network.name}",
                )
            taught = [Selection(unlabeled[s.rows], s.targets) for s in selections]
            course.rounds.append(Round(taught, [network.fitted for network in networks], agreement))
            _judge(course, networks, judged, plan.judge)
            if number == plan.rounds:
                break
            if ending := _ending(course, plan, len(unlabeled), judged is not None):
                course.termination_condition = ending
                break
            proba = [network.annotate(unlabeled) for network in networks]
            k = math.ceil(min(1.0, plan.growth * (number + 1)) * len(unlabeled))
            chosen = select(proba, k)
            if all(_same(a, b) for a, b in zip(chosen, selections, strict=True)):
                course.termination_condition = "converged" if number else "no_change"
                break
            selections, agreement = chosen, _agreement(proba)
    except KeyboardInterrupt:
        if not course.rounds:
            raise
        course.termination_condition = "interrupted"  # the rounds that have ended predict
    course.used = course.rounds if plan.average else [course.rounds[course.best_round]]
    if judged is not None:
        together = combine(course.logits(networks, [data for data, _ in judged]))
        course.sharpness = calibrate(together, judged[0][1]).sharpness
    return course


def _agreement(proba: list[Floats]) -> float:
    """Return the share of graphs that all networks give the same class."""
    named = np.stack([each.argmax(axis=1) for each in proba])
    return float((named == named[0]).all(axis=0).mean())


def _ending(course: CoTraining, plan: Rounds, n_unlabeled: int, has_validation: bool) -> str | None:
    """Say why co-training ends here, if it does."""
    number = len(course.rounds) - 1
    if n_unlabeled == 0:
        return "no_unlabeled"
    if all(len(s.rows) == n_unlabeled for s in course.rounds[-1].selections):
        return "exhausted"
    if has_validation and number - course.best_round >= plan.patience:
        return "patience"
    return None


def _examples(
    labeled: Ints,
    known: torch.Tensor,
    selection: Selection,
    teacher: Floats,
    unlabeled: Ints,
    plan: Rounds,
) -> Examples:
    """Put the labeled graphs and a selection of the unlabeled ones together."""
    targets = known.clone()
    rows = unlabeled[selection.rows]
    if len(rows) and plan.soft:
        targets[rows] = torch.from_numpy(teacher[selection.rows]).float()
    elif len(rows):
        targets[rows] = torch.eye(known.shape[1])[selection.targets]
    return Examples(labeled, targets, rows, plan.weight)


def _judge(
    course: CoTraining,
    networks: Sequence[Network],
    judged: list[tuple[Any, Ints]] | None,
    judge: str,
) -> None:
    """Write down how good the newest round is on VAL, and whether it is the best so far."""
    current = course.rounds[-1]
    if judged is None:
        course.best_round = len(course.rounds) - 1
        return
    targets = judged[0][1]
    logits = [network.logits(data) for network, (data, _) in zip(networks, judged, strict=True)]
    each = dict(zip((n.name for n in networks), logits, strict=True))
    each["both"] = combine(logits)
    current.accuracy = {n: float((own.argmax(axis=1) == targets).mean()) for n, own in each.items()}
    # An ablation may have one network only.
    current.log_likelihood = calibrate(each.get(judge, each["both"]), targets).log_likelihood
    course.best_round = int(np.argmax([each.log_likelihood for each in course.rounds]))
    _logger.info("round %d on VAL: %s", len(course.rounds) - 1, current.accuracy)


def _same(a: Selection, b: Selection) -> bool:
    return np.array_equal(a.rows, b.rows) and np.array_equal(a.targets, b.targets)
