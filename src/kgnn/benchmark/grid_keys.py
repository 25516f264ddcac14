"""What may stand in a grid file, under which keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kgnn.errors import ParameterError, UnknownNameError

MOST_LABELS = 0.2  # of all graphs; `kgnn.evaluation.splits.make_split` can label no more


class GridError(ParameterError):
    """A grid file that says something that cannot be run."""


def require_keys(values: dict[str, Any], source: str) -> None:
    """Refuse keys that do not exist, values of the wrong kind, and a grid that lacks something."""
    for key, value in values.items():
        if key not in _KEYS:
            raise UnknownNameError.of(f"key of a grid in {source}", key, _KEYS)
        wanted, is_right = _KEYS[key]
        if not is_right(value):
            raise GridError(f"{source}: '{key}' must be {wanted}, got {value!r}.")
    for needed in ("title", "methods", "datasets"):
        if not values.get(needed):
            raise GridError(f"{source} has no '{needed}'.")


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _is_count(value: Any, least: int = 0) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _is_positive(value: Any) -> bool:
    return _is_count(value, 1)


def _is_choice(value: Any) -> bool:
    return isinstance(value, list) and bool(value)


def _is_shares(value: Any) -> bool:
    return _is_choice(value) and all(
        isinstance(each, float) and 0 < each <= MOST_LABELS for each in value
    )


def _is_tables(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, dict) for each in value)


def _is_table_of(value: Any, holds: Callable[[Any], bool]) -> bool:
    return isinstance(value, dict) and all(map(holds, value.values()))


# What may stand in a file: how to say it, and how to tell it.
_KEYS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "title": ("a text", lambda value: isinstance(value, str)),
    "methods": ("a list of names", _is_names),
    "datasets": ("a list of names", _is_names),
    "labels": (
        f"a list of shares of all graphs, above 0 and at most {MOST_LABELS} (TRAIN-L)",
        _is_shares,
    ),
    "protocol": ("a text", lambda value: isinstance(value, str)),
    "splits": ("a number from 1", _is_positive),
    "splits-of": ("a table of numbers from 1", lambda value: _is_table_of(value, _is_positive)),
    "cases": ("a number from 0", _is_count),
    "variants": ("a list of tables", lambda value: bool(value) and _is_tables(value)),
    "sweep": (
        "a table of lists, each of one value or more",
        lambda value: _is_table_of(value, _is_choice),
    ),
    "rule": ("tables, written [[rule]]", _is_tables),
}
