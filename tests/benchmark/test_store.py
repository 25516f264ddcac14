import json
import math
from dataclasses import asdict, replace
from pathlib import Path
from threading import Thread

import pytest
from hypothesis import HealthCheck, given, settings

from kgnn.benchmark.record import Cell, OtherFormatError, Record
from kgnn.benchmark.store import Store
from kgnn.errors import KgnnError, KgnnWarning
from tests.graphs.mutations import mutated

CELL = Cell("PROTEINS", "a3", "wl", {"iterations": (1,)}, seed=2)
RESULT = {"accuracy": 70.0, "labeled": 10, "unlabeled": 50, "test": 20, "seconds": 1.5}
RECORD = Record(
    CELL,
    "done",
    {**RESULT, "rounds": [{"selected": 3, "precision": None}], "curves": {"gnn": [0.5]}},
    all_parameters={"iterations": (1,), "normalize": ("graph", None)},
    versions={"python": "3.11"},
    machine={"cores": 2},
    finished="2026-01-01T00:00:00+00:00",
)
OTHER = replace(RECORD, cell=replace(CELL, seed=3))


def changed(**changes):
    return json.dumps({**json.loads(RECORD.to_json()), **changes})


def changed_result(**changes):
    return changed(result={**RECORD.result, **changes})


def without(*names):
    return changed(result={k: v for k, v in RECORD.result.items() if k not in names})


def test_a_record_comes_back_as_it_was():
    assert Record.from_json(RECORD.to_json()) == RECORD


def test_a_record_is_readable_one_field_a_line():
    lines = RECORD.to_json().splitlines()
    assert json.loads(RECORD.to_json())["key"] == CELL.key
    assert [line.split('"')[1] for line in lines[1:-1]][:4] == ["format", "key", "cell", "outcome"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (RECORD.to_json()[:-40], "not a record"),
        ("[1, 2]", "not a record"),
        ('{"title": "something else"}', "not a record"),
        (changed(outcome="splendid"), "'splendid'"),
        (changed(cell={**asdict(CELL), "seed": 3}), "its key is"),
        (changed(cell={"method": "wl"}), "damaged record: its cell lacks 'dataset'"),
        (changed(cell=["wl"]), "damaged record: 'cell' is not a dict"),
        (changed(surprise=1), "damaged record: a record has no 'surprise'"),
        (f'{{"format": 1, "key": "{CELL.key}"}}', "damaged record: its record lacks 'cell'"),
        (changed(result=None), "'result' is not of type dict"),
        (changed(machine=[]), "'machine' is not of type dict"),
        (changed(cell={**asdict(CELL), "dataset": None}), "'dataset' is not of type str"),
        (without("accuracy"), "'result.accuracy' must be a number from 0 to 100, and it is miss"),
        (changed_result(accuracy="high"), "from 0 to 100, got 'high'"),
        (changed_result(accuracy=7747.0), "from 0 to 100, got 7747.0"),
        (changed_result(accuracy=math.nan), "from 0 to 100, got None"),
        (changed_result(accuracy=True), "from 0 to 100, got True"),
        (changed_result(validation_accuracy=101), "'result.validation_accuracy' must be a number"),
        (without("seconds"), "'result.seconds' must be a number from 0, and it is missing"),
        (changed_result(seconds=-1), "'result.seconds' must be a number from 0, got -1"),
        (changed_result(test=None), "'result.test' must be a number from 0, got None"),
        (changed_result(rounds=5), "'result.rounds' is not of type list"),
        ("[" * 9999, "not a record"),
        (b"\xff\xfe", "not a record"),
    ],
)
def test_what_is_no_record_is_left_out_by_name_and_run_again(text, message, tmp_path, caplog):
    store = Store(tmp_path)
    store.put(RECORD)
    store.put(OTHER)
    store.path(CELL).write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.warns(KgnnWarning, match=message) as told:
        assert list(store) == [OTHER]
    (warning,) = told
    assert str(warning.message).startswith(str(store.path(CELL)))
    assert str(warning.message).endswith("delete it, or run its grid again, which replaces it.")
    assert store.get(CELL) is None
    assert "will run again" in caplog.text
    store.put(RECORD)
    assert store.get(CELL) == RECORD


def test_a_record_of_a_later_version_is_not_overwritten(tmp_path):
    store = Store(tmp_path)
    store.put(RECORD)
    store.path(CELL).write_text(changed(format=2, surprise=1))
    with pytest.raises(OtherFormatError, match=r"another version of kgnn \(format 2"):
        store.get(CELL)
    with pytest.warns(KgnnWarning, match=r"use that version, or another store. It is left out.$"):
        assert not list(store)


def test_numbers_that_there_may_be_none_of_are_not_asked_for():
    text = changed_result(coverage=None, accuracy_without_twins=None)
    assert Record.from_json(text).result["coverage"] is None
    unfinished = replace(RECORD, outcome="failed", result={})
    assert Record.from_json(unfinished.to_json()) == unfinished


def test_cells_of_one_name_do_not_share_a_record(tmp_path):
    store = Store(tmp_path)
    store.put(RECORD)
    assert store.get(Cell("PROTEINS", "a3", "wl", {"iterations": (2,)}, seed=2)) is None
    assert store.get(Cell("./elsewhere/PROTEINS", "a3", "wl", {"iterations": (1,)}, seed=2))


def test_nobody_sees_half_a_record(tmp_path):
    store = Store(tmp_path)
    records = [
        Record(CELL, "done", {**RESULT, "curves": {"gnn": [value] * 10_000}})
        for value in (0.1, 0.2)
    ]
    store.put(records[0])
    writer = Thread(target=lambda: [store.put(each) for each in 10 * records])
    writer.start()
    while writer.is_alive():
        assert store.get(CELL) in records
        assert len(list(store)) == 1
    writer.join()
    assert [path.name for path in tmp_path.rglob("*.*")] == [store.path(CELL).name]


def test_a_store_that_is_not_there_is_empty_for_cells_but_not_for_readers(tmp_path):
    store = Store(tmp_path / "nothing")
    assert store.get(CELL) is None
    with pytest.raises(KgnnError, match="There is no folder"):
        list(store)


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(content=mutated(RECORD.to_json().encode()))
def test_a_damaged_record_is_refused_by_name_or_can_be_used(tmp_path, content):
    path = tmp_path / "PROTEINS" / "record.json"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    try:
        (record,) = Store(tmp_path)
    except KgnnWarning as warning:  # which is an error in tests
        told = str(warning)
        assert str(path) in told
    else:
        assert record.cell.key == CELL.key
        assert str(record.cell)
        assert Record.from_json(record.to_json()) == record or "NaN" in record.to_json()


def test_a_loss_that_ran_away_is_recorded_as_json_that_anybody_reads():
    result = {**RESULT, "curves": {"gnn": [0.7, math.inf, math.nan]}}
    record = Record(Cell("PROTEINS", "a3", "gnn-sup"), "done", result)

    def refuse(constant):
        pytest.fail(f"{constant} is not JSON")

    read = json.loads(record.to_json(), parse_constant=refuse)
    assert read["result"]["curves"]["gnn"] == [0.7, None, None]
    assert Record.from_json(record.to_json()) == record


def test_a_file_where_a_folder_should_be_is_named(tmp_path):
    (tmp_path / "mine.csv").write_text("")
    with pytest.raises(KgnnError, match=r"folder .*mine.csv/PROTEINS, but that is a file"):
        Store(tmp_path / "mine.csv").get(CELL)


def test_the_same_data_by_another_name_has_been_run(tmp_path):
    store = Store(tmp_path)
    store.put(RECORD)
    assert store.get(replace(CELL, dataset="copy-of-proteins.jsonl")) == RECORD


def test_what_cannot_be_read_in_a_store_is_left_out_by_name(tmp_path):
    store = Store(tmp_path)
    store.put(RECORD)
    (tmp_path / "nowhere.json").symlink_to(tmp_path / "missing")
    (tmp_path / "folder.json").mkdir()
    with pytest.warns(KgnnWarning) as told:
        assert list(store) == [RECORD]
    assert {Path(str(each.message).split()[0]).name for each in told} == {
        "nowhere.json",
        "folder.json",
    }
