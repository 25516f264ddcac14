import shlex
from dataclasses import replace

import pytest

from kgnn.benchmark.record import Cell, Record, RecordError
from kgnn.estimator.parameters import parse
from kgnn.evaluation.splits import parse_labels
from kgnn.methods.wl import WL
from tests.benchmark.stores import records, with_metrics

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
        {"labels": 20},
        {"labels": "20/class"},
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


@pytest.mark.parametrize("labels", [0.1, 20, "5/class"])
def test_labels_keep_their_kind_in_the_file_and_in_the_command(labels):
    cell = replace(CELL, protocol="budget", labels=labels)
    again = Record.from_json(Record(cell, "failed", reason="?").to_json())
    assert again.cell == cell
    assert type(again.cell.labels) is type(labels)
    words = shlex.split(cell.command)
    assert parse_labels(words[words.index("--labels") + 1]) == labels
    assert f"budget of {labels} labels" in str(cell)


@pytest.mark.parametrize("labels", [True, None, "many", [0.1]])
def test_labels_that_are_none_are_damage(labels):
    text = Record(replace(CELL, labels=labels), "failed", reason="?").to_json()
    with pytest.raises(RecordError, match="'labels' must be a number or like 5/class"):
        Record.from_json(text)


def test_numbers_of_a_result_are_in_their_range():
    [good] = with_metrics(records(["wl"], ["DD"], [0]))
    assert Record.from_json(good.to_json()) == good
    for name, value in (("roc_auc", 101), ("matthews", -101), ("log_loss", -1), ("recalls", 3)):
        bad = replace(good, result={**good.result, name: value})
        with pytest.raises(RecordError, match=f"'result.{name}'"):
            Record.from_json(bad.to_json())
    for name in ("roc_auc", "validation_accuracy", "expected_accuracy"):
        bare = replace(good, result={**good.result, name: None})
        assert Record.from_json(bare.to_json()) == bare
