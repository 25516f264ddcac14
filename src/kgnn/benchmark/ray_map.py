"""A function of many things, computed on a Ray cluster, with the answers in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from kgnn.benchmark.ray_engine import ClusterError, RayCluster
from kgnn.errors import KgnnError

T = TypeVar("T")
Answer = TypeVar("Answer")
_RETRIES = 2  # of a task whose worker dies
_AHEAD = 2  # tasks that wait for each one that runs


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
