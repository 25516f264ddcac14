from typing import Literal

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone

from kgnn.errors import ParameterError, UnknownNameError
from kgnn.estimator.parameters import (
    Bounds,
    Count,
    NonNegative,
    Share,
    check,
    fields_of,
    parameters,
    parse,
)
from kgnn.methods.graphcl import GraphCL


@parameters
class Base(BaseEstimator):
    hops: Count = 3
    rate: NonNegative = 0.5


@parameters
class Derived(Base):
    share: Share = 0.1
    kind: Literal["a", "b", None] = "a"
    depths: tuple[Count, ...] = (1, 2)
    either: int | None = None
    flag: bool = False


def test_numbers_of_numpy_are_numbers():
    check(Derived(hops=np.int64(2), rate=np.float32(0.1), share=np.float64(1), either=np.int32(3)))
    with pytest.raises(ParameterError, match="'hops' parameter of Derived must be an int ≥ 1"):
        check(Derived(hops=np.float64(2.0)))
    with pytest.raises(ParameterError, match="'rate' .* got np.True_"):
        check(Derived(rate=np.bool_(True)))


def test_a_single_value_where_several_are_expected_is_told_how_to_be_written():
    with pytest.raises(ParameterError, match=r"tuple of values.*got 3. For a single.*\(3,\)"):
        check(Derived(depths=3))
    with pytest.raises(ParameterError, match=r"got 'x'\.$"):
        check(Derived(depths="x"))


def test_fields_are_inherited_keyword_only_and_cloneable():
    assert list(fields_of(Derived)) == ["hops", "rate", "share", "kind", "depths", "either", "flag"]
    model = Derived(hops=5, kind=None)
    assert clone(model).get_params() == model.get_params()
    with pytest.raises(TypeError):
        Derived(5)


def test_good_values_pass():
    check(Derived())
    check(Derived(hops=1, rate=0, share=1, kind=None, depths=(4,), either=7, flag=True))


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"hops": 0}, "The 'hops' parameter of Derived must be an int ≥ 1, got 0."),
        ({"hops": 2.5}, "must be an int ≥ 1, got 2.5."),
        ({"hops": True}, "must be an int ≥ 1, got True."),
        ({"rate": -0.1}, "must be a number ≥ 0, got -0.1."),
        ({"rate": float("nan")}, "must be a number ≥ 0, got nan."),
        ({"share": 1.5}, r"must be a number in [0, 1], got 1.5."),
        ({"kind": "c"}, "must be one of 'a', 'b', None, got 'c'."),
        ({"depths": (1, 0)}, "must be a tuple of values, each an int ≥ 1, got (1, 0)."),
        ({"depths": ()}, "each an int ≥ 1, got ()."),
        ({"either": "x"}, "must be an int or None, got 'x'."),
        ({"flag": 1}, "must be True or False, got 1."),
    ],
)
def test_bad_values_are_named_with_what_is_allowed(setting, message):
    with pytest.raises(ParameterError) as caught:
        check(Derived(**setting))
    assert message in str(caught.value)


def test_settings_are_read_from_text():
    texts = ["hops=4", "rate=1e-3", "kind=b", "depths=3", "either=None", "flag=True"]
    assert parse(Derived, texts) == {
        "hops": 4,
        "rate": 0.001,
        "kind": "b",
        "depths": (3,),
        "either": None,
        "flag": True,
    }


def test_unreadable_settings_are_refused():
    with pytest.raises(ParameterError, match="must be key=value, got 'hops'"):
        parse(Derived, ["hops"])
    with pytest.raises(UnknownNameError, match=r"'hop'\. Did you mean hops\?"):
        parse(Derived, ["hop=3"])


def test_bounds_read_like_mathematics():
    assert str(Bounds(0)) == "≥ 0"
    assert str(Bounds(0, 1)) == "in [0, 1]"


def test_words_of_a_list_need_no_quotes():
    settings = parse(GraphCL, ["augmentations=node_drop, subgraph", "pretrained=my,folder"])
    assert settings == {
        "augmentations": ("node_drop", "subgraph"),
        "pretrained": "my,folder",  # not a list: left as it is
    }
    assert parse(GraphCL, ["augmentations='node_drop','subgraph'"])["augmentations"] == (
        "node_drop",
        "subgraph",
    )
