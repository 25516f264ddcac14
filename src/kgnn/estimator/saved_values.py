"""Python values as JSON and named arrays, and back, without executing anything.

Plain values are themselves in JSON. All else is an object whose key ``$`` says what it is:

::

    {"$": "tuple", "of": […]}             {"$": "array", "name": "7"}
    {"$": "dict", "of": [[key, value]]}   {"$": "sparse", "data": …, "shape": […]}
    {"$": "object", "class": "GIN", "state": {…}}

Only classes of a given list are ever made, and only from their attributes: nothing of theirs is
called. A class that holds more than it needs to be used again has a method ``saved_state``; our
modules around parts of another library are made anew by their ``from_saved``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import nn

_KIND = "$"
_MODULE_PARTS = ("_parameters", "_buffers", "_modules")


class Encoder:
    """Turns values into JSON trees, and keeps their arrays.

    Parameters
    ----------
    classes : dict of str to type
        Which classes may be saved, by the name they get.

    Attributes
    ----------
    arrays : dict of str to Tensor
        Arrays of all values encoded so far, each once.

    Examples
    --------
    >>> encoder = Encoder({})
    >>> tree = encoder.encode({"a": (1, np.arange(3))})
    >>> tree
    {'a': {'$': 'tuple', 'of': [1, {'$': 'array', 'name': '0'}]}}
    >>> Decoder({}, encoder.arrays).decode(tree)
    {'a': (1, array([0, 1, 2]))}
    """

    def __init__(self, classes: Mapping[str, type]) -> None:
        self._names = {cls: name for name, cls in classes.items()}
        self.arrays: dict[str, torch.Tensor] = {}
        self._n_shared = 0
        self._kept: dict[int, tuple[dict[str, Any], Any]] = {}  # trees by the object's identity

    def encode(self, value: Any) -> Any:
        """Return a value as JSON."""
        if value is None or isinstance(value, (bool, str)):
            return value
        if isinstance(value, (int, np.integer)):
            return int(value)
        if isinstance(value, (float, np.floating)):
            number = float(value)
            return number if math.isfinite(number) else {_KIND: "float", "of": repr(number)}
        if isinstance(value, list):
            return [self.encode(each) for each in value]
        if isinstance(value, dict):
            return self._dict(value)
        return self._once(value)

    def _dict(self, value: dict[Any, Any]) -> Any:
        if _KIND not in value and all(isinstance(key, str) for key in value):
            return {key: self.encode(each) for key, each in value.items()}
        return {_KIND: "dict", "of": [[self.encode(k), self.encode(v)] for k, v in value.items()]}

    def _once(self, value: Any) -> Any:
        """Encode what may be in several places; the second is a reference to the first."""
        if id(value) in self._kept:
            first = self._kept[id(value)][0]
            first.setdefault("id", self._n_shared)
            self._n_shared = max(self._n_shared, first["id"] + 1)
            return {_KIND: "same", "id": first["id"]}
        tree = self._made(value)
        if tree[_KIND] in ("object", "module", "sparse"):
            self._kept[id(value)] = tree, value  # the value, too, so that its identity stays taken
        return tree

    def _made(self, value: Any) -> dict[str, Any]:
        if type(value) is tuple:
            return {_KIND: "tuple", "of": [self.encode(each) for each in value]}
        if isinstance(value, slice):
            return {_KIND: "slice", "of": [value.start, value.stop]}
        if isinstance(value, np.ndarray):
            return self._array(value)
        if isinstance(value, torch.Tensor):
            kind = "parameter" if isinstance(value, nn.Parameter) else "tensor"
            return {_KIND: kind, "name": self._keep(value.detach())}
        if sparse.issparse(value):
            parts = {
                part: self.encode(getattr(value, part)) for part in ("data", "indices", "indptr")
            }
            return {_KIND: "sparse", **parts, "shape": list(map(int, value.shape))}
        name = self._names.get(type(value))
        if name is None:
            raise TypeError(f"{type(value).__module__}.{type(value).__qualname__} cannot be saved")
        kind = "module" if isinstance(value, nn.Module) else "object"
        return {_KIND: kind, "class": name, "state": self._dict(_state_of(value))}

    def _array(self, value: np.ndarray) -> dict[str, Any]:
        if value.dtype.kind in "UO":
            return {_KIND: "texts", "of": [self.encode(each) for each in value.tolist()]}
        if value.dtype == np.uint64:  # not among the types that can be kept
            return {_KIND: "uint64", "name": self._keep(torch.from_numpy(value.view(np.int64)))}
        return {_KIND: "array", "name": self._keep(torch.from_numpy(np.array(value)))}

    def _keep(self, tensor: torch.Tensor) -> str:
        name = str(len(self.arrays))
        self.arrays[name] = tensor.contiguous().clone()
        return name


class Decoder:
    """Turns JSON trees back into values.

    Parameters
    ----------
    classes : dict of str to type
    arrays : dict of str to Tensor
    """

    def __init__(self, classes: Mapping[str, type], arrays: Mapping[str, torch.Tensor]) -> None:
        self._classes, self._arrays = classes, arrays
        self._made: dict[int, Any] = {}

    def decode(self, tree: Any) -> Any:
        """Return the value that a tree describes; ValueError where it describes none."""
        if isinstance(tree, list):
            return [self.decode(each) for each in tree]
        if not isinstance(tree, dict):
            return tree
        kind = tree.get(_KIND)
        if kind is None:
            return {key: self.decode(each) for key, each in tree.items()}
        read = getattr(self, f"_read_{kind}", None) if isinstance(kind, str) else None
        if read is None:
            raise ValueError(f"there is no kind of value {kind!r}")
        value = read(tree)
        if "id" in tree and kind != "same":
            self._made[tree["id"]] = value
        return value

    def _read_same(self, tree: dict[str, Any]) -> Any:
        if tree["id"] not in self._made:
            raise ValueError(f"there is no earlier value {tree['id']!r}")
        return self._made[tree["id"]]

    def _read_float(self, tree: dict[str, Any]) -> float:
        return float(tree["of"])

    def _read_tuple(self, tree: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(self.decode(each) for each in tree["of"])

    def _read_dict(self, tree: dict[str, Any]) -> dict[Any, Any]:
        return {self.decode(key): self.decode(value) for key, value in tree["of"]}

    def _read_slice(self, tree: dict[str, Any]) -> slice:
        start, stop = tree["of"]
        return slice(start, stop)

    def _read_texts(self, tree: dict[str, Any]) -> np.ndarray:
        values = [self.decode(each) for each in tree["of"]]
        return np.array(values) if all(isinstance(v, str) for v in values) else _objects(values)

    def _read_array(self, tree: dict[str, Any]) -> np.ndarray:
        return self._tensor(tree).numpy()

    def _read_uint64(self, tree: dict[str, Any]) -> np.ndarray:
        return self._tensor(tree).numpy().view(np.uint64)

    def _read_tensor(self, tree: dict[str, Any]) -> torch.Tensor:
        return self._tensor(tree)

    def _read_parameter(self, tree: dict[str, Any]) -> nn.Parameter:
        return nn.Parameter(self._tensor(tree))

    def _read_sparse(self, tree: dict[str, Any]) -> sparse.csr_array:
        parts = tuple(self.decode(tree[part]) for part in ("data", "indices", "indptr"))
        matrix = sparse.csr_array(parts, shape=tuple(map(int, tree["shape"])))
        matrix.check_format(full_check=True)  # indices in range: C code would believe them
        return matrix

    def _read_object(self, tree: dict[str, Any]) -> Any:
        cls = self._class(tree)
        if issubclass(cls, nn.Module):
            raise ValueError(f"'{tree['class']}' is a module")
        if computed := [key for key in tree["state"] if _is_computed(cls, key)]:
            raise ValueError(f"'{tree['class']}' computes {computed[0]} itself")
        value = cls.__new__(cls)
        vars(value).update({str(key): self.decode(each) for key, each in tree["state"].items()})
        return value

    def _read_module(self, tree: dict[str, Any]) -> nn.Module:
        cls = self._class(tree)
        if not issubclass(cls, nn.Module):
            raise ValueError(f"'{tree['class']}' is no module")
        state = {str(key): self.decode(each) for key, each in tree["state"].items()}
        if hasattr(cls, "from_saved"):
            return cls.from_saved(state)
        module = cls.__new__(cls)
        nn.Module.__init__(module)
        for part in _MODULE_PARTS:
            vars(module)[part].update(state.pop(part, {}))
        vars(module).update(state)
        return module

    def _class(self, tree: dict[str, Any]) -> type:
        if tree["class"] not in self._classes:
            raise ValueError(f"'{tree['class']}' is none of the classes that a model is made of")
        return self._classes[tree["class"]]

    def _tensor(self, tree: dict[str, Any]) -> torch.Tensor:
        if tree["name"] not in self._arrays:
            raise ValueError(f"there is no array {tree['name']!r}")
        return self._arrays[tree["name"]]


def _state_of(value: Any) -> dict[str, Any]:
    """Return what makes up an object; for a module, what is not the same in all modules."""
    if isinstance(value, nn.Module) and not hasattr(value, "saved_state"):
        own = {k: v for k, v in vars(value).items() if not k.startswith("_") or k in _MODULE_PARTS}
        return {k: dict(v) if k in _MODULE_PARTS else v for k, v in own.items()}
    state = value.saved_state() if hasattr(value, "saved_state") else vars(value)
    return {key: each for key, each in state.items() if not _is_computed(type(value), key)}


def _is_computed(cls: type, key: str) -> bool:
    """Tell whether an attribute is computed from others and kept: nobody would check it."""
    return isinstance(getattr(cls, key, None), cached_property)


def _objects(values: list[Any]) -> np.ndarray:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
