"""One page of HTML about a fitted model: its data, how good it is, what it is unsure about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from threadpoolctl import threadpool_limits

from kgnn.estimator.explanation import Sketch
from kgnn.estimator.registry import entries
from kgnn.evaluation.metrics import METRICS, Quality
from kgnn.evaluation.model_facts import ENDINGS, ModelFacts, RoundFacts, ShownGraph
from kgnn.reports.charts import reliability_diagram
from kgnn.reports.drawing import draw, node_notes
from kgnn.reports.line_chart import Point, Series, line_chart
from kgnn.reports.markup import Markup, Part, document, element, joined, scrolling
from kgnn.reports.molecule import MOLECULE_NOTE, draw_molecule
from kgnn.reports.paper import network_style, network_title
from kgnn.reports.svg import MUTED, style

_MOST_NAMED = 60  # nodes; names do not fit into the nodes of larger graphs
_LONGEST_NAME = 2  # letters that fit into a node


def model_page(facts: ModelFacts) -> str:
    """Return the page; it needs nothing but itself.

    Examples
    --------
    >>> facts = ModelFacts("wl", {}, ["4 graphs"], "none held out", "nothing", None, [])
    >>> page = model_page(facts)
    >>> page[:15], "4 graphs" in page
    ('<!doctype html>', True)
    """
    with threadpool_limits(1):  # matrices of layouts are small: more threads wait for each other
        parts = list(_parts(facts))
    entry = entries().get(facts.method)
    title = f"{facts.method}: {entry.title}" if entry else facts.method
    return document(f"A model of {facts.made.get('data', 'graphs')}", title, parts, "model.css")


def _parts(facts: ModelFacts) -> Iterator[Part]:
    yield Part("data", "What it learned from", _data(facts))
    if facts.rounds:
        yield Part("rounds", "Rounds", _rounds(facts.rounds, facts.ending))
    yield Part("quality", "How good it is", _quality(facts))
    yield Part("uncertain", "Most uncertain", _uncertain(facts))
    yield Part("suspicious", "Suspicious labels", _suspicious(facts))
    if facts.suggested:
        told = "Unlabeled graphs whose labels would help the model most; best first."
        yield Part("next", "Next to label", joined(_note(told), _cards(facts.suggested)))
    yield Part("making", "How it was made", _made(facts))


def _data(facts: ModelFacts) -> Markup:
    sentences = [*facts.data, facts.calibration]
    return element(
        "ul", *(element("li", _sentence(each)) for each in sentences), class_="sentences"
    )


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."


def _rounds(rounds: Sequence[RoundFacts], ending: str) -> Markup:
    headings = ["round", "annotated", "agree, %"]
    networks = list(dict.fromkeys(who for each in rounds for who in each.accuracy))
    headings += [f"{network_title(who)}, %" for who in networks]
    rows = [_round_row(number, each, networks) for number, each in enumerate(rounds)]
    told = (
        "In each round the networks are trained on the unlabeled graphs that they agree on and are "
        "most confident about; round 0 has the labeled graphs alone. "
    )
    if networks:
        told += "The last columns are the accuracy on held-out graphs. "
    chart = _round_chart(rounds, networks) if networks and len(rounds) > 1 else None
    table = joined(scrolling("Rounds", headings, rows), _note(told + ENDINGS.get(ending, "")))
    return element("div", element("div", table), chart, class_="pair")


def _round_row(number: int, each: RoundFacts, networks: Sequence[str]) -> Markup:
    agreement = "" if each.agreement is None else f"{100 * each.agreement:.1f}"
    accuracy = [
        f"{100 * each.accuracy[who]:.1f}" if who in each.accuracy else "" for who in networks
    ]
    cells = [element("td", cell) for cell in (f"{each.selected:,}", agreement, *accuracy)]
    return element("tr", element("th", str(number), scope="row"), *cells)


def _round_chart(rounds: Sequence[RoundFacts], networks: Sequence[str]) -> Markup:
    series = []
    for who in networks:
        name, kind = network_title(who), network_style(who)
        values = [
            (n, 100 * each.accuracy[who]) for n, each in enumerate(rounds) if who in each.accuracy
        ]
        points = [Point(n, y, y, y, f"{name}, round {n}: {y:.1f} %") for n, y in values]
        series.append(Series(name, points, kind))
    return line_chart("Accuracy on held-out graphs, %", series, x_title="round", y_title="%")


def _quality(facts: ModelFacts) -> Markup:
    found = facts.quality
    if found is None:
        return _note(_sentence(facts.basis))
    how = (
        "Each mark stands for predictions of about equal confidence, a larger one for more of "
        "them. On the dashed line, accuracy equals confidence."
    )
    return joined(
        element("p", f"{found.in_words(facts.headline)}."),
        _note(f"Based on {facts.basis}."),
        element(
            "div",
            element(
                "figure", reliability_diagram(found.bins), element("figcaption", how, class_="note")
            ),
            element(
                "div",
                *(element("h3", "True and predicted classes"), confusion_table(found)),
                *(element("h3", "Metrics"), metrics_table(found)),
            ),
            class_="pair",
        ),
    )


def metrics_table(found: Quality) -> Markup:
    """Return all metrics by name."""
    rows = []
    for name, metric in METRICS.items():
        cell = element("td", metric.in_words(getattr(found, name)))
        rows.append(element("tr", element("th", metric.title, scope="row"), cell))
    return joined(
        scrolling("Metrics", ["metric", "value"], rows),
        _note("Of log loss and Brier score 0 is best, of the others 100 %."),
    )


def confusion_table(found: Quality) -> Markup:
    """Return graphs by true class (rows) and predicted class (columns)."""
    rows = []
    for name, counts in zip(found.true_classes, found.confusion, strict=True):
        if sum(counts) == 0:
            continue
        cells = [
            element(
                "td",
                f"{n:,}" if n else "",
                class_="right" if name == column else "wrong" if n else None,
            )
            for column, n in zip(found.classes, counts, strict=True)
        ]
        right = counts[found.classes.index(name)] if name in found.classes else 0
        share = element("td", f"{right / sum(counts):.0%}")
        rows.append(element("tr", element("th", name, scope="row"), *cells, share))
    headings = ["true class", *found.classes, "right"]
    return scrolling("True and predicted classes", headings, rows)


def _uncertain(facts: ModelFacts) -> Markup:
    if not facts.uncertain:
        return _note("The model is certain about all unlabeled graphs.")
    told = "Unlabeled graphs whose two most probable classes are closest, the closest first."
    return joined(_note(told), _cards(facts.uncertain))


def _suspicious(facts: ModelFacts) -> Markup:
    if not facts.examined:
        told = "No label could be compared with a prediction that was made without it."
        return _note(told)
    told = "Labels that confidently differ from predictions made without them. "
    if facts.examined < facts.labeled:
        told += (
            f"Only {facts.examined:,} of {facts.labeled:,} labels were examined: no prediction was "
            "made without the others. "
        )
    else:
        told += f"All {facts.examined:,} labels were examined. "
    if not facts.suspicious:
        return _note(told + "None of them is suspicious.")
    if facts.n_suspicious > len(facts.suspicious):
        shown = len(facts.suspicious)
        told += f"{facts.n_suspicious:,} are suspicious; the {shown} most confident are shown. "
    return joined(_note(told + "Check each: the model may be wrong."), _cards(facts.suspicious))


def _cards(shown: Sequence[ShownGraph]) -> Markup:
    molecules = [draw_molecule(each.sketch) for each in shown]
    others = [each.sketch for each, drawn in zip(shown, molecules, strict=True) if not drawn]
    kinds = _label_styles(others)
    cards = [
        _card(each, drawn or _diagram(each.sketch, kinds))
        for each, drawn in zip(shown, molecules, strict=True)
    ]
    is_written = len(kinds) < 2 or all(map(_fits, others))
    return joined(
        element("div", *cards, class_="cards"),
        None if is_written else _legend(kinds),
        _note(MOLECULE_NOTE) if any(molecules) else None,
    )


def _legend(kinds: dict[str, str]) -> Markup:
    named = [(label, kind) for label, kind in kinds.items() if kind != MUTED]
    keys = [element("span", label, class_=f"key {kind}") for label, kind in named]
    more = element("span", "other labels", class_="key muted") if len(named) < len(kinds) else None
    return element("p", "Labels of nodes: ", *keys, more, class_="note legend")


def _card(shown: ShownGraph, drawn: Markup) -> Markup:
    graph = shown.sketch
    size = f"{graph.n_nodes:,} nodes, {graph.n_edges:,} edges."
    if len(graph.nodes) < graph.n_nodes:
        size += f" {len(graph.nodes):,} nodes are drawn."
    given = f"Labeled {shown.given}; " if shown.given is not None else ""
    told = f"{given}{shown.note}. " if given else f"{_sentence(shown.note)} "
    return element(
        "figure",
        drawn,
        element("figcaption", element("b", graph.name), element("br"), told, size),
    )


def _diagram(graph: Sketch, kinds: dict[str, str]) -> Markup:
    return draw(
        len(graph.nodes),
        list(graph.edges),
        title=f"graph {graph.name}",
        names=graph.node_labels if _fits(graph) else None,
        notes=node_notes(graph),
        styles=[kinds[label] for label in graph.node_labels] or ["s1"] * len(graph.nodes),
    )


def _fits(graph: Sketch) -> bool:
    """Tell whether labels of nodes can be written into the nodes."""
    longest = max(map(len, graph.node_labels), default=0)
    return 0 < longest <= _LONGEST_NAME and len(graph.nodes) <= _MOST_NAMED


def _label_styles(graphs: Sequence[Sketch]) -> dict[str, str]:
    """Give the most frequent labels of nodes a color each."""
    counts = Counter(label for graph in graphs for label in graph.node_labels)
    often = sorted(counts, key=lambda label: (-counts[label], label))
    # The second color is that of drawings without labels.
    order = [1, 0, *range(2, len(often))]
    return {label: style(order[place]) for place, label in enumerate(often)}


def _made(facts: ModelFacts) -> Markup:
    changed = ", ".join(f"{name}={value!r}" for name, value in facts.parameters.items())
    made = {"method": facts.method, "parameters": changed or "all are the defaults", **facts.made}
    pairs = (joined(element("dt", name), element("dd", value)) for name, value in made.items())
    return element("dl", *pairs)


def _note(words: str) -> Markup:
    return element("p", words, class_="note")
