"""Graphs that the GNN gets wrong and the kernel-based network gets right (§5.5 of the paper)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kgnn.errors import ParameterError
from kgnn.evaluation.splits import Split
from kgnn.graphs.graph import GraphDataset

if TYPE_CHECKING:
    from kgnn.estimator.classifier import GraphClassifier

_NEIGHBORS = 3
_DRAWABLE = 250  # nodes; larger graphs are a blot of ink


def find_cases(
    method: GraphClassifier, graphs: GraphDataset, split: Split, n: int
) -> list[dict[str, Any]]:
    """Return unlabeled graphs that only q_φ classifies right, most clearly so first.

    Parameters
    ----------
    method : GraphClassifier
        Fitted on the split; one that has both networks.
    graphs : GraphDataset
    split : Split
    n : int

    Returns
    -------
    list of dict
        Of each graph: its row, class, edges, the probabilities of both networks by class, and the
        labeled graphs that q_φ attends to most at its first hop, with their weights.
    """
    hidden = graphs.with_targets(np.full(len(graphs), -1))
    proba = method.predict_proba_each(hidden[split.unlabeled])
    if not {"gnn", "memory"} <= set(proba):
        raise ParameterError(f"Cases compare two networks; {type(method).__name__} has not both.")
    truth = np.searchsorted(method.classes_, graphs.targets[split.unlabeled])
    p, q = proba["gnn"], proba["memory"]
    is_case = (p.argmax(axis=1) != truth) & (q.argmax(axis=1) == truth)
    every = np.arange(len(truth))
    clearness = np.where(is_case, q[every, truth] - p[every, truth], -np.inf)
    clearness -= 10 * (graphs.graph_sizes[split.unlabeled] > _DRAWABLE)
    chosen = np.argsort(-clearness, kind="stable")[: min(n, int(is_case.sum()))]
    labeled_weights = method.attention_to_labeled(hidden[split.unlabeled[chosen]])[0]
    return [
        {
            **_told(graphs, int(split.unlabeled[row])),
            "classes": [graphs.class_names[column] for column in method.classes_.tolist()],
            "gnn": p[row].round(4).tolist(),
            "memory": q[row].round(4).tolist(),
            "attended": [
                {**_told(graphs, int(split.labeled[slot])), "weight": round(float(own[slot]), 4)}
                for slot in np.argsort(-own, kind="stable")[:_NEIGHBORS]
            ],
        }
        for row, own in zip(chosen, labeled_weights, strict=True)
    ]


def _told(graphs: GraphDataset, row: int) -> dict[str, Any]:
    """Describe a graph so that it can be drawn without the dataset."""
    one = graphs[row]
    return {
        "graph": row,
        "class": one.target,
        "nodes": one.n_nodes,
        "edges": one.edges.tolist(),
    }
