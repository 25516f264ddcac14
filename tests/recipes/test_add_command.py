"""ARCHITECTURE.md, "I want to add a command": a function, and its line in cli/main.py."""

from typing import Annotated

import pytest
import typer

from kgnn.cli import main
from kgnn.cli.show import out
from kgnn.graphs.loading import load
from tests.cli.calling import kgnn

__all__ = ["kgnn"]


def nodes(
    source: Annotated[str, typer.Argument(help="Name or path of a dataset.")],
    most: Annotated[int, typer.Option(min=0, help="Largest number of nodes.")] = 1000,
) -> None:
    """Count the nodes of a dataset."""
    out().print(min(load(source).n_nodes, most))


@pytest.fixture(autouse=True)
def line(monkeypatch):
    monkeypatch.setattr(main.app, "registered_commands", [*main.app.registered_commands])
    main.app.command("nodes")(nodes)


def test_the_command_is_listed_and_runs(kgnn):
    assert "Count the nodes of a dataset" in kgnn("--help").out
    assert kgnn("nodes", "cycles-and-trees").out == f"{load('cycles-and-trees').n_nodes}\n"
    assert kgnn("nodes", "cycles-and-trees", "--most", "5").out == "5\n"


def test_misuse_is_one_line_and_code_2(kgnn):
    for arguments in (("nodes", "cycles-and-tres"), ("nodes", "cycles-and-trees", "--most", "-1")):
        done = kgnn(*arguments)
        assert done.code == 2
        assert "Traceback" not in done.err
