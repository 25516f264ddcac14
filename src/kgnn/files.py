"""Write files atomically: a reader sees the old content or the new, never half of it."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a path beside ``path`` to write to; on success it replaces ``path``.

    If the block fails, what it wrote is removed and ``path`` stays as it was. A link is followed:
    its target is replaced. A device such as ``/dev/null`` is written to directly.
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
    """Write text to a file atomically."""
    with replacing(path) as aside:
        aside.write_text(text, encoding="utf-8")
