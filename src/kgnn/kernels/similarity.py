"""One graph against many: which graphs are most similar to this one."""

from __future__ import annotations

import warnings
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from kgnn.errors import KgnnWarning, ParameterError, excerpt
from kgnn.graphs.graph import Floats, Graph, GraphDataset, Ints
from kgnn.kernels import make_kernel
from kgnn.kernels.base import cosines, unread_by
from kgnn.kernels.counted import CountedFeatures
from kgnn.progress import track

_NODES_AT_ONCE = 1 << 20


class Similar(NamedTuple):
    """Graphs by how similar they are, most similar first.

    Attributes
    ----------
    rows : array of int
        Where the graphs are in the dataset.
    values : array of float
        Normalized kernel values, 1 for graphs that the kernel cannot tell apart.
    """

    rows: Ints
    values: Floats


def most_similar(
    graph: Graph, others: GraphDataset, n: int = 10, *, kernel: str | CountedFeatures = "wl"
) -> Similar:
    """Return the graphs of a dataset that are most similar to one graph.

    Parameters
    ----------
    graph : Graph
        May be one of the others; it is then left out itself.
    others : GraphDataset
    n : int
        How many to return.
    kernel : str or featurizer
        ``wl``, ``wl-oa``, ``sp``, ``graphlets`` or ``degrees``, with settings or without (see
        `kgnn.kernels.make_kernel`); or a featurizer of your own with ``normalize="graph"``.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> graphs = cycles_and_trees(40)
    >>> found = most_similar(graphs[0], graphs, n=3)
    >>> [graphs[int(row)].target for row in found.rows]
    ['cycle', 'cycle', 'cycle']
    """
    if n < 1:
        raise ParameterError(f"The 'n' parameter of most_similar must be ≥ 1, got {n}.")
    values = similarities(graph, others, kernel=kernel)
    rows = np.argsort(-values, kind="stable")
    if graph.dataset is others:
        rows = rows[rows != graph.row]
    return Similar(rows[:n], values[rows[:n]])


def similarities(
    graph: Graph, others: GraphDataset, *, kernel: str | CountedFeatures = "wl"
) -> Floats:
    """Return the normalized kernel value of one graph with each of many, in bounded memory."""
    chosen: Any = kernel
    if isinstance(kernel, str):
        chosen = make_kernel(kernel)
        if "normalize" in chosen.get_params():
            chosen.set_params(normalize="graph")
    query = graph.dataset[[graph.row]]
    if unread := unread_by(chosen, query):
        told = f"The kernel {excerpt(str(kernel))} does not use the {' and '.join(unread)}"
        warnings.warn(f"{told} of '{graph.dataset.name}'.", KgnnWarning, stacklevel=2)
    # What the one graph does not contain adds nothing to a product; it counts in lengths.
    chosen.fit(query)
    run = others.node_offsets[:-1] // _NODES_AT_ONCE
    cuts = [0, *(np.flatnonzero(np.diff(run)) + 1), len(others)]
    parts = [others[a:b] for a, b in track(list(pairwise(cuts)), "comparing graphs")]
    if hasattr(chosen, "gram"):
        return np.concatenate([chosen.gram(query, part)[0] for part in parts])
    row = chosen.transform(query)
    return np.concatenate([cosines(row, chosen.transform(part))[0] for part in parts])
