"""Where cells run: in this process or in local processes; see `ray_engine` for a cluster.

An engine takes cells and yields their records as they come, in any order. It starts a cell only
when there is room for it, so that few are in flight when somebody pulls the plug. It ends its
workers when it is done, closed or interrupted.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any

from kgnn.benchmark.cell import Cell
from kgnn.benchmark.cell_run import died, run_cell
from kgnn.benchmark.record import Record

# Told when a cell starts.
Started = Callable[[Cell], None]
Records = Generator[Record, None, None]
Engine = Callable[[Sequence[Cell], Started], Records]

# Small graphs drown in the overhead of many threads, and cells share the processors already.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")


@dataclass(frozen=True)
class ThisProcess:
    """Runs one cell after the other, here.

    Parameters
    ----------
    memory_limit : int, optional
        Bytes per cell.
    """

    memory_limit: int | None = None

    def __call__(self, cells: Sequence[Cell], started: Started) -> Records:
        """Run cells."""
        for cell in cells:
            started(cell)
            yield run_cell(cell, self.memory_limit)


@dataclass(frozen=True)
class Processes:
    """Runs cells in local processes, one thread each.

    A process that dies (killed, out of memory) takes others down with it, and nobody says which
    cell it was. So whatever was in flight then runs again, alone: what is innocent finishes, and
    what kills its process again is recorded as failed.

    Parameters
    ----------
    n_workers : int, optional
        As many as there are processors, if not given.
    memory_limit : int, optional
        Bytes per cell.
    """

    n_workers: int | None = None
    memory_limit: int | None = None

    def __call__(self, cells: Sequence[Cell], started: Started) -> Records:
        """Run cells."""
        # What a worker has loaded stays for the next cell; loky takes it for a leak and replaces
        # the worker, by which nothing is lost.
        warnings.filterwarnings("ignore", "A worker was restarted", UserWarning)
        waiting = list(cells)
        while waiting:
            n_workers = min(self.n_workers or os.cpu_count() or 1, len(waiting))
            suspects = yield from self._until_one_dies(waiting, started, n_workers)
            for suspect in suspects:
                for guilty in (yield from self._until_one_dies([suspect], started, 1)):
                    yield died(guilty, "the process died, twice (killed, or out of memory)")

    def _until_one_dies(
        self, waiting: list[Cell], started: Started, n_workers: int
    ) -> Generator[Record, None, list[Cell]]:
        """Run what is waiting; where a process dies, return the cells that were in flight."""
        from concurrent.futures import FIRST_COMPLETED, wait
        from concurrent.futures.process import BrokenProcessPool

        from loky import ProcessPoolExecutor

        running: dict[Any, Cell] = {}
        executor = ProcessPoolExecutor(n_workers, env=ONE_THREAD)
        try:
            while waiting or running:
                while waiting and len(running) < n_workers:
                    try:
                        future = executor.submit(run_cell, waiting[0], self.memory_limit)
                    except BrokenProcessPool:  # a process has died since the last look
                        return list(running.values())
                    running[future] = waiting.pop(0)
                    started(running[future])
                finished, _ = wait(running, return_when=FIRST_COMPLETED)
                suspects = yield from _take(finished, running)
                if suspects:
                    return [*suspects, *running.values()]
            return []
        finally:
            executor.shutdown(kill_workers=True)


def _take(finished: set[Any], running: dict[Any, Cell]) -> Generator[Record, None, list[Cell]]:
    """Yield the records of finished futures; return the cells of those whose process died."""
    from concurrent.futures.process import BrokenProcessPool

    suspects = []
    for future in finished:
        cell = running.pop(future)
        try:
            yield future.result()
        except BrokenProcessPool:
            suspects.append(cell)
    return suspects
