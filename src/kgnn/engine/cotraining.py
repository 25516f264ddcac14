"""Rounds in which networks annotate unlabeled graphs for each other, as EM does.

Round 0 trains every network on the labeled graphs. Each further round annotates the unlabeled
graphs with what the networks now believe, selects the annotations to trust, and trains every
network on the labeled and the selected graphs (E-step for q_φ, M-step for p_θ). The result is the
average of what all rounds predict, or the round that VAL likes best.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import torch

from kgnn.engine.calibration import calibrate, combine, weigh
from kgnn.engine.network import Examples, Fitted, Network, Validation, one_hot
from kgnn.engine.selection import Selection
from kgnn.graphs.graph import Floats, GraphDataset, Ints
from kgnn.progress import tell, track
from kgnn.seeds import derive

# Class probabilities of the unlabeled graphs, one array per network, and k, to what each network
# is taught next.
Select = Callable[[list[Floats], int], list[Selection]]


@dataclass(frozen=True)
class Plan:
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
    n_selected : int
        Graphs that were annotated for any network.
    agreement : float or None
        Share of the unlabeled graphs that all networks gave the same class when these annotations
        were made; None in round 0, which has none, and for a network by itself.
    accuracy : dict of str to float
        On VAL, of each network and of ``both``; empty without VAL.
    log_likelihood : float
        Calibrated, on VAL, of all networks together, or of the one that is the judge.
    fitted : list of Fitted
        The networks as this round left them.
    """

    selections: list[Selection]
    fitted: list[Fitted]
    n_selected: int = 0
    agreement: float | None = None
    accuracy: dict[str, float] = field(default_factory=dict)
    log_likelihood: float = -math.inf

    def in_words(self) -> str:
        """Tell in a line what the round did."""
        on_val = ", ".join(f"{who} {100 * share:.1f} %" for who, share in self.accuracy.items())
        annotated = f"{self.n_selected:,} graph{'s' * (self.n_selected != 1)} annotated"
        parts = (
            annotated if self.n_selected else "labeled graphs alone",
            "" if self.agreement is None else f"networks agree on {100 * self.agreement:.1f} %",
            on_val and f"right on VAL: {on_val}",
        )
        return "; ".join(part for part in parts if part)

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
    weights : list of float
        How much the prediction of all together listens to each network, by VAL; empty if equally.
    sharpness : float
        Calibrates that prediction.
    """

    rounds: list[Round] = field(default_factory=list)
    best_round: int = 0
    termination_condition: str = "rounds"
    used: list[Round] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    sharpness: float = 1.0

    def logits(self, networks: Sequence[Network], prepared: Sequence[Any]) -> list[Floats]:
        """Return the logits of each network over the rounds that predict."""
        return [
            combine([network.logits(data, each.fitted[j]) for each in self.used])
            for j, (network, data) in enumerate(zip(networks, prepared, strict=True))
        ]


def cotrain(
    networks: Sequence[Network],
    *,
    labeled: Ints,
    unlabeled: Ints,
    targets: Ints,
    n_classes: int,
    validation: Validation | None,
    select: Select,
    plan: Plan,
    seed: int,
) -> CoTraining:
    """Train networks in rounds, on what they select for each other.

    A network that comes fitted is taken to be so on the labeled graphs, with this seed.
    """
    val = None if validation is None else _Val.of(networks, *validation)
    known = one_hot(targets, n_classes)
    course = CoTraining()
    lessons = [_Lesson.nothing()] * len(networks)
    agreement = None
    try:
        for number in track(range(1 + plan.rounds), "co-training"):
            for j, network in enumerate(networks):
                if number == 0 and hasattr(network, "fitted"):
                    continue
                network.fit(
                    lessons[j].with_labeled(labeled, known, plan.weight),
                    val and (val.prepared[j], val.targets),
                    derive(seed, number) if number else seed,  # round 0 is the supervised network
                    warm_start=plan.warm_start and number > 0,
                    what=f"round {number}, {network.name}",
                )
            course.rounds.append(_round(networks, lessons, agreement, val, plan.judge))
            likelihoods = [each.log_likelihood for each in course.rounds]
            course.best_round = int(np.argmax(likelihoods)) if val else number
            tell(f"round {number}: {course.rounds[-1].in_words()}")
            if number == plan.rounds:
                break
            if ending := _ending(course, plan, len(unlabeled), val is not None):
                course.termination_condition = ending
                break
            proba = [network.annotate(unlabeled) for network in networks]
            k = math.ceil(min(1.0, plan.growth * (number + 1)) * len(unlabeled))
            chosen = select(proba, k)
            news = _lessons(chosen, proba, unlabeled, plan.soft)
            if all(_same(a.selection, b.selection) for a, b in zip(news, lessons, strict=True)):
                course.termination_condition = "converged" if number else "no_change"
                break
            lessons, agreement = news, _agreement(proba)
    except KeyboardInterrupt:
        if not course.rounds:
            raise
        course.termination_condition = "interrupted"  # the rounds that have ended predict
    course.used = course.rounds if plan.average else [course.rounds[course.best_round]]
    if val:
        logits = course.logits(networks, val.prepared)
        course.weights = weigh(logits, val.targets)
        course.sharpness = calibrate(combine(logits, course.weights), val.targets).sharpness
    return course


class _Val(NamedTuple):
    """Graphs to judge by, prepared for each network."""

    prepared: list[Any]
    targets: Ints

    @classmethod
    def of(cls, networks: Sequence[Network], graphs: GraphDataset, targets: Ints) -> _Val:
        return cls([network.prepare(graphs) for network in networks], targets)


class _Lesson(NamedTuple):
    """What a network is taught of unlabeled graphs: rows of the pool, and a target for each."""

    selection: Selection
    targets: torch.Tensor | None = None

    @classmethod
    def nothing(cls) -> _Lesson:
        return cls(Selection(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)))

    def with_labeled(self, labeled: Ints, known: torch.Tensor, weight: float) -> Examples:
        targets = known.clone()
        if self.targets is not None:
            targets[self.selection.rows] = self.targets
        return Examples(labeled, targets, self.selection.rows, weight)


def _lessons(
    chosen: Sequence[Selection], proba: Sequence[Floats], unlabeled: Ints, soft: bool
) -> list[_Lesson]:
    """Make lessons of selected rows of the unlabeled graphs."""
    # A network is taught by the other, or by itself if it is alone.
    teachers = [*proba[1:], proba[0]]
    hard = torch.eye(proba[0].shape[1])
    return [
        _Lesson(
            Selection(unlabeled[rows], targets),
            torch.from_numpy(teacher[rows]).float() if soft else hard[targets],
        )
        for (rows, targets), teacher in zip(chosen, teachers, strict=True)
    ]


def _round(
    networks: Sequence[Network],
    lessons: Sequence[_Lesson],
    agreement: float | None,
    val: _Val | None,
    judge: str,
) -> Round:
    """Write down what the networks were taught and how good they are on VAL."""
    selections = [lesson.selection for lesson in lessons]
    n_selected = len(np.unique(np.concatenate([each.rows for each in selections])))
    done = Round(selections, [network.fitted for network in networks], n_selected, agreement)
    if val is None:
        return done
    logits = [network.logits(data) for network, data in zip(networks, val.prepared, strict=True)]
    each = dict(zip((n.name for n in networks), logits, strict=True))
    each["both"] = combine(logits)
    done.accuracy = {
        who: float((own.argmax(axis=1) == val.targets).mean()) for who, own in each.items()
    }
    done.log_likelihood = calibrate(each[judge], val.targets).log_likelihood
    return done


def _agreement(proba: list[Floats]) -> float | None:
    """Return the share of graphs that all networks give the same class."""
    if len(proba) == 1:
        return None
    named = np.stack([each.argmax(axis=1) for each in proba])
    return float((named == named[0]).all(axis=0).mean())


def _ending(course: CoTraining, plan: Plan, n_unlabeled: int, has_validation: bool) -> str | None:
    """Say why co-training ends here, if it does."""
    number = len(course.rounds) - 1
    if n_unlabeled == 0:
        return "no_unlabeled"
    if all(len(s.rows) == n_unlabeled for s in course.rounds[-1].selections):
        return "exhausted"
    if has_validation and number - course.best_round >= plan.patience:
        return "patience"
    return None


def _same(a: Selection, b: Selection) -> bool:
    return np.array_equal(a.rows, b.rows) and np.array_equal(a.targets, b.targets)
