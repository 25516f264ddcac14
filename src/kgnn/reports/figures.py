"""Every figure that records allow."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from kgnn.evaluation.metrics import METRICS, mean_and_std
from kgnn.evaluation.splits import Labels
from kgnn.reports.charts import Dot, Mark, rank_diagram, scatter, strip_chart
from kgnn.reports.comparison import REFERENCE, rank_methods
from kgnn.reports.line_chart import Point, Series, line_chart
from kgnn.reports.markup import Markup
from kgnn.reports.numbers import counted, listed, mean_with_std
from kgnn.reports.paper import (
    dataset_title,
    method_title,
    network_style,
    network_title,
    style_of,
    styles_of,
)
from kgnn.reports.report_tables import ablations, main_methods
from kgnn.reports.results import Group, Results, find_groups, on_common_splits
from kgnn.reports.svg import N_STYLES, Figure, style

_FEWEST_TO_RANK = 3
_MOST_OTHERS = 4  # lines beside KGNN in a panel
_TRUST = (
    "A mark for each method, mean over splits of TEST; {highlighted} is drawn last. A label set "
    "should hold the true label of 90 % of the graphs (split-conformal on VAL, which also made the "
    "methods' choices, so slightly less is expected). The calibration error is the difference "
    "between confidence and accuracy; 0 is best, and a few points are chance on small test sets."
)
_ROUNDS = (
    "Means over splits; one that ended before a round counts with its last. Agreement: unlabeled "
    "graphs to which both networks give the same class. Precision: annotations of the round that "
    "are right, which only the evaluation knows. VAL: accuracy on VAL of each network, and of "
    "both together. Round 0 is before any annotation."
)


def all_figures(results: Results, *, protocol: str = "fair", labels: Labels = 0.1) -> list[Figure]:
    """Return the figures that the records have something to show in."""
    terms: dict[str, Any] = {"protocol": protocol, "labels": labels}
    figures = [
        rank_figure(results, **terms),
        cost_figure(results, **terms),
        label_ratio_figure(results, protocol=protocol),
        parameter_figure(results, "width", "dimensions", **terms),
        parameter_figure(results, "hops", "hops of the memory network", **terms),
        trust_figure(results, **terms),
        rounds_figure(results, **terms),
    ]
    return [figure for figure in figures if figure.panels]


# One mark for each method.


def rank_figure(results: Results, *, protocol: str = "fair", labels: Labels = 0.1) -> Figure:
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
            [results.title(m) for m in ranking.methods],
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
        f"Average rank by mean {METRICS[results.metric].title}; 1 is best. A bar at the right "
        "joins methods whose ranks are within the critical difference (Nemenyi, α = 0.05), so that "
        "these datasets cannot tell them apart. " + " ".join(over)
    )
    return Figure("ranks", "Average ranks", caption, panels)


def cost_figure(results: Results, *, protocol: str = "fair", labels: Labels = 0.1) -> Figure:
    """Draw accuracy against computing time, one mark for each method."""
    title = f"{results.headline} against cost"
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
        return Figure("cost", title, "", {})
    groups = {d: on_common_splits([timed[d][method] for method in methods]) for d in datasets}
    # KGNN is drawn last, above those that it meets.
    by_method = sorted(
        zip(*groups.values(), strict=True), key=lambda own: own[0].method == REFERENCE
    )
    chart = scatter(
        title,
        [_cost_dot(own) for own in by_method],
        x_title="CPU seconds to fit and predict once, mean over datasets",
        y_title=f"mean {_tested(results)}",
        styles=styles_of(methods),
    )
    caption = (
        f"Averages over {_named(datasets)}, on one thread. Up and to the left is better. Time "
        "saved because another run had already counted subtrees is added to a run's seconds. "
        f"{_splits_in_words(groups, 'methods here')}{_left_out(timed, methods, datasets)}"
        f"{_earlier_revisions([own[0] for own in by_method])}"
    )
    return Figure("cost", title, caption, {"cost": chart})


def covered(
    has: Mapping[str, Collection[str]], methods: Sequence[str]
) -> tuple[list[str], list[str]]:
    """Choose methods and datasets of which every pair has been run, as many as there are.

    ``has`` gives the methods that have been run on each dataset.
    """
    most_first = sorted(has, key=lambda dataset: -len(has[dataset]))
    best: tuple[list[str], list[str]] = ([], [])
    for n in range(1, len(most_first) + 1):
        chosen = most_first[:n]
        shared = [method for method in methods if all(method in has[d] for d in chosen)]
        if len(shared) * n > len(best[0]) * len(best[1]):
            best = shared, [dataset for dataset in has if dataset in chosen]
    return best


def trust_figure(results: Results, *, protocol: str = "fair", labels: Labels = 0.1) -> Figure:
    """Draw coverage of label sets and calibration error, a line for each dataset."""
    # KGNN last, above the others.
    methods = sorted(results.methods, key=lambda method: method == REFERENCE)
    measured = (
        ("coverage", "Coverage of label sets", "TEST graphs with their label in the set, %", 90.0),
        ("calibration_error", "Calibration error", "percentage points", None),
    )
    panels = {}
    for name, title, x_title, promised in measured:
        rows = {
            dataset_title(dataset): marks
            for dataset in results.datasets
            if (
                marks := [
                    _trust_mark(group, name)
                    for group in _groups(results, methods, dataset, protocol, labels)
                    if group.values(name)
                ]
            )
        }
        if sum(map(len, rows.values())) > 1:  # else there is nothing to compare
            panels[name.partition("_")[0]] = strip_chart(
                title, rows, x_title=x_title, promised=promised, styles=styles_of(results.methods)
            )
    caption = _TRUST.format(highlighted=results.title(REFERENCE))
    return Figure("trust", "Coverage and calibration", caption, panels)


def _trust_mark(group: Group, name: str) -> Mark:
    mean = mean_and_std(group.values(name))[0] * (1 if name == "coverage" else 100)
    return Mark(mean, style_of(group.method), f"{group.title} {mean:.1f}")


def _tested(results: Results) -> str:
    return f"{METRICS[results.metric].title} on TEST, %"


def _groups(
    results: Results, methods: Sequence[str], dataset: str, protocol: str, labels: Labels
) -> list[Group]:
    return list(find_groups(results, methods, [dataset], protocol=protocol, labels=labels).values())


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


def _earlier_revisions(groups: Sequence[Group]) -> str:
    """Name the methods whose numbers are not of the revision of this code."""
    earlier = [group.title for group in groups if group.title != method_title(group.method)]
    return f" Of earlier revisions: {listed(earlier)}." if earlier else ""


def _cost_dot(groups: Sequence[Group]) -> Dot:
    """Return the mark of a method, of which there is one group on each dataset."""
    cost = mean_and_std([mean_and_std(group.cpu_seconds)[0] for group in groups])[0]
    accuracy = mean_and_std([group.mean for group in groups])[0]
    name = method_title(groups[0].method)  # revisions would cover each other; see the caption
    note = f"{groups[0].title}: {accuracy:.1f} % in {cost:.3g} s"
    # A run that takes no time at all has no place on a logarithmic axis.
    return Dot(name, max(cost, 1e-3), accuracy, style_of(groups[0].method), note)


# Lines: accuracy by labels, by parameter, and the course of co-training by round.


def label_ratio_figure(results: Results, *, protocol: str = "fair") -> Figure:
    """Draw accuracy by the share of labeled graphs, one line a method, few in a panel."""
    order = results.methods
    # Numbers of labels have no place on an axis of shares.
    there = [g for g in results.groups if g.protocol == protocol and isinstance(g.labels, float)]
    there.sort(key=lambda group: order.index(group.method))
    curves = _curves(there, lambda g: (g.dataset, g.method, g.parameters), _share)
    by_dataset = {
        dataset: _on_shared_splits(own)
        for dataset in results.datasets
        if (own := [curve for curve in curves if curve[0].dataset == dataset])
    }
    reference = results.title(REFERENCE)
    companies = _companies(curves, reference)
    panels: dict[str, Markup] = {}
    for dataset, own in by_dataset.items():
        panels |= _label_ratio_panels(dataset, own, companies, reference, _tested(results))
    again = f" Each panel of a dataset has {reference} in it, on the same scale."
    caption = _caption(by_dataset) + (again if len(panels) > len(by_dataset) else "")
    return Figure("labels", f"{results.headline} by number of labels", caption, panels)


def _share(group: Group) -> float:
    return float(group.labels)


def _companies(curves: Iterable[Sequence[Group]], reference: str) -> list[dict[str, str]]:
    """Choose which lines are drawn together: their names, each with a style, KGNN's first.

    Many lines in one panel cannot be told apart, so there are few, the same on each dataset.
    """
    names = dict.fromkeys(_name(curve[0]) for curve in curves)
    others = [name for name in names if name != reference]
    n_panels = max(1, math.ceil(len(others) / _MOST_OTHERS))
    size = math.ceil(len(others) / n_panels)
    styles = {name: style(1 + i % (N_STYLES - 1)) for i, name in enumerate(others)}
    return [
        {reference: style(0), **{name: styles[name] for name in others[k * size : (k + 1) * size]}}
        for k in range(n_panels)
    ]


def _label_ratio_panels(
    dataset: str,
    curves: Sequence[Sequence[Group]],
    companies: Sequence[Mapping[str, str]],
    reference: str,
    tested: str,
) -> dict[str, Markup]:
    points = {_name(curve[0]): _points(curve, _share) for curve in curves}
    every = [point for own in points.values() for point in own]
    # KGNN is in every panel, but has one for itself only where there is nothing else.
    others = points.keys() - {reference}
    there = [company for company in companies if company.keys() & others] or companies[:1]
    n = len(there)
    return {
        f"{dataset}-{k}" if n > 1 else dataset: line_chart(
            dataset_title(dataset) + (f" ({k} of {n})" if n > 1 else ""),
            [Series(name, points[name], kind) for name, kind in company.items() if name in points],
            x_title="labeled graphs, share of all",
            y_title=tested,
            y_range=(min(point.low for point in every), max(point.high for point in every)),
            side_by_side=len(points) > 1,
            x_is_percent=True,
            width=420.0,
            height=290.0,
        )
        for k, company in enumerate(there, start=1)
    }


def parameter_figure(
    results: Results, parameter: str, title: str, *, protocol: str = "fair", labels: Labels = 0.1
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
            [Series(curve[0].title, _points(curve, value), "s0")],
            x_title=title,
            y_title=_tested(results),
            x_is_log=parameter == "width",
        )
        for dataset, [curve] in by_dataset.items()
    }
    name = f"{method_title(REFERENCE)} by {title}"
    return Figure(parameter, name, _caption(by_dataset), panels)


def rounds_figure(results: Results, *, protocol: str = "fair", labels: Labels = 0.1) -> Figure:
    """Draw how the networks of KGNN teach each other."""
    panels = {}
    for dataset in results.datasets:
        group = results.find(REFERENCE, dataset, protocol=protocol, labels=labels)
        series = _round_series(group) if group else []
        if series:
            panels[dataset] = line_chart(
                dataset_title(dataset), series, x_title="round", y_title="%"
            )
    return Figure("rounds", "The course of co-training", _ROUNDS, panels)


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
    shared = on_common_splits([group for curve in curves for group in curve])
    if not _n_shared(shared):
        return [on_common_splits(curve) for curve in curves]
    groups = iter(shared)
    return [[next(groups) for _ in curve] for curve in curves]


def _n_shared(groups: Sequence[Group]) -> int:
    """Return the number of splits of each group; 0 where they are not the same of all."""
    seeds = {tuple(group.seeds) for group in groups}
    return len(seeds.pop()) if len(seeds) == 1 else 0


def _splits_in_words(by_dataset: Mapping[str, Sequence[Group]], whose: str) -> str:
    """Say over how many splits the numbers of each dataset are means."""
    names: dict[int, list[str]] = {}
    for dataset, groups in by_dataset.items():
        names.setdefault(_n_shared(groups), []).append(dataset_title(dataset))
    apart = names.pop(0, [])
    sentences = []
    if names:
        counts = "; ".join(f"{n} on {listed(names[n])}" for n in sorted(names, reverse=True))
        sentences.append(f"Means are over the splits that all {whose} have: {counts}.")
    if apart:
        sentences.append(
            f"On {listed(apart)} no split is common to all {whose}: their differences may be "
            "those of the splits."
        )
    return " ".join(sentences)


def _caption(by_dataset: Mapping[str, Sequence[Sequence[Group]]]) -> str:
    drawn = {dataset: [g for curve in own for g in curve] for dataset, own in by_dataset.items()}
    shapes = {"whisker" if len(curves) > 1 else "band" for curves in by_dataset.values()}
    what = "one standard error of the mean to both sides, corrected for overlapping splits"
    told = _splits_in_words(drawn, "points of a dataset")
    return f"The {' or '.join(sorted(shapes))} is {what}. {told}"


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
    """Name a line: the method, with the settings that are not its defaults."""
    settings = ", ".join(f"{k}={v}" for k, v in group.parameters.items())
    return group.title + (f" ({settings})" if settings else "")


def _round_series(group: Group) -> list[Series]:
    courses = [record.result.get("rounds") or [] for record in group.records]
    n_rounds = max(map(len, courses))
    if n_rounds < 2:
        return []
    every = [each for course in courses for each in course]
    networks = dict.fromkeys(who for each in every for who in each.get("validation_accuracy", {}))
    wanted = [("agreement", "agreement", "s2"), ("precision", "precision", "s3")]
    wanted += [(who, f"VAL: {network_title(who)}", network_style(who)) for who in networks]
    series = []
    for key, name, kind in wanted:
        points = []
        for number in range(n_rounds):
            # Splits that have ended keep their last values: those that go on are the better ones.
            last = [course[min(number, len(course) - 1)] for course in courses if course]
            values = [{**each, **each.get("validation_accuracy", {})}.get(key) for each in last]
            there = [value for value in values if value is not None]
            if there:
                mean = mean_and_std(there)[0]
                note = f"{name}, round {number}: {mean:.1f} over {counted(len(there), 'split')}"
                points.append(Point(number, mean, mean, mean, note))
        if points:
            series.append(Series(name, points, kind))
    return series
