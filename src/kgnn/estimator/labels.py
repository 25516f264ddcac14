"""Labels of graphs in the form that a method needs: given by people, or the graphs' own targets."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgnn.errors import GraphDataError, KgnnWarning, ParameterError, excerpt
from kgnn.graphs.graph import GraphDataset
from kgnn.graphs.labels import by_position, class_name, known_or_none

Labels = NDArray[np.object_]
_MISSING = ("nan", "na", "n/a", "<na>", "nat", "null", "none")


def given_labels(graphs: GraphDataset, y: Any) -> Labels:
    """Return the label of each graph as a plain Python value, None where it is not known."""
    labels = _as_array([known_or_none(label) for label in by_position(y, "y", ParameterError)])
    if len(labels) != len(graphs):
        raise ParameterError(f"y has {len(labels)} labels for {len(graphs)} graphs.")
    _require_one_kind(labels)
    return labels


def own_labels(graphs: GraphDataset) -> Labels:
    """Return the name of the class of each graph, None where it is not known."""
    return _as_array([None if t < 0 else graphs.class_names[t] for t in graphs.targets.tolist()])


def translated(labels: Labels, classes: Sequence[Any], names: Sequence[str]) -> Labels:
    """Turn names of classes into the labels of a model that was not fitted on names.

    Parameters
    ----------
    labels : array
        Names, or None.
    classes : sequence
        Labels that the model was fitted on. Numbers may be positions in ``names``, or some of the
        names themselves; what is neither stays as it is.
    names : sequence of str
        Of the classes of the dataset that the model was fitted on.

    Examples
    --------
    >>> translated(np.array(["tree", None, "cycle"], dtype=object), [0, 1], ["cycle", "tree"])
    array([1, None, 0], dtype=object)
    """
    meant = {class_name(label): label for label in classes}
    by_name = meant if set(meant) <= set(names) else {}
    by_place = {names[int(c)]: c for c in classes} if _are_positions(classes, len(names)) else {}
    if by_name and by_place and by_name != by_place:
        raise ParameterError(
            f"The classes {list(classes)} may be positions in {list(names)} or names among them; "
            "give y, so that it is clear which labels are meant."
        )
    return _as_array([(by_name or by_place).get(label, label) for label in labels])


def kind(label: Any) -> str:
    """Say what a label is; labels of different kinds are never equal."""
    return (
        "text"
        if isinstance(label, str)
        else "a number"
        if isinstance(label, Number)
        else f"a {type(label).__name__}"
    )


def warn_of_names(classes: Sequence[Any]) -> None:
    """Warn of a class whose name says that a label is missing; numpy and files make text of it."""
    odd = [name for name in map(str, classes) if name.strip().lower() in _MISSING]
    if odd:
        warnings.warn(
            f"A class is called {odd[0]!r}. If that means that the label of a graph is not known, "
            "leave it empty, or give None.",
            KgnnWarning,
            stacklevel=4,
        )


def require_some(labels: Labels) -> None:
    """Refuse graphs of which none is labeled."""
    if all(label is None for label in labels):
        raise GraphDataError(
            f"none of the {len(labels)} graphs has a label; give y with at least one label per "
            "class, and -1 for graphs without"
        )


def require_same_form(labels: Labels, classes: Sequence[Any]) -> None:
    """Refuse labels if none can be a class, and warn if none is one."""
    if any(label in classes for label in labels):
        return
    if kind(labels[0]) != kind(classes[0]):
        raise other_form("label", labels[0], classes)
    warnings.warn(
        f"No label is a class of the training graphs: {labels[0]!r} is not among {list(classes)}.",
        KgnnWarning,
        stacklevel=3,
    )


def other_form(what: str, first: Any, classes: Sequence[Any]) -> GraphDataError:
    """Return the error for labels that are not in the form of the training labels."""
    return GraphDataError(
        f"no {what} is a class of the training graphs: {first!r} is not among "
        f"{list(classes)}; give the labels of both in the same form, and "
        "some training graph a label that the others have, too"
    )


def _require_one_kind(labels: Labels) -> None:
    """Refuse text among numbers, of which numpy would make text that is found nowhere."""
    first: int | None = None
    for row, label in enumerate(labels):
        if label is None:
            continue
        first = row if first is None else first
        if kind(label) != kind(labels[first]):
            raise ParameterError(
                f"y mixes labels of two kinds: y[{first}] is {kind(labels[first])}, "
                f"{excerpt(repr(labels[first]))}, but y[{row}] is {kind(label)}, "
                f"{excerpt(repr(label))}. Give all in one form, such as str(label), and None where "
                "no label is known."
            )


def _are_positions(classes: Sequence[Any], n_names: int) -> bool:
    return all(
        isinstance(c, int | float) and not isinstance(c, bool) and c in range(n_names)
        for c in classes
    )


def _as_array(values: list[Any]) -> Labels:
    labels = np.empty(len(values), dtype=object)
    labels[:] = values
    return labels
