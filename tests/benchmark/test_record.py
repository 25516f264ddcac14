import shlex
from dataclasses import replace

import pytest

from kgnn.benchmark.record import Cell
from kgnn.estimator.parameters import parse
from kgnn.methods.wl import WL

CELL = Cell("PROTEINS", "a3", "wl", {"iterations": (1, 2), "counts": ("log",)}, seed=4)


def test_the_key_is_the_same_in_all_processes_and_versions():
    assert Cell("PROTEINS", "a3", "wl", {"iterations": [1]}).key == "3eceb82655ee7ce9"


def test_content_decides_the_key():
    assert CELL.key == Cell("./here.zip", "a3", "wl", {**CELL.parameters}, seed=4).key
    reordered = dict(reversed(CELL.parameters.items()))
    assert CELL.key == Cell("PROTEINS", "a3", "wl", reordered, seed=4).key


@pytest.mark.parametrize(
    "change",
    [
        {"fingerprint": "a4"},
        {"method": "sp"},
        {"parameters": {}},
        {"protocol": "paper"},
        {"labels": 0.05},
        {"seed": 5},
        {"revision": 2},
        {"cases": 1},
    ],
)
def test_whatever_changes_the_result_changes_the_key(change):
    assert replace(CELL, **change).key != CELL.key


def test_tuples_are_lists_as_in_the_file():
    assert CELL.parameters == {"iterations": [1, 2], "counts": ["log"]}
    assert hash(CELL) == hash(Cell("PROTEINS", "a3", "wl", CELL.parameters, seed=4))


def test_the_command_says_all_that_the_cell_does():
    words = shlex.split(Cell("my graphs.zip", "a3", "wl", CELL.parameters, "paper").command)
    assert words[:4] == ["kgnn", "run", "wl", "my graphs.zip"]
    assert words[words.index("--protocol") + 1] == "paper"
    settings = [word.removeprefix("--set=") for word in words if word.startswith("--set=")]
    assert parse(WL, settings) == {"iterations": (1, 2), "counts": ("log",)}
