"""What ARCHITECTURE.md promises and ruff, mypy and import-linter cannot check."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import kgnn

_PACKAGE = Path(kgnn.__file__).parent
_MAX_LINES = 600  # the longest is ASGN, whose parts no other method needs
_PUBLIC = {
    "kgnn": [
        "GNNSup",
        "Graph",
        "GraphDataset",
        "Graphlets",
        "KGNN",
        "KgnnError",
        "KgnnWarning",
        "OptimalAssignment",
        "Results",
        "ShortestPaths",
        "WL",
        "WeisfeilerLehman",
        "compare",
        "from_networkx",
        "from_pyg",
        "from_smiles",
        "load",
        "make",
        "most_similar",
        "open_model",
        "plot",
        "progress_bars",
        "to_networkx",
        "to_pyg",
    ],
    "kgnn.graphs": [
        "CatalogEntry",
        "Graph",
        "GraphDataset",
        "as_dataset",
        "concatenate",
        "dataset_names",
        "find",
        "from_networkx",
        "from_pyg",
        "from_smiles",
        "from_source",
        "load",
        "pack",
        "to_networkx",
        "to_pyg",
    ],
}


@pytest.mark.parametrize("package", _PUBLIC)
def test_the_public_names_are_these_and_documented(package):
    module = import_module(package)
    assert sorted(module.__all__) == _PUBLIC[package]
    assert set(_PUBLIC[package]) <= set(dir(module))
    for name in _PUBLIC[package]:
        assert getattr(module, name).__name__.rpartition(".")[2] == name
        assert getattr(module, name).__doc__


@pytest.mark.parametrize("package", _PUBLIC)
def test_any_other_name_is_refused(package):
    with pytest.raises(AttributeError, match=r"attribute '?nothing"):
        import_module(package).nothing  # noqa: B018


@pytest.mark.parametrize(
    ("code", "forbidden"),
    [
        ("import kgnn", ("numpy", "scipy", "sklearn", "torch")),
        ("import kgnn; kgnn.KgnnError", ("numpy", "scipy", "sklearn", "torch")),
        ("import kgnn; kgnn.WeisfeilerLehman; kgnn.load; kgnn.WL", ("torch",)),
        ("import kgnn.cli.main", ("numpy", "scipy", "sklearn", "torch")),
        ("from kgnn.cli.main import app; app(['--help'], standalone_mode=False)", ("torch",)),
        ("from kgnn.cli.main import app; app(['methods'], standalone_mode=False)", ("torch",)),
        ("import kgnn.testing", ("torch",)),
    ],
)
def test_what_is_not_used_is_not_loaded(code, forbidden):
    check = f"import sys\n{code}\nprint('loaded:', [m for m in {forbidden!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.rstrip().endswith("loaded: []")


def test_files_are_named_for_what_they_hold_and_can_be_read_in_one_sitting():
    for path in _PACKAGE.rglob("*.py"):
        assert not {"utils", "helpers", "misc", "common"} & {path.stem, *path.parent.parts}
        n_lines = len(path.read_text(encoding="utf-8").splitlines())
        assert n_lines <= _MAX_LINES, f"{path} has {n_lines} lines"
