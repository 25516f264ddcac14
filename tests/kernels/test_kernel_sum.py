"""Sums of kernels: what they compare, how they are scaled, written and saved."""

import numpy as np
import pytest
from scipy import sparse

from kgnn import KGNN, open_model
from kgnn.errors import ParameterError, UnknownNameError
from kgnn.graphs.datasets.toy import cycles_and_trees
from kgnn.kernels import make_kernel
from kgnn.kernels.kernel_sum import KernelSum


@pytest.fixture(scope="module")
def graphs():
    return cycles_and_trees(30)


def test_each_kernel_spreads_the_graphs_equally(graphs):
    both = KernelSum(["wl(iterations=3)", "sp"])
    features = both.fit_transform(graphs).toarray()
    widths = [kernel.transform(graphs).shape[1] for kernel in both.kernels_]
    assert len(set(widths)) == 2
    for part in np.split(features, [widths[0]], axis=1):
        centered = part - part.mean(axis=0)
        assert (centered**2).sum(axis=1).mean() == pytest.approx(1.0)


def test_products_are_the_weighted_sum_of_the_kernels(graphs):
    both = KernelSum(["wl(iterations=1)", "graphlets"]).fit(graphs[:20])
    features = both.transform(graphs[20:])
    expected = sum(
        scale**2 * (each @ each.T).toarray()
        for scale, each in (
            (scale, sparse.csr_array(kernel.transform(graphs[20:])))
            for scale, kernel in zip(both.scales_, both.kernels_, strict=True)
        )
    )
    np.testing.assert_allclose((features @ features.T).toarray(), expected)


def test_columns_have_the_names_of_the_kernels(graphs):
    both = KernelSum(["wl(iterations=1)", "sp"]).fit(graphs)
    names = both.get_feature_names_out()
    assert len(names) == both.transform(graphs).shape[1]
    assert "sp1" in names.tolist()


def test_text_with_a_plus_makes_a_sum():
    made = make_kernel("wl(iterations=2, counts='log') +sp(max_distance=8) + wl-oa")
    assert isinstance(made, KernelSum)
    assert [type(make_kernel(each)).__name__ for each in made.kernels] == [
        "WeisfeilerLehman",
        "ShortestPaths",
        "OptimalAssignment",
    ]


def test_a_mistake_in_a_sum_is_told_before_anything_is_fitted():
    with pytest.raises(UnknownNameError, match="spp"):
        make_kernel("wl + spp")
    with pytest.raises(ParameterError, match="iteration"):
        make_kernel("sp + wl(iteration=2)")
    with pytest.raises(ParameterError, match="list of kernels"):
        KernelSum("wl").fit(cycles_and_trees(4))


def test_graphs_that_are_all_alike_do_not_divide_by_zero(graphs):
    same = graphs[np.zeros(5, dtype=np.int64)]
    assert np.isfinite(KernelSum(["wl", "sp"]).fit_transform(same).data).all()


def test_a_model_with_a_sum_is_saved_and_opened(graphs, tmp_path):
    labels = graphs.targets.copy()
    labels[12:] = -1
    model = KGNN(kernel="wl(iterations=1) + sp", epochs=2, student_epochs=1).fit(graphs, labels)
    path = model.save(tmp_path / "sum")
    np.testing.assert_array_equal(
        open_model(path).predict_proba(graphs), model.predict_proba(graphs)
    )
