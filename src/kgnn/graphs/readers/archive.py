"""Read text files from a folder, or from an untrusted zip without extracting it."""

from __future__ import annotations

import codecs
import lzma
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO

from kgnn.errors import ArchiveError, DatasetUnavailableError, GraphDataError, excerpt

MAX_MEMBERS = 10_000
MAX_BYTES = 8 << 30
MAX_LINE_BYTES = 64 << 20
# Deflate cannot exceed about 1032:1; edge lists compress about 10:1, constant label files 1000:1.
# A small file may compress well, so the ratio counts only beyond this many bytes in all.
MAX_RATIO = 200
RATIO_FREE_BYTES = 64 << 20

# What `zipfile` and its decompressors raise for damaged bytes.
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    NotImplementedError,
    OSError,
    ValueError,
    LookupError,  # a member without a name
    MemoryError,  # LZMA allocates as much as the file asks for
)


class TextFiles:
    """The files of a folder or of a zip of at most ``max_bytes``, by name without folders."""

    def __init__(self, path: Path, max_bytes: int = MAX_BYTES) -> None:
        self.path = path
        if path.is_dir():
            members = sorted(path.iterdir())
            for file in members:
                if file.suffix == ".txt":  # datasets here only use .txt for files
                    require_file(file)
            self._members = {f.name: str(f) for f in members if f.is_file()}
        elif path.exists():
            self._members = _checked_members(path, max_bytes)
        else:
            raise DatasetUnavailableError(f"There is no file or folder {path}.")

    def names(self) -> list[str]:
        """Names of all files."""
        return sorted(self._members)

    def where(self, name: str) -> str:
        """Return the location of a file, for messages."""
        return str(self.path / name) if self.path.is_dir() else f"{self.path}:{self._members[name]}"

    def chunks(self, name: str, size: int = 1 << 23) -> Iterator[bytes]:
        """Yield a file in chunks of whole lines, without trailing blank lines."""
        rest = b""
        with self._open(name) as stream:
            is_start = True
            while piece := stream.read(size):
                piece = rest + piece
                if is_start:
                    piece, is_start = piece.removeprefix(codecs.BOM_UTF8), False
                cut = len(piece[: piece.rfind(b"\n") + 1].rstrip())
                if cut:
                    yield piece[:cut] + b"\n"
                    cut = piece.index(b"\n", cut) + 1
                rest = piece[cut:]
                if len(rest) > MAX_LINE_BYTES:
                    raise GraphDataError(
                        f"{self.where(name)}: a line is over {MAX_LINE_BYTES} bytes"
                    )
        if rest.strip():
            yield rest.rstrip() + b"\n"

    @contextmanager
    def _open(self, name: str) -> Iterator[IO[bytes]]:
        if self.path.is_dir():
            try:
                with Path(self._members[name]).open("rb") as stream:
                    yield stream
            except OSError as error:
                raise GraphDataError(
                    f"{self.where(name)} cannot be read: {error.strerror or error}"
                ) from error
            return
        # A member cannot exceed its size in the directory, which was checked.
        try:
            with zipfile.ZipFile(self.path) as archive, archive.open(self._members[name]) as stream:
                yield stream
        except GraphDataError:
            raise
        except _DAMAGE as error:
            raise ArchiveError(
                f"{self.where(name)} is damaged or truncated: {excerpt(error)}. Download the "
                "archive again."
            ) from error


def require_file(path: Path) -> None:
    """Refuse a path that is not a file, such as a broken link, a pipe or a folder."""
    if path.is_file():
        return
    what = "is a folder" if path.is_dir() else "is a pipe or a device"
    if path.is_symlink() and not path.exists():
        what = "is a link that leads nowhere (as git-annex leaves what it has not fetched)"
    elif not path.exists():
        what = "is not there"
    raise GraphDataError(f"{path} {what}; a file is needed")


def _checked_members(path: Path, max_bytes: int) -> dict[str, str]:
    """Map base names to members after checking everything that the directory declares."""
    try:
        with zipfile.ZipFile(path) as archive:
            infos = [info for info in archive.infolist() if not info.is_dir()]
    except _DAMAGE as error:
        raise ArchiveError(
            f"{path} is truncated or not a zip archive: {excerpt(error)}. Download it again."
        ) from error
    _reject_bombs(path, [info.file_size for info in infos], max_bytes)
    members: dict[str, str] = {}
    for info in infos:
        member = _checked_member(path, info)
        if "__MACOSX" in member.parts:
            continue
        if member.name in members:
            raise ArchiveError(f"{path} holds two files named '{member.name}'")
        members[member.name] = info.filename
    return members


def _reject_bombs(path: Path, sizes: list[int], max_bytes: int) -> None:
    declared, packed = sum(sizes), path.stat().st_size
    if len(sizes) > MAX_MEMBERS:
        raise ArchiveError(f"{path} holds {len(sizes)} files, more than the {MAX_MEMBERS} allowed")
    if declared > max_bytes:
        raise ArchiveError(f"{path} unpacks to {declared} bytes, more than the {max_bytes} allowed")
    if declared > RATIO_FREE_BYTES and declared > MAX_RATIO * packed:
        raise ArchiveError(
            f"{path} claims to unpack {packed} bytes to {declared}; no graph data is that regular"
        )


def _checked_member(path: Path, info: zipfile.ZipInfo) -> PurePosixPath:
    member = PurePosixPath(info.filename.replace("\\", "/"))
    if member.is_absolute() or ".." in member.parts or ":" in info.filename:
        raise ArchiveError(f"{path} holds a file outside its own folder: '{info.filename}'")
    if info.flag_bits & 0x1:
        raise ArchiveError(f"{path} is encrypted ('{info.filename}'); unpack it first")
    return member
