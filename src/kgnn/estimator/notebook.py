"""HTML for fitted models, explanations and suggestions in notebooks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from markupsafe import Markup

from kgnn.estimator.evidence import PREDICTION
from kgnn.estimator.explanation import (
    NETWORK_NAMES,
    Explanation,
    evidence_marks,
    familiarity,
    node_list,
    promised,
    signed,
)
from kgnn.graphs.drawing import Mark, draw
from kgnn.graphs.notebook import card, html_table, side_by_side

if TYPE_CHECKING:
    from kgnn.estimator.classifier import GraphClassifier
    from kgnn.estimator.suggestion import Suggestion


def model_html(model: GraphClassifier) -> str:
    """Return a model's training data, settings and accuracy on held-out graphs."""
    labeled = model.labeled_graphs_
    names, targets = model.class_names, labeled.targets.tolist()
    counts = Counter(names[target] for target in targets)
    usual = type(model)().get_params(deep=False)
    changed = {k: v for k, v in model.get_params(deep=False).items() if v != usual[k]}
    rows = [
        ("labeled graphs", ", ".join(f"{n:,} of class {name}" for name, n in counts.items())),
        ("unlabeled graphs", f"{model.fitted_on_['unlabeled']:,}"),
        ("settings", ", ".join(f"{k}={v!r}" for k, v in changed.items()) or "the defaults"),
    ]
    held = model.held_out_
    if held is not None and len(held.targets):
        right = (held.proba.argmax(axis=1) == held.targets).mean()
        rows.append(("accuracy on held-out graphs", f"{right:.1%} of {len(held.targets):,}"))
    fitted = Markup("<div><b>{}</b>, fitted{}</div>")
    return fitted.format(type(model).__name__, html_table((), rows))


def explanation_html(explanation: Explanation) -> str:
    """Return a prediction, its evidence as a drawing and a table, and similar graphs."""
    graph, names = explanation.graph, [str(name) for name in explanation.classes]
    proba = html_table(
        ["probability", *names],
        [
            (
                NETWORK_NAMES.get(who, who) if who != PREDICTION else "model",
                *(f"{p:.1%}" for p in own),
            )
            for who, own in explanation.proba.items()
        ],
    )
    drawn = draw(graph, evidence_marks(explanation), numbered=(), width=420, height=320)
    parts = (*explanation.speaking(), *explanation.speaking(against=True))
    evidence = html_table(
        ["evidence", "substructure", "where"],
        [
            (signed(p.evidence[PREDICTION]), p.text, node_list(p.nodes, word=graph.words[0]))
            for p in parts
        ],
    )
    near = [
        card(
            draw(
                sketch,
                [Mark("s2", 0.4 * (each.label == explanation.predicted))] * len(sketch.nodes),
            ),
            sketch,
            f"class {each.label}, kernel value {each.kernel_value:.2f}",
        )
        for each, sketch in zip(explanation.neighbors, explanation.neighbor_graphs, strict=True)
    ]
    told = f"class {explanation.predicted} ({explanation.confidence:.1%})"
    return Markup(
        "<div><b>{}: {}</b>{}{}<br>{}{}<small>Blue is evidence for the class, orange against "
        "it.</small><p>Similar labeled graphs, those of the predicted class in green:</p>{}</div>"
    ).format(
        explanation.method,
        told,
        proba,
        promised(explanation),
        familiarity(explanation),
        side_by_side([card(drawn, graph, told, 420), evidence]),
        side_by_side(near),
    )


def suggestions_html(suggestions: Sequence[Suggestion]) -> str:
    """Return suggestions as a table."""
    return html_table(
        ["graph", "predicted", "confidence", "distance", "why"],
        [
            (s.name, str(s.predicted), f"{s.confidence:.2f}", f"{s.distance:.2f}", s.why)
            for s in suggestions
        ],
    )
