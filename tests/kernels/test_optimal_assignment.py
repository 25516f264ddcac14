import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from kgnn.graphs.datasets.toy import planted_motifs, random_graphs
from kgnn.graphs.graph import GraphDataset
from kgnn.graphs.packing import pack
from kgnn.kernels.base import gram
from kgnn.kernels.colors import colors
from kgnn.kernels.optimal_assignment import OptimalAssignment
from kgnn.kernels.weisfeiler_lehman import WeisfeilerLehman


def best_pairing(graphs: GraphDataset, a: int, b: int, depth: int) -> float:
    """The kernel by its definition: pair the nodes so that they share as many colors as can be."""
    levels = list(colors(graphs, depth))
    shared = sum(np.equal.outer(c[graphs[a].nodes], c[graphs[b].nodes]) for c in levels)
    rows, columns = linear_sum_assignment(shared, maximize=True)
    return shared[rows, columns].sum()


@pytest.mark.parametrize("depth", [0, 1, 3])
def test_the_kernel_is_the_worth_of_the_best_pairing(depth):
    graphs = planted_motifs(12, n_node_labels=2)
    kernel = gram(OptimalAssignment(depth).fit_transform(graphs))
    for a in range(12):
        for b in range(12):
            assert kernel[a, b] == best_pairing(graphs, a, b, depth)


def test_it_is_at_most_the_subtree_kernel_and_equal_where_no_color_repeats():
    graphs = random_graphs(20, n_nodes=8, n_edges=12)
    pairing = gram(OptimalAssignment(2).fit_transform(graphs))
    subtrees = gram(WeisfeilerLehman(2).fit_transform(graphs))
    assert (pairing <= subtrees).all()
    assert (pairing < subtrees).any()
    assert np.linalg.eigvalsh(pairing).min() > -1e-8
    assert (pairing.diagonal() == 3 * 8).all()  # every node pairs with itself at three depths
    path = pack("path", [3], [0, 1], [1, 2], node_labels=["a", "b", "c"])
    features = [f(2).fit_transform(path) for f in (OptimalAssignment, WeisfeilerLehman)]
    assert gram(features[0]) == gram(features[1])


def test_new_graphs_and_node_numbers_make_no_difference():
    graphs = random_graphs(20, n_nodes=10, n_edges=14)
    fitted = OptimalAssignment(2, normalize="graph").fit(graphs[:10])
    whole = gram(OptimalAssignment(2, normalize="graph").fit_transform(graphs))
    np.testing.assert_allclose(fitted.gram(graphs[10:], graphs[:10]), whole[10:, :10])
    turned = pack("turned", [4], [3, 2, 1], [2, 1, 0])
    path = pack("path", [4], [0, 1, 2], [1, 2, 3])
    assert OptimalAssignment(2).fit(path).gram(path, turned)[0, 0] == 12
