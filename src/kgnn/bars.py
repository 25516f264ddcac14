"""Bars for the progress that the library reports: on terminals and in notebooks."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console, RenderableType
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from kgnn.progress import listening

# Progress that is over sooner is not worth a bar.
_PATIENCE_SECONDS = 1.0


@contextmanager
def progress_bars(
    news: bool = False,
    above: Callable[[], RenderableType] | None = None,
    console: Console | None = None,
) -> Iterator[Progress]:
    """Show a bar, with the time left, for each long thing that the library does in the block.

    With ``news``, also lines that tell what has come out so far. ``above`` is asked again and again
    for what is shown above the bars. The ``console`` is by default standard error, or the notebook.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> from kgnn.methods.wl import WL
    >>> with progress_bars():
    ...     model = WL().fit(cycles_and_trees(20))
    """
    if console is None:
        console = Console(stderr=True, markup=False, emoji=False)
    is_seen = console.is_terminal or console.is_jupyter
    shown = _Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not is_seen,  # else it leaves an empty line in logs
    )
    shown.above = above

    def show(line: str) -> None:
        console.print(line, highlight=False, soft_wrap=True)

    with shown, listening(_Bars(shown), show if news else None):
        yield shown


class _Progress(Progress):
    """Bars, and perhaps something above them."""

    above: Callable[[], RenderableType] | None = None

    def get_renderables(self) -> Iterable[RenderableType]:
        """Return what is shown, from top to bottom."""
        if self.above is not None:
            yield self.above()
        yield from super().get_renderables()


class _Bars:
    """Turns reports of progress into bars, once they have taken a moment."""

    def __init__(self, bars: Progress) -> None:
        self._bars = bars
        self._started: dict[str, float] = {}
        self._tasks: dict[str, Any] = {}

    def __call__(self, what: str, done: int, total: int) -> None:
        started = self._started.setdefault(what, time.monotonic())
        if what not in self._tasks and time.monotonic() - started > _PATIENCE_SECONDS:
            self._tasks[what] = self._bars.add_task(what, total=total)
        if what in self._tasks:
            self._bars.update(self._tasks[what], completed=done, total=total)
        if done >= total:
            self._started.pop(what, None)
            if what in self._tasks:
                self._bars.remove_task(self._tasks.pop(what))
