"""Figures of what the records say."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from kgnn.colors import LIGHT, N_SERIES
from kgnn.estimator.metrics import METRICS
from kgnn.evaluation.metrics import mean_and_std
from kgnn.reports.chart import (
    Chart,
    Line,
    Panel,
    Point,
    draw_lines,
    mark,
    short,
    tip,
    title_y_axis,
    told_points,
)
from kgnn.reports.colors import families_of, method_color, network_color
from kgnn.reports.comparison import rank_methods
from kgnn.reports.paper import dataset_title, method_title, network_title
from kgnn.reports.results import USUAL, Group, Results, Terms, on_common_splits
from kgnn.reports.table import listed, mean_with_std
from kgnn.reports.tables import ablations, main_methods

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FEWEST_TO_RANK = 3


def result_charts(results: Results, terms: Terms = USUAL) -> list[Chart]:
    """Return the figures that the records have something to show in."""
    charts = [
        rank_chart(results, terms),
        cost_chart(results, terms),
        labels_chart(results, terms.protocol),
        parameter_chart(results, "width", terms),
        parameter_chart(results, "hops", terms),
        trust_chart(results, terms),
        rounds_chart(results, terms),
    ]
    return [chart for chart in charts if chart.panels]


def rank_chart(results: Results, terms: Terms = USUAL) -> Chart:
    """Return critical-difference diagrams: of the methods, and of the ablations of KGNN.

    The ranks are those of the tables: no method is left out to gain a dataset.

    References
    ----------
    Demšar, *Statistical comparisons of classifiers over multiple data sets*, JMLR 7, 2006.
    """
    panels: dict[str, Panel] = {}
    over: list[str] = []
    drawn: list[str] = []
    for title, there in {
        "Methods": main_methods(results),
        "KGNN and its ablations": ablations(results),
    }.items():
        found = rank_methods(results, there, results.datasets, terms)
        if len(found.methods) < _FEWEST_TO_RANK or len(found.datasets) < 2:
            continue
        order = sorted(found.ranks, key=lambda method: -found.ranks[method])  # best at the top
        names = [results.title(method) for method in order]
        ranks = [found.ranks[method] for method in order]
        bars = [sorted(order.index(m) for m in alike) for alike in found.alike]
        size = found.critical_difference
        colors = [method_color(method) for method in order]

        draw = partial(_ranks, names=names, ranks=ranks, bars=bars, difference=size, colors=colors)
        told = ", ".join(f"{n} {r:.2f}" for n, r in zip(names[::-1], ranks[::-1], strict=True))
        told = f"Average ranks: {told}. Critical difference {size:.2f}"
        panels[title] = Panel(title, draw, told, _rank_height(len(order)))
        over.append(f"{title}: average over {_named(found.datasets)}.")
        drawn += order
    caption = (
        f"Average rank by mean {METRICS[results.metric].title}; 1 is best. A bar at the right "
        "joins methods whose ranks are within the critical difference (Nemenyi, α = 0.05): these "
        f"datasets cannot tell them apart. {' '.join(over)}"
    )
    whole = (4.6, max((panel.height or 0.0 for panel in panels.values()), default=1.0))
    return Chart("ranks", "Average ranks", caption, panels, families_of(drawn), whole)


def _rank_height(rows: int) -> float:
    return 1.3 + 0.2 * rows


def _ranks(
    axes: Axes,
    names: Sequence[str],
    ranks: Sequence[float],
    bars: Sequence[Sequence[int]],
    difference: float,
    colors: Sequence[str],
) -> None:
    for y, (name, rank, color) in enumerate(zip(names, ranks, colors, strict=True)):
        axes.plot([1, rank], [y, y], color=LIGHT[color], linewidth=0.7, alpha=0.6)
        mark(axes, rank, y, color, f"{name}: average rank {rank:.2f}")
    for k, bar in enumerate(bars):
        at = 1.03 + 0.035 * k
        axes.plot(
            [at, at], [bar[0] - 0.25, bar[-1] + 0.25], color=LIGHT["ink"], alpha=0.75,
            linewidth=2.2, solid_capstyle="round", transform=axes.get_yaxis_transform(),
            clip_on=False, gid=tip(f"{len(bar)} methods that do not differ significantly"),
        )  # fmt: skip
    high = max(2.0, *ranks) + 0.3
    top = len(names) - 0.1
    if 1 + difference <= high:
        style = {"arrowstyle": "|-|", "color": LIGHT["ink"], "shrinkA": 0, "shrinkB": 0}
        axes.annotate(
            "", (1, top), (1 + difference, top), arrowprops={**style, "mutation_scale": 3}
        )
    words = f"critical difference {difference:.2f}"
    axes.text(1, top + 0.25, words, fontsize=8, color=LIGHT["soft"])
    axes.set_xlim(0.7, high)
    axes.set_xticks([1, *range(2, int(high) + 1, 1 if high < 9 else 2)])
    axes.set_ylim(-0.7, top + 1.1)
    axes.set_yticks(range(len(names)), list(map(short, names)), color=LIGHT["ink"])
    axes.grid(axis="x")
    axes.spines.bottom.set_visible(False)
    axes.tick_params(axis="x", length=0)
    axes.set_xlabel("average rank")


def cost_chart(results: Results, terms: Terms = USUAL) -> Chart:
    """Return accuracy against computing time, one mark for each method."""
    title = f"{results.headline} against cost"
    timed = {
        dataset: {
            group.method: group
            for group in results.find_all(results.methods, [dataset], terms).values()
            if len(group.cpu_seconds) == len(group.records)
        }
        for dataset in results.datasets
    }
    methods, datasets = covered(timed, results.methods)
    if len(methods) < 2:
        return Chart("cost", title, "", {})
    groups = {d: on_common_splits([timed[d][method] for method in methods]) for d in datasets}
    by_method = list(zip(*groups.values(), strict=True))
    points = [_cost_point(own) for own in by_method]
    named = list(zip(methods, points, strict=True))

    def draw(axes: Axes) -> None:
        for method, point in named:
            mark(axes, point.x, point.y, method_color(method), point.note, markersize=6)
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
        axes.grid(axis="y")
        axes.margins(x=0.12, y=0.08)
        axes.set_xlabel("CPU seconds to fit and predict once, mean over datasets")
        title_y_axis(axes, f"mean {_tested(results)}")
        _name_points(axes, [(method_title(method), point) for method, point in named], results)

    left_out = [method_title(m) for m in results.methods if m not in methods]
    # Beside the points these names would cover each other.
    earlier = [own[0].title for own in by_method if own[0].title != method_title(own[0].method)]
    caption = (
        f"Averages over {_named(datasets)}, on one thread. Up and to the left is better. Time "
        "saved because another run had already counted subtrees is added to a run's seconds. "
        f"{_splits_in_words(groups)}"
        + (f" Not run on all of these: {listed(left_out)}." if left_out else "")
        + (f" Of earlier revisions: {listed(earlier)}." if earlier else "")
    )
    panel = Panel("", draw, f"{title}: {'; '.join(point.note for point in points)}")
    return Chart("cost", title, caption, {"cost": panel}, families_of(methods), (4.9, 4.9))


def _cost_point(groups: Sequence[Group]) -> Point:
    """Return the mark of a method, of which there is one group on each dataset."""
    cost = mean_and_std([mean_and_std(group.cpu_seconds)[0] for group in groups])[0]
    accuracy = mean_and_std([group.mean for group in groups])[0]
    note = f"{groups[0].title}: {accuracy:.1f} % in {cost:.3g} s"
    # A run that takes no time at all has no place on a logarithmic axis.
    return Point(max(cost, 1e-3), accuracy, accuracy, accuracy, note)


def _name_points(axes: Axes, points: Sequence[tuple[str, Point]], results: Results) -> None:
    """Write names beside points, none over another."""
    from adjustText import adjust_text

    texts = [
        axes.text(
            point.x,
            point.y,
            short(name),
            fontweight="bold" if name == method_title(results.reference) else "normal",
        )
        for name, point in points
    ]
    adjust_text(
        texts,
        [point.x for _, point in points],
        [point.y for _, point in points],
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


def trust_chart(results: Results, terms: Terms = USUAL) -> Chart:
    """Return coverage of label sets and calibration error, a row for each dataset."""
    groups = results.find_all(results.methods, results.datasets, terms)
    measured = (
        ("coverage", "Coverage of label sets", "TEST graphs with their label in the set, %", 1),
        ("calibration_error", "Calibration error", "percentage points", 100),
    )
    panels = {}
    for name, title, x_title, scale in measured:
        rows: dict[str, list[tuple[Group, float]]] = {}
        for (_, dataset), group in groups.items():
            if group.values(name):
                mean = scale * mean_and_std(group.values(name))[0]
                rows.setdefault(dataset_title(dataset), []).append((group, mean))
        if sum(map(len, rows.values())) < 2:  # nothing to compare
            continue

        draw = partial(_strips, rows=rows, x_title=x_title, has_target=name == "coverage")
        told = "; ".join(
            f"{row}: " + ", ".join(f"{g.title} {mean:.1f}" for g, mean in own)
            for row, own in rows.items()
        )
        panels[name.partition("_")[0]] = Panel(title, draw, f"{title}: {told}")
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
    axes: Axes, rows: Mapping[str, Sequence[tuple[Group, float]]], x_title: str, has_target: bool
) -> None:
    for y, own in enumerate(rows.values()):
        for group, mean in own:
            mark(axes, mean, y, method_color(group.method), f"{group.title} {mean:.1f}")
    if has_target:
        axes.axvline(90, color=LIGHT["soft"], linewidth=0.8, gid=tip("target: 90"))
    axes.set_yticks(range(len(rows)), list(map(short, rows)), color=LIGHT["ink"])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.grid(axis="x")
    axes.spines.bottom.set_visible(False)
    axes.set_xlabel(x_title)


def labels_chart(results: Results, protocol: str = "fair") -> Chart:
    """Return accuracy by the share of labeled graphs, a panel for each dataset."""
    order = results.methods
    # Numbers of labels have no place on an axis of shares.
    there = [g for g in results.groups if g.protocol == protocol and isinstance(g.labels, float)]
    there.sort(key=lambda g: (g.method != results.reference, order.index(g.method)))
    curves = _curves(there, lambda g: (g.dataset, g.method, g.parameters), _share)
    names = list(dict.fromkeys(curve[0].name for curve in curves))
    reference = results.title(results.reference)
    others = [name for name in names if name != reference]
    colors = {name: f"s{1 + i % (N_SERIES - 1)}" for i, name in enumerate(others)}
    colors[reference] = "s0"
    return _curve_chart(
        ("labels", f"{results.headline} by number of labels"),
        _by_dataset(results, curves),
        lambda own: [Line(c[0].name, _points(c, _share), colors[c[0].name]) for c in own],
        x_title="labeled graphs, share of all in %",
        y_title=_tested(results),
        dodged=len(names) > 1,
    )


def _share(group: Group) -> float:
    return 100 * float(group.labels)


def parameter_chart(results: Results, parameter: str, terms: Terms = USUAL) -> Chart:
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
        and group.terms == terms
        and isinstance(value(group), (int, float))
    ]
    title = {"width": "dimensions", "hops": "hops of the memory"}.get(parameter, parameter)
    return _curve_chart(
        (parameter, f"{method_title(results.reference)} by {title}"),
        _by_dataset(results, _curves(there, others, value), longest=True),
        lambda own: [Line(c[0].title, _points(c, value), "s0") for c in own],
        x_title=title,
        y_title=_tested(results),
        is_log=parameter == "width",
    )


def _curve_chart(
    named: tuple[str, str],
    by_dataset: Mapping[str, Sequence[Sequence[Group]]],
    lines_of: Callable[[Sequence[Sequence[Group]]], list[Line]],
    *,
    x_title: str,
    y_title: str,
    dodged: bool = False,
    is_log: bool = False,
) -> Chart:
    panels = {}
    for dataset, own in by_dataset.items():
        lines = lines_of(own)

        draw = partial(
            draw_lines, lines=lines, x_title=x_title, y_title=y_title, dodged=dodged, is_log=is_log
        )
        title = dataset_title(dataset)
        panels[dataset] = Panel(title, draw, told_points(title, lines))
    what = "whisker" if dodged else "band"
    drawn = {d: [group for curve in own for group in curve] for d, own in by_dataset.items()}
    caption = (
        f"The {what} is one standard error of the mean to both sides, corrected for overlapping "
        f"splits. {_splits_in_words(drawn)}"
    )
    return Chart(*named, caption, panels)


def _tested(results: Results) -> str:
    return f"{METRICS[results.metric].title} on TEST, %"


def _named(datasets: Iterable[str]) -> str:
    return listed([dataset_title(dataset) for dataset in datasets])


def _curves(
    groups: Iterable[Group], key: Callable[[Group], Any], x: Callable[[Group], float]
) -> list[list[Group]]:
    """Return groups that differ in ``x`` alone, in its order; one group is no curve."""
    found: dict[str, dict[float, Group]] = {}
    for group in groups:
        found.setdefault(json.dumps(key(group), sort_keys=True), {}).setdefault(x(group), group)
    return [[by_x[at] for at in sorted(by_x)] for by_x in found.values() if len(by_x) > 1]


def _by_dataset(
    results: Results,
    curves: Sequence[Sequence[Group]],
    *,
    longest: bool = False,
) -> dict[str, list[list[Group]]]:
    """Return curves with the splits that all points of a dataset have: others differ in ease.

    Where there is no such split, each curve has those that its own points share, if any. Of
    several curves all are returned, or the ``longest`` alone.
    """
    found = {}
    for dataset in results.datasets:
        own = [curve for curve in curves if curve[0].dataset == dataset]
        own = [max(own, key=len)] if longest and own else own
        if not own:
            continue
        shared = on_common_splits([group for curve in own for group in curve])
        groups = iter(shared)
        found[dataset] = (
            [[next(groups) for _ in curve] for curve in own]
            if _n_shared(shared)
            else [on_common_splits(curve) for curve in own]
        )
    return found


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


def _points(curve: Sequence[Group], x: Callable[[Group], float]) -> list[Point]:
    points = []
    for group in curve:
        n = len(group.records)
        value = mean_with_std(group.mean, group.std, n)
        note = f"{group.name}, {x(group):g}: {value} over {n} split{'s' * (n != 1)}"
        low, high = group.mean - group.error, group.mean + group.error
        points.append(Point(float(x(group)), group.mean, low, high, note))
    return points


def rounds_chart(results: Results, terms: Terms = USUAL) -> Chart:
    """Return how the networks of the reference teach each other, by round."""
    panels = {}
    for dataset in results.datasets:
        group = results.find(results.reference, dataset, terms)
        lines = _round_lines(group) if group else []
        if lines:
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
                note = f"{name}, round {number}: {mean:.1f} over {len(there)} splits"
                points.append(Point(number, mean, mean, mean, note))
        lines += [Line(name, points, color)] if points else []
    return lines


def rounds_panel(title: str, lines: list[Line]) -> Panel:
    """Draw percentages by round."""
    draw = partial(draw_lines, lines=lines, x_title="round", y_title="%")
    return Panel(title, draw, told_points(title, lines))
