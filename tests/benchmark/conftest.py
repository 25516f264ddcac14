"""Methods that misbehave, added the way other packages add theirs, and small grids of them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kgnn.benchmark.grid import Grid
from kgnn.graphs.loading import load

_METHODS = """
import os
import signal
import time
from pathlib import Path

import numpy as np

from kgnn.errors import GraphDataError
from kgnn.estimator.classifier import GraphClassifier
from kgnn.estimator.parameters import parameters


@parameters
class Majority(GraphClassifier):
    def _fit(self, task):
        if self.random_state == 1:  # the other splits are like those of any method
            self.misbehave()
        self.shares_ = np.bincount(task.targets[task.labeled]) / len(task.labeled)

    def _predict_proba(self, graphs):
        return np.tile(self.shares_, (len(graphs), 1))

    def misbehave(self):
        pass


@parameters
class Raising(Majority):
    def misbehave(self):
        raise ZeroDivisionError("nothing to divide by")


@parameters
class Declining(Majority):
    def misbehave(self):
        raise GraphDataError("these graphs are not for me")


@parameters
class Exiting(Majority):
    def misbehave(self):
        raise SystemExit(3)


@parameters
class Dying(Majority):
    deaths: int = 1

    def misbehave(self):
        marks = Path(os.environ["KGNN_TEST_MARKS"])
        died = len(list(marks.glob(f"{self.deaths}-*")))
        if died < self.deaths:
            (marks / f"{self.deaths}-{died}").touch()
            os.kill(os.getpid(), signal.SIGKILL)


@parameters
class Hungry(Majority):
    def misbehave(self):
        np.ones(1 << 26)  # half a gibibyte


@parameters
class Sleeping(Majority):
    def misbehave(self):
        marks = Path(os.environ["KGNN_TEST_MARKS"])
        (marks / str(os.getpid())).touch()
        time.sleep(120)
"""
_NAMES = ("Majority", "Raising", "Declining", "Exiting", "Dying", "Hungry", "Sleeping")


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that, when on the path, adds the methods above."""
    folder = tmp_path_factory.mktemp("package")
    (folder / "misbehaving_methods.py").write_text(_METHODS)
    info = folder / "misbehaving_methods-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: misbehaving-methods\nVersion: 1\n")
    points = "".join(f"{name.lower()} = misbehaving_methods:{name}\n" for name in _NAMES)
    (info / "entry_points.txt").write_text(f"[kgnn.methods]\n{points}")
    return folder


@pytest.fixture
def misbehaving(package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Add the methods to this process and those that it starts; give the folder of their marks."""
    marks = tmp_path / "marks"
    marks.mkdir()
    monkeypatch.syspath_prepend(package)
    paths = [str(package), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))
    monkeypatch.setenv("KGNN_TEST_MARKS", str(marks))
    return marks


def cells_of(*methods: str, dataset: str = "cycles-and-trees", **values: object) -> list:
    """All cells of a grid on a dataset."""
    whole = {"title": "tests", "methods": list(methods), "datasets": [dataset], "splits": 2}
    grid = Grid.of("tests", {**whole, **values})
    return list(grid.cells({dataset: load(dataset).fingerprint}))
