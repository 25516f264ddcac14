"""Convert labels and names to codes, which are positions in a list of names."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgnn.errors import GraphDataError, KgnnError, excerpt


def by_position(values: Any, what: str, error: type[KgnnError] = GraphDataError) -> list[Any]:
    """List the values of any container in order, as plain Python values.

    Iterates instead of indexing, because ``values[row]`` of a pandas Series uses its index. A
    column (rows of one value each) is read as its values. ``what`` names the argument in messages.

    Examples
    --------
    >>> by_position(np.array([[3], [4]]), "y")
    [3, 4]
    """
    if isinstance(values, Mapping | Set):
        raise error(
            f"{what} must be in the order of the graphs, got a {type(values).__name__}, which has "
            "no such order; pass a list"
        )
    n_axes = getattr(values, "ndim", 1)
    if not isinstance(values, Iterable) or n_axes == 0:
        raise error(f"{what} must hold one value for each graph, got {excerpt(repr(values))}")
    if n_axes == 2 and hasattr(values, "to_numpy"):
        values = values.to_numpy()  # a pandas DataFrame iterates over its header
    return [_plain(value, f"{what}[{row}]", error) for row, value in enumerate(values)]


def targets_by_position(targets: Any, what: str = "targets") -> list[Hashable | None]:
    """List the classes of graphs given in Python; None for unknown ones.

    Examples
    --------
    >>> targets_by_position([1, -1, float("nan"), "", "-1"])
    [1, None, None, None, '-1']
    """
    return [known_or_none(target) for target in by_position(targets, what)]


def known_or_none(label: Any) -> Any:
    """Return a label, or None if it means unknown: see `is_unknown`, or the number −1."""
    if is_unknown(label) or (isinstance(label, int | float) and label == -1):
        return None
    return label


def is_unknown(label: Any) -> bool:
    """Tell whether a label means unknown: None, NaN, pandas' NA and NaT, empty text."""
    if label is None or (isinstance(label, str) and not label):
        return True
    try:
        return bool(label != label)
    except TypeError:  # comparisons with pandas.NA have no truth value
        return True


def class_name(label: Any) -> str:
    """Return the name in a dataset for a label of a graph, a node or an edge.

    A pandas column with a missing label turns the label 1 into 1.0, so both have the same name.

    Examples
    --------
    >>> class_name(1.0), class_name("1.0"), class_name(0.5)
    ('1', '1.0', '0.5')
    """
    if getattr(label, "shape", None) == ():  # a scalar of numpy or torch
        label = label.item()
    is_whole = isinstance(label, float) and label.is_integer()
    return str(int(label)) if is_whole else str(label)


def encode(
    labels: Iterable[Hashable | None], names: Sequence[str] | None = None
) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Turn labels into positions in a list of names, None into −1.

    Without ``names`` the list is made from the labels, in the order of `ordered`.

    Examples
    --------
    >>> encode(["b", None, 10, 9])
    (array([ 2, -1,  1,  0]), ('9', '10', 'b'))
    """
    texts = [x if x is None or type(x) is str else class_name(x) for x in labels]
    names = ordered(text for text in texts if text is not None) if names is None else names
    position: dict[str | None, int] = {name: code for code, name in enumerate(names)} | {None: -1}
    try:
        return np.array([position[text] for text in texts], dtype=np.int64), tuple(names)
    except KeyError as error:
        raise GraphDataError(f"target {error} is not one of the classes {list(names)}") from error


def recode(codes: NDArray[Any], names: Sequence[str], others: Sequence[str]) -> NDArray[Any]:
    """Express codes in another list of names; −1 stays −1, a missing name becomes −1.

    Examples
    --------
    >>> recode(np.array([0, 1, -1]), ("a", "b"), ("b", "c"))
    array([-1,  0, -1])
    """
    if tuple(names) == tuple(others):
        return codes
    position = {name: code for code, name in enumerate(others)}
    table = np.array([position.get(name, -1) for name in names] + [-1], dtype=codes.dtype)
    return table[codes]


def ordered(names: Iterable[str]) -> tuple[str, ...]:
    """Sort distinct names: numbers by value, then text alphabetically.

    Examples
    --------
    >>> ordered(["b", "10", "9", "b"])
    ('9', '10', 'b')
    """
    return tuple(sorted(set(names), key=_sort_key))


def _sort_key(name: str) -> tuple[int, int, str]:
    try:
        return (0, int(name), name) if name.isascii() and "_" not in name else (1, 0, name)
    except ValueError:
        return (1, 0, name)


def require_length(values: Sequence[Any] | NDArray[Any] | None, n: int, what: str) -> None:
    """Raise an error if values are given, but not ``n`` of them."""
    if values is not None and len(values) != n:
        raise GraphDataError(f"expected {n} {what}, got {len(values)}")


def _plain(value: Any, place: str, error: type[KgnnError]) -> Any:
    """Turn a single value of numpy or torch into a plain one."""
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
    return _plain(value[0], place, error) if isinstance(value, list | tuple) else value.item()
