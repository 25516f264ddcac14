"""Let long work say how far it is; who shows it, if anybody, is the caller's choice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")
# Called with what is being done, how many steps are done, and how many there are.
Listener = Callable[[str, int, int], None]

# Called with a line that tells what has come out so far.
Reader = Callable[[str], None]

_listener: ContextVar[Listener | None] = ContextVar("kgnn_progress", default=None)
_reader: ContextVar[Reader | None] = ContextVar("kgnn_news", default=None)


@contextmanager
def listening(listener: Listener, reader: Reader | None = None) -> Iterator[None]:
    """Send progress made inside the block to ``listener``, and news to ``reader``.

    Examples
    --------
    >>> with listening(lambda what, done, total: print(what, done, total)):
    ...     _ = list(track(["a", "b"], "spelling"))
    spelling 0 2
    spelling 1 2
    spelling 2 2
    """
    tokens = _listener.set(listener), _reader.set(reader)
    try:
        yield
    finally:
        _listener.reset(tokens[0])
        _reader.reset(tokens[1])


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


@contextmanager
def without_news() -> Iterator[None]:
    """Keep news made inside the block back, as of fits beside the one that was asked for."""
    token = _reader.set(None)
    try:
        yield
    finally:
        _reader.reset(token)


def tell(news: str) -> None:
    """Tell in a line what has come out so far, to whoever wants to read it."""
    reader = _reader.get()
    if reader is not None:
        reader(news)
