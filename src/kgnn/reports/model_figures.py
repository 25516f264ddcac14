"""Figures of a model, of an explanation, and of a study of labeling."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from kgnn.colors import LIGHT
from kgnn.evaluation.metrics import Bin
from kgnn.reports.chart import Chart, Line, Panel, Point, draw_lines, mark, short, title_y_axis
from kgnn.reports.colors import network_color
from kgnn.reports.figures import rounds_panel
from kgnn.reports.paper import network_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from kgnn.estimator.explanation import Explanation
    from kgnn.evaluation.labeling import Labeling
    from kgnn.evaluation.model_facts import ModelFacts, RoundFacts


def model_charts(facts: ModelFacts) -> list[Chart]:
    """Return the figures of a model that there are."""
    bins = facts.quality.bins if facts.quality else ()
    charts = [model_rounds_chart(facts.rounds), *([calibration_chart(bins)] if bins else [])]
    return [chart for chart in charts if chart.panels]


def model_rounds_chart(rounds: Sequence[RoundFacts]) -> Chart:
    """Return the accuracy of each network of a model on held-out graphs, by round."""
    networks = dict.fromkeys(who for each in rounds for who in each.accuracy)
    lines = []
    for who in networks:
        values = [
            (n, 100 * each.accuracy[who]) for n, each in enumerate(rounds) if who in each.accuracy
        ]
        name = network_title(who)
        points = [Point(n, y, y, y, f"{name}, round {n}: {y:.1f} %") for n, y in values]
        lines.append(Line(name, points, network_color(who)))
    panels = {"rounds": rounds_panel("Accuracy on held-out graphs", lines)} if lines else {}
    return Chart("rounds", "Rounds", "", panels if len(rounds) > 1 else {})


def calibration_chart(bins: Sequence[Bin]) -> Chart:
    """Return the share of right answers by confidence; honest ones lie on the diagonal."""
    most = max((each.n for each in bins), default=1)

    def draw(axes: Axes) -> None:
        axes.plot([0, 100], [0, 100], color=LIGHT["muted"], linewidth=0.9, linestyle="--")
        for each in bins:
            x, y = 100 * each.confidence, 100 * each.share_right
            axes.plot([x, x], [x, y], color=LIGHT["s0"], linewidth=0.9, alpha=0.5)
            note = f"{each.n} graphs: confidence {x:.0f} %, right {y:.0f} %"
            size = max(4.5, 13 * math.sqrt(each.n / most))
            mark(axes, x, y, "s0", note, markersize=size, clip_on=False)
        axes.set_xlim(0, 100)
        axes.set_ylim(0, 100)
        axes.grid(axis="y")
        axes.set_xlabel("confidence, %")
        title_y_axis(axes, "right, %")

    panels = {"reliability": Panel("", draw)}
    return Chart("calibration", "Calibration", "", panels, size=(3.9, 3.4))


def attention_chart(explanation: Explanation) -> Chart:
    """Return the memory's attention to each labeled graph that is shown, hop by hop."""
    near = [each for each in explanation.neighbors if each.attention]
    names = [f"{each.name}, {each.label}" for each in near]
    hops = range(len(explanation.elsewhere))
    values = [[100 * each.attention[hop] for each in near] for hop in hops]
    return _bar_chart("attention", "Attention of the memory, %", names, values, "hop {}")


def evidence_chart(explanation: Explanation) -> Chart:
    """Return the substructures with the most evidence for and against the predicted class."""
    found = (*explanation.speaking(), *reversed(explanation.speaking(against=True)))
    values = [part.evidence["prediction"] for part in found]
    title = f"Evidence for class {explanation.predicted}, log-odds"
    return _bar_chart("evidence", title, [part.text for part in found], [values], "")


def _bar_chart(
    name: str, title: str, names: Sequence[str], series: Sequence[Sequence[float]], told: str
) -> Chart:
    """Return bars across, a row for each name and in it a bar for each series."""
    if not names:
        return Chart(name, title, "", {})

    def draw(axes: Axes) -> None:
        height = 0.8 / len(series)
        for k, values in enumerate(series):
            ys = [y + height * (k - (len(series) - 1) / 2) for y in range(len(names))]
            single = [LIGHT["s1" if value >= 0 else "s0"] for value in values]
            color = LIGHT[f"s{(1, 5, 2, 3, 4, 6)[k % 6]}"] if len(series) > 1 else single
            axes.barh(ys, values, height=0.9 * height, color=color, label=told.format(k + 1))
        axes.set_yticks(range(len(names)), list(map(short, names)), color=LIGHT["ink"])
        axes.invert_yaxis()
        axes.grid(axis="x")
        if len(series) > 1:
            axes.legend()

    rows = len(names) * len(series)
    size = (5.2, 1.0 + max(0.3 * len(names), 0.16 * rows))
    return Chart(name, title, "", {name: Panel(title, draw)}, size=size)


def labeling_chart(done: Labeling, method: str) -> Chart:
    """Return accuracy by the number of labels, suggested ones and random ones."""
    from kgnn.evaluation.labeling import RANDOM, SUGGESTED

    lines = []
    for choice, color in ((SUGGESTED, "s0"), (RANDOM, "s1")):
        columns = (done.labels, done.mean(choice).tolist(), done.error(choice).tolist())
        points = [
            Point(x, y, y - error, y + error, f"{x} labels, {choice}: {y:.1f} %")
            for x, y, error in zip(*columns, strict=True)
        ]
        lines.append(Line(choice, points, color))

    draw = partial(draw_lines, lines=lines, x_title="labels", y_title="accuracy on TEST, %")
    title = f"{method} on {done.dataset}"
    return Chart("labeling", title, "", {"labeling": Panel(title, draw)})
