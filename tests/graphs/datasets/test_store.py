"""A stored dataset opens as it was, or not at all."""

from __future__ import annotations

import json
import multiprocessing
import time

import numpy as np
import pytest
from hypothesis import given

from kgnn.errors import GraphDataError
from kgnn.graphs.datasets import store
from kgnn.graphs.datasets.toy import planted_motifs
from kgnn.graphs.packing import pack
from tests.graphs.strategies import datasets


@given(datasets(min_graphs=0))
def test_a_stored_dataset_comes_back(tmp_path_factory, dataset):
    folder = tmp_path_factory.mktemp("store") / "entry"
    store.save(dataset, folder)
    opened = store.open_folder(folder)
    assert (opened.name, opened.fingerprint) == (dataset.name, dataset.fingerprint)
    assert opened[:].fingerprint == dataset.fingerprint  # computed anew


def test_opening_copies_no_array(tmp_path):
    store.save(planted_motifs(10), tmp_path / "entry")
    assert isinstance(store.open_folder(tmp_path / "entry").neighbors.base, np.memmap)


def test_an_opened_dataset_cannot_be_written_to(tmp_path):
    store.save(planted_motifs(10), tmp_path / "entry")
    with pytest.raises(ValueError, match="read-only"):
        store.open_folder(tmp_path / "entry").neighbors[0] = 1


def test_nothing_but_the_entry_is_left_behind(tmp_path):
    store.save(planted_motifs(10), tmp_path / "entry")
    assert [path.name for path in tmp_path.iterdir()] == ["entry"]


def test_failing_to_write_leaves_nothing_behind(tmp_path, monkeypatch):
    def fail(*_):
        raise OSError("the disk is full")

    monkeypatch.setattr(store, "_write", fail)
    with pytest.raises(OSError, match="full"):
        store.save(planted_motifs(10), tmp_path / "entry")
    assert list(tmp_path.iterdir()) == []


def _truncate(folder):
    path = folder / "neighbors.npy"
    path.write_bytes(path.read_bytes()[:-8])


def _swap(folder):
    np.save(folder / "targets.npy", np.zeros(3, dtype=np.int64))


def _pickle(folder):
    np.save(folder / "targets.npy", np.array([{}] * 10), allow_pickle=True)


def _stray(folder):
    neighbors = np.load(folder / "neighbors.npy")
    neighbors[0] = 10**6
    np.save(folder / "neighbors.npy", neighbors)


def _header(old, new):
    def damage(folder):
        path = folder / "targets.npy"
        path.write_bytes(path.read_bytes().replace(old, new))

    return damage


def _meta(**changes):
    def damage(folder):
        meta = json.loads((folder / "dataset.json").read_text())
        meta = {key: value for key, value in (meta | changes).items() if value is not None}
        (folder / "dataset.json").write_text(json.dumps(meta))

    return damage


def _other_layout(folder):
    meta = json.loads((folder / "dataset.json").read_text())
    (folder / "dataset.json").write_text(json.dumps(meta | {"layout": -1}))


@pytest.mark.parametrize(
    "damage",
    [
        _truncate,
        _swap,
        _pickle,
        _other_layout,
        _stray,
        _header(b"(10,), }", b"(10,),  "),  # an end of Python's tokenizer
        _header(b"'<i8'", b"'<f8'"),
        _header(b"(10,), }" + b" " * 17, b"(9223372036854775808,), }"),
        _meta(fingerprint=None),
        _meta(
            fields={"name": 3, "class_names": [1], "node_label_names": [], "edge_label_names": []}
        ),
        lambda folder: (folder / "dataset.json").write_text("[" * 9999),
        lambda folder: (folder / "neighbors.npy").unlink(),
        lambda folder: (folder / "neighbors.npy").write_bytes(b""),
        lambda folder: (folder / "dataset.json").unlink(),
        lambda folder: (folder / "dataset.json").write_text('{"layout": '),
        lambda folder: (folder / "dataset.json").write_text("[]"),
        lambda folder: (folder / "dataset.json").write_text("{}"),
    ],
)
def test_a_damaged_entry_is_refused(tmp_path, damage):
    store.save(planted_motifs(10), tmp_path / "entry")
    damage(tmp_path / "entry")
    with pytest.raises(GraphDataError, match="is not a stored dataset"):
        store.open_folder(tmp_path / "entry")


def _save_often(folder, start):
    dataset = pack("shared", [2000], np.arange(1999), np.arange(1, 2000))
    while time.time() < start:
        pass
    for number in range(20):
        store.save(dataset, folder / str(number))


def test_processes_that_save_the_same_do_not_disturb_each_other(tmp_path):
    context, start = multiprocessing.get_context("spawn"), time.time() + 3
    workers = [context.Process(target=_save_often, args=(tmp_path, start)) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0, 0]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(map(str, range(20)))
    assert {store.open_folder(path).n_nodes for path in tmp_path.iterdir()} == {2000}
