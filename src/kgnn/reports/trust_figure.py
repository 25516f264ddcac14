"""How far answers can be trusted: promises of label sets kept, and errors of probabilities."""

from __future__ import annotations

from collections.abc import Callable

from kgnn.evaluation.metrics import mean_and_std
from kgnn.reports.comparison import REFERENCE
from kgnn.reports.families import style_of, styles_of
from kgnn.reports.figure_data import Figure
from kgnn.reports.markup import Markup
from kgnn.reports.paper import dataset_title, method_title
from kgnn.reports.results import Group, Results
from kgnn.reports.strip_chart import Mark, strip_chart

PROMISED = 90.0  # percent of graphs that have their label in its set
_CAPTION = (
    "A mark for each method, mean over splits of TEST; {highlighted} is drawn last. A label set "
    "promises to hold the true label of 90 % of the graphs (split-conformal on VAL, which has also "
    "made the methods' choices, so that a little less is no surprise). The calibration error says "
    "by how much confidence and accuracy differ; 0 is best, and a few points are chance on small "
    "test sets."
)


def trust_figure(results: Results, *, protocol: str = "fair", labels: float = 0.1) -> Figure:
    """Draw coverage of label sets and calibration error, a line for each dataset."""

    def panel(
        title: str, name: str, x_title: str, promised: float | None, factor: float
    ) -> Markup | None:
        def mark(group: Group) -> Mark | None:
            return _mark(group, name, factor)

        rows = _rows(results, protocol, labels, mark)
        if sum(map(len, rows.values())) < 2:  # nothing to compare
            return None
        styles = styles_of(results.methods)
        return strip_chart(title, rows, x_title=x_title, promised=promised, styles=styles)

    covered = "TEST graphs with their label in the set, %"
    drawn = {
        "coverage": panel("Coverage of label sets", "coverage", covered, PROMISED, 1.0),
        "calibration": panel(
            "Calibration error", "calibration_error", "percentage points", None, 100.0
        ),
    }
    caption = _CAPTION.format(highlighted=method_title(REFERENCE))
    panels = {name: each for name, each in drawn.items() if each}
    return Figure("trust", "What answers promise, and what they keep", caption, panels)


def _rows(
    results: Results, protocol: str, labels: float, mark: Callable[[Group], Mark | None]
) -> dict[str, list[Mark]]:
    """Return the marks of each dataset, those of KGNN last."""
    methods = sorted(results.methods, key=lambda method: method == REFERENCE)
    rows: dict[str, list[Mark]] = {}
    for dataset in results.datasets:
        groups = (results.find(m, dataset, protocol=protocol, labels=labels) for m in methods)
        found = [own for group in groups if group and (own := mark(group))]
        if found:
            rows[dataset_title(dataset)] = found
    return rows


def _mark(group: Group, name: str, factor: float) -> Mark | None:
    values = group.values(name)
    if not values:
        return None
    mean = factor * mean_and_std(values)[0]
    return Mark(mean, style_of(group.method), f"{method_title(group.method)} {mean:.1f}")
