"""What a Weisfeiler-Lehman color stands for, written out for people."""

from __future__ import annotations

from kgnn.graphs.graph import GraphDataset


def subtree(
    graphs: GraphDataset, node: int, depth: int, *, start: str, edge_labels: bool = False
) -> str:
    """Write the unfolding of a node to a depth: its label, then its neighbors' unfoldings.

    Two nodes have the same color at a depth exactly if they have the same text. Neighbors are
    sorted, equal ones counted; the node that one came from is among them, as in the definition of
    the colors.

    Parameters
    ----------
    graphs : GraphDataset
    node : int
        Numbered over all graphs.
    depth : int
    start : {"labels", "degree", "constant"}
    edge_labels : bool

    Examples
    --------
    >>> from kgnn.graphs.packing import pack
    >>> water = pack("water", [3], [0, 0], [1, 2], node_labels=["O", "H", "H"])
    >>> subtree(water, 0, 1, start="labels"), subtree(water, 1, 2, start="labels")
    ('O(2 H)', 'H(O(2 H))')
    """
    label = _label(graphs, node, start)
    if depth == 0:
        return label
    branches: dict[str, int] = {}
    for arc in range(int(graphs.arc_offsets[node]), int(graphs.arc_offsets[node + 1])):
        neighbor = int(graphs.neighbors[arc])
        branch = subtree(graphs, neighbor, depth - 1, start=start, edge_labels=edge_labels)
        if edge_labels and graphs.edge_labels is not None:
            branch = f"-{graphs.edge_label_names[graphs.edge_labels[arc]]}-{branch}"
        branches[branch] = branches.get(branch, 0) + 1
    inside = ", ".join(f"{n} {b}" if n > 1 else b for b, n in sorted(branches.items()))
    return f"{label}({inside})" if inside else label


def _label(graphs: GraphDataset, node: int, start: str) -> str:
    if start == "labels":
        assert graphs.node_labels is not None
        return graphs.node_label_names[graphs.node_labels[node]]
    return f"deg{graphs.degrees[node]}" if start == "degree" else "•"
