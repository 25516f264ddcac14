"""How long cells will take, guessed from those that have run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from statistics import fmean, median

from kgnn.benchmark.cell import Cell
from kgnn.benchmark.record import Record


class Estimates:
    """Seconds of cells to come.

    What has run with the same method on the same dataset tells it directly. For other pairs the
    method's seconds per unit of size are taken from other datasets, or those of all methods.

    Parameters
    ----------
    sizes : dict of str to float
        How large each dataset is, in any unit.

    Examples
    --------
    >>> estimates = Estimates({"A": 1.0, "B": 10.0})
    >>> estimates.learn(Record(Cell("A", "", "wl"), "done", {"seconds": 3.0}))
    >>> estimates(Cell("A", "", "wl", seed=1)), estimates(Cell("B", "", "wl"))
    (3.0, 30.0)
    """

    def __init__(self, sizes: Mapping[str, float], records: Iterable[Record] = ()) -> None:
        self.sizes = sizes
        self._seconds: dict[tuple[str, str], list[float]] = defaultdict(list)
        self._known: dict[tuple[str, str], float] = {}  # estimates from what has run until now
        for record in records:
            self.learn(record)

    def learn(self, record: Record) -> None:
        """Take note of how long a cell took."""
        if record.outcome == "done":
            cell = record.cell
            self._seconds[cell.method, cell.dataset].append(record.result["seconds"])
            self._known.clear()

    def __call__(self, cell: Cell) -> float:
        """Return the seconds that a cell will probably take."""
        pair = cell.method, cell.dataset
        if pair not in self._known:
            self._known[pair] = self._estimate(*pair)
        return self._known[pair]

    def _estimate(self, method: str, dataset: str) -> float:
        if seconds := self._seconds.get((method, dataset)):
            return median(seconds)
        rates = [
            (of_method, median(seconds) / self._size(of_dataset))
            for (of_method, of_dataset), seconds in self._seconds.items()
        ]
        own = [rate for of_method, rate in rates if of_method == method]
        return self._size(dataset) * fmean(own or [rate for _, rate in rates] or [1.0])

    def _size(self, dataset: str) -> float:
        return max(1.0, self.sizes.get(dataset, 1.0))

    @property
    def is_blind(self) -> bool:
        """Whether nothing has run yet, so that estimates only order the cells."""
        return not self._seconds
