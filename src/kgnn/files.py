"""Write files so that a reader, or a crash, finds the old content or the new, never half of it.

What is being written has a hidden name of its own beside the file, ``.NAME-12ab34cd.kgnn``. It is
flushed to the disk, renamed to the file, and then the folder is flushed, so that the file is there
after a power cut, too. What a killed process leaves is removed by a later one that writes to the
same folder.
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
_NAME_LENGTH = 50  # characters of the name of a file that its hidden name begins with
# Nobody is still writing to what has not changed for so long.
_LEFT_SECONDS = 24 * 60 * 60


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a path beside ``path`` to write to; on success it replaces ``path``, durably.

    If the block fails, what it wrote is removed and ``path`` stays as it was. A link is followed:
    its target is replaced. A device such as ``/dev/null`` is written to directly.
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

    If ``path`` is there by then, as another process was first, it stays. Nothing is flushed: this
    is for what can be made again.
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
    """Write text to a file, all of it or nothing."""
    with replacing(path) as aside:
        aside.write_text(text, encoding="utf-8")


def remove_leftovers(folder: Path, seconds: float = _LEFT_SECONDS) -> None:
    """Remove what killed processes left half-written in a folder, if it is older than that."""
    for left in folder.glob(f".*-????????{_SUFFIX}"):
        with suppress(OSError):  # another process may remove it, too
            if time.time() - left.stat().st_mtime > seconds:
                shutil.rmtree(left) if left.is_dir() else left.unlink()


def _beside(path: Path) -> Path:
    return path.with_name(f".{path.name[:_NAME_LENGTH]}-{secrets.token_hex(4)}{_SUFFIX}")


def _flush(file: Path) -> None:
    """Wait until the content of a file is on the disk."""
    place = os.open(file, os.O_RDWR)
    try:
        os.fsync(place)
    finally:
        os.close(place)


def _flush_names(folder: Path) -> None:
    """Wait until the names in a folder are on the disk, where the system can."""
    with suppress(OSError):  # Windows, and some file systems, cannot; the files are whole anyway
        place = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(place)
        finally:
            os.close(place)
