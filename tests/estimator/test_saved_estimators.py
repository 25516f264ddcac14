"""A method that holds estimators of scikit-learn is saved, and opened if they are trusted."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from kgnn import WeisfeilerLehman, open_model
from kgnn.errors import MissingExtraError
from kgnn.estimator.classifier import GraphClassifier
from kgnn.estimator.parameters import CountOrZero, parameters
from kgnn.estimator.saved_files import ModelFileError, pack, unpack
from kgnn.estimator.saved_values import Reader, UnknownClassError, Writer
from kgnn.graphs.datasets.toy import cycles_and_trees
from kgnn.testing import check_method

_X = np.random.default_rng(0).normal(size=(40, 3))
_Y = (_X[:, 0] > 0).astype(int)


class Doubled(TransformerMixin, BaseEstimator):
    """A transformer of a user's."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return 2 * X


@parameters
class Holding(GraphClassifier):
    """A method that holds a support vector machine.

    Parameters
    ----------
    iterations : int
        Of Weisfeiler-Lehman.
    """

    iterations: CountOrZero = 2

    def _fit(self, task):
        self.features_ = WeisfeilerLehman(self.iterations, normalize="graph")
        found = self.features_.fit_transform(task.graphs)
        self.machine_ = LogisticRegression(C=100.0, max_iter=500, random_state=task.seed)
        weights = None
        if task.class_weights is not None:
            weights = task.class_weights[task.targets[task.labeled]]
        self.machine_.fit(found[task.labeled], task.targets[task.labeled], weights)

    def _predict_proba(self, graphs):
        return self.machine_.predict_proba(self.features_.transform(graphs))


def _round_trip(estimator, *classes):
    writer = Writer()
    tree = writer.write(estimator)
    return Reader(writer.arrays, {each.__name__: each for each in classes}).read(tree)


@pytest.mark.parametrize(
    "estimator",
    [
        LogisticRegression(),
        SVC(),
        KNeighborsClassifier(),
        RandomForestClassifier(5, random_state=0),
        HistGradientBoostingClassifier(max_iter=3),
        MLPClassifier((4,), solver="adam", max_iter=3000, random_state=0),
        make_pipeline(StandardScaler(), SVC()),
    ],
    ids=lambda each: type(each).__name__,
)
def test_an_estimator_answers_the_same(estimator):
    estimator.fit(_X, _Y)
    opened = _round_trip(estimator, type(estimator))
    assert (opened.predict(_X) == estimator.predict(_X)).all()


def test_an_estimator_is_opened_only_if_its_class_is_passed():
    with pytest.raises(UnknownClassError, match="SVC"):
        _round_trip(SVC().fit(_X, _Y), LogisticRegression)


def test_a_part_that_nobody_passed_is_refused():
    machine = make_pipeline(Doubled(), LogisticRegression()).fit(_X, _Y)
    with pytest.raises(UnknownClassError, match="Doubled"):
        _round_trip(machine, type(machine))
    opened = _round_trip(machine, type(machine), Doubled)
    assert (opened.predict(_X) == machine.predict(_X)).all()


def test_another_estimator_than_the_header_names_is_refused():
    writer = Writer()
    tree = writer.write(SVC().fit(_X, _Y))
    given = {"LogisticRegression": LogisticRegression}
    with pytest.raises(ValueError, match="is a SVC"):
        Reader(writer.arrays, given).read({**tree, "class": "LogisticRegression"})


def test_a_method_that_holds_one_keeps_the_contract():
    check_method(Holding())


def test_it_is_opened_where_both_classes_are_passed_and_can_be_saved_again(tmp_path):
    graphs = cycles_and_trees(40)
    model = Holding().fit(graphs)
    file = model.save(tmp_path / "a")
    with pytest.raises(ModelFileError, match="LogisticRegression"):
        open_model(file, classes=(Holding,))
    opened = open_model(file, classes=(Holding, LogisticRegression))
    again = open_model(opened.save(tmp_path / "b"), classes=(Holding, LogisticRegression))
    assert (again.predict_proba(graphs) == model.predict_proba(graphs)).all()


def test_a_file_whose_estimator_is_damaged_is_refused(tmp_path):
    file = Holding().fit(cycles_and_trees(40)).save(tmp_path)
    header, arrays = unpack(file.read_bytes())
    name = header["model"]["machine_"]["name"]
    arrays[name] = arrays[name][: len(arrays[name]) // 2].copy()
    file.write_bytes(pack(header, arrays))
    with pytest.raises(ModelFileError):
        open_model(file, classes=(Holding, LogisticRegression))


def test_without_skops_the_extra_is_named(monkeypatch, tmp_path):
    model = Holding().fit(cycles_and_trees(40))
    monkeypatch.setitem(sys.modules, "skops", None)
    with pytest.raises(MissingExtraError, match=r"kgnn\[skops\]"):
        model.save(tmp_path)
