"""The one place that derives randomness from a seed and keeps it away from the caller's."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

_torch_is_seeded = threading.RLock()


def derive(seed: int, *names: object) -> int:
    """Derive a seed for one named purpose, so that purposes do not disturb each other.

    Examples
    --------
    >>> derive(0, "split") != derive(0, "weights")
    True
    """
    text = "/".join(map(str, (seed, *names)))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest(), "little")


def for_sklearn(seed: int) -> int:
    """Return a seed that scikit-learn takes, which is the same where it takes it as it is.

    Examples
    --------
    >>> for_sklearn(7), for_sklearn(-1)
    (7, 4294967295)
    """
    return seed % 2**32


def generator(seed: int, *names: object) -> np.random.Generator:
    """Return a numpy generator for one named purpose."""
    return np.random.default_rng(derive(seed, *names))


@contextmanager
def seeded_torch(seed: int, *names: object) -> Iterator[None]:
    """Seed torch inside the block; the caller's generator is as before afterwards.

    All threads share the generator, so one that needs it waits for another to leave its block.
    """
    import torch  # importing kgnn must not load torch

    with _torch_is_seeded, torch.random.fork_rng(devices=[]):
        torch.manual_seed(derive(seed, *names))
        yield
