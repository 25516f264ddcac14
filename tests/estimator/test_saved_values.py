import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from torch import nn

from kgnn.engine.gin import GIN
from kgnn.estimator.saved_classes import classes
from kgnn.estimator.saved_values import Decoder, Encoder


def round_trip(value, known=None):
    known = classes() if known is None else known
    encoder = Encoder(known)
    tree = encoder.encode(value)
    return Decoder(known, encoder.arrays).decode(tree)


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


def test_a_module_answers_as_before():
    module = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Dropout(0.5)).eval()
    x = torch.randn(5, 3)
    back = round_trip(module)
    assert torch.equal(back(x), module(x))
    assert not back.training
    assert isinstance(back[0].weight, nn.Parameter)
    assert back.state_dict().keys() == module.state_dict().keys()


def test_what_is_the_same_object_stays_the_same_object():
    module = GIN(2, 2, width=4)
    one, other, third = round_trip([module, module, GIN(2, 2, width=4)])
    assert one is other
    assert third is not one


def test_two_names_for_one_thing_do_not_get_mixed_up():
    first, second = GIN(1, 2, width=4), GIN(3, 2, width=4)
    back = round_trip([first, second, second, first])
    assert back[0] is back[3]
    assert back[1] is back[2]
    assert back[1].layers[0].inner.in_features == 3


def test_what_is_not_on_the_list_is_neither_saved_nor_made():
    with pytest.raises(TypeError, match=r"builtins.complex cannot be saved"):
        Encoder(classes()).encode([1j])
    tree = {"$": "object", "class": "Popen", "state": {"args": "true"}}
    with pytest.raises(ValueError, match="'Popen' is none of the classes"):
        Decoder(classes(), {}).decode(tree)


@pytest.mark.parametrize(
    "tree",
    [
        {"$": "array", "name": "7"},
        {"$": "nothing"},
        {"$": ["list"]},
        {"$": "same", "id": 3},
        {"$": "object", "class": "GIN", "state": {}},
        {"$": "module", "class": "History", "state": {}},
        {"$": "_tensor", "name": "0"},
    ],
    ids=str,
)
def test_trees_that_describe_nothing_are_refused(tree):
    with pytest.raises((ValueError, TypeError)):
        Decoder(classes(), {}).decode(tree)


def test_a_sparse_matrix_that_points_outside_is_refused():
    encoder = Encoder({})
    tree = encoder.encode(sparse.csr_array(np.eye(3)))
    encoder.arrays[tree["indices"]["name"]][0] = 1_000_000
    with pytest.raises(ValueError, match="ind"):
        Decoder({}, encoder.arrays).decode(tree)
