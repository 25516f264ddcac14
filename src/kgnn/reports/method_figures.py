"""Figures with one mark for each method: average ranks, and accuracy against cost."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from kgnn.evaluation.metrics import mean_and_std
from kgnn.reports.comparison import REFERENCE, rank_methods
from kgnn.reports.families import style_of, styles_of
from kgnn.reports.figure_data import Figure
from kgnn.reports.markup import Markup
from kgnn.reports.numbers import listed
from kgnn.reports.paper import dataset_title, method_title
from kgnn.reports.rank_diagram import rank_diagram
from kgnn.reports.report_tables import ablations, main_methods
from kgnn.reports.results import Group, Results, on_common_splits
from kgnn.reports.scatter import Dot, scatter
from kgnn.reports.shared_splits import told_splits

_FEWEST_TO_RANK = 3


def rank_figure(results: Results, *, protocol: str = "fair", labels: float = 0.1) -> Figure:
    """Draw critical-difference diagrams: of the methods, and of KGNN and its parts.

    The ranks are those of the tables: no method is left out to gain a dataset.
    """
    panels: dict[str, Markup] = {}
    over: list[str] = []
    chosen = {"Methods": main_methods(results), "KGNN and its parts": ablations(results)}
    for title, there in chosen.items():
        ranking = rank_methods(results, there, results.datasets, protocol=protocol, labels=labels)
        if len(ranking.methods) < _FEWEST_TO_RANK or len(ranking.datasets) < 2:
            continue
        panels[title] = rank_diagram(
            title,
            [method_title(m) for m in ranking.methods],
            list(ranking.ranks.values()),
            [[ranking.methods.index(m) for m in group] for group in ranking.alike],
            ranking.critical_difference,
            kinds=[style_of(m) for m in ranking.methods],
            styles=styles_of(ranking.methods),
        )
        left_out = [
            dataset
            for dataset in results.datasets
            if dataset not in ranking.datasets
            and _groups(results, ranking.methods, dataset, protocol, labels)
        ]
        but = f"; some have no or few records on {_named(left_out)}" if left_out else ""
        over.append(f"{title}: average over {_named(ranking.datasets)}{but}.")
    caption = (
        "Average rank by mean accuracy; 1 is best. A bar at the right joins methods whose ranks "
        "are within the critical difference (Nemenyi, α = 0.05), so that these datasets cannot "
        "tell them apart. " + " ".join(over)
    )
    return Figure("ranks", "Average ranks", caption, panels)


def cost_figure(results: Results, *, protocol: str = "fair", labels: float = 0.1) -> Figure:
    """Draw accuracy against computing time, one mark for each method."""
    timed = {
        dataset: {
            group.method: group
            for group in _groups(results, results.methods, dataset, protocol, labels)
            if len(group.cpu_seconds) == len(group.records)
        }
        for dataset in results.datasets
    }
    methods, datasets = covered(timed, results.methods)
    if len(methods) < 2:
        return Figure("cost", "Accuracy against cost", "", {})
    groups = {d: on_common_splits([timed[d][method] for method in methods]) for d in datasets}
    chart = scatter(
        "Accuracy against cost",
        sorted(
            (_cost_dot(own) for own in zip(*groups.values(), strict=True)),
            key=lambda dot: dot.name == method_title(REFERENCE),  # above those that it meets
        ),
        x_title="CPU seconds to fit and predict once, mean over datasets",
        y_title="mean accuracy on TEST, %",
        styles=styles_of(methods),
    )
    caption = (
        f"Averages over {_named(datasets)}, on one thread. Up and to the left is better. Counting "
        "that a run was spared since another had done it before is added to its seconds. "
        f"{told_splits(groups, 'methods here')}{_left_out(timed, methods, datasets)}"
    )
    return Figure("cost", "Accuracy against cost", caption, {"cost": chart})


def covered(
    has: Mapping[str, Collection[str]], methods: Sequence[str]
) -> tuple[list[str], list[str]]:
    """Return methods and datasets of which every pair has been run, as many as there are.

    Parameters
    ----------
    has : dict of str to collection of str
        Methods by the dataset on which they have been run.
    methods : sequence of str
        To choose from.
    """
    most_first = sorted(has, key=lambda dataset: -len(has[dataset]))
    best: tuple[list[str], list[str]] = ([], [])
    for n in range(1, len(most_first) + 1):
        chosen = most_first[:n]
        shared = [method for method in methods if all(method in has[d] for d in chosen)]
        if len(shared) * n > len(best[0]) * len(best[1]):
            best = shared, [dataset for dataset in has if dataset in chosen]
    return best


def _groups(
    results: Results, methods: Sequence[str], dataset: str, protocol: str, labels: float
) -> list[Group]:
    found = (results.find(m, dataset, protocol=protocol, labels=labels) for m in methods)
    return [group for group in found if group]


def _named(datasets: Iterable[str]) -> str:
    return listed([dataset_title(dataset) for dataset in datasets])


def _left_out(
    has: Mapping[str, Collection[str]], methods: Sequence[str], datasets: Sequence[str]
) -> str:
    """Name the methods that are not drawn, each with the datasets that it lacks."""
    others = dict.fromkeys(m for there in has.values() for m in there if m not in methods)
    lacking = {method: [d for d in datasets if method not in has[d]] for method in others}
    told = [f"{method_title(m)} (nothing on {_named(lacks)})" for m, lacks in lacking.items()]
    return f" Left out, since they were not run on all of these: {listed(told)}." if told else ""


def _cost_dot(groups: Sequence[Group]) -> Dot:
    """Return the mark of a method, of which there is one group on each dataset."""
    cost = mean_and_std([mean_and_std(group.cpu_seconds)[0] for group in groups])[0]
    accuracy = mean_and_std([group.mean for group in groups])[0]
    name = method_title(groups[0].method)
    note = f"{name}: {accuracy:.1f} % in {cost:.3g} s"
    # A run that takes no time at all has no place on a logarithmic axis.
    return Dot(name, max(cost, 1e-3), accuracy, style_of(groups[0].method), note)
