"""Members of a network trained in several processes: the same bits in less time."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from loky import get_reusable_executor

from kgnn.progress import track
from kgnn.workers import end_with

if TYPE_CHECKING:
    from kgnn.engine.network import Network, Trained


class _Parts(NamedTuple):
    """A network with all that it is made of; by itself it only pickles what predictions need."""

    cls: type
    state: dict[str, Any]


def train_in_processes(
    network: Network, jobs: Sequence[tuple[Any, ...]], n_jobs: int, what: str
) -> Iterator[Trained]:
    """Yield ``network._train(*job)`` for each job, in order; a process has one thread.

    Ctrl-C ends the processes, and so does the end of this one.
    """
    executor = get_reusable_executor(
        max_workers=n_jobs, initializer=end_with, initargs=(os.getpid(),)
    )
    parts, dtype = _take_apart(network), torch.get_default_dtype()
    futures = [executor.submit(_train, parts, dtype, job) for job in jobs]
    try:
        for future in track(futures, what):
            yield future.result()
    except BaseException:
        executor.shutdown(kill_workers=True)
        raise


def _train(parts: _Parts, dtype: torch.dtype, job: tuple[Any, ...]) -> Trained:
    torch.set_num_threads(1)
    torch.set_default_dtype(dtype)
    network: Network = _put_together(parts)
    return network._train(*job)


def _take_apart(value: Any) -> Any:
    if not hasattr(value, "optimizer_config"):  # no network
        return value
    return _Parts(type(value), {name: _take_apart(own) for name, own in vars(value).items()})


def _put_together(value: Any) -> Any:
    if not isinstance(value, _Parts):
        return value
    network: Any = object.__new__(value.cls)
    vars(network).update({name: _put_together(own) for name, own in value.state.items()})
    return network
