import numpy as np

from kgnn.graphs.packing import pack
from kgnn.kernels.degree_profile import degree_profile


def test_profiles_are_shares_of_binned_degrees():
    star = pack("star", [4], [0, 0, 0], [1, 2, 3])
    (row,) = degree_profile(star)
    own, mean, largest, smallest = (row[42 * i : 42 * (i + 1)] for i in range(4))
    # log2(1 + 3) = 2 → bin 4; log2(1 + 1) = 1 → bin 2
    assert own[[2, 4]].tolist() == [0.75, 0.25]
    for around in (mean, largest, smallest):
        assert around[[2, 4]].tolist() == [0.25, 0.75]
    np.testing.assert_allclose(row[-3:], [np.log(5), np.log(4), np.log(4) - 2 * np.log(5)])


def test_label_shares_are_added_and_unknown_labels_left_out():
    graphs = pack("labeled", [4], [0], [1], node_labels=["a", "a", "b", "z"])
    row = degree_profile(graphs, ("a", "b"))[0]
    assert row[168:170].tolist() == [0.5, 0.25]


def test_isolated_nodes_and_empty_graphs_have_profiles():
    profile = degree_profile(pack("odd", [0, 1], [], []))
    assert np.isfinite(profile).all()
    assert profile[1, [0, 42, 84, 126]].tolist() == [1, 1, 1, 1]
