"""CONTRIBUTING.md, "I want to add a method": the file that it shows, run as it says."""

import json
import re
import sys
from pathlib import Path

import pytest

from kgnn import open_model
from kgnn.errors import ParameterError, UnknownNameError
from kgnn.estimator.registry import method_class
from kgnn.graphs.datasets.toy import cycles_and_trees
from kgnn.testing import check_method
from tests.cli.calling import kgnn as kgnn

_PAGE = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")


@pytest.fixture
def file(tmp_path):
    section = _PAGE[_PAGE.index("## I want to add a method") :]
    name = re.search(r"`(\w+\.py)`:\n\n```python", section)[1]
    file = tmp_path / name
    file.write_text(re.search(r"```python\n(.*?)```", section, re.S)[1], encoding="utf-8")
    yield file
    sys.modules.pop(file.stem, None)


def test_the_example_keeps_the_contract(file):
    cls = method_class(f"{file}:NearestCentroid")
    assert method_class(f"{file}:NearestCentroid") is cls
    check_method(cls())


def test_the_example_runs_from_the_command_line(kgnn, file, tmp_path):
    name = f"{file}:NearestCentroid"
    done = kgnn("run", name, "cycles-and-trees", "--splits", "1", "--set", "iterations=1", "--json")
    record = json.loads(done.out)
    assert record["method"] == "NearestCentroid"
    assert record["mean"] > 90
    done = kgnn("fit", "cycles-and-trees", "--method", name, "-o", tmp_path / "model")
    assert done.code == 0, done.err
    model = open_model(tmp_path / "model", classes=(method_class(name),))
    assert model.score(cycles_and_trees(40)) > 0.9


@pytest.mark.parametrize(
    ("content", "name", "error", "message"),
    [
        (None, "Mine", ParameterError, "There is no file"),
        ("import nothing_like_it", "Mine", ParameterError, "cannot be loaded: ModuleNotFoundError"),
        ("def broken(:", "Mine", ParameterError, "cannot be loaded: SyntaxError"),
        ("class Mine: ...", "Mine", ParameterError, "Mine in .* is not a method"),
        ("from kgnn.methods.wl import WL", "WLL", UnknownNameError, "Did you mean WL"),
    ],
)
def test_mistakes_are_explained(tmp_path, content, name, error, message):
    file = tmp_path / "my_method_with_a_mistake.py"
    if content is not None:
        file.write_text(content)
    try:
        with pytest.raises(error, match=message):
            method_class(f"{file}:{name}")
    finally:
        sys.modules.pop(file.stem, None)


def test_a_file_named_like_a_module_is_refused(tmp_path):
    (tmp_path / "json.py").write_text("")
    with pytest.raises(ParameterError, match="another module named 'json'"):
        method_class(f"{tmp_path / 'json.py'}:Mine")
