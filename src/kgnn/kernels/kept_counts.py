"""Counts kept in files, so that all processes of a machine count the same graphs once.

Nothing is kept unless somebody asks for it with `keeping_counts`. An entry is a folder of ``.npy``
files, named by all that decides what is counted: the graphs, the featurizer, the code. It is
opened by memory map and may be deleted at any time.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kgnn.graphs.graph import GraphDataset
from kgnn.kernels.counting import Counts

_logger = logging.getLogger(__name__)
_LIMIT = 4 << 30


class KeptCounts:
    """Counts in a folder.

    Parameters
    ----------
    folder : path
        Made when the first counts are written.
    kinds : tuple of type
        Featurizers whose counts are kept.
    limit : int
        Bytes; `trim` removes what was not used for longest beyond.

    Attributes
    ----------
    seconds_saved : float
        What the counting would have taken that was found done.
    """

    def __init__(self, folder: Path, kinds: tuple[type, ...], limit: int = _LIMIT) -> None:
        self.folder, self.kinds, self.limit = folder, kinds, limit
        self.seconds_saved = 0.0
        self._has_written = False

    def get(
        self, graphs: GraphDataset, counting: object, count: Callable[[GraphDataset], Counts]
    ) -> Counts:
        """Open what is kept of these graphs, or count and keep it."""
        entry = self.folder / _digest(graphs.fingerprint, counting)
        try:
            counted, seconds = _open(entry)
        except (OSError, EOFError, ValueError, LookupError, TypeError):
            return self._count(entry, graphs, count)
        self.seconds_saved += seconds
        return counted

    def _count(
        self, entry: Path, graphs: GraphDataset, count: Callable[[GraphDataset], Counts]
    ) -> Counts:
        began = time.perf_counter()
        counted = count(graphs)
        seconds = time.perf_counter() - began
        try:
            _write(counted, seconds, entry)
            self._has_written = True
        except OSError as error:
            _logger.warning("counts of %s are not kept: %s", graphs.name, error)
        return counted

    def trim(self) -> None:
        """Remove what was not used for longest, where this process has made it too much."""
        if not self._has_written:
            return
        kept = 0
        for _, size, entry in sorted(_entries(self.folder), reverse=True):
            kept += size
            if kept > self.limit:
                shutil.rmtree(entry, ignore_errors=True)


_keeper: ContextVar[KeptCounts | None] = ContextVar("kgnn_kept_counts", default=None)


@contextmanager
def keeping_counts(folder: Path, *kinds: type, limit: int = _LIMIT) -> Iterator[KeptCounts]:
    """Keep what featurizers of these kinds count inside the block, and use what was kept.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> from kgnn.kernels.weisfeiler_lehman import WeisfeilerLehman
    >>> graphs, wl = cycles_and_trees(20), WeisfeilerLehman(2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with keeping_counts(Path(folder), WeisfeilerLehman) as kept:
    ...         first, second = wl.fit_transform(graphs), wl.fit_transform(graphs)
    >>> (first != second).nnz, kept.seconds_saved > 0
    (0, True)
    """
    keeper = KeptCounts(folder, kinds, limit)
    token = _keeper.set(keeper)
    try:
        yield keeper
    finally:
        _keeper.reset(token)
        keeper.trim()


def counted(
    featurizer: object,
    graphs: GraphDataset,
    counting: object,
    count: Callable[[GraphDataset], Counts],
) -> Counts:
    """Count, or do without where the same was counted before and kept.

    Parameters
    ----------
    featurizer : object
    graphs : GraphDataset
    counting : object
        All of the featurizer that decides what is counted; its ``repr`` does.
    count : callable
    """
    keeper = _keeper.get()
    if keeper is None or not isinstance(featurizer, keeper.kinds):
        return count(graphs)
    return keeper.get(graphs, counting, count)


def _digest(*key: object) -> str:
    return hashlib.blake2b(repr((_code(), *key)).encode(), digest_size=16).hexdigest()


@lru_cache(maxsize=1)
def _code() -> str:
    """Return a hash of all code that counts: what older code has counted is not found."""
    digest = hashlib.blake2b(digest_size=16)
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _write(counts: Counts, seconds: float, entry: Path) -> None:
    """Write an entry; whoever looks sees all of it or nothing."""
    entry.parent.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix=f".{entry.name}-", dir=entry.parent))
    try:
        for name, array in _arrays(counts).items():
            np.save(aside / f"{name}.npy", array, allow_pickle=False)
        meta = {"seconds": seconds, "levels": [len(each) for each in counts.colors]}
        (aside / "counts.json").write_text(json.dumps(meta), encoding="ascii")
        shutil.rmtree(entry, ignore_errors=True)  # it is damaged, or it would have been used
        aside.replace(entry)
    except OSError:
        if not entry.exists():  # otherwise another process was first with the same counts
            raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _arrays(counts: Counts) -> dict[str, NDArray[Any]]:
    matrix = counts.matrix
    return {
        "colors": np.concatenate(counts.colors),
        "data": matrix.data,
        "indices": matrix.indices,
        "offsets": matrix.indptr,
    }


def _open(entry: Path) -> tuple[Counts, float]:
    """Open an entry; raise one of many errors where it is not there, or damaged."""
    meta = json.loads((entry / "counts.json").read_text(encoding="ascii"))
    colors, data, indices, offsets = (
        # Copied on write: for whoever gets the counts they are like any other.
        np.load(entry / f"{name}.npy", mmap_mode="c").view(np.ndarray)
        for name in ("colors", "data", "indices", "offsets")
    )
    shape = (len(offsets) - 1, len(colors))
    matrix = sparse.csr_array((data, indices, offsets), shape=shape)  # checks that they agree
    ends = np.cumsum(meta["levels"])
    if ends[-1] != len(colors):
        raise ValueError(f"{entry} has {len(colors)} colors, expected {ends[-1]}")
    os.utime(entry)  # used just now
    return Counts(np.split(colors, ends[:-1]), matrix), float(meta["seconds"])


def _entries(folder: Path) -> Iterator[tuple[float, int, Path]]:
    """Yield when each entry was used last, its bytes and its path."""
    for entry in folder.iterdir():
        try:
            size = sum(path.stat().st_size for path in entry.iterdir())
            yield entry.stat().st_mtime, size, entry
        except OSError:  # removed by another process
            continue
