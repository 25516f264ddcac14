"""What the nodes of a drawing tell when they are pointed at."""

from __future__ import annotations

from kgnn.estimator.explanation import Sketch


def node_notes(graph: Sketch) -> list[str]:
    """Return number and label of each node that is drawn.

    Examples
    --------
    >>> node_notes(Sketch("part", 9, 8, (4, 7), ((0, 1),), ("UnaryOp", "Name")))
    ['node 4: UnaryOp', 'node 7: Name']
    """
    labels = graph.node_labels or ("",) * len(graph.nodes)
    return [
        f"node {node}: {label}" if label else f"node {node}"
        for node, label in zip(graph.nodes, labels, strict=True)
    ]
