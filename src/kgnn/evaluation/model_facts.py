"""Facts about a fitted model for its report: data, rounds, quality, uncertain predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import metadata
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kgnn.estimator.carried import unused_in_words
from kgnn.estimator.registry import name_of
from kgnn.estimator.suspicion import Suspicion, suspicious_labels
from kgnn.evaluation.metrics import Quality, quality
from kgnn.graphs.description import describe
from kgnn.graphs.drawing import Sketch
from kgnn.graphs.graph import Floats, GraphDataset

if TYPE_CHECKING:
    from kgnn.estimator.classifier import GraphClassifier
    from kgnn.evaluation.holding_out import LabelUse

ERRORS = (0.05, 0.1, 0.2)  # error rates of label sets in reports
_SHOWN = 12  # graphs in each section
_CERTAIN = 0.95  # predictions with a higher probability are not listed as uncertain


# Why the rounds ended.
ENDINGS = {
    "rounds": "All rounds were completed.",
    "converged": "The rounds ended because the selection no longer changed.",
    "no_change": "The rounds ended because there was nothing to select.",
    "patience": "The rounds ended because accuracy on the held-out graphs no longer rose.",
    "exhausted": "The rounds ended because every unlabeled graph was annotated.",
    "no_unlabeled": "There were no rounds, because there are no unlabeled graphs.",
    "interrupted": "Training was interrupted; the model is that of the finished rounds.",
}


class RoundFacts(NamedTuple):
    """The result of a round of co-training."""

    selected: int  # unlabeled graphs annotated for it
    agreement: float | None  # share of unlabeled graphs on which the networks agreed before it
    accuracy: dict[str, float]  # on VAL, by network; empty without VAL


class ShownGraph(NamedTuple):
    """A graph in the report: its drawing, label, prediction and a note."""

    sketch: Sketch
    given: str | None
    probabilities: dict[str, float]
    note: str


@dataclass(frozen=True)
class ModelFacts:
    """Everything that the report on a model shows."""

    method: str  # name in the registry
    parameters: dict[str, Any]  # that differ from the defaults
    data: list[str]  # sentences
    calibration: str  # how labels were used; a sentence
    basis: str  # what `quality` and `suspicious` are based on; a phrase
    quality: Quality | None
    rounds: list[RoundFacts]
    ending: str = ""  # why the rounds ended; a key of `ENDINGS`
    labeled: int = 0  # labels
    examined: int = 0  # labels with a held-out prediction, which may be suspicious
    uncertain: list[ShownGraph] = field(default_factory=list)
    n_suspicious: int = 0  # in all; ``suspicious`` has the first ones
    suspicious: list[ShownGraph] = field(default_factory=list)
    suggested: list[ShownGraph] = field(default_factory=list)
    made: dict[str, str] = field(default_factory=dict)  # how the model was made
    headline: str = "accuracy"  # the metric to show first


def facts_of(
    model: GraphClassifier,
    graphs: GraphDataset,
    use: LabelUse,
    made: dict[str, str],
    headline: str = "accuracy",
) -> ModelFacts:
    """Gather the facts about a model that has just been fitted."""
    is_labeled = graphs.targets >= 0
    judged = graphs[use.validation if len(use.validation) else use.training]
    doubted = doubted_labels(model)
    return ModelFacts(
        name_of(type(model)),
        changed_parameters(model),
        [*describe(graphs), *filter(None, [unused_in_words(model.unused_)])],
        use.reason,
        basis_in_words(model),
        held_out_quality(model),
        rounds_of(model),
        model.story().ending,
        int(is_labeled.sum()),
        0 if model.held_out_ is None else len(model.held_out_.targets),
        uncertain_graphs(model, graphs),
        len(doubted),
        _suspicious_graphs(model, judged, doubted[:_SHOWN]),
        suggested_graphs(model, graphs),
        {**made, "kgnn": metadata.version("kgnn")},
        headline,
    )


def changed_parameters(model: GraphClassifier) -> dict[str, Any]:
    """Return the parameters that differ from the defaults."""
    usual, own = type(model)().get_params(deep=False), model.get_params(deep=False)
    return {
        key: value if isinstance(value, bool | int | float | str | tuple | None) else repr(value)
        for key, value in own.items()
        if usual[key] != value
    }


def held_out_quality(model: GraphClassifier) -> Quality | None:
    """Evaluate the held-out predictions of a model; None without any.

    Label sets are not evaluated, because these predictions determined them.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> from kgnn.methods.wl import WL
    >>> held_out_quality(WL().fit(cycles_and_trees(40))).accuracy
    1.0
    """
    held = model.held_out_
    if held is None or not len(held.targets):
        return None
    classes = model.class_names
    return quality(
        [classes[target] for target in held.targets],
        held.proba,
        classes,
        out_of_fold=not model.fitted_on_["validation"],
    )


def basis_in_words(model: GraphClassifier) -> str:
    """Say on which graphs the model is evaluated, or why on none."""
    if model.held_out_ is None:
        return _why_nothing_is_known(model)
    n = len(model.held_out_.targets)
    if model.fitted_on_["validation"]:
        return (
            f"the {n:,} graphs of the validation set; they were also used for model selection and "
            "calibration, so results on new graphs may be slightly worse"
        )
    labeled = model.fitted_on_["labeled"]
    some = f"all {n:,}" if n == labeled else f"{n:,} of the {labeled:,}"
    return f"{some} labeled graphs, each predicted without its own label (cross-validation)"


def _why_nothing_is_known(model: GraphClassifier) -> str:
    n = model.fitted_on_["validation"]
    if model.interrupted_ and (n or model.cross_fit):
        held = f"on the {n:,} graphs of the validation set" if n else "by cross-validation"
        return f"fitting was stopped before the model was evaluated {held}"
    if n:  # a model with a single class is not evaluated
        return f"all training labels are of one class, so the {n:,} validation graphs are not used"
    if model.cross_fit:
        return "no class has labeled graphs that look different, as cross-validation needs"
    return "every label was used for training, without cross-validation"


def rounds_of(model: GraphClassifier) -> list[RoundFacts]:
    """Return the rounds of co-training; empty for methods without rounds."""
    return [
        RoundFacts(each["n_selected"], each["agreement"], each["accuracy"])
        for each in model.story().rounds
    ]


def doubted_labels(model: GraphClassifier) -> list[Suspicion]:
    """Return the labels that may be wrong, as rows of ``model.held_out_``.

    Only held-out predictions can reveal a wrong label; a model trained on it would reproduce it.
    """
    held = model.held_out_
    return [] if held is None else suspicious_labels(held.proba, held.targets)


def _suspicious_graphs(
    model: GraphClassifier, graphs: GraphDataset, found: Sequence[Suspicion]
) -> list[ShownGraph]:
    """Return suspicious graphs for the report; held-out rows are positions in ``graphs``."""
    held = model.held_out_
    if held is None:
        return []
    classes = model.class_names
    return [
        _shown(graphs, int(held.rows[each.row]), classes, held.proba[each.row], "predicted")
        for each in found
    ]


def uncertain_graphs(model: GraphClassifier, graphs: GraphDataset) -> list[ShownGraph]:
    """Return the unlabeled graphs with the most uncertain predictions, the most uncertain first.

    Predictions with a probability of 95 % or more are left out.
    """
    rows = np.flatnonzero(graphs.targets < 0)
    if not len(rows):
        return []
    proba = model.predict_proba(graphs[rows])
    top = np.sort(proba, axis=1)[:, ::-1]
    order = np.argsort(top[:, 0] - top[:, 1], kind="stable")[:_SHOWN]
    order = order[top[order, 0] < _CERTAIN]
    classes = model.class_names
    return [_shown(graphs, int(rows[i]), classes, proba[i], "predicted") for i in order]


def suggested_graphs(model: Any, graphs: GraphDataset) -> list[ShownGraph]:
    """Return the unlabeled graphs whose labels would help a model most, best first."""
    rows = np.flatnonzero(graphs.targets < 0)
    if not len(rows):
        return []
    return [
        ShownGraph(Sketch.of(graphs[int(rows[each.row])]), None, {}, each.why)
        for each in model.suggest(graphs[rows], _SHOWN)
    ]


def _shown(
    graphs: GraphDataset, row: int, classes: list[str], proba: Floats, told: str
) -> ShownGraph:
    best = int(proba.argmax())
    note = f"{told} {classes[best]} ({proba[best]:.0%})"
    probabilities = dict(zip(classes, proba.tolist(), strict=True))
    return ShownGraph(Sketch.of(graphs[row]), graphs[row].target, probabilities, note)
