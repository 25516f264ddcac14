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
