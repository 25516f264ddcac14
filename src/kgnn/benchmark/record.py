"""What became of a cell, as it is kept: readable JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from kgnn.benchmark.cell import Cell
from kgnn.errors import KgnnError

FORMAT = 1
OUTCOMES = ("done", "declined", "failed")


@dataclass(frozen=True)
class Record:
    """A cell and what became of it.

    Attributes
    ----------
    cell : Cell
    outcome : {"done", "declined", "failed"}
        ``declined``: the method says that this is not for it; ``failed``: an error, or a worker
        that died. What failed is tried again by the next run.
    result : dict
        Where it is done, the fields of `kgnn.evaluation.protocol.SplitResult`, ``peak_mib``, and
        ``cases`` where they were asked for.
    reason : str
        Why it was declined, or the error.
    all_parameters : dict
        Every parameter of the method, defaults too.
    versions, machine : dict
        What it was made with.
    finished : str
        When, in UTC.
    """

    cell: Cell
    outcome: str
    result: dict[str, Any] = field(default_factory=dict)
    reason: str = ""
    all_parameters: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    machine: dict[str, Any] = field(default_factory=dict)
    finished: str = ""

    @property
    def is_finished(self) -> bool:
        """Whether running it again would tell nothing new."""
        return self.outcome != "failed"

    def to_json(self) -> str:
        """Return the record as JSON, one field a line, its lists on one line each."""
        values = {"format": FORMAT, "key": self.cell.key, **asdict(self)}
        lines = (
            f"  {json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in values.items()
        )
        return "{\n" + ",\n".join(lines) + "\n}\n"

    @classmethod
    def from_json(cls, text: str, source: str = "a record") -> Record:
        """Read a record; refuse what is none, or was changed by hand so that it is another cell's.

        Examples
        --------
        >>> record = Record(Cell("PROTEINS", "a3", "wl"), "failed", reason="out of memory")
        >>> Record.from_json(record.to_json()) == record
        True
        """
        try:
            values = json.loads(text)
            is_known = values.pop("format") == FORMAT and values["outcome"] in OUTCOMES
            key = values.pop("key")
            record = cls(**{**values, "cell": Cell(**values["cell"])})
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise RecordError(f"{source} is not a record of a benchmark: {error!r}") from error
        if not is_known:
            raise RecordError(f"{source} is a record of another version of kgnn")
        if record.cell.key != key:
            raise RecordError(f"{source} says that its key is {key}, but it is {record.cell.key}")
        return record


class RecordError(KgnnError, ValueError):
    """A file in a store that is not what it should be."""
