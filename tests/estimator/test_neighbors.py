import numpy as np
import pytest
from scipy import sparse

from kgnn.estimator.neighbors import Surroundings, cosines, plain_kernel_values
from kgnn.graphs.datasets.toy import cycles_and_trees, planted_motifs
from kgnn.kernels.similarity import most_similar
from kgnn.kernels.weisfeiler_lehman import WeisfeilerLehman


def around(attention: np.ndarray) -> Surroundings:
    labeled = cycles_and_trees(3)
    return Surroundings(labeled, ["a", "b", "a"], np.array([[0.2, 0.9, 0.5]]), attention)


def test_cosines_of_sparse_and_dense_rows_agree():
    rows = np.random.default_rng(0).normal(size=(4, 3))
    rows[2] = 0
    dense = cosines(rows, rows)
    assert np.allclose(dense, cosines(sparse.csr_array(rows), sparse.csr_array(rows)))
    assert np.allclose(dense.diagonal(), [1, 1, 0, 1])
    assert dense.max() <= 1


def test_similar_graphs_come_by_kernel_value_and_attended_ones_by_attention():
    found = around(np.array([[[0.1, 0.2, 0.7]], [[0.8, 0.1, 0.1]]]))
    assert [near.row for near in found.most_similar(0, 2)] == [1, 2]
    first = found.most_attended(0, 1)[0]
    assert (first.row, first.label, first.kernel_value) == (0, "a", 0.2)
    assert first.attention == (0.1, 0.8)


def test_without_a_memory_the_similar_graphs_are_shown():
    found = around(np.zeros((0, 1, 3)))
    assert [near.row for near in found.most_attended(0, 3)] == [1, 2, 0]
    assert found.most_attended(0, 1)[0].attention == ()


def test_the_plain_kernel_is_the_normalized_kernel_also_of_strange_graphs():
    graphs = planted_motifs(8)
    values = plain_kernel_values(graphs[:1], graphs[1:])
    kernel = WeisfeilerLehman(2, normalize="graph")
    # Features that no labeled graph has count in the length.
    rows, expected = most_similar(graphs[0], graphs[1:], n=7, kernel=kernel)
    assert values[0][rows] == pytest.approx(expected)


def test_graphs_with_and_without_labels_can_be_compared():
    values = plain_kernel_values(cycles_and_trees(2), planted_motifs(3))
    assert values.shape == (2, 3)
    assert (values >= 0).all()
