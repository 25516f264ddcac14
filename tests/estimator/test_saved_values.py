import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from kgnn.engine.gin import GIN
from kgnn.engine.loop import History
from kgnn.estimator.saved_values import Reader, UnknownClassError, Writer
from kgnn.methods.ensemble_self import EnsembleNetwork
from kgnn.methods.kgnn import MemoryNetwork


def round_trip(value, given=None):
    writer = Writer()
    tree = writer.write(value)
    reader = Reader(writer.arrays, given)
    back = reader.read(tree)
    reader.require_all_used()
    return back


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.text() | st.integers(), inner)
        | st.lists(inner).map(tuple)
    ),
    max_leaves=10,
)


@given(plain)
def test_plain_values_come_back_as_they_were(value):
    back = round_trip(value)
    assert back == value
    assert type(back) is type(value)


@pytest.mark.parametrize(
    "array",
    [
        np.array([1.5, 2.5]),
        np.array([[1, 2]], dtype=np.int32),
        np.array([2**63 + 1], dtype=np.uint64),
        np.array([True, False]),
        np.empty((0, 3), dtype=np.float32),
        np.array(["α", ""]),
        np.array(["a", 1, None], dtype=object),
    ],
    ids=str,
)
def test_arrays_keep_values_shape_and_kind(array):
    back = round_trip(array)
    assert back.dtype.kind == array.dtype.kind
    assert back.shape == array.shape
    assert back.tolist() == array.tolist()


def test_sparse_matrices_come_back():
    matrix = sparse.csr_array(np.array([[0, 2.0, 0], [1.0, 0, 0]]))
    assert (round_trip(matrix).toarray() == matrix.toarray()).all()


def test_a_module_has_its_arguments_and_weights_again():
    module = EnsembleNetwork(GIN(2, 2, width=4), MemoryNetwork(5, 2, width=4), 2, 8, 0.5)
    module.train()
    back = round_trip(module)
    assert not back.training
    assert back.memory.config == module.memory.config
    assert back.gin.readout == module.gin.readout
    assert not any(each.is_meta for each in back.state_dict().values())
    for name, weights in module.state_dict().items():
        assert torch.equal(back.state_dict()[name], weights)
    assert all(each.requires_grad for each in back.parameters())


def test_what_is_the_same_object_stays_the_same_object():
    first, second = GIN(1, 2, width=4), GIN(3, 2, width=4)
    back = round_trip([first, second, second, first, GIN(1, 2, width=4)])
    assert back[0] is back[3]
    assert back[1] is back[2]
    assert back[1].layers[0].inner.in_features == 3
    assert back[4] is not back[0]


class Mine:
    """A kernel that kgnn does not know."""

    def __init__(self, depth):
        self.depth, self.seen_ = depth, np.arange(depth)

    def fit(self, graphs): ...
    def transform(self, graphs): ...


def test_a_kernel_of_the_users_needs_its_class():
    back = round_trip(Mine(3), {"Mine": Mine})
    assert (back.depth, back.seen_.tolist()) == (3, [0, 1, 2])
    with pytest.raises(UnknownClassError, match="Mine"):
        round_trip(Mine(3))


def test_what_is_not_on_the_list_is_neither_saved_nor_made():
    for value in (1j, torch.nn.Linear(1, 1), np.array([["a"]])):
        with pytest.raises(TypeError, match="cannot be saved"):
            Writer().write([value])
    tree = {"$": "object", "class": "Popen", "state": {"args": "true"}}
    with pytest.raises(ValueError, match="'Popen' is not a class that"):
        Reader({}).read(tree)


SMALL = {"n_features": 1, "n_classes": 2}


@pytest.mark.parametrize(
    "tree",
    [
        {"$": "array", "name": "7"},
        {"$": "nothing"},
        {"$": ["list"]},
        {"$": "same", "id": 3},
        {"$": "float", "of": "__import__('os')"},
        {"$": "object", "class": "GIN", "state": {}},
        {"$": "object", "class": "History", "state": {"loss": []}},
        {"$": "object", "class": "History", "state": {**vars(History()), "more": 1}},
        {"$": "module", "class": "History", "config": {}, "state": {}},
        {"$": "module", "class": "GIN", "config": {"n_features": 1, "n_classes": 2}, "state": {}},
        {
            "$": "module",
            "class": "GIN",
            "config": {"n_features": 1, "n_classes": 2, "layers": 10**12},
            "state": {},
        },
        {"$": "_take", "name": "0"},
    ],
    ids=lambda tree: str(tree)[:60],
)
def test_trees_that_describe_nothing_are_refused(tree):
    with pytest.raises((ValueError, TypeError, KeyError)):
        Reader({}).read(tree)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"layers.0.inner.weight": np.zeros((4, 9), np.float32)}, r"\(4, 9\) of float32, expected"),
        ({"layers.0.inner.weight": np.zeros((4, 2))}, r"\(4, 2\) of float64, expected"),
        ({"layers.0.inner.weight": None}, "lacks weights 'layers.0.inner.weight'"),
        ({"layers.9.x": np.zeros(2)}, "has unknown weights 'layers.9.x'"),
    ],
)
def test_weights_that_do_not_fit_the_module_are_refused(changes, message):
    writer = Writer()
    tree = writer.write(GIN(2, 2, width=4))
    for name, array in changes.items():
        tree["state"].pop(name, None)
        if array is not None:
            tree["state"][name] = name
            writer.arrays[name] = array
    with pytest.raises(ValueError, match=message):
        Reader(writer.arrays).read(tree)


def test_a_sparse_matrix_that_points_outside_is_refused():
    writer = Writer()
    tree = writer.write(sparse.csr_array(np.eye(3)))
    writer.arrays[tree["indices"]["name"]][0] = 1_000_000
    with pytest.raises(ValueError, match="ind"):
        Reader(writer.arrays).read(tree)


def test_an_array_that_nothing_uses_is_refused():
    reader = Reader({"0": np.zeros(2)})
    with pytest.raises(ValueError, match="array 0 belongs to nothing"):
        reader.require_all_used()
