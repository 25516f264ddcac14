"""Run one cell and say what became of it, whatever happens."""

from __future__ import annotations

import os
import platform
import re
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime, timezone
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from kgnn.benchmark.cell import Cell
from kgnn.benchmark.record import Record
from kgnn.errors import GraphDataError
from kgnn.graphs.graph import GraphDataset
from kgnn.graphs.loading import load
from kgnn.methods.registry import make

_PACKAGES = ("kgnn", "numpy", "scipy", "scikit-learn", "torch", "gensim")
_MIB = 1 << 20


def run_cell(cell: Cell, memory_limit: int | None = None) -> Record:
    """Run a cell on one thread and record it; an error is recorded, too.

    Parameters
    ----------
    cell : Cell
    memory_limit : int, optional
        Bytes that the cell may add to what the process has; a cell that needs more fails.
    """
    from kgnn.threads import limit_threads

    settings = {k: tuple(v) if isinstance(v, list) else v for k, v in cell.parameters.items()}
    method = make(cell.method, **{"random_state": cell.seed, **settings})
    outcome, result, reason = "done", {}, ""
    try:
        with limit_threads(1), _limited(memory_limit), _measured_memory() as peak_mib:
            result = _evaluate(cell, method)
        result["peak_mib"] = peak_mib()
    except GraphDataError as declined:  # these graphs are not for this method
        outcome, reason = "declined", str(declined)
    except Exception as error:  # whatever it is, the other cells go on
        outcome, reason = "failed", _told(error)
    return Record(
        cell,
        outcome,
        result,
        reason,
        all_parameters=method.get_params(),
        versions=_versions(),
        machine=_machine(),
        finished=datetime.now(timezone.utc).isoformat(timespec="seconds"),
    )


def died(cell: Cell, reason: str) -> Record:
    """Record a cell whose process died, so that it could not say anything itself."""
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return Record(
        cell, "failed", reason=reason, versions=_versions(), machine=_machine(), finished=now
    )


def _evaluate(cell: Cell, method: Any) -> dict[str, Any]:
    from kgnn.evaluation.cases import find_cases
    from kgnn.evaluation.protocol import evaluate_split
    from kgnn.evaluation.splits import make_split

    graphs = _load(cell.dataset)
    if graphs.fingerprint != cell.fingerprint:
        raise RuntimeError(
            f"'{cell.dataset}' has other graphs here (fingerprint {graphs.fingerprint}) than where "
            f"the benchmark was started ({cell.fingerprint})"
        )
    split = make_split(graphs, protocol=cell.protocol, labels=cell.labels, seed=cell.seed)
    result = asdict(evaluate_split(method, graphs, split))
    if cell.cases:
        result["cases"] = find_cases(method, graphs, split, cell.cases)
    return result


@lru_cache(maxsize=2)
def _load(dataset: str) -> GraphDataset:
    """Open a dataset; its arrays are mapped from the cache, so all workers share the memory."""
    return load(dataset)


def _told(error: Exception) -> str:
    """Return type, message and the last place in our code."""
    ours = [
        f for f in traceback.extract_tb(error.__traceback__) if "kgnn" in Path(f.filename).parts
    ]
    place = f" ({Path(ours[-1].filename).name}, line {ours[-1].lineno})" if ours else ""
    first_lines = " ".join(str(error).split())[:500]
    return f"{type(error).__name__}: {first_lines}{place}"


@contextmanager
def _limited(extra: int | None) -> Iterator[None]:
    """Bound the memory that may be taken inside the block, where the system can."""
    if extra is None:
        yield
        return
    try:
        import resource
    except ImportError:  # Windows has no such limit
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (_data_bytes() + extra, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _data_bytes() -> int:
    """Return what this process has allocated so far."""
    return _status("VmData") or 0


def _status(field: str) -> int | None:
    """Return a size in bytes that Linux tells of this process."""
    try:
        text = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:
        return None
    found = re.search(rf"^{field}:\s+(\d+) kB", text, re.MULTILINE)
    return int(found[1]) * 1024 if found else None


@contextmanager
def _measured_memory() -> Iterator[Any]:
    """Give a function that tells the most memory used since the block began, in MiB.

    A worker runs many cells. Linux can forget the peak of the earlier ones; elsewhere the peak of
    the whole process is told.
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
    """Say what kind of machine this is, not which one."""
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
