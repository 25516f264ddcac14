"""The family of methods that are trained in rounds of pseudo-labeling."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from scipy.special import softmax
from sklearn.utils.validation import check_is_fitted

from kgnn.engine.calibration import ALL, combine
from kgnn.engine.network import Learner
from kgnn.engine.rounds import Course, Plan, RankBy
from kgnn.engine.task import OutOfFold, Task
from kgnn.estimator.calibration import sharpen
from kgnn.estimator.classifier import GraphClassifier, Graphs, Story
from kgnn.estimator.evidence import PREDICTION
from kgnn.estimator.parameters import Bounds, Count, CountOrZero, NonNegative, Share, parameters
from kgnn.graphs.graph import Floats, GraphDataset
from kgnn.graphs.interop import as_dataset


@parameters
class RoundsClassifier(GraphClassifier):
    """Networks that are trained in rounds on labeled and on annotated graphs.

    A subclass sets ``networks_`` and ``course_`` in `_fit`.

    Parameters
    ----------
    committee : int
        Members of each network, which differ in their seeds and predict together. With
        ``cross_fit`` there is one for each fold instead.
    rounds : int
        Rounds of annotation after the first training.
    growth : float
        Share of the unlabeled graphs by which the selection grows each round.
    student_epochs, student_batch_size : int or None
        Epochs and batch size of trainings with annotated graphs, of which there are many; None
        for the values of trainings without.
    patience : int or None
        Rounds without a gain on VAL before stopping; None to never stop for that reason.
    annotated_weight : float
        Weight of annotated against labeled graphs in the loss.
    batches : {"paired", "merged"}
        Whether an epoch passes over the labeled graphs and pairs each batch with annotated ones,
        or shuffles all of them together.
    soft : bool
        Train on probabilities instead of the most probable class.
    balanced : bool
        Select from each predicted class in proportion to the labeled graphs.
    rank_by : {"margin", "probability"}
        How confidence is measured; see `kgnn.engine.rounds.confidence`.
    warm_start : bool
        Continue from the weights of the round before instead of new ones.
    average_rounds : bool
        Whether the networks of all rounds predict together. Otherwise those of the last round do,
        or of an earlier one that is clearly better on held-out graphs.
    use_validation : bool
        Whether VAL, if given, chooses epochs and rounds and sets the mixing weights. Otherwise the
        last epoch and round predict.

    Attributes
    ----------
    networks_ : list of Learner
    course_ : Course
        What happened in each round.
    """

    committee: Count = 3
    rounds: CountOrZero = 1
    growth: Share = 1.0
    student_epochs: Count | None = 8
    student_batch_size: Annotated[int, Bounds(2)] | None = 64
    patience: Count | None = 2
    annotated_weight: NonNegative = 1.0
    batches: Literal["paired", "merged"] = "merged"
    soft: bool = False
    balanced: bool = True
    rank_by: RankBy = "margin"
    warm_start: bool = False
    average_rounds: bool = True
    use_validation: bool = True

    _cross_fits: ClassVar[bool] = True

    def _without_validation(self, task: Task) -> Task:
        """Return the task without VAL, unless it is to be used."""
        return task if self.use_validation else replace(task, validation=None)

    def _plan(self, judge: str = ALL) -> Plan:
        return Plan(
            rounds=self.rounds,
            growth=self.growth,
            patience=self.patience,
            weight=self.annotated_weight,
            merged=self.batches == "merged",
            soft=self.soft,
            balanced=self.balanced,
            warm_start=self.warm_start,
            average=self.average_rounds,
            epochs=self.student_epochs,
            batch_size=self.student_batch_size,
            judge=judge,
            committee=self.committee,
        )

    def _finish(self, task: Task, networks: list[Learner], course: Course) -> OutOfFold | None:
        """Store the result of the rounds, and return its predictions for held-out labels."""
        # If training is stopped before the first E-step, there is no memory to predict with.
        self.networks_ = networks[: max(len(each.fitted) for each in course.used)]
        self.course_ = course
        for which, network in enumerate(self.networks_):
            network.fitted = course.trained(which)  # what predicts
        if course.termination_condition == "interrupted":
            raise KeyboardInterrupt
        rows = np.concatenate([member.held_out for member in task.members()])
        if task.validation is not None or not len(rows):
            return None
        names = [*(network.name for network in self.networks_), ALL]
        return OutOfFold(rows, softmax(course.held_out[names.index(self._predictor())], axis=1))

    @property
    def n_iter_(self) -> int:
        """Number of rounds after the first training."""
        return len(self.course_.rounds) - 1

    @property
    def termination_condition_(self) -> str:
        """Why the rounds ended; see `kgnn.engine.rounds.Course`."""
        return self.course_.termination_condition

    def _can_predict(self) -> bool:
        return hasattr(self, "course_")

    def _predict_proba(self, graphs: GraphDataset) -> Floats:
        return self._each(graphs)[self._predictor()]

    def _predictor(self) -> str:
        """Return the name of the network that predicts."""
        return ALL

    def _each(self, graphs: GraphDataset) -> dict[str, Floats]:
        """Return the probabilities of each network and of all combined."""
        logits = self.course_.logits(self.networks_, [n.prepare(graphs) for n in self.networks_])
        return self._probabilities(self.networks_, logits, self.course_)

    def _probabilities(
        self, networks: list[Learner], logits: list[Floats], course: Course
    ) -> dict[str, Floats]:
        each = {network.name: own for network, own in zip(networks, logits, strict=True)}
        each[ALL] = combine(logits, course.mixing.weights)
        return {name: np.asarray(softmax(own, axis=1)) for name, own in each.items()}

    def predict_proba_each(self, X: Graphs) -> dict[str, Floats]:
        """Return the probabilities of each network, by name, and of ``all`` together.

        Empty for a model of one network.
        """
        check_is_fitted(self, "classes_")
        graphs = as_dataset(X)
        if len(self.classes_) == 1 or len(self.networks_) == 1:
            return {}
        if len(graphs) == 0:
            nothing = np.ones((0, len(self.classes_)))
            return dict.fromkeys([*(n.name for n in self.networks_), ALL], nothing)
        each = self._each(graphs)
        return {**each, self._predictor(): sharpen(each[self._predictor()], self.sharpness_)}

    def predict_proba_all(self, X: Graphs) -> dict[str, Floats]:
        """Return the model's own probabilities as ``prediction``, and those of its networks."""
        each = self.predict_proba_each(X)
        return {PREDICTION: each[self._predictor()] if each else self.predict_proba(X), **each}

    def story(self) -> Story:
        """Return what happened in `fit`."""
        check_is_fitted(self, "classes_")
        if not hasattr(self, "course_"):  # one class
            return Story({}, [], "")
        curves: dict[str, Any] = {n.name: n.fitted[0].history for n in self.networks_}
        rounds = [each.facts() for each in self.course_.rounds]
        return Story(curves, rounds, self.course_.termination_condition)
