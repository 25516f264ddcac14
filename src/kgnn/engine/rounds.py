"""Rounds of pseudo-labeling: annotate unlabeled graphs, select what to trust, train on it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from scipy.special import softmax

from kgnn.engine.calibration import ALL, Mixing, choose, combine, learn_mixing, log_likelihoods
from kgnn.engine.network import Examples, Fitted, Learner, Training, class_weights_of, one_hot
from kgnn.engine.task import Task
from kgnn.graphs.graph import Floats, Ints
from kgnn.progress import tell, track
from kgnn.seeds import derive

RankBy = Literal["margin", "probability"]


class Selection(NamedTuple):
    """The selected rows, increasing, and the class of each."""

    rows: Ints
    targets: Ints


def confidence(proba: Floats, rank_by: RankBy = "margin") -> Floats:
    """Return how confident each row is.

    ``probability`` is that of the most probable class. Networks are overconfident: many
    probabilities round to 1; ``margin``, the log-odds of the first class against the second, still
    distinguishes these.
    """
    if rank_by == "probability":
        return np.asarray(proba.max(axis=1))
    top = np.sort(np.log(np.maximum(proba, 1e-300)), axis=1)
    return np.asarray(top[:, -1] - top[:, -2])


def most_confident(
    proba: Floats, k: int, shares: Floats | None = None, rank_by: RankBy = "margin"
) -> Selection:
    """Select the ``k`` most confident rows.

    With ``shares`` each class has a quota of ``ceil(k · share)``, so there may be a few more.
    Without quotas nearly all of the most confident graphs are of one class.

    Examples
    --------
    >>> most_confident(np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]]), 2)
    Selection(rows=array([0, 1]), targets=array([0, 1]))
    """
    order = np.argsort(-confidence(proba, rank_by), kind="stable")
    return first_of(order, proba.argmax(axis=1), k, shares)


def first_of(order: Ints, targets: Ints, k: int, shares: Floats | None) -> Selection:
    """Select the first k rows of an order, or the first of each class up to its quota."""
    if shares is None:
        rows = order[:k]
    else:
        quotas = np.ceil(k * shares - 1e-9).astype(np.int64)
        rows = np.concatenate([order[targets[order] == c][: quotas[c]] for c in range(len(shares))])
    rows = np.sort(rows)
    return Selection(rows, targets[rows])


class PseudoLabels(NamedTuple):
    """Annotated graphs: which ones, with which targets, and how confident the annotator was."""

    selection: Selection  # rows of the pool
    confidence: Floats  # the annotator's probability of each chosen class
    targets: torch.Tensor  # (n, n_classes), class probabilities; one-hot unless they are soft

    @classmethod
    def none(cls, n_classes: int) -> PseudoLabels:
        """Return no pseudo-labels."""
        empty = np.empty(0, dtype=np.int64)
        return cls(Selection(empty, empty), np.empty(0), torch.empty(0, n_classes))

    @classmethod
    def of(cls, chosen: Selection, annotator: Floats, unlabeled: Ints, soft: bool) -> PseudoLabels:
        """Label the chosen rows of ``annotator``, the probabilities of the unlabeled graphs."""
        if soft:
            targets = torch.from_numpy(annotator[chosen.rows]).to(torch.get_default_dtype())
        else:
            targets = torch.eye(annotator.shape[1])[chosen.targets]
        confidence = annotator[chosen.rows, chosen.targets]
        return cls(Selection(unlabeled[chosen.rows], chosen.targets), confidence, targets)

    def __len__(self) -> int:
        return len(self.selection.rows)

    def is_same_as(self, other: PseudoLabels) -> bool:
        """Whether both give the same graphs the same classes."""
        return all(map(np.array_equal, self.selection, other.selection))


@dataclass(frozen=True)
class Plan:
    """Settings of the rounds."""

    rounds: int  # at most, after the first training
    growth: float  # of the selection each round, as a share of the unlabeled graphs
    patience: int | None  # rounds without a gain on VAL before stopping
    weight: float  # of annotated against labeled graphs in the loss
    merged: bool = False  # see `kgnn.engine.network.Examples`
    soft: bool = False  # teach the annotator's probabilities, not its most probable class
    balanced: bool = False  # select from each class in proportion to the labeled graphs
    warm_start: bool = False  # continue from the last round's weights
    average: bool = True  # predict with all rounds, not with one
    # Of trainings with pseudo-labels; None for those without.
    epochs: int | None = None
    batch_size: int | None = None
    judge: str = ALL  # rank rounds by the likelihood of this network on held-out graphs, or of all
    committee: int = 1  # members of each network where the labels are not dealt into folds

    def for_students(self) -> dict[str, int]:
        """Return what is different in trainings with pseudo-labels."""
        changes = {"epochs": self.epochs, "batch_size": self.batch_size}
        return {name: value for name, value in changes.items() if value is not None}


@dataclass
class Round:
    """The result of one round.

    Attributes
    ----------
    taught : list of PseudoLabels
        The annotated graphs that each network was trained on, member by member.
    fitted : list of list of Fitted
        The members of each network after this round.
    n_selected : int
        Graphs that were annotated for any network.
    agreement : float or None
        Share of the unlabeled graphs to which both networks of the previous round gave the same
        class; None in round 0 and for a single network.
    accuracy : dict of str to float
        Of each network and of ``all`` on held-out graphs: VAL, or the folds. Empty without any.
    log_likelihood : float
        Calibrated log-likelihood of ``Plan.judge`` on these graphs.
    """

    taught: list[PseudoLabels]
    fitted: list[list[Fitted]]
    n_selected: int = 0
    agreement: float | None = None
    accuracy: dict[str, float] = field(default_factory=dict)
    log_likelihood: float = -math.inf

    def facts(self) -> dict[str, Any]:
        """Return the round as plain values."""
        return {
            "n_selected": self.n_selected,
            "agreement": self.agreement,
            "accuracy": dict(self.accuracy),
            "rows": [row for each in self.selections for row in each.rows.tolist()],
            "targets": [target for each in self.selections for target in each.targets.tolist()],
            "confidence": [share for each in self.taught for share in each.confidence.tolist()],
        }

    @property
    def selections(self) -> list[Selection]:
        """The annotated rows of the pool and their classes, in the order of ``taught``."""
        return [each.selection for each in self.taught]

    def in_words(self) -> str:
        """Describe the round in a line."""
        judged = ", ".join(f"{who} {100 * share:.1f} %" for who, share in self.accuracy.items())
        annotated = f"{self.n_selected:,} graph{'s' * (self.n_selected != 1)} annotated"
        parts = (
            annotated if self.n_selected else "labeled graphs alone",
            "" if self.agreement is None else f"networks agree on {100 * self.agreement:.1f} %",
            judged and f"accuracy on held-out graphs: {judged}",
        )
        return "; ".join(part for part in parts if part)

    def saved_state(self) -> dict[str, Any]:
        """Return what predictions need; the annotated graphs themselves are not kept."""
        return {**vars(self), "taught": []}


@dataclass
class Course:
    """All rounds, and those that predict.

    Attributes
    ----------
    rounds : list of Round
    best_round : int
        The round with the highest likelihood on held-out graphs; the last one without any.
    termination_condition : str
        ``rounds`` (all done), ``converged`` (the annotations did not change), ``no_change``
        (nothing selected), ``patience`` (no gain on VAL), ``exhausted`` (all unlabeled graphs
        selected), ``no_unlabeled``, or ``interrupted`` (Ctrl-C; the finished rounds predict).
    used : list of Round
        The rounds that predict.
    mixing : Mixing
        The mixing weights of the networks, from held-out graphs; equal weights without any.
    held_out : list of arrays
        Logits of each network, and of all together, for the held-out graphs. A fold is mixed with
        the weights that the other folds give.
    """

    rounds: list[Round] = field(default_factory=list)
    best_round: int = 0
    termination_condition: str = "rounds"
    used: list[Round] = field(default_factory=list)
    mixing: Mixing = field(default_factory=Mixing)
    held_out: list[Floats] = field(default_factory=list)

    def trained(self, which: int) -> list[Fitted]:
        """Return the trained members of a network that predict: those of the rounds used."""
        return [
            member for each in self.used if each.fitted[which:] for member in each.fitted[which]
        ]

    def logits(self, networks: Sequence[Learner], prepared: Sequence[Any]) -> list[Floats]:
        """Return the logits of each network, averaged over rounds and members, calibrated."""
        pairs = enumerate(zip(networks, prepared, strict=True))
        each = [net.logits(data, self.trained(which)) for which, (net, data) in pairs]
        return self.mixing.scaled(each)

    def saved_state(self) -> dict[str, Any]:
        """Return what predictions need."""
        used = {id(each) for each in self.used}
        rounds = [each if id(each) in used else replace(each, fitted=[]) for each in self.rounds]
        return {**vars(self), "rounds": rounds, "held_out": []}


class RoundTrainer:
    """Trains networks round by round, records each round, and decides when to stop.

    A network has a member for each fold of the labels (`kgnn.engine.task.Task`). The member of a
    fold is taught only by the members of the same fold in the other networks, so that no label
    reaches a member that it judges. What all members share are choices made on all held-out graphs
    together. Without folds, all members learn from all labels and differ only in their seeds.
    """

    def __init__(self, networks: Sequence[Learner], task: Task, plan: Plan) -> None:
        self.networks, self.task, self.plan = networks, task, plan
        self.course = Course()
        self.members = task.members(plan.committee)
        self.shares = [self._shares_of(member.labeled) for member in self.members]
        self._known = one_hot(task.targets, task.n_classes)
        nothing = [PseudoLabels.none(task.n_classes)] * len(self.members)
        self._taught = [nothing] * len(networks)
        self._agreement: float | None = None
        self._likelihoods: list[Floats] = []  # of each round, on the graphs that judge
        if task.validation is not None:
            graphs, self._truth = task.validation
            prepared = [network.prepare(graphs) for network in networks]
            self._judges = [[data] * len(self.members) for data in prepared]
            self._truths = [self._truth] * len(self.members)
        else:
            self._judges = [[n.part(m.held_out) for m in self.members] for n in networks]
            self._truths = [task.targets[member.held_out] for member in self.members]
            self._truth = np.concatenate(self._truths)
        self._is_judged = len(self._truth) > 0

    def _shares_of(self, labeled: Ints) -> Floats | None:
        """Return the share of each class among a member's labels, if selections are balanced."""
        counts = np.bincount(self.task.targets[labeled], minlength=self.task.n_classes)
        return counts / counts.sum() if self.plan.balanced else None

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """After Ctrl-C keep the finished rounds, if there are any."""
        self._numbers = track(range(1 + self.plan.rounds), "rounds")
        next(self._numbers)  # round 0 begins
        try:
            yield
        except KeyboardInterrupt:
            if not self.course.rounds:
                raise
            self.course.termination_condition = "interrupted"
        self._choose_rounds()

    def fit(self, network: Learner, pseudo_labels: Sequence[PseudoLabels] = ()) -> None:
        """Train a network on the labeled graphs and on pseudo-labels, member by member."""
        task, plan = self.task, self.plan
        which, number = list(self.networks).index(network), len(self.course.rounds)
        nothing = [PseudoLabels.none(task.n_classes)] * len(self.members)
        self._taught[which] = list(pseudo_labels) or nothing
        weights = class_weights_of(task)
        trainings = []
        for place, (member, taught) in enumerate(
            zip(self.members, self._taught[which], strict=True)
        ):
            targets = self._known.clone()
            targets[taught.selection.rows] = taught.targets
            annotated = taught.selection.rows
            examples = Examples(
                member.labeled, targets, annotated, plan.weight, plan.merged, weights
            )
            truth = self._truths[place]
            judges = self._judges[which][place] if len(truth) else None
            # Round 0 is the supervised network and has the seed of the member.
            seed = derive(member.seed, number) if number else member.seed
            trainings.append(Training(examples, seed, judges, truth, place))
        network.fit(
            trainings,
            pooled=task.validation is None,
            changes=plan.for_students() if number else None,
            warm_start=plan.warm_start and number > 0 and network.is_fitted,
            what=f"round {number}, {network.name}",
        )

    def mix(self, *networks: Sequence[Floats]) -> list[Floats]:
        """Mix the probabilities of several networks, member by member.

        The mixing weights of a member come from the graphs held out of the *other* members, so that
        its own held-out graphs do not influence what it is taught. Without folds all members
        annotate as one ensemble.
        """
        fitted = self.course.rounds[-1].fitted
        mixed = []
        for place, proba in enumerate(zip(*networks, strict=True)):
            logits = [np.log(np.maximum(own, 1e-300)) for own in proba]
            judged, truth = self._judged(fitted, place)
            is_judged = len(truth) > 0 and len(fitted) == len(logits)  # or a network is new
            mixing = learn_mixing(judged, truth) if is_judged else Mixing()
            mixed.append(mixing.together(logits))
        if not self.task.folds:
            mixed = [combine(mixed)] * len(mixed)
        return [softmax(own, axis=1) for own in mixed]

    def _judged(
        self, fitted: Sequence[Sequence[Fitted]], without: int | None = None
    ) -> tuple[list[Floats], Ints]:
        """Return the logits of each network for held-out graphs, and the classes of these graphs.

        All members predict VAL together; a graph held out of a member is predicted by it alone. The
        graphs held out of the member ``without`` are left out if there are others.
        """
        if self.task.validation is not None:
            return [combine([member.answers for member in own]) for own in fitted], self._truth
        places = [n for n in range(len(self.members)) if n != without or len(self.members) == 1]
        truth = np.concatenate([self._truths[n] for n in places])
        return [_answers([own[n] for n in places]) for own in fitted] if len(truth) else [], truth

    def label(self, chosen: Sequence[Selection], proba: Sequence[Floats]) -> list[PseudoLabels]:
        """Turn each member's selection and probabilities into pseudo-labels."""
        return [
            PseudoLabels.of(each, own, self.task.unlabeled, self.plan.soft)
            for each, own in zip(chosen, proba, strict=True)
        ]

    def is_news(self, network: Learner, pseudo_labels: Sequence[PseudoLabels]) -> bool:
        """Whether these differ from a network's last pseudo-labels; if not, the rounds end."""
        last = self._taught[list(self.networks).index(network)]
        if not all(new.is_same_as(old) for new, old in zip(pseudo_labels, last, strict=True)):
            return True
        has_begun = len(self.course.rounds) > 1
        self.course.termination_condition = "converged" if has_begun else "no_change"
        return False

    def note_agreement(self, *proba: Sequence[Floats]) -> None:
        """Record the share of the unlabeled graphs on which the networks agree."""
        classes = np.stack([np.concatenate(each).argmax(axis=1) for each in proba])
        self._agreement = float((classes == classes[0]).all(axis=0).mean())

    def end_round(self) -> None:
        """Record the pseudo-labels of this round, and the accuracy on held-out graphs."""
        taught = [each for own in self._taught for each in own]
        n_selected = len(np.unique(np.concatenate([each.selection.rows for each in taught])))
        fitted = [network.fitted for network in self.networks if network.is_fitted]
        done = Round(taught, fitted, n_selected, self._agreement)
        self._agreement = None
        if self._is_judged:
            networks = self.networks[: len(fitted)]
            judged, _ = self._judged(fitted)
            logits = {n.name: own for n, own in zip(networks, judged, strict=True)}
            logits[ALL] = learn_mixing(judged, self._truth).together(judged)
            done.accuracy = {
                who: float((each.argmax(axis=1) == self._truth).mean())
                for who, each in logits.items()
            }
            judge = logits.get(self.plan.judge, logits[ALL])
            self._likelihoods.append(log_likelihoods(judge, self._truth))
            done.log_likelihood = float(self._likelihoods[-1].mean())
        self.course.rounds.append(done)
        likelihoods = [each.log_likelihood for each in self.course.rounds]
        last = len(self.course.rounds) - 1
        self.course.best_round = int(np.argmax(likelihoods)) if self._is_judged else last
        tell(f"round {last}: {done.in_words()}")

    def rounds(self) -> Iterator[int]:
        """Yield the number of graphs to select in each round, until there is a reason to stop."""
        n_unlabeled = len(self.task.unlabeled)
        for number in self._numbers:
            if reason := self._reason_to_stop(n_unlabeled):
                self.course.termination_condition = reason
                break
            yield math.ceil(min(1.0, self.plan.growth * number) * n_unlabeled - 1e-9)

    def _reason_to_stop(self, n_unlabeled: int) -> str | None:
        course, patience = self.course, self.plan.patience
        if n_unlabeled == 0:
            return "no_unlabeled"
        if all(len(each.rows) == n_unlabeled for each in course.rounds[-1].selections):
            return "exhausted"
        without_gain = len(course.rounds) - 1 - course.best_round
        if self._is_judged and patience is not None and without_gain >= patience:
            return "patience"
        return None

    def _choose_rounds(self) -> None:
        """Choose the rounds that predict, and how the networks are mixed."""
        course = self.course
        last = len(course.rounds) - 1
        # The last round, unless an earlier one is clearly better.
        one = choose(np.stack(self._likelihoods), default=last) if self._is_judged else last
        course.used = course.rounds if self.plan.average else [course.rounds[one]]
        if self._is_judged:
            n_ready = max(len(each.fitted) for each in course.used)
            judged = [self._judged(each.fitted)[0] for each in course.used]
            answers = [
                combine([own[which] for own in judged if own[which:]]) for which in range(n_ready)
            ]
            course.mixing = learn_mixing(answers, self._truth)
            course.held_out = self._mixed_by_others(answers)

    def _mixed_by_others(self, answers: Sequence[Floats]) -> list[Floats]:
        """Return the logits of each network for the held-out graphs, and those of all together.

        The weights for a fold come from the other folds. Weights fitted on the fold itself would
        suit its labels, and the expected accuracy would be too high.
        """
        if self.task.validation is not None:
            return [*self.course.mixing.scaled(answers), self.course.mixing.together(answers)]
        rows = np.concatenate([member.held_out for member in self.members])
        mixed = [np.empty_like(answers[0]) for _ in range(len(answers) + 1)]
        for member in self.members:
            own = np.isin(rows, member.held_out)  # some graphs are held out of several members
            others = [each[~own] for each in answers]
            mixing = Mixing() if own.all() else learn_mixing(others, self._truth[~own])
            asked = [each[own] for each in answers]
            for place, each in enumerate([*mixing.scaled(asked), mixing.together(asked)]):
                mixed[place][own] = each
        return mixed


def _answers(members: Sequence[Fitted]) -> Floats:
    """Return the logits of all held-out graphs, member after member."""
    return np.concatenate([member.answers for member in members if member.answers.size])


def self_train(network: Learner, task: Task, plan: Plan, rank_by: RankBy = "margin") -> Course:
    """Train a network in rounds on the graphs it is most confident about."""
    trainer = RoundTrainer([network], task, plan)
    with trainer.interruptible():
        trainer.fit(network)
        trainer.end_round()
        for k in trainer.rounds():
            proba = network.annotate(task.unlabeled)
            chosen = [
                most_confident(each, k, shares, rank_by)
                for each, shares in zip(proba, trainer.shares, strict=True)
            ]
            pseudo_labels = trainer.label(chosen, proba)
            if not trainer.is_news(network, pseudo_labels):
                break
            trainer.fit(network, pseudo_labels)
            trainer.end_round()
    return trainer.course
