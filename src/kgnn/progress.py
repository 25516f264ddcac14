"""Let long work say how far it is; who shows it, if anybody, is the caller's choice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")
# Called with what is being done, how many steps are done, and how many there are.
Listener = Callable[[str, int, int], None]

_listener: ContextVar[Listener | None] = ContextVar("kgnn_progress", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Send progress made inside the block to ``listener``.

    Examples
    --------
    >>> with listening(lambda what, done, total: print(what, done, total)):
    ...     _ = list(track(["a", "b"], "spelling"))
    spelling 0 2
    spelling 1 2
    spelling 2 2
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def track(items: Iterable[T], what: str, total: int | None = None) -> Iterator[T]:
    """Yield the items and report how many were consumed."""
    listener = _listener.get()
    if listener is None:
        yield from items
        return
    size = total if total is not None else len(items)  # type: ignore[arg-type]
    listener(what, 0, size)
    for done, item in enumerate(items, start=1):
        yield item
        listener(what, done, size)
