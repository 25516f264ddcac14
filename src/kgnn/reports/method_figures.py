"""Figures with one mark for each method: average ranks, and accuracy against cost."""

from __future__ import annotations

from collections.abc import Sequence

from kgnn.evaluation.metrics import mean_and_std
from kgnn.reports.comparison import REFERENCE, rank_methods
from kgnn.reports.families import style_of, styles_of
from kgnn.reports.figure_data import Figure
from kgnn.reports.markup import Markup
from kgnn.reports.numbers import listed
from kgnn.reports.paper import dataset_title, method_title
from kgnn.reports.rank_diagram import rank_diagram
from kgnn.reports.report_tables import ablations, main_methods
from kgnn.reports.results import Group, Results
from kgnn.reports.scatter import Dot, scatter

_FEWEST_TO_RANK = 3


def rank_figure(results: Results, *, protocol: str = "fair", labels: float = 0.1) -> Figure:
    """Draw critical-difference diagrams: of the methods, and of KGNN and its parts."""
    panels: dict[str, Markup] = {}
    over: list[str] = []
    chosen = {"Methods": main_methods(results), "KGNN and its parts": ablations(results)}
    for title, there in chosen.items():
        methods, datasets = covered(results, there, protocol, labels)
        ranking = rank_methods(results, methods, datasets, protocol=protocol, labels=labels)
        if len(ranking.methods) < _FEWEST_TO_RANK or len(ranking.datasets) < 2:
            continue
        panels[title] = rank_diagram(
            title,
            [method_title(m) for m in ranking.methods],
            list(ranking.ranks.values()),
            [[ranking.methods.index(m) for m in group] for group in ranking.alike],
            ranking.critical_difference,
            highlighted=method_title(REFERENCE),
        )
        names = listed([dataset_title(d) for d in ranking.datasets])
        over.append(f"{title}: average over {names}.")
    caption = (
        "Average rank by mean accuracy; 1 is best. A bar at the right joins methods whose ranks "
        "are within the critical difference (Nemenyi, α = 0.05), so that these datasets cannot "
        "tell them apart. " + " ".join(over)
    )
    return Figure("ranks", "Average ranks", caption, panels)


def cost_figure(results: Results, *, protocol: str = "fair", labels: float = 0.1) -> Figure:
    """Draw accuracy against computing time, one mark for each method."""
    methods, datasets = covered(results, results.methods, protocol, labels)
    groups = {
        method: [
            group
            for dataset in datasets
            if (group := results.find(method, dataset, protocol=protocol, labels=labels))
        ]
        for method in methods
    }
    dots = [dot for method, own in groups.items() if (dot := _cost_dot(method, own, len(datasets)))]
    if len(dots) < 2:
        return Figure("cost", "Accuracy against cost", "", {})
    chart = scatter(
        "Accuracy against cost",
        dots,
        x_title="CPU seconds to fit and predict once, mean over datasets",
        y_title="mean accuracy on TEST, %",
        styles=styles_of(methods),
    )
    names = listed([dataset_title(d) for d in datasets])
    caption = f"Means over {names}, on one thread. Up and to the left is better."
    return Figure("cost", "Accuracy against cost", caption, {"cost": chart})


def covered(
    results: Results, methods: Sequence[str], protocol: str, labels: float
) -> tuple[list[str], list[str]]:
    """Return methods and datasets of which every pair has been run, as many as there are."""
    has = {
        dataset: [
            method
            for method in methods
            if results.find(method, dataset, protocol=protocol, labels=labels)
        ]
        for dataset in results.datasets
    }
    most_first = sorted(has, key=lambda dataset: -len(has[dataset]))
    best: tuple[list[str], list[str]] = ([], [])
    for n in range(1, len(most_first) + 1):
        chosen = most_first[:n]
        shared = [method for method in methods if all(method in has[d] for d in chosen)]
        if len(shared) * n > len(best[0]) * len(best[1]):
            best = shared, [dataset for dataset in results.datasets if dataset in chosen]
    return best


def _cost_dot(method: str, groups: Sequence[Group], n_datasets: int) -> Dot | None:
    seconds = [mean_and_std(values)[0] for g in groups if (values := g.values("cpu_seconds"))]
    if len(seconds) < n_datasets:
        return None
    cost, accuracy = mean_and_std(seconds)[0], mean_and_std([g.mean for g in groups])[0]
    name = method_title(method)
    note = f"{name}: {accuracy:.1f} % in {cost:.3g} s"
    # A run that takes no time at all has no place on a logarithmic axis.
    return Dot(name, max(cost, 1e-3), accuracy, style_of(method), note)
