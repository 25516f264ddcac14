"""How numbers are written: the same everywhere."""

from __future__ import annotations

import math
from collections.abc import Sequence


def mean_with_std(mean: float, std: float | None, n: int) -> str:
    """Write a mean; a single value has no deviation to show.

    Examples
    --------
    >>> mean_with_std(73.18, 2.04, n=5), mean_with_std(73.18, 0.0, n=1)
    ('73.2 ± 2.0', '73.2')
    """
    return f"{mean:.1f} ± {std:.1f}" if std is not None and n > 1 else f"{mean:.1f}"


def signed(value: float) -> str:
    """Write a difference; one that rounds to zero has no sign.

    Examples
    --------
    >>> signed(1.25), signed(-0.31), signed(-0.04)
    ('+1.2', '−0.3', '0.0')
    """
    rounded = round(value, 1)
    sign = "+" if rounded > 0 else "−" if rounded < 0 else ""
    return f"{sign}{abs(rounded):.1f}"


def p_value(p: float) -> str:
    """Write a p-value; ``–`` where there is none.

    Examples
    --------
    >>> p_value(0.0421), p_value(0.00001), p_value(float("nan"))
    ('0.042', '< 0.001', '–')
    """
    if math.isnan(p):
        return "–"
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def listed(words: Sequence[str]) -> str:
    """Write words as a list.

    Examples
    --------
    >>> listed(["DD"]), listed(["DD", "COLLAB"]), listed(["a", "b", "c"])
    ('DD', 'DD and COLLAB', 'a, b and c')
    """
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def counted(n: int, what: str) -> str:
    """Write a number of things.

    Examples
    --------
    >>> counted(1, "run"), counted(1200, "run")
    ('1 run', '1,200 runs')
    """
    return f"{n:,} {what}{'s' if n != 1 else ''}"
