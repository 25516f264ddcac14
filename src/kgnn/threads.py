"""Limit the threads of numeric libraries, whose overhead exceeds their gain on small graphs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def limit_threads(n: int) -> Iterator[None]:
    """Let torch and the linear algebra libraries use ``n`` threads inside the block."""
    import torch
    from threadpoolctl import threadpool_limits

    before = torch.get_num_threads()
    torch.set_num_threads(n)
    try:
        with threadpool_limits(n):
            yield
    finally:
        torch.set_num_threads(before)
