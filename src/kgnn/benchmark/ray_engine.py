"""Cells on a Ray cluster, which schedules them and runs those of dead workers again."""

from __future__ import annotations

import logging
import os
import re
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from kgnn.benchmark.cell import Cell
from kgnn.benchmark.cell_run import died, run_cell
from kgnn.benchmark.engines import ONE_THREAD, Records, Started
from kgnn.benchmark.record import Record
from kgnn.errors import KgnnError, MissingExtraError

_RETRIES = 2  # of a cell whose worker dies
_PATIENCE_SECONDS = 10.0
# Records are all that goes through Ray's shared memory.
_OBJECT_BYTES = 100 << 20
# Where graphs are on this machine; those of a cluster know best themselves.
_FOLDERS = ("KGNN_DATASETS", "KGNN_CACHE")


@dataclass(frozen=True)
class RayCluster:
    """Runs cells as Ray tasks of one processor and one thread each.

    Records come back here, so that the machines of the cluster need no common disk; each must have
    kgnn and the datasets.

    Parameters
    ----------
    n_workers : int, optional
        Cells at a time; as many as there are processors, if not given.
    address : str, optional
        Of a cluster that is there already, such as ``auto`` or ``ray://head:10001``; without one, a
        cluster on this machine is started, and stopped in the end.
    memory_limit : int, optional
        Bytes per cell.
    """

    n_workers: int | None = None
    address: str | None = None
    memory_limit: int | None = None

    def __call__(self, cells: Sequence[Cell], started: Started) -> Records:
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
                    yield _record(ray, reference, running.pop(reference))

    def room(self, ray: Any) -> int:
        """Return how many cells there is room for; a cluster may grow and shrink."""
        return max(1, self.n_workers or int(ray.cluster_resources().get("CPU", 1)))

    @contextmanager
    def connected(self) -> Iterator[Any]:
        """Connect to the cluster, or start one; give the module that speaks with it."""
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
    """Raise `OSError` where nobody listens at a host and port; Ray would wait for minutes."""
    if found := re.fullmatch(r"(?:ray://)?([^:/]+):(\d+)", address):
        socket.create_connection((found[1], int(found[2])), timeout=_PATIENCE_SECONDS).close()


def _record(ray: Any, reference: Any, cell: Cell) -> Record:
    try:
        record: Record = ray.get(reference)
    except ray.exceptions.RayError as error:
        reason = " ".join(str(error).split())[:300]
        return died(cell, f"no worker finished it: {type(error).__name__}: {reason}")
    return record
