"""Call the command line in this process, which is quicker than starting one."""

from __future__ import annotations

import sys
from typing import NamedTuple

import pytest

from kgnn.cli.main import main


class Done(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def kgnn(monkeypatch, capsys):
    """A function that runs ``kgnn`` with arguments and returns what came of it."""
    monkeypatch.setenv("COLUMNS", "200")

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["kgnn", *map(str, arguments)])
        code = 0
        try:
            main()
        except SystemExit as ended:
            code = ended.code or 0
        captured = capsys.readouterr()
        return Done(code, captured.out, captured.err)

    return call
