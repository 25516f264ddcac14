"""A zip is read without trust: nothing leaves its folder, nothing explodes, damage is named."""

from __future__ import annotations

import re
import struct
import subprocess
import sys
import zipfile

import pytest

from kgnn.errors import ArchiveError, DatasetUnavailableError, GraphDataError
from kgnn.graphs.readers import archive, tu
from kgnn.graphs.readers.archive import TextFiles
from tests.graphs.tu_files import zipped


def read_all(path) -> dict[str, bytes]:
    files = TextFiles(path)
    return {name: b"".join(files.chunks(name)) for name in files.names()}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "data.zip"


class TestReading:
    def test_files_are_known_by_their_name_without_folders(self, path):
        path.write_bytes(zipped({"a/b/one.txt": "1\n", "two.txt": "2"}))
        assert read_all(path) == {"one.txt": b"1\n", "two.txt": b"2\n"}

    def test_a_folder_reads_like_a_zip(self, tmp_path):
        (tmp_path / "one.txt").write_text("1\n")
        (tmp_path / "sub").mkdir()
        assert read_all(tmp_path) == {"one.txt": b"1\n"}

    @pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
    @pytest.mark.parametrize(
        "text", ["", "\n\n", "1\n", "1", "1\n22\n333\n", "1\n\n\n2\n\n", "1\r\n\r\n2\r\n\r\n"]
    )
    def test_pieces_are_whole_lines_without_blank_ones_at_the_end(self, tmp_path, text, size):
        (tmp_path / "one.txt").write_bytes(text.encode())
        pieces = list(TextFiles(tmp_path).chunks("one.txt", size))
        assert all(piece.endswith(b"\n") for piece in pieces)
        lines = b"".join(pieces).decode().replace("\r", "").splitlines()
        assert lines == text.replace("\r", "").rstrip().splitlines()

    def test_a_line_without_end_is_refused(self, tmp_path, monkeypatch):
        monkeypatch.setattr(archive, "MAX_LINE_BYTES", 10)
        (tmp_path / "one.txt").write_text("1" * 30)
        with pytest.raises(GraphDataError, match="over 10 bytes"):
            list(TextFiles(tmp_path).chunks("one.txt", 4))

    def test_what_is_not_there_is_said_so(self, tmp_path):
        with pytest.raises(DatasetUnavailableError, match=r"There is no file or folder .*none"):
            TextFiles(tmp_path / "none")


class TestTraversal:
    @pytest.mark.parametrize(
        "name", ["../x.txt", "a/../../x.txt", "/etc/x.txt", "..\\x.txt", "C:\\x.txt", "c:x.txt"]
    )
    def test_a_file_outside_the_folder_is_refused(self, path, name):
        path.write_bytes(zipped({"ok.txt": "1", name: "1"}))
        with pytest.raises(ArchiveError, match="outside its own folder"):
            TextFiles(path)

    def test_two_files_of_one_name_are_refused(self, path):
        path.write_bytes(zipped({"a/x.txt": "1", "b/x.txt": "2"}))
        with pytest.raises(ArchiveError, match=r"two files named 'x\.txt'"):
            TextFiles(path)

    def test_the_shadow_files_of_a_mac_are_passed_over(self, path):
        path.write_bytes(zipped({"a/x.txt": "1", "__MACOSX/a/x.txt": "junk"}))
        assert TextFiles(path).names() == ["x.txt"]


class TestBombs:
    def test_a_declared_size_beyond_the_limit_is_refused(self, path):
        path.write_bytes(zipped({"a.txt": "1" * 60, "b.txt": "1" * 60}))
        with pytest.raises(ArchiveError, match="unpacks to 120 bytes, more than the 100"):
            TextFiles(path, max_bytes=100)

    def test_a_high_ratio_is_refused(self, path, monkeypatch):
        monkeypatch.setattr(archive, "RATIO_FREE_BYTES", 1000)
        path.write_bytes(zipped({"a.txt": "1" * 1_000_000}))
        with pytest.raises(ArchiveError, match="claims to unpack"):
            TextFiles(path)

    def test_a_small_file_may_be_regular(self, path):
        path.write_bytes(zipped({"a.txt": "1\n" * 50_000}))
        assert len(read_all(path)["a.txt"]) == 100_000

    def test_too_many_files_are_refused(self, path, monkeypatch):
        monkeypatch.setattr(archive, "MAX_MEMBERS", 2)
        path.write_bytes(zipped({f"{n}.txt": "1" for n in range(3)}))
        with pytest.raises(ArchiveError, match="holds 3 files"):
            TextFiles(path)

    def test_a_file_that_lies_about_its_size_yields_no_more_than_declared(self, path):
        content = zipped({"a.txt": "1\n" * 5000})
        real, lie = struct.pack("<L", 10_000), struct.pack("<L", 100)
        path.write_bytes(content.replace(real, lie))
        with pytest.raises(ArchiveError, match="damaged"):
            read_all(path)


class TestDamage:
    @pytest.mark.parametrize("fraction", [0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99])
    def test_a_truncated_zip_is_named_as_such(self, path, fraction):
        content = zipped()
        path.write_bytes(content[: int(len(content) * fraction)])
        with pytest.raises(ArchiveError, match=r"data\.zip is truncated or not a zip archive"):
            tu.read(path)

    def test_a_hole_inside_a_file_is_damage(self, path):
        content = zipped({"TINY_A.txt": "1, 2\n" * 9999, "TINY_graph_indicator.txt": "1\n1\n"})
        start = content.index(b"TINY_A.txt") + 20
        path.write_bytes(content[:start] + content[start + 30 :])
        with pytest.raises(ArchiveError):
            tu.read(path)

    def test_a_wrong_checksum_is_damage(self, path):
        content = zipped({"a.txt": "1\n2\n3\n"}, zipfile.ZIP_STORED)
        path.write_bytes(content.replace(b"1\n2\n3\n", b"1\n2\n4\n"))
        with pytest.raises(ArchiveError, match=r"data\.zip:a\.txt is damaged.*CRC"):
            read_all(path)

    def test_an_encrypted_file_is_refused(self, path):
        content = bytearray(zipped({"a.txt": "1\n"}))
        content[content.index(b"PK\1\2") + 8] |= 1
        path.write_bytes(content)
        with pytest.raises(ArchiveError, match=r"encrypted \('a\.txt'\)"):
            TextFiles(path)

    def test_another_kind_of_file_is_no_zip(self, path):
        path.write_text("<html>404</html>")
        with pytest.raises(ArchiveError, match="not a zip archive"):
            TextFiles(path)

    def test_a_member_without_a_name_is_damage(self, path):
        content = zipped({"x_A.txt": "1, 2\n"}, compression=zipfile.ZIP_STORED)
        path.write_bytes(content.replace(b"x_A.txt", b"\0_A.txt"))
        with pytest.raises(ArchiveError, match="not a zip archive"):
            TextFiles(path)

    @pytest.mark.filterwarnings("ignore:.*unused files")  # of a file whose name was damaged
    @pytest.mark.parametrize("compression", [zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA])
    def test_no_damaged_byte_causes_anything_but_our_own_error(self, path, compression):
        content = zipped(compression=compression)
        for position in range(len(content)):
            damaged = bytearray(content)
            damaged[position] ^= 0xFF
            path.write_bytes(damaged)
            try:
                tu.read(path)
            except GraphDataError as error:
                assert str(path) in str(error)  # noqa: PT017


def test_memory_that_a_member_asks_for_and_does_not_get_is_damage(path):
    content = bytearray(zipped(compression=zipfile.ZIP_LZMA))
    for found in re.finditer(rb"\x09\x04\x05\x00\x5d", bytes(content)):  # the size of a dictionary
        content[found.end() : found.end() + 4] = b"\xff" * 4
    path.write_bytes(content)
    code = (
        "import resource, sys, pathlib\n"
        "from kgnn.errors import ArchiveError\n"
        "from kgnn.graphs.readers import tu\n"
        "resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))\n"
        "try:\n"
        "    tu.read(pathlib.Path(sys.argv[1]))\n"
        "except ArchiveError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, path], capture_output=True, text=True, check=True
    )
    assert "is damaged or truncated" in done.stdout


def test_a_file_that_may_not_be_opened_is_named(tmp_path):
    (tmp_path / "x_A.txt").write_text("1, 2\n")
    files = TextFiles(tmp_path)
    (tmp_path / "x_A.txt").unlink()
    with pytest.raises(GraphDataError, match=r"x_A\.txt cannot be read: No such file"):
        list(files.chunks("x_A.txt"))
