import pytest

from kgnn.graphs.toy import planted_motifs
from kgnn.kernels import counting
from kgnn.kernels.colors import colors
from kgnn.kernels.counting import count_colors
from kgnn.kernels.weisfeiler_lehman import WeisfeilerLehman


@pytest.mark.parametrize("nodes_per_piece", [1, 30, 100])
def test_pieces_counted_apart_and_joined_equal_the_whole(monkeypatch, nodes_per_piece):
    graphs = planted_motifs(25, n_nodes=10)
    whole = count_colors(graphs, lambda piece: colors(piece, 3))
    features = WeisfeilerLehman(3, normalize="level").fit_transform(graphs)
    monkeypatch.setattr(counting, "_NODES_PER_PIECE", nodes_per_piece)
    monkeypatch.setattr(counting, "_PIECES_THAT_PAY", 1)
    pieces = count_colors(graphs, lambda piece: colors(piece, 3))
    for one, other in zip(whole, pieces, strict=True):
        for field in ("colors", "offsets", "columns", "counts"):
            assert (getattr(one, field) == getattr(other, field)).all(), field
    assert (WeisfeilerLehman(3, normalize="level").fit_transform(graphs) != features).nnz == 0
