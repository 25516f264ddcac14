"""Progress bars on terminals and in notebooks."""

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
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from kgnn.progress import listening

# No bar for work that takes less time.
_PATIENCE_SECONDS = 1.0
_NEARLY = 0.99


@contextmanager
def progress_bars(
    news: bool = False,
    above: Callable[[], RenderableType] | None = None,
    console: Console | None = None,
) -> Iterator[Progress]:
    """Show a bar, with the time left, for each long task of the library in the block.

    With ``news``, also print messages about results so far. The result of ``above``, called at each
    refresh, is shown above the bars. The default ``console`` is standard error, or the notebook.

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
        _Count(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not is_seen,  # otherwise it leaves an empty line in logs
    )
    shown.above = above

    def show(line: str) -> None:
        console.print(line, highlight=False, soft_wrap=True)

    with shown, listening(_Bars(shown), show if news else None):
        yield shown


class _Progress(Progress):
    """Bars with an optional renderable above them."""

    above: Callable[[], RenderableType] | None = None

    def get_renderables(self) -> Iterable[RenderableType]:
        """Yield the renderables from top to bottom."""
        if self.above is not None:
            yield self.above()
        yield from super().get_renderables()


class _Count(MofNCompleteColumn):
    """Steps done and in all; for work with steps of different kinds, the share done."""

    def render(self, task: Task) -> Text:
        """Return the text beside a bar."""
        if task.total is None or task.fields.get("is_share"):
            told = "" if task.total is None else f"{task.percentage:.0f} %"
            return Text(told.rjust(5), style="progress.download")
        return super().render(task)


class _Bars:
    """Turns reports of progress into bars for tasks that take longer than a moment.

    A bar without a total shows the overall progress of nested tasks.
    """

    def __init__(self, bars: Progress) -> None:
        self._bars = bars
        self._started: dict[str, float] = {}
        self._tasks: dict[str, Any] = {}
        self._running: dict[str, tuple[int, int]] = {}  # the outermost first

    def __call__(self, what: str, done: int, total: int) -> None:
        self._running[what] = done, total
        share = 0.0
        for own_done, own_total in reversed(self._running.values()):
            share = min(1.0, (own_done + share) / max(1, own_total))
        for task in self._bars.tasks:
            if task.id not in self._tasks.values() and (
                task.total is None or task.fields.get("is_share")
            ):
                # At 100 % its clock would stop, but more work may follow.
                share = min(share, _NEARLY)
                self._bars.update(task.id, completed=share, total=1, is_share=True)
        if done >= total:
            del self._running[what]
        started = self._started.setdefault(what, time.monotonic())
        if what not in self._tasks and time.monotonic() - started > _PATIENCE_SECONDS:
            self._tasks[what] = self._bars.add_task(what, total=total)
        if what in self._tasks:
            self._bars.update(self._tasks[what], completed=done, total=total)
        if done >= total:
            self._started.pop(what, None)
            if what in self._tasks:
                self._bars.remove_task(self._tasks.pop(what))
