"""Engines that run cells: in this process, in local processes, or on a Ray cluster.

An engine takes cells and yields their records in any order, after writing them to the store. Local
workers write their own records, so that none is lost if this process is killed. An engine starts a
cell only when a worker is free, so that an interrupt loses few cells. It stops its workers when it
is finished, closed or interrupted; workers exit by themselves if this process is killed.
"""

from __future__ import annotations

import logging
import os
import re
import socket
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from kgnn.benchmark.cell_run import died, run_cell
from kgnn.benchmark.record import Cell, Record
from kgnn.errors import KgnnError, MissingExtraError
from kgnn.workers import end_with

# Called when a cell starts.
Started = Callable[[Cell], None]
# Writes a record to the store; must be picklable.
Keep = Callable[[Record], None]
Records = Generator[Record, None, None]
Engine = Callable[[Sequence[Cell], Started, Keep], Records]

T = TypeVar("T")
Answer = TypeVar("Answer")
_RETRIES = 2  # of a task whose worker dies
_PATIENCE_SECONDS = 10.0
# Size of Ray's shared memory, which only holds records.
_OBJECT_BYTES = 100 << 20
# Variables with folders of datasets, passed to local workers; machines of a cluster have their own.
_FOLDERS = ("KGNN_DATASETS", "KGNN_CACHE")
_AHEAD = 2  # submitted tasks per worker
# Cells run in parallel, and more threads would only add overhead on small graphs.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")


def _kept(record: Record, keep: Keep) -> Record:
    keep(record)
    return record


def _run_and_keep(cell: Cell, memory_limit: int | None, keep: Keep) -> Record:
    return _kept(run_cell(cell, memory_limit), keep)


@dataclass(frozen=True)
class ThisProcess:
    """Runs one cell after the other in this process."""

    memory_limit: int | None = None  # bytes per cell

    def __call__(self, cells: Sequence[Cell], started: Started, keep: Keep) -> Records:
        """Run cells."""
        for cell in cells:
            started(cell)
            yield _kept(run_cell(cell, self.memory_limit), keep)


@dataclass(frozen=True)
class Processes:
    """Runs cells in local processes, one thread each.

    A process that dies (killed, out of memory) breaks the whole pool, and the pool does not tell
    which cell was the cause. So all running cells run again, one at a time; a cell whose process
    dies again is recorded as failed.
    """

    n_workers: int | None = None  # default: the number of processors
    memory_limit: int | None = None  # bytes per cell

    def __call__(self, cells: Sequence[Cell], started: Started, keep: Keep) -> Records:
        """Run cells."""
        # Workers cache datasets; loky takes that for a leak and restarts them, which is harmless.
        warnings.filterwarnings("ignore", "A worker was restarted", UserWarning)
        waiting = list(cells)
        while waiting:
            n_workers = min(self.n_workers or os.cpu_count() or 1, len(waiting))
            suspects = yield from self._until_one_dies(waiting, started, keep, n_workers)
            for suspect in suspects:
                for culprit in (yield from self._until_one_dies([suspect], started, keep, 1)):
                    reason = "the process died, twice (killed, or out of memory)"
                    yield _kept(died(culprit, reason), keep)

    def _until_one_dies(
        self, waiting: list[Cell], started: Started, keep: Keep, n_workers: int
    ) -> Generator[Record, None, list[Cell]]:
        """Run the waiting cells; if a process dies, return the cells that were running."""
        from concurrent.futures import FIRST_COMPLETED, wait
        from concurrent.futures.process import BrokenProcessPool

        from loky import ProcessPoolExecutor

        running: dict[Any, Cell] = {}
        executor = ProcessPoolExecutor(
            n_workers, env=ONE_THREAD, initializer=end_with, initargs=(os.getpid(),)
        )
        try:
            while waiting or running:
                while waiting and len(running) < n_workers:
                    try:
                        future = executor.submit(_run_and_keep, waiting[0], self.memory_limit, keep)
                    except BrokenProcessPool:  # a process has just died
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
    """Yield the records of finished futures; return the cells whose process died."""
    from concurrent.futures.process import BrokenProcessPool

    suspects = []
    for future in finished:
        cell = running.pop(future)
        try:
            yield future.result()
        except BrokenProcessPool:
            suspects.append(cell)
    return suspects


@dataclass(frozen=True)
class RayCluster:
    """Runs cells as Ray tasks with one processor and one thread each.

    Records are returned to this process, so the machines need no shared disk; each must have kgnn
    and the datasets.
    """

    n_workers: int | None = None  # cells at a time; default: the number of processors
    # Of a running cluster, such as ``auto`` or ``ray://head:10001``. Without it, a cluster is
    # started on this machine, and stopped at the end.
    address: str | None = None
    memory_limit: int | None = None  # bytes per cell

    def __call__(self, cells: Sequence[Cell], started: Started, keep: Keep) -> Records:
        """Run cells."""
        with self.connected() as ray:
            task = ray.remote(num_cpus=1, max_retries=_RETRIES)(run_cell)
            waiting, running = list(cells), dict[Any, Cell]()
            while waiting or running:
                while waiting and len(running) < self.room(ray):
                    cell = waiting.pop(0)
                    running[task.remote(cell, self.memory_limit)] = cell
                    started(cell)
                finished, _ = ray.wait(list(running), num_returns=1)
                for reference in finished:
                    yield _kept(_record(ray, reference, running.pop(reference)), keep)

    def room(self, ray: Any) -> int:
        """Return how many cells can run now; a cluster may grow and shrink."""
        return max(1, self.n_workers or int(ray.cluster_resources().get("CPU", 1)))

    @contextmanager
    def connected(self) -> Iterator[Any]:
        """Connect to the cluster, or start one; yield the ray module."""
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # read when Ray starts
        try:
            import ray
        except ImportError as error:
            raise MissingExtraError.of("--engine ray", "ray", "ray") from error
        try:
            _require_answer(self.address or "local")
            ray.init(**self._settings())
        except OSError as error:  # base class of connection errors
            wanted = f"at '{self.address}'" if self.address else "on this machine"
            raise ClusterError(f"There is no Ray cluster {wanted}: {error}") from error
        try:
            yield ray
        finally:
            ray.shutdown()

    def _settings(self) -> dict[str, Any]:
        quiet = {"logging_level": logging.ERROR, "log_to_driver": False}
        if self.address:
            return {"address": self.address, "runtime_env": {"env_vars": ONE_THREAD}, **quiet}
        folders = {name: os.environ[name] for name in _FOLDERS if name in os.environ}
        return {
            "address": "local",
            "num_cpus": self.n_workers or os.cpu_count(),
            "include_dashboard": False,
            "object_store_memory": _OBJECT_BYTES,
            # Otherwise Ray would retry a cell too large for the machine forever.
            "_system_config": {"task_oom_retries": _RETRIES},
            "runtime_env": {"env_vars": {**ONE_THREAD, **folders}},
            **quiet,
        }


class ClusterError(KgnnError, ConnectionError):
    """A cluster that cannot be reached, or lost its workers."""


def _require_answer(address: str) -> None:
    """Raise `OSError` if nothing listens at a host and port; Ray would wait for minutes."""
    if found := re.fullmatch(r"(?:ray://)?([^:/]+):(\d+)", address):
        socket.create_connection((found[1], int(found[2])), timeout=_PATIENCE_SECONDS).close()


def _record(ray: Any, reference: Any, cell: Cell) -> Record:
    try:
        record: Record = ray.get(reference)
    except ray.exceptions.RayError as error:
        reason = " ".join(str(error).split())[:300]
        return died(cell, f"no worker finished it: {type(error).__name__}: {reason}")
    return record


def ray_map(
    cluster: RayCluster, function: Callable[[T], Answer], items: Iterable[T]
) -> Iterator[Answer]:
    """Yield the result of each item, in the order of the items.

    Only a few results per worker are in memory at a time.
    """
    with cluster.connected() as ray:
        # Ray accepts only functions, not other callables.
        task = ray.remote(num_cpus=1, max_retries=_RETRIES)(lambda item: function(item))
        coming, waiting = iter(items), deque[Any]()
        for item in coming:
            waiting.append(task.remote(item))
            if len(waiting) >= _AHEAD * cluster.room(ray):
                yield _answer(ray, waiting.popleft())
        while waiting:
            yield _answer(ray, waiting.popleft())


def _answer(ray: Any, reference: Any) -> Any:
    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        cause = error.cause
        raise cause if isinstance(cause, KgnnError) else error from None
    except ray.exceptions.RayError as error:
        reason = " ".join(str(error).split())[:300]
        raise ClusterError(f"No worker finished: {type(error).__name__}: {reason}") from error
