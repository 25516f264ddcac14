"""Every figure that records allow."""

from __future__ import annotations

from kgnn.reports.curve_figures import label_ratio_figure, parameter_figure, rounds_figure
from kgnn.reports.figure_data import Figure
from kgnn.reports.method_figures import cost_figure, rank_figure
from kgnn.reports.results import Results
from kgnn.reports.trust_figure import trust_figure


def all_figures(results: Results, *, protocol: str = "fair", labels: float = 0.1) -> list[Figure]:
    """Return the figures that the records have something to show in."""
    memory_hops = "hops of the memory network"
    figures = [
        rank_figure(results, protocol=protocol, labels=labels),
        cost_figure(results, protocol=protocol, labels=labels),
        label_ratio_figure(results, protocol=protocol),
        parameter_figure(results, "width", "dimensions", protocol=protocol, labels=labels),
        parameter_figure(results, "hops", memory_hops, protocol=protocol, labels=labels),
        trust_figure(results, protocol=protocol, labels=labels),
        rounds_figure(results, protocol=protocol, labels=labels),
    ]
    return [figure for figure in figures if figure.panels]
