"""Write files so that nobody ever sees half of one."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a path beside ``path`` to write to; on success it takes the place of ``path``.

    Where the block fails, whatever it wrote is removed and ``path`` stays as it was. What a link
    leads to is replaced, not the link; a device, such as ``/dev/null``, is written to as it is.
    """
    path = path.resolve()
    if path.exists() and not path.is_file() and not path.is_dir():
        yield path
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}-{secrets.token_hex(4)}")
    try:
        yield aside
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write text to a file, all or nothing."""
    with replacing(path) as aside:
        aside.write_text(text, encoding="utf-8")
