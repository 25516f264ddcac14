"""What a crafted model file may say: one entry of it removed, added, retyped or reshaped.

The checksum is made again afterwards, as somebody would who means harm: so what is tested is that
nothing which the checksum covers is believed for being there.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np

Content = tuple[dict[str, Any], dict[str, np.ndarray]]

# One value of each type that JSON has, and some that only look right.
_OTHERS: tuple[Any, ...] = (
    None, True, -1, 10**30, 0.5, "", "text", [], [[]], {}, {"$": "tuple", "of": []},
    {"$": "array", "name": "none"}, {"$": "object", "class": "GraphDataset", "state": {}},
    {"$": "texts", "of": ["a"]}, {"$": "same", "id": 0}, {"$": "float", "of": "nan"},
)  # fmt: skip


def mutated(content: Content, rng: np.random.Generator) -> tuple[str, Content]:
    """Return what was changed, and the changed header and arrays."""
    header, arrays = copy.deepcopy(content[0]), dict(content[1])
    if arrays and rng.random() < 0.4:
        return _change_array(arrays, rng), (header, arrays)
    return _change_entry(header, rng), (header, arrays)


def _places(tree: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield each entry of nested objects and lists: where it is, what holds it, under which key."""
    keys = tree.keys() if isinstance(tree, dict) else range(len(tree))
    for key in list(keys):
        yield f"{path}/{key}", tree, key
        if isinstance(tree[key], dict | list):
            yield from _places(tree[key], f"{path}/{key}")


def _change_entry(header: dict[str, Any], rng: np.random.Generator) -> str:
    places = list(_places(header))
    path, holder, key = places[rng.integers(len(places))]
    match ("remove", "add", "retype", "retype")[rng.integers(4)]:
        case "remove":
            del holder[key]
            return f"removed {path}"
        case "add":
            if isinstance(holder, dict):
                holder["added"] = holder[key]
            else:
                holder.insert(key, copy.deepcopy(holder[key]))
            return f"added beside {path}"
        case _:
            others = [each for each in _OTHERS if not _is_alike(each, holder[key])]
            before, holder[key] = holder[key], others[rng.integers(len(others))]
            return f"{path} was {str(before)[:60]}, now {holder[key]!r}"


def _is_alike(one: Any, other: Any) -> bool:
    """Tell whether a value is of the same kind, so that it is another number or text at most."""
    kinds = {type(one), type(other)}
    if kinds == {dict}:
        return bool(one.get("$") == other.get("$"))
    return len(kinds) == 1


def _change_array(arrays: dict[str, np.ndarray], rng: np.random.Generator) -> str:
    name = list(arrays)[rng.integers(len(arrays))]
    array = arrays[name]
    changes = {
        "removed": None,
        "flat": array.ravel(),
        "in one more dimension": array[None],
        "empty": array.ravel()[:0],
        "one longer": np.concatenate([array.ravel(), array.ravel()[:1]]),
        "one shorter": array.ravel()[:-1],
        "turned": array.T,
        "as float64": array.astype(np.float64),
        "as int8": np.zeros(array.shape, dtype=np.int8),
        "as bool": array.astype(np.bool_),
    }
    same = (array.shape, array.dtype)
    kinds = [k for k, v in changes.items() if v is None or (v.shape, v.dtype) != same]
    kind = kinds[rng.integers(len(kinds))]
    if changes[kind] is None:
        del arrays[name]
    else:
        arrays[name] = np.array(changes[kind], order="C")
    return f"array {name} {array.dtype}{array.shape} {kind}"
