"""Where cells run: in this process, in local processes, or on a Ray cluster.

An engine takes cells and yields their records as they come, in any order. Each record has then been
kept: a local worker does so itself as soon as it has one, so that nothing is lost if this process
ends before it has heard of it. An engine starts a cell only when there is room for it, so that few
are running if it is interrupted, and ends its workers when it is done, closed or interrupted; those
of a process that was killed end by themselves.
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

# Told when a cell starts.
Started = Callable[[Cell], None]
# Writes a record where it is to be; can be sent to another process.
Keep = Callable[[Record], None]
Records = Generator[Record, None, None]
Engine = Callable[[Sequence[Cell], Started, Keep], Records]

T = TypeVar("T")
Answer = TypeVar("Answer")
_RETRIES = 2  # of a task whose worker dies
_PATIENCE_SECONDS = 10.0
# Records are all that goes through Ray's shared memory.
_OBJECT_BYTES = 100 << 20
# Where graphs are on this machine; those of a cluster know best themselves.
_FOLDERS = ("KGNN_DATASETS", "KGNN_CACHE")
_AHEAD = 2  # tasks that wait for each one that runs
# Small graphs drown in the overhead of many threads, and cells share the processors already.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")


def _kept(record: Record, keep: Keep) -> Record:
    keep(record)
    return record


def _run_and_keep(cell: Cell, memory_limit: int | None, keep: Keep) -> Record:
    return _kept(run_cell(cell, memory_limit), keep)


@dataclass(frozen=True)
class ThisProcess:
    """Runs one cell after the other, here."""

    memory_limit: int | None = None  # bytes per cell

    def __call__(self, cells: Sequence[Cell], started: Started, keep: Keep) -> Records:
        """Run cells."""
        for cell in cells:
            started(cell)
            yield _kept(run_cell(cell, self.memory_limit), keep)


@dataclass(frozen=True)
class Processes:
    """Runs cells in local processes, one thread each.

    A process that dies (killed, out of memory) takes others down with it, and nobody says which
    cell it was. So whatever was in flight then runs again, alone: what is innocent finishes, and
    what kills its process again is recorded as failed.
    """

    n_workers: int | None = None  # as many as there are processors, if not given
    memory_limit: int | None = None  # bytes per cell

    def __call__(self, cells: Sequence[Cell], started: Started, keep: Keep) -> Records:
        """Run cells."""
        # What a worker has loaded stays for the next cell; loky takes it for a leak and replaces
        # the worker, by which nothing is lost.
        warnings.filterwarnings("ignore", "A worker was restarted", UserWarning)
        waiting = list(cells)
        while waiting:
            n_workers = min(self.n_workers or os.cpu_count() or 1, len(waiting))
            suspects = yield from self._until_one_dies(waiting, started, keep, n_workers)
            for suspect in suspects:
                for guilty in (yield from self._until_one_dies([suspect], started, keep, 1)):
                    reason = "the process died, twice (killed, or out of memory)"
                    yield _kept(died(guilty, reason), keep)

    def _until_one_dies(
        self, waiting: list[Cell], started: Started, keep: Keep, n_workers: int
    ) -> Generator[Record, None, list[Cell]]:
        """Run what is waiting; where a process dies, return the cells that were in flight."""
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


@dataclass(frozen=True)
class RayCluster:
    """Runs cells as Ray tasks of one processor and one thread each.

    Records come back here, so that the machines of the cluster need no common disk; each must have
    kgnn and the datasets.
    """

    n_workers: int | None = None  # cells at a time; as many as there are processors, if not given
    # Of a cluster that is there already, such as ``auto`` or ``ray://head:10001``; without one, a
    # cluster on this machine is started, and stopped in the end.
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
        """Return how many cells there is room for; a cluster may grow and shrink."""
        return max(1, self.n_workers or int(ray.cluster_resources().get("CPU", 1)))

    @contextmanager
    def connected(self) -> Iterator[Any]:
        """Connect to the cluster, or start one; yield the ray module."""
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # read as Ray starts
        try:
            import ray
        except ImportError as error:
            raise MissingExtraError.of("--engine ray", "ray", "ray") from error
        try:
            _require_answer(self.address or "local")
            ray.init(**self._settings())
        except OSError as error:  # the root of what says that there is no connection
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
            # Else a cell too large for the machine would be tried again for ever.
            "_system_config": {"task_oom_retries": _RETRIES},
            "runtime_env": {"env_vars": {**ONE_THREAD, **folders}},
            **quiet,
        }


class ClusterError(KgnnError, ConnectionError):
    """A cluster that does not answer."""


def _require_answer(address: str) -> None:
    """Raise `OSError` if nothing answers at a host and port; Ray would wait for minutes."""
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
    """Yield the answer to each item, in the order of the items.

    No more answers than a few for each worker wait for their turn at a time.
    """
    with cluster.connected() as ray:
        # Ray takes functions only, not whatever can be called.
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
