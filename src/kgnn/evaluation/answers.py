"""The predictions of a fitted model, one answer per graph, for tables and files."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from kgnn.engine.calibration import ALL
from kgnn.estimator.carried import warn_of_more, warn_of_new_labels
from kgnn.estimator.classifier import GraphClassifier
from kgnn.estimator.evidence import PREDICTION
from kgnn.estimator.novelty import Novelty
from kgnn.graphs.graph import GraphDataset


@dataclass(frozen=True)
class Answer:
    """The prediction for one graph."""

    id: str
    label: str
    probabilities: dict[str, float]  # by class
    networks: dict[str, str]  # label predicted by each network, if the model has several
    novelty: Novelty
    # Conformal label set, most probable label first, if requested.
    label_set: tuple[str, ...] | None

    def record(self) -> dict[str, Any]:
        """Return the answer as plain values for JSON."""
        agree = {"agree": len(set(self.networks.values())) == 1} if self.networks else {}
        sets = {} if self.label_set is None else {"label_set": list(self.label_set)}
        return {
            "id": self.id,
            "label": self.label,
            "confidence": self.probabilities[self.label],
            "probabilities": self.probabilities,
            **self.networks,
            **agree,
            "novelty": self.novelty.score,
            "novelty_reason": "; ".join(self.novelty.reasons),
            **sets,
        }

    def cells(self) -> dict[str, str]:
        """Return the answer as cells of a table, by column; ``proba_NAME`` for each class."""
        cells: dict[str, str] = {}
        for key, value in self.record().items():
            if key == "probabilities":
                cells.update({f"proba_{name}": _written(p) for name, p in value.items()})
            else:
                cells[key] = _written(value)
        return cells


def answers(
    model: GraphClassifier, graphs: GraphDataset, *, error: float | None = None
) -> list[Answer]:
    """Predict graphs.

    With an ``error``, the answers include label sets; see `GraphClassifier.predict_sets`.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> from kgnn.methods.wl import WL
    >>> graphs = cycles_and_trees(42)
    >>> answers(WL().fit(graphs[:40]), graphs[40:])[0].label
    'cycle'
    """
    warn_of_more(model, graphs)
    warn_of_new_labels(model, graphs)
    asked = model.predict_proba_all(graphs)
    proba = asked[PREDICTION]
    networks = {who: each for who, each in asked.items() if who not in (PREDICTION, ALL)}
    classes = model.class_names
    best = proba.argmax(axis=1).tolist()
    sets = None if error is None else model.sets_of(proba, error=error)
    named = {who: each.argmax(axis=1).tolist() for who, each in networks.items()}
    return [
        Answer(
            graph.name,
            classes[best[row]],
            dict(zip(classes, proba[row].tolist(), strict=True)),
            {who: classes[each[row]] for who, each in named.items()},
            novelty,
            None if sets is None else tuple(map(str, sets[row])),
        )
        for row, (graph, novelty) in enumerate(zip(graphs, model.novelty(graphs), strict=True))
    ]


def columns(model: GraphClassifier, *, has_sets: bool = False) -> list[str]:
    """Return the columns that `Answer.cells` fills for a model."""
    classes = [f"proba_{name}" for name in model.class_names]
    networks = [*network_names(model), "agree"] if network_names(model) else []
    sets = ["label_set"] if has_sets else []
    return ["id", "label", "confidence", *classes, *networks, "novelty", "novelty_reason", *sets]


def network_names(model: GraphClassifier) -> list[str]:
    """Return the names of the networks of a model; empty if it has only one."""
    each = model.predict_proba_each(model.labeled_graphs_[:0])
    return [name for name in each if name != ALL]


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.6g}"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list) else str(value)
