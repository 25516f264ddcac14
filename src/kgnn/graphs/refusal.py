"""What becomes of a graph that cannot be read: the end of reading, or a line in a list."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from kgnn.errors import GraphDataError

# Readers call this with what is wrong with one graph. If it returns, they go on with the next.
Refusal = Callable[[GraphDataError], None]

_MOST_REASONS = 5


def stop(error: GraphDataError) -> None:
    """Read no further."""
    raise error


@dataclass
class Skipped:
    """Graphs that were left out: how many, and why the first ones.

    Examples
    --------
    >>> skipped = Skipped()
    >>> skipped(GraphDataError("graphs.jsonl, line 3: not valid JSON"))
    >>> skipped
    Skipped(n=1, reasons=['graphs.jsonl, line 3: not valid JSON'])
    """

    n: int = 0
    reasons: list[str] = field(default_factory=list)

    def __call__(self, error: GraphDataError) -> None:
        """Leave out one graph."""
        self.add(Skipped(1, [str(error)]))

    def add(self, other: Skipped) -> None:
        """Count the graphs of another list, too."""
        self.n += other.n
        self.reasons = [*self.reasons, *other.reasons][:_MOST_REASONS]
