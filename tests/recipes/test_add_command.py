"""ARCHITECTURE.md, "I want to add a command": a file in cli/, and its line in cli/main.py."""

from pathlib import Path

import pytest

from kgnn import cli as kgnn_cli
from kgnn.cli import main
from kgnn.graphs.loading import load
from tests.cli.calling import kgnn

__all__ = ["kgnn"]

_FILE = '''
"""``kgnn nodes``: how many nodes a dataset has."""

from typing import Annotated

import typer

from kgnn.cli.show import out
from kgnn.graphs.loading import load


def nodes(
    source: Annotated[str, typer.Argument(help="Name or path of a dataset.")],
    most: Annotated[int, typer.Option(min=0, help="Largest number of nodes.")] = 1000,
) -> None:
    """Count the nodes of a dataset."""
    out().print(min(load(source).n_nodes, most))
'''


@pytest.fixture(autouse=True)
def file_and_line(monkeypatch, tmp_path):
    (tmp_path / "nodes.py").write_text(_FILE, encoding="utf-8")
    monkeypatch.setattr(kgnn_cli, "__path__", [*kgnn_cli.__path__, str(tmp_path)])
    monkeypatch.setattr(main, "app", main.make_app((*main._COMMANDS, "nodes")))


def test_the_command_is_listed_and_runs(kgnn):
    assert "Count the nodes of a dataset" in kgnn("--help").out
    assert kgnn("nodes", "cycles-and-trees").out == f"{load('cycles-and-trees').n_nodes}\n"
    assert kgnn("nodes", "cycles-and-trees", "--most", "5").out == "5\n"


def test_misuse_is_one_line_and_code_2(kgnn):
    for arguments in (("nodes", "cycles-and-tres"), ("nodes", "cycles-and-trees", "--most", "-1")):
        done = kgnn(*arguments)
        assert done.code == 2
        assert "Traceback" not in done.err


def test_every_command_has_its_own_file():
    folder = Path(main.__file__).parent
    shared = {"__init__", "main", "show", "own_graphs"}
    assert {path.stem for path in folder.glob("*.py")} - shared == set(main._COMMANDS)
