"""Base of kernel methods: graph features, a support vector machine, and model selection."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import combinations
from typing import Annotated, Any, ClassVar, TypeAlias, TypeVar

import numpy as np
from scipy.special import softmax
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from kgnn.engine.calibration import PULL, calibrate
from kgnn.engine.task import OutOfFold, Task
from kgnn.estimator.classifier import GraphClassifier
from kgnn.estimator.metrics import METRICS, MetricName
from kgnn.estimator.parameters import Bounds, Count, parameters
from kgnn.graphs.graph import Floats, GraphDataset, Ints
from kgnn.kernels.base import Features, Featurizer, gram
from kgnn.kernels.counted import SharedCounts
from kgnn.progress import track
from kgnn.seeds import derive

# Of a Gaussian, in mean squared distances; None for the inner product.
Width: TypeAlias = Annotated[float, Bounds(1e-9)] | None

_FOLDS = 5


@parameters
class FeaturizedClassifier(GraphClassifier):
    """A support vector machine on the kernel of a featurizer.

    A *candidate* is a featurizer with its settings and a value of C. Each is fitted on the labeled
    graphs and scored in cross-validation of the labeled graphs and on VAL, if there is one, half
    and half: VAL alone has too few graphs to tell a hundred candidates apart. The best few predict
    together, by the mean of their probabilities. A subclass lists its featurizers.

    Parameters
    ----------
    C : tuple of float
        Values of the penalty to choose from, for a kernel scaled to a mean diagonal of 1; the
        first is preferred among equals.
    committee : int
        Number of best candidates that predict together; 1 for the single best.
    choose_by : str
        The metric that candidates are scored by, of `kgnn.estimator.metrics.METRICS`; ``--metric``
        on the command line sets it. With ``class_weight``, accuracy counts graphs by their class.

    Attributes
    ----------
    members_ : list of Member
        The best candidates, best first.
    """

    C: tuple[Annotated[float, Bounds(1e-9)], ...] = (1.0, 0.1, 10.0, 0.01, 100.0)
    committee: Count = 5
    choose_by: MetricName = "accuracy"

    _cross_fits: ClassVar[bool] = True

    def _featurizers(self) -> list[Featurizer]:
        """Return the featurizers to choose from, the preferred one first."""
        raise NotImplementedError

    def _widths(self) -> tuple[float | None, ...]:
        """Return the kernels to choose from, the preferred one first; see `SupportKernel`."""
        return (None,)

    def _learn(
        self, featurizer: Featurizer, task: Task, labeled: GraphDataset, shared: SharedCounts
    ) -> Features:
        """Fit a featurizer and return the features of the labeled graphs."""
        return shared.fit_transform(featurizer, labeled)

    def _fit(self, task: Task) -> OutOfFold | None:
        labeled, targets = task.graphs[task.labeled], task.targets[task.labeled]
        shared = SharedCounts()
        folds = _folds(task)
        candidates: list[Member] = []
        for featurizer in track(self._featurizers(), "choosing features"):
            support = self._learn(featurizer, task, labeled, shared)
            features = (
                None
                if task.validation is None
                else shared.transform(featurizer, task.validation[0])
            )
            for width in self._widths():
                kernel = SupportKernel.of(support, width)
                judged = (
                    None
                    if task.validation is None or features is None
                    else (kernel(features), task.validation[1])
                )
                for penalty in self.C:
                    machine = Machine.fit(penalty, kernel.values, targets, task.class_weights)
                    member = Member(featurizer, kernel, machine)
                    _score(member, task, folds, judged, self._worth(task))
                    candidates.append(member)
        self.members_ = _best(candidates, [each.score for each in candidates], self.committee)
        if task.validation is not None or not folds:
            return None
        return self._out_of_fold(candidates, task, [held for _, held in folds])

    def _worth(self, task: Task) -> Worth:
        """Return the function of calibrated scores and true classes that ranks candidates."""
        metric = METRICS[self.choose_by]
        weights = np.ones(task.n_classes) if task.class_weights is None else task.class_weights
        if self.choose_by == "accuracy":
            return lambda scores, truth: float(
                ((scores.argmax(axis=1) == truth) * weights[truth]).mean()
            )

        def worth(scores: Floats, truth: Ints) -> float:
            lacks_a_class = len(np.unique(truth)) < scores.shape[1]
            own = METRICS["log_loss"] if metric.needs_all_classes and lacks_a_class else metric
            value = own.judge(truth, np.asarray(softmax(scores, axis=1)))
            return value if own.is_best_high else -value

        return worth

    def _out_of_fold(
        self, candidates: list[Member], task: Task, held: list[Ints]
    ) -> OutOfFold | None:
        """Return the predictions for each fold by the candidates that are best on the others."""
        fold_of = np.repeat(np.arange(len(held)), [len(each) for each in held])
        rows = np.concatenate(held)
        truth, worth = task.targets[task.labeled][rows], self._worth(task)
        calibrated = [each.sharpness * each.answers for each in candidates]
        proba = np.empty((len(rows), task.n_classes))
        for fold in range(len(held)):
            inside = fold_of == fold
            others = ~np.isin(rows, rows[inside])  # a rare class may be in several folds
            # Without others, all candidates are equal.
            scores = [
                worth(each[others], truth[others]) if others.any() else 0.0 for each in calibrated
            ]
            asked = [
                softmax(each[inside], axis=1) for each in _best(calibrated, scores, self.committee)
            ]
            proba[inside] = np.mean(asked, axis=0)
        return OutOfFold(task.labeled[rows], proba)

    def _predict_proba(self, graphs: GraphDataset) -> Floats:
        shared = SharedCounts()
        features: dict[int, Features] = {}  # members may share a featurizer
        for member in self.members_:
            if id(member.featurizer) not in features:
                features[id(member.featurizer)] = shared.transform(member.featurizer, graphs)
        proba = [member.proba(features[id(member.featurizer)]) for member in self.members_]
        return np.asarray(np.mean(proba, axis=0))


@parameters
class EmbeddedClassifier(FeaturizedClassifier):
    """A support vector machine on embeddings learned from labeled and unlabeled graphs.

    Model selection is that of `FeaturizedClassifier`.

    Parameters
    ----------
    widths : tuple of float or None
        Kernels to choose from: a Gaussian whose width is so many times the mean squared distance,
        or None for the inner product.
    """

    widths: tuple[Width, ...] = (None, 1.0, 0.3)

    def _widths(self) -> tuple[float | None, ...]:
        return self.widths

    def _learn(
        self, featurizer: Featurizer, task: Task, labeled: GraphDataset, shared: SharedCounts
    ) -> Features:
        return featurizer.fit(task.graphs).transform(labeled)


@dataclass(frozen=True)
class SupportKernel:
    """Kernel values of graphs with the labeled graphs."""

    support: Features  # of the labeled graphs
    values: Floats  # of the labeled graphs with each other
    factor: float  # of inner products, for a mean diagonal of 1; or of squared distances
    is_gaussian: bool

    @classmethod
    def of(cls, support: Features, width: float | None) -> SupportKernel:
        """Return the inner product, or a Gaussian of this many mean squared distances."""
        products = gram(support)
        if width is None:
            trace = float(products.trace())
            factor = len(products) / trace if trace > 0 else 1.0
            return cls(support, products * factor, factor, False)
        squares = products.diagonal()
        distances = squares[:, None] + squares[None, :] - 2 * products
        mean = float(distances.mean())
        factor = 1.0 / (width * mean) if mean > 0 else 1.0
        return cls(support, np.exp(-factor * np.maximum(distances, 0.0)), factor, True)

    def saved_state(self) -> dict[str, Any]:
        """Return what predictions need."""
        return {**vars(self), "values": np.empty((0, 0))}

    def require_sound(self) -> None:
        """Refuse a kernel, read from a file, without labeled graphs or with an invalid scale."""
        is_table = len(self.support.shape) == 2 and self.support.dtype.kind in "iuf"
        if not is_table or not self.factor > 0:
            raise ValueError("a kernel has no labeled graphs to compare with, or no scale")

    def __call__(self, features: Features) -> Floats:
        """Return the kernel values of graphs with the labeled ones, ``(n, n_labeled)``."""
        products = gram(features, self.support)
        if not self.is_gaussian:
            return products * self.factor
        lengths = [np.asarray((each * each).sum(axis=1)) for each in (features, self.support)]
        distances = lengths[0][:, None] + lengths[1][None, :] - 2 * products
        return np.asarray(np.exp(-self.factor * np.maximum(distances, 0.0)))


@dataclass
class Member:
    """One candidate: a featurizer, a kernel, a fitted machine and its score."""

    featurizer: Featurizer
    kernel: SupportKernel
    machine: Machine
    score: float = 0.0  # on held-out graphs; more is better
    sharpness: float = 1.0  # inverse temperature of the probabilities
    # Margins of the labeled graphs in cross-validation, fold by fold.
    answers: Floats = field(default_factory=lambda: np.empty((0, 0)))

    def saved_state(self) -> dict[str, Any]:
        """Return what predictions need."""
        return {**vars(self), "answers": np.empty((0, 0))}

    def proba(self, features: Features) -> Floats:
        """Return class probabilities, ``(n_graphs, n_classes)``."""
        scores = margins(self.machine, self.kernel(features))
        return np.asarray(softmax(self.sharpness * scores, axis=1))


@dataclass(frozen=True, eq=False)
class Machine:
    """A fitted support vector machine on kernel values, as plain arrays, which can be saved."""

    penalty: float
    support: Ints  # training graphs that count, class by class
    class_ends: Ints  # (n_classes + 1,), where each class begins among them
    coefficients: Floats  # (n_classes − 1, n_support)
    intercepts: Floats  # one for each pair of classes

    @classmethod
    def fit(
        cls, penalty: float, kernel: Floats, targets: Ints, class_weights: Floats | None = None
    ) -> Machine:
        """Fit a machine to kernel values of labeled graphs with each other."""
        svm = SVC(
            C=penalty,
            kernel="precomputed",
            decision_function_shape="ovo",
            class_weight=None if class_weights is None else dict(enumerate(class_weights)),
            random_state=0,  # changes nothing, but numpy's global generator is left alone
        )
        svm.fit(kernel, targets)
        return cls(
            penalty,
            svm.support_.astype(np.int64),
            np.concatenate([[0], np.cumsum(svm.n_support_)]).astype(np.int64),
            np.asarray(svm.dual_coef_),
            np.asarray(svm.intercept_),
        )

    def require_sound(self) -> None:
        """Refuse arrays, read from a file, that are not those of one machine."""
        ends, n = self.class_ends, len(self.support)
        pairs = self.n_classes * (self.n_classes - 1) // 2
        is_sound = (
            self.support.shape == (n,)
            and bool((self.support >= 0).all())
            and ends.ndim == 1
            and self.n_classes >= 2
            and ends[0] == 0
            and ends[-1] == n
            and bool((np.diff(ends) >= 0).all())
            and self.coefficients.shape == (self.n_classes - 1, n)
            and self.intercepts.shape == (pairs,)
        )
        if not is_sound:
            raise ValueError("the arrays of a support vector machine do not belong together")

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.class_ends) - 1

    def decide(self, kernel: Floats) -> Floats:
        """Return how clearly the first class of each pair is preferred, ``(n_graphs, n_pairs)``.

        Of two classes, positive values are for the second, as scikit-learn has it.
        """
        values = kernel[:, self.support]
        if self.n_classes == 2:
            return np.asarray(values @ self.coefficients.T + self.intercepts)
        decided = []
        for pair, (one, other) in enumerate(combinations(range(self.n_classes), 2)):
            ones = slice(self.class_ends[one], self.class_ends[one + 1])
            others = slice(self.class_ends[other], self.class_ends[other + 1])
            decided.append(
                values[:, ones] @ self.coefficients[other - 1, ones]
                + values[:, others] @ self.coefficients[one, others]
                + self.intercepts[pair]
            )
        return np.column_stack(decided)


def margins(machine: Machine, kernel: Floats) -> Floats:
    """Return one score per class: its soft votes against each other class.

    A pair of classes votes with ``tanh`` of its margin rather than with its sign alone, so that
    the scores tell narrow from clear decisions, which counted votes cannot.
    """
    n_classes = machine.n_classes
    pairs = machine.decide(kernel)
    if n_classes == 2:
        return np.column_stack([-pairs, pairs])
    scores = np.zeros((len(kernel), n_classes))
    for pair, (a, b) in enumerate(combinations(range(n_classes), 2)):
        votes = np.tanh(2 * pairs[:, pair])
        scores[:, a] += votes
        scores[:, b] -= votes
    return scores


Candidate = TypeVar("Candidate")
Worth = Callable[[Floats, Ints], float]  # of calibrated scores, and the true classes


def _best(candidates: list[Candidate], scores: list[float], n: int) -> list[Candidate]:
    """Return the n best, best first; ties go to those listed first."""
    return [candidates[place] for place in np.argsort(-np.array(scores), kind="stable")[:n]]


def _score(
    member: Member,
    task: Task,
    folds: list[tuple[Ints, Ints]],
    validation: tuple[Floats, Ints] | None,
    worth: Worth,
) -> None:
    """Score and calibrate a candidate on held-out graphs."""
    kernel, machine, targets = member.kernel.values, member.machine, task.targets[task.labeled]
    parts: list[tuple[Floats, Ints]] = []  # margins and true classes
    if folds:
        judged = []
        for a, b in folds:
            known = kernel[np.ix_(a, a)]
            without = Machine.fit(machine.penalty, known, targets[a], task.class_weights)
            judged.append(margins(without, kernel[np.ix_(b, a)]))
        member.answers = np.concatenate(judged)
        parts.append((member.answers, np.concatenate([targets[b] for _, b in folds])))
    if validation is not None:
        parts.append((margins(machine, validation[0]), validation[1]))
    if parts:
        scores, truth = (np.concatenate(each) for each in zip(*parts, strict=True))
        pull = PULL if validation is None else 0.0
        member.sharpness = calibrate(scores, truth, pull).sharpness
        member.score = float(np.mean([worth(member.sharpness * each, own) for each, own in parts]))


def _folds(task: Task) -> list[tuple[Ints, Ints]]:
    """Return for each fold the positions of labeled graphs to fit on and to score on.

    With VAL, the folds are additional to it: stratified, as many as the rarest class allows.
    """
    if task.validation is None:
        held = [np.searchsorted(task.labeled, fold) for fold in task.folds if len(fold)]
        every = np.arange(len(task.labeled))
        return [(np.setdiff1d(every, each, assume_unique=True), each) for each in held]
    targets = task.targets[task.labeled]
    n_folds = min(_FOLDS, int(np.bincount(targets).min()))
    if n_folds < 2:
        return []
    splitter = StratifiedKFold(n_folds, shuffle=True, random_state=derive(task.seed, "folds"))
    return list(splitter.split(targets, targets))
