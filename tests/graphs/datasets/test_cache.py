"""The cache saves time and never stands in the way."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest

from kgnn.graphs.datasets.cache import cache_folder, cached
from kgnn.graphs.datasets.toy import cycles_and_trees


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
    monkeypatch.setattr("kgnn.graphs.datasets.store.LAYOUT", -1)
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
