"""Graphs that only the memory gets right, beside those that it attended to (§5.5)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from threadpoolctl import threadpool_limits

from kgnn.benchmark.record import Record
from kgnn.progress import track
from kgnn.reports.axes import drawing, text
from kgnn.reports.drawing import draw
from kgnn.reports.markup import Markup, element, joined
from kgnn.reports.paper import PAPER_DATASETS, dataset_title, network_style, network_title
from kgnn.reports.results import Results, revision_title
from kgnn.reports.svg import Figure

_MOST_CASES = 2  # of a dataset
_MOST_CLASSES = 8
_LONGEST_NAME = 9  # letters of a class
_DRAWABLE = 800  # nodes
_ROW, _TOP, _LEFT, _WIDTH = 27.0, 8.0, 58.0, 240.0
CAPTION = (
    "Unlabeled graphs that the GNN gets wrong and the memory gets right, and the labeled graphs "
    "that the memory attended to most at its first hop. Graphs of the true class are green, "
    "others gray."
)


def case_records(results: Results) -> list[Record]:
    """Return one record with cases for each dataset, that of the first split."""
    found: dict[str, Record] = {}
    for record in results.records:
        if record.outcome == "done" and record.result.get("cases"):
            best = found.setdefault(record.cell.dataset, record)
            if record.cell.seed < best.cell.seed:
                found[record.cell.dataset] = record
    known = [found.pop(name) for name in PAPER_DATASETS if name in found]
    return known + list(found.values())


def case_study(results: Results) -> Markup:
    """Return every case as a row of drawings; nothing where no record has any."""
    return joined(*(_shown(record, case) for record, case in _cases(results)))


def case_figure(results: Results) -> Figure:
    """Return the drawings of all cases, each by itself."""
    panels: dict[str, Markup] = {}
    for record, case in _cases(results):
        name = f"{record.cell.dataset}-{case['graph']}"
        panels[name] = _graph(case, str(case["class"]))
        panels[f"{name}-probabilities"] = probability_bars(
            case, class_names(record.result["cases"])
        )
        for rank, each in enumerate(case["attended"], start=1):
            panels[f"{name}-attended-{rank}"] = _graph(each, str(case["class"]))
    drawn = {name: panel for name, panel in panels.items() if panel.startswith("<svg")}
    return Figure("cases", "Case study", CAPTION, drawn)


def probability_bars(case: Mapping[str, Any], names: Mapping[int, str]) -> Markup:
    """Draw the probabilities of each class by each network, the true class in bold."""
    proba = {key: list(map(float, case[key])) for key in _networks(case)}
    most = {i: max(each) for i, each in enumerate(zip(*proba.values(), strict=True))}
    kept = sorted(sorted(most, key=lambda i: -most[i])[:_MOST_CLASSES])
    rows = [
        _class_row(names.get(i, f"#{i + 1}"), {k: v[i] for k, v in proba.items()}, y, case)
        for i, y in zip(kept, (_TOP + _ROW * k for k in range(len(kept))), strict=True)
    ]
    label = f"probabilities of the networks; the class is {case['class']}"
    return drawing(_WIDTH, _TOP + _ROW * len(kept), *rows, label=label)


def class_names(cases: Sequence[Mapping[str, Any]]) -> dict[int, str]:
    """Return the names of classes by column; older records tell those of the true classes alone.

    In a case, the most likely class of the memory is the true one.
    """
    known: dict[int, str] = {}
    for case in cases:
        memory = [float(value) for value in case["memory"]]
        known[memory.index(max(memory))] = str(case["class"])
        known.update(enumerate(map(str, case.get("classes", ()))))
    return known


def _cases(results: Results) -> Iterator[tuple[Record, Mapping[str, Any]]]:
    """Yield the cases to show; while they are drawn, linear algebra has one thread."""
    chosen = [
        (record, case)
        for record in case_records(results)
        for case in record.result["cases"][:_MOST_CASES]
    ]
    with threadpool_limits(1):  # matrices are small: more threads only wait for each other
        yield from track(chosen, "drawing cases")


def _class_row(name: str, proba: Mapping[str, float], y: float, case: Mapping[str, Any]) -> Markup:
    is_true = name == str(case["class"])
    bars = []
    for position, key in enumerate(proba):
        top = y + 10 * position
        width = (_WIDTH - _LEFT - 40) * proba[key]
        note = element("title", f"{network_title(key)}: {proba[key]:.1%}")
        bar = element("rect", note, class_="share", x=_LEFT, y=top, width=max(width, 0.5), height=8)
        number = text(_LEFT + max(width, 0.5) + 4, top + 8, f"{100 * proba[key]:.0f}", "tick")
        bars.append(element("g", bar, number, class_=network_style(key)))
    short = name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"
    heading = text(_LEFT - 8, y + 13, short, "heading" if is_true else "tick", "end")
    return joined(heading, *bars)


def _networks(case: Mapping[str, Any]) -> list[str]:
    return [name for name in ("gnn", "memory") if name in case]


def _shown(record: Record, case: Mapping[str, Any]) -> Markup:
    cell, true_class = record.cell, str(case["class"])
    name = revision_title(cell.method, cell.revision)
    own = _figure(_graph(case, true_class), f"Graph {case['graph']}: class {true_class}", case)
    legend = [
        element("span", network_title(key), class_=f"key {network_style(key)}")
        for key in _networks(case)
    ]
    thought = element(
        "figure",
        probability_bars(case, class_names(record.result["cases"])),
        element("figcaption", "Probabilities in percent: ", *legend),
    )
    attended = [_attended(each, true_class) for each in case["attended"]]
    return element(
        "section",
        element("h3", ", ".join([dataset_title(cell.dataset), name, f"split {cell.seed}"])),
        element(
            "div",
            _group("What the networks say", [own, thought]),
            _group("Labeled graphs that the memory attended to most", attended),
            class_="case",
        ),
        class_="case-study",
    )


def _group(title: str, figures: Sequence[Markup]) -> Markup:
    return element("div", element("p", title, class_="lead"), element("div", *figures))


def _attended(graph: Mapping[str, Any], true_class: str) -> Markup:
    same = "the same class" if str(graph["class"]) == true_class else "another class"
    told = (
        f"Graph {graph['graph']}: class {graph['class']}, {same}; "
        f"weight {100 * float(graph['weight']):.1f} %"
    )
    return _figure(_graph(graph, true_class), told, graph)


def _figure(drawn: Markup, told: str, graph: Mapping[str, Any]) -> Markup:
    size = f"{graph['nodes']:,} nodes, {len(graph['edges']):,} edges"
    return element("figure", drawn, element("figcaption", f"{told}. {size}."))


def _graph(graph: Mapping[str, Any], true_class: str) -> Markup:
    """Draw a graph; those of the true class have the color of the case."""
    n_nodes = int(graph["nodes"])
    if n_nodes > _DRAWABLE:
        return element("p", "Too large to draw.", class_="note")
    kind = "s2" if str(graph["class"]) == true_class else "other"
    return draw(n_nodes, graph["edges"], title=f"graph {graph['graph']}", styles=[kind] * n_nodes)
