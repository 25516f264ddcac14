import os

import pytest

from kgnn.files import replacing, write_text


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
