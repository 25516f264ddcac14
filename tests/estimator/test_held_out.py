"""Calibration by fitting again, and what becomes of it when it is stopped."""

import numpy as np
import pytest

from kgnn.errors import KgnnWarning
from kgnn.graphs.datasets.toy import cycles_and_trees
from kgnn.methods.ldp import LDP

GRAPHS = cycles_and_trees(40)


class _Stopped(LDP):
    """Its fits without a part of the labels end by Ctrl-C, with something to predict with."""

    def fit(self, X, y=None, *, validation=None):
        super().fit(X, y, validation=validation)
        self.interrupted_ |= self.cross_fit == 0
        return self


def test_ctrl_c_in_one_part_stops_all_and_keeps_the_model():
    with pytest.warns(KgnnWarning, match="Calibration was stopped by hand"):
        model = _Stopped(trees=5, cross_fit=4).fit(GRAPHS)
    assert model.interrupted_
    assert model.held_out_ is None
    plain = LDP(trees=5).fit(GRAPHS)
    assert np.array_equal(model.predict_proba(GRAPHS), plain.predict_proba(GRAPHS))


def test_each_label_is_held_out_once():
    model = LDP(trees=5, cross_fit=4).fit(GRAPHS)
    assert not model.interrupted_
    assert np.array_equal(model.held_out_.targets, GRAPHS.targets)
    assert model.held_out_.proba.shape == (40, 2)
