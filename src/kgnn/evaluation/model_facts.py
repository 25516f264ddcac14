"""What a page about a fitted model shows: data, rounds, quality, uncertain predictions."""

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

ERRORS = (0.05, 0.1, 0.2)  # that sets of labels are judged by
_SHOWN = 12  # graphs of a kind
_CERTAIN = 0.95  # graphs with a more probable class are not worth a look


# Why co-training ended, in words.
ENDINGS = {
    "rounds": "All rounds were done.",
    "converged": "It ended because the selection no longer changed.",
    "no_change": "It ended because there was nothing to select.",
    "patience": "It ended because accuracy on the held-out graphs no longer rose.",
    "exhausted": "It ended because every unlabeled graph was annotated.",
    "no_unlabeled": "There are no unlabeled graphs, so there were no rounds.",
    "interrupted": "It was interrupted; the finished rounds predict.",
}


class RoundFacts(NamedTuple):
    """What a round of co-training did."""

    selected: int  # unlabeled graphs that were annotated for it
    agreement: float | None  # share of the unlabeled graphs on which the networks agreed before it
    accuracy: dict[str, float]  # on VAL, by network; empty without VAL


class ShownGraph(NamedTuple):
    """A graph to look at: drawn, with what the model says and what to note."""

    sketch: Sketch
    given: str | None
    probabilities: dict[str, float]
    note: str


@dataclass(frozen=True)
class ModelFacts:
    """All that a page about a model shows."""

    method: str  # name in the registry
    parameters: dict[str, Any]  # those that differ from the defaults
    data: list[str]  # sentences
    calibration: str  # how labels were used, in words
    basis: str  # what `quality` and `suspicious` are based on, in words
    quality: Quality | None
    rounds: list[RoundFacts]
    ending: str = ""  # why there were no more
    # Labels that there are, and those that were looked at for `suspicious`.
    labeled: int = 0
    examined: int = 0
    uncertain: list[ShownGraph] = field(default_factory=list)
    n_suspicious: int = 0  # all that were found; the first of them are in ``suspicious``
    suspicious: list[ShownGraph] = field(default_factory=list)
    suggested: list[ShownGraph] = field(default_factory=list)
    made: dict[str, str] = field(default_factory=dict)  # how and when, for the end of the page
    headline: str = "accuracy"  # the metric that is told first


def facts_of(
    model: GraphClassifier,
    graphs: GraphDataset,
    use: LabelUse,
    made: dict[str, str],
    headline: str = "accuracy",
) -> ModelFacts:
    """Gather what a page shows of a model that has just been fitted."""
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
    """Return the parameters that are not as they are by default."""
    usual, own = type(model)().get_params(deep=False), model.get_params(deep=False)
    return {
        key: value if isinstance(value, bool | int | float | str | tuple | None) else repr(value)
        for key, value in own.items()
        if usual[key] != value
    }


def held_out_quality(model: GraphClassifier) -> Quality | None:
    """Judge a model on the graphs that were held out of its training; None without any.

    Sets of labels are not judged: they were set up on these graphs.

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
    return quality([classes[target] for target in held.targets], held.proba, classes)


def basis_in_words(model: GraphClassifier) -> str:
    """Say which graphs a model is judged on."""
    if model.held_out_ is None:
        return _why_nothing_is_known(model)
    n = len(model.held_out_.targets)
    if model.fitted_on_["validation"]:
        return (
            f"{n:,} labeled graphs that were held out; choices were made and probabilities "
            "calibrated on them, so new graphs may fare a little worse"
        )
    labeled = model.fitted_on_["labeled"]
    some = f"all {n:,}" if n == labeled else f"{n:,} of the {labeled:,}"
    return f"{some} labeled graphs, each predicted without its own label"


def _why_nothing_is_known(model: GraphClassifier) -> str:
    n = model.fitted_on_["validation"]
    if model.interrupted_ and (n or model.cross_fit):
        held = f"the {n:,} labels that were held out" if n else "labels that it did not know"
        return f"fitting was stopped before the model was judged by {held}"
    if n:  # nothing is asked of a model that knows a single class
        return f"all labels to learn from are of one class, so the {n:,} held out judge nothing"
    if model.cross_fit:
        return "no class has labeled graphs that look different, so none could be left out"
    return "every label was learned from, and none was left out to judge the model by"


def rounds_of(model: GraphClassifier) -> list[RoundFacts]:
    """Return what each round of co-training did; empty for methods without rounds."""
    return [
        RoundFacts(each["n_selected"], each["agreement"], each["accuracy"])
        for each in model.story().rounds
    ]


def doubted_labels(model: GraphClassifier) -> list[Suspicion]:
    """Return the labels that may be wrong, as rows of ``model.held_out_``.

    Only these are looked at: a model that has learned a wrong label by heart no longer doubts it.
    """
    held = model.held_out_
    return [] if held is None else suspicious_labels(held.proba, held.targets)


def _suspicious_graphs(
    model: GraphClassifier, graphs: GraphDataset, found: Sequence[Suspicion]
) -> list[ShownGraph]:
    """Draw suspicious graphs; the held-out rows are positions in these graphs."""
    held = model.held_out_
    if held is None:
        return []
    classes = model.class_names
    return [
        _shown(graphs, int(held.rows[each.row]), classes, held.proba[each.row], "the model says")
        for each in found
    ]


def uncertain_graphs(model: GraphClassifier, graphs: GraphDataset) -> list[ShownGraph]:
    """Return the unlabeled graphs that a model is least certain about, the least certain first.

    Graphs with a class of at least 95 % are left out.
    """
    rows = np.flatnonzero(graphs.targets < 0)
    if not len(rows):
        return []
    proba = model.predict_proba(graphs[rows])
    top = np.sort(proba, axis=1)[:, ::-1]
    order = np.argsort(top[:, 0] - top[:, 1], kind="stable")[:_SHOWN]
    order = order[top[order, 0] < _CERTAIN]
    classes = model.class_names
    return [_shown(graphs, int(rows[i]), classes, proba[i], "most likely") for i in order]


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
