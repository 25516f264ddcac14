"""Where cells run: in this process, in local processes, or on a Ray cluster.

An engine takes cells and yields their records as they come, in any order. It starts a cell only
when there is room for it, so that few are in flight when somebody pulls the plug.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kgnn.benchmark.cell import Cell
from kgnn.benchmark.cell_run import died, run_cell
from kgnn.benchmark.record import Record

# Told when a cell starts.
Started = Callable[[Cell], None]
Engine = Callable[[Sequence[Cell], Started], Iterator[Record]]


@dataclass(frozen=True)
class ThisProcess:
    """Runs one cell after the other, here.

    Parameters
    ----------
    memory_limit : int, optional
        Bytes per cell.
    """

    memory_limit: int | None = None

    def __call__(self, cells: Sequence[Cell], started: Started) -> Iterator[Record]:
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

    def __call__(self, cells: Sequence[Cell], started: Started) -> Iterator[Record]:
        """Run cells."""
        waiting, suspects = list(cells), list[Cell]()
        while waiting:
            yield from self._until_one_dies(waiting, suspects, started, self._size(len(waiting)))
            while suspects:
                alone, guilty = [suspects.pop(0)], list[Cell]()
                yield from self._until_one_dies(alone, guilty, started, 1)
                yield from (
                    died(cell, "the process died, twice (killed, or out of memory)")
                    for cell in guilty
                )

    def _size(self, n_cells: int) -> int:
        return min(self.n_workers or os.cpu_count() or 1, n_cells)

    def _until_one_dies(
        self, waiting: list[Cell], suspects: list[Cell], started: Started, n_workers: int
    ) -> Iterator[Record]:
        """Run what is waiting; where a process dies, what was in flight becomes suspect."""
        from concurrent.futures import FIRST_COMPLETED, wait
        from concurrent.futures.process import BrokenProcessPool

        from loky import ProcessPoolExecutor

        one_thread = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        running: dict[Any, Cell] = {}
        executor = ProcessPoolExecutor(n_workers, env=one_thread)
        try:
            while waiting or running:
                while waiting and len(running) < n_workers:
                    cell = waiting.pop(0)
                    started(cell)
                    running[executor.submit(run_cell, cell, self.memory_limit)] = cell
                finished, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in finished:
                    cell = running.pop(future)
                    try:
                        yield future.result()
                    except BrokenProcessPool:
                        suspects.append(cell)
                if suspects:
                    suspects.extend(running.values())
                    return
        finally:
            executor.shutdown(wait=not suspects, kill_workers=True)
