"""Run one cell and record its result or its error."""

from __future__ import annotations

import os
import platform
import re
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime, timezone
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgnn.benchmark.record import Cell, Record
from kgnn.errors import GraphDataError
from kgnn.estimator.registry import entry_of, make, method_class
from kgnn.graphs.graph import GraphDataset
from kgnn.graphs.loading import load

if TYPE_CHECKING:
    from kgnn.estimator.classifier import GraphClassifier

_PACKAGES = ("kgnn", "numpy", "scipy", "scikit-learn", "torch", "gensim")
_MIB = 1 << 20


def run_cell(cell: Cell, memory_limit: int | None = None) -> Record:
    """Run a cell on one thread and record it; an error is recorded, too.

    A cell fails if it allocates more than ``memory_limit`` bytes on top of what the process has.
    """
    try:
        result, all_parameters = _measured(cell, memory_limit)
        return _record(cell, "done", result=result, all_parameters=all_parameters)
    except GraphDataError as declined:  # the method cannot handle these graphs
        return _record(cell, "declined", reason=str(declined))
    except (Exception, SystemExit) as error:  # record any error, so that other cells go on
        return _record(cell, "failed", reason=_told(error, memory_limit))


def died(cell: Cell, reason: str) -> Record:
    """Record a cell whose process died."""
    return _record(cell, "failed", reason=reason)


def _record(cell: Cell, outcome: str, **told: Any) -> Record:
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return Record(cell, outcome, **told, versions=_versions(), machine=_machine(), finished=now)


def _measured(cell: Cell, memory_limit: int | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the result of a cell with its peak memory, and all parameters of its method."""
    from kgnn.evaluation.protocol import settings_for
    from kgnn.threads import limit_threads

    settings = {k: tuple(v) if isinstance(v, list) else v for k, v in cell.parameters.items()}
    usual = settings_for(cell.dataset, method_class(cell.method))
    method = make(cell.method, **{**usual, "random_state": cell.seed, **settings})
    revision = entry_of(cell.method).revision
    if revision != cell.revision:
        raise RuntimeError(
            f"'{cell.method}' has revision {revision} here but {cell.revision} where the benchmark "
            "was started; install the same version of kgnn on all machines"
        )
    with limit_threads(1), _limited(memory_limit), _measured_memory() as peak_mib:
        result = _evaluate(cell, method)
    return {**result, "peak_mib": peak_mib()}, method.get_params()


def _evaluate(cell: Cell, method: GraphClassifier) -> dict[str, Any]:
    from kgnn.evaluation.protocol import evaluate_split, find_cases
    from kgnn.evaluation.splits import make_split

    try:
        graphs = _load(cell.dataset)
    except GraphDataError as error:  # the benchmark could read it when it started
        raise RuntimeError(f"'{cell.dataset}' cannot be read here: {error}") from error
    if graphs.fingerprint != cell.fingerprint:
        raise RuntimeError(
            f"'{cell.dataset}' has other graphs here (fingerprint {graphs.fingerprint}) than when "
            f"the benchmark was started ({cell.fingerprint})"
        )
    split = make_split(graphs, protocol=cell.protocol, labels=cell.labels, seed=cell.seed)
    result = asdict(evaluate_split(method, graphs, split))
    if cell.cases:
        result["cases"] = find_cases(method, graphs, split, cell.cases)
    return result


@lru_cache(maxsize=2)
def _load(dataset: str) -> GraphDataset:
    """Open a dataset; workers share memory, since its arrays are mapped from the cache."""
    return load(dataset)


def _told(error: BaseException, memory_limit: int | None) -> str:
    """Return type and message of an error, and the last place in kgnn's code."""
    ours = [
        f for f in traceback.extract_tb(error.__traceback__) if "kgnn" in Path(f.filename).parts
    ]
    place = f" ({Path(ours[-1].filename).name}, line {ours[-1].lineno})" if ours else ""
    message = " ".join(str(error).split())[:500]
    is_memory = isinstance(error, MemoryError) or "allocate" in message  # torch says "allocate"
    limit = f" beyond the limit of {memory_limit / _MIB:.0f} MiB" if memory_limit else ""
    return f"{f'out of memory{limit}: ' * is_memory}{type(error).__name__}: {message}{place}"


@contextmanager
def _limited(extra: int | None) -> Iterator[None]:
    """Limit the memory that the block may allocate, if the system supports it."""
    if extra is None:
        yield
        return
    try:
        import resource
    except ImportError:  # Windows has no such limit
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limits = [size for size in (soft, hard) if size != resource.RLIM_INFINITY]
    allocated = _status("VmData") or 0
    resource.setrlimit(resource.RLIMIT_DATA, (min([allocated + extra, *limits]), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _status(field: str) -> int | None:
    """Return a size in bytes from /proc/self/status; None if there is none."""
    try:
        text = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:
        return None
    found = re.search(rf"^{field}:\s+(\d+) kB", text, re.MULTILINE)
    return int(found[1]) * 1024 if found else None


@contextmanager
def _measured_memory() -> Iterator[Callable[[], float | None]]:
    """Yield a function that returns the peak memory since the block began, in MiB.

    A worker runs many cells. Linux can reset the peak; elsewhere it is that of the whole process.
    """
    from kgnn.evaluation.protocol import peak_mib

    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        yield peak_mib
        return
    yield lambda: round((_status("VmHWM") or 0) / _MIB, 1)


@lru_cache(maxsize=1)
def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


@lru_cache(maxsize=1)
def _machine() -> dict[str, Any]:
    """Return the kind of this machine, without its name."""
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
        "byte_order": sys.byteorder,
    }


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor()
    found = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return found[1] if found else platform.processor()
