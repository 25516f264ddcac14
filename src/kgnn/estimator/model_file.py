"""A fitted method as one file: JSON and arrays in the safetensors format.

::

    model/
      model.safetensors    arrays; in its header, as JSON:
                             format, kgnn version, method, parameters, what it was fitted on,
                             the model as a tree (see `kgnn.estimator.saved_values`),
                             a probe: some of the labeled graphs and what the model said of them

Whoever gets a file from elsewhere can open it without trust: nothing in it is executed, sizes are
checked against the file before anything is read, and a model that does not answer the probe as it
did when it was saved is refused.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from kgnn.errors import KgnnError
from kgnn.estimator.registry import entries, make
from kgnn.estimator.saved_classes import classes, name_of
from kgnn.estimator.saved_values import Decoder, Encoder
from kgnn.files import replacing
from kgnn.graphs.soundness import require_sound

if TYPE_CHECKING:
    from kgnn.estimator.classifier import GraphClassifier

FORMAT = 1
_FILE, _SUFFIX, _HEADER = "model.safetensors", ".safetensors", "kgnn"
_PROBED = 8  # graphs
_TOLERANCE = 1e-5  # between machines; on one machine the probe is answered to the last bit
# All that a file of unknown content may make our own code raise.
_DAMAGE = (
    OSError, EOFError, ValueError, LookupError, TypeError, AttributeError, RuntimeError,
    ArithmeticError, MemoryError, RecursionError, AssertionError, SafetensorError,
)  # fmt: skip


class ModelFileError(KgnnError, ValueError):
    """A file that is not a model, is damaged, or needs a newer version of kgnn."""


@dataclass(frozen=True)
class ModelInfo:
    """What a file says about its model, without opening it.

    Attributes
    ----------
    path : Path
    method : str
    parameters : dict
        All parameters, defaults too.
    fitted_on : dict
        Name and numbers of the graphs, the classes.
    saved : str
        When, in UTC.
    versions : dict of str to str
    n_bytes : int
    """

    path: Path
    method: str
    parameters: dict[str, Any]
    fitted_on: dict[str, Any]
    saved: str
    versions: dict[str, str]
    n_bytes: int


def save_model(model: GraphClassifier, path: str | Path) -> Path:
    """Write a fitted method; a file that is there stays as it was if writing fails.

    Parameters
    ----------
    model : GraphClassifier
    path : path
        A folder, or a file that ends in ``.safetensors``.

    Returns
    -------
    Path
        Of the file.
    """
    encoder = Encoder(classes())
    name = name_of(model)
    try:
        state = encoder.encode(model.saved_state())
    except TypeError as error:
        raise KgnnError(f"{type(model).__name__} cannot be saved: {error}") from error
    probed = model.labeled_graphs_[:_PROBED]
    header = {
        "format": FORMAT,
        "method": name,
        "parameters": encoder.encode(model.get_params()),
        "fitted_on": model.fitted_on_,
        "saved": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "versions": {name: metadata.version(name) for name in ("kgnn", "torch", "numpy")},
        "model": state,
        "probe": encoder.encode(model.predict_proba(probed)),
    }
    for name, array in encoder.arrays.items():
        if array.is_floating_point() and not bool(array.isfinite().all()):
            raise KgnnError(
                f"the model has numbers that are not finite (array {name}); training has diverged, "
                "nothing was written"
            )
    file = file_of(path)
    try:
        with replacing(file) as aside:
            aside.touch()
            usual = aside.stat().st_mode  # the library would make it readable by its owner alone
            save_file(encoder.arrays, aside, metadata={_HEADER: json.dumps(header)})
            aside.chmod(usual)
    except (OSError, SafetensorError) as error:
        raise KgnnError(f"the model cannot be written to {file}: {error}") from error
    return file


def open_model(path: str | Path) -> GraphClassifier:
    """Open a model that was saved, and check that it answers as it did then.

    Nothing in the file is executed. A file that is damaged, hostile or of a newer version of kgnn
    is refused with `ModelFileError`.

    Parameters
    ----------
    path : path
        The folder or file that `save` was given.

    Examples
    --------
    >>> import tempfile
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> from kgnn.methods.wl import WL
    >>> graphs = cycles_and_trees(60)
    >>> model = WL().fit(graphs[:40])
    >>> folder = tempfile.mkdtemp()
    >>> file = model.save(folder)
    >>> open_model(folder).score(graphs[40:])
    1.0
    """
    file = file_of(path)
    header = _header(file)
    try:
        with safe_open(str(file), framework="pt") as opened:
            arrays = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
        _require_finite(arrays)
        decoder = Decoder(classes(), arrays)
        model = make(header["method"], **decoder.decode(header["parameters"]))
        model.__dict__.update(decoder.decode(header["model"]))
        require_sound(model.labeled_graphs_)
        expected = decoder.decode(header["probe"])
        answered = model.predict_proba(model.labeled_graphs_[: len(expected)])
    except _DAMAGE as error:
        raise _damaged(file, error) from error
    difference = float(np.abs(answered - expected).max(initial=0.0))
    if answered.shape != expected.shape or not difference <= _TOLERANCE:
        raise ModelFileError(
            f"{file} answers differently from when it was saved (by {difference:.2g}); it is "
            "damaged, or this version of kgnn understands it differently. "
            f"It was written by kgnn {header['versions'].get('kgnn', '?')}."
        )
    return model


def describe_model(path: str | Path) -> ModelInfo:
    """Return what a file says about its model."""
    file = file_of(path)
    header = _header(file)
    try:
        return ModelInfo(
            file,
            header["method"],
            Decoder({}, {}).decode(header["parameters"]),
            dict(header["fitted_on"]),
            str(header["saved"]),
            dict(header["versions"]),
            file.stat().st_size,
        )
    except _DAMAGE as error:
        raise _damaged(file, error) from error


def file_of(path: str | Path) -> Path:
    """Return the file of a model: the path itself, or the one in a folder."""
    place = Path(path)
    return place if place.suffix == _SUFFIX else place / _FILE


def _header(file: Path) -> dict[str, Any]:
    if not file.is_file():
        raise ModelFileError(f"There is no model at {file}; `kgnn fit … -o FOLDER` writes one.")
    try:
        with safe_open(str(file), framework="pt") as opened:
            header = json.loads((opened.metadata() or {})[_HEADER])
        version = header["format"]
        if not isinstance(version, int) or version < 1:
            raise ValueError(f"its format is {version!r}")
    except _DAMAGE as error:
        raise _damaged(file, error) from error
    if version > FORMAT:
        raise ModelFileError(
            f"{file} has format {version}, this version of kgnn reads up to {FORMAT}; install the "
            f"version that wrote it ({_writer(header)}) or a newer one"
        )
    if header.get("method") not in entries():
        raise ModelFileError(f"{file} is of a method that is not here: {header.get('method')!r}")
    checked: dict[str, Any] = header
    return checked


def _writer(header: dict[str, Any]) -> str:
    versions = header.get("versions")
    return str(versions.get("kgnn", "unknown")) if isinstance(versions, dict) else "unknown"


def _require_finite(arrays: dict[str, torch.Tensor]) -> None:
    for name, array in arrays.items():
        if array.is_floating_point() and not bool(array.isfinite().all()):
            raise ValueError(f"array {name} has numbers that are not finite")


def _damaged(file: Path, error: BaseException) -> ModelFileError:
    reason = f"no {error}" if isinstance(error, KeyError) else str(error) or type(error).__name__
    return ModelFileError(f"{file} is not a model, or damaged ({' '.join(reason.split())[:300]})")
