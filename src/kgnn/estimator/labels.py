"""Encode given labels, or the targets of graphs, as positions in the list of classes."""

from __future__ import annotations

import math
import re
import unicodedata
import warnings
from collections.abc import Sequence
from numbers import Number
from typing import Any

import numpy as np

from kgnn.errors import GraphDataError, KgnnWarning, ParameterError, excerpt
from kgnn.graphs.graph import GraphDataset, Ints
from kgnn.graphs.labels import by_position, class_name, known_or_none

# Up to _FEW different numbers are always classes; more than _MANY with fractions never are. Whole
# numbers whose range is _WIDE times their count may be measurements.
_FEW, _MANY, _WIDE = 5, 20, 5
_NUMBER = re.compile(r"[+-]?[0-9.]+([eE][+-]?[0-9]+)?")  # "1_0" and other alphabets are names
# Cyrillic and Greek letters that look like Latin ones.
_SHAPES = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455"
    "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0425\u0406\u0408\u0405"
    "\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7"
    "\u03bf\u03bd\u0131\u2010\u2011\u2012\u2013\u2212",
    "aeopcyxijsABEKMHOPCTXIJSABEZHIKMNOPTYXovi-----",
)
_MISSING = ("nan", "na", "n/a", "<na>", "nat", "null", "none")


def encode_labels(
    graphs: GraphDataset,
    y: Any = None,
    classes: Sequence[Any] | None = None,
    names: Sequence[str] = (),
) -> tuple[Ints, list[Any]]:
    """Encode labels as positions in a list of classes, and return both.

    The code of an unknown label is −1. Without ``y``, the labels are the targets of the graphs.
    Labels that are not among the ``classes`` of a fitted model are appended to them; without
    ``classes``, the list has all labels, sorted. ``names`` are the classes of the dataset that the
    model was fitted on; the model's labels may be positions in them.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> encode_labels(cycles_and_trees(3), ["b", None, "a"])
    (array([ 1, -1,  0]), ['a', 'b'])
    >>> encode_labels(cycles_and_trees(3), classes=[0, 1], names=["cycle", "tree"])
    (array([0, 1, 0]), [0, 1])
    """
    codes, labels = _own(graphs, classes, names) if y is None else _given(graphs, y)
    used = [labels[code] for code in np.unique(codes[codes >= 0]).tolist()]
    if classes is None:
        require_classes(used, int((codes >= 0).sum()))
    found = list(np.unique(np.array(used)).tolist() if classes is None else classes)
    found += [label for label in used if label not in found]
    position = {label: code for code, label in enumerate(found)}
    table = np.array([position.get(label, -1) for label in labels] + [-1], dtype=np.int64)
    return table[codes], found


def _own(
    graphs: GraphDataset, classes: Sequence[Any] | None, names: Sequence[str]
) -> tuple[Ints, list[Any]]:
    """Return the targets, and the labels that a model uses for their classes."""
    labels: list[Any] = list(graphs.class_names)
    if classes is not None:
        meant = {class_name(label): label for label in classes}
        by_name = meant if set(meant) <= set(names) else {}
        by_place = {}
        if _are_positions(classes, len(names)):
            by_place = {names[int(label)]: label for label in classes}
        if by_name and by_place and by_name != by_place:
            raise ParameterError(
                f"The classes {list(classes)} may be positions in {list(names)} or names among "
                "them; pass y to make clear which."
            )
        labels = [(by_name or by_place).get(name, name) for name in labels]
    return graphs.targets, labels


def _given(graphs: GraphDataset, y: Any) -> tuple[Ints, list[Any]]:
    values = [known_or_none(label) for label in by_position(y, "y", ParameterError)]
    if len(values) != len(graphs):
        raise ParameterError(f"y has {len(values)} labels for {len(graphs)} graphs.")
    labels: dict[Any, int] = {}
    first_row: dict[str, int] = {}
    for row, label in enumerate(values):
        if label is None:
            continue
        first_row.setdefault(kind(label), row)
        if len(first_row) > 1:  # numpy would turn both kinds into text
            rows = (next(iter(first_row.values())), row)
            told = [f"y[{r}] is {kind(values[r])}, {excerpt(repr(values[r]))}" for r in rows]
            raise ParameterError(
                f"y mixes labels of two kinds: {told[0]}, but {told[1]}. Use one kind, such as "
                "str(label), and None for unlabeled graphs."
            )
        labels.setdefault(label, len(labels))
    return np.array([-1 if v is None else labels[v] for v in values], dtype=np.int64), list(labels)


def require_classes(labels: Sequence[Any], n_labeled: int) -> None:
    """Refuse labels that look like measurements rather than classes.

    ``labels`` are the different labels of ``n_labeled`` graphs. Numbers with fractions are
    measurements if there are more than 20 of them, or more than 5 for fewer than twice as many
    graphs. Whole numbers are measurements only if there are more than 20 of them, for fewer than
    twice as many graphs, with wide gaps: a hundred classes of one graph each are numbered without
    gaps.

    Examples
    --------
    >>> require_classes(["0", "1", "2"], 3)
    >>> require_classes([1.52, 0.3, 2.25, 1.7, 0.9, 2.1], 8)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
      ...
    kgnn.errors.GraphDataError: the labels of 8 graphs are 6 different numbers, such as 0.3, ...
    """
    values = _numbers(labels)
    n, is_many, is_scattered = len(labels), len(labels) > _MANY, 2 * len(labels) > n_labeled
    if values is None or n <= _FEW or not (is_many or is_scattered):
        return
    if all(value.is_integer() for value in values):
        has_gaps = values[-1] - values[0] >= _WIDE * n
        if not (is_many and is_scattered and has_gaps):
            return
    first, second, third = (f"{value:g}" for value in values[:3])
    raise GraphDataError(
        f"the labels of {n_labeled:,} graphs are {n:,} different numbers, such as {first}, "
        f"{second} and {third}, but kgnn predicts classes; convert them to classes, for instance "
        f"'low' up to {np.median(values):g}, the median, and 'high' above"
    )


def require_classes_of(graphs: GraphDataset) -> None:
    """Refuse graphs whose targets look like measurements rather than classes."""
    known = graphs.targets[graphs.targets >= 0]
    require_classes([graphs.class_names[code] for code in np.unique(known)], len(known))


def _numbers(labels: Sequence[Any]) -> list[float] | None:
    """Return labels as sorted numbers, or None if one of them is not a number."""
    if any(isinstance(label, str) and not _NUMBER.fullmatch(label) for label in labels):
        return None
    try:
        values = sorted(float(label) for label in labels)
    except (TypeError, ValueError, OverflowError):
        return None
    return values if all(map(math.isfinite, values)) else None


def kind(label: Any) -> str:
    """Describe the type of a label; labels of different kinds are never equal."""
    if isinstance(label, str):
        return "text"
    return "a number" if isinstance(label, Number) else f"a {type(label).__name__}"


def _are_positions(classes: Sequence[Any], n_names: int) -> bool:
    return all(
        isinstance(c, int | float) and not isinstance(c, bool) and c in range(n_names)
        for c in classes
    )


def warn_of_names(classes: Sequence[Any]) -> None:
    """Warn about a class named like a missing value, such as ``nan`` that was read as text."""
    odd = [name for name in map(str, classes) if name.strip().lower() in _MISSING]
    if odd:
        warnings.warn(
            f"A class is called {odd[0]!r}. If it stands for a missing label, leave the label "
            "empty or pass None.",
            KgnnWarning,
            stacklevel=4,
        )


def warn_of_look_alikes(classes: Sequence[Any]) -> None:
    """Warn about classes whose names look the same or mean the same number, such as 1 and 1.0."""
    seen: dict[str, str] = {}
    for name in map(str, classes):
        other = seen.setdefault(_look(name), name)
        if other != name:
            spelled = " and ".join(ascii(each) for each in (other, name))
            warnings.warn(
                f"Two classes look alike but are spelled differently: {spelled}. If they are the "
                "same class, use one spelling.",
                KgnnWarning,
                stacklevel=4,
            )


def _look(name: str) -> str:
    """Normalize a name: numbers by value, letters by shape, no hidden characters.

    Examples
    --------
    >>> _look("01") == _look("1.0"), _look("caf\u00e9") == _look("cafe\u0301 ")
    (True, True)
    """
    shown = "".join(
        each
        for each in unicodedata.normalize("NFKC", name).translate(_SHAPES)
        if unicodedata.category(each) not in ("Cf", "Cc") or each.isspace()
    )
    shown = " ".join(shown.split())
    return repr(float(shown)) if _NUMBER.fullmatch(shown) and _is_float(shown) else shown


def _is_float(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:  # several points
        return False


def require_same_form(codes: Ints, labels: Sequence[Any], n_classes: int) -> None:
    """Check that a label is among the first ``n_classes``; warn if not, raise if none could be."""
    known = codes[codes >= 0]
    if (known < n_classes).any():
        return
    first, classes = labels[known[0]], list(labels[:n_classes])
    if kind(first) != kind(classes[0]):
        raise other_form("label", first, classes)
    warnings.warn(
        f"No label is a class of the model: {first!r} is not among {classes}.",
        KgnnWarning,
        stacklevel=3,
    )


def other_form(what: str, first: Any, classes: Sequence[Any]) -> GraphDataError:
    """Return the error for labels that are not in the form of the training labels."""
    return GraphDataError(
        f"no {what} is a class of the training graphs: {first!r} is not among {list(classes)}; "
        "use the same labels in the same form for both"
    )
