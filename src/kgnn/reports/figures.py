"""Figures of what the records say."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from kgnn.colors import LIGHT, N_SERIES
from kgnn.estimator.metrics import METRICS
from kgnn.evaluation.metrics import mean_and_std
from kgnn.reports.chart import Chart, Line, Panel, Point, draw_lines, mark, short, tip, title_y_axis
from kgnn.reports.colors import families_of, method_color, network_color
from kgnn.reports.comparison import Ranking, rank_methods
from kgnn.reports.paper import dataset_title, method_title, network_title
from kgnn.reports.results import Group, Results, on_common_splits
from kgnn.reports.table import counted, listed, mean_with_std
from kgnn.reports.tables import ablations, main_methods

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FEWEST_TO_RANK = 3


def result_charts(results: Results) -> list[Chart]:
    """Return the figures that the records have something to show in."""
    charts = [
        rank_chart(results),
        cost_chart(results),
        labels_chart(results),
        parameter_chart(results, "width"),
        parameter_chart(results, "hops"),
        trust_chart(results),
        rounds_chart(results),
    ]
    return [chart for chart in charts if chart.panels]


def _tested(results: Results) -> str:
    return f"{METRICS[results.metric].title} on TEST, %"


# Average ranks.


def rank_chart(results: Results) -> Chart:
    """Return critical-difference diagrams: of the methods, and of the ablations of KGNN.

    The ranks are those of the tables: no method is left out to gain a dataset.

    References
    ----------
    Demšar, *Statistical comparisons of classifiers over multiple data sets*, JMLR 7, 2006.
    """
    sets = {"Methods": main_methods(results), "KGNN and its ablations": ablations(results)}
    found = {title: rank_methods(results, own, results.datasets) for title, own in sets.items()}
    ranked = {
        title: ranking
        for title, ranking in found.items()
        if len(ranking.methods) >= _FEWEST_TO_RANK and len(ranking.datasets) > 1
    }
    panels = {
        title: Panel(title, partial(_ranks, results, each), 1.3 + 0.2 * len(each.methods))
        for title, each in ranked.items()
    }
    over = (
        f"{title}: average over {listed(map(dataset_title, each.datasets))}."
        for title, each in ranked.items()
    )
    caption = (
        f"Average rank by mean {METRICS[results.metric].title}; 1 is best. A bar at the right "
        "joins methods whose ranks are within the critical difference (Nemenyi, α = 0.05): these "
        f"datasets cannot tell them apart. {' '.join(over)}"
    )
    methods = [method for each in ranked.values() for method in each.methods]
    size = (4.6, max((panel.height or 0.0 for panel in panels.values()), default=1.0))
    return Chart("ranks", "Average ranks", caption, panels, families_of(methods), size)


def _ranks(results: Results, ranking: Ranking, axes: Axes) -> None:
    order = sorted(ranking.ranks, key=lambda method: -ranking.ranks[method])  # best at the top
    names = [short(results.title(method)) for method in order]
    for y, method in enumerate(order):
        rank, color = ranking.ranks[method], method_color(method)
        axes.plot([1, rank], [y, y], color=LIGHT[color], linewidth=0.7, alpha=0.6)
        mark(axes, rank, y, color, f"{names[y]}: average rank {rank:.2f}")
    for k, alike in enumerate(ranking.alike):
        at, ys = 1.03 + 0.035 * k, [order.index(method) for method in alike]
        axes.plot(
            [at, at], [min(ys) - 0.25, max(ys) + 0.25], color=LIGHT["ink"], alpha=0.75,
            linewidth=2.2, solid_capstyle="round", transform=axes.get_yaxis_transform(),
            clip_on=False, gid=tip(f"{len(alike)} methods that do not differ significantly"),
        )  # fmt: skip
    difference = ranking.critical_difference
    high, top = max(2.0, *ranking.ranks.values()) + 0.3, len(names) - 0.1
    if 1 + difference <= high:
        style = {"arrowstyle": "|-|, widthA=0.3, widthB=0.3", "shrinkA": 0, "shrinkB": 0}
        axes.annotate("", (1, top), (1 + difference, top), arrowprops=style)
    words = f"critical difference {difference:.2f}"
    axes.text(1, top + 0.25, words, fontsize=8, color=LIGHT["soft"], gid=tip(words))
    axes.set_xlim(0.7, high)
    axes.set_xticks([1, *range(2, int(high) + 1, 1 if high < 9 else 2)])
    _name_rows(axes, names)
    axes.set_ylim(-0.7, top + 1.1)
    axes.tick_params(axis="x", length=0)
    axes.set_xlabel("average rank")


def _name_rows(axes: Axes, names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), names, color=LIGHT["ink"])
    axes.grid(axis="x")
    axes.spines.bottom.set_visible(False)


# Cost.


def cost_chart(results: Results) -> Chart:
    """Return accuracy against computing time, one mark for each method."""
    title = f"{results.headline} against cost"
    timed = {
        dataset: {
            group.method: group
            for group in results.find_all(results.methods, [dataset]).values()
            if len(group.cpu_seconds) == len(group.records)
        }
        for dataset in results.datasets
    }
    methods, datasets = covered(timed, results.methods)
    if len(methods) < 2:
        return Chart("cost", title, "", {})
    groups = {d: on_common_splits([timed[d][method] for method in methods]) for d in datasets}
    points = [_cost_point(own) for own in zip(*groups.values(), strict=True)]

    def draw(axes: Axes) -> None:
        for method, point in zip(methods, points, strict=True):
            mark(axes, point.x, point.y, method_color(method), point.note, markersize=6)
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
        axes.grid(axis="y")
        axes.margins(x=0.12, y=0.08)
        axes.set_xlabel("CPU seconds to fit and predict once, mean over datasets")
        title_y_axis(axes, f"mean {_tested(results)}")
        _name_points(axes, dict(zip(methods, points, strict=True)), results.reference)

    left_out = [m for m in results.methods if m not in methods]
    # Beside the points these names would cover each other.
    earlier = [results.title(m) for m in methods if results.title(m) != method_title(m)]
    caption = (
        f"Averages over {listed(map(dataset_title, datasets))}, on one thread. Up and to the left "
        "is better. Time saved because another run had already counted subtrees is added to a "
        "run's seconds. "
        f"{_splits_in_words(groups)}"
        + (f" Not run on all of these: {listed(map(method_title, left_out))}." if left_out else "")
        + (f" Of earlier revisions or with other settings: {listed(earlier)}." if earlier else "")
    )
    panels = {"cost": Panel("", draw)}
    return Chart("cost", title, caption, panels, families_of(methods), (4.9, 4.9))


def _cost_point(groups: Sequence[Group]) -> Point:
    """Return the mark of a method, of which there is one group on each dataset."""
    cost = mean_and_std([mean_and_std(group.cpu_seconds)[0] for group in groups])[0]
    accuracy = mean_and_std([group.mean for group in groups])[0]
    note = f"{groups[0].title}: {accuracy:.1f} % in {cost:.3g} s"
    # A run that takes no time at all has no place on a logarithmic axis.
    return Point(max(cost, 1e-3), accuracy, accuracy, accuracy, note)


def _name_points(axes: Axes, points: Mapping[str, Point], reference: str) -> None:
    """Write names beside points, none over another."""
    from adjustText import adjust_text

    texts = [
        axes.text(
            point.x,
            point.y,
            short(method_title(method)),
            fontweight="bold" if method == reference else "normal",
        )
        for method, point in points.items()
    ]
    adjust_text(
        texts,
        [point.x for point in points.values()],
        [point.y for point in points.values()],
        ax=axes,
        arrowprops={"arrowstyle": "-", "color": LIGHT["muted"], "linewidth": 0.6},
        expand=(1.4, 1.7),
        force_text=(0.5, 0.8),
        force_static=(0.3, 0.5),
        min_arrow_len=8,
        iter_lim=200,  # not a time, so that the same records make the same figure
    )


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


# Label sets and calibration.


def trust_chart(results: Results) -> Chart:
    """Return coverage of label sets and calibration error, a row for each dataset."""
    groups = results.find_all(results.methods, results.datasets).values()
    measured = (
        ("coverage", "Coverage of label sets", "TEST graphs with their label in the set, %", 1),
        ("calibration_error", "Calibration error", "percentage points", 100),
    )
    panels = {}
    for name, title, x_title, scale in measured:
        rows: dict[str, list[tuple[Group, float]]] = {}
        for group in groups:
            if values := group.values(name):
                mean = scale * mean_and_std(values)[0]
                rows.setdefault(dataset_title(group.dataset), []).append((group, mean))
        if sum(map(len, rows.values())) > 1:  # else there is nothing to compare
            target = 90 if name == "coverage" else None
            draw = partial(_strips, rows=rows, x_title=x_title, target=target)
            panels[name.partition("_")[0]] = Panel(title, draw)
    caption = (
        "A mark for each method, mean over splits of TEST. A label set should hold the true label "
        "of 90 % of the graphs (split-conformal on VAL, which also made the methods' choices, so "
        "slightly less is expected). The calibration error is the difference between confidence "
        "and accuracy; 0 is best, and a few points are chance on small test sets."
    )
    legend = families_of(results.methods)
    size = (4.6, 1.1 + 0.26 * len(results.datasets))
    return Chart("trust", "Coverage and calibration", caption, panels, legend, size)


def _strips(
    axes: Axes, rows: Mapping[str, Sequence[tuple[Group, float]]], x_title: str, target: int | None
) -> None:
    for y, (name, own) in enumerate(rows.items()):
        for group, mean in own:
            note = f"{name}, {group.title}: {mean:.1f}"
            mark(axes, mean, y, method_color(group.method), note)
    if target is not None:
        axes.axvline(target, color=LIGHT["soft"], linewidth=0.8, gid=tip(f"target: {target}"))
    _name_rows(axes, list(map(short, rows)))
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlabel(x_title)


# Curves, a panel for each dataset.


def labels_chart(results: Results) -> Chart:
    """Return accuracy by the share of labeled graphs, a panel for each dataset."""
    order, protocol = results.methods, results.terms.protocol
    # Numbers of labels have no place on an axis of shares.
    there = [g for g in results.groups if g.protocol == protocol and isinstance(g.labels, float)]
    there.sort(key=lambda g: (g.method != results.reference, order.index(g.method)))
    return _curve_chart(
        ("labels", f"{results.headline} by number of labels"),
        results,
        there,
        lambda g: (g.dataset, g.method, g.parameters),
        lambda g: 100 * float(g.labels),
        x_title="labeled graphs, share of all in %",
    )


def parameter_chart(results: Results, parameter: str) -> Chart:
    """Return accuracy of the reference by a parameter of it, all others being equal."""

    def value(group: Group) -> Any:
        return group.records[0].all_parameters.get(parameter)

    def others(group: Group) -> Any:
        # Not all parameters: a method may have got a new one since, which changes no result.
        return group.dataset, {k: v for k, v in group.parameters.items() if k != parameter}

    there = [
        group
        for group in results.groups
        if group.method == results.reference
        and group.terms == results.terms
        and isinstance(value(group), (int, float))
    ]
    title = {"width": "dimensions", "hops": "hops of the memory"}.get(parameter, parameter)
    return _curve_chart(
        (parameter, f"{method_title(results.reference)} by {title}"),
        results,
        there,
        others,
        value,
        x_title=title,
        is_log=parameter == "width",
        is_single=True,
    )


def _curve_chart(
    named: tuple[str, str],
    results: Results,
    groups: Iterable[Group],
    key: Callable[[Group], Any],
    x: Callable[[Group], float],
    *,
    x_title: str,
    is_log: bool = False,
    is_single: bool = False,
) -> Chart:
    """Return curves of groups that differ in ``x`` alone; of ``is_single``, the longest of each.

    A panel has the splits that all its points have: others differ in ease. Where there is no such
    split, each curve has those that its own points share, if any.
    """
    found: dict[str, dict[float, Group]] = {}
    for group in groups:
        found.setdefault(json.dumps(key(group), sort_keys=True), {}).setdefault(x(group), group)
    curves = [[by_x[at] for at in sorted(by_x)] for by_x in found.values() if len(by_x) > 1]
    reference, names = results.title(results.reference), dict.fromkeys(c[0].name for c in curves)
    others = [] if is_single else [name for name in names if name != reference]
    colors = {name: f"s{1 + i % (N_SERIES - 1)}" for i, name in enumerate(others)}
    dodged = len(names) > 1 and not is_single
    panels, drawn = {}, {}
    for dataset in results.datasets:
        own = [curve for curve in curves if curve[0].dataset == dataset]
        if not own:
            continue
        own = [max(own, key=len)] if is_single else own
        shared = on_common_splits([group for curve in own for group in curve])
        rest = iter(shared)
        lines = []
        for curve in own:
            same = [next(rest) for _ in curve] if _n_shared(shared) else on_common_splits(curve)
            name = same[0].title if is_single else same[0].name
            lines.append(Line(name, _points(same, x), colors.get(same[0].name, "s0")))
        y_title = _tested(results)
        draw = partial(
            draw_lines, lines=lines, x_title=x_title, y_title=y_title, dodged=dodged, is_log=is_log
        )
        panels[dataset], drawn[dataset] = Panel(dataset_title(dataset), draw), shared
    caption = (
        f"The {'whisker' if dodged else 'band'} is one standard error of the mean to both sides, "
        f"corrected for overlapping splits. {_splits_in_words(drawn)}"
    )
    return Chart(*named, caption, panels)


def _points(curve: Sequence[Group], x: Callable[[Group], float]) -> list[Point]:
    points = []
    for group in curve:
        n, mean, error = len(group.records), group.mean, group.error
        value = mean_with_std(mean, group.std, n)
        note = f"{group.name}, {x(group):g}: {value} over {counted(n, 'split')}"
        points.append(Point(float(x(group)), mean, mean - error, mean + error, note))
    return points


def _n_shared(groups: Sequence[Group]) -> int:
    """Return the number of splits of each group; 0 where they are not the same of all."""
    seeds = {tuple(group.seeds) for group in groups}
    return len(seeds.pop()) if len(seeds) == 1 else 0


def _splits_in_words(by_dataset: Mapping[str, Sequence[Group]]) -> str:
    """Say over how many splits the numbers of each dataset are means."""
    names: dict[int, list[str]] = {}
    for dataset, groups in by_dataset.items():
        names.setdefault(_n_shared(groups), []).append(dataset_title(dataset))
    apart = names.pop(0, [])
    counts = "; ".join(f"{n} on {listed(names[n])}" for n in sorted(names, reverse=True))
    told = [f"Means are over the splits that all of them have: {counts}."] if names else []
    if apart:
        told.append(f"On {listed(apart)} no split is common to all, so splits may differ in ease.")
    return " ".join(told)


# Rounds.


def rounds_chart(results: Results) -> Chart:
    """Return how the networks of the reference teach each other, by round."""
    panels = {}
    for (_, dataset), group in results.find_all([results.reference], results.datasets).items():
        if lines := _round_lines(group):
            panels[dataset] = rounds_panel(dataset_title(dataset), lines)
    caption = (
        "Means over splits; one that ended before a round counts with its last. Agreement: "
        "unlabeled graphs to which both networks give the same class. Precision: annotations of "
        "the round that are right, which only the evaluation knows. VAL: accuracy on VAL of each "
        "network, and of both together. Round 0 is before any annotation."
    )
    return Chart("rounds", "Accuracy by round", caption, panels)


def _round_lines(group: Group) -> list[Line]:
    courses = [record.result.get("rounds") or [] for record in group.records]
    n_rounds = max(map(len, courses))
    if n_rounds < 2:
        return []
    every = [each for course in courses for each in course]
    networks = dict.fromkeys(who for each in every for who in each.get("validation_accuracy", {}))
    wanted = [("agreement", "agreement", "s2"), ("precision", "precision", "s3")]
    wanted += [(who, f"VAL: {network_title(who)}", network_color(who)) for who in networks]
    lines = []
    for key, name, color in wanted:
        points = []
        for number in range(n_rounds):
            # Splits that have ended keep their last values: those that go on are the better ones.
            last = [course[min(number, len(course) - 1)] for course in courses if course]
            values = [{**each, **each.get("validation_accuracy", {})}.get(key) for each in last]
            if there := [value for value in values if value is not None]:
                mean = mean_and_std(there)[0]
                note = f"{name}, round {number}: {mean:.1f} over {counted(len(there), 'split')}"
                points.append(Point(number, mean, mean, mean, note))
        lines += [Line(name, points, color)] if points else []
    return lines


def rounds_panel(title: str, lines: list[Line]) -> Panel:
    """Draw percentages by round."""
    return Panel(title, partial(draw_lines, lines=lines, x_title="round", y_title="%"))
