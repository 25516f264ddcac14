"""The HTML report on a fitted model: its data, quality, and uncertain predictions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from threadpoolctl import threadpool_limits

from kgnn.estimator.metrics import METRICS
from kgnn.estimator.registry import entries
from kgnn.evaluation.metrics import Quality
from kgnn.evaluation.model_facts import ENDINGS, ModelFacts, ShownGraph
from kgnn.graphs.drawing import draw, is_named, label_colors, size_in_words
from kgnn.graphs.molecule_drawing import MOLECULE_NOTE, is_drawn_as_molecule
from kgnn.reports.page import drawings, render
from kgnn.reports.paper import network_title


def model_page(facts: ModelFacts) -> str:
    """Return the page; it is self-contained.

    Examples
    --------
    >>> facts = ModelFacts("wl", {}, ["4 graphs"], "none held out", "nothing", None, [])
    >>> page = model_page(facts)
    >>> page[:15], "4 graphs" in page
    ('<!doctype html>', True)
    """
    entry = entries().get(facts.method)
    networks = list(dict.fromkeys(name for each in facts.rounds for name in each.accuracy))
    drawn, why_none = drawings("model_figures", "model_charts", facts)
    lists = {  # of graphs: what they are, the graphs, and whether to tell of none
        "uncertain": (_UNCERTAIN, facts.uncertain, False),
        "suspicious": (_suspicious_in_words(facts), facts.suspicious, True),
        "next": (_NEXT, facts.suggested, False),
    }
    shown = {
        name: (told, _cards(graphs))
        for name, (told, graphs, always) in lists.items()
        if graphs or always
    }
    headings = {
        "data": "Training data",
        "rounds": "Rounds",
        "quality": "Quality",
        "uncertain": "Most uncertain predictions",
        "suspicious": "Suspicious labels",
        "next": "To label next",
        "making": "Settings and versions",
    }
    absent = {*lists} - {*shown} | ({"rounds"} if not facts.rounds else set())
    parts = {name: heading for name, heading in headings.items() if name not in absent}
    return render(
        "model.html",
        f"Model of {facts.made.get('data', 'graphs')}",
        f"{facts.method}: {entry.title}" if entry else facts.method,
        parts,
        facts=facts,
        data=[_sentence(each) for each in (*facts.data, facts.calibration)],
        basis=_sentence(facts.basis),
        networks=networks,
        round_headings=[
            *("round", "annotated", "agree, %"),
            *(f"{network_title(who)}, %" for who in networks),
        ],
        percent=lambda share: "" if share is None else f"{100 * share:.1f}",
        ending=ENDINGS.get(facts.ending, ""),
        drawn={figure["name"]: figure["panels"] for figure in drawn},
        without_figures=why_none,
        confusion=_confusion(facts.quality) if facts.quality else [],
        metrics=[
            (metric.title, metric.in_words(getattr(facts.quality, name)))
            for name, metric in METRICS.items()
            if facts.quality
        ],
        shown=shown,
        made={
            "method": facts.method,
            "parameters": ", ".join(f"{k}={v!r}" for k, v in facts.parameters.items())
            or "defaults",
            **facts.made,
        },
    )


_UNCERTAIN = "Unlabeled graphs with the smallest gap between the two most probable classes."
_NEXT = "Unlabeled graphs whose labels would help most, best first."


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."


def _confusion(found: Quality) -> list[tuple[str, list[tuple[int, str]], float]]:
    """Return rows of the confusion matrix, each with its recall."""
    rows = []
    for name, counts in zip(found.true_classes, found.confusion, strict=True):
        if total := sum(counts):
            right = counts[found.classes.index(name)] if name in found.classes else 0
            rows.append((name, list(zip(counts, found.classes, strict=True)), right / total))
    return rows


def _suspicious_in_words(facts: ModelFacts) -> str:
    if not facts.examined:
        return "There are no held-out predictions to compare the labels with."
    told = ["Labels that held-out predictions confidently contradict."]
    if facts.examined < facts.labeled:
        told.append(
            f"Only {facts.examined:,} of {facts.labeled:,} labels were examined: the others have "
            "no held-out prediction."
        )
    else:
        told.append(f"All {facts.examined:,} labels were examined.")
    if facts.n_suspicious > len(facts.suspicious):
        shown = len(facts.suspicious)
        told.append(f"{facts.n_suspicious:,} are suspicious; the {shown} most confident are shown.")
    check = "Check each of them: the model may be wrong."
    return " ".join([*told, check if facts.suspicious else "None of them is suspicious."])


def _cards(shown: Sequence[ShownGraph]) -> dict[str, Any]:
    """Draw graphs, with the same color for the same node label."""
    others = [each.sketch for each in shown if not is_drawn_as_molecule(each.sketch)]
    colors = label_colors(others)
    is_written = len(colors) < 2 or all(map(is_named, others))
    named = [(label, color) for label, color in colors.items() if color != "muted"]
    more = [("other labels", "muted")] if len(named) < len(colors) else []
    with threadpool_limits(1):  # layout matrices are small; more threads only wait
        cards = [_card(each, colors) for each in shown]
    return {
        "cards": cards,
        "legend": [] if is_written else [*named, *more],
        "note": MOLECULE_NOTE if len(others) < len(shown) else "",
    }


def _card(shown: ShownGraph, colors: dict[str, str]) -> dict[str, Any]:
    given = f"Labeled {shown.given}; {shown.note}." if shown.given is not None else ""
    return {
        "name": shown.sketch.name,
        "told": f"{given or _sentence(shown.note)} {size_in_words(shown.sketch)}.",
        "drawn": draw(shown.sketch, colors=colors),
    }
