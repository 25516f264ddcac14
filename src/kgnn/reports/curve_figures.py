"""Figures of lines: accuracy by labels, by parameter, and the course of co-training by round."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from kgnn.evaluation.metrics import mean_and_std
from kgnn.reports.comparison import REFERENCE
from kgnn.reports.figure_data import Figure
from kgnn.reports.line_chart import Point, Series, line_chart
from kgnn.reports.markup import Markup
from kgnn.reports.numbers import mean_with_std
from kgnn.reports.palette import MUTED, N_STYLES, style
from kgnn.reports.paper import dataset_title, method_title
from kgnn.reports.results import Group, Results

_BAND = "The band is the 95 % interval of the mean over splits."
_TESTED = "accuracy on TEST, %"
# What a round tells: our name of it, the name in the figure, and its style.
_ROUND_SERIES = (
    ("agreement", "agreement", "s2"),
    ("precision", "precision", "s3"),
    ("gnn", "VAL: p", "s1"),
    ("memory", "VAL: q", "s4"),
    ("both", "VAL: both", "s0"),
)


def label_ratio_figure(results: Results, *, protocol: str = "fair") -> Figure:
    """Draw accuracy by the share of labeled graphs, one panel a dataset, one line a method."""
    there = [group for group in results.groups if group.protocol == protocol]
    curves = _curves(there, lambda g: (g.dataset, g.method, g.parameters), lambda g: g.labels)
    by_dataset = {
        dataset: own
        for dataset in results.datasets
        if (own := [curve for curve in curves if curve[0].dataset == dataset])
    }
    styles = _styles(by_dataset.values())
    panels = {
        dataset: line_chart(
            dataset_title(dataset),
            [
                Series(
                    _name(curve[0]),
                    _points(curve, lambda g: g.labels),
                    _style_in(own, curve[0].method, styles),
                )
                for curve in own
            ],
            x_title="labeled graphs, share of all",
            y_title=_TESTED,
            x_is_percent=True,
        )
        for dataset, own in by_dataset.items()
    }
    return Figure("labels", "Accuracy by number of labels", _BAND, panels)


def parameter_figure(
    results: Results, parameter: str, title: str, *, protocol: str = "fair", labels: float = 0.1
) -> Figure:
    """Draw accuracy of KGNN by a parameter of it, all others being equal."""

    def value(group: Group) -> Any:
        return group.records[0].all_parameters.get(parameter)

    def others(group: Group) -> Any:
        every = group.records[0].all_parameters
        left = {k: v for k, v in every.items() if k not in (parameter, "random_state")}
        return group.dataset, left

    there = [
        group
        for group in results.groups
        if (group.method, group.protocol, group.labels) == (REFERENCE, protocol, labels)
        and isinstance(value(group), (int, float))
    ]
    curves = _curves(there, others, value)
    panels: dict[str, Markup] = {}
    for dataset in results.datasets:
        own = [curve for curve in curves if curve[0].dataset == dataset]
        if own:
            series = Series(method_title(REFERENCE), _points(max(own, key=len), value), "s0")
            panels[dataset] = line_chart(
                dataset_title(dataset),
                [series],
                x_title=title,
                y_title=_TESTED,
                x_is_log=parameter == "width",
            )
    return Figure(parameter, f"{method_title(REFERENCE)} by {title}", _BAND, panels)


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
        "Means over splits. Agreement: unlabeled graphs to which both networks give the same "
        "class. Precision: annotations of the round that are right, which only the evaluation "
        "knows. VAL: accuracy on VAL of the graph neural network p, of the kernel-based memory "
        "network q, and of both together. Round 0 is before any annotation."
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


def _points(curve: Sequence[Group], x: Callable[[Group], float]) -> list[Point]:
    return [
        Point(
            float(x(group)),
            group.mean,
            group.mean - group.interval,
            group.mean + group.interval,
            f"{_name(group)}, {x(group):g}: "
            f"{mean_with_std(group.mean, group.std, len(group.records))} "
            f"over {len(group.records)} splits",
        )
        for group in curve
    ]


def _name(group: Group) -> str:
    """Name a line: the method, with what of it is not as usual."""
    settings = ", ".join(f"{k}={v}" for k, v in group.parameters.items())
    return method_title(group.method) + (f" ({settings})" if settings else "")


def _styles(panels: Iterable[Sequence[Sequence[Group]]]) -> Mapping[str, str]:
    """Give each method a style, the same in all panels that are not too crowded for that."""
    few = [panel for panel in panels if len(panel) <= N_STYLES]
    methods = dict.fromkeys(curve[0].method for panel in few for curve in panel)
    others = [method for method in methods if method != REFERENCE]
    return {m: style(i) for i, m in enumerate([REFERENCE, *others])}


def _style_in(panel: Sequence[Sequence[Group]], method: str, styles: Mapping[str, str]) -> str:
    """Return the style of a method; in a crowd, all but KGNN are muted."""
    is_told_apart = method == REFERENCE or len(panel) <= N_STYLES
    return styles.get(method, MUTED) if is_told_apart else MUTED


def _round_series(group: Group) -> list[Series]:
    courses = [record.result.get("rounds") or [] for record in group.records]
    n_rounds = max(map(len, courses))
    series = []
    for key, name, kind in _ROUND_SERIES:
        points = []
        for number in range(n_rounds):
            values = [_told(course[number], key) for course in courses if number < len(course)]
            there = [value for value in values if value is not None]
            if there:
                mean = mean_and_std(there)[0]
                note = f"{name}, round {number}: {mean:.1f} over {len(there)} splits"
                points.append(Point(number, mean, mean, mean, note))
        if points and n_rounds > 1:
            series.append(Series(name, points, kind))
    return series


def _told(one_round: Mapping[str, Any], key: str) -> float | None:
    value: float | None = {**one_round, **one_round.get("validation_accuracy", {})}.get(key)
    return value
