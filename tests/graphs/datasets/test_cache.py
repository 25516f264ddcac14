"""The cache saves time, opens what was stored or builds it again, and never fails a load."""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from kgnn.errors import GraphDataError
from kgnn.graphs.datasets import cache
from kgnn.graphs.datasets.cache import cache_folder, cached
from kgnn.graphs.datasets.toy import cycles_and_trees, planted_motifs
from kgnn.graphs.packing import pack
from tests.graphs.strategies import datasets


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("KGNN_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def build():
    def build():
        build.calls += 1
        return cycles_and_trees(6)

    build.calls = 0
    return build


def test_the_second_time_the_arrays_are_opened(folder, build):
    first, second = cached("toy", 1, build=build), cached("toy", 1, build=build)
    assert build.calls == 1
    assert first.fingerprint == second.fingerprint
    assert isinstance(second.neighbors.base, np.memmap)


def test_another_key_is_another_entry(folder, build):
    cached("toy", 1, build=build)
    cached("toy", 2, build=build)
    assert build.calls == 2


def test_a_damaged_entry_is_built_again_and_replaced(folder, build):
    cached("toy", 1, build=build)
    (entry,) = (folder / "arrays").iterdir()
    (entry / "neighbors.npy").write_bytes(b"junk")
    assert cached("toy", 1, build=build).fingerprint == cycles_and_trees(6).fingerprint
    cached("toy", 1, build=build)
    assert build.calls == 2


def test_an_entry_of_another_layout_is_built_again(folder, build, monkeypatch):
    cached("toy", 1, build=build)
    monkeypatch.setattr("kgnn.graphs.datasets.cache.LAYOUT", -1)
    cached("toy", 1, build=build)
    assert build.calls == 2


def test_a_cache_that_cannot_be_written_to_is_done_without(tmp_path, build, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("KGNN_CACHE", str(tmp_path / "file"))
    assert len(cached("toy", 1, build=build)) == 6


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {"XDG_CACHE_HOME": "/x"}, "/x/kgnn"),
        ("linux", {}, "~/.cache/kgnn"),
        ("darwin", {}, "~/Library/Caches/kgnn"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/kgnn"),
        ("linux", {"KGNN_CACHE": "~/mine"}, "~/mine"),
    ],
)
def test_the_folder_is_where_the_platform_keeps_caches(monkeypatch, platform, variables, expected):
    for name in ("KGNN_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", platform)
    assert cache_folder() == Path(os.path.expanduser(expected))  # noqa: PTH111


def test_an_entry_that_is_damaged_in_its_content_is_built_again(folder, build):
    cached("toy", 1, build=build)
    (entry,) = (folder / "arrays").iterdir()
    neighbors = np.load(entry / "neighbors.npy")
    neighbors[0] = -7
    np.save(entry / "neighbors.npy", neighbors)
    assert cached("toy", 1, build=build).fingerprint == cycles_and_trees(6).fingerprint
    assert build.calls == 2


@given(datasets(min_graphs=0))
def test_a_stored_dataset_comes_back(tmp_path_factory, dataset):
    folder = tmp_path_factory.mktemp("store") / "entry"
    cache.save(dataset, folder)
    opened = cache.open_folder(folder)
    assert (opened.name, opened.fingerprint) == (dataset.name, dataset.fingerprint)
    assert opened[:].fingerprint == dataset.fingerprint  # computed anew


def test_opening_copies_no_array(tmp_path):
    cache.save(planted_motifs(10), tmp_path / "entry")
    assert isinstance(cache.open_folder(tmp_path / "entry").neighbors.base, np.memmap)


def test_an_opened_dataset_cannot_be_written_to(tmp_path):
    cache.save(planted_motifs(10), tmp_path / "entry")
    with pytest.raises(ValueError, match="read-only"):
        cache.open_folder(tmp_path / "entry").neighbors[0] = 1


def test_nothing_but_the_entry_is_left_behind(tmp_path):
    cache.save(planted_motifs(10), tmp_path / "entry")
    assert [path.name for path in tmp_path.iterdir()] == ["entry"]


def test_failing_to_write_leaves_nothing_behind(tmp_path, monkeypatch):
    def fail(*_):
        raise OSError("the disk is full")

    monkeypatch.setattr(cache, "_write", fail)
    with pytest.raises(OSError, match="full"):
        cache.save(planted_motifs(10), tmp_path / "entry")
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
    cache.save(planted_motifs(10), tmp_path / "entry")
    damage(tmp_path / "entry")
    with pytest.raises(GraphDataError, match="is not a stored dataset"):
        cache.open_folder(tmp_path / "entry")


def _save_often(folder, start):
    dataset = pack("shared", [2000], np.arange(1999), np.arange(1, 2000))
    while time.time() < start:
        pass
    for number in range(20):
        cache.save(dataset, folder / str(number))


def test_processes_that_save_the_same_do_not_disturb_each_other(tmp_path):
    context, start = multiprocessing.get_context("spawn"), time.time() + 3
    workers = [context.Process(target=_save_often, args=(tmp_path, start)) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0, 0]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(map(str, range(20)))
    assert {cache.open_folder(path).n_nodes for path in tmp_path.iterdir()} == {2000}
