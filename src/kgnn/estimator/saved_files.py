"""The files of models and encoders: JSON and arrays, without code.

::

    model/model.safetensors   or   encoder/encoder.safetensors
      metadata  kgnn     the header as JSON: format, kind, versions, values (see
                         `kgnn.estimator.saved_values`); for a model also a probe, its
                         probabilities of some labeled graphs
                sha256   checksum of the whole file, computed with zeros in its place
      arrays    by number

This module imports neither torch nor scikit-learn, so that a missing file is reported at once.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load, save

from kgnn.errors import KgnnError, MissingExtraError, ParameterError
from kgnn.files import replacing
from kgnn.graphs.readers.text import without_repeats

FORMAT = 2
_SUFFIX, _NO_DIGEST = ".safetensors", "0" * 64
_PACKAGES = ("kgnn", "torch", "numpy")
_DTYPES = [np.dtype(name) for name in ("b1", "i1", "i4", "i8", "u8", "f4", "f8")]
_HEADER = {"format", "kind", "saved", "versions"}
_AGAIN = {"model": "fit the model again", "encoder": "make it again with `kgnn pretrain`"}


class ModelFileError(KgnnError, ValueError):
    """A file that is not a model, is damaged, or needs another version of kgnn."""


class UnknownClassError(ValueError):
    """A class named in a file that the caller has to pass."""


def file_of(path: str | Path, kind: str = "model") -> Path:
    """Return the file of a model or encoder: the path itself, or the one in a folder."""
    if not str(path):
        raise ParameterError(f"The path of a {kind} must be a folder or a file, got an empty text.")
    place = Path(path)
    return place if place.suffix == _SUFFIX else place / f"{kind}{_SUFFIX}"


def require_file(path: str | Path, kind: str = "model") -> Path:
    """Return the file of a model or encoder, or raise an error if there is none."""
    file = file_of(path, kind)
    if not file.is_file():
        raise ModelFileError(f"There is no {kind} at {file}; `kgnn fit … -o FOLDER` writes one.")
    return file


def pack(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> bytes:
    """Return the content of a file."""
    told = {"kgnn": json.dumps(header), "sha256": _NO_DIGEST}
    content: bytes = save(dict(arrays), metadata=told)
    digest = hashlib.sha256(content).hexdigest()
    place = content.index(_NO_DIGEST.encode())
    return content[:place] + digest.encode() + content[place + len(digest) :]


def unpack(content: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return header and arrays; raise ValueError unless the checksum matches."""
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
    """Write a file; if writing fails, an older file is kept."""
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            raise KgnnError(
                f"the {kind} has numbers that are not finite (array {name}): training has "
                "diverged; nothing was written"
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
    """Read the header, which must have these entries besides the common ones, and the arrays."""
    header, arrays = unpack(require_file(file, kind).read_bytes())
    if header["format"] < FORMAT:
        raise of_earlier_version(file, kind, writer_of(header))
    if header["format"] > FORMAT:
        raise ModelFileError(
            f"{file} has format {header['format']}, but this kgnn reads format {FORMAT}; "
            f"install the version that wrote it ({writer_of(header)}) or a newer one"
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
    """Turn any error from reading an untrusted file into `ModelFileError`."""
    try:
        yield
    except (ModelFileError, MissingExtraError):
        raise
    except UnknownClassError as error:
        raise ModelFileError(
            f"{file} needs the class {error}, which is not part of kgnn. If you trust the file "
            f"with it, pass it: kgnn.open_model({str(file)!r}, classes=({error},))"
        ) from None
    except Exception as error:  # malicious content may raise anything
        reason = f"no {error}" if isinstance(error, KeyError) else str(error)
        reason = " ".join(reason.split())[:300] or type(error).__name__
        raise ModelFileError(f"{file} is not a saved {kind}, or damaged ({reason})") from error


def of_earlier_version(file: Path, kind: str, version: str) -> ModelFileError:
    """Return the error for a file of format 1."""
    return ModelFileError(
        f"{file} was saved by an earlier version of kgnn{version and f' ({version})'}, whose "
        f"format is no longer read; {_AGAIN[kind]}"
    )


def writer_of(header: dict[str, Any]) -> str:
    """Return the version of kgnn that wrote a file, or ``unknown``."""
    versions = header.get("versions")
    return str(versions.get("kgnn", "unknown")) if isinstance(versions, dict) else "unknown"
