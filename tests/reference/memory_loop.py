"""The paper's Eqs. 10 and 11, one query and one slot at a time: slow, obvious."""

from __future__ import annotations

import numpy as np


def memory_network(z, memory, query_matrix, slot_matrices):
    """Return oᴷ and qᴷ⁺¹ of one query; matrices map features to vectors, as in the paper."""
    hops = len(slot_matrices) - 1
    q = query_matrix @ z  # embed the query
    o = None
    for k in range(hops):
        scores = np.array([q @ (slot_matrices[k] @ z_i) for z_i in memory])
        weights = np.exp(scores - scores.max())
        weights /= weights.sum()  # Eq. 10: softmax over the memory
        o = np.zeros_like(q)
        for weight, z_i in zip(weights, memory, strict=True):
            o += weight * (slot_matrices[k + 1] @ z_i)  # Eq. 11: adjacent hops share a matrix
        q = q + o
    return o, q
