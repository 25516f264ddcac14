"""The family of kernel methods: features of graphs, a support vector machine, choices on VAL."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Annotated

import numpy as np
from scipy import sparse
from scipy.special import softmax
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from kgnn.graphs.graph import Floats, GraphDataset, Ints
from kgnn.kernels.base import Featurizer, gram
from kgnn.methods.base import GraphClassifier, Task
from kgnn.methods.parameters import Bounds, Count, parameters
from kgnn.progress import track
from kgnn.seeds import derive
from kgnn.training.calibration import calibrate

_FOLDS = 5


@parameters
class FeaturizedClassifier(GraphClassifier):
    """A support vector machine on the kernel of a featurizer.

    A *candidate* is a featurizer with its settings and a value of C. Each is fitted on the labeled
    graphs and scored by its accuracy on VAL and in cross-validation of the labeled graphs, half
    and half: VAL alone has too few graphs to tell a hundred candidates apart. The best few predict
    together, by the mean of their probabilities. A subclass lists its featurizers.

    Parameters
    ----------
    C : tuple of float
        Values of the penalty to choose from, for a kernel scaled to a mean diagonal of 1; the
        first is preferred among equals.
    committee : int
        Number of best candidates that predict together; 1 for the single best.

    Attributes
    ----------
    members_ : list of Member
        The best candidates, best first.
    """

    C: tuple[Annotated[float, Bounds(1e-9)], ...] = (1.0, 0.1, 10.0, 0.01, 100.0)
    committee: Count = 5

    def _featurizers(self) -> list[Featurizer]:
        """Return the featurizers to choose from, the preferred one first."""
        raise NotImplementedError

    def _fit(self, task: Task) -> None:
        graphs, targets = task.graphs[task.labeled], task.targets[task.labeled]
        folds = _folds(targets, task.seed)
        candidates = [
            member
            for featurizer in track(self._featurizers(), "choosing features")
            for member in _members(featurizer, graphs, targets, self.C, folds, task.validation)
        ]
        candidates.sort(key=lambda member: -member.score)  # stable: the order given breaks ties
        self.members_ = candidates[: self.committee]

    def _predict_proba(self, graphs: GraphDataset) -> Floats:
        return np.asarray(np.mean([member.proba(graphs) for member in self.members_], axis=0))


@dataclass
class Member:
    """One candidate: a featurizer, a fitted machine and how well it did."""

    featurizer: Featurizer
    svm: SVC
    support: sparse.csr_array  # (n_labeled, n_features)
    scale: float
    score: float = 0.0  # held-out accuracy
    sharpness: float = 1.0  # inverse temperature of the probabilities

    def proba(self, graphs: GraphDataset) -> Floats:
        """Return class probabilities, ``(n_graphs, n_classes)``."""
        kernel = gram(self.featurizer.transform(graphs), self.support) * self.scale
        return np.asarray(softmax(self.sharpness * margins(self.svm, kernel), axis=1))


def margins(svm: SVC, kernel: Floats) -> Floats:
    """Return one score per class: its soft votes against each other class.

    A pair of classes votes with ``tanh`` of its margin rather than with its sign alone, so that
    the scores tell narrow from clear decisions, which counted votes cannot.
    """
    n_classes = len(svm.classes_)
    pairs = svm.decision_function(kernel).reshape(len(kernel), -1)
    if n_classes == 2:
        return np.column_stack([-pairs, pairs])
    scores = np.zeros((len(kernel), n_classes))
    for pair, (a, b) in enumerate(combinations(range(n_classes), 2)):
        votes = np.tanh(2 * pairs[:, pair])
        scores[:, a] += votes
        scores[:, b] -= votes
    return scores


def _members(
    featurizer: Featurizer,
    graphs: GraphDataset,
    targets: Ints,
    penalties: tuple[float, ...],
    folds: list[tuple[Ints, Ints]],
    validation: tuple[GraphDataset, Ints] | None,
) -> list[Member]:
    """Fit and score one featurizer with every penalty."""
    support = featurizer.fit_transform(graphs)
    kernel = gram(support)
    trace = float(kernel.trace())
    scale = len(kernel) / trace if trace > 0 else 1.0
    kernel *= scale
    held_out: list[tuple[Floats, Floats, Ints, Ints]] = [
        (kernel[np.ix_(a, a)], kernel[np.ix_(b, a)], targets[a], targets[b]) for a, b in folds
    ]
    if validation is not None:
        values = gram(featurizer.transform(validation[0]), support) * scale
    members = []
    for penalty in penalties:
        svm = _svm(penalty, kernel, targets)
        judged = [_judge(_svm(penalty, k, t), k_new, t_new) for k, k_new, t, t_new in held_out]
        parts = [_pooled(judged)] if judged else []
        if validation is not None:
            parts.append(_judge(svm, values, validation[1]))
        member = Member(featurizer, svm, support, scale)
        if parts:
            member.score = float(np.mean([correct.mean() for _, correct, _ in parts]))
            scores, _, truth = _pooled(parts)
            member.sharpness = calibrate(scores, truth).sharpness
        members.append(member)
    return members


_Judged = tuple[Floats, Floats, Ints]  # margins, whether right, true classes


def _svm(penalty: float, kernel: Floats, targets: Ints) -> SVC:
    machine = SVC(
        C=penalty,
        kernel="precomputed",
        decision_function_shape="ovo",
        random_state=0,  # changes no result, yet without it numpy's global generator is drawn from
    )
    return machine.fit(kernel, targets)


def _judge(svm: SVC, kernel: Floats, targets: Ints) -> _Judged:
    scores = margins(svm, kernel)
    return scores, (scores.argmax(axis=1) == targets).astype(np.float64), targets


def _pooled(parts: list[_Judged]) -> _Judged:
    scores, correct, targets = zip(*parts, strict=True)
    return np.concatenate(scores), np.concatenate(correct), np.concatenate(targets)


def _folds(targets: Ints, seed: int) -> list[tuple[Ints, Ints]]:
    """Return stratified folds, as many as the rarest class allows; none if it has one member."""
    n_folds = min(_FOLDS, int(np.bincount(targets).min()))
    if n_folds < 2:
        return []
    splitter = StratifiedKFold(n_folds, shuffle=True, random_state=derive(seed, "folds"))
    return list(splitter.split(targets, targets))
