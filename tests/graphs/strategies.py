"""Random datasets of every shape for property tests."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

from hypothesis import strategies as st

from kgnn.graphs.graph import GraphDataset
from kgnn.graphs.packing import pack

_NAMES = st.text("abcxyz0189é ✓", min_size=1, max_size=4)
_FINITE = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def datasets(
    draw: st.DrawFn, min_graphs: int = 1, max_graphs: int = 5, directed: bool = False
) -> GraphDataset:
    """Draw a dataset; empty graphs, single nodes, self loops and repeated edges are common."""
    sizes = draw(st.lists(st.integers(0, 5), min_size=min_graphs, max_size=max_graphs))
    first = list(accumulate(sizes, initial=0))
    edges: list[tuple[int, int]] = []
    for start, size in zip(first, sizes, strict=False):
        if size:
            node = st.integers(start, start + size - 1)
            edges += draw(st.lists(st.tuples(node, node), max_size=8))
    # Data on edges must agree wherever an edge is repeated: draw it once per pair.
    pairs = sorted({e if directed else (min(e), max(e)) for e in edges})
    return pack(
        "drawn",
        sizes,
        [u for u, _ in edges],
        [v for _, v in edges],
        targets=draw(_one_per(sizes, st.none() | _NAMES)),
        node_labels=draw(st.none() | _one_per(range(first[-1]), _NAMES)) or None,
        node_attributes=_attributes(draw, first[-1]),
        edge_labels=_edge_data(draw, edges, pairs, _NAMES, directed),
        edge_weights=_edge_data(draw, edges, pairs, _FINITE, directed),
        edge_attributes=_edge_data(
            draw, edges, pairs, st.lists(_FINITE, min_size=2, max_size=2), directed
        ),
        directed=directed,
        graph_names=draw(st.none() | st.just([f"g{row}" for row in range(len(sizes))])),
    )


def _one_per(items: Any, values: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(values, min_size=len(items), max_size=len(items))


def _attributes(draw: st.DrawFn, n_nodes: int) -> Any:
    width = draw(st.integers(0, 3))
    if not width or not n_nodes:
        return None
    row = st.lists(_FINITE, min_size=width, max_size=width)
    return draw(st.lists(row, min_size=n_nodes, max_size=n_nodes))


def _edge_data(
    draw: st.DrawFn, edges: Any, pairs: Any, values: st.SearchStrategy[Any], directed: bool
) -> Any:
    if not edges or not draw(st.booleans()):
        return None
    by_pair = dict(zip(pairs, draw(_one_per(pairs, values)), strict=True))
    return [by_pair[edge if directed else (min(edge), max(edge))] for edge in edges]
