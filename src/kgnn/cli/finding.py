"""Find one graph of a dataset by what a person typed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgnn.errors import UnknownNameError

if TYPE_CHECKING:
    from kgnn.graphs.graph import Graph, GraphDataset


def find_graph(graphs: GraphDataset, name: str) -> Graph:
    """Return the graph of a name, or of a number counted from 0.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> find_graph(cycles_and_trees(4), "3").row
    3
    """
    names = [] if graphs.graph_names is None else graphs.graph_names.tolist()
    if name in names:
        return graphs[names.index(name)]
    if name.isdecimal() and int(name) < len(graphs):
        return graphs[int(name)]
    numbers = f"numbers go from 0 to {len(graphs) - 1}"
    if names:
        near = [each for each in names if name.lower() in each.lower()][:3] or names[:3]
        numbers = f"names look like {', '.join(near)}; {numbers}"
    raise UnknownNameError(f"There is no graph '{name}' in {graphs.name}: {numbers}.")
