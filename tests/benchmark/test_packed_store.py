"""A packed store tells what its single files told, whatever happens while it is packed."""

import json
import os
import pickle
import subprocess
import sys
import warnings
from dataclasses import asdict, replace
from pathlib import Path
from threading import Thread

import pytest
from hypothesis import HealthCheck, given, settings

from kgnn.benchmark.record import Cell, OtherFormatError, Record
from kgnn.benchmark.running import run_missing
from kgnn.benchmark.store import Packing, Store, StoreInUseError
from kgnn.errors import KgnnError, KgnnWarning
from tests.benchmark.test_running import Engine, never
from tests.graphs.mutations import mutated

RESULT = {"accuracy": 70.0, "labeled": 10, "unlabeled": 50, "test": 20, "seconds": 1.5}
OLDER, NEWER = "2026-01-01T00:00:00+00:00", "2027-01-01T00:00:00+00:00"


def record(dataset="A", method="wl", seed=0, **more):
    own = {key: more.pop(key) for key in ("labels", "parameters", "revision") if key in more}
    cell = Cell(dataset, f"of-{dataset}", method, seed=seed, **own)
    return replace(Record(cell, "done", RESULT, finished=OLDER), **more)


RECORDS = [
    record(dataset, method, seed)
    for dataset in ("A", "B c")
    for method in ("kgnn", "wl")
    for seed in (0, 2, 10)
] + [
    record(labels="5/class"),
    record(labels=20),
    record(labels=0.5, parameters={"iterations": [1, 2]}),
    record(
        seed=3, reason='a\nline, a "quote", é, \u2028 and \ud800'.encode(errors="ignore").decode()
    ),
    record("B c", "gk", outcome="failed", result={}, reason="out of memory"),
    record("B c", "sp", outcome="declined", result={}, reason="not for me"),
]


@pytest.fixture
def store(tmp_path):
    return filled(tmp_path / "store")


def filled(folder, records=RECORDS):
    store = Store(folder)
    for each in records:
        store.put(each)
    return store


def files(store):
    """All files with their content; hidden ones are left out."""
    paths = sorted(store.folder.rglob("[!.]*"))
    return {p.relative_to(store.folder).as_posix(): p.read_bytes() for p in paths if p.is_file()}


def line_of(store, wanted):
    """Return the packed file with a record, and its number in there."""
    for path in store.folder.glob("*.jsonl"):
        for number, line in enumerate(path.read_text().splitlines()):
            if json.loads(line)["key"] == wanted.cell.key:
                return path, number
    raise LookupError(wanted)


def change(store, wanted, line):
    """Put another line in place of that of a record, and return where."""
    path, number = line_of(store, wanted)
    lines = path.read_bytes().split(b"\n")
    lines[number] = line if isinstance(line, bytes) else line.encode()
    path.write_bytes(b"\n".join(lines))
    return path, number + 1


def test_packed_records_are_the_same_in_the_same_order(store):
    before = list(store)
    assert store.pack() == Packing(len(RECORDS), 2, len(RECORDS), 0)
    assert list(files(store)) == ["A.jsonl", "B-c.jsonl"]
    assert len(list(store.folder.iterdir())) == 2  # nor hidden ones
    for again in (store, Store(store.folder)):
        assert list(again) == before
        assert [again.get(each.cell) for each in RECORDS] == RECORDS
    assert store.get(record(seed=99).cell) is None
    assert store.get(replace(RECORDS[0].cell, dataset="elsewhere/a.jsonl")) == RECORDS[0]


def test_lines_are_records_with_their_keys_in_order(store):
    store.pack()
    for content in files(store).values():
        for line in content.decode("ascii").splitlines():
            values = json.loads(line)
            assert list(values)[:4] == ["format", "key", "cell", "outcome"]
            assert Record.from_json(line).cell == Cell(**values["cell"])


def test_a_new_record_is_one_more_line(store, tmp_path):
    """Whatever came first: what is packed twice is as what is packed at once."""
    store.pack()
    before = (store.folder / "A.jsonl").read_text().splitlines()
    other = (store.folder / "B-c.jsonl").read_bytes()
    new = record("A", "kgnn", 9)
    store.put(new)
    assert store.pack().singles == 1
    after = (store.folder / "A.jsonl").read_text().splitlines()
    assert [line for line in after if line not in before] == [new.to_line().strip()]
    assert [line for line in after if line in before] == before
    assert (store.folder / "B-c.jsonl").read_bytes() == other
    at_once = filled(tmp_path / "at-once", [new, *reversed(RECORDS)])
    at_once.pack()
    assert files(at_once) == files(store)
    named = [json.loads(line)["cell"] for line in after]
    assert [(each["method"], each["seed"]) for each in named][:5] == [
        *(("kgnn", seed) for seed in (0, 2, 9, 10)),
        ("wl", 0),
    ]


def test_packing_again_changes_nothing(store):
    store.pack()
    before = files(store)
    assert store.pack() == Packing(len(RECORDS), 2, 0, 0)
    assert files(store) == before


def test_a_run_goes_on_in_a_packed_store(tmp_path):
    store, sizes = Store(tmp_path), {"A": 1.0}
    cells = [record(seed=seed).cell for seed in range(6)]
    run_missing(cells[:4], store, Engine(failing=cells[:1]), sizes)
    store.pack()
    again = Engine()
    assert run_missing(cells, store, again, sizes).found == 3
    assert set(again.ran) == {cells[0], *cells[4:]}
    assert len(list(store.folder.rglob("*.json"))) == 3
    assert run_missing(cells, Store(tmp_path), never, sizes).found == 6
    store.pack()
    assert list(files(store)) == ["A.jsonl"]
    assert run_missing(cells, Store(tmp_path), never, sizes).found == 6


FAILED = {"outcome": "failed", "result": {}, "reason": "killed"}


@pytest.mark.parametrize(
    ("packed", "single", "wanted"),
    [
        ({}, {**FAILED, "finished": NEWER}, "packed"),
        ({**FAILED, "finished": NEWER}, {}, "single"),
        ({}, {"finished": NEWER}, "single"),
        ({"finished": NEWER}, {}, "packed"),
        ({}, {}, "packed"),
    ],
)
def test_the_better_of_both_forms_counts_once(tmp_path, packed, single, wanted):
    made = {"packed": record(**packed), "single": record(**single)}
    store = filled(tmp_path, [made["packed"]])
    store.pack()
    store.put(made["single"])
    for again in (store, Store(tmp_path)):
        assert list(again) == [made[wanted]]
        assert again.get(made["single"].cell) == made[wanted]
    assert store.pack().records == 1
    assert list(store) == [made[wanted]]
    assert list(files(store)) == ["A.jsonl"]


def test_records_of_a_merge_count_once(store):
    """Git may leave both sides of a conflict."""
    store.pack()
    path = store.folder / "A.jsonl"
    path.write_bytes(path.read_bytes() * 2)
    assert len(list(store)) == len(RECORDS)
    assert store.pack().records == len(RECORDS)
    assert len(path.read_text().splitlines()) == len([r for r in RECORDS if r.cell.dataset == "A"])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (RECORDS[0].to_line()[:-40], "is not a record"),
        ("<<<<<<< HEAD", "is not a record"),
        (b"\xff\xfe", "is not a record"),
        ("{}", "must have a 'format' and a 'key'"),
        (RECORDS[0].to_line().strip().replace('"seed": 0', '"seed": 1'), "says that its key is"),
        (
            RECORDS[0].to_line().strip().replace('"seed": 0', '"seed": "0"'),
            "'seed' is not of type int",
        ),
    ],
)
def test_a_damaged_line_is_named_and_the_others_are_read(store, line, message, caplog):
    store.pack()
    path, number = change(store, RECORDS[0], line)
    place = f"{path}, line {number} "
    with pytest.warns(KgnnWarning, match=message) as told:
        assert len(list(store)) == len(RECORDS) - 1
    assert [str(each.message).startswith(place) for each in told] == [True]
    assert store.get(RECORDS[0].cell) is None
    assert store.get(RECORDS[1].cell) == RECORDS[1]
    assert caplog.text.count(place) == 1
    store.put(RECORDS[0])  # as the next run does
    assert store.get(RECORDS[0].cell) == RECORDS[0]
    before = files(store)
    with pytest.raises(KgnnError, match="Nothing was packed") as refused:
        store.pack()
    assert str(refused.value).startswith(place)
    assert files(store) == before
    lines = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join([*lines[: number - 1], *lines[number:]]))
    assert store.pack().records == len(RECORDS)


def test_many_damaged_lines_are_summed_up(tmp_path):
    store = filled(tmp_path)
    (tmp_path / "graphs.jsonl").write_text('{"edges": []}\n' * 1000)
    with pytest.warns(KgnnWarning) as told:
        assert len(list(store)) == len(RECORDS)
    assert len(told) < 10
    assert "995 more lines" in str(told[-1].message)


def test_a_file_of_something_else_is_never_packed_into(tmp_path):
    store = filled(tmp_path / "store", [record("graphs")])
    (store.folder / "graphs.jsonl").write_text('{"edges": []}\n')
    before = files(store)
    with pytest.raises(KgnnError, match=r"graphs.jsonl, line 1 is not a record"):
        store.pack()
    assert files(store) == before


def test_what_cannot_be_read_of_single_files_stays(store):
    path = store.path(RECORDS[0].cell)
    path.write_text("{")
    with pytest.warns(KgnnWarning, match="It stays where it is: delete it, or run its grid again"):
        assert store.pack().singles == len(RECORDS) - 1
    assert path.read_text() == "{"
    store.put(RECORDS[0])
    assert store.get(RECORDS[0].cell) == RECORDS[0]
    assert store.pack().records == len(RECORDS)


def test_a_line_of_a_later_version_is_neither_run_again_nor_packed(store):
    store.pack()
    later = json.dumps({**json.loads(RECORDS[0].to_line()), "format": 2, "surprise": 1})
    change(store, RECORDS[0], later)
    before = files(store)
    assert store.get(RECORDS[1].cell) == RECORDS[1]
    for call in (lambda: store.get(RECORDS[0].cell), store.pack):
        with pytest.raises(KgnnError, match=r"another version of kgnn \(format 2"):
            call()
    with pytest.raises(OtherFormatError):
        store.get(RECORDS[0].cell)
    assert files(store) == before


def test_a_store_that_is_being_filled_is_not_packed_and_the_other_way_round(store):
    before = files(store)
    with store.locked():
        with pytest.raises(StoreInUseError, match=f"process {os.getpid()} on"):
            Store(store.folder).pack()
        assert files(store) == before
    store.pack()


_KILLED = """
import os, sys
from pathlib import Path
from kgnn.benchmark.store import Store

left = int(sys.argv[2])

def striking(name, call):
    def struck(path, *arguments, **options):
        global left
        is_record = not path.name.startswith(".lock")
        left -= is_record
        if is_record and left == 0:
            os._exit(9)
        return call(path, *arguments, **options)
    return struck

for name in ("write_bytes", "replace", "unlink", "rmdir"):
    setattr(Path, name, striking(name, getattr(Path, name)))
Store(sys.argv[1]).pack()
"""


def test_nothing_is_lost_or_twice_when_packing_is_killed(tmp_path):
    """At every call that writes, as if the power went out just before it."""
    few = [*RECORDS[:2], RECORDS[6]]
    whole = filled(tmp_path / "whole", few)
    wanted = list(whole)
    whole.pack()
    stages = set()
    for strike in range(1, 40):
        store = filled(tmp_path / f"killed-{strike}", few)
        done = subprocess.run(
            [sys.executable, "-c", _KILLED, store.folder, str(strike)], check=False, timeout=60
        )
        stages.add(tuple(name for name in files(store) if "kgnn" not in Path(name).suffix))
        assert list(store) == wanted
        assert [store.get(each.cell) for each in few] == few
        store.pack()
        assert files(store) == files(whole)
        if done.returncode == 0:
            break
    assert done.returncode == 0
    assert len(stages) >= 5  # single files, both forms, a part of both, packed ones


def test_what_is_written_wrongly_replaces_nothing(store, monkeypatch):
    before = files(store)
    write = Path.write_bytes
    monkeypatch.setattr(Path, "write_bytes", lambda path, content: write(path, content[:-300]))
    with pytest.raises(KgnnError, match="nothing was removed"):
        store.pack()
    monkeypatch.undo()
    assert files(store) == before


def test_a_record_that_a_worker_writes_while_it_is_packed_is_kept(store, monkeypatch):
    """A worker of a killed run may finish its cell after the lock is free."""
    late = replace(RECORDS[0], finished=NEWER)
    from kgnn.benchmark import store as module

    write = module._write_lines

    def writing(path, records):
        write(path, records)
        if path.name == "A.jsonl":
            store.put(late)

    monkeypatch.setattr(module, "_write_lines", writing)
    store.pack()
    monkeypatch.undo()
    assert store.get(late.cell) == late


def test_readers_find_every_record_while_the_store_is_packed(tmp_path):
    store = filled(tmp_path)
    errors = []

    def pack():
        try:
            for _ in range(10):
                store.pack()
                for each in RECORDS[:8]:
                    store.put(each)
        except Exception as error:
            errors.append(error)

    packer = Thread(target=pack)
    packer.start()
    reader = Store(tmp_path)
    while packer.is_alive():
        assert len(list(reader)) == len(RECORDS)
        assert None not in reader.find([each.cell for each in RECORDS])
    packer.join()
    assert not errors


def test_what_another_process_packs_is_seen(store):
    store.pack()
    assert store.get(RECORDS[0].cell) == RECORDS[0]
    new = record("A", "kgnn", 9)
    other = Store(store.folder)
    other.put(new)
    other.pack()
    assert store.get(new.cell) == new


def test_older_revisions_are_dropped_where_there_are_newer_results(tmp_path):
    old, new = record(revision=1), record(revision=2)
    only_old = record("B", "gk", revision=1)
    old_elsewhere = record("B", revision=1)
    newer_failed = record("B", "gk", revision=2, outcome="failed", result={})
    made = [old, new, only_old, old_elsewhere, newer_failed]
    store = filled(tmp_path, made)
    assert store.pack().outdated == 0
    assert len(list(store)) == 5
    assert store.pack(newest=True) == Packing(3, 2, 0, 2)
    assert list(store) == [new, newer_failed, only_old]
    store.put(record("B", "gk", revision=3))
    store.put(record("C", "gk", revision=3))
    assert store.pack(newest=True) == Packing(3, 3, 2, 2)
    store.put(record("C", "gk", revision=4))
    store.pack(newest=True)
    assert set(files(store)) == {"A.jsonl", "C.jsonl"}  # nothing is left of B


def test_a_folder_of_stores_is_not_taken_for_one(tmp_path):
    inner = filled(tmp_path / "studies" / "few")
    before = files(inner)
    for packed in (False, True):
        if packed:
            inner.pack()
        with pytest.raises(KgnnError, match="Pass the stores in it, such as .*few"):
            Store(tmp_path / "studies").pack()
        assert len(list(Store(tmp_path / "studies"))) == len(RECORDS)
    assert files(inner) != before
    with pytest.raises(KgnnError, match="There is no folder"):
        Store(tmp_path / "nothing").pack()
    assert not (tmp_path / "nothing").exists()


def test_a_dataset_may_be_called_as_a_packed_file(tmp_path):
    made = [record("graphs.jsonl"), record("my.graphs")]
    store = filled(tmp_path / "store", made)
    assert list(store) == made
    store.pack()
    assert set(files(store)) == {"graphs.jsonl.jsonl", "my.graphs.jsonl"}
    assert list(store) == made
    both = filled(tmp_path / "both", [record("graphs"), record("graphs.jsonl")])
    with pytest.raises(KgnnError, match="but that is a folder of another"):
        both.pack()
    assert len(list(both)) == 2


def test_what_a_worker_is_sent_does_not_grow_with_the_store(store):
    store.pack()
    store.find([each.cell for each in RECORDS])
    sent = pickle.dumps(store.put)
    assert len(sent) < 1000
    pickle.loads(sent)(record("new"))
    assert store.get(record("new").cell) == record("new")


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(content=mutated("".join(each.to_line() for each in RECORDS[:3]).encode()))
def test_whatever_a_packed_file_holds_is_named_or_can_be_used(tmp_path, content):
    path = tmp_path / "A.jsonl"
    path.write_bytes(content)
    known = {each.cell.key for each in RECORDS}
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = list(Store(tmp_path))
    assert all(str(path) in str(each.message) for each in told)
    assert {each.cell.key for each in found} <= known
    if found and not told:
        Store(tmp_path).pack()
        assert [asdict(each) for each in Store(tmp_path)] == [asdict(each) for each in found] or (
            b"NaN" in content or b"Infinity" in content
        )
