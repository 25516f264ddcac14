import numpy as np

from kgnn.graphs.packing import pack
from kgnn.kernels.degree_profiles import DegreeProfiles


def test_profiles_are_shares_of_binned_degrees():
    star = pack("star", [4], [0, 0, 0], [1, 2, 3])
    (row,) = DegreeProfiles().fit_transform(star)
    own, mean, largest, smallest = (row[42 * i : 42 * (i + 1)] for i in range(4))
    # log2(1 + 3) = 2 → bin 4; log2(1 + 1) = 1 → bin 2
    assert own[[2, 4]].tolist() == [0.75, 0.25]
    for around in (mean, largest, smallest):
        assert around[[2, 4]].tolist() == [0.25, 0.75]
    np.testing.assert_allclose(row[-3:], [np.log(5), np.log(4), np.log(4) - 2 * np.log(5)])


def test_label_shares_are_added_and_unknown_labels_left_out():
    known = pack("known", [2], [0], [1], node_labels=["a", "b"])
    graphs = pack("labeled", [4], [0], [1], node_labels=["a", "a", "b", "z"])
    profiles = DegreeProfiles().fit(known)
    names = profiles.get_feature_names_out().tolist()
    row = dict(zip(names, profiles.transform(graphs)[0].tolist(), strict=True))
    assert (row["label_a"], row["label_b"]) == (0.5, 0.25)
    blank = profiles.transform(pack("blank", [2], [0], [1]))[0]
    assert blank[names.index("label_a")] == 0


def test_isolated_nodes_and_empty_graphs_have_profiles():
    profile = DegreeProfiles().fit_transform(pack("odd", [0, 1], [], []))
    assert np.isfinite(profile).all()
    assert profile[1, [0, 42, 84, 126]].tolist() == [1, 1, 1, 1]
