"""Random generators derived from one seed; the caller's generators are not touched."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

_torch_is_seeded = threading.RLock()


def derive(seed: int, *names: object) -> int:
    """Derive a seed for one named purpose, so that purposes stay independent.

    Examples
    --------
    >>> derive(0, "split") != derive(0, "weights")
    True
    """
    text = "/".join(map(str, (seed, *names)))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest(), "little")


def for_sklearn(seed: int) -> int:
    """Return the seed modulo 2³², the range that scikit-learn accepts.

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
    """Seed torch inside the block and restore the caller's generator afterwards.

    All threads share torch's generator, so only one thread at a time may be in such a block.
    """
    import torch  # importing kgnn must not load torch

    with _torch_is_seeded, torch.random.fork_rng(devices=[]):
        torch.manual_seed(derive(seed, *names))
        yield
