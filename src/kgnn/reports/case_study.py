"""Graphs that only the kernel-based network gets right, beside those that it looked at (§5.5)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from threadpoolctl import threadpool_limits

from kgnn.benchmark.record import Record
from kgnn.progress import track
from kgnn.reports.drawing import draw
from kgnn.reports.figure_data import Figure
from kgnn.reports.frame import drawing, text
from kgnn.reports.markup import Markup, element, joined
from kgnn.reports.paper import dataset_title
from kgnn.reports.results import PAPER_DATASETS

_MOST_CASES = 2  # of a dataset
_MOST_CLASSES = 8
_DRAWABLE = 800  # nodes
_NETWORKS = (("gnn", "p, graph neural network", "s1"), ("memory", "q, kernel memory", "s4"))
_ROW, _TOP, _LEFT, _WIDTH = 27.0, 8.0, 58.0, 240.0
CAPTION = (
    "Unlabeled graphs that the graph neural network p gets wrong and the kernel-based memory "
    "network q gets right, and the labeled graphs that q attended to most at its first hop. "
    "Graphs of the true class are green, others gray."
)


def case_records(records: Iterable[Record]) -> list[Record]:
    """Return one record with cases for each dataset: the newest revision, then the first split."""
    found: dict[str, Record] = {}
    for record in records:
        if record.outcome == "done" and record.result.get("cases"):
            best = found.setdefault(record.cell.dataset, record)
            if _order(record) < _order(best):
                found[record.cell.dataset] = record
    known = [found.pop(name) for name in PAPER_DATASETS if name in found]
    return known + list(found.values())


def case_study(records: Iterable[Record]) -> Markup:
    """Return every case as a row of drawings; nothing where no record has any."""
    return joined(*(_shown(record, case) for record, case in _cases(records)))


def case_figure(records: Iterable[Record]) -> Figure:
    """Return the drawings of all cases, each by itself."""
    panels: dict[str, Markup] = {}
    for record, case in _cases(records):
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
    """Draw what both networks think of each class, the true one in bold.

    Examples
    --------
    >>> case = {"class": "a", "gnn": [0.2, 0.8], "memory": [0.7, 0.3]}
    >>> probability_bars(case, {0: "a"}).count('class="share"')
    4
    """
    proba = {key: list(map(float, case[key])) for key, _, _ in _NETWORKS}
    most = {i: max(each) for i, each in enumerate(zip(*proba.values(), strict=True))}
    kept = sorted(sorted(most, key=lambda i: -most[i])[:_MOST_CLASSES])
    rows = [
        _class_row(names.get(i, f"#{i + 1}"), {k: v[i] for k, v in proba.items()}, y, case)
        for i, y in zip(kept, (_TOP + _ROW * k for k in range(len(kept))), strict=True)
    ]
    label = f"probabilities of p and q; the class is {case['class']}"
    return drawing(_WIDTH, _TOP + _ROW * len(kept), *rows, label=label)


def class_names(cases: Sequence[Mapping[str, Any]]) -> dict[int, str]:
    """Return the names of classes, by column: in a case, q's most likely class is the true one."""
    known: dict[int, str] = {}
    for case in cases:
        q = [float(value) for value in case["memory"]]
        known[q.index(max(q))] = str(case["class"])
        known.update(enumerate(map(str, case.get("classes", ()))))
    return known


def _cases(records: Iterable[Record]) -> Iterator[tuple[Record, Mapping[str, Any]]]:
    """Yield the cases to show; while they are drawn, linear algebra has one thread."""
    chosen = [
        (record, case)
        for record in case_records(records)
        for case in record.result["cases"][:_MOST_CASES]
    ]
    with threadpool_limits(1):  # matrices are small: more threads only wait for each other
        yield from track(chosen, "drawing cases")


def _order(record: Record) -> tuple[int, int]:
    return -record.cell.revision, record.cell.seed


def _class_row(name: str, proba: Mapping[str, float], y: float, case: Mapping[str, Any]) -> Markup:
    is_true = name == str(case["class"])
    bars = []
    for position, (key, title, kind) in enumerate(_NETWORKS):
        top = y + 10 * position
        width = (_WIDTH - _LEFT - 40) * proba[key]
        note = element("title", f"{title}: {proba[key]:.1%}")
        bar = element("rect", note, class_="share", x=_LEFT, y=top, width=max(width, 0.5), height=8)
        number = text(_LEFT + max(width, 0.5) + 4, top + 8, f"{100 * proba[key]:.0f}", "tick")
        bars.append(element("g", bar, number, class_=kind))
    heading = text(_LEFT - 8, y + 13, _short(name), "heading" if is_true else "tick", "end")
    return joined(heading, *bars)


def _short(name: str, most: int = 9) -> str:
    return name if len(name) <= most else name[: most - 1] + "…"


def _shown(record: Record, case: Mapping[str, Any]) -> Markup:
    true_class = str(case["class"])
    own = _figure(_graph(case, true_class), f"Graph {case['graph']}: class {true_class}", case)
    legend = [element("span", title, class_=f"key {kind}") for _, title, kind in _NETWORKS]
    thought = element(
        "figure",
        probability_bars(case, class_names(record.result["cases"])),
        element("figcaption", "Probabilities in percent: ", *legend),
    )
    attended = [_attended(each, true_class) for each in case["attended"]]
    return element(
        "section",
        element("h3", f"{dataset_title(record.cell.dataset)}, split {record.cell.seed}"),
        element(
            "div",
            _group("What p and q say", [own, thought]),
            _group("Labeled graphs that q attended to most", attended),
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
