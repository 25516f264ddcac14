import numpy as np
from scipy import sparse

from kgnn.graphs.datasets.toy import planted_motifs
from kgnn.graphs.packing import pack
from kgnn.kernels.base import gram
from kgnn.kernels.projection import Projection
from kgnn.kernels.weisfeiler_lehman import WeisfeilerLehman


def test_distances_of_coordinates_are_those_of_the_kernel():
    features = WeisfeilerLehman(1, normalize="dataset").fit_transform(planted_motifs(20))
    projection = Projection(64, length=8.0).fit(features)
    coordinates = projection.transform(features)
    assert coordinates.shape[1] == 20
    products = gram(features)
    squares = products.diagonal()[:, None] + products.diagonal()[None, :] - 2 * products
    found = ((coordinates[:, None] - coordinates[None, :]) ** 2).sum(axis=2)
    np.testing.assert_allclose(found, squares * projection.factor**2, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose((coordinates**2).sum(axis=1).mean(), 8.0, rtol=1e-4)


def test_a_single_graph_or_color_is_projected_all_the_same():
    for features in (sparse.csr_array(np.ones((1, 5))), sparse.csr_array(np.ones((5, 1)))):
        assert np.isfinite(Projection(4).fit(features).transform(features)).all()
    alike = sparse.csr_array(np.ones((5, 3)))  # of which scikit-learn would warn
    np.testing.assert_allclose(Projection(4).fit(alike).transform(alike), 0, atol=1e-5)
    empty = WeisfeilerLehman(0).fit_transform(pack("empty", [0, 0], [], []))
    assert Projection(4).fit(empty).transform(empty).shape[0] == 2
