"""Labels and names as people give them: in a list, an array, a column of a table or a tensor."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Set
from typing import Any

import numpy as np

from kgnn.errors import GraphDataError, KgnnError
from kgnn.graphs.excerpts import excerpt


def by_position(values: Any, what: str, error: type[KgnnError] = GraphDataError) -> list[Any]:
    """List the values of any container in their order, as plain Python values.

    Iteration is what all containers agree on: ``values[row]`` of a pandas Series is not the value
    in that position but the one that its index calls so.

    Parameters
    ----------
    values : iterable
        A column, that is rows of one value each, is taken as its values.
    what : str
        Name of the argument, for messages.
    error : type
        Raised where there is not one value for each position.

    Examples
    --------
    >>> by_position(np.array([[3], [4]]), "y")
    [3, 4]
    """
    if isinstance(values, Mapping | Set):
        raise error(
            f"{what} must be in the order of the graphs, got a {type(values).__name__}, "
            "which is not looked up by graph; give a list"
        )
    n_axes = getattr(values, "ndim", 1)
    if not isinstance(values, Iterable) or n_axes == 0:
        raise error(f"{what} must hold one value for each graph, got {excerpt(repr(values))}")
    if n_axes == 2 and hasattr(values, "to_numpy"):
        values = values.to_numpy()  # a table of pandas, which iterates over its header
    return [_plain(value, f"{what}[{row}]", error) for row, value in enumerate(values)]


def targets_by_position(targets: Any, what: str = "targets") -> list[Hashable | None]:
    """List classes that are given in Python, None for those that are not known.

    Examples
    --------
    >>> targets_by_position([1, -1, float("nan"), "", "-1"])
    [1, None, None, None, '-1']
    """
    return [known_or_none(target) for target in by_position(targets, what)]


def known_or_none(label: Any) -> Any:
    """Return a label, or None if it says that none is known: as `is_unknown`, or the number −1."""
    if is_unknown(label) or (isinstance(label, int | float) and label == -1):
        return None
    return label


def is_unknown(label: Any) -> bool:
    """Tell whether a label says that none is known: None, NaN, pandas' NA and NaT, empty text."""
    if label is None or (isinstance(label, str) and not label):
        return True
    try:
        return bool(label != label)
    except TypeError:  # pandas.NA is neither equal to itself nor different
        return True


def class_name(label: Any) -> str:
    """Return the name that a label of a graph, a node or an edge has in a dataset.

    A column of pandas with an unknown label in it has made 1.0 of the label 1.

    Examples
    --------
    >>> class_name(1.0), class_name("1.0"), class_name(0.5)
    ('1', '1.0', '0.5')
    """
    if getattr(label, "shape", None) == ():  # of numpy or torch
        label = label.item()
    is_whole = isinstance(label, float) and label.is_integer()
    return str(int(label)) if is_whole else str(label)


def require_length(values: list[Any] | None, n: int, what: str) -> None:
    """Refuse values that are not one for each of ``n`` graphs."""
    if values is not None and len(values) != n:
        raise GraphDataError(f"expected {n} {what}, one for each graph, got {len(values)}")


def _plain(value: Any, place: str, error: type[KgnnError]) -> Any:
    """Turn what numpy or torch has for a single value into that value."""
    if value is np.ma.masked:
        return None
    shape = getattr(value, "shape", None)
    if shape is None and isinstance(value, list | tuple):
        shape = (len(value),)
    if shape is None:
        return value
    if any(length != 1 for length in shape):
        raise error(
            f"{place} must be one value, got {excerpt(repr(value))}; "
            "one-hot rows become classes with .argmax(axis=1)"
        )
    if isinstance(value, list | tuple):
        return _plain(value[0], place, error)
    return value.item()
