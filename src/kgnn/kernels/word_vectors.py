"""Vectors of words from how often they stand in each other's context."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import randomized_svd

from kgnn.errors import MissingExtraError
from kgnn.graphs.graph import Floats
from kgnn.seeds import derive, for_sklearn, generator

# Pairs of words that skip-grams are trained on, drawn as often as they co-occur.
_PAIRS = 500_000


def by_information(together: sparse.csr_array, dimensions: int, seed: int) -> Floats:
    """Return the leading singular vectors of the positive pointwise mutual information.

    Vectors are ``U S^(1/2)``; of words that never occur with another, zero.

    Examples
    --------
    >>> together = sparse.csr_array([[0, 9, 1], [9, 0, 1], [1, 1, 8]])
    >>> by_information(together, 2, seed=0).shape
    (3, 2)
    """
    pairs = sparse.coo_array(together.astype(np.float64))
    totals = np.asarray(together.sum(axis=1), dtype=np.float64)
    expected = totals[pairs.row] * totals[pairs.col] / max(totals.sum(), 1.0)
    information = np.maximum(np.log(pairs.data / expected), 0.0)
    matrix = sparse.csr_array((information, (pairs.row, pairs.col)), shape=together.shape)
    matrix.eliminate_zeros()
    vectors = np.zeros((together.shape[0], dimensions))
    n_vectors = min(dimensions, together.shape[0])
    if matrix.nnz and n_vectors:
        left, strength, _ = randomized_svd(
            matrix, n_vectors, n_iter=4, random_state=for_sklearn(seed)
        )
        vectors[:, :n_vectors] = left * np.sqrt(strength)
    return vectors


def by_skip_grams(
    together: sparse.csr_array, dimensions: int, seed: int, *, epochs: int = 10, negatives: int = 5
) -> Floats:
    """Return vectors of gensim's word2vec, trained on pairs of words drawn as they co-occur."""
    try:
        from gensim.models import Word2Vec
    except ImportError as error:
        raise MissingExtraError.of("Skip-grams", "gensim", "embeddings") from error
    pairs = sparse.coo_array(together)
    vectors = np.zeros((together.shape[0], dimensions))
    if not pairs.nnz:
        return vectors
    rng = generator(seed, "pairs")
    cumulated = np.cumsum(pairs.data, dtype=np.float64)
    n_pairs = int(min(_PAIRS, cumulated[-1]))
    drawn = np.searchsorted(cumulated, rng.random(n_pairs) * cumulated[-1], side="right")
    one, other = pairs.row[drawn].astype(str), pairs.col[drawn].astype(str)
    model: Any = Word2Vec(
        np.column_stack([one, other]).tolist(),
        vector_size=dimensions,
        window=1,
        sg=1,
        negative=negatives,
        sample=0,
        min_count=1,
        epochs=epochs,
        workers=1,
        seed=derive(seed, "words"),
        hashfxn=_hash,
    )
    words = np.array([int(word) for word in model.wv.index_to_key])
    vectors[words] = model.wv.vectors
    return vectors


def _hash(text: str) -> int:
    return derive(0, text)
