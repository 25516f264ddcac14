"""Figures of results, models and explanations, each a matplotlib figure to change and save.

In a notebook a figure shows itself; ``figure.savefig("name.pdf")`` writes it. Results are read
with ``kgnn.Results.read("results")``; ``results.on("budget", 0.05)`` are those of runs on other
terms. Without matplotlib (extra ``plot``) each function says how to
install it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgnn.errors import ParameterError
from kgnn.estimator.explanation import Explanation
from kgnn.evaluation.model_facts import held_out_quality, rounds_of
from kgnn.reports.results import Results

if TYPE_CHECKING:
    from kgnn.estimator.classifier import GraphClassifier
    from kgnn.reports.chart import Chart, Figure

__all__ = [
    "accuracy_and_cost",
    "accuracy_by_labels",
    "accuracy_by_parameter",
    "attention",
    "average_ranks",
    "calibration",
    "coverage_and_calibration",
    "evidence",
    "rounds",
]


def accuracy_by_labels(results: Results) -> Figure:
    """Draw accuracy by the share of labeled graphs, a panel for each dataset."""
    from kgnn.reports import figures

    chart = figures.labels_chart(results)
    return _drawn(chart, "needs a method that was run with several shares of labels")


def accuracy_and_cost(results: Results) -> Figure:
    """Draw mean accuracy against computing time, a mark for each method."""
    from kgnn.reports import figures

    chart = figures.cost_chart(results)
    return _drawn(chart, "needs two methods that were run on the same datasets")


def average_ranks(results: Results) -> Figure:
    """Draw critical-difference diagrams: of the methods, and of the ablations of KGNN."""
    from kgnn.reports import figures

    chart = figures.rank_chart(results)
    return _drawn(chart, "needs three methods that were run on the same two datasets")


def accuracy_by_parameter(results: Results, parameter: str) -> Figure:
    """Draw accuracy of the reference by one of its parameters, a panel for each dataset."""
    from kgnn.reports import figures

    chart = figures.parameter_chart(results, parameter)
    return _drawn(chart, f"needs runs of {results.reference} with several values of {parameter}")


def coverage_and_calibration(results: Results) -> Figure:
    """Draw coverage of label sets and calibration error, a row for each dataset."""
    from kgnn.reports import figures

    chart = figures.trust_chart(results)
    return _drawn(chart, "needs runs of several methods or datasets")


def rounds(source: Results | GraphClassifier) -> Figure:
    """Draw accuracy by round of co-training: of all records, or of a fitted model.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import planted_motifs
    >>> from kgnn.methods.kgnn import KGNN
    >>> graphs = planted_motifs(40)
    >>> labels = graphs.targets.copy()
    >>> labels[:20] = -1
    >>> figure = rounds(KGNN(epochs=1, rounds=1).fit(graphs, labels))
    >>> figure.axes[0].get_xlabel()
    'round'
    """
    from kgnn.reports import figures, model_figures

    if isinstance(source, Results):
        chart = figures.rounds_chart(source)
    else:
        chart = model_figures.model_rounds_chart(rounds_of(source))
    return _drawn(chart, "needs a method with rounds, and held-out graphs to judge them by")


def calibration(model: GraphClassifier) -> Figure:
    """Draw how often a fitted model is right on held-out graphs, by its confidence.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> from kgnn.methods.wl import WL
    >>> calibration(WL().fit(cycles_and_trees(40))).axes[0].get_xlabel()
    'confidence, %'
    """
    from kgnn.reports import model_figures

    quality = held_out_quality(model)
    if quality is None:
        raise ParameterError("A calibration figure needs a model that was judged on labels.")
    return _drawn(model_figures.calibration_chart(quality.bins), "needs held-out graphs")


def attention(explanation: Explanation) -> Figure:
    """Draw the memory's attention to the labeled graphs of an explanation, hop by hop."""
    from kgnn.reports import model_figures

    return _drawn(model_figures.attention_chart(explanation), "needs a model with a memory")


def evidence(explanation: Explanation) -> Figure:
    """Draw the substructures that speak most for and against the predicted class."""
    from kgnn.reports import model_figures

    return _drawn(model_figures.evidence_chart(explanation), "needs evidence, and none was found")


def _drawn(chart: Chart, needs: str) -> Figure:
    if not chart.panels:
        raise ParameterError(f"There is nothing to draw: '{chart.title}' {needs}.")
    return chart.figure()
