"""Python values as JSON and arrays, and back, without importing or executing anything.

Plain values are themselves in JSON. Others are objects whose key ``$`` says what they are::

    {"$": "tuple", "of": […]}             {"$": "array", "name": "7"}
    {"$": "dict", "of": [[key, value]]}   {"$": "sparse", "data": …, "shape": […]}
    {"$": "object", "class": "Familiar", "state": {attributes}}
    {"$": "module", "class": "GIN", "config": {constructor arguments}, "state": {name: array}}
    {"$": "given", "class": "MyKernel", "state": {attributes}}     a class of the caller's
    {"$": "estimator", "class": "SVC", "name": "7"}                of scikit-learn, packed by skops
    {"$": "same", "id": 3}                                         the value with this id

Only classes of a fixed list are built, and those that the caller passes. Modules are rebuilt from
their constructor arguments, other objects from their attributes, whose types must be as declared:
nothing of theirs is called but ``require_sound``, which raises an error where attributes do not
belong together. An estimator of scikit-learn is opened if the caller passes its class: skops runs
no code of a file, but scikit-learn believes the numbers in it. A class that holds more than
predictions need has a method ``saved_state``.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from functools import cache, cached_property
from importlib import import_module
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
import torch
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.preprocessing import StandardScaler
from torch import Tensor, nn

from kgnn.errors import MissingExtraError, excerpt
from kgnn.estimator.parameters import fields_of
from kgnn.estimator.saved_files import UnknownClassError

_PARTS_OF_SPARSE = ("data", "indices", "indptr")
# Constructor arguments that say how many modules to build; each module has an array.
_DEPTHS = ("layers", "hops")
# All classes that may be built, by module.
_CLASSES = {
    "kgnn.graphs.graph": ("GraphDataset",),
    "kgnn.kernels.edge_kinds": ("EdgeKinds",),
    "kgnn.kernels.weisfeiler_lehman": ("WeisfeilerLehman",),
    "kgnn.kernels.optimal_assignment": ("OptimalAssignment",),
    "kgnn.kernels.shortest_paths": ("ShortestPaths",),
    "kgnn.kernels.graphlets": ("Graphlets",),
    "kgnn.kernels.degree_profiles": ("DegreeProfiles",),
    "kgnn.kernels.kernel_sum": ("KernelSum",),
    "kgnn.kernels.projection": ("Projection",),
    "kgnn.kernels.paragraph_vectors": ("ParagraphVectors",),
    "kgnn.engine.node_features": ("NodeFeatures",),
    "kgnn.engine.gin": ("GIN",),
    "kgnn.engine.calibration": ("Mixing",),
    "kgnn.engine.forest": ("Forest", "KernelForest"),
    "kgnn.engine.linear": ("KernelMachine",),
    "kgnn.engine.memory": ("Memory", "SparseRows"),
    "kgnn.methods.infograph": ("InfoMax",),
    "kgnn.engine.rounds": ("Course", "Round"),
    "kgnn.engine.network": ("Fitted", "GraphNetwork"),
    "kgnn.engine.untrained": ("UntrainedGNN",),
    "kgnn.engine.loop": ("History",),
    "kgnn.estimator.novelty": ("Familiar",),
    "kgnn.estimator.calibration": ("HeldOut",),
    "kgnn.methods.kgnn": ("MemoryNetwork",),
    "kgnn.methods.ensemble_self": ("EnsembleNetwork", "JointNetwork"),
    "kgnn.methods.featurized": ("Machine", "Member", "SupportKernel"),
    "kgnn.methods.dgk": ("DeepKernel",),
    "kgnn.methods.ltp": ("EdgeProfiles",),
    "kgnn.methods.graph2vec": ("GraphInformation", "GraphVectors"),
    "kgnn.methods.sub2vec": ("WalkVectors",),
    "kgnn.methods.semi_supervised": ("SemiSupervisedNetwork",),
    "kgnn.methods.pretrained": ("EncoderPlan", "SavedEncoder"),
    "sklearn.preprocessing": ("StandardScaler",),
}
# What estimators of scikit-learn consist of besides what skops trusts by itself.
_PARTS_OF_ESTIMATORS = {
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.metrics._dist_metrics.EuclideanDistance64",
    "sklearn.neighbors._ball_tree.BallTree",
    "sklearn.neighbors._kd_tree.KDTree",
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
    "sklearn.tree._tree.Tree",
}


@cache
def _known_classes() -> dict[str, type]:
    return {
        name: getattr(import_module(module), name)
        for module, names in _CLASSES.items()
        for name in names
    }


class Writer:
    """Turns values into JSON and collects their arrays.

    Examples
    --------
    >>> writer = Writer()
    >>> tree = writer.write({"a": (1, np.arange(3))})
    >>> tree
    {'a': {'$': 'tuple', 'of': [1, {'$': 'array', 'name': '0'}]}}
    >>> Reader(writer.arrays).read(tree)
    {'a': (1, array([0, 1, 2]))}
    """

    def __init__(self, packed: Mapping[int, tuple[np.ndarray, Any]] | None = None) -> None:
        self.arrays: dict[str, np.ndarray] = {}
        self._packed = packed or {}  # estimators that were read, which skops packs otherwise again
        self._names = {cls: name for name, cls in _known_classes().items()}
        self._kept: dict[int, tuple[dict[str, Any], Any]] = {}  # by the identity of the value
        self._n_shared = 0

    def write(self, value: Any) -> Any:
        """Return a value as JSON; TypeError if it cannot be saved."""
        if value is None or isinstance(value, bool | str):
            return value
        if isinstance(value, int | np.integer):
            return int(value)
        if isinstance(value, float | np.floating):
            number = float(value)
            return number if math.isfinite(number) else {"$": "float", "of": repr(number)}
        if isinstance(value, list):
            return [self.write(each) for each in value]
        if isinstance(value, dict):
            return self._dict(value)
        if id(value) in self._kept:
            first = self._kept[id(value)][0]
            if "id" not in first:
                first["id"], self._n_shared = self._n_shared, self._n_shared + 1
            return {"$": "same", "id": first["id"]}
        tree = self._tree(value)
        if tree["$"] in ("object", "module", "given", "sparse", "estimator"):
            self._kept[id(value)] = tree, value  # keep the value alive, so that its id stays unique
        return tree

    def _dict(self, value: dict[Any, Any]) -> Any:
        if "$" not in value and all(isinstance(key, str) for key in value):
            return {key: self.write(each) for key, each in value.items()}
        return {"$": "dict", "of": [[self.write(k), self.write(v)] for k, v in value.items()]}

    def _tree(self, value: Any) -> dict[str, Any]:
        if type(value) is tuple:
            return {"$": "tuple", "of": [self.write(each) for each in value]}
        if isinstance(value, slice):
            return {"$": "slice", "of": [value.start, value.stop]}
        if isinstance(value, np.ndarray) and value.dtype.kind in "UO" and value.ndim == 1:
            return {"$": "texts", "of": [self.write(each) for each in value.tolist()]}
        if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
            return {"$": "array", "name": self._keep(value)}
        if isinstance(value, Tensor):
            return {"$": "tensor", "name": self._keep(value.detach().numpy())}
        if sparse.issparse(value):
            parts = {part: self.write(getattr(value, part)) for part in _PARTS_OF_SPARSE}
            return {"$": "sparse", **parts, "shape": list(map(int, value.shape))}
        if isinstance(value, nn.Module):
            weights = {name: self._keep(each.numpy()) for name, each in value.state_dict().items()}
            return {**self._configured(value), "state": weights}
        if type(value) in self._names:
            return {"$": "object", "class": self._names[type(value)], "state": self._state(value)}
        if isinstance(value, BaseEstimator) and type(value).__module__.startswith("sklearn."):
            packed, _ = self._packed.get(id(value)) or (_pack(value), value)
            name = self._keep(packed)
            return {"$": "estimator", "class": type(value).__name__, "name": name}
        if hasattr(value, "fit") and hasattr(value, "transform"):  # a user's kernel
            return {"$": "given", "class": type(value).__name__, "state": self._state(value)}
        raise TypeError(f"{type(value).__module__}.{type(value).__qualname__} cannot be saved")

    def _configured(self, module: nn.Module) -> dict[str, Any]:
        if type(module) not in self._names:
            raise TypeError(f"{type(module).__qualname__} cannot be saved")
        config: dict[str, Any] = module.config  # type: ignore[assignment]
        plain = {
            name: self._configured(each) if isinstance(each, nn.Module) else self.write(each)
            for name, each in config.items()
        }
        return {"$": "module", "class": self._names[type(module)], "config": plain}

    def _state(self, value: Any) -> dict[str, Any]:
        state = value.saved_state() if hasattr(value, "saved_state") else vars(value)
        return {k: self.write(v) for k, v in state.items() if not _is_computed(type(value), k)}

    def _keep(self, array: np.ndarray) -> str:
        name = str(len(self.arrays))
        self.arrays[name] = np.asarray(array, order="C")
        return name


class Reader:
    """Turns JSON and arrays back into values; ``given`` are classes of the caller, by name."""

    def __init__(
        self, arrays: Mapping[str, np.ndarray], given: Mapping[str, type] | None = None
    ) -> None:
        self._arrays, self._given = arrays, given or {}
        self._used: set[str] = set()
        self._made: dict[int, Any] = {}
        self.packed: dict[int, tuple[np.ndarray, Any]] = {}  # estimators by identity

    def read(self, tree: Any) -> Any:
        """Return the value that a tree describes; may raise any error if the tree is invalid."""
        if isinstance(tree, list):
            return [self.read(each) for each in tree]
        if not isinstance(tree, dict):
            return tree
        if "$" not in tree:
            return {key: self.read(each) for key, each in tree.items()}
        if tree["$"] == "same":
            return self._made[tree["id"]]
        value = self._value(tree)
        if "id" in tree:
            self._made[tree["id"]] = value
        return value

    def require_all_used(self) -> None:
        """Refuse arrays that belong to no value."""
        if unused := self._arrays.keys() - self._used:
            raise ValueError(f"array {min(unused)} belongs to nothing")

    def _value(self, tree: dict[str, Any]) -> Any:
        match tree["$"]:
            case "float":
                return {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}[tree["of"]]
            case "tuple":
                return tuple(self.read(each) for each in tree["of"])
            case "dict":
                return {self.read(key): self.read(value) for key, value in tree["of"]}
            case "slice":
                start, stop = tree["of"]
                return slice(start, stop)
            case "texts":
                values = [self.read(each) for each in tree["of"]]
                kind = np.str_ if all(isinstance(each, str) for each in values) else object
                return np.array(values, dtype=kind)
            case "array":
                return self._take(tree["name"])
            case "tensor":
                return torch.from_numpy(self._take(tree["name"]))
            case "sparse":
                parts = tuple(self.read(tree[part]) for part in _PARTS_OF_SPARSE)
                matrix = sparse.csr_array(parts, shape=tuple(map(int, tree["shape"])))
                matrix.check_format(full_check=True)  # C code does not check indices
                return matrix
            case "object":
                return self._with_state(_known_class(tree["class"]), tree)
            case "given":
                if tree["class"] not in self._given:
                    raise UnknownClassError(tree["class"])
                return self._with_state(self._given[tree["class"]], tree)
            case "module":
                return self._module(tree)
            case "estimator":
                if tree["class"] not in self._given:
                    raise UnknownClassError(tree["class"])
                packed = self._take(tree["name"])
                value = _unpack(packed, self._given)
                if type(value) is not self._given[tree["class"]]:
                    raise ValueError(f"'{tree['class']}' is a {type(value).__name__}")
                self.packed[id(value)] = packed, value
                return value
        raise ValueError(f"there is no kind of value {tree['$']!r}")

    def _with_state(self, cls: type, tree: dict[str, Any]) -> Any:
        state = tree["state"]
        if issubclass(cls, nn.Module):
            raise ValueError(f"'{tree['class']}' is a module")
        if computed := [key for key in state if _is_computed(cls, key)]:
            raise ValueError(
                f"'{tree['class']}' computes {computed[0]}, which must not be in the file"
            )
        needed = set(getattr(cls, "needed", state))
        # A part of another network has no ``fitted``: it was not trained on its own.
        if state.keys() - needed or needed - state.keys() - {"fitted"}:
            raise ValueError(f"'{tree['class']}' has other attributes: {sorted(state)}")
        if dataclasses.is_dataclass(cls):
            names = {each.name for each in dataclasses.fields(cls)}
            own = state.keys() - names
            if issubclass(cls, BaseEstimator):  # which also has fitted attributes
                own = {key for key in own if not key.endswith("_")}
            if own or names - state.keys():
                raise ValueError(f"'{tree['class']}' has other attributes: {sorted(state)}")
        value = cls.__new__(cls)
        vars(value).update({str(key): self.read(each) for key, each in state.items()})
        if dataclasses.is_dataclass(cls):
            _require_types(value)
        if hasattr(value, "require_sound"):
            value.require_sound()
        elif isinstance(value, StandardScaler):
            _require_sound_scaler(value)
        return value

    def _module(self, tree: dict[str, Any]) -> nn.Module:
        weights = {name: torch.from_numpy(self._take(of)) for name, of in tree["state"].items()}
        with torch.device("meta"):  # allocates nothing, however large the sizes in the file
            module = _built(tree, len(weights))
        require_same_shapes(module.state_dict(), weights)
        module.load_state_dict(weights, strict=True, assign=True)
        if (require_sound := getattr(module, "require_sound", None)) is not None:
            require_sound()
        return module.eval()

    def _take(self, name: str) -> np.ndarray:
        self._used.add(name)
        return self._arrays[name]


def _pack(estimator: BaseEstimator) -> np.ndarray:
    """Return an estimator of scikit-learn as bytes."""
    return np.frombuffer(_skops().dumps(estimator), dtype=np.int8)


def _unpack(packed: np.ndarray, given: Mapping[str, type]) -> Any:
    """Return an estimator made only of types that skops trusts and classes of the caller."""
    skops, content = _skops(), packed.tobytes()
    unknown = skops.get_untrusted_types(data=content)
    allowed = {f"{each.__module__}.{each.__qualname__}" for each in given.values()}
    if foreign := sorted(set(unknown) - allowed - _PARTS_OF_ESTIMATORS):
        raise UnknownClassError(foreign[0].rpartition(".")[2])
    return skops.loads(content, trusted=unknown)


def _skops() -> Any:
    try:
        from skops import io
    except ImportError as error:
        what = "A model that contains an estimator of scikit-learn"
        raise MissingExtraError.of(what, "skops", "skops") from error
    return io


def _built(tree: dict[str, Any], most: int) -> nn.Module:
    """Construct a module from its arguments, some of which may be modules themselves."""
    cls = _known_class(tree["class"])
    if not issubclass(cls, nn.Module):
        raise ValueError(f"'{tree['class']}' is not a module")
    config: dict[str, Any] = {
        name: _built(each, most) if isinstance(each, dict) else each
        for name, each in tree["config"].items()
    }
    if any(config.get(name, 0) > most for name in _DEPTHS):
        raise ValueError(f"'{tree['class']}' has more layers than arrays")
    types = get_type_hints(cls.__init__)
    for name, value in config.items():
        if not _fits(value, types.get(name)):
            raise ValueError(f"'{name}' of '{tree['class']}' is {excerpt(repr(value))}")
    return cls(**config)


def _known_class(name: str) -> type:
    if name not in _known_classes():
        raise ValueError(f"'{name}' is not a class that models consist of")
    return _known_classes()[name]


def _require_sound_scaler(scaler: StandardScaler) -> None:
    """Refuse a scaler whose arrays have other shapes; scikit-learn does not check."""
    expected = np.float64, (scaler.n_features_in_,)
    for name in ("mean_", "var_", "scale_"):
        array = getattr(scaler, name)
        if array is not None and (array.dtype, array.shape) != expected:
            raise ValueError(f"'{name}' of 'StandardScaler' has the wrong type or shape")
    if type(scaler.n_samples_seen_) not in (int, float):  # depends on its version
        raise ValueError("'n_samples_seen_' of 'StandardScaler' is not a number")


def _require_types(value: Any) -> None:
    """Refuse an object with a field whose value does not fit its annotation."""
    for name, annotation in fields_of(type(value)).items():
        if name in vars(value) and not _fits(vars(value)[name], annotation):
            kind = type(value).__name__
            raise ValueError(f"'{name}' of '{kind}' is {excerpt(repr(vars(value)[name]))}")


def _fits(value: Any, annotation: Any) -> bool:
    """Tell whether a value fits an annotation, including the types of its elements."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if annotation is Any:
        return True
    if origin is Annotated:  # a parameter with its bounds
        return _fits(value, arguments[0])
    if origin is Literal:
        return value in arguments
    if origin in (Union, UnionType):
        return any(_fits(value, each) for each in arguments)
    if origin is tuple:
        return isinstance(value, tuple) and all(_fits(each, arguments[0]) for each in value)
    if origin is list:
        return isinstance(value, list) and all(_fits(each, arguments[0]) for each in value)
    if origin is dict:
        return isinstance(value, dict) and all(
            _fits(each, kind)
            for item in value.items()
            for each, kind in zip(item, arguments, strict=True)
        )
    if origin is np.ndarray:
        dtype = np.dtype(get_args(arguments[1])[0])
        is_same = isinstance(value, np.ndarray) and value.dtype.kind == dtype.kind
        return is_same and (dtype.kind == "U" or value.dtype == dtype)
    if annotation in (int, float):
        return isinstance(value, (int, annotation)) and not isinstance(value, bool)
    if getattr(annotation, "_is_protocol", False):  # a kernel, perhaps the user's
        return hasattr(value, "fit") and hasattr(value, "transform")
    return isinstance(value, annotation)


def _is_computed(cls: type, key: str) -> bool:
    """Tell whether an attribute is a cached property; its value in a file could not be checked."""
    return isinstance(getattr(cls, key, None), cached_property)


def require_same_shapes(own: Mapping[str, Tensor], weights: Mapping[str, Tensor]) -> None:
    """Refuse weights whose names, shapes or types differ from those of a module."""
    if different := sorted(own.keys() ^ weights.keys()):
        whose = "lacks" if different[0] in own else "has unknown"
        raise ValueError(f"{whose} weights '{different[0]}'")
    for name, mine in weights.items():
        if (mine.shape, mine.dtype) != (own[name].shape, own[name].dtype):
            raise ValueError(
                f"has weights '{name}' that are {_shape(mine)}, expected {_shape(own[name])}"
            )


def _shape(value: Tensor) -> str:
    return f"{tuple(value.shape)} of {str(value.dtype).removeprefix('torch.')}"
