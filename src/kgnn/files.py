"""Write files atomically and durably: readers and crashes see the old content or the new one.

The content goes to a hidden file in the same folder, ``.NAME-12ab34cd.kgnn``. That is flushed to
the disk and renamed, then the folder is flushed, so that the file survives a power failure. Hidden
files of killed processes are removed by a later process that writes to the same folder.
"""

from __future__ import annotations

import os
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_SUFFIX = ".kgnn"
_NAME_LENGTH = 50  # characters of the file's name in the hidden name
# A hidden file that is older than this is not being written to any more.
_LEFT_SECONDS = 24 * 60 * 60


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a path beside ``path`` to write to; on success it replaces ``path``, durably.

    If the block fails, its output is removed and ``path`` is not changed. For a link, its target is
    replaced. A device such as ``/dev/null`` is written to directly.
    """
    path = path.resolve()
    if path.exists() and not path.is_file() and not path.is_dir():
        yield path
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    remove_leftovers(path.parent)
    aside = _beside(path)
    try:
        yield aside
        _flush(aside)
        aside.replace(path)
        _flush_names(path.parent)
    finally:
        aside.unlink(missing_ok=True)


@contextmanager
def making_folder(path: Path) -> Iterator[Path]:
    """Yield a folder beside ``path`` to write into; on success it becomes ``path``.

    If another process has created ``path`` in the meantime, that one stays. Nothing is flushed:
    this is for data that can be rebuilt.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    remove_leftovers(path.parent)
    aside = _beside(path)
    try:
        aside.mkdir()
        yield aside
        try:
            aside.replace(path)
        except OSError:
            if not path.exists():
                raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def write_text(path: Path, text: str) -> None:
    """Write text to a file atomically."""
    with replacing(path) as aside:
        aside.write_text(text, encoding="utf-8")


def remove_leftovers(folder: Path, seconds: float = _LEFT_SECONDS) -> None:
    """Remove hidden files of killed processes from a folder, if they are old enough."""
    for left in folder.glob(f".*-????????{_SUFFIX}"):
        with suppress(OSError):  # another process may remove it, too
            if time.time() - left.stat().st_mtime > seconds:
                shutil.rmtree(left) if left.is_dir() else left.unlink()


def _beside(path: Path) -> Path:
    return path.with_name(f".{path.name[:_NAME_LENGTH]}-{secrets.token_hex(4)}{_SUFFIX}")


def _flush(file: Path) -> None:
    """Flush the content of a file to the disk."""
    place = os.open(file, os.O_RDWR)
    try:
        os.fsync(place)
    finally:
        os.close(place)


def _flush_names(folder: Path) -> None:
    """Flush the entries of a folder to the disk, if the system supports it."""
    with suppress(OSError):  # not on Windows and some file systems; files are complete anyway
        place = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(place)
        finally:
            os.close(place)
