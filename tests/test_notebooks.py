"""Notebooks run from top to bottom, show what they make, and are stored without output.

They run in this process, which takes seconds where a kernel for each takes half a minute; `make
docs` runs them in a kernel.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

_FOLDER = Path(__file__).parents[1] / "examples" / "notebooks"
_NOTEBOOKS = sorted(_FOLDER.glob("*.ipynb"))
_NEED_DATA = {"table-2"}
_MOST_BYTES = 12_000


def _cells(file):
    return json.loads(file.read_text(encoding="utf-8"))["cells"]


def _parameters():
    for file in _NOTEBOOKS:
        marks = [pytest.mark.data] if file.stem in _NEED_DATA else []
        yield pytest.param(file, marks=marks, id=file.stem)


@pytest.mark.parametrize("file", [*_parameters()])
def test_a_notebook_runs_and_shows_what_it_makes(file, tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib").use("agg")
    if file.stem == "molecules":
        pytest.importorskip("rdkit")
    monkeypatch.chdir(tmp_path)
    module = ModuleType("notebook")  # classes of a notebook are found there by pickle
    monkeypatch.setitem(sys.modules, "notebook", module)
    namespace, n_shown = vars(module), 0
    for number, cell in enumerate(_cells(file), start=1):
        if cell["cell_type"] != "code":
            continue
        tree = ast.parse("".join(cell["source"]), f"{file.name}, cell {number}")
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, f"{file.name}, cell {number}", "exec"), namespace)
        if last is not None:
            code = compile(ast.Expression(last.value), f"{file.name}, cell {number}", "eval")
            shown = eval(code, namespace)
            show = getattr(shown, "_repr_html_", None) or shown.__repr__
            n_shown += shown is not None and bool(show())
    assert n_shown + bool(capsys.readouterr().out) > 0


@pytest.mark.parametrize("file", _NOTEBOOKS, ids=lambda file: file.stem)
def test_a_notebook_is_small_and_stored_without_output(file):
    assert file.stat().st_size < _MOST_BYTES
    for cell in _cells(file):
        assert cell.get("outputs", []) == []
        assert cell.get("execution_count") is None
        assert cell["metadata"] == {}


@pytest.mark.parametrize("file", _NOTEBOOKS, ids=lambda file: file.stem)
def test_links_of_a_notebook_lead_somewhere(file):
    for cell in _cells(file):
        for link in re.findall(r"\]\(([^)#\s]+)", "".join(cell["source"])):
            if cell["cell_type"] == "markdown" and not link.startswith("http"):
                assert (file.parent / link).exists(), f"{file.name} links to {link}"


def test_the_notebooks_are_there():
    expected = {"molecules", "networks", "own-method", "table-2", "label-loop"}
    assert {file.stem for file in _NOTEBOOKS} == expected
