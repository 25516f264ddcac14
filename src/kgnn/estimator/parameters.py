"""Parameters of a method as typed fields: declared once, checked in `fit`, parsed from text."""

from __future__ import annotations

import ast
import dataclasses
import sys
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import numpy as np

from kgnn.errors import ParameterError, UnknownNameError, excerpt

if sys.version_info >= (3, 11):
    from typing import dataclass_transform
else:  # comes with torch and with typer
    from typing_extensions import dataclass_transform

T = TypeVar("T")
PRESETS = ("paper",)


@dataclass_transform(kw_only_default=True, eq_default=False)
def parameters(cls: type[T]) -> type[T]:
    """Turn annotated class attributes into keyword-only constructor parameters.

    Subclasses inherit the fields of their bases. The constructor only stores values, as
    scikit-learn requires.
    """
    return dataclass(kw_only=True, eq=False, repr=False)(cls)


@dataclass(frozen=True)
class Bounds:
    """Range of a number, as part of its annotation."""

    low: float
    high: float = float("inf")

    def __str__(self) -> str:
        return (
            f"≥ {self.low:g}" if self.high == float("inf") else f"in [{self.low:g}, {self.high:g}]"
        )


Count = Annotated[int, Bounds(1)]
CountOrZero = Annotated[int, Bounds(0)]
NonNegative = Annotated[float, Bounds(0)]
Share = Annotated[float, Bounds(0, 1)]


def check(estimator: object) -> None:
    """Raise `ParameterError` for the first field whose value does not fit its annotation."""
    for name, annotation in fields_of(type(estimator)).items():
        value = getattr(estimator, name)
        if not _fits(value, annotation):
            is_one_of_several = get_origin(annotation) is tuple and _fits((value,), annotation)
            raise ParameterError(
                f"The '{name}' parameter of {type(estimator).__name__} must be "
                f"{_describe(annotation)}, got {value!r}."
                + (f" For a single value write ({value!r},)." if is_one_of_several else "")
            )


def fields_of(cls: type) -> dict[str, Any]:
    """Return the parameters of a method with their annotations."""
    # Python 3.10 cannot resolve KW_ONLY as a type.
    hints = get_type_hints(cls, localns={"KW_ONLY": object}, include_extras=True)
    return {f.name: hints[f.name] for f in dataclasses.fields(cls)}


def parse(cls: type, settings: list[str]) -> dict[str, Any]:
    """Parse ``key=value`` texts from the command line into parameters of a method.

    Examples
    --------
    >>> from kgnn.methods.wl import WL
    >>> parse(WL, ["iterations=1, 2", "counts=log", "normalize=graph, None"])
    {'iterations': (1, 2), 'counts': ('log',), 'normalize': ('graph', None)}
    """
    known, parsed = fields_of(cls), dict[str, Any]()
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals:
            raise ParameterError(f"A setting must be key=value, got '{setting}'.")
        if key not in known:
            raise UnknownNameError.of(f"parameter of {cls.__name__}", key, known)
        if key in parsed:
            raise ParameterError(
                f"The parameter '{key}' is set twice, to {excerpt(repr(parsed[key]))} and {text}."
            )
        is_tuple = get_origin(known[key]) is tuple
        value = _value(text)
        if is_tuple and isinstance(value, str):
            value = tuple(_value(part.strip()) for part in text.split(","))
        parsed[key] = (value,) if is_tuple and not isinstance(value, tuple) else value
    return parsed


def as_settings(model: Any) -> list[str]:
    """Format the parameters that differ from the defaults for `parse`.

    A parameter that cannot be written as text, such as a kernel object, is left out.

    Examples
    --------
    >>> from kgnn.methods.wl import WL
    >>> as_settings(WL(iterations=(1, 2), random_state=3))
    ['iterations=(1, 2)', 'random_state=3']
    """
    cls = type(model)
    usual, own = cls().get_params(deep=False), model.get_params(deep=False)
    changed = {key: value for key, value in own.items() if value != usual[key]}
    return [
        f"{key}={value}"
        for key, value in changed.items()
        if parse(cls, [f"{key}={value}"])[key] == value
    ]


def preset(cls: type, name: str) -> dict[str, Any]:
    """Return the parameters that a preset changes; ``paper`` has those of the method's paper.

    Examples
    --------
    >>> from kgnn.methods.kgnn import KGNN
    >>> preset(KGNN, "paper")["readout"]
    'sum'
    """
    if name not in PRESETS:
        raise UnknownNameError.of("preset", name, PRESETS)
    if not hasattr(cls, name):
        raise ParameterError(
            f"{cls.__name__} has no preset '{name}', because it has no classmethod {name}()."
        )
    usual = cls().get_params(deep=False)
    made = getattr(cls, name)().get_params(deep=False)
    return {key: value for key, value in made.items() if value != usual[key]}


def _value(text: str) -> Any:
    """Parse a Python literal; plain words need no quotes."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _fits(value: Any, annotation: Any) -> bool:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        kind, bounds = arguments
        return _fits(value, kind) and bounds.low <= value <= bounds.high
    if origin is Literal:
        return value in arguments
    if annotation == tuple[()]:
        return value == ()
    if origin is tuple:
        return (
            isinstance(value, tuple)
            and len(value) > 0
            and all(_fits(v, arguments[0]) for v in value)
        )
    if arguments:  # a union
        return any(_fits(value, a) for a in arguments)
    if annotation is float:
        return isinstance(value, Real) and not isinstance(value, bool)
    if annotation is int:  # or a numpy integer, from a loop over an array
        return isinstance(value, Integral) and not isinstance(value, bool)
    if annotation is bool:  # or numpy's
        return isinstance(value, bool | np.bool_)
    return isinstance(value, annotation)


def _describe(annotation: Any) -> str:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return f"{_describe(arguments[0])} {arguments[1]}"
    if origin is Literal:
        return f"one of {', '.join(map(repr, arguments))}"
    if annotation == tuple[()]:
        return "()"
    if origin is tuple:
        return f"a tuple of values, each {_describe(arguments[0])}"
    if arguments:
        return " or ".join(_describe(a) for a in arguments)
    if annotation is type(None):
        return "None"
    return {int: "an int", float: "a number", bool: "True or False", str: "a text"}.get(
        annotation, str(annotation)
    )
