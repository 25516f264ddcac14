import pytest

from kgnn import WeisfeilerLehman
from kgnn.errors import ParameterError, UnknownNameError
from kgnn.graphs.datasets.toy import cycles_and_trees
from kgnn.kernels import KERNELS, make_kernel


@pytest.mark.parametrize("name", KERNELS)
def test_every_name_makes_a_kernel_of_its_own(name):
    graphs = cycles_and_trees(6)
    kernel = make_kernel(name)
    assert kernel is not make_kernel(name)
    assert kernel.fit(graphs).transform(graphs).shape[0] == 6


def test_settings_stand_in_parentheses():
    kernel = make_kernel(" wl( 2, counts='log', coarse=(0.5, 1.0), normalize=None ) ")
    assert isinstance(kernel, WeisfeilerLehman)
    assert (kernel.iterations, kernel.counts, kernel.coarse) == (2, "log", (0.5, 1.0))
    assert make_kernel("wl-oa(iterations=1)").iterations == 1
    assert make_kernel("wl()").iterations == make_kernel("wl").iterations


def test_a_kernel_that_is_given_is_copied_unfitted():
    given = WeisfeilerLehman(1).fit(cycles_and_trees(4))
    copy = make_kernel(given)
    assert copy.iterations == 1
    assert not hasattr(copy, "vocabulary_")


@pytest.mark.parametrize(
    "spec",
    [
        "wl(",
        "wl)",
        "wl(2)(3)",
        "wl(iterations=depth)",
        "wl(__import__('os'))",
        "wl(2) * sp",
        "wl(**{'iterations': 2})",
        "wl(depth=2)",
        "wl(iterations=1, iterations=2)",
        "",
        "wl\nsp",
    ],
)
def test_anything_but_literals_is_refused(spec):
    with pytest.raises(ParameterError):
        make_kernel(spec)


def test_errors_say_what_came():
    with pytest.raises(UnknownNameError, match="no kernel 'wll'.*wl"):
        make_kernel("wll(2)")
    with pytest.raises(ParameterError, match=r"'wl\(depth=2\)'.*depth"):
        make_kernel("wl(depth=2)")
    for nothing in (None, 3, WeisfeilerLehman, object()):
        with pytest.raises(ParameterError, match="an object with fit and transform; got"):
            make_kernel(nothing)
