"""Fitted models and pre-trained encoders as files: JSON and arrays, without code.

::

    model/model.safetensors   or   encoder/encoder.safetensors
      metadata  kgnn     the header as JSON: format, kind, versions, values (see
                         `kgnn.estimator.saved_values`); for a model also a probe, its
                         probabilities of some labeled graphs
                sha256   checksum of the whole file, taken with zeros in this place
      arrays    by number

Files need not be trusted: nothing in them is imported or executed, and a model that does not answer
its probe as it did when it was saved is refused.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from safetensors.numpy import load, save

from kgnn.errors import KgnnError, MissingExtraError, ParameterError
from kgnn.estimator.calibration import HeldOut
from kgnn.estimator.novelty import Familiar
from kgnn.estimator.parameters import check
from kgnn.estimator.registry import entries, make, name_of
from kgnn.estimator.saved_values import Reader, UnknownClassError, Writer
from kgnn.files import replacing
from kgnn.graphs.readers.text import without_repeats
from kgnn.graphs.soundness import require_sound

if TYPE_CHECKING:
    from kgnn.estimator.classifier import GraphClassifier

FORMAT = 2
_SUFFIX, _NO_DIGEST = ".safetensors", "0" * 64
_PROBED = 8  # graphs
_TOLERANCE = 1e-5  # between machines; on one machine the probe is answered to the last bit
_PACKAGES = ("kgnn", "torch", "numpy")
_DTYPES = [np.dtype(name) for name in ("b1", "i1", "i4", "i8", "u8", "f4", "f8")]
_HEADER = {"format", "kind", "saved", "versions"}
_OF_MODEL = {"method", "parameters", "fitted_on", "model", "probe"}
_AGAIN = {"model": "fit the model again", "encoder": "make it again with `kgnn pretrain`"}


class ModelFileError(KgnnError, ValueError):
    """A file that is not a model, is damaged, or needs another version of kgnn."""


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
        Your own classes that the model consists of, such as a kernel or the method itself. Their
        attributes are set from the file.

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
        _require_canonical(model, expected, header, arrays)
        probed = model.labeled_graphs_[:_PROBED]
        difference = np.abs(model.predict_proba(probed) - expected)
        if difference.shape != (len(probed), len(model.classes_)) or not len(probed):
            raise ValueError("its probe has another shape")
        if not difference.max() <= _TOLERANCE:
            raise ModelFileError(
                f"{file} answers differently from when it was saved (by {difference.max():.2g}); "
                "this version of kgnn understands it differently, or it is damaged. It was "
                f"written by kgnn {_writer_of(header)}."
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


def _require_canonical(
    model: GraphClassifier, probe: Any, header: dict[str, Any], arrays: Mapping[str, np.ndarray]
) -> None:
    """Refuse a file that this model would not be written as: with more, less or other entries."""
    writer = Writer()
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


def file_of(path: str | Path, kind: str = "model") -> Path:
    """Return the file of a model or encoder: the path itself, or the one in a folder."""
    if not str(path):
        raise ParameterError(f"The place of a {kind} is a folder or a file, got an empty text.")
    place = Path(path)
    return place if place.suffix == _SUFFIX else place / f"{kind}{_SUFFIX}"


def pack(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> bytes:
    """Return the content of a file."""
    told = {"kgnn": json.dumps(header), "sha256": _NO_DIGEST}
    content: bytes = save(dict(arrays), metadata=told)
    digest = hashlib.sha256(content).hexdigest()
    place = content.index(_NO_DIGEST.encode())
    return content[:place] + digest.encode() + content[place + len(digest) :]


def unpack(content: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return header and arrays; ValueError unless every bit is as `pack` made it."""
    size = int.from_bytes(content[:8], "little")
    told = json.loads(content[8 : 8 + size])["__metadata__"]
    header = json.loads(told["kgnn"], object_pairs_hook=without_repeats)
    if type(header["format"]) is not int or header["format"] < 1:
        raise ValueError(f"its format is {header['format']!r}")
    if header["format"] != FORMAT:
        return header, {}
    digest = told["sha256"]
    if not isinstance(digest, str) or len(digest) != len(_NO_DIGEST):
        raise ValueError("it has no checksum")
    place = content.index(digest.encode(), 8, 8 + size)
    plain = content[:place] + _NO_DIGEST.encode() + content[place + len(digest) :]
    if hashlib.sha256(plain).hexdigest() != digest:
        raise ValueError("its checksum is wrong")
    return header, load(content)


def write_file(
    file: Path, kind: str, told: dict[str, Any], arrays: Mapping[str, np.ndarray]
) -> Path:
    """Write a file of a kind; one that is there stays as it was if writing fails."""
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            raise KgnnError(
                f"the {kind} has numbers that are not finite (array {name}); training has "
                "diverged, nothing was written"
            )
    header = {
        "format": FORMAT,
        "kind": kind,
        "saved": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "versions": {name: metadata.version(name) for name in _PACKAGES},
        **told,
    }
    try:
        with replacing(file) as aside:
            aside.write_bytes(pack(header, arrays))
    except OSError as error:
        raise KgnnError(f"the {kind} cannot be written to {file}: {error}") from error
    return file


def read_file(
    file: Path, kind: str, keys: set[str]
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read the header, with these entries besides those of all kinds, and the arrays."""
    if not file.is_file():
        raise ModelFileError(f"There is no {kind} at {file}; `kgnn fit … -o FOLDER` writes one.")
    header, arrays = unpack(file.read_bytes())
    if header["format"] < FORMAT:
        raise of_earlier_version(file, kind, _writer_of(header))
    if header["format"] > FORMAT:
        raise ModelFileError(
            f"{file} has format {header['format']}, this version of kgnn reads format {FORMAT}; "
            f"install the version that wrote it ({_writer_of(header)}) or a newer one"
        )
    if header.get("kind") != kind:
        raise ValueError(f"it is not a saved {kind}")
    if header.keys() != _HEADER | keys:
        raise ValueError(f"its header has other entries: {sorted(header)}")
    versions = header["versions"]
    if versions.keys() != set(_PACKAGES) or not all(isinstance(v, str) for v in versions.values()):
        raise ValueError(f"its versions are {versions!r}")
    datetime.fromisoformat(header["saved"])
    for name, array in arrays.items():
        if array.dtype not in _DTYPES:
            raise ValueError(f"array {name} is of {array.dtype}")
        if not np.isfinite(array).all():
            raise ValueError(f"array {name} has numbers that are not finite")
    return header, arrays


@contextmanager
def explaining_damage(file: Path, kind: str) -> Iterator[None]:
    """Turn whatever reading a file of unknown content may raise into `ModelFileError`."""
    try:
        yield
    except (ModelFileError, MissingExtraError):
        raise
    except UnknownClassError as error:
        raise ModelFileError(
            f"{file} needs the class {error}, which is not part of kgnn. If the class is yours, "
            f"pass it: kgnn.open_model({str(file)!r}, classes=({error},))"
        ) from None
    except Exception as error:  # nobody can list what crafted content may raise
        reason = f"no {error}" if isinstance(error, KeyError) else str(error)
        reason = " ".join(reason.split())[:300] or type(error).__name__
        raise ModelFileError(f"{file} is not a saved {kind}, or damaged ({reason})") from error


def of_earlier_version(file: Path, kind: str, version: str) -> ModelFileError:
    """Return the error for a file of format 1."""
    return ModelFileError(
        f"{file} was saved by an earlier version of kgnn{version and f' ({version})'}, whose "
        f"format is no longer read; {_AGAIN[kind]}"
    )


def _writer_of(header: dict[str, Any]) -> str:
    versions = header.get("versions")
    return str(versions.get("kgnn", "unknown")) if isinstance(versions, dict) else "unknown"


def _method(name: Any, settings: dict[str, Any], given: Mapping[str, type]) -> GraphClassifier:
    if name in given:
        model: GraphClassifier = given[name](**settings)
        return model
    if name not in entries() and isinstance(name, str) and name.isidentifier():
        raise UnknownClassError(name)
    return make(name, **settings)
