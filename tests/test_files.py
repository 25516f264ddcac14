import os
import time
from pathlib import Path

import pytest

from kgnn.errors import KgnnError
from kgnn.files import making_folder, replacing, write_text
from kgnn.graphs.datasets.toy import cycles_and_trees
from kgnn.methods.wl import WL


def test_a_file_is_replaced_as_a_whole(tmp_path):
    path = tmp_path / "new" / "file.txt"
    write_text(path, "one")
    write_text(path, "two")
    assert path.read_text() == "two"
    assert [f.name for f in path.parent.iterdir()] == ["file.txt"]


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "file.txt"
    write_text(path, "old")

    def fail_halfway():
        with replacing(path) as aside:
            aside.write_text("half")
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        fail_halfway()
    assert path.read_text() == "old"
    assert [f.name for f in tmp_path.iterdir()] == ["file.txt"]


def test_a_link_stays_and_what_it_leads_to_is_written(tmp_path):
    target, link = tmp_path / "target.txt", tmp_path / "link.txt"
    target.write_text("old")
    link.symlink_to(target)
    write_text(link, "new")
    assert (link.is_symlink(), target.read_text()) == (True, "new")


def test_a_pipe_is_written_to_and_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_text(pipe, "told")
        assert os.read(reader, 10) == b"told"
    finally:
        os.close(reader)
    assert pipe.is_fifo()


def test_what_replaces_a_file_is_on_the_disk_before_and_its_name_after(tmp_path, monkeypatch):
    happened = []
    fsync, replace = os.fsync, type(tmp_path).replace

    def told_fsync(place):
        happened.append(Path(f"/proc/self/fd/{place}").readlink())
        fsync(place)

    def told_replace(self, target):
        happened.append("rename")
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", told_fsync)
    monkeypatch.setattr(type(tmp_path), "replace", told_replace)
    write_text(tmp_path / "file.txt", "new")
    aside, rename, folder = happened
    assert (aside.parent, rename, folder) == (tmp_path, "rename", tmp_path)


def test_what_a_killed_process_left_is_removed_once_it_is_old(tmp_path):
    def leave(name):
        if (pid := os.fork()) == 0:
            with replacing(tmp_path / name) as aside:
                aside.write_text("half")
                os._exit(9)
        os.waitpid(pid, 0)

    leave("one.txt")
    leave("two.txt")
    old, new = sorted(tmp_path.iterdir())
    os.utime(old, (0, time.time() - 2 * 86400))
    own = tmp_path / ".own-01234567"
    own.touch()
    os.utime(own, (0, 0))  # of somebody else, however old
    write_text(tmp_path / "three.txt", "whole")
    assert sorted(tmp_path.iterdir()) == sorted([new, own, tmp_path / "three.txt"])


def test_a_folder_is_made_as_a_whole_or_stays_as_it_was(tmp_path):
    def make(text, fails=False):
        with making_folder(tmp_path / "made") as aside:
            (aside / "file.txt").write_text(text)
            if fails:
                raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        make("half", fails=True)
    assert not list(tmp_path.iterdir())
    make("first")
    make("second")  # as good as the first
    assert (tmp_path / "made" / "file.txt").read_text() == "first"
    assert [each.name for each in tmp_path.iterdir()] == ["made"]


def test_a_long_name_can_be_written(tmp_path):
    path = tmp_path / ("ü" * 120)
    write_text(path, "text")
    assert list(tmp_path.iterdir()) == [path]


def test_an_empty_place_is_refused():
    graphs = cycles_and_trees(8)
    with pytest.raises(KgnnError, match="empty text"):
        WL().fit(graphs).save("")
