"""Every record as a row of one long table, for spreadsheets and data frames."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from typing import Any

from kgnn.benchmark.record import Record
from kgnn.estimator.metrics import METRICS
from kgnn.graphs.readers.text import harmless

_CELL = ("dataset", "method", "protocol", "labels", "seed", "parameters", "revision", "fingerprint")
_NUMBERS = (
    *METRICS,
    *("majority_share", "validation_accuracy", "expected_accuracy", "expected_on"),
    *("accuracy_without_twins", "without_twins", "calibration_error", "coverage", "set_size"),
    *("labeled", "unlabeled", "validation", "test"),
    *("seconds", "cpu_seconds", "seconds_saved", "peak_mib"),
)
# Loss curves and cases are left out, because they do not fit into a row.
COLUMNS = (
    *("key", *_CELL, "outcome", "reason", *_NUMBERS, "recalls", "rounds"),
    *("versions", "machine", "finished"),
)


def records_csv(records: Iterable[Record], for_spreadsheets: bool = False) -> str:
    """Return a table with a row for each record, done or not, under the names in ``COLUMNS``.

    Missing values are empty; structured values, such as parameters, are JSON. With
    ``for_spreadsheets``, put an apostrophe before text that would be run as a formula.
    """
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for each in map(row, records):
        writer.writerow({k: harmless(v) for k, v in each.items()} if for_spreadsheets else each)
    return buffer.getvalue()


def row(record: Record) -> dict[str, Any]:
    """Return a record as a row, by the names in ``COLUMNS``."""
    return {
        "key": record.cell.key,
        **{name: getattr(record.cell, name) for name in _CELL},
        "parameters": _json(record.cell.parameters),
        "outcome": record.outcome,
        "reason": record.reason,
        **{name: record.result.get(name) for name in _NUMBERS},
        "recalls": _json(record.result.get("recalls") or {}),
        "rounds": len(record.result["rounds"]) if "rounds" in record.result else None,
        "versions": _json(record.versions),
        "machine": _json(record.machine),
        "finished": record.finished,
    }


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True) if value else ""
