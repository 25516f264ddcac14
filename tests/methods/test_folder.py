"""What `methods/` and `engine/` may hold."""

import ast
import inspect
import re
from importlib import import_module
from itertools import combinations, pairwise
from pathlib import Path

import pytest

import kgnn
from kgnn.estimator.classifier import GraphClassifier
from kgnn.estimator.registry import entries, method_class

PACKAGE = Path(kgnn.__file__).parent
OURS = [name for name, entry in entries().items() if entry.path.startswith("kgnn.")]
METHODS = [method_class(name) for name in OURS]
ENGINE = sorted((PACKAGE / "engine").rglob("*.py"))


def modules(folder):
    return [path.stem for path in sorted((PACKAGE / folder).glob("[!_]*.py"))]


@pytest.mark.parametrize("name", modules("methods"))
def test_every_module_is_a_method_or_a_family_of_methods(name):
    module = import_module(f"kgnn.methods.{name}")
    classes = [each for each in vars(module).values() if inspect.isclass(each)]
    own = [each for each in classes if each.__module__ == module.__name__]
    is_method = any(cls in METHODS for cls in own)
    is_family = any(sum(issubclass(method, cls) for method in METHODS) >= 2 for cls in own)
    assert is_method or is_family


@pytest.mark.parametrize("method", METHODS, ids=OURS)
def test_a_method_has_at_most_one_family_of_its_own(method):
    classifiers = [cls for cls in method.__mro__ if issubclass(cls, GraphClassifier)]
    # The method, a family of methods, the neural family and the contract; one line, no branches.
    assert len(classifiers) <= 4
    assert all(issubclass(a, b) for a, b in pairwise(classifiers))


def words(name):
    return re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)


def names_in(path):
    """Names that a module has or defines."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    defined = (ast.ClassDef, ast.FunctionDef)
    return [path.stem, *(node.name for node in ast.walk(tree) if isinstance(node, defined))]


def is_about(name, method):
    """Whether some words of a name, side by side, are the name of a method."""
    parts = [word.lower() for word in words(name)]
    spans = combinations(range(len(parts) + 1), 2)
    return any("".join(parts[a:b]) == method.replace("-", "") for a, b in spans)


@pytest.mark.parametrize("path", ENGINE, ids=lambda path: path.stem)
def test_the_engine_knows_no_method(path):
    known = [(name, method) for name in names_in(path) for method in OURS if is_about(name, method)]
    assert not known


@pytest.mark.parametrize(
    ("name", "method"),
    [("InfoGraph", "infograph"), ("fit_mean_teacher", "mean-teacher"), ("WLFeatures", "wl")],
)
def test_a_method_is_recognized_in_a_name(name, method):
    assert is_about(name, method)
    assert not is_about("span_of_growl", "sp")
