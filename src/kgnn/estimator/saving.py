"""Save fitted models to files (`kgnn.estimator.saved_files`) and open them.

Files need not be trusted: nothing in them is imported or executed. A file also holds predictions
for some labeled graphs, the probe; a model that predicts them differently is refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kgnn.errors import KgnnError
from kgnn.estimator.calibration import HeldOut
from kgnn.estimator.novelty import Familiar
from kgnn.estimator.parameters import check
from kgnn.estimator.registry import entries, make, name_of
from kgnn.estimator.saved_files import (
    ModelFileError,
    UnknownClassError,
    explaining_damage,
    file_of,
    read_file,
    write_file,
    writer_of,
)
from kgnn.estimator.saved_values import Reader, Writer
from kgnn.graphs.soundness import require_sound

if TYPE_CHECKING:
    from kgnn.estimator.classifier import GraphClassifier

_PROBED = 8  # graphs
_TOLERANCE = 1e-5  # of probabilities between machines; on one machine they are equal
_OF_MODEL = {"method", "parameters", "fitted_on", "model", "probe"}


def save_model(model: GraphClassifier, path: str | Path) -> Path:
    """Write a fitted model and return the file; if writing fails, an older file is kept."""
    writer, probe = Writer(), model.predict_proba(model.labeled_graphs_[:_PROBED])
    try:
        header = {
            "method": name_of(type(model)),
            "fitted_on": model.fitted_on_,
            **{key: writer.write(value) for key, value in _content(model, probe).items()},
        }
    except TypeError as error:
        raise KgnnError(f"{type(model).__name__} cannot be saved: {error}") from error
    return write_file(file_of(path), "model", header, writer.arrays)


def open_model(path: str | Path, *, classes: Iterable[type] = ()) -> GraphClassifier:
    """Open a saved model, and check that it predicts as it did when it was saved.

    Nothing in the file is executed. A file that is damaged, malicious or from an incompatible
    version of kgnn is refused with `ModelFileError`.

    Parameters
    ----------
    path : path
        The folder or file that was passed to `save`.
    classes : types, optional
        Classes in the model that are not part of kgnn: your own, such as a kernel or the method
        itself, and estimators of scikit-learn. Their attributes are set from the file, so you must
        trust it with them.

    Examples
    --------
    >>> import tempfile
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> from kgnn.methods.wl import WL
    >>> graphs = cycles_and_trees(60)
    >>> folder = tempfile.mkdtemp()
    >>> file = WL().fit(graphs[:40]).save(folder)
    >>> open_model(folder).score(graphs[40:])
    1.0
    """
    file, given = file_of(path), {each.__name__: each for each in classes}
    with explaining_damage(file, "model"):
        header, arrays = read_file(file, "model", _OF_MODEL)
        reader = Reader(arrays, given)
        model = _method(header["method"], reader.read(header["parameters"]), given)
        check(model)
        state = reader.read(header["model"])
        if not all(name.endswith("_") and not name.startswith("_") for name in state):
            raise ValueError("it sets an attribute that is not a fitted one")
        model.__dict__.update(state)
        _require_sound_model(model)
        if not _are_same(model.fitted_on_, header["fitted_on"]):
            raise ValueError("its header does not match the graphs of the model")
        expected = reader.read(header["probe"])
        reader.require_all_used()
        _require_canonical(model, Writer(reader.packed), expected, header, arrays)
        probed = model.labeled_graphs_[:_PROBED]
        difference = np.abs(model.predict_proba(probed) - expected)
        if difference.shape != (len(probed), len(model.classes_)) or not len(probed):
            raise ValueError("its probe has another shape")
        if not difference.max() <= _TOLERANCE:
            raise ModelFileError(
                f"{file} does not predict as it did when it was saved (difference "
                f"{difference.max():.2g}): it is damaged, or this version of kgnn computes "
                f"differently. It was written by kgnn {writer_of(header)}."
            )
    return model


def _require_sound_model(model: GraphClassifier) -> None:
    """Refuse a model whose common attributes are inconsistent.

    The probe checks the attributes of particular methods.
    """
    graphs, rows, held = model.labeled_graphs_, model.labeled_rows_, model.held_out_
    require_sound(graphs)
    n, n_classes = len(graphs), len(model.classes_)
    in_pairs = ("name", "labeled", "unlabeled", "validation", "classes")
    told = [model.fitted_on_[key] for key in in_pairs]
    checks = {
        "classes_": model.classes_.dtype.kind in "biufUO"
        and model.classes_.ndim == 1 and 0 < n_classes == len(set(graphs.class_names)),
        "labeled_graphs_": n > 0 and bool((graphs.targets >= 0).all()),
        "labeled_rows_": rows.dtype == np.int64 and rows.shape == (n,) and bool((rows >= 0).all()),
        "target_names_": isinstance(model.target_names_, tuple)
        and all(isinstance(name, str) for name in model.target_names_),
        "sharpness_": type(model.sharpness_) is float and model.sharpness_ > 0,
        "interrupted_": type(model.interrupted_) is bool,
        "familiar_": isinstance(model.familiar_, Familiar)
        and model.familiar_.is_sound() and model.familiar_.knows(graphs),
        "held_out_": held is None
        or (isinstance(held, HeldOut) and held.is_sound(n_classes)),
        "fitted_on_": isinstance(told[0], str)
        and all(type(count) is int and count >= 0 for count in told[1:4])
        and _are_same(told[4], model.classes_.tolist()),
    }  # fmt: skip
    for name, is_sound in checks.items():
        if not is_sound:
            raise ValueError(f"its {name} is not valid")
    if (require := getattr(model, "require_sound", None)) is not None:
        require()


def _require_canonical(
    model: GraphClassifier,
    writer: Writer,
    probe: Any,
    header: dict[str, Any],
    arrays: Mapping[str, np.ndarray],
) -> None:
    """Refuse a file with other entries than saving this model would write."""
    for key, value in _content(model, probe).items():
        if not _are_same(writer.write(value), header[key]):
            raise ValueError(f"its {key} has too many or too few entries")
    forms = [{name: (a.shape, a.dtype) for name, a in of.items()} for of in (arrays, writer.arrays)]
    if forms[0] != forms[1]:
        raise ValueError("its arrays are not those of the model")


def _are_same(one: Any, other: Any) -> bool:
    """Tell whether values are the same as JSON; in Python, 1 == 1.0 == True."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _content(model: GraphClassifier, probe: Any) -> dict[str, Any]:
    """Return the content of a model file, by entry of the header."""
    return {
        "parameters": model.get_params(deep=False),
        "model": model.saved_state(),
        "probe": probe,
    }


def describe_model(path: str | Path) -> dict[str, Any]:
    """Return the header of a model file, without building the model."""
    file = file_of(path)
    with explaining_damage(file, "model"):
        header, _ = read_file(file, "model", _OF_MODEL)
        return {
            "file": str(file),
            "method": str(header["method"]),
            "fitted_on": dict(header["fitted_on"]),
            "saved": str(header["saved"]),
            "versions": dict(header["versions"]),
            "bytes": file.stat().st_size,
        }


def _method(name: Any, settings: dict[str, Any], given: Mapping[str, type]) -> GraphClassifier:
    if name in given:
        model: GraphClassifier = given[name](**settings)
        return model
    if name not in entries() and isinstance(name, str) and name.isidentifier():
        raise UnknownClassError(name)
    return make(name, **settings)
