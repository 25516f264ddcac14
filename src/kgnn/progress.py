"""Report the progress of long work to an optional listener."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")
# Called with a description of the work, the steps done so far, and the total.
Listener = Callable[[str, int, int], None]
# Called with a line about the results so far.
Reader = Callable[[str], None]

_listener: ContextVar[Listener | None] = ContextVar("kgnn_progress", default=None)
_reader: ContextVar[Reader | None] = ContextVar("kgnn_messages", default=None)


@contextmanager
def listening(listener: Listener, reader: Reader | None = None) -> Iterator[None]:
    """Report progress inside the block to ``listener``, and messages to ``reader``.

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


@contextmanager
def checking(check: Callable[[], None]) -> Iterator[None]:
    """Call ``check`` at each report of progress inside the block; an error it raises ends the work.

    Reports still go to the outer listener. If an error ends the work, the listener gets a final
    report, so that no progress bar is left behind.

    Examples
    --------
    >>> with checking(lambda: print("still in time")):
    ...     _ = list(track(["a"], "spelling"))
    still in time
    still in time
    """
    outer = _listener.get()
    unfinished: dict[str, int] = {}

    def report(what: str, done: int, total: int) -> None:
        if outer is not None:
            outer(what, done, total)
        unfinished[what] = total
        if done >= total:
            del unfinished[what]
        check()

    token = _listener.set(report)
    try:
        yield
    finally:
        _listener.reset(token)
        if outer is not None:
            for what, total in unfinished.items():
                outer(what, total, total)


def track(items: Iterable[T], what: str, total: int | None = None) -> Iterator[T]:
    """Yield the items and report how many have been consumed; stopping early counts as done."""
    listener = _listener.get()
    if listener is None:
        yield from items
        return
    size = total if total is not None else len(items)  # type: ignore[arg-type]
    done = 0
    listener(what, 0, size)
    try:
        for item in items:
            yield item
            done += 1
            listener(what, done, size)
    finally:
        if done < size:
            listener(what, size, size)


def report(what: str, done: int, total: int) -> None:
    """Report progress directly; the work is over when ``done`` is ``total``."""
    listener = _listener.get()
    if listener is not None:
        listener(what, done, total)


@contextmanager
def without_messages() -> Iterator[None]:
    """Drop the messages sent inside the block, such as those of auxiliary fits."""
    token = _reader.set(None)
    try:
        yield
    finally:
        _reader.reset(token)


def tell(message: str) -> None:
    """Send a line about the results so far to the reader, if there is one."""
    reader = _reader.get()
    if reader is not None:
        reader(message)
