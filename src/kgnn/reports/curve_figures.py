"""Figures of lines: accuracy by labels, by parameter, and the course of co-training by round."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from kgnn.evaluation.metrics import mean_and_std
from kgnn.reports.comparison import REFERENCE
from kgnn.reports.figure_data import Figure
from kgnn.reports.line_chart import Point, Series, line_chart
from kgnn.reports.markup import Markup
from kgnn.reports.numbers import counted, mean_with_std
from kgnn.reports.palette import N_STYLES, style
from kgnn.reports.paper import dataset_title, method_title
from kgnn.reports.results import Group, Results, on_common_splits
from kgnn.reports.shared_splits import n_shared, told_splits

_TESTED = "accuracy on TEST, %"
_MOST_OTHERS = 4  # lines beside KGNN in a panel
# What a round tells: our name of it, the name in the figure, and its style.
_ROUND_SERIES = (
    ("agreement", "agreement", "s2"),
    ("precision", "precision", "s3"),
    ("gnn", "VAL: p", "s1"),
    ("memory", "VAL: q", "s4"),
    ("both", "VAL: both", "s0"),
)


def label_ratio_figure(results: Results, *, protocol: str = "fair") -> Figure:
    """Draw accuracy by the share of labeled graphs, one line a method, few in a panel."""
    order = results.methods
    there = [group for group in results.groups if group.protocol == protocol]
    there.sort(key=lambda group: order.index(group.method))
    curves = _curves(there, lambda g: (g.dataset, g.method, g.parameters), lambda g: g.labels)
    by_dataset = {
        dataset: _on_shared_splits(own)
        for dataset in results.datasets
        if (own := [curve for curve in curves if curve[0].dataset == dataset])
    }
    companies = _companies(curves)
    panels: dict[str, Markup] = {}
    for dataset, own in by_dataset.items():
        panels |= _label_ratio_panels(dataset, own, companies)
    again = f" Each panel of a dataset has {method_title(REFERENCE)} in it, on the same scale."
    caption = _caption(by_dataset) + (again if len(panels) > len(by_dataset) else "")
    return Figure("labels", "Accuracy by number of labels", caption, panels)


def _companies(curves: Iterable[Sequence[Group]]) -> list[dict[str, str]]:
    """Tell which lines are drawn together: their names, each with a style, first that of KGNN.

    Nobody tells many lines apart, and many bands are fog: so there are few in a panel, the same
    on each dataset.
    """
    own = method_title(REFERENCE)
    others = [name for name in dict.fromkeys(_name(curve[0]) for curve in curves) if name != own]
    n_panels = max(1, math.ceil(len(others) / _MOST_OTHERS))
    size = math.ceil(len(others) / n_panels)
    styles = {name: style(1 + i % (N_STYLES - 1)) for i, name in enumerate(others)}
    return [
        {own: style(0), **{name: styles[name] for name in others[k * size : (k + 1) * size]}}
        for k in range(n_panels)
    ]


def _label_ratio_panels(
    dataset: str, curves: Sequence[Sequence[Group]], companies: Sequence[Mapping[str, str]]
) -> dict[str, Markup]:
    points = {_name(curve[0]): _points(curve, lambda g: g.labels) for curve in curves}
    every = [point for own in points.values() for point in own]
    # KGNN is in every panel, but has one for itself only where there is nothing else.
    others = points.keys() - {method_title(REFERENCE)}
    there = [company for company in companies if company.keys() & others] or companies[:1]
    n = len(there)
    return {
        f"{dataset}-{k}" if n > 1 else dataset: line_chart(
            dataset_title(dataset) + (f" ({k} of {n})" if n > 1 else ""),
            [Series(name, points[name], kind) for name, kind in company.items() if name in points],
            x_title="labeled graphs, share of all",
            y_title=_TESTED,
            y_range=(min(point.low for point in every), max(point.high for point in every)),
            side_by_side=len(points) > 1,
            x_is_percent=True,
            width=420.0,
            height=290.0,
        )
        for k, company in enumerate(there, start=1)
    }


def parameter_figure(
    results: Results, parameter: str, title: str, *, protocol: str = "fair", labels: float = 0.1
) -> Figure:
    """Draw accuracy of KGNN by a parameter of it, all others being equal."""

    def value(group: Group) -> Any:
        return group.records[0].all_parameters.get(parameter)

    def others(group: Group) -> Any:
        # Not all parameters: a method may have got a new one since, which changes no result.
        return group.dataset, {k: v for k, v in group.parameters.items() if k != parameter}

    there = [
        group
        for group in results.groups
        if (group.method, group.protocol, group.labels) == (REFERENCE, protocol, labels)
        and isinstance(value(group), (int, float))
    ]
    curves = _curves(there, others, value)
    by_dataset = {
        dataset: _on_shared_splits([max(own, key=len)])
        for dataset in results.datasets
        if (own := [curve for curve in curves if curve[0].dataset == dataset])
    }
    panels = {
        dataset: line_chart(
            dataset_title(dataset),
            [Series(method_title(REFERENCE), _points(curve, value), "s0")],
            x_title=title,
            y_title=_TESTED,
            x_is_log=parameter == "width",
        )
        for dataset, [curve] in by_dataset.items()
    }
    name = f"{method_title(REFERENCE)} by {title}"
    return Figure(parameter, name, _caption(by_dataset), panels)


def rounds_figure(results: Results, *, protocol: str = "fair", labels: float = 0.1) -> Figure:
    """Draw how the two networks of KGNN teach each other."""
    panels = {}
    for dataset in results.datasets:
        group = results.find(REFERENCE, dataset, protocol=protocol, labels=labels)
        series = _round_series(group) if group else []
        if series:
            panels[dataset] = line_chart(
                dataset_title(dataset), series, x_title="round", y_title="%"
            )
    caption = (
        "Means over splits; one that ended before a round counts with its last. Agreement: "
        "unlabeled graphs to which both networks give the same class. Precision: annotations of "
        "the round that are right, which only the evaluation knows. VAL: accuracy on VAL of the "
        "graph neural network p, of the kernel-based memory network q, and of both together. "
        "Round 0 is before any annotation."
    )
    return Figure("rounds", "The course of co-training", caption, panels)


def _curves(
    groups: Iterable[Group], key: Callable[[Group], Any], x: Callable[[Group], float]
) -> list[list[Group]]:
    """Return groups that differ in ``x`` alone, in its order; one group is no curve."""
    found: dict[str, dict[float, Group]] = {}
    for group in groups:
        found.setdefault(json.dumps(key(group), sort_keys=True), {}).setdefault(x(group), group)
    return [[by_x[at] for at in sorted(by_x)] for by_x in found.values() if len(by_x) > 1]


def _on_shared_splits(curves: Sequence[Sequence[Group]]) -> list[list[Group]]:
    """Return curves with the splits that all of their points have: others are easier or harder.

    Where there is no such split, each curve has those that its own points share, if any.
    """
    shared = on_common_splits(_all_of(curves))
    if not n_shared(shared):
        return [on_common_splits(curve) for curve in curves]
    groups = iter(shared)
    return [[next(groups) for _ in curve] for curve in curves]


def _all_of(curves: Iterable[Sequence[Group]]) -> list[Group]:
    return [group for curve in curves for group in curve]


def _caption(by_dataset: Mapping[str, Sequence[Sequence[Group]]]) -> str:
    drawn = {dataset: _all_of(curves) for dataset, curves in by_dataset.items()}
    shapes = {"whisker" if len(curves) > 1 else "band" for curves in by_dataset.values()}
    told = told_splits(drawn, "points of a dataset")
    shape = " or ".join(sorted(shapes))
    what = "one standard error of the mean to both sides, corrected for overlapping splits"
    return f"The {shape} is {what}. {told}"


def _points(curve: Sequence[Group], x: Callable[[Group], float]) -> list[Point]:
    return [
        Point(
            float(x(group)),
            group.mean,
            group.mean - group.error,
            group.mean + group.error,
            f"{_name(group)}, {x(group):g}: "
            f"{mean_with_std(group.mean, group.std, len(group.records))} "
            f"over {counted(len(group.records), 'split')}",
        )
        for group in curve
    ]


def _name(group: Group) -> str:
    """Name a line: the method, with what of it is not as usual."""
    settings = ", ".join(f"{k}={v}" for k, v in group.parameters.items())
    return method_title(group.method) + (f" ({settings})" if settings else "")


def _round_series(group: Group) -> list[Series]:
    courses = [record.result.get("rounds") or [] for record in group.records]
    n_rounds = max(map(len, courses))
    series = []
    for key, name, kind in _ROUND_SERIES:
        points = []
        for number in range(n_rounds):
            # Splits that have ended keep their last values: those that go on are the better ones.
            values = [
                _told(course[min(number, len(course) - 1)], key) for course in courses if course
            ]
            there = [value for value in values if value is not None]
            if there:
                mean = mean_and_std(there)[0]
                note = f"{name}, round {number}: {mean:.1f} over {counted(len(there), 'split')}"
                points.append(Point(number, mean, mean, mean, note))
        if points and n_rounds > 1:
            series.append(Series(name, points, kind))
    return series


def _told(one_round: Mapping[str, Any], key: str) -> float | None:
    value: float | None = {**one_round, **one_round.get("validation_accuracy", {})}.get(key)
    return value
