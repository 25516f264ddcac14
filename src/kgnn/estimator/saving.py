"""Fitted models to files (`kgnn.estimator.saved_files`), and back.

Files need not be trusted: nothing in them is imported or executed, and a model that does not answer
its probe as it did when it was saved is refused.
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
_TOLERANCE = 1e-5  # between machines; on one machine the probe is answered to the last bit
_OF_MODEL = {"method", "parameters", "fitted_on", "model", "probe"}


def save_model(model: GraphClassifier, path: str | Path) -> Path:
    """Write a fitted model and return the file; an older one stays as it was if writing fails."""
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

    Nothing in the file is executed. A file that is damaged, hostile or of another version of kgnn
    is refused with `ModelFileError`.

    Parameters
    ----------
    path : path
        The folder or file that `save` was given.
    classes : types, optional
        Your own classes that the model consists of, such as a kernel or the method itself, and
        those of scikit-learn. Their attributes are set from the file, so it must be one you trust
        with them.

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
            raise ValueError("it sets what is not a fitted attribute")
        model.__dict__.update(state)
        _require_sound_model(model)
        if not _are_same(model.fitted_on_, header["fitted_on"]):
            raise ValueError("its header tells of other graphs than the model")
        expected = reader.read(header["probe"])
        reader.require_all_used()
        _require_canonical(model, Writer(reader.packed), expected, header, arrays)
        probed = model.labeled_graphs_[:_PROBED]
        difference = np.abs(model.predict_proba(probed) - expected)
        if difference.shape != (len(probed), len(model.classes_)) or not len(probed):
            raise ValueError("its probe has another shape")
        if not difference.max() <= _TOLERANCE:
            raise ModelFileError(
                f"{file} answers differently from when it was saved (by {difference.max():.2g}); "
                "this version of kgnn understands it differently, or it is damaged. It was "
                f"written by kgnn {writer_of(header)}."
            )
    return model


def _require_sound_model(model: GraphClassifier) -> None:
    """Refuse a model whose attributes, which every method has, do not belong together.

    What a method has besides is judged by the probe.
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
            raise ValueError(f"its {name} is not what a model has")
    if (require := getattr(model, "require_sound", None)) is not None:
        require()


def _require_canonical(
    model: GraphClassifier,
    writer: Writer,
    probe: Any,
    header: dict[str, Any],
    arrays: Mapping[str, np.ndarray],
) -> None:
    """Refuse a file that this model would not be written as: with more, less or other entries."""
    for key, value in _content(model, probe).items():
        if not _are_same(writer.write(value), header[key]):
            raise ValueError(f"its {key} has entries that the model does not need, or lacks some")
    forms = [{name: (a.shape, a.dtype) for name, a in of.items()} for of in (arrays, writer.arrays)]
    if forms[0] != forms[1]:
        raise ValueError("its arrays are not those of the model")


def _are_same(one: Any, other: Any) -> bool:
    """Tell whether values are the same JSON; to Python, 1, 1.0 and True are equal."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _content(model: GraphClassifier, probe: Any) -> dict[str, Any]:
    """Return what is written of a model, by its entry in the header."""
    return {
        "parameters": model.get_params(deep=False),
        "model": model.saved_state(),
        "probe": probe,
    }


def describe_model(path: str | Path) -> dict[str, Any]:
    """Return what a file says about its model, without building it."""
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
