"""Graphlets by looking at every set of nodes: slow and obvious."""

from itertools import combinations, permutations

import networkx as nx

from kgnn.graphs.graph import Graph


def edge_pattern(nodes, joined):
    """The pattern of a list of nodes, as `kgnn.kernels.graphlet_counts` numbers it."""
    return sum(
        (frozenset(pair) in joined) << bit for bit, pair in enumerate(combinations(nodes, 2))
    )


def count_graphlets(graph: Graph, size: int) -> dict[int, int]:
    """Number of induced subgraphs by the smallest pattern of their class."""
    joined = {frozenset(edge) for edge in graph.edges.tolist() if edge[0] != edge[1]}
    found: dict[int, int] = {}
    for nodes in combinations(range(graph.n_nodes), size):
        smallest = min(edge_pattern(order, joined) for order in permutations(nodes))
        found[smallest] = found.get(smallest, 0) + 1
    return found


def as_networkx(size: int, pattern: int) -> nx.Graph:
    pairs = combinations(range(size), 2)
    graph = nx.empty_graph(size)
    graph.add_edges_from(pair for bit, pair in enumerate(pairs) if pattern >> bit & 1)
    return graph
