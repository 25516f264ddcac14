import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from kgnn.kernels.base import cosines, gram, normalize_gram


@given(st.integers(1, 60), st.integers(0, 40), st.floats(0.01, 0.9), st.integers(0, 2**16))
@settings(max_examples=60, deadline=None)
def test_gram_is_the_matrix_product_whatever_the_columns_look_like(n, d, density, seed):
    rng = np.random.default_rng(seed)
    dense = rng.integers(1, 9, (n, d)) * (rng.random((n, d)) < density * rng.random(d))
    features = sparse.csr_array(dense.astype(np.float64))
    assert (gram(features) == dense @ dense.T).all()
    half = features[: n // 2 + 1]
    assert (gram(half, features) == dense[: n // 2 + 1] @ dense.T).all()


def test_gram_of_integer_counts_does_not_overflow():
    features = sparse.csr_array(np.array([[100_000], [100_000]], dtype=np.int32))
    assert (gram(features) == 1e10).all()


def test_normalized_gram_has_a_unit_diagonal_and_no_nan_for_empty_graphs():
    normalized = normalize_gram(np.array([[4.0, 2.0, 0.0], [2.0, 9.0, 0.0], [0.0, 0.0, 0.0]]))
    assert normalized.diagonal().tolist() == [1.0, 1.0, 0.0]
    assert normalized[0, 1] == pytest.approx(1 / 3)


def test_cosines_of_sparse_and_dense_rows_agree():
    rows = np.random.default_rng(0).normal(size=(4, 3))
    rows[2] = 0
    dense = cosines(rows, rows)
    assert np.allclose(dense, cosines(sparse.csr_array(rows), sparse.csr_array(rows)))
    assert np.allclose(dense.diagonal(), [1, 1, 0, 1])
    assert dense.max() <= 1
