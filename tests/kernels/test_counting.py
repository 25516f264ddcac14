import numpy as np
import pytest

from kgnn.graphs.datasets.toy import planted_motifs
from kgnn.kernels import counting, numbering
from kgnn.kernels.colors import colors
from kgnn.kernels.counting import count_colors
from kgnn.kernels.numbering import numbered

SPREAD = np.uint64(0x9E3779B97F4A7C15)  # an odd factor, which spreads small numbers over 64 bits


def obvious(graphs, depth):
    levels = list(colors(graphs, depth))
    rows = [
        [
            np.count_nonzero(each[graph.nodes] == color)
            for each in levels
            for color in np.unique(each)
        ]
        for graph in graphs
    ]
    return np.array(rows)


@pytest.mark.parametrize("nodes_per_piece", [1, 30, 100, 1 << 14])
def test_counts_are_what_a_loop_counts(monkeypatch, nodes_per_piece):
    graphs = planted_motifs(25, n_nodes=10)
    monkeypatch.setattr(counting, "_NODES_PER_PIECE", nodes_per_piece)
    counted = count_colors(graphs, colors(graphs, 3))
    assert counted.matrix.has_canonical_format
    assert (counted.matrix.toarray() == obvious(graphs, 3)).all()


@pytest.mark.parametrize("piece", [4, 100, 1 << 16])
@pytest.mark.parametrize("n_distinct", [1, 3, 400, 10**6])
@pytest.mark.parametrize("size", [0, 1, 2, 7, 1000])
def test_numbers_are_those_of_numpy(monkeypatch, size, n_distinct, piece):
    """Short pieces take the ways of long lists: by pieces, and by buckets."""
    monkeypatch.setattr(numbering, "_PIECE", piece)
    monkeypatch.setattr(numbering, "_COLORS_PER_BUCKET", piece)
    values = np.random.default_rng(size).integers(0, n_distinct, size).astype(np.uint64) * SPREAD
    distinct, inverse = np.unique(values, return_inverse=True)
    found, numbers = numbered(values)
    assert (found == distinct).all()
    assert (numbers == inverse).all()


@pytest.mark.parametrize("piece", [16, 1 << 16])
def test_colors_that_differ_in_low_bits_alone_are_told_apart(monkeypatch, piece):
    monkeypatch.setattr(numbering, "_PIECE", piece)
    values = np.random.default_rng(0).integers(0, 50, 500).astype(np.uint64)
    found, numbers = numbered(values)
    assert (found == np.unique(values)).all()
    assert (found[numbers] == values).all()
