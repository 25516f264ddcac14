"""Numbers to places along an axis, with ticks at round numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass

_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


def nice_ticks(low: float, high: float, n: int = 5) -> list[float]:
    """Return about ``n`` round numbers that reach from at most ``low`` to at least ``high``.

    Examples
    --------
    >>> nice_ticks(61.3, 78.2)
    [60.0, 65.0, 70.0, 75.0, 80.0]
    >>> nice_ticks(3, 3)
    [2.5, 3.0, 3.5]
    """
    if high - low < 1e-9 * max(1.0, abs(low)):
        low, high = low - 0.5, high + 0.5
        n = 3
    rough = (high - low) / (n - 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(s * power for s in _STEPS if s * power >= rough * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(i * step, 10) for i in range(first, last + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """Return powers of ten within the range, with halves of decades where there are few.

    Examples
    --------
    >>> log_ticks(0.4, 150)
    [1.0, 10.0, 100.0]
    >>> log_ticks(2, 9)
    [2.0, 5.0]
    """
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    decades = [10.0**p for p in powers if low <= 10.0**p <= high]
    if len(decades) >= 3:
        return decades
    return [m * 10.0**p for p in powers for m in (1, 2, 5) if low <= m * 10.0**p <= high]


def tick_label(value: float) -> str:
    """Write a tick.

    Examples
    --------
    >>> tick_label(60.0), tick_label(0.05), tick_label(20000.0)
    ('60', '0.05', '20,000')
    """
    return f"{value:,.0f}" if value == round(value) else f"{value:g}"


@dataclass(frozen=True)
class Scale:
    """A range of numbers on a stretch of the drawing.

    Examples
    --------
    >>> Scale(0, 10, 100, 200).at(5)
    150.0
    >>> Scale(1, 100, 0, 2, is_log=True).at(10)
    1.0
    """

    low: float
    high: float
    start: float
    end: float
    is_log: bool = False

    def at(self, value: float) -> float:
        """Return the place of a number."""
        low, high = self._bend(self.low), self._bend(self.high)
        share = (self._bend(value) - low) / (high - low) if high > low else 0.5
        return self.start + share * (self.end - self.start)

    def _bend(self, value: float) -> float:
        return math.log10(value) if self.is_log else value
