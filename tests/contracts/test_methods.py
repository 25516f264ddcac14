"""Every method of the registry keeps the contract, from the day it is listed."""

import ast
import re
from pathlib import Path

import pytest

import kgnn.methods
from kgnn.estimator.classifier import GraphClassifier
from kgnn.estimator.parameters import fields_of
from kgnn.estimator.registry import entries, method_class
from kgnn.testing import CHECKS, check_method
from kgnn.testing.methods import rare_class

# What makes a fit long and changes no promise. Two members take as long as one training on all.
FAST = {
    "cross_fit": 2,
    "epochs": 15,
    "rounds": 1,
    "trees": 30,
    "walks": 5,
    "pretrain_epochs": 2,
    "teacher_epochs": 3,
    "neighbors": 30,  # all of a few graphs: the nearest are of one class, whatever else they carry
}


def fast(name):
    cls = method_class(name)
    return cls(**{key: value for key, value in FAST.items() if key in fields_of(cls)})


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", entries())
def test_method_keeps_the_contract(name, check):
    check(fast(name))


@pytest.mark.parametrize("name", entries())
def test_a_rare_class_becomes_more_probable_where_classes_are_balanced(name):
    graphs, labels, new = rare_class()
    plain, balanced = (
        fast(name).set_params(cross_fit=0, class_weight=weight).fit(graphs, labels)
        for weight in (None, "balanced")
    )
    rare = [model.predict_proba(new)[:, 1].mean() for model in (plain, balanced)]
    assert rare[1] > rare[0] + 0.02


def test_the_folder_holds_methods_and_their_families():
    """Every file is a listed method, or defines a class that several methods inherit from."""
    folder = Path(kgnn.methods.__path__[0])
    files = {f"kgnn.methods.{file.stem}" for file in folder.glob("[!_]*.py")}
    listed = [entry.path.partition(":")[0] for entry in entries().values()]
    assert len(set(listed)) == len(listed)
    assert set(listed) <= files
    for module in files - set(listed):
        heirs = [
            name
            for name in entries()
            if any(base.__module__ == module for base in method_class(name).__mro__)
        ]
        assert len(heirs) > 1, f"{module} is neither a method nor a family"


@pytest.mark.parametrize("name", entries())
def test_no_chain_of_our_classes_is_longer_than_four(name):
    def length(cls):
        ours = [base for base in cls.__bases__ if base.__module__.startswith("kgnn.")]
        return 1 + max(map(length, ours), default=0)

    assert length(method_class(name)) <= 4


@pytest.mark.parametrize("name", entries())
def test_every_parameter_is_documented(name):
    documented = "\n".join(cls.__doc__ or "" for cls in method_class(name).__mro__)
    if re.search(r"See\s+`KGNN`\s+for\s+the\s+parameters", documented):  # an ablation
        documented += method_class("kgnn").__doc__
    for parameter in fields_of(method_class(name)):
        assert re.search(rf"^\s+([a-z_A-Z, ]+, )?{parameter}\b", documented, re.M), parameter


@pytest.mark.parametrize("name", entries())
def test_every_method_shows_an_example_and_a_reference(name):
    documented = method_class(name).__doc__
    assert ">>>" in documented
    assert "References" in documented
    assert entries()[name].reference
    assert ast.get_docstring(
        ast.parse(
            Path(
                kgnn.methods.__path__[0], f"{method_class(name).__module__.rpartition('.')[2]}.py"
            ).read_text()
        )
    )


class _Peeking(GraphClassifier):
    """Depends on batch mates and on the seed of nobody: what the checks are for."""

    def _fit(self, task):
        self.n_ = task.n_classes

    def _predict_proba(self, graphs):
        import numpy as np

        proba = np.full((len(graphs), self.n_), 1 / self.n_)
        proba[0] = 0
        proba[0, 0] = 1
        return proba


def test_the_checks_can_fail():
    with pytest.raises(AssertionError):
        check_method(_Peeking())
